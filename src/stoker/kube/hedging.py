"""A question that nobody answers soon is asked once more, and the first answer counts.

A connection that was lost on the way looks like a slow server for as long as the request may take.
Another one, beside it, is answered at once.
"""

import asyncio
from collections.abc import Callable, Coroutine
from typing import Any, TypeVar

T = TypeVar("T")


async def sooner_of_two(ask: Callable[[], Coroutine[Any, Any, T]], seconds: float | None) -> T:
    """The answer, asked for once more where there is none after some seconds (None: only once).

    Where one of the two fails, the other counts; where both do, the first failure.
    """
    if seconds is None:
        return await ask()
    asked = [asyncio.create_task(ask())]
    try:
        await asyncio.wait(asked, timeout=seconds)
        if not asked[0].done():
            asked.append(asyncio.create_task(ask()))
            await asyncio.wait(asked, return_when=asyncio.FIRST_COMPLETED)
            if not any(_has_answer(each) for each in asked):
                await asyncio.wait(asked)
        return next(filter(_has_answer, asked), asked[0]).result()
    finally:
        for each in asked:
            # asyncio must not report the failure of the other one as lost.
            if not each.cancel() and not each.cancelled():
                each.exception()


def _has_answer(asked: "asyncio.Task[T]") -> bool:
    return asked.done() and not asked.cancelled() and asked.exception() is None
