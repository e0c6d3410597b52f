"""Whom a change wakes, and whom it leaves alone."""

from __future__ import annotations

from typing import Any

import pytest
from msgspec.structs import replace

from stoker.api.core import LabelSelector, ObjectMeta, OwnerReference
from stoker.kube.reading import Head
from stoker.operator.triggers import Changes, Triggers
from stoker.ref import Ref
from stoker.select.choice import Choice
from stoker.select.labels import selector_of

MAIN = Ref("Prometheus", "shop", "main")
MONITOR = Ref("ServiceMonitor", "shop", "web")
SECRET = Ref("Secret", "shop", "token")


class Told:
    """Triggers, and what they told."""

    def __init__(self) -> None:
        self.woken: list[Ref] = []
        self.looked: list[Ref] = []
        self.counted: list[tuple[str, str]] = []
        self.reading: dict[Ref, list[Ref]] = {}
        self.written: set[str] = set()
        self.choices: dict[str, Choice] | None = {
            "ServiceMonitor": choice(namespaces={"team": "a"})
        }
        self.triggers = Triggers(
            wake=self.woken.append,
            look=self.looked.append,
            choices=lambda _kind, _found: self.choices,
            readers=lambda key: self.reading.get(key, []),
            is_written=lambda _kind, metadata: metadata.resource_version in self.written,
            count=lambda _key, kind, action: self.counted.append((kind, action)),
        )

    def begin(self) -> Triggers:
        """A Prometheus, a monitor and its namespace are there, and all was dealt with."""
        self.triggers.namespace(None, head("shop", labels={"team": "a"}))
        self.triggers.workload("Prometheus", None, head("main"))
        self.triggers.resource("ServiceMonitor", None, head("web"))
        self.triggers.take(MAIN)
        for each in (self.woken, self.looked, self.counted):
            each.clear()
        return self.triggers


@pytest.fixture
def told() -> Told:
    """Triggers without any knowledge."""
    return Told()


def choice(namespaces: dict[str, str] | None = None) -> Choice:
    """All resources of a kind, in namespaces with these labels or (None) in the own."""
    labels = None if namespaces is None else selector_of(LabelSelector(match_labels=namespaces))
    return Choice(selector_of(LabelSelector()), labels, "shop")


def head(name: str, generation: int = 1, **metadata: Any) -> Head:
    """An object of which the metadata is known."""
    return Head(metadata=ObjectMeta(name=name, namespace="shop", generation=generation, **metadata))


def owned(*by: str, version: str = "1") -> Head:
    """An object that belongs to these (or to one) Prometheus."""
    owners = [
        OwnerReference(
            api_version="monitoring.coreos.com/v1", kind="Prometheus", name=each, uid=each
        )
        for each in by or ("main",)
    ]
    return head("made", owner_references=owners, resource_version=version)


def test_a_new_workload_looks_at_itself_and_all_that_it_selects(told: Told) -> None:
    """It is woken once, and told to look at everything."""
    told.triggers.workload("Prometheus", None, head("main"))
    assert told.woken == [MAIN]
    assert told.triggers.take(MAIN).own
    assert told.counted == [("Prometheus", "add")]


def test_a_status_wakes_nobody(told: Told) -> None:
    """Ours or another's: a change of the status alone changes nothing that is made from the rest.

    That of a workload is looked at, since somebody may have spoilt it.
    """
    triggers = told.begin()
    triggers.workload("Prometheus", head("main"), head("main", resource_version="2"))
    triggers.resource("ServiceMonitor", head("web"), head("web", resource_version="2"))
    assert told.woken == []
    assert told.looked == [MAIN]
    assert triggers.take(MAIN) == Changes()


@pytest.mark.parametrize(
    "metadata",
    [{"generation": 2}, {"labels": {"a": "b"}}, {"annotations": {"a": "b"}}, {"uid": "u"}],
)
def test_whatever_else_changes_in_a_resource_is_noted(told: Told, metadata: dict[str, Any]) -> None:
    """Specification, labels, annotations, and another object of the same name."""
    triggers = told.begin()
    triggers.resource("ServiceMonitor", head("web"), head("web", **metadata))
    assert told.woken == [MAIN]
    assert triggers.take(MAIN) == Changes(resources={MONITOR})
    assert told.counted == [("ServiceMonitor", "update")]


def test_a_resource_that_applies_to_nobody_wakes_nobody(told: Told) -> None:
    """Kinds that the workload does not select are none of its business."""
    triggers = told.begin()
    triggers.resource("Probe", None, head("web"))
    assert told.woken == []


def test_a_resource_that_is_gone_wakes_who_had_it(told: Told) -> None:
    """Also one that lost the labels of its namespace."""
    triggers = told.begin()
    triggers.resource("ServiceMonitor", head("web"), None)
    assert triggers.take(MAIN).resources == {MONITOR}
    assert told.counted == [("ServiceMonitor", "delete")]


def test_labels_of_a_namespace_decide(told: Told) -> None:
    """A namespace with other labels wakes those for whom that makes a difference."""
    triggers = told.begin()
    triggers.namespace(head("shop", labels={"team": "a"}), head("shop", labels={"team": "a"}))
    assert told.woken == []
    triggers.namespace(head("shop", labels={"team": "a"}), head("shop", labels={"team": "b"}))
    assert told.woken == [MAIN]
    assert triggers.take(MAIN).members
    assert triggers.members.members(MAIN) == frozenset()


def test_a_monitor_before_its_namespace_is_found_when_that_comes(told: Told) -> None:
    """Nothing is lost by the order in which watches tell."""
    told.triggers.workload("Prometheus", None, head("main"))
    told.triggers.resource("ServiceMonitor", None, head("web"))
    assert told.triggers.members.members(MAIN) == frozenset()
    told.triggers.namespace(None, head("shop", labels={"team": "a"}))
    assert told.triggers.members.members(MAIN) == {MONITOR}
    assert told.woken == [MAIN, MAIN]


def test_a_value_wakes_its_readers_alone(told: Told) -> None:
    """A Secret that nobody refers to is no reason to look at anything."""
    triggers = told.begin()
    triggers.value("Secret", None, head("token"))
    assert told.woken == []
    told.reading[SECRET] = [MAIN]
    triggers.value("Secret", head("token"), head("token"))
    assert told.woken == [MAIN]
    assert triggers.take(MAIN) == Changes(values={SECRET})


def test_what_we_wrote_ourselves_wakes_nobody(told: Told) -> None:
    """Its status may be news, so that is looked at."""
    triggers = told.begin()
    told.written.add("2")
    triggers.owned("StatefulSet", ["Prometheus"], owned(version="1"), owned(version="2"))
    assert told.woken == []
    assert told.looked == [MAIN]
    triggers.owned("StatefulSet", ["Prometheus"], owned(version="2"), owned(version="3"))
    assert told.woken == [MAIN]


def test_an_object_that_is_deleted_or_taken_away_wakes_its_owner(told: Told) -> None:
    """One that has another owner wakes both."""
    triggers = told.begin()
    triggers.owned("Secret", ["Prometheus"], owned(), None)
    triggers.owned("Secret", ["Prometheus"], owned(), head("made"))
    assert told.woken == [MAIN, MAIN]
    triggers.owned("Secret", ["Prometheus"], owned(), owned("other"))
    assert set(told.woken[2:]) == {MAIN, replace(MAIN, name="other")}
    triggers.owned("Secret", ["PrometheusAgent"], owned(), None)
    assert len(told.woken) == 4


def test_an_object_that_workloads_share_wakes_all_of_them(told: Told) -> None:
    """None of them is its controller."""
    triggers = told.begin()
    triggers.owned("Service", ["Prometheus"], owned("main", "other"), None)
    assert set(told.woken) == {MAIN, replace(MAIN, name="other")}


def test_who_asks_for_what_cannot_be_seen_is_woken(told: Told) -> None:
    """It must say so, and say so no longer when that is over."""
    triggers = told.begin()
    triggers.sight("Probe")
    assert told.woken == []
    triggers.sight("ServiceMonitor")
    assert told.woken == [MAIN]


def test_a_workload_that_is_not_ours_selects_nothing(told: Told) -> None:
    """It is woken, so that what was kept of it goes, and has no members any longer."""
    triggers = told.begin()
    told.choices = None
    triggers.workload("Prometheus", head("main"), head("main", annotations={"of": "another"}))
    assert told.woken == [MAIN]
    assert triggers.members.members(MAIN) == frozenset()


def test_what_could_not_be_dealt_with_is_noted_again(told: Told) -> None:
    """Together with what has happened meanwhile."""
    triggers = told.begin()
    triggers.resource("ServiceMonitor", head("web"), head("web", generation=2))
    failed = triggers.take(MAIN)
    triggers.everything(MAIN)
    triggers.give_back(MAIN, failed)
    assert triggers.take(MAIN) == Changes(own=True, resources={MONITOR})
