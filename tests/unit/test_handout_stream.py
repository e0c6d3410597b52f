"""What one connection is told, and when that ends."""

from __future__ import annotations

import asyncio
import time
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from typing import cast

from stoker.handout.door import Visitor
from stoker.handout.keeper import PortionKeeper
from stoker.handout.stock import OfNode, PortionNews, Stock
from stoker.handout.stream import PortionStream, StreamCounts, Subscriber
from stoker.handout.tokens import TokenOwner
from tests.unit.test_handout_door import connected, opened
from tests.unit.test_handout_stock import AGENT, HERE, come, kept, planned
from tools.waiting import DEADLINE

LAST = b"0\r\n\r\n"


class OneStock:
    """A keeper of what is there, without a cluster; the event of each who follows is kept."""

    def __init__(self) -> None:
        self.stock = Stock()
        self.stock.plan(AGENT, planned(kept("cart")))
        self.stock.take_up([come("a")])
        self.wanted = True
        self.uid = "7"
        self.events: list[asyncio.Event] = []

    @contextmanager
    def following(self, _of: OfNode, _pod: object) -> Iterator[asyncio.Event]:
        """Follow for the length of a block."""
        self.events.append(asyncio.Event())
        yield self.events[-1]

    async def news(self, of: OfNode, sent: Mapping[str, str]) -> PortionNews:
        """What is different from what was sent."""
        return self.stock.news(of, sent)

    def is_wanted(self, _key: object) -> bool:
        """Whether the agent gets portions."""
        return self.wanted

    def pod_uid(self, _namespace: str, _name: str) -> str:
        """The uid of the pod that is there."""
        return self.uid


def told(keeper: OneStock, expires: float, *changes: tuple[str, object]) -> bytes:
    """All that is said until the end; each change is made when something was said."""

    async def serve(visitor: Visitor) -> None:
        owner = TokenOwner("shop", "main-x", "7", expires)
        subscriber = Subscriber(owner, HERE.node, AGENT)
        await visitor.connection.shake_hands()
        it = cast("PortionKeeper", keeper)
        await PortionStream(it, subscriber, visitor.connection, StreamCounts()).run({})

    async def work() -> bytes:
        async with asyncio.timeout(DEADLINE), opened(serve) as (_, port), connected(port) as both:
            reader = both[0]
            said = await reader.readuntil(b'"commit"')
            for name, value in changes:
                setattr(keeper, name, value)
                keeper.events[-1].set()
            return said + await reader.read()

    return asyncio.run(work())


def test_a_stream_is_over_when_its_token_is() -> None:
    """It was told what there is, and the answer ends as one should: the pod has a newer token."""
    said = told(OneStock(), time.time() + 0.5)
    assert b'"node":"node-1"' in said
    assert said.count(b'"commit"') == 1
    assert said.endswith(LAST)


def test_a_stream_is_over_when_its_pod_or_its_agent_is() -> None:
    """Nothing more is told from then on, however long the token is good."""
    for change in (("uid", "8"), ("uid", ""), ("wanted", False)):
        keeper = OneStock()
        said = told(keeper, time.time() + 3600, change)
        assert said.endswith(LAST)
        assert said.count(b'"commit"') == 1
