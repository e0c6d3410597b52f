"""A store is what the events say, and its changes are exact, whatever was missed in between."""

import asyncio
from collections.abc import Iterable

import pytest
from hypothesis import given
from hypothesis import strategies as st
from msgspec import Struct

from stoker.errors import DecodeError
from stoker.kube.changes import Applied, Begin, Deleted, Event, Key, Listed, Ready, UnreadableObject
from stoker.kube.store import Store


class Thing(Struct, frozen=True):
    """An object with labels, in one of its states."""

    key: Key
    version: str
    labels: frozenset[str] = frozenset()


Change = tuple[Thing | None, Thing | None]

A, B = Key("one", "a"), Key("two", "b")
WRONG = DecodeError("spec.replicas", "expected an integer, got a string")


def thing(key: Key, version: str = "1", *labels: str) -> Thing:
    """A thing in a state."""
    return Thing(key, version, frozenset(labels))


def listed(thing: Thing) -> Listed[Thing]:
    """The event for a thing in a list."""
    return Listed(thing.key, thing.version, thing)


def applied(thing: Thing) -> Applied[Thing]:
    """The event for a changed thing."""
    return Applied(thing.key, thing.version, thing)


class Watched:
    """A store with one writer, and all changes that it told."""

    def __init__(self, *things: Thing) -> None:
        self.store: Store[Thing] = Store({"label": lambda found: found.labels})
        self.changes: list[Change] = []
        self._writer = self.store.writer()
        self.relist(*things)
        self.store.listen(lambda old, new: self.changes.append((old, new)))

    def apply(self, *events: Event[Thing]) -> list[Change]:
        """Apply events and return the changes that they caused."""
        self.changes.clear()
        for event in events:
            self._writer.apply(event)
        return list(self.changes)

    def relist(self, *things: Thing) -> list[Change]:
        """Apply a whole list."""
        return self.apply(Begin(), *map(listed, things), Ready())


def test_a_change_is_told_with_the_old_and_the_new_object() -> None:
    """A trigger needs both: the workloads that had it, and those that have it now."""
    watched = Watched()
    first, second = thing(A, "1", "x"), thing(A, "2", "y")
    assert watched.apply(applied(first)) == [(None, first)]
    assert watched.apply(applied(second)) == [(first, second)]
    assert watched.apply(Deleted(A)) == [(second, None)]
    assert list(watched.store) == []


def test_a_later_state_is_kept_in_parts_of_the_earlier_one() -> None:
    """What both say is there once, for whoever keeps the earlier one; all are told of the same."""
    store: Store[list[list[str]]] = Store(joined=lambda old, new: [old[0], *new[1:]])
    told: list[list[list[str]] | None] = []
    store.listen(lambda _, new: told.append(new))
    writer = store.writer()
    for version, words in (("1", [["same"], ["old"]]), ("2", [["same"], ["new"]])):
        writer.apply(Applied(A, version, words, 0, "uid"))
    found = store.get(*A)
    assert found == [["same"], ["new"]]
    assert found is told[-1]
    assert found[0] is told[0][0]  # type: ignore[index]


def test_an_object_deleted_while_nobody_watched_is_told_as_deleted() -> None:
    """What a new list does not name is gone."""
    lost, kept = thing(A), thing(B)
    watched = Watched(lost, kept)
    assert watched.relist(kept) == [(lost, None)]
    assert watched.store.get(*A) is None
    assert watched.store.get(*B) is kept


def test_nothing_is_told_before_the_list_is_complete() -> None:
    """A half list says nothing about what is not in it yet."""
    old = thing(A)
    watched = Watched(old)
    assert watched.apply(Begin(), listed(thing(B))) == []
    assert list(watched.store) == [old]


def test_a_list_that_begins_anew_forgets_its_first_half() -> None:
    """What was listed before the list broke off may be gone by now."""
    watched = Watched()
    assert watched.apply(Begin(), listed(thing(A))) == []
    assert watched.relist(thing(B)) == [(None, thing(B))]


def test_unchanged_objects_of_a_new_list_stay_the_same_in_memory() -> None:
    """A relist of thousands does not hold them twice, and tells nobody."""
    old = thing(A)
    watched = Watched(old)
    assert watched.relist(thing(A)) == []
    assert watched.store.get(*A) is old


def test_a_repeated_event_is_no_change() -> None:
    """The same version again, as after a reconnection, wakes nobody."""
    watched = Watched(thing(A))
    assert watched.apply(applied(thing(A))) == []
    assert watched.apply(Deleted(B)) == []


def test_changes_and_deletions_during_a_list_count() -> None:
    """A streamed list may already carry what happens while it is sent."""
    watched = Watched(thing(A, "1"))
    events = (Begin(), listed(thing(A, "1")), applied(thing(A, "2")), listed(thing(B)), Deleted(B))
    assert watched.apply(*events, Ready()) == [(thing(A, "1"), thing(A, "2"))]


def test_the_last_readable_state_of_an_object_is_kept() -> None:
    """An object that no longer decodes is neither changed nor gone."""
    good = thing(A)
    watched = Watched(good)
    assert watched.apply(UnreadableObject(A, WRONG)) == []
    assert watched.apply(Begin(), UnreadableObject(A, WRONG), Ready()) == []
    assert watched.store.get(*A) is good
    assert watched.apply(UnreadableObject(B, WRONG)) == []
    assert watched.store.get(*B) is None
    assert watched.apply(Deleted(A)) == [(good, None)]


def test_listeners_see_the_whole_list_in_the_store() -> None:
    """Who is told of the first change of a list already finds the last one."""
    watched = Watched(thing(A))
    seen: list[list[Thing]] = []
    watched.store.listen(lambda _old, _new: seen.append(list(watched.store)))
    watched.relist(thing(B), thing(Key("two", "c")))
    assert seen == [[thing(B), thing(Key("two", "c"))]] * 3


def test_writers_of_namespaces_do_not_touch_each_other() -> None:
    """Each namespace has its own watch and its own list; the store is ready when all are."""
    store: Store[Thing] = Store()
    one, two = store.writer("one"), store.writer("two")
    for event in (Begin(), listed(thing(A)), Ready()):
        one.apply(event)
    assert not store.ready.is_set()
    for event in (Begin(), listed(thing(B)), Ready()):
        two.apply(event)
    assert store.ready.is_set()
    for event in (Begin(), Ready()):
        one.apply(event)
    assert list(store) == [thing(B)]


def test_ready_wakes_who_waits() -> None:
    """Readers can await the first complete list."""

    async def main() -> None:
        watched: Store[Thing] = Store()
        writer = watched.writer()
        writer.apply(Begin())
        waiting = asyncio.create_task(watched.ready.wait())
        await asyncio.sleep(0)
        assert not waiting.done()
        writer.apply(Ready())
        await waiting

    asyncio.run(main())


def test_an_unknown_index_is_an_error() -> None:
    """A misspelt index does not look like an empty one."""
    with pytest.raises(KeyError):
        Watched().store.by_index("labels", "x")


keys = st.builds(Key, st.sampled_from(("one", "two")), st.sampled_from("abc"))
labels = st.frozensets(st.sampled_from("xyz"), max_size=2)
moves = st.lists(
    st.one_of(
        st.tuples(st.just("set"), keys, labels),
        st.tuples(st.just("delete"), keys, labels),
        st.tuples(st.sampled_from(("miss", "relist", "break off", "garble")), keys, labels),
    ),
    max_size=40,
)


class World:
    """The cluster as it is, and what a watch that is sometimes down tells of it."""

    def __init__(self) -> None:
        self.things: dict[Key, Thing] = {}
        self._versions = 0
        self._watching = True

    def move(self, what: str, key: Key, labels: Iterable[str]) -> list[Event[Thing]]:
        """Let something happen, and return the events that a watch has of it."""
        moves = {"set": self._set, "delete": self._delete, "garble": self._garble}
        if what in moves:
            events = moves[what](key, frozenset(labels))
            return events if self._watching else []
        self._watching = what == "relist" or (what == "break off" and self._watching)
        begun: list[Event[Thing]] = [Begin(), *map(listed, list(self.things.values())[:1])]
        return {"miss": [], "relist": self._list(), "break off": self._again(begun)}[what]

    def _set(self, key: Key, labels: frozenset[str]) -> list[Event[Thing]]:
        self._versions += 1
        self.things[key] = Thing(key, str(self._versions), labels)
        return [applied(self.things[key])]

    def _delete(self, key: Key, _labels: frozenset[str]) -> list[Event[Thing]]:
        return [Deleted(key)] if self.things.pop(key, None) else []

    def _garble(self, key: Key, _labels: frozenset[str]) -> list[Event[Thing]]:
        return [UnreadableObject(key, WRONG)] if key in self.things else []

    def _list(self) -> list[Event[Thing]]:
        return [Begin(), *map(listed, self.things.values()), Ready()]

    def _again(self, begun: list[Event[Thing]]) -> list[Event[Thing]]:
        return [*begun, *self._list()] if self._watching else begun


@given(moves)
def test_in_any_order_of_events_the_changes_add_up(
    moves: list[tuple[str, Key, frozenset[str]]],
) -> None:
    """Changes lead from each state to the next without a gap, and the end is the world."""
    world, watched = World(), Watched()
    mirror: dict[Key, Thing] = {}
    for move in [*moves, ("relist", A, frozenset())]:
        for old, new in watched.apply(*world.move(*move)):
            assert old != new
            key = (old or new or thing(A)).key
            assert mirror.pop(key, None) == old
            if new:
                mirror[key] = new
        assert {found.key: found for found in watched.store} == mirror
        check_lookups(watched.store, mirror)
    assert mirror == world.things


def check_lookups(store: Store[Thing], things: dict[Key, Thing]) -> None:
    """Every way to find objects finds the same ones."""
    assert len(store) == len(things)
    for label in "xyz":
        expected = {found.key for found in things.values() if label in found.labels}
        assert {found.key for found in store.by_index("label", label)} == expected
    for namespace in ("one", "two"):
        expected = {key for key in things if key.namespace == namespace}
        assert {found.key for found in store.in_namespace(namespace)} == expected
    for key, found in things.items():
        assert store.get(*key) is found


def test_a_listener_that_fails_keeps_no_change_from_the_others() -> None:
    """The store has it by then, so nobody would be told of it again."""
    store: Store[Thing] = Store()
    told: list[Change] = []

    def fail(_old: Thing | None, new: Thing | None) -> None:
        if new is not None and new.key == A:
            raise KeyError("odd")

    store.listen(fail)
    store.listen(lambda old, new: told.append((old, new)))
    writer = store.writer()
    first, second = thing(A), thing(B)
    writer.apply(Begin())
    writer.apply(listed(first))
    writer.apply(listed(second))
    with pytest.raises(KeyError, match="odd"):
        writer.apply(Ready())
    assert told == [(None, first), (None, second)]
    assert store.ready.is_set()
