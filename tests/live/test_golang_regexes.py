"""Go itself judges made-up regular expressions, and tells which classes of characters it knows."""

import json
from collections.abc import Iterator
from typing import Final

import pytest

from stoker.golang import NEWEST
from stoker.golang.classnames import ALIASES, CATEGORIES, SCRIPTS
from stoker.golang.regex import parsed
from stoker.promql import Options
from stoker.promql.regexes import regex_of
from stoker.validate.relabel import regex_problem
from stoker.version import parse_version
from tests.fuzz.expressions import KINDS, compared, made, total
from tests.judge import Question, answers, go_version, refusals
from tools.goclasses import since, table

SEED, COUNT = 20261116, 5000
_AS_NEWEST: Final = "go" + ".".join(map(str, NEWEST))


@pytest.fixture(autouse=True, scope="module")
def _newest() -> None:
    if not f"{go_version()}.".startswith(f"{_AS_NEWEST}."):
        pytest.skip(f"the judge is {go_version()}, and not {_AS_NEWEST}")


def test_what_we_take_go_takes() -> None:
    """And whether it matches the empty text; a few are refused that Go takes, one in a thousand."""
    tallies = compared(SEED, COUNT)
    for name, tally in tallies.items():
        print(f"{name}: {tally}")
        assert not tally.wrong, tally.wrong[:5]
        assert not tally.other_empty, tally.other_empty[:5]
    counts = total(tallies)
    assert counts["too_strict"] <= COUNT / 1000
    # Where everything is refused, nothing is proved.
    assert counts["taken"] > COUNT / 4
    assert set(tallies) == set(KINDS)


def test_matchers_are_read_as_prometheus_reads_them() -> None:
    """It parses an expression, and compiles what the tree looks like, between anchors."""
    texts = [text for _, text in made(SEED + 1, 1500)]
    said = answers(Question("matcher", text) for text in texts)
    ours = [regex_of(text, Options()) for text in texts]
    pairs = list(zip(texts, ours, said, strict=True))
    assert [text for text, own, go in pairs if go.error and not own.problem] == []
    strict = [text for text, own, go in pairs if own.problem and not go.error]
    # The copied parser is older than the tables of Unicode that it looks into.
    assert len([text for text in strict if "LC" not in text and "Cn" not in text]) <= 2, strict
    both = [(own, go) for _, own, go in pairs if not own.problem]
    assert all(own.matches_empty == go.empty for own, go in both)


def test_relabelings_are_read_between_anchors() -> None:
    """A group may be closed and opened again, and a quotation must end."""
    texts = ["a)(b", "a)|(b", r"\Qa", "(?i)a", "a(?i", *(text for _, text in made(SEED + 2, 1500))]
    said = refusals("regex", [f"^(?s:{text})$" for text in texts])
    version = parse_version("3.14.0")
    ours = [regex_problem(text, version) for text in texts]
    assert [text for text, own, go in zip(texts, ours, said, strict=True) if go and not own] == []
    assert sum(bool(own) and not go for own, go in zip(ours, said, strict=True)) <= 3


def _class_names() -> Iterator[str]:
    for name in (*CATEGORIES, *SCRIPTS, *ALIASES, "Any", "Assigned", "ASCII", "LC", "L&", "Latn"):
        yield from (name, name.lower(), name.upper(), name.replace("_", ""), name.replace("_", "-"))


def test_every_class_is_one_for_go_too() -> None:
    """By any spelling of its name."""
    texts = [f"\\p{{{name}}}" for name in _class_names()]
    said = refusals("regex", texts)
    assert [bool(parsed(text).problem) for text in texts] == [bool(error) for error in said]
    assert 100 < sum(not error for error in said) < len(said)


def test_the_table_of_classes_is_what_go_says() -> None:
    """`python -m tools.goclasses` would write the same."""
    known = json.loads(answers([Question("classes", "")])[0].value)
    namespace: dict[str, object] = {}
    exec(table(known, since()), namespace)  # noqa: S102 - our own text, made a line above
    assert namespace["CATEGORIES"] == CATEGORIES
    assert namespace["SCRIPTS"] == SCRIPTS
    assert namespace["ALIASES"] == ALIASES
