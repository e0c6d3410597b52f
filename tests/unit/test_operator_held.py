"""What is kept of a workload between changes, and what it waits for."""

import asyncio
import gc
import weakref
from typing import Any

import pytest

from stoker.api.monitors import ServiceMonitor
from stoker.api.prometheus import Prometheus
from stoker.cluster.values import Values
from stoker.errors import WorkloadError
from stoker.kube.backoff import GRANT_SECONDS
from stoker.kube.errors import Forbidden, Unavailable
from stoker.operator.changes import Changes
from stoker.operator.held import Held
from stoker.ref import Ref
from stoker.select.assets import SECRET
from stoker.settings import Capabilities
from tests.builders import endpoints, typed
from tests.unit.virtual_time import run

JOBS = Ref(SECRET, "shop", "jobs")
BROKEN, WELL = "YTogYg==", "LSBqb2JfbmFtZTogYQ=="  # a: b, - job_name: a


class Server:
    """Has one Secret, with additional jobs."""

    def __init__(self) -> None:
        self.text = BROKEN

    async def get(self, *_: object, **__: object) -> dict[str, Any]:
        """The Secret as it is now."""
        return {"metadata": {"resourceVersion": self.text}, "data": {"jobs.yaml": self.text}}


def prometheus(**spec: Any) -> Prometheus:
    """A Prometheus."""
    return typed(Prometheus, "main", spec)


@pytest.mark.parametrize("is_new", [True, False], ids=["new", "known"])
def test_a_workload_waits_for_the_secret_that_it_cannot_be_read_with(is_new: bool) -> None:
    """Whoever puts the Secret right does not touch the workload: the Secret must wake it."""

    async def main() -> str:
        server = Server()
        values = Values(server, lambda _: False)  # type: ignore[arg-type]
        held = Held(values, lambda _: None, Capabilities())
        if not is_new:
            await held.refresh(prometheus(), Changes(own=True), frozenset())
            # Another workload has read it already.
            view = values.view()
            view.all_of(JOBS)
            await values.load(view)
            assert not held.refers_to(JOBS)
        workload = prometheus(additionalScrapeConfigs={"name": "jobs", "key": "jobs.yaml"})
        with pytest.raises(WorkloadError, match="not a list"):
            await held.refresh(workload, Changes(own=True), frozenset())
        assert held.refers_to(JOBS)
        server.text = WELL
        values.changed(JOBS, WELL)
        kept = await held.refresh(workload, Changes(own=True, values={JOBS}), frozenset())
        assert held.refers_to(JOBS)
        await held.refresh(prometheus(), Changes(own=True), frozenset())
        assert not held.refers_to(JOBS)
        await held.refresh(workload, Changes(own=True), frozenset())
        return kept.text()

    assert "job_name: a\n" in asyncio.run(main())


class Faltering(Server):
    """Does not answer the first question."""

    def __init__(self) -> None:
        super().__init__()
        self.asked = 0

    async def get(self, *_: object, **__: object) -> dict[str, Any]:
        """The Secret, from the second time on."""
        self.asked += 1
        if self.asked == 1:
            raise Unavailable("get", "/api/v1/namespaces/shop/secrets/jobs", "no answer in time")
        return await super().get()


WEB = Ref("ServiceMonitor", "shop", "web")


def monitor() -> ServiceMonitor:
    """A monitor that needs the Secret."""
    user = {"name": "jobs", "key": "jobs.yaml"}
    login = {"username": user, "password": user}
    return typed(ServiceMonitor, "web", endpoints({"port": "web", "basicAuth": login}))


def test_a_secret_that_could_not_be_read_is_read_the_next_time() -> None:
    """And the monitor that refers to it is not left out as if there were none."""

    async def main() -> bool:
        values = Values(Faltering(), lambda _: False)  # type: ignore[arg-type]
        held = Held(values, lambda _: monitor(), Capabilities())
        changes, members = Changes(own=True), frozenset({WEB})
        with pytest.raises(Unavailable):
            await held.refresh(prometheus(), changes, members)
        kept = await held.refresh(prometheus(), changes, members)
        return kept.verdicts[WEB].accepted

    assert asyncio.run(main())


class Guarded(Server):
    """Shows its Secret to those who are allowed to see it."""

    def __init__(self) -> None:
        super().__init__()
        self.allowed = False
        self.asked = 0

    async def get(self, *_: object, **__: object) -> dict[str, Any]:
        """The Secret, or that we cannot see it."""
        self.asked += 1
        if not self.allowed:
            raise Forbidden(
                "get", "/api/v1/namespaces/shop/secrets/jobs", "not allowed", status=403
            )
        return await super().get()


def test_a_secret_that_was_refused_is_asked_for_again() -> None:
    """Nothing tells us of a role that somebody has granted; and we do not ask all the time."""

    async def main() -> list[bool]:
        server = Guarded()
        values = Values(server, lambda _: False)  # type: ignore[arg-type]
        workloads = [Held(values, lambda _: monitor(), Capabilities()) for _ in range(2)]
        members = frozenset({WEB})

        async def accepted() -> list[bool]:
            return [
                (await each.refresh(prometheus(), Changes(), members)).verdicts[WEB].accepted
                for each in workloads
            ]

        assert await accepted() == [False, False]
        assert await accepted() == [False, False]
        assert server.asked == 1
        assert all(each.awaits_permission for each in workloads)
        await asyncio.sleep(GRANT_SECONDS)
        assert await accepted() == [False, False]
        assert server.asked == 2
        server.allowed = True
        await asyncio.sleep(GRANT_SECONDS)
        found = await accepted()
        assert not any(each.awaits_permission for each in workloads)
        return found

    assert run(main()) == [True, True]


def test_a_workload_whose_own_secret_was_refused_gets_it_when_it_may_be_read() -> None:
    """Until then it cannot be configured, and says so."""

    async def main() -> str:
        server = Guarded()
        server.text = WELL
        values = Values(server, lambda _: False)  # type: ignore[arg-type]
        held = Held(values, lambda _: None, Capabilities())
        workload = prometheus(additionalScrapeConfigs={"name": "jobs", "key": "jobs.yaml"})
        kept = await held.refresh(workload, Changes(own=True), frozenset())
        with pytest.raises(WorkloadError, match="not allowed"):
            kept.text()
        assert held.awaits_permission
        server.allowed = True
        await asyncio.sleep(GRANT_SECONDS)
        return (await held.refresh(workload, Changes(), frozenset())).text()

    assert "job_name: a\n" in run(main())


def test_all_that_is_kept_of_a_workload_goes_with_it() -> None:
    """At once: Python looks for what refers to itself after thousands of changes only."""

    async def main() -> "weakref.ref[Held]":
        values = Values(Server(), lambda _: False)  # type: ignore[arg-type]
        held = Held(values, lambda _: monitor(), Capabilities())
        members = frozenset({WEB})
        await held.refresh(prometheus(), Changes(own=True, resources=set(members)), members)
        assert held.shares.divide(Changes(resources=set(members))).now
        return weakref.ref(held)

    gc.disable()
    try:
        assert run(main())() is None
    finally:
        gc.enable()
