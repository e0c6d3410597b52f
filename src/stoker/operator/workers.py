"""Workers: each takes a key from a queue, works on it, and takes the next, for ever.

A key whose work failed comes back later. That is also true of an error that nobody expected: one
object that finds a fault in the operator must not stop the work on all others. And where something
that the work waits for is cancelled the worker is not: it would be gone, and nobody would notice.
"""

import time
import traceback
from collections.abc import Awaitable, Callable, Hashable, Iterable
from typing import Final, Generic, TypeVar

from msgspec import Struct
from msgspec.structs import asdict

from stoker.errors import StokerError
from stoker.kube.endless import undisturbed, words
from stoker.kube.errors import Forbidden, NotLeading
from stoker.kube.queue import KeyedQueue, QueueClosedError
from stoker.logs import Logger
from stoker.operator.refusals import Refusals
from stoker.ref import Ref
from stoker.web.metrics import Counter

K = TypeVar("K", bound=Hashable)

# So often a right is named that is missing for what is tried all the time.
_NAMED_AGAIN: Final = 60.0


class Duty(Struct, Generic[K], frozen=True, kw_only=True):
    """What workers do with the keys of a queue.

    `failed` hears of each failure, `done` how many seconds the work on a key took. If it `waits`,
    it begins when workloads had their first turn.
    """

    queue: KeyedQueue[K]
    work: Callable[[K], Awaitable[object]]
    failed: Callable[[K, Exception], None]
    done: Callable[[float], None]
    workers: int = 1
    waits: bool = False


async def worker(job: Duty[K]) -> None:
    """Work until the queue is closed, or cancelled."""
    while True:
        try:
            async with job.queue.take() as key:
                await _worked(job, key)
        except QueueClosedError:
            return
        except Exception as error:
            # It was reported, and its key comes back. What it passed through often refers to it,
            # and to all that there is of a workload: Python would look for that much later.
            traceback.clear_frames(error.__traceback__)


async def _worked(job: Duty[K], key: K) -> None:
    begun = time.monotonic()
    try:
        await undisturbed(job.work(key))
    except Exception as error:
        job.failed(key, error)
        raise
    finally:
        job.done(time.monotonic() - begun)


class Failures:
    """Says in the log what failed, and counts what ended beside the queues, by task."""

    def __init__(self, log: Logger, faults: Counter, tasks: Iterable[str]) -> None:
        self._log = log
        self._ungranted = Refusals(log, again=_NAMED_AGAIN)
        self._faults = faults
        for task in tasks:
            faults.add(0, task)

    def tell(self, message: str, key: Ref, error: Exception) -> None:
        """Say that work on a key failed."""
        if isinstance(error, Forbidden):
            # It is tried every few seconds, and one line names the right for all that need it.
            self._ungranted.tell(message, error, **asdict(key))
        else:
            tell(self._log, message, error, **asdict(key))

    def stumbled(self, task: str, error: Exception) -> None:
        """Say that a task ended which goes on for ever, or until it is done."""
        self._faults.add(1, task)
        tell(self._log, "a task ended unforeseen, and is restarted", error, task=task)


def tell(log: Logger, message: str, error: Exception, **fields: str) -> None:
    """Log a failure: a fault of our own with the place, a write that was held back hardly."""
    if isinstance(error, NotLeading):
        log.debug(message, **fields, err=error)
    elif isinstance(error, StokerError):
        log.warn(message, **fields, err=error)
    else:
        log.error(message, **fields, err=words(error), trace=_places(error))


def _places(error: Exception) -> str:
    """Where it happened, innermost last; without the text of any line."""
    frames = traceback.extract_tb(error.__traceback__)[-6:]
    return " ".join(f"{frame.filename.rpartition('/')[2]}:{frame.lineno}" for frame in frames)
