"""Leadership by a Lease on a real API server: two contenders, deaths, and stops."""

from __future__ import annotations

import asyncio
import contextlib
import json
import os
import signal
import subprocess
import sys
from collections.abc import AsyncIterator, Awaitable, Callable
from pathlib import Path
from typing import Any

import pytest

from stoker.kube import access
from stoker.kube.client import Client
from stoker.kube.clock import awake_or_asleep
from stoker.kube.errors import NotLeading
from stoker.kube.lease import Leadership
from stoker.kube.resources import CONFIG_MAP, LEASE
from tests import builders
from tools.cluster import Cluster

ROOT = Path(__file__).parents[2]
# Short, for a test waits for a lease to run out; long, when it must not.
SHORT: dict[str, Any] = {"lease_seconds": 3, "renew_seconds": 2, "retry_seconds": 0.2}
LONG: dict[str, Any] = {"lease_seconds": 600, "renew_seconds": 300, "retry_seconds": 0.1}

# Leads and then writes, telling what came of each write: it is stopped in whatever it does.
WRITER = """
import asyncio, json, sys
from pathlib import Path
from stoker.kube import access
from stoker.kube.client import Client
from stoker.kube.errors import StokerError
from stoker.kube.lease import Leadership
from stoker.kube.resources import CONFIG_MAP

async def main():
    async with Client(access.kubeconfig(Path(sys.argv[1]))) as client:
        leader = Leadership(client, sys.argv[2], "one", "writer", **json.loads(sys.argv[3]))
        client.fence = leader.fence
        running = asyncio.create_task(leader.run())
        await leader.leading.wait()
        for number in range(10**9):
            patch = {"data": {"by": "writer", "number": str(number)}}
            try:
                await client.merge_patch(CONFIG_MAP, sys.argv[2], "one", patch)
                print("written", flush=True)
            except StokerError as error:
                print(type(error).__name__, flush=True)
            await asyncio.sleep(0.01)

asyncio.run(main())
"""


@contextlib.asynccontextmanager
async def contending(
    client: Client, namespace: str, name: str, **options: Any
) -> AsyncIterator[Leadership]:
    """Let one contend for the lease; leaving is a graceful stop."""
    contender = Leadership(client, namespace, "one", name, **options)
    running = asyncio.create_task(contender.run())
    try:
        yield contender
    finally:
        running.cancel()
        with contextlib.suppress(asyncio.CancelledError):
            await running


def run(cluster: Cluster, script: Callable[[Client], Awaitable[None]]) -> None:
    """Run a script with a client of the cluster, with a deadline for all of it."""

    async def inside() -> None:
        async with Client(access.kubeconfig(cluster.kubeconfig)) as client, asyncio.timeout(120):
            await script(client)

    asyncio.run(inside())


async def until(condition: Callable[[], Awaitable[bool] | bool]) -> None:
    """Wait for a condition."""
    while True:
        found = condition()
        if found if isinstance(found, bool) else await found:
            return
        await asyncio.sleep(0.02)


def writer(cluster: Cluster, namespace: str) -> subprocess.Popen[str]:
    """Start another process that leads and writes."""
    return subprocess.Popen(
        [sys.executable, "-c", WRITER, str(cluster.kubeconfig), namespace, json.dumps(SHORT)],
        env=os.environ | {"PYTHONPATH": str(ROOT / "src")},
        stdout=subprocess.PIPE,
        text=True,
    )


def config_map(namespace: str) -> dict[str, Any]:
    """Make what is written to."""
    return builders.config_map("one", {"by": "nobody"}, namespace=namespace)


def test_one_of_two_leads_and_hands_over_when_it_stops(cluster: Cluster, namespace: str) -> None:
    """The second waits; a graceful stop gives the lease back, so nobody waits for it to run out."""

    async def script(client: Client) -> None:
        async with contending(client, namespace, "b", **LONG) as second:
            await second.leading.wait()
            async with contending(client, namespace, "a", **LONG) as first:
                await until(lambda: first.holder == "b")
                assert not first.is_leading
                with pytest.raises(NotLeading, match="b did last"):
                    first.fence()
                second.fence()
            assert second.is_leading
        with pytest.raises(NotLeading):
            second.fence()
        async with contending(client, namespace, "a", **LONG) as third:
            await third.leading.wait()
            spec = (await client.get(LEASE, namespace, "one"))["spec"]
            assert (spec["holderIdentity"], spec["leaseTransitions"]) == ("a", 1)

    run(cluster, script)


@pytest.mark.parametrize("method", ["POST", "PUT"])
def test_who_is_stopped_while_it_takes_or_renews_the_lease_gives_it_back(
    cluster: Cluster, namespace: str, method: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The server has done it and the answer is on its way: an heir need not wait for it."""

    async def script(client: Client) -> None:
        done = asyncio.Event()
        # A busy machine takes longer than the tenth of a second of others here.
        async with contending(client, namespace, "a", **LONG | {"retry_seconds": 2}) as first:
            ask = first._request

            async def unanswered(verb: str, *rest: Any) -> Any:
                answer = await ask(verb, *rest)
                if verb == method and not done.is_set():
                    done.set()
                    await asyncio.Event().wait()
                return answer

            monkeypatch.setattr(first, "_request", unanswered)
            await done.wait()
        assert (await client.get(LEASE, namespace, "one"))["spec"]["holderIdentity"] == ""

    run(cluster, script)


def test_a_killed_leader_is_followed(cluster: Cluster, namespace: str) -> None:
    """It gives nothing back; its lease runs out, and the other leads."""

    async def script(client: Client) -> None:
        await client.create(config_map(namespace))
        process = await asyncio.to_thread(writer, cluster, namespace)
        with process:
            try:
                await asyncio.to_thread(_read_until, process, "written\n")
                async with contending(client, namespace, "heir", **SHORT) as heir:
                    await until(lambda: heir.holder == "writer")
                    assert not heir.is_leading
                    process.kill()
                    await heir.leading.wait()
                    heir.fence()
            finally:
                process.kill()

    run(cluster, script)


def test_a_leader_that_was_stopped_writes_nothing_when_it_goes_on(
    cluster: Cluster, namespace: str
) -> None:
    """A real process, stopped in the midst of its writing and resumed when another leads."""

    async def script(client: Client) -> None:
        await client.create(config_map(namespace))
        process = await asyncio.to_thread(writer, cluster, namespace)
        with process:
            try:
                await asyncio.to_thread(_read_until, process, "written\n")
                process.send_signal(signal.SIGSTOP)
                async with contending(client, namespace, "heir", **SHORT) as heir:
                    await heir.leading.wait()
                    mine = await client.merge_patch(
                        CONFIG_MAP, namespace, "one", {"data": {"by": "heir"}}
                    )
                    process.send_signal(signal.SIGCONT)
                    await asyncio.to_thread(_read_until, process, "NotLeading\n", times=20)
                    found = await client.get(CONFIG_MAP, namespace, "one")
                    assert found["data"] == mine["data"]
                    resumed = found["metadata"]["resourceVersion"]
                    assert resumed == mine["metadata"]["resourceVersion"]
                    heir.fence()
            finally:
                process.kill()

    run(cluster, script)


def _read_until(process: subprocess.Popen[str], line: str, times: int = 1) -> None:
    assert process.stdout
    found = 0
    while found < times:
        said = process.stdout.readline()
        assert said, "the process has ended"
        found += said == line


def test_the_fence_shuts_by_the_clock_alone(cluster: Cluster, namespace: str) -> None:
    """Before anything in this process has noticed that time went by."""
    ahead = 0.0

    async def script(client: Client) -> None:
        nonlocal ahead
        lost = asyncio.Event()
        await client.create(config_map(namespace))
        options = {**LONG, "on_lost": lost.set, "clock": lambda: awake_or_asleep() + ahead}
        async with contending(client, namespace, "a", **options) as leader:
            client.fence = leader.fence
            await leader.leading.wait()
            await client.merge_patch(CONFIG_MAP, namespace, "one", {"data": {"by": "a"}})
            ahead = 301.0
            assert leader.leading.is_set()
            with pytest.raises(NotLeading):
                await client.merge_patch(CONFIG_MAP, namespace, "one", {"data": {"by": "a again"}})
            await lost.wait()
            # Nobody else took it, so it may lead again.
            await leader.leading.wait()
            leader.fence()

    run(cluster, script)


@pytest.mark.parametrize("deleted", [False, True])
def test_a_leader_whose_lease_is_taken_away_steps_down(
    cluster: Cluster, namespace: str, deleted: bool
) -> None:
    """By another holder, or by deleting it, which asks for a new election."""

    async def script(client: Client) -> None:
        lost = asyncio.Event()
        async with contending(client, namespace, "a", **LONG, on_lost=lost.set) as leader:
            await leader.leading.wait()
            if deleted:
                await client.delete(LEASE, namespace, "one")
                await lost.wait()
                await leader.leading.wait()
            else:
                patch = {"spec": {"holderIdentity": "b"}}
                await client.merge_patch(LEASE, namespace, "one", patch)
                await lost.wait()
                assert not leader.leading.is_set()
                with pytest.raises(NotLeading, match="b did last"):
                    leader.fence()

    run(cluster, script)


def test_a_bystander_does_not_cost_the_leadership(cluster: Cluster, namespace: str) -> None:
    """Somebody annotates the lease: the next renewal conflicts, and the one after it succeeds."""

    async def script(client: Client) -> None:
        lost = asyncio.Event()
        async with contending(client, namespace, "a", **LONG, on_lost=lost.set) as leader:
            await leader.leading.wait()
            note = {"metadata": {"annotations": {"team": "x"}}}
            before = await client.merge_patch(LEASE, namespace, "one", note)

            async def renewed() -> bool:
                found = await client.get(LEASE, namespace, "one")
                assert found["metadata"]["annotations"] == {"team": "x"}
                return bool(found["spec"]["renewTime"] != before["spec"]["renewTime"])

            await until(renewed)
            assert leader.is_leading
            assert not lost.is_set()

    run(cluster, script)


def test_a_leader_that_cannot_renew_stops_in_time(cluster: Cluster, namespace: str) -> None:
    """Cut off from the server, it stops before anybody else can start."""

    async def script(client: Client) -> None:
        lost = asyncio.Event()
        async with (
            Client(access.kubeconfig(cluster.kubeconfig)) as mine,
            contending(mine, namespace, "a", **SHORT, on_lost=lost.set) as leader,
        ):
            await leader.leading.wait()
            mine.access.server = "https://127.0.0.1:1"
            await lost.wait()
            with pytest.raises(NotLeading):
                leader.fence()
        async with contending(client, namespace, "b", **SHORT) as heir:
            await heir.leading.wait()

    run(cluster, script)


def test_spans_that_make_no_sense_are_refused() -> None:
    """A leader that may go on for longer than its lease would be two leaders."""
    with pytest.raises(ValueError, match="lease > renew > retry"):
        Leadership(None, "a", "b", "c", lease_seconds=10, renew_seconds=10)  # type: ignore[arg-type]
