"""What the server shows, and whom agents are to trust: made here, in a Secret.

The leader makes what is due, and every replica shows what the Secret holds.
"""

import asyncio
from datetime import UTC, datetime
from typing import Final

import msgspec
from msgspec import Raw

from stoker.api.core import Object
from stoker.build.names import FIELD_MANAGER
from stoker.handout.identity import ServerIdentity, Shown, context_of
from stoker.handout.issued import Issued, is_due, issued_in, renewed, secret_data
from stoker.kube.client import Client
from stoker.kube.reflector import Reflector
from stoker.kube.resources import SECRET
from stoker.kube.watch import WatchScope
from stoker.logs import logger

_LOOK_SECONDS: Final = 3600.0


class OwnIdentity(ServerIdentity):
    """A certificate that the operator makes for these names, in a Secret."""

    def __init__(
        self, client: Client, place: tuple[str, str], names: tuple[str, ...], labels: dict[str, str]
    ) -> None:
        self._client = client
        self._namespace, self._name = place
        self._names = names
        self._labels = labels
        self._changed = asyncio.Event()
        self._told: Issued | None = None
        self._log = logger("node-discovery")
        selector = f"metadata.name={self._name}"
        scope = WatchScope(SECRET, namespace=self._namespace, field_selector=selector)
        self._watch: Reflector[Object] = Reflector(client, scope, _whole)
        self._watch.store.listen(lambda _old, _new: self._changed.set())

    async def run(self, shown: Shown) -> None:
        """Tell what the Secret holds, whenever that changes."""
        # Also what was seen before this began again.
        self._changed.set()
        async with asyncio.TaskGroup() as tasks:
            tasks.create_task(self._watch.run())
            while True:
                await self._changed.wait()
                self._changed.clear()
                found = issued_in(self._found)
                if found is not None and found != self._told:
                    certificate, key = found.server.certificate, found.server.key
                    shown(context_of(certificate.encode(), key.encode()), found.trusted)
                    self._told = found

    async def keep(self) -> None:
        """Make what is due, until cancelled."""
        await self._watch.ready()
        while True:
            found, now = issued_in(self._found), datetime.now(UTC)
            if is_due(found, self._names, now):
                await self._make(found, now)
            await asyncio.sleep(_LOOK_SECONDS if self._found else 1.0)

    @property
    def until(self) -> float:
        """Until when the certificate is good, as seconds since 1970; 0 as long as there is none."""
        return self._told.server.period.until.timestamp() if self._told else 0.0

    @property
    def _found(self) -> Object | None:
        return self._watch.store.get(self._namespace, self._name)

    async def _make(self, found: Issued | None, now: datetime) -> None:
        made = await asyncio.to_thread(self._renewed, found, now)
        known = self._found
        if known is None:
            metadata = {"name": self._name, "namespace": self._namespace, "labels": self._labels}
            answer = await self._client.create(_secret(metadata, made), manager=FIELD_MANAGER)
        else:
            # In the version that was seen: what another leader made meanwhile must not be lost.
            changed = _secret(known["metadata"], made)
            answer = await self._client.update(changed, manager=FIELD_MANAGER)
        self._watch.saw(answer)
        self._log.info("a certificate was made", until=made.server.period.until.isoformat())

    def _renewed(self, found: Issued | None, now: datetime) -> Issued:
        from stoker.handout import issuing

        return renewed(found, self._names, now, issuing.new_authority, issuing.new_certificate)


def _secret(metadata: Object, made: Issued) -> Object:
    return {
        "apiVersion": SECRET.api_version,
        "kind": SECRET.kind,
        "metadata": metadata,
        "data": secret_data(made),
    }


def _whole(raw: Raw) -> Object:
    found: Object = msgspec.json.decode(raw)
    return found
