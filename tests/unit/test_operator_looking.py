"""What the page of a running operator is made of: who else looks after a workload, and failures."""

import asyncio
from types import SimpleNamespace
from typing import Any

import pytest

from stoker.api.prometheus import Prometheus
from stoker.kube.errors import Forbidden, NotFound
from stoker.operator.looking import Inside, Looking
from stoker.operator.rivals import Rivals
from stoker.page.desk import Desk
from stoker.ref import Ref
from stoker.select.members import Members
from stoker.settings import Capabilities, OperatorSettings
from stoker.status.conditions import GOES_ON
from stoker.status.workload import Remark
from stoker.view.reconciled import reported_failure
from tests.builders import typed
from tests.unit import virtual_time

STATUS = {"subresource": "status"}
OURS, PEERS = ({"manager": name, **STATUS} for name in ("stoker", "PrometheusOperator"))
TWO = "PrometheusOperator and stoker both write its status: two operators look after it"


def workload(name: str = "main", version: str = "1", **status: Any) -> Prometheus:
    """A Prometheus in a state."""
    spec: dict[str, Any] = {"serviceMonitorSelector": {}}
    return typed(Prometheus, name, spec, status=status, resourceVersion=version, generation=1)


class Server:
    """Answers who wrote what, and keeps the names that it was asked for."""

    def __init__(self, *fields: dict[str, str], error: Exception | None = None) -> None:
        self.fields = list(fields)
        self.error = error
        self.silent = False
        self.asked: list[str] = []

    async def get(self, resource: Any, namespace: str, name: str, *, accept: str) -> dict[str, Any]:
        """The metadata of a workload."""
        assert (resource.kind, namespace) == ("Prometheus", "shop")
        assert "PartialObjectMetadata" in accept
        self.asked.append(name)
        if self.silent:
            await asyncio.Event().wait()
        if self.error:
            raise self.error
        return {"metadata": {"name": name, "managedFields": self.fields}}


def rivals(server: Any) -> Rivals:
    """What is known by asking a server."""
    return Rivals(server)


MAIN = Ref("Prometheus", "shop", "main")


def test_two_operators_are_seen_by_who_wrote_the_status() -> None:
    """One alone is no rival."""
    for fields, names in (((OURS, PEERS), ("PrometheusOperator", "stoker")), ((OURS,), ())):
        found = rivals(Server(*fields))
        asyncio.run(found.look([workload()]))
        assert (found.names, found.unknown) == ({MAIN: names}, "")


def test_only_what_changed_is_asked_for() -> None:
    """A look at what is known costs nothing, and what is gone is forgotten."""

    async def look() -> None:
        server = Server(OURS)
        found = rivals(server)
        await found.look([workload(), workload("other")])
        await found.look([workload(), workload("other")])
        assert sorted(server.asked) == ["main", "other"]
        server.fields.append(PEERS)
        await found.look([workload(version="2"), workload("other")])
        assert server.asked[2:] == ["main"]
        assert found.names[MAIN] == ("PrometheusOperator", "stoker")
        await found.look([workload("other")])
        assert list(found.names) == [Ref("Prometheus", "shop", "other")]

    asyncio.run(look())


def test_what_cannot_be_read_is_not_known() -> None:
    """Neither is what takes too long; it is asked for again, and one that is gone is no matter."""

    async def look() -> None:
        server = Server(OURS, error=Forbidden("get", "/apis", "no"))
        found = rivals(server)
        await found.look([workload()])
        assert found.names == {}
        assert "no" in found.unknown
        server.error, server.silent = None, True
        await found.look([workload()])
        assert found.unknown == "the API server has not told in time"
        server.silent = False
        await found.look([workload()])
        assert (found.names, found.unknown) == ({MAIN: ()}, "")
        server.error = NotFound("get", "/apis", "gone")
        await found.look([workload(version="2")])
        assert (found.names, found.unknown) == ({}, "")

    virtual_time.run(look())


# --- On the page ----------------------------------------------------------------------------------


def desk(
    server: Any, *workloads: Prometheus, failure: str = "", reason: str = "", published: Any = None
) -> Desk:
    """What an operator with these workloads shows."""
    tools: Any = SimpleNamespace(
        status_client=server,
        settings=OperatorSettings(),
        capabilities=Capabilities(),
        stand_ins=None,
        caches=SimpleNamespace(
            workloads={"Prometheus": SimpleNamespace(store=workloads)},
            resources={},
            namespaces=SimpleNamespace(store=()),
            is_absent=lambda _: False,
        ),
    )
    verdicts: Any = SimpleNamespace(of_workload=lambda _: published)
    inside = Inside(
        tools=tools,
        members=Members(),
        published=verdicts,
        held={},
        failure=lambda _: Remark(reason, failure) if failure else None,
        nodes=lambda: None,
        leadership=None,
        not_ready=lambda: "",
    )
    return asyncio.run(Looking(inside).desk(1))


def headlines(desk: Desk) -> dict[str, tuple[str, str]]:
    """The state and the sentence of each workload, which are those of its own page."""
    for row in desk.rows():
        shown = desk.workload(row.kind, row.namespace, row.name)
        assert shown is not None
        assert desk.explained(shown).headline == row.headline or row.state == "unknown"
    return {row.name: (row.state, row.headline) for row in desk.rows()}


def test_the_page_tells_of_two_operators_on_one_workload() -> None:
    """It is a problem, in the list of workloads and on its own page."""
    state, headline = headlines(desk(Server(OURS, PEERS), workload(), published={}))["main"]
    assert state == "problem"
    assert headline.startswith(TWO)
    assert headlines(desk(Server(OURS), workload(), published={}))["main"][0] == "good"


def test_the_page_says_what_it_does_not_know_and_how_to_ask() -> None:
    """Where the API server does not tell, that is a note and no problem."""
    found = desk(Server(error=Forbidden("get", "/apis", "no")), workload(), published={})
    shown = found.workload("Prometheus", "shop", "main")
    assert shown is not None
    (note,) = found.explained(shown).notes
    assert note.startswith("whether another operator looks after it, too, is not known: ")
    assert note.endswith("; `stoker explain prometheus shop/main` asks with your rights")
    assert headlines(found)["main"][0] == "good"


CONDITION = {
    "type": "Reconciled", "status": "False", "reason": "ReconciliationFailed",
    "message": "spec.storage: told by another", "observedGeneration": 1,
    "lastTransitionTime": "2026-01-02T03:04:05Z",
}  # fmt: skip


@pytest.mark.parametrize(
    ("failure", "published", "wanted"),
    [
        ("spec.storage: tried in vain", None, "not reconciled: spec.storage: tried in vain"),
        ("", None, "not reconciled: spec.storage: told by another"),
        ("spec.storage: tried in vain", {}, "not reconciled: spec.storage: tried in vain"),
    ],
    ids=["leader", "standby", "leader after it went well"],
)
def test_a_workload_that_is_not_reconciled_is_told_by_every_replica(
    failure: str, published: Any, wanted: str
) -> None:
    """By the one that tried, and by others from the condition; what is selected is held."""
    mine = workload(conditions=[CONDITION])
    found = desk(Server(OURS), mine, failure=failure, published=published)
    assert headlines(found)["main"] == ("problem", wanted)
    shown = found.workload("Prometheus", "shop", "main")
    assert shown is not None
    assert shown.held == f"the workload is {wanted}"


@pytest.mark.parametrize("reason", sorted(GOES_ON))
def test_what_keeps_no_configuration_from_being_written_holds_nothing(reason: str) -> None:
    """A workload with an object that was refused says so, and what it selects is used."""
    refused = "StatefulSet shop/x stays as it is"
    found = desk(Server(OURS), workload(), failure=refused, reason=reason, published={})
    shown = found.workload("Prometheus", "shop", "main")
    assert shown is not None
    assert (shown.problem, shown.held) == (refused, "")
    told = workload(conditions=[CONDITION | {"reason": reason}])
    assert reported_failure(told) == ""
    assert reported_failure(workload(conditions=[CONDITION]))
