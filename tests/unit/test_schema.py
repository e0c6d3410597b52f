"""Declarations to schemas: what the grammar means."""

import re
from typing import Annotated, Any, ClassVar

import pytest

from stoker.api.common import Duration, RelabelConfig, SecretOrConfigMap
from stoker.api.core import ConfigMapKeySelector, LabelSelector, SecretKeySelector
from stoker.api.crd import manifest, version_schema
from stoker.api.declare import NO_ITEMS, NO_NUMBER, NO_TEXT, Cel, Model, doc, names, rule
from stoker.api.kinds import KINDS, kind_called, version_of
from stoker.api.schema import (
    core_schema,
    fields_of,
    schema_of,
    walk,
    without_cel,
    without_descriptions,
)
from tools.coreschema import roots


class Part(Model):
    """A part."""

    CEL: ClassVar[Cel] = {"size must be odd": "self.size % 2 == 1"}

    size: Annotated[int, doc("How large it is.", minimum=1)] = NO_NUMBER


class Whole(Part, rename=names(api_url="apiURL")):
    """A whole."""

    CEL: ClassVar[Cel] = {"never both": "!(has(self.apiURL) && has(self.labels))"}

    api_url: Annotated[str, doc("Where to call.")] = NO_TEXT
    wait: Annotated[Duration | None, doc("How long to wait.", minLength=1)] = None
    names: Annotated[tuple[Annotated[str, rule(minLength=2)], ...], doc("Names.")] = NO_ITEMS
    labels: Annotated[dict[str, str] | None, doc("Labels.", mapType="atomic")] = None
    parts: Annotated[
        tuple[Part, ...] | None, doc("Parts.", listType="map", listMapKeys=("size",))
    ] = None
    anything: Annotated[Any, doc("Anything.", preserveUnknownFields=True)] = None


def test_a_declaration_becomes_a_structural_schema() -> None:
    """Types, constraints, names, inherited fields and rules all show in the schema."""
    part = {"description": "How large it is.", "type": "integer", "minimum": 1}
    odd = {"message": "size must be odd", "rule": "self.size % 2 == 1"}
    both = {"message": "never both", "rule": "!(has(self.apiURL) && has(self.labels))"}
    schema = schema_of(Whole)
    pattern = schema["properties"]["wait"].pop("pattern")
    assert re.fullmatch(pattern, "1h30m")
    assert schema == {
        "type": "object",
        "required": ["anything", "apiURL", "names", "size"],
        "x-kubernetes-validations": [odd, both],
        "properties": {
            "size": part,
            "apiURL": {"type": "string", "description": "Where to call."},
            "wait": {"type": "string", "minLength": 1, "description": "How long to wait."},
            "names": {
                "type": "array",
                "items": {"type": "string", "minLength": 2},
                "description": "Names.",
            },
            "labels": {
                "type": "object",
                "additionalProperties": {"type": "string"},
                "x-kubernetes-map-type": "atomic",
                "description": "Labels.",
            },
            "parts": {
                "type": "array",
                "items": {
                    "type": "object",
                    "required": ["size"],
                    "properties": {"size": part},
                    "x-kubernetes-validations": [odd],
                },
                "x-kubernetes-list-type": "map",
                "x-kubernetes-list-map-keys": ["size"],
                "description": "Parts.",
            },
            "anything": {
                "x-kubernetes-preserve-unknown-fields": True,
                "description": "Anything.",
            },
        },
    }


@pytest.mark.parametrize("model", [SecretKeySelector, ConfigMapKeySelector, LabelSelector])
def test_kubernetes_types_that_we_read_have_all_of_its_fields(model: type[Model]) -> None:
    """A Struct for a Kubernetes type declares what Kubernetes' own document declares."""
    published = core_schema(model.EMBEDS)  # type: ignore[attr-defined]
    assert {field.name for field in fields_of(model)} == set(published["properties"])
    assert schema_of(model) == published


def test_every_embedded_type_is_in_the_data() -> None:
    """`tools.coreschema` keeps a schema for each Kubernetes type that we embed."""
    assert all(core_schema(name) for name in roots())
    assert len(roots()) > 10


def _versions() -> list[Any]:
    return [
        pytest.param(version, id=f"{kind.name}-{version.name}")
        for kind in KINDS
        for version in kind.versions
    ]


@pytest.mark.parametrize("version", _versions())
def test_every_field_of_ours_is_described(version: Any) -> None:
    """Nobody has to guess what a field is for, except inside Kubernetes' own types."""
    embedded = re.compile("|".join(map(re.escape, _embedded_prefixes(version))) or "$^")
    missing = [
        path
        for path, schema in walk(version_schema(version))
        if path.rpartition(".")[2].isidentifier()
        and "description" not in schema
        and path != ".metadata"
        and not embedded.match(path)
    ]
    assert missing == []


def _embedded_prefixes(version: Any) -> list[str]:
    """Paths below which a schema is Kubernetes', recognised by being equal to one of its types."""
    cores = [core_schema(name) for name in roots()]
    return [
        path + step
        for path, schema in walk(without_descriptions(version_schema(version)))
        if schema in cores or schema.get("properties", {}).get("whenUnsatisfiable")
        for step in (".", "[")
    ]


def test_descriptions_do_not_repeat_in_the_small_variant() -> None:
    """`--no-descriptions` and `--without-cel` leave nothing of what they are to leave out."""
    for kind in KINDS:
        for version in kind.versions:
            schema = version_schema(version)
            assert not [p for p, s in walk(without_descriptions(schema)) if "description" in s]
            assert not [p for p, s in walk(without_cel(schema)) if "x-kubernetes-validations" in s]


def test_a_field_called_description_survives_without_descriptions() -> None:
    """Only the word of the schema is dropped, not a user's field of that name."""
    schema = {"type": "object", "properties": {"description": {"type": "string"}}}
    assert without_descriptions(schema) == schema


def test_kinds_are_found_by_any_of_their_names() -> None:
    """Users write kinds as they write them for kubectl."""
    words = ("ServiceMonitor", "servicemonitors", "smon", "servicemonitors.monitoring.coreos.com")
    assert {kind.name for word in words if (kind := kind_called(word))} == {"ServiceMonitor"}
    assert kind_called("deployment") is None


def test_versions_are_found_by_api_version_and_kind() -> None:
    """A manifest's apiVersion and kind lead to its declaration, or to none."""
    assert version_of("monitoring.coreos.com/v1beta1", "AlertmanagerConfig")
    assert version_of("monitoring.coreos.com/v2", "AlertmanagerConfig") is None
    assert version_of("apps/v1", "ServiceMonitor") is None


def test_an_agent_has_none_of_the_servers_fields() -> None:
    """What an agent cannot do is not offered."""
    agent = next(kind for kind in KINDS if kind.name == "PrometheusAgent").stored
    offered = set(version_schema(agent)["properties"]["spec"]["properties"])
    servers_own = {
        "retention", "retentionSize", "disableCompaction", "evaluationInterval", "rules", "query",
        "ruleSelector", "ruleNamespaceSelector", "alerting", "remoteRead",
        "additionalAlertRelabelConfigs", "additionalAlertManagerConfigs", "thanos",
        "prometheusRulesExcludedFromEnforce", "queryLogFile", "allowOverlappingBlocks",
    }  # fmt: skip
    assert offered & servers_own == set()


def test_manifests_say_nothing_twice() -> None:
    """Every kind has exactly one stored version and versions of different names."""
    for kind in KINDS:
        versions = manifest(kind)["spec"]["versions"]
        assert [version["storage"] for version in versions].count(True) == 1
        assert len({version["name"] for version in versions}) == len(versions)


def test_the_enumeration_of_relabel_actions_has_both_spellings() -> None:
    """Prometheus writes `labelmap`, Kubernetes users `LabelMap`: both are taken."""
    action = next(field for field in fields_of(RelabelConfig) if field.name == "action")
    allowed = schema_of(action.type)["enum"]
    assert len(allowed) == 22
    assert {"labelmap", "LabelMap"} <= set(allowed)


def test_unsupported_types_are_refused_when_declared() -> None:
    """A declaration that has no schema is a mistake of ours, found at once."""
    with pytest.raises(TypeError, match="no schema"):
        schema_of(set[str])
    assert schema_of(SecretOrConfigMap)["properties"].keys() == {"secret", "configMap"}
