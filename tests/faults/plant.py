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
import json
import signal
import urllib.error
import urllib.request
from asyncio import StreamReader, StreamWriter
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from pathlib import Path
from typing import Any

from yarl import URL

from tests.faults.gateway import Gateways, Line
from tests.faults.mirror import Mirror
from tests.faults.world import FIRST_VERSION, NODES, Ground
from tests.live.faults import SecondServer, Wire
from tools.cluster import Cluster
from tools.crds import install_crds

SERVER, ETCD = "kube-apiserver", "etcd"
_ROOM = 4 * 2**20
_PIECE = 2**19
_JUNK, _AFTER_JUNK = b"/junk/", b"/junk0"
_SECONDS = 30.0


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

    def signal(self, number: signal.Signals) -> None:
        """Freeze it or let it go on."""
        assert self._process
        self._process.send_signal(number)


class Etcd:
    """The store itself, asked as `etcdctl` does."""

    def __init__(self, port: int) -> None:
        self._base = f"http://127.0.0.1:{port}/v3"

    def put(self, size: int) -> int:
        """Write so much, or as much as there is room for; how much that was."""
        value = _word(b"x" * _PIECE)
        for written in range(0, size, _PIECE):
            try:
                self._ask("kv/put", key=_word(_JUNK + str(written).encode()), value=value)
            except urllib.error.HTTPError as error:
                error.close()
                return written
        return size

    def drop(self) -> None:
        """Delete and compact what was put: the store stays as large, with pages that are free."""
        deleted = self._ask("kv/deleterange", key=_word(_JUNK), range_end=_word(_AFTER_JUNK))
        self._ask("kv/compaction", revision=deleted["header"]["revision"], physical=True)

    def defragment(self) -> None:
        """Give back the pages that are free."""
        self._ask("maintenance/defragment")

    def free(self) -> None:
        """Make room, as an administrator would: delete, compact, defragment, and disarm."""
        self.drop()
        self.defragment()
        for each in self.alarms():
            self._ask("maintenance/alarm", action="DEACTIVATE", **each)

    def alarms(self) -> list[dict[str, str]]:
        """The alarms that are raised; while there is one, nothing can be written."""
        found: list[dict[str, str]] = self._ask("maintenance/alarm", action="GET").get("alarms", [])
        return found

    def size(self) -> int:
        """How large the store is."""
        return int(self._ask("maintenance/status")["dbSize"])

    def _ask(self, path: str, **body: Any) -> dict[str, Any]:
        data = json.dumps(body).encode()
        request = urllib.request.Request(f"{self._base}/{path}", data)
        with urllib.request.urlopen(request, timeout=_SECONDS) as answer:
            found: dict[str, Any] = json.load(answer)
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
        """Lead to another server from now on; what goes on is cut."""
        self.wire._upstream = URL(url)
        self.wire.cut()

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


class Plant:
    """A cluster and what can be done to its machines."""

    def __init__(self, cluster: Cluster, slow: Slow, second: Second, ways: Ways) -> None:
        self.cluster = cluster
        self.slow = slow
        self.second = second
        self.ways = ways
        self.etcd = Etcd(cluster._ports.etcd)
        self._quota = 0

    def signal(self, name: str, number: signal.Signals) -> None:
        """Signal etcd or the first server."""
        self.cluster.signal(name, number)

    def restart(self, name: str) -> None:
        """Start etcd or the first server after it was killed."""
        self.cluster.restart(name)

    def narrow(self) -> None:
        """Give etcd hardly more room than it needs."""
        self.etcd.defragment()
        self._quota = self.etcd.size() + _ROOM
        self.signal(ETCD, signal.SIGKILL)
        self.cluster.restart(ETCD, f"--quota-backend-bytes={self._quota}")
        self.until_well()

    def fill(self) -> None:
        """Take the room that is left: nothing can be written from now on.

        Pages that a compaction frees meanwhile are room too, so as much is tried as can never fit.
        """
        written = self.etcd.put(self._quota)
        assert written < self._quota, "there still is room"

    def widen(self) -> None:
        """Make room, and let etcd have as much as it wants."""
        self.etcd.free()
        self.signal(ETCD, signal.SIGKILL)
        self.restart(ETCD)

    def until_well(self) -> None:
        """Wait until both servers do what they are asked to."""
        review = {"spec": {"nonResourceAttributes": {"path": "/", "verb": "get"}}}
        path = "/apis/authorization.k8s.io/v1/selfsubjectaccessreviews"
        self.cluster.until(
            "the first API server", lambda: self.cluster.api.request("POST", path, review)
        )
        self.cluster.until("it to be ready", lambda: self.cluster.api.get("/readyz") == "ok")
        self.second.start()


class PlantGround(Ground):
    """What worlds stand on whose machines are harmed; they share the harm."""

    def __init__(self, plant: Plant, mirror: Mirror, version: str) -> None:
        super().__init__(plant.cluster, mirror, plant.ways, version)
        self.plant = plant


@contextmanager
def new_plant(nodes: int = NODES, version: str = FIRST_VERSION) -> Iterator[PlantGround]:
    """A cluster of its own with all ports in reach, and a second server."""
    with Cluster.start(nodes=nodes, namespaces=False) as cluster:
        install_crds(cluster, f"--scrapeconfig-version={version}")
        with plant(cluster) as made, Mirror(cluster, version) as mirror:
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
