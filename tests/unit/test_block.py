"""The emitter: what it writes, a YAML reader gives back unchanged, whatever users send."""

from typing import Any

import pytest
import yaml
from hypothesis import given, settings
from hypothesis import strategies as st

from stoker.generate.block import text_of
from stoker.yamltree import parse

HOSTILE = [
    "", " ", "yes", "no", "on", "off", "y", "n", "~", "null", "Null", "true", "False", "<<", "=",
    "0X1f", "0B0", "-0O7", "0_x1F", "1_0.5", "1e_5",
    "0777", "0x1F", "0b11", "0o17", "1e3", "1_000", "12:30", "12:30:45.5", "-1", "+1", ".5", "5.",
    ".inf", "-.Inf", ".nan", "2026-11-15", "2026-11-15T08:49:00Z", "2026-11-15 08:49:00 +01:00",
    "---", "--- a", "...", "-", "- a", "-a", "?", "? a", "?a", ":", ": a", ":a", "a:", "a: b",
    "a:b", "#", "# a", "a #b", "a#b", "&a", "*a", "!a", "!!str a", "|", ">", "%", "@", "`", "'",
    '"', "''", '""', "it's", 'say "x"', "{", "}", "[", "]", "{a: b}", "[a]", ",", "a, b", "; }",
    "\\", "\\n",
    "a\nb", "a\nb\n", "a\n\nb\n\n", "\n", "\na", " \n", "a \nb", " a\nb", "a\n b", "a\nb ", "\ta",
    "a\tb", "a\t", "a\r\nb", "\r", "\x00", "\x07", "\x1b[31m", "\x7f", "\x85", "a\x85b", "\xa0",
    "\u2028", "a\u2029b", "\ufeff", "a\ufeffb", "é", "日本語", "😀", "\ufffe", "\U0010ffff",
    "$(POD_NAME)", "$$", "${1}", "x" * 5000, "word " * 100, "key: value # not a comment",
]  # fmt: skip


@pytest.mark.parametrize("value", HOSTILE)
def test_hostile_strings_come_back_unchanged(value: str) -> None:
    """As a value, in a list and as a key, for two readers of YAML 1.1."""
    document = {"value": value, "list": [value, {"in": value}], "map": {value: "x"}}
    text = text_of(document)
    assert yaml.safe_load(text) == document
    assert parse(text) == document


TEXT = st.text(st.characters(exclude_categories=["Cs"]), max_size=40)
LIKELY = (
    st.sampled_from(HOSTILE) | TEXT | st.text("-:#'\"\\ \n[]{}&*!|>%@`,?~=.0123ab", max_size=12)
)
SCALARS = LIKELY | st.integers(-(2**63), 2**63 - 1) | st.booleans()
VALUES = st.recursive(
    SCALARS, lambda inner: st.lists(inner, max_size=4) | st.dictionaries(LIKELY, inner, max_size=4)
)


@settings(max_examples=400, deadline=None)
@given(st.dictionaries(LIKELY, VALUES, max_size=4))
def test_any_document_comes_back_unchanged(document: dict[str, Any]) -> None:
    """Nested mappings and lists of any strings are read as they were written."""
    text = text_of(document)
    assert parse(text) == document
    assert yaml.safe_load(text) == document


@pytest.mark.parametrize(
    ("value", "text"),
    [
        ({"a": ""}, 'a: ""\n'),
        ({"a": "true"}, 'a: "true"\n'),
        ({"a": "30s", "b": 30, "c": False}, "a: 30s\nb: 30\nc: false\n"),
        ({"a": "{x}"}, "a: '{x}'\n"),
        ({"a": "it's: x"}, "a: 'it''s: x'\n"),
        ({"a": []}, "a: []\n"),
        ({"a": {}}, "a: {}\n"),
        ({"a": ["x", "y"]}, 'a:\n- x\n- "y"\n'),
        ({"a": [{"b": 1, "c": ["d"]}]}, "a:\n- b: 1\n  c:\n  - d\n"),
        ({"a": [["x"], []]}, "a:\n- - x\n- []\n"),
        ({"a": {"b": {"c": "d"}}}, "a:\n  b:\n    c: d\n"),
        ({"a": "x\ny\n"}, "a: |\n  x\n  y\n"),
        ({"a": "x\ny"}, "a: |-\n  x\n  y\n"),
        ({"a": "tab\there"}, 'a: "tab\\there"\n'),
        ({"a": 0.5, "b": 1.0, "c": 1e-7}, "a: 0.5\nb: 1\nc: 1e-07\n"),
        ({"a": None}, "a: null\n"),
    ],
)
def test_text_is_as_the_peer_writes_it(value: Any, text: str) -> None:
    """Plain where it can be, single quotes before double, lists not indented."""
    assert text_of(value) == text


def test_a_key_that_is_too_long_takes_the_explicit_form() -> None:
    """YAML readers look for the `:` of a simple key only so far."""
    document = {"k" * 200: {"a": ["b"]}, "short": 1}
    text = text_of({"outer": document})
    assert text.startswith("outer:\n  ? kkk")
    assert parse(text) == {"outer": document}


def test_half_a_surrogate_pair_is_replaced() -> None:
    """It is no character: a YAML reader would refuse the whole file."""
    assert text_of({"a\ud800": "b\udfffc\U0001f600"}) == '"a\ufffd": "b\ufffdc\\U0001F600"\n'


_WORDS = "some words " * 7


@pytest.mark.parametrize(
    ("value", "text"),
    [
        # That a line is too long is seen at the next space.
        ({"plain": f"{'x' * 60} {'y' * 14} z w"}, f"plain: {'x' * 60} {'y' * 14}\n  z w\n"),
        ({"a": f"{'x' * 77} b"}, f"a: {'x' * 77} b\n"),
        ({"a": f"{'x' * 78} b"}, f"a: {'x' * 78}\n  b\n"),
        ({"two": f"{'x' * 80}  b c"}, f"two: {'x' * 80}  b\n  c\n"),
        ({"a": {"b": f": {_WORDS}end"}}, f"a:\n  b: ': {_WORDS[:-1]}\n    end'\n"),
        ({"a": [f"{_WORDS}{_WORDS}"]}, f"a:\n- '{_WORDS[:-1]} some\n  {_WORDS[5:]}'\n"),
        ({"a": f"\t{_WORDS}   b c"}, f'a: "\\t{_WORDS[:-1]}\n  \\   b c"\n'),
        ({"a": "x" * 90 + "\n" + "y z" * 50}, f"a: |-\n  {'x' * 90}\n  {'y z' * 50}\n"),
        ({f"{'k' * 130} k": 1}, f"? {'k' * 130}\n  k\n: 1\n"),
        ({"a": f"\U0001f525 {'x' * 70} b c"}, f'a: "\\U0001F525 {"x" * 70}\n  b c"\n'),
    ],
)
def test_a_long_line_goes_on_below_as_the_peer_writes_it(value: Any, text: str) -> None:
    """So nothing is written anew at a takeover, and rules need as many ConfigMaps as before."""
    assert text_of(value) == text
    assert yaml.safe_load(text) == value


@settings(max_examples=300, deadline=None)
@given(st.text("ab \t'\"\\:#-\n\U0001f525", min_size=60, max_size=400), TEXT)
def test_long_texts_come_back_unchanged(value: str, key: str) -> None:
    """Wherever their lines are broken."""
    document = {key: value, "list": [value, {"in": value}], "map": {value: "x"}}
    text = text_of(document)
    assert yaml.safe_load(text) == document
    assert parse(text) == document
