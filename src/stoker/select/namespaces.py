"""Which namespaces are watched for which kind.

Flags give one list of namespaces for everything, or one of those to stay away from, and may give a
list of its own to a kind of workload, which wins over both. Whatever is not said is everywhere.
Monitors, rules and the like are looked for by the general lists, workloads and all that is made
for them by those of their kind. Everything that a workload refers to lies in its own namespace or
in that of a monitor.
"""

from collections.abc import Iterable
from typing import Final

from msgspec import Struct

from stoker.errors import FieldError
from stoker.roles import RESOURCES, WORKLOADS
from stoker.settings import NamespaceSettings

_OWN_LISTS: Final = {kind: role.flags for kind, role in WORKLOADS.items()} | {
    kind: role.flags for kind, role in RESOURCES.items() if role.flags
}
_EVERYTHING: Final = ""
NAME_LABEL: Final = "kubernetes.io/metadata.name"
"""The label by which the API server puts the name of a namespace on it."""


class Namespaces(Struct, frozen=True):
    """The namespaces of a kind: the `allowed` ones, or (None) all of them but the `denied`."""

    allowed: frozenset[str] | None = None
    denied: frozenset[str] = frozenset()

    def covers(self, namespace: str) -> bool:
        """Whether objects in this namespace count."""
        if self.allowed is None:
            return namespace not in self.denied
        return namespace in self.allowed

    @property
    def watches(self) -> tuple[str, ...]:
        """The namespaces to watch one by one; a single empty name is a watch across all."""
        return (_EVERYTHING,) if self.allowed is None else tuple(sorted(self.allowed))

    @property
    def field_selector(self) -> str:
        """What a watch across all namespaces must ask for, to leave out the denied ones."""
        return excluding("metadata.namespace", self.denied) if self.allowed is None else ""

    @property
    def namespace_selector(self) -> str:
        """The label selector of the Namespace objects themselves."""
        if self.allowed is not None:
            return by_label(NAME_LABEL, self.allowed)
        return by_label(NAME_LABEL, self.denied, exclude=True)

    def __or__(self, other: "Namespaces") -> "Namespaces":
        """Both together."""
        if self.allowed is None or other.allowed is None:
            open_ones = [one for one in (self, other) if one.allowed is None]
            denied = frozenset.intersection(*(one.denied for one in open_ones))
            named = frozenset().union(*(one.allowed or () for one in (self, other)))
            return Namespaces(None, denied - named)
        return Namespaces(self.allowed | other.allowed)


def scope_of(kind: str, settings: NamespaceSettings) -> Namespaces:
    """Where objects of a kind count; one without a list of its own follows the general ones."""
    own = getattr(settings, _OWN_LISTS[kind]) if kind in _OWN_LISTS else ()
    allowed = own or settings.allowed
    return (
        Namespaces(frozenset(allowed)) if allowed else Namespaces(None, frozenset(settings.denied))
    )


def reference_scope(kind: str, settings: NamespaceSettings, *, everywhere: bool) -> Namespaces:
    """Where the Secrets and ConfigMaps that a kind of workload refers to are watched.

    Beside the workloads, and also wherever their monitors may be if `everywhere` is set. Where
    neither list is narrowed, that is the same.
    """
    own = scope_of(kind, settings)
    for named, role in RESOURCES.items():
        if role.named_by == kind:
            own |= scope_of(named, settings)
    return own | scope_of("", settings) if everywhere else own


def contradiction(settings: NamespaceSettings) -> FieldError | None:
    """What is wrong with the lists as a whole."""
    if settings.allowed and settings.denied:
        return FieldError("--deny-namespaces", "cannot be given together with --namespaces")
    return None


def by_label(label: str, values: Iterable[str], *, exclude: bool = False, besides: str = "") -> str:
    """A label selector for objects with (or without) one of these values, besides another."""
    listed = ",".join(sorted(set(values)))
    own = f"{label} {'notin' if exclude else 'in'} ({listed})" if listed else ""
    return ",".join(part for part in (own, besides) if part)


def excluding(field: str, values: Iterable[str], *, besides: str = "") -> str:
    """A field selector for objects without any of these values, besides another."""
    own = [f"{field}!={value}" for value in sorted(set(values))]
    return ",".join(part for part in (*own, besides) if part)
