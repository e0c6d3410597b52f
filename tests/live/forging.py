"""PrometheusRules of a tenant that try to make series and alerts of another namespace.

They need no data: what they make is made of a number.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any, Final

from stoker.api.decode import convert
from stoker.api.rules import PrometheusRule
from tests.live.peeking import LABEL, TENANT, VICTIM

Json = dict[str, Any]

_FORGED: Final = f'label_replace(vector(1), "{LABEL}", "{VICTIM}", "", "")'
EXPRESSIONS: Final = (
    "vector(1)",
    _FORGED,
    f'label_join({_FORGED}, "{LABEL}", "", "{LABEL}")',
    f'absent(nothing{{{LABEL}="{VICTIM}"}})',
    f'absent_over_time(nothing{{"{LABEL}"="{VICTIM}"}}[5m])',
    f"sum by ({LABEL}) ({_FORGED})",
    f"vector(1) * on () group_left ({LABEL}) {_FORGED}",
    f'count_values("{LABEL}", vector(1))',
    f"info({_FORGED})",
    f'label_replace({_FORGED}, "x", "y", "", "") or vector(2)',
    f'label_replace({_FORGED}, "__name__", "ALERTS", "", "")',
    f'label_replace(vector(1), "exported_{LABEL}", "{VICTIM}", "", "")',
    f'label_replace({_FORGED}, "alertname", "Theirs", "", "")',
    f"max_over_time({_FORGED}[1m:1s])",
)
LABELS: Final[tuple[Json, ...]] = (
    {},
    {LABEL: VICTIM},
    {LABEL: f'{{{{ "{VICTIM}" }}}}'},
    {LABEL: "{{ $labels.namespace }}"},
    {LABEL: ""},
    {f"exported_{LABEL}": VICTIM, "name.space": VICTIM},
    {"alertname": "Theirs", "alertstate": "firing"},
)
RECORDS: Final = ("up", "ALERTS", "ALERTS_FOR_STATE", "target_info", "a.b", "namespace:x:sum")
_TIMES: Final[tuple[Json, ...]] = ({}, {"for": "1h"}, {"keep_firing_for": "1h"})
_OF_GROUPS: Final[tuple[Json, ...]] = ({}, {LABEL: VICTIM}, {f"exported_{LABEL}": VICTIM})


def _rules() -> Iterator[Json]:
    for number, expression in enumerate(EXPRESSIONS):
        yield {"record": RECORDS[number % len(RECORDS)], "expr": expression}
        yield {"alert": f"Forged{number}", "expr": expression}
    for number, labels in enumerate(LABELS):
        own = {"expr": EXPRESSIONS[number % 2], "labels": labels | {"number": str(number)}}
        yield {"record": RECORDS[number % len(RECORDS)], **own}
        for time in _TIMES:
            yield {"alert": f"Labelled{number}", **own, **time}


def forgeries(start: str) -> PrometheusRule:
    """All of them as one object; names of groups begin with `start`."""
    groups = [
        {"name": f"{start}-{index}", "interval": "1s", "labels": labels, "rules": _marked(index)}
        for index, labels in enumerate(_OF_GROUPS)
    ]
    metadata = {"name": "forgeries", "namespace": TENANT, "uid": start}
    return convert(PrometheusRule, {"metadata": metadata, "spec": {"groups": groups}})


def _marked(index: int) -> list[Json]:
    """The rules of a group, each with a label that no other has, or they would make the same."""
    return [
        rule | {"labels": {**labels, "rule": f"{index}-{number}"}}
        for number, rule in enumerate(_rules())
        for labels in (_of(rule),)
    ]


def _of(rule: Mapping[str, Any]) -> Json:
    found: Json = rule.get("labels", {})
    return found
