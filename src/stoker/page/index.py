"""All resources by state, kind and the words that they are found by.

An entry is small, so that an index of thousands costs little and can be thrown away. It is made
resource by resource: whoever makes it may do something else in between. One that is made after
another takes over what did not change, so that a change costs little more than looking for it.
"""

from bisect import bisect_left, insort
from collections import Counter, defaultdict
from collections.abc import Iterable, Mapping, Sequence
from typing import Final, TypeAlias

from msgspec import Struct

from stoker.page.answers import Totals
from stoker.page.workloads import ShownWorkload, Users, gravest
from stoker.ref import Ref, ref_of
from stoker.select.choice import SELECTED_KINDS, Resource
from stoker.view.states import State

Marks: TypeAlias = tuple[tuple[str, State], ...]
MadeFrom: TypeAlias = tuple[object, ...]

# With more changes than this part, it is quicker to sort and count everything.
_MOST_CHANGED: Final = 0.05
_POSITION = {kind.name: position for position, kind in enumerate(SELECTED_KINDS)}


class Entry(Struct, frozen=True, gc=False):
    """A resource; `marks` are the workloads that select it, and what each made of it.

    It is good as long as its `basis` is the same: the object, and of each of these workloads all
    that its state depends on.
    """

    ref: Ref
    words: str
    state: State
    marks: Marks
    ignored: int
    basis: MadeFrom

    def state_for(self, workload: str) -> State:
        """Its state for one workload, or (without) for all."""
        if not workload:
            return self.state
        return next((state for title, state in self.marks if title == workload), _PASSED_OVER)

    @property
    def workloads(self) -> tuple[str, ...]:
        """The workloads that select it."""
        return tuple(title for title, _ in self.marks)


_PASSED_OVER = State.NOT_SELECTED


class PageSearch(Struct, frozen=True, kw_only=True):
    """What is looked for: every word of `q`, and each of the others that is not empty."""

    q: str = ""
    kind: str = ""
    namespace: str = ""
    state: str = ""
    workload: str = ""
    offset: int = 0
    limit: int = 100

    def wants(self, state: State) -> bool:
        """Whether a state is asked for; of a workload, by default, what it selects."""
        if self.state:
            return state == self.state
        return not self.workload or state is not State.NOT_SELECTED


class SearchResult(Struct, frozen=True):
    """The entries asked for, of `total`, and how many there are by state, kind and namespace."""

    entries: Sequence[Entry]
    total: int
    states: Mapping[str, int]
    kinds: Mapping[str, int]
    namespaces: Mapping[str, int] = {}


class Index:
    """All resources; `selectable` are the kinds that each workload can select.

    `entries` are in the order of lists, `kinds` says how many there are of each kind.
    """

    def __init__(
        self, entries: Iterable[Entry], selectable: Mapping[str, frozenset[str]] | None = None
    ) -> None:
        self.entries = sorted(entries, key=_order)
        self._selectable = selectable or {}
        self.kinds: Counter[str] = Counter()
        self._states: Counter[State] = Counter()
        self._selected: defaultdict[str, Counter[str]] = defaultdict(Counter)
        self._rejected: defaultdict[str, Counter[str]] = defaultdict(Counter)
        self._made: defaultdict[str, Counter[State]] = defaultdict(Counter)
        self._inside: defaultdict[str, Counter[State]] = defaultdict(Counter)
        for entry in self.entries:
            self._count(entry, 1)

    def _count(self, entry: Entry, number: int) -> None:
        self.kinds[entry.ref.kind] += number
        self._states[entry.state] += number
        self._inside[entry.ref.namespace][entry.state] += number
        for title, state in entry.marks:
            self._selected[title][entry.ref.kind] += number
            self._made[title][state] += number
            if state is State.REJECTED:
                self._rejected[title][entry.ref.kind] += number

    def changed(
        self,
        gone: Iterable[Entry],
        new: Iterable[Entry],
        selectable: Mapping[str, frozenset[str]] | None = None,
    ) -> "Index":
        """Another index, without some entries and with others: quicker than making a new one."""
        made = self._copy(selectable)
        for entry in gone:
            del made.entries[bisect_left(made.entries, _order(entry), key=_order)]
            made._count(entry, -1)
        for entry in new:
            insort(made.entries, entry, key=_order)
            made._count(entry, 1)
        # Of what is gone there are not none, it is not there.
        made.kinds = +made.kinds
        return made

    def _copy(self, selectable: Mapping[str, frozenset[str]] | None) -> "Index":
        made = Index((), selectable)
        made.entries = self.entries.copy()
        made.kinds, made._states = self.kinds.copy(), self._states.copy()
        for mine, its in ((self._selected, made._selected), (self._rejected, made._rejected)):
            its.update((title, counts.copy()) for title, counts in mine.items())
        for here, there in ((self._made, made._made), (self._inside, made._inside)):
            there.update((title, counts.copy()) for title, counts in here.items())
        return made

    @property
    def totals(self) -> Totals:
        """All resources by their states."""
        return totals_of(self._states)

    @property
    def inside(self) -> Mapping[str, Mapping[State, int]]:
        """The resources of each namespace by their states."""
        return {name: counts for name, counts in self._inside.items() if +counts}

    def found(self, query: PageSearch) -> SearchResult:
        """What a query asks for."""
        states: Counter[str] = Counter()
        kinds: Counter[str] = Counter()
        namespaces: Counter[str] = Counter()
        hits = []
        for entry in self._matching(query):
            state, ref = entry.state_for(query.workload), entry.ref
            fits = query.wants(state)
            same = not query.kind or ref.kind == query.kind
            here = not query.namespace or ref.namespace == query.namespace
            # Each choice says how many there would be of it, the other choices as they are.
            states[state] += same and here
            kinds[ref.kind] += fits and here
            namespaces[ref.namespace] += fits and same
            if fits and same and here:
                hits.append(entry)
        shown = hits[query.offset : query.offset + query.limit]
        return SearchResult(shown, len(hits), dict(+states), dict(+kinds), dict(+namespaces))

    def selected(self, workload: str) -> Mapping[str, int]:
        """How many resources a workload selects, by kind."""
        return self._selected.get(workload, {})

    def rejected(self, workload: str) -> Mapping[str, int]:
        """How many of them it rejects, by kind."""
        return self._rejected.get(workload, {})

    def made(self, workload: str) -> Mapping[State, int]:
        """What it makes of all of them, by state."""
        return self._made.get(workload, {})

    def used_by(self, workload: str) -> list[Ref]:
        """What is in the configuration of a workload, or will be when it is not held any more."""
        wanted = (State.USED, State.DOWN, State.NO_TARGETS, State.HELD)
        return [each.ref for each in self.entries if each.state_for(workload) in wanted]

    def _matching(self, query: PageSearch) -> Iterable[Entry]:
        """What has all words, of the kinds that the workload can select."""
        found: Iterable[Entry] = self.entries
        if query.workload:
            kinds = self._selectable.get(query.workload, frozenset())
            found = (each for each in found if each.ref.kind in kinds)
        words = query.q.lower().split()
        if not words:
            return found
        return (each for each in found if all(word in each.words for word in words))


def totals_of(states: Mapping[State, int]) -> Totals:
    """Numbers of resources by state."""
    return Totals(
        total=sum(states.values()),
        **{each.name.lower(): states.get(each, 0) for each in State},
    )


class IndexMaker:
    """Makes an index; `users` tells the workloads that select a resource.

    Of the index `before`, entries are kept that would be made of the same objects again.
    """

    def __init__(self, users: Users, before: Index | None = None) -> None:
        self._users = users
        self._before = before
        # By identity: an entry holds its resource, so that its place in memory is nobody else's.
        self._known = {id(each.basis[0]): each for each in (before.entries if before else ())}
        self._entries: list[Entry] = []
        self._new: list[Entry] = []
        self._gone: list[Entry] = []
        self._marks: dict[Marks, tuple[Marks, State]] = {}

    def add(self, resource: Resource) -> None:
        """Take a resource."""
        users, key = self._users(resource), ref_of(resource)
        basis: list[object] = [resource]
        for each in users:
            idle = each.idle.get(key) if each.idle else None
            basis += (each.title, each.held, each.verdicts.get(key), idle)
        made_of = tuple(basis)
        entry = self._known.pop(id(resource), None)
        if entry is None or entry.basis != made_of:
            self._gone += (entry,) if entry else ()
            entry = self._entry(resource, key, users, made_of)
            self._new.append(entry)
        self._entries.append(entry)

    def _entry(
        self, resource: Resource, key: Ref, users: Iterable[ShownWorkload], basis: MadeFrom
    ) -> Entry:
        metadata, ignored = resource.metadata, 0
        found: list[tuple[str, State]] = []
        for each in users:
            state, count = each.state_of(key, resource)
            found.append((each.title, state))
            ignored = max(ignored, count)
        # Most resources have the same workloads and states: these are kept once.
        marks, state = self._alike(tuple(found))
        words = " ".join((key.kind, key.path, *(metadata.labels or {}).values()))
        return Entry(
            key,
            words.lower(),
            state,
            marks,
            ignored,
            basis,
        )

    def _alike(self, marks: Marks) -> tuple[Marks, State]:
        known = self._marks.get(marks)
        if known is None:
            known = self._marks[marks] = marks, gravest(state for _, state in marks)
        return known

    def made(self, selectable: Mapping[str, frozenset[str]] | None = None) -> Index:
        """The index of all that was taken."""
        gone = (*self._gone, *self._known.values())
        if self._before is None or len(gone) + len(self._new) > _MOST_CHANGED * len(self._entries):
            return Index(self._entries, selectable)
        return self._before.changed(gone, self._new, selectable)


def _order(entry: Entry) -> tuple[int, str, str]:
    return _POSITION.get(entry.ref.kind, len(_POSITION)), entry.ref.namespace, entry.ref.name
