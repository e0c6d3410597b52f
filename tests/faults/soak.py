"""Time: a steady world that changes tens of thousands of times costs no more at the end.

Tenants change what they have, as fast as the operator follows: after each round its queues must be
empty and every tenant's last change be in its configuration. Then it is noted what the operator
keeps: memory, files, threads, tasks, entries of caches. What it had in the second tenth of the run
it may have at the end, and hardly more. Memory grows until each cache that is bounded has been full
and Python has looked for cycles a few times: from the middle of the run on it must stay, and in all
it may grow by `BOUND_MIB`. At last another operator is started on the same world: it must find
nothing to write.
"""

from __future__ import annotations

import asyncio
import base64
import gzip
import ssl
import statistics
import time
from collections.abc import Callable, Coroutine, Iterator, Sequence
from pathlib import Path
from typing import Any, ClassVar, NamedTuple, TypeVar

import aiohttp

from tests.builders import prometheus
from tests.faults.mirror import Mirror
from tests.faults.runs import Run, Told
from tests.faults.state import Normaliser, Snapshot, differences
from tests.faults.steady import Request, Tenant
from tests.faults.world import FIRST_VERSION
from tests.live.operating import Running
from tools.cluster import Cluster
from tools.crds import cluster_with_crds
from tools.waiting import until

Object = dict[str, Any]
T = TypeVar("T")

ALL = "soak-all"
_PREFIX = "prometheus_operator_"
_POLL = 0.1
_FOLLOWED_SECONDS = 300.0
_WORKLOADS = ("prometheuses", "prometheusagents", "alertmanagers", "thanosrulers")
_NOT_FOUND = 404


class Length(NamedTuple):
    """How long a run is, and how large; `warm`: whether bounded caches are full early in it."""

    changes: int
    rounds: int
    tenants: int
    contents: int
    warm: bool


LONG = Length(changes=50_000, rounds=100, tenants=6, contents=10**9, warm=True)
SHORT = Length(changes=450, rounds=10, tenants=3, contents=10, warm=False)


class Margin(NamedTuple):
    """How much more something may be at the end: as a part of what it was, and beside that."""

    part: float
    beside: float


# Memory is given back in large pieces, and a cycle may wait for its collection; the rest is exact.
MARGINS = {
    "rss_mib": Margin(0.04, 2),
    "blocks": Margin(0.04, 20_000),
    "files": Margin(0, 5),
    "threads": Margin(0, 2),
    "tasks": Margin(0, 5),
    "series": Margin(0.02, 10),
    # A few deleted workloads may wait for Kubernetes to collect what was theirs, ten objects each.
    "entries": Margin(0.05, 40),
}
# These grow until each bounded cache has been full once.
_WARMING = ("rss_mib", "blocks")
_WARM_TENTH = 4
BOUND_MIB = 32.0
"""What caches may take in such a world, cycles that wait for Python, and room between them."""
Sample = dict[str, float]


class Outcome(NamedTuple):
    """What came of a run; without `problems` all was well."""

    changes: int
    seconds: float
    lags: list[float]
    samples: list[Sample]
    problems: list[str]

    @property
    def text(self) -> str:
        """The figures, and what is wrong with them."""
        lags = sorted(self.lags)
        lines = [
            f"{self.changes} changes in {self.seconds:.0f} s, {self.changes / self.seconds:.0f} a "
            f"second; followed after {lags[len(lags) // 2]:.2f} s, at most {lags[-1]:.2f} s",
            f"{'':<12}{'early':>14}{'last tenth':>14}{'most':>14}",
        ]
        for name, (first, last) in windows(self.samples).items():
            most = max(each[name] for each in self.samples)
            lines.append(f"{name:<12}{first:>14.1f}{last:>14.1f}{most:>14.1f}")
        return "\n".join(lines)


def windows(samples: Sequence[Sample]) -> dict[str, tuple[float, float]]:
    """The medians of the second tenth (of memory, the fifth) and of the last, for what is held."""
    tenth = max(1, len(samples) // 10)

    def early(name: str) -> Sequence[Sample]:
        number = _WARM_TENTH if name in _WARMING else 1
        return samples[number * tenth : (number + 1) * tenth]

    return {name: (_middle(name, early(name)), _middle(name, samples[-tenth:])) for name in MARGINS}


def _middle(name: str, samples: Sequence[Sample]) -> float:
    return statistics.median(each[name] for each in samples)


def growth(samples: Sequence[Sample], *, warm: bool = True) -> list[str]:
    """What has grown though the world has not."""
    begun = _middle("rss_mib", samples[: max(1, len(samples) // 10)])
    most = max(each["rss_mib"] for each in samples)
    over = (
        [f"rss_mib grew from {begun:.1f} to {most:.1f} in all"] if most > begun + BOUND_MIB else []
    )
    return over + [
        f"{name} grew from {first:.1f} to {last:.1f}"
        for name, (first, last) in windows(samples).items()
        if last > first * (1 + MARGINS[name].part) + MARGINS[name].beside
        and (warm or name not in _WARMING)
    ]


# --- What the operator keeps ----------------------------------------------------------------------


def sample(operator: Running) -> Sample:
    """What an operator keeps at this moment."""
    process = Path(f"/proc/{operator.process.pid}")
    status = dict(
        line.split(":", 1) for line in (process / "status").read_text().splitlines() if ":" in line
    )
    found: Sample = {
        "rss_mib": int(status["VmRSS"].split()[0]) / 1024,
        "threads": float(status["Threads"]),
        "files": float(len(list((process / "fd").iterdir()))),
        "blocks": 0.0,
        "tasks": 0.0,
        "series": 0.0,
        "entries": 0.0,
        "bytes": 0.0,
    }
    for name, value in _metrics(operator):
        found["series"] += 1
        kept = _KEPT.get(name)
        if kept:
            found[kept] += value
    return found


_KEPT = {
    "allocated_blocks": "blocks",
    "tasks": "tasks",
    "cache_entries": "entries",
    "cache_bytes": "bytes",
}
# What failed is tried again, and a read that is late wakes who asked for it.
_UNFINISHED = (
    "workqueue_depth",
    "workqueue_unfinished_work_seconds",
    "workqueue_delayed",
    "late_reads",
)


def _metrics(operator: Running) -> Iterator[tuple[str, float]]:
    for line in operator.page("/metrics").splitlines():
        # What resources share fills up to a number of its own, which a test holds.
        if line.startswith(_PREFIX) and '"shared"' not in line:
            name, _, value = line.rpartition(" ")
            yield name.split("{")[0].removeprefix(_PREFIX), float(value)


def is_quiet(operator: Running) -> bool:
    """Whether nothing waits for a worker or an answer, and no worker has work."""
    return not any(value for name, value in _metrics(operator) if name in _UNFINISHED)


# --- What tenants do ------------------------------------------------------------------------------


class Tenants:
    """All tenants of a cluster, and their way to the API server."""

    def __init__(self, cluster: Cluster, length: Length, seed: int) -> None:
        self._cluster = cluster
        self._all = [
            Tenant(f"soak-{number}", seed, length.contents) for number in range(length.tenants)
        ]
        self._session: aiohttp.ClientSession

    @property
    def changes(self) -> int:
        """How many changes all of them have made."""
        return sum(each.changes for each in self._all)

    async def __aenter__(self) -> Tenants:
        trusted = ssl.create_default_context(cafile=self._cluster.ca_file)
        self._session = aiohttp.ClientSession(
            self._cluster.url,
            connector=aiohttp.TCPConnector(ssl=trusted),
            headers={"Authorization": f"Bearer {self._cluster.token}"},
        )
        return self

    async def __aexit__(self, *_: object) -> None:
        await self._session.close()

    async def furnish(self) -> None:
        """Make what there is at first, and a Prometheus that looks at all of them."""
        chosen = {"matchLabels": {"watched": "yes"}}
        every = prometheus("all", replicas=0, serviceMonitorNamespaceSelector=chosen)
        base = "/apis/monitoring.coreos.com/v1/namespaces"
        await self._send(Request("POST", "/api/v1/namespaces", {"metadata": {"name": ALL}}))
        await self._send(Request("POST", f"{base}/{ALL}/prometheuses", every))
        await self._each(lambda tenant: self._send(*tenant.furnish()))

    async def round(self, count: int, word: str) -> float:
        """Make so many changes, and wait until the last ones were followed; how long that took."""
        wanted = count // len(self._all)

        async def work(tenant: Tenant) -> float:
            end = tenant.changes + wanted - 1
            while tenant.changes < end:
                await self._send(*tenant.next())
            await self._send(tenant.mark(word))
            return await self._followed(tenant, word)

        return max(await self._each(work))

    async def _each(self, work: Callable[[Tenant], Coroutine[Any, Any, T]]) -> list[T]:
        return list(await asyncio.gather(*map(work, self._all)))

    async def _followed(self, tenant: Tenant, word: str) -> float:
        begun = time.monotonic()
        path = f"/api/v1/namespaces/{tenant.namespace}/secrets/prometheus-main"
        while time.monotonic() < begun + _FOLLOWED_SECONDS:
            async with self._session.get(path) as answer:
                found = await answer.json() if answer.status != _NOT_FOUND else {}
            text = (found.get("data") or {}).get("prometheus.yaml.gz")
            if text and f"/{word}\n".encode() in gzip.decompress(base64.b64decode(text)):
                return time.monotonic() - begun
            await asyncio.sleep(_POLL)
        raise TimeoutError(f"{tenant.namespace}: {word} was not followed")

    async def _send(self, *requests: Request) -> None:
        for each in requests:
            async with self._session.request(
                each.method, each.path, json=each.body, headers={"Content-Type": each.content_type}
            ) as answer:
                said = await answer.text()
            if answer.status >= 400 and not (each.absent and answer.status == _NOT_FOUND):
                raise RuntimeError(f"{each.method} {each.path}: {answer.status} {said}")


# --- A run ----------------------------------------------------------------------------------------


def soak(
    cluster: Cluster, length: Length, seed: int, tell: Callable[[str], None] = print
) -> Outcome:
    """Run on a cluster with our definitions that nobody else uses."""
    made = Tenants(cluster, length, seed)
    with Running.start(cluster, *_flags()) as operator:
        begun = time.monotonic()
        lags, samples = asyncio.run(_lived(made, operator, length, tell))
        seconds = time.monotonic() - begun
        assert operator.stop() == 0
    with Mirror(cluster, FIRST_VERSION) as mirror:
        problems = [*growth(samples, warm=length.warm), *_fresh(cluster, mirror)]
    return Outcome(made.changes, seconds, lags, samples, problems)


def _flags() -> tuple[str, ...]:
    return "--leader-election=false", "--log-level=info"


async def _lived(
    tenants: Tenants, operator: Running, length: Length, tell: Callable[[str], None]
) -> tuple[list[float], list[Sample]]:
    lags, samples = [], []
    async with tenants:
        await tenants.furnish()
        share = length.changes // length.rounds
        for number in range(length.rounds):
            lags.append(await tenants.round(share, f"round-{number}"))
            await asyncio.to_thread(until, "queues to be empty", lambda: is_quiet(operator))
            samples.append(sample(operator))
            if number % max(1, length.rounds // 10) == 0:
                tell(_line(tenants.changes, lags[-1], samples[-1]))
    return lags, samples


def _line(changes: int, lag: float, found: Sample) -> str:
    kept = ", ".join(f"{name} {value:.0f}" for name, value in found.items())
    return f"{changes} changes, followed after {lag:.2f} s: {kept}"


def _fresh(cluster: Cluster, mirror: Mirror) -> list[str]:
    """What another operator makes different that begins on the same world: nothing, one hopes."""
    before, mark = _state(cluster, mirror), cluster.audit.mark()
    with Running.start(cluster, *_flags()) as operator:
        count = sum(len(_all(cluster, each)) for each in _WORKLOADS)
        until(
            "all workloads to be looked at",
            lambda: operator.metric(f"{_PREFIX}syncs") >= count and is_quiet(operator),
        )
        writes = [each for each in cluster.audit.since(mark, "stoker") if each.resource != "leases"]
        found = differences(before, _state(cluster, mirror))
    return [f"a fresh operator: {each}" for each in (*writes, *found)]


def _state(cluster: Cluster, mirror: Mirror) -> Snapshot:
    found = cluster.api.get("/api/v1/namespaces")["items"]
    names = [each["metadata"]["name"] for each in found]
    ours = [each for each in names if each.startswith("soak-")]
    return Normaliser("soak").snapshot(mirror.objects(ours))


def _all(cluster: Cluster, plural: str) -> list[Object]:
    version = "v1alpha1" if plural == "prometheusagents" else "v1"
    found: list[Object] = cluster.api.get(f"/apis/monitoring.coreos.com/{version}/{plural}")[
        "items"
    ]
    return found


class SoakRun(Run):
    """A long life."""

    name: ClassVar[str] = "soak"
    help: ClassVar[str] = "tens of thousands of changes of a steady world: nothing may grow"

    def run(self, tell: Callable[[str], None], changes: int, seed: int) -> Told:
        """Live through so many changes, on a cluster of its own."""
        length = LONG._replace(changes=changes or LONG.changes)
        with cluster_with_crds(nodes=2, namespaces=False) as cluster:
            found = soak(cluster, length, seed, tell)
        return Told(found.text, found.problems)
