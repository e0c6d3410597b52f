"""Faults of watches: what operators hear of changes, and when.

Each watch that is opened during a plan is treated in one of these ways; those that were open before
are cut when the plan begins.

| harm | what happens |
|---|---|
| cut | the connection breaks after a while, perhaps in the middle of an event |
| ended | the server ends the stream in order, as it may at any time |
| silent | nothing comes any more, and the connection stays open until its client finds out |
| expired | an ERROR event with 410, as after a compaction |
| failing | an ERROR event with 500 |
| doubled | each event comes twice |
| late | events of this kind come seconds late, while those of others pass |
| no bookmarks | none but the one that ends a list |
| late list | a list is seconds old when it comes: it was true when the server made it |

Older lists than that are not tried: operators ask for the latest, and Kubernetes keeps to that.
"""

from __future__ import annotations

import asyncio
import json
import time
from collections.abc import AsyncIterator, Callable, Sequence
from typing import ClassVar

from tests.faults.gateway import Asked, CutError, Harm, Lines
from tests.faults.oracle import Expected, Trial
from tests.faults.plans import Fault, Kind, Lane, Plan
from tests.faults.stirring import stir
from tests.faults.world import World

STIR_SECONDS = (2.0, 5.0)
_SOONEST, _LATEST = 0.1, 3.0
# Promised are 30 s; the rest is for a machine on which many worlds wait for a turn.
BLIND_SECONDS = 45.0
_LIST_ENDS = b"k8s.io/initial-events-end"


def _error(code: int, reason: str, message: str) -> bytes:
    said = {"kind": "Status", "apiVersion": "v1", "metadata": {}, "status": "Failure"}
    status = {**said, "code": code, "reason": reason, "message": message}
    return json.dumps({"type": "ERROR", "object": status}).encode() + b"\n"


_EXPIRED = _error(410, "Expired", "too old resource version")
_FAILING = _error(500, "InternalError", "etcdserver: no leader")


class WatchFault(Fault):
    """Watches that do not tell all, or late."""

    def __init__(self, plan: Plan) -> None:
        super().__init__(plan)
        self._dice = plan.dice
        self._seconds = self._dice.uniform(*STIR_SECONDS)
        self._is_over = False
        self.silences: list[tuple[float, float]] = []

    def begin(self, world: World) -> None:
        """Treat all watches that are opened from now on."""
        for line in world.lines.values():
            line.tap, line.before = self._tap, self._before
            if cut := line.cut():
                self.done["cut"] += cut

    def end(self, world: World, trial: Trial) -> None:
        """Keep the operators busy for a while; then all is well."""
        stir(world, trial, self._dice, self._seconds)
        self._is_over = True
        for line in world.lines.values():
            line.heal()

    def seconds_until(self, right: float) -> float:
        """What was right only after a stream that said nothing was replaced counts from then."""
        ends = [end for _, end in self.silences if end <= right]
        return max(0.0, right - max([self.over, *ends]))

    def problems(self, world: World) -> list[str]:
        """That nobody saw for too long that a stream said nothing any more."""
        del world
        return self.blindness()

    def blindness(self) -> list[str]:
        """How long that was, where it was too long."""
        blind = max((end - begin for begin, end in self.silences), default=0.0)
        return [f"blind for {blind:.0f} s"] if blind > BLIND_SECONDS else []

    def _before(self, asked: Asked) -> Harm | None:
        if asked.verb != "list" or self._dice.random() < 0.5:
            return None
        self.done["late list"] += 1
        return Harm("late list", late=self._dice.uniform(_SOONEST, _LATEST))

    async def _tap(self, asked: Asked, lines: Lines) -> AsyncIterator[bytes]:
        del asked
        name = self._dice.choice(list(_WAYS))
        self.done[name] += 1
        after = self._dice.uniform(_SOONEST, _LATEST)
        async for line in _WAYS[name](self, lines, after):
            yield line

    # --- What becomes of a stream -----------------------------------------------------------------

    async def _until(self, lines: Lines, seconds: float) -> AsyncIterator[bytes]:
        """What comes within so many seconds; all of it if the plan is over by then."""
        end = time.monotonic() + seconds
        iterator = aiter(lines)
        coming = asyncio.ensure_future(anext(iterator))
        try:
            while True:
                left = None if self._is_over else max(0.0, end - time.monotonic())
                done, _ = await asyncio.wait({coming}, timeout=left)
                if not done:
                    if self._is_over:
                        continue
                    return
                yield coming.result()
                coming = asyncio.ensure_future(anext(iterator))
        except StopAsyncIteration:
            return
        finally:
            coming.cancel()

    async def _cut(self, lines: Lines, after: float) -> AsyncIterator[bytes]:
        last = b""
        async for line in self._until(lines, after):
            yield line
            last = line
        yield last[: len(last) // 2] if self._dice.random() < 0.3 else b""
        raise CutError

    async def _ended(self, lines: Lines, after: float) -> AsyncIterator[bytes]:
        async for line in self._until(lines, after):
            yield line

    async def _silent(self, lines: Lines, after: float) -> AsyncIterator[bytes]:
        async for line in self._until(lines, after):
            yield line
        # Whoever waits for more must find out by itself, and closes the connection.
        begin = time.monotonic()
        try:
            await asyncio.Event().wait()
        finally:
            self.silences.append((begin, time.monotonic()))

    async def _expired(self, lines: Lines, after: float) -> AsyncIterator[bytes]:
        async for line in self._until(lines, after):
            yield line
        yield _EXPIRED

    async def _failing(self, lines: Lines, after: float) -> AsyncIterator[bytes]:
        async for line in self._until(lines, after):
            yield line
        yield _FAILING

    async def _doubled(self, lines: Lines, _after: float) -> AsyncIterator[bytes]:
        async for line in lines:
            yield line
            if _LIST_ENDS not in line:
                yield line

    async def _without_bookmarks(self, lines: Lines, _after: float) -> AsyncIterator[bytes]:
        async for line in lines:
            if b'"BOOKMARK"' not in line[:30] or _LIST_ENDS in line:
                yield line

    async def _late(self, lines: Lines, after: float) -> AsyncIterator[bytes]:
        waiting: asyncio.Queue[tuple[float, bytes] | None] = asyncio.Queue()

        async def read() -> None:
            async for line in lines:
                waiting.put_nowait((time.monotonic() + after, line))
            waiting.put_nowait(None)

        reading = asyncio.ensure_future(read())
        try:
            while found := await waiting.get():
                await asyncio.sleep(max(0.0, found[0] - time.monotonic()))
                yield found[1]
        finally:
            reading.cancel()


_Way = Callable[[WatchFault, Lines, float], AsyncIterator[bytes]]
_WAYS: dict[str, _Way] = {
    "cut": WatchFault._cut,
    "ended": WatchFault._ended,
    "silent": WatchFault._silent,
    "expired": WatchFault._expired,
    "failing": WatchFault._failing,
    "doubled": WatchFault._doubled,
    "late": WatchFault._late,
    "no bookmarks": WatchFault._without_bookmarks,
}


class Watches(Kind):
    """Watches that do not tell all, or late."""

    name: ClassVar[str] = "watch"
    help: ClassVar[str] = "watches are cut, silent, late, doubled, expired, without bookmarks"

    def lanes(self, expected: Sequence[Expected], seed: int, rounds: int) -> list[Lane]:
        """As many walks through the script as there are rounds."""
        return [
            {each.name: Plan(self.name, each.name, seed, number) for each in expected}
            for number in range(rounds)
        ]

    def fault(self, plan: Plan) -> Fault:
        """Watches that are treated so."""
        return WatchFault(plan)
