"""Operators that miss a right, in many namespaces at once: in each of them another one.

trial = Trial(server, cases)
trial.furnish()                          # as an operator with all rights has it
trial.limit(rules)                       # in each namespace less than these
with trial.start(kubeconfig) as operator:
    trial.act()
    trial.until_told(operator)           # it says of each right that it misses it
"""

from __future__ import annotations

import time
from collections.abc import Callable, Iterable, Mapping
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field
from functools import partial
from pathlib import Path

from stoker.api.crd import GROUP
from tests.live.operating import Object, Running, World
from tests.live.rights import Right, allow, shown, told, without
from tools.api import Api
from tools.cluster import Cluster
from tools.waiting import DEADLINE

Effect = Callable[[World], object]
Act = Callable[[World], None]

USER = "limited"
_WORKLOADS = ("Prometheus", "PrometheusAgent", "Alertmanager", "ThanosRuler")
# Whose status may say what is missing.
_TELLING = ("prometheuses", "prometheusagents", "alertmanagers", "thanosrulers", "servicemonitors")


@dataclass(frozen=True, eq=False)
class Case:
    """Rights that are missing in a namespace, and what does not happen there for want of each.

    `before` is what exists, `act` what somebody does then.
    """

    name: str
    effects: Mapping[Right, Effect]
    act: Act
    before: tuple[Callable[[World], Iterable[Object]], ...] = ()
    prepare: Act = field(default=lambda _world: None)
    # Whether it happens all the same, in another way.
    harmless: bool = False

    @property
    def is_blind(self) -> bool:
        """Whether not even workloads are seen."""
        unseen = {Right(verb, f"prometheuses.{GROUP}") for verb in ("list", "watch")}
        return bool(unseen & set(self.effects))


@dataclass(frozen=True)
class Server:
    """A cluster, and a server of it that asks who may own objects and has no streaming lists.

    With those, a list would be a watch, and `list` hardly ever be asked for.
    """

    cluster: Cluster
    url: str
    kubeconfig: Path


class Trial:
    """Some cases, each in a namespace of its own, and the operators that look after them."""

    def __init__(self, server: Server, cases: Iterable[Case], *flags: str) -> None:
        self.server = server
        self.worlds = {each: World(server.cluster, each.name) for each in cases}
        names = [each.name for each in self.worlds]
        # Where the operator keeps its notes, as it may; the cases are about workloads.
        self._home = f"home-of-{names[0]}"
        own = (f"--leader-election-namespace={self._home}", "--leader-election=false")
        self._flags = (f"--namespaces={','.join(names)}", *own, *flags)
        self.problems: list[str] = []

    def start(self, kubeconfig: Path, *flags: str, looks: int = 0) -> Running:
        """Start an operator for all these namespaces; it has looked at so many workloads."""
        started = Running.start(
            self.server.cluster, *self._flags, *flags, kubeconfig=kubeconfig, ready=False
        )
        name = "prometheus_operator_syncs"
        self.server.cluster.until("all workloads", lambda: started.metric(name) >= looks)
        return started

    @property
    def workloads(self) -> int:
        """How many workloads there are that may be seen."""
        seen = (each for each in self.worlds if not each.is_blind)
        return sum(each["kind"] in _WORKLOADS for case in seen for each in self._objects(case))

    def _objects(self, case: Case) -> list[Object]:
        return [each for made in case.before for each in made(self.worlds[case])]

    def everywhere(self, work: Callable[[Case, World], None]) -> None:
        """Do something in all namespaces at once."""
        with ThreadPoolExecutor(8) as pool:
            for done in [pool.submit(work, *each) for each in self.worlds.items()]:
                done.result()

    def furnish(self) -> None:
        """Make what there is before, as an operator with all rights has it."""
        home = {"metadata": {"name": self._home}}
        self.server.cluster.api.request("POST", "/api/v1/namespaces", home)
        notes = {
            "apiGroups": [""],
            "resources": ["configmaps"],
            "verbs": ["create", "get", "patch"],
        }
        allow(self.server.cluster, USER, [notes], self._home)
        self.everywhere(_furnished)
        with self.start(self.server.kubeconfig):
            self.everywhere(_ready)

    def act(self) -> None:
        """Have somebody do what needs the rights that are missing."""
        self.everywhere(lambda case, world: case.act(world))

    def limit(self, rules: list[Object]) -> None:
        """Give the operator all rights but those that a case takes away."""

        def limited(case: Case, world: World) -> None:
            left = without(rules, set(case.effects))
            allow(self.server.cluster, USER, left, world.namespace)

        self.everywhere(limited)
        for case, world in self.worlds.items():
            until_allowed(self.server, without(rules, set(case.effects)), world.namespace)

    def until_told(self, operator: Running) -> None:
        """Wait until it was said of each right that it is missing."""
        missing = [(case, right) for case in self.worlds for right in case.effects]
        deadline = time.monotonic() + DEADLINE
        while missing and time.monotonic() < deadline:
            log = operator.log()
            missing = [each for each in missing if not self._is_told(log, *each)]
            time.sleep(1)
        self.problems += [
            f"{case.name}: nobody says that {right} is missing" for case, right in missing
        ]

    def _is_told(self, log: str, case: Case, right: Right) -> bool:
        texts = told(log, case.name)
        return any(map(right.is_named_in, texts)) or any(
            map(right.is_named_in, shown(self.worlds[case], *_TELLING))
        )

    def check_that_nothing_came_of_it(self) -> None:
        """See that what needs a right has not happened, unless it can happen in another way."""
        for case, world in self.worlds.items():
            for right, effect in case.effects.items():
                if holds(effect, world) is not case.harmless:
                    self.problems.append(f"{case.name}: {right} makes no difference")

    def until_mended(self) -> None:
        """Wait until everything has happened."""

        def mended(case: Case, world: World) -> None:
            for right, effect in case.effects.items():
                # An event that could not be written is not said again: the status has it.
                if not right.resource.startswith("events."):
                    world.until(f"{case.name}: {right}", partial(holds, effect, world))

        self.everywhere(mended)


def _furnished(case: Case, world: World) -> None:
    metadata = {"name": world.namespace}
    world.cluster.api.request("POST", "/api/v1/namespaces", {"metadata": metadata})
    for made in case.before:
        world.put(*made(world))


def _ready(case: Case, world: World) -> None:
    for each in (one for made in case.before for one in made(world)):
        kind, name = each["kind"].lower(), each["metadata"]["name"]
        if "selector" in each.get("spec", {}):
            world.until(f"a binding of {name}", partial(world.bindings, kind, name))
        elif each["apiVersion"].startswith(GROUP) and "groups" not in each["spec"]:
            world.until(f"{kind} {name}", partial(is_reconciled, world, kind, name))
    case.prepare(world)


def is_reconciled(world: World, kind: str, name: str) -> bool:
    """Whether a workload is as it should be."""
    return bool(world.condition(kind, name, "Reconciled").get("status") == "True")


def holds(effect: Effect, world: World) -> bool:
    """Whether something has happened; what is not there has not."""
    try:
        return bool(effect(world))
    except (KeyError, TypeError, IndexError):
        return False


def until_allowed(
    server: Server, rules: list[Object], namespace: str = "", *, user: str = USER
) -> None:
    """Wait until the API server knows of a role, judged by its last rule: it hears a bit later."""
    rule = rules[-1]
    plural, _, sub = rule["resources"][0].partition("/")
    asked = {
        "namespace": namespace,
        "verb": rule["verbs"][0],
        "group": rule["apiGroups"][0],
        "resource": plural,
        "subresource": sub,
        "name": (rule.get("resourceNames") or [""])[0],
    }
    review = {"spec": {"user": user, "resourceAttributes": asked}}
    path = "/apis/authorization.k8s.io/v1/subjectaccessreviews"
    api = Api(server.url, server.cluster.token, server.cluster.ca_file)
    server.cluster.until(
        f"rights in {namespace}",
        lambda: api.request("POST", path, review)["status"].get("allowed"),
    )
