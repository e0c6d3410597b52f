"""Whether what objects are made or deleted for is still what the caches know.

The news that a workload was deleted, or is another one of the same name, or wants something else,
may be late. Then objects would be made for one that is gone, and the garbage collector would remove
them, again and again; or objects would be deleted that are wanted by now. Nothing that the server
checks can prevent that, so it is asked, just before: once for all objects of a moment, and only
where one is made that was not there, or deleted. What exists and is changed needs no question, for
it has an owner, or goes with it.
"""

import asyncio
from collections.abc import Sequence
from typing import Final, Protocol

from stoker.api.core import Object, ObjectMeta
from stoker.kube.client import METADATA_ONLY_LIST, Client
from stoker.kube.errors import Conflict, Forbidden
from stoker.kube.resources import ApiResource, resource_of
from stoker.logs import logger
from stoker.operator.refusals import Refusals

# The objects of a workload are written one after the other.
_FRESH_SECONDS: Final = 1.0


class Outdated(Conflict):
    """What an object belongs to is another by now, or gone: trying again does not help."""


class Answered(Protocol):
    """Hears what the server answers, so that no cache is behind it (`stoker.kube.store`)."""

    def saw(self, kind: str, live: Object) -> bool:
        """An object is like this; whether it is still there."""

    def lost(self, kind: str, metadata: ObjectMeta) -> None:
        """The object with this metadata is gone."""

    def seen(self, kind: str, namespace: str | None, name: str) -> str:
        """The version in which an object is known; nothing if it is not."""


class Owners:
    """Asks for the owners of objects; `answered` hears of those that are gone."""

    def __init__(self, client: Client, answered: Answered | None = None) -> None:
        self._client = client
        self._answered = answered
        self._refusals = Refusals(logger("owners"))
        # What was found of each, by its uid, and when.
        self._found: dict[str, tuple[int, float]] = {}

    async def confirm(self, wanted: Object) -> None:
        """Outdated, if nothing that a new object would belong to exists any longer."""
        metadata = wanted["metadata"]
        owners: Sequence[Object] = metadata.get("ownerReferences") or ()
        for position, each in enumerate(owners, 1):
            try:
                await self.generation(
                    resource_of(each), metadata.get("namespace"), each["name"], each["uid"]
                )
                return
            except Outdated:
                if position == len(owners):
                    raise

    async def confirm_generation(
        self, resource: ApiResource, namespace: str | None, name: str, uid: str, generation: int
    ) -> None:
        """Outdated, if a workload is gone, or wants something else by now."""
        found = await self.generation(resource, namespace, name, uid)
        if found not in (None, generation):
            raise _outdated(resource, namespace, name)

    async def generation(
        self, resource: ApiResource, namespace: str | None, name: str, uid: str
    ) -> int | None:
        """The generation of an owner, None if we cannot know; Outdated if it is not there."""
        now = asyncio.get_running_loop().time()
        self._found = {
            each: (seen, at)
            for each, (seen, at) in self._found.items()
            if at > now - _FRESH_SECONDS
        }
        if uid not in self._found:
            try:
                found = await self._client.find(
                    resource,
                    namespace,
                    name,
                    seen=self._seen(resource, namespace, name),
                    accept=METADATA_ONLY_LIST,
                )
            except Forbidden as error:
                self._refusals.tell("whether an owner exists is not checked", error)
                return None
            metadata = found["metadata"] if found else {}
            if metadata.get("uid") != uid:
                if self._answered:
                    gone = ObjectMeta(namespace=namespace, name=name, uid=uid)
                    self._answered.lost(resource.kind, gone)
                raise _outdated(resource, namespace, name)
            self._found[uid] = (metadata.get("generation") or 0, now)
        return self._found[uid][0]

    def _seen(self, resource: ApiResource, namespace: str | None, name: str) -> str:
        return self._answered.seen(resource.kind, namespace, name) if self._answered else ""


def _outdated(resource: ApiResource, namespace: str | None, name: str) -> Outdated:
    said = f"{resource.kind} is another by now, or gone, and the news has not come yet"
    return Outdated("list", resource.path(namespace, name), said)
