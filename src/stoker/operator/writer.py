"""Objects as they should be, written only where they are not so.

What was right and did not change since (`checked`) is left alone. Otherwise the object is read
(`lookups`) and compared, which finds what others did to it; it is applied only if that made a
difference. A Secret of which we know that nobody touched it is replaced without reading it first,
and in binary form: it may be large, and a configuration waits for it.
"""

import asyncio
import hashlib
from collections import defaultdict
from collections.abc import Callable, Iterable, Iterator
from contextlib import AbstractContextManager, contextmanager, suppress
from typing import Final

import msgspec

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
from stoker.kube.takeover import claim
from stoker.logs import logger
from stoker.operator.checked import CheckedObjects, is_large
from stoker.operator.lookups import Lookups
from stoker.operator.owners import Answered, Outdated, Owners
from stoker.operator.refusals import Refusals, rights_named
from stoker.operator.replacing import Replacing
from stoker.ref import Ref, ref_from, ref_of_manifest

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
# Others may change an object between our reading and writing it, but not for ever.
_ATTEMPTS: Final = 4
# No object has this version: etcd begins with it, empty. An apply that names it makes an object, or
# is a `Conflict` where there is one.
_OF_NOTHING: Final = "1"
# A name that is longer might be refused though a shorter one is not.
_LONGEST_NAME: Final = 63
_SUFFIX_LENGTH: Final = 10
# What the server says for webhooks and policies.
_DENIED: Final = ("denied the request", "denied request")


class Writer:
    """Writes objects of workloads.

    `current` gives the metadata that the caches have of an object, None if there is none, and
    `absent` tells whether they would know of it if it were ours; `answered` are those caches, if
    they should hear what the server answers. Without `replacing`, a StatefulSet that cannot become
    what is wanted is `Invalid`.
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
        self._answered = answered
        self._replacing = replacing
        self.owners = Owners(client, answered)
        self._refusals = Refusals(logger("writer"))
        self._checked = CheckedObjects(current)
        self._lookups = Lookups(client, absent)
        # Objects that are being written, and whether the news came that they were deleted.
        self._in_hand: dict[Ref, asyncio.Event] = {}
        # An object may belong to several workloads.
        self._turns: defaultdict[Ref, asyncio.Lock] = defaultdict(asyncio.Lock)

    @property
    def entries(self) -> int:
        """Of how many objects it is known that they are right."""
        return len(self._checked)

    def is_written(self, kind: str, metadata: ObjectMeta) -> bool:
        """Whether this is the version of an object that was written or found right."""
        return self._checked.is_version(kind, metadata)

    def forget(self, kind: str, metadata: ObjectMeta) -> None:
        """An object is gone."""
        identity = ref_from(kind, metadata)
        self._checked.forget(identity)
        if identity in self._in_hand:
            self._in_hand[identity].set()
        else:
            self._turns.pop(identity, None)

    def forget_all(self) -> None:
        """Another operator may have written what it likes."""
        self._checked.clear()

    def reading_ahead(
        self, found: Iterable[tuple[ApiResource, ObjectMeta]]
    ) -> AbstractContextManager[None]:
        """Read objects that will be compared, while it is found out what they should be.

        One after the other would take as long as all of them together.
        """
        return self._lookups.ahead(found, lambda ref: ref in self._checked)

    async def look(self, resource: ApiResource, namespace: str, name: str) -> Object:
        """An object as it is, or was when it was read ahead; NotFound if there is none."""
        return await self._lookups.look(resource, Ref(resource.kind, namespace, name))

    async def write(self, wanted: Object) -> bool:
        """See to it that an object is as wanted; whether it had to be written.

        One that is being deleted is left alone: who wants it is woken when it is gone.
        """
        identity = ref_of_manifest(wanted)
        digest = await self._checked.digest(identity, wanted)
        async with self._turns[identity]:
            if self._checked.is_right(identity, digest) and not self.is_replacing(identity):
                return False
            with self._holding(identity), rights_named(wanted):
                written = await self._write(wanted, identity, digest)
                await self._over(identity)
                return written

    async def check(self, wanted: Object, *, alone: bool = False) -> None:
        """`Invalid`, or `Forbidden`, where the server would refuse an object that must be written.

        Asked before anything is written, so that the rest stays as it is too. One that is not
        there, and is needed by nothing that is there (`alone`), need not be tried: it is refused
        when it is made.
        """
        identity = ref_of_manifest(wanted)
        digest = await self._checked.digest(identity, wanted)
        async with self._turns[identity]:
            if self._checked.is_right(identity, digest):
                return
            with self._holding(identity):
                live = await self._lookups.live(wanted, again=True)
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
            again, first = made is not None, attempt == 1
            try:
                live = await self.settled(wanted, await self._lookups.live(wanted, again=not first))
                if live is not None and live["metadata"].get("deletionTimestamp"):
                    self._checked.forget(identity)
                    return False
                if live is not None and self._found_right(wanted, digest, live):
                    return again
                made = await (
                    self._applied(wanted, live) if live else self._made(wanted, first=first)
                )
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
        metadata = self._checked.untouched(identity, wanted)
        if metadata is None or not protobuf.knows(identity.kind):
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

    async def _made(self, wanted: Object, *, first: bool = False) -> Object:
        """Make an object that is not there, if what it belongs to is.

        At `first` it may be there after all, which the server says then; later it was just asked.
        """
        await self.owners.confirm(wanted)
        new = only_at(_OF_NOTHING if first else None, wanted)
        if self._replacing is not None and wanted["kind"] == "StatefulSet":
            return await self._replacing.made(new)
        if protobuf.knows(wanted["kind"]) and is_large(wanted):
            return await self._made_large(wanted)
        return await self._client.apply(new, manager=FIELD_MANAGER)

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
        """What is there; of a StatefulSet that was recreated, all have the fields they had."""
        if self._replacing is None or wanted["kind"] != "StatefulSet":
            return live
        await self._replacing.notebook.look()
        return live if live is None else await self._replacing.settled(wanted, live)

    async def _over(self, identity: Ref) -> None:
        """What is right need not be replaced any longer."""
        if self._replacing is not None and identity in self._checked:
            await self._replacing.notebook.strike(identity)

    async def _check_acceptable(self, wanted: Object) -> None:
        """`Invalid`, or `Forbidden`, where the server would not create an object like this."""
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

    @contextmanager
    def _holding(self, identity: Ref) -> Iterator[None]:
        self._in_hand[identity] = asyncio.Event()
        try:
            yield
        finally:
            # The news of a deletion may come before the answer to what we wrote before it.
            if self._in_hand.pop(identity).is_set():
                self._checked.forget(identity)

    def _remember(self, wanted: Object, digest: bytes, live: Object) -> None:
        identity = ref_of_manifest(wanted)
        self._lookups.found(identity)
        self._checked.remember(wanted, digest, live)
        if not self.saw(identity.kind, live):
            self._checked.forget(identity)
            path = resource_of(wanted).path(identity.namespace, identity.name)
            raise Conflict("patch", path, "it was deleted while it was looked at")


def _carried_along(wanted: Object, metadata: ObjectMeta) -> Object:
    """An object to replace the one with this metadata, of which others keep what they added."""
    found: Object = msgspec.to_builtins(metadata)
    kept = {name: found[name] for name in _CARRIED if found.get(name) is not None}
    for name in ("labels", "annotations"):
        together = (kept.get(name) or {}) | (wanted["metadata"].get(name) or {})
        kept |= {name: together} if together else {}
    return wanted | {"metadata": kept}


def _named_anew(wanted: Object) -> Object:
    """The same object under a name that no object has, to ask the server what it thinks of it."""
    metadata = wanted["metadata"]
    name: str = metadata["name"]
    start = name[: _LONGEST_NAME - _SUFFIX_LENGTH - 1].rstrip(".-")
    suffix = hashlib.sha256(f"check {name}".encode()).hexdigest()[:_SUFFIX_LENGTH]
    return wanted | {"metadata": metadata | {"name": f"{start}-{suffix}"}}


def _is_denied(error: Forbidden) -> bool:
    """Whether a policy or webhook of the cluster says no to what an object is."""
    return any(words in error.message for words in _DENIED)
