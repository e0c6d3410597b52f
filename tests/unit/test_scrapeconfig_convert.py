"""ScrapeConfigs from each of their versions to each other and back."""

import json
from functools import cache
from itertools import cycle, islice, permutations
from random import Random
from typing import Any

import pytest
from hypothesis import given as given_any
from hypothesis import settings
from hypothesis import strategies as st

from stoker.api.admit import UNSUPPORTED, WRONG_TYPE, admit
from stoker.api.convert import ANNOTATION, as_written, converted, kept, to_internal, typed
from stoker.api.crd import GROUP, KindVersion
from stoker.api.decode import convert
from stoker.api.graduate import Graduation, Relaxed, Renamed, Respelled, Ruled
from stoker.api.schema import fields_of, schema_of, walk
from stoker.api.scrapeconfig import SCRAPE_CONFIG, graduated, v1alpha1
from stoker.errors import DecodeError, FieldError
from tests import builders
from tests.conformance.generated import leaves, prepare, resource, schema_of_version, spoilt

NAMES = [version.name for version in SCRAPE_CONFIG.versions]
ALPHA, BETA, STABLE = (f"{GROUP}/{name}" for name in NAMES)
PATHS = list(permutations((ALPHA, BETA, STABLE), 2)) + list(permutations((ALPHA, BETA, STABLE), 3))
OBJECTS = 400


def config(api_version: str, **spec: Any) -> dict[str, Any]:
    """A ScrapeConfig."""
    made = builders.resource("ScrapeConfig", "shop", spec, annotations={"mine": "stays"})
    return made | {"apiVersion": api_version}


def version(name: str) -> KindVersion:
    """One of the three versions."""
    found = SCRAPE_CONFIG.version(name)
    assert found
    return found


@cache
def focuses(name: str) -> tuple[Any, ...]:
    """Every field of a version in an order of its own, so that a few objects have many of them."""
    schema = schema_of_version(version(name))
    prepare(schema)
    found = [path for path in leaves(schema) if path[:1] == (".spec",)]
    Random(name).shuffle(found)
    return tuple(found)


def objects(name: str, count: int) -> Any:
    """Made-up objects of a version."""
    for number, focus in enumerate(islice(cycle(focuses(name)), count)):
        yield resource(version(name), f"{name}-{number}", Random(number).choice((0, 0.5)), focus)


def led(one: dict[str, Any], way: tuple[str, ...]) -> dict[str, Any]:
    """An object at the end of a way through versions."""
    for api_version in way:
        one = converted(one, api_version).object
    return one


def check_every_way(name: str, count: int) -> int:
    """Lead objects of a version through all ways back to it; say how many ways were gone."""
    here = f"{GROUP}/{name}"
    ways = [way for way in PATHS if way[0] == here]
    for one in objects(name, count):
        before = json.dumps(one)
        for way in ways:
            assert led(one, (*way[1:], here)) == one, way
        assert json.dumps(one) == before
    return count * len(ways)


@pytest.mark.parametrize("name", NAMES)
def test_every_object_comes_back_as_it_was_on_every_way(name: str) -> None:
    """Through one other version or both, nothing is lost, and the input is not touched."""
    assert check_every_way(name, OBJECTS) == OBJECTS * 4


@pytest.mark.parametrize("name", NAMES)
def test_objects_that_no_schema_would_take_are_converted_without_an_error(name: str) -> None:
    """What is wrong in an object is its own affair: it must not fail the list that it is in."""
    for number, one in enumerate(objects(name, 300)):
        bad = spoilt(one, str(number))
        for other in (ALPHA, BETA, STABLE):
            assert converted(bad, other).object["apiVersion"] == other
        assert to_internal(bad)["apiVersion"] == bad["apiVersion"]


JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.text(max_size=5),
    lambda inner: (
        st.lists(inner, max_size=3)
        | st.dictionaries(
            st.sampled_from(
                (
                    *("spec", "oauth2", "scheme", "relabelings", "action", "consulSDConfigs"),
                    *("token", "tokenRef", "proxyUrl", "proxyURL", "annotations", ANNOTATION),
                )
            ),
            inner,
            max_size=4,
        )
    ),
    max_leaves=12,
)


@settings(max_examples=300, deadline=None)
@given_any(JSON, JSON, st.sampled_from([ALPHA, BETA, STABLE]), st.sampled_from([ALPHA, STABLE]))
def test_no_shape_of_an_object_is_too_strange(
    spec: Any, metadata: Any, here: str, there: str
) -> None:
    """Whatever stands where the spec and the metadata should be, the object stays one."""
    one = {"apiVersion": here, "kind": "ScrapeConfig", "metadata": metadata, "spec": spec}
    made = converted(one, there).object
    assert made["apiVersion"] == there
    assert made.keys() == one.keys()


def test_what_comes_out_is_an_object_of_the_other_version() -> None:
    """No field is left that the newer versions do not have, and the schema takes every value."""
    rules = {
        rule["message"]
        for _, schema in walk(schema_of_version(version("v1")))
        for rule in schema.get("x-kubernetes-validations", ())
    }
    for one in objects("v1alpha1", 300):
        there = converted(one, STABLE)
        admission = admit(version("v1"), there.object)
        assert not there.findings
        assert not admission.unknown
        assert not [found for found in admission.findings if found.message not in rules]
        convert(graduated.scrape_config(), there.object)


def test_each_row_of_the_table_is_a_difference_of_the_schemas() -> None:
    """Fields have their new names alone, values their new spelling alone, rules are published."""
    for change in graduated.CHANGES:
        old, new = change.of[0], graduated_type(change.of[0])
        before, after = ({field.attribute: field for field in fields_of(m)} for m in (old, new))
        match change:
            case Renamed(attribute=attribute, name=name):
                assert after[attribute].name == name != before[attribute].name
            case Respelled(attribute=attribute, words=words):
                assert choices(before[attribute]) == {old for old, _ in words}
                assert choices(after[attribute]) == {new for _, new in words}
            case Relaxed(attribute=attribute):
                assert before[attribute].required
                assert not after[attribute].required
            case Ruled(message=message):
                assert message in new.CEL
                assert message not in old.CEL


def graduated_type(old: Any) -> Any:
    """The newer type of a declared one, or of one that inherits from it."""
    made = Graduation(graduated.CHANGES).model(old)
    assert made is not old
    return made


def choices(field: Any) -> set[str]:
    """The values that a field may have."""
    return set(schema_of(field.type)["enum"])


OLD: dict[str, Any] = {
    "scheme": "http",
    "proxyUrl": "http://proxy:3128",
    "proxyConnectHeader": {"X-Team": [{"name": "proxy", "key": "team"}]},
    "relabelings": [{"action": "keep", "regex": "a"}, {"action": "LabelMap"}, {"regex": "b"}],
    "consulSDConfigs": [{"server": "c:8500", "scheme": "HTTPS", "tokenRef": {"key": "t"}}],
    "openstackSDConfigs": [{"role": "Instance", "region": "r", "userid": "u"}],
    "lightSailSDConfigs": [{"region": "eu"}],
    "dockerSwarmSDConfigs": [{"role": "Tasks", "host": "tcp://d:1"}],
    "digitalOceanSDConfigs": [
        {
            "role": "Databases",
            "oauth2": {
                "clientId": {"secret": {"key": "id"}},
                "clientSecret": {"key": "s"},
                "tokenUrl": "http://t",
            },
        }
    ],
}
NEW: dict[str, Any] = {
    "scheme": "HTTP",
    "proxyURL": "http://proxy:3128",
    "proxyConnectHeaders": {"X-Team": [{"name": "proxy", "key": "team"}]},
    "relabelings": [{"action": "Keep", "regex": "a"}, {"action": "LabelMap"}, {"regex": "b"}],
    "consulSDConfigs": [{"server": "c:8500", "scheme": "HTTPS", "token": {"key": "t"}}],
    "openStackSDConfigs": [{"role": "Instance", "region": "r", "userID": "u"}],
    "lightsailSDConfigs": [{"region": "eu"}],
    "dockerSwarmSDConfigs": [{"role": "Task", "host": "tcp://d:1"}],
    "digitalOceanSDConfigs": [
        {
            "role": "Database",
            "oauth2": {
                "clientID": {"secret": {"key": "id"}},
                "clientSecret": {"key": "s"},
                "tokenURL": "http://t",
            },
        }
    ],
}


@pytest.mark.parametrize("newer", [BETA, STABLE])
def test_names_and_values_become_those_of_the_version(newer: str) -> None:
    """In the job, in discoveries and in what they share; absent stays absent."""
    there = converted(config(ALPHA, **OLD), newer).object
    assert there["spec"] == NEW
    assert converted(there, ALPHA).object == config(ALPHA, **OLD)
    plain = converted(config(newer, **NEW), ALPHA).object["spec"]
    usual = OLD | {
        "relabelings": [{"action": "keep", "regex": "a"}, {"action": "labelmap"}, {"regex": "b"}],
        "consulSDConfigs": [{"server": "c:8500", "scheme": "https", "tokenRef": {"key": "t"}}],
    }
    assert plain == usual


def test_a_spelling_that_is_not_the_usual_one_waits_in_an_annotation() -> None:
    """Only where there is one, and the annotations of the user stay."""
    there = converted(config(ALPHA, **OLD), STABLE).object
    assert there["metadata"]["annotations"].keys() == {"mine", ANNOTATION}
    assert json.loads(there["metadata"]["annotations"][ANNOTATION]) == [
        {"at": ["relabelings", 1], "had": {"action": "LabelMap"}},
        {"at": ["consulSDConfigs", 0], "had": {"scheme": "HTTPS"}},
    ]
    usual = converted(config(ALPHA, scheme="https", relabelings=[{"action": "keep"}]), STABLE)
    assert usual.object["metadata"]["annotations"] == {"mine": "stays"}


def test_an_edit_in_v1_is_not_undone_by_the_annotation() -> None:
    """A value that is another one now has the usual spelling of v1alpha1."""
    there = converted(config(ALPHA, scheme="HTTP", relabelings=[{"action": "Keep"}]), STABLE).object
    there["spec"]["scheme"] = "HTTPS"
    there["spec"]["relabelings"].append({"action": "Drop"})
    back = converted(there, ALPHA).object["spec"]
    assert back["scheme"] == "https"
    assert back["relabelings"] == [{"action": "Keep"}, {"action": "drop"}]


@pytest.mark.parametrize(
    "forged",
    [
        "no JSON",
        "{}",
        '[{"at":[],"had":{"scheme":"ftp"}}]',
        '[{"at":[],"had":{"scheme":"https"}}]',
        '[{"at":[],"had":{"scheme":true}}]',
        '[{"at":[],"had":{"scheme":null}}]',
        '[{"at":[],"had":{"jobName":"stolen"}}]',
        '[{"at":[],"had":{"proxyUrl":"http://else"}}]',
        '[{"at":["oauth2"],"had":{"tokenUrl":"http://else"}}]',
        '[{"at":["relabelings",7],"had":{"action":"Keep"}}]',
        '[{"at":["relabelings","x",1],"had":{"action":"Keep"}}]',
        '[{"at":["relabelings"],"had":{"action":"Keep"}}]',
        '[{"at":["relabelings",0],"had":{"action":"Drop"}}]',
        '[{"at":["relabelings",0],"had":{"regex":".*"}}]',
        '[{"at":["metricRelabelings",0],"had":{"action":"Keep"}}]',
        "[" * 5000,
    ],
)
def test_nobody_writes_past_the_schema_with_the_annotation(forged: str) -> None:
    """It can choose the spelling of a value that stands in the spec, nothing else."""
    spec = {"scheme": "HTTP", "relabelings": [{"action": "Keep"}], "metricRelabelings": "x"}
    given = config(STABLE, **spec)
    given["metadata"]["annotations"] = {ANNOTATION: forged}
    back = converted(given, ALPHA).object
    usual = {"scheme": "http", "relabelings": [{"action": "keep"}], "metricRelabelings": "x"}
    assert back["spec"] == usual
    assert back["metadata"] == {"name": "shop"}


def test_more_spellings_than_an_annotation_holds_are_told() -> None:
    """They become the usual ones; the values are the same."""
    steps = [{"action": "Keep", "regex": str(number)} for number in range(5000)]
    there = converted(config(ALPHA, relabelings=steps), STABLE)
    assert [finding.path for finding in there.findings] == ["spec"]
    assert there.object["metadata"]["annotations"] == {"mine": "stays"}
    back = converted(there.object, ALPHA).object["spec"]["relabelings"]
    assert back == [step | {"action": "keep"} for step in steps]


@pytest.mark.parametrize("mine", ["x" * 200_000, "ä" * 100_000])
def test_our_annotation_leaves_room_for_those_of_the_user(mine: str) -> None:
    """The API server takes no list with a converted object of more than 256 KiB of annotations."""
    steps = [{"action": "Keep", "regex": str(number)} for number in range(2000)]
    given = config(ALPHA, relabelings=steps)
    given["metadata"]["annotations"] = {"mine": mine}
    there = converted(given, STABLE)
    assert there.object["metadata"]["annotations"] == {"mine": mine}
    assert [finding.path for finding in there.findings] == ["spec"]
    given["spec"]["relabelings"] = steps[:500]
    there = converted(given, STABLE)
    found = there.object["metadata"]["annotations"]
    assert found.keys() == {"mine", ANNOTATION}
    assert sum(len(f"{name}{text}".encode()) for name, text in found.items()) <= 256 * 1024
    assert converted(there.object, ALPHA).object == given


def test_annotations_that_leave_no_room_are_nothing_to_tell_where_nothing_is_kept() -> None:
    """The object has all of its spec in the other version."""
    given = config(ALPHA, scheme="http")
    given["metadata"]["annotations"] = {"mine": "x" * (256 * 1024 - 4)}
    assert not converted(given, STABLE).findings


def test_an_annotation_is_read_in_the_time_that_its_length_takes(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """A tenant must not keep the webhook busy: each list is read once, each place used once."""
    read: list[int] = []

    def steps(items: list[Any]) -> range:
        read.append(len(items))
        return range(len(items))

    monkeypatch.setattr(kept, "steps", steps)
    entry = {"at": ["relabelings", 0], "had": {"action": "Keep"}}
    given = config(STABLE, relabelings=[{"action": "Keep"}] * 3)
    given["metadata"]["annotations"] = {
        ANNOTATION: json.dumps([entry, entry | {"at": ["relabelings", 2]}] * 1000)
    }
    back = converted(given, ALPHA).object["spec"]["relabelings"]
    assert back == [{"action": "Keep"}, {"action": "keep"}, {"action": "Keep"}]
    assert read == [3]
    assert len(kept.entries(given)) == 2


def test_strange_shapes_are_told_and_kept() -> None:
    """One tenant's mess must not make lists of everybody's objects fail."""
    spec = {"scheme": "ftp", "oauth2": "none", "consulSDConfigs": [7, {"scheme": ["http"]}]}
    there = converted(config(ALPHA, **spec), STABLE)
    assert there.object["spec"] == spec
    assert {(finding.path, finding.reason) for finding in there.findings} == {
        ("spec.scheme", UNSUPPORTED),
        ("spec.oauth2", WRONG_TYPE),
        ("spec.consulSDConfigs[0]", WRONG_TYPE),
    }


def test_a_field_that_does_not_exist_does_not_come_into_being() -> None:
    """A name of the other version is unknown there too after the conversion."""
    there = converted(config(ALPHA, proxyURL="http://smuggled", proxyUrl="http://p"), STABLE)
    assert there.object["spec"] == {"proxyUrl": "http://smuggled", "proxyURL": "http://p"}


@pytest.mark.parametrize("desired", [f"{GROUP}/v2", "apps/v1", ""])
def test_a_version_that_does_not_exist_is_an_error(desired: str) -> None:
    """The error says which."""
    with pytest.raises(FieldError, match="desiredAPIVersion: there is no ScrapeConfig in"):
        converted(config(ALPHA), desired)
    with pytest.raises(FieldError, match="apiVersion: there is no ScrapeConfig in"):
        converted(config(desired), ALPHA)


@pytest.mark.parametrize("api_version", [ALPHA, BETA, STABLE])
def test_every_version_becomes_the_same_internal_object(api_version: str) -> None:
    """But for `apiVersion`, which says in which words to speak of it."""
    given = converted(config(ALPHA, **OLD), api_version).object
    found = typed(given)
    assert type(found) is v1alpha1.ScrapeConfig
    assert found.api_version == api_version
    assert found.spec == convert(v1alpha1.ScrapeConfig, config(ALPHA, **OLD)).spec


def test_objects_of_other_kinds_and_of_v1alpha1_are_internal_already() -> None:
    """They are given back as they are."""
    for given in (config(ALPHA, **OLD), {"apiVersion": STABLE, "kind": "ServiceMonitor"}):
        assert to_internal(given) is given


def test_wrong_types_are_told_in_the_words_of_the_version() -> None:
    """The path is one that the user finds in the manifest."""
    for api_version, name in ((ALPHA, "tokenRef"), (STABLE, "token")):
        with pytest.raises(DecodeError) as error:
            typed(config(api_version, consulSDConfigs=[{"server": "a", name: "text"}]))
        assert error.value.path == f"spec.consulSDConfigs[0].{name}"
    with pytest.raises(FieldError, match="there is no ScrapeConfig in"):
        typed(config(f"{GROUP}/v2"))


@pytest.mark.parametrize(
    ("path", "newer"),
    [
        ("spec.proxyUrl", "spec.proxyURL"),
        ("spec.proxyConnectHeader[X.y][0]", "spec.proxyConnectHeaders[X.y][0]"),
        ("spec.oauth2.tokenUrl", "spec.oauth2.tokenURL"),
        ("spec.openstackSDConfigs[2].userid", "spec.openStackSDConfigs[2].userID"),
        ("spec.ec2SDConfigs[0].proxyUrl", "spec.ec2SDConfigs[0].proxyURL"),
        ("spec.kumaSDConfigs[0].oauth2.clientId.x", "spec.kumaSDConfigs[0].oauth2.clientID.x"),
        ("spec.httpSDConfigs[1].httpHeaders[proxyUrl]",) * 2,
        ("spec.relabelings[0].action", "spec.relabelings[0].action"),
        ("metadata.name", "metadata.name"),
        ("spec", "spec"),
        ("", ""),
    ],
)
def test_paths_are_told_in_the_words_of_the_version(path: str, newer: str) -> None:
    """For v1alpha1 they stay."""
    assert as_written(STABLE, "ScrapeConfig", path)[0] == newer
    assert as_written(BETA, "ScrapeConfig", path)[0] == newer
    assert as_written(ALPHA, "ScrapeConfig", path)[0] == path
    assert as_written(STABLE, "Probe", path)[0] == path


def test_messages_name_fields_as_the_version_does() -> None:
    """Names between backticks are those of the object that the path leads to."""
    said = as_written(STABLE, "ScrapeConfig", "spec.noProxy", "needs `proxyUrl`")
    assert said == ("spec.noProxy", "needs `proxyURL`")
    said = as_written(STABLE, "ScrapeConfig", "spec.consulSDConfigs[0]", "`tokenRef` excludes")
    assert said == ("spec.consulSDConfigs[0]", "`token` excludes")
