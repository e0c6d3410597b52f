"""The index of the status page: one that is made after another is as if it were made anew."""

from collections.abc import Iterable

import pytest
from msgspec.structs import replace

from stoker.api.common import Binding, BindingCondition, ConfigResourceStatus
from stoker.api.core import ObjectMeta
from stoker.api.monitors import PodMonitor, ServiceMonitor
from stoker.api.prometheus import Prometheus
from stoker.page.index import Entry, Index, IndexMaker, PageSearch
from stoker.page.workloads import ShownWorkload
from stoker.ref import Ref, ref_of
from stoker.select.choice import Resource
from stoker.validate.findings import Finding, Reason
from stoker.validate.verdicts import Verdict
from stoker.view.states import State

WORKLOAD = Prometheus(metadata=ObjectMeta(name="main", namespace="shop"))
TITLES = ("Prometheus shop/main", "Prometheus shop/other")
BAD = Finding("spec", Reason.INVALID_VALUE, "is wrong")


def monitor(number: int, **labels: str) -> ServiceMonitor:
    """A ServiceMonitor."""
    name = f"m{number:04}"
    return ServiceMonitor(metadata=ObjectMeta(name=name, namespace="shop", labels=labels))


@pytest.mark.parametrize(
    ("status", "state"),
    [("True", State.USED), ("False", State.REJECTED), ("Unknown", State.HELD)],
)
def test_a_status_is_believed_of_a_workload_that_another_looks_after(
    status: str, state: State
) -> None:
    """Unknown is no rejection: the workload has not come to it, and the binding says why."""
    condition = BindingCondition(type="Accepted", status=status, message="is paused")
    mine = Binding(resource="prometheuses", namespace="shop", name="main", conditions=(condition,))
    bound = replace(monitor(1), status=ConfigResourceStatus(bindings=(mine,)))
    made, reason = ShownWorkload(workload=WORKLOAD, title=TITLES[0]).made_of(bound)
    assert made is state
    assert reason == ("" if state is State.USED else "is paused")


class Cluster:
    """Resources, and two workloads that select all of them."""

    def __init__(self, number: int = 200) -> None:
        self.resources: list[Resource] = [monitor(each) for each in range(number)]
        self.held = ""
        self.idle: dict[Ref, str] = {}
        self.titles: tuple[str, ...] = TITLES
        self.verdicts = {
            title: {ref_of(each): (Verdict(ref_of(each).path, each), ()) for each in self.resources}
            for title in TITLES
        }

    def index(self, before: Index | None = None) -> Index:
        """What is there now."""
        shown = [
            ShownWorkload(
                workload=WORKLOAD,
                title=title,
                verdicts=self.verdicts[title],
                held=self.held,
                idle=self.idle if title == TITLES[0] else {},
            )
            for title in self.titles
        ]
        maker = IndexMaker(lambda _: shown, before)
        for each in self.resources:
            maker.add(each)
        return maker.made({each.title: each.kinds for each in shown})

    def judge(self, resource: Resource, *findings: Finding) -> None:
        """Let the first workload judge."""
        key = ref_of(resource)
        self.verdicts[TITLES[0]][key] = (Verdict(key.path, resource, findings), ())

    # --- What may happen ---

    def rejects(self) -> None:
        """A resource is rejected."""
        self.judge(self.resources[7], BAD)

    def relabels(self) -> None:
        """A resource has another label."""
        self.resources[9] = monitor(9, team="new")
        self.judge(self.resources[9])

    def removes(self) -> None:
        """A resource is gone."""
        del self.resources[0]

    def adds(self) -> None:
        """A resource of another kind is new, and not judged yet."""
        self.resources.append(PodMonitor(metadata=ObjectMeta(name="a", namespace="a")))

    def holds(self) -> None:
        """A workload takes up nothing new."""
        self.held = "it is paused"

    def leaves(self) -> None:
        """A workload is gone."""
        self.titles = TITLES[:1]

    def idles(self) -> None:
        """A workload finds nothing to scrape for a resource."""
        self.idle = {ref_of(self.resources[11]): "no Service"}

    def rests(self) -> None:
        """Nothing happens."""


HAPPENING = ("rejects", "relabels", "removes", "adds", "idles", "holds", "leaves", "rests")


def _in_state(state: str) -> PageSearch:
    return PageSearch(state=state)


def told(index: Index) -> object:
    """All that an index tells."""
    queries = [PageSearch(workload=title, limit=1000) for title in ("", *TITLES)]
    found = [
        index.found(each)
        for each in (*queries, PageSearch(q="new"), *map(_in_state, ("rejected", "no targets")))
    ]
    counts = [
        {kind: number for kind, number in each.items() if number}
        for title in TITLES
        for each in (index.selected(title), index.rejected(title))
    ]
    return found, counts, index.totals, dict(index.kinds)


@pytest.mark.parametrize("happening", HAPPENING)
def test_what_happens_is_in_the_next_index(happening: str) -> None:
    """An index that takes over what it can tells the same as one that takes over nothing."""
    cluster = Cluster()
    before = cluster.index()
    getattr(cluster, happening)()
    assert told(cluster.index(before)) == told(cluster.index())
    assert (told(cluster.index(before)) == told(before)) is (happening == "rests")


def test_one_thing_after_the_other_is_in_the_next_index() -> None:
    """Each index is made after the last one; the numbers do not drift."""
    cluster = Cluster()
    index = cluster.index()
    for happening in HAPPENING:
        getattr(cluster, happening)()
        index = cluster.index(index)
        assert told(index) == told(cluster.index())
    cluster.resources.pop()
    assert "PodMonitor" not in cluster.index(index).kinds


def test_only_what_changed_is_made_again() -> None:
    """Of thousands, one entry; the index before stays as it was."""
    cluster = Cluster()
    before = cluster.index()
    was = told(before)
    cluster.rejects()
    after = cluster.index(before)
    assert [each.ref.name for each in _without(after.entries, before.entries)] == ["m0007"]
    assert told(before) == was


def _without(some: Iterable[Entry], others: Iterable[Entry]) -> list[Entry]:
    known = {id(each) for each in others}
    return [each for each in some if id(each) not in known]
