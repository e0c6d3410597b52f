"""Semantic versions, as users write them: `v3.5.0`, `2.55.1`, `v3.0.0-rc.1`."""

import re
from functools import lru_cache
from typing import TypeAlias

from msgspec import Struct

# Numbers compare as numbers and come before words: (0, 11, "") < (1, 0, "rc").
Identifier: TypeAlias = tuple[int, int, str]

# A number in a pre-release has no zeros before it: they would be lost, and two versions the same.
_WORD = r"(?:0|[1-9]\d*|\d*[A-Za-z-][0-9A-Za-z-]*)"
_SYNTAX = re.compile(
    r"\s*v?(?P<numbers>\d+(?:\.\d+){0,2})"
    rf"(?:-(?P<pre>{_WORD}(?:\.{_WORD})*))?(?:\+[0-9A-Za-z.-]+)?\s*",
    re.ASCII,
)


class Version(Struct, frozen=True, order=True):
    """A version; its fields in this order are its precedence: a pre-release before its release."""

    major: int
    minor: int
    patch: int
    released: bool = True
    prerelease: tuple[Identifier, ...] = ()

    def __str__(self) -> str:
        numbers = f"{self.major}.{self.minor}.{self.patch}"
        words = ".".join(word or str(number) for _, number, word in self.prerelease)
        return f"{numbers}-{words}" if words else numbers


# What is refused is not remembered, so what is remembered is short.
_LONGEST = 256


@lru_cache(maxsize=1024)
def parse_version(text: str) -> Version:
    """The version that a text names; missing parts are zero. ValueError where it names none."""
    found = _SYNTAX.fullmatch(text) if len(text) <= _LONGEST else None
    if not found:
        raise ValueError(f"`{text[:_LONGEST]}` is not a version such as v3.5.0")
    numbers = [int(number) for number in found["numbers"].split(".")]
    major, minor, patch = [*numbers, 0, 0][:3]
    if not found["pre"]:
        return Version(major, minor, patch)
    return Version(major, minor, patch, False, tuple(map(_identifier, found["pre"].split("."))))


def _identifier(word: str) -> Identifier:
    return (0, int(word), "") if word.isdigit() else (1, 0, word)


def needs_version(program: str, since: str) -> str:
    """What is said of something that only newer versions of a program know."""
    return f"needs {program} {since} or newer"


class Versioned(Struct, frozen=True, kw_only=True):
    """Something that not every version of a program knows: a row of a table begins with it.

    `since` is the first version that knows it, `until` the first that no longer does.
    """

    since: str = ""
    until: str = ""

    def known_to(self, version: Version) -> bool:
        """Whether a version knows it."""
        if self.since and version < parse_version(self.since):
            return False
        return not (self.until and version >= parse_version(self.until))

    def lacking(self, program: str) -> str:
        """Why a version does not know it, in words."""
        return needs_version(program, self.since) if self.since else f"gone in {self.until}"
