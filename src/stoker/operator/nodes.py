"""The nodes, watched as long as an agent is on them, and those that each such agent is not on.

    agents on nodes ──> watch of nodes ──> one node, each agent ──> status of those that it concerns

Nodes report every few seconds, so only name, labels and taints are kept of them; a report that
leaves these as they were ends right there. Another label or taint is one look at that node for each
agent, and wakes the status of those whose pods come or go with it. Where nodes cannot be watched,
the log says so, and statuses say nothing of nodes.
"""

import asyncio
from collections.abc import Callable
from contextlib import suppress
from typing import Final

from msgspec import Raw, Struct

from stoker.api.core import Object, ObjectMeta
from stoker.api.decode import decode
from stoker.kube.client import Client
from stoker.kube.reflector import Reflector
from stoker.kube.resources import NODE
from stoker.kube.watch import WatchScope
from stoker.plan.nodes import placing_in
from stoker.ref import Ref
from stoker.select.nodes import Placing, absence, coverage, without_pods
from stoker.status.conditions import Because
from stoker.status.workload import Remark
from stoker.targets.objects import Node, NodeSpec
from stoker.view.listing import Listing

_SCOPE: Final = WatchScope(NODE)
# How long a status waits for the first list of nodes.
_FIRST_SECONDS: Final = 5.0


class _Agent(Struct):
    """An agent on nodes: where its pods may be, and the nodes that have none, and why."""

    placing: Placing
    without: dict[str, str] = {}

    def look(self, name: str, node: Node | None) -> bool:
        """Take up a node as it is now; whether that changes something."""
        away = absence(self.placing, node) if node else None
        why = away.why if away and not away.passing else None
        before = self.without.pop(name, None)
        if why:
            self.without[name] = why
        return before != why


class Nodes:
    """Watches nodes while `run` runs and there is an agent on them.

    `look` gets those whose status is to be looked at again.
    """

    def __init__(self, client: Client, look: Callable[[Ref], None]) -> None:
        self._client = client
        self._look = look
        self._agents: dict[Ref, _Agent] = {}
        self._watch: Reflector[Node] | None = None
        self._listing: Listing[Node] | None = None
        self._wanted, self._unwanted = asyncio.Event(), asyncio.Event()
        self._settled = asyncio.Event()

    async def run(self) -> None:
        """Watch whenever there is an agent on nodes, until cancelled."""
        while True:
            await self._wanted.wait()
            try:
                await self._follow(self._begin())
            finally:
                self._watch = self._listing = None
                self._settled.clear()

    async def remarks(self, key: Ref, found: Object | None) -> tuple[Remark, ...]:
        """What to say of an agent whose DaemonSet is this, None for a workload without one."""
        if found is None:
            self.forget(key)
            return ()
        agent = self._agent(key, placing_in(found))
        with suppress(TimeoutError):
            # What was said before a restart is not taken back for a moment.
            async with asyncio.timeout(_FIRST_SECONDS):
                await self._settled.wait()
        if not self.are_known or not agent.without:
            return ()
        told = coverage(self._count, agent.without)
        return (Remark(Because.NODES_NOT_COVERED, f"the agent {told}"),)

    def forget(self, key: Ref) -> None:
        """A workload is gone, or on nodes no longer."""
        if self._agents.pop(key, None) and not self._agents:
            self._wanted.clear()
            self._unwanted.set()

    @property
    def are_known(self) -> bool:
        """Whether all nodes are known."""
        return self._watch is not None and self._watch.store.ready.is_set()

    @property
    def listing(self) -> Listing[Node] | None:
        """All nodes, the same value until one changes; None where they are not known."""
        if self._watch is None or not self.are_known:
            return None
        if self._listing is None:
            self._listing = Listing(tuple(self._watch.store))
        return self._listing

    @property
    def _count(self) -> int:
        return len(self._watch.store) if self._watch else 0

    def _agent(self, key: Ref, placing: Placing) -> _Agent:
        """What is known of an agent; where it asks for others than before, all are looked at."""
        agent = self._agents.get(key)
        if agent is None or agent.placing != placing:
            known = without_pods(placing, self._watch.store) if self._watch else {}
            agent = self._agents[key] = _Agent(placing, known)
            self._unwanted.clear()
            self._wanted.set()
        return agent

    def _begin(self) -> Reflector[Node]:
        watch = self._watch = Reflector(self._client, _SCOPE, _node)
        watch.store.listen(self._changed)
        for agent in self._agents.values():
            agent.without.clear()
        return watch

    async def _follow(self, watch: Reflector[Node]) -> None:
        async with asyncio.TaskGroup() as tasks:
            running = [tasks.create_task(watch.run()), tasks.create_task(self._settle(watch))]
            await self._unwanted.wait()
            for each in running:
                each.cancel()

    async def _settle(self, watch: Reflector[Node]) -> None:
        await watch.settled()
        self._settled.set()

    def _changed(self, old: Node | None, new: Node | None) -> None:
        found = new or old
        if found is None or old == new:
            return
        self._listing = None
        counted = (old is None) is not (new is None)
        for key, agent in self._agents.items():
            if agent.look(found.name, new) or (counted and agent.without):
                self._look(key)


def _node(raw: Raw) -> Node:
    """What is kept of a node."""
    found = decode(Node, raw)
    metadata = ObjectMeta(name=found.metadata.name, labels=found.metadata.labels)
    return Node(metadata=metadata, spec=NodeSpec(taints=found.spec.taints))
