"""Rights: each verb of each rule is taken away and given back, at the start and while it runs.

The rights, what needs each, and what somebody does are those of `tests/live/right_cases.py`. In a
namespace for each right the operator's role is all that is installed, less that one:

- *at the start*: the operator begins without it;
- *running*: it begins with all, then the right is taken, and the connections are cut, since the
  server asks anew only then; where `list` was taken, it must list, as after a `410 Gone`.

Then somebody does what needs the right. Either it happens all the same, since the right is not
needed at the time, or the operator says which right it misses; nothing of what was there is lost
or deleted. With the grant it happens, while the operator goes on.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Iterable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from functools import partial
from pathlib import Path
from typing import NamedTuple

from aiohttp import web

from stoker.kube.resources import Target
from tests.live.faults import Gateway, SecondServer, Wire, status
from tests.live.installing import kustomized, overlay
from tests.live.operating import Object, Running, World
from tests.live.right_cases import CASES, CONSOLIDATION_CASES, basic
from tests.live.rights import (
    COMPONENTS,
    RBAC,
    Right,
    allow,
    kubeconfig_of,
    rights_of,
    roles_in,
    without,
)
from tests.live.test_operator_rights import CONSOLIDATE, EVICT, WHOLE, is_intact
from tests.live.trials import USER, Case, Server, Trial, holds
from tools.api import Api
from tools.cluster import Cluster
from tools.waiting import DEADLINE, NotInTimeError, until

START, RUNNING = "at the start", "running"
MODES = (START, RUNNING)
PROMISED_SECONDS = 10.0
BOUND_SECONDS = 90.0
"""After how many seconds a right that was given back must have its effect: a busy machine's."""
BATCH = 16
_POLL = 0.25
_MERGE = "application/merge-patch+json"
_REVIEWS = "/apis/authorization.k8s.io/v1/subjectaccessreviews"
_STREAMS = "--feature-gates=WatchList=false"
_ASKS = "--enable-admission-plugins=OwnerReferencesPermissionEnforcement"


class Report(NamedTuple):
    """What came of one right: when it was told that it is missing, and when it was mended.

    `told` is None where nobody missed it.
    """

    mode: str
    right: Right
    told: float | None
    mended: float | None


@dataclass
class Findings:
    """All reports, and what is wrong."""

    reports: list[Report] = field(default_factory=list)
    problems: list[str] = field(default_factory=list)

    def add(self, others: Findings) -> None:
        """Take over what was found elsewhere."""
        self.reports += others.reports
        self.problems += others.problems

    @property
    def text(self) -> str:
        """The figures."""
        told = sorted(each.told for each in self.reports if each.told is not None)
        mended = sorted(each.mended for each in self.reports if each.mended is not None)
        late = [each for each in self.reports if (each.mended or 0.0) > PROMISED_SECONDS]
        lines = [
            f"{len(self.reports)} rights taken and given back, {len(told)} of them missed",
            f"told after: {_spread(told)}",
            f"mended after the grant: {_spread(mended)}; {len(late)} after more than "
            f"{PROMISED_SECONDS:.0f} s",
            *(f"  {each.mode}: {' '.join(each.right)}: {each.mended:.0f} s" for each in late),
        ]
        return "\n".join(lines)


def _spread(seconds: Sequence[float]) -> str:
    if not seconds:
        return "never"
    middle, most = seconds[len(seconds) // 2], seconds[-1]
    return f"half within {middle:.1f} s, all within {most:.1f} s"


# --- Cases ----------------------------------------------------------------------------------------


class Chapter(NamedTuple):
    """Some cases, and the flags of operators for them."""

    cases: Sequence[Case]
    flags: tuple[str, ...]


def chapters(*, single: bool) -> list[Chapter]:
    """All cases; with `single`, each right in a namespace of its own."""
    found = [Chapter(CASES, (EVICT,)), Chapter(CONSOLIDATION_CASES, (CONSOLIDATE,))]
    if not single:
        return found
    return [
        Chapter([one for case in each.cases for one in _single(case)], each.flags) for each in found
    ]


def _single(case: Case) -> Iterator[Case]:
    for right, effect in case.effects.items():
        plural, _, sub = right.resource.partition("/")
        words = (right.verb, plural.split(".")[0], sub)
        yield replace(case, name="-".join(filter(None, words)), effects={right: effect})


def named(cases: Iterable[Case], mode: str) -> list[Case]:
    """The same cases, in namespaces of their own."""
    # No name may be found in another: lines of logs are told apart by them.
    return [replace(each, name=f"{MODES.index(mode)}-{each.name}-0") for each in cases]


# --- Taking and giving ----------------------------------------------------------------------------


class Taking:
    """Rights of the operator in the namespaces of a trial, taken and given back."""

    def __init__(self, server: Server, trial: Trial, rules: list[Object]) -> None:
        self._server = server
        self._trial = trial
        self._rules = rules

    def allow_all(self) -> None:
        """Let the operator do everything, everywhere."""
        self._trial.everywhere(
            lambda _case, world: allow(self._server.cluster, USER, self._rules, world.namespace)
        )
        self._until(allowed=True)

    def take(self) -> None:
        """Take from each namespace what its case is about."""
        self._trial.everywhere(
            lambda case, world: self._put(world, without(self._rules, set(case.effects)))
        )
        self._until(allowed=False)

    def give(self) -> None:
        """Give all back."""
        self._trial.everywhere(lambda _case, world: self._put(world, self._rules))
        self._until(allowed=True)

    def _put(self, world: World, rules: list[Object]) -> None:
        path = f"/apis/{RBAC}/v1/namespaces/{world.namespace}/roles/{USER}"
        self._server.cluster.api.request("PATCH", path, {"rules": rules}, content_type=_MERGE)

    def _until(self, *, allowed: bool) -> None:
        """Wait until the server knows it."""

        def known(case: Case, world: World) -> None:
            for right in case.effects:
                self._server.cluster.until(
                    f"{right} in {world.namespace} to be {allowed}",
                    partial(self._is_known, right, world, allowed),
                )

        self._trial.everywhere(known)

    def _is_known(self, right: Right, world: World, wanted: bool) -> bool:
        name = object_of(self._rules, right)
        return user_is_allowed(self._server, right, world.namespace, USER, name) is wanted


def object_of(rules: Iterable[Object], right: Right) -> str:
    """The name of an object that a right is for, if it is not for all."""
    names = [each.get("resourceNames", [""]) for each in rules if right in rights_of([each])]
    return str(min(each[0] for each in names))


def user_is_allowed(
    server: Server, right: Right, namespace: str, user: str, name: str = ""
) -> bool:
    """Whether the server would let a user do this there, with an object of this name."""
    resource, _, sub = right.resource.partition("/")
    plural, _, group = resource.partition(".")
    asked = {
        "namespace": namespace,
        "verb": right.verb,
        "group": group,
        "resource": plural,
        "subresource": sub,
        "name": name,
    }
    review = {"spec": {"user": user, "resourceAttributes": asked}}
    api = Api(server.url, server.cluster.token, server.cluster.ca_file)
    return bool(api.request("POST", _REVIEWS, review)["status"].get("allowed"))


class Ordeal:
    """One trial: rights are missing, somebody acts, and they are given back."""

    def __init__(self, server: Server, mode: str, chapter: Chapter, rules: list[Object]) -> None:
        self._server = server
        self._mode = mode
        self._trial = Trial(server, named(chapter.cases, mode), *chapter.flags)
        self._taking = Taking(server, self._trial, rules)
        self._told: dict[tuple[Case, Right], float | None] = {}
        self.findings = Findings()

    def run(self, folder: Path) -> Findings:
        """All of it."""
        self._trial.furnish()
        self._taking.allow_all()
        cluster = self._server.cluster
        with Gateway(cluster, self._server.url) as gateway, Wire(cluster, gateway.url) as wire:
            config = kubeconfig_of(cluster, wire.url, USER, folder)
            if self._mode == START:
                self._taking.take()
            with self._trial.start(config, looks=self._looks()) as operator:
                if self._mode == RUNNING:
                    until("the operator to be ready", operator.is_ready)
                    self._taking.take()
                    gateway.fault = self._forgetful
                    wire.cut()
                mark = cluster.audit.mark()
                self._miss(operator)
                self._check(mark)
                gateway.fault = lambda _request: None
                self._mend()
        return self.findings

    def _looks(self) -> int:
        return self._trial.workloads if self._mode == START else 0

    def _forgetful(self, request: web.Request) -> web.Response | None:
        """Have whoever cannot list any longer do so."""
        goes_on = "watch" in request.query and request.query.get("resourceVersion")
        place = Target.of(request.path).namespace
        listing = {
            world.namespace
            for case, world in self._trial.worlds.items()
            if any(right.verb == "list" for right in case.effects)
        }
        return status(410, "Expired") if goes_on and place in listing else None

    def _miss(self, operator: Running) -> None:
        """Have somebody act; wait until each right was named, or was not needed."""
        begun = time.monotonic()
        self._trial.act()
        missing = [(case, right) for case in self._trial.worlds for right in case.effects]
        while missing and time.monotonic() < begun + DEADLINE:
            log = operator.log()
            for case, right in list(missing):
                if self._trial._is_told(log, case, right):
                    self._told[case, right] = time.monotonic() - begun
                elif holds(case.effects[right], self._trial.worlds[case]):
                    self._told[case, right] = None
                else:
                    continue
                missing.remove((case, right))
            time.sleep(_POLL)
        self.findings.problems += [
            f"{self._mode}, {case.name}: nobody says that {' '.join(right)} is missing"
            for case, right in missing
        ]

    def _check(self, mark: int) -> None:
        """See that nothing was lost."""
        self.findings.problems += [
            f"{self._mode}, {case.name}: what was configured is lost"
            for case, world in self._trial.worlds.items()
            if basic in case.before and not is_intact(case, world)
        ]
        names = {world.namespace: case for case, world in self._trial.worlds.items()}
        for each in self._server.cluster.audit.since(mark, "stoker"):
            case = names.get(each.namespace)
            if case and each.verb == "delete" and each.status < 300 and not _deletes(case):
                self.findings.problems.append(f"{self._mode}, {case.name}: {each}")

    def _mend(self) -> None:
        """Give the rights back, and wait until everything has happened."""
        self._taking.give()
        begun = time.monotonic()

        def mended(case: Case, right: Right) -> Report:
            world, effect = self._trial.worlds[case], case.effects[right]
            told = self._told.get((case, right))
            # An event that could not be written is not said again: the status has it.
            if right.resource.startswith("events."):
                return Report(self._mode, right, told, None)
            world.until(f"{case.name}: {right}", lambda: holds(effect, world), BOUND_SECONDS)
            return Report(self._mode, right, told, time.monotonic() - begun)

        pairs = [(case, right) for case in self._trial.worlds for right in case.effects]
        with ThreadPoolExecutor(len(pairs)) as pool:
            for done in [pool.submit(mended, *each) for each in pairs]:
                try:
                    self.findings.reports.append(done.result())
                except NotInTimeError as error:
                    self.findings.problems.append(f"{self._mode}: not mended: {error}")


def _deletes(case: Case) -> bool:
    """Whether the operator is to delete something there, with or without what was taken."""
    return any(right.verb == "delete" or "evict" in right.resource for right in case.effects)


# --- Runs -----------------------------------------------------------------------------------------


@contextmanager
def strict(cluster: Cluster, folder: Path) -> Iterator[Server]:
    """A server that asks who may own objects, and has no streaming lists."""
    with SecondServer(cluster, _ASKS, _STREAMS) as second:
        path = folder / "kubeconfig-strict"
        path.write_text(second.kubeconfig.read_text())
        yield Server(cluster, second.url, path)


def installed_rules(folder: Path) -> list[Object]:
    """The rules of the operator's ClusterRole with all components."""
    made = roles_in(kustomized(overlay(folder, "cluster", *COMPONENTS)))
    return made["ClusterRole", "stoker-operator"]


def tried(  # noqa: PLR0913, PLR0917 - where, what, and how much at once
    server: Server,
    folder: Path,
    chosen: Iterable[Chapter],
    tell: Callable[[str], None],
    modes: Sequence[str] = MODES,
    batch: int = BATCH,
) -> Findings:
    """Try all cases of some chapters in some modes, so many namespaces at a time."""
    rules = installed_rules(folder)
    whole = [each for each in rules if set(each["resources"]) & WHOLE]
    allow(server.cluster, USER, whole)
    narrow = [each for each in rules if each not in whole]
    findings = Findings()
    for chapter in chosen:
        for begin in range(0, len(chapter.cases), batch):
            part = Chapter(chapter.cases[begin : begin + batch], chapter.flags)
            for mode in modes:
                found = Ordeal(server, mode, part, narrow).run(folder)
                findings.add(found)
                tell(f"{mode}: {len(findings.reports)} rights, {len(findings.problems)} problems")
                for problem in found.problems:
                    tell(f"  {problem}")
    return findings
