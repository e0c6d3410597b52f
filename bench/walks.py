"""How far a question walks through the house: calls, modules and changes of room.

    python -m bench walks

A change of one ServiceMonitor until its configuration is made, in a workload that is known; a rule
through the webhook; `stoker explain` of a monitor in the example. What is counted is the same on
every machine: calls of our own functions, the modules that they are in, and how often one room
calls another.
"""

import sys
from collections.abc import Callable
from pathlib import Path
from types import FrameType
from typing import Any

from msgspec import Struct

from stoker.api.decode import convert
from stoker.api.monitors import ServiceMonitor
from stoker.api.prometheus import Prometheus
from stoker.build.remembered import Built
from stoker.explain.ask import explanation
from stoker.offline.manifests import read
from stoker.offline.surroundings import view_of
from stoker.offline.world import world_of
from stoker.plan import Existing, Facts, Memory, kept_of, plan
from stoker.ref import ref_of
from stoker.select.assets import AssetsAtHand
from stoker.settings import OperatorSettings, capabilities_with
from stoker.web.reviews import Reviewer, rules_reader

EXAMPLE = Path(__file__).parents[1] / "example"
_METADATA = {"namespace": "shop", "uid": "u"}


class Walk(Struct):
    """What was counted."""

    calls: int = 0
    rooms: int = 0
    modules: dict[str, None] = {}

    def __str__(self) -> str:
        return f"{self.calls} calls in {len(self.modules)} modules, {self.rooms} changes of room"


def walked(work: Callable[[], object]) -> Walk:
    """Do this, and count."""
    walk, last = Walk(), ""

    def note(frame: FrameType, event: str, _: Any) -> None:
        nonlocal last
        module = frame.f_globals.get("__name__", "")
        if event != "call" or not module.startswith("stoker."):
            return
        walk.calls += 1
        walk.modules[module] = None
        room = module.split(".")[1]
        walk.rooms += room != last
        last = room

    sys.setprofile(note)
    try:
        work()
    finally:
        sys.setprofile(None)
    return walk


def change_of_a_monitor() -> Walk:
    """One monitor of a hundred is another one."""
    workload = convert(
        Prometheus,
        {"metadata": _METADATA | {"name": "main"}, "spec": {"serviceMonitorSelector": {}}},
    )
    settings = OperatorSettings()
    facts = Facts(
        settings=settings, capabilities=capabilities_with(settings), assets=AssetsAtHand()
    )
    monitors = {ref_of(each): each for each in map(_monitor, range(100))}
    memory = Memory(kept_of(workload, facts.capabilities, facts.assets), Built())
    memory.kept.put_all(monitors, facts.assets)
    plan(facts, workload, Existing(), memory)
    changed = _monitor(7, "other")

    def work() -> None:
        memory.kept.put_all({ref_of(changed): changed}, facts.assets)
        plan(facts, workload, Existing(), memory)

    return walked(work)


def _monitor(number: int, port: str = "web") -> ServiceMonitor:
    spec = {"selector": {"matchLabels": {"app": f"a{number}"}}, "endpoints": [{"port": port}]}
    return convert(ServiceMonitor, {"metadata": _METADATA | {"name": f"m{number}"}, "spec": spec})


def rule_through_the_webhook() -> Walk:
    """A good rule, reviewed."""
    rule = {
        "apiVersion": "monitoring.coreos.com/v1",
        "kind": "PrometheusRule",
        "metadata": {"name": "a", "namespace": "shop"},
        "spec": {"groups": [{"name": "g", "rules": [{"record": "a", "expr": "sum(up)"}]}]},
    }
    reviewer = Reviewer(rules_reader("utf-8"))
    path = next(each for each in reviewer.paths if "prometheusrules/validate" in each)
    request = {"uid": "1", "operation": "CREATE", "object": rule}
    review = {
        "apiVersion": "admission.k8s.io/v1",
        "kind": "AdmissionReview",
        "request": request | {"resource": {"resource": "prometheusrules"}},
    }
    answer = reviewer.answer(path, review)
    if not answer.allowed:
        raise ValueError(answer.findings)
    return walked(lambda: reviewer.answer(path, review))


def explained() -> Walk:
    """Why the first monitor of the example is scraped, or not."""
    view = view_of(world_of(read([str(EXAMPLE)])), OperatorSettings())
    monitor = next(each for each in view.resources if isinstance(each, ServiceMonitor))
    ref = ref_of(monitor)
    return walked(lambda: explanation(view, ref.kind, ref.namespace, ref.name))


def report() -> bool:
    """Print all; nothing here can be too slow."""
    walks = {
        "a change of a monitor": change_of_a_monitor,
        "a rule through the webhook": rule_through_the_webhook,
        "explain": explained,
    }
    for name, walk in walks.items():
        found = walk()
        print(f"{name}: {found}")
        print("   ", " ".join(each.removeprefix("stoker.") for each in found.modules))
    return True
