"""What is known of one resource, kept up by the events of its watches.

Many read, one writes: a `Store` is what the rest of the operator sees, a `StoreWriter` is held by
whoever runs the watch. While a list comes in (`Begin` to `Ready`) the store stays as it was; the
list is laid beside it and exchanged at once, and the differences are the changes. So an object
that was deleted while nobody watched is a change like any other. What did not change between two
lists, by its version, stays the same object in memory, so the second list costs next to nothing.

Listeners hear of each change with the old *and* the new object, when the store has it.

**A store never goes back in time, and is never behind our own writes.** What the server answered
to a write or a read of ours is taken up at once (`saw`, `lost`), for a watch tells of it later, or
much later. From then on whatever is older is passed over, be it an event or a list: an object that
a list does not have is gone only if the list is at least as new as what is known of the object. So
whoever decides from a store decides from something that is as new as all that we did ourselves.
A cluster that was set back (`Ready.anew`) is the exception: then the list counts, all of it.
"""

import asyncio
from collections.abc import Callable, Hashable, Iterable, Iterator, Mapping
from typing import Generic, TypeAlias, TypeVar

from msgspec import Struct
from msgspec.structs import replace

from stoker.kube.changes import Applied, Begin, Deleted, Event, Key, Listed, Ready, UnreadableObject
from stoker.kube.versions import is_older, newest

T = TypeVar("T")
Listener: TypeAlias = Callable[[T | None, T | None], None]
"""Called with the old and the new object: None and new, old and new, or old and None."""
IndexKeys: TypeAlias = Callable[[T], Iterable[Hashable]]
"""The keys under which an object is found; the same for the same object, always."""
Joined: TypeAlias = Callable[[T, T], T]
"""A later state of an object, made of the earlier one as far as they are equal."""


class _Entry(Struct, Generic[T], frozen=True, gc=False):
    version: str
    object: T
    size: int = 0
    uid: str = ""


class Store(Generic[T]):
    """Objects by namespace and name, and by whatever the indices say.

    Nothing changes while the caller does not await, so what is read without awaiting is one state.
    """

    def __init__(
        self,
        indices: Mapping[str, IndexKeys[T]] | None = None,
        joined: Joined[T] = lambda _, new: new,
    ) -> None:
        self._joined = joined
        self.ready = asyncio.Event()
        self._spaces: dict[str, dict[str, _Entry[T]]] = {}
        self._indices = dict(indices or {})
        self._indexed: dict[str, dict[Hashable, dict[Key, T]]] = {
            name: {} for name in self._indices
        }
        self._listeners: list[Listener[T]] = []
        self._writers: dict[str | None, StoreWriter[T]] = {}
        self._incomplete: set[StoreWriter[T]] = set()
        # What we know to be deleted, by its uid, until the watch tells of it.
        self._lost: dict[Key, str] = {}

    def get(self, namespace: str, name: str) -> T | None:
        """One object, or None; the namespace is "" where there is none."""
        entry = self._spaces.get(namespace, {}).get(name)
        return entry.object if entry else None

    def uid(self, namespace: str, name: str) -> str:
        """The uid of the object that has a name now; "" if there is none."""
        entry = self._spaces.get(namespace, {}).get(name)
        return entry.uid if entry else ""

    def size(self, namespace: str, name: str) -> int:
        """In how many bytes an object came; 0 if there is none."""
        entry = self._spaces.get(namespace, {}).get(name)
        return entry.size if entry else 0

    def __iter__(self) -> Iterator[T]:
        return (entry.object for space in self._spaces.values() for entry in space.values())

    def __len__(self) -> int:
        return sum(map(len, self._spaces.values()))

    def in_namespace(self, namespace: str) -> list[T]:
        """The objects of one namespace."""
        return [entry.object for entry in self._spaces.get(namespace, {}).values()]

    def by_index(self, index: str, key: Hashable) -> list[T]:
        """The objects that an index has under a key."""
        return list(self._indexed[index].get(key, {}).values())

    def listen(self, listener: Listener[T]) -> None:
        """Tell this listener of every change from now on, within the change."""
        self._listeners.append(listener)

    def saw(self, found: Applied[T]) -> bool:
        """Take up the answer to a read or a write; whether the object is still there.

        It is not, where the watch has come further than this answer and does not have it.
        """
        writer = self._writers.get(None) or self._writers.get(found.key.namespace)
        if writer is None or not found.version.isdecimal():
            return True
        if not writer.as_of or is_older(writer.as_of, found.version):
            writer.see(found)
            return True
        return self._entry(found.key) is not None

    def lost(self, key: Key, uid: str) -> None:
        """Take up that an object was deleted: no state of this one will ever be true again."""
        known = self._entry(key)
        if known is not None and known.uid == uid:
            self._lost[key] = uid
            self._tell((self._put(key, None), None))

    def writer(self, namespace: str | None = None) -> "StoreWriter[T]":
        """The writer for the watch of one namespace, or (None) of all.

        The store is ready when every writer has had its first complete list.
        """
        writer = StoreWriter(self, namespace)
        self._incomplete.add(writer)
        self._writers[namespace] = writer
        return writer

    def _entry(self, key: Key) -> _Entry[T] | None:
        return self._spaces.get(key.namespace, {}).get(key.name)

    def _is_past(self, key: Key, entry: _Entry[T]) -> bool:
        """Whether this is from before what is known of an object."""
        if entry.uid and self._lost.get(key) == entry.uid:
            return True
        known = self._entry(key)
        return known is not None and is_older(entry.version, known.version)

    def _keys(self, namespace: str | None) -> list[Key]:
        spaces = self._spaces if namespace is None else [namespace]
        return [Key(space, name) for space in spaces for name in self._spaces.get(space, ())]

    def _put(self, key: Key, entry: _Entry[T] | None) -> T | None:
        """Set or, with None, remove an object; what was there before is returned."""
        old = self._entry(key)
        if entry:
            self._spaces.setdefault(key.namespace, {})[key.name] = entry
        elif old:
            self._remove(key)
        self._index(key, old.object if old else None, entry.object if entry else None)
        return old.object if old else None

    def _remove(self, key: Key) -> None:
        space = self._spaces[key.namespace]
        del space[key.name]
        if not space:
            del self._spaces[key.namespace]

    def _index(self, key: Key, old: T | None, new: T | None) -> None:
        for name, index in self._indices.items():
            found = self._indexed[name]
            for value in () if old is None else set(index(old)):
                found[value].pop(key)
                if not found[value]:
                    del found[value]
            for value in () if new is None else set(index(new)):
                found.setdefault(value, {})[key] = new  # type: ignore[assignment]

    def _tell(self, *changes: tuple[T | None, T | None]) -> None:
        """Tell all of it: one that fails must not keep a change from the others."""
        faults: list[Exception] = []
        for old, new in changes:
            for listener in self._listeners:
                try:
                    listener(old, new)
                except Exception as error:
                    faults.append(error)
        if faults:
            raise faults[0]

    def _completed(self, writer: "StoreWriter[T]") -> None:
        self._incomplete.discard(writer)
        if not self._incomplete:
            self.ready.set()


class StoreWriter(Generic[T]):
    """Lets the events of one watch happen in a store; `as_of` is how far it has come."""

    def __init__(self, store: Store[T], namespace: str | None) -> None:
        self.as_of = ""
        self._store = store
        self._namespace = namespace
        self._coming: dict[Key, _Entry[T]] | None = None

    def apply(self, event: Event[T]) -> None:
        """Take one event."""
        match event:
            case Begin():
                self._coming = {}
            case Ready():
                self._exchange(event)
            case Listed() | Applied():
                self._set(event.key, _entry_of(event))
            case Deleted():
                self._delete(event)
            case UnreadableObject():
                self._set(event.key, self._store._entry(event.key))

    def see(self, found: Applied[T]) -> None:
        """Take up what the watch will tell of later."""
        self._change(found.key, _entry_of(found))

    def _set(self, key: Key, entry: _Entry[T] | None) -> None:
        if self._coming is None:
            self._tell_of(entry.version if entry else "")
            self._change(key, entry)
        elif entry:
            self._coming[key] = self._same(key, entry) or entry
        else:
            self._coming.pop(key, None)

    def _delete(self, event: Deleted) -> None:
        if self._coming is not None:
            self._coming.pop(event.key, None)
            return
        self._tell_of(event.version)
        if event.uid and self._store._lost.get(event.key) == event.uid:
            del self._store._lost[event.key]
        known = self._store._entry(event.key)
        if known is None or not is_older(event.version, known.version):
            self._change(event.key, None)

    def _tell_of(self, version: str) -> None:
        self.as_of = newest(self.as_of, version or self.as_of)

    def _change(self, key: Key, entry: _Entry[T] | None) -> None:
        if entry and (self._same(key, entry) or self._store._is_past(key, entry)):
            return
        known = self._store._entry(key)
        if entry and known:
            # Who decided by the old one keeps it, maybe for long.
            entry = replace(entry, object=self._store._joined(known.object, entry.object))
        old = self._store._put(key, entry)
        if old is not None or entry:
            self._store._tell((old, entry.object if entry else None))

    def _same(self, key: Key, entry: _Entry[T]) -> _Entry[T] | None:
        """What the store has already, if that is the same state of the object."""
        known = self._store._entry(key)
        return known if known and known.version == entry.version else None

    def _exchange(self, ready: Ready) -> None:
        """Make the store what was listed, all of it, before any listener hears of it."""
        coming, self._coming = self._coming or {}, None
        if ready.anew:
            self.as_of = ready.version
            self._store._lost.clear()
        else:
            coming = self._with_what_is_newer(coming, ready.version)
            self._tell_of(ready.version)
        gone = [key for key in self._store._keys(self._namespace) if key not in coming]
        changed = [key for key, entry in coming.items() if self._store._entry(key) is not entry]
        told: list[tuple[T | None, T | None]] = [
            (self._store._put(key, None), None) for key in gone
        ]
        for key in changed:
            entry = coming[key]
            told.append((self._store._put(key, entry), entry.object))
        self._store._completed(self)
        self._store._tell(*told)

    def _with_what_is_newer(
        self, listed: dict[Key, _Entry[T]], version: str
    ) -> dict[Key, _Entry[T]]:
        """A list of this version, but for objects of which something newer is known."""
        store = self._store
        found: dict[Key, _Entry[T]] = {}
        for key, entry in listed.items():
            newer = store._entry(key) if store._is_past(key, entry) else entry
            if newer is not None:
                found[key] = newer
        for key in store._keys(self._namespace):
            known = store._entry(key)
            if key not in listed and known is not None and is_older(version, known.version):
                found[key] = known
        for key in [each for each in store._lost if self._namespace in (None, each.namespace)]:
            if key not in listed or listed[key].uid != store._lost[key]:
                del store._lost[key]
        return found


def _entry_of(event: Listed[T] | Applied[T]) -> _Entry[T]:
    return _Entry(event.version, event.object, event.size, event.uid)
