"""Workers: each takes a key from a queue, works on it, and takes the next, for ever.

A key whose work failed comes back later. That is also true of an error that nobody expected: one
object that finds a fault in the operator must not stop the work on all others. And where something
that the work waits for is cancelled the worker is not: it would be gone, and nobody would notice.
"""

import time
import traceback
from collections.abc import Awaitable, Callable, Hashable
from typing import Generic, TypeVar

from msgspec import Struct

from stoker.errors import StokerError
from stoker.kube.endless import undisturbed, words
from stoker.kube.errors import NotLeading
from stoker.kube.queue import KeyedQueue, QueueClosedError
from stoker.logs import Logger

K = TypeVar("K", bound=Hashable)


class Job(Struct, Generic[K], frozen=True, kw_only=True):
    """What workers do with the keys of a queue.

    `failed` is told of each failure, `done` how many seconds the work on a key took.
    """

    queue: KeyedQueue[K]
    work: Callable[[K], Awaitable[object]]
    failed: Callable[[K, Exception], None]
    done: Callable[[float], None]
    workers: int = 1


async def worker(job: Job[K]) -> None:
    """Work until the queue is closed, or cancelled."""
    while True:
        try:
            async with job.queue.take() as key:
                await _worked(job, key)
        except QueueClosedError:
            return
        except Exception:  # noqa: S112 - it was told, and its key comes back
            continue


async def _worked(job: Job[K], key: K) -> None:
    begun = time.monotonic()
    try:
        await undisturbed(job.work(key))
    except Exception as error:
        job.failed(key, error)
        raise
    finally:
        job.done(time.monotonic() - begun)


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
