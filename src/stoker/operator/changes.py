"""Where a workload must look again: what is noted of it between two of its turns."""

from msgspec import Struct

from stoker.ref import Ref


class Changes(Struct):
    """Where a workload must look again.

    `own`: at itself, and at everything that it selects. `members`: at what it selects. `drifted`:
    at the objects that it owns.
    """

    own: bool = False
    members: bool = False
    drifted: bool = False
    resources: set[Ref] = set()
    values: set[Ref] = set()

    def merge(self, other: "Changes") -> None:
        """Note these as well."""
        self.own |= other.own
        self.members |= other.members
        self.drifted |= other.drifted
        self.resources |= other.resources
        self.values |= other.values

    def __bool__(self) -> bool:
        noted = self.resources or self.values
        return self.own or self.members or self.drifted or bool(noted)
