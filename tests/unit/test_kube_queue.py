"""The line of keys: once, never in two hands, later and later, and at once after a change."""

import asyncio
from collections import Counter
from contextlib import suppress
from itertools import count, pairwise

import pytest
from hypothesis import given
from hypothesis import strategies as st

from stoker.kube.backoff import GRANT_SECONDS, Backoff
from stoker.kube.errors import (
    ApiError,
    TooManyRequests,
    Unavailable,
    error_of,
    passes_untold,
)
from stoker.kube.queue import KeyedQueue, QueueClosedError
from tests.unit import virtual_time


class BrokenError(Exception):
    """What a worker raises when its work fails."""


def now() -> float:
    """The virtual time."""
    return asyncio.get_running_loop().time()


async def taken(
    queue: KeyedQueue[str], *, fail: bool = False, meanwhile: str = ""
) -> tuple[str, float]:
    """Take a key, and tell which and when; what is changed meanwhile, and whether it fails."""
    try:
        async with queue.take() as key:
            if meanwhile:
                queue.add(meanwhile)
            if fail:
                raise BrokenError
    except BrokenError:
        pass
    return key, now()


def test_a_key_waits_once_however_often_it_is_added() -> None:
    """Ten changes before a worker is free are one turn."""

    async def main() -> None:
        queue: KeyedQueue[str] = KeyedQueue()
        for _ in range(10):
            queue.add("a")
        assert len(queue) == 1
        assert (await taken(queue))[0] == "a"
        assert len(queue) == 0

    virtual_time.run(main())


def test_a_key_added_while_in_hand_comes_back_when_it_is_put_down() -> None:
    """A change during the work is not lost, and no second worker gets the key meanwhile."""

    async def main() -> None:
        queue: KeyedQueue[str] = KeyedQueue()
        queue.add("a")
        async with queue.take() as key:
            queue.add(key)
            queue.add("b")
            assert (await taken(queue))[0] == "b"
            assert len(queue) == 0
        assert (await taken(queue))[0] == "a"

    virtual_time.run(main())


def test_waiting_for_a_key_needs_no_timer() -> None:
    """A worker with nothing to do sleeps until `add`; it does not look again and again."""

    async def main() -> None:
        await taken(KeyedQueue())

    with pytest.raises(virtual_time.StuckError):
        virtual_time.run(main())


def test_failures_back_off_up_to_a_minute() -> None:
    """Each wait is drawn from the upper half of twice the one before, and none is over 60 s."""

    async def main() -> list[float]:
        queue: KeyedQueue[str] = KeyedQueue()
        queue.add("a")
        times = [(await taken(queue, fail=True))[1] for _ in range(14)]
        assert queue.failures("a") == 14
        return [later - sooner for sooner, later in pairwise(times)]

    whole = [min(60.0, 0.25 * 2**number) for number in range(13)]
    for wait, longest in zip(virtual_time.run(main()), whole, strict=True):
        assert longest / 2 <= wait <= longest + 1e-6


@pytest.mark.parametrize(("asked", "waited"), [(30.0, 30.0), (86_400.0, 300.0)])
def test_a_server_that_asks_for_time_gets_it(asked: float, waited: float) -> None:
    """Not for ever: what stands before a server says many things."""

    async def main() -> float:
        queue: KeyedQueue[str] = KeyedQueue()
        queue.add("a")
        with suppress(TooManyRequests):
            async with queue.take():
                raise TooManyRequests("get", "/", "slowly", status=429, retry_after=asked)
        return (await taken(queue))[1]

    assert virtual_time.run(main()) == waited


@pytest.mark.parametrize("status", [0, 401, 403, 404, 408, 409, 410, 429, 500, 503])
def test_what_nobody_tells_the_end_of_is_tried_every_few_seconds(status: int) -> None:
    """However long it lasts: a right that is granted, or a server that is back, is used soon.

    A server that is not well gives answers of all kinds, and the last one may be any of them.
    """
    error = refusal(status) if status else Unavailable("patch", "/", "no answer in time")

    async def main() -> None:
        queue: KeyedQueue[str] = KeyedQueue()
        queue.add("a")
        turns: list[float] = []
        for _ in range(20):
            with suppress(ApiError):
                async with queue.take():
                    turns.append(now())
                    raise error
        assert max(later - sooner for sooner, later in pairwise(turns)) <= GRANT_SECONDS

    virtual_time.run(main())


def refusal(status: int) -> ApiError:
    """What is raised where a server answers with this."""
    return error_of("patch", "/api/v1/secrets", {"code": status, "message": "no"})


@pytest.mark.parametrize("status", [400, 413, 422])
def test_what_is_wrong_with_the_request_itself_is_tried_ever_later(status: int) -> None:
    """It will hardly be right by itself."""
    assert not passes_untold(refusal(status))
    assert not passes_untold(ValueError("a fault of ours"))


def test_a_change_ends_the_wait_and_its_history() -> None:
    """A Secret that appears wakes a workload that has failed for an hour, at once."""

    async def main() -> None:
        queue: KeyedQueue[str] = KeyedQueue()
        queue.add("a")
        for _ in range(10):
            await taken(queue, fail=True)
        before = now()
        queue.add("a")
        assert await taken(queue, fail=True) == ("a", before)
        assert (await taken(queue))[1] - before <= 0.25

    virtual_time.run(main())


def test_success_forgets_failures() -> None:
    """The next failure after a success waits as little as the first."""

    async def main() -> None:
        queue: KeyedQueue[str] = KeyedQueue()
        queue.add("a")
        for _ in range(5):
            await taken(queue, fail=True)
        await taken(queue)
        queue.add_after("a", 0)
        before = (await taken(queue, fail=True))[1]
        assert (await taken(queue))[1] - before <= 0.25

    virtual_time.run(main())


def test_a_change_during_work_that_fails_comes_back_at_once() -> None:
    """The failure may be what the change has repaired."""

    async def main() -> None:
        queue: KeyedQueue[str] = KeyedQueue()
        queue.add("a")
        await taken(queue, fail=True, meanwhile="a")
        assert await taken(queue) == ("a", 0.0)

    virtual_time.run(main())


def test_the_sooner_of_two_waits_counts() -> None:
    """`add_after` never makes a key wait longer than it would have."""

    async def main() -> None:
        queue: KeyedQueue[str] = KeyedQueue()
        queue.add_after("a", 50)
        queue.add_after("a", 20)
        queue.add_after("a", 90)
        assert await taken(queue) == ("a", 20)
        queue.add("a")
        async with queue.take() as key:
            queue.add_after(key, 30)
            queue.add_after(key, 10)
            queue.add_after(key, 40)
        assert await taken(queue) == ("a", 30)
        assert now() == 30

    virtual_time.run(main())


def test_a_key_that_keeps_coming_back_does_not_starve_the_others() -> None:
    """Who has waited longest is next, so a busy workload has every other turn at most."""

    async def main() -> None:
        queue: KeyedQueue[str] = KeyedQueue()
        for key in ("busy", "b", "c"):
            queue.add(key)
        order = []
        for _ in range(6):
            async with queue.take() as key:
                order.append(key)
                if key == "busy":
                    queue.add(key)
        assert order[:4] == ["busy", "b", "c", "busy"]

    async def bounded() -> None:
        await asyncio.wait_for(main(), 10)

    virtual_time.run(bounded())


def test_cancelled_work_is_given_to_another() -> None:
    """A worker that is stopped has not failed, and its key is not lost."""

    async def main() -> None:
        queue: KeyedQueue[str] = KeyedQueue()
        queue.add("a")

        async def work() -> None:
            async with queue.take():
                await asyncio.sleep(1000)

        worker = asyncio.create_task(work())
        await asyncio.sleep(1)
        worker.cancel()
        assert await taken(queue) == ("a", 1)
        assert queue.failures("a") == 0

    virtual_time.run(main())


def test_a_taker_that_gives_up_takes_no_key_with_it() -> None:
    """A worker cancelled at the moment that a key arrives leaves it to the next."""

    async def main() -> None:
        queue: KeyedQueue[str] = KeyedQueue()
        first = asyncio.create_task(taken(queue))
        second = asyncio.create_task(taken(queue))
        await asyncio.sleep(0)
        queue.add("a")
        first.cancel()
        assert (await second)[0] == "a"

    virtual_time.run(main())


def test_shutdown_wakes_the_idle_and_waits_for_the_busy() -> None:
    """Workers end when their key is put down; nothing is handed out or kept any more."""

    async def main() -> None:
        queue: KeyedQueue[str] = KeyedQueue()
        queue.add("a")
        ended = []

        async def work(name: str) -> None:
            try:
                while True:
                    async with queue.take():
                        await asyncio.sleep(5)
            except QueueClosedError:
                ended.append(name)

        async with asyncio.TaskGroup() as workers:
            for name in ("busy", "idle", "idle too"):
                workers.create_task(work(name))
            await asyncio.sleep(1)
            queue.add_after("b", 100)
            await queue.shutdown()
            assert now() == 5
            queue.add("c")
        assert sorted(ended) == ["busy", "idle", "idle too"]
        assert len(queue) == 0

    virtual_time.run(main())


def test_numbers_for_metrics_are_kept() -> None:
    """Turns, retries, time in line and time in hand can be asked for."""
    waits: list[float] = []

    async def main() -> None:
        queue: KeyedQueue[str] = KeyedQueue(waits.append)
        queue.add("a")
        await asyncio.sleep(3)
        async with queue.take() as key:
            assert dict(queue.in_hand) == {key: 3}
        assert not queue.in_hand
        queue.add("a")
        queue.add_after("later", 60)
        assert queue.delayed == 0
        await taken(queue, fail=True)
        assert queue.delayed == 1
        await taken(queue)
        assert queue.delayed == 0
        assert (queue.adds, queue.retries) == (3, 1)

    virtual_time.run(main())
    assert waits == [3, 0, 0]


Step = tuple[str, str, float]
steps = st.lists(
    st.tuples(
        st.sampled_from(("add", "add_after", "forget")),
        st.sampled_from("abcd"),
        st.floats(0, 50),
    ),
    max_size=40,
)


class Workplace:
    """Workers on a queue, and what they did when."""

    def __init__(self, fails: set[int]) -> None:
        self.queue: KeyedQueue[str] = KeyedQueue()
        self.last_turn: dict[str, float] = {}
        self._fails = fails
        self._hands: Counter[str] = Counter()
        self._turns = count()

    async def work(self) -> None:
        """Take keys until there are no more; the turns that were chosen fail."""
        while True:
            try:
                async with self.queue.take() as key:
                    await self._turn(key)
            except BrokenError:
                continue
            except QueueClosedError:
                return

    async def _turn(self, key: str) -> None:
        self._hands[key] += 1
        assert self._hands[key] == 1
        begun = now()
        await asyncio.sleep(0.7)
        self._hands[key] -= 1
        if next(self._turns) in self._fails:
            raise BrokenError
        self.last_turn[key] = begun


@given(steps=steps, pauses=st.lists(st.floats(0, 5), min_size=1), fails=st.sets(st.integers(0, 40)))
def test_no_change_is_lost_and_no_key_is_in_two_hands(
    steps: list[Step], pauses: list[float], fails: set[int]
) -> None:
    """After the last change of each key there is a whole turn that begins after it."""
    last_change: dict[str, float] = {}

    async def change(queue: KeyedQueue[str]) -> None:
        for number, (what, key, seconds) in enumerate(steps):
            if what == "forget":
                queue.forget(key)
            else:
                queue.add(key) if what == "add" else queue.add_after(key, seconds)
                last_change[key] = now()
            await asyncio.sleep(pauses[number % len(pauses)])

    async def main() -> Workplace:
        place = Workplace(fails)
        async with asyncio.TaskGroup() as workers:
            for _ in range(3):
                workers.create_task(place.work())
            await change(place.queue)
            await asyncio.sleep(4000)
            await place.queue.shutdown()
        return place

    place = virtual_time.run(main())
    assert place.last_turn.keys() == last_change.keys()
    assert all(place.last_turn[key] >= moment for key, moment in last_change.items())


@given(st.integers(0, 10**9), st.floats(0.001, 1), st.floats(1, 100))
def test_a_wait_stays_in_its_bounds(failures: int, first: float, longest: float) -> None:
    """However often something failed, the wait is a number between nothing and the longest."""
    assert 0 <= Backoff(first, longest).delay(failures) <= longest
    assert (Backoff(first, longest).delay(failures) > 0) == (failures > 0)
