"""Turns for reads that tenants ask for: who asks for much waits for its own, and not for others'.

A namespace has few reads under way at a time and a rate of its own. Of all namespaces together few
*quick* ones are under way: a read that takes long gives its turn back, so that slow answers for one
hold up nobody else.
"""

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from typing import Final

from stoker.kube.limits import Limits

_OF_ONE: Final = 8
_OF_ALL: Final = 16
_QUICK_SECONDS: Final = 0.25
# Half of what the operator may ask of the API server altogether.
_A_SECOND: Final = 50.0
_BURST: Final = 200


class _Lane:
    """The turns of one namespace."""

    def __init__(self) -> None:
        self.turns = asyncio.Semaphore(_OF_ONE)
        self.limits = Limits(_A_SECOND, _BURST)


class Lanes:
    """Hands out turns by namespace."""

    def __init__(self) -> None:
        self._lanes: dict[str, _Lane] = {}
        self._quick = asyncio.Semaphore(_OF_ALL)

    @asynccontextmanager
    async def turn(self, namespace: str) -> AsyncIterator[None]:
        """Wait for a turn, and have it for as long as the block runs."""
        # They stay: a rate must be remembered, and namespaces are not for tenants to make.
        lane = self._lanes.setdefault(namespace, _Lane())
        async with lane.turns:
            await lane.limits.take()
            async with self._quick_turn():
                yield

    @asynccontextmanager
    async def _quick_turn(self) -> AsyncIterator[None]:
        await self._quick.acquire()
        loop = asyncio.get_running_loop()
        giving_back = loop.call_later(_QUICK_SECONDS, self._quick.release)
        try:
            yield
        finally:
            if giving_back.when() > loop.time():
                giving_back.cancel()
                self._quick.release()
