"""Answers that are kept for a while."""

import asyncio

import pytest

from stoker.operator.lately import Lately


class Asked:
    """Counts questions, which are answered by their number; a bad one fails."""

    def __init__(self) -> None:
        self.times = 0
        self.now = 0.0
        self.go = asyncio.Event()
        self.go.set()

    async def well(self) -> int:
        """Answer."""
        self.times += 1
        number = self.times
        await self.go.wait()
        return number

    async def badly(self) -> int:
        """Fail."""
        self.times += 1
        raise ValueError("no answer")


def kept(asked: Asked, most: int = 10) -> Lately[str, int]:
    """What keeps answers for ten seconds of a clock that the test moves."""
    return Lately(10.0, most, clock=lambda: asked.now)


def test_many_who_wait_ask_once() -> None:
    """Whoever comes while a question is open gets its answer, also when another gives up."""

    async def run() -> None:
        asked = Asked()
        asked.go.clear()
        answers = kept(asked)
        first, second = (asyncio.ensure_future(answers.get("a", asked.well)) for _ in range(2))
        await asyncio.sleep(0)
        first.cancel()
        asked.go.set()
        assert await second == 1
        assert asked.times == 1

    asyncio.run(run())


def test_an_answer_is_as_old_as_its_question() -> None:
    """After its time it is asked for anew."""

    async def run() -> None:
        asked = Asked()
        answers = kept(asked)
        assert await answers.get("a", asked.well) == 1
        asked.now = 9.9
        assert await answers.get("a", asked.well) == 1
        asked.now = 10.0
        assert await answers.get("a", asked.well) == 2

    asyncio.run(run())


def test_a_failure_is_not_kept() -> None:
    """It is told, and the next one asks again."""

    async def run() -> None:
        asked = Asked()
        answers = kept(asked)
        with pytest.raises(ValueError, match="no answer"):
            await answers.get("a", asked.badly)
        await asyncio.sleep(0)
        assert await answers.get("a", asked.well) == 2

    asyncio.run(run())


def test_there_are_never_many() -> None:
    """The oldest goes when there are too many, and all that is out of date."""

    async def run() -> None:
        asked = Asked()
        answers = kept(asked, most=3)
        for key in "abcde":
            await answers.get(key, asked.well)
        assert len(answers) == 3
        asked.now = 20.0
        await answers.get("z", asked.well)
        assert len(answers) == 1

    asyncio.run(run())
