"""Replays the suites about AlertmanagerConfigs at the door: conversion, validation, webhooks.

The webhook's cases are answered by the function that the server calls with each body. What must
agree is the verdict, its code and reason, and the patch; the words are ours.

Conversions are equal once what is implied is written out: the peer writes `matchType: "="` where a
v1alpha1 matcher said nothing, and an empty `receiver` into nested routes; stoker leaves absent what
was absent, since a converted object must be the one that was applied. Both mean the same to both.
"""

import base64
import json
from collections.abc import Iterator
from typing import Any, Final

from stoker.api.amconfig import v1alpha1, v1beta1
from stoker.api.amconfig.intervals import TimeRange
from stoker.api.convert import ANNOTATION, converted
from stoker.api.crd import GROUP
from stoker.api.decode import convert
from stoker.validate.alertmanager.admission import alertmanager_config
from stoker.validate.findings import Finding
from stoker.validate.intervals import Span, months, times, weekdays, years
from stoker.web.reviews import Reviewer, rules_reader
from tests.conformance.cases import Case
from tests.conformance.compare import comparable_object, differences, without_nulls
from tests.conformance.replay import Context, Outcome, error_outcome, outcome_of, replays

_MODELS: Final = {
    "v1alpha1": v1alpha1.AlertmanagerConfig,
    "v1beta1": v1beta1.AlertmanagerConfig,
}
_TEXT_RANGES: Final = {"MonthRange": months, "WeekdayRange": weekdays, "YearRange": years}
_IMPLIED: Final = {"matchType": "=", "receiver": ""}


@replays("alertmanagerconfig-conversion-derived")
def conversion(case: Case, context: Context) -> Outcome:
    """An AlertmanagerConfig in the other version."""
    own = {"apiVersion": f"{GROUP}/{case.given['from']}", "kind": "AlertmanagerConfig"}
    made = converted(without_nulls(case.given["object"]) | own, f"{GROUP}/{case.given['to']}")
    if "error" in case.expect or made.findings:
        return error_outcome(case.expect, "; ".join(map(str, made.findings)) or None)
    expected = without_nulls(case.expect["object"]) | {"kind": "AlertmanagerConfig"}
    expected["apiVersion"] = f"{GROUP}/{case.given['to']}"
    return outcome_of(differences(_explicit(expected), _explicit(made.object)))


def _explicit(value: Any) -> Any:
    """An object less what is implied, and less our annotation, which the peer does not have."""
    annotations = (value.get("metadata") or {}).get("annotations") or {}
    annotations.pop(ANNOTATION, None)
    return _without_implied(comparable_object(value))


def _without_implied(value: Any) -> Any:
    if isinstance(value, list):
        return [_without_implied(item) for item in value]
    if not isinstance(value, dict):
        return value
    return {
        name: _without_implied(item) for name, item in value.items() if _IMPLIED.get(name) != item
    }


@replays("alertmanagerconfig-validate-v1beta1", "alertmanagerconfig-validate-v1beta1-derived")
def v1beta1_on_its_own(case: Case, context: Context) -> Outcome:
    """A v1beta1 object, no Secret read."""
    return _validated(case, v1beta1.AlertmanagerConfig)


@replays("alertmanagerconfig-validate-v1alpha1-derived")
def v1alpha1_on_its_own(case: Case, context: Context) -> Outcome:
    """A v1alpha1 object, no Secret read."""
    return _validated(case, v1alpha1.AlertmanagerConfig)


def _validated(case: Case, model: Any) -> Outcome:
    config = convert(model, without_nulls(case.given["alertmanagerConfig"]))
    return error_outcome(case.expect, _words(alertmanager_config(config)))


def _words(findings: Iterator[Finding]) -> str | None:
    return "; ".join(map(str, findings)) or None


@replays("api-parse-range")
def ranges_of_time(case: Case, context: Context) -> Outcome:
    """Start and end of a range."""
    span = _span(case.given["type"], case.given["object"])
    if "error" in case.expect or span.problem:
        return error_outcome(case.expect, span.problem or None)
    return outcome_of(differences(case.expect, {"start": span.start, "end": span.end}))


def _span(kind: str, given: Any) -> Span:
    if kind == "TimeRange":
        return times(convert(TimeRange, given))
    return _TEXT_RANGES[kind](given)


@replays("admission")
def review(case: Case, context: Context) -> Outcome:
    """What the webhook answers."""
    reviewer = Reviewer(rules_reader(case.given["nameValidationScheme"]))
    made = reviewer.answer(case.given["path"], case.given["request"]).body
    expected = {**case.expect["response"], "patch": case.expect.get("patch")}
    encoded = made["response"].pop("patch", None)
    patch = sorted(_patch(encoded), key=lambda step: str(step["path"])) if encoded else None
    found = differences(_decided(expected), _decided({**made, "patch": patch}))
    return outcome_of(found)


def _patch(encoded: str) -> list[dict[str, Any]]:
    steps: list[dict[str, Any]] = json.loads(base64.b64decode(encoded))
    return steps


def _decided(answer: dict[str, Any]) -> Any:
    """An answer less its words and its warnings."""
    answer = json.loads(json.dumps(answer))
    response = answer["response"]
    response.pop("warnings", None)
    if "status" in response:
        status = response["status"]
        details = {"name": status["details"]["name"]}
        response["verdict"] = {"code": status["code"], "reason": status["reason"]} | details
    return comparable_object(answer)
