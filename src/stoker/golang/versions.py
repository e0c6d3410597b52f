"""The Go that a release was built with: its parsers changed over the years."""

from typing import Final, TypeAlias

from stoker.version import Version, parse_version

Go: TypeAlias = tuple[int, int]

NEWEST: Final[Go] = (1, 26)

# The first release that was built with a Go, newest first.
_PROMETHEUS: Final[tuple[tuple[str, Go], ...]] = (
    ("3.10.0", (1, 26)),
    ("3.6.0", (1, 25)),
    ("3.3.0", (1, 24)),
    ("3.0.0", (1, 23)),
    ("2.51.0", (1, 22)),
    ("2.48.0", (1, 21)),
    ("2.44.0", (1, 20)),
    ("2.39.0", (1, 19)),
    ("2.35.0", (1, 18)),
)
_OLDEST: Final[Go] = (1, 17)


def go_of_prometheus(version: Version) -> Go:
    """The Go of a Prometheus."""
    return _go_of(version, _PROMETHEUS)


def _go_of(version: Version, releases: tuple[tuple[str, Go], ...]) -> Go:
    return next((go for since, go in releases if version >= parse_version(since)), _OLDEST)
