"""List and watch without end: what is in the cluster now, and every change after that.

    async for event in events(client, Scope(SERVICE_MONITOR), typed(ServiceMonitor)):
        writer.apply(event)

The list is a stream where the server has that (`sendInitialEvents`), else it comes in pages. A
watch that ends goes on where it was, from the last version that was seen; where the server has
forgotten that version (410), the list is made again. Nothing but cancelling ends the iteration:
failures, refusals and missing resources are given to a `Report` and tried again, later and later.

A watch lives for a short time only, and the server ends it: one that has not ended a little later
is dead, whatever its connection looks like and whatever still trickles from it. A new one tells
what was missed. (`docs/decisions/20261118-short-watches.md` has what that costs.)

No list names a version, so each is of the moment when it is asked for, whichever server answers.
One that is older than what was seen all the same is not believed, but asked for again: a server
may be behind for a moment. If the answer stays the same, the cluster was set back (a restored
etcd), and the list counts whatever was seen before.

A resource with several versions is watched in the one that `locate` names, which is asked before
each round: a version that is gone is left for another, from where the watch was.
"""

import asyncio
import logging
import random
from collections.abc import AsyncGenerator, AsyncIterator, Awaitable, Callable
from contextlib import aclosing
from typing import Final, Generic, TypeAlias, TypeVar

from msgspec import Raw, Struct
from msgspec.structs import replace

from stoker.kube.backoff import GRANT_SECONDS, Backoff
from stoker.kube.changes import Begin, Event, Ready
from stoker.kube.client import METADATA_ONLY, METADATA_ONLY_LIST, Client, ListPage
from stoker.kube.errors import (
    ApiError,
    Forbidden,
    Gone,
    NotFound,
    Silent,
    Unauthorized,
    Unavailable,
    asked_wait,
)
from stoker.kube.reading import Reader
from stoker.kube.report import LIST, WATCH, Report
from stoker.kube.resources import ApiResource
from stoker.kube.transcript import LineBuffer, Transcript
from stoker.kube.transport import JSON
from stoker.kube.versions import is_older, newest

T = TypeVar("T")
WatchEvents: TypeAlias = AsyncGenerator[Event[T], None]
Locate: TypeAlias = Callable[[bool], Awaitable[ApiResource]]
"""Tells in which version a resource is to be asked for now; whether it should look for it again."""

_LOG: Final = logging.getLogger(__name__)

PAGE_SIZE: Final = 500
# Spread out, or all watches that began together would begin again together for ever. The server
# sends a bookmark two seconds before the end, so that the next one goes on from a fresh version.
WATCH_SECONDS: Final = (16, 22)
# How much later than it was asked to a server may end a watch.
LATE_SECONDS: Final = 5.0
# A list that is streamed goes on, object by object, and comes to its end.
STALLED_SECONDS: Final = 20.0
LIST_SECONDS: Final = 120
PAGE_SECONDS: Final = 30.0
# What is smaller is read in less than a millisecond.
LARGE_OBJECT: Final = 16 * 1024
# For how long lists are not believed that are older than what was seen.
SET_BACK_SECONDS: Final = 30.0
# A stream that held for so long was a good one, even if nothing happened.
STEADY_SECONDS: Final = 10.0
# An overloaded or starting server is back soon, one that refuses us waits for a human.
UNREACHABLE: Final = Backoff(first=0.2, longest=5.0)
REFUSED: Final = Backoff(first=0.5, longest=GRANT_SECONDS)


class WatchScope(Struct, frozen=True):
    """What to watch: a resource, in one namespace or (None) in all, perhaps selected."""

    resource: ApiResource
    namespace: str | None = None
    label_selector: str = ""
    field_selector: str = ""
    metadata_only: bool = False

    @property
    def path(self) -> str:
        """Where the API server has it."""
        return self.resource.path(self.namespace)

    def query(self, **more: str) -> dict[str, str]:
        """The query of a request for it."""
        selectors = {"labelSelector": self.label_selector, "fieldSelector": self.field_selector}
        return {name: value for name, value in (selectors | more).items() if value}

    def __str__(self) -> str:
        where = f" in namespace {self.namespace}" if self.namespace else ""
        return f"{self.resource.name}{where}"


async def events(
    client: Client,
    scope: WatchScope,
    read: Reader[T],
    report: Report | None = None,
    locate: Locate | None = None,
) -> WatchEvents[T]:
    """List and watch, without end. Close it (`aclosing`) where the iteration may be left early."""
    watch = _Watch(client, scope, read, report or Report(str(scope)))
    failures = 0
    failure: ApiError | None = None
    while True:
        # A server that does not answer has nothing to say of versions either.
        if locate and (failure is None or failure.status):
            watch.move(await locate(failure is not None))
        begun = _now()
        failure = None
        try:
            async with aclosing(watch.round()) as found:
                async for event in found:
                    yield event
        except ApiError as error:
            failure = error
            watch.failed(error)
        worked = watch.progress or _now() - begun > STEADY_SECONDS
        failures = 0 if worked else failures + 1
        # Even after a good stream a broken one is not replaced at once: others broke with it.
        await asyncio.sleep(_delay(failure, max(failures, 1) if failure else failures))


def _now() -> float:
    return asyncio.get_running_loop().time()


def _delay(failure: ApiError | None, failures: int) -> float:
    refused = isinstance(failure, Forbidden | NotFound | Unauthorized)
    wait = (REFUSED if refused else UNREACHABLE).delay(failures)
    return max(wait, asked_wait(failure))


class _Watch(Generic[T]):
    """One watch: what it asks the server, and what it does about a no."""

    def __init__(self, client: Client, scope: WatchScope, read: Reader[T], report: Report) -> None:
        self._client = client
        self._scope = scope
        self._read = read
        self._report = report
        self._transcript = Transcript(scope.path, read)
        self._refuses_streams = False
        self._left_incomplete = False
        self._operation = LIST
        # How far the watch ever was, and since when lists do not go so far.
        self._seen = ""
        self._behind_since: float | None = None

    @property
    def progress(self) -> bool:
        """Whether the last round has seen a change, or a sign that there was none."""
        return self._transcript.progress

    def move(self, resource: ApiResource) -> None:
        """Watch another version of the resource from now on: it has the same resource versions."""
        if resource == self._scope.resource:
            return
        _LOG.info("%s is watched as %s", self._scope, resource.version)
        self._scope = replace(self._scope, resource=resource)
        version = self._transcript.version
        self._transcript = Transcript(self._scope.path, self._read)
        self._transcript.version = version

    async def round(self) -> WatchEvents[T]:
        """List if need be, then watch until the stream ends or something fails."""
        self._transcript.progress = False
        for step in self._steps():
            async with aclosing(step) as found:
                async for event in found:
                    yield event

    def failed(self, error: ApiError) -> None:
        """Take note of a failure: it may mean that a new list is needed."""
        if self._operation == WATCH and _must_list_again(error):
            self._seen = newest(self._seen, self._transcript.version)
            self._transcript.version = ""
        if not isinstance(error, Gone):
            self._report.failed(self._operation, error)

    def _steps(self) -> list[WatchEvents[T]]:
        if self._transcript.version:
            return [self._watched()]
        pages = self._refuses_streams or self._left_incomplete
        return [self._paged_list() if pages else self._streamed_list(), self._watched()]

    async def _streamed_list(self) -> WatchEvents[T]:
        """A list as a stream; it is left when the list is complete, as it would live too long."""
        self._begin(LIST)
        query = self._watch_query(
            LIST_SECONDS, sendInitialEvents="true", resourceVersionMatch="NotOlderThan"
        )
        yield Begin()
        try:
            async with aclosing(self._streamed(query, LIST_SECONDS)) as found:
                async for event in found:
                    if isinstance(event, Ready):
                        event = self._believed(event)  # noqa: PLW2901 - or not
                        self._left_incomplete = False
                        self._report.heard()
                    yield event
                    if isinstance(event, Ready):
                        return
        except ApiError as error:
            self._refuses_streams = error.status in (400, 422)
            # Something on the way may hold back what has no end; pages have one.
            self._left_incomplete |= error.timed_out
            if not self._refuses_streams:
                raise

    async def _paged_list(self) -> WatchEvents[T]:
        self._begin(LIST)
        self._left_incomplete = False
        yield Begin()
        page = await self._page("")
        while True:
            for raw in page.items:
                yield self._transcript.listed(raw)
                await _given_way(len(raw))
            if not page.metadata.continue_:
                break
            page = await self._page(page.metadata.continue_)
        self._transcript.version = page.metadata.resource_version
        ready = self._believed(Ready(self._transcript.version))
        self._report.heard()
        yield ready

    def _believed(self, ready: Ready) -> Ready:
        """The end of a list, if it is not older than what was seen, or stays so for long."""
        if not is_older(ready.version, self._seen):
            self._behind_since = None
            return ready
        if self._behind_since is None:
            self._behind_since = _now()
        if _now() - self._behind_since < SET_BACK_SECONDS:
            self._transcript.version = ""
            said = f"the list is of version {ready.version}, and {self._seen} was seen before"
            raise Unavailable(LIST, self._scope.path, said)
        _LOG.warning("%s were set back to version %s", self._scope, ready.version)
        self._seen, self._behind_since = ready.version, None
        return replace(ready, anew=True)

    async def _page(self, token: str) -> ListPage[Raw]:
        accept = METADATA_ONLY_LIST if self._scope.metadata_only else JSON
        query = self._scope.query(**{"limit": str(PAGE_SIZE), "continue": token})
        return await self._client.page(
            self._scope.path, query=query, accept=accept, timeout=PAGE_SECONDS
        )

    async def _watched(self) -> WatchEvents[T]:
        if not self._transcript.version:
            # The server ended the list before it was complete.
            return
        self._begin(WATCH)
        seconds = random.randint(*WATCH_SECONDS)  # noqa: S311 - spreads load, guards nothing
        query = self._watch_query(seconds, resourceVersion=self._transcript.version)
        async with aclosing(self._streamed(query, seconds)) as found:
            async for event in found:
                yield event
        self._report.heard()

    def _watch_query(self, seconds: int, **more: str) -> dict[str, str]:
        return self._scope.query(
            watch="true", allowWatchBookmarks="true", timeoutSeconds=str(seconds), **more
        )

    async def _streamed(self, query: dict[str, str], seconds: int) -> WatchEvents[T]:
        """The events of a stream that the server was asked to end after so many seconds."""
        accept = METADATA_ONLY if self._scope.metadata_only else JSON
        lines = LineBuffer()
        watches = self._operation == WATCH
        # Watches begin again so often that with many of them nothing else would have a turn.
        async with self._client.stream(
            self._scope.path, query, accept=accept, exempt=watches
        ) as body:
            latest = due = _now() + seconds + LATE_SECONDS
            if watches:
                self._report.opened()
            else:
                # Until it is complete: a server may take the question and never answer it.
                self._left_incomplete = True
                due = _now() + STALLED_SECONDS
            while chunk := await self._chunk(body, due):
                for line in lines.of(chunk):
                    if event := self._transcript.event(line):
                        yield event
                    if watches:
                        self._report.heard()
                    else:
                        due = min(latest, _now() + STALLED_SECONDS)
                    await _given_way(len(line))

    async def _chunk(self, body: AsyncIterator[bytes], due: float) -> bytes:
        """What comes next, until it is due; nothing at the end."""
        try:
            async with asyncio.timeout_at(due):
                return await anext(body, b"")
        except TimeoutError as error:
            said = "the answer did not go on, or did not end when it should have"
            raise Silent(self._operation, self._scope.path, said) from error

    def _begin(self, operation: str) -> None:
        self._operation = operation
        self._report.began(operation)


async def _given_way(size: int) -> None:
    """Let others have a turn after an object that took a while to read."""
    if size > LARGE_OBJECT:
        await asyncio.sleep(0)


def _must_list_again(error: ApiError) -> bool:
    """Whether the server will not go on from the version that we have.

    It has forgotten it (410), does not take it (400, 422), or has never come so far: it was
    restored from a backup.
    """
    ahead = any(cause.get("reason") == "ResourceVersionTooLarge" for cause in error.causes)
    return isinstance(error, Gone) or error.status in (400, 422) or ahead
