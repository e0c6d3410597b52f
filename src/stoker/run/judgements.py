"""What all workloads made of resources, for whoever writes or shows it."""

from collections.abc import Iterator, Mapping

from stoker.generate.draft import Ignored
from stoker.run.caches import Caches
from stoker.run.held import Held, resource_key
from stoker.select.members import Members, ObjectKey, WorkloadKey
from stoker.select.workload import Scraper
from stoker.settings import OperatorSettings
from stoker.validate.verdicts import Verdict

CONTROLLER_ID = "operator.prometheus.io/controller-id"


class Judgements:
    """Answers from what is kept of each workload."""

    def __init__(
        self,
        caches: Caches,
        members: Members,
        held: Mapping[WorkloadKey, Held],
        settings: OperatorSettings,
    ) -> None:
        self._caches = caches
        self._members = members
        self._held = held
        self._settings = settings
        self._deleted: set[WorkloadKey] = set()

    def of(self, resource: ObjectKey) -> Iterator[tuple[WorkloadKey, Verdict, tuple[Ignored, ...]]]:
        """The workloads that a resource applies to, and what they made of it, as far as known."""
        key = resource_key(resource)
        for workload in sorted(self._members.users(resource)):
            held = self._held.get(workload)
            found = held.kept.verdict(key) if held and held.kept else None
            if found:
                yield workload, *found

    def applies(self, resource: ObjectKey, workload: WorkloadKey) -> bool:
        """Whether a resource applies to a workload, known or not what came of it."""
        return workload in self._members.users(resource)

    def is_ours(self, workload: WorkloadKey) -> bool | None:
        """True for a workload of ours, False if there is none, None if it may be another's."""
        found = self._caches.workload(workload)
        if found is not None:
            if not is_managed(found, self._settings):
                return None
            return found.metadata.deletion_timestamp is None
        return False if workload in self._deleted or self._would_know(workload) else None

    def deleted(self, workload: WorkloadKey) -> None:
        """A workload of ours was deleted."""
        self._deleted.add(workload)

    def _would_know(self, workload: WorkloadKey) -> bool:
        """Whether the caches would have the workload, if there were one."""
        reflector = self._caches.workloads[workload.kind]
        everything = not reflector.scope.label_selector
        return (
            everything
            and reflector.store.ready.is_set()
            and self._caches.workload_scope(workload.kind).covers(workload.namespace)
        )


def is_managed(scraper: Scraper, settings: OperatorSettings) -> bool:
    """Whether a workload is for an operator with this identity to look after."""
    wanted = (scraper.metadata.annotations or {}).get(CONTROLLER_ID) or ""
    return wanted == settings.controller_id
