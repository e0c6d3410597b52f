"""The Go that a release was built with, as the release's own `.promu.yml` or CI says.

A table lists where it changed, newest first. Branches for long-term support moved on to a newer Go
while the next release already had its own, hence rows such as 2.53.5 below 2.54.0.
"""

from typing import Final, TypeAlias

from stoker.golang import NEWEST, NEWEST_MATCHERS, Go
from stoker.version import Version

__all__ = [
    "NEWEST",
    "Go",
    "go_of_alertmanager",
    "go_of_matchers",
    "go_of_matchers_in_thanos",
    "go_of_prometheus",
    "go_of_thanos",
]

_Release: TypeAlias = tuple[int, int, int]
_Table: TypeAlias = tuple[tuple[_Release, Go], ...]

_PROMETHEUS: Final[_Table] = (
    ((3, 10, 0), (1, 26)),
    ((3, 7, 0), (1, 25)),
    ((3, 6, 0), (1, 24)),
    ((3, 5, 2), (1, 25)),
    ((3, 3, 0), (1, 24)),
    ((2, 55, 0), (1, 23)),
    ((2, 54, 0), (1, 22)),
    ((2, 53, 5), (1, 23)),
    ((2, 51, 0), (1, 22)),
    ((2, 47, 0), (1, 21)),
    ((2, 46, 0), (1, 20)),
    ((2, 45, 2), (1, 21)),
    ((2, 44, 0), (1, 20)),
    ((2, 39, 0), (1, 19)),
    ((2, 38, 0), (1, 18)),
    ((2, 37, 6), (1, 19)),
    ((2, 35, 0), (1, 18)),
    ((2, 30, 0), (1, 17)),
    ((2, 26, 0), (1, 16)),
    ((2, 21, 0), (1, 15)),
    ((2, 18, 0), (1, 14)),
    ((2, 13, 0), (1, 13)),
    ((2, 9, 0), (1, 12)),
    ((2, 5, 0), (1, 11)),
    ((2, 3, 0), (1, 10)),
)
_ALERTMANAGER: Final[_Table] = (
    ((0, 32, 0), (1, 26)),
    ((0, 29, 0), (1, 25)),
    ((0, 28, 0), (1, 23)),
    ((0, 27, 0), (1, 21)),
    ((0, 26, 0), (1, 20)),
    ((0, 25, 0), (1, 19)),
    ((0, 24, 0), (1, 17)),
    ((0, 22, 0), (1, 16)),
    ((0, 21, 0), (1, 14)),
    ((0, 20, 0), (1, 13)),
    ((0, 17, 0), (1, 12)),
    ((0, 16, 0), (1, 11)),
    ((0, 15, 0), (1, 10)),
)
_THANOS: Final[_Table] = (
    ((0, 42, 0), (1, 26)),
    ((0, 40, 0), (1, 25)),
    ((0, 37, 0), (1, 23)),
    ((0, 32, 5), (1, 21)),
    ((0, 32, 0), (1, 20)),
    ((0, 29, 0), (1, 19)),
    ((0, 28, 0), (1, 18)),
    ((0, 25, 0), (1, 17)),
    ((0, 20, 0), (1, 16)),
    ((0, 16, 0), (1, 15)),
    ((0, 13, 0), (1, 14)),
    ((0, 8, 0), (1, 13)),
    ((0, 4, 0), (1, 12)),
    ((0, 1, 0), (1, 10)),
)
_OLDEST: Final[Go] = (1, 9)


def go_of_prometheus(version: Version) -> Go:
    """The Go of a Prometheus."""
    return _go_of(version, _PROMETHEUS)


# Prometheus reads matchers with a copy of Go's parser, which lags behind. The copy of 2.53 has the
# groups `(?<name>…)` of Go 1.22, the one before has not, and none has the names of classes of 1.25.
_COPIES: Final[_Table] = (((2, 53, 0), NEWEST_MATCHERS),)
_FIRST_COPY: Final[Go] = (1, 21)


def go_of_matchers(version: Version) -> Go:
    """The Go whose parser reads the matchers of a Prometheus; its relabelings have the whole Go."""
    return min(go_of_prometheus(version), _go_of(version, _COPIES, _FIRST_COPY))


def go_of_matchers_in_thanos(version: Version) -> Go:
    """The same of a Thanos: it has Prometheus' own code."""
    return min(go_of_thanos(version), NEWEST_MATCHERS)


def go_of_alertmanager(version: Version) -> Go:
    """The Go of an Alertmanager."""
    return _go_of(version, _ALERTMANAGER)


def go_of_thanos(version: Version) -> Go:
    """The Go of a Thanos."""
    return _go_of(version, _THANOS)


def _go_of(version: Version, releases: _Table, oldest: Go = _OLDEST) -> Go:
    # A release candidate was built as its release: no candidate on record differs.
    release = (version.major, version.minor, version.patch)
    return next((go for since, go in releases if release >= since), oldest)
