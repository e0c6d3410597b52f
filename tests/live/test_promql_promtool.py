"""Prometheus itself judges generated, mutated and misspelt expressions, and prints some of them."""

import json
import random
import re
import subprocess
from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Final

import pytest

from stoker.promql import NEWEST, ParseError, options_for, parse, to_text
from tests.unit.promql_expressions import FEATURES, expressions
from tools.build import binaries

EVERYTHING: Final = options_for(NEWEST, FEATURES)
_AT_ONCE: Final = 1000
_REFUSED: Final = re.compile(r'rule (\d+), "r\d+": could not parse expression: (.*)')
_WORD: Final = re.compile(
    r'"(?:[^"\\]|\\.)*"|[A-Za-z_:][\w:]*|[0-9.]+\w*|\s+|[=!]~|[=!<>]=|.', re.S
)
_WORDS: Final = (
    *("offset", "@", "anchored", "smoothed", "bool", "on()", "ignoring(a)", "group_left", "by (a)"),
    *("[5m]", "[5m:]", "[step()]", "[5m+5m]", "[(5m)]", "[5m:1m]", "offset -(5)", "offset (5m)"),
    *("offset +-5", "@ start()", "fill(0)", "fill_left(1)", "without (a)", "group_right(a)", "foo"),
    *("(", ")", "{", "}", "[", "]", ",", ":", "-", "+", "*", "/", "^", "%", "</", ">/", "==", "!="),
    *("0", "0x1e", "0x1f", "1_000", "5m", "1h30m", ".5", "5.", "1e3", "Inf", "NaN", "# c\n", "\t"),
    *(
        "and",
        "or",
        "unless",
        "atan2",
        "sum",
        "topk(1,",
        "limitk(1,",
        "info(",
        "time()",
        "vector(1)",
    ),
    *('{a=~".*"}', '{a!=""}', '{a=~"("}', '{"a.b"}', "'x'", "`y`", '"\\xff"', '"\\u12"', "start()"),
)
_NUMBERS: Final = "0123456789_.xXeEabf+- "
_PERIODS: Final = "0123456789smhdwy.:_ +-*/()#\n"
_REGEX: Final = (
    *("a", "(", ")", "*", "+", "?", "{2}", "{1001}", "[", "^", "]", "|", ".", "-", "$", "(?i)"),
    *(r"\\d", r"\\C", r"\\Q", r"\\E", "(?<n>", r"\\pL", r"\\z", r"\\1", r"\\b", r"\xff", "(?s:"),
)
_TWO_SIGNS: Final = re.compile(r"offset\s*[+-]\s*[+-]", re.I)
_ESCAPES: Final = ("\\", "x", "u", "U", "0", "7", "f", "'", "n", "é", "\ufffd", "\n", "`", "0000")


def verdicts(texts: Sequence[str], folder: Path) -> list[str]:
    """Say why Prometheus refuses each expression, as a rule of a file; empty where it does not."""
    file = folder / "rules.yaml"
    rules = [{"record": f"r{index}", "expr": text} for index, text in enumerate(texts)]
    file.write_text(json.dumps({"groups": [{"name": "g", "rules": rules}]}))
    done = promtool("check", "rules", "--lint=none", str(file))
    output = (done.stdout + done.stderr).decode(errors="replace")
    refused = {int(number) - 1: reason for number, reason in _REFUSED.findall(output)}
    assert bool(refused) == bool(done.returncode), output
    return [refused.get(index, "") for index in range(len(texts))]


def promtool(*arguments: str) -> subprocess.CompletedProcess[bytes]:
    """Run promtool with every feature of the language."""
    flags = [f"--enable-feature={feature}" for feature in FEATURES]
    command = [str(binaries("promtool")["promtool"]), *flags, *arguments]
    return subprocess.run(command, capture_output=True, check=False)


def disagreements(texts: Sequence[str], folder: Path) -> list[str]:
    """List the expressions of which we think otherwise than Prometheus."""
    found = []
    for start in range(0, len(texts), _AT_ONCE):
        batch = texts[start : start + _AT_ONCE]
        for text, theirs in zip(batch, verdicts(batch, folder), strict=True):
            ours = refusal(text)
            if bool(ours) != bool(theirs):
                found.append(f"{text!r}: we say {ours!r}, Prometheus says {theirs!r}")
    return found


def refusal(text: str) -> str:
    """Say why we refuse an expression; empty where we do not."""
    try:
        parse(text, EVERYTHING)
    except ParseError as error:
        return str(error)
    return ""


def mutated(chance: random.Random, text: str) -> str:
    """Remove, insert, replace or exchange a few words."""
    words = _WORD.findall(text)
    for _ in range(chance.choice((1, 1, 2, 3))):
        place, other = chance.randrange(len(words) + 1), chance.randrange(len(words) + 1)
        what = chance.randrange(4)
        if what == 0:
            del words[place : place + 1]
        elif what == 1:
            words.insert(place, chance.choice(_WORDS))
        elif what == 2:
            words[place : place + 1] = [chance.choice(_WORDS)]
        else:
            words[place:place], words[other : other + 1] = words[other : other + 1], []
    return "".join(words)


def misspelt(chance: random.Random) -> str:
    """Make a number, a range, a string or a regular expression of what these are made of."""

    def some(parts: Sequence[str]) -> str:
        return "".join(chance.choices(parts, k=chance.randrange(1, 8)))

    makes: tuple[Callable[[], str], ...] = (
        lambda: some(_NUMBERS),
        lambda: f"foo[{some(_PERIODS)}]",
        lambda: f'"{some(_ESCAPES)}"',
        lambda: f'foo{{a=~"{some(_REGEX)}"}}',
        lambda: chance.choice(("", " ")).join(chance.choices(_WORDS, k=chance.randrange(1, 7))),
    )
    return chance.choice(makes)()


@pytest.fixture(scope="module")
def texts() -> list[str]:
    """Make expressions of every kind; a rule must have at least one character that shows."""
    chance = random.Random(20261115)
    good = expressions(seed=1, count=800, depth=3)
    bad = [mutated(chance, chance.choice(good)) for _ in range(2500)]
    odd = [misspelt(chance) for _ in range(2500)]
    return [text for text in (*good, *bad, *odd) if text.strip()]


def test_prometheus_takes_and_refuses_the_same_expressions(
    texts: list[str], tmp_path: Path
) -> None:
    """The verdict on thousands of new expressions is that of Prometheus."""
    found = disagreements(texts, tmp_path)
    assert not found, "\n".join(found[:20])
    taken = sum(not refusal(text) for text in texts)
    assert taken > len(texts) / 6
    assert len(texts) - taken > len(texts) / 6


def test_prometheus_prints_the_same_text(texts: list[str]) -> None:
    """The canonical form is that of promtool; it breaks lines of more than 100 characters."""
    chosen = []
    for text in texts[:800] + texts[-1500:]:
        printed = "" if refusal(text) else to_text(parse(text, EVERYTHING))
        # Where Prometheus prints what it would itself misread, we do not follow (see `print`).
        misread = " offset +(" in printed or _TWO_SIGNS.search(text)
        if printed not in ("", text) and len(printed) <= 100 and not misread:
            chosen.append((text, printed))
    chosen = chosen[:100]
    with ThreadPoolExecutor(4) as pool:
        done = pool.map(
            lambda one: promtool("promql", "--experimental", "format", "--", one[0]), chosen
        )
        for (text, printed), answer in zip(chosen, done, strict=True):
            assert printed == answer.stdout.decode().removesuffix("\n"), text
    assert len(chosen) == 100
