"""Whom a change wakes, and whom it leaves alone."""

from __future__ import annotations

import re
from typing import Any

import pytest
from msgspec.structs import replace

from stoker.api.core import ObjectMeta, OwnerReference
from stoker.api.prometheus import Prometheus
from stoker.kube.reading import Head
from stoker.operator.agenda import Agenda
from stoker.operator.changes import Changes
from stoker.operator.register import Register
from stoker.operator.triggers import Triggers
from stoker.ref import Ref
from stoker.roles import WORKLOADS
from stoker.select.workload import CONTROLLER_ID
from stoker.settings import OperatorSettings
from stoker.web.operator_metrics import OperatorMetrics
from tests.builders import typed

MAIN = Ref("Prometheus", "shop", "main")
MONITOR = Ref("ServiceMonitor", "shop", "web")
SECRET = Ref("Secret", "shop", "token")


class Known:
    """Reads these Secrets and ConfigMaps."""

    def __init__(self, *keys: Ref) -> None:
        self._keys = keys

    def refers_to(self, key: Ref) -> bool:
        """Whether it is one of them."""
        return key in self._keys


class Noting(Agenda):
    """An agenda that keeps the order in which workloads were woken and looked at."""

    def __init__(self, metrics: OperatorMetrics) -> None:
        names = {kind: role.controller for kind, role in WORKLOADS.items()}
        super().__init__({kind: metrics.controller(name) for kind, name in names.items()})
        self.woken: list[Ref] = []
        self.looked: list[Ref] = []

    def wake(self, key: Ref) -> None:
        """Note it: without a running loop there is no queue to enter."""
        self.woken.append(key)

    def look(self, key: Ref) -> None:
        """The same of a status."""
        self.looked.append(key)


class Told:
    """Triggers, and what they wrote into the agenda and the register."""

    def __init__(self) -> None:
        self.written: set[str] = set()
        self._metrics = OperatorMetrics()
        self._before = self._counts()
        self.agenda, self.register = Noting(self._metrics), Register()
        self.triggers = Triggers(self.agenda, self.register, OperatorSettings(), self)

    def is_written(self, _kind: str, metadata: ObjectMeta) -> bool:
        """Whether we wrote this version."""
        return metadata.resource_version in self.written

    def begin(self) -> Triggers:
        """A Prometheus, a monitor and its namespace are there, and all was dealt with."""
        self.triggers.namespace(None, head("shop", labels={"team": "a"}))
        self.triggers.workload("Prometheus", None, server())
        self.triggers.resource("ServiceMonitor", None, head("web"))
        self.agenda.take(MAIN)
        self.woken.clear()
        self.looked.clear()
        self._before = self._counts()
        return self.triggers

    @property
    def woken(self) -> list[Ref]:
        """Who was woken, in this order."""
        return self.agenda.woken

    @property
    def looked(self) -> list[Ref]:
        """Whose status is looked at."""
        return self.agenda.looked

    @property
    def counted(self) -> set[tuple[str, str]]:
        """The causes that were counted, as the metric names them."""
        new = self._counts() - self._before
        return {cause for line in new for cause in _CAUSE.findall(line)}

    def _counts(self) -> set[str]:
        lines = self._metrics.registry.text().splitlines()
        return {line for line in lines if "_triggered_total{" in line}


_CAUSE = re.compile(r'triggered_by="([^"]*)",action="([^"]*)"')


@pytest.fixture
def told() -> Told:
    """Triggers without any knowledge."""
    return Told()


def server(generation: int = 1, **metadata: Any) -> Prometheus:
    """A Prometheus that selects all monitors of a team's namespaces."""
    labels = {"matchLabels": {"team": "a"}}
    spec = {"serviceMonitorSelector": {}, "serviceMonitorNamespaceSelector": labels}
    return typed(Prometheus, "main", spec, generation=generation, **metadata)


def head(name: str, generation: int = 1, **metadata: Any) -> Head:
    """An object of which the metadata is known."""
    return Head(metadata=ObjectMeta(name=name, namespace="shop", generation=generation, **metadata))


def owned(*by: str, version: str = "1", kind: str = "Prometheus") -> Head:
    """An object that belongs to these (or to one) Prometheus."""
    owners = [
        OwnerReference(api_version="monitoring.coreos.com/v1", kind=kind, name=each, uid=each)
        for each in by or ("main",)
    ]
    return head("made", owner_references=owners, resource_version=version)


def test_a_new_workload_looks_at_itself_and_all_that_it_selects(told: Told) -> None:
    """It is woken once, and told to look at everything."""
    told.triggers.workload("Prometheus", None, server())
    assert told.woken == [MAIN]
    assert told.agenda.take(MAIN).own
    assert told.counted == {("Prometheus", "add")}


def test_a_status_wakes_nobody(told: Told) -> None:
    """Ours or another's: a change of the status alone changes nothing that is made from the rest.

    That of a workload is looked at, since somebody may have spoilt it.
    """
    triggers = told.begin()
    triggers.workload("Prometheus", server(), server(resourceVersion="2"))
    triggers.resource("ServiceMonitor", head("web"), head("web", resource_version="2"))
    assert told.woken == []
    assert told.looked == [MAIN]
    assert told.agenda.take(MAIN) == Changes()


@pytest.mark.parametrize(
    "metadata",
    [{"generation": 2}, {"labels": {"a": "b"}}, {"annotations": {"a": "b"}}, {"uid": "u"}],
)
def test_whatever_else_changes_in_a_resource_is_noted(told: Told, metadata: dict[str, Any]) -> None:
    """Specification, labels, annotations, and another object of the same name."""
    triggers = told.begin()
    triggers.resource("ServiceMonitor", head("web"), head("web", **metadata))
    assert told.woken == [MAIN]
    assert told.agenda.take(MAIN) == Changes(resources={MONITOR})
    assert told.counted == {("ServiceMonitor", "update")}


def test_a_resource_that_applies_to_nobody_wakes_nobody(told: Told) -> None:
    """Kinds that the workload does not select are none of its business."""
    triggers = told.begin()
    triggers.resource("Probe", None, head("web"))
    assert told.woken == []


def test_a_resource_that_is_gone_wakes_who_had_it(told: Told) -> None:
    """Also one that lost the labels of its namespace."""
    triggers = told.begin()
    triggers.resource("ServiceMonitor", head("web"), None)
    assert told.agenda.take(MAIN).resources == {MONITOR}
    assert told.counted == {("ServiceMonitor", "delete")}


def test_labels_of_a_namespace_decide(told: Told) -> None:
    """A namespace with other labels wakes those for whom that makes a difference."""
    triggers = told.begin()
    triggers.namespace(head("shop", labels={"team": "a"}), head("shop", labels={"team": "a"}))
    assert told.woken == []
    triggers.namespace(head("shop", labels={"team": "a"}), head("shop", labels={"team": "b"}))
    assert told.woken == [MAIN]
    assert told.agenda.take(MAIN).members
    assert told.register.members.members(MAIN) == frozenset()


def test_a_monitor_before_its_namespace_is_found_when_that_comes(told: Told) -> None:
    """Nothing is lost by the order in which watches tell."""
    told.triggers.workload("Prometheus", None, server())
    told.triggers.resource("ServiceMonitor", None, head("web"))
    assert told.register.members.members(MAIN) == frozenset()
    told.triggers.namespace(None, head("shop", labels={"team": "a"}))
    assert told.register.members.members(MAIN) == {MONITOR}
    assert told.woken == [MAIN, MAIN]


def test_a_value_wakes_its_readers_alone(told: Told) -> None:
    """A Secret that nobody refers to is no reason to look at anything."""
    triggers = told.begin()
    triggers.value("Secret", None, head("token"))
    assert told.woken == []
    told.register.enter(MAIN, Known(SECRET))
    triggers.value("Secret", head("token"), head("token"))
    assert told.woken == [MAIN]
    assert told.agenda.take(MAIN) == Changes(values={SECRET})


def test_what_we_wrote_ourselves_wakes_nobody(told: Told) -> None:
    """Its status may be news, so that is looked at."""
    triggers = told.begin()
    told.written.add("2")
    triggers.owned("StatefulSet", owned(version="1"), owned(version="2"))
    assert told.woken == []
    assert told.looked == [MAIN]
    triggers.owned("StatefulSet", owned(version="2"), owned(version="3"))
    assert told.woken == [MAIN]


def test_an_object_that_is_deleted_or_taken_away_wakes_its_owner(told: Told) -> None:
    """One that has another owner wakes both."""
    triggers = told.begin()
    triggers.owned("Secret", owned(), None)
    triggers.owned("Secret", owned(), head("made"))
    assert told.woken == [MAIN, MAIN]
    triggers.owned("Secret", owned(), owned("other"))
    assert set(told.woken[2:]) == {MAIN, replace(MAIN, name="other")}
    triggers.owned("Secret", owned(kind="Deployment"), None)
    assert len(told.woken) == 4


def test_an_object_that_workloads_share_wakes_all_of_them(told: Told) -> None:
    """None of them is its controller."""
    triggers = told.begin()
    triggers.owned("Service", owned("main", "other"), None)
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
    triggers.workload("Prometheus", server(), server(annotations={CONTROLLER_ID: "another"}))
    assert told.woken == [MAIN]
    assert told.register.members.members(MAIN) == frozenset()


def test_what_could_not_be_dealt_with_is_noted_again(told: Told) -> None:
    """Together with what has happened meanwhile."""
    triggers = told.begin()
    triggers.resource("ServiceMonitor", head("web"), head("web", generation=2))
    failed = told.agenda.take(MAIN)
    told.agenda.note(MAIN, Changes(own=True))
    told.agenda.give_back(MAIN, failed)
    assert told.agenda.take(MAIN) == Changes(own=True, resources={MONITOR})
