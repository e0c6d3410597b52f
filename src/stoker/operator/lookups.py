"""Objects as the server has them, asked for once where once is enough.

Several are read ahead of whoever compares them, and of what was asked for in vain it is known for
a moment that it is not there.
"""

import asyncio
import math
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager, suppress
from itertools import islice
from typing import Final

from stoker.api.core import Object, ObjectMeta
from stoker.kube.client import Client
from stoker.kube.errors import ApiError, NotFound
from stoker.kube.resources import ApiResource, resource_of
from stoker.ref import Ref, ref_from, ref_of_manifest

# So many objects of a workload are read ahead: each may be a megabyte.
_AT_ONCE: Final = 8
# For how long an object that was asked for in vain counts as missing.
_FRESH_SECONDS: Final = 1.0


class Lookups:
    """Reads objects; `absent` tells whether the caches would know of one of ours and do not."""

    def __init__(self, client: Client, absent: Callable[[Ref], bool]) -> None:
        self._client = client
        self._absent = absent
        # Objects that are being read, or were, before anybody compares them.
        self._ahead: dict[Ref, asyncio.Task[Object]] = {}
        # Objects that were asked for in vain, and when: whoever makes them need not ask again.
        self._missed: dict[Ref, float] = {}

    @contextmanager
    def ahead(
        self, found: Iterable[tuple[ApiResource, ObjectMeta]], needless: Callable[[Ref], object]
    ) -> Iterator[None]:
        """Read objects that will be compared, but for the needless, as long as this lasts.

        Each is good for one comparison; one that changes after it was read is looked at again, as
        it would be if it changed after it was compared.
        """
        begun: dict[Ref, asyncio.Task[Object]] = {}
        for resource, metadata in islice(found, _AT_ONCE):
            ref = ref_from(resource.kind, metadata)
            if ref not in self._ahead and not needless(ref):
                begun[ref] = asyncio.create_task(self._get(resource, ref))
        self._ahead |= begun
        try:
            yield
        finally:
            for ref, read in begun.items():
                # asyncio must not report as lost what failed and was of no use.
                if not read.cancel() and not read.cancelled():
                    read.exception()
                if self._ahead.get(ref) is read:
                    del self._ahead[ref]

    async def look(self, resource: ApiResource, ref: Ref) -> Object:
        """An object as it is, or was when it was read ahead; NotFound if there is none."""
        read = self._ahead.get(ref)
        return await (asyncio.shield(read) if read else self._get(resource, ref))

    async def live(self, wanted: Object, *, again: bool = False) -> Object | None:
        """An object as it is; what is known not to be there is asked for only if that was wrong."""
        ref = ref_of_manifest(wanted)
        read = self._ahead.pop(ref, None)
        missed = self._missed.pop(ref, -math.inf) > _now() - _FRESH_SECONDS
        try:
            if not again and read is None and (missed or self._absent(ref)):
                return None
            if read is not None:
                with suppress(ApiError):
                    return await read
            return await self._get(resource_of(wanted), ref)
        except NotFound:
            return None

    def found(self, ref: Ref) -> None:
        """An object was made, or found: it is not missing."""
        self._missed.pop(ref, None)

    async def _get(self, resource: ApiResource, ref: Ref) -> Object:
        try:
            return await self._client.get(resource, ref.namespace, ref.name)
        except NotFound:
            fresh = _now() - _FRESH_SECONDS
            self._missed = {one: at for one, at in self._missed.items() if at > fresh}
            self._missed[ref] = _now()
            raise


def _now() -> float:
    return asyncio.get_running_loop().time()
