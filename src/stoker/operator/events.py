"""Kubernetes Events: what a user sees with `kubectl describe`.

An event is a courtesy: it waits in a short line of its own, is said once for as long as it stays
true, and one that cannot be written is dropped, never retried in the way of real work.

The name of an event is made from what it says, of what and by whom. So when the same comes back, or
another replica says it again, the API server has it already: its series is counted on.
"""

import asyncio
import hashlib
import os
import socket
from collections import OrderedDict
from collections.abc import Callable
from datetime import UTC, datetime
from typing import Final, TypeVar

from msgspec import Struct

from stoker.api.core import Object, ObjectMeta
from stoker.errors import StokerError
from stoker.kube.client import Client
from stoker.kube.errors import AlreadyExists, ApiError, NotLeading, asked_wait
from stoker.kube.resources import EVENT

K = TypeVar("K")
V = TypeVar("V")

INVALID_CONFIGURATION: Final = "InvalidConfiguration"
SELECTING: Final = "SelectingConfigurationResources"
RECONCILING: Final = "Reconciling"

_LONGEST_NOTE: Final = 1024
_MORE: Final = "…".encode()
_LONGEST_NAME: Final = 200
_REMEMBERED: Final = 20_000
_WAITING: Final = 1_000


class Subject(Struct, frozen=True):
    """The object that an event is about."""

    api_version: str
    kind: str
    metadata: ObjectMeta


class Events:
    """Says things about objects, each once.

    `problem` hears of what could not be written.
    """

    def __init__(self, client: Client, problem: Callable[[StokerError], None]) -> None:
        self._client = client
        self._problem = problem
        self._said: OrderedDict[tuple[str, str], str] = OrderedDict()
        self._times: OrderedDict[str, int] = OrderedDict()
        self._line: asyncio.Queue[Object] = asyncio.Queue(_WAITING)
        self._instance = f"{socket.gethostname()}-{os.getpid()}"[:128]

    def warn(self, subject: Subject, about: str, note: str, action: str = SELECTING) -> None:
        """Say what is wrong with an object; `about` tells apart who says it."""
        key, note = (subject.metadata.uid or "", about), _bounded(note)
        if self._said.get(key) == note or self._line.full():
            return
        self.known(*key, note)
        self._line.put_nowait(self._event(subject, about, note, action))

    def known(self, uid: str, about: str, note: str) -> None:
        """Somebody before us has said it: it is not said again."""
        _remember(self._said, (uid, about), _bounded(note))

    def settled(self, uid: str, about: str) -> None:
        """Nothing is wrong any longer: the same is said again if it comes back."""
        self._said.pop((uid, about), None)

    async def run(self) -> None:
        """Write events for ever."""
        while True:
            event = await self._line.get()
            try:
                await self._write(event)
            except (ApiError, NotLeading) as error:
                self._problem(error)
                await asyncio.sleep(asked_wait(error))

    async def _write(self, event: Object) -> None:
        metadata = event["metadata"]
        times = self._times.get(metadata["name"], 0) + 1
        try:
            await self._client.create(event)
        except AlreadyExists:
            times = max(times, 2)
            series = {"count": times, "lastObservedTime": event["eventTime"]}
            await self._client.merge_patch(
                EVENT, metadata["namespace"], metadata["name"], {"series": series}
            )
        _remember(self._times, metadata["name"], times)

    def _event(self, subject: Subject, about: str, note: str, action: str) -> Object:
        metadata = subject.metadata
        regarding = {
            "apiVersion": subject.api_version,
            "kind": subject.kind,
            "namespace": metadata.namespace,
            "name": metadata.name,
            "uid": metadata.uid,
            "resourceVersion": metadata.resource_version,
        }
        return {
            "apiVersion": EVENT.api_version,
            "kind": EVENT.kind,
            "metadata": {
                "name": _name(metadata, about, note),
                "namespace": metadata.namespace,
            },
            "eventTime": datetime.now(UTC).isoformat(timespec="microseconds"),
            "reportingController": "stoker",
            "reportingInstance": self._instance,
            "action": action,
            "reason": INVALID_CONFIGURATION,
            "regarding": {name: value for name, value in regarding.items() if value},
            "note": note,
            "type": "Warning",
        }


def _bounded(note: str) -> str:
    """As much of a note as an event can hold; the API server counts bytes."""
    encoded = note.encode("utf-8", "replace")
    if len(encoded) <= _LONGEST_NOTE:
        return encoded.decode()
    return encoded[: _LONGEST_NOTE - len(_MORE)].decode(errors="ignore") + _MORE.decode()


def _name(metadata: ObjectMeta, about: str, note: str) -> str:
    """The same for the same words about the same object."""
    said = "\n".join((metadata.uid or "", about, note))
    digest = hashlib.sha256(said.encode("utf-8", "replace")).hexdigest()[:16]
    return f"{(metadata.name or '')[:_LONGEST_NAME].rstrip('.-')}.{digest}"


def _remember(known: OrderedDict[K, V], key: K, value: V) -> None:
    """Keep the latest of what there would be too much of."""
    known[key] = value
    known.move_to_end(key)
    if len(known) > _REMEMBERED:
        known.popitem(last=False)
