"""What we install may be given on: the licenses of everything that is locked."""

import re
from pathlib import Path
from typing import Any

import pytest

from tools import sbom

REQUIREMENTS = Path(__file__).parents[2] / "requirements"
# They ask for a notice at most, which every package brings along, and nothing of whoever uses it.
PERMISSIVE = re.compile(
    r"(?:Apache(?: Software)? License|Apache[- ]2\.0|MIT(?:-0)?|MIT License|ISC License|PSF-2\.0"
    r"|BSD(?: License|-[23]-Clause| 2-Clause License))"
)
# Changed files of these must be published; we change none, and do not give them on.
TOOLS_ONLY = {"MPL-2.0", "Mozilla Public License 2.0 (MPL 2.0)"}
# For Windows only, so it is not installed where this runs: BSD-3-Clause.
ABSENT = {"colorama"}


def licenses(lock: str) -> dict[str, set[str]]:
    """By package of a lock file, what it says of itself, of which all must be kept."""
    document = sbom.document(sbom.pins((REQUIREMENTS / lock).read_text()))
    return {each["name"]: names(each.get("licenses", [])) for each in document["components"]}


def names(said: list[dict[str, Any]]) -> set[str]:
    """The licenses in an expression or in words; of alternatives, the first is ours to choose."""
    texts = (str(each.get("expression") or each["license"]["name"]) for each in said)
    return {one.partition(" OR ")[0] for text in texts for one in re.split(r" AND |; ", text)}


@pytest.mark.parametrize(("lock", "more"), [("stoker.txt", set()), ("dev.txt", TOOLS_ONLY)])
def test_every_locked_package_has_a_license_that_asks_for_little(lock: str, more: set[str]) -> None:
    """A new dependency with another license, or with none, is for people to look at."""
    found = licenses(lock)
    assert {name for name, said in found.items() if not said} <= ABSENT
    strange = {
        name: one
        for name, said in found.items()
        for one in said
        if not PERMISSIVE.fullmatch(one) and one not in more
    }
    assert strange == {}


def test_a_license_that_asks_for_more_is_seen() -> None:
    """What this file lets pass has bounds."""
    assert names([{"expression": "MIT AND GPL-3.0-only"}]) == {"MIT", "GPL-3.0-only"}
    assert names([{"expression": "Apache-2.0 OR GPL-2.0-only"}]) == {"Apache-2.0"}
    assert not PERMISSIVE.fullmatch("GPL-3.0-only")
    assert not PERMISSIVE.fullmatch("MPL-2.0")
