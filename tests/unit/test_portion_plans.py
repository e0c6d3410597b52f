"""Whoever is served portions has been planned, whatever happened before, in whatever order.

A whole replica on virtual time, whose API server nobody reaches: what it knows is what it is shown
here, and each turn of a workload fails where the first object would be written. Nothing is lost by
that, as portions are of what was planned.
"""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Callable, Coroutine, Iterator, Sequence
from functools import partialmethod
from typing import Any, Final, NoReturn, cast

import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from stoker.api.core import Object
from stoker.handout.request import RefusedError
from stoker.handout.stock import OfNode, PlannedJobs, Stock
from stoker.kube.client import Client
from stoker.kube.endless import EndlessWork, endless
from stoker.kube.errors import Unavailable
from stoker.operator.node_discovery import AGENT
from stoker.operator.replica import Operator
from stoker.ref import Ref
from stoker.settings import (
    Capabilities,
    DiscoverySettings,
    LeaderSettings,
    NodeServer,
    ObjectSettings,
    OperatorSettings,
    Reloader,
)
from stoker.web.operator_metrics import OperatorMetrics
from tests.builders import pod, thing
from tests.unit.virtual_time import run

NAMES: Final = ("dark", "light")
LIGHT: Final = Ref(AGENT, "shop", "light")
# Longer than any of the waits after a failure, and than a life that is stuck.
QUIET: Final = 300.0
SETTINGS: Final = OperatorSettings(
    objects=ObjectSettings(
        node_server=NodeServer(url="https://a.b:8443"),
        reloader=Reloader(image="example.com/stoker:1"),
    ),
    discovery=DiscoverySettings(address=("127.0.0.1", 0)),
    leader=LeaderSettings(enabled=True, namespace="home"),
)
ON_NODES: Final[Object] = {"mode": "DaemonSet", "podMonitorSelector": {}}
SPECS: Final[dict[str, Object]] = {
    "portions": ON_NODES | {"daemonSet": {"discovery": "Operator"}},
    "shared": ON_NODES | {"daemonSet": {"discovery": "Operator", "targetsWithoutAgent": "Spread"}},
    "by itself": ON_NODES | {"daemonSet": {"discovery": "Kubernetes"}},
    "elsewhere": {"mode": "StatefulSet", "podMonitorSelector": {}},
    "paused": ON_NODES | {"daemonSet": {"discovery": "Operator"}, "paused": True},
    "broken": ON_NODES
    | {"daemonSet": {"discovery": "Operator"}, "podMonitorSelector": {"matchExpressions": [{}]}},
}
GETS: Final = frozenset({"portions", "shared"})


class Unreachable:
    """A client of a server that does not answer."""

    fence = None

    def __getattr__(self, name: str) -> Callable[..., Coroutine[Any, Any, Any]]:
        async def refused(*_: object, **__: object) -> None:
            raise _nobody(name)

        return refused

    def stream(self, path: str, *_: object, **__: object) -> NoReturn:
        """Nothing is watched."""
        raise _nobody("watch", path)


def _nobody(verb: str, path: str = "/") -> Unavailable:
    return Unavailable(verb, path, "nobody is there")


class Site:
    """A replica, and what happens to it."""

    def __init__(self) -> None:
        client = cast(Client, Unreachable())
        self.operator = Operator(client, client, SETTINGS, Capabilities(), OperatorMetrics())
        self.parts = self.operator.parts
        self.keeper = self.parts.discovery._keeper
        self.specs: dict[str, str] = {}
        self._version = 0
        caches = self.parts.tools.caches
        self._reflectors = caches.workloads | caches.resources | caches.owned
        for each in self._reflectors.values():
            each.store.writer()
        self._roles: list[asyncio.Task[None]] = []
        self._keepers: list[asyncio.Task[None]] = []
        self.faults = 0

    def begin(self) -> None:
        """Stand by, and keep portions up."""
        self.lead(leads=False)
        self.start_keeper()

    async def end(self) -> None:
        """End everything."""
        tasks = [*self._roles, *self._keepers]
        for each in tasks:
            each.cancel()
        await asyncio.gather(*tasks, return_exceptions=True)

    # --- What happens -----------------------------------------------------------------------------

    def lead(self, *, leads: bool) -> None:
        """Lead from now on, or stand by."""
        work = self.operator.work if leads else self.operator._stand_by
        self._begin(work, self._roles)

    def start_keeper(self) -> None:
        """Let what keeps portions up begin again, as after a fault."""
        self._begin(self.keeper.run, self._keepers)

    @staticmethod
    def _begin(work: EndlessWork, before: list[asyncio.Task[None]]) -> None:
        """Work for ever, as soon as all that was worked on before has ended."""
        ended = tuple(before)

        async def working() -> None:
            await asyncio.gather(*ended, return_exceptions=True)
            await endless(work, lambda _: None)

        for each in ended:
            each.cancel()
        before.append(asyncio.create_task(working()))

    def put(self, name: str, what: str) -> None:
        """An agent is so from now on."""
        self.specs[name] = what
        self._see(AGENT, name, spec=SPECS[what])

    def give_away(self, name: str) -> None:
        """An agent is for another operator."""
        self.specs.pop(name, None)
        theirs = {"operator.prometheus.io/controller-id": "theirs"}
        self._see(AGENT, name, spec=SPECS["portions"], annotations=theirs)

    def delete(self, name: str) -> None:
        """An agent is gone."""
        self.specs.pop(name, None)
        self._lose(AGENT, name)

    def roll(self, name: str, portions: str) -> None:
        """The DaemonSet of an agent is rolled to pods that read portions, or that do not."""
        config = f"prom-agent-{name}{portions}"
        agent = self._found(AGENT, name)
        uid = agent.metadata.uid if agent else "of nobody"
        owner = {"apiVersion": "v1", "kind": AGENT, "name": name, "uid": uid, "controller": True}
        volume = {"name": "config", "secret": {"secretName": config}}
        spec = {"template": {"spec": {"volumes": [volume], "containers": []}}}
        pods = dict.fromkeys(("desired", "current", "updated"), 1)
        status = {f"{name}NumberScheduled": count for name, count in pods.items()}
        status |= {"observedGeneration": 1, "numberAvailable": 1}
        for kind, named in (("DaemonSet", f"prom-agent-{name}"), ("Secret", config)):
            about = {"spec": spec, "status": status} if kind == "DaemonSet" else {}
            self._see(kind, named, ownerReferences=[owner], **about)

    def unroll(self, name: str) -> None:
        """The DaemonSet of an agent is gone."""
        self._lose("DaemonSet", f"prom-agent-{name}")

    def certify(self, *, known: bool) -> None:
        """Whom agents are to trust is known, or not."""
        context = cast(Any, object())
        self.parts.discovery._show(context, "-----BEGIN CERTIFICATE-----" if known else "")

    def monitor(self, number: int) -> None:
        """A monitor is another one."""
        spec = {"selector": {}, "podMetricsEndpoints": [{"port": f"port-{number}"}]}
        self._see("PodMonitor", "shop", spec=spec)

    def fail(self, times: int) -> None:
        """So many of the next plans fail when they are to be taken up."""
        self.faults = times

    def stop_working(self) -> None:
        """Whoever takes up what is new does so no more, and says nothing."""
        for each in asyncio.all_tasks():
            if each.get_name() == "_keep_up":
                each.cancel()

    def agent(self, name: str) -> Any:
        """An agent as it is known."""
        return self._found(AGENT, name)

    def _see(self, kind: str, name: str, **members: Any) -> None:
        self._version += 1
        known = self._found(kind, name)
        made = thing(kind, name, resourceVersion=str(self._version), **members)
        made["metadata"] |= {
            # Another one of that name is another one.
            "uid": known.metadata.uid if known else f"{name}-{self._version}",
            "generation": 1 if kind == "DaemonSet" else self._version,
        }
        self._reflectors[kind].saw(made)

    def _lose(self, kind: str, name: str) -> None:
        found = self._found(kind, name)
        if found is not None:
            self._reflectors[kind].lost(found.metadata)

    def _found(self, kind: str, name: str) -> Any:
        return self._reflectors[kind].store.get("shop", name)

    # --- What must be so --------------------------------------------------------------------------

    def asks(self, name: str) -> bool:
        """Whether pods of an agent ask for portions, new ones or such as are left."""
        agent, known = self._found(AGENT, name), self._found("DaemonSet", f"prom-agent-{name}")
        config = known.spec["template"]["spec"]["volumes"][0]["secret"] if known else {}
        owned = known and agent and known.metadata.owner_references[0].uid == agent.metadata.uid
        left = owned and config.get("secretName") == f"prom-agent-{name}-portions"
        what = self.specs.get(name)
        return what in GETS or bool(left and what in ("by itself", "elsewhere"))

    async def why_not(self, name: str) -> str:
        """Why a pod of an agent is given nothing; empty if it is."""
        key = Ref(AGENT, "shop", name)
        if not self.keeper.is_wanted(key):
            return "it is not served"
        life = self.keeper._life
        if life is None:
            return "nothing is kept up"
        # No server is there from which all could be listed.
        life._is_listed = True
        life._note()
        await asyncio.sleep(1)
        try:
            await self.keeper.news(OfNode(key, "node-1"), {})
        except RefusedError as error:
            return str(error)
        return ""


TAKEN_UP: Final = Stock.plan


def _faltering(stock: Stock, site: Site, key: Ref, planned: PlannedJobs | None) -> bool:
    """Take up a plan, or fail as often as a site says."""
    if site.faults:
        site.faults -= 1
        raise RuntimeError("it failed")
    return TAKEN_UP(stock, key, planned)


Event = Callable[[Site], None]


def named(event: Callable[..., None], *arguments: Any, **rest: Any) -> tuple[str, Event]:
    """An event, with words for who reads of it."""
    said = " ".join(map(str, (event.__name__, *arguments, *rest.values())))
    return said, lambda site: event(site, *arguments, **rest)


EVENTS: Final[dict[str, Event]] = dict(
    [
        *(named(Site.put, name, what) for name in NAMES for what in SPECS),
        *(named(Site.roll, name, own) for name in NAMES for own in ("", "-portions")),
        *(named(each, name) for name in NAMES for each in (Site.delete, Site.give_away)),
        *(named(Site.unroll, name) for name in NAMES),
        *(named(Site.certify, known=known) for known in (True, False)),
        *(named(Site.lead, leads=leads) for leads in (True, False)),
        *(named(Site.monitor, number) for number in (1, 2)),
        *(named(each) for each in (Site.start_keeper, Site.stop_working)),
        named(Site.fail, 2),
    ]
)
WAITS: Final = (0.0, 0.0, 0.001, 0.05, 0.15, 1.0, 3.0, 40.0)


@pytest.fixture(autouse=True, scope="module")
def silence() -> Iterator[None]:
    """That nobody is there is told over and over."""
    log = logging.getLogger("stoker")
    level = log.level
    log.setLevel(logging.CRITICAL)
    yield
    log.setLevel(level)


@settings(max_examples=200)
@given(st.lists(st.tuples(st.sampled_from(sorted(EVENTS)), st.sampled_from(WAITS)), max_size=14))
@example([("put light portions", 0.15), ("certify True", 0.05)])
@example([("put light by itself", 0.0), ("roll light -portions", 3.0)])
@example([("put light portions", 3.0), ("delete light", 0.0), ("put light shared", 0.0)])
def test_who_is_served_has_been_planned(story: Sequence[tuple[str, float]]) -> None:
    """When all is quiet, and whom to trust is known: nobody is to be planned for ever.

    Who is gone, another's, or has no pods that ask, is served no longer.
    """

    async def main() -> None:
        site = Site()
        site.begin()
        patch = pytest.MonkeyPatch()
        patch.setattr(Stock, "plan", partialmethod(_faltering, site))
        try:
            for event, wait in story:
                EVENTS[event](site)
                await asyncio.sleep(wait)
            site.fail(0)
            site.certify(known=True)
            await asyncio.sleep(QUIET)
            for name in NAMES:
                what = site.specs.get(name)
                said = await site.why_not(name)
                if site.asks(name):
                    assert said == "", (name, what, said)
                elif what is None or what in ("by itself", "elsewhere"):
                    assert said == "it is not served", (name, what, said)
        finally:
            patch.undo()
            await site.end()

    run(main())


def test_an_agent_that_is_gone_meanwhile_is_not_served() -> None:
    """Whoever looked at it before may say so later; nobody would ever end what is kept for it."""

    async def main() -> None:
        site = Site()
        for gone in (site.delete, site.give_away):
            site.put("light", "portions")
            agent = site.agent("light")
            site.parts.discovery.serve(LIGHT, agent)
            assert site.keeper.is_wanted(LIGHT)
            gone("light")
            site.parts.discovery.serve(LIGHT, agent)
            assert not site.keeper.is_wanted(LIGHT)

    run(main())


def test_changes_that_come_together_are_told_once() -> None:
    """A pod, its slice, and the slice again: who follows hears of all of it when it is over."""

    async def main() -> int:
        site, told = Site(), 0
        site.begin()
        site.monitor(1)
        site.put("light", "portions")
        site.certify(known=True)
        await asyncio.sleep(QUIET)
        assert await site.why_not("light") == ""
        life = site.keeper._life
        assert life

        async def count(news: asyncio.Event) -> None:
            nonlocal told
            while await news.wait():
                news.clear()
                told += 1

        with site.keeper.following(OfNode(LIGHT, "node-1"), ("shop", "asks")) as news:
            counting = asyncio.create_task(count(news))
            for number in range(5):
                made = pod(f"pod-{number}", {}, {"port-1": 80}, "node-1")
                made["metadata"] |= {"namespace": "shop", "resourceVersion": str(number + 1)}
                life.watches.all["Pod"].saw(made)
                await asyncio.sleep(0.01)
            await asyncio.sleep(1)
            counting.cancel()
        await site.end()
        return told

    assert run(main()) == 1
