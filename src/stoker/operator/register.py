"""Who selects what, and who reads what: triggers and workers write it, everybody may look.

It knows none of them. What a workload reads is known by what is kept of it, which is entered here
for as long as it is kept, and asked then: there is no second list that could fall behind.
"""

from collections import defaultdict
from collections.abc import Mapping
from typing import Protocol

from stoker.ref import Ref
from stoker.select.members import Members
from stoker.select.namespaces import Namespaces


class RegisteredReader(Protocol):
    """What is kept of a workload; `stoker.operator.held` has one."""

    def refers_to(self, key: Ref) -> bool:
        """Whether a Secret or ConfigMap was looked for, whether or not it exists."""
        ...


class Register:
    """`members`: what each workload selects. `scopes` say where a kind is selected from."""

    def __init__(self, scopes: Mapping[str, Namespaces] | None = None) -> None:
        self.members = Members(scopes)
        self._readers: defaultdict[Ref, list[RegisteredReader]] = defaultdict(list)

    def enter(self, workload: Ref, reader: RegisteredReader) -> None:
        """From now on this reads on behalf of a workload."""
        self._readers[workload].append(reader)

    def strike(self, workload: Ref, reader: RegisteredReader) -> None:
        """It is kept no longer."""
        found = self._readers[workload]
        found.remove(reader)
        if not found:
            del self._readers[workload]

    def readers(self, key: Ref) -> set[Ref]:
        """The workloads on whose behalf a Secret or ConfigMap was looked for."""
        return {
            workload
            for workload, readers in self._readers.items()
            if any(each.refers_to(key) for each in readers)
        }

    def is_read(self, key: Ref) -> bool:
        """Whether anybody looked for a Secret or ConfigMap."""
        every = self._readers.values()
        return any(each.refers_to(key) for readers in every for each in readers)
