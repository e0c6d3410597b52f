"""The page of scenarios is true: it names tests that exist, and what tests say of themselves."""

import ast
import re
from collections.abc import Iterator
from pathlib import Path

ROOT = Path(__file__).parents[2]
PAGE = ROOT / "docs/scenarios.md"
LIVE = sorted((ROOT / "tests/live").glob("test_*.py"))
# As many as prometheus-operator has.
COUNT = 143
SAID = re.compile(r"\(peer scenarios?:([^)]*)\)")
TEST = re.compile(r"`((?:test_\w+\.py::)?test_\w+)`")
HEADER = ("scenario", "---")


def rows() -> list[tuple[str, str]]:
    """The scenarios of the page, each with what it says of them."""
    lines = re.findall(r"^\| *(.*?) *\| *(.*?) *\|$", PAGE.read_text(), re.MULTILINE)
    return [(name, text) for name, text in lines if not name.startswith(HEADER)]


def live_tests() -> Iterator[tuple[str, str, str]]:
    """All live tests: file, name and docstring."""
    for file in LIVE:
        for node in ast.parse(file.read_text()).body:
            if isinstance(node, ast.FunctionDef) and node.name.startswith("test_"):
                yield file.name, node.name, ast.get_docstring(node) or ""


def claims(docstring: str) -> Iterator[str]:
    """The scenarios that a docstring names; `…` stands for any words."""
    for said in SAID.findall(docstring):
        for name in said.partition(";")[0].split(","):
            yield " ".join(name.split())


def stands_for(claim: str, scenario: str) -> bool:
    """Whether a docstring means this scenario."""
    return bool(re.fullmatch(re.escape(claim).replace("…", ".+"), scenario))


def names(text: str, file: str, test: str) -> bool:
    """Whether a row names a test, with its file where several have that name."""
    return bool({test, f"{file}::{test}"} & set(TEST.findall(text)))


def test_the_page_has_each_scenario_once() -> None:
    """All of them, with a test or a reason."""
    scenarios = [name for name, _ in rows()]
    assert len(scenarios) == len(set(scenarios)) == COUNT
    assert [name for name, text in rows() if not text] == []


def test_every_test_that_the_page_names_exists() -> None:
    """And there is one of that name only, or the page says in which file."""
    known = [name for file, test, _ in live_tests() for name in (test, f"{file}::{test}")]
    named = {name for _, text in rows() for name in TEST.findall(text)}
    assert {name for name in named if known.count(name) != 1} == set()


def test_the_page_tells_what_tests_say_of_themselves() -> None:
    """Each scenario in a docstring of a live test is there, and leads to that test."""
    missing = [
        f"{file}::{test}: {claim}"
        for file, test, docstring in live_tests()
        for claim in claims(docstring)
        if not any(names(text, file, test) for name, text in rows() if stands_for(claim, name))
    ]
    assert missing == []
