"""What somebody may see: of each of our kinds all namespaces, some, or none."""

from collections.abc import Iterator

from msgspec import Struct

from stoker.api.kinds import KINDS
from stoker.ref import Ref

_KINDS = frozenset(kind.name for kind in KINDS)


class Clearance(Struct, frozen=True, kw_only=True):
    """What one may see.

    `everywhere` are the kinds that are seen in all namespaces, `within` kinds in one of them.
    """

    everywhere: frozenset[str] = frozenset()
    within: frozenset[tuple[str, str]] = frozenset()

    @property
    def is_whole(self) -> bool:
        """Whether nothing of our kinds is hidden."""
        return self.everywhere >= _KINDS

    def covers(self, ref: Ref) -> bool:
        """Whether an object may be seen."""
        return ref.kind in self.everywhere or (ref.kind, ref.namespace) in self.within

    def knows(self, namespace: str) -> bool:
        """Whether something may be seen in a namespace, were it there."""
        return bool(self.everywhere) or any(each == namespace for _, each in self.within)

    def hidden(self, kinds: Iterator[str]) -> tuple[str, ...]:
        """Those of some kinds of which there may be objects that are not seen."""
        return tuple(kind for kind in kinds if kind not in self.everywhere)


WHOLE = Clearance(everywhere=_KINDS)
"""What there is without a login: everything."""
