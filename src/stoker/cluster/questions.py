"""Asks the server for something of our own, again and again, for as long as that is of interest."""

import asyncio
from collections.abc import Awaitable, Callable
from typing import Final

from stoker.cluster.pace import Pace
from stoker.kube.backoff import GRANT_SECONDS, Backoff
from stoker.kube.errors import asked_wait

# Between two questions; a start whose reads are all answered before the first asks none.
_PAUSE_SECONDS: Final = 0.1
# An answer that takes longer says something about the server.
_PROMPT_SECONDS: Final = 0.4
# After so long the next question may be about something else.
_LONGEST_SECONDS: Final = 10.0
_AGAIN: Final = Backoff(first=2 * _PAUSE_SECONDS, longest=GRANT_SECONDS)


class Questions:
    """Asks one question after the other, and tells what became of them.

    `is_back` is called when one is answered after others were not.
    """

    def __init__(
        self,
        ask: Callable[[], Awaitable[object]],
        pace: Pace,
        is_back: Callable[[], None] = lambda: None,
    ) -> None:
        self._ask = ask
        self._pace = pace
        self._is_back = is_back
        self._asking: asyncio.Task[None] | None = None

    def go_on(self, is_needed: Callable[[], bool]) -> None:
        """See to it that questions are asked for as long as they are needed."""
        if self._asking is None or self._asking.done():
            self._asking = asyncio.create_task(self._run(is_needed), name="questions")

    async def _run(self, is_needed: Callable[[], bool]) -> None:
        failures, wait = 0, _PAUSE_SECONDS
        while is_needed():
            await asyncio.sleep(wait)
            if not is_needed():
                return
            try:
                await self._asked()
                if failures:
                    self._is_back()
                failures, wait = 0, _PAUSE_SECONDS
            except Exception as error:
                # Whatever it is: none was answered before another.
                self._pace.unanswered()
                failures += 1
                wait = max(_AGAIN.delay(failures), asked_wait(error))

    async def _asked(self) -> None:
        loop = asyncio.get_running_loop()
        begun = loop.time()
        self._pace.asked()
        async with asyncio.timeout(_LONGEST_SECONDS):
            await self._ask()
        self._pace.answered(promptly=loop.time() - begun <= _PROMPT_SECONDS)
