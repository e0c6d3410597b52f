"""Who else looks after our workloads, asked when somebody looks at the page.

`managedFields` say so (`explain.rivals`), which the caches leave out. So these are read,
once for each state of a workload, with the right to get workloads that the operator has anyway.
"""

import asyncio
from collections.abc import Iterable, Mapping
from typing import Final

from stoker.cluster.kinds import WORKLOADS
from stoker.kube.client import METADATA_ONLY, Client
from stoker.kube.errors import ApiError, NotFound
from stoker.ref import Ref, ref_of
from stoker.select.workload import Workload
from stoker.view.rivals import rivals_of

_AT_ONCE: Final = 8
_PATIENCE_SECONDS: Final = 2.0
_LATE: Final = "the API server has not told in time"


class Rivals:
    """What is known of each workload; `unknown` says why some are missing."""

    def __init__(self, client: Client) -> None:
        self._client = client
        self._known: dict[Ref, tuple[str, tuple[str, ...]]] = {}
        self.unknown = ""

    @property
    def names(self) -> Mapping[Ref, tuple[str, ...]]:
        """The operators that share a workload, by its kind, namespace and name."""
        return {identity: names for identity, (_, names) in self._known.items()}

    async def look(self, workloads: Iterable[Workload]) -> None:
        """Ask for what has changed since the last look; nobody is kept waiting for long."""
        states = {ref_of(each): each.metadata.resource_version or "" for each in workloads}
        self._known = {
            identity: known
            for identity, known in self._known.items()
            if known[0] == states.get(identity)
        }
        self.unknown = ""
        gate = asyncio.Semaphore(_AT_ONCE)
        asked = [self._ask(gate, *each) for each in states.items() if each[0] not in self._known]
        try:
            async with asyncio.timeout(_PATIENCE_SECONDS):
                await asyncio.gather(*asked)
        except TimeoutError:
            self.unknown = _LATE

    async def _ask(self, gate: asyncio.Semaphore, identity: Ref, state: str) -> None:
        kind, namespace, name = identity
        resource = WORKLOADS[kind].resource
        async with gate:
            try:
                found = await self._client.get(resource, namespace, name, accept=METADATA_ONLY)
            except NotFound:
                return
            except ApiError as error:
                self.unknown = str(error)
                return
        self._known[identity] = state, rivals_of(found["metadata"].get("managedFields"))
