"""Work while this replica leads, and only then.

When leadership is lost the work is cancelled; when it comes back the work begins again. When we are
told to stop, the work ends first and the Lease is given back then: nobody else leads before.
"""

import asyncio
from collections.abc import Awaitable, Callable

from stoker.kube.endless import Told, endless
from stoker.kube.lease import Leadership

Work = Callable[[], Awaitable[object]]


async def lead(
    leadership: Leadership, work: Work, told: Told, meanwhile: Work | None = None
) -> None:
    """Contend for leadership for ever, and work whenever we have it, or do something `meanwhile`.

    `told` hears of what ends the contest unforeseen; it begins again then.
    """
    lost = asyncio.Event()
    leadership.on_lost = lost.set
    async with asyncio.TaskGroup() as tasks:
        tasks.create_task(endless(leadership.run, told), name="lease")
        while True:
            # In this order: what is lost right after it was won is lost.
            lost.clear()
            await until(leadership.leading, meanwhile or leadership.leading.wait)
            await until(lost, work)


async def until(end: asyncio.Event, work: Work) -> None:
    """Work until something happens, or the work fails."""
    async with asyncio.TaskGroup() as tasks:
        working = tasks.create_task(_awaited(work), name="work")
        # Nothing is raised to leave: a group that fails takes a cancellation of ours for its own.
        tasks.create_task(_leave(working, end))


async def _leave(working: asyncio.Task[None], end: asyncio.Event) -> None:
    await end.wait()
    working.cancel()


async def _awaited(work: Work) -> None:
    await work()
