"""Workers and leadership: what fails comes back, and what is lost ends."""

from __future__ import annotations

import asyncio
import gc
import weakref
from collections.abc import Awaitable, Callable
from itertools import pairwise
from typing import Any, Final, cast

import pytest

from stoker.errors import StokerError
from stoker.kube.backoff import GRANT_SECONDS
from stoker.kube.client import Client
from stoker.kube.endless import AGAIN, endless, until_done, words
from stoker.kube.errors import ApiError, Unauthorized, Unavailable
from stoker.kube.lease import Leadership
from stoker.kube.queue import KeyedQueue
from stoker.operator.leading import lead
from stoker.operator.workers import Duty, worker
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


def _untold(error: Exception) -> None:
    raise AssertionError("nothing was to be told") from error


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
        task = asyncio.create_task(lead(cast(Leadership, contender), work, _untold))
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
        task = asyncio.create_task(lead(cast(Leadership, contender), work, _untold))
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
        await lead(cast(Leadership, contender), work, _untold)

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


FAULTS: Final = [
    (_broken, "KeyError: 'no such thing'"),
    (_cancelled, "RuntimeError: something that it waited for was cancelled"),
]


@pytest.mark.parametrize(
    ("broken", "fault"),
    FAULTS,
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
        job: Duty[Any] = Duty(
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


def test_what_failed_keeps_nothing_of_what_it_worked_on() -> None:
    """An error often stands in a variable of what raised it, and so keeps all that is there."""

    class Large:
        """What a workload has."""

    known: list[weakref.ref[Large]] = []

    async def work(_key: str) -> None:
        large = Large()
        known.append(weakref.ref(large))
        try:
            raise ValueError("no")
        except ValueError as error:
            found = error
        raise found

    async def main() -> bool:
        queue: KeyedQueue[str] = KeyedQueue()
        job: Duty[Any] = Duty(
            queue=queue, work=work, failed=lambda *_: None, done=lambda _seconds: None
        )
        task = asyncio.create_task(worker(job))
        queue.add("odd")
        await asyncio.sleep(0.1)
        kept = any(each() for each in known)
        await queue.shutdown()
        await task
        return kept

    gc.disable()
    try:
        assert not run(main())
    finally:
        gc.enable()
    assert known


def test_a_worker_that_is_told_to_end_ends() -> None:
    """In the midst of its work, which did not fail: the key is in line again."""
    told: list[str] = []

    async def main() -> KeyedQueue[str]:
        queue: KeyedQueue[str] = KeyedQueue()
        job: Duty[Any] = Duty(
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


async def _ended() -> None:
    """End at once."""


async def _group() -> None:
    async with asyncio.TaskGroup() as tasks:
        tasks.create_task(asyncio.Event().wait())
        tasks.create_task(_broken())


@pytest.mark.parametrize(
    ("broken", "fault"),
    [
        *FAULTS,
        (_ended, "EndedError: it ended, and nobody told it to"),
        (_group, "KeyError: 'no such thing'"),
    ],
)
def test_a_task_that_ends_unforeseen_begins_anew_later_and_later(
    broken: Callable[[], Awaitable[None]], fault: str
) -> None:
    """Each end is told; it ends for good when it is told to."""
    begun: list[float] = []
    told: list[str] = []

    async def work() -> None:
        begun.append(asyncio.get_running_loop().time())
        await (broken() if len(begun) < 10 else asyncio.Event().wait())

    async def main() -> None:
        task = asyncio.create_task(endless(work, lambda error: told.append(words(error))))
        await asyncio.sleep(1_000)
        task.cancel()
        with pytest.raises(asyncio.CancelledError):
            await task

    run(main())
    assert told == [f"a fault in the operator: {fault}"] * 9
    pauses = [after - before for before, after in pairwise(begun)]
    assert pauses[0] <= AGAIN.first
    assert AGAIN.longest / 2 <= pauses[-1] <= AGAIN.longest


@pytest.mark.parametrize(
    "error",
    [
        Unavailable("get", "/", "no answer in time"),
        Unauthorized("get", "/", "unknown", status=401),
    ],
)
def test_a_task_that_a_server_does_not_answer_is_tried_again_soon(error: ApiError) -> None:
    """However long that lasts: nobody tells of a server that is back."""
    begun: list[float] = []

    async def work() -> None:
        begun.append(asyncio.get_running_loop().time())
        if len(begun) < 10:
            raise error

    run(until_done(work, lambda _error: None))
    assert max(after - before for before, after in pairwise(begun)) <= GRANT_SECONDS


def test_a_task_whose_group_fails_as_it_is_told_to_end_ends() -> None:
    """It must not begin anew then: nobody would tell it again."""

    async def slow() -> None:
        try:
            await asyncio.Event().wait()
        finally:
            await asyncio.sleep(1)

    async def work() -> None:
        async with asyncio.TaskGroup() as tasks:
            tasks.create_task(slow())
            await asyncio.sleep(1)
            tasks.create_task(_broken())

    async def main() -> None:
        task = asyncio.create_task(endless(work, lambda _error: None))
        await asyncio.sleep(1.5)
        task.cancel()
        async with asyncio.timeout(10):
            with pytest.raises(asyncio.CancelledError):
                await task

    run(main())


def test_work_that_fails_is_done_until_it_went_well() -> None:
    """And not again after that."""
    told: list[Exception] = []

    async def work() -> None:
        if len(told) < 2:
            await _broken()

    run(until_done(work, told.append))
    assert len(told) == 2


def test_a_lease_that_nobody_contends_for_any_longer_is_contended_for_anew() -> None:
    """The work ends with the contest, however that ended, since another may lead meanwhile."""
    noted: list[str] = []
    told: list[str] = []

    class Api:
        """Has a Lease that is free, until a stray cancellation comes from it."""

        ask = Client.ask

        async def request(self, method: str, _path: str, **rest: Any) -> bytes:
            loop = asyncio.get_running_loop()
            if loop.time() > 9 and method == "PUT" and not told:
                await _cancelled()
            return cast(bytes, rest["body"] or b'{"metadata": {}}')

    async def work() -> None:
        noted.append("begun")
        try:
            await asyncio.Event().wait()
        finally:
            noted.append("ended")

    async def main() -> bool:
        clock = asyncio.get_running_loop().time
        leadership = Leadership(cast(Client, Api()), "shop", "stoker", "me", clock=clock)
        task = asyncio.create_task(lead(leadership, work, lambda error: told.append(str(error))))
        await asyncio.sleep(60)
        leads = leadership.is_leading
        task.cancel()
        with pytest.raises(asyncio.CancelledError):
            await task
        return leads

    assert run(main())
    assert told == ["something that it waited for was cancelled"]
    assert noted == ["begun", "ended", "begun", "ended"]
