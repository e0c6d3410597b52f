"""From what changed in the cluster to the workloads that must look again, and at what.

Every listener gets an object as it was and as it is, and notes the change with each workload that
it concerns: a resource that applies or applied to it, a Secret that it reads, a namespace whose
labels it selects, an object that it owns. Nothing else wakes anybody. Which event it was is not
passed on: a workload is reconciled from what is true now, and the notes only say where to look.
"""

from collections.abc import Callable, Iterable, Iterator, Mapping
from typing import Protocol

from msgspec import Struct

from stoker.api.core import ObjectMeta
from stoker.ref import Ref, ref_from
from stoker.select.choice import Choice
from stoker.select.members import Members
from stoker.select.namespaces import Namespaces


class Named(Protocol):
    """Anything with metadata."""

    @property
    def metadata(self) -> ObjectMeta:
        """Name, namespace, labels and so on."""
        ...


class Changes(Struct):
    """Where a workload must look again.

    `own`: at itself, and at everything that it selects. `members`: at what it selects. `drifted`:
    at the objects that it owns.
    """

    own: bool = False
    members: bool = False
    drifted: bool = False
    resources: set[Ref] = set()
    values: set[Ref] = set()

    def merge(self, other: "Changes") -> None:
        """Take over what somebody could not deal with."""
        self.own |= other.own
        self.members |= other.members
        self.drifted |= other.drifted
        self.resources |= other.resources
        self.values |= other.values

    def __bool__(self) -> bool:
        noted = self.resources or self.values
        return self.own or self.members or self.drifted or bool(noted)


class Triggers:
    """Notes changes with the workloads that they concern, and wakes these.

    `wake` is told who must be reconciled, `look` whose status must be looked at. `choices` says
    what a workload selects, None for one that is not ours. `readers` are the workloads that looked
    for a Secret or ConfigMap. `is_written` tells the versions of objects that we wrote. `count` is
    told whom a change woke, of which kind of object it was, and what happened to that. `scopes` say
    where resources of a kind are selected from.
    """

    def __init__(  # noqa: PLR0913 - what it asks, and what it tells
        self,
        *,
        wake: Callable[[Ref], None],
        look: Callable[[Ref], None],
        choices: Callable[[str, Named], Mapping[str, Choice] | None],
        readers: Callable[[Ref], Iterable[Ref]],
        is_written: Callable[[str, ObjectMeta], bool],
        count: Callable[[Ref, str, str], None],
        scopes: Mapping[str, Namespaces] | None = None,
    ) -> None:
        self.members = Members(scopes)
        self._wake = wake
        self._look = look
        self._choices = choices
        self._readers = readers
        self._is_written = is_written
        self._count = count
        self._changes: dict[Ref, Changes] = {}

    def take(self, key: Ref) -> Changes:
        """What happened to a workload since this was asked; the notes are empty then."""
        return self._changes.pop(key, None) or Changes()

    def noted(self, key: Ref) -> Changes | None:
        """What happened to a workload since `take`, if anything; it stays noted."""
        return self._changes.get(key)

    def give_back(self, key: Ref, changes: Changes) -> None:
        """Note again what could not be dealt with."""
        self._changes.setdefault(key, Changes()).merge(changes)

    def everything(self, key: Ref) -> None:
        """Let a workload look at all that concerns it, though nothing is known to have changed."""
        self._note(key).own = True
        self._wake(key)

    # --- Listeners --------------------------------------------------------------------------------

    def workload(self, kind: str, old: Named | None, new: Named | None) -> None:
        """A workload was added, changed or deleted."""
        key = _key(kind, old, new)
        if old is not None and new is not None and not _is_relevant(old, new):
            self._look(key)
            return
        choices = self._choices(kind, new) if new is not None else None
        self.members.put_workload(key, choices)
        self._note(key).own = True
        self._rouse(key, kind, old, new)

    def resource(self, kind: str, old: Named | None, new: Named | None) -> frozenset[Ref]:
        """A configuration resource was added, changed or deleted; whom it concerns.

        Only its specification and labels matter: its status is ours.
        """
        key = _key(kind, old, new)
        if old is not None and new is not None and not _is_relevant(old, new):
            return self.members.users(key)
        concerned = self.members.put_resource(key, _labels(new))
        for workload in concerned:
            self._note(workload).resources.add(key)
            self._rouse(workload, kind, old, new)
        return concerned

    def stand_in(self, monitor: Ref) -> None:
        """The ScrapeConfigs that stand in for a monitor are others: it is looked at again."""
        for workload in self.members.users(monitor):
            self._note(workload).resources.add(monitor)
            self._count(workload, "ScrapeConfig", "update")
            self._wake(workload)

    def namespace(self, old: Named | None, new: Named | None) -> None:
        """A namespace was added or deleted, or has other labels."""
        if old is not None and new is not None and _labels(old) == _labels(new):
            return
        name = _named(old, new).name or ""
        for workload in self.members.put_namespace(name, _labels(new)):
            self._note(workload).members = True
            self._rouse(workload, "Namespace", old, new)

    def value(self, kind: str, old: Named | None, new: Named | None) -> None:
        """A Secret or ConfigMap was added, changed or deleted."""
        key = _key(kind, old, new)
        for workload in self._readers(key):
            self._note(workload).values.add(key)
            self._rouse(workload, kind, old, new)

    def owned(self, kind: str, owners: Iterable[str], old: Named | None, new: Named | None) -> None:
        """An object that may belong to a workload (of these kinds) was changed or deleted."""
        # Both: one that was taken away from its owner must come back to it.
        found = [each.metadata for each in (old, new) if each is not None]
        for key in {key for each in found for key in owners_of(each, owners)}:
            if new is not None and self._is_written(kind, new.metadata):
                self._look(key)
            else:
                self._note(key).drifted = True
                self._rouse(key, kind, old, new)

    def arrived(self, key: Ref) -> None:
        """A Secret or ConfigMap was read at last: those that looked for it look again."""
        for workload in self._readers(key):
            self._note(workload).values.add(key)
            self._wake(workload)

    def sight(self, kind: str) -> None:
        """More or less of a kind of resource may be seen: those that ask for it must say so."""
        for workload in self.members.askers(kind):
            self._note(workload).drifted = True
            self._wake(workload)

    def _rouse(self, key: Ref, kind: str, old: Named | None, new: Named | None) -> None:
        self._count(key, kind, "add" if old is None else "delete" if new is None else "update")
        self._wake(key)

    def _note(self, key: Ref) -> Changes:
        return self._changes.setdefault(key, Changes())


def owners_of(metadata: ObjectMeta, kinds: Iterable[str]) -> Iterator[Ref]:
    """The workloads that an object belongs to; a Service belongs to several."""
    for owner in metadata.owner_references or ():
        if owner.kind in kinds:
            yield Ref(owner.kind, metadata.namespace or "", owner.name)


def _is_relevant(old: Named, new: Named) -> bool:
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


def _labels(found: Named | None) -> Mapping[str, str] | None:
    return None if found is None else found.metadata.labels or {}


def _named(old: Named | None, new: Named | None) -> ObjectMeta:
    found = new or old
    if found is None:
        raise ValueError("a change has an object before it or after it")
    return found.metadata


def _key(kind: str, old: Named | None, new: Named | None) -> Ref:
    return ref_from(kind, _named(old, new))
