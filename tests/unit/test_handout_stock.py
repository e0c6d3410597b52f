"""What of a portion is told to somebody who has a part of it."""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import Any

import pytest
from msgspec import convert

from stoker.api.monitors import PodMonitor
from stoker.api.prometheus import PrometheusAgent
from stoker.handout.sharing import Sharing
from stoker.handout.stock import Change, NotPlannedError, OfNode, PlannedJobs, Stock
from stoker.plan import kept_of
from stoker.plan.scraper import KeptScraper
from stoker.portions.packed import packed
from stoker.portions.placed import digest_of
from stoker.ref import Ref, ref_of
from stoker.select.assets import AssetsAtHand
from stoker.select.nodes import Placing
from stoker.settings import Capabilities
from stoker.targets.job import NO_DEFAULTS
from stoker.targets.objects import Node, Pod
from tests.builders import pod_of, typed

AGENT = Ref("PrometheusAgent", "shop", "main")
HERE = OfNode(AGENT, "node-1")


def kept(*names: str, namespace: str = "shop") -> KeptScraper:
    """An agent that selects PodMonitors of these names, each for the pods that are called so."""
    spec = {"mode": "DaemonSet", "daemonSet": {"discovery": "Operator"}, "podMonitorSelector": {}}
    assets = AssetsAtHand({})
    made = kept_of(typed(PrometheusAgent, "main", spec, namespace), Capabilities(), assets)
    monitors = {}
    for name in names:
        selector = {"matchLabels": {"app": name}}
        endpoints = [{"port": "web"}]
        given: dict[str, Any] = {"selector": selector, "podMetricsEndpoints": endpoints}
        monitor = typed(PodMonitor, name, given, namespace)
        monitors[ref_of(monitor)] = monitor
    made.put_all(monitors, assets)
    assert isinstance(made, KeptScraper)
    return made


def planned(of: KeptScraper) -> PlannedJobs:
    """What was planned for an agent."""
    return PlannedJobs(of.version, NO_DEFAULTS, of.node_jobs, of.node_files)


def come(name: str, node: str = "node-1", app: str = "cart") -> Change:
    """A pod that is there now."""
    container = {"name": "a", "ports": [{"name": "web", "containerPort": 80}]}
    pod = {
        "metadata": {"name": name, "namespace": "shop", "labels": {"app": app}},
        "spec": {"nodeName": node, "containers": [container]},
        "status": {"phase": "Running", "podIP": "10.0.0.1"},
    }
    return None, packed(convert(pod, Pod))


def told(stock: Stock, have: Mapping[str, str]) -> tuple[dict[str, str], int]:
    """What somebody has who is told all there is, and in how many parts."""
    sent, parts = dict(have), 0
    while True:
        news = stock.news(HERE, sent)
        parts += 1
        for path in news.gone:
            del sent[path]
        for path, digest, text in news.files:
            assert digest == digest_of(text)
            sent[path] = digest
        if not news.more:
            assert sent == news.wanted
            return sent, parts


def test_only_what_is_different_is_told() -> None:
    """All of it at first; then a target that came, on its node; and what is gone."""
    stock, agent = Stock(), kept("cart", "desk")
    stock.take_up([come("a"), come("b", "node-2")])
    assert stock.plan(AGENT, planned(agent))
    has, _ = told(stock, {"jobs/of-yesterday.yaml": "x"})
    assert sorted(path.split("/")[0] for path in has) == ["jobs", "targets"]
    assert stock.news(HERE, has)[1:] == ((), (), False)

    assert stock.take_up([come("c", "node-2")]) == []
    assert stock.take_up([come("d"), come("e", app="none")]) == [HERE]
    news = stock.news(HERE, has)
    [file] = news.files
    assert len(json.loads(file.text)) == 2
    assert file.path.startswith("targets/")


def test_a_lot_is_told_in_parts_of_one_state_each() -> None:
    """Each of them bounded; together they are all of it, also where it changes between."""
    stock = Stock()
    names = [f"app-{number}" for number in range(150)]
    stock.plan(AGENT, planned(kept(*names)))
    stock.take_up([come(name, app=name) for name in names])
    first = stock.news(HERE, {})
    assert first.more
    assert sum(len(each.text) for each in first.files) < 200_000
    has, parts = told(stock, {})
    assert (len(has), parts > 1) == (2 * len(names), True)


def test_the_same_plan_is_no_news() -> None:
    """Jobs that did not change are the same objects; another monitor is news."""
    stock, agent = Stock(), kept("cart")
    assert stock.plan(AGENT, planned(agent))
    assert not stock.plan(AGENT, planned(agent))
    assert stock.plan(AGENT, planned(kept("cart", "desk")))


def test_of_an_agent_that_is_not_planned_nothing_is_told() -> None:
    """Neither before nor after: not to know is not to have nothing."""
    stock = Stock()
    stock.take_up([come("a")])
    with pytest.raises(NotPlannedError):
        stock.news(HERE, {})
    stock.plan(AGENT, planned(kept("cart")))
    told(stock, {})
    assert stock.kept_up == 1
    stock.forget([HERE])
    assert stock.kept_up == 0
    assert stock.plan(AGENT, None)
    with pytest.raises(NotPlannedError):
        stock.news(HERE, {})


NAMES = ("node-1", "node-2", "node-3")


def node(name: str, *taints: str) -> Change:
    """A node that is there now."""
    spec = {"taints": [{"key": each, "effect": "NoSchedule"} for each in taints]}
    return None, packed(convert({"metadata": {"name": name}, "spec": spec}, Node))


def agent_on(name: str, *, ready: bool = True) -> Change:
    """The pod of the agent on a node."""
    spec = {"nodeName": name, "containers": []}
    pod = pod_of("DaemonSet", "prom-agent-main", f"agent-{name}", ready=ready, spec=spec)
    return None, packed(convert(pod, Pod))


def after(before: Change, now: Change) -> Change:
    """From one state of an object to another."""
    return before[1], now[1]


def who_has(stock: Stock, of: KeptScraper) -> list[str]:
    """The nodes that are told a target of the monitor `cart`."""
    [jobs] = of.node_jobs.values()
    path = f"targets/{jobs[0].stem}.json"
    return [name for name in NAMES if path in stock.news(OfNode(AGENT, name), {}).wanted]


def test_what_no_agent_is_beside_is_one_agents_that_is_ready() -> None:
    """And another's when that one goes; its own when the taint of its node does."""
    stock, of = Stock(), kept("cart")
    sharing = Sharing(("shop", "prom-agent-main"), Placing())
    stock.take_up([node("node-1"), node("node-2"), node("node-3", "gpu"), come("a", "node-3")])
    stock.take_up([agent_on("node-1"), agent_on("node-2")])
    stock.plan(AGENT, planned(of))
    assert who_has(stock, of) == ["node-3"]
    stock.plan(AGENT, PlannedJobs(of.version, NO_DEFAULTS, of.node_jobs, of.node_files, sharing))
    [first] = who_has(stock, of)
    [other] = {"node-1", "node-2"} - {first}
    moved = stock.take_up([after(agent_on(first), agent_on(first, ready=False))])
    assert {OfNode(AGENT, first), OfNode(AGENT, other)} <= set(moved)
    assert who_has(stock, of) == [other]
    stock.take_up([after(node("node-3", "gpu"), node("node-3"))])
    assert who_has(stock, of) == ["node-3"]
    stock.take_up([after(node("node-3"), (None, None))])
    assert who_has(stock, of) == [other]


def test_an_agent_that_stops_sharing_leaves_it_to_nobody() -> None:
    """Each has what is on its node."""
    stock, of = Stock(), kept("cart")
    sharing = Sharing(("shop", "prom-agent-main"), Placing())
    stock.take_up([node("node-1"), agent_on("node-1"), come("a", "node-9")])
    stock.plan(AGENT, PlannedJobs(of.version, NO_DEFAULTS, of.node_jobs, of.node_files, sharing))
    assert who_has(stock, of) == ["node-1"]
    assert stock.plan(AGENT, planned(of))
    assert who_has(stock, of) == []


def test_little_that_is_new_is_told_at_once() -> None:
    """Without the thread that a first look at a node is left to, or a look at much."""
    stock = Stock()
    assert stock.is_quick(HERE)
    stock.plan(AGENT, planned(kept("cart")))
    assert not stock.is_quick(HERE)
    told(stock, {})
    assert stock.is_quick(HERE)
    stock.take_up([come(f"few-{number}") for number in range(3)])
    assert stock.is_quick(HERE)
    stock.take_up([come("more")])
    assert not stock.is_quick(HERE)
    told(stock, {})
    stock.plan(AGENT, planned(kept("cart", "desk")))
    assert not stock.is_quick(HERE)
