"""Expressions: what Prometheus' own parser takes, no more and no less."""

from typing import Final

from stoker.validate.findings import Reason
from tests.hostile.payload import INVALID, REFUSED, REQUIRED, Attack, LeftOut

ATTACK: Final = Attack("promql")

GOOD: Final = (
    "up",
    "vector(1)",
    "1 == bool 1",
    '{__name__="a", b=~"c"}',
    '{"a.b", "é"="x"}',
    "up offset -5m",
    "up @ end()",
    "up @ 1e3",
    "rate(up[5m:1m] offset 1w)",
    "-up ^ -up",
    "sum by (a, b) (up) / on (a) group_left (c) up",
    "up # a comment",
    'label_replace(up, "a", "$1", "b", "(.*)")',
    "up{a='\\x41\\u0041\\101'}",
    "up{a=`raw \\ text`}",
    "NaN",
    "+Inf",
    "0x1F",
    "5m",
    "topk(1, up)",
    "up and on () vector(1)",
    "up unless ignoring (a) up",
    'up{a="\\n"}',
    "quantile_over_time(0.5, up[5m])",
    "(((((((((up)))))))))",
    "up\n+\nup",
    "sum without () (up)",
    "histogram_quantile(0.9, sum by (le) (rate(x_bucket[5m])))",
    "a:b:c",
    "offset",
    "up[5m]",
    "'only text'",
)
BAD: Final = (
    "up up",
    "(",
    ")",
    "up)",
    "up{",
    "up}",
    "up{a}",
    'up{a=="b"}',
    'up{a="b" c="d"}',
    "up{a=b}",
    'up{a="b}',
    'up{a="\\q"}',
    'up{a="\\ud800"}',
    'up{a="x\ny"}',
    "{}",
    '{a=""}',
    '{a=~".*"}',
    '{a!="b"}',
    'up{__name__="b"}',
    "1e1000",
    "on + by",
    "up[]",
    "up[0s]",
    "up[-5m]",
    "up[5m",
    "up[5x]",
    "up[1m1h]",
    "up[999999999y]",
    "rate(up)",
    "rate(up[5m], up)",
    "rate()",
    "nothing(up)",
    "sum(up, up)",
    "sum by a (up)",
    "sum by (1) (up)",
    "sum by (sum(up)) (up)",
    "topk(up)",
    "topk(up, up)",
    "up ==",
    "== up",
    "up = up",
    "up =~ up",
    "up && up",
    "up | up",
    "!up",
    "up ++",
    "1 == 1",
    "up + bool up",
    "up on (a) up",
    "up + group_left () up",
    "up and on (a) group_left () up",
    "1 and up",
    "'text' + up",
    "up @ up",
    "up @ start",
    "up offset up",
    "up offset 5m offset 5m",
    "up @ 1 @ 2",
    "1 offset 5m",
    "sum(up) offset 5m",
    "up[5m][5m]",
    "up[5m:0s]",
    "0x",
    "0xG",
    "1.2.3",
    "1e",
    "08x",
    "up; up",
    "up -- ; drop table",
    "ｕｐ",
    "up{é='x'}",
    "up\x00",
    "\ufeffup",
    "\xa0up",
    "up`",
    "$labels",
    "{{ $value }}",
    "${up}",
    "# only a comment",
    "   ",
    "\n",
    "up{a='b',,}",
    "up{,}",
    "label_replace(up, 'a', '$1', 'b')",
    "info(up)",
    "sum(up) by",
    "absent_over_time(up)",
    "up[5m] == 0",
    "label_join(up)",
)
_EXPR: Final = "spec.groups[0].rules[0].expr"
ATTACK.at("PrometheusRule", _EXPR, *GOOD)
ATTACK.at("PrometheusRule", _EXPR, *BAD, then=INVALID)
ATTACK.at("PrometheusRule", _EXPR, "", then=REQUIRED)
ATTACK.at("PrometheusRule", _EXPR, 1, 5, -3)
ATTACK.at("PrometheusRule", _EXPR, 1.5, True, None, ["up"], then=REFUSED)
# Nesting that would end a parser that goes down by itself.
for _about, _text in {
    "parentheses": "(" * 20_000 + "up" + ")" * 20_000,
    "signs": "-" * 20_000 + "up",
    "calls": "abs(" * 5_000 + "up" + ")" * 5_000,
    "sums": "sum(" * 5_000 + "up" + ")" * 5_000,
    "open": "(" * 50_000,
    "powers": "2^" * 5_000 + "2",
}.items():
    ATTACK.at(
        "PrometheusRule", _EXPR, _text, about=f"nested: {_about}",
        then=LeftOut(("InvalidValue", "OverBudget")),
    )  # fmt: skip
# Of a Prometheus that is too old for it.
for _text in ('{"a.b"}', "sort_by_label(up, `a`)", "mad_over_time(up[5m])"):
    ATTACK.at(
        "PrometheusRule", _EXPR, _text, workload="old", then=LeftOut(webhook=False),
        about=f"{_text} for 2.45",
    )  # fmt: skip
_RULE: Final = "spec.groups[0].rules[0]"
ATTACK.at(
    "PrometheusRule",
    _RULE,
    {"expr": "up"},
    then=LeftOut(Reason.REQUIRED),
    about="neither alert nor record",
)
ATTACK.at(
    "PrometheusRule",
    _RULE,
    {"expr": "up", "alert": "A", "record": "b"},
    then=LeftOut(Reason.CONFLICT),
    about="alert and record",
)
ATTACK.at(
    "PrometheusRule",
    _RULE,
    {"expr": "up", "record": "b", "annotations": {"a": "b"}},
    then=LeftOut(Reason.CONFLICT, f"{_RULE}.annotations"),
    about="a record with annotations",
)
ATTACK.at(
    "PrometheusRule",
    _RULE,
    {"expr": "up", "record": "b", "for": "5m"},
    then=LeftOut(Reason.CONFLICT, f"{_RULE}.for"),
    about="a record that waits",
)
