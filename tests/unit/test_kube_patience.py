"""Whoever tries again keeps to what the server asked for (`Retry-After`), however long that is."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable
from contextlib import suppress
from itertools import pairwise
from typing import Any, cast

import pytest

from stoker.api.core import ObjectMeta
from stoker.cluster.pace import Pace
from stoker.cluster.questions import Questions
from stoker.cluster.values import Values
from stoker.kube.client import Client
from stoker.kube.endless import endless
from stoker.kube.errors import Forbidden, TooManyRequests
from stoker.kube.lease import Leadership
from stoker.kube.queue import KeyedQueue
from stoker.kube.reading import Head, typed
from stoker.kube.reflector import Reflector
from stoker.kube.resources import CONFIG_MAP
from stoker.kube.watch import WatchScope
from stoker.operator.events import Events, Subject
from stoker.operator.namespaces import read_one_by_one
from stoker.ref import Ref
from tests.unit import virtual_time

ASKED = (3.0, 30.0)
# As many as each of them is watched for.
TIMES = 4


class Busy:
    """A server that never has time; it knows when it was asked."""

    def __init__(self, seconds: float) -> None:
        self.times: list[float] = []
        self._seconds = seconds

    async def request(self, *_args: Any, **_options: Any) -> Any:
        """Refuse."""
        self.times.append(asyncio.get_running_loop().time())
        raise TooManyRequests("get", "/", "later", status=429, retry_after=self._seconds)

    ask = get = create = request

    def stream(self, *_args: Any, **_options: Any) -> Any:
        """Refuse, as whoever enters it finds out."""
        return _Refused(self)


class _Refused:
    def __init__(self, server: Busy) -> None:
        self._server = server

    async def __aenter__(self) -> Any:
        return await self._server.request()

    async def __aexit__(self, *_: object) -> None:
        return None


async def _queue(client: Client) -> None:
    queue: KeyedQueue[str] = KeyedQueue()
    queue.add("a")
    while True:
        with suppress(TooManyRequests):
            async with queue.take() as key:
                # Something changes meanwhile, and once more when it has failed.
                queue.add(key)
                asyncio.get_running_loop().call_later(0.1, queue.add, key)
                await client.request("GET", "/")


async def _watch(client: Client) -> None:
    await Reflector(client, WatchScope(CONFIG_MAP), typed(Head)).run()


async def _lease(client: Client) -> None:
    clock = asyncio.get_running_loop().time
    await Leadership(client, "default", "one", "me", clock=clock).run()


async def _renewal(client: Client) -> None:
    """A leader of long standing, whose renewals are refused."""
    clock = asyncio.get_running_loop().time
    leader = Leadership(
        client, "default", "one", "me", lease_seconds=900, renew_seconds=800, clock=clock
    )
    leader._lead_until = 800.0
    await leader._lead()


async def _events(client: Client) -> None:
    events = Events(client, lambda _error: None)
    subject = Subject("v1", "ConfigMap", ObjectMeta(name="a", namespace="b", uid="c"))
    for number in range(TIMES):
        events.warn(subject, str(number), "something")
    await events.run()


async def _values(client: Client) -> None:
    values = Values(client, lambda _key: False, lambda: Ref("Secret", "a", "own"))
    await values._read_until_known(Ref("Secret", "a", "b"), start=False)


async def _questions(client: Client) -> None:
    Questions(lambda: client.request("GET", "/"), Pace()).go_on(lambda: True)


async def _task(client: Client) -> None:
    await endless(lambda: client.request("GET", "/"), lambda _error: None)


async def _namespaces(client: Client) -> None:
    found = Reflector(client, WatchScope(CONFIG_MAP), typed(Head))
    [report] = found.reports
    report.failed("list", Forbidden("list", "/api/v1/namespaces", "no", status=403))
    await read_one_by_one(client, found, "abcd", asyncio.Event())


WAITERS: dict[str, Callable[[Client], Awaitable[None]]] = {
    "queue (workloads, statuses, bindings, consolidation, kubelets)": _queue,
    "watch": _watch,
    "lease": _lease,
    "renewal of the lease": _renewal,
    "events": _events,
    "values": _values,
    "questions of a start": _questions,
    "any other task": _task,
    "labels of namespaces": _namespaces,
}


@pytest.mark.parametrize("seconds", ASKED)
@pytest.mark.parametrize("waiter", WAITERS.values(), ids=WAITERS)
def test_nobody_asks_again_before_the_server_wants_it(
    waiter: Callable[[Client], Awaitable[None]], seconds: float
) -> None:
    """Also where something changes meanwhile, and where more is asked than one would wait."""
    server = Busy(seconds)

    async def main() -> None:
        task = asyncio.ensure_future(waiter(cast(Client, server)))
        await asyncio.sleep(TIMES * 4 * max(seconds, 30.0))
        task.cancel()
        await asyncio.gather(task, return_exceptions=True)

    virtual_time.run(main())
    waits = [later - sooner for sooner, later in pairwise(server.times)]
    assert len(waits) >= TIMES - 1
    assert min(waits) >= seconds - 1e-6
