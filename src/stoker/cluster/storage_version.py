"""All objects of a kind, brought into the version in which the cluster stores them now.

The API server stores an object in the storage version of its definition whenever it is written, and
leaves it as it lies until then. So each object is written once more, unchanged; then the definition
may say that no other version is stored (`status.storedVersions`), and the old one may go.

    definition ──> note: since when ──> pages of metadata ──> older ones are written ──> trimmed

It may end at any point and go on later (`definitions` tells how). An object that the API server
does not take is a `Failure`: then the definition stays as it is, and so does the note.

An object that names a version that is not served any more in its `managedFields` is written, too
(`stoker.cluster.ownership` tells why).

API servers since 1.30 let an object keep what a newer rule forbids as long as nobody touches it. So
it is stored, and its next change is refused: each of these is reported (`Counts.broken`).
"""

import asyncio
from collections.abc import AsyncIterator, Callable
from typing import Final

import msgspec
from msgspec import Struct

from stoker.api.admit import admit
from stoker.api.core import Object
from stoker.api.kinds import version_of
from stoker.cluster.definitions import (
    DEFINITION,
    Definition,
    MigrationNote,
    definition_of,
    noted,
    patched,
    trimmed,
)
from stoker.cluster.ownership import is_stale, renewed
from stoker.errors import StokerError
from stoker.kube.backoff import Backoff
from stoker.kube.client import METADATA_ONLY, METADATA_ONLY_LIST, Client
from stoker.kube.errors import (
    ApiError,
    Conflict,
    Forbidden,
    Gone,
    NotFound,
    TooManyRequests,
    Unauthorized,
    Unavailable,
)
from stoker.kube.resources import ApiResource
from stoker.kube.served import served, storage_hash
from stoker.kube.versions import is_older

PAGE = 500
_ATTEMPTS: Final = 5
_WAITS: Final = Backoff(first=0.2, longest=5.0)
# So many failures of the server itself, one after the other, are not about single objects.
_HOPELESS: Final = 5
# Older than any: nothing has to be written for its version.
_ALWAYS: Final = "0"
_PASSING: Final = (Unavailable, TooManyRequests)


class NotStartedError(StokerError):
    """Nothing was written, for this reason."""


class StoppedError(StokerError):
    """A migration could not go on; what is done stays done."""


class Failure(Struct, frozen=True):
    """An object that the API server would not store again, and why."""

    name: str
    reason: str


class Counts(Struct):
    """How far a migration is. `done` of `total` lie in the new version, `written` by this run.

    `failures` were refused; `broken` were written though they break rules of the new version, by
    namespace and name, with what is wrong.
    """

    total: int = 0
    done: int = 0
    written: int = 0
    failures: list[Failure] = []
    broken: dict[str, str] = {}


class _Metadata(Struct, frozen=True, rename="camel"):
    name: str
    resource_version: str
    namespace: str = ""
    managed_fields: list[Object] = []


class _Item(Struct, frozen=True):
    metadata: _Metadata


class _ListMeta(Struct, frozen=True, rename="camel"):
    resource_version: str = ""
    continue_: str = msgspec.field(default="", name="continue")
    remaining_item_count: int = 0


class _Page(Struct, frozen=True):
    metadata: _ListMeta = _ListMeta()
    items: list[_Item] | None = None


class _Changed(Exception):  # noqa: N818 - no error, but a reason to begin again
    """The definition is another one than at the beginning."""


class StorageMigration:
    """Brings the objects of one definition into its storage version.

    `told` is called after each object. With `dry_run` the API server is asked to do everything but
    keep the outcome.
    """

    def __init__(
        self,
        client: Client,
        definition: Definition,
        *,
        told: Callable[["StorageMigration"], None] = lambda _: None,
        dry_run: bool = False,
    ) -> None:
        self.definition = definition
        self.counts = Counts()
        self.began_migrated = definition.is_migrated
        self._client = client
        self._told = told
        self._dry_run = dry_run
        self._in_a_row = 0

    @property
    def _resource(self) -> ApiResource:
        return self.definition.resource

    async def run(self) -> None:
        """Do all of it, or what is left of it; the counts tell what came of it."""
        try:
            await self._check()
            while not await self._completed():
                await self._look_again()
        except Forbidden as error:
            raise StoppedError(_not_allowed(error.verb, error.resource)) from error
        except ApiError as error:
            raise StoppedError(_advice(error)) from error

    async def _completed(self) -> bool:
        """Whether it is over; not if the definition changed on the way."""
        try:
            await self._migrate(await self._since())
            if self.counts.failures or self._dry_run:
                return True
            if not self.definition.is_migrated:
                self.definition = await trimmed(self._client, self.definition)
            if self.definition.note:
                self.definition = await noted(self._client, self.definition, None)
        except (Conflict, _Changed):
            return False
        return True

    # --- Before the first write -------------------------------------------------------------------

    async def _check(self) -> None:
        """See that we may do all that it takes, before anything is done."""
        for verb in ("list", "get", "patch"):
            if not await self._client.can_i(verb, self._resource):
                raise NotStartedError(_not_allowed(verb, self._resource.name))
        try:
            await trimmed(self._client, self.definition, dry_run=True)
        except Forbidden as error:
            raise NotStartedError(_not_allowed(error.verb, f"{DEFINITION.name}/status")) from error
        except Conflict:
            await self._look_again()

    async def _since(self) -> str:
        """The resource version that migrated objects are newer than; "" if none is known."""
        if self.definition.is_migrated:
            return _ALWAYS
        note = self.definition.own_note
        if note is None and not self._dry_run:
            await self._effective()
            since = (await self._page({"limit": "1"})).metadata.resource_version
            note = MigrationNote(self.definition.storage, self.definition.generation, since)
            self.definition = await noted(self._client, self.definition, note)
        return note.since if note else ""

    async def _effective(self) -> None:
        """Wait until the API server stores in the version that the definition says."""
        for attempt in range(1, 3 * _ATTEMPTS):
            found = (await served(self._client, [self._resource])).get(self._resource)
            if found in ("", storage_hash(self._resource)):
                return
            await asyncio.sleep(_WAITS.delay(attempt))
        raise NotStartedError(
            f"the API server does not store {self.definition.plural} as {self.definition.storage} "
            "yet, though their definition says so: try again in a minute"
        )

    # --- Objects ----------------------------------------------------------------------------------

    async def _migrate(self, since: str) -> None:
        """Write each object that was not written since."""
        self.counts.done, self.counts.failures = 0, []
        tried: set[tuple[str, str]] = set()
        while True:
            try:
                async for page in self._pages():
                    for found in (item.metadata for item in page):
                        if (found.namespace, found.name) not in tried:
                            await self._one(found, since)
                            tried.add((found.namespace, found.name))
                    await self._look_again(same=True)
            except Gone:
                # The rest of the list is forgotten. What comes again is passed over, or a list that
                # takes longer than the API server remembers it would have no end in a dry run.
                continue
            return

    async def _pages(self) -> AsyncIterator[list[_Item]]:
        query = {"limit": str(PAGE)}
        while True:
            page = await self._page(query)
            items = page.items or []
            if "continue" not in query:
                self.counts.total = len(items) + page.metadata.remaining_item_count
            yield items
            if not page.metadata.continue_:
                return
            query["continue"] = page.metadata.continue_

    async def _page(self, query: dict[str, str]) -> _Page:
        path = self._resource.path(None)
        return await self._client.ask(_Page, "GET", path, query=query, accept=METADATA_ONLY_LIST)

    async def _one(self, found: _Metadata, since: str) -> None:
        try:
            if self._is_due(found, since):
                await self._write(found, since)
            self.counts.done += 1
            self._in_a_row = 0
        except ApiError as error:
            self._note_failure(found, error)
        self._told(self)

    def _is_due(self, found: _Metadata, since: str) -> bool:
        """Whether an object lies in an old version, or speaks of one that is gone."""
        stale = is_stale(found.managed_fields, self.definition.served_versions)
        return stale or not is_older(since, found.resource_version)

    def _note_failure(self, found: _Metadata, error: ApiError) -> None:
        """Go on with the next object, unless the server has no answer for any."""
        self._in_a_row = self._in_a_row + 1 if isinstance(error, _PASSING) else 0
        hopeless = isinstance(error, Unauthorized) or not error.status
        if hopeless or self._in_a_row >= _HOPELESS:
            raise error
        self.counts.failures.append(Failure(f"{found.namespace}/{found.name}", error.message))

    async def _write(self, found: _Metadata, since: str) -> None:
        """Write an object unless it is gone, or somebody else has written it."""
        for attempt in range(1, _ATTEMPTS + 1):
            try:
                stored = await self._restore(found)
            except NotFound as error:
                if not error.reason:
                    raise _Changed from error
                return
            except Conflict:
                fresh = await self._fresh(found)
                if fresh is None or not self._is_due(fresh, since):
                    return
                found = fresh
            except _PASSING as error:
                if attempt == _ATTEMPTS:
                    raise
                await asyncio.sleep(max(_WAITS.delay(attempt), error.asked_wait))
            else:
                self.counts.written += 1
                self._judge(found, stored)
                return
        path = self._resource.path(found.namespace, found.name)
        raise Conflict("patch", path, "it changes faster than it can be written", status=409)

    def _judge(self, found: _Metadata, stored: Object) -> None:
        """Note what the version would refuse in a new object like this one."""
        version = version_of(self._resource.api_version, self._resource.kind)
        findings = admit(version, stored).findings if version else ()
        if findings:
            reason = "; ".join(f"{each.path}: {each.message}" for each in findings)
            self.counts.broken[f"{found.namespace}/{found.name}"] = reason

    async def _restore(self, found: _Metadata) -> Object:
        """Have an object stored as it is: only the bytes change, if they are of another version."""
        metadata: Object = {"resourceVersion": found.resource_version}
        served_now = self.definition.served_versions
        if is_stale(found.managed_fields, served_now):
            version = self._resource.api_version
            metadata["managedFields"] = renewed(found.managed_fields, served_now, version)
        path = self._resource.path(found.namespace, found.name)
        return await patched(self._client, path, {"metadata": metadata}, dry_run=self._dry_run)

    async def _fresh(self, found: _Metadata) -> _Metadata | None:
        """What an object is now; None if it is gone."""
        path = self._resource.path(found.namespace, found.name)
        try:
            return (await self._client.ask(_Item, "GET", path, accept=METADATA_ONLY)).metadata
        except NotFound:
            return None

    # --- The definition ---------------------------------------------------------------------------

    async def _look_again(self, *, same: bool = False) -> None:
        """Read the definition; another storage version ends it all."""
        before, self.definition = (
            self.definition,
            await definition_of(self._client, self.definition.plural),
        )
        if self.definition.storage != before.storage:
            raise StoppedError(
                f"the storage version of {before.plural} has changed from {before.storage} to "
                f"{self.definition.storage} meanwhile: run it again if that is meant to stay"
            )
        if same and self.definition.generation != before.generation:
            raise _Changed


def _not_allowed(verb: str, resource: str) -> str:
    return f"you cannot {verb} {resource}: deploy/storage-version has the role that this needs"


def _advice(error: ApiError) -> str:
    """What went wrong, and what to do about it where that is known."""
    if "conversion webhook" not in error.message:
        return str(error)
    return (
        f"the API server cannot convert objects: {error.message}. See that `stoker webhook` runs "
        "and that spec.conversion of the definition leads to it with the right caBundle "
        "(docs/webhook.md), then run the same again"
    )
