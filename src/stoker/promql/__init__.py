"""PromQL: parse, check, print, and enforce a label. Knows nothing of the rest of stoker.

    node = parse('sum by (job) (rate(http_requests_total[5m]))', options_for((3, 5, 0)))
    to_text(enforce_label(node, "namespace", "shop"))

Functions, operators and syntax are tables (`functions`, `syntax`) that say which Prometheus has
them and behind which feature flag. A text that this Prometheus would refuse raises `ParseError`,
which says what is wrong and where.
"""

from stoker.promql.check import check
from stoker.promql.enforce import enforce_label, nameless_info
from stoker.promql.errors import ParseError, Problem
from stoker.promql.nodes import Node
from stoker.promql.parse import parse
from stoker.promql.print import to_text
from stoker.promql.shapes import shape_of
from stoker.promql.syntax import EVERY_FLAG, NEWEST, Options, options_for

__all__ = [
    "EVERY_FLAG",
    "NEWEST",
    "Node",
    "Options",
    "ParseError",
    "Problem",
    "check",
    "enforce_label",
    "nameless_info",
    "options_for",
    "parse",
    "shape_of",
    "to_text",
]
