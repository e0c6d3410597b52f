"""What the log says of rejected resources: each once, and never too much."""

import io
import json
import logging
from collections.abc import Callable, Iterator, Mapping
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

from stoker.logs import configure, logger
from stoker.operator.rejections import MORE, REJECTED, USED_AGAIN, Rejections
from stoker.ref import Ref
from stoker.validate.findings import Finding, Reason
from stoker.validate.verdicts import Verdict

MAIN, EDGE = Ref("Prometheus", "shop", "main"), Ref("PrometheusAgent", "shop", "edge")
MOST = 100
PAGE = Path(__file__).parents[2] / "docs" / "operator.md"


class Told:
    """What was said, and a minute that ends when it is told to."""

    def __init__(self) -> None:
        self.stream = io.StringIO()
        self.waiting: list[Callable[[], None]] = []
        configure("info", "json", self.stream)
        self.rejections = Rejections(logger("operator"), self._later)

    def _later(self, seconds: float, work: Callable[[], None]) -> None:
        assert seconds == 60
        self.waiting.append(work)

    def minute_over(self) -> None:
        """Let a minute pass."""
        waiting, self.waiting = self.waiting, []
        for each in waiting:
            each()

    def take(self, verdicts: Mapping[Ref, Verdict | None], workload: Ref = MAIN) -> list[Any]:
        """Let a workload judge, and read what is said of it."""
        self.lines()
        self.rejections.take(workload, verdicts)
        return self.lines()

    def lines(self) -> list[Any]:
        """What was said since this was asked."""
        found = [json.loads(line) for line in self.stream.getvalue().splitlines()]
        self.stream.seek(0)
        self.stream.truncate()
        return found

    def kept(self) -> int:
        """Of how many resources and workloads something is remembered."""
        said = self.rejections._said
        return len(said) + len(self.rejections._minutes) + sum(map(len, said.values()))


@pytest.fixture
def told() -> Iterator[Told]:
    """A log of its own."""
    root = logging.getLogger()
    before = root.handlers[:], root.level
    yield Told()
    root.handlers[:], root.level = before


def monitor(name: str) -> Ref:
    """A ServiceMonitor."""
    return Ref("ServiceMonitor", "shop", name)


def verdict(*messages: str, uid: str = "1") -> Verdict:
    """A verdict with these findings; without any, accepted."""
    resource = SimpleNamespace(metadata=SimpleNamespace(uid=uid))
    found = (Finding("spec.endpoints[0]", Reason.INVALID_VALUE, each) for each in messages)
    return Verdict("ServiceMonitor", resource, tuple(found))


def many(count: int, *messages: str) -> dict[Ref, Verdict | None]:
    """One verdict on many."""
    return {monitor(f"m{number:04}"): verdict(*messages) for number in range(count)}


def words(lines: list[Any]) -> list[str]:
    """The messages of lines."""
    return [each["msg"] for each in lines]


def test_a_rejection_and_its_end_are_one_line_each(told: Told) -> None:
    """With the resource, the workload, the reason and the words of the status."""
    cart = monitor("cart")
    (line,) = told.take({cart: verdict("is wrong", "is worse"), monitor("good"): verdict()})
    line = {name: line[name] for name in line if name not in ("ts", "caller")}
    assert line == {
        "level": "warn",
        "msg": REJECTED,
        "component": "operator",
        "resource": "ServiceMonitor shop/cart",
        "workload": "Prometheus shop/main",
        "reason": "InvalidConfiguration",
        "message": "spec.endpoints[0]: is wrong; spec.endpoints[0]: is worse",
    }
    assert told.take({cart: verdict("is wrong", "is worse")}) == []
    (line,) = told.take({cart: verdict("is wrong")})
    assert (line["msg"], line["message"]) == (REJECTED, "spec.endpoints[0]: is wrong")
    (line,) = told.take({cart: verdict()})
    assert (line["msg"], line["level"]) == (USED_AGAIN, "info")
    assert (line["resource"], line["workload"]) == (str(cart), str(MAIN))
    assert told.take({cart: verdict()}) == []
    assert words(told.take({cart: verdict("is wrong")})) == [REJECTED]


def test_each_workload_says_it(told: Told) -> None:
    """A resource may be good for one and bad for another."""
    bad = {monitor("cart"): verdict("is wrong")}
    assert words(told.take(bad)) == words(told.take(bad, EDGE)) == [REJECTED]
    told.rejections.forget(MAIN)
    assert words(told.take(bad)) == [REJECTED]
    assert told.take(bad, EDGE) == []


def test_nothing_is_said_of_what_is_gone(told: Told) -> None:
    """Neither when it goes, nor of the next of its name that is good."""
    cart = monitor("cart")
    told.take({cart: verdict("is wrong")})
    assert told.take({cart: None}) == []
    assert told.take({cart: verdict(uid="2")}) == []
    told.take({cart: verdict("is wrong", uid="2")})
    # One turn may see both at once.
    assert told.take({cart: verdict(uid="3")}) == []
    told.take({cart: verdict("is wrong", uid="3")})
    assert words(told.take({cart: verdict("is wrong", uid="4")})) == [REJECTED]


def test_nobody_silences_what_is_said_of_others(told: Told) -> None:
    """The first lines of each namespace are written whatever was written of another, to a limit."""
    told.take(many(1000, "is wrong"))
    others = [Ref("ServiceMonitor", "other", f"m{number:02}") for number in range(12)]
    lines = told.take(dict.fromkeys(others, verdict("is wrong")))
    assert [each["resource"] for each in lines] == [str(each) for each in others[:10]]
    spaces = [Ref("ServiceMonitor", f"n{number:04}", "m") for number in range(2000)]
    assert len(told.take(dict.fromkeys(spaces, verdict("is wrong")))) == 1000 - 110
    told.minute_over()
    (line,) = told.lines()
    assert (line["msg"], line["rejected"]) == (MORE, 2 + 2000 - 890)


def test_many_at_once_are_a_hundred_lines_and_one(told: Told) -> None:
    """Then one at the end of the minute, if there were more; other workloads have their own."""
    *lines, last = told.take(many(1000, "is wrong"))
    assert words(lines) == [REJECTED] * MOST
    assert [each["resource"] for each in lines] == [str(each) for each in many(MOST)]
    assert (last["msg"], last["rejected"], last["used_again"]) == (MORE, 900, 0)
    assert last["workload"] == str(MAIN)
    assert told.take(many(50)) == []
    assert told.take({monitor("late"): verdict("is wrong")}) == []
    assert words(told.take({monitor("late"): verdict("is wrong")}, EDGE)) == [REJECTED]
    told.minute_over()
    (line,) = told.lines()
    assert (line["msg"], line["rejected"], line["used_again"]) == (MORE, 1, 50)
    # What was counted was said: it is not said again, and its end is.
    assert told.take({monitor("late"): verdict("is wrong")}) == []
    assert words(told.take({monitor("late"): verdict()})) == [USED_AGAIN]


def test_one_that_is_good_and_bad_in_turn_does_not_fill_the_log(told: Told) -> None:
    """Nothing else is known of it in between."""
    cart, lines = monitor("cart"), list[Any]()
    for _ in range(1000):
        lines += told.take({cart: verdict("is wrong")}) + told.take({cart: verdict()})
    told.minute_over()
    assert len(lines + told.lines()) == MOST + 2


def test_what_is_kept_is_about_what_is_rejected(told: Told) -> None:
    """Whatever was judged before."""
    told.take(many(1000))
    assert told.kept() == 0
    told.take(many(1000, "is wrong"))
    told.take(many(990))
    told.minute_over()
    assert told.kept() == 1 + 10
    told.take(dict.fromkeys(many(1000)))
    assert told.kept() == 0
    assert told.waiting == []


def test_who_leads_no_longer_says_nothing_and_who_leads_again_nothing_twice(told: Told) -> None:
    """What left meanwhile is forgotten: it may come back as another."""
    told.take(many(200, "is wrong"))
    told.take({monitor("late"): verdict("is wrong")})
    told.take(many(1, "is wrong"), EDGE)
    for each in (MAIN, EDGE):
        told.rejections.hush(each)
    told.minute_over()
    assert told.lines() == []
    selected = {MAIN: many(10).keys()}
    told.rejections.keep(lambda workload: selected.get(workload, set()))
    assert told.take(many(10, "is wrong")) == []
    assert told.kept() == 1 + 10
    assert words(told.take(many(11, "is wrong"))) == [REJECTED]
    assert words(told.take(many(1, "is wrong"), EDGE)) == [REJECTED]


def test_the_page_shows_the_lines() -> None:
    """Whoever greps for them finds them."""
    page = PAGE.read_text()
    assert f'level=warn msg="{REJECTED}" component=operator resource=' in page
    assert f'level=info msg="{USED_AGAIN}" component=operator resource=' in page
    assert f"`{MORE.partition(':')[0]}`" in page
    assert f"at most {MOST} lines" in page
