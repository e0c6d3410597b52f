"""What the operator cannot see, and what follows from that.

A watch that the API server refuses (a role is missing) or does not know (a definition is not
installed) waits for a human, while all others go on: it is told in the log, in metrics and in the
condition of each workload that asks for such resources, but the replica counts as ready, since no
restart and no other replica would help. A replica that cannot reach the API server, or that may
not see what every workload needs, is not ready. Nor is one that has a watch from which nothing was
heard for so long that what we know of it may be old.
"""

from collections.abc import Callable, Iterable, Iterator, Mapping
from functools import partial
from typing import Final

from stoker.kube.errors import ApiError, Forbidden, NotFound
from stoker.kube.report import Report
from stoker.run.caches import Cached, Caches
from stoker.select.choice import Choice
from stoker.status.workload import Remark

FORBIDDEN: Final = "Forbidden"
"""The reason of a condition that says which permission is missing."""

_NEEDED: Final = ("Secret", "ConfigMap", "Service", "StatefulSet")


class Sight:
    """Knows which of the watches do not work."""

    def __init__(self, caches: Caches) -> None:
        self._caches = caches
        self._forbidden: dict[str, list[str]] = {}

    def listen(self, changed: Callable[[str], None]) -> None:
        """Call this with a kind of resource, whenever more or less of it may be seen."""
        for kind, reflector in self._caches.resources.items():
            for report in reflector.reports:
                report.changed = partial(self._look, kind, changed)

    def _look(self, kind: str, changed: Callable[[str], None]) -> None:
        before, now = self._forbidden.get(kind, []), list(map(_permission, self._refused(kind)))
        self._forbidden[kind] = now
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
        return "; ".join(sorted({str(error) for error in self._serious()}))

    def _blind(self) -> list[str]:
        """What may have changed since we last heard of it."""
        reports = (report for each in self._caches.all for report in each.reports)
        return [report.subject for report in reports if report.is_blind]

    def unseen(self, wanted: Mapping[str, Choice]) -> Remark | None:
        """What a workload asks for and we may not see; None if it is all in sight."""
        missing = self._missing_among(wanted, sorted(wanted))
        if not missing:
            return None
        return Remark(
            FORBIDDEN, f"the operator may not {missing}: it does not know which of these apply"
        )

    def never_seen(self, wanted: Mapping[str, Choice]) -> set[str]:
        """The kinds that a workload asks for and that we never could see, for want of rights."""
        return {
            kind
            for kind, choice in wanted.items()
            for report in self._caches.resources[kind].reports
            if not report.listed and self._is_hidden(choice, report.trouble)
        }

    def kept_for(self, wanted: Mapping[str, Choice], kinds: Iterable[str]) -> Remark:
        """Why a workload stays as it is that has something of kinds that we never could see."""
        missing = self._missing_among(wanted, sorted(kinds))
        said = f"the operator may not {missing}: what was made of these before would be lost, so"
        return Remark(FORBIDDEN, f"{said} nothing is changed until it may")

    def _missing_among(self, wanted: Mapping[str, Choice], kinds: Iterable[str]) -> str:
        """The permissions without which a workload does not see what it asks for."""
        found = (
            _permission(error)
            for kind in kinds
            for error in self._refused(kind)
            if self._is_hidden(wanted[kind], error)
        )
        return ", ".join(found)

    def _is_hidden(self, choice: Choice, trouble: ApiError | None) -> bool:
        """Whether something is out of sight that a workload asks for."""
        if choice.is_of_nothing or not isinstance(trouble, Forbidden):
            return False
        where = trouble.namespace
        known = self._caches.namespaces.store.get("", where)
        labels = known.metadata.labels or {} if known is not None else None
        return not where or choice.takes_namespace(where, labels)

    def _refused(self, kind: str) -> list[Forbidden]:
        """Why a kind is out of sight, here or there."""
        troubles = self._caches.resources[kind].troubles
        return [error for error in troubles if isinstance(error, Forbidden)]

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


def _permission(error: Forbidden) -> str:
    where = f" in namespace {error.namespace}" if error.namespace else ""
    return f"{error.verb} {error.resource}{where}"
