"""Replays `crd-validation`: objects that the peer's CRDs accept, default, prune or refuse.

Each object is judged twice, by a real API server that has our CRDs and by `admit`, which does the
same without a server. The verdict, the fields at fault and the object as it would be stored must
be those that were recorded.
"""

from collections.abc import Iterator
from typing import Any, Final

from stoker.api.admit import admit
from stoker.api.crd import KindVersion
from stoker.api.kinds import version_of
from tests.conformance.cases import Case
from tests.conformance.compare import differences, without_nulls
from tests.conformance.replay import Context, Outcome, outcome_of, replays
from tests.conformance.server import NO_FIELD, Verdict

SUITES: Final = ("crd-validation", "crd-validation-derived")


@replays(*SUITES, live=True, workers=8)
def judged_by_the_server(case: Case, context: Context) -> Outcome:
    """POST the object."""
    given = case.given
    verdict = context.server.verdict(given["apiVersion"], given["kind"], given["object"])
    return outcome_of(_disagreement(case, verdict))


@replays(*SUITES, how="offline")
def judged_offline(case: Case, context: Context) -> Outcome:
    """Put the object through `admit`."""
    version = version_of(case.given["apiVersion"], case.given["kind"])
    if version is None:
        return Outcome(f"we have no {case.given['apiVersion']} {case.given['kind']}")
    return outcome_of(_disagreement(case, offline_verdict(version, case.given["object"])))


def offline_verdict(version: KindVersion, given: dict[str, Any]) -> Verdict:
    """What `admit` says, in the server's terms."""
    admission = admit(version, given)
    fields = frozenset(finding.path or NO_FIELD for finding in admission.findings)
    message = "; ".join(f"{finding.path}: {finding.message}" for finding in admission.findings)
    return Verdict(not fields, admission.stored, fields, message)


def _disagreement(case: Case, verdict: Verdict) -> Iterator[str]:
    expect = case.expect
    if verdict.valid != expect["valid"]:
        reasons = verdict.message or "; ".join(error["message"] for error in expect["errors"])
        yield f"should be {'accepted' if expect['valid'] else 'refused'}: {reasons}"
    elif not expect["valid"]:
        yield from _fault_elsewhere(expect["errors"], verdict)
    else:
        expected = comparable(expect.get("stored", case.given["object"]))
        yield from differences(expected, comparable(verdict.stored))


def _fault_elsewhere(errors: list[dict[str, str]], verdict: Verdict) -> Iterator[str]:
    expected = {error["field"] for error in errors} - {NO_FIELD}
    actual = verdict.fields - {NO_FIELD}
    for field in sorted(expected - actual):
        yield f"{field}: not found at fault"
    for field in sorted(actual - expected):
        yield f"{field}: wrongly found at fault ({verdict.message})"


def comparable(stored: dict[str, Any]) -> dict[str, Any]:
    """The object less what a server adds to metadata; it drops the status of a new object."""
    metadata = without_nulls(stored.get("metadata", {}))
    kept = {name: metadata[name] for name in ("name", "labels", "annotations") if name in metadata}
    return {name: item for name, item in stored.items() if name != "status"} | {"metadata": kept}
