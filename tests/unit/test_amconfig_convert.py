"""AlertmanagerConfigs from one version to the other and back."""

import json
import os
import subprocess
import sys
from copy import deepcopy
from functools import cache
from itertools import chain, cycle, islice
from random import Random
from typing import Any

import pytest

from stoker.api.admit import admit
from stoker.api.amconfig import ALERTMANAGER_CONFIG, v1beta1
from stoker.api.convert import ANNOTATION, converted
from stoker.api.convert.amconfig import RENAMED, Difference, differences
from stoker.api.crd import GROUP
from stoker.api.decode import convert
from stoker.errors import FieldError
from tests import builders
from tests.conformance.generated import leaves, prepare, resource, schema_of_version

ALPHA, BETA = f"{GROUP}/v1alpha1", f"{GROUP}/v1beta1"
OBJECTS = 2_000
MATCHERS: list[dict[str, Any]] = [
    {"name": "team", "value": "shop"},
    {"name": "team", "value": "shop|bank", "regex": True},
    {"name": "team", "value": "shop", "regex": False},
    {"name": "team", "value": "shop", "regex": True, "matchType": "!~"},
    {"name": "team", "value": "shop", "regex": True, "matchType": ""},
    {"name": "team", "matchType": "="},
]


def alpha(**spec: Any) -> dict[str, Any]:
    """A v1alpha1 object."""
    mine = {"mine": "stays"}
    kind = "AlertmanagerConfig"
    return builders.resource(kind, "shop", spec, version="v1alpha1", annotations=mine)


def beta_of(given: dict[str, Any]) -> dict[str, Any]:
    """The object in v1beta1."""
    return converted(given, BETA).object


def alpha_of(given: dict[str, Any]) -> dict[str, Any]:
    """The object in v1alpha1."""
    return converted(given, ALPHA).object


@cache
def focuses(version_name: str) -> tuple[Any, ...]:
    """Every field of a version, so that the objects together have them all."""
    version = ALERTMANAGER_CONFIG.version(version_name)
    assert version
    schema = schema_of_version(version)
    prepare(schema)
    return tuple(path for path in leaves(schema) if path[:1] == (".spec",))


def objects(version_name: str, count: int) -> Any:
    """Made-up objects of a version, with nested routes, which the schema knows nothing of."""
    version = ALERTMANAGER_CONFIG.version(version_name)
    assert version
    for number, focus in enumerate(islice(cycle(focuses(version_name)), count)):
        random = Random(number)
        made = resource(version, f"{version_name}-{number}", 0.5, focus)
        if random.random() < 0.3:
            route = nested(random, 0, regex=version_name == "v1alpha1")
            made["spec"]["route"] = made["spec"].get("route", {}) | {"routes": [route, route]}
        yield made


def nested(random: Random, depth: int, *, regex: bool) -> dict[str, Any]:
    """A route as users nest them, or nearly so."""
    matchers = deepcopy(random.sample(MATCHERS, 2))
    for matcher in matchers:
        if not regex:
            matcher.pop("regex", None)
    made: dict[str, Any] = {"matchers": matchers, random.choice(["receiver", "typo"]): "a"}
    if depth < 3:
        made["routes"] = [nested(random, depth + 1, regex=regex)]
    return made


@pytest.mark.parametrize(("version", "there"), [("v1alpha1", BETA), ("v1beta1", ALPHA)])
def test_every_object_comes_back_as_it_was(version: str, there: str) -> None:
    """There and back again nothing is lost, whatever fields are set; the input is not touched."""
    for made in objects(version, OBJECTS):
        before = json.dumps(made)
        there_and_back = converted(converted(made, there).object, f"{GROUP}/{version}").object
        assert there_and_back == made
        assert json.dumps(made) == before


def test_what_comes_out_is_an_object_of_the_other_version() -> None:
    """No field is left that v1beta1 does not have, and none has another type."""
    version = ALERTMANAGER_CONFIG.version("v1beta1")
    assert version
    for made in objects("v1alpha1", 300):
        there = beta_of(made)
        convert(v1beta1.AlertmanagerConfig, there)
        assert not admit(version, there).unknown


def differing(of: Difference, path: str = "spec") -> Any:
    """The paths of all members that only v1alpha1 has."""
    own = (f"{path}.{name}" for name in sorted(of.only))
    inner = (differing(one, f"{path}.{name}") for name, one in of.inner.items() if one is not of)
    return chain(own, chain.from_iterable(inner))


def test_the_differences_are_those_that_we_know() -> None:
    """Found by comparing the declarations: a new one must be thought about."""
    found = set(differing(differences()))
    secrets = {path for path in found if path.endswith(".optional")}
    assert found - secrets == {
        "spec.route.matchers.regex",
        "spec.inhibitRules.sourceMatch.regex",
        "spec.inhibitRules.targetMatch.regex",
        "spec.receivers.opsgenieConfigs.updateAlerts",
    }
    assert len(secrets) == 26
    assert RENAMED == {"muteTimeIntervals": "timeIntervals"}


@pytest.mark.parametrize(
    ("matcher", "match_type"),
    [({"regex": True}, "=~"), ({"regex": False}, None), ({"regex": True, "matchType": "!="}, "!=")],
)
def test_regex_becomes_a_match_type(matcher: dict[str, Any], match_type: str | None) -> None:
    """Also in nested routes; a match type that is set goes before it, as it did."""
    matchers = [{"name": "team", "value": "a|b"} | matcher]
    given = alpha(
        route={"matchers": matchers, "routes": [{"matchers": matchers}]},
        inhibitRules=[{"sourceMatch": matchers}],
    )
    spec = beta_of(given)["spec"]
    places = (spec["route"], spec["route"]["routes"][0])
    for found in (*(place["matchers"] for place in places), spec["inhibitRules"][0]["sourceMatch"]):
        assert found[0].get("matchType") == match_type
        assert "regex" not in found[0]


SECRET = {"name": "keys", "key": "opsgenie", "optional": True}
OPSGENIE = {"apiKey": SECRET, "updateAlerts": True}


def opsgenie() -> dict[str, Any]:
    """A v1alpha1 object with much that v1beta1 cannot say."""
    return alpha(receivers=[{"name": "other"}, {"name": "pager", "opsgenieConfigs": [OPSGENIE]}])


def test_what_v1beta1_cannot_say_waits_in_an_annotation() -> None:
    """It is gone from the spec, and the annotations of the user stay."""
    there = beta_of(opsgenie())
    annotations = there["metadata"]["annotations"]
    assert annotations.keys() == {"mine", ANNOTATION}
    assert there["spec"]["receivers"][1]["opsgenieConfigs"] == [
        {"apiKey": {"name": "keys", "key": "opsgenie"}}
    ]
    assert alpha_of(there) == opsgenie()


CONVERT = """
import json, sys
from stoker.api.convert import converted
print(json.dumps(converted(json.load(sys.stdin), sys.argv[1]).object))
"""


def test_every_process_makes_the_same_annotation() -> None:
    """Or an object would seem to change with each webhook that the API server asks."""
    one, regex = opsgenie(), {"name": "team", "value": "shop", "regex": True}
    one["spec"]["route"] = {"receiver": "other", "matchers": [regex]}
    one["spec"]["inhibitRules"] = [{"sourceMatch": [regex], "targetMatch": [regex]}]
    made = {
        subprocess.run(
            [sys.executable, "-c", CONVERT, BETA],
            input=json.dumps(one),
            env=os.environ | {"PYTHONHASHSEED": seed},
            capture_output=True,
            text=True,
            check=True,
        ).stdout
        for seed in "123"
    }
    assert len(made) == 1


def test_an_edit_in_v1beta1_keeps_what_still_fits() -> None:
    """Receivers are found by name; a Secret that is another one now is not made optional."""
    there = beta_of(opsgenie())
    there["spec"]["receivers"].reverse()
    there["spec"]["receivers"][0]["opsgenieConfigs"][0]["apiKey"]["name"] = "others"
    back = alpha_of(there)["spec"]["receivers"][0]["opsgenieConfigs"][0]
    assert back == {"apiKey": {"name": "others", "key": "opsgenie"}, "updateAlerts": True}


@pytest.mark.parametrize(
    "forged",
    [
        "no JSON",
        "{}",
        '[{"at":["receivers","pager"],"had":{"name":"stolen"}}]',
        '[{"at":["receivers","pager","opsgenieConfigs",0],"had":{"apiURL":"http://else"}}]',
        '[{"at":["receivers","pager","opsgenieConfigs",0],"had":{"updateAlerts":"yes"}}]',
        '[{"at":["receivers","pager","opsgenieConfigs",7],"had":{"updateAlerts":true}}]',
        '[{"at":["route","matchers",0],"had":{"matchType":"!~"},"of":{"name":"a"}}]',
        '[{"at":["route","matchers",0],"had":{"regex":true},"of":{"name":"a"}}]',
        '[{"at":["nowhere"],"had":{"optional":true}}]',
        "[" * 5000,
    ],
)
def test_nobody_writes_past_the_schema_with_the_annotation(forged: str) -> None:
    """It brings back nothing but what a conversion took away, at the place where it was."""
    spec = {
        "route": {"matchers": [{"name": "a"}]},
        "receivers": [{"name": "pager", "opsgenieConfigs": [{"apiKey": {"key": "k"}}]}],
    }
    given = {"apiVersion": BETA, "kind": "AlertmanagerConfig", "spec": spec}
    back = alpha_of(given | {"metadata": {"annotations": {ANNOTATION: forged}}})
    assert back["spec"] == spec
    assert back["metadata"] == {}


def test_an_unknown_field_of_a_nested_route_is_kept_and_told() -> None:
    """One tenant's typo must not make lists of everybody's objects fail."""
    given = alpha(route={"routes": [{"matchers": [{"severity": "!=critical"}]}, "text"]})
    made = converted(given, BETA)
    assert made.object["spec"] == given["spec"]
    assert {finding.path for finding in made.findings} == {
        "spec.route.routes[0].matchers[0].severity",
        "spec.route.routes[1]",
    }


def test_routes_nested_without_end_are_left_as_they_are() -> None:
    """Deeper than anybody writes, nothing is converted and nothing breaks."""
    route: dict[str, Any] = {"receiver": "a"}
    for _ in range(400):
        route = {"routes": [route]}
    made = converted(alpha(route=route), BETA)
    assert made.findings
    assert alpha_of(made.object) == alpha(route=route)


@pytest.mark.parametrize("desired", [f"{GROUP}/v2", "apps/v1", ""])
def test_a_version_that_does_not_exist_is_an_error(desired: str) -> None:
    """The error says which."""
    with pytest.raises(FieldError, match="desiredAPIVersion"):
        converted(alpha(), desired)


def test_an_object_that_is_there_already_stays() -> None:
    """As do objects of kinds with one version."""
    given = {"apiVersion": ALPHA, "kind": "ScrapeConfig", "spec": {"x": 1}}
    assert converted(given, ALPHA).object is given
