"""PromQL: what is taken and how it is printed, what is refused and where, and which version has it.

How hostile and random texts fare is in `test_promql_properties.py`.
"""

import math
from typing import Any

import pytest
from msgspec import Struct

from stoker.promql import (
    NEWEST,
    Node,
    Options,
    ParseError,
    check,
    enforce_label,
    options_for,
    parse,
    to_text,
)
from stoker.promql.functions import FUNCTIONS
from stoker.promql.nodes import Binary, Duration, Number, Signed
from stoker.promql.numbers import number_of, short_text
from tests.unit.promql_expressions import FEATURES, same

EVERYTHING = options_for(NEWEST, FEATURES)

# What is taken, and its canonical form.
CANONICAL = {
    # Numbers, and durations as numbers.
    "1_000.50e1": "10005",
    "017 + 08": "15 + 8",
    "0x1F": "31",
    ".5 + 5.": "0.5 + 5",
    "1e21": "1000000000000000000000",
    "1e-7": "0.0000001",
    "inf": "+Inf",
    "-nan": "NaN",
    "-0": "-0",
    "- - 1": "1",
    "-90s": "-1m30s",
    "1y2w": "379d",
    "0s": "0s",
    # Strings.
    r"'it\'s'": '"it\'s"',
    "`a\\b`": r'"a\\b"',
    r'"\xff\xc3\xa9\u00e9\x00\u200b"': r'"\xffééé\x00\u200b"'.replace("ééé", "éé"),
    # Selectors.
    'foo{b="x", a!~"y",}': 'foo{a!~"y",b="x"}',
    '{"m.n", "l.x"="1"}': '{"l.x"="1",__name__="m.n"}',
    "sum{by='x'}": 'sum{by="x"}',
    "offset offset 5m": "offset offset 5m",
    "fill + fill_left": "fill + fill_left",
    "foo{}": "foo",
    'foo # why\n{a="b" # here\n}': 'foo{a="b"}',
    # Ranges, subqueries and modifiers.
    "foo[300]": "foo[5m]",
    "foo[1.5] @ 2": "foo[1s500ms] @ 2.000",
    "foo offset -100 @ start()": "foo @ start() offset -1m40s",
    "foo offset 0 offset 5m": "foo offset 5m",
    "foo offset -(5m) + b": "foo offset -(5m) + b",
    "foo offset +(5m) == b": "foo offset (5m) == b",
    "foo offset +(5m) + b": "foo offset +(5m) + b",
    "foo[5m:] @ END()": "foo[5m:] @ end()",
    "foo @ 1m[5m:60]": "foo @ 60.000[5m:1m]",
    "foo[1d12h:30m] offset 1w": "foo[1d12h:30m] offset 1w",
    # Operators: how tightly they bind, and what stands between them and their right side.
    "-1^2": "-1 ^ 2",
    "2^3^2*-a^-1": "2 ^ 3 ^ 2 * -a ^ -1",
    "a and b or c unless d": "a and b or c unless d",
    "a ATAN2 b": "a atan2 b",
    "a</b>/c": "a </ b >/ c",
    "1 == bool 1": "1 == bool 1",
    "a + ignoring() b": "a + b",
    "a + on() b": "a + on () b",
    "1 + on() b": "1 + b",
    "a * on(x,y,) group_left(z) b": "a * on (x, y) group_left (z) b",
    "a - ignoring() group_right b": "a - ignoring () group_right () b",
    'a / on("é", bool) b': 'a / on ("é", bool) b',
    # Aggregations and calls.
    "SUM(a) BY (job)": "sum by (job) (a)",
    "sum by () (a)": "sum(a)",
    "sum without () (a)": "sum without () (a)",
    'count_values("v", a)': 'count_values("v", a)',
    "sum by (a:b) (c)": 'sum by ("a:b") (c)',
    "hour()": "hour()",
    "round(a,5)": "round(a, 5)",
    'label_join(a, "b", "-")': 'label_join(a, "b", "-")',
}

# What is behind a feature, and its canonical form once that is on.
EXPERIMENTAL = {
    "foo[5m+5m*2]": "foo[5m + 5m * 2]",
    "foo[(5m)]": "foo[(5m)]",
    "foo[-(-5m)]": "foo[-(-5m)]",
    "foo[max_of(step(),5m):range()]": "foo[max_of(step(), 5m):range()]",
    "foo offset (5m * 2)": "foo offset (5m * 2)",
    "foo offset -step()^2": "foo offset -step() ^ 2",
    "foo offset (5m) @ 1 == b": "foo @ 1.000 offset (5m) == b",
    "foo offset (5m) @ 1 * b": "foo @ 1.000 offset +(5m) * b",
    "foo offset (5m)*2 @ 1 * b": "foo @ 1.000 offset +((5m) * 2) * b",
    "foo offset (5m)*2": "foo offset (5m) * 2",
    "foo offset (1+2) - 3": "foo offset (1 + 2) - 3",
    "foo offset ++5 % 3": "foo offset (5 % 3)",
    "foo offset +-5 ^ 2": "foo offset (-5 ^ 2)",
    "foo offset (min_of(1, 2)) @ 1 * b": "foo @ 1.000 offset +(min_of(1, 2)) * b",
    "foo @ 1 anchored": "foo @ 1.000 anchored",
    "foo[5m] @ 1 Smoothed": "foo[5m] smoothed @ 1.000",
    "a + fill(-1) b": "a + fill (-1) b",
    "a + fill_right(1e30) fill_left(inf) b": "a + fill_left (+Inf) fill_right (1e+30) b",
    "a + fill_left(2) fill_right(2) b": "a + fill (2) b",
    "limitk(2, a)": "limitk(2, a)",
    'info(a, {x=~".*"})': 'info(a, {x=~".*"})',
    "max_of(start(), 2)": "max_of(start(), 2)",
    'histogram_quantiles(a, "q", 0.5, 0.9)': 'histogram_quantiles(a, "q", 0.5, 0.9)',
}

# What is refused: the text at fault, where it begins, and a word of the reason.
REFUSED = {
    "": ("", 0, "no expression"),
    "# nothing": ("# nothing", 0, "no expression"),
    "a +": ("", 3, "expected an expression"),
    "a b": ("b", 2, "expected an operator"),
    "(a": ("", 2, "`)`"),
    "a)": (")", 1, "unexpected"),
    "a $ b": ("$", 2, "no token"),
    "1..2": ("1..2", 0, "neither a number"),
    "5parsecs": ("5parsecs", 0, "`parsecs` is no unit"),
    "5m1h": ("5m1h", 0, "biggest to the smallest"),
    "300y": ("300y", 0, "292 years"),
    "1e999": ("1e999", 0, "too large"),
    "0x1e": ("0x1e", 0, ""),
    '"a': ('"a', 0, "no end"),
    r'"a\qb"': (r"\q", 2, "escape"),
    r'"\400"': (r"\400", 1, "octal"),
    r'"\ud800"': (r"\ud800", 1, "no character"),
    "'\ufffd'": ("\ufffd", 1, "UTF-8"),
    "{}": ("{}", 0, "selects everything"),
    '{a=~".*"}': ('{a=~".*"}', 0, "selects everything"),
    '{a!~"x"}': ('{a!~"x"}', 0, "selects everything"),
    'foo{a=~"("}': ('a=~"("', 4, "regular expression"),
    r'foo{a=~"\\C"}': (r'a=~"\\C"', 4, "bytes"),
    'foo{__name__="bar"}': ('foo{__name__="bar"}', 0, "given twice"),
    'foo{a=="b"}': ("=", 6, "a string"),
    "foo{a:b='c'}": (":", 5, "in braces"),
    "foo{,}": (",", 4, "a label's name"),
    "foo{": ("", 4, "`}`"),
    "foo=~'x'": ("=", 3, "braces"),
    "foo[]": ("]", 4, "amount of time"),
    "foo[0]": ("0", 4, "more than 0"),
    "foo[-5m]": ("-5m", 4, "more than 0"),
    "foo[9.5e10]": ("9.5e10", 4, "292 years"),
    "foo[x]": ("x", 4, "no duration"),
    "foo[5m": ("", 6, "`]`"),
    "foo[ # why\n5m]": ("#", 5, "no comment"),
    "foo offset 5m[5m]": ("[5m]", 13, "after the range"),
    "foo @ 5 [5m]": ("[5m]", 8, "after the range"),
    "(foo)[5m]": ("[5m]", 5, "only a selector"),
    "1[5m:]": ("1", 0, "subquery"),
    "foo offset 1m offset 2m": ("offset", 14, "twice"),
    "foo @ 1 @ 2": ("@", 8, "twice"),
    "foo @ inf": ("inf", 6, "no such time"),
    "sum(foo) offset 5m": ("offset", 9, "must follow"),
    "foo{}\n  + offset 5m bar": ("5m", 17, "unexpected"),
    "1 == 1": ("==", 2, "`bool`"),
    "a + bool b": ("+ bool", 2, "only a comparison"),
    "1 and a": ("and", 2, "not scalars"),
    "a or on(x) group_left b": ("or on(x) group_left", 2, "group_left"),
    "a + on(x) group_left(x) b": ("+ on(x) group_left(x)", 2, "at once"),
    "a + on(x) 1": ("+ on(x)", 2, "two instant vectors"),
    "a + group_left b": ("group_left", 4, "expected an expression"),
    "a + 'x'": ("'x'", 4, "this is a string"),
    "a + b[5m]": ("b[5m]", 4, "this is a range vector"),
    "-'x'": ("-'x'", 0, "a sign"),
    "rate(foo)": ("foo", 5, "takes a range vector"),
    "floor(a, b)": ("floor(a, b)", 0, "takes 1 argument, not 2"),
    "label_join(a)": ("label_join(a)", 0, "at least 3"),
    "round(a, 1, 2)": ("round(a, 1, 2)", 0, "1 to 2 arguments"),
    "abs(a,)": (")", 6, "unexpected"),
    "raet(foo[5m])": ("raet", 0, "did you mean `rate`?"),
    "START()": ("START", 0, "no function"),
    "topk(a)": ("topk(a)", 0, "takes 2 arguments"),
    "topk(a, b)": ("a", 5, "parameter"),
    "sum()": ("sum()", 0, "not 0"),
    "sum by (without) (a)": ("without", 8, "a label's name"),
    'sum by ("") (a)': ('""', 8, "cannot have this name"),
    "sum without (x) (a) by (x)": ("by", 20, "unexpected"),
    "on": ("on", 0, "expected an expression"),
    "by (a)": ("(", 3, "unexpected"),
}


@pytest.mark.parametrize("text", CANONICAL)
def test_an_expression_is_printed_as_prometheus_prints_it(text: str) -> None:
    """The canonical form, to the byte."""
    assert to_text(parse(text)) == CANONICAL[text]


@pytest.mark.parametrize("text", [*CANONICAL.values(), *EXPERIMENTAL.values()])
def test_a_canonical_form_stays_as_it_is(text: str) -> None:
    """Printing again changes nothing."""
    assert to_text(parse(text, EVERYTHING)) == text


@pytest.mark.parametrize("text", EXPERIMENTAL)
def test_what_is_experimental_needs_its_feature(text: str) -> None:
    """Without it the refusal names the feature that would allow it."""
    assert to_text(parse(text, EVERYTHING)) == EXPERIMENTAL[text]
    with pytest.raises(ParseError, match=r"experimental: it needs the feature `promql-"):
        parse(text)


@pytest.mark.parametrize("text", REFUSED)
def test_a_refusal_points_at_the_place(text: str) -> None:
    """The text at fault, its position, and why."""
    with pytest.raises(ParseError) as refusal:
        parse(text)
    offending, position, word = REFUSED[text]
    found = refusal.value
    assert (text[found.position : found.problem.end], found.position) == (offending, position)
    assert word in str(refusal.value)


# What belongs together, shown with parentheses around every operation and sign.
SHAPES = {
    "-a ^ b": "(-(a ^ b))",
    "-a * b": "((-a) * b)",
    "a ^ -b ^ c": "(a ^ (-(b ^ c)))",
    "a ^ -b * c": "((a ^ (-b)) * c)",
    "a ^ b ^ c": "(a ^ (b ^ c))",
    "a - b - c": "((a - b) - c)",
    "a + b * c atan2 d": "(a + ((b * c) atan2 d))",
    "a == b + c > d": "((a == (b + c)) > d)",
    "a or b and c unless d": "(a or ((b and c) unless d))",
    "a > b or c </ d": "((a > b) or (c </ d))",
    "-a offset 5m": "(-a offset 5m)",
    "a offset 2 ^ b": "(a offset 2s ^ b)",
    "a offset -2 ^ b": "(a offset -2s ^ b)",
}


def shape(node: Node) -> str:
    """Write a tree with parentheses that show what belongs together."""
    if isinstance(node, Binary):
        return f"({shape(node.left)} {node.operator.text} {shape(node.right)})"
    if isinstance(node, Signed):
        return f"({node.sign}{shape(node.inner)})"
    return to_text(node)


@pytest.mark.parametrize("text", SHAPES)
def test_operators_bind_as_in_prometheus(text: str) -> None:
    """From loose to tight: or, and, comparisons, +, *, ^, modifiers; a sign is like *."""
    assert shape(parse(text)) == SHAPES[text]


def test_a_refusal_tells_line_and_column() -> None:
    """Lines and columns count from 1."""
    with pytest.raises(ParseError) as refusal:
        parse("sum(\n  raet(foo[5m])\n)")
    error = refusal.value
    assert (error.line, error.column) == (2, 3)
    assert str(error).startswith("2:3: there is no function `raet`")


def test_more_than_one_problem_can_be_found() -> None:
    """`check` tells all problems of a tree; a parsed tree has none."""
    assert list(check(parse("rate(foo[5m]) > 1"))) == []


@pytest.mark.parametrize(
    ("text", "first"),
    [
        ("a > 10m", (2, 54, 0)),
        ("a[300]", (2, 54, 0)),
        ("1_000", (2, 54, 0)),
        ("a </ 1", (3, 11, 0)),
        ("histogram_avg(a)", (2, 51, 0)),
        ("mad_over_time(a[5m])", (2, 49, 0)),
        ("a[5m] anchored", (3, 7, 0)),
        ("a + fill(0) b", (3, 10, 0)),
        ("a[5m + step()]", (3, 6, 0)),
        ('{"a.b"}', (2, 55, 0)),
    ],
)
def test_what_is_too_new_for_a_version_is_refused(text: str, first: tuple[int, int, int]) -> None:
    """With every feature on, it is taken from the version on that brought it."""
    flags = (*FEATURES, "promql-duration-expr", "utf8-names")
    parse(text, options_for(first, flags))
    before = (first[0], first[1] - 1, 0)
    with pytest.raises(ParseError, match=rf"needs Prometheus {first[0]}\.{first[1]}\.0, this is"):
        parse(text, options_for(before, flags))


def test_what_became_stable_needs_no_feature_any_more() -> None:
    """A version that has it by default is not asked for a flag."""
    for text in ("first_over_time(a[5m])", "a[5m * 2]"):
        parse(text, options_for((3, 14, 0)))
        with pytest.raises(ParseError, match="experimental"):
            parse(text, options_for((3, 13, 0)))


def test_what_is_gone_says_what_to_use() -> None:
    """A function of Prometheus 2 that has another name now."""
    parse("holt_winters(a[5m], 0.5, 0.5)", Options((2, 55, 0)))
    with pytest.raises(ParseError, match="double_exponential_smoothing"):
        parse("holt_winters(a[5m], 0.5, 0.5)")


def test_every_function_can_be_called() -> None:
    """The table is consistent: the least and the most arguments are both taken."""
    samples = {"scalar": "1", "instant vector": "a", "range vector": "a[5m]", "string": '"s"'}
    for function in FUNCTIONS.values():
        types = function.arguments
        most = function.least + 3 if function.most is None else function.most
        options = Options((2, 55, 0)) if function.name == "holt_winters" else EVERYTHING
        for count in (function.least, most):
            arguments = [samples[types[min(i, len(types) - 1)]] for i in range(count)]
            if function.name == "info" and count == 2:
                arguments[1] = '{a="b"}'
            text = f"{function.name}({', '.join(arguments)})"
            assert to_text(parse(text, options)) == text


@pytest.mark.parametrize(
    ("text", "enforced"),
    [
        ("a", 'a{ns="x"}'),
        ('a{ns=~".*",ns!="x",b="c"}', 'a{b="c",ns="x"}'),
        ('{"ns"="y"}', '{ns="x"}'),
        ("topk(scalar(a), b) + rate(c[5m] offset 1m)", None),
        ("-(a) + max_over_time(b[5m:])", '-(a{ns="x"}) + max_over_time(b{ns="x"}[5m:])'),
        ("time() + 1", "time() + 1"),
    ],
)
def test_a_label_is_enforced_in_every_selector(text: str, enforced: str | None) -> None:
    """Also in the parameter of an aggregation, where the peer forgets it."""
    expected = enforced or ('topk(scalar(a{ns="x"}), b{ns="x"}) + rate(c{ns="x"}[5m] offset 1m)')
    assert to_text(enforce_label(parse(text), "ns", "x")) == expected


SELF = 'x{ns="x"}'


@pytest.mark.parametrize(
    ("text", "enforced"),
    [
        # Labels that are named are taken, from info series of the namespace only.
        ('info(x, {a=~".+"})', f'info({SELF}, {{a=~".+",ns="x"}})'),
        ('info(x, {ns="y",a=~".*"})', f'info({SELF}, {{a=~".*",ns="x"}})'),
        ('info(x, {"b_info",a="c"})', f'info({SELF}, {{__name__="b_info",a="c",ns="x"}})'),
        # Who would have kept series without any info series keeps them.
        ("info(x)", f'(info({SELF}, {{ns="x"}}) or on (job, instance) {SELF})'),
        (
            'info(x, {a=~".*",__name__=~".+_info"})',
            f'(info({SELF}, {{__name__=~".+_info",a=~".*",ns="x"}}) or on (job, instance) {SELF})',
        ),
        (
            "info(x or x)",
            f'(info({SELF} or {SELF}, {{ns="x"}}) or on (job, instance) ({SELF} or {SELF}))',
        ),
        # One within another: only the innermost is written twice.
        (
            "info(info(x))",
            f'info((info({SELF}, {{ns="x"}}) or on (job, instance) {SELF}), {{ns="x"}})',
        ),
    ],
)
def test_info_reads_no_info_series_of_others(text: str, enforced: str) -> None:
    """It has a selector that nobody need write."""
    node = enforce_label(parse(text, EVERYTHING), "ns", "x")
    assert to_text(node) == enforced
    assert same(parse(enforced, EVERYTHING), node)


def test_nested_info_does_not_multiply() -> None:
    """Forty levels are forty calls, and what is in the middle is there twice."""
    text = to_text(enforce_label(parse("info(" * 40 + "x" + ")" * 40, EVERYTHING), "ns", "x"))
    assert (text.count("info("), text.count("x{")) == (40, 2)


def test_an_enforced_value_is_only_ever_a_value() -> None:
    """Quotes and names that need quotes do not get out."""
    enforced = to_text(enforce_label(parse("a"), "n.s", 'x"} or b{'))
    assert enforced == r'a{"n.s"="x\"} or b{"}'
    assert same(parse(enforced), enforce_label(parse("a"), "n.s", 'x"} or b{'))


def test_a_name_can_be_enforced_too() -> None:
    """The metric's own name gives way."""
    assert to_text(enforce_label(parse("a + b"), "__name__", "c")) == (
        '{__name__="c"} + {__name__="c"}'
    )


@pytest.mark.parametrize(
    ("value", "text"),
    [(0.0, "0"), (1e20, "100000000000000000000"), (1e21, "1e+21"), (1.5e-5, "1.5e-05"),
     (-2.5e100, "-2.5e+100"), (0.0001, "0.0001"), (-0.0, "-0")],
)  # fmt: skip
def test_very_large_and_small_numbers_have_an_exponent_where_go_gives_them_one(
    value: float, text: str
) -> None:
    """The form that Go calls %v."""
    assert short_text(value) == text


def test_an_octal_number_too_large_for_64_bits_is_read_as_decimal() -> None:
    """What Prometheus does with it."""
    assert number_of("0" + "7" * 22) == float("7" * 22)
    assert number_of("0x" + "f" * 16) is None
    assert math.isnan(number_of("NaN") or 0)


# --- Amounts of time in parentheses ---------------------------------------------------------------


BEFORE, SINCE = options_for((3, 14, 0)), options_for((3, 15, 0))


@pytest.mark.parametrize(
    ("text", "before", "since"),
    [
        ("a offset (5)", "a offset 5s", "a offset (5)"),
        ("a offset +(5m)", "a offset 5m", "a offset (5m)"),
        ("a offset -(90)", "a offset -1m30s", "a offset -(90)"),
        ("a offset (0)", "a", "a offset (0)"),
        ("a[(300)]", "a[5m]", "a[(300)]"),
        ("a[5m:(60)]", "a[5m:1m]", "a[5m:(60)]"),
        ("a offset (5) + 1", "a offset (5 + 1)", "a offset (5) + 1"),
        ("a[(-2) ^ 2]", "a[(-2) ^ 2]", "a[(-2) ^ 2]"),
    ],
)
def test_an_amount_in_parentheses_is_calculated_since_prometheus_3_15(
    text: str, before: str, since: str
) -> None:
    """Before, it is the amount; both are printed as the Prometheus of the version prints them."""
    assert to_text(parse(text, BEFORE)) == before
    assert to_text(parse(text, SINCE)) == since


@pytest.mark.parametrize("text", ["a[(0)]", "a[(-5m)]", "a offset (5m / (0))", "a[5m % (0s)]"])
def test_nothing_in_parentheses_is_refused_by_a_prometheus_that_sees_through_them(
    text: str,
) -> None:
    """One rule that it refuses would stop all the others."""
    with pytest.raises(ParseError):
        parse(text, BEFORE)
    parse(text, SINCE)


def outline(value: Any) -> Any:
    """What a tree means: no places in the text, and no parentheses around amounts of time."""
    if isinstance(value, Duration) and value.operator == "":
        return outline(value.right)
    if isinstance(value, Number):
        return value.value
    if isinstance(value, tuple):
        return tuple(map(outline, value))
    if not isinstance(value, Struct):
        return value
    names = (name for name in value.__struct_fields__ if name not in ("span", "place", "wrapped"))
    return type(value).__name__, *(outline(getattr(value, name)) for name in names)


AMOUNTS = ("5", "-5", "+-5", "(5m)", "-(5)", "((0.5))", "step()", "-step()", "min_of(1, (2))")
OFFSETS = sorted(
    {
        form.format(left, operator, right)
        for left in AMOUNTS
        for right in AMOUNTS
        for operator in "+*^"
        for form in ("({0})", "({0} {1} {2})", "({0}) {1} {2}", "+-{0} {1} {2}", "-({0} {1} {2})")
    }
)


@pytest.mark.parametrize("options", [BEFORE, SINCE], ids=["before", "since"])
@pytest.mark.parametrize("form", ["a offset {}", "a offset {} @ 0 * b", "a[{}]", "a[5m:{}]"])
def test_a_calculated_amount_is_read_again_as_it_was_meant(form: str, options: Options) -> None:
    """Prometheus itself prints offsets of which an operator is no longer, or becomes, a part."""
    count = 0
    for offset in OFFSETS:
        try:
            tree = parse(form.format(offset), options)
        except ParseError:
            continue
        assert outline(parse(to_text(tree), options)) == outline(tree), form.format(offset)
        count += 1
    assert count > len(OFFSETS) / 2
