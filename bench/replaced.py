"""What a pod that is replaced costs the operator, without a cluster: processor time of one process.

1,000 nodes with 30 pods each, 1,000 Services, 200 ServiceMonitors, as in `portions`, and a client
for each node. What an API server would tell comes from another process, in which the clients are as
well. All is real between the two connections: decoding, what is kept, portions, TLS.

A pod goes and another one comes in its place, in as many events as it takes with a kubelet: it is
being deleted, and its endpoint ends; both are gone; the new one comes and is bound to a node; it
runs, and has an endpoint; it is ready, and so is its endpoint. Between these steps lies more time
than that for which changes are put together. The EndpointSlice says, in an annotation, when its
last change was due, as the controller of Kubernetes has it.

    python -m bench replaced [--portion-nodes 1000] [--portion-pods 30] [--replaced 100]

It is processor time, so it can be measured beside other work.
"""

import argparse
import asyncio
import multiprocessing
import time
from collections.abc import Awaitable, Callable
from datetime import UTC, datetime
from multiprocessing.connection import Connection
from typing import Any, Final

from msgspec import convert

from bench.asking import HOME, agent
from bench.crowd import allow_files
from bench.portions import MONITORS, monitor_of
from bench.told import CrowdKnows, tell
from stoker.api.monitors import ServiceMonitor
from stoker.api.prometheus import PrometheusAgent
from stoker.cli.operator import import_all
from stoker.handout import issuing
from stoker.handout.identity import context_of
from stoker.handout.issued import renewed
from stoker.handout.keeper import PortionKeeper
from stoker.handout.server import PortionServer
from stoker.handout.stock import PlannedJobs
from stoker.kube.access import Access
from stoker.kube.client import Client
from stoker.plan import kept_of
from stoker.plan.scraper import KeptScraper
from stoker.ref import Ref, ref_of
from stoker.select.assets import AssetsAtHand
from stoker.settings import Capabilities
from stoker.targets.job import NO_DEFAULTS
from tools.ports import held_port

Object = dict[str, Any]

GOAL_MS: Final = 5.0
# Longer than changes are put together.
APART_SECONDS: Final = 0.15
_AGENT: Final = Ref("PrometheusAgent", HOME, "main")


def report(options: argparse.Namespace) -> bool:
    """Measure, print, and tell whether the goal was reached."""
    nodes, pods = options.portion_nodes, options.portion_pods
    print(f"{nodes} nodes, {nodes * pods:,} pods, without a cluster …", flush=True)
    allow_files(nodes)
    import_all()
    spawning = multiprocessing.get_context("spawn")
    ours, theirs = spawning.Pipe()
    beside = spawning.Process(target=tell, args=(theirs, nodes, pods, APART_SECONDS), daemon=True)
    beside.start()
    with ours:
        cost = asyncio.run(_measured(ours, nodes, options.replaced))
        ours.send(None)
        beside.join()
    _tell(f"processor time for a pod that is replaced, ms (goal {GOAL_MS:g})", cost)
    return cost <= GOAL_MS


async def _measured(pipe: Connection, nodes: int, count: int) -> float:
    """Milliseconds for each of so many pods, one after the other, less what goes on anyhow."""
    address = await asyncio.to_thread(pipe.recv)
    port = held_port()
    made = renewed(
        None, ("localhost",), datetime.now(UTC), issuing.new_authority, issuing.new_certificate
    )
    async with Client(Access(address)) as client, asyncio.TaskGroup() as tasks:
        keeper = PortionKeeper(client, None)
        server = PortionServer(client, keeper, lambda _: _AGENT)
        certificate, key = made.server.certificate.encode(), made.server.key.encode()
        server.door.context = context_of(certificate, key)
        work = (keeper.run(), server.run("127.0.0.1", port))
        running = [tasks.create_task(each) for each in work]
        keeper.want(_AGENT)
        keeper.plan(_AGENT, _planned())
        begun = time.process_time()
        await _until_ready(keeper)
        _tell("all is listed and taken up after, s", time.process_time() - begun)
        pipe.send(("listen", port, made.trusted))
        await _until(pipe, lambda known: known.told == nodes)
        _tell("all clients have what is theirs after, s", time.process_time() - begun)
        spent = await _replaced(pipe, server, count)
        for each in running:
            each.cancel()
    return spent


async def _until_ready(keeper: PortionKeeper) -> None:
    while True:
        if not keeper.why_not:
            return
        await asyncio.sleep(0.1)


async def _replaced(pipe: Connection, server: PortionServer, count: int) -> float:
    # What is made once for all that follows is not counted.
    await _replace(pipe, range(-2, 0))
    files = server.counts.files
    spent, seconds = await _spent(_replace(pipe, range(count)))
    files = server.counts.files - files
    idle, _ = await _spent(asyncio.sleep(seconds))
    _tell("files sent for a pod", files / count)
    _tell("processor time a second when nothing happens, ms", 1000 * idle / seconds)
    return 1000 * (spent - idle) / count


async def _spent(work: Awaitable[None]) -> tuple[float, float]:
    """Processor time and seconds that something takes."""
    used, begun = time.process_time(), time.monotonic()
    await work
    return time.process_time() - used, time.monotonic() - begun


def _tell(title: str, value: float) -> None:
    print(f"{title:<62}{value:>10.2f}", flush=True)


async def _replace(pipe: Connection, numbers: range) -> None:
    pipe.send(("replace", list(numbers)))
    await _until(pipe, lambda known: known.replaced)


async def _until(pipe: Connection, met: Callable[[CrowdKnows], bool]) -> None:
    """Wait until what the other process knows is as wanted."""
    while True:
        await asyncio.sleep(1)
        pipe.send(("state",))
        known = await asyncio.to_thread(pipe.recv)
        if known.problems:
            raise RuntimeError("\n".join(known.problems[:10]))
        if met(known):
            return


def _planned() -> PlannedJobs:
    assets = AssetsAtHand({})
    spec = {"mode": "DaemonSet", "daemonSet": {"discovery": "Operator"}}
    made = agent("main", **spec)
    made["metadata"]["namespace"] = HOME
    kept = kept_of(convert(made, PrometheusAgent), Capabilities(), assets)
    monitors = {}
    for number in range(MONITORS):
        path, body = monitor_of(number)
        body["metadata"]["namespace"] = path.split("/")[5]
        monitor = convert(body, ServiceMonitor)
        monitors[ref_of(monitor)] = monitor
    kept.put_all(monitors, assets)
    if not isinstance(kept, KeptScraper):
        raise TypeError("what is kept of an agent is something else")
    return PlannedJobs(kept.version, NO_DEFAULTS, kept.node_jobs, kept.node_files)
