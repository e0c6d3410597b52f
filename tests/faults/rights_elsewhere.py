"""Rights beyond the namespaces of workloads, taken away and given back.

The Lease, labels of namespaces, nodes, and the Service of kubelets. Each right has an operator of
its own, whose role is all that is installed, less that right: at the start, or taken while it runs.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from functools import partial
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import ClassVar, NamedTuple

from tests.builders import prometheus, service_monitor
from tests.faults.rights import (
    BOUND_SECONDS,
    MODES,
    START,
    Findings,
    Report,
    chapters,
    object_of,
    strict,
    tried,
    user_is_allowed,
)
from tests.faults.runs import Run, Told
from tests.live.faults import Wire
from tests.live.installing import kustomized, overlay
from tests.live.operating import Object, Running, World
from tests.live.replicas import leads
from tests.live.right_cases import has_job, on_nodes
from tests.live.rights import (
    COMPONENTS,
    RBAC,
    Right,
    Roles,
    allow,
    kubeconfig_of,
    roles_in,
    told,
    without,
)
from tests.live.test_operator_rights_elsewhere import (
    DELETED,
    LEASE,
    LISTS,
    NAMED,
    NEW,
    OF_NODES,
    WHOLE,
    delete_list,
    lists,
    new_world,
)
from tests.live.trials import Server, holds
from tools.api import ApiError
from tools.crds import cluster_with_crds
from tools.waiting import DEADLINE, NotInTimeError, until

_AT_ONCE = 4
_POLL = 0.25
_LEASE_NAME = "stoker-operator"
_MERGE = "application/merge-patch+json"
_NOWHERE = {"kubernetes.io/hostname": "nowhere"}

Effect = Callable[[World, Running], object]


class Row(NamedTuple):
    """A right, what somebody does while it is missing, and what is to come of it in the end.

    `first` is what is there once an operator with all rights runs.
    """

    right: Right
    first: Effect
    act: Callable[[World], None]
    then: Effect


# --- What needs rights ----------------------------------------------------------------------------


def _is_leading(_world: World, operator: Running) -> bool:
    return leads(operator)


def _is_scraped(world: World, _operator: Running) -> bool:
    return holds(has_job("shop"), world)


def _is_left_out(world: World, _operator: Running) -> bool:
    return not holds(has_job("shop"), world)


def _is_covered(world: World, _operator: Running) -> bool:
    return "covers" in world.condition("prometheusagents", "nodes", "Reconciled")["message"]


def _are_listed(world: World, _operator: Running) -> bool:
    return lists(world) == LISTS


def _lose_the_lease(world: World) -> None:
    path = f"/apis/coordination.k8s.io/v1/namespaces/{world.namespace}/leases/{_LEASE_NAME}"
    world.cluster.api.request("DELETE", path)


def _label(team: str, world: World) -> None:
    labels = {"metadata": {"labels": {"team": team}}}
    path = f"/api/v1/namespaces/{world.namespace}"
    world.cluster.api.request("PATCH", path, labels, content_type=_MERGE)


def _make_the_agent_anew(world: World) -> None:
    world.delete("prometheusagents", "nodes")
    world.put(*_agent())


def _lose_the_lists(world: World) -> None:
    for each in LISTS:
        delete_list(world, each)


def _agent() -> Iterator[Object]:
    (agent,) = on_nodes()
    yield agent | {"spec": agent["spec"] | {"nodeSelector": _NOWHERE}}


def rows() -> Iterator[Row]:
    """All rights that are tried here."""
    for right in LEASE:
        yield Row(right, _is_leading, _lose_the_lease, _is_leading)
    for right in WHOLE[:2]:
        yield Row(right, _is_scraped, partial(_label, "b"), _is_left_out)
    for right in OF_NODES:
        yield Row(right, _is_covered, _make_the_agent_anew, _is_covered)
    for right in {*NEW, *DELETED} - set(OF_NODES):
        yield Row(right, _are_listed, _lose_the_lists, _are_listed)


# --- One right ------------------------------------------------------------------------------------


class Attempt:
    """An operator that misses a right, at the start or later."""

    def __init__(self, server: Server, rules: list[Object], row: Row, mode: str) -> None:
        self._server = server
        self._rules = rules
        self._row = row
        self._mode = mode
        words = (row.right.verb, *row.right.resource.split(".")[0].split("/"))
        self._world = new_world(server, f"else-{MODES.index(mode)}-{'-'.join(words)}")
        self._user = self._world.namespace

    def run(self, folder: Path) -> Report:
        """See that it is told that the right is missing, and what comes of the grant."""
        server, world, right = self._server, self._world, self._row.right
        _label("a", world)
        chosen = prometheus("main", replicas=0, serviceMonitorNamespaceSelector=NAMED)
        world.put(chosen, service_monitor("shop"), *_agent())
        left = without(self._rules, {right})
        at_first = left if self._mode == START else self._rules
        allow(server.cluster, self._user, at_first)
        self._until(allowed=self._mode != START)
        with Wire(server.cluster, server.url) as wire:
            config = kubeconfig_of(server.cluster, wire.url, self._user, folder)
            with Running.start(
                server.cluster, *self._flags(), kubeconfig=config, ready=False
            ) as operator:
                effect = self._row.first
                if self._mode != START:
                    world.until(f"{right}: its effect", lambda: effect(world, operator))
                    self._put(left)
                    self._until(allowed=False)
                    wire.cut()
                    self._row.act(world)
                    effect = self._row.then
                missed = self._missed(operator, effect)
                self._put(self._rules)
                self._until(allowed=True)
                begun = time.monotonic()
                what = f"{self._mode}: {' '.join(right)}"
                world.until(what, lambda: effect(world, operator), BOUND_SECONDS)
                return Report(self._mode, right, missed, time.monotonic() - begun)

    def _flags(self) -> tuple[str, ...]:
        name = self._world.namespace
        return (
            f"--namespaces={name}",
            f"--leader-election-id={_LEASE_NAME}",
            f"--leader-election-namespace={name}",
            f"--kubelet-service={name}/kubelet",
            "--kubelet-endpointslice",
        )

    def _missed(self, operator: Running, effect: Effect) -> float | None:
        """After how many seconds it was told that the right is missing; None if it is not."""
        begun = time.monotonic()
        still = begun + _UNNEEDED_SECONDS
        while time.monotonic() < begun + DEADLINE:
            if any(map(self._row.right.is_named_in, told(operator.log(), ""))):
                return time.monotonic() - begun
            try:
                well = bool(effect(self._world, operator))
            except (KeyError, TypeError, IndexError, OSError, ApiError):
                well = False
            if not well:
                still = time.monotonic() + _UNNEEDED_SECONDS
            elif time.monotonic() > still:
                return None
            time.sleep(_POLL)
        raise NotInTimeError(f"{self._mode}: nobody says that {self._row.right} is missing")

    def _put(self, rules: list[Object]) -> None:
        path = f"/apis/{RBAC}/v1/clusterroles/{self._user}"
        self._server.cluster.api.request("PATCH", path, {"rules": rules}, content_type=_MERGE)

    def _until(self, *, allowed: bool) -> None:
        right, where = self._row.right, self._world.namespace
        name = object_of(self._rules, right)
        until(
            f"{right} to be {allowed}",
            lambda: user_is_allowed(self._server, right, where, self._user, name) is allowed,
        )


# A Lease is missed when it runs out, which takes ten seconds.
_UNNEEDED_SECONDS = 15.0


def tried_elsewhere(server: Server, roles: Roles, folder: Path) -> Findings:
    """Try all of them in both modes, some at a time."""
    rules = [rule for each in roles.values() for rule in each]
    findings = Findings()
    attempts = [Attempt(server, rules, row, mode) for row in rows() for mode in MODES]
    with ThreadPoolExecutor(_AT_ONCE) as pool:
        for done in [pool.submit(each.run, folder) for each in attempts]:
            try:
                findings.reports.append(done.result())
            except NotInTimeError as error:
                findings.problems.append(str(error))
    return findings


class RightsRun(Run):
    """Each right, one by one."""

    name: ClassVar[str] = "rights"
    help: ClassVar[str] = "each right is taken away and given back, at the start and while it runs"

    def run(self, tell: Callable[[str], None], changes: int, seed: int) -> Told:
        """Take all of them, on a cluster of its own."""
        del changes, seed
        with TemporaryDirectory() as name, cluster_with_crds(nodes=2, namespaces=False) as cluster:
            folder = Path(name)
            with strict(cluster, folder) as server:
                found = tried(server, folder, chapters(single=True), tell)
                roles = roles_in(kustomized(overlay(folder, "cluster", *COMPONENTS)))
                found.add(tried_elsewhere(server, roles, folder))
        return Told(found.text, found.problems)
