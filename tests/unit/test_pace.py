"""At a start, what is slow by itself is told from a server that is slow to everybody."""

import asyncio
import random
from collections.abc import Callable
from typing import Any

import pytest

from stoker.cluster.pace import Pace
from stoker.cluster.values import Values
from stoker.kube.errors import Unavailable, error_of
from stoker.ref import Ref
from stoker.select.assets import SECRET
from tests.unit.virtual_time import run

OWN = Ref(SECRET, "home", "own")
Trouble = Callable[[random.Random], float]
"""The seconds that an answer takes, drawn; below 0 it is a failure after so many seconds."""


def key(number: int, namespace: str = "shop") -> Ref:
    """A Secret."""
    return Ref(SECRET, namespace, f"s-{number}")


# --- The count -----------------------------------------------------------------------------------


def questions(pace: Pace, count: int, *, promptly: bool = True) -> None:
    """So many questions are asked, one after the other, and answered."""
    for _ in range(count):
        pace.asked()
        pace.answered(promptly=promptly)


def sent(pace: Pace, count: int, lane: str = "shop") -> list[Ref]:
    """So many reads have their turn."""
    keys = [key(number, lane) for number in range(count)]
    for each in keys:
        pace.begun(each, lane)
        pace.sent(each)
    return keys


def patience(pace: Pace, of: Ref, *, promptly: bool = True) -> int:
    """How many questions are answered before a read counts as slow by itself."""
    for count in range(1, 1000):
        questions(pace, 1, promptly=promptly)
        if of in pace.left_behind([of]):
            return count
    raise AssertionError("never")


def test_one_is_left_behind_by_many_later_answers() -> None:
    """Those count that were asked after it, however long all of it takes."""
    for promptly in (True, False):
        pace = Pace()
        pace.asked()
        [one] = sent(pace, 1)
        pace.answered(promptly=True)
        assert patience(pace, one, promptly=promptly) == 25


def test_who_fails_is_left_behind_as_well() -> None:
    """Trying again is no beginning."""
    pace = Pace()
    [one] = sent(pace, 1)
    questions(pace, 20)
    for _ in range(5):
        pace.failed(one)
        pace.sent(one)
    assert patience(pace, one) == 5


def test_questions_without_an_answer_overtake_nobody() -> None:
    """A server that answers nobody may be about to get better."""
    pace = Pace()
    [one] = sent(pace, 1)
    for _ in range(100):
        pace.asked()
        pace.unanswered()
    assert not pace.left_behind([one])


def test_a_namespace_that_alone_is_in_trouble_is_found_out_soon() -> None:
    """Not where few are slow, others are too, some of its own are answered, or we had to wait."""

    def lonely(others: int = 0, prompt: int = 0, count: int = 5) -> Pace:
        pace = Pace()
        answered = [key(number) for number in range(100, 100 + prompt)]
        for each in answered:
            pace.begun(each, "shop")
            pace.ended(each, well=True)
        sent(pace, others, "other")
        sent(pace, count)
        return pace

    assert patience(lonely(), key(0)) == 4
    assert patience(lonely(count=4), key(0)) == 25
    assert patience(lonely(others=1), key(0)) == 25
    assert patience(lonely(prompt=4), key(0)) == 4
    assert patience(lonely(prompt=5), key(0)) == 25
    pace = lonely()
    questions(pace, 1, promptly=False)
    assert patience(pace, key(0)) == 24
    pace = lonely()
    pace.asked()
    pace.unanswered()
    assert patience(pace, key(0)) == 25


def test_who_waits_for_a_turn_is_where_its_lane_is() -> None:
    """As long as others of its lane get their answers, nobody is slow for having much to do."""
    pace = Pace()
    keys = [key(number) for number in range(100)]
    for each in keys:
        pace.begun(each, "shop")
    for each in keys[:-1]:
        pace.sent(each)
        questions(pace, 1)
        pace.ended(each, well=True)
        assert not pace.left_behind(keys)
    assert patience(pace, keys[-1]) == 25


def test_nothing_is_kept_of_what_is_over() -> None:
    """Reads that ended cost nothing, and are left behind by nobody."""
    pace = Pace()
    keys = sent(pace, 100)
    for each in keys:
        pace.ended(each, well=False)
    questions(pace, 100)
    assert not pace.left_behind(keys)
    assert not pace._reads


# --- On virtual time ------------------------------------------------------------------------------


class Server:
    """Answers each namespace in its own way, and others in that of `everybody`."""

    def __init__(self, seed: int, everybody: Trouble, **namespaces: Trouble) -> None:
        self._dice = random.Random(seed)
        self._everybody = everybody
        self._namespaces = namespaces
        self.questions = 0

    async def get(self, _: object, namespace: str, name: str, **__: object) -> dict[str, Any]:
        """A Secret."""
        self.questions += name == OWN.name
        seconds = self._namespaces.get(namespace, self._everybody)(self._dice)
        await asyncio.sleep(abs(seconds))
        if seconds < 0:
            raise error_of("get", "/", {"code": 503})
        return {"metadata": {"resourceVersion": "1"}, "data": {}}


def started(server: Server, keys: list[Ref]) -> tuple[set[Ref], float, int]:
    """What a start does without, how long it takes, and how often it was begun anew."""

    async def main() -> tuple[set[Ref], float, int]:
        values = Values(server, lambda _: False, lambda: OWN)  # type: ignore[arg-type]
        for attempt in range(20):
            view = values.view()
            for each in keys:
                view.ask(each)
            try:
                await values.load(view, start=True)
            except Unavailable:
                continue
            lost = {each for each in keys if not _is_known(values, each)}
            return lost, asyncio.get_running_loop().time(), attempt
        raise AssertionError("it never ends")

    return run(main())


def _is_known(values: Values, each: Ref) -> bool:
    found = values.find(each)
    return found is not None and found.data is not None


def often(part: float, otherwise: Trouble, usual: Trouble) -> Trouble:
    """So large a part of all answers is otherwise."""
    return lambda dice: (otherwise if dice.random() < part else usual)(dice)


PROMPT: Trouble = lambda dice: dice.uniform(0.002, 0.02)  # noqa: E731
# A server that is slow to everybody, in the ways in which servers are.
SLOW_TO_ALL: dict[str, Trouble] = {
    "a bit": lambda dice: dice.uniform(0.2, 0.6),
    "all the same": lambda _: 1.5,
    "very": lambda dice: dice.uniform(3, 20),
    "by chance": lambda dice: dice.expovariate(1.0),
    "seldom, and then much": lambda dice: min(0.05 * dice.paretovariate(1.0), 25.0),
    "every third": often(0.3, lambda dice: dice.uniform(0.5, 2.0), PROMPT),
    "every third fails": often(0.3, lambda dice: -dice.uniform(0.01, 0.3), PROMPT),
    "every second fails": often(0.5, lambda dice: -dice.uniform(0.01, 0.3), PROMPT),
    "slow or fails": often(0.2, lambda _: -0.1, lambda dice: dice.uniform(0.1, 2.0)),
}
FIVE = [key(number) for number in range(5)]
MANY = [key(number, f"n-{number % 3}") for number in range(60)]


@pytest.mark.parametrize("keys", [FIVE, MANY], ids=["five of one", "many of three"])
@pytest.mark.parametrize("trouble", SLOW_TO_ALL)
def test_nothing_is_left_out_where_the_server_is_slow_to_everybody(
    trouble: str, keys: list[Ref]
) -> None:
    """Five slow Secrets of one namespace are nobody's doing where all answers are slow."""
    for seed in range(3):
        lost, _, _ = started(Server(seed, SLOW_TO_ALL[trouble]), keys)
        assert not lost


@pytest.mark.parametrize("seconds", [2.0, 25.0, -0.05, 100_000.0])
def test_one_namespace_that_is_in_trouble_holds_up_nobody(seconds: float) -> None:
    """Whether its Secrets are slow, fail or are never answered, and however many it has."""
    for count in (5, 20, 300):
        evil = [key(number, "evil") for number in range(count)]
        lost, span, _ = started(Server(0, PROMPT, evil=lambda _: seconds), [*evil, *MANY])
        assert lost == set(evil)
        # What fails at once makes room for others, each of which is tried.
        assert span < (2.5 if seconds < 0 else 0.8)


def test_a_few_that_are_in_trouble_cost_a_few_seconds() -> None:
    """That is what it costs to be sure of it."""
    few = [key(number, "evil") for number in range(3)]
    lost, span, _ = started(Server(0, PROMPT, evil=lambda _: 25.0), [*few, *MANY])
    assert lost == set(few)
    assert 2 < span < 4


def test_a_start_whose_reads_are_prompt_asks_nothing_more() -> None:
    """It costs no request."""
    server = Server(0, PROMPT)
    lost, _, _ = started(server, MANY)
    assert not lost
    assert not server.questions


def test_a_server_that_answers_nobody_for_minutes_is_waited_for() -> None:
    """Each minute somebody hears of it; nothing is left out."""
    for trouble in (70.0, 100.0):
        lost, span, attempts = started(Server(0, lambda _, seconds=trouble: seconds), FIVE)  # type: ignore[misc]
        assert not lost
        assert span > 60
        assert attempts == 1
