"""A store that follows the cluster.

    monitors = Reflector(client, Scope(SERVICE_MONITOR), typed(ServiceMonitor))
    async with asyncio.TaskGroup() as tasks:
        tasks.create_task(monitors.run())
        await monitors.settled()

One watch serves all namespaces, or each of those that were named has its own: with roles in some
namespaces only, nothing else is allowed.
"""

import asyncio
import logging
from collections.abc import Mapping, Sequence
from contextlib import aclosing
from functools import partial
from typing import Final, Generic, TypeVar

import msgspec
from msgspec import Raw
from msgspec.structs import replace

from stoker.api.core import Object, ObjectMeta
from stoker.errors import DecodeError
from stoker.kube.changes import Applied, Begin, Deleted, Event, Key, Listed, Ready, UnreadableObject
from stoker.kube.client import Client
from stoker.kube.endless import endless, words
from stoker.kube.errors import ApiError, Unavailable
from stoker.kube.reading import Reader
from stoker.kube.report import WATCH, Report
from stoker.kube.resources import ApiResource
from stoker.kube.served import Served
from stoker.kube.store import IndexKeys, Joined, Store
from stoker.kube.transcript import Transcript
from stoker.kube.watch import WatchScope, events

T = TypeVar("T")

_LOG: Final = logging.getLogger(__name__)


class Reflector(Generic[T]):
    """Watches a resource into `store`, in the namespaces named or (None) in all.

    With `served` the version is the one that this says, now and later.
    """

    def __init__(  # noqa: PLR0913 - all but three have a default
        self,
        client: Client,
        scope: WatchScope,
        read: Reader[T],
        *,
        namespaces: Sequence[str] | None = None,
        indices: Mapping[str, IndexKeys[T]] | None = None,
        joined: Joined[T] = lambda _, new: new,
        served: Served | None = None,
    ) -> None:
        self.scope = scope
        self._served = served
        self.store: Store[T] = Store(indices, joined)
        self._client = client
        self._read = read
        self._parts = [_Part(self.store, each) for each in _scopes(scope, namespaces)]
        if not self._parts:
            self.store.ready.set()

    async def run(self) -> None:
        """Follow the cluster until cancelled."""
        async with asyncio.TaskGroup() as tasks:
            for part in self._parts:
                told = partial(_stumbled, part)
                tasks.create_task(endless(partial(self._follow, part), told))

    async def ready(self) -> None:
        """Wait until the store is complete."""
        await self.store.ready.wait()

    async def settled(self) -> None:
        """Wait until the store is complete, save for what we cannot list or does not exist."""
        for part in self._parts:
            await part.report.settled.wait()

    def saw(self, live: Object) -> bool:
        """Take up an object as the server answered it; whether it is still there (`Store.saw`)."""
        if self.scope.metadata_only:
            live = {"metadata": {**live["metadata"], "managedFields": None}}
        raw = Raw(msgspec.json.encode(live))
        found = Transcript(self.scope.path, self._read).listed(raw)
        if isinstance(found, UnreadableObject):
            return True
        return self.store.saw(
            Applied(found.key, found.version, found.object, found.size, found.uid)
        )

    def lost(self, metadata: ObjectMeta) -> None:
        """Take up that the object with this metadata was deleted."""
        key = Key(metadata.namespace or "", metadata.name or "")
        self.store.lost(key, metadata.uid or "")

    @property
    def resource(self) -> ApiResource:
        """The resource, in the version in which it is watched now."""
        return self._served.resource if self._served else self.scope.resource

    @property
    def reports(self) -> list[Report]:
        """How each watch fares."""
        return [part.report for part in self._parts]

    @property
    def troubles(self) -> list[ApiError]:
        """What is wrong now, one for each watch that does not work."""
        return [report.trouble for report in self.reports if report.trouble]

    @property
    def unreadable(self) -> dict[Key, DecodeError]:
        """The objects that do not fit their types, and what is wrong with them."""
        return {key: error for part in self._parts for key, error in part.unreadable.items()}

    async def _follow(self, part: "_Part[T]") -> None:
        locate = self._served.look if self._served else None
        watch = events(self._client, part.scope, self._read, part.report, locate)
        async with aclosing(watch) as found:
            async for event in found:
                part.take(event)


class _Part(Generic[T]):
    """One watch of a reflector."""

    def __init__(self, store: Store[T], scope: WatchScope) -> None:
        self.scope = scope
        self.report = Report(str(scope))
        self.unreadable: dict[Key, DecodeError] = {}
        self._listed: dict[Key, DecodeError] | None = None
        self._writer = store.writer(scope.namespace)

    def take(self, event: Event[T]) -> None:
        """Keep the books of what is unreadable, and pass the event on."""
        books = self.unreadable if self._listed is None else self._listed
        match event:
            case Begin():
                self._listed = {}
            case Ready():
                self.unreadable, self._listed = books, None
            case UnreadableObject():
                self._tell(event)
                books[event.key] = event.error
            case Listed() | Applied() | Deleted():
                books.pop(event.key, None)
        self._writer.apply(event)

    def _tell(self, event: UnreadableObject) -> None:
        """Write a line for what is new; the same thing in every list is not."""
        if str(self.unreadable.get(event.key)) != str(event.error):
            name = "/".join(filter(None, event.key))
            _LOG.warning("%s %s is passed over: %s", self.scope.resource.name, name, event.error)


def _stumbled(part: _Part[T], error: Exception) -> None:
    """Tell of an error that nobody expected, and count it as a failure of the watch."""
    _LOG.error("%s is watched again from the beginning", part.scope, exc_info=error)
    part.report.failed(WATCH, Unavailable(WATCH, part.scope.path, words(error)))


def _scopes(scope: WatchScope, namespaces: Sequence[str] | None) -> list[WatchScope]:
    if namespaces is None or not scope.resource.namespaced:
        return [scope]
    return [replace(scope, namespace=namespace) for namespace in sorted(set(namespaces))]
