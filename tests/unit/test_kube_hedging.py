"""Of two that are asked the same, whoever answers first counts."""

import asyncio
from collections.abc import Sequence

import pytest

from stoker.kube.hedging import sooner_of_two
from tests.unit.virtual_time import run

Told = tuple[float, str]


def _asked(answers: Sequence[Told], patience: float | None) -> tuple[str, float, int]:
    """Ask those who answer after some seconds; what came of it, when, and how many were asked."""
    asked = 0

    async def ask() -> str:
        nonlocal asked
        asked += 1
        seconds, word = answers[asked - 1]
        await asyncio.sleep(seconds)
        if word.startswith("no"):
            raise ValueError(word)
        return word

    async def main() -> tuple[str, float, int]:
        try:
            found = await sooner_of_two(ask, patience)
        except ValueError as error:
            found = str(error)
        return found, asyncio.get_running_loop().time(), asked

    return run(main())


@pytest.mark.parametrize(
    ("answers", "patience", "outcome"),
    [
        ([(5, "late")], None, ("late", 5, 1)),
        ([(0.1, "soon")], 1, ("soon", 0.1, 1)),
        ([(0.1, "no")], 1, ("no", 0.1, 1)),
        ([(9, "late"), (2, "other")], 1, ("other", 3, 2)),
        ([(2, "late"), (5, "other")], 1, ("late", 2, 2)),
        ([(4, "late"), (1, "no, other")], 1, ("late", 4, 2)),
        ([(2, "no"), (3, "other")], 1, ("other", 4, 2)),
        ([(4, "no"), (1, "no, other")], 1, ("no", 4, 2)),
    ],
)
def test_the_first_answer_counts(
    answers: Sequence[Told], patience: float | None, outcome: tuple[str, float, int]
) -> None:
    """A failure counts only where there is nothing else."""
    assert _asked(answers, patience) == outcome
