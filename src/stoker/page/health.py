"""All that is not well, by namespace: what `stoker status` reports, with the page's verdicts."""

from collections import Counter
from collections.abc import Callable, Iterable, Iterator
from typing import Final

from msgspec import Struct

from stoker.explain.pruned import misspelt
from stoker.page.answers import MisspeltObject, Row, Totals, UnusableObject
from stoker.page.desk import Desk
from stoker.page.index import Entry, PageSearch, SearchResult, totals_of
from stoker.page.wellness import GOOD, PROBLEM, UNKNOWN, Mistakes, wellness_of
from stoker.ref import Ref
from stoker.view.states import State

UNUSABLE: Final = "unusable"
"""The state of what cannot be used as it is written."""
MISSPELT: Final = "misspelt"
"""The state of an object with fields that do not exist."""
BY_GRAVITY: Final = (
    UNUSABLE,
    PROBLEM,
    State.REJECTED,
    State.DOWN,
    State.NO_TARGETS,
    MISSPELT,
    State.HELD,
    UNKNOWN,
    State.UNCLEAR,
    State.NOT_SELECTED,
)
"""Everything that is not well, the worst first."""

Where = Callable[[Ref, str], str]


class _Part(Struct, frozen=True, kw_only=True, rename="camel"):
    """The base of all parts."""


class Trouble(_Part, frozen=True, kw_only=True):
    """Something that is not well, why, and where it is written, where that is known."""

    kind: str
    namespace: str
    name: str
    state: str
    reason: str
    place: str = ""


class Space(_Part, frozen=True, kw_only=True):
    """A namespace: all of its resources by state, and what is not well."""

    namespace: str
    resources: Totals
    troubles: tuple[Trouble, ...]


class Health(_Part, frozen=True, kw_only=True):
    """How everything is: `state` is good, problem or unknown, `headline` says it in words.

    `workloads` is how many there are by state. `unseen` is what could not be looked at.
    """

    source: str
    state: str
    headline: str
    workloads: dict[str, int]
    resources: Totals
    namespaces: tuple[Space, ...] = ()
    unseen: tuple[str, ...] = ()


class Look(Struct, frozen=True, kw_only=True):
    """What is looked at, in one namespace or in all, and what could not be seen.

    `unsure` is why there may be workloads that are not seen: then it is not known what is not
    selected.
    """

    source: str
    namespace: str = ""
    unseen: tuple[str, ...] = ()
    unsure: str = ""


def nowhere(_ref: Ref, _reason: str) -> str:
    """An object of a cluster is its own place."""
    return ""


def health_of(
    desk: Desk, problems: Iterable[UnusableObject], look: Look, place: Where = nowhere
) -> Health:
    """How everything is, or what is in one namespace.

    `place` says where an object is written, by what is wrong with it.
    """
    known, namespace = _Known(desk, look.unsure), look.namespace

    def inside(other: str) -> bool:
        return not namespace or other == namespace

    entries = [each for each in desk.index.entries if inside(each.ref.namespace)]
    rows = [each for each in desk.rows() if inside(each.namespace)]
    bad = [each for each in map(_unusable, problems) if inside(each.namespace)]
    wrong = [each for each in desk.misspelt() if inside(each.namespace)]
    troubles = [
        *bad,
        *_workloads(rows, place),
        *known.troubles(entries, place),
        *(_misspelt(each, place) for each in wrong),
    ]
    totals = totals_of(Counter(map(known.state, entries)))
    mistakes, whole = Mistakes(len(bad), len(wrong)), not look.unsure
    state, headline = wellness_of(rows, totals, mistakes, inside=namespace, all_seen=whole)
    return Health(
        source=look.source,
        unseen=look.unseen,
        state=state,
        headline=headline,
        workloads=_counts(rows),
        resources=totals,
        namespaces=tuple(_spaces(troubles, entries, known.state)),
    )


def _counts(rows: Iterable[Row]) -> dict[str, int]:
    """Workloads by state, each state there is."""
    found = Counter(each.state for each in rows)
    return {each: found[each] for each in (GOOD, PROBLEM, UNKNOWN)}


def _unusable(problem: UnusableObject) -> Trouble:
    """What cannot be used; a file that cannot be read is in no namespace."""
    ref = ref_at(problem.subject)
    return Trouble(
        kind=ref.kind,
        namespace=ref.namespace,
        name=ref.name,
        state=UNUSABLE,
        reason="; ".join(problem.reasons),
        place=problem.source,
    )


def _misspelt(found: MisspeltObject, place: Where) -> Trouble:
    ref = Ref(found.kind, found.namespace, found.name)
    return _trouble(ref, MISSPELT, "; ".join(map(misspelt, found.fields)), place)


def ref_at(title: str) -> Ref:
    """The object of a title, `Kind namespace/name`; of nothing, one without a name."""
    kind, _, path = title.partition(" ")
    namespace, _, name = path.rpartition("/")
    return Ref(kind, namespace, name)


def _workloads(rows: Iterable[Row], place: Where) -> Iterator[Trouble]:
    for each in rows:
        if each.state != GOOD:
            ref = Ref(each.kind, each.namespace, each.name)
            yield _trouble(ref, each.state, each.headline, place)


class _Known(Struct, frozen=True):
    """What is known of resources, by whoever cannot see all workloads."""

    desk: Desk
    unsure: str

    def state(self, entry: Entry) -> State:
        """The state of a resource."""
        hidden = self.unsure and entry.state is State.NOT_SELECTED
        return State.UNCLEAR if hidden else entry.state

    def troubles(self, entries: Iterable[Entry], place: Where) -> Iterator[Trouble]:
        """Those that are not well."""
        bad = [each for each in entries if each.state is not State.USED]
        items = self.desk.items(PageSearch(), SearchResult(bad, len(bad), {}, {}))
        for entry, item in zip(bad, items, strict=True):
            state, reason = self.state(entry), item.headline
            if state is not entry.state:
                reason = f"whether a workload selects it is not known: {self.unsure}"
            yield _trouble(entry.ref, state, reason, place)


def _trouble(ref: Ref, state: str, reason: str, place: Where) -> Trouble:
    return Trouble(
        kind=ref.kind,
        namespace=ref.namespace,
        name=ref.name,
        state=str(state),
        reason=reason,
        place=place(ref, reason),
    )


def _spaces(
    troubles: Iterable[Trouble], entries: Iterable[Entry], state: Callable[[Entry], State]
) -> list[Space]:
    """By namespace, the one with the worst first, and in each the worst first."""
    found: dict[str, list[Trouble]] = {}
    for each in sorted(troubles, key=lambda one: (_rank(one), one.kind, one.name)):
        found.setdefault(each.namespace, []).append(each)
    states: dict[str, Counter[State]] = {}
    for entry in entries:
        states.setdefault(entry.ref.namespace, Counter())[state(entry)] += 1
    spaces = [
        Space(
            namespace=name,
            resources=totals_of(states.get(name, Counter())),
            troubles=tuple(each),
        )
        for name, each in found.items()
    ]
    return sorted(spaces, key=lambda one: ([_rank(each) for each in one.troubles], one.namespace))


def _rank(trouble: Trouble) -> int:
    return BY_GRAVITY.index(trouble.state)
