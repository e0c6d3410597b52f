"""A replica that does not lead judges all the same, and begins with that when it leads."""

import asyncio
import logging
from collections.abc import Awaitable, Callable
from typing import Any, cast

import pytest

from stoker.api.core import Object, ObjectMeta
from stoker.kube.client import Client
from stoker.operator.rejections import REJECTED
from stoker.operator.replica import Operator
from stoker.ref import Ref
from stoker.settings import Capabilities, LeaderSettings, OperatorSettings
from stoker.web.operator_metrics import OperatorMetrics
from tests.builders import thing
from tests.unit.virtual_time import run

MAIN = Ref("Prometheus", "shop", "main")
MONITORING = "monitoring.coreos.com/v1"


class Nobody:
    """A client that is asked for nothing."""

    fence = None

    def __getattr__(self, name: str) -> Any:
        raise AssertionError(f"nothing is to be asked: {name}")


def an_object(kind: str, name: str, number: int, **spec: Any) -> Object:
    """A resource in the namespace `shop`."""
    members: Object = {"resourceVersion": str(number), "generation": number, "spec": spec}
    return thing(kind, name, uid=name, **members)


def workload(name: str = "main", version: int = 1, **spec: Any) -> Object:
    """A Prometheus that takes all monitors of its namespace."""
    return an_object("Prometheus", name, version, serviceMonitorSelector={}, **spec)


def monitor(name: str, version: int = 1) -> Object:
    """A ServiceMonitor."""
    return an_object("ServiceMonitor", name, version, selector={}, endpoints=[{"port": "web"}])


def bad(name: str, version: int = 1) -> Object:
    """A ServiceMonitor that is rejected."""
    return an_object("ServiceMonitor", name, version, selector={}, endpoints=[{"interval": "x"}])


def seen(operator: Operator, *objects: Object) -> None:
    """Let the caches hear of objects."""
    caches = operator.parts.tools.caches
    for each in objects:
        reflector = (caches.workloads | caches.resources)[each["kind"]]
        if not reflector.store._writers:
            reflector.store.writer()
        assert reflector.saw(each)


def standing_by(script: Callable[[Operator], Awaitable[None]]) -> None:
    """Run a script beside a replica that does not lead, and may ask for nothing."""

    async def main() -> None:
        client = cast(Client, Nobody())
        settings = OperatorSettings(leader=LeaderSettings(enabled=True, namespace="home"))
        operator = Operator(client, client, settings, Capabilities(), OperatorMetrics())
        seen(operator, workload(), monitor("a"))
        task = asyncio.create_task(operator.parts.standby.run())
        await script(operator)
        task.cancel()
        with pytest.raises(asyncio.CancelledError):
            await task

    run(main())


def judged(operator: Operator, key: Ref = MAIN) -> set[str]:
    """The names of the monitors that were judged for a workload."""
    kept = operator.parts.reconciler.kept(key)
    return {each.name for each in kept.verdicts} if kept else set()


def test_all_is_judged_and_then_what_changes() -> None:
    """Nothing is asked for, and nothing written; who leads at once has nothing to wait for."""

    async def script(operator: Operator) -> None:
        await asyncio.sleep(1)
        assert not operator.parts.reconciler.held
        await asyncio.sleep(5)
        assert judged(operator) == {"a"}
        seen(operator, monitor("b", 2))
        await asyncio.sleep(5)
        assert judged(operator) == {"a", "b"}

    standing_by(script)


def test_who_leads_begins_with_what_was_judged() -> None:
    """It is a start: all that there is counts, and what is there is read ahead."""

    async def script(operator: Operator) -> None:
        await asyncio.sleep(5)
        kept = operator.parts.reconciler.kept(MAIN)
        operator._begin_anew()
        assert operator.parts.reconciler.kept(MAIN) is kept
        assert operator.parts.reconciler.held[MAIN].is_starting
        noted = operator.parts.agenda.noted(MAIN)
        assert noted
        assert noted.own
        # The second time it is what a leader knew, and others may have led since.
        operator._begin_anew()
        assert operator.parts.reconciler.kept(MAIN) is None

    standing_by(script)


def test_a_rejection_is_in_the_log_of_who_leads_once(caplog: pytest.LogCaptureFixture) -> None:
    """Nobody who stands by says it; who leads again has said it before."""
    caplog.set_level(logging.INFO)

    def told(operator: Operator) -> int:
        parts = operator.parts
        found, kept = parts.tools.caches.workload(MAIN), parts.reconciler.kept(MAIN)
        assert found
        assert kept
        assert len(kept.verdicts) == 2
        parts.announcements.resources(MAIN, found, kept)
        return [each.getMessage() for each in caplog.records].count(REJECTED)

    async def again(operator: Operator) -> int:
        for _ in range(2):
            operator._begin_anew()
        await asyncio.sleep(5)
        return told(operator)

    async def script(operator: Operator) -> None:
        caches = operator.parts.tools.caches
        seen(operator, bad("b"))
        await asyncio.sleep(5)
        assert judged(operator) == {"a", "b"}
        assert REJECTED not in caplog.text
        operator._begin_anew()
        assert told(operator) == told(operator) == 1
        assert await again(operator) == 1
        # What goes while another leads, or with its workload, is another when it comes back.
        remembered = operator.parts.outlets.rejections._said
        caches.resources["ServiceMonitor"].lost(ObjectMeta(namespace="shop", name="b", uid="b"))
        assert remembered
        operator._begin_anew()
        assert not remembered
        seen(operator, bad("c"))
        assert await again(operator) == 2
        main = ObjectMeta(namespace="shop", name="main", uid="main")
        caches.workloads["Prometheus"].lost(main)
        assert remembered
        with pytest.raises(AssertionError, match="nothing is to be asked"):
            await operator.parts.turns.take(MAIN)
        assert not remembered

    standing_by(script)


def test_what_was_in_hand_when_leadership_came_is_begun_anew() -> None:
    """A thread may still be at it."""

    async def script(operator: Operator) -> None:
        reconciler = operator.parts.reconciler
        await asyncio.sleep(5)
        held = reconciler.held[MAIN]
        begun, refresh = asyncio.Event(), held.refresh

        async def slow(*words: Any) -> Any:
            begun.set()
            await asyncio.Event().wait()
            return await refresh(*words)

        held.refresh = slow  # type: ignore[assignment, method-assign]
        seen(operator, monitor("b", 2))
        await begun.wait()
        operator._begin_anew()
        assert MAIN not in reconciler.held

    standing_by(script)


def test_what_cannot_be_judged_is_left_and_tried_again_later() -> None:
    """It keeps nobody else from being judged."""

    async def script(operator: Operator) -> None:
        seen(
            operator,
            an_object("Prometheus", "bad", 2, version="three"),
            workload("idle", 3, paused=True),
        )
        await asyncio.sleep(5)
        assert judged(operator) == {"a"}
        held = operator.parts.reconciler.held
        assert held.keys() == {MAIN, Ref("Prometheus", "shop", "bad")}
        operator._begin_anew()
        assert held.keys() == {MAIN}

    standing_by(script)
