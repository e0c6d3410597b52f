"""What a real Prometheus makes of scrape jobs: its targets, and the candidates that it drops."""

from __future__ import annotations

import json
import subprocess
from collections import Counter, defaultdict
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any, Final
from urllib.request import urlopen

from msgspec import Struct

from stoker.targets.job import Job, TargetOutcome, outcomes
from stoker.targets.objects import TargetSources
from tools.build import binaries
from tools.ports import held_port
from tools.waiting import NotInTimeError, until

Labels = dict[str, str]
INTERVAL: Final = "1h"
"""Nothing answers where the targets are, and nobody need ask."""


class Pool(Struct, frozen=True):
    """What became of the candidates of a job.

    `active` has the labels of each target with all sets of discovered labels that it may have had:
    one of several is shown where several candidates become one target.
    """

    active: dict[str, frozenset[str]]
    dropped: Counter[str]

    def differences(self, theirs: Pool) -> list[str]:
        """How this differs from what Prometheus says, in which each target has one set."""
        found = [f"ours only: {each}" for each in self.active.keys() - theirs.active.keys()]
        found += [f"theirs only: {each}" for each in theirs.active.keys() - self.active.keys()]
        for labels in self.active.keys() & theirs.active.keys():
            more = theirs.active[labels] - self.active[labels]
            found += [f"discovered by them: {each}, by us: {self.active[labels]}" for each in more]
        found += [f"dropped by us: {each}" for each in self.dropped - theirs.dropped]
        found += [f"dropped by them: {each}" for each in theirs.dropped - self.dropped]
        return found


NOTHING: Final = Pool({}, Counter())


def pool_of(found: Iterable[TargetOutcome]) -> Pool:
    """What we make of the candidates of a job."""
    active: defaultdict[str, set[str]] = defaultdict(set)
    dropped: Counter[str] = Counter()
    for each in found:
        if each.stays:
            active[_text(each.public)].add(_text(each.discovered))
        elif each.step is not None:
            dropped[_text(each.discovered)] += 1
    return Pool({labels: frozenset(one) for labels, one in active.items()}, dropped)


def pools_of(jobs: Sequence[Job], world: TargetSources) -> dict[str, Pool]:
    """What we make of jobs, by name."""
    return {job.name: pool_of(outcomes(job, world)) for job in jobs}


def _text(labels: Labels) -> str:
    return json.dumps(labels, sort_keys=True, ensure_ascii=False)


class Prometheus:
    """A running server."""

    def __init__(self, process: subprocess.Popen[bytes], port: int, log: Path) -> None:
        self._process, self._port, self._log = process, port, log

    def pools(self) -> dict[str, Pool]:
        """What it makes of its jobs, by name; nothing as long as it does not answer."""
        assert self._process.poll() is None, self._log.read_text()[-3000:]
        try:
            url = f"http://127.0.0.1:{self._port}/api/v1/targets"
            with urlopen(url, timeout=60) as answer:
                data = json.load(answer)["data"]
        except OSError:
            return {}
        active: defaultdict[str, dict[str, frozenset[str]]] = defaultdict(dict)
        dropped: defaultdict[str, Counter[str]] = defaultdict(Counter)
        for each in data["activeTargets"]:
            discovered = frozenset({_text(each["discoveredLabels"])})
            active[each["scrapePool"]][_text(each["labels"])] = discovered
        for each in data["droppedTargets"]:
            dropped[each["scrapePool"]][_text(each["discoveredLabels"])] += 1
        return {name: Pool(active[name], dropped[name]) for name in {*active, *dropped}}

    def agrees(self, ours: Callable[[], dict[str, Pool]], seconds: float = 25) -> list[str]:
        """Differences from what we make of the same, once there are none; else those at the end."""
        last: list[str] = ["nothing was compared"]

        def same() -> bool:
            theirs, own = self.pools(), ours()
            last[:] = [
                f"{name}: {each}"
                for name in sorted({*theirs, *own})
                for each in own.get(name, NOTHING).differences(theirs.get(name, NOTHING))
            ]
            return not last

        try:
            until("the same targets", same, seconds)
        except NotInTimeError:
            return last
        return []


@contextmanager
def prometheus(jobs: Sequence[dict[str, Any]], folder: Path) -> Iterator[Prometheus]:
    """A server with these jobs."""
    folder.mkdir(parents=True, exist_ok=True)
    file, log, port = folder / "prometheus.yml", folder / "log", held_port()
    config = {"global": {"scrape_interval": INTERVAL}, "scrape_configs": list(jobs)}
    file.write_text(json.dumps(config))
    command = [
        str(binaries("prometheus")["prometheus"]),
        f"--config.file={file}",
        f"--storage.tsdb.path={folder / 'data'}",
        f"--web.listen-address=127.0.0.1:{port}",
    ]
    with log.open("wb") as output:
        process = subprocess.Popen(command, stderr=output)
    try:
        yield Prometheus(process, port, log)
    finally:
        process.terminate()
        process.wait()
