"""The page with a login: real tokens, real roles, and a real browser.

Three namespaces: `team` has monitors, `central` a Prometheus that selects those of all, and `other`
has things of which nobody else may hear: each of its names has a word in it that is looked for.
"""

from __future__ import annotations

import json
import os
import re
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any, NamedTuple
from urllib.parse import quote

import pytest

from tests.builders import prometheus, resource, service_monitor
from tests.live.installing import kustomized, overlay
from tests.live.operating import Object, Running, World
from tests.live.rights import allow, kubeconfig_of, roles_in
from tests.live.test_status_page import Page as Address
from tests.live.visitors import Reply, Visitor, bearer, fetched
from tools.browser import Browser, found
from tools.cluster import Cluster
from tools.waiting import until

WORD = "canary5e1"
USER = "stoker-with-page"
EVERY = (
    "prometheuses", "prometheusagents", "alertmanagers", "thanosrulers", "servicemonitors",
    "podmonitors", "probes", "scrapeconfigs", "prometheusrules", "alertmanagerconfigs",
)  # fmt: skip
TITLES = ("global", "scrape_configs", f"serviceMonitor/x/ledger-{WORD}")


class Place(NamedTuple):
    """An operator with a login, and its three namespaces."""

    url: str
    team: World
    central: World
    other: World

    def asked(self, path: str, *headers: tuple[str, str]) -> Reply:
        """An answer."""
        return fetched(f"{self.url}/api/{path}", headers)


@pytest.fixture(scope="module")
def config(crds: Cluster, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A kubeconfig with the rights of `deploy/cluster` and `deploy/page`, and no others."""
    folder = tmp_path_factory.mktemp("page")
    roles = roles_in(kustomized(overlay(folder, "cluster", "page")))
    allow(crds, USER, [rule for rules in roles.values() for rule in rules])
    return kubeconfig_of(crds, crds.url, USER, folder)


@pytest.fixture
def place(crds: Cluster, config: Path, new_namespace: Callable[[], str]) -> Iterator[Place]:
    """An operator for three namespaces of this test, which has looked at all there is."""
    worlds = [World(crds, new_namespace()) for _ in range(3)]
    _furnish(*worlds)
    names = f"--namespaces={','.join(each.namespace for each in worlds)}"
    flags = (names, "--page-auth=kubernetes", "--leader-election-id=stoker-operator")
    with Running.start(crds, *flags, kubeconfig=config) as operator:
        made = Place(Address(operator).url, *worlds)
        admin = bearer(crds.token)

        def judged() -> bool:
            overview = made.asked("overview", admin).json
            return bool(overview["resources"]["rejected"] == 2 and overview["resources"]["used"])

        until("verdicts", judged)
        yield made


_NONE: Object = {"matchLabels": {"of": "nobody"}}


def _furnish(team: World, central: World, other: World) -> None:
    everywhere: Object = {"serviceMonitorNamespaceSelector": {}, "ruleNamespaceSelector": {}}
    central.put(prometheus("main", externalUrl="https://prometheus.example/p", **everywhere))
    rules = [{"record": "a:b", "expr": "sum(up)"}]
    group = {"groups": [{"name": f"g-{WORD}", "rules": rules}]}
    bad = [{"action": "replace", "regex": "("}]
    team.put(service_monitor("cart"), service_monitor("broken", relabelings=bad))
    other.put(
        service_monitor(f"ledger-{WORD}"),
        service_monitor(f"wrong-{WORD}", relabelings=bad),
        resource("PrometheusRule", f"rules-{WORD}", group),
        prometheus(f"own-{WORD}", serviceMonitorSelector=_NONE),
    )


def everything(place: Place, *headers: tuple[str, str]) -> list[Reply]:
    """What the page answers to all that a curious visitor can think of."""
    other, team, central = (each.namespace for each in (place.other, place.team, place.central))
    ledger = f"ServiceMonitor/{other}/ledger-{WORD}"
    own, main = f"Prometheus/{other}/own-{WORD}", f"Prometheus/{central}/main"
    paths = [
        "overview", "resources", "resources?limit=500", f"resources?q={WORD}",
        f"resources?namespace={other}", f"resources?namespace={other}&kind=ServiceMonitor",
        "resources?state=rejected", "resources?state=unusable", f"resources?workload={own}",
        f"resources?workload={main}", f"resources?workload={main}&state=rejected",
        f"resources/{ledger}", f"objects/{ledger}", f"resources/ServiceMonitor/{other}/ledger",
        f"resources/ServiceMonitor/{team}/cart", f"objects/ServiceMonitor/{team}/cart",
        f"resources/ServiceMonitor/{team}/broken", f"resources/ServiceMonitor/{team}/crat",
        f"workloads/{own}", f"objects/{own}", f"workloads/{own}/configuration",
        f"workloads/{main}", f"objects/{main}", f"workloads/{main}/nodes",
        f"workloads/{main}/configuration", f"workloads/{main}/configuration?q={WORD}",
        f"workloads/Prometheus/{central}/mian",
        *(f"workloads/{main}/configuration/part?title={quote(title)}" for title in TITLES),
        f"workloads/{main}/configuration/part?title=serviceMonitor/{other}/ledger-{WORD}",
    ]  # fmt: skip
    return [place.asked(path, *headers) for path in paths]


def told(replies: list[Reply]) -> list[str]:
    """What was answered, without the names that were asked for and are not there."""
    return [re.sub(r'(there is no|has no part) [^;"]*', "", each.text) for each in replies]


def leaks(place: Place, replies: list[Reply]) -> list[str]:
    """Answers that tell of the other namespace."""
    words = (WORD, place.other.namespace)
    return [text for text in told(replies) if any(word in text for word in words)]


# --- What is seen ---------------------------------------------------------------------------------


def test_without_rights_one_sees_nothing(place: Place, crds: Cluster) -> None:
    """Neither names nor numbers, whatever is guessed; and that is an answer, not an error."""
    nobody = Visitor(crds, place.team.namespace, "nobody")
    me = bearer(nobody.token())
    overview = place.asked("overview", me).json
    assert overview["viewer"] == {"user": nobody.user, "whole": False}
    assert overview["workloads"] == overview["problems"] == overview["namespaces"] == []
    assert overview["changes"] == []
    assert set(overview["resources"].values()) == {0}
    replies = everything(place, me)
    assert leaks(place, replies) == []
    assert "cart" not in "".join(told(replies))
    # A guess that is right is answered as one that is wrong.
    right = place.asked(f"resources/ServiceMonitor/{place.other.namespace}/ledger-{WORD}", me)
    wrong = place.asked(f"resources/ServiceMonitor/{place.other.namespace}/nothing", me)
    assert right.status == wrong.status == 404
    assert right.text.replace(f"ledger-{WORD}", "nothing") == wrong.text


def test_a_team_sees_its_own_and_what_their_status_says(place: Place, crds: Cluster) -> None:
    """With rights for monitors in one namespace: these, and that workloads are not to be seen."""
    member = Visitor(crds, place.team.namespace, "member")
    member.may(place.team.namespace, "servicemonitors")
    me = bearer(member.token())
    found = place.asked("resources", me).json
    assert [each["name"] for each in found["items"]] == ["broken", "cart"]
    assert list(found["namespaces"]) == [place.team.namespace]
    cart = place.asked(f"resources/ServiceMonitor/{place.team.namespace}/cart", me).json
    assert cart["explanation"]["standings"] == []
    assert "you cannot list" in cart["explanation"]["headline"]
    manifest = place.asked(f"objects/ServiceMonitor/{place.team.namespace}/cart", me).json
    assert "kind: ServiceMonitor\n" in manifest["manifest"]
    assert manifest["unknown"] == f"you cannot list events in {place.team.namespace}"
    assert leaks(place, everything(place, me)) == []


def test_who_sees_a_workload_sees_of_it_what_they_may(place: Place, crds: Cluster) -> None:
    """Its numbers, lists and configuration are of the resources that they may see."""
    visitor = Visitor(crds, place.team.namespace, "half")
    visitor.may(place.team.namespace, "servicemonitors")
    visitor.may(place.central.namespace, "prometheuses")
    me = bearer(visitor.token())
    path = f"workloads/Prometheus/{place.central.namespace}/main"
    found = place.asked(path, me).json
    assert found["explanation"]["counts"][0]["selected"] == 2
    assert found["explanation"]["counts"][0]["rejected"] == 1
    assert found["resources"]["total"] == 2
    assert found["links"][0]["url"] == "https://prometheus.example/p/"
    parts = place.asked(f"{path}/configuration", me).json["parts"]
    jobs = [each["title"] for each in parts if "/" in each["title"]]
    assert jobs == [f"serviceMonitor/{place.team.namespace}/cart"]
    assert leaks(place, everything(place, me)) == []


def test_who_may_see_all_sees_all(place: Place, crds: Cluster) -> None:
    """With a ClusterRole for all kinds, as an administrator does without a login."""
    oncall = Visitor(crds, place.team.namespace, "oncall")
    oncall.may("", *EVERY)
    me = bearer(oncall.token())
    overview = place.asked("overview", me).json
    assert overview["viewer"]["whole"] is True
    assert overview["resources"]["total"] == 5
    assert {each["namespace"] for each in overview["namespaces"]} == {
        each.namespace for each in (place.team, place.central, place.other)
    }
    assert WORD in place.asked(f"resources?q={WORD}", me).text


def test_rights_that_are_taken_away_are_gone_within_minutes(place: Place, crds: Cluster) -> None:
    """And those that are given count as soon; nobody needs to log in anew."""
    visitor = Visitor(crds, place.team.namespace, "changing")
    me = bearer(visitor.token())
    assert place.asked("resources", me).json["total"] == 0
    rules: list[Object] = [{"apiGroups": ["*"], "resources": ["servicemonitors"]}]
    binding = visitor.may_all(place.team.namespace, rules, ("list",))
    until("the right", lambda: place.asked("resources", me).json["total"] == 2)
    crds.api.request("DELETE", binding)
    until("the right to be gone", lambda: place.asked("resources", me).json["total"] == 0)


# --- Who is let in --------------------------------------------------------------------------------


def test_strangers_and_forgers_are_turned_away(place: Place, crds: Cluster) -> None:
    """Whatever they send, they are told to log in, in no more than these words."""
    guest, gone = (Visitor(crds, place.team.namespace, name) for name in ("guest", "gone"))
    token, late = guest.token(), gone.token()
    gone.leave()
    forged = token[:-6] + ("AAAAAA" if token[-6:] != "AAAAAA" else "BBBBBB")
    system = ("X-Remote-User", "system:admin"), ("Impersonate-User", "system:admin")
    cases: dict[str, list[tuple[str, str]]] = {
        "nothing": [],
        "no token": [("Authorization", "Bearer ")],
        "nonsense": [bearer("nonsense")],
        "markup": [("Authorization", "Bearer <img src=x onerror=alert(1)>")],
        "another scheme": [("Authorization", f"Basic {token}")],
        "two tokens": [("Authorization", f"Bearer {token}, Bearer {crds.token}")],
        "a broken signature": [bearer(forged)],
        "expired": [bearer(guest.signed(7200))],
        "for another audience": [bearer(guest.token("https://elsewhere.example"))],
        "of an account that is gone": [bearer(late)],
        "in a cookie": [("Cookie", f"stoker-token={token}; token={token}")],
        "said by a header": list(system),
        "said by a proxy": [
            ("X-Forwarded-User", "admin"),
            ("X-Forwarded-Groups", "system:masters"),
        ],
    }
    for name, headers in cases.items():
        for path in ("overview", "resources", "events", f"resources?token={token}"):
            reply = place.asked(path, *headers)
            assert (name, reply.status) == (name, 401)
            assert reply.headers["WWW-Authenticate"].startswith("Bearer")
            assert set(reply.json) == {"error", "meant"}
    for good in (guest.token(), guest.signed(0)):
        assert place.asked("overview", bearer(good)).status == 200


def test_what_is_sent_beside_a_token_changes_nothing(place: Place, crds: Cluster) -> None:
    """Neither headers that name somebody else, nor a site that asks through the browser."""
    guest = Visitor(crds, place.team.namespace, "guest")
    me = bearer(guest.token())
    forged = (
        ("Impersonate-User", "admin"), ("Impersonate-Group", "system:masters"),
        ("X-Remote-User", "admin"), ("X-Remote-Group", "system:masters"),
    )  # fmt: skip
    overview = place.asked("overview", me, *forged)
    assert overview.json["viewer"] == {"user": guest.user, "whole": False}
    assert overview.headers["Cache-Control"] == "no-store"
    assert "Authorization" in overview.headers["Vary"]
    assert overview.headers.get("ETag") is None
    assert overview.headers.get("Set-Cookie") is None
    assert overview.headers.get("Access-Control-Allow-Origin") is None
    for site in ("cross-site", "same-site"):
        assert place.asked("overview", me, ("Sec-Fetch-Site", site)).status == 403
    assert place.asked("overview", me, ("Host", "evil.example")).status == 403
    assert fetched(f"{place.url}/api/overview", [me], "POST").status == 405


def test_the_log_has_no_token(crds: Cluster, new_namespace: Callable[[], str]) -> None:
    """Not even at the level of debugging, and not of those that are refused."""
    namespace = new_namespace()
    token = Visitor(crds, namespace, "guest").token()
    flags = (f"--namespaces={namespace}", "--page-auth=kubernetes", "--log-level=all")
    with Running.start(crds, *flags) as operator:
        url = Address(operator).url
        assert fetched(f"{url}/api/overview", [bearer(token)]).status == 200
        assert fetched(f"{url}/api/overview", [bearer(token[:-4])]).status == 401
        assert token[:40] not in operator.log()


# --- In a browser ---------------------------------------------------------------------------------


@pytest.fixture(scope="module")
def browser() -> Iterator[Browser]:
    """Chromium, which CI must have."""
    binary: Path | None = found()
    if binary is None:
        reason = "there is no Chromium; `python -m tools.browser` installs one"
        pytest.fail(reason) if os.environ.get("CI") == "true" else pytest.skip(reason)
    with Browser.start(binary) as made:
        yield made


def test_one_logs_in_with_a_token_and_out_again(
    place: Place, crds: Cluster, browser: Browser
) -> None:
    """A wrong token is told; a right one shows one's own, live; the tab alone remembers it."""
    member = Visitor(crds, place.team.namespace, "member")
    member.may(place.team.namespace, "servicemonitors")
    with browser.page(390, 844) as page:
        page.goto(f"{place.url}/")
        page.says("Log in")
        assert page.evaluate("document.activeElement.id") == "token"
        page.press(*"nonsense", "Enter")
        page.says("Not let in: the cluster does not know this token")
        _enter(page, member.token())
        page.says("as system:serviceaccount")
        page.says("live", "#live")
        assert place.other.namespace not in page.text("body")
        place.team.put(service_monitor("late"))
        page.evaluate("location.hash = '#/search'")
        page.says(f"{place.team.namespace}/late")
        assert page.evaluate("document.cookie") == ""
        assert page.evaluate("localStorage.length") == 0
        # A reload keeps who one is, another tab does not know it.
        page.evaluate("location.reload()")
        page.says(f"{place.team.namespace}/late")
        page.evaluate(f"location.hash = '#/resource/ServiceMonitor/{place.other.namespace}/x'")
        page.says("Not here")
        page.evaluate("document.getElementById('leave').click()")
        page.says("You will see what your own rights")
        assert page.evaluate("sessionStorage.length") == 0
        assert place.team.namespace not in page.text("body")
    with browser.page() as page:
        page.goto(f"{place.url}/#/resource/ServiceMonitor/{quote('<img src=x>')}/x")
        page.says("Log in")
        _enter(page, member.token())
        page.says("there is no ServiceMonitor <img src=x>/x")
        assert page.evaluate("document.querySelectorAll('main img').length") == 0


def _enter(page: Any, token: str) -> None:
    """Paste a token into the form, and send it."""
    page.evaluate(
        f"document.getElementById('token').value = {json.dumps(token)};"
        " document.querySelector('.login button').click()"
    )
