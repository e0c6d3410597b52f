"""Objects as they should be, written only where they are not so.

What was found right or was written is remembered with the version of the object in the cluster;
as long as neither changes, nothing is asked. Otherwise the object is read and compared, which
finds what others did to it; it is applied only if that made a difference. A Secret of which
we know that nobody touched it is replaced without reading it first, and in binary form: it may be
large, and a configuration waits for it.
"""

import asyncio
import hashlib
import math
from collections import defaultdict
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager, suppress
from itertools import islice
from typing import Any, Final

import msgspec
from msgspec import Struct

from stoker.api.core import Object, ObjectMeta
from stoker.build.drift import drift
from stoker.build.names import FIELD_MANAGER
from stoker.cluster.live import as_claimed, beside_others, only_at
from stoker.kube import protobuf
from stoker.kube.client import Client
from stoker.kube.errors import (
    AlreadyExists,
    ApiError,
    Conflict,
    Forbidden,
    Invalid,
    NotFound,
)
from stoker.kube.resources import ApiResource, resource_of
from stoker.kube.takeover import claim, claimed
from stoker.logs import logger
from stoker.operator.owners import Answered, Outdated, Owners
from stoker.operator.refusals import Refusals, rights_named
from stoker.operator.replacing import Replacing
from stoker.ref import Ref, ref_from, ref_of_manifest

_WITH_GENERATION: Final = frozenset({"StatefulSet", "DaemonSet"})
# So many bytes of data are read beside the loop, and of a Secret not held on to.
_LARGE: Final = 64 * 1024
# What an update must repeat; the server fills in the rest.
_CARRIED: Final = (
    "name",
    "namespace",
    "uid",
    "resourceVersion",
    "labels",
    "annotations",
    "ownerReferences",
    "finalizers",
)
# What a server says that does not know the binary form.
_UNSUPPORTED: Final = 415
# So many objects of a workload are read ahead: each may be a megabyte.
_AT_ONCE: Final = 8
# For how long an object that was asked for in vain counts as missing.
_FRESH_SECONDS: Final = 1.0
# Others may change an object between our reading and writing it, but not for ever.
_ATTEMPTS: Final = 4
# A name that is longer might be refused though a shorter one is not.
_LONGEST_NAME: Final = 63
_SUFFIX_LENGTH: Final = 10
# What the server says for webhooks and policies.
_DENIED: Final = ("denied the request", "denied request")


class _Checked(Struct, frozen=True):
    """An object that was right: what was wanted, and what was found or made.

    `wanted` is a digest of the object that was wanted, and `same` that very object, unless it is a
    large one: what did not change is not even looked at. `sole`: all its content is recorded as
    ours. `named` are the labels, annotations and owners that were wanted.
    """

    wanted: bytes
    same: Object | None
    metadata: ObjectMeta
    essence: object
    sole: bool
    named: frozenset[str]


class Writer:
    """Writes objects of workloads.

    `current` gives the metadata that the caches have of an object, None if there is none, and
    `absent` tells whether they would know of it; `answered` are those caches, if they should hear
    what the server answers. Without `replacing`, a StatefulSet that cannot become what is wanted is
    `Invalid`.
    """

    def __init__(
        self,
        client: Client,
        current: Callable[[Ref], ObjectMeta | None],
        answered: Answered | None = None,
        replacing: Replacing | None = None,
        absent: Callable[[Ref], bool] = lambda _: False,
    ) -> None:
        self._client = client
        self._current = current
        self._absent = absent
        self._answered = answered
        self._replacing = replacing
        self.owners = Owners(client, answered)
        self._refusals = Refusals(logger("writer"))
        self._checked: dict[Ref, _Checked] = {}
        # Objects that are being written, and whether the news came that they were deleted.
        self._in_hand: dict[Ref, asyncio.Event] = {}
        # Objects that are being read, or were, before anybody compares them.
        self._ahead: dict[Ref, asyncio.Task[Object]] = {}
        # Objects that were asked for in vain, and when: whoever makes them need not ask again.
        self._missed: dict[Ref, float] = {}
        # An object may belong to several workloads.
        self._turns: defaultdict[Ref, asyncio.Lock] = defaultdict(asyncio.Lock)

    @property
    def entries(self) -> int:
        """Of how many objects it is known that they are right."""
        return len(self._checked)

    def is_written(self, kind: str, metadata: ObjectMeta) -> bool:
        """Whether this is the version of an object that was written or found right."""
        checked = self._checked.get(ref_from(kind, metadata))
        return checked is not None and checked.essence == essence(kind, metadata)

    def forget(self, kind: str, metadata: ObjectMeta) -> None:
        """An object is gone."""
        identity = ref_from(kind, metadata)
        self._checked.pop(identity, None)
        if identity in self._in_hand:
            self._in_hand[identity].set()
        else:
            self._turns.pop(identity, None)

    def forget_all(self) -> None:
        """Another operator may have written what it likes."""
        self._checked.clear()

    @contextmanager
    def reading_ahead(self, found: Iterable[tuple[ApiResource, ObjectMeta]]) -> Iterator[None]:
        """Read objects that will be compared, while it is found out what they should be.

        One after the other would take as long as all of them together. Each is good for one
        comparison; one that changes after it was read is looked at again, as it would be if it
        changed after it was compared.
        """
        begun: dict[Ref, asyncio.Task[Object]] = {}
        for resource, metadata in islice(found, _AT_ONCE):
            identity = ref_from(resource.kind, metadata)
            if identity not in self._checked and identity not in self._ahead:
                begun[identity] = asyncio.create_task(self._get(resource, identity))
        self._ahead |= begun
        try:
            yield
        finally:
            for identity, read in begun.items():
                # What failed and was of use to nobody must not be told as lost.
                if not read.cancel() and not read.cancelled():
                    read.exception()
                if self._ahead.get(identity) is read:
                    del self._ahead[identity]

    async def look(self, resource: ApiResource, namespace: str, name: str) -> Object:
        """An object as it is, or was when it was read ahead; NotFound if there is none."""
        identity = Ref(resource.kind, namespace, name)
        read = self._ahead.get(identity)
        return await (asyncio.shield(read) if read else self._get(resource, identity))

    async def write(self, wanted: Object) -> bool:
        """See to it that an object is as wanted; whether it had to be written.

        One that is being deleted is left alone: who wants it is woken when it is gone.
        """
        identity = ref_of_manifest(wanted)
        digest = await self._digest(identity, wanted)
        async with self._turns[identity]:
            if self._is_right(identity, digest) and not self.is_replacing(identity):
                return False
            with self._holding(identity), rights_named(wanted):
                written = await self._write(wanted, identity, digest)
                await self._over(identity)
                return written

    async def check(self, wanted: Object, *, alone: bool = False) -> None:
        """`Invalid`, or `Forbidden`, where the server would refuse an object that must be written.

        Asked before anything is written, so that the rest stays as it is too. One that is not
        there, and is needed by nothing that is there (`alone`), need not be asked for: it is
        refused when it is made.
        """
        identity = ref_of_manifest(wanted)
        digest = await self._digest(identity, wanted)
        async with self._turns[identity]:
            if self._is_right(identity, digest):
                return
            with self._holding(identity):
                live = await self._live(wanted)
                if live is not None and self._found_right(wanted, digest, live):
                    return
        if live is None:
            if alone:
                return
            await self.owners.confirm(wanted)
        content = {name: value for name, value in wanted.items() if name != "metadata"}
        if live is None or drift(content, as_claimed(live), FIELD_MANAGER) is not None:
            await self._check_acceptable(wanted)

    async def create(self, wanted: Object) -> None:
        """Make an object, unless there is one of its name, whatever that is like."""
        with suppress(AlreadyExists), rights_named(wanted):
            await self.owners.confirm(wanted)
            self.saw(wanted["kind"], await self._client.create(wanted, manager=FIELD_MANAGER))

    async def delete(
        self, resource: ApiResource, metadata: ObjectMeta, propagation: str = "Background"
    ) -> None:
        """Delete the object that has this metadata, and no other of its name or version."""
        namespace, name, answer = metadata.namespace, metadata.name or "", None
        with suppress(NotFound):
            try:
                answer = await self._client.delete(
                    resource,
                    namespace,
                    name,
                    uid=metadata.uid,
                    resource_version=metadata.resource_version,
                    propagation=propagation,
                )
            except Conflict:
                # It may be about another object of the name, which is not meant, or about this one.
                live = await self._client.get(resource, namespace, name)
                if live["metadata"].get("uid") == metadata.uid:
                    # The watch may be late, and so may be what was decided.
                    self.saw(resource.kind, live)
                    raise
        self.forget(resource.kind, metadata)
        if answer and answer.get("kind") != "Status":
            self.saw(resource.kind, answer)
        elif self._answered:
            self._answered.lost(resource.kind, metadata)

    def saw(self, kind: str, live: Object) -> bool:
        """Let the caches know what the server answered; whether the object is still there."""
        return self._answered is None or self._answered.saw(kind, live)

    # --- One object -------------------------------------------------------------------------------

    async def _write(self, wanted: Object, identity: Ref, digest: bytes) -> bool:
        if await self._replaced_unread(wanted, identity, digest):
            return True
        made: Object | None = None
        for attempt in range(1, _ATTEMPTS + 1):
            again = made is not None
            try:
                live = await self.settled(wanted, await self._live(wanted, again=attempt > 1))
                if live is not None and live["metadata"].get("deletionTimestamp"):
                    self._checked.pop(identity, None)
                    return False
                if live is not None and self._found_right(wanted, digest, live):
                    return again
                made = await (self._applied(wanted, live) if live else self._made(wanted))
            except Outdated:
                raise
            except (AlreadyExists, Conflict):
                if attempt == _ATTEMPTS:
                    raise
                continue
            # What others added since it was read stands beside what was applied: once more.
            if self._found_right(wanted, digest, made) or again:
                break
        if made is not None:
            self._remember(wanted, digest, made)
        return True

    async def _replaced_unread(self, wanted: Object, identity: Ref, digest: bytes) -> bool:
        """Replace the data, if the object is still the version that was right before."""
        known, metadata = self._checked.get(identity), self._current(identity)
        if (
            not protobuf.knows(identity.kind)
            or known is None
            or metadata is None
            or not known.sole
            or known.essence != essence(identity.kind, metadata)
            or known.named != _named(wanted)
        ):
            return False
        try:
            made = await self._client.replace(
                _carried_along(wanted, metadata), manager=FIELD_MANAGER
            )
        except Forbidden as error:
            self._refusals.tell("cannot replace an object, it is patched instead", error)
            return False
        except (Conflict, NotFound, Invalid):
            return False
        except ApiError as error:
            if error.status != _UNSUPPORTED:
                raise
            return False
        self._remember(wanted, digest, made)
        return True

    def _found_right(self, wanted: Object, digest: bytes, live: Object) -> bool:
        if drift(beside_others(wanted, live), as_claimed(live), FIELD_MANAGER) is not None:
            return False
        self._remember(wanted, digest, live)
        return True

    def _is_right(self, identity: Ref, digest: bytes) -> bool:
        checked = self._checked.get(identity)
        if checked is None or checked.wanted != digest:
            return False
        metadata = self._current(identity)
        # A cache that does not show a new object yet is no reason to write it again: what is
        # deleted is forgotten here.
        return metadata is None or essence(identity.kind, metadata) == checked.essence

    async def _live(self, wanted: Object, *, again: bool = False) -> Object | None:
        """An object as it is; what is known not to be there is asked for only if that was wrong."""
        identity = ref_of_manifest(wanted)
        read = self._ahead.pop(identity, None)
        missed = self._missed.pop(identity, -math.inf) > _now() - _FRESH_SECONDS
        try:
            if not again and read is None and (missed or self._absent(identity)):
                return None
            if read is not None:
                with suppress(ApiError):
                    return await read
            return await self._get(resource_of(wanted), identity)
        except NotFound:
            return None

    async def _get(self, resource: ApiResource, identity: Ref) -> Object:
        _, namespace, name = identity
        try:
            return await self._client.get(resource, namespace, name)
        except NotFound:
            fresh = _now() - _FRESH_SECONDS
            self._missed = {one: at for one, at in self._missed.items() if at > fresh}
            self._missed[identity] = _now()
            raise

    async def _made(self, wanted: Object) -> Object:
        """Make an object that is not there, if what it belongs to is."""
        await self.owners.confirm(wanted)
        if self._replacing is not None and wanted["kind"] == "StatefulSet":
            return await self._replacing.made(wanted)
        if protobuf.knows(wanted["kind"]) and _is_large(wanted):
            return await self._made_large(wanted)
        return await self._client.apply(wanted, manager=FIELD_MANAGER)

    async def _made_large(self, wanted: Object) -> Object:
        """Make an object in half the time of the server that an apply of so much would take."""
        try:
            made = await self._client.make(wanted, manager=FIELD_MANAGER)
        except ApiError as error:
            if error.status != _UNSUPPORTED:
                raise
            return await self._client.apply(wanted, manager=FIELD_MANAGER)
        return wanted | {"metadata": made["metadata"]}

    async def _applied(self, wanted: Object, live: Object) -> Object:
        version = (await claim(self._client, live, FIELD_MANAGER))["metadata"]["resourceVersion"]
        try:
            return await self._client.apply(
                only_at(version, beside_others(wanted, live)), manager=FIELD_MANAGER
            )
        except Invalid:
            if self._replacing is None or wanted["kind"] != "StatefulSet":
                raise
        await self._check_acceptable(beside_others(wanted, live))
        await self._replacing.remove(wanted, live, self._in_hand[ref_of_manifest(wanted)])
        return await self._made(wanted)

    # --- Replacements -----------------------------------------------------------------------------

    def is_replacing(self, identity: Ref) -> bool:
        """Whether a StatefulSet is being replaced, perhaps since before we were started."""
        return self._replacing is not None and self._replacing.is_begun(identity)

    async def settled(self, wanted: Object, live: Object | None) -> Object | None:
        """What is there; of a StatefulSet that was made anew, all have the fields they had."""
        if self._replacing is None or wanted["kind"] != "StatefulSet":
            return live
        await self._replacing.notebook.look()
        return live if live is None else await self._replacing.settled(wanted, live)

    async def _over(self, identity: Ref) -> None:
        """What is right need not be replaced any longer."""
        if self._replacing is not None and identity in self._checked:
            await self._replacing.notebook.strike(identity)

    async def _check_acceptable(self, wanted: Object) -> None:
        """`Invalid`, or `Forbidden`, where the server would not take an object like this anew."""
        asked = _named_anew(wanted)
        try:
            await self._client.apply(asked, manager=FIELD_MANAGER, dry_run=True)
        except (Forbidden, Invalid) as error:
            if isinstance(error, Forbidden) and not _is_denied(error):
                # A quota may forbid one more, which says nothing about the object.
                return
            _, namespace, name = ref_of_manifest(wanted)
            raise type(error)(
                error.verb,
                resource_of(wanted).path(namespace, name),
                error.message.replace(asked["metadata"]["name"], name),
                status=error.status,
                reason=error.reason,
                details=error.details,
            ) from None

    # --- Memory -----------------------------------------------------------------------------------

    async def _digest(self, identity: Ref, wanted: Object) -> bytes:
        """What tells one content from another; of a large one, made beside the loop."""
        known = self._checked.get(identity)
        if known is not None and known.same is wanted:
            return known.wanted
        return await asyncio.to_thread(_hashed, wanted) if _is_large(wanted) else _hashed(wanted)

    @contextmanager
    def _holding(self, identity: Ref) -> Iterator[None]:
        self._in_hand[identity] = asyncio.Event()
        try:
            yield
        finally:
            # The news of a deletion may come before the answer to what we wrote before it.
            if self._in_hand.pop(identity).is_set():
                self._checked.pop(identity, None)

    def _remember(self, wanted: Object, digest: bytes, live: Object) -> None:
        identity = ref_of_manifest(wanted)
        self._missed.pop(identity, None)
        metadata = msgspec.convert(live["metadata"], ObjectMeta)
        fields = live["metadata"].get("managedFields") or ()
        others = [each for each in fields if not _is_replaced(each)]
        sole = claimed(others, FIELD_MANAGER) is None
        now = essence(identity.kind, metadata)
        same = None if wanted["kind"] == "Secret" and _is_large(wanted) else wanted
        self._checked[identity] = _Checked(digest, same, metadata, now, sole, _named(wanted))
        if not self.saw(identity.kind, live):
            del self._checked[identity]
            path = resource_of(wanted).path(identity.namespace, identity.name)
            raise Conflict("patch", path, "it was deleted while it was looked at")


def _now() -> float:
    return asyncio.get_running_loop().time()


def _is_large(wanted: Object) -> bool:
    return sum(map(len, (wanted.get("data") or {}).values())) > _LARGE


def _hashed(wanted: Object) -> bytes:
    return hashlib.sha256(msgspec.json.encode(wanted, order="sorted")).digest()


def _named(wanted: Object) -> frozenset[str]:
    """What is wanted in the metadata, by name: what is dropped of that must be removed."""
    metadata = wanted["metadata"]
    owners = (each["uid"] for each in metadata.get("ownerReferences") or ())
    return frozenset(
        (
            *(f"label {name}" for name in metadata.get("labels") or ()),
            *(f"annotation {name}" for name in metadata.get("annotations") or ()),
            *(f"owner {uid}" for uid in owners),
        )
    )


def _carried_along(wanted: Object, metadata: ObjectMeta) -> Object:
    """An object to replace the one with this metadata, of which others keep what they added."""
    found: Object = msgspec.to_builtins(metadata)
    kept = {name: found[name] for name in _CARRIED if found.get(name) is not None}
    for name in ("labels", "annotations"):
        together = (kept.get(name) or {}) | (wanted["metadata"].get(name) or {})
        kept |= {name: together} if together else {}
    return wanted | {"metadata": kept}


def _named_anew(wanted: Object) -> Object:
    """The same object under a name that nobody has, to ask the server what it thinks of it."""
    metadata = wanted["metadata"]
    name: str = metadata["name"]
    start = name[: _LONGEST_NAME - _SUFFIX_LENGTH - 1].rstrip(".-")
    suffix = hashlib.sha256(f"check {name}".encode()).hexdigest()[:_SUFFIX_LENGTH]
    return wanted | {"metadata": metadata | {"name": f"{start}-{suffix}"}}


def _is_denied(error: Forbidden) -> bool:
    """Whether a policy or webhook of the cluster says no to what an object is."""
    return any(words in error.message for words in _DENIED)


def _is_replaced(entry: Object) -> bool:
    """Whether this is what we replaced; it is as much ours as what we applied."""
    return (entry["manager"], entry["operation"]) == (FIELD_MANAGER, "Update")


def essence(kind: str, metadata: ObjectMeta) -> Any:
    """What of the metadata changes whenever somebody changes more than the status."""
    if kind not in _WITH_GENERATION:
        return metadata.resource_version
    return (
        metadata.uid,
        metadata.generation,
        metadata.labels,
        metadata.annotations,
        metadata.owner_references,
    )
