"""Portions are kept up, on a real API server, whatever happens to what keeps them up."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager, suppress

import pytest

from stoker.handout import life
from stoker.handout.keeper import PortionKeeper
from stoker.handout.request import RefusedError
from stoker.handout.stock import OfNode, PlannedJobs
from stoker.kube.access import kubeconfig
from stoker.kube.client import Client
from stoker.kube.endless import endless
from stoker.ref import Ref
from tests.live.listening import make_account
from tests.live.operating import World
from tests.live.test_portions import shop
from tests.unit.test_handout_stock import kept, planned
from tools.waiting import DEADLINE

NODE = "node-0"


class Site:
    """An agent of a namespace whose portions are kept up, and what they have."""

    def __init__(self, world: World, keeper: PortionKeeper) -> None:
        self.keeper = keeper
        self.agent = Ref("PrometheusAgent", world.namespace, "main")
        self._namespace = world.namespace

    def jobs(self) -> PlannedJobs:
        """A plan for it: all pods that are called `shop`."""
        return planned(kept("shop", namespace=self._namespace))

    async def has(self, count: int) -> None:
        """Wait until its portion has so many targets."""
        while True:
            with suppress(RefusedError):
                news = await self.keeper.news(OfNode(self.agent, NODE), {})
                if sum(file.text.count(b'"targets"') for file in news.files) == count:
                    return
            await asyncio.sleep(0.02)

    async def so(self, condition: Callable[[], object]) -> None:
        """Wait until something is so."""
        while True:
            if condition():
                return
            await asyncio.sleep(0.02)


@asynccontextmanager
async def keeping(world: World) -> AsyncIterator[Site]:
    """A keeper of portions for as long as a block takes, which may take a while."""
    async with Client(kubeconfig(world.cluster.kubeconfig)) as client, asyncio.timeout(DEADLINE):
        site = Site(world, PortionKeeper(client, [world.namespace]))
        running = asyncio.create_task(endless(site.keeper.run, lambda _: None))
        site.keeper.want(site.agent)
        try:
            yield site
        finally:
            running.cancel()
            await asyncio.gather(running, return_exceptions=True)


def another(world: World, name: str) -> None:
    """A further pod of the application on the node."""
    world.put(shop(name, NODE))


def test_an_agent_that_is_dropped_and_wanted_again_is_told_what_is_new(world: World) -> None:
    """At once, a moment later, or when nothing is watched any longer."""
    make_account(world)
    another(world, "first")

    async def work() -> None:
        async with keeping(world) as site:
            keeper, agent = site.keeper, site.agent
            keeper.plan(agent, site.jobs())
            await site.has(1)
            for number in range(4):
                keeper.drop(agent)
                if number == 3:
                    await site.so(lambda: not keeper.objects("Pod"))
                keeper.want(agent)
                await asyncio.sleep(0.05 * number)
                keeper.plan(agent, site.jobs())
                await asyncio.to_thread(another, world, f"later-{number}")
                await site.has(2 + number)

    asyncio.run(work())


def test_who_follows_hears_at_once_that_its_own_pod_is_gone(world: World) -> None:
    """Though nothing else is new for it: whoever has the token of a pod listens no longer."""
    make_account(world)
    another(world, "first")

    async def work() -> None:
        async with keeping(world) as site:
            site.keeper.plan(site.agent, site.jobs())
            await site.has(1)
            elsewhere = OfNode(site.agent, "node-1")
            with site.keeper.following(elsewhere, (world.namespace, "first")) as news:
                assert not news.is_set()
                await asyncio.to_thread(world.delete, "pod", "first")
                await news.wait()

    asyncio.run(work())


@pytest.mark.parametrize("what", ["a plan", "a pod", "a plan that was lost"])
def test_who_should_take_up_what_is_new_and_does_not_is_replaced(
    world: World, monkeypatch: pytest.MonkeyPatch, what: str
) -> None:
    """By one that begins with the first list; whoever asks is not sent away for ever."""
    monkeypatch.setattr(life, "_STUCK_SECONDS", 0.4)
    make_account(world)
    another(world, "first")

    async def work() -> None:
        async with keeping(world) as site:
            await site.so(lambda: not site.keeper.why_not)
            if what != "a plan":
                site.keeper.plan(site.agent, site.jobs())
                await site.has(1)
            if what == "a plan that was lost":
                site.keeper._life.stock.plan(site.agent, None)  # type: ignore[union-attr]
                await site.has(1)
                return
            [working] = [each for each in asyncio.all_tasks() if each.get_name() == "_keep_up"]
            working.cancel()
            if what == "a plan":
                site.keeper.plan(site.agent, site.jobs())
                await site.has(1)
            else:
                await asyncio.to_thread(another, world, "second")
                await site.has(2)

    asyncio.run(work())
