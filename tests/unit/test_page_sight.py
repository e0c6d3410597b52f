"""What somebody sees who cannot see everything: nothing of the rest, in whatever is answered."""

import asyncio
import json
from collections.abc import Callable, Iterable
from pathlib import Path
from typing import Any, TypeVar

import msgspec
import pytest

from stoker.explain.resource import explained
from stoker.offline.manifests import read
from stoker.offline.pages import desk_of
from stoker.offline.world import world_of
from stoker.page.answering import Answering
from stoker.page.answers import Items, Origin, Row, UnusableObject
from stoker.page.changes import LastChanges
from stoker.page.desk import Desk
from stoker.page.index import PageSearch
from stoker.page.objects import Stored
from stoker.page.overview import items_of
from stoker.page.parts import PartSearch
from stoker.page.seen import seen_by
from stoker.page.sight import WHOLE, Clearance
from stoker.page.workloads import ShownWorkload
from stoker.ref import Ref
from stoker.select.choice import Resource
from stoker.settings import OperatorSettings
from stoker.view.configuration import Layout
from tests.unit.page_world import ALPHA, GROUP, Object, made

T = TypeVar("T")
WORD = "canary5e1"
ALL: Object = {}
EVERYWHERE = {
    f"{kind}{rest}": ALL
    for kind in ("serviceMonitor", "podMonitor", "probe", "scrapeConfig", "rule")
    for rest in ("Selector", "NamespaceSelector")
}
BAD = [{"action": "replace", "regex": f"({WORD}"}]
RULES = {"groups": [{"name": f"g-{WORD}", "rules": [{"record": "a:b", "expr": "sum(up)"}]}]}


def monitor(name: str, namespace: str, **endpoint: Any) -> Object:
    """A ServiceMonitor that is used, or with a bad field rejected."""
    spec = {"selector": ALL, "endpoints": [{"port": "web", **endpoint}]}
    return made(GROUP, "ServiceMonitor", name, namespace, spec=spec)


def objects() -> list[Object]:
    """Two teams and a Prometheus for both; what the other team has is named after the word."""
    other = f"other-{WORD}"
    return [
        made(GROUP, "Prometheus", "main", "central", spec=EVERYWHERE),
        made(GROUP, "Prometheus", f"own-{WORD}", other, spec={"serviceMonitorSelector": ALL}),
        monitor("cart", "team"),
        monitor("broken", "team", relabelings=[{"action": "replace", "regex": "("}]),
        monitor(f"ledger-{WORD}", other),
        monitor(f"bad-{WORD}", other, relabelings=BAD),
        made(GROUP, "PrometheusRule", f"rules-{WORD}", other, spec=RULES),
        made(ALPHA, "ScrapeConfig", f"static-{WORD}", other, spec={"staticConfigs": []}),
        {
            "apiVersion": "v1",
            "kind": "Namespace",
            "metadata": {"name": other, "labels": {"a": WORD}},
        },
    ]


PROBLEMS = (
    UnusableObject(source="a.yaml:1", subject=f"Probe other-{WORD}/x", reasons=(WORD,)),
    UnusableObject(source="b.yaml", subject="", reasons=(f"no YAML: {WORD}",)),
    UnusableObject(source="c.yaml:3", subject="ServiceMonitor team/misspelt", reasons=("bad",)),
)


class Shown(Answering):
    """A desk, asked as the page asks it."""

    def __init__(self, desk: Desk, changed: Iterable[Resource] = ()) -> None:
        self.desk = desk
        self.changes = LastChanges()
        self.changes.compared((), changed, "now")

    async def _desk(self) -> Desk:
        return self.desk

    def _origin(self, desk: Desk) -> Origin:
        return Origin(kind="cluster", name="test", revision=desk.revision)

    def _problems(self) -> Iterable[UnusableObject]:
        return PROBLEMS

    async def _stored(self, _desk: Desk, ref: Ref) -> Stored | None:
        return Stored(object={"kind": ref.kind, "metadata": {"name": ref.name}})

    async def _rows(self, desk: Desk) -> Iterable[Row]:
        return desk.rows()

    async def _listed(self, desk: Desk, query: PageSearch) -> Items:
        found = desk.index.found(query)
        return items_of(desk.revision, query, found, desk.items(query, found))

    async def _explained(self, desk: Desk, found: Resource) -> Any:
        return explained(desk.view, found)

    def _layout(self, desk: Desk, shown: ShownWorkload) -> Layout:
        return desk.layout(shown, desk.view.assets)

    async def _aside(self, work: Callable[[], T]) -> T:
        return work()


@pytest.fixture
def desk(tmp_path: Path) -> Desk:
    """Everything."""
    (tmp_path / "all.yaml").write_text("".join(f"---\n{json.dumps(e)}\n" for e in objects()))
    return desk_of(world_of(read([str(tmp_path)])), OperatorSettings(), 1)


def seen(desk: Desk, *within: tuple[str, str], everywhere: Iterable[str] = ()) -> Shown:
    """The page of somebody with these rights."""
    sight = Clearance(everywhere=frozenset(everywhere), within=frozenset(within))
    names = {name: labels for name, labels in desk.view.namespaces.items() if sight.knows(name)}
    shown = seen_by(desk, sight, 7, names, desk.view.surroundings)
    return Shown(shown, desk.view.resources)


async def _all_of(page: Shown) -> list[Any]:
    """All that can be asked, with every name guessed right."""
    answers: list[Any] = [await page.overview(), await page.resources(PageSearch())]
    for query in ({"q": WORD}, {"namespace": f"other-{WORD}"}, {"state": "rejected"},
                  {"state": "unusable"}, {"workload": "Prometheus central/main"},
                  {"workload": "Prometheus central/main", "state": "rejected"},
                  {"workload": f"Prometheus other-{WORD}/own-{WORD}"}):  # fmt: skip
        answers.append(await page.resources(PageSearch(**query)))  # type: ignore[arg-type]
    for each in objects():
        ref = each["kind"], each["metadata"].get("namespace", ""), each["metadata"]["name"]
        answers += [await page.resource(*ref), await page.workload(*ref), await page.nodes(*ref)]
        answers.append(await page.configuration(*ref, PartSearch()))
        answers.append(await page.configuration(*ref, PartSearch(q=WORD)))
        answers += [await page.part(*ref, title) for title in ("global", "scrape_configs")]
        answers.append(await page.object(*ref))
    return answers


def told(page: Shown) -> str:
    """Everything that is answered; what is only repeated of a question is left out."""
    answers = asyncio.run(_all_of(page))
    texts = [msgspec.json.encode(each).decode() for each in answers]
    return "\n".join(text for text in texts if not text.startswith('{"error":"there is no '))


RIGHTS: dict[str, tuple[list[tuple[str, str]], list[str]]] = {
    "none": ([], []),
    "monitors of a team": ([("ServiceMonitor", "team")], []),
    "a workload alone": ([("Prometheus", "central")], []),
    "a workload and monitors": ([("Prometheus", "central"), ("ServiceMonitor", "team")], []),
    "probes everywhere but one": (
        [("Probe", "team"), ("ServiceMonitor", "team")],
        ["Alertmanager"],
    ),
}


@pytest.mark.parametrize("case", RIGHTS)
def test_nothing_is_told_of_what_may_not_be_seen(desk: Desk, case: str) -> None:
    """No name, no message, no number that counts it, whatever is asked."""
    within, everywhere = RIGHTS[case]
    page = seen(desk, *within, everywhere=everywhere)
    assert WORD not in told(page)
    assert WORD in told(Shown(desk))


def test_what_does_not_exist_and_what_may_not_be_seen_are_told_alike(desk: Desk) -> None:
    """A guess that is right gains nothing."""
    page = seen(desk, ("ServiceMonitor", "team"))

    async def answers(name: str) -> list[Any]:
        ref = "ServiceMonitor", f"other-{WORD}", name
        return [await page.resource(*ref), await page.object(*ref)]

    right, wrong = asyncio.run(answers(f"ledger-{WORD}")), asyncio.run(answers("nothing"))
    assert [str(each).replace(f"ledger-{WORD}", "nothing") for each in right] == [
        str(each) for each in wrong
    ]


def test_numbers_are_those_of_what_is_seen(desk: Desk) -> None:
    """Of a workload too, which has more."""
    page = seen(desk, ("Prometheus", "central"), ("ServiceMonitor", "team"))
    overview = asyncio.run(page.overview())
    assert (overview.resources.total, overview.resources.rejected) == (2, 1)
    assert [each.namespace for each in overview.namespaces] == ["team", "central"]
    (row,) = overview.workloads
    counts = {each.kind: (each.selected, each.rejected) for each in row.counts}
    assert counts["ServiceMonitor"] == (2, 1)
    assert counts["PrometheusRule"] == (0, 0)
    assert [each.subject for each in overview.problems] == ["ServiceMonitor team/misspelt"]


def test_without_its_workloads_a_resource_is_not_called_unused(desk: Desk) -> None:
    """Nobody may see whether a workload selects it: that is said, in lists and on its page."""
    page = seen(desk, ("ServiceMonitor", "team"))
    items = asyncio.run(page.resources(PageSearch())).items
    assert {each.state for each in items} == {"unclear"}
    assert all("you cannot list Prometheus" in each.headline for each in items)
    found: Any = asyncio.run(page.resource("ServiceMonitor", "team", "cart"))
    assert found.explanation.headline.startswith("whether a workload selects it is not known")


def test_who_may_see_all_sees_what_there_is(desk: Desk) -> None:
    """The same answers as without a login, but for the number of the revision."""
    whole = Shown(seen_by(desk, WHOLE, 1, desk.view.namespaces, desk.view.surroundings))
    assert told(whole) == told(Shown(desk))
