"""What an agent still sends when its receiver was away: what the log on the node is good for.

Found with the newest Prometheus, and so in its source (`tsdb/wlog/watcher.go`: samples that are
older than the start of the process are passed over):

=========================================  =======================================================
the receiver was away, and the agent …     then all samples …
=========================================  =======================================================
ran on                                     are sent later: no gap
was killed and came back                   from before its start are never sent, though they are
                                           in the log, which is as it was; those from then on are
=========================================  =======================================================

So "no gap" after a kill is out of reach for any operator. The log on the node is still replayed by
the agent that comes next, on the same node, and grows there rather than in the pod's own storage.
"""

from __future__ import annotations

import json
import time
from collections.abc import Iterator
from datetime import datetime
from pathlib import Path
from typing import Any

import pytest

from tests.builders import resource
from tests.live.operating import Running, World
from tests.live.scraping import (
    NOBODY,
    allow_discovery,
    asked,
    exporter,
    node_agent,
    samples,
    target,
)
from tests.live.stage import RECEIVER, receiver
from tools.podrunner import PodRunner

Object = dict[str, Any]
AGENT = "app.kubernetes.io/name=prometheus-agent"
# In seconds; an outage is a few scrapes long.
INTERVAL = 1
OUTAGE = 4
# Of the target alone: the agent finds itself, too. Also of a scrape that fails on a busy machine.
SCRAPES = 'up{pod="one"}'


@pytest.fixture
def pods(world: World, operator: Running) -> Iterator[PodRunner]:
    """What runs the agent: on one node, with one target, sending to a receiver."""
    if not world.cluster.namespaces:
        pytest.skip("this machine does not let us make network namespaces")
    allow_discovery(world.cluster, world.namespace)
    endpoint = {"port": "web", "interval": f"{INTERVAL}s", "scrapeTimeout": f"{INTERVAL}s"}
    spec = {"selector": {}, "podMetricsEndpoints": [endpoint]}
    queue = {"batchSendDeadline": "500ms"}
    agent = node_agent(
        "main",
        nodeSelector={"kubernetes.io/hostname": "node-0"},
        daemonSet={"storage": {"hostPath": {"path": "/var/lib/agent"}}},
        remoteWrite=[
            {"url": f"http://{NOBODY}:{RECEIVER}/api/v1/write", "queueConfig": queue},
        ],
    )
    world.put(resource("PodMonitor", "all", spec), target("one", "node-0", {}), agent)
    with exporter(world.cluster), PodRunner(world.cluster, world.namespace) as runner:
        yield runner


def times(pods: PodRunner) -> list[float]:
    """When the target was scraped, by what the receiver has."""
    found = samples(pods, NOBODY, f"{SCRAPES}[1h] @ {time.time():.3f}", RECEIVER)
    return sorted(each for _, times in found for each in times)


def scraped(world: World, pods: PodRunner, agent: Object) -> int:
    """Wait until an agent has scraped some times more; how often it has."""

    def count() -> int:
        return sum(askers.get(pods.address(agent), 0) for askers in asked(pods).values())

    before = world.until("a scrape", count)
    return world.until("more scrapes", lambda: count() >= before + OUTAGE and count() - before)


def test_what_was_not_sent_is_sent_later_by_the_same_agent_and_by_no_other(
    world: World, pods: PodRunner, tmp_path: Path
) -> None:
    """An agent that runs on catches up; one that was killed begins anew, on the same log."""
    [agent] = pods.until_running(world.namespace, AGENT)
    with receiver(world.cluster, tmp_path):
        world.until("samples", lambda: len(times(pods)) > OUTAGE)
    down = time.time()
    missed = scraped(world, pods, agent)
    up = time.time()
    with receiver(world.cluster, tmp_path):
        world.until("samples from now on", lambda: times(pods)[-1] > up)
        # One may have been on its way when the count began.
        assert len([each for each in times(pods) if down < each < up]) >= missed - 1
    log = world.cluster.directory / f"pods/nodes/node-0/var/lib/agent/{world.namespace}/main/wal"
    segment = log / "00000000"
    inode = segment.stat().st_ino
    down = time.time()
    scraped(world, pods, agent)
    world.delete("pods", agent["metadata"]["name"])
    pods.kill(agent, "prometheus")
    world.until("another pod", lambda: _others(world, agent))
    [successor] = pods.until_running(world.namespace, AGENT)
    runtime = json.loads(pods.page(pods.address(successor), 9090, "/api/v1/status/runtimeinfo"))
    started = datetime.fromisoformat(runtime["data"]["startTime"])
    scraped(world, pods, successor)
    up = time.time()
    with receiver(world.cluster, tmp_path):
        world.until("samples from now on", lambda: times(pods)[-1] > up)
        later = [each for each in times(pods) if each > down]
    assert segment.stat().st_ino == inode
    assert min(later) > started.timestamp()
    # What the new agent scraped while there was no receiver is there.
    assert len([each for each in later if each < up]) >= OUTAGE - 1


def _others(world: World, agent: Object) -> list[Object]:
    pods = world.list("pods")
    agents = [each for each in pods if each["metadata"]["name"].startswith("prom-agent")]
    uid = agent["metadata"]["uid"]
    return [] if uid in {each["metadata"]["uid"] for each in agents} else agents
