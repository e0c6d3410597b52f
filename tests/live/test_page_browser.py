"""The status page of `stoker serve`, in a real Chromium."""

import json
import os
import shutil
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

from stoker.__main__ import main
from tools.browser import Browser, Page, found
from tools.pictures import FOLDER, PICTURES, take
from tools.ports import held_port
from tools.served import Served, served

EXAMPLE = Path(__file__).parents[2] / "example"
HOSTILE = """
apiVersion: monitoring.coreos.com/v1
kind: ServiceMonitor
metadata:
  name: hostile
  namespace: shop
  labels:
    team: "<img src=x onerror=window.harm=1>"
spec:
  jobLabel: "</script><script>window.harm=1</script>"
  selector: {matchLabels: {app: cart}}
  endpoints:
    - port: "<img src=x onerror=window.harm=1>"
      path: "/</pre><b>bold</b>"
---
apiVersion: monitoring.coreos.com/v1
kind: PodMonitor
metadata: {name: "<img src=x onerror=window.harm=1>", namespace: shop}
spec:
  selector: {}
  podMetricsEndpoints: [{port: "`<b>`", interval: "<script>window.harm=1</script>"}]
"""
MONITOR = """
apiVersion: monitoring.coreos.com/v1
kind: PodMonitor
metadata: {{name: m-{:03}, namespace: x}}
spec: {{selector: {{}}, podMetricsEndpoints: [{{port: metrics}}]}}
"""
VIEWS = (
    "#/",
    "#/search",
    "#/search?q=nothing-is-called-so",
    "#/workload/Prometheus/monitoring/main",
    "#/workload/Prometheus/monitoring/main?tab=configuration&of=ServiceMonitor/shop/cart",
    "#/workload/Prometheus/monitoring/main?tab=configuration&q=cart",
    "#/workload/Prometheus/monitoring/main?tab=object",
    "#/search?namespace=shop&q=misspelt",
    "#/resource/ServiceMonitor/shop/checkout",
    "#/resource/ServiceMonitor/shop/misspelt",
    "#/resource/ServiceMonitor/shop/recommendations",
    "#/resource/PrometheusRule/monitoring/backups",
)


@pytest.fixture(scope="module")
def browser() -> Iterator[Browser]:
    """Chromium, which CI must have."""
    binary = found()
    if binary is None:
        reason = "there is no Chromium; `python -m tools.browser` installs one"
        pytest.fail(reason) if os.environ.get("CI") == "true" else pytest.skip(reason)
    with Browser.start(binary) as browser:
        yield browser


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A copy of the examples, with some strangers among them."""
    folder = tmp_path_factory.mktemp("manifests")
    for path in EXAMPLE.glob("*.yaml"):
        shutil.copy(path, folder)
    (folder / "hostile.yaml").write_text(HOSTILE)
    return folder


@pytest.fixture(scope="module")
def site(folder: Path) -> Iterator[Served]:
    """The page of that folder."""
    with served(folder) as site:
        yield site


@contextmanager
def faultless(browser: Browser, site: Served) -> Iterator[Page]:
    """A tab that in the end must have asked nobody else, and complained of nothing."""
    with browser.page() as page:
        yield page
        assert page.complaints == []
        assert page.requests
        assert [url for url in page.requests if not url.startswith(site.url)] == []


@pytest.fixture
def page(browser: Browser, site: Served) -> Iterator[Page]:
    """A tab at the overview."""
    with faultless(browser, site) as page:
        visit(page, site, "#/")
        yield page


def visit(page: Page, site: Served, address: str) -> None:
    """Open a view and wait until it is there, live."""
    page.goto(site.url + address)
    arrived(page, address)
    page.says("live", "#live")


def go(page: Page, address: str, words: str = "") -> None:
    """Follow a link within the page, and wait for what is to be read there."""
    page.evaluate(f"location.hash = {json.dumps(address)}")
    arrived(page, address)
    page.says(words)


def arrived(page: Page, address: str) -> None:
    """Wait until the view of an address is shown."""
    shown = f"document.querySelector('main').dataset.at === {json.dumps(address)}"
    page.until(f"the view {address}", shown)


# --- What it shows --------------------------------------------------------------------------------


def test_the_overview_shows_every_workload_and_what_cannot_be_used(page: Page) -> None:
    """Those with problems come first, and each mistake is told with its file and line."""
    cards = page.evaluate("[...document.querySelectorAll('.card')].map((each) => each.innerText)")
    assert len(cards) == 4
    assert all(word in cards[0] for word in ("Prometheus", "monitoring/main", "problem"))
    assert "good" in cards[1]
    problems = page.text(".problems")
    assert "ServiceMonitor shop/misspelt" in problems
    assert "mistakes.yaml:" in problems
    assert "30 seconds is not a duration" in problems


def test_search_finds_while_one_types(page: Page) -> None:
    """After `/`, each letter narrows the list; words of the name and kind count."""
    page.press("/", *"cart")
    page.until("the results", "location.hash === '#/search?q=cart'")
    page.says("for “cart”", ".total")
    names = page.evaluate(
        "[...document.querySelectorAll('tbody tr')].map((row) => row.dataset.key)"
    )
    assert names == ["ServiceMonitor/shop/cart", "PrometheusRule/shop/cart"]
    page.press(*" rule")
    page.says("1 resource for “cart rule”", ".total")
    assert page.evaluate("document.activeElement.id") == "find"


@pytest.mark.parametrize(
    ("kind", "name"),
    [
        ("ServiceMonitor", "shop/cart"),
        ("ServiceMonitor", "shop/checkout"),
        ("ServiceMonitor", "shop/recommendations"),
        ("PrometheusRule", "monitoring/backups"),
        ("Prometheus", "monitoring/main"),
    ],
)
def test_the_page_says_what_explain_says(
    page: Page, folder: Path, kind: str, name: str, capsys: pytest.CaptureFixture[str]
) -> None:
    """The headline is the same sentence as in the terminal."""
    main(["explain", kind.lower(), name, "--from", str(folder), "-o", "json"])
    headline = json.loads(capsys.readouterr().out)["headline"].replace("`", "")
    room = "workload" if kind == "Prometheus" else "resource"
    go(page, f"#/{room}/{kind}/{name}", name)
    assert page.text(".headline") == headline


def test_targets_where_no_agent_is_are_named(browser: Browser) -> None:
    """On the page of a monitor, with the node and the reason; the agent says what it covers."""
    folder = Path(__file__).parents[1] / "corpus" / "agent-not-on-node"
    with served(folder) as site, faultless(browser, site) as page:
        visit(page, site, "#/resource/PodMonitor/shop/exporter")
        page.says("1 target not scraped (DaemonSet shop/exporter): node gpu-1 has taint", ".search")
        go(page, "#/workload/PrometheusAgent/monitoring/light", "it covers 1 of 2 nodes")


def test_targets_are_counted_in_lists(page: Page) -> None:
    """All well, some not, none at all, not counted: three looks, and nothing."""
    counts = [(1200, 1200), (8, 6), (0, 0), None]
    targets = [each and {"discovered": each[0], "healthy": each[1]} for each in counts]
    named = {"kind": "Probe", "namespace": "shop", "state": "used", "headline": "", "workloads": []}
    items = [{**named, "name": str(n), "targets": each} for n, each in enumerate(targets)]
    none: dict[str, object] = {"kinds": {}, "states": {}, "namespaces": {}, "unusable": []}
    found = json.dumps({"total": 4, "offset": 0, "items": items, **none})
    shown = page.evaluate(
        f"import('/js/list.js').then(({{ list }}) => {{ const made = list({found}, "
        "{ segments: [], parameters: {} }, { own: false }); return [...made.querySelectorAll("
        "'.says')].map((cell) => [cell.textContent.trim(), cell.querySelector('.state')?.className]"
        ") })"
    )
    assert [tuple(each) for each in shown] == [
        ("1,200/1,200 targets", "state good"),
        ("6/8 targets", "state warn"),
        ("0/0 targets", "state warn"),
        ("", None),
    ]


def test_a_monitor_without_targets_is_told_in_lists(page: Page) -> None:
    """By a word and a shape beside the colour, in the overview and the list, which has a filter."""
    assert "2\nno targets" in page.text(".totals")
    go(page, "#/search?q=checkout&state=no+targets", "shop/checkout")
    assert page.evaluate("document.querySelectorAll('tbody tr').length") == 1
    assert page.text("tbody .state") == "no targets"
    assert page.evaluate("document.querySelector('tbody .state').className") == "state warn"
    assert page.evaluate("document.querySelector('tbody .state svg path') !== null")
    assert "did you mean metrics?" in page.text("tbody .says")
    assert "no targets (1)" in page.text("select[aria-label=State]")


def test_a_near_miss_is_named_with_what_was_meant(page: Page) -> None:
    """The port that is not there, the ports that are, and how many targets that makes."""
    go(page, "#/resource/ServiceMonitor/shop/checkout", "0 targets")
    assert "did you mean metrics?" in page.text(".miss")
    assert "port metrcis (see above)" in page.text(".matches")


def test_a_resource_leads_to_its_part_of_the_configuration(page: Page) -> None:
    """That part is marked and unfolded, the others are folded; no Secret is in it."""
    go(page, "#/resource/ServiceMonitor/shop/catalogue", "its part of the configuration")
    page.evaluate("document.querySelector('.to-part').click()")
    page.says("job_name: serviceMonitor/shop/catalogue/0", ".part.marked pre")
    opened = "[...document.querySelectorAll('.part[open]')].map((part) => part.dataset.key)"
    assert page.evaluate(opened) == ["serviceMonitor/shop/catalogue"]
    assert "change-me" not in page.evaluate("document.body.textContent")
    page.evaluate("document.querySelector('.part.marked .from a').click()")
    page.says("2 targets")


def test_what_does_not_exist_is_told_with_a_near_name(browser: Browser, site: Served) -> None:
    """A mistyped address leads to what was meant."""
    with browser.page() as page:
        visit(page, site, "#/resource/ServiceMonitor/shop/catr")
        page.says("did you mean shop/cart?")
        page.evaluate("document.querySelector('.head a').click()")
        page.says("3 targets")


def test_a_part_that_is_marked_unfolds(page: Page) -> None:
    """Also where it was on the screen before, folded."""
    whole = "#/workload/Prometheus/monitoring/main?tab=configuration"
    go(page, whole, "scrape_configs")
    go(page, f"{whole}&of=ServiceMonitor/shop/cart", "this resource")
    page.until("it to unfold", "document.querySelector('.part.marked').open")


def test_narrow_screens_have_no_empty_block(page: Page) -> None:
    """Where a row of figures is not full, the rest of it looks as the figures do."""
    page.size(390, 844)
    ground = "getComputedStyle(document.querySelector('.totals')).backgroundColor"
    assert page.evaluate("document.querySelectorAll('.totals li').length % 2") == 1
    assert page.evaluate(
        f"{ground} === getComputedStyle(document.body.querySelector('.card')).backgroundColor"
    )


def test_the_pictures_in_the_documentation_can_be_taken_anew(
    browser: Browser, tmp_path: Path
) -> None:
    """Each as large as the one that is there; whether it looks the same is for people to see."""
    take(browser, PICTURES, tmp_path)
    sizes = {each.name: each.read_bytes()[16:24] for each in tmp_path.iterdir()}
    assert sizes == {each.name: each.read_bytes()[16:24] for each in FOLDER.iterdir()}


# --- Namespaces and nodes -------------------------------------------------------------------------

_TILES = "[...document.querySelectorAll('.tile')].map((each) => each.innerText.split('\\n')[0])"


def test_a_map_shows_namespaces_and_leads_into_each(page: Page) -> None:
    """The worst first, each with a word and a shape; a table says the same."""
    tiles = page.evaluate(_TILES)
    # A number stays on the line of its word.
    parts = "[...document.querySelectorAll('.tile-part')]"
    assert page.evaluate(f"{parts}.length >= 8 && {parts}.every((each) => each.offsetHeight < 30)")
    assert tiles[:2] == ["monitoring", "shop"]
    assert "cannot be used" in page.text(".tile")
    assert page.evaluate("document.querySelectorAll('.tile .state svg path').length") == len(tiles)
    page.evaluate("document.querySelector('[data-key=spaces-table] summary').click()")
    rows = "document.querySelectorAll('[data-key=spaces-table] tbody th')"
    assert page.evaluate(f"[...{rows}].map((each) => each.innerText)") == tiles
    page.evaluate("[...document.querySelectorAll('.tile a')][1].click()")
    page.until("the namespace", "location.hash === '#/search?namespace=shop'")
    page.says("in shop", ".total")
    page.says("ServiceMonitor shop/misspelt", ".problems")
    names = page.evaluate(
        "[...document.querySelectorAll('tbody .ns')].map((each) => each.innerText)"
    )
    assert set(names) == {"shop/"}
    page.evaluate(
        "(() => { const choice = document.querySelector('select[aria-label=Namespace]');"
        " choice.value = 'payments'; choice.dispatchEvent(new Event('change')); })()"
    )
    page.says("in payments", ".total")


def test_nodes_are_shown_with_what_nobody_covers(browser: Browser) -> None:
    """In words beside the colours, and as a table; on a telephone, too."""
    folder = Path(__file__).parents[1] / "corpus" / "agent-not-on-node"
    with served(folder) as site, faultless(browser, site) as page:
        page.size(390, 844)
        visit(page, site, "#/workload/PrometheusAgent/monitoring/light?tab=nodes")
        page.says("It covers 1 of 2 nodes; nobody scrapes 1 target on nodes without an agent")
        tiles = page.evaluate("[...document.querySelectorAll('.tile')].map((one) => one.innerText)")
        assert [each.split("\n")[:2] for each in tiles] == [
            ["gpu-1", "not covered"],
            ["plain-1", "covered"],
        ]
        assert "has taint gpu=yes" in tiles[0]
        assert page.evaluate(_NAMELESS) == []
        for scheme in ("light", "dark"):
            page.prefers(scheme)
            page.until(scheme, f"document.documentElement.dataset.theme === '{scheme}'")
            assert page.evaluate(_FAINT) == []


# --- What is written ------------------------------------------------------------------------------


def test_what_cannot_be_used_is_found_with_its_place(page: Page) -> None:
    """By the search, as one types; its page has the file, the line and the manifest."""
    page.press("/", *"misspelt")
    # The overview, from which one comes, has a list of these, too.
    page.says("for “misspelt”", ".total")
    page.says("mistakes.yaml:", ".problems")
    page.press("Enter")
    page.says("30 seconds is not a duration", ".headline")
    assert page.text(".places").startswith("mistakes.yaml:")
    page.evaluate("document.querySelector('#manifest + details summary').click()")
    page.says("interval: 30 seconds", "#manifest + details pre")
    assert page.evaluate("document.querySelectorAll('#manifest + details .y-key').length") > 3


def test_the_configuration_is_searched_and_copied(page: Page) -> None:
    """Only parts with the text are left, unfolded, with the text marked; a button copies one."""
    go(page, "#/workload/Prometheus/monitoring/main?tab=configuration", "scrape_configs")
    page.evaluate(
        "(() => { const field = document.querySelector('.filters input');"
        " field.value = 'METRICS_PATH'; field.dispatchEvent(new Event('input')); })()"
    )
    page.says("with “METRICS_PATH”", ".total")
    assert page.evaluate("document.querySelectorAll('.part:not([open])').length") == 0
    assert page.text(".part pre mark") == "metrics_path"
    page.evaluate(
        "window.copied = ''; navigator.clipboard.writeText = async (text) => { copied = text; }"
    )
    page.evaluate("document.querySelector('.part .copy').click()")
    page.says("Copied", ".part .copy")
    text = page.evaluate("document.querySelector('.part pre').textContent")
    assert page.evaluate("copied") == text
    assert "<Secret" not in text or "change-me" not in text


def test_what_changed_last_is_told(browser: Browser, tmp_path: Path) -> None:
    """As soon as it is seen, the newest first, with how long ago that is."""
    shutil.copy(EXAMPLE / "prometheus.yaml", tmp_path)
    with served(tmp_path) as site, faultless(browser, site) as page:
        visit(page, site, "#/")
        (tmp_path / "new.yaml").write_text(MONITOR.format(7))
        page.says("x/m-007", "[data-key=changes]")
        page.says("added", "[data-key=changes]")
        assert page.text("[data-key=changes] time").endswith("ago")


def test_a_name_of_a_user_stays_text(page: Page) -> None:
    """Whoever gives out identities may choose any."""
    made = page.evaluate(
        "import('/js/overview.js').then(({ render }) => { const parts = render({ headline: '',"
        " source: { kind: 'cluster', name: 'x' }, workloads: [], problems: [], misspelt: [],"
        " namespaces: [], resources: {}, changes: [],"
        " viewer: { user: '<img src=x>', whole: false } });"
        " return [parts[0].textContent, parts[0].querySelectorAll('img').length]; })"
    )
    assert "as <img src=x>; what you cannot see" in made[0]
    assert made[1] == 0


# --- What changes ---------------------------------------------------------------------------------


def test_a_saved_file_shows_without_a_reload(page: Page, folder: Path) -> None:
    """Focus, folds and the page itself stay as they are."""
    go(page, "#/resource/ServiceMonitor/shop/stock", "2 targets")
    page.evaluate("window.same = document.querySelector('h1')")
    page.evaluate("document.querySelector('.more summary').focus()")
    page.press("Enter")
    path, new = folder / "surprises.yaml", folder / "surprises.new"
    new.write_text(
        path.read_text().replace(
            "name: stock\n  namespace: shop\nspec:\n  replicas: 2",
            "name: stock\n  namespace: shop\nspec:\n  replicas: 5",
        )
    )
    # As editors do: nobody sees half a file.
    new.replace(path)
    page.says("5 targets")
    assert page.evaluate("window.same === document.querySelector('h1')")
    assert page.evaluate("document.querySelector('.more').open")
    assert page.evaluate("document.activeElement.matches('.more summary')")


def test_a_broken_stream_is_told_and_mended(browser: Browser, tmp_path: Path) -> None:
    """The page keeps what it shows, says that it is not connected, and catches up by itself."""
    shutil.copy(EXAMPLE / "prometheus.yaml", tmp_path)
    with browser.page() as page:
        with served(tmp_path, held_port()) as site:
            visit(page, site, "#/")
            page.says("The one workload is well")
        page.says("not connected, trying again", "#live")
        assert "monitoring/main" in page.text("main")
        shutil.copy(EXAMPLE / "alertmanager.yaml", tmp_path)
        with served(tmp_path, site.port):
            page.says("All 2 workloads are well")
            page.says("live", "#live")


# --- Whom it serves -------------------------------------------------------------------------------


def test_hostile_text_stays_text(page: Page) -> None:
    """Names, labels and messages with markup are shown as they were written."""
    image = "<img src=x onerror=window.harm=1>"
    part = "#/workload/Prometheus/monitoring/main?tab=configuration&of=ServiceMonitor/shop/hostile"
    for view, words in (
        ("#/", f"PodMonitor shop/{image}"),
        ("#/search?q=hostile", "shop/hostile"),
        ("#/resource/ServiceMonitor/shop/hostile", f"port {image} not found"),
        (part, "/</pre><b>bold</b>"),
    ):
        go(page, view, words)
        assert page.evaluate(_MADE) == 0
    page.press("/", *image)
    page.says(f"for “{image}”")
    assert page.evaluate(_MADE) == 0
    assert page.evaluate("window.harm === undefined")


_MADE = "document.querySelectorAll('main :is(img, script, b)').length"


def test_everything_can_be_done_by_keyboard(page: Page) -> None:
    """Search, through the results, into one, and back to where one was."""
    page.press("/", *"shop")
    page.says("for “shop”", ".total")
    page.press(*" monitor")
    page.says("for “shop monitor”", ".total")
    page.press("ArrowDown", "j", "j", "k")
    where = "document.activeElement.getAttribute('href')"
    chosen = page.evaluate(where)
    rows = page.evaluate(
        "[...document.querySelectorAll('main [data-row]')].map((row) => row.getAttribute('href'))"
    )
    assert chosen == rows[1]
    assert page.evaluate("getComputedStyle(document.activeElement).outlineStyle") == "solid"
    page.press("Enter")
    page.until("the resource", f"location.hash === {json.dumps(chosen)}")
    page.until("its heading", "document.activeElement.tagName === 'H1'")
    page.press("Escape")
    page.until("the row again", f"{where} === {json.dumps(chosen)}")
    page.press("?")
    page.until("the keys", "document.getElementById('keys').open")
    page.press("Escape")
    page.until("no keys", "!document.getElementById('keys').open")
    page.press("g")
    page.says("needs a look")


def test_dark_as_the_system_says_until_one_chooses(page: Page, site: Served) -> None:
    """The choice is remembered; choosing what the system says is to follow it again."""
    theme = "document.documentElement.dataset.theme"
    ground = "getComputedStyle(document.body).backgroundColor"
    page.prefers("light")
    page.until("light", f"{theme} === 'light'")
    light = page.evaluate(ground)
    page.prefers("dark")
    page.until("dark", f"{theme} === 'dark'")
    assert page.evaluate(ground) != light
    page.press("t")
    assert page.evaluate(ground) == light
    page.goto("about:blank")
    visit(page, site, "#/")
    assert page.evaluate(theme) == "light"
    page.press("t")
    page.prefers("light")
    page.until("light again", f"{theme} === 'light'")


_FAINT = """
(() => {
  const canvas = document.createElement("canvas").getContext("2d", {willReadFrequently: true});
  const rgba = (colour) => {
    canvas.clearRect(0, 0, 1, 1);
    canvas.fillStyle = colour;
    canvas.fillRect(0, 0, 1, 1);
    return [...canvas.getImageData(0, 0, 1, 1).data];
  };
  const light = (colour) => {
    const [r, g, b] = rgba(colour).map((c) => c / 255)
      .map((c) => c <= 0.04045 ? c / 12.92 : ((c + 0.055) / 1.055) ** 2.4);
    return 0.2126 * r + 0.7152 * g + 0.0722 * b;
  };
  const ground = (node) => {
    const colour = getComputedStyle(node).backgroundColor;
    return rgba(colour)[3] > 200 || !node.parentElement ? colour : ground(node.parentElement);
  };
  const found = [];
  const walk = document.createTreeWalker(document.body, NodeFilter.SHOW_TEXT);
  while (walk.nextNode()) {
    const node = walk.currentNode.parentElement;
    if (!walk.currentNode.data.trim() || !node.checkVisibility()) continue;
    const [a, b] = [light(getComputedStyle(node).color), light(ground(node))].sort((x, y) => y - x);
    const contrast = (a + 0.05) / (b + 0.05);
    if (contrast < 4.5) found.push(`${contrast.toFixed(2)} ${node.outerHTML}`);
  }
  return found;
})()
"""


def test_all_text_can_be_read(page: Page) -> None:
    """A contrast of 4.5 at least, which is WCAG's AA, in each view, light and dark."""
    for view in VIEWS:
        go(page, view)
        for scheme in ("light", "dark"):
            page.prefers(scheme)
            page.until(scheme, f"document.documentElement.dataset.theme === '{scheme}'")
            page.until("the end of transitions", "document.getAnimations().length === 0")
            assert (view, scheme, page.evaluate(_FAINT)) == (view, scheme, [])


def test_it_fits_a_telephone(page: Page) -> None:
    """360 pixels are enough: nothing is to be scrolled sideways."""
    page.size(360, 780)
    for view in VIEWS:
        go(page, view)
        wide = page.evaluate("document.documentElement.scrollWidth")
        assert (view, wide) == (view, 360)


_NAMELESS = """
[...document.querySelectorAll("a, button, input, select, summary")]
  .filter((each) => !(each.textContent.trim() || each.ariaLabel || each.labels?.length))
  .map((each) => each.outerHTML)
"""


def test_no_word_of_a_tab_is_broken_on_a_telephone(page: Page, site: Served) -> None:
    """They stand below each other instead."""
    page.size(390, 844)
    visit(page, site, "#/workload/Prometheus/monitoring/main")
    broken = "(one) => one.offsetHeight > 2 * parseFloat(getComputedStyle(one).lineHeight)"
    assert page.evaluate("document.querySelectorAll('.tabs a').length") > 2
    assert page.evaluate(f"[...document.querySelectorAll('.tabs a')].some({broken})") is False


def test_every_control_has_a_name_and_every_view_one_heading(page: Page) -> None:
    """What a reader of the screen needs."""
    for view in VIEWS:
        go(page, view)
        assert page.evaluate(_NAMELESS) == []
        assert page.evaluate("document.querySelectorAll('h1').length") == 1
        assert page.evaluate("document.querySelectorAll('th:not([scope])').length") == 0


def test_a_long_list_is_shown_page_by_page(browser: Browser, tmp_path: Path) -> None:
    """Whatever there is in all, at most a hundred rows are on the page; `n` and `p` turn it."""
    shutil.copy(EXAMPLE / "prometheus.yaml", tmp_path)
    (tmp_path / "many.yaml").write_text("---".join(MONITOR.format(each) for each in range(250)))
    rows = "document.querySelectorAll('tbody tr').length"
    with served(tmp_path) as site, faultless(browser, site) as page:
        visit(page, site, "#/search")
        page.says("1–100 of 250", ".pager")
        assert page.evaluate(rows) == 100
        page.press("n")
        page.says("101–200 of 250", ".pager")
        page.press("n")
        page.says("x/m-249", "tbody")
        assert page.evaluate(rows) == 50
        page.press("p")
        page.says("101–200 of 250", ".pager")
