"""The status page's answers, on directories of manifests; no value of a Secret is among them."""

import asyncio
import gzip
import json
import os
import socket
import subprocess
import sys
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any
from urllib.parse import quote

import aiohttp
import pytest
import yaml
from yarl import URL

from stoker.__main__ import main
from stoker.api.decode import convert
from stoker.api.monitors import ServiceMonitor
from stoker.cli.operator_settings import operator_settings
from stoker.errors import FieldError
from stoker.logs import logger
from stoker.offline.manifests import read
from stoker.offline.pages import DirectoryPages, desk_of
from stoker.offline.watched import Folder
from stoker.offline.world import world_of
from stoker.page.index import PageSearch
from stoker.settings import Capabilities, OperatorSettings
from stoker.web.door import OpenDoor
from stoker.web.gate import Gate, host_name
from stoker.web.page import PageServer
from tests.planning import decide
from tests.unit import page_world
from tests.unit.page_world import GROUP, Object, made

Ask = Callable[[str], Awaitable[Any]]
PLAIN = OperatorSettings()

SELECTING = {"serviceMonitorSelector": {"matchLabels": {"team": "shop"}}, "ruleSelector": {}}


def service_monitor(name: str, namespace: str = "shop", **endpoint: Any) -> Object:
    """A ServiceMonitor with one endpoint."""
    spec = {"selector": {"matchLabels": {"app": name}}, "endpoints": [{"port": "web", **endpoint}]}
    return made(GROUP, "ServiceMonitor", name, namespace, spec=spec)


def shop() -> list[Object]:
    """A Prometheus, and monitors that it uses, rejects and passes over."""
    everywhere = {**SELECTING, "serviceMonitorNamespaceSelector": {}, "version": "2.40.0"}
    spared = {**SELECTING, "serviceMonitorNamespaceSelector": {}}
    rules = {"groups": [{"name": "g", "rules": [{"record": "a:b", "expr": "sum(up)"}]}]}
    return [
        made(GROUP, "Prometheus", "main", "shop", spec=everywhere),
        made(GROUP, "Prometheus", "paused", "shop", spec={**spared, "paused": True}),
        service_monitor("cart"),
        service_monitor("cart.two", trackTimestampsStaleness=True),
        service_monitor("broken", relabelings=[{"action": "replace", "regex": "("}]),
        service_monitor("ledger", "payments"),
        made(GROUP, "PrometheusRule", "rules", "shop", spec=rules),
    ]


def write(path: Path, *objects: Object) -> None:
    """Write manifests into a file, which shows in its time."""
    path.write_text("".join(f"---\n{json.dumps(each)}\n" for each in objects))


@asynccontextmanager
async def serving(
    folder: Path, *hosts: str, settings: OperatorSettings = PLAIN
) -> AsyncIterator[str]:
    """The page of a folder; its address."""
    pages = DirectoryPages(str(folder), settings)
    server = PageServer(OpenDoor(pages), ("127.0.0.1", 0), hosts)
    await server.start()
    reading = asyncio.create_task(pages.run())
    try:
        yield server.url.rstrip("/")
    finally:
        reading.cancel()
        await server.stop()


def asked(
    folder: Path,
    question: Callable[[Ask], Awaitable[None]],
    settings: OperatorSettings = PLAIN,
) -> None:
    """Serve a folder, and ask; JSON answers are read."""

    async def run() -> None:
        opened = serving(folder, settings=settings)
        async with opened as url, aiohttp.ClientSession() as session:

            async def ask(path: str) -> Any:
                async with session.get(f"{url}{path}") as answer:
                    return await answer.json()

            await question(ask)

    asyncio.run(run())


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """A folder with the shop."""
    write(tmp_path / "shop.yaml", *shop())
    return tmp_path


# --- What it answers ------------------------------------------------------------------------------


def test_the_overview_tells_every_workload_and_counts_resources(folder: Path) -> None:
    """Each workload has a state, a headline and counts; resources are counted by state."""

    async def question(ask: Ask) -> None:
        found = await ask("/api/overview")
        assert found["source"] == {
            "kind": "directory",
            "name": f"{folder.name}/",
            "revision": 1,
            "note": "",
        }
        assert (found["state"], found["headline"]) == (
            "problem",
            "2 workloads of 2 need a look; of 5 resources 1 is rejected and 1 is not selected",
        )
        rows = {each["name"]: each for each in found["workloads"]}
        assert rows["main"]["state"] == "problem"
        assert rows["main"]["headline"] == "runs, but of 4 resources 1 is rejected"
        assert rows["main"]["counts"][0] == {
            "kind": "ServiceMonitor",
            "selected": 3,
            "rejected": 1,
            "note": "",
        }
        assert rows["paused"]["headline"].startswith("paused")
        assert found["resources"] == {
            "total": 5,
            "used": 3,
            "down": 0,
            "noTargets": 0,
            "rejected": 1,
            "held": 0,
            "unclear": 0,
            "notSelected": 1,
        }

    asked(folder, question)


def test_the_overview_names_fields_that_do_not_exist(folder: Path) -> None:
    """With the file and the line of the field; the first sentence counts the objects."""
    text = yaml.safe_dump(service_monitor("misspelt"))
    (folder / "misspelt.yaml").write_text(f"{text}  selektor: {{}}\n")
    line = text.count("\n") + 1

    async def question(ask: Ask) -> None:
        found = await ask("/api/overview")
        assert found["state"] == "problem"
        assert found["headline"].endswith("; 1 object has fields that do not exist")
        assert found["misspelt"] == [
            {
                "kind": "ServiceMonitor",
                "namespace": "shop",
                "name": "misspelt",
                "fields": ["spec.selektor"],
                "place": f"misspelt.yaml:{line}",
            }
        ]

    asked(folder, question)


def test_resources_are_found_by_words_kind_state_and_workload(folder: Path) -> None:
    """All words must occur in kind, namespace, name or values of labels; filters add up."""

    async def question(ask: Ask) -> None:
        async def names(query: str) -> list[str]:
            return [each["name"] for each in (await ask(f"/api/resources?{query}"))["items"]]

        assert await names("") == ["ledger", "broken", "cart", "cart.two", "rules"]
        assert await names("q=CART") == ["cart", "cart.two"]
        assert await names("q=two+servicemonitor") == ["cart.two"]
        assert await names("q=payments") == ["ledger"]
        assert await names("q=two+payments") == []
        assert await names("kind=PrometheusRule") == ["rules"]
        assert await names("state=rejected") == ["broken"]
        assert await names("state=not+selected") == ["ledger"]
        assert await names("offset=1&limit=2") == ["broken", "cart"]
        assert "ledger" not in await names("workload=Prometheus/shop/main")
        passed = await names("workload=Prometheus/shop/main&state=not+selected")
        assert passed == ["ledger"]

    asked(folder, question)


def test_a_list_says_why_and_how_many_there_are_of_each(folder: Path) -> None:
    """An item has the first reason; the numbers by state and kind are those before the filter."""

    async def question(ask: Ask) -> None:
        found = await ask("/api/resources?state=rejected")
        (item,) = found["items"]
        assert item["headline"].startswith("Prometheus shop/main: spec.endpoints[0].relabelings[0]")
        assert item["workloads"] == ["Prometheus shop/main", "Prometheus shop/paused"]
        assert found["total"] == 1
        assert found["states"] == {"used": 3, "rejected": 1, "not selected": 1}
        (passed,) = (await ask("/api/resources?state=not+selected"))["items"]
        assert "serviceMonitorSelector asks for" in passed["headline"]
        held = await ask("/api/resources?workload=Prometheus/shop/paused&state=held")
        assert {each["headline"] for each in held["items"]} == {"the workload is paused"}
        (two,) = (await ask("/api/resources?q=two"))["items"]
        assert two["ignored"] == 1

    asked(folder, question)


def counted(monitor: Object, *numbers: tuple[str, int, int]) -> ServiceMonitor:
    """A monitor whose status has the targets of workloads: name, discovered, healthy."""
    bindings = [
        {
            "group": "monitoring.coreos.com",
            "resource": "prometheuses",
            "namespace": "shop",
            "name": name,
            "targets": {"discovered": discovered, "healthy": healthy, "observedAt": "2026-01-02"},
        }
        for name, discovered, healthy in numbers
    ]
    return convert(ServiceMonitor, {**monitor, "status": {"bindings": bindings}})


def test_a_list_has_the_targets_that_statuses_count(folder: Path) -> None:
    """Of all workloads together, or of the one that is asked for; of one that is gone, not."""
    world = world_of(read([str(folder)]))
    counts = (("main", 5, 3), ("paused", 2, 2), ("gone", 7, 7))
    world.resources = [counted(service_monitor("cart"), *counts), counted(service_monitor("new"))]
    desk = desk_of(world, PLAIN, 1)

    def targets(workload: str) -> list[tuple[int, int] | None]:
        query = PageSearch(workload=workload)
        found = [each.targets for each in desk.items(query, desk.index.found(query))]
        return [(each.discovered, each.healthy) if each else None for each in found]

    assert targets("") == [(7, 5), None]
    assert targets("Prometheus shop/main") == [(5, 3), None]


def test_objects_are_explained_as_by_the_command(folder: Path) -> None:
    """A resource's page has the explanation with the job; a workload's has its list."""

    async def question(ask: Ask) -> None:
        cart = await ask("/api/resources/ServiceMonitor/shop/cart")
        assert cart["explanation"]["job"].startswith("- job_name: serviceMonitor/shop/cart/0\n")
        assert cart["labels"] == {"team": "shop"}
        main = await ask("/api/workloads/Prometheus/shop/main")
        assert main["explanation"]["headline"] == main["workload"]["headline"]
        assert main["explanation"]["rejected"][0].startswith("ServiceMonitor shop/broken: ")
        assert main["resources"]["total"] == 4

    asked(folder, question)


@pytest.mark.parametrize(("name", "known"), [("state", "no targets"), ("kind", "PodMonitor")])
def test_a_filter_that_there_is_not_is_refused(folder: Path, name: str, known: str) -> None:
    """An empty list would look as if there were nothing; what there is, is found."""

    async def question(ask: Ask) -> None:
        told = (await ask(f"/api/resources?{name}=bogus"))["error"]
        assert told.startswith(f"there is no {name} `bogus`: ")
        assert known in told
        assert "items" in await ask(f"/api/resources?{name}={quote(known)}")

    asked(folder, question)


def test_what_is_not_there_is_answered_with_what_was_meant(folder: Path) -> None:
    """A missing object or kind is a sentence, and the nearest name."""

    async def question(ask: Ask) -> None:
        assert await ask("/api/resources/ServiceMonitor/shop/crat") == {
            "error": "there is no ServiceMonitor shop/crat; did you mean shop/cart?",
            "meant": "shop/cart",
        }
        assert (await ask("/api/workloads/Promethes/shop/main"))["meant"] == "Prometheus"
        part = await ask("/api/workloads/Prometheus/shop/main/configuration/part?title=x")
        assert part["error"] == "the configuration has no part x"
        assert (await ask("/api/resources?offset=x"))["error"].startswith("offset must be")

    asked(folder, question)


def test_the_parts_joined_are_the_configuration(folder: Path) -> None:
    """Sections and resources, in their order, are what Prometheus gets; rules come after it."""
    world = world_of(read([str(folder)]))
    workload = next(each for each in world.workloads if each.metadata.name == "main")
    facts = Capabilities()
    wanted = decide(workload, world.resources, world.namespaces, world.assets, facts).text

    async def question(ask: Ask) -> None:
        found = await ask("/api/workloads/Prometheus/shop/main/configuration")
        *parts, rules = found["parts"]
        assert "".join(each["text"] for each in parts) == wanted
        assert rules["title"] == "prometheusRule/shop/rules"
        assert "record: a:b" in rules["text"]
        cart = next(each for each in parts if each["title"] == "serviceMonitor/shop/cart")
        assert cart["resource"] == {"kind": "ServiceMonitor", "namespace": "shop", "name": "cart"}
        assert cart["lines"] == cart["text"].count("\n")
        alone = await ask(
            "/api/workloads/Prometheus/shop/main/configuration/part?title=serviceMonitor/shop/cart"
        )
        assert alone == cart
        rest = await ask("/api/workloads/Prometheus/shop/main/configuration?offset=2&limit=1")
        assert (rest["total"], [each["title"] for each in rest["parts"]]) == (
            len(parts) + 1,
            [parts[2]["title"]],
        )

    asked(folder, question)


def test_a_monitor_that_is_kept_as_a_scrape_config_is_shown_as_one(tmp_path: Path) -> None:
    """Its part is what Prometheus scrapes then; with the words of Secrets still only named."""
    page_world.write(tmp_path)

    async def question(ask: Ask) -> None:
        path = "/api/workloads/Prometheus/shop/main/configuration/part"
        part = await ask(f"{path}?title=serviceMonitor/shop/basic")
        assert part["resource"]["kind"] == "ServiceMonitor"
        assert part["text"].startswith("- job_name: scrapeConfig/shop/")
        assert "password: <Secret shop/all, key password>" in part["text"]
        await _crawl(ask)

    asked(tmp_path, question, OperatorSettings(consolidate_monitors=True))


def test_long_parts_and_late_ones_have_no_text(tmp_path: Path) -> None:
    """An answer stays small: text that is long, or beyond the first fifty, is asked for alone."""
    steps = [{"action": "labeldrop", "regex": f"r{number}"} for number in range(210)]
    many = [service_monitor(f"m{number:03}") for number in range(60)]
    long = service_monitor("along", relabelings=steps)
    prometheus = made(GROUP, "Prometheus", "main", "shop", spec=SELECTING)
    write(tmp_path / "all.yaml", prometheus, long, *many)

    async def question(ask: Ask) -> None:
        found = await ask("/api/workloads/Prometheus/shop/main/configuration")
        parts = {each["title"]: each for each in found["parts"]}
        assert parts["serviceMonitor/shop/along"]["text"] is None
        assert parts["serviceMonitor/shop/along"]["lines"] > 400
        assert parts["serviceMonitor/shop/m000"]["text"]
        assert parts["serviceMonitor/shop/m059"]["text"] is None
        assert parts["serviceMonitor/shop/m059"]["lines"] > 10
        path = "/api/workloads/Prometheus/shop/main/configuration/part"
        alone = await ask(f"{path}?title=serviceMonitor/shop/along")
        assert alone["text"].count("\n") == alone["lines"]

    asked(tmp_path, question)


def test_what_was_refused_is_told_and_can_be_asked_for(folder: Path) -> None:
    """A manifest that a cluster would not take is a problem with its place, and has a page."""
    wrong = service_monitor("wrong")
    wrong["spec"]["endpoints"] = "none"
    write(
        folder / "wrong.yaml", wrong, made(GROUP, "Prometheus", "bad", "shop", spec={"shards": "x"})
    )

    async def question(ask: Ask) -> None:
        problems = (await ask("/api/overview"))["problems"]
        subjects = [(each["source"], each["subject"]) for each in problems]
        assert subjects == [
            ("wrong.yaml:2", "ServiceMonitor shop/wrong"),
            ("wrong.yaml:4", "Prometheus shop/bad"),
        ]
        found = await ask("/api/resources/ServiceMonitor/shop/wrong")
        assert found["explanation"]["headline"].startswith("not valid: spec.endpoints")
        found = await ask("/api/workloads/Prometheus/shop/bad")
        assert found["workload"]["headline"].startswith("not valid: spec.shards")

    asked(folder, question)


# --- Secrets --------------------------------------------------------------------------------------


def test_nothing_from_a_secret_is_in_any_answer(tmp_path: Path) -> None:
    """One word is in every place where a Secret may be referred to; no answer has it."""
    page_world.write(tmp_path)
    asked(tmp_path, _crawl)


async def _crawl(ask: Ask) -> None:
    overview = await ask("/api/overview")
    listed = await ask("/api/resources?limit=500")
    assert overview["resources"]["used"] > 25
    assert overview["resources"]["rejected"] >= 5
    paths = [_path("resources", each) for each in listed["items"]]
    workloads = [_path("workloads", each) for each in overview["workloads"]]
    paths += workloads
    for each in workloads:
        shown = await ask(f"{each}/configuration?limit=500")
        paths.append(f"{each}/configuration?limit=500")
        titles = [quote(part["title"]) for part in shown["parts"]]
        paths += [f"{each}/configuration/part?title={title}" for title in titles]
    answers = [json.dumps([overview, listed])]
    answers += [json.dumps(await ask(path)) for path in paths]
    whole = "\n".join(answers)
    assert page_world.WORD not in whole.lower()
    assert page_world.ENCODED not in whole
    assert "<Secret shop/all, key token>" in whole
    assert "slack_configs" in whole
    assert "not shown: it is in Secret shop/own, key jobs" in whole
    assert "cannot be shown without" not in whole


def _path(room: str, each: Object) -> str:
    return f"/api/{room}/{each['kind']}/{each['namespace']}/{each['name']}"


# --- Over HTTP ------------------------------------------------------------------------------------


def status_of(folder: Path, path: str = "/api/overview", **request: Any) -> tuple[int, Any, bytes]:
    """What one request is answered with: status, headers, body as sent."""
    method = request.pop("method", "GET")

    async def run() -> tuple[int, Any, bytes]:
        closed = aiohttp.ClientSession(auto_decompress=False)
        async with serving(folder, "page.example") as url, closed as session:
            whole = URL(f"{url}{path}", encoded=True)
            async with session.request(method, whole, **request) as answer:
                return answer.status, answer.headers, await answer.read()

    return asyncio.run(run())


@pytest.mark.parametrize(
    ("host", "status"),
    [
        ("localhost:8095", 200),
        ("127.0.0.1", 200),
        ("[::1]:8095", 200),
        ("page.example", 200),
        ("PAGE.example:80", 200),
        ("evil.example", 403),
        ("localhost.evil.example", 403),
        ("10.0.0.1", 403),
        ("", 403),
        ("LOCALHOST.", 200),
        ("page.example.:80", 200),
        ("127.0.0.1:", 200),
        ("[::1]", 200),
        ("[0:0:0:0:0:0:0:1]:8095", 200),
        ("[::1].evil.example", 403),
        ("[::1]evil.example:8095", 403),
        ("[::1]:8095.evil.example", 403),
        ("[::1", 403),
        ("[[::1]]", 403),
        ("[::1%25lo]", 403),
        ("[127.0.0.1]", 403),
        ("[localhost]", 403),
        ("[]", 403),
        ("::1", 403),
        ("localhost:80:evil.example", 403),
        ("localhost:evil", 403),
        ("localhost:8095@evil.example", 403),
        ("evil.example@localhost", 403),
        ("localhost#.evil.example", 403),
        ("localhost/evil", 403),
        ("localhost%2eevil.example", 403),
        ("localhost, evil.example", 403),
        ("localhost evil.example", 403),
        ("localhost..", 403),
        (".localhost", 403),
        ("evil..localhost", 403),
        ("127.0.0.1.evil.example", 403),
        ("127.1", 403),
        ("0x7f.0.0.1", 403),
        ("0177.0.0.1", 403),
        ("2130706433", 403),
        ("a" * 300 + ".localhost", 403),
    ],
)
def test_only_local_names_are_answered(folder: Path, host: str, status: int) -> None:
    """A site whose name was made to point here is refused, whatever it asks for."""
    found, _, body = status_of(folder, headers={"Host": host})
    assert found == status
    assert (b"workloads" in body) == (status == 200)


@pytest.mark.parametrize(
    ("host", "name"),
    [
        ("ⅼocalhost", ""),
        ("localhost\u3002", ""),
        ("１２７.0.0.1", ""),
        ("loc\u212alhost", ""),
        ("localhost\n", ""),
        ("localhost\r\nX: y", ""),
        ("\tlocalhost", ""),
        ("localhost\x00", ""),
        ("localhost:٨٠", ""),
        ("[FE80::1]:1", "fe80::1"),
        ("Page.Example.", "page.example"),
    ],
)
def test_the_name_in_a_host_header_is_plain_or_none(host: str, name: str) -> None:
    """Letters that only look like ours, or that no client may send, make no name."""
    assert host_name(host) == name


def test_two_host_headers_are_none() -> None:
    """Who stands between may have looked at the other one."""
    gate = Gate((), logger("page"))
    assert gate.is_local(["localhost"])
    assert not any(map(gate.is_local, ([], ["localhost"] * 2, ["localhost", "evil.example"])))


@pytest.mark.parametrize("method", ["POST", "PUT", "DELETE", "PATCH", "OPTIONS"])
def test_the_page_can_only_be_read(folder: Path, method: str) -> None:
    """Any other method is refused, and says which are allowed."""
    status, headers, _ = status_of(folder, method=method)
    assert (status, headers["Allow"]) == (405, "GET, HEAD")


@pytest.mark.parametrize(
    "path", ["/../page.py", "/%2e%2e/page.py", "/js/..%2f..%2fpage.py", "/..%5cpage.py", "//etc/x"]
)
def test_nothing_outside_of_the_page_is_served(folder: Path, path: str) -> None:
    """A path that leads out of the folder of the page leads nowhere."""
    status, _, body = status_of(folder, path)
    assert status == 404
    assert b"import" not in body


@pytest.mark.parametrize("path", ["/", "/api/overview", "/api/nowhere", "/api/events"])
def test_every_answer_keeps_browsers_at_home(folder: Path, path: str) -> None:
    """Nothing is loaded from elsewhere, nothing is guessed, nobody may frame it."""
    _, headers, _ = status_of(folder, path, method="HEAD")
    assert headers["Content-Security-Policy"].startswith("default-src 'self';")
    assert headers["X-Content-Type-Options"] == "nosniff"


def test_the_page_itself_is_there(folder: Path) -> None:
    """The files of the page come with the package, with their types."""
    status, headers, body = status_of(folder, "/")
    assert (status, headers["Content-Type"]) == (200, "text/html; charset=utf-8")
    assert b"<html" in body.lower()


def test_a_large_answer_is_compressed_and_a_small_one_is_not(tmp_path: Path) -> None:
    """Browsers that take gzip get it, where it is worth it."""
    write(tmp_path / "all.yaml", *(service_monitor(f"m{number}") for number in range(60)))
    accepting = {"Accept-Encoding": "gzip"}
    _, headers, body = status_of(tmp_path, "/api/resources", headers=accepting)
    assert headers["Content-Encoding"] == "gzip"
    assert json.loads(gzip.decompress(body))["total"] == 60
    _, headers, _ = status_of(tmp_path, "/api/resources?limit=1", headers=accepting)
    assert "Content-Encoding" not in headers


def test_an_answer_that_did_not_change_is_not_sent_again(folder: Path) -> None:
    """The tag of an answer is good as long as nothing changed."""

    async def run() -> None:
        async with serving(folder) as url, aiohttp.ClientSession() as session:
            async with session.get(f"{url}/api/overview") as first:
                await first.read()
            async with session.get(f"{url}/api/overview") as second:
                tag = second.headers["ETag"]
            again = {"If-None-Match": tag}
            async with session.get(f"{url}/api/overview", headers=again) as third:
                assert (third.status, await third.read()) == (304, b"")

    asyncio.run(run())


# --- While files change ---------------------------------------------------------------------------


def test_a_change_is_told_to_open_pages(folder: Path) -> None:
    """The first news come at once, the next when a file was written."""

    async def run() -> None:
        async with serving(folder) as url, aiohttp.ClientSession() as session:
            async with session.get(f"{url}/api/overview") as answer:
                assert (await answer.json())["resources"]["total"] == 5
            async with session.get(f"{url}/api/events") as events:
                assert await _news(events) == 1
                write(folder / "more.yaml", service_monitor("late"))
                assert await _news(events) == 2
            async with session.get(f"{url}/api/overview") as answer:
                assert (await answer.json())["resources"]["total"] == 6

    asyncio.run(run())


async def _news(events: aiohttp.ClientResponse) -> int:
    async with asyncio.timeout(20):
        assert await events.content.readline() == b"event: revision\n"
        data = await events.content.readline()
        assert await events.content.readline() == b"\n"
    return int(data.removeprefix(b"data: "))


def test_only_what_changed_is_read_again(folder: Path) -> None:
    """A look without changes reads nothing; one file is read alone."""
    write(folder / "more.yaml", service_monitor("more"))
    watched = Folder(str(folder))
    assert watched.look()
    assert watched.read_files == 2
    assert not watched.look()
    write(folder / "more.yaml", service_monitor("more"), service_monitor("another"))
    assert watched.look()
    assert watched.read_files == 3
    os.remove(folder / "more.yaml")
    assert watched.look()
    assert len(watched.world()[0].resources) == 5


def test_a_half_written_file_keeps_what_it_held(folder: Path) -> None:
    """While a file cannot be read, what it held last is shown, and the problem with its line."""
    watched = Folder(str(folder))
    watched.look()
    (folder / "shop.yaml").write_text("a: b\nc: [")
    assert watched.look()
    world, (problem,) = watched.world()
    assert len(world.resources) == 5
    assert problem.source.startswith("shop.yaml:")
    assert problem.reasons[-1] == "what the file held before is still shown"
    write(folder / "shop.yaml", service_monitor("only"))
    assert watched.look()
    world, problems = watched.world()
    assert (len(world.resources), problems) == (1, ())


def test_of_an_object_that_is_there_twice_the_last_counts(folder: Path) -> None:
    """Two manifests of one object are told, and do not count twice."""
    write(folder / "z.yaml", service_monitor("cart", path="/other"))
    watched = Folder(str(folder))
    watched.look()
    world, (problem,) = watched.world()
    assert problem.subject == "ServiceMonitor shop/cart"
    found = [each for each in world.resources if each.metadata.name == "cart"]
    assert [yaml.safe_dump(each.spec.endpoints[0].path) for each in found] == ["/other\n...\n"]  # type: ignore[union-attr]


# --- The command ----------------------------------------------------------------------------------


def test_serve_ends_in_order_and_says_where_it_is(folder: Path) -> None:
    """It prints its address, and Ctrl-C is no failure."""
    command = [sys.executable, "-m", "stoker", "serve", str(folder), "--address", "127.0.0.1:0"]
    with subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE) as process:
        assert process.stdout is not None
        assert process.stderr is not None
        line = process.stdout.readline().decode()
        assert "is shown at http://127.0.0.1:" in line
        process.send_signal(2)
        assert process.wait(20) == 0
        assert process.stderr.read() == b""


def test_a_broken_request_is_one_line_in_the_log(folder: Path) -> None:
    """Whoever serves a folder sees what happened, and no traceback over many lines."""
    command = [sys.executable, "-m", "stoker", "serve", str(folder), "--address", "127.0.0.1:0"]
    with subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE) as process:
        assert process.stdout is not None
        assert process.stderr is not None
        port = int(process.stdout.readline().split(b"127.0.0.1:")[1].split(b"/")[0])
        with socket.create_connection(("127.0.0.1", port)) as connection:
            connection.sendall(b"GET / HTTP/1.1\r\nHost: a\r\nHost: b\r\n\r\n")
            assert b" 400 " in connection.recv(4096)
        process.send_signal(2)
        assert process.wait(20) == 0
        (line,) = process.stderr.read().splitlines()
        assert b"level=error" in line


def test_serve_says_in_a_sentence_why_it_cannot(
    folder: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """A port that is taken, an address that is none, a folder that is not there."""

    async def taken() -> str:
        async with serving(folder) as url:
            port = url.rpartition(":")[2]
            arguments = ["serve", str(folder), "--address", f"127.0.0.1:{port}"]
            assert await asyncio.to_thread(main, arguments) == 2
            return port

    port = asyncio.run(taken())
    said = f"stoker serve: cannot listen on 127.0.0.1:{port}: address already in use"
    assert capsys.readouterr().err == f"{said}; name another place with --address\n"
    assert main(["serve", str(folder), "--address", "nowhere"]) == 2
    assert "--address: `nowhere` is not of the form" in capsys.readouterr().err
    assert main(["serve", str(folder / "missing")]) == 2
    assert "there is no such folder" in capsys.readouterr().err


def test_the_operator_can_serve_it_elsewhere_or_nowhere() -> None:
    """Flags say where the page is, and by which names it may be asked for."""
    assert operator_settings([]).page.address == ("127.0.0.1", 8095)
    assert operator_settings(["--status-page-address="]).page.address is None
    settings = operator_settings(
        ["--status-page-address=:9000", "--status-page-host=a.example,B.example"]
    )
    assert settings.page.address == ("", 9000)
    assert settings.page.hosts == ("a.example", "b.example")
    with pytest.raises(FieldError, match="--status-page-host: `no name` is not the name"):
        operator_settings(["--status-page-host=no name"])


def test_a_configuration_that_is_not_yaml_is_not_quoted(tmp_path: Path) -> None:
    """What is wrong with a text in a Secret is told by its place alone."""
    page_world.write(tmp_path)

    async def question(ask: Ask) -> None:
        broken = await ask("/api/workloads/Alertmanager/shop/broken")
        said = "spec.configSecret: alertmanager.yaml: is not YAML: see line 1, column 14"
        assert broken["explanation"]["headline"] == f"not reconciled: {said}"

    asked(tmp_path, question)
