"""PromQL under random and hostile texts: what holds for every expression."""

import random

import pytest
from hypothesis import HealthCheck, assume, example, given, settings
from hypothesis import strategies as st

from stoker.promql import (
    NEWEST,
    Node,
    ParseError,
    enforce_label,
    nodes,
    options_for,
    parse,
    shape_of,
    to_text,
)
from stoker.promql.cursor import MOST_LEVELS, Cursor
from stoker.promql.nodes import Matcher, Selector, walk
from stoker.promql.parse import read
from stoker.promql.syntax import KEYWORDS
from stoker.promql.tokens import Token, phrases, tokens
from tests.unit.promql_expressions import FEATURES, Grammar, same

EVERYTHING = options_for(NEWEST, FEATURES)
WORDS = (
    *("foo", "sum", "by", "without", "on", "ignoring", "group_left", "bool", "offset", "anchored"),
    *("fill", "step", "range", "start", "max_of", "rate", "topk", "info", "and", "or", "unless"),
    *("1", "0x1e", "5m", "1h30m", ".5", "1e3", "inf", "'x'", '"\\xff"', "`y`", "# c\n", " ", "\n"),
    *("(", ")", "{", "}", "[", "]", ",", ":", "=", "=~", "!=", "<", ">/", "+", "-", "*", "^", "@"),
)
# What is read as one phrase, and what looks like it.
PHRASES = (
    *(
        '{a="b"}',
        '{a=~"x.*",}',
        "{a='x' , b!~`y`}",
        '{a="\\n"}',
        '{"a"="b"}',
        '{a=~"("}',
        "foo{",
        "{}",
    ),
    *("[5m]", "[ 5m]", "[05m]", "[0s]", "[9999d]", "[1y]", "[1h:5m]", "[5m:]", "[0s:]", "[:5m]"),
    *("foo{a='b'}[5m]", "and{a='b'}", "sum{a='b'}", "a:b(", "rate(", "sum(", "Sum (", "fill("),
    *("sum by (a, b) (", "rate by (a) (", "sum without () (", "sum by (inf) (", "sum by (on,) ("),
    *("on (a)", "ignoring(without)", "group_left (a, sum)", "group_right", "on (a b)", "#c\n"),
    *("2e9", "1d", "017", "5m1h", "offset -1h", "@ end()", "bool ", "or ", "1", "foo", ")", " "),
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


def outcome(text: str, found: list[Token]) -> str:
    """Give the tree of tokens with all places in it, or nothing where they are refused."""
    try:
        return repr(read(Cursor(text, found, EVERYTHING)))
    except ParseError:
        return ""


@SETTINGS
@given(st.randoms(use_true_random=False), st.lists(st.sampled_from(PHRASES), max_size=6))
def test_what_is_made_of_phrases_is_made_of_tokens(chance: random.Random, words: list[str]) -> None:
    """The same tree at the same places, whatever surrounds a phrase."""
    made = Grammar(chance).expression()
    at = chance.randrange(len(made) + 1)
    for text in (made, "".join(words), f"{made[:at]}{''.join(words)}{made[at:]}"):
        of_phrases = outcome(text, phrases(text))
        assert of_phrases in ("", outcome(text, tokens(text)))


@pytest.mark.parametrize(
    "text",
    [
        "sum by (inf) (a)",
        "sum without (a, WITHOUT) (b)",
        "a * on (nan) b",
        "a * on (x) group_left (without) b",
        'a{b=~"("}[5m]',
        "a{b='\\q'}",
        "a by (x) (b)",
    ],
)
def test_what_only_looks_like_a_phrase_is_refused(text: str) -> None:
    """In either reading."""
    assert outcome(text, phrases(text)) == outcome(text, tokens(text)) == ""


@pytest.mark.parametrize(
    "text",
    [
        'sum by (job) (rate(http_requests_total{job="api", code=~"5.."}[5m])) > 0.05',
        "max_over_time(up{a='b'}[1h:5m] offset 1d) > 2e9 and on () hour() >= 8",
        "a * on (x) group_left (y) b{c!='d'}",
    ],
)
def test_what_people_write_is_read_in_phrases(text: str) -> None:
    """There are fewer of them, and nothing is read a second time."""
    assert outcome(text, phrases(text))
    assert len(phrases(text)) < len(tokens(text)) * 2 / 3


def test_only_leaves_are_spared_the_search_for_cycles() -> None:
    """A node that can be deep in others and is spared it would be freed by recursion, in C."""
    deep = (nodes.Binary, nodes.Call, nodes.Aggregation, nodes.Group, nodes.Signed, nodes.Subquery)
    for kind in (*deep, nodes.Duration):
        assert kind.__struct_config__.gc, kind
    for text in ("a+" * 300_000 + "a", "a[" + "1+" * 300_000 + "1]"):
        assert parse(text, EVERYTHING)


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


COMPARED = ('="b"', '!="b"', '=""', '=~"b="', '=~"("', '="\\n"', '="\n"', '="é"', "='it'", '=="b"')


@SETTINGS
@given(st.randoms(use_true_random=False), st.lists(st.sampled_from(COMPARED), max_size=5))
def test_what_has_a_shape_that_is_taken_is_taken(chance: random.Random, values: list[str]) -> None:
    """And a shape has a shape of its own, so there are not many of them."""
    matchers = ",".join(f"l{number}{value}" for number, value in enumerate(values))
    made = Grammar(chance).expression()
    at = chance.randrange(len(made) + 1)
    for text in (made, f"a{{{matchers}}}", f"{made[:at]}a{{{matchers}}}{made[at:]}"):
        shape = shape_of(text)
        assert shape_of(shape) == shape
        assert parsed(shape) is None or parsed(text) is not None


def test_texts_that_are_compared_are_no_part_of_a_shape() -> None:
    """An empty one is, and so is what a text is matched with."""
    shapes = {shape_of(f'a{{b="{text}",c!="x=",d=~"y="}}') for text in ("1", "2 =", "{}")}
    assert shapes == {'x{b="x",c!="x",d=~"y="}'}
    assert len({shape_of(text) for text in ('a{b=""}', 'a{b="1"}', 'a{b=~"1"}', "a{b='1'}")}) == 4


def test_names_of_metrics_are_no_part_of_a_shape() -> None:
    """Where it is clear that they are such; recorded ones are of another sort."""
    shapes = {shape_of(f'rate({name}{{b="1"}}[5m]) / {name}[5m]') for name in ("a", "sums", "inf_")}
    assert shapes == {'rate(x{b="x"}[5m]) / x[5m]'}
    assert shape_of('a:b{c="1"} / up') == 'x:x{c="x"} / up'
    assert shape_of("é_b{} 1a{} .b{}") == "é_b{} 1a{} .b{}"


LOOKS_NAMED = ('{}{{a="b"}}', "{}[5m]", "rate({}[5m])", "a {}[5m]", "a[{}[1m]")


@pytest.mark.parametrize("around", ["{}", "a + {}", "sum by {}", "a offset {}", "a @ {}"])
def test_words_of_the_language_are_part_of_a_shape(around: str) -> None:
    """Not all of them can be metrics: a shape that is taken stands for what is taken."""
    for word in (*KEYWORDS, *(each.upper() for each in KEYWORDS), "x:y"):
        for text in (around.format(each.format(word)) for each in LOOKS_NAMED):
            assert parsed(shape_of(text)) is None or parsed(text) is not None


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
