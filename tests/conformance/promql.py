"""Replays `promql-derived`: expressions that Prometheus takes or refuses, prints, and limits.

The verdict, the canonical text and the text with an enforced `namespace="ns"` must be those that
were recorded. In one thing we are stricter than the peer (see the exceptions): it leaves selectors
alone that stand in the parameter of an aggregation, so that `topk(scalar(secret), mine)` looks into
other namespaces.
"""

from collections.abc import Iterator
from typing import Any

from stoker.promql import Node, ParseError, enforce_label, parse, to_text
from tests.conformance.cases import Case
from tests.conformance.replay import Context, Outcome, outcome_of, replays


@replays("promql-derived")
def promql(case: Case, context: Context) -> Outcome:
    """Parse, print and enforce."""
    try:
        node = parse(case.given["expr"])
    except ParseError as error:
        return _refused(case.expect, error)
    if not case.expect["valid"]:
        return Outcome(f"should be refused: {'; '.join(case.expect['errors'])}")
    return outcome_of(_differences(case.expect, node))


def _refused(expect: dict[str, Any], error: ParseError) -> Outcome:
    return Outcome(f"should be accepted: {error}" if expect["valid"] else "")


def _differences(expect: dict[str, Any], node: Node) -> Iterator[str]:
    printed = to_text(node)
    if printed != expect["printed"]:
        yield f"printed {printed}, expected {expect['printed']}"
    enforced = to_text(enforce_label(node, "namespace", "ns"))
    if enforced != expect["enforced"]:
        yield f"enforced {enforced}, expected {expect['enforced']}"
