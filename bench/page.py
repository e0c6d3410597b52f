"""The status page with many resources, in a real Chromium.

A folder of ServiceMonitors, half of them with a Service and a Deployment, is shown by
`stoker serve`; a browser opens it, and a person searches. The first search is told apart from the
others: that is when the server has most to do.
"""

import argparse
import json
import statistics
import tempfile
import time
from collections.abc import Iterable
from pathlib import Path
from typing import Any, Final

from bench.process import cpu_seconds, memory_of
from bench.world import NAMESPACES, monitor
from tools.browser import Browser, Page
from tools.served import served
from tools.waiting import until

_FILE: Final = 100
_WORDS: Final = ("service-77", "team-3 service", "web", "service-1234", "monitor 999", "team-12")
_WORKLOAD: Final = {
    "apiVersion": "monitoring.coreos.com/v1",
    "kind": "Prometheus",
    "metadata": {"name": "main", "namespace": "monitoring"},
    "spec": {
        "version": "v3.5.0",
        "serviceMonitorSelector": {},
        "serviceMonitorNamespaceSelector": {},
    },
}


def arguments(parser: argparse.ArgumentParser) -> None:
    """Declare the options."""
    parser.add_argument(
        "--page-resources", type=int, default=10_000, help="resources on the page (10000)"
    )


def report(options: argparse.Namespace) -> bool:
    """Measure and print; there is no goal to miss."""
    with tempfile.TemporaryDirectory() as scratch, Browser.start() as browser:
        _write(Path(scratch), options.page_resources)
        began = time.monotonic()
        with served(Path(scratch)) as site, browser.page() as page:
            page.goto(site.url)
            _until_read(page, options.page_resources)
            figures = {"from nothing to an overview of all": time.monotonic() - began}
            figures |= _opened(browser, site.url)
            figures |= _searched(page)
            _print(options.page_resources, figures)
            memory, cpu = memory_of(site.process), cpu_seconds(site.process)
            told = f"{memory['rss']:.0f} MiB (most: {memory['peak']:.0f}), {cpu:.1f} s of CPU"
            print(f"{'the server uses':<44}{told}")
    return True


# --- The folder -----------------------------------------------------------------------------------


def _write(folder: Path, number: int) -> None:
    names = (f"team-{each}" for each in range(NAMESPACES))
    spaces = [{"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": n}} for n in names]
    (folder / "main.yaml").write_text(_documents([_WORKLOAD, *spaces]))
    for start in range(0, number, _FILE):
        objects = [each for n in range(start, min(start + _FILE, number)) for each in _service(n)]
        (folder / f"services-{start}.yaml").write_text(_documents(objects))


def _documents(objects: Iterable[dict[str, Any]]) -> str:
    """JSON is YAML."""
    return "\n---\n".join(map(json.dumps, objects))


def _service(number: int) -> list[dict[str, Any]]:
    found = monitor(number)
    if number % 2:
        return [found]
    name, labels = found["metadata"]["name"], {"app.kubernetes.io/name": f"service-{number}"}
    metadata = {"name": name, "namespace": found["metadata"]["namespace"], "labels": labels}
    ports = [{"name": "web", "port": 80}, {"name": "sidecar", "port": 81}]
    containers = [{"name": "app", "ports": [{"name": "web", "containerPort": 80}]}]
    template = {"metadata": {"labels": labels}, "spec": {"containers": containers}}
    service = {"apiVersion": "v1", "kind": "Service", "metadata": metadata}
    deployment = {"apiVersion": "apps/v1", "kind": "Deployment", "metadata": metadata}
    return [
        found,
        service | {"spec": {"selector": labels, "ports": ports}},
        deployment | {"spec": {"replicas": 2, "template": template}},
    ]


# --- What is measured -----------------------------------------------------------------------------


def _until_read(page: Page, number: int) -> None:
    """Wait until the page counts all of them."""
    told = f"{number:,}"
    until("the overview", lambda: told in page.text(".totals"), 600)


_ROWS: Final = """
new Promise((done) => {
  const look = () => document.querySelector("tbody tr")
    ? requestAnimationFrame(() => done(performance.now())) : setTimeout(look, 1);
  look();
})
"""
_PAINT: Final = "performance.getEntriesByName('first-contentful-paint')[0]?.startTime"


def _opened(browser: Browser, url: str) -> dict[str, float]:
    """A browser that was never here opens the list of all resources."""
    paints, rows = [], []
    for _ in range(5):
        with browser.page() as page:
            page.goto(f"{url}#/search")
            rows.append(page.evaluate(_ROWS) / 1000)
            paints.append(page.until("the first paint", _PAINT) / 1000)
    return {
        "first contentful paint, median of 5": statistics.median(paints),
        "the rows of a list, median of 5": statistics.median(rows),
    }


_WATCH: Final = """
addEventListener("keydown", () => { window.pressed = performance.now(); });
new MutationObserver(() => { window.changed = performance.now(); })
  .observe(document.querySelector("main"), {subtree: true, childList: true, characterData: true});
"""


def _searched(page: Page) -> dict[str, float]:
    """From the last letter of some words to the results, the page's own wait for more included."""
    page.evaluate(_WATCH)
    times = []
    for words in _WORDS:
        page.press("Escape", "/", *words)
        page.says(f"for “{words}”", ".total")
        times.append(page.evaluate("(window.changed - window.pressed) / 1000"))
    return {
        "the first search, letter to results": times[0],
        "a search, letter to results, median": statistics.median(times[1:]),
        "a search, letter to results, worst": max(times[1:]),
    }


def _print(number: int, figures: dict[str, float]) -> None:
    print(f"\nthe status page with {number:,} resources")
    for name, seconds in figures.items():
        print(f"{name:<44}{seconds * 1000:>8.0f} ms")
