"""From what changed in the cluster to the workloads that must look again, and at what.

    an object as it was, and as it is ──> register: who selects what
                                     └──> agenda: whom it concerns, and where they must look

It concerns a workload that the resource applies or applied to, that reads the Secret, that selects
by the labels of the namespace, that owns the object. Nothing else wakes anybody. Which event it was
is not passed on: a workload is reconciled from what is true now, and the notes only say where to
look.
"""

from collections.abc import Iterator, Mapping
from typing import Protocol

from stoker.api.core import ObjectMeta
from stoker.operator.agenda import STAND_INS, Agenda, TurnCause
from stoker.operator.changes import Changes
from stoker.operator.register import Register
from stoker.plan.custody import not_ours
from stoker.ref import Ref, ref_from
from stoker.roles import WORKLOADS
from stoker.select.choice import choices
from stoker.select.workload import Workload
from stoker.settings import OperatorSettings


class WithMetadata(Protocol):
    """Anything with metadata."""

    @property
    def metadata(self) -> ObjectMeta:
        """Name, namespace, labels and so on."""
        ...


class Written(Protocol):
    """Remembers what we wrote; `stoker.operator.writer` does."""

    def is_written(self, kind: str, metadata: ObjectMeta) -> bool:
        """Whether this is the version of an object that was written or found right."""
        ...


class Triggers:
    """Writes into the register who selects what, and into the agenda whom a change concerns.

    `settings` tell which workloads are ours, `written` which versions of objects we wrote.
    """

    def __init__(
        self, agenda: Agenda, register: Register, settings: OperatorSettings, written: Written
    ) -> None:
        self._agenda = agenda
        self._register = register
        self._members = register.members
        self._settings = settings
        self._written = written

    def workload(self, kind: str, old: Workload | None, new: Workload | None) -> None:
        """A workload was added, changed or deleted."""
        key = _key(kind, old, new)
        if old is not None and new is not None and not _is_relevant(old, new):
            self._agenda.look(key)
            return
        is_ours = new is not None and not_ours(new, self._settings) is None
        self._members.put_workload(key, choices(new) if new is not None and is_ours else None)
        self._agenda.note(key, Changes(own=True), _cause(kind, old, new))

    def resource(self, kind: str, old: WithMetadata | None, new: WithMetadata | None) -> None:
        """A configuration resource was added, changed or deleted.

        Only its specification and labels matter: its status is ours.
        """
        if old is not None and new is not None and not _is_relevant(old, new):
            return
        key = _key(kind, old, new)
        for workload in self._members.put_resource(key, _labels(new)):
            self._agenda.note(workload, Changes(resources={key}), _cause(kind, old, new))

    def stand_in(self, monitor: Ref) -> None:
        """The ScrapeConfigs that stand in for a monitor are others: it is looked at again."""
        for workload in self._members.users(monitor):
            self._agenda.note(workload, Changes(resources={monitor}), STAND_INS)

    def namespace(self, old: WithMetadata | None, new: WithMetadata | None) -> None:
        """A namespace was added or deleted, or has other labels."""
        if old is not None and new is not None and _labels(old) == _labels(new):
            return
        name = _named(old, new).name or ""
        for workload in self._members.put_namespace(name, _labels(new)):
            self._agenda.note(workload, Changes(members=True), _cause("Namespace", old, new))

    def value(self, kind: str, old: WithMetadata | None, new: WithMetadata | None) -> None:
        """A Secret or ConfigMap was added, changed or deleted."""
        key = _key(kind, old, new)
        for workload in self._register.readers(key):
            self._agenda.note(workload, Changes(values={key}), _cause(kind, old, new))

    def owned(self, kind: str, old: WithMetadata | None, new: WithMetadata | None) -> None:
        """An object that may belong to a workload was changed or deleted."""
        # Both: one that was taken away from its owner must come back to it.
        found = [each.metadata for each in (old, new) if each is not None]
        for key in {key for each in found for key in owners_of(each)}:
            if new is not None and self._written.is_written(kind, new.metadata):
                self._agenda.look(key)
            else:
                self._agenda.note(key, Changes(drifted=True), _cause(kind, old, new))

    def arrived(self, key: Ref) -> None:
        """A Secret or ConfigMap was read at last: those that looked for it look again."""
        for workload in self._register.readers(key):
            self._agenda.note(workload, Changes(values={key}))

    def sight(self, kind: str) -> None:
        """More or less of a kind of resource may be seen: those that ask for it must say so."""
        for workload in self._members.askers(kind):
            self._agenda.note(workload, Changes(drifted=True))


def owners_of(metadata: ObjectMeta) -> Iterator[Ref]:
    """The workloads that an object belongs to; a Service belongs to several."""
    for owner in metadata.owner_references or ():
        if owner.kind in WORKLOADS:
            yield Ref(owner.kind, metadata.namespace or "", owner.name)


def _cause(kind: str, old: WithMetadata | None, new: WithMetadata | None) -> TurnCause:
    return TurnCause(kind, "add" if old is None else "delete" if new is None else "update")


def _is_relevant(old: WithMetadata, new: WithMetadata) -> bool:
    """Whether more than the status changed: the generation counts changes of the rest."""
    return _essence(old.metadata) != _essence(new.metadata)


def _essence(metadata: ObjectMeta) -> tuple[object, ...]:
    return (
        metadata.uid,
        metadata.generation,
        metadata.labels,
        metadata.annotations,
        metadata.deletion_timestamp,
        metadata.owner_references,
        metadata.finalizers,
    )


def _labels(found: WithMetadata | None) -> Mapping[str, str] | None:
    return None if found is None else found.metadata.labels or {}


def _named(old: WithMetadata | None, new: WithMetadata | None) -> ObjectMeta:
    found = new or old
    if found is None:
        raise ValueError("a change has an object before it or after it")
    return found.metadata


def _key(kind: str, old: WithMetadata | None, new: WithMetadata | None) -> Ref:
    return ref_from(kind, _named(old, new))
