"""Jobs with relabelings made up from a number, each of which Prometheus loads."""

from __future__ import annotations

from collections.abc import Iterator
from random import Random
from typing import Any, Final

from stoker.golang.regex import parsed

Block = dict[str, Any]

_NAMES: Final = (
    "__address__", "__metrics_path__", "__param_module", "__scheme__", "__tmp_own", "app",
    "instance", "job", "tier", "team_a", "__meta_kind", "__meta_label_app", "__meta_label_zone",
)  # fmt: skip
_ODD_NAMES: Final = ("service.name", "größe", "1st", "a b")
_VALUES: Final = (
    "", "cart", "Cart", "cart-1", "web;admin", "10.0.0.7:8080", "[fd00::7]:8080", "true", "prod",
    "a.b.c", "two\nlines", "Straße", "İstanbul", "ﬁn", "ΣΊΣΥΦΟΣ", "ᾳ", "$1", "\\d+", "aaa",
    "x" * 300,
)  # fmt: skip
_ATOMS: Final = (
    "a", "cart", "prod", ".", r"\d", r"\w", r"\S", "[a-z]", "[^;]", "[[:alpha:]]", r"\pL", r"\.",
    "-", ";", ":", "true", "(?i:CART)", r"\x{e9}", r"\Qa.b\E", "ß", "[A-Za-zß-ü]",
)  # fmt: skip
_ZERO_WIDTH: Final = ("^", "$", r"\b", r"\B", r"\A", r"\z", "(?s)", "(?i)", "(?m)", "(?U)")
_COUNTS: Final = ("", "", "", "*", "+", "?", "{2}", "{1,3}", "*?", "+?", "??")
_REPLACEMENTS: Final = (
    "$1", "${1}", "$1x", "${1}x", "$0", "$2-$1", "$$", "$", "${", "${}", "${x}", "$x", "${x}-${1}",
    "fixed", "", "$01", "${10}", "a$1b$2c", "$-", "${1", "ä$1",
)  # fmt: skip


def regex(random: Random) -> str:
    """An expression that Go takes."""
    while True:
        text = _alternatives(random, 2)
        if all(not parsed(each).problem for each in (text, f"^(?s:{text})$")):
            return text


def _alternatives(random: Random, depth: int) -> str:
    several = 2 if random.random() < 0.2 else 1
    return "|".join(_sequence(random, depth) for _ in range(several))


def _sequence(random: Random, depth: int) -> str:
    return "".join(_piece(random, depth) for _ in range(random.randint(1, 3)))


def _piece(random: Random, depth: int) -> str:
    chance = random.random()
    if chance < 0.08:
        return random.choice(_ZERO_WIDTH)
    if chance < 0.3:
        return random.choice(("(.*)", "(.+)", ".*", ".+", "([^:]+)", r"(\d+)"))
    if depth and chance < 0.5:
        opening = random.choice(("(", "(", "(?:", "(?P<x>", "(?i:"))
        return f"{opening}{_alternatives(random, depth - 1)}){random.choice(_COUNTS)}"
    return random.choice(_ATOMS) + random.choice(_COUNTS)


def _name(random: Random) -> str:
    return random.choice(_ODD_NAMES if random.random() < 0.1 else _NAMES)


def _sources(random: Random) -> Block:
    block: Block = {"source_labels": [_name(random) for _ in range(random.randint(0, 3))]}
    if random.random() < 0.3:
        block["separator"] = random.choice(("", "-", ";;", "é"))
    return block


def _expression(random: Random) -> Block:
    return {"regex": regex(random)} if random.random() < 0.8 else {}


def _replace(random: Random) -> Block:
    block = {**_sources(random), **_expression(random), "target_label": _name(random)}
    if random.random() < 0.3:
        block["target_label"] = random.choice(("$1", "team_${1}", "${x}", "x$2", "$$"))
    if random.random() < 0.7:
        block["replacement"] = random.choice(_REPLACEMENTS)
    return block if random.random() < 0.5 else {"action": "replace", **block}


def _choosing(random: Random) -> Block:
    # Few of these, and mild ones, so that later steps see something.
    own = {"regex": random.choice((".*", ".+", "(cart|prod).*", "x.*"))}
    chosen = own if random.random() < 0.6 else _expression(random)
    return {"action": random.choice(("keep", "drop", "Keep")), **_sources(random), **chosen}


def _equal(random: Random) -> Block:
    action = random.choice(("keepequal", "dropequal"))
    sources = [_name(random) for _ in range(random.randint(1, 2))]
    return {"action": action, "source_labels": sources, "target_label": _name(random)}


def _cased(random: Random) -> Block:
    action = random.choice(("lowercase", "uppercase"))
    return {"action": action, **_sources(random), "target_label": _name(random)}


def _hashed(random: Random) -> Block:
    modulus = random.choice((1, 2, 7, 1000, 2**63))
    return {"action": "hashmod", **_sources(random), "target_label": _name(random)} | {
        "modulus": modulus
    }


def _mapped(random: Random) -> Block:
    # What two labels would be mapped to, Prometheus takes from either of them.
    chosen = random.choice(("__meta_label_(.+)", "__meta_(?:label_)?(zone|kind)", "ap(.)", "tie."))
    return {"action": "labelmap", "regex": chosen} | random.choice(
        ({}, {"replacement": "own_${1}"}, {"replacement": "${1}_$1"}, {"replacement": "${0}_x"})
    )


def _named(random: Random) -> Block:
    chosen = random.choice(("__tmp.*", "app|tier", "__meta_.+", "inst.*", "service.name", "t.*m.*"))
    if random.random() < 0.1:
        return {"action": "labelkeep", "regex": "__.*|job|app"}
    return {"action": "labeldrop", "regex": chosen}


_STEPS: Final = (*[_replace] * 8, _choosing, _choosing, _equal, _cased, _hashed, _mapped, _named)


def _target(random: Random, number: int) -> Block:
    names = random.sample([each for each in _NAMES if each != "__address__"], random.randint(2, 7))
    labels = {each: random.choice(_VALUES) for each in names}
    if random.random() < 0.15:
        labels["__scrape_interval__"] = random.choice(("30m", "90m", "0", "bad", "1h30m"))
    if random.random() < 0.1:
        labels["__scrape_timeout__"] = random.choice(("5s", "2h", "none"))
    address = random.choice(("cart:80", "10.0.0.7", "[fd00::7]:9100", "host", f"t{number}:1"))
    return {"targets": [address], "labels": labels}


def job(seed: int) -> Block:
    """A job of a few candidates and steps."""
    random = Random(seed)
    made: Block = {
        "job_name": f"job-{seed}",
        "static_configs": [_target(random, number) for number in range(random.randint(2, 5))],
        "relabel_configs": [random.choice(_STEPS)(random) for _ in range(random.randint(1, 6))],
    }
    if random.random() < 0.3:
        made["params"] = {"module": ["http", "tcp"], "empty": []}
    if random.random() < 0.2:
        made |= {"scrape_timeout": "90s", "metrics_path": "/m", "scheme": "https"}
    return made


def jobs(seed: int, count: int) -> Iterator[Block]:
    """So many of them."""
    return (job(seed + number) for number in range(count))
