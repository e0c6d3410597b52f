"""Cases in which stoker differs from the peer on purpose, each with its reason.

An excepted case is still replayed. One that passes needs no exception, and a name that no case has
is a mistake: both are failures.
"""

from fnmatch import fnmatchcase
from typing import Final

from msgspec import Struct

from tests.conformance.cases import Suite


class Exempt(Struct, frozen=True):
    """A case (or a glob of them) that must fail, and why: name the requirement or the defect."""

    suite: str
    case: str
    reason: str

    def covers(self, suite: str, name: str) -> bool:
        """Whether this is about that case."""
        return self.suite == suite and fnmatchcase(name, self.case)


EXCEPTIONS: Final[tuple[Exempt, ...]] = ()


def exception_for(suite: str, name: str) -> Exempt | None:
    """The exception that covers a case, if there is one."""
    return next((entry for entry in EXCEPTIONS if entry.covers(suite, name)), None)


def unknown_names(suites: dict[str, Suite]) -> list[str]:
    """The exceptions that name no recorded case."""
    return [
        f"exception for {entry.suite}/{entry.case}: there is no such case"
        for entry in EXCEPTIONS
        if not _exists(entry, suites.get(entry.suite))
    ]


def _exists(entry: Exempt, suite: Suite | None) -> bool:
    return suite is not None and any(entry.covers(suite.name, name) for name in suite.names())
