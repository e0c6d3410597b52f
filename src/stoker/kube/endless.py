"""Tasks that never end: one that fails is reported, and begins again, later and later.

A group of tasks ends with the first that fails, and does not notice one that ends by itself or is
cancelled from elsewhere. Neither is what anybody wants of a part of the operator: the rest goes on,
and the part comes back.
"""

import asyncio
from collections.abc import Awaitable, Callable
from typing import Final, TypeAlias, TypeVar

from stoker.errors import StokerError
from stoker.kube.backoff import GRANT_SECONDS, Backoff
from stoker.kube.errors import asked_wait, passes_untold

T = TypeVar("T")

EndlessWork: TypeAlias = Callable[[], Awaitable[object]]
Told: TypeAlias = Callable[[Exception], None]
"""Hears of each failure."""

AGAIN: Final = Backoff(first=1.0, longest=60.0)
SOON: Final = Backoff(first=1.0, longest=GRANT_SECONDS)
# What held for so long was well; the next failure is the first.
STEADY_SECONDS: Final = 300.0


class EndedError(Exception):
    """Something ended that goes on for ever."""


async def endless(work: EndlessWork, told: Told) -> None:
    """Do work that never ends until cancelled, again and again where it ends all the same."""

    async def without_end() -> None:
        await work()
        raise EndedError("it ended, and nobody told it to")

    await until_done(without_end, told)


async def until_done(work: EndlessWork, told: Told) -> None:
    """Do work until it was done once, or cancelled."""
    failures = 0
    while True:
        begun = _now()
        try:
            # In a task of its own: a group that fails may leave its task marked as cancelled.
            await undisturbed(asyncio.ensure_future(work()))
        except Exception as error:
            cause = _cause(error)
            told(cause)
        else:
            return
        if _is_cancelled():
            # It failed as it was told to end.
            raise asyncio.CancelledError
        failures = 1 if _now() - begun > STEADY_SECONDS else failures + 1
        again = SOON if passes_untold(cause) else AGAIN
        await asyncio.sleep(max(again.delay(failures), asked_wait(cause)))


async def undisturbed(work: Awaitable[T]) -> T:
    """Wait for work; RuntimeError where something that it waits for is cancelled, and not we."""
    try:
        return await work
    except asyncio.CancelledError as error:
        if _is_cancelled():
            raise
        raise RuntimeError("something that it waited for was cancelled") from error


def words(error: Exception) -> str:
    """What to tell people about an error; one that nobody expected is called a fault of ours."""
    if isinstance(error, StokerError):
        return str(error)
    return f"a fault in the operator: {type(error).__name__}: {error}"


def _cause(error: Exception) -> Exception:
    """The first failure in a group of tasks: the others were ended by it."""
    while isinstance(error, ExceptionGroup):
        error = error.exceptions[0]
    return error


def _is_cancelled() -> bool:
    """Whether we ourselves are told to end."""
    task = asyncio.current_task()
    return task is None or task.cancelling() > 0


def _now() -> float:
    return asyncio.get_running_loop().time()
