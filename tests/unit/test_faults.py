"""A fault in one part of the operator: it is told and counted, tried again, and stops no other."""

import asyncio
import json
import logging
import re
import time
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from typing import Any, cast

import pytest
from aiohttp import web
from aiohttp.test_utils import TestServer

from stoker.kube import transport
from stoker.kube.access import Access
from stoker.kube.client import Client, ListPage
from stoker.kube.errors import NotFound
from stoker.kube.reading import Head, typed
from stoker.kube.reflector import Reflector
from stoker.kube.report import WATCH
from stoker.kube.resources import CONFIG_MAP
from stoker.kube.watch import WatchScope
from stoker.operator.events import Events
from stoker.operator.kubelet import Kubelets
from stoker.operator.replica import Operator
from stoker.settings import (
    Capabilities,
    KubeletSettings,
    LeaderSettings,
    ObjectSettings,
    OperatorSettings,
)
from stoker.web.operator_metrics import OperatorMetrics
from tests.unit.virtual_time import run

Object = dict[str, Any]
END = {"metadata": {"resourceVersion": "9", "annotations": {"k8s.io/initial-events-end": "true"}}}


def _line(kind: str, found: Object) -> bytes:
    return json.dumps({"type": kind, "object": found}).encode() + b"\n"


class Api:
    """Lists these objects, and then nothing happens."""

    def __init__(self, *names: str) -> None:
        self.names = names
        self.lists = 0
        self.strays = 0

    async def get(self, *_: Any, **__: Any) -> None:
        """Nothing else is there."""
        raise NotFound("get", "/", "", status=404)

    @asynccontextmanager
    async def stream(
        self, _path: str, query: dict[str, str], **_rest: Any
    ) -> AsyncIterator[AsyncIterator[bytes]]:
        """A list that is streamed, or a watch that ends when it should."""
        yield self._streamed() if "sendInitialEvents" in query else self._watched(query)

    async def _watched(self, query: dict[str, str]) -> AsyncIterator[bytes]:
        await asyncio.sleep(int(query["timeoutSeconds"]))
        yield _line("BOOKMARK", END)

    async def _streamed(self) -> AsyncIterator[bytes]:
        self.lists += 1
        for name in self.names:
            metadata = {"namespace": "shop", "name": name, "resourceVersion": "1"}
            yield _line("ADDED", {"metadata": metadata})
        if self.strays:
            self.strays -= 1
            shared = asyncio.get_running_loop().create_future()
            shared.cancel()
            await shared
        yield _line("BOOKMARK", END)


def followed(api: Api, *faults: str) -> tuple[Reflector[Head], list[str]]:
    """Follow these for a while; what was told, while some of it finds a fault in a listener."""
    told: list[str] = []
    left = list(faults)

    def listener(_old: Head | None, new: Head | None) -> None:
        name = (new and new.metadata.name) or ""
        told.append(name)
        if name in left:
            left.remove(name)
            raise KeyError("odd")

    async def main() -> Reflector[Head]:
        reflector = Reflector(cast(Client, api), WatchScope(CONFIG_MAP), typed(Head))
        reflector.store.listen(listener)
        task = asyncio.create_task(reflector.run())
        await asyncio.sleep(60)
        task.cancel()
        with pytest.raises(asyncio.CancelledError):
            await task
        return reflector

    return run(main()), told


def test_a_fault_in_a_watch_begins_it_anew(caplog: pytest.LogCaptureFixture) -> None:
    """With its place in the log, and counted as a watch that failed."""
    api = Api("one", "two")
    reflector, told = followed(api, "one")
    assert told == ["one", "two"]
    assert api.lists == 2
    assert reflector.reports[0].failures == {WATCH: 1}
    assert [each.levelno for each in caplog.records] == [logging.ERROR]
    assert "odd" in caplog.text
    assert "Traceback" in caplog.text


def test_a_watch_that_a_stray_cancellation_ends_begins_anew() -> None:
    """Else nobody would ever hear of a change again."""
    api = Api("one")
    api.strays = 1
    reflector, _ = followed(api)
    assert api.lists == 2
    assert reflector.reports[0].failures == {WATCH: 1}


def test_a_fault_beside_the_queues_is_counted_and_comes_back(
    monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    """All else goes on: nothing that is said about objects is worth a restart."""
    begun: list[float] = []

    async def broken(_self: Events) -> None:
        begun.append(asyncio.get_running_loop().time())
        raise KeyError("odd")

    monkeypatch.setattr(Events, "run", broken)
    metrics = OperatorMetrics()
    settings = OperatorSettings(leader=LeaderSettings(enabled=False, namespace="home"))

    async def main() -> None:
        client = cast(Client, Api())
        operator = Operator(client, client, settings, Capabilities(), metrics)
        task = asyncio.create_task(operator.work())
        await asyncio.sleep(60)
        assert not task.done()
        task.cancel()
        with pytest.raises(asyncio.CancelledError):
            await task

    run(main())
    assert 5 < len(begun) < 10
    text = metrics.registry.text()
    assert f'prometheus_operator_task_faults_total{{task="events"}} {len(begun)}' in text
    assert 'prometheus_operator_task_faults_total{task="targets"} 0' in text
    assert "is restarted" in caplog.text


class Nodes(Api):
    """Answers what the kubelets' objects are asked for; the first answer finds a fault."""

    def __init__(self) -> None:
        super().__init__()
        self.requests = 0

    async def ask(self, *_words: Any, **_rest: Any) -> ListPage[Any]:
        """An empty list."""
        self.requests += 1
        if self.requests == 1:
            raise KeyError("odd")
        return ListPage()


def test_a_fault_while_nodes_are_kept_is_counted_and_tried_again(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """It was the end of the operator, and again after each restart."""
    api, metrics = Nodes(), OperatorMetrics()
    written: list[str] = []

    async def write(_self: Kubelets, wanted: Object) -> bool:
        written.append(wanted["kind"])
        return False

    monkeypatch.setattr(Kubelets, "_write", write)

    async def main() -> None:
        settings = KubeletSettings(namespace="kube-system", name="kubelet")
        kubelets = Kubelets(cast(Client, api), settings, ObjectSettings(), metrics)
        task = asyncio.create_task(kubelets.run())
        await asyncio.sleep(60)
        task.cancel()
        with pytest.raises(asyncio.CancelledError):
            await task

    run(main())
    assert "Service" in written
    text = metrics.registry.text()
    assert 'prometheus_operator_node_syncs_failed_total{resource="endpoints"} 1' in text


def test_a_list_that_is_never_answered_as_a_stream_is_asked_for_in_pages(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """Something between us and the server may hold back what has no end."""
    monkeypatch.setattr(transport, "BEGIN_SECONDS", 0.1)

    async def main() -> tuple[list[str], float]:
        asked: list[str] = []

        async def answer(request: web.Request) -> web.Response:
            asked.append("stream" if "watch" in request.query else "pages")
            if "watch" in request.query:
                await asyncio.Event().wait()
            return web.json_response({"metadata": {"resourceVersion": "1"}, "items": []})

        application = web.Application()
        application.router.add_get("/api/v1/configmaps", answer)
        server = TestServer(application)
        await server.start_server()
        async with Client(Access(server=str(server.make_url("")).rstrip("/"))) as client:
            reflector = Reflector(client, WatchScope(CONFIG_MAP), typed(Head))
            begun = time.monotonic()
            task = asyncio.create_task(reflector.run())
            await reflector.settled()
            seconds = time.monotonic() - begun
            task.cancel()
            with pytest.raises(asyncio.CancelledError):
                await task
        await server.close()
        return asked[:2], seconds

    asked, seconds = asyncio.run(main())
    assert asked == ["stream", "pages"]
    assert seconds < 10


def test_what_an_operator_keeps_can_be_seen() -> None:
    """A world that stays as large must not cost more and more; who looks from outside can tell."""
    metrics = OperatorMetrics()
    settings = OperatorSettings(leader=LeaderSettings(enabled=False, namespace="stoker"))

    async def main() -> str:
        api = cast(Client, Api("one", "two"))
        operator = Operator(api, api, settings, Capabilities(), metrics)
        cache = operator.parts.tools.caches.owned["ConfigMap"]
        task = asyncio.create_task(cache.run())
        await cache.ready()
        text = metrics.registry.text()
        task.cancel()
        return text

    text = run(main()).replace("prometheus_operator_", "")
    assert 'cache_entries{cache="configmaps"} 2\n' in text
    assert 'cache_entries{cache="servicemonitors.monitoring.coreos.com"} 0\n' in text
    assert 'cache_entries{cache="written"} 0\n' in text
    assert re.search(r"^tasks [1-9]", text, re.MULTILINE)
    assert re.search(r"^allocated_blocks [1-9]\d{4}", text, re.MULTILINE)
    assert re.search(r'^cache_bytes\{cache="regexes"\} \d', text, re.MULTILINE)
