"""Every resource of our kinds in the recorded cases, decoded and encoded again."""

from collections import Counter
from pathlib import Path

from stoker.api.kinds import KINDS
from tests.conformance.cases import suites
from tests.conformance.lossless import Resource, losses, resources

# Inputs that fit no version of their kind, the peer's included: {where they start: why}.
ILL_FORMED = {
    "admission/TestAdmitBadRuleWithBooleanInAnnotations-001: given.request: spec.groups[0].": (
        "a boolean where a string belongs; the peer refuses the object, too"
    ),
    **{
        f"admission/TestAlertmanagerConfigAdmission-{number:03}: given.request: dryRun:": (
            "the test put a member of the request into the object; no version knows it"
        )
        for number in (2, 5, 6, 7, 8)
    },
}


def test_recorded_resources_lose_nothing_when_decoded(conformance: Path) -> None:
    """Each resource comes back as it was, nulls aside, and there are some of each kind."""
    found = recorded(conformance)
    lost = [loss for resource in found for loss in losses(resource)]
    counts = Counter(f"{resource.kind} {resource.version}" for resource in found)
    print(*(f"{count:6} {name}" for name, count in counts.most_common()), sep="\n")
    print(f"{len(found):6} resources decoded and encoded again")
    unexpected = [loss for loss in lost if not loss.startswith(tuple(ILL_FORMED))]
    assert not unexpected, "\n".join(unexpected)
    assert len(lost) == len(ILL_FORMED)
    assert {resource.kind for resource in found} == {kind.name for kind in KINDS}


def recorded(conformance: Path) -> list[Resource]:
    """Collect the resources of all cases."""
    cases = (case for suite in suites(conformance).values() for case in suite.cases())
    return [resource for case in cases for resource in resources(case)]
