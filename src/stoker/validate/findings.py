"""What a check says: where, what sort of thing, and a sentence for people.

A check is a function that yields findings about a value: none where all is well. A resource with
findings is left out of the configuration and reported; nothing is raised for it. The reasons below
are the vocabulary of programs, one word per kind of mistake. The condition in a status keeps the
one word that the peer has for all of them, `InvalidConfiguration`.

Messages never hold what was read from a Secret, and no URL, which may have a password in it.
"""

from collections.abc import Iterable, Iterator
from enum import StrEnum
from functools import cache
from typing import Any, Final, TypeAlias

import msgspec
from msgspec import Struct

INVALID_CONFIGURATION: Final = "InvalidConfiguration"


class Reason(StrEnum):
    """What sort of mistake it is."""

    INVALID_VALUE = "InvalidValue"
    REQUIRED = "Required"
    CONFLICT = "Conflict"
    DUPLICATE = "Duplicate"
    UNFORESEEN = "Unforeseen"
    INVALID_SELECTOR = "InvalidSelector"
    INVALID_RELABELING = "InvalidRelabeling"
    INVALID_CERTIFICATE = "InvalidCertificate"
    SECRET_NOT_FOUND = "SecretNotFound"  # noqa: S105 (a word)
    CONFIG_MAP_NOT_FOUND = "ConfigMapNotFound"
    KEY_NOT_FOUND = "KeyNotFound"
    NOT_READABLE = "NotReadable"
    NOT_KNOWN = "NotKnown"
    SCRAPE_CLASS_NOT_FOUND = "ScrapeClassNotFound"
    UNSUPPORTED_VERSION = "UnsupportedVersion"
    FILE_ACCESS_FORBIDDEN = "FileAccessForbidden"
    OVER_BUDGET = "OverBudget"
    WILL_NOT_START = "WillNotStart"


# Findings quote what a tenant wrote, and are kept for each workload: they must stay small.
_LONGEST: Final = 1000


class Finding(Struct, frozen=True):
    """Something wrong with an object; `path` leads there (`spec.endpoints[0].interval`).

    Of a path or a message that is very long only the start is kept.
    """

    path: str
    reason: Reason
    message: str

    def __post_init__(self) -> None:
        for name, text in (("path", self.path), ("message", self.message)):
            if len(text) > _LONGEST:
                msgspec.structs.force_setattr(self, name, f"{text[: _LONGEST - 1]}…")

    def __str__(self) -> str:
        return f"{self.path}: {self.message}" if self.path else self.message


Findings: TypeAlias = Iterator[Finding]


def nothing_known(findings: Iterable[Finding]) -> bool:
    """Whether there are findings, and none of them is more than that something is not known."""
    reasons = {each.reason for each in findings}
    return reasons == {Reason.NOT_KNOWN}


def decisive(findings: Iterable[Finding]) -> tuple[Finding, ...]:
    """Those that say why something is left out: beside what is certain, what is not known does not.

    Where nothing is certain, all of them.
    """
    found = tuple(findings)
    return tuple(each for each in found if each.reason is not Reason.NOT_KNOWN) or found


@cache
def json_names(model: Any) -> dict[str, str]:
    """The JSON name of each attribute of a declared type."""
    return {field.name: field.encode_name for field in msgspec.structs.fields(model)}


def json_name(value: Any, attribute: str) -> str:
    """The JSON name of an attribute, as a user would look for it."""
    model: Any = type(value)
    return json_names(model)[attribute]
