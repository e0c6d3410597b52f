"""What changes in how agents on nodes come to their targets, which objects hardly show."""

from collections.abc import Iterator
from typing import Final

from stoker.compare.plan import Planned
from stoker.select.workload import AnyPrometheus, Scraper, scraper_of
from stoker.settings import Capabilities

_BY_OPERATOR: Final = (
    "the operator finds targets, and agents get those of their node, with their credentials alone"
)
_BY_AGENTS: Final = (
    "agents find targets themselves, need permissions, and get the credentials of all monitors"
)
_SPREAD: Final = "targets without an agent on their node are given to one of the others"
_NOBODY: Final = "targets without an agent on their node are nobody's"


def discovery(before: Planned | None, after: Planned | None) -> str:
    """The change in words; empty where there is none, or a workload is not on nodes."""
    old, new = _scraper(before), _scraper(after)
    return "; ".join(_words(old, new)) if old and new else ""


def _words(old: Scraper, new: Scraper) -> Iterator[str]:
    if old.portions != new.portions:
        yield _BY_OPERATOR if new.portions else _BY_AGENTS
    if old.spread != new.spread:
        yield _SPREAD if new.spread else _NOBODY


def _scraper(made: Planned | None) -> Scraper | None:
    if made is None or not isinstance(made.workload, AnyPrometheus):
        return None
    found = scraper_of(made.workload, Capabilities())
    return found if found.daemon_set else None
