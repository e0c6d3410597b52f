"""What a server writes into a watch, line by line, as events.

The envelope of a line is decoded first and its object left as it is (`Raw`, a view, not a copy);
then the object's identity, whatever the object is made of; then the object by its reader. So an
object that cannot be read still has a name, and moves the watch on.
"""

from collections.abc import Mapping
from typing import Any, Final, Generic, TypeVar

import msgspec
from msgspec import Raw, Struct

from stoker.errors import DecodeError
from stoker.kube.changes import Applied, Deleted, Event, Key, Listed, Ready, UnreadableObject
from stoker.kube.deep import cut
from stoker.kube.errors import Gone, error_of
from stoker.kube.reading import Reader, identity_of, in_words_of
from stoker.kube.versions import is_older

T = TypeVar("T")

INITIAL_EVENTS_END: Final = "k8s.io/initial-events-end"


class LineBuffer:
    """Puts together lines that arrive in chunks of any size."""

    def __init__(self) -> None:
        self._begun: list[bytes] = []

    def of(self, chunk: bytes) -> list[bytes]:
        """The lines that this chunk completes; the rest waits for the next one."""
        *whole, rest = chunk.split(b"\n")
        if whole:
            whole[0] = b"".join((*self._begun, whole[0]))
            self._begun.clear()
        if rest:
            self._begun.append(rest)
        return [line for line in whole if line.strip()]


class _Line(Struct, frozen=True):
    type: str
    object: Raw


class _BookmarkMeta(Struct, frozen=True, rename="camel"):
    resource_version: str = ""
    annotations: Mapping[str, str] | None = None


class _Bookmark(Struct, frozen=True):
    metadata: _BookmarkMeta


_LINE: Final = msgspec.json.Decoder(_Line)
_BOOKMARK: Final = msgspec.json.Decoder(_Bookmark)
_STATUS: Final = msgspec.json.Decoder(dict[str, Any])


def _read(line: bytes) -> _Line:
    try:
        return _LINE.decode(line)
    except RecursionError:
        return _LINE.decode(cut(line))


class Transcript(Generic[T]):
    """The events of one watch, and how far they have led.

    `version` is where to go on: "" while there is no complete list. The objects of a list come in
    any order, so none of them says how far we are; the bookmark at its end does. `progress` is
    true once the watch has moved on from there; whoever opens a stream sets it to false.
    """

    def __init__(self, path: str, read: Reader[T]) -> None:
        self.version = ""
        self.progress = False
        self._path = path
        self._read = read

    def event(self, line: bytes) -> Event[T] | None:
        """The event of a line, if it is one for others; an ERROR is raised as an ApiError."""
        try:
            return self._event(_read(line))
        except (msgspec.DecodeError, RecursionError) as error:
            # Whatever it said is lost, so only a new list tells the truth.
            said = f"a line that is no event: {error}"
            raise Gone("watch", self._path, said) from error

    def listed(self, raw: Raw) -> Listed[T] | UnreadableObject:
        """The event of an object in a list."""
        identity = identity_of(raw)
        key = Key(identity.namespace, identity.name)
        try:
            found = self._read(raw)
        except DecodeError as error:
            return UnreadableObject(key, error)
        kept = in_words_of(found, identity)
        key = Key(kept.namespace, kept.name)
        return Listed(key, kept.resource_version, found, len(raw), kept.uid)

    def _event(self, line: _Line) -> Event[T] | None:
        if line.type == "ERROR":
            raise error_of("watch", self._path, _STATUS.decode(line.object))
        if line.type == "BOOKMARK":
            return self._bookmark(_BOOKMARK.decode(line.object).metadata)
        if line.type == "DELETED":
            return self._deleted(line.object)
        return self._applied(line.object) if self.version else self.listed(line.object)

    def _applied(self, raw: Raw) -> Applied[T] | UnreadableObject:
        found = self.listed(raw)
        if isinstance(found, UnreadableObject):
            self._go_on(identity_of(raw).resource_version)
            return found
        self._go_on(found.version)
        return Applied(found.key, found.version, found.object, found.size, found.uid)

    def _deleted(self, raw: Raw) -> Deleted:
        identity = identity_of(raw)
        if self.version:
            self._go_on(identity.resource_version)
        key = Key(identity.namespace, identity.name)
        return Deleted(key, identity.resource_version, identity.uid)

    def _bookmark(self, metadata: _BookmarkMeta) -> Ready | None:
        if self.version:
            self._go_on(metadata.resource_version)
        elif (metadata.annotations or {}).get(INITIAL_EVENTS_END) == "true":
            self.version = metadata.resource_version
            return Ready(self.version)
        return None

    def _go_on(self, version: str) -> None:
        if is_older(version, self.version):
            # Changes come in their order: the server was set back, or tells an old story.
            said = f"version {version} comes after {self.version}"
            raise Gone("watch", self._path, said)
        self.version = version
        self.progress = True
