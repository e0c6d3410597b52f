"""What many resources say alike is kept once, and nobody can tell."""

from typing import Any

import msgspec
import pytest
from msgspec import Raw
from msgspec.structs import replace

from stoker.cluster import sharing
from stoker.cluster.kinds import RESOURCES
from stoker.cluster.sharing import of_one_spec
from tests.builders import thing

KIND = "ServiceMonitor"


def _read(name: str, endpoint: dict[str, Any], **more: Any) -> Any:
    return RESOURCES[KIND].read(Raw(_json(name, endpoint, **more)))


def _json(name: str, endpoint: dict[str, Any], **more: Any) -> bytes:
    spec = {"endpoints": [endpoint], "selector": {"matchLabels": {"app": name}}}
    return msgspec.json.encode(thing(KIND, name, spec=spec) | more)


def _status(time: str) -> dict[str, Any]:
    accepted = {"type": "Accepted", "status": "True", "lastTransitionTime": time}
    binding = {"name": "main", "namespace": "monitoring", "conditions": [accepted]}
    return {"bindings": [binding]}


def test_monitors_of_one_template_share_their_endpoints() -> None:
    """An endpoint that says the same as another is the very same object."""
    one, other = (_read(name, {"port": "web", "interval": "30s"}) for name in ("a", "b"))
    assert one.spec.endpoints[0] is other.spec.endpoints[0]
    assert one.spec.selector != other.spec.selector


def test_what_a_resource_says_twice_is_kept_once() -> None:
    """Its name stands in its labels and in what it selects; its time is that of others too."""
    metadata = {"namespace": "shop", "creationTimestamp": "2026-11-19T04:40:00Z"}
    one, other = (
        _read(name, {"port": "web"}, metadata=metadata | {"name": name, "labels": _labels(name)})
        for name in ("a", "b")
    )
    name = one.metadata.name
    assert one.metadata.labels == _labels("a")
    assert one.metadata.labels["example.com/name"] is one.spec.selector.match_labels["app"] is name
    assert one.metadata.labels["team"] is other.metadata.labels["team"]
    keys = [[*each.metadata.labels] for each in (one, other)]
    assert all(a is b for a, b in zip(*keys, strict=True))
    assert one.metadata.creation_timestamp is other.metadata.creation_timestamp


def _labels(name: str) -> dict[str, str]:
    # Longer than what a decoder remembers by itself.
    return {"example.com/name": name, "team": "team-of-the-shop", f"{'long' * 10}/label": "a-value"}


def test_labels_that_say_the_same_are_kept_once() -> None:
    """In another order they are others: they come out as they were written."""
    labels = {"team": "shop", "part-of": "checkout"}
    turned = dict(reversed(labels.items()))
    one, other, third = (
        _read(name, {"port": "web"}, metadata={"name": name, "labels": each})
        for name, each in (("a", labels), ("b", labels), ("c", turned))
    )
    assert one.metadata.labels is other.metadata.labels
    assert [*third.metadata.labels] == [*turned]


def _rule(name: str, times: int = 1, **more: str) -> Any:
    alert = {
        "alert": "ServiceIsDown",
        "expr": f"up{{job='{name}'}} == 0",
        "for": "10m",
        "labels": {"severity": "page", "team": "shop"},
        "annotations": {"summary": f"{name} is down", "description": "It does not answer.", **more},
    }
    given = {
        "metadata": {"name": name, "namespace": "shop"},
        "spec": {"groups": [{"name": name, "rules": [alert] * times}]},
    }
    raw = Raw(msgspec.json.encode(given))
    found = RESOURCES["PrometheusRule"].read(raw)
    assert msgspec.json.decode(msgspec.json.encode(found)) == given
    return found


def test_alerts_of_a_team_share_what_they_say_alike() -> None:
    """Their labels, and each text for itself; what is their own stays so."""
    one, other = (_rule(name).spec.groups[0].rules[0] for name in ("a", "b"))
    assert one.labels is other.labels
    assert one.alert is other.alert
    assert one.for_ is other.for_
    assert one.annotations["description"] is other.annotations["description"]
    assert one.annotations["summary"] != other.annotations["summary"]


def test_rules_share_also_where_they_are_many() -> None:
    """Those of a chart are longer than any monitor; only whoever writes far more is left alone."""
    many, far_more = (_rule("a", times).spec.groups[0].rules for times in (50, 1000))
    assert len({id(each.labels) for each in many}) == 1
    assert len({id(each.labels) for each in far_more}) == 1000


def test_what_a_status_says_of_many_is_kept_once() -> None:
    """Statuses of the same second are one object; another second is another one."""
    status = _status("2026-11-19T04:40:00Z")
    one, other = (_read(name, {"port": "web"}, status=status) for name in ("a", "b"))
    later = _read("c", {"port": "web"}, status=_status("2026-11-19T04:40:01Z"))
    assert one.status is other.status
    assert later.status != one.status


def test_statuses_of_two_seconds_share_their_texts() -> None:
    """Of what many statuses say, only the time is another one."""
    statuses = [_status(f"2026-11-19T04:40:0{second}Z") for second in (2, 3)]
    one, other = (_read("a", {"port": "web"}, status=each).status for each in statuses)
    assert one != other
    assert one.bindings[0].namespace is other.bindings[0].namespace
    assert one.bindings[0].conditions[0].type is other.bindings[0].conditions[0].type


def _stored(generation: int, **more: Any) -> Any:
    metadata: dict[str, Any] = {"name": "a", "namespace": "shop", "uid": "u"}
    metadata |= {"labels": {"team": "shop"}, "generation": generation}
    metadata["resourceVersion"] = str(len(more) + generation)
    return _read("a", {"port": "web"}, metadata=metadata, **more)


def test_a_resource_and_its_earlier_state_share_what_a_status_does_not_change() -> None:
    """Whoever judged it keeps the earlier state: of that, little is kept twice."""
    old, new = _stored(1), _stored(1, status=_status("2026-11-19T04:40:05Z"))
    found = of_one_spec(old, new)
    assert found == new
    assert found.spec is old.spec
    assert found.metadata.labels is old.metadata.labels
    assert found.metadata.resource_version == new.metadata.resource_version


@pytest.mark.parametrize("path", ["metadata.uid", "metadata.generation", "api_version"])
def test_another_generation_shares_nothing(path: str) -> None:
    """Nor does a namesake, or another version: it may say what was absent to be empty."""
    old = new = _stored(1)
    *parts, name = path.split(".")
    other = replace(new.metadata if parts else new, **{name: 2 if name == "generation" else "b"})
    new = replace(new, metadata=other) if parts else other
    assert of_one_spec(old, new) is new


@pytest.mark.parametrize(
    "endpoint",
    [
        {"port": "web", "bearerTokenSecret": {"name": "token"}},
        {"port": "web", "bearerTokenSecret": {"name": "token", "key": ""}},
        {"port": "web", "params": {"a": ["b"]}},
    ],
)
def test_what_is_absent_is_not_taken_for_what_is_empty(endpoint: dict[str, Any]) -> None:
    """Of values that are equal and say something else, each monitor keeps its own."""
    for key in ({}, {"key": ""}):
        _read("before", {"port": "web", "bearerTokenSecret": {"name": "token"} | key})
    found = msgspec.json.decode(msgspec.json.encode(_read("a", endpoint)))
    assert found == msgspec.json.decode(_json("a", endpoint))


def test_no_more_is_remembered_than_a_bound() -> None:
    """Thousands of endpoints that have nothing in common do not pile up; large ones never do."""
    for number in range(5000):
        _read("a", {"port": f"p{number}"}, status=_status(f"{number}"))
    assert 0 < sharing.entries() <= 2 * 2048
    before = sharing.entries()
    _read("a", {"port": "web", "path": "/" + "a" * 5000})
    assert sharing.entries() == before
    for number in range(5000):
        _rule(f"{number}", team=f"{number}")
    assert 0 < sharing.entries() <= 2 * 2048


def test_long_texts_are_not_remembered() -> None:
    """Thousands of them would be megabytes, though each of the rules is a small one."""
    _rule("a")
    before = sharing.entries()
    found = _rule("a", runbook="a" * 1000)
    assert sharing.entries() <= before + len(found.spec.groups[0].rules[0].annotations)
    assert not any(len(text) > 512 for text in sharing._texts)
