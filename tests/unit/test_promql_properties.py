"""PromQL under random and hostile texts: what holds for every expression."""

import random

import pytest
from hypothesis import HealthCheck, assume, example, given, settings
from hypothesis import strategies as st

from stoker.promql import NEWEST, Node, ParseError, enforce_label, options_for, parse, same, to_text
from stoker.promql.cursor import MOST_LEVELS
from stoker.promql.nodes import Matcher, Selector, walk
from tests.unit.promql_expressions import FEATURES, Grammar

EVERYTHING = options_for(NEWEST, FEATURES)
WORDS = (
    *("foo", "sum", "by", "without", "on", "ignoring", "group_left", "bool", "offset", "anchored"),
    *("fill", "step", "range", "start", "max_of", "rate", "topk", "info", "and", "or", "unless"),
    *("1", "0x1e", "5m", "1h30m", ".5", "1e3", "inf", "'x'", '"\\xff"', "`y`", "# c\n", " ", "\n"),
    *("(", ")", "{", "}", "[", "]", ",", ":", "=", "=~", "!=", "<", ">/", "+", "-", "*", "^", "@"),
)
SETTINGS = settings(max_examples=150, deadline=None, suppress_health_check=list(HealthCheck))


def parsed(text: str) -> Node | None:
    """Give the tree of a text, or nothing where it is refused."""
    try:
        return parse(text, EVERYTHING)
    except ParseError as error:
        refusal = error
    # Whatever is refused, the place can be shown.
    assert 0 <= refusal.position <= len(text)
    assert refusal.line >= 1
    assert refusal.column >= 1
    assert "^" in refusal.pointed
    return None


@SETTINGS
@given(st.randoms(use_true_random=False))
def test_printing_and_parsing_gives_the_same_tree(chance: random.Random) -> None:
    """Whatever the grammar makes; the canonical text of the canonical text is itself."""
    node = parsed(Grammar(chance).expression())
    assume(node is not None)
    assert node is not None
    text = to_text(node)
    again = parse(text, EVERYTHING)
    assert same(node, again), text
    assert to_text(again) == text


@SETTINGS
@given(st.randoms(use_true_random=False), st.text(max_size=8), st.text(max_size=8))
def test_enforcement_leaves_no_selector_without_the_label(
    chance: random.Random, name: str, value: str
) -> None:
    """Whatever matchers the tenant wrote; and the text says the same as the tree."""
    node = parsed(Grammar(chance).expression())
    assume(node is not None)
    assume("\ufffd" not in name + value and name != "__name__")
    assert node is not None
    for label in (name, "namespace"):
        enforced = enforce_label(node, label, value)
        again = parse(to_text(enforced), EVERYTHING) if value else enforced
        assert same(again, enforced)
        for tree in (enforced, again):
            selectors = [one for one in walk(tree) if isinstance(one, Selector)]
            for one in selectors:
                about = [matcher for matcher in one.matchers if matcher.name == label]
                assert about == [Matcher(label, "=", value)]


@SETTINGS
@given(st.text())
@example("\ud800")
@example('"\udcff"')
@example("{'\x00'=~'\\C'}")
def test_any_text_is_taken_or_refused(text: str) -> None:
    """Nothing but ParseError comes out."""
    node = parsed(text)
    if node is not None:
        to_text(node)


@SETTINGS
@given(st.lists(st.sampled_from(WORDS), max_size=12).map("".join))
def test_any_words_are_taken_or_refused(text: str) -> None:
    """Nothing but ParseError comes out, and what is taken can be printed."""
    node = parsed(text)
    if node is not None:
        to_text(enforce_label(node, "namespace", "ns"))


@pytest.mark.parametrize(
    "text",
    [
        "(" * 10_000,
        "(" * 5_000 + "a" + ")" * 5_000,
        "abs(" * 2_500,
        "-" * 10_000 + "a",
        "2^" * 5_000 + "2",
        "a[" + "(" * 10_000,
        "a[" + "-" * 10_000 + "1]",
        "sum(" * 2_500 + "a",
        "a+(" * 3_000,
    ],
)
def test_what_is_nested_too_deeply_is_refused(text: str) -> None:
    """The limit is told."""
    with pytest.raises(ParseError, match=f"{MOST_LEVELS} levels"):
        parse(text, EVERYTHING)


@pytest.mark.parametrize(("before", "after"), [("(", ")"), ("abs(", ")"), ("sum by (x) (", ")")])
def test_what_is_nested_up_to_the_limit_is_taken(before: str, after: str) -> None:
    """Parentheses, calls and aggregations count one level each."""
    levels = MOST_LEVELS - 1
    assert parse(f"{before * levels}a{after * levels}")
    with pytest.raises(ParseError, match="levels deep"):
        parse(f"{before * MOST_LEVELS}a{after * MOST_LEVELS}")


@pytest.mark.parametrize(
    "part", ["a + ", "a or ", "1 + ", "a offset 1m * on (x) ", 'a{b="c"} and on () ']
)
def test_a_chain_is_not_nesting(part: str) -> None:
    """An expression may be as long as it likes: trees are walked without recursion."""
    text = part * 5_000 + "b"
    node = parse(text)
    assert to_text(enforce_label(node, "x", "y")).count('x="y"') == text.count("a") + 1 - (
        text.count("and")
    )
    assert same(node, parse(to_text(node)))
