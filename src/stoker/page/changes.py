"""What changed last: the first question of whoever is called, as far as it was seen."""

from collections import deque
from collections.abc import Iterable, Iterator, Mapping
from typing import Any, Final

from stoker.page.answers import SeenChange
from stoker.page.sight import Clearance
from stoker.ref import Ref, ref_of

ADDED: Final = "added"
CHANGED: Final = "changed"
REMOVED: Final = "removed"

_KEPT: Final = 500
_SHOWN: Final = 20


class LastChanges:
    """The last changes that were seen, of each object the last one."""

    def __init__(self) -> None:
        self._last: deque[tuple[Ref, SeenChange]] = deque(maxlen=_KEPT)

    def note(self, old: Any, new: Any, at: str) -> None:
        """An object is another now; None is one that is not there. What is alike is no change."""
        what = _difference(old, new)
        if what:
            ref = ref_of(new or old)
            change = SeenChange(
                kind=ref.kind, namespace=ref.namespace, name=ref.name, what=what, at=at
            )
            self._last.append((ref, change))

    def compared(self, before: Iterable[Any], after: Iterable[Any], at: str) -> None:
        """Note everything that differs between two moments."""
        old, new = ({ref_of(each): each for each in all_of} for all_of in (before, after))
        for ref in sorted({*old, *new}, key=str):
            self.note(old.get(ref), new.get(ref), at)

    def newest(self, sight: Clearance) -> tuple[SeenChange, ...]:
        """Those of objects that may be seen, the newest first."""
        return tuple(self._seen(sight))[:_SHOWN]

    def times(self) -> Mapping[Ref, str]:
        """When each object changed last, of those that were seen to."""
        return {ref: change.at for ref, change in self._last}

    def _seen(self, sight: Clearance) -> Iterator[SeenChange]:
        told: set[Ref] = set()
        for ref, change in reversed(self._last):
            if ref not in told and sight.covers(ref):
                told.add(ref)
                yield change


def _difference(old: Any, new: Any) -> str:
    """What happened, in a word; empty where only a status or a version is another."""
    if old is None or new is None:
        return ADDED if new is not None else REMOVED
    same = old.spec == new.spec and old.metadata.labels == new.metadata.labels
    return "" if same else CHANGED
