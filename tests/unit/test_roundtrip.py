"""Objects made up from our own schemas survive decoding, whatever field they use.

Each path of each version's schema is in the focus of at least one object.
"""

import json
from collections import Counter
from typing import Any

import msgspec
import pytest
from hypothesis import HealthCheck, Phase, given, settings
from hypothesis import strategies as st

from stoker.api.admit import admit
from stoker.api.crd import KindVersion
from stoker.api.decode import decode, encode
from stoker.api.kinds import KINDS
from stoker.api.schema import walk
from tests.conformance.compare import differences
from tests.conformance.generated import Path, leaves, prepare, resource, schema_of_version

# Versions of one declaration have the same fields: one of them will do.
VERSIONS = list({version.model: version for kind in KINDS for version in kind.versions}.values())
# The first is the plainest there is: the path in focus and what is required. The next is random,
# for every other path: whatever else is in such an object is in many of them.
# A failure names all that is needed to make its object again, so there is nothing to shrink.
RUN = settings(
    max_examples=2,
    phases=[Phase.generate],
    database=None,
    deadline=None,
    suppress_health_check=list(HealthCheck),
)
FEWEST = 10_000


@pytest.fixture(scope="module", autouse=True)
def patterns() -> None:
    """Make texts for the patterns before the first example asks for one."""
    for version in VERSIONS:
        prepare(schema_of_version(version))


def test_made_up_objects_of_every_field_are_admitted_and_lose_nothing() -> None:
    """What the schema allows, the checker admits and the types keep, for each path there is."""
    checked: Counter[str] = Counter()

    @RUN
    @given(st.integers(0, 2**32), st.floats(0, 0.4))
    def check(seed: int, fill: float) -> None:
        for version in VERSIONS:
            checked[f"{version.model.__name__} {version.name}"] += check_version(
                version, seed, fill
            )

    check()
    for name, count in checked.items():
        print(f"{count:6} {name}")
    print(f"{checked.total():6} objects made up, decoded and encoded again")
    assert checked.total() >= FEWEST


def check_version(version: KindVersion, seed: int, fill: float) -> int:
    """Check an object for each path of a version, or every other; and say how many there were."""
    rules = rule_messages(version)
    paths = list(leaves(schema_of_version(version)))[:: 2 if seed else 1]
    for focus in paths:
        name = f"{version.model.__name__} {version.name}{''.join(focus)}, seed {seed}, fill {fill}"
        made = resource(version, str(seed), fill, focus)
        assert reached(made, focus), name
        returned = encode(decode(version.model, msgspec.json.encode(made)))
        # What is equal to the letter need not be walked through.
        if in_order(msgspec.json.decode(returned)) != in_order(made):
            assert not list(differences(made, json.loads(returned))), name
        refused = [one for one in admit(version, made).findings if one.message not in rules]
        assert not refused, name
    return len(paths)


def in_order(made: Any) -> bytes:
    """An object as JSON that says nothing of the order of its members."""
    return msgspec.json.encode(made, order="sorted")


def reached(made: Any, focus: Path) -> bool:
    """Whether an object has a value at a path."""
    if not focus:
        return True
    if focus[0].startswith("."):
        return focus[0][1:] in made and reached(made[focus[0][1:]], focus[1:])
    inner = made.values() if focus[0] == "{}" else made
    return any(reached(item, focus[1:]) for item in inner)


def rule_messages(version: KindVersion) -> set[str]:
    """The messages of all CEL rules, which made-up objects may break."""
    schemas = (schema for _, schema in walk(schema_of_version(version)))
    found = (schema.get("x-kubernetes-validations", ()) for schema in schemas)
    return {rule["message"] for rules in found for rule in rules}
