"""Semantic versions."""

import pytest

from stoker.version import Version, parse_version


@pytest.mark.parametrize(
    ("text", "version"),
    [
        ("v3.5.0", Version(3, 5, 0)),
        ("2.55.1", Version(2, 55, 1)),
        ("3.0", Version(3, 0, 0)),
        (" v3 ", Version(3, 0, 0)),
        ("v3.0.0-rc.1", Version(3, 0, 0, False, ((1, 0, "rc"), (0, 1, "")))),
        ("3.0.0-beta.0+build.5", Version(3, 0, 0, False, ((1, 0, "beta"), (0, 0, "")))),
    ],
)
def test_versions_are_read_as_users_write_them(text: str, version: Version) -> None:
    """With or without `v`, with missing parts, pre-releases and build metadata."""
    assert parse_version(text) == version


@pytest.mark.parametrize(
    "text",
    [
        *("", "latest", "v", "3.x", "1.2.3.4", "3.0.0-", "٣.0.0", "v3;rm"),
        *("0.29.0-0123", "3.0.0-rc.01", "3.0.0-rc..1"),
    ],
)
def test_what_is_no_version_is_refused(text: str) -> None:
    """With a message that shows what was written."""
    with pytest.raises(ValueError, match="is not a version"):
        parse_version(text)


def test_versions_are_ordered_by_precedence() -> None:
    """Numbers as numbers, a pre-release before its release."""
    ordered = ["2.9.0", "2.55.1", "3.0.0-alpha", "3.0.0-alpha.1", "3.0.0-alpha.beta"]
    ordered += ["3.0.0-beta.2", "3.0.0-beta.11", "3.0.0-rc.1", "3.0.0", "3.0.1"]
    versions = [parse_version(text) for text in ordered]
    shuffled = [*versions[5:], *versions[:5]]
    assert sorted(shuffled) == versions
    assert [str(version) for version in versions] == ordered
    assert parse_version("3.0.0-rc.1") <= parse_version("3.0.0")
    assert parse_version("3.0.0") >= parse_version("v3.0.0")
