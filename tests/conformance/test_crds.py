"""Our CustomResourceDefinitions and the peer's."""

from pathlib import Path
from typing import Any

import pytest

from stoker.api.kinds import KINDS
from tests.conformance.cases import Case, peer_crds
from tests.conformance.parity import ADDITIONS, OMITTED_RULES, Comparison, compare, faults

FEWEST_PATHS = 12_000


@pytest.fixture(scope="module")
def comparisons(conformance: Path) -> dict[str, Comparison]:
    """Compare each CRD of the peer with ours."""
    return {case.name: compare(case.expect) for case in peer_crds(conformance).cases()}


def test_every_path_of_the_peers_crds_is_the_same_in_ours(
    comparisons: dict[str, Comparison],
) -> None:
    """Types, formats, defaults, bounds, lists, names, columns and subresources are the peer's."""
    paths = sum(one.paths for one in comparisons.values())
    found = [f"{name}: {text}" for name, one in comparisons.items() for text in one.differences]
    print(f"{paths} paths compared in {len(comparisons)} CRDs, {len(found)} differences")
    assert not found, "\n".join(found)
    assert paths > FEWEST_PATHS
    assert comparisons.keys() == {kind.plural for kind in KINDS}


def test_what_ours_have_beyond_the_peers_is_meant(comparisons: dict[str, Comparison]) -> None:
    """A field, version or rule of our own is in the list of additions, with its reason."""
    found = {name: one for name, one in comparisons.items() if one.additions}
    for name, one in found.items():
        print(f"{name}: {', '.join(sorted(one.additions))}")
    assert [
        text for name, one in found.items() for text in faults(name, one) if "added" in text
    ] == []
    assert found.keys() == ADDITIONS.keys()


def test_a_star_stands_for_part_of_a_name_only() -> None:
    """A list of additions that took anything for anything would hide an accident."""
    named = "v1alpha1.spec.*SDConfigs[].profile"
    every = [name.replace("*", "ec2") for name in ADDITIONS["scrapeconfigs"]]
    meant = list(faults("scrapeconfigs", Comparison(additions=every)))
    accident = [*every, "v1alpha1.spec.ec2SDConfigs[].a.b.profile", "v1alpha1.spec.ec2.profile"]
    told = list(faults("scrapeconfigs", Comparison(additions=accident)))
    assert named in ADDITIONS["scrapeconfigs"]
    assert meant == []
    assert told == [f"{name}: added by accident?" for name in accident[-2:]]


def test_every_cel_rule_of_the_peer_is_in_ours_or_argued(
    comparisons: dict[str, Comparison],
) -> None:
    """Only the rules that would forbid what we support are left out."""
    found = {name: sorted(one.omitted) for name, one in comparisons.items() if one.omitted}
    assert found == {name: sorted(named) for name, named in OMITTED_RULES.items()}


@pytest.mark.parametrize(
    ("change", "told"),
    [
        ({"properties": {"colour": {"type": "string"}}}, "v1.spec.colour: missing"),
        ({"required": ["groups"]}, "v1.spec: required: peer ['groups'], ours None"),
        ({"x-kubernetes-map-type": "atomic"}, "v1.spec: x-kubernetes-map-type: peer 'atomic'"),
        (
            {"x-kubernetes-validations": [{"rule": "true", "message": "always"}]},
            "v1.spec: always: the rule is missing",
        ),
    ],
    ids=["property", "required", "map type", "rule"],
)
def test_a_difference_is_told_with_its_path(
    conformance: Path, change: dict[str, Any], told: str
) -> None:
    """If the peer's CRD said something else, the comparison would notice."""
    case = next(one for one in peer_crds(conformance).cases() if one.name == "prometheusrules")
    spec_of(case).update(change)
    found = list(faults(case.name, compare(case.expect)))
    assert any(one.startswith(told) for one in found), found


def test_a_field_that_only_ours_have_is_told(conformance: Path) -> None:
    """An addition by accident does not pass unseen."""
    case = next(one for one in peer_crds(conformance).cases() if one.name == "prometheusrules")
    del spec_of(case)["properties"]["groups"]
    assert list(faults(case.name, compare(case.expect))) == ["v1.spec.groups: added by accident?"]


def spec_of(case: Case) -> dict[str, Any]:
    """Find the schema of `spec` in a CRD of the peer."""
    schema = case.expect["spec"]["versions"][0]["schema"]["openAPIV3Schema"]
    spec: dict[str, Any] = schema["properties"]["spec"]
    return spec
