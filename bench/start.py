"""How long an operator takes from its start until all is configured, row by row.

Each row is a world of its own (`bench.starting`), on a control plane of its own. Beside the seconds
stand those of processors, which say something on a busy machine too: the operator's own, and what
the API server spent meanwhile; and the requests that it was sent. Then the floor of the machine:
to list and decode the same objects in a process of Python, and the time of the server for the same
writes, which a plain client sends once more, under other names.

    python -m bench start --rows monitors rules --share 0.1     a tenth of these two
    PEER_OPERATOR=path/to/operator python -m bench start        the peer beside ours, row by row
"""

import argparse
import json
import re
import subprocess
import sys
import time
from collections import Counter
from collections.abc import Mapping
from pathlib import Path
from typing import Any, TypeAlias

from bench.operator import await_served
from bench.process import (
    OURS,
    api_server,
    await_idle,
    await_quiet,
    compile_ours,
    counted_writes,
    cpu_seconds,
    memory_of,
    running_operator,
)
from bench.starting import NAMESPACE, WORLDS, World, in_words
from bench.world import create_all
from tools.audit import Write
from tools.cluster import Cluster
from tools.crds import install_crds
from tools.waiting import until

ALL = "together"
ALL_GOAL = 6.0
_REQUESTS = re.compile(r"^apiserver_request_total\{(.*)\} ([0-9.e+]+)$", re.MULTILINE)
_LABEL = re.compile(r'(\w+)="([^"]*)"')
# Parts of the names of what holds files beside a configuration.
_FILES = ("-tls-", "-web-config", "-cluster-", "-http-client-file")
# What is asked for ever, by whomever, and what this measurement asks.
_BESIDE = ("leases", "events", "endpoints", "endpointslices", "namespaces")


Figures: TypeAlias = dict[str, Any]
"""What was measured of a row and an operator."""


def report(options: argparse.Namespace) -> bool:
    """Measure each row, print it, and tell whether the goals were reached."""
    compile_ours()
    commands = {"stoker": OURS} | ({"peer": [options.peer]} if options.peer else {})
    rows: dict[str, dict[str, Figures]] = {}
    for row in options.rows or [*WORLDS, ALL]:
        rows[row] = {}
        for name, command in commands.items():
            rows[row][name] = _measured(row, command, options)
            _print(row, name, rows[row][name])
    print("\n" + table(rows))
    if options.share < 1:
        # A part of a world says nothing about the whole.
        return True
    reached = [_is_reached(row, found["stoker"]["seconds"]) for row, found in rows.items()]
    return all(reached)


def _is_reached(row: str, seconds: float) -> bool:
    goal = _goal(row)
    print(f"{row}: {seconds:.2f} s (goal: {goal} s): {'ok' if seconds <= goal else 'MISSED'}")
    return seconds <= goal


def _goal(row: str) -> float:
    return ALL_GOAL if row == ALL else WORLDS[row].goal


def table(rows: Mapping[str, Mapping[str, Figures]]) -> str:
    """All rows at a glance, in Markdown: each operator's figures, beside the goal and the floor."""
    names = list(dict.fromkeys(name for found in rows.values() for name in found))
    titles = [f"{name}: s; CPU, and of the server" for name in names]
    heads = ["until all is configured", "goal, s", *titles, "floor: lists; the same writes, s"]
    lines = [heads, ["---"] * len(heads)]
    for row, found in rows.items():
        ours = found["stoker"]
        told = [_told(found[name]) for name in names]
        floor = f"{ours['floor: lists']:.2f}; {ours['floor: writes']:.2f}"
        lines.append([in_words(ours["sizes"]), f"{_goal(row)}", *told, floor])
    return "\n".join(f"| {' | '.join(line)} |" for line in lines)


def _told(found: Figures) -> str:
    seconds, own, server = (found[key] for key in ("seconds", "of CPU", "of CPU, API server"))
    return f"{seconds:.2f}; {own:.2f}, {server:.2f}"


def _print(row: str, name: str, found: Figures) -> None:
    print(f"\n{row}, {name}: {in_words(found['sizes'])}")
    for key, value in found.items():
        if isinstance(value, float):
            print(f"  {key:<28}{value:>9.2f}")
    for key in ("requests", "writes"):
        listed = ", ".join(f"{count} {what}" for what, count in found[key].most_common())
        print(f"  {key} ({sum(found[key].values())}): {listed}", flush=True)


def _measured(row: str, command: list[str], options: argparse.Namespace) -> Figures:
    worlds = WORLDS if row == ALL else {row: WORLDS[row]}
    sizes = {name: max(1, round(world.size * options.share)) for name, world in worlds.items()}
    with Cluster.start(nodes=0, namespaces=False) as cluster:
        install_crds(cluster)
        cluster.api.request("POST", "/api/v1/namespaces", {"metadata": {"name": NAMESPACE}})
        create_all(cluster, [one for name in sizes for one in worlds[name].objects(sizes[name])])
        await_served(cluster)
        await_idle(cluster)
        found = {"sizes": sizes} | _floor_of_lists(cluster)
        return found | _started(cluster, command, worlds, sizes, options)


def _started(
    cluster: Cluster,
    command: list[str],
    worlds: dict[str, World],
    sizes: dict[str, int],
    options: argparse.Namespace,
) -> Figures:
    mark, server = cluster.audit.mark(), api_server(cluster)
    before, asked = cpu_seconds(server), _requests(cluster)
    begun = time.time()
    look = Look(cluster, mark, worlds, sizes)
    with running_operator(command, cluster, status=not options.without_status) as pid:
        last = until("all to be written", look.last, 1200)
        found: Figures = {
            "seconds": last - begun,
            "of CPU": cpu_seconds(pid),
            "of CPU, API server": cpu_seconds(server) - before,
            "requests": _requests(cluster) - asked,
            "writes": counted_writes(cluster, mark),
        }
        await_quiet(cluster)
        found |= {"of CPU, all done": cpu_seconds(pid), "MiB, all done": memory_of(pid)["rss"]}
        found["requests, all done"] = float((_requests(cluster) - asked).total())
    return found | _floor_of_writes(cluster)


class Look:
    """Looks at what was written since a mark; the server is asked only where there is news.

    It uses the processors that it measures, so no line of the log is read twice.
    """

    def __init__(
        self, cluster: Cluster, mark: int, worlds: dict[str, World], sizes: dict[str, int]
    ) -> None:
        self._cluster, self._place = cluster, mark
        self._worlds, self._sizes = worlds, sizes
        self._held: dict[str, list[Write]] = {name: [] for name in worlds}

    def last(self) -> float:
        """When the last of what holds configurations was written, 0 if they are not complete."""
        done, self._place = self._cluster.audit.after(self._place)
        good = [one for one in done if one.status < 300 and not one.dry_run]
        new = {name: _holding(world, good) for name, world in self._worlds.items()}
        if not any(new.values()):
            return 0.0
        for name, some in new.items():
            self._held[name] += some
        if not all(map(self._is_complete, self._worlds)):
            return 0.0
        return max(one.done for each in self._held.values() for one in each)

    def _is_complete(self, name: str) -> bool:
        world, size = self._worlds[name], self._sizes[name]
        names = {one.name for one in self._held[name]}
        return len(names) >= world.least(size) and world.complete(self._cluster, size)


def _holding(world: World, done: list[Write]) -> list[Write]:
    resource, start = world.written
    return [
        one
        for one in done
        if one.resource == resource
        and one.name.startswith(start)
        # Beside a configuration lie files, which are of no interest here.
        and not any(part in one.name for part in _FILES)
    ]


def _requests(cluster: Cluster) -> Counter[str]:
    """How often the server was asked for what, by whomever; less what goes on for ever."""
    counted: Counter[str] = Counter()
    for labels, number in _REQUESTS.findall(cluster.api.get("/metrics")):
        of = dict(_LABEL.findall(labels))
        if of["resource"] and of["resource"] not in _BESIDE and of["verb"] != "WATCH":
            part = f"/{of['subresource']}" if of["subresource"] else ""
            dry = " (dry run)" if of["dry_run"] else ""
            counted[f"{of['verb']} {of['resource']}{part}{dry}"] += int(float(number))
    return counted


# --- The floor ------------------------------------------------------------------------------------


def _floor_of_lists(cluster: Cluster) -> dict[str, float]:
    """What it takes to list and decode what the world is made of."""
    server = api_server(cluster)
    before = cpu_seconds(server)
    argv = [sys.executable, "-m", "bench.lister", "typed", cluster.url, cluster.token]
    done = subprocess.run(
        [*argv, str(cluster.ca_file), "all"],
        cwd=Path(__file__).parent.parent,
        stdout=subprocess.PIPE,
        check=True,
    )
    figures = json.loads(done.stdout)
    return {
        "floor: lists": figures["wall"],
        "floor: lists, CPU": figures["cpu"],
        "floor: lists, API server": cpu_seconds(server) - before,
    }


def _floor_of_writes(cluster: Cluster) -> dict[str, float]:
    """What it takes to write once more what the operator wrote."""
    objects = [
        _renamed(one | {"apiVersion": version, "kind": kind})
        for version, kind, plural in (
            ("v1", "Secret", "secrets"),
            ("v1", "ConfigMap", "configmaps"),
            ("v1", "Service", "services"),
            ("apps/v1", "StatefulSet", "statefulsets"),
        )
        for one in _made(cluster, version, plural)
    ]
    server = api_server(cluster)
    before, begun = cpu_seconds(server), time.monotonic()
    create_all(cluster, objects)
    spent = cpu_seconds(server) - before
    return {"floor: writes": time.monotonic() - begun, "floor: writes, API server": spent}


def _made(cluster: Cluster, version: str, plural: str) -> list[dict[str, Any]]:
    start = "/api" if version == "v1" else "/apis"
    path = f"{start}/{version}/namespaces/{NAMESPACE}/{plural}"
    items: list[dict[str, Any]] = cluster.api.get(path)["items"]
    return [one for one in items if one["metadata"].get("ownerReferences")]


def _renamed(one: dict[str, Any]) -> dict[str, Any]:
    metadata = {
        "name": f"floor-{one['metadata']['name']}",
        "namespace": NAMESPACE,
        "labels": one["metadata"].get("labels") or {},
    }
    return {name: each for name, each in one.items() if name != "status"} | {"metadata": metadata}


def arguments(parser: argparse.ArgumentParser) -> None:
    """Declare what only this measurement knows."""
    parser.add_argument(
        "--rows", nargs="+", choices=[*WORLDS, ALL], help="of the table of starts (all)"
    )
    parser.add_argument(
        "--share", type=float, default=1.0, metavar="X", help="of each row's size (1; start)"
    )
    parser.add_argument(
        "--without-status", action="store_true", help="no bindings on resources (start)"
    )
