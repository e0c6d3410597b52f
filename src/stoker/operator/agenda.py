"""What is still to be done, and where to look: written by who notices something, read by workers.

    triggers ─────────────┐            ┌─> turns of workloads, with what was noted of each
    stand-ins, timers ────┴─> Agenda ──┴─> statuses

It knows neither side: nothing here reports to others or asks them. So who notices
something does not know what becomes of it, and who works does not know who noticed it.
"""

import asyncio
from collections.abc import Iterable, Mapping
from contextlib import suppress
from typing import Final, NamedTuple

from stoker.kube.queue import KeyedQueue
from stoker.operator.changes import Changes
from stoker.ref import Ref
from stoker.web.operator_metrics import ControllerMetrics


class TurnCause(NamedTuple):
    """What is counted as the cause of a turn: the kind of an object, and what happened to it."""

    kind: str
    action: str


STAND_INS: Final = TurnCause("ScrapeConfig", "update")
"""The ScrapeConfigs in place of a monitor are others."""


class Agenda:
    """The workloads that wait for a turn, where each must look, and the statuses to look at.

    `metrics` count the causes, by kind of workload.
    """

    def __init__(self, metrics: Mapping[str, ControllerMetrics]) -> None:
        self.workloads: dict[str, KeyedQueue[Ref]] = {kind: KeyedQueue() for kind in metrics}
        self.statuses: KeyedQueue[Ref] = KeyedQueue()
        self._metrics = metrics
        self._noted: dict[Ref, Changes] = {}
        # Those that have a turn, and not just a look at their status, when pods become ready.
        self._on_pods: set[Ref] = set()

    # --- Whoever notices something ----------------------------------------------------------------

    def note(self, key: Ref, changes: Changes, cause: TurnCause | None = None) -> None:
        """Let a workload look where something changed; without a cause, it is not counted."""
        self.give_back(key, changes)
        if cause:
            self._metrics[key.kind].triggered(*cause)
        self.wake(key)

    def wake(self, key: Ref) -> None:
        """Let a workload have a turn, though nothing is known to have changed."""
        self.workloads[key.kind].add(key)

    def wake_after(self, key: Ref, seconds: float) -> None:
        """Let a workload have a turn in some time, if it has none before."""
        self.workloads[key.kind].add_after(key, seconds)

    def look(self, key: Ref) -> None:
        """The status of a workload, or of what it owns, is another: it may say something else."""
        self.statuses.add(key)
        if key in self._on_pods:
            self.wake(key)

    # --- Whoever works ----------------------------------------------------------------------------

    def take(self, key: Ref) -> Changes:
        """What was noted of a workload since this was asked; nothing is noted then."""
        return self._noted.pop(key, None) or Changes()

    def noted(self, key: Ref) -> Changes | None:
        """What was noted of a workload since `take`, if anything; it stays noted."""
        return self._noted.get(key)

    def give_back(self, key: Ref, changes: Changes) -> None:
        """Note again what could not be dealt with; that is for the next turn, whenever it is."""
        self._noted.setdefault(key, Changes()).merge(changes)

    def await_pods(self, key: Ref, *, awaits: bool) -> None:
        """Say whether a workload goes on when pods become ready."""
        if awaits:
            self._on_pods.add(key)
        else:
            self._on_pods.discard(key)

    def forget(self, key: Ref) -> None:
        """A workload is gone."""
        self._on_pods.discard(key)
        self._noted.pop(key, None)


class FirstTurns:
    """The workloads that had no turn since this replica leads."""

    def __init__(self) -> None:
        self._left: set[Ref] = set()
        self._over = asyncio.Event()

    def begin(self, keys: Iterable[Ref]) -> None:
        """These are all that there are."""
        self._left = set(keys)
        self._over.clear()
        self._note()

    def had(self, key: Ref) -> None:
        """A workload had its turn, however that ended."""
        self._left.discard(key)
        self._note()

    async def left_after(self, seconds: float) -> frozenset[Ref]:
        """Those that had none when all have had one, or after so many seconds."""
        with suppress(TimeoutError):
            async with asyncio.timeout(seconds):
                await self._over.wait()
        return frozenset(self._left)

    def _note(self) -> None:
        if not self._left:
            self._over.set()
