"""The vocabulary of a watch: five cases, and one beside them.

`Begin`, then `Listed` for each object, then `Ready`; from there `Applied` and `Deleted`. `Begin`
may come at any time and again: the list that follows replaces all that was known, so an object
that is not in it is gone, whatever was missed. Beside the five stands `UnreadableObject`: the
object is there, but does not fit its types, and must not sink the others.
"""

from typing import Generic, NamedTuple, TypeAlias, TypeVar

from msgspec import Struct

from stoker.errors import DecodeError

T = TypeVar("T")


class Key(NamedTuple):
    """An object of one resource; the namespace is "" where there is none."""

    namespace: str
    name: str


class Begin(Struct, frozen=True):
    """A list begins: what it does not name is not there."""


class Listed(Struct, Generic[T], frozen=True):
    """An object of the list; `size` is how many bytes it came in."""

    key: Key
    version: str
    object: T
    size: int = 0
    uid: str = ""


class Ready(Struct, frozen=True):
    """The list is complete; `version` is the state of the cluster that it tells of.

    `anew`: the cluster was set back, so that what was newer before counts no longer.
    """

    version: str = ""
    anew: bool = False


class Applied(Struct, Generic[T], frozen=True):
    """An object was created or changed; `size` is how many bytes it came in."""

    key: Key
    version: str
    object: T
    size: int = 0
    uid: str = ""


class Deleted(Struct, frozen=True):
    """An object was deleted, or no longer has the labels that were asked for: by this version."""

    key: Key
    version: str = ""
    uid: str = ""


class UnreadableObject(Struct, frozen=True):
    """An object is there but does not fit its types; the last state that did still counts."""

    key: Key
    error: DecodeError


Event: TypeAlias = Begin | Listed[T] | Ready | Applied[T] | Deleted | UnreadableObject
