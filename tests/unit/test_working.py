"""Workers and leadership: what fails comes back, and what is lost ends."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable
from typing import Any, cast

import pytest

from stoker.errors import StokerError
from stoker.kube.lease import Leadership
from stoker.kube.queue import KeyedQueue
from stoker.run.leading import lead
from stoker.run.workers import Job, words, worker
from tests.unit.virtual_time import run


class Contender:
    """Leads when it is told to, and notes when it gives the Lease back."""

    def __init__(self, noted: list[str]) -> None:
        self.leading = asyncio.Event()
        self.on_lost: Callable[[], None] | None = None
        self._noted = noted

    async def run(self) -> None:
        """Contend."""
        try:
            await asyncio.Event().wait()
        finally:
            self._noted.append("given back")

    def lose(self) -> None:
        """Another leads."""
        self.leading.clear()
        assert self.on_lost
        self.on_lost()


def leading(script: Callable[[Contender, list[str]], Awaitable[None]]) -> list[str]:
    """What happens to work, while a script decides who leads, until it is told to stop."""
    noted: list[str] = []

    async def work() -> None:
        noted.append("begun")
        try:
            await asyncio.Event().wait()
        finally:
            noted.append("ended")

    async def main() -> None:
        contender = Contender(noted)
        task = asyncio.create_task(lead(cast(Leadership, contender), work))
        await asyncio.sleep(1)
        await script(contender, noted)
        await asyncio.sleep(1)
        task.cancel()
        with pytest.raises(asyncio.CancelledError):
            await task

    run(main())
    return noted


def test_work_ends_with_leadership_and_begins_anew_with_it() -> None:
    """And when we are told to stop, it ends before the Lease is given back."""

    async def script(contender: Contender, noted: list[str]) -> None:
        assert noted == []
        contender.leading.set()
        await asyncio.sleep(1)
        contender.lose()
        await asyncio.sleep(1)
        assert noted == ["begun", "ended"]
        contender.leading.set()

    assert leading(script) == ["begun", "ended", "begun", "ended", "given back"]


def test_what_is_lost_right_after_it_was_won_is_lost() -> None:
    """A process that stood still may find both at once."""

    async def script(contender: Contender, _noted: list[str]) -> None:
        contender.leading.set()
        contender.lose()
        await asyncio.sleep(1)
        contender.leading.set()
        await asyncio.sleep(1)
        contender.lose()
        contender.leading.set()

    noted = leading(script)
    assert noted[-1] == "given back"
    assert noted[:-1] == ["begun", "ended"] * (len(noted) // 2)


def test_whoever_is_told_to_stop_while_leadership_is_lost_stops() -> None:
    """Work takes a moment to end, and the two may come together."""
    noted: list[str] = []

    async def work() -> None:
        try:
            await asyncio.Event().wait()
        finally:
            await asyncio.sleep(1)

    async def main() -> None:
        contender = Contender(noted)
        contender.leading.set()
        task = asyncio.create_task(lead(cast(Leadership, contender), work))
        await asyncio.sleep(1)
        contender.lose()
        await asyncio.sleep(0.5)
        task.cancel()
        with pytest.raises(asyncio.CancelledError):
            await task

    run(main())
    assert noted == ["given back"]


def test_work_that_fails_is_not_hidden() -> None:
    """It ends the whole, as nothing else would do it."""

    async def work() -> None:
        raise StokerError("broken")

    async def main() -> None:
        contender = Contender([])
        contender.leading.set()
        await lead(cast(Leadership, contender), work)

    with pytest.raises(BaseExceptionGroup) as caught:
        run(main())
    assert caught.group_contains(StokerError, match="broken")


async def _cancelled() -> None:
    """Wait for what somebody else cancels."""
    shared = asyncio.get_running_loop().create_future()
    shared.cancel()
    await shared


async def _broken() -> None:
    raise KeyError("no such thing")


@pytest.mark.parametrize(
    ("broken", "fault"),
    [
        (_broken, "KeyError: 'no such thing'"),
        (_cancelled, "RuntimeError: something that it waited for was cancelled"),
    ],
)
def test_an_error_that_nobody_expected_stops_no_other_work(
    broken: Callable[[], Awaitable[None]], fault: str
) -> None:
    """The key comes back until its work goes well; the others have their turn meanwhile."""
    done: list[str] = []
    told: list[str] = []

    async def work(key: str) -> None:
        if key == "odd" and len(told) < 2:
            await broken()
        done.append(key)

    async def main() -> None:
        queue: KeyedQueue[str] = KeyedQueue()
        job: Job[Any] = Job(
            queue=queue,
            work=work,
            failed=lambda _key, error: told.append(words(error)),
            done=lambda _seconds: None,
        )
        task = asyncio.create_task(worker(job))
        queue.add("odd")
        queue.add("other")
        await asyncio.sleep(60)
        await queue.shutdown()
        await task

    run(main())
    assert done == ["other", "odd"]
    assert told == [f"a fault in the operator: {fault}"] * 2


def test_a_worker_that_is_told_to_end_ends() -> None:
    """In the midst of its work, which did not fail: the key is in line again."""
    told: list[str] = []

    async def main() -> KeyedQueue[str]:
        queue: KeyedQueue[str] = KeyedQueue()
        job: Job[Any] = Job(
            queue=queue,
            work=lambda _key: asyncio.Event().wait(),
            failed=lambda key, _error: told.append(key),
            done=lambda _seconds: None,
        )
        task = asyncio.create_task(worker(job))
        queue.add("long")
        await asyncio.sleep(1)
        task.cancel()
        with pytest.raises(asyncio.CancelledError):
            await task
        return queue

    assert len(run(main())) == 1
    assert told == []
