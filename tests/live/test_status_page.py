"""The status page of a running operator: what it kept of its work, and nothing of Secrets."""

from __future__ import annotations

import json
import re
import urllib.error
import urllib.request
from typing import Any

import pytest

from tests.builders import prometheus, resource, secret, service_monitor, thanos_ruler
from tests.live.operating import Object, Running, World
from tools.waiting import until

WORD = "canary-7f3a"
_URL = re.compile(r"the status page is ready.* url=(\S+)/")
_VALUES = {"user": WORD, "password": WORD, "jobs": f"- job_name: {WORD}\n"}
_SECRET: Object = secret("login", _VALUES)


class Page:
    """The page of an operator."""

    def __init__(self, operator: Running) -> None:
        found = until("the page", lambda: _URL.search(operator.log()))
        self.url = found[1] if found else ""
        self.seen: list[str] = []

    def ask(self, path: str) -> Any:
        """An answer."""
        with urllib.request.urlopen(f"{self.url}/api/{path}", timeout=30) as answer:
            self.seen.append(answer.read().decode())
        return json.loads(self.seen[-1])


def started(world: World, address: str = "127.0.0.1:0", *more: str) -> Running:
    """An operator for the test's namespace with its page there."""
    flags = (f"--namespaces={world.namespace}", f"--status-page-address={address}")
    return Running.start(world.cluster, *flags, *more)


def basic_auth(name: str) -> Object:
    """Credentials from a Secret."""
    return {
        "username": {"name": name, "key": "user"},
        "password": {"name": name, "key": "password"},
    }


def put_shop(world: World) -> None:
    """A Prometheus, and monitors that it uses, rejects and passes over."""
    jobs = {"name": "login", "key": "jobs"}
    elsewhere = service_monitor("elsewhere")
    elsewhere["metadata"]["labels"] = {"team": "payments"}
    chosen = {"matchExpressions": [{"key": "team", "operator": "DoesNotExist"}]}
    world.put(
        _SECRET,
        prometheus("main", serviceMonitorSelector=chosen, additionalScrapeConfigs=jobs),
        service_monitor("cart", basicAuth=basic_auth("login")),
        service_monitor("broken", basicAuth=basic_auth("missing")),
        elsewhere,
    )


def test_the_page_shows_what_the_operator_made_of_everything(world: World) -> None:
    """States, explanations and configurations are those of the operator; Secrets stay unseen.

    A replica that does not lead says who does, and shows what that one wrote into statuses. A port
    that is taken is no reason not to work.
    """
    put_shop(world)
    with started(world) as operator:
        page = Page(operator)
        world.until(
            "verdicts",
            lambda: page.ask("overview")["resources"]["rejected"] == 1,
        )
        _check_lists(page, world)
        _check_details(page, world)
        _check_news(page, world)
        assert not any(WORD in each for each in page.seen)
        with started(world, page.url.removeprefix("http://")) as other:
            until("a word of it", lambda: "there is no status page" in other.log())
        with started(world) as standby:
            _check_standby(Page(standby), world)


def _check_lists(page: Page, world: World) -> None:
    overview = page.ask("overview")
    assert overview["source"]["kind"] == "cluster"
    assert overview["source"]["note"] == ""
    (row,) = overview["workloads"]
    assert (row["name"], row["state"]) == ("main", "problem")
    assert row["counts"][0]["selected"] == 2
    items = {each["name"]: each for each in page.ask("resources")["items"]}
    states = {name: each["state"] for name, each in items.items()}
    assert states == {"cart": "used", "broken": "rejected", "elsewhere": "not selected"}
    assert f"there is no Secret {world.namespace}/missing" in items["broken"]["headline"]
    assert "serviceMonitorSelector asks for" in items["elsewhere"]["headline"]


def _check_details(page: Page, world: World) -> None:
    here = world.namespace
    cart = page.ask(f"resources/ServiceMonitor/{here}/cart")["explanation"]
    assert f"username: <Secret {here}/login, key user>" in cart["job"]
    assert cart["headline"].startswith("selected, but")
    workload = f"workloads/Prometheus/{here}/main"
    assert page.ask(workload)["resources"]["total"] == 2
    parts = page.ask(f"{workload}/configuration")["parts"]
    texts = {each["title"]: each["text"] for each in parts}
    assert f"password: <Secret {here}/login, key password>" in texts[f"serviceMonitor/{here}/cart"]
    assert texts["additional"].startswith("# not shown: it is in Secret")
    with pytest.raises(urllib.error.HTTPError) as refused:
        page.ask(f"resources/ServiceMonitor/{here}/crat")
    with refused.value as error:
        assert json.loads(error.read())["meant"] == f"{here}/cart"


def _check_news(page: Page, world: World) -> None:
    with urllib.request.urlopen(f"{page.url}/api/events", timeout=30) as events:
        lines = [events.readline() for _ in range(3)]
        assert lines[0] == b"event: revision\n"
        world.put(service_monitor("late"))
        # Something is said in a long silence, too.
        assert b"event: revision\n" in iter(events.readline, b"")
    world.until("it to be shown", lambda: page.ask("resources?q=late&state=used")["total"] == 1)


def _check_standby(page: Page, world: World) -> None:
    overview = page.ask("overview")
    assert overview["source"]["note"].startswith("another replica leads: ")

    def states() -> list[str]:
        found = {each["name"]: each["state"] for each in page.ask("resources")["items"]}
        return [found["cart"], found["broken"]]

    world.until("statuses", lambda: states() == ["used", "rejected"])
    parts = page.ask(f"workloads/Prometheus/{world.namespace}/main/configuration")["parts"]
    assert any("basic_auth" in (each["text"] or "") for each in parts)
    assert not any(WORD in each for each in page.seen)


def test_a_monitor_that_is_kept_as_a_scrape_config_is_shown_as_one(world: World) -> None:
    """As soon as the operator has written it, for then Prometheus scrapes that."""
    put_shop(world)
    with started(world, "127.0.0.1:0", "--consolidate-monitors") as operator:
        page, here = Page(operator), world.namespace
        path = f"workloads/Prometheus/{here}/main/configuration/part"
        world.until("verdicts", lambda: page.ask("overview")["resources"]["rejected"] == 1)

        def stands_in() -> str:
            text: str = page.ask(f"{path}?title=serviceMonitor/{here}/cart")["text"]
            assert text.startswith(f"- job_name: scrapeConfig/{here}/")
            return text

        text = world.until("the ScrapeConfig to be shown", stands_in)
        assert f"password: <Secret {here}/login, key password>" in text
        assert not any(WORD in each for each in page.seen)


def test_the_page_says_what_the_conditions_say(world: World) -> None:
    """Of a workload that cannot be built, and of what it selects; and of two operators on one."""
    here = world.namespace
    rules = [{"record": "a:b", "expr": "sum(up)"}]
    world.put(
        thanos_ruler("ruler", queryEndpoints=[]),
        resource("PrometheusRule", "cart", {"groups": [{"name": "g", "rules": rules}]}),
        prometheus("main"),
    )
    with started(world) as operator:
        page = Page(operator)

        def message() -> str:
            """What the operator says in the status of the ThanosRuler."""
            conditions = (world.get("thanosrulers", "ruler") or {})["status"]["conditions"]
            (said,) = (each for each in conditions if each["type"] == "Reconciled")
            assert said["status"] == "False"
            return str(said["message"])

        said = world.until("the condition", message)
        assert said.startswith("spec.queryEndpoints: ")

        def shown() -> bool:
            own = page.ask(f"workloads/ThanosRuler/{here}/ruler")
            (item,) = own["resources"]["items"]
            its: str = page.ask(f"resources/PrometheusRule/{here}/cart")["explanation"]["headline"]
            assert own["explanation"]["headline"] == f"not reconciled: {said}"
            assert item["state"] == "held"
            assert item["headline"] == f"the workload is not reconciled: {said}"
            return its.endswith(f"the workload is not reconciled: {said}")

        world.until("the page to say so", shown)
        _check_rivals(page, world)


def _check_rivals(page: Page, world: World) -> None:
    """What another operator writes into a status is seen without further rights."""
    main = f"workloads/Prometheus/{world.namespace}/main"

    def written() -> bool:
        fields = (world.get("prometheuses", "main") or {})["metadata"]["managedFields"]
        return any(each["manager"] == "stoker" for each in fields)

    world.until("our status", written)
    assert "both write" not in page.ask(main)["explanation"]["headline"]
    status = (world.get("prometheuses", "main") or {})["status"]
    world.put_status(prometheus("main"), "PrometheusOperator", paused=status["paused"])

    def told() -> bool:
        headline: str = page.ask(main)["explanation"]["headline"]
        return headline.startswith("PrometheusOperator and stoker both write its status")

    world.until("the other operator", told)
    rows = {each["name"]: each["state"] for each in page.ask("overview")["workloads"]}
    assert rows["main"] == "problem"
