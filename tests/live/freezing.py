"""A leader that is frozen in the middle of sending a large object, and goes on when another leads.

    python -m tests.live.freezing --count 100 [--python .venv-3.13/bin/python] [--seed 1]

A real process leads and writes a Secret of 900 KB again and again, over a wire that passes it on
piece by piece. When a random part of a body has passed it is stopped, the wire becomes slow, and
another one takes the Lease and writes. Then the first goes on. What it had begun must not be made:
the Secret stays as the other wrote it.
"""

from __future__ import annotations

import argparse
import asyncio
import contextlib
import json
import os
import random
import signal
import subprocess
import sys
from pathlib import Path
from typing import Any

from stoker.kube import access
from stoker.kube.client import Client
from stoker.kube.lease import Leadership
from stoker.kube.resources import SECRET
from tests.live.faults import Wire
from tools.cluster import Cluster

ROOT = Path(__file__).parents[2]
SPANS: dict[str, Any] = {"lease_seconds": 3, "renew_seconds": 2, "retry_seconds": 0.2}
SIZE = 900_000
PIECE = 2**14
# All of a body passes in half a second, and then a piece takes so long that half of one would
# still be under way when another leads.
QUICK, SLOW = 0.005, 0.25
WRITER = """
import asyncio, json, sys
from pathlib import Path
from stoker.errors import StokerError
from stoker.kube import access
from stoker.kube.client import Client
from stoker.kube.lease import Leadership
from stoker.kube.resources import SECRET

async def main(path, lease, namespace, spans, size):
    # The Lease has a way of its own: it must not wait behind what is large.
    async with (
        Client(access.kubeconfig(Path(path))) as client,
        Client(access.kubeconfig(Path(lease))) as beside,
    ):
        leader = Leadership(beside, namespace, "one", "frozen", **json.loads(spans))
        client.fence = leader.fence
        running = asyncio.create_task(leader.run())
        while True:
            await leader.leading.wait()
            patch = {"stringData": {"by": "frozen", "large": "x" * int(size)}}
            try:
                await client.merge_patch(SECRET, namespace, "one", patch)
                print("written", flush=True)
            except StokerError as error:
                print(type(error).__name__, flush=True)
                await asyncio.sleep(0.05)

asyncio.run(main(*sys.argv[1:]))
"""


class Freezing:
    """A process that writes, and what it is done to."""

    def __init__(self, cluster: Cluster, namespace: str, wire: Wire, python: str) -> None:
        self.cut = 0
        self._namespace = namespace
        self._wire = wire
        self._path = cluster.kubeconfig
        spans = json.dumps(SPANS)
        found = [str(wire.kubeconfig), str(self._path), namespace, spans, str(SIZE)]
        self._process = subprocess.Popen(
            [python, "-c", WRITER, *found],
            env=os.environ | {"PYTHONPATH": str(ROOT / "src")},
            stdout=subprocess.PIPE,
        )

    def end(self) -> None:
        """End the process."""
        self._process.kill()
        self._process.wait()
        if self._process.stdout:
            self._process.stdout.close()

    async def trial(self, part: float) -> None:
        """Freeze it when this part of a body has passed."""
        self._wire.pause = QUICK
        await self._said(b"written")
        await self._until_passed(self._wire.passed + part * SIZE)
        self._process.send_signal(signal.SIGSTOP)
        self._wire.pause = SLOW
        async with Client(access.kubeconfig(self._path)) as client, self._heir(client) as heir:
            await heir.leading.wait()
            patch = {"stringData": {"by": "heir", "large": ""}}
            mine = await client.merge_patch(SECRET, self._namespace, "one", patch)
            self._process.send_signal(signal.SIGCONT)
            said = await self._said(b"NotLeading", b"Unavailable", b"written")
            self.cut += said == b"NotLeading"
            await self._until_nothing_passes()
            found = await client.get(SECRET, self._namespace, "one")
            heir.fence()
            assert found["metadata"]["resourceVersion"] == mine["metadata"]["resourceVersion"]

    @contextlib.asynccontextmanager
    async def _heir(self, client: Client) -> Any:
        heir = Leadership(client, self._namespace, "one", "heir", **SPANS)
        running = asyncio.create_task(heir.run())
        try:
            yield heir
        finally:
            running.cancel()
            await asyncio.gather(running, return_exceptions=True)

    async def _until_passed(self, total: float) -> None:
        while self._wire.passed < total:  # noqa: ASYNC110 - it is counted in another thread
            await asyncio.sleep(0.001)

    async def _until_nothing_passes(self) -> None:
        before = -1
        while self._wire.passed != before:
            before = self._wire.passed
            await asyncio.sleep(4 * SLOW)

    async def _said(self, *words: bytes) -> bytes:
        """The next of these words that it says."""
        assert self._process.stdout
        while True:
            said = (await asyncio.to_thread(self._process.stdout.readline)).strip()
            assert said, "the process has ended"
            if said in words:
                return said


def freeze(cluster: Cluster, namespace: str, count: int, python: str, seed: int = 0) -> int:
    """Freeze a writer so often; how often it was in the middle of a body."""
    dice = random.Random(seed)
    metadata = {"namespace": namespace, "name": "one"}
    made = {"apiVersion": "v1", "kind": "Secret", "metadata": metadata}
    cluster.api.request("POST", f"/api/v1/namespaces/{namespace}/secrets", made)

    async def main(freezing: Freezing) -> None:
        for number in range(count):
            async with asyncio.timeout(120):
                await freezing.trial(dice.uniform(0.1, 0.8))
            print(f"{number + 1} freezes, {freezing.cut} in the middle of a body", flush=True)

    with Wire(cluster, piece=PIECE) as wire:
        freezing = Freezing(cluster, namespace, wire, python)
        try:
            asyncio.run(main(freezing))
        finally:
            freezing.end()
    return freezing.cut


def main() -> None:
    """Freeze as often as asked."""
    parser = argparse.ArgumentParser(prog="python -m tests.live.freezing", description=__doc__)
    parser.add_argument("--count", type=int, default=20)
    parser.add_argument("--python", default=sys.executable, help="that runs the writer")
    parser.add_argument("--seed", type=int, default=0)
    options = parser.parse_args()
    with Cluster.start(nodes=0) as cluster:
        freeze(cluster, "default", options.count, options.python, options.seed)


if __name__ == "__main__":
    main()
