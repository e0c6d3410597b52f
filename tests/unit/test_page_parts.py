"""The parts of the page: namespaces, what changed, links, objects, searches, nodes and colours."""

import json
import re
from pathlib import Path
from typing import Any

import pytest

from stoker.api.alertmanager import Alertmanager
from stoker.api.decode import convert
from stoker.api.monitors import ServiceMonitor
from stoker.api.prometheus import Prometheus
from stoker.offline.manifests import read
from stoker.offline.pages import desk_of
from stoker.offline.watched import Folder
from stoker.offline.world import world_of
from stoker.page.answers import NodesAnswer, UnusableObject
from stoker.page.changes import LastChanges
from stoker.page.desk import Desk
from stoker.page.health import BY_GRAVITY
from stoker.page.index import PageSearch
from stoker.page.links import links_of
from stoker.page.nodes import nodes_of
from stoker.page.objects import Stored, object_answer
from stoker.page.overview import items_of
from stoker.page.parts import found_in
from stoker.page.refused import with_unusable
from stoker.page.sight import WHOLE, Clearance
from stoker.page.spaces import spaces_of
from stoker.ref import Ref
from stoker.settings import OperatorSettings
from stoker.status.targets import address_in, scraped
from tests.unit.page_world import GROUP, Object, made

ROOT = Path(__file__).parents[2]
CSS = (ROOT / "src/stoker/web/assets/page.css").read_text()
PROBLEM = UnusableObject(
    source="mistakes.yaml:15", subject="ServiceMonitor shop/misspelt", reasons=("30 seconds",)
)


def desk_in(folder: Path) -> Desk:
    """Everything that manifests say."""
    return desk_of(world_of(read([str(folder)])), OperatorSettings(), 1)


def monitor(name: str, namespace: str = "shop", **endpoint: Any) -> ServiceMonitor:
    """A ServiceMonitor."""
    endpoints = [{"port": "web", **endpoint}]
    spec = {"selector": {}, "endpoints": endpoints}
    return convert(ServiceMonitor, made(GROUP, "ServiceMonitor", name, namespace, spec=spec))


# --- Namespaces -----------------------------------------------------------------------------------


def test_namespaces_come_with_their_numbers_the_worst_first() -> None:
    """A namespace is as its worst; what cannot be used counts, though it is in no list."""
    desk = desk_in(ROOT / "example")
    rows = spaces_of(desk.index.inside, desk.rows(), [PROBLEM])
    shop = rows[0]
    assert shop.namespace == "shop"
    assert (shop.state, shop.unusable) == ("unusable", 1)
    assert sum(each.resources.total for each in rows) == desk.index.totals.total
    assert sum(each.workloads for each in rows) == len(desk.workloads)
    assert {each.namespace: each.state for each in rows}["payments"] == "rejected"


def test_a_list_is_of_one_namespace_and_counts_the_others() -> None:
    """The numbers beside each namespace are those that choosing it would give."""
    index = desk_in(ROOT / "example").index
    every = index.found(PageSearch(limit=500))
    for name, number in every.namespaces.items():
        found = index.found(PageSearch(namespace=name, limit=500))
        assert found.total == number == len(found.entries)
        assert {each.ref.namespace for each in found.entries} == {name}
        assert found.namespaces == every.namespaces
    of_kind = index.found(PageSearch(namespace="shop", kind="PrometheusRule"))
    assert of_kind.namespaces["shop"] == of_kind.total


# --- What cannot be used --------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("query", "there"),
    [
        ({"q": "misspelt"}, True),
        ({"q": "MISTAKES.yaml:15 seconds"}, True),
        ({"q": "elsewhere"}, False),
        ({"namespace": "shop"}, True),
        ({"namespace": "payments"}, False),
        ({"kind": "ServiceMonitor", "state": "unusable"}, True),
        ({"kind": "Probe"}, False),
        ({"state": "used"}, False),
        ({"workload": "Prometheus monitoring/main"}, False),
    ],
)
def test_search_finds_what_cannot_be_used(query: dict[str, str], there: bool) -> None:
    """By its name, its file and line, and by what is wrong with it; filters hold for it, too."""
    wanted = PageSearch(**query)  # type: ignore[arg-type]
    desk = desk_in(ROOT / "example")
    listed = items_of(1, wanted, desk.index.found(wanted), ())
    found = with_unusable(listed, wanted, [PROBLEM])
    assert found.unusable == ((PROBLEM,) if there else ())
    if there:
        assert found.states["unusable"] == 1


def test_the_manifest_of_what_cannot_be_used_is_found(tmp_path: Path) -> None:
    """In its file, as it is written, with its comments; what is beside it in the file is not."""
    text = (
        "kind: Probe\n# mine\napiVersion: monitoring.coreos.com/v1\nmetadata: {name: a}\nspec: 3\n"
    )
    beside = "---\nkind: Secret\napiVersion: v1\nmetadata: {name: a}\nstringData: {a: canary}\n"
    (tmp_path / "a.yaml").write_text(beside + "---\n" + text)
    folder = Folder(str(tmp_path))
    folder.look()
    _, problems = folder.world()
    (problem,) = (each for each in problems if each.subject)
    found = folder.stored(Ref("Probe", "default", "a"), None, problem.source)
    assert found is not None
    assert (found.text, found.place) == (text, problem.source)
    assert folder.stored(Ref("Secret", "default", "a"), None, problem.source) is None
    assert folder.stored(Ref("Probe", "default", "a"), None, "../../etc/passwd:1") is None


# --- What changed ---------------------------------------------------------------------------------


def test_what_changed_is_told_once_the_newest_first() -> None:
    """A status that is written is no change; each object is there once, if it may be seen."""
    changes, before = LastChanges(), [monitor("a"), monitor("b"), monitor("c")]
    relabelled = monitor("b", relabelings=[{"action": "drop"}])
    changes.compared(before, [monitor("a"), relabelled, monitor("d", "office")], "10:00")
    changes.note(relabelled, monitor("b"), "10:05")
    told = [(each.what, each.name, each.at) for each in changes.newest(WHOLE)]
    assert told == [
        ("changed", "b", "10:05"), ("removed", "c", "10:00"), ("added", "d", "10:00"),
    ]  # fmt: skip
    office = Clearance(within=frozenset({("ServiceMonitor", "office")}))
    assert [each.name for each in changes.newest(office)] == ["d"]
    assert changes.times()[Ref("ServiceMonitor", "shop", "b")] == "10:05"


# --- Links ----------------------------------------------------------------------------------------


def _linked(url: str) -> str:
    spec = {"externalUrl": url}
    workload = convert(Prometheus, made(GROUP, "Prometheus", "main", "shop", spec=spec))
    return "".join(each.url for each in links_of(workload, monitor("cart")))


@pytest.mark.parametrize(
    "url",
    [
        "javascript:alert(1)", "JavaScript:alert(1)//", " https://a.example", "data:text/html,x",
        "https://user:password@a.example/", "https://a.example/?x=1", "https://a.example/#x",
        "//a.example", "/prometheus", "https://a.example\\@b.example", "https://a.example/\n", "",
        'https://a.example/"><img src=x>', "https://аpple.example", "ftp://a.example",
    ],
)  # fmt: skip
def test_only_a_plain_address_becomes_a_link(url: str) -> None:
    """A user wrote it, and others click on it."""
    assert _linked(url) == ""


def test_a_link_leads_to_the_targets_of_the_resource() -> None:
    """On the page of Prometheus that shows them; of an Alertmanager, to its own page."""
    pool = "/targets?scrapePool=serviceMonitor/shop/cart/0"
    assert _linked("https://a.example/p/") == f"https://a.example/p{pool}"
    assert _linked("http://[::1]:9090") == f"http://[::1]:9090{pool}"
    spec = {"externalUrl": "https://am.example"}
    workload = convert(Alertmanager, made(GROUP, "Alertmanager", "main", "shop", spec=spec))
    assert [each.url for each in links_of(workload)] == ["https://am.example/"]


# --- An object itself -----------------------------------------------------------------------------

STORED: Object = {
    "apiVersion": GROUP, "kind": "ServiceMonitor",
    "metadata": {
        "name": "cart", "namespace": "shop", "generation": 3,
        "creationTimestamp": "2026-01-01T00:00:00Z",
        "annotations": {"kubectl.kubernetes.io/last-applied-configuration": "{}", "note": "a"},
        "managedFields": [
            {"manager": "kubectl", "time": "2026-01-02T00:00:00Z", "fieldsV1": {"f:spec": {}}},
            {"manager": "stoker", "time": "2026-01-03T00:00:00Z", "fieldsV1": {"f:status": {}}},
        ],
    },
    "spec": {"endpoints": [{"port": "web"}]},
    "status": {"bindings": [{
        "resource": "prometheuses", "namespace": "monitoring", "name": "main",
        "conditions": [{"type": "Accepted", "status": "True", "lastTransitionTime": "2026-01-04"}],
    }]},
}  # fmt: skip


def test_an_object_is_told_with_its_conditions_and_writers() -> None:
    """The manifest is what a user would write; who wrote what last, and since when it is so."""
    event = {
        "type": "Warning", "reason": "Bad", "note": "n", "eventTime": "2026-01-05",
        "series": {"count": 4, "lastObservedTime": "2026-01-06"}, "reportingController": "stoker",
    }  # fmt: skip
    found = object_answer(Stored(object=STORED, events=(event,)), 1)
    assert found.manifest.startswith(f"apiVersion: {GROUP}\nkind: ServiceMonitor\nmetadata:\n")
    assert "managedFields" not in found.manifest
    assert "last-applied" not in found.manifest
    assert "note: a" in found.manifest
    assert "status:" not in found.manifest
    assert [(each.by, each.what) for each in found.written] == [
        ("stoker", "status"),
        ("kubectl", "spec"),
    ]
    (condition,) = found.conditions
    assert (condition.workload, condition.since) == ("Prometheus monitoring/main", "2026-01-04")
    (told,) = found.events
    assert (told.count, told.at, told.by) == (4, "2026-01-06", "stoker")


@pytest.mark.parametrize("wrong", [None, 3, "text", [], [3, None], {"a": 3}])
@pytest.mark.parametrize("member", ["metadata", "status", "spec"])
def test_an_object_of_odd_shape_is_told_all_the_same(member: str, wrong: Any) -> None:
    """Manifests are written by hand."""
    answer = object_answer(Stored(object={**STORED, member: wrong}, events=({"series": wrong},)), 1)
    assert json.dumps(answer.manifest)


# --- Targets that fail ----------------------------------------------------------------------------


def test_an_address_has_no_credentials() -> None:
    """User, password and parameters are left out; what is no URL is nothing."""
    assert (
        address_in("http://u:p@10.0.0.1:8080/metrics?token=x#y") == "http://10.0.0.1:8080/metrics"
    )
    assert address_in("https://a@b@c.example/m") == "https://c.example/m"
    assert address_in("unix:///run/x") == ""
    targets = [
        {
            "scrapePool": "j",
            "scrapeUrl": f"http://10.0.0.{n}/m",
            "lastError": "EOF",
            "health": "down",
        }
        for n in range(9)
    ]
    answer = json.dumps({"data": {"activeTargets": targets}}).encode()
    found = scraped(answer, "j").plus(scraped(answer, "j"))
    assert (found.discovered, len(found.failing)) == (18, 5)
    assert found.failing[0].address == "http://10.0.0.0/m"


# --- The configuration ----------------------------------------------------------------------------


def test_a_text_is_found_in_the_configuration() -> None:
    """In titles and texts, in small letters or large; without a text, all parts are there."""
    desk = desk_in(ROOT / "example")
    shown = desk.workloads["Prometheus monitoring/main"]
    layout = desk.layout(shown, desk.view.assets)
    titles = [str(each) for each in found_in(layout, "METRICS_PATH")]
    assert titles
    assert all("metrics_path" in layout.text(each) for each in found_in(layout, "METRICS_PATH"))
    assert Ref("ServiceMonitor", "shop", "cart") in found_in(layout, "servicemonitor/shop/cart")
    assert found_in(layout, "nothing is called so") == []
    assert found_in(layout, "") == layout.places


# --- Nodes ----------------------------------------------------------------------------------------


def _nodes(folder: Path, title: str) -> NodesAnswer:
    desk = desk_in(folder)
    return nodes_of(desk, desk.workloads[title])


def test_nodes_are_told_with_their_targets_and_what_nobody_covers() -> None:
    """The node without an agent comes first, with the reason, for there is something to scrape."""
    found = _nodes(ROOT / "tests/corpus/agent-not-on-node", "PrometheusAgent monitoring/light")
    assert found.agent
    assert [(each.node, each.targets, bool(each.why_not)) for each in found.nodes] == [
        ("gpu-1", 1, True),
        ("plain-1", 1, False),
    ]
    assert "taint" in found.nodes[0].why_not
    assert found.adrift == 0


def test_a_workload_that_is_on_no_nodes_has_none() -> None:
    """It scrapes from anywhere."""
    found = _nodes(ROOT / "example", "Prometheus monitoring/main")
    assert (found.agent, found.nodes) == (False, ())


# --- Colours --------------------------------------------------------------------------------------

TEXTS = [
    *((text, ground) for text in ("text", "soft", "link", "good", "bad", "warn", "key")
      for ground in ("ground", "raised", "sunken")),
    ("good", "good-ground"), ("bad", "bad-ground"), ("warn", "warn-ground"),
    ("soft", "quiet-ground"), ("text", "quiet-ground"), ("text", "warn-ground"),
    ("text", "mark"), ("text", "found"),
    *((text, "mark") for text in ("key", "good", "soft", "warn")),
]  # fmt: skip
SHAPES = [
    *((edge, ground) for edge in ("edge", "focus", "good", "bad", "warn")
      for ground in ("ground", "raised")),
]  # fmt: skip


def luminance(colour: str) -> float:
    """The relative luminance of a colour, as WCAG 2 defines it."""
    parts = [int(colour[at : at + 2], 16) / 255 for at in (1, 3, 5)]
    red, green, blue = (p / 12.92 if p <= 0.04045 else ((p + 0.055) / 1.055) ** 2.4 for p in parts)
    return 0.2126 * red + 0.7152 * green + 0.0722 * blue


def contrast(one: str, other: str, theme: int) -> float:
    """The contrast of two variables, in light (0) or dark (1)."""
    found = dict(re.findall(r"--([\w-]+): light-dark\(([^)]*)\)", CSS))
    pair = [luminance(found[name].split(",")[theme].strip()) for name in (one, other)]
    return (max(pair) + 0.05) / (min(pair) + 0.05)


@pytest.mark.parametrize("theme", [0, 1], ids=["light", "dark"])
@pytest.mark.parametrize(("text", "ground"), TEXTS)
def test_texts_can_be_read(text: str, ground: str, theme: int) -> None:
    """Every colour of text has a contrast of 4.5 at least on all that it is written on."""
    assert contrast(text, ground, theme) >= 4.5


@pytest.mark.parametrize("theme", [0, 1], ids=["light", "dark"])
@pytest.mark.parametrize(("shape", "ground"), SHAPES)
def test_shapes_can_be_seen(shape: str, ground: str, theme: int) -> None:
    """Edges of fields, the focus and states have one of 3."""
    assert contrast(shape, ground, theme) >= 3


def test_every_state_has_a_shape_and_a_colour() -> None:
    """What the page does not know it would show as unknown."""
    script = (ROOT / "src/stoker/web/assets/js/dom.js").read_text()
    assert [each for each in BY_GRAVITY if f'"{each}"' not in script] == []
