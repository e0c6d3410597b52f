"""What the operator cannot see, and what follows from that.

A watch that the API server refuses (a role is missing) or does not know (a definition is not
installed) waits for a human, while all others go on: the log says so, and metrics, and the
condition of each workload that asks for such resources.

**Not to see is not to know that there is nothing.** What was seen before counts until it is seen
otherwise. What was never seen may have been taken up by a process before us: a workload that has
something of it stays as it is (`never_seen`, `traces`).

**A replica is not ready** where it could not do what workloads ask for: it cannot reach the API
server, cannot see what every workload needs, cannot see a kind that a workload asks for, or keeps
a workload as it is. So an upgrade to a version that lacks a right stops with its first replica,
while the one before it goes on. Nor is one ready that has a watch from which nothing was heard for
so long that what we know of it may be old. A definition that is not installed, and of which no
workload has anything, is none of that: there is nothing to see.
"""

from collections.abc import Callable, Iterable, Iterator, Mapping
from functools import partial
from typing import Final

from stoker.kube.errors import ApiError, Forbidden, NotFound
from stoker.kube.report import Report
from stoker.kube.resources import Target
from stoker.operator.caches import Cached, Caches
from stoker.plan.custody import not_ours
from stoker.ref import Ref
from stoker.select.choice import Choice, choices
from stoker.settings import OperatorSettings
from stoker.status.conditions import Because
from stoker.status.workload import Remark

_NEEDED: Final = ("Secret", "ConfigMap", "Service", "StatefulSet")


class Sight:
    """Knows which of the watches do not work. `settings` tell which workloads count."""

    def __init__(self, caches: Caches, settings: OperatorSettings) -> None:
        self._caches = caches
        self._settings = settings
        self._obstacles: dict[str, list[str]] = {}
        # Workloads that stay as they are, for what is not seen.
        self._kept: dict[Ref, Remark] = {}

    def listen(self, changed: Callable[[str], None]) -> None:
        """Call this with a kind of resource, whenever more or less of it may be seen."""
        for kind, reflector in self._caches.resources.items():
            for report in reflector.reports:
                report.changed = partial(self._look, kind, changed)

    def _look(self, kind: str, changed: Callable[[str], None]) -> None:
        before, now = self._obstacles.get(kind, []), list(map(_obstacle, self._unseen(kind)))
        self._obstacles[kind] = now
        if before != now:
            changed(kind)

    def reports(self, workload_kind: str) -> list[Report]:
        """The watches that a kind of workload depends on."""
        caches = self._caches
        shared = [caches.namespaces, *caches.resources.values(), *caches.owned.values()]
        return [
            report for each in (caches.workloads[workload_kind], *shared) for report in each.reports
        ]

    def not_ready(self) -> str:
        """Why this replica could not do its work; empty if it could."""
        unsettled = [str(each.scope) for each in self._caches.all if not _is_settled(each)]
        if unsettled:
            return f"waiting for the first list of {', '.join(unsettled)}"
        if blind := self._blind():
            return f"nothing was heard for too long from the watch of {', '.join(blind)}"
        return "; ".join(sorted({*map(str, self._serious()), *self._asked_in_vain()}))

    def _blind(self) -> list[str]:
        """What may have changed since we last heard of it."""
        reports = (report for each in self._caches.all for report in each.reports)
        return [report.subject for report in reports if report.is_blind]

    def unseen(self, wanted: Mapping[str, Choice]) -> Remark | None:
        """What a workload asks for and we cannot see; None if it is all in sight.

        A kind that is not installed is not missed: there is nothing of it.
        """
        hidden = [one for one in self._hidden(wanted) if isinstance(one, Forbidden)]
        if not hidden:
            return None
        said = f"{_obstacles(hidden)}: it does not know which of these apply"
        return Remark(Because.FORBIDDEN, said)

    def never_seen(self, wanted: Mapping[str, Choice]) -> set[str]:
        """The kinds that a workload asks for and that we never could see, or not where they are."""
        return {
            kind
            for kind, choice in wanted.items()
            if any(self._never_seen(kind, choice)) or self._is_unlabelled(choice)
        }

    def keep(self, key: Ref, wanted: Mapping[str, Choice], kinds: Iterable[str]) -> Remark:
        """Note that a workload stays as it is, which has something of these kinds; and why."""
        hidden = [one for kind in sorted(kinds) for one in self._never_seen(kind, wanted[kind])]
        if not hidden:
            hidden = self._caches.namespaces.troubles
        missing = isinstance(hidden[0], NotFound)
        reason = Because.NOT_INSTALLED if missing else Because.FORBIDDEN
        said = "what was made of these before would be lost, so nothing is changed until it does"
        self._kept[key] = Remark(reason, f"{_obstacles(hidden)}: {said}")
        return self._kept[key]

    def release(self, key: Ref) -> None:
        """Note that a workload does not stay as it is, or is gone."""
        self._kept.pop(key, None)

    def _asked_in_vain(self) -> Iterator[str]:
        """What workloads ask for in vain, and what is kept for that."""
        hidden: dict[str, ApiError] = {}
        if any(map(self._unseen, self._caches.resources)):
            for reflector in self._caches.workloads.values():
                for workload in reflector.store:
                    if not_ours(workload, self._settings):
                        continue
                    wanted = choices(workload)
                    hidden |= {_obstacle(one): one for one in self._hidden(wanted)}
        for said, error in hidden.items():
            if isinstance(error, Forbidden):
                yield f"the operator {said}, which workloads ask for"
        for key, remark in self._kept.items():
            yield f"{key.kind} {key.namespace}/{key.name} stays as it is: {remark.message}"

    def _hidden(self, wanted: Mapping[str, Choice]) -> list[ApiError]:
        """Why a workload does not see all that it asks for."""
        return [
            error
            for kind, choice in sorted(wanted.items())
            for error in self._unseen(kind)
            if self._is_hidden(choice, error)
        ]

    def _never_seen(self, kind: str, choice: Choice) -> list[ApiError]:
        """Why a kind was never seen where a workload looks for it."""
        return [
            report.trouble
            for report in self._caches.resources[kind].reports
            if report.trouble and not report.listed and self._is_hidden(choice, report.trouble)
        ]

    def _is_unlabelled(self, choice: Choice) -> bool:
        """Whether a workload looks in namespaces by labels, and these were never seen."""
        return not choice.is_of_nothing and choice.asks_for_labels and self._caches.are_unlabelled

    def _is_hidden(self, choice: Choice, trouble: ApiError | None) -> bool:
        """Whether something is out of sight that a workload asks for."""
        if choice.is_of_nothing or not isinstance(trouble, Forbidden | NotFound):
            return False
        where = Target.of(trouble.path).namespace
        known = self._caches.namespaces.store.get("", where)
        labels = known.metadata.labels or {} if known is not None else None
        return not where or choice.takes_namespace(where, labels)

    def _unseen(self, kind: str) -> list[ApiError]:
        """Why a kind is out of sight, here or there."""
        troubles = self._caches.resources[kind].troubles
        return [error for error in troubles if isinstance(error, Forbidden | NotFound)]

    def _serious(self) -> Iterator[ApiError]:
        for each in self._caches.all:
            for error in each.troubles:
                if not isinstance(error, Forbidden | NotFound):
                    yield error
        for kind in _NEEDED:
            yield from self._caches.owned[kind].troubles
        workloads = [each.troubles for each in self._caches.workloads.values()]
        if all(workloads):
            yield from (error for troubles in workloads for error in troubles)


def _is_settled(reflector: Cached) -> bool:
    return all(report.settled.is_set() for report in reflector.reports)


def _obstacle(error: ApiError) -> str:
    """What stands between us and a kind."""
    target = Target.of(error.path)
    where = f" in namespace {target.namespace}" if target.namespace else ""
    if isinstance(error, Forbidden):
        return f"cannot {error.verb} {target.resource}{where}"
    return f"does not find {target.resource}"


def _obstacles(errors: Iterable[ApiError]) -> str:
    return f"the operator {', '.join(dict.fromkeys(map(_obstacle, errors)))}"
