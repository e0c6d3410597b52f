"""A control plane whose machines can be harmed, and the ways by which operators reach it.

    users, mirror ──────────────> first server ──────┐
    operators ──> Way ──┬───────────────^            ├──> etcd
                        └───────> second server ─ Slow ─┘

Operators talk to the second server, so that users can act while it is away; a way can turn to
the first one, as a balancer does. What is harmed for all is the first server, or etcd.
"""

from __future__ import annotations

import asyncio
import base64
import contextlib
import itertools
import json
import os
import signal
import time
import urllib.error
import urllib.request
from asyncio import StreamReader, StreamWriter
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from functools import partial
from pathlib import Path
from typing import Any

from yarl import URL

from tests.faults.gateway import Gateways, Line
from tests.faults.mirror import Mirror
from tests.faults.world import FIRST_VERSION, NODES, Ground
from tests.live.faults import SecondServer, Wire
from tools.api import Api
from tools.cluster import Cluster
from tools.crds import cluster_with_crds
from tools.waiting import until

SERVER, ETCD = "kube-apiserver", "etcd"
_ROOM = 8 * 2**20
_PIECE = 2**19
_JUNK, _AFTER_JUNK = b"/junk/", b"/junk0"
_SECONDS = 30.0
_REVIEWS = "/apis/authorization.k8s.io/v1/selfsubjectaccessreviews"
_REVIEW = {"spec": {"nonResourceAttributes": {"path": "/", "verb": "get"}}}
_PROBE = {"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": "plant"}}
_PROBED = "/api/v1/namespaces/default/configmaps/plant?fieldManager=plant&force=true"


class Slow(Wire):
    """A connection on which everything arrives late, or for a while nothing; in order."""

    scheme = "http"

    def __init__(self, cluster: Cluster, upstream: str) -> None:
        super().__init__(cluster, upstream)
        self.seconds = 0.0

    async def _up(self, reader: StreamReader, writer: StreamWriter) -> None:
        await self._pump(reader, writer)

    async def _pump(self, reader: StreamReader, writer: StreamWriter) -> None:
        """Pass on what comes, each piece so much later than it came."""
        clock = asyncio.get_running_loop().time
        coming: asyncio.Queue[tuple[float, bytes]] = asyncio.Queue()

        async def arrive() -> None:
            while True:
                due, data = await coming.get()
                await asyncio.sleep(due - clock())
                await self._flowing.wait()
                writer.write(data)
                await writer.drain()

        arriving = asyncio.create_task(arrive())
        arriving.add_done_callback(_heard)
        try:
            while (data := await reader.read(65536)) and not arriving.done():
                coming.put_nowait((clock() + self.seconds, data))
        finally:
            arriving.cancel()
        raise ConnectionResetError


def _heard(task: asyncio.Task[None]) -> None:
    """Take notice of how a task ended: a connection broke, and both ends know."""
    if not task.cancelled():
        task.exception()


class Second(SecondServer):
    """An API server beside the first, with a way of its own to etcd; it can be harmed alone."""

    def __init__(self, cluster: Cluster, etcd: str) -> None:
        super().__init__(cluster)
        kept = [each for each in self._command if not each.startswith("--etcd-servers=")]
        self._command = [*kept, f"--etcd-servers={etcd}"]

    def freeze(self) -> None:
        """Let it do nothing until it is told to go on."""
        self._signal(signal.SIGSTOP)

    def go_on(self) -> None:
        """Let it go on, if it is there and was frozen."""
        if self._process and self._process.poll() is None:
            self._signal(signal.SIGCONT)

    def _signal(self, number: signal.Signals) -> None:
        """Signal the server itself: whoever put it beside the cluster passes nothing on of this."""
        assert self._process
        own = self._process.pid
        for child in Path(f"/proc/{own}/task/{own}/children").read_text().split():
            os.kill(int(child), number)


class RefusedError(OSError):
    """What the store says when it does not do what it is asked to."""


class Etcd:
    """The store itself, asked as `etcdctl` does."""

    def __init__(self, port: int) -> None:
        self._base = f"http://127.0.0.1:{port}/v3"

    def put(self, size: int) -> None:
        """Write so much."""
        for number in range(size // _PIECE):
            self._put(number)

    def fill(self) -> None:
        """Write until nothing can be written any more, which the store itself says by an alarm.

        What was written stays, each piece under a key of its own. So there is an end to it, however
        many pages were free before, or become so meanwhile, and whatever else fails.
        """
        numbers = itertools.count()

        def is_full() -> bool:
            with contextlib.suppress(RefusedError):
                self._put(next(numbers))
            return bool(self.alarms())

        until("the store to be full", is_full)

    def drop(self) -> None:
        """Delete and compact what was put: the store stays as large, with pages that are free."""
        found = self._ask("kv/deleterange", key=_word(_JUNK), range_end=_word(_AFTER_JUNK))
        # Where nothing was deleted this version may be compacted already, which is refused.
        if "deleted" in found:
            self._ask("kv/compaction", revision=found["header"]["revision"], physical=True)

    def defragment(self) -> None:
        """Give back the pages that are free."""
        self._ask("maintenance/defragment")

    def free(self) -> None:
        """Make room, as an administrator would: delete, compact, defragment, and disarm.

        With a quota that is reached no more; otherwise what is on its way may raise another alarm.
        """
        until("room in the store", self._is_freed)

    def _is_freed(self) -> bool:
        self.drop()
        self.defragment()
        for each in self.alarms():
            self._ask("maintenance/alarm", action="DEACTIVATE", **each)
        return not self.alarms()

    def alarms(self) -> list[dict[str, str]]:
        """The alarms that are raised; while there is one, nothing can be written."""
        found: list[dict[str, str]] = self._ask("maintenance/alarm", action="GET").get("alarms", [])
        return found

    def size(self) -> int:
        """How large the store is."""
        return int(self._ask("maintenance/status")["dbSize"])

    def _put(self, number: int) -> None:
        key, value = _JUNK + str(number).encode(), b"x" * _PIECE
        self._ask("kv/put", key=_word(key), value=_word(value))

    def _ask(self, path: str, **body: Any) -> dict[str, Any]:
        data = json.dumps(body).encode()
        request = urllib.request.Request(f"{self._base}/{path}", data)
        try:
            with urllib.request.urlopen(request, timeout=_SECONDS) as answer:
                found: dict[str, Any] = json.load(answer)
        except urllib.error.HTTPError as refused:
            with refused:
                raise RefusedError(refused.read().decode()) from None
        return found


def _word(content: bytes) -> str:
    return base64.b64encode(content).decode()


class Way(Line):
    """The way of an operator: whole connections, to one of the servers, as somebody of a name."""

    def __init__(self, ways: Ways, wire: Wire) -> None:
        super().__init__(ways, wire.port)
        self._ways = ways
        self.wire = wire
        self.user = ""

    def turn(self, url: str) -> None:
        """Lead to a server from now on; what goes on is cut."""
        self.wire._upstream = URL(url)
        self.wire.cut()

    def leads_to(self, url: str) -> bool:
        """Whether it leads there."""
        return self.wire._upstream == URL(url)

    def kubeconfig(self) -> Path:
        """A kubeconfig of the administrator, perhaps under another name."""
        path = self.wire.kubeconfig
        if self.user:
            document = json.loads(path.read_text())
            document["users"][0]["user"] |= {"as": self.user, "as-groups": ["system:masters"]}
            path.write_text(json.dumps(document))
        return path


class Ways(Gateways):
    """All ways of operators to a plant; the name of a user is kept for each."""

    def __init__(self, cluster: Cluster, server: str) -> None:
        super().__init__(cluster)
        self._server = server
        self._stack = ExitStack()
        self.all: list[Way] = []

    def __exit__(self, *_: object) -> None:
        self._stack.close()
        super().__exit__()

    def open(self) -> Way:
        """A new way, to the server of operators."""
        wire = self._stack.enter_context(Wire(self.cluster, self._server))
        self.all.append(Way(self, wire))
        return self.all[-1]

    def turn(self, url: str) -> None:
        """Turn all of them to a server."""
        for each in self.all:
            each.turn(url)

    def turn_back(self) -> None:
        """Turn those that lead elsewhere to the server of operators."""
        for each in self.all:
            if not each.leads_to(self._server):
                each.turn(self._server)


class Plant:
    """A cluster, what can be done to its machines, and `mend`, which undoes all of it."""

    def __init__(self, cluster: Cluster, slow: Slow, second: Second, ways: Ways) -> None:
        self.cluster = cluster
        self.slow = slow
        self.second = second
        self.ways = ways
        self.etcd = Etcd(cluster._ports.etcd)
        self._killed: set[str] = set()
        self._frozen: set[str] = set()
        self._quota = 0

    def kill(self, name: str) -> None:
        """Kill etcd or the first server."""
        if name not in self._killed:
            self._killed.add(name)
            self.cluster.signal(name, signal.SIGKILL)

    def freeze(self, name: str) -> None:
        """Let etcd or the first server do nothing."""
        self._frozen.add(name)
        self.cluster.signal(name, signal.SIGSTOP)

    def narrow(self) -> None:
        """Give etcd hardly more room than it needs."""
        self.etcd.defragment()
        self._quota = self.etcd.size() + _ROOM
        self.kill(ETCD)
        self._start(ETCD, f"--quota-backend-bytes={self._quota}")
        self.until_well()

    def fill(self) -> None:
        """Take the room that is left: nothing can be written from now on."""
        self.etcd.fill()

    def mend(self) -> None:
        """Undo all that was done, as far as it was, and see that both servers work.

        It goes by what was done, not by what was meant to be: it can be called at any time, where
        something broke in the middle too, and again.
        """
        self.slow.seconds = 0.0
        self.slow.release()
        self.second.go_on()
        for name in self._frozen - self._killed:
            self.cluster.signal(name, signal.SIGCONT)
        self._frozen.clear()
        if self._quota:
            self.kill(ETCD)
        for name in (ETCD, SERVER):
            if name in self._killed:
                self._start(name)
        if self._quota:
            self.etcd.free()
            self._quota = 0
        self.ways.turn_back()
        self.until_well()

    def until_well(self) -> None:
        """Wait until both servers do what they are asked to, and keep what they are given."""
        self.cluster.until(
            "the first API server", lambda: self.cluster.api.request("POST", _REVIEWS, _REVIEW)
        )
        self.cluster.until("it to be ready", lambda: self.cluster.api.get("/readyz") == "ok")
        self.second.start()
        for api in (self.cluster.api, self.second.api):
            self.cluster.until("a write", partial(_written, api))

    def _start(self, name: str, *flags: str) -> None:
        self._killed.discard(name)
        self.cluster.restart(name, *flags)


def _written(api: Api) -> Any:
    """What comes of a write that changes something."""
    changed = {**_PROBE, "data": {"at": str(time.monotonic())}}
    return api.request("PATCH", _PROBED, changed, content_type="application/apply-patch+yaml")


class PlantGround(Ground):
    """What worlds stand on whose machines are harmed; they share the harm."""

    def __init__(self, plant: Plant, mirror: Mirror, version: str) -> None:
        super().__init__(plant.cluster, mirror, plant.ways, version)
        self.plant = plant


@contextmanager
def new_plant(nodes: int = NODES, version: str = FIRST_VERSION) -> Iterator[PlantGround]:
    """A cluster of its own with all ports in reach, and a second server."""
    with (
        cluster_with_crds(
            f"--scrapeconfig-version={version}", nodes=nodes, namespaces=False
        ) as cluster,
        plant(cluster) as made,
        Mirror(cluster, version) as mirror,
    ):
        yield PlantGround(made, mirror, version)


@contextmanager
def plant(cluster: Cluster) -> Iterator[Plant]:
    """Add what can be harmed alone; the cluster must have all its ports in reach."""
    with ExitStack() as stack:
        slow = Slow(cluster, f"http://127.0.0.1:{cluster._ports.etcd}")
        stack.enter_context(slow)
        # It ends first, so that nobody connects to what is being closed.
        second = stack.enter_context(Second(cluster, slow.url))
        ways = stack.enter_context(Ways(cluster, second.url))
        yield Plant(cluster, slow, second, ways)
