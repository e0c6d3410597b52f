"""What is kept of one more resource: few objects, and none that others have already.

With tens of thousands of resources each of these counts: a text or a set for each is megabytes.
What is counted are objects by their identity, which no allocator or machine has a say in.
"""

import asyncio
import subprocess
import sys
from collections.abc import Collection, Iterator, Mapping
from platform import libc_ver
from typing import Any

import pytest
from msgspec import Struct

from stoker.api.alertmanager import Alertmanager
from stoker.api.amconfig.v1beta1 import AlertmanagerConfig
from stoker.api.monitors import ServiceMonitor
from stoker.api.prometheus import Prometheus
from stoker.api.rules import PrometheusRule
from stoker.cluster.values import Values
from stoker.generate.stream import Stream
from stoker.kube.queue import KeyedQueue
from stoker.operator.changes import Changes
from stoker.operator.held import Held
from stoker.plan import Kept
from stoker.ref import Ref
from stoker.select.choice import Choice
from stoker.select.labels import EVERYTHING
from stoker.select.members import Members
from stoker.settings import Capabilities
from tests.builders import endpoints, record, typed
from tests.unit.test_members import equal

MONITOR = "ServiceMonitor"
MAIN = Ref("Prometheus", "monitoring", "main")


def _parts(found: Any) -> Iterator[Any]:
    """What an object consists of."""
    if isinstance(found, dict):
        yield from found
        yield from found.values()
    elif isinstance(found, tuple | list | set | frozenset):
        yield from found
    elif isinstance(found, Struct):
        yield from (getattr(found, name) for name in found.__struct_fields__)
    else:
        yield from getattr(found, "__dict__", {}).values()
        slots = (name for each in type(found).__mro__ for name in getattr(each, "__slots__", ()))
        yield from (getattr(found, name) for name in slots if hasattr(found, name))


def _reached(*roots: Any) -> dict[int, Any]:
    """All objects that these consist of, by their identity."""
    found: dict[int, Any] = {}
    waiting = list(roots)
    while waiting:
        each = waiting.pop()
        if id(each) not in found and not isinstance(each, type):
            found[id(each)] = each
            waiting += _parts(each)
    return found


def test_of_a_resource_nothing_is_kept_to_find_it_by_its_labels() -> None:
    """Its name and its labels lead to it, as the resource itself has them: nothing is added."""
    members = Members()
    members.put_workload(MAIN, {MONITOR: Choice(equal(owner="main"), EVERYTHING, "monitoring")})
    keys = [Ref(MONITOR, "shop", f"service-{number}") for number in range(64)]
    labels = [{"app": key.name, "owner": "main"} for key in keys]
    given = _reached(keys, labels)
    sizes = []
    for key, own in zip(keys, labels, strict=True):
        members.put_resource(key, own)
        sizes.append(len(_reached(members).keys() - given.keys()))
    assert len(members.members(MAIN)) == len(keys)
    # From the second on: sets of several are there then.
    assert len(set(sizes[1:])) == 1


def test_a_resource_stands_in_one_place_for_each_of_its_labels() -> None:
    """And in one for each of: its namespace, its workloads, and what these have."""
    members = Members()
    members.put_workload(MAIN, {MONITOR: Choice(equal(owner="main"), EVERYTHING, "monitoring")})
    keys = [Ref(MONITOR, "shop", f"service-{number}") for number in range(3)]
    for key in keys:
        members.put_resource(key, {"app": key.name, "owner": "main", "team": "shop"})
    every: list[Collection[Any]] = [
        each for each in _reached(members).values() if isinstance(each, dict | set)
    ]
    # Those of a label that nobody shares are found in the values of a dict.
    alone = [value for each in every if isinstance(each, dict) for value in each.values()]
    places = sum(keys[0] in each for each in every) + sum(each is keys[0] for each in alone)
    assert places == 3 + 3


def test_who_judges_a_resource_calls_it_by_the_name_that_led_to_it() -> None:
    """Names of resources are one object for all that is kept of them."""
    keys = [Ref(MONITOR, "shop", f"service-{number}") for number in range(8)]
    spec = endpoints({"port": "web"})
    found = {key: typed(ServiceMonitor, key.name, spec) for key in keys}
    kept = _judged(typed(Prometheus, "main", {"serviceMonitorSelector": {}}), found)
    assert {id(key) for key in kept.verdicts} == {id(key) for key in keys}
    assert {id(key) for key in kept.take_news()} == {id(key) for key in keys}


ROUTE: Any = {"receiver": "hook", "routes": []}


@pytest.mark.parametrize(
    ("workload", "model", "specs"),
    [
        (
            typed(Prometheus, "main", {"serviceMonitorSelector": {}}),
            ServiceMonitor,
            (endpoints({"port": "web"}), endpoints({"port": "web", "interval": "never"})),
        ),
        (
            typed(Prometheus, "main", {"ruleSelector": {}}),
            PrometheusRule,
            (record("g", "1"), record("g", "(")),
        ),
        (
            typed(Alertmanager, "main", {"alertmanagerConfigSelector": {}}),
            AlertmanagerConfig,
            tuple({"route": ROUTE, "receivers": [{"name": name}]} for name in ("hook", "other")),
        ),
    ],
    ids=["monitors", "rules", "AlertmanagerConfigs"],
)
def test_what_reads_and_mounts_nothing_has_one_mapping_for_that(
    workload: Any, model: Any, specs: tuple[Any, ...]
) -> None:
    """Whatever its kind, and whether or not it is accepted: an empty one for each is megabytes."""
    found = {
        Ref(model.__name__, "shop", f"{at}-{number}"): typed(model, f"{at}-{number}", spec)
        for at, spec in enumerate(specs)
        for number in range(4)
    }
    verdicts = _judged(workload, found).verdicts.values()
    assert {each.accepted for each in verdicts} == {True, False}
    assert len({id(each.reads) for each in verdicts} | {id(each.files) for each in verdicts}) == 1


def _judged(workload: Any, found: Mapping[Ref, Any]) -> Kept:
    """What is kept of a workload that has judged these."""
    nobody: Any = None

    async def main() -> Held:
        held = Held(Values(nobody, lambda _: True), found.get, Capabilities())
        await held.refresh(workload, Changes(own=True), frozenset(found))
        return held

    kept = asyncio.run(main()).kept
    assert kept is not None
    return kept


def test_of_a_part_of_a_text_only_its_key_is_kept() -> None:
    """The rest is compressed, and its length a number among others."""
    kept: Stream[str] = Stream()
    keys = [f"key-{number}" for number in range(200)]
    # Lengths of which Python has no object at hand.
    kept.change({key: key * 100 for key in keys})
    kept.members()
    others = [each for each in _reached(kept).values() if isinstance(each, int | bytes)]
    # A compressed run, and whether it was replaced and has a name.
    assert len(others) <= len(kept.members()) + 2


def test_a_line_that_ended_takes_no_room() -> None:
    """After a start tens of thousands have waited, and never will again."""

    async def main() -> KeyedQueue[int]:
        queue: KeyedQueue[int] = KeyedQueue()
        for number in range(1000):
            queue.add(number)
        while queue:
            async with queue.take():
                pass
        queue.add(1)
        return queue

    line = asyncio.run(main())._line
    assert sys.getsizeof(line) == sys.getsizeof({1: 1.0})


_THREADS = """
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from threading import Barrier, stack_size
from stoker.cli import operator

def room():
    found = Path("/proc/self/status").read_text().partition("VmSize:")[2]
    return int(found.split()[0]) // 1024

def allocate(_):
    together.wait()
    kept = [bytes(10_000) for _ in range(10)]
    together.wait()

# As far as it comes without a cluster.
assert operator.main(["--kubeconfig=/nowhere"]) != 0
stack_size(1 << 20)
together = Barrier(4)
before = room()
with ThreadPoolExecutor(4) as threads:
    list(threads.map(allocate, range(4)))
print(room() - before)
"""


@pytest.mark.skipif(libc_ver()[0] != "glibc", reason="other libraries have no arenas to limit")
def test_threads_of_the_operator_share_one_heap() -> None:
    """A heap of its own for each that judges has gaps of its own; and 64 MiB are set apart."""
    made = subprocess.run([sys.executable, "-c", _THREADS], capture_output=True, check=True)
    assert int(made.stdout) < 32
