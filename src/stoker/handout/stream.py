"""What one connection is sent: its node's files, then every change, until it ends.

What was sent is all that is remembered: a dict of digests. So somebody who reads slowly hears
how things are when it is ready to hear more, and never what they were between.
"""

import asyncio
import random
import time
from collections.abc import Callable, Iterator, Mapping
from contextlib import suppress
from typing import Final

from msgspec import Struct

from stoker.handout import frames
from stoker.handout.connection import TlsConnection
from stoker.handout.keeper import PortionKeeper
from stoker.handout.request import BEGUN, RefusedError
from stoker.handout.stock import OfNode, PortionNews
from stoker.handout.tokens import TokenOwner
from stoker.ref import Ref

_ALIVE_SECONDS: Final = 15.0
# Spread out, or all that began together would come back together, for ever.
_LONGEST_SECONDS: Final = (2700, 3600)


class Subscriber(Struct, frozen=True):
    """Who is served: a pod, its node, and the agent that it belongs to."""

    owner: TokenOwner
    node: str
    agent: Ref

    @property
    def portion(self) -> OfNode:
        """Which portion that is."""
        return OfNode(self.agent, self.node)


class StreamCounts(Struct):
    """What all streams together did: how many began; commits, files and bytes of files."""

    begun: int = 0
    commits: int = 0
    files: int = 0
    bytes: int = 0


class PortionStream:
    """Tells one subscriber, who has some files, until there is a reason to end."""

    def __init__(
        self,
        keeper: PortionKeeper,
        subscriber: Subscriber,
        connection: TlsConnection,
        counts: StreamCounts,
        now: Callable[[], float] = time.time,
    ) -> None:
        self._keeper = keeper
        self._of = subscriber
        self._connection = connection
        self._counts = counts
        self._now = now
        self._ends = now() + random.uniform(*_LONGEST_SECONDS)  # noqa: S311 - spreads load
        self._sent: Mapping[str, str] = {}
        self._has_left = self._was_seen = False
        # Whether something was said that does not count yet; the first commit always comes.
        self._is_open = True

    async def run(self, have: Mapping[str, str]) -> None:
        """Tell everything that is different from what they have, and then what changes.

        RefusedError, before anything is said, where the portion is not known. What is worked out
        again later is sent when it is known again: there is news then.
        """
        self._sent = have
        owner = self._of.owner
        with self._keeper.following(self._of.portion, (owner.namespace, owner.pod)) as news:
            first = await self._news()
            await self._connection.write(BEGUN)
            self._counts.begun += 1
            self._connection.listen(lambda: self._leave(news))
            greeting = frames.greeting(self._of.node, self._of.owner.uid)
            with suppress(RefusedError):
                await self._bring_up(first, frames.chunk_of(greeting))
            await self._go_on(news)
            await self._connection.write(frames.chunk_of(b""))

    async def _go_on(self, news: asyncio.Event) -> None:
        while not self._is_over():
            try:
                async with asyncio.timeout(self._until_next()):
                    await news.wait()
            except TimeoutError:
                if not self._is_over():
                    await self._connection.write(frames.chunk_of(frames.ALIVE))
                continue
            news.clear()
            if not self._is_over():
                with suppress(RefusedError):
                    await self._bring_up(await self._news())

    def _until_next(self) -> float:
        ends = min(self._ends, self._of.owner.expires) - self._now()
        return max(min(_ALIVE_SECONDS, ends), 0.0)

    def _is_over(self) -> bool:
        over = self._has_left or self._now() >= min(self._ends, self._of.owner.expires)
        return over or not self._keeper.is_wanted(self._of.agent) or self._is_gone()

    def _is_gone(self) -> bool:
        """Whether the pod is gone; one that was never seen may be out of sight."""
        owner = self._of.owner
        is_there = self._keeper.pod_uid(owner.namespace, owner.pod) == owner.uid
        self._was_seen |= is_there
        return self._was_seen and not is_there

    def _leave(self, news: asyncio.Event) -> None:
        self._has_left = True
        news.set()

    # --- Files ------------------------------------------------------------------------------------

    async def _bring_up(self, news: PortionNews, begun: bytes = b"") -> None:
        """Send what is different, and say that it counts; `begun` is what comes before."""
        said = [begun]
        while news.gone or news.files:
            self._is_open = True
            said += self._said(news)
            if not news.more:
                break
            await self._connection.write(b"".join(said))
            said = []
            news = await self._news()
        # The same texts as those of the portion itself: they are there once for all nodes.
        self._sent = news.wanted
        if self._is_open:
            self._is_open = False
            self._counts.commits += 1
            said.append(frames.chunk_of(frames.commit_frame(news.wanted)))
        if any(said):
            await self._connection.write(b"".join(said))

    def _said(self, news: PortionNews) -> Iterator[bytes]:
        """The frames of what is different, which counts as sent."""
        sent = {path: digest for path, digest in self._sent.items() if path not in news.gone}
        if news.gone:
            yield frames.chunk_of(frames.gone_frame(news.gone))
        for path, digest, text in news.files:
            yield frames.chunk_of(frames.file_frame(path, digest, text))
            sent[path] = digest
            self._counts.files += 1
            self._counts.bytes += len(text)
        self._sent = sent

    async def _news(self) -> PortionNews:
        return await self._keeper.news(self._of.portion, self._sent)
