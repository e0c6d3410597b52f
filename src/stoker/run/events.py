"""Kubernetes Events: what a user sees with `kubectl describe`.

An event is a courtesy: it waits in a short line of its own, is said once for as long as it stays
true, and one that cannot be written is dropped, never retried in the way of real work.
"""

import asyncio
import os
import socket
from collections import OrderedDict
from collections.abc import Callable
from datetime import UTC, datetime
from typing import Final

from msgspec import Struct

from stoker.api.core import Object, ObjectMeta
from stoker.kube.client import Client
from stoker.kube.errors import ApiError
from stoker.kube.resources import EVENT

INVALID_CONFIGURATION: Final = "InvalidConfiguration"
SELECTING: Final = "SelectingConfigurationResources"

_LONGEST_NOTE: Final = 1024
_REMEMBERED: Final = 20_000
_WAITING: Final = 1_000


class Subject(Struct, frozen=True):
    """The object that an event is about."""

    api_version: str
    kind: str
    metadata: ObjectMeta


class Events:
    """Says things about objects, each once.

    `problem` is told of what could not be written.
    """

    def __init__(self, client: Client, problem: Callable[[ApiError], None]) -> None:
        self._client = client
        self._problem = problem
        self._said: OrderedDict[tuple[str, str], str] = OrderedDict()
        self._line: asyncio.Queue[Object] = asyncio.Queue(_WAITING)
        self._instance = f"{socket.gethostname()}-{os.getpid()}"[:128]

    def warn(self, subject: Subject, about: str, note: str, action: str = SELECTING) -> None:
        """Say what is wrong with an object; `about` tells apart who says it."""
        key = (subject.metadata.uid or "", about)
        if self._said.get(key) == note or self._line.full():
            return
        self._said[key] = note
        self._said.move_to_end(key)
        if len(self._said) > _REMEMBERED:
            self._said.popitem(last=False)
        self._line.put_nowait(self._event(subject, note, action))

    def settled(self, uid: str, about: str) -> None:
        """Nothing is wrong any longer: the same is said again if it comes back."""
        self._said.pop((uid, about), None)

    async def run(self) -> None:
        """Write events for ever."""
        while True:
            event = await self._line.get()
            try:
                await self._client.create(event)
            except ApiError as error:
                self._problem(error)

    def _event(self, subject: Subject, note: str, action: str) -> Object:
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
                # What the API server adds must not make it longer than a name may be.
                "generateName": f"{(metadata.name or '')[:200]}-",
                "namespace": metadata.namespace,
            },
            "eventTime": datetime.now(UTC).isoformat(timespec="microseconds"),
            "reportingController": "stoker",
            "reportingInstance": self._instance,
            "action": action,
            "reason": INVALID_CONFIGURATION,
            "regarding": {name: value for name, value in regarding.items() if value},
            "note": note if len(note) <= _LONGEST_NOTE else f"{note[: _LONGEST_NOTE - 1]}…",
            "type": "Warning",
        }
