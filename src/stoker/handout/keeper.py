"""Keeps up the portions of all agents for as long as there is one, and says when something changes.

    watches ──changes──┐
                       ├─> one thread: stock ──nodes that may have something else──> followers
    plans of agents ───┘

While nobody asks for portions nothing is watched, and nothing is kept. A portion is given when
everything was listed once and the agent was planned: not to see is not to know that there is
nothing. Should the work fail, it begins again with the first list; who follows waits meanwhile.
"""

import asyncio
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from typing import Final

from stoker.handout.life import StockLife
from stoker.handout.request import not_yet
from stoker.handout.stock import OfNode, PlannedJobs, PortionNews
from stoker.kube.client import Client
from stoker.portions.packed import Place
from stoker.ref import Ref

# A pod that comes back, as after each hour, finds its portion kept up.
_LINGER_SECONDS: Final = 30.0


class PortionKeeper:
    """Watches while it runs and an agent is `wanted`; in the namespaces named or (None) in all."""

    def __init__(self, client: Client, namespaces: Sequence[str] | None) -> None:
        self._client = client
        self._namespaces = namespaces
        self._plans: dict[Ref, PlannedJobs | None] = {}
        self._followers: dict[OfNode, set[asyncio.Event]] = {}
        self._of_pod: dict[Place, set[asyncio.Event]] = {}
        self._life: StockLife | None = None
        self._wanted, self._unwanted = asyncio.Event(), asyncio.Event()

    async def run(self) -> None:
        """Keep up what is wanted, until cancelled."""
        while True:
            await self._wanted.wait()
            life = StockLife(self._client, self._namespaces, self._tell, self._tell_of_pod)
            for key, planned in self._plans.items():
                life.plan(key, planned)
            self._life = life
            try:
                await self._live(life)
            finally:
                self._life = None
                life.close()

    async def _live(self, life: StockLife) -> None:
        async with asyncio.TaskGroup() as tasks:
            running = tasks.create_task(life.run())
            await self._unwanted.wait()
            running.cancel()

    # --- Agents -----------------------------------------------------------------------------------

    def want(self, key: Ref) -> None:
        """An agent is to get portions, as soon as it is planned."""
        self._plans.setdefault(key, None)
        self._unwanted.clear()
        self._wanted.set()

    def plan(self, key: Ref, planned: PlannedJobs) -> None:
        """An agent was planned; what it was before counts no longer."""
        if key in self._plans:
            self._plans[key] = planned
            if self._life:
                self._life.plan(key, planned)

    def drop(self, key: Ref) -> None:
        """An agent gets no portions any longer, and whoever follows hears of it."""
        if key not in self._plans:
            return
        del self._plans[key]
        if self._life:
            self._life.plan(key, None)
        self._tell([each for each in self._followers if each.agent == key])
        if not self._plans:
            self._wanted.clear()
            self._unwanted.set()

    def is_wanted(self, key: Ref) -> bool:
        """Whether an agent gets portions."""
        return key in self._plans

    # --- Portions ---------------------------------------------------------------------------------

    @property
    def why_not(self) -> str:
        """Why no portion can be given yet; empty where they can."""
        if self._life is None or not self._life.is_ready:
            troubles = self._life.watches.troubles if self._life else []
            return "; ".join(troubles) or "not all that portions are made of was listed yet"
        return ""

    @contextmanager
    def following(self, of: OfNode, pod: Place) -> Iterator[asyncio.Event]:
        """An event that is set whenever a node may have something else, or the pod that asks."""
        event = asyncio.Event()
        self._followers.setdefault(of, set()).add(event)
        self._of_pod.setdefault(pod, set()).add(event)
        try:
            yield event
        finally:
            self._of_pod[pod].discard(event)
            if not self._of_pod[pod]:
                del self._of_pod[pod]
            self._followers[of].discard(event)
            if not self._followers[of]:
                asyncio.get_running_loop().call_later(_LINGER_SECONDS, self._forget, of)

    async def news(self, of: OfNode, sent: Mapping[str, str]) -> PortionNews:
        """What is different from what was sent; RefusedError as long as that is not known."""
        life = self._life
        if life is None or (why := self.why_not):
            raise not_yet(why if life else "portions are not kept up yet")
        planned = self._plans.get(of.agent)
        if planned is None:
            raise not_yet("the agent was not planned yet")
        if not life.stock.has(of.agent):
            # It is on its way there. Should it not be, for reasons that nobody knows (see
            # `StockLife._watch_over`), nobody would ever be told anything.
            life.plan(of.agent, planned)
        return await life.news(of, sent)

    def pod_uid(self, namespace: str, name: str) -> str:
        """The uid of the pod that has a name now; nothing if none is known."""
        return self._life.watches.pod_uid(namespace, name) if self._life else ""

    # --- What there is ----------------------------------------------------------------------------

    def objects(self, kind: str) -> int:
        """How many objects of a kind are kept."""
        return len(self._life.watches.all[kind].store) if self._life else 0

    @property
    def kept_up(self) -> int:
        """How many portions are kept up."""
        return self._life.stock.kept_up if self._life else 0

    def _tell(self, touched: Iterable[OfNode] | None) -> None:
        for each in self._followers if touched is None else touched:
            for event in self._followers.get(each, ()):
                event.set()

    def _tell_of_pod(self, pod: Place) -> None:
        for event in self._of_pod.get(pod, ()):
            event.set()

    def _forget(self, of: OfNode) -> None:
        if not self._followers.get(of, True):
            del self._followers[of]
            if self._life:
                self._life.forget(of)
