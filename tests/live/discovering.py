"""Which targets a real Prometheus finds for pairs of jobs, in a real cluster.

Only what decides on targets is kept of a job. They are found with the kubeconfig of the cluster,
and nothing answers at their addresses.
"""

from __future__ import annotations

import json
import subprocess
from collections import defaultdict
from collections.abc import Sequence
from pathlib import Path
from typing import Any, Final
from urllib.request import urlopen

from msgspec import Struct

from stoker.generate.block import text_of
from stoker.yamltree import parse
from tests.promtool import expanded
from tools.build import binaries
from tools.ports import held_port
from tools.waiting import until

Job = dict[str, Any]
Pair = tuple[Job, Job]

_ABOUT_TARGETS: Final = frozenset({
    "kubernetes_sd_configs", "metrics_path", "params", "relabel_configs", "scheme",
    "scrape_interval", "scrape_timeout", "static_configs",
})  # fmt: skip
_ABOUT_OBJECTS: Final = frozenset({"attach_metadata", "namespaces", "role", "selectors"})


class Found(Struct, frozen=True):
    """The targets of one job: those that are scraped, and how many are not."""

    active: tuple[str, ...] = ()
    dropped: int = 0


NOTHING: Final = Found()


def found_by_both(pairs: Sequence[Pair], kubeconfig: Path, folder: Path) -> list[Found]:
    """What both jobs of each pair find, once that is the same."""
    jobs = [
        each
        for index, (before, after) in enumerate(pairs)
        for each in _named(before, after, index, kubeconfig)
    ]
    config = {"global": {"scrape_interval": "1h"}, "scrape_configs": jobs}
    file = folder / "prometheus.yml"
    file.write_text(expanded(text_of(config)))
    port = held_port()
    log = folder / "log"
    command = [
        str(binaries("prometheus")["prometheus"]),
        f"--config.file={file}",
        f"--storage.tsdb.path={folder / 'data'}",
        f"--web.listen-address=127.0.0.1:{port}",
    ]
    with log.open("w") as output:
        process = subprocess.Popen(command, stderr=output)
    last: list[tuple[int, Found, Found]] = []

    def same() -> list[Found]:
        assert process.poll() is None, log.read_text()[-2000:]
        pools = _pools(port)
        both = [
            (pools.get(f"before/{index}", NOTHING), pools.get(f"after/{index}", NOTHING))
            for index in range(len(pairs))
        ]
        # A job that has found nothing at all is still looking.
        last[:] = [
            (index, *each)
            for index, each in enumerate(both)
            if each[0] != each[1] or each[0] == NOTHING
        ]
        return [] if last else [found for found, _ in both]

    try:
        return until("both jobs of each pair to find the same", same)
    except Exception as error:
        raise AssertionError(f"different: {last[:3]}") from error
    finally:
        process.terminate()
        process.wait()


def _named(before: Job, after: Job, index: int, kubeconfig: Path) -> tuple[Job, Job]:
    """Both jobs under names of their own; a step that tells the name of the other follows."""
    known, name = before["job_name"], f"before/{index}"
    one, other = (about_targets(each, kubeconfig) for each in (before, after))
    for step in other["relabel_configs"]:
        if step.get("replacement") == known:
            step["replacement"] = name
    return {"job_name": name, **one}, {"job_name": f"after/{index}", **other}


def about_targets(job: Job, kubeconfig: Path) -> Job:
    """What of a job decides on its targets, which are found with a kubeconfig; a copy."""
    kept: Job = parse(text_of({name: job[name] for name in job if name in _ABOUT_TARGETS}))
    found = kept.get("kubernetes_sd_configs")
    if found:
        kept["kubernetes_sd_configs"] = [
            {"kubeconfig_file": str(kubeconfig)}
            | {name: each[name] for name in each if name in _ABOUT_OBJECTS}
            for each in found
        ]
    return kept


def _pools(port: int) -> dict[str, Found]:
    try:
        with urlopen(f"http://127.0.0.1:{port}/api/v1/targets", timeout=10) as answer:
            data = json.load(answer)["data"]
    except OSError:
        return {}
    active: defaultdict[str, list[str]] = defaultdict(list)
    for each in data["activeTargets"]:
        discovered = {
            name: text for name, text in each["discoveredLabels"].items() if name != "job"
        }
        told = (each["labels"], each["scrapeUrl"], discovered)
        active[each["scrapePool"]].append(json.dumps(told, sort_keys=True))
    dropped = data["droppedTargetCounts"]
    return {
        name: Found(tuple(sorted(active[name])), dropped.get(name, 0))
        for name in {*active, *dropped}
    }
