"""Regular expressions as Go reads them: recorded answers, limits, and what reading costs."""

import gc
import json
from collections.abc import Callable
from pathlib import Path
from time import process_time

import pytest

from stoker.golang import NEWEST, Go
from stoker.golang.regex import Regex, parsed
from stoker.promql import Options, ParseError, parse
from stoker.promql.regexes import regex_of

RECORDED = json.loads((Path(__file__).parent.parent / "data/go_regexes.json").read_text())
_LETTERS = {"r": "refused", "t": "taken", "e": "taken, also for an empty text"}


def said(found: Regex) -> str:
    """In the words of the recorded answers."""
    return "refused" if found.problem else _LETTERS["e" if found.matches_empty else "t"]


@pytest.mark.parametrize("index", range(len(RECORDED["versions"])))
def test_what_go_said_we_say(index: int) -> None:
    """Go's own answers for more than 1,800 expressions, in five versions of it."""
    major, minor = map(int, RECORDED["versions"][index].split("."))
    assert len(RECORDED["cases"]) > 1800
    for text, answers in RECORDED["cases"]:
        assert (text, said(parsed(text, (major, minor)))) == (text, _LETTERS[answers[index]])


@pytest.mark.parametrize(
    ("name", "since"),
    [
        *(("Adlam", (1, 9)), ("Soyombo", (1, 10)), ("Sogdian", (1, 13)), ("Wancho", (1, 14))),
        *(("Yezidi", (1, 16)), ("Kawi", (1, 21)), ("Old_Sogdian", (1, 13)), ("Letter", (1, 25))),
    ],
)
def test_a_script_is_known_since_its_version_of_go(name: str, since: Go) -> None:
    """As the tables of that version have it; a version before refuses it."""
    assert not parsed(f"\\p{{{name}}}", since).problem
    assert since == (1, 9) or parsed(f"\\p{{{name}}}", (1, since[1] - 1)).problem


@pytest.mark.parametrize(
    ("taken", "refused"),
    [
        ("(" * 999 + ")" * 999, "(" * 1000 + ")" * 1000),
        ("(a" * 499 + ")" * 499, "(a" * 501 + ")" * 501),
        ("(?:a*" * 333 + ")*" * 333, "(?:a*" * 501 + ")*" * 501),
        ("(?:" * 8400 + r"\pL" + ")" * 8400, "(?:" * 8500 + r"\pL" + ")" * 8500),
        (r"\pL" * 20_000, r"\pL" * 26_000),
        ("(?:a" * 4700 + ")" * 4700, "(?:a" * 4800 + ")" * 4800),
        ("(?:(?:a{10}){10}){10}", "(?:(?:a{10}){10}){11}"),
        (f"(?:{'(a)' * 1000}){{1000}}", f"(?:{'(a)' * 1200}){{1000}}"),
        (r"\d" * 450 + "x|" + r"\d" * 450 + "y", r"\d" * 1100 + "x|" + r"\d" * 1100 + "y"),
        (
            "|".join("a" * length for length in range(450)),
            "|".join("a" * length for length in range(520)),
        ),
    ],
)
def test_limits_are_those_of_go(taken: str, refused: str) -> None:
    """Of heights, sizes and ranges: Go took each of the first, and refused each of the second."""
    assert not parsed(taken).problem
    assert parsed(refused).problem


@pytest.mark.parametrize("text", ["\ud800", "a|\udfff", "[\ud800]", r"\Q" + "\ud800"])
def test_half_of_a_character_is_refused(text: str) -> None:
    """No text that Go reads can hold one."""
    assert parsed(text).problem


def test_words_of_matchers_are_texts() -> None:
    """Since Prometheus 2.52; before, Go read them."""
    old = Options(fast_matchers=False)
    assert not regex_of("a|\udcff", Options()).problem
    assert regex_of("a|\udcff", old).problem
    assert not regex_of(r"\Qa", Options()).problem
    assert regex_of(r"\Qa", old).problem
    deep = "(" * 998 + ")" * 998
    assert not parsed(deep).problem
    assert regex_of(deep, Options()).problem


def test_a_selector_of_everything_is_found_for_the_go_that_reads_it() -> None:
    r"""`\p{Old_Italic}*` is an expression for Go 1.24, and matches the empty text."""
    text = r'{a=~"\\p{Old_Italic}*"}'
    with pytest.raises(ParseError, match="selects everything"):
        parse(text, Options(go=(1, 24)))
    with pytest.raises(ParseError, match="no class"):
        parse(text, Options(go=NEWEST))


def test_weight_is_what_go_would_compile() -> None:
    """Repetitions count as often as they repeat, and sets with all their ranges."""
    weights = [parsed(text).weight for text in ("a", "a{10}", "a{1000}", "(?:a{10}){100}", r"\pL")]
    assert weights == sorted(weights[:3]) + weights[3:]
    assert weights[2] >= 1000
    assert weights[3] >= 1000
    assert weights[4] > 300
    assert parsed(r"\pL{900}").weight > 100_000
    # Beyond a thousand instructions, Go makes no copies of ranges.
    assert parsed(r"\pL{1000}").weight < 10_000
    assert parsed(r"(?i)[\x{42}-\x{10ffff}]").weight > 5000
    assert parsed("node_.*|kube_.*").weight < 50


@pytest.mark.parametrize(
    "make",
    [
        lambda n: "|".join(f"kube_pod_{i}_[a-z]+" for i in range(n)),
        lambda n: "(?:a" * n + ")" * n,
        lambda n: "(?:" * n + "x" * n + ")" * n,
        lambda n: "(" * n + "a|b" + ")*" * n,
        lambda n: "[[:" * n,
        lambda n: "[" + r"\pL" * n + "]",
        lambda n: "{1" * n,
        lambda n: r"\Q" * n,
        lambda n: "(?P<" * n,
        lambda n: r"\p{" * n,
        lambda n: "a{2}" * n,
        lambda n: "a{" + "1" * n,
        lambda n: "x{" + "1" * n + "}",
        lambda n: "|".join("a" * (i % 50) for i in range(n)),
        lambda n: "a" * n + "|" + "a" * n,
        lambda n: r"\x{" + "0" * n + "41}",
        lambda n: "(?i)[a-z]" * n,
    ],
)
def test_reading_is_linear(make: Callable[[int], str]) -> None:
    """Eight times the text takes about eight times as long, and nowhere near sixty-four times."""
    read = parsed._function
    times = []
    gc.disable()
    try:
        for size in (1000, 8000):
            text = make(size)
            times.append(min(_seconds(read, text) for _ in range(3)))
    finally:
        gc.enable()
    assert times[1] < 30 * max(times[0], 0.0005)


def _seconds(read: Callable[[str, Go], Regex], text: str) -> float:
    start = process_time()
    read(text, NEWEST)
    return process_time() - start


def test_what_is_remembered_is_bounded_by_bytes() -> None:
    """However many expressions come."""
    for number in range(3000):
        parsed(f"{number}" * 500 + ".*")
    assert 0 < parsed.held <= 4 << 20
