"""Keys in groups, as lean as can be where most groups have one member.

A label with a value of its own, as every monitor has one in its name, makes a group of one: a set
around that one would take four times as much as the rest of it.
"""

from collections.abc import Collection, Hashable, Iterator
from typing import Generic, TypeVar

G = TypeVar("G", bound=Hashable)
K = TypeVar("K", bound=Hashable)


class Grouped(Generic[G, K]):
    """Which keys are in which group. Keys are never sets themselves."""

    def __init__(self) -> None:
        # A lone key is kept as it is; a group without any is not kept.
        self._found: dict[G, K | set[K]] = {}

    def __len__(self) -> int:
        return len(self._found)

    def keys(self) -> Iterator[K]:
        """The keys of all groups; one that is in several comes several times."""
        for known in self._found.values():
            if isinstance(known, set):
                yield from known
            else:
                yield known

    def add(self, group: G, key: K) -> None:
        """Put a key into a group, where it may be already."""
        known = self._found.get(group)
        if known is None:
            self._found[group] = key
        elif isinstance(known, set):
            known.add(key)
        elif known != key:
            self._found[group] = {known, key}

    def discard(self, group: G, key: K) -> None:
        """Take a key out of a group, if it is in there."""
        known = self._found.get(group)
        if isinstance(known, set):
            known.discard(key)
            if len(known) == 1:
                self._found[group] = known.pop()
        elif known == key:
            del self._found[group]

    def get(self, group: G) -> Collection[K]:
        """The keys of a group, to be looked at before anything changes."""
        known = self._found.get(group)
        if known is None:
            return ()
        return known if isinstance(known, set) else (known,)
