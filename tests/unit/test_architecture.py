"""The architecture page is true of the code."""

import re
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Final

import pytest

from bench.walks import Walk, change_of_a_monitor, explained, rule_through_the_webhook
from tools import modules

PAGE = (modules.ROOT / modules.PAGE).read_text()
SOURCE = Path(modules.__file__).parents[1] / "src" / "stoker"
# Around the core: what is walked begins and ends in them.
SHELLS: Final = ("cli", "cluster", "kube", "offline", "operator", "web")


def test_every_module_is_named_with_what_it_says_of_itself() -> None:
    """`make reference` was run after the last module came, went, or changed its first sentence."""
    assert modules.page() == PAGE, "run `make reference`"


def test_no_module_is_named_that_is_not_there() -> None:
    """Neither in the walks, nor in the table of what a new kind touches."""
    named = re.findall(r"`(\w+(?:/\w+)+)(?:\.py)?`", PAGE)
    missing = [
        each
        for each in named
        if (SOURCE / each.split("/")[0]).is_dir()
        and not (SOURCE / each).with_suffix(".py").exists()
        and not (SOURCE / each).is_dir()
    ]
    assert named
    assert missing == []


@pytest.mark.parametrize(
    ("begin", "walk"),
    [
        ("A monitor changes", change_of_a_monitor),
        ("A rule comes through the webhook", rule_through_the_webhook),
        ("Somebody asks why", explained),
    ],
)
def test_the_walks_are_walked_as_they_are_drawn(begin: str, walk: Callable[[], Walk]) -> None:
    """Module after module, in the order in which they are first called."""
    walked = [each.removeprefix("stoker.") for each in walk().modules]
    drawn = [each for each in _drawn(begin) if each in walked or each.split(".")[0] not in SHELLS]
    assert len(drawn) > 3
    assert drawn == sorted(drawn, key=walked.index)


def _drawn(begin: str) -> Iterator[str]:
    """The modules of a walk, without what is said of them in brackets."""
    found = re.search(rf"\*\*{begin}\*\*(.*?)(?=\n\*\*|\n`python)", PAGE, re.DOTALL)
    assert found
    text, room = re.sub(r"\([^)]*\)", "", found[1]), ""
    for word, slash in re.findall(r"(\w+)(/?)", text):
        if slash:
            room = word
        elif room and (SOURCE / room / word).with_suffix(".py").exists():
            yield f"{room}.{word}"
