"""Which Go a release was built with."""

import pytest

from stoker.golang.versions import Go, go_of_alertmanager, go_of_prometheus, go_of_thanos
from stoker.version import parse_version


@pytest.mark.parametrize(
    ("version", "go"),
    [
        *(("4.0.0", (1, 26)), ("3.14.0", (1, 26)), ("3.10.0-rc.0", (1, 26)), ("3.9.1", (1, 25))),
        *(("3.6.0-rc.1", (1, 24)), ("3.5.2", (1, 25)), ("3.5.1", (1, 24)), ("3.0.0", (1, 23))),
        *(("2.54.1", (1, 22)), ("2.53.5", (1, 23)), ("2.53.4", (1, 22)), ("2.45.6", (1, 21))),
        *(("2.46.0", (1, 20)), ("2.37.9", (1, 19)), ("2.38.0", (1, 18)), ("2.0.0", (1, 9))),
    ],
)
def test_the_go_of_a_prometheus(version: str, go: Go) -> None:
    """As its own build says; a branch for long-term support may be ahead of the next release."""
    assert go_of_prometheus(parse_version(version)) == go


@pytest.mark.parametrize(
    ("version", "go"),
    [("0.34.0", (1, 26)), ("0.31.1", (1, 25)), ("0.28.1", (1, 23)), ("0.15.0", (1, 10))],
)
def test_the_go_of_an_alertmanager(version: str, go: Go) -> None:
    """As its own build says."""
    assert go_of_alertmanager(parse_version(version)) == go


@pytest.mark.parametrize(
    ("version", "go"),
    [("0.42.4", (1, 26)), ("0.41.0", (1, 25)), ("0.39.2", (1, 23)), ("0.20.0", (1, 16))],
)
def test_the_go_of_a_thanos(version: str, go: Go) -> None:
    """As its own build says."""
    assert go_of_thanos(parse_version(version)) == go
