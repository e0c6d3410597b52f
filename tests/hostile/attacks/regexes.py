"""Regular expressions: what Go's `regexp` takes, no more and no less, wherever one stands."""

from typing import Final

from stoker.validate.findings import Reason
from tests.hostile.payload import INVALID, RELABELING, Attack, Json, LeftOut

ATTACK: Final = Attack("regexes")

GOOD: Final = (
    ".*",
    "",
    "(?i)ALICE",
    "(?s).*",
    "^alice$",
    "|",
    "a||b",
    r"\Qa.b\E.*",
    r"\pL",
    r"\p{Greek}",
    r"\P{^Greek}",
    r"\p{Lu}",
    "(?P<n>.*)",
    r"[\]\"].*",
    "[[:alpha:]]+",
    "[[:^word:]]",
    r"\x{10FFFF}",
    r"\x{99999}",
    r"\x41",
    r"\a\f\v",
    r"\z",
    r"\b\B",
    "a{1000}",
    "(a|b)*" * 100,
    "(?U)a+?",
    "(?i:a)(?m:^)(?-s:.)",
    "(?P<n>a)(?P<n>b)",
    r"\p{greek}",
    r"\_",
    r"\d\D\s\S\w\W",
    "[a-z&&[^b]]",
    "x*?",
    "{",
    "a{,1}",
    "a{1,b}",
    "]",
    "}",
    r"\-",
    "日本|é",
    "\U0010ffff",
    "(((((((((a)))))))))",
    r"\0",
    r"\07",
    "[^\\n]",
    "[-a]",
    "[a-]",
    "$^",
)
BAD: Final = (
    r"\p{NoSuchScript}",
    r"\p{Greek",
    r"\p{Script=Greek}",
    r"\pX",
    r"\p",
    # Of other languages.
    "(?=x)",
    "(?!x)",
    "(?<=x)a",
    "(?>x)",
    r"(a)\1",
    r"\8",
    r"\k<n>",
    "(?#comment)",
    "(?x) a",
    "(?R)",
    "a++",
    "x**",
    "x*+",
    r"\C",
    r"\X",
    r"\Z",
    r"\G",
    r"\h",
    r"\e",
    r"\cA",
    r"\u0041",
    r"\N{DIGIT ONE}",
    "[[:alph:]]",
    "[[:ALPHA:]]",
    # Malformed.
    "(",
    ")",
    "a)",
    "((a)",
    "[",
    "[]",
    "[^]",
    "[z-a]",
    r"[a-\d]",
    "*",
    "+a",
    "?",
    "a|*",
    "(*)",
    "\\",
    "a\\",
    r"\é",
    r"\x{110000}",
    r"\x{}",
    r"\xg",
    "a{1001}",
    "a{2,1}",
    "(a{100}){100}",
    "((a{100}){10}){2}",
    "(?P<é>a)",
    "(?P<>a)",
    "(?P<n",
    "(?P=n)",
    "(?P>n)",
    "(?<a-b>x)",
    "(?",
    "(?i",
    "(?z)",
    "(?i-)",
    "(?--i)",
    "(" * 1001 + ")" * 1001,
    "(" * 999 + "a" + ")*" * 999,
)
# RE2 knows these scripts; Go 1.26 does not, by this name or at all.
SCRIPTS: Final = (
    r"\p{Old_Italic}",
    r"\p{SignWriting}",
    r"\p{Nag_Mundari}",
    r"\p{Garay}",
    r"\p{Gurung_Khema}",
    r"\p{Kirat_Rai}",
    r"\p{Ol_Onal}",
    r"\p{Sunuwar}",
    r"\p{Todhri}",
    r"\p{Tulu_Tigalari}",
)

_STEP: Final = "spec.endpoints[0].relabelings[0].regex"
_KEEP: Final = {"action": "keep", "sourceLabels": ["a"]}
ATTACK.at("ServiceMonitor", _STEP, *GOOD, beside=_KEEP)
ATTACK.at("ServiceMonitor", _STEP, *BAD, *SCRIPTS, beside=_KEEP, then=RELABELING)
# A group around it closes what it opens; alone it does not.
ATTACK.at("ServiceMonitor", _STEP, ")|(", "a)(b", ".*)|(.*", beside=_KEEP)
ATTACK.at("ServiceMonitor", _STEP, r"\Qa", r".*\Q", beside=_KEEP, then=RELABELING)

# The same judge in every other place, with a few of each.
SAMPLE: Final = (
    *BAD[:5],
    r"\C",
    "(?=x)",
    "a{1001}",
    "(",
    "(" * 1001 + ")" * 1001,
    r"\p{Old_Italic}",
)
for _kind, _place in (
    ("ServiceMonitor", "spec.endpoints[0].metricRelabelings[0].regex"),
    ("PodMonitor", "spec.podMetricsEndpoints[0].relabelings[0].regex"),
    ("Probe", "spec.targets.staticConfig.relabelingConfigs[0].regex"),
    ("Probe", "spec.metricRelabelings[0].regex"),
    ("ScrapeConfig", "spec.relabelings[0].regex"),
    ("ScrapeConfig", "spec.metricRelabelings[0].regex"),
):
    ATTACK.at(_kind, _place, *SAMPLE[-4:], beside=_KEEP, then=RELABELING)

_MATCHER: Final = "spec.route.matchers[0].value"
_REGEX: Final = {"name": "namespace", "matchType": "=~"}
ATTACK.at("AlertmanagerConfig", _MATCHER, *GOOD, beside=_REGEX)
ATTACK.at(
    "AlertmanagerConfig",
    _MATCHER,
    *SAMPLE,
    *SCRIPTS[1:4],
    r"\Qa",
    ")|(",
    beside=_REGEX,
    then=INVALID,
)
for _place in ("sourceMatch", "targetMatch"):
    ATTACK.at(
        "AlertmanagerConfig",
        f"spec.inhibitRules[0].{_place}[0].value",
        *SAMPLE[-4:],
        beside=_REGEX,
        then=INVALID,
    )
ATTACK.at(
    "AlertmanagerConfig",
    "spec.route.routes[0].matchers[0].value",
    *SAMPLE[-4:],
    beside=_REGEX,
    then=INVALID,
)
# Of a matcher that is none, a value is no expression.
for _text in SAMPLE[-3:]:
    ATTACK.at(
        "AlertmanagerConfig",
        _MATCHER,
        _text,
        beside={"name": "a", "matchType": "="},
        about=f"equal to {_text[:20]}",
    )

_EXPR: Final = "spec.groups[0].rules[0].expr"


def selector(pattern: str, kind: str = "=~") -> str:
    """A selector with that expression, quoted as PromQL quotes."""
    inner = pattern.replace("\\", "\\\\").replace('"', '\\"').replace("\n", "\\n")
    return f'up{{a{kind}"{inner}"}}'


# PromQL has a parser of its own for expressions, older than Go's: names of scripts are as they are.
ATTACK.at("PrometheusRule", _EXPR, *map(selector, (each for each in GOOD if "greek" not in each)))
ATTACK.at("PrometheusRule", _EXPR, *map(selector, SCRIPTS[:3]))
ATTACK.at(
    "PrometheusRule",
    _EXPR,
    *map(selector, (*SAMPLE[:-1], *SCRIPTS[3:], "a**", r"\p{greek}")),
    then=INVALID,
)
ATTACK.at("PrometheusRule", _EXPR, selector("(", "!~"), then=INVALID)

# Prometheus 2.45 was built with Go 1.20: no such group, and no scripts of Unicode 15.
_OLD: Final = LeftOut(Reason.INVALID_RELABELING, webhook=False)
NEWER: Final = ("(?<a>x)", r"\p{Kawi}", r"\p{greek}")
_TO_OLD: Final[Json] = {"workload": "old", "then": _OLD}
for _text in NEWER:
    ATTACK.at("ServiceMonitor", _STEP, _text, beside=_KEEP, about=f"regex {_text} of today")
    ATTACK.at(
        "ServiceMonitor", _STEP, _text, beside=_KEEP, about=f"regex {_text} for 2.45", **_TO_OLD
    )
ATTACK.at(
    "ServiceMonitor",
    _STEP,
    r"\p{Old_Italic}",
    beside=_KEEP,
    workload="old",
    about="a script that Go 1.20 knows by this name",
)
for _text in NEWER[:2]:
    ATTACK.at("PrometheusRule", _EXPR, selector(_text), about=f"matcher {_text} of today")
    ATTACK.at(
        "PrometheusRule",
        _EXPR,
        selector(_text),
        about=f"matcher {_text} for 2.45",
        then=LeftOut(webhook=False),
        workload="old",
    )
    ATTACK.at(
        "AlertmanagerConfig",
        _MATCHER,
        _text,
        beside=_REGEX,
        about=f"matcher {_text} for 0.24",
        then=LeftOut(webhook=False),
        workload="old",
    )
