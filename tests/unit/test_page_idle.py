"""Resources that are used and find nothing to scrape: a state of their own in the page's lists."""

from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from msgspec import Struct
from msgspec.structs import replace

from stoker.api.decode import convert
from stoker.api.monitors import ServiceMonitor
from stoker.api.prometheus import Prometheus
from stoker.explain.answer import Explanation
from stoker.explain.services import service_search
from stoker.offline.manifests import read
from stoker.offline.pages import desk_of
from stoker.offline.surroundings import view_of
from stoker.offline.world import World, world_of
from stoker.page.answers import Item
from stoker.page.desk import Desk
from stoker.page.index import PageSearch
from stoker.page.workloads import ShownWorkload
from stoker.ref import Ref
from stoker.select.labels import DOES_NOT_EXIST, EXISTS, IN, NOT_IN, Requirement, Selector
from stoker.select.workload import scraper_of
from stoker.settings import OperatorSettings
from stoker.view.listing import Listing
from stoker.view.objects import PodGroup
from stoker.view.shelves import Shelf
from stoker.view.sorted import Sorted
from stoker.view.states import Cause, State
from stoker.view.view import View
from tests.builders import thing
from tests.unit.test_explain import (
    SHOP,
    Object,
    deployment,
    monitor,
    prometheus,
    service,
    told,
    viewed,
)

MISSING = "port `metrcis` not found; Service shop/cart has `metrics`, `admin`"
PODS: Object = {"selector": {"matchLabels": {"app": "tart"}}, "podMetricsEndpoints": [{}]}
RULES: Object = {"groups": [{"name": "g", "rules": [{"record": "a:b", "expr": "sum(up)"}]}]}


def shop() -> list[Object]:
    """Monitors of a shop, of which one each finds targets and finds none."""
    elsewhere = {"selector": {"matchLabels": {"app": "elsewhere"}}}
    return [
        SHOP, prometheus(), service(), deployment(),
        monitor(), monitor("crat", port="metrcis"), monitor("gone", spec=elsewhere),
        thing("PodMonitor", "tart", spec=PODS),
        thing("ScrapeConfig", "empty", spec={"staticConfigs": []}),
        thing("ScrapeConfig", "static", spec={"staticConfigs": [{"targets": ["a.example"]}]}),
        thing("ScrapeConfig", "consul", spec={"consulSDConfigs": [{"server": "a.example"}]}),
        thing("PrometheusRule", "rules", spec=RULES),
    ]  # fmt: skip


def world(folder: Path, *objects: Object) -> World:
    """Objects, as they are in a directory."""
    viewed(folder, *objects)
    return world_of(read([str(folder)]))


def items(desk: Desk, state: str = "", workload: str = "") -> dict[str, Item]:
    """What a list has, by name."""
    asked = PageSearch(state=state, workload=workload)
    return {each.name: each for each in desk.items(asked, desk.index.found(asked))}


@pytest.fixture
def desk(tmp_path: Path) -> Desk:
    """All that is known of the shop."""
    return desk_of(world(tmp_path, *shop()), OperatorSettings(), 1)


# --- Among manifests ------------------------------------------------------------------------------


def test_a_monitor_without_targets_has_a_state_of_its_own(desk: Desk) -> None:
    """Those that surely find nothing are told, with the reason; the others are as they were."""
    found = items(desk)
    states = {name: each.state for name, each in found.items()}
    idle = {name for name, state in states.items() if state is State.NO_TARGETS}
    assert idle == {"crat", "gone", "tart", "empty"}
    assert {states[name] for name in set(states) - idle} == {State.USED}
    assert found["crat"].headline.startswith("Prometheus monitoring/main: spec.endpoints[0]: ")
    assert MISSING in found["crat"].headline
    assert "no Service in namespace shop has what" in found["gone"].headline


def test_they_are_found_and_counted_by_it(desk: Desk) -> None:
    """The filter, the numbers beside it, and those of the overview know the state."""
    title = "Prometheus monitoring/main"
    assert set(items(desk, state="no targets")) == {"crat", "gone", "tart", "empty"}
    mine = items(desk, state="no targets", workload=title)
    assert MISSING in mine["crat"].headline
    assert mine["crat"].headline.startswith("spec.endpoints[0]: ")
    assert desk.index.found(PageSearch()).states == {"used": 4, "no targets": 4}
    assert (desk.index.totals.used, desk.index.totals.no_targets) == (4, 4)


def test_they_are_in_the_configuration(desk: Desk) -> None:
    """It is used, after all; but the workload is not called well."""
    shown = desk.workloads["Prometheus monitoring/main"]
    names = {each.name for each in desk.index.used_by(shown.title)}
    assert {"cart", "crat", "tart"} <= names
    row = desk.row(shown)
    assert (row.state, row.headline) == ("problem", "runs, but of 8 resources 4 have no targets")
    assert desk.explained(shown).headline == row.headline


def test_the_own_page_says_the_same(desk: Desk) -> None:
    """What is without targets in the list is so on its page, and nothing else is."""
    for entry in desk.index.entries:
        found = told(desk.view, entry.ref.kind, entry.ref.path)
        empty = [each for each in found.searches if each.targets == 0 and each.problems]
        assert (entry.state is State.NO_TARGETS) is bool(empty), entry.ref


def test_where_it_is_not_known_a_monitor_is_used(tmp_path: Path) -> None:
    """Without any Service or pod among the manifests nothing is concluded."""
    found = desk_of(world(tmp_path, SHOP, prometheus(), monitor()), OperatorSettings(), 1)
    assert items(found)["cart"].state is State.USED


def test_a_monitor_that_is_held_is_held(tmp_path: Path) -> None:
    """A workload that is paused says so first."""
    paused = shop()
    paused[1] = prometheus(paused=True)
    found = items(desk_of(world(tmp_path, *paused), OperatorSettings(), 1))
    assert found["crat"].state is State.HELD


def test_a_workload_that_finds_none_outweighs_one_that_does(tmp_path: Path) -> None:
    """As a rejection does: the worst is told, and each workload has its own."""
    anywhere = {"selector": {"matchLabels": {"app": "cart"}}, "namespaceSelector": {"any": True}}
    blind = prometheus(ignoreNamespaceSelectors=True)
    blind["metadata"]["name"] = "blind"
    objects = [SHOP, prometheus(), blind, service(), deployment()]
    away = monitor("away", spec=anywhere)
    away["metadata"]["namespace"] = "else"
    desk = desk_of(world(tmp_path, *objects, away), OperatorSettings(), 1)
    assert items(desk)["away"].state is State.NO_TARGETS
    assert items(desk, workload="Prometheus monitoring/main")["away"].state is State.USED
    assert items(desk, workload="Prometheus monitoring/blind")["away"].state is State.NO_TARGETS


# --- Where the operator counts targets ------------------------------------------------------------


def counted(discovered: int | None, healthy: int = 0) -> ServiceMonitor:
    """A monitor, and how many targets its status says it has."""
    seen: Object = {"discovered": discovered, "observedAt": "2026-01-02T03:04:05Z"}
    seen["healthy"] = healthy
    if discovered and not healthy:
        seen["errors"] = [{"message": "connection refused", "count": discovered}]
    condition = {"type": "Accepted", "status": "True", "lastTransitionTime": "2026-01-02T03:04:05Z"}
    binding = {
        "group": "monitoring.coreos.com", "resource": "prometheuses", "name": "main",
        "namespace": "monitoring", "conditions": [condition],
    }  # fmt: skip
    more = {"targets": seen} if discovered is not None else {}
    return convert(ServiceMonitor, {**monitor(), "status": {"bindings": [binding | more]}})


@pytest.mark.parametrize("known", [True, False], ids=["leader", "standby"])
@pytest.mark.parametrize(
    ("discovered", "state"), [(0, State.NO_TARGETS), (3, State.DOWN), (None, State.USED)]
)
def test_what_the_status_counts_is_told(
    discovered: int | None, state: State, known: bool, tmp_path: Path
) -> None:
    """By the replica that judged the resource, and by one that has it from its status alone."""
    seen = world(tmp_path, SHOP, prometheus(), monitor())
    seen.resources = [counted(discovered)]
    desk = desk_of(seen, OperatorSettings(), 1)
    shown = desk.workloads["Prometheus monitoring/main"]
    if not known:
        shown = replace(shown, verdicts={})
    found, reason = shown.made_of(seen.resources[0])
    assert found is state
    assert (
        reason
        == {
            0: "it has found no targets, as of 2026-01-02T03:04:05Z",
            3: "all 3 targets are down, as of 2026-01-02T03:04:05Z: connection refused",
            None: "",
        }[discovered]
    )
    if known and discovered is not None:
        row = desk.row(shown)
        assert row.state == "problem"
        assert row.headline.startswith("runs, but of 1 resource 1 has ")


def explained(folder: Path, discovered: int, healthy: int = 0) -> Explanation:
    """What is said of a monitor whose status counts targets."""
    view = viewed(folder, SHOP, prometheus(), monitor())
    return told(replace(view, resources=(counted(discovered, healthy),)))


def test_the_first_line_says_that_prometheus_has_none(tmp_path: Path) -> None:
    """Even where nobody can count Services and pods."""
    found = explained(tmp_path, 0)
    when = "Prometheus monitoring/main has found none, as of 2026-01-02T03:04:05Z"
    assert found.headline == f"selected, but without targets: {when}"
    assert not found.good
    assert (found.by_workload[0].state, found.by_workload[0].cause) == (State.USED, Cause.NONE)
    assert explained(tmp_path, 3, 3).good
    assert "cannot scrape 3 of 3 targets: connection refused" in explained(tmp_path, 3).headline


def test_a_judged_workload_is_asked_for_its_own_reason() -> None:
    """What was found beforehand wins; nothing is looked up for what is not used."""
    workload, resource = convert(Prometheus, prometheus()), counted(0)
    key = Ref("ServiceMonitor", "shop", "cart")
    idle = ShownWorkload(workload=workload, title="x", idle={key: "no Service"})
    assert idle.made_of(resource) == (State.NO_TARGETS, "no Service")
    assert replace(idle, held="paused").made_of(resource) == (State.HELD, "paused")


# --- Quick, and the same --------------------------------------------------------------------------


class Thing(Struct, frozen=True):
    """Something with labels."""

    name: int
    labels: Mapping[str, str]


KEYS, VALUES = st.sampled_from("abc"), st.sampled_from("xyz")
LABELS = st.dictionaries(KEYS, VALUES)
SOME = st.frozensets(VALUES, min_size=1)
REQUIREMENTS = st.one_of(
    st.builds(Requirement, KEYS, st.sampled_from((IN, NOT_IN)), SOME),
    st.builds(Requirement, KEYS, st.sampled_from((EXISTS, DOES_NOT_EXIST))),
)
SELECTORS = st.builds(Selector, st.lists(REQUIREMENTS, max_size=3).map(tuple), st.booleans())


def shelved(things: tuple[Thing, ...]) -> Listing[Thing]:
    """Things on a shelf."""
    return Listing(things, "", Shelf((each, each.labels) for each in things))


@given(st.lists(LABELS, max_size=12), st.integers(0, 12), SELECTORS)
def test_a_shelf_finds_what_looking_at_everything_finds(
    labels: list[dict[str, str]], cut: int, selector: Selector
) -> None:
    """Whatever a selector asks for, and each thing once; on one shelf or on two."""
    things = tuple(Thing(number, each) for number, each in enumerate(labels))
    two = Listing.joined([shelved(things[:cut]), shelved(things[cut:])])
    assert two.shelf
    assert two.items == things
    found = shelved(things).matching(selector)
    assert {each.name for each in two.matching(selector)} == {each.name for each in found}
    assert sorted(each.name for each in found) == [
        each.name for each in things if selector.matches(each.labels)
    ]


def test_sorted_surroundings_are_the_same(tmp_path: Path) -> None:
    """In every namespace, in all, and in one that nobody knows."""
    given = view_of(world(tmp_path, *shop()), OperatorSettings()).surroundings
    quick = Sorted(given)
    for kind in ("services", "slices", "pods", "ingresses"):
        for namespace in ("shop", "nowhere", "kube-system", None):
            mine, its = (getattr(each, kind)(namespace) for each in (quick, given))
            assert (mine.items, mine.unknown) == (its.items, its.unknown)


def many(view: View, number: int) -> View:
    """A view with that many Services more."""
    (service,) = view.surroundings.services("shop").items

    class Many(Sorted):
        def services(self, _: str | None) -> Listing[Any]:
            return Listing((service,) * number)

        def pods(self, _: str | None) -> Listing[PodGroup]:
            return Listing()

    return replace(view, surroundings=Many(view.surroundings))


@pytest.mark.parametrize(("number", "targets"), [(50, 0), (51, None)])
def test_of_very_many_matches_nothing_is_concluded(
    number: int, targets: int | None, tmp_path: Path
) -> None:
    """One monitor that selects everything must not hold up the lists; its own page counts."""
    view = many(viewed(tmp_path, SHOP, prometheus(), service(), monitor()), number)
    monitor_ = next(each for each in view.resources if isinstance(each, ServiceMonitor))
    (workload,) = view.workloads
    scraper = scraper_of(workload, view.capabilities)  # type: ignore[arg-type]
    assert service_search(replace(view, brief=True), monitor_, scraper).targets == targets
    assert service_search(view, monitor_, scraper).targets == 0


def test_lists_do_not_look_for_what_was_meant(tmp_path: Path) -> None:
    """The nearest of thousands is for the page of the one resource."""
    near = service(labels={"app": "crat"}, spec={"selector": {"app": "other"}})
    seen = world(tmp_path, SHOP, prometheus(), monitor(), near, deployment())
    desk = desk_of(seen, OperatorSettings(), 1)
    assert "the nearest is Service shop/cart" in told(desk.view).headline
    assert "the nearest" not in items(desk)["cart"].headline
    assert desk.view.brief is False
