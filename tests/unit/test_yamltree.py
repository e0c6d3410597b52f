"""YAML is read as Kubernetes reads it; the tables were taken from sigs.k8s.io/yaml itself."""

import contextlib
import json
from typing import Any

import pytest
import yaml
from hypothesis import given, settings
from hypothesis import strategies as st

from stoker import yamltree
from stoker.yamltree import Places, YamlError, parse


@pytest.mark.parametrize(
    ("text", "value"),
    [
        *((word, True) for word in ("y", "Y", "yes", "Yes", "YES", "on", "On", "ON")),
        *((word, True) for word in ("true", "True", "TRUE")),
        *((word, False) for word in ("n", "N", "no", "No", "NO", "off", "Off", "OFF")),
        *((word, False) for word in ("false", "False", "FALSE")),
        *((word, None) for word in ("", "~", "null", "Null", "NULL")),
        *((word, word) for word in ("yES", "tRUE", "nULL", "oN", "yess", "none")),
    ],
)
def test_words_are_booleans_and_nulls_as_in_yaml_1_1(text: str, value: object) -> None:
    """The usual three spellings count, and so do `y` and `n`; any other spelling is a string."""
    assert parse(f"a: {text}") == {"a": value}


@pytest.mark.parametrize(
    ("text", "value"),
    [
        ("0", 0),
        ("-0", 0),
        ("+12", 12),
        ("1_000", 1000),
        ("0777", 511),
        ("0o17", 15),
        ("0O17", 15),
        ("0x_1F", 31),
        ("-0x10", -16),
        ("0b101", 5),
        ("08", 8),
        ("18446744073709551615", 2**64 - 1),
        ("-9223372036854775808", -(2**63)),
        ("1e3", 1000),
        ("1.0", 1),
        ("12e03", 12000),
        ("1.5", 1.5),
        (".5", 0.5),
        ("5.", 5),
        ("-.5e-1", -0.05),
        ("1_0.5", 10.5),
        (".5_5", 0.55),
        ("1e21", 1e21),
        ("123456789012345678901", 123456789012345680000.0),
    ],
)
def test_numbers_are_those_of_go_yaml(text: str, value: float) -> None:
    """A number is what go-yaml makes of it; a whole one is an integer, as it is in JSON."""
    read = parse(f"a: {text}")["a"]
    assert (read, type(read)) == (value, type(value))


@pytest.mark.parametrize(
    "text",
    [
        "12:30",
        "24:00",
        "1:30:00",
        "2026-01-31",
        "2026-01-31T12:00:00Z",
        "2026-01-31 12:00:00",
        "1e400",
        "0x",
        "0xfffffffffffffffff",
        "0o8",
        "1.2.3",
        "._5",
        "_1",
        "-a",
        "+",
        ".",
        "1e",
        "e3",
        "30s",
        "٣",
        "=",
        "<<",
    ],
)
def test_what_only_resembles_a_number_stays_a_string(text: str) -> None:
    """Times of day, dates and numbers that fit into no type of Go are strings."""
    assert parse(f"a: {text}") == {"a": text}


@pytest.mark.parametrize("text", ["yes", "0777", "1e3", "~", "12:30", "2026-01-31", "<<", ""])
@pytest.mark.parametrize("quote", ["'", '"'])
def test_quoted_scalars_are_strings(text: str, quote: str) -> None:
    """Quotes always make a string, whatever is between them."""
    assert parse(f"a: {quote}{text}{quote}") == {"a": text}


@pytest.mark.parametrize(
    ("text", "value"),
    [
        ("!!str 5", "5"),
        ("!!str ~", "~"),
        ("!!str", ""),
        ("!!int '5'", 5),
        ("!!float 5", 5),
        ("!!bool 'yes'", True),
        ("!!null ''", None),
        ("!!binary aGk=", "hi"),
        ("!!binary /w==", "\ufffd"),
        ("!!map {b: 1}", {"b": 1}),
        ("!!seq [1]", [1]),
        ("! 12", "12"),
    ],
)
def test_a_tag_decides_the_type(text: str, value: object) -> None:
    """The tags of JSON's types and `!!binary` are honoured."""
    assert parse(f"a: {text}") == {"a": value}


@pytest.mark.parametrize(
    ("text", "reason"),
    [
        ("a: !!int 1e3", "`1e3` is not a value for `!!int`"),
        ("a: !!bool 1", "`1` is not a value for `!!bool`"),
        ("a: !!null x", "`x` is not a value for `!!null`"),
        ("a: !!binary '*'", "`!!binary` holds no base64"),
        ("a: !foo x", "unknown tag `!foo`"),
        ("a: !!set {b: 1}", "unknown tag `!!set`"),
        ("a: !!python/name:os.system x", "unknown tag `!!python/name:os.system`"),
        ("a: .inf", "infinity and NaN cannot be written as JSON"),
        ("a: -.Inf", "infinity and NaN cannot be written as JSON"),
        ("a: .nan", "infinity and NaN cannot be written as JSON"),
        ("a: 1\nb: 2\na: 3", "the key `a` stands here twice"),
        ("1: a\n'1': b", "the key `1` stands here twice"),
        ("~: 1", "a key is missing: null cannot be one"),
        ("? [a]\n: 1", "a list or mapping cannot be a key"),
        ("a: *b", "`*b` refers to no anchor before it"),
        ("a: &x [*x]", "`*x` contains itself"),
        ("<<: 1", "`<<` takes a mapping or a list of mappings"),
        ("x: &x [{a: 1}]\nz: {<<: *x}", "`<<` takes a mapping or a list of mappings"),
        ("x: &x {a: 1}\nz: {a: 2, <<: *x}", "`<<` brings the key `a` again; put `<<` before it"),
        ("a: 1\n---\nb: 2", "a second document begins here"),
        ("{a: 1} b", "the document has ended, but more text follows"),
        ("a: \x07", "the character U+0007 is not allowed"),
        ("a: \0", "the character U+0000 is not allowed"),
        ("a: \ud800", "the character U+D800 is not allowed"),
        ("%TAG ! a\n" * 17, "more than 16 directives (`%`)"),
    ],
)
def test_what_kubernetes_could_not_read_is_refused(text: str, reason: str) -> None:
    """The reason is short and plain."""
    with pytest.raises(YamlError) as caught:
        parse(text)
    assert caught.value.reason == reason


@pytest.mark.parametrize(
    ("text", "line", "column"),
    [
        ("a: 1\nb: [\n", 12, 1),
        ("a: 1\n  b: 2", 12, 4),
        ("a:\n  b: 1\n  b: 2", 13, 3),
        ("a: 1\nb: x\x1by", 12, 5),
    ],
)
def test_an_error_knows_its_place_in_the_file(text: str, line: int, column: int) -> None:
    """Lines are counted from the line on which the document begins, columns from one."""
    with pytest.raises(YamlError) as caught:
        parse(text, first_line=11)
    assert (caught.value.line, caught.value.column) == (line, column)


@pytest.mark.parametrize(
    ("text", "key"),
    [
        ("1: a", "1"),
        ("0777: a", "511"),
        ("yes: a", "true"),
        ("n: a", "false"),
        ("1.5: a", "1.5"),
        ("1e3: a", "1000"),
        ("1e6: a", "1e+06"),
        ("0.1: a", "0.1"),
        ("4e44: a", ".inf"),
        ("-.inf: a", "-.inf"),
        ("12:30: a", "12:30"),
        ("&k key: a", "key"),
    ],
)
def test_keys_become_strings(text: str, key: str) -> None:
    """JSON has string keys only; others are written as Kubernetes writes them."""
    assert parse(text) == {key: "a"}


@pytest.mark.parametrize(
    ("text", "value"),
    [
        ("{<<: *x, c: 3}", {"a": 1, "b": 2, "c": 3}),
        ("{<<: *x, a: 3}", {"a": 3, "b": 2}),
        ("{<<: [{a: 9, d: 4}, *x]}", {"a": 9, "b": 2, "d": 4}),
        ("{<<: {a: 5}}", {"a": 5}),
        ("{<<: {a: 5}, <<: *x}", {"a": 1, "b": 2}),
        ("{'<<': 1}", {"<<": 1}),
    ],
)
def test_a_merge_key_brings_in_another_mapping(text: str, value: object) -> None:
    """What a mapping says after `<<` wins, and in a list of mappings the earlier one wins."""
    assert parse(f"x: &x {{a: 1, b: 2}}\nz: {text}")["z"] == value


def test_an_alias_repeats_its_anchor() -> None:
    """Anchors may stand on scalars, lists and mappings, and be given anew."""
    text = "a: &x 5\nb: *x\nc: &x [1]\nd: *x\ne: &z {f: *x}\ng: *z"
    value = {"a": 5, "b": 5, "c": [1], "d": [1], "e": {"f": [1]}, "g": {"f": [1]}}
    assert parse(text) == value


def _laughs(levels: int, start: str = "lol") -> str:
    lines = [f"l0: &l0 [{', '.join([start] * 10)}]"]
    for level in range(1, levels):
        aliases = ", ".join([f"*l{level - 1}"] * 10)
        lines.append(f"l{level}: &l{level} [{aliases}]")
    return "\n".join(lines)


def test_a_billion_laughs_are_refused() -> None:
    """A few lines of aliases cannot stand for more values than a cluster would take."""
    with pytest.raises(YamlError, match="aliases expand to more than 400000 values"):
        parse(_laughs(10))


def test_repeated_long_strings_are_refused() -> None:
    """An alias to a long string counts by its length."""
    text = f"a: &a {'x' * 1_000_000}\nb: [{', '.join(['*a'] * 100)}]"
    with pytest.raises(YamlError, match="aliases expand"):
        parse(text)


def test_a_merge_is_an_alias_too() -> None:
    """Merging mappings into mappings is bounded like any other use of aliases."""
    lines = ["l0: &l0 {" + ", ".join(f"k{n}: v" for n in range(1000)) + "}"]
    lines += [f"l{n}: {{<<: *l0}}" for n in range(1, 1000)]
    with pytest.raises(YamlError, match="aliases expand"):
        parse("\n".join(lines))


@pytest.mark.parametrize("unit", ["[", "{a: ", "- ", "? ", "{? ", "[[{a: "])
def test_deep_nesting_is_refused(unit: str) -> None:
    """Depth is refused by counting it, without exhausting the stack."""
    with pytest.raises(YamlError, match="nested deeper than 100 levels"):
        parse(unit * 100_000)


@pytest.mark.parametrize(("opening", "closing"), [("[", "]"), ("{a: ", "}")])
def test_a_hundred_levels_are_allowed(opening: str, closing: str) -> None:
    """The limit is exact, and holds for depth that aliases bring as well."""
    parse(opening * 100 + closing * 100)
    with pytest.raises(YamlError, match="nested deeper than 100 levels"):
        parse(opening * 101 + closing * 101)
    deep = opening * 60 + closing * 60
    with pytest.raises(YamlError, match="nested deeper than 100 levels"):
        parse(f"a: &a {deep}\nb: {'[' * 60}*a{']' * 60}")


@pytest.mark.parametrize("text", ["", " ", "# nothing\n", "---\n", "---\n...\n"])
def test_an_empty_document_is_nothing(text: str) -> None:
    """What holds no value gives None."""
    assert parse(text) is None


def test_the_parser_without_libyaml_gives_the_same(monkeypatch: pytest.MonkeyPatch) -> None:
    """Where libyaml is absent, PyYAML's own parser takes its place."""
    monkeypatch.setattr(yamltree, "_LOADER", yaml.SafeLoader)
    text = "a: [yes, 12:30, 0777, ! 12, '5']\nb: &b {c: 1}\nd: {<<: *b, e: ~}"
    assert parse(text) == {
        "a": [True, "12:30", 511, "12", "5"],
        "b": {"c": 1},
        "d": {"c": 1, "e": None},
    }


_DOCUMENT = """\
metadata:
  name: cart
  labels:
    app.kubernetes.io/name: cart
spec:
  endpoints:
    - port: web
    - port: metrics
      path: /metrics
"""


@pytest.mark.parametrize(
    ("path", "line"),
    [
        ("", 1),
        ("metadata", 1),
        ("metadata.name", 2),
        ("metadata.labels.app.kubernetes.io/name", 4),
        ("spec.endpoints[1]", 8),
        ("spec.endpoints[1].path", 9),
        ("spec.endpoints[1].interval", 8),
        ("spec.endpoints[7].port", 6),
        ("spec.nothing.here", 5),
        ("status", 1),
    ],
)
def test_a_path_is_found_on_its_line(path: str, line: int) -> None:
    """What does not exist is looked for at its nearest parent."""
    assert Places(_DOCUMENT).line(path) == line
    assert Places(_DOCUMENT, 11).line(path) == line + 10


def test_a_path_in_broken_text_is_on_the_first_line() -> None:
    """Finding a line never fails."""
    assert Places("a: [", 7).line("a") == 7


_LETTERS = st.characters(max_codepoint=0xFFFF, exclude_categories=["Cs"])
_JSON = st.recursive(
    st.none()
    | st.booleans()
    | st.integers(-(2**63), 2**63 - 1)
    | st.floats(allow_nan=False, allow_infinity=False)
    | st.text(_LETTERS),
    lambda inner: st.lists(inner) | st.dictionaries(st.text(_LETTERS, max_size=100), inner),
    max_leaves=30,
)


@given(_JSON)
def test_json_reads_as_itself(value: Any) -> None:
    """YAML contains JSON: what was written as JSON is read back the same."""
    assert parse(json.dumps(value)) == value


_SPECIAL = [*"a:-[]{},?|>'\"#%~@ \n\t\r\ufeff\x85", "&x ", "*x", "<<", "!!int ", "---", "..."]
_FRAGMENTS = st.sampled_from([*_SPECIAL, "\n  ", "- ", ": ", "0x", "1e9"])


@settings(max_examples=300)
@given(st.text() | st.lists(_FRAGMENTS, max_size=40).map("".join))
def test_any_text_is_read_or_refused(text: str) -> None:
    """Whatever the text, it is a value that JSON can hold or a YamlError."""
    with contextlib.suppress(YamlError):
        json.dumps(parse(text), allow_nan=False)
    assert Places(text, 3).line("a[0].b") >= 3
