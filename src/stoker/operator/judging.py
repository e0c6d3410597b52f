"""Threads in which resources are judged and configurations made, beside the event loop.

A thread that computes gives way every few milliseconds, so the loop goes on: health, the Lease, the
watches. Two do all of it, so that the loop has at most two others to share a processor with: one
for what is dear, one for the rest, which does not wait for it. Why threads, and no processes:
docs/decisions/20261116-judging-in-threads.md.
"""

import asyncio
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from typing import Final, TypeVar

T = TypeVar("T")

_QUICK: Final = ThreadPoolExecutor(1, "judging")
_DEAR: Final = ThreadPoolExecutor(1, "judging-dear")


async def aside(work: Callable[..., T], *arguments: object) -> T:
    """Do this in a thread, before all that is dear."""
    return await asyncio.get_running_loop().run_in_executor(_QUICK, work, *arguments)


async def aside_dear(work: Callable[..., T], *arguments: object) -> T:
    """Do this in a thread, one after the other with all that is dear."""
    return await asyncio.get_running_loop().run_in_executor(_DEAR, work, *arguments)
