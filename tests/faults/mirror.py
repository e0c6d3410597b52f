"""What is in a cluster at any moment, and every change of it, kept by watches of our own.

    with Mirror(cluster, "v1") as mirror:
        mark = mirror.mark()
        …
        mirror.objects(namespaces)        # as it is now
        mirror.changes(namespaces, mark)  # what was made, changed and deleted since

One mirror serves any number of worlds: to look at a state costs no request. It reads the API server
directly, never through a proxy that does harm, and with nothing of the operator's own client.
"""

from __future__ import annotations

import asyncio
import contextlib
import json
import ssl
import threading
import time
from collections import defaultdict
from collections.abc import Iterable
from typing import Any, NamedTuple, Self

import aiohttp
import msgspec
from msgspec.structs import replace

from stoker.kube import resources
from stoker.kube.resources import ApiResource
from stoker.roles import RESOURCES
from tools.cluster import Cluster
from tools.waiting import DEADLINE, until

Object = dict[str, Any]

SCRAPE_CONFIG = "ScrapeConfig"
MIRRORED: tuple[ApiResource, ...] = (
    resources.PROMETHEUS,
    resources.PROMETHEUS_AGENT,
    resources.ALERTMANAGER,
    resources.THANOS_RULER,
    *(resources.OURS[kind] for kind in RESOURCES if kind != SCRAPE_CONFIG),
    resources.CONFIG_MAP,
    resources.ENDPOINTS,
    resources.ENDPOINT_SLICE,
    resources.EVENT,
    resources.PERSISTENT_VOLUME_CLAIM,
    resources.POD,
    resources.POD_DISRUPTION_BUDGET,
    resources.SECRET,
    resources.SERVICE,
    resources.DAEMON_SET,
    resources.STATEFUL_SET,
)

# What controllers of Kubernetes write long after anything happened.
_LIGHT = frozenset({"events", "endpoints", "endpointslices"})
_AGAIN = 0.2
FAREWELL = 0.3
"""How many seconds connections may take to be closed."""
# Longer than anything that a campaign does without a change somewhere.
_WATCH_SECONDS = 3600


class Change(NamedTuple):
    """An object that was made or changed, or that is gone."""

    number: int
    kind: str
    gone: bool
    object: Object


class Mirror:
    """All objects of these kinds, and their changes since `forget` was last called.

    `version`: in which version the cluster has ScrapeConfigs.
    """

    def __init__(self, cluster: Cluster, version: str) -> None:
        self._cluster = cluster
        self._kinds = [*MIRRORED, replace(resources.OURS[SCRAPE_CONFIG], version=version)]
        self._loop = asyncio.new_event_loop()
        self._thread = threading.Thread(target=self._loop.run_forever, daemon=True)
        self._lock = threading.Lock()
        self._objects: dict[str, dict[tuple[str, str], Object]] = defaultdict(dict)
        self._changes: dict[str, list[Change]] = defaultdict(list)
        self._last: dict[str, float] = {}
        self._number = 0
        self._listed: set[str] = set()
        self._failure: BaseException | None = None
        self._tasks: list[asyncio.Task[None]] = []

    def __enter__(self) -> Self:
        self._thread.start()
        asyncio.run_coroutine_threadsafe(self._start(), self._loop).result(DEADLINE)
        until("all kinds to be listed", lambda: len(self._listed) == len(self._kinds))
        return self

    def __exit__(self, *_: object) -> None:
        asyncio.run_coroutine_threadsafe(self._stop(), self._loop).result(DEADLINE)
        self._loop.call_soon_threadsafe(self._loop.stop)
        self._thread.join()
        self._loop.close()

    def mark(self) -> int:
        """A place in the row of changes."""
        with self._lock:
            return self._number

    def objects(self, namespaces: Iterable[str]) -> list[tuple[str, Object]]:
        """All objects in some namespaces, each with the plural of its kind."""
        with self._lock:
            return [
                (kind, each)
                for namespace in namespaces
                for (kind, _), each in self._objects[namespace].items()
            ]

    def changes(self, namespaces: Iterable[str], mark: int) -> list[Change]:
        """What changed in some namespaces since a mark, in order."""
        with self._lock:
            found = [
                each
                for namespace in namespaces
                for each in self._changes[namespace]
                if each.number > mark
            ]
        return sorted(found, key=lambda each: each.number)

    def latest(self, namespaces: Iterable[str]) -> int:
        """The number of the last change in some namespaces."""
        if self._failure:
            raise RuntimeError("the mirror is broken") from self._failure
        with self._lock:
            last = [self._changes[each][-1].number for each in namespaces if self._changes[each]]
        return max(last, default=0)

    def last_change(self, namespaces: Iterable[str]) -> float:
        """When something of weight changed in some namespaces last, by the monotonic clock."""
        with self._lock:
            return max((self._last.get(each, 0.0) for each in namespaces), default=0.0)

    def forget(self, namespaces: Iterable[str], mark: int) -> None:
        """Nobody will ask for changes before this mark; the last one is kept."""
        with self._lock:
            for namespace in namespaces:
                known = self._changes[namespace]
                known[:-1] = [each for each in known[:-1] if each.number > mark]

    # --- Watching ---------------------------------------------------------------------------------

    async def _start(self) -> None:
        verifying = ssl.create_default_context(cafile=self._cluster.ca_file)
        self._session = aiohttp.ClientSession(
            connector=aiohttp.TCPConnector(limit=0, ssl=verifying),
            headers={"Authorization": f"Bearer {self._cluster.token}", "User-Agent": "mirror"},
            timeout=aiohttp.ClientTimeout(total=None, sock_connect=10),
            read_bufsize=2**22,
        )
        self._tasks = [asyncio.create_task(self._keep(each)) for each in self._kinds]
        for task in self._tasks:
            task.add_done_callback(self._ended)

    def _ended(self, task: asyncio.Task[None]) -> None:
        """A mirror that does not follow any more must not be believed."""
        if not task.cancelled():
            self._failure = task.exception()

    async def _stop(self) -> None:
        for task in self._tasks:
            task.cancel()
        await asyncio.gather(*self._tasks, return_exceptions=True)
        await self._session.close()
        # TLS takes leave of the other side, which is not waited for otherwise.
        await asyncio.sleep(FAREWELL)

    async def _keep(self, resource: ApiResource) -> None:
        """List and watch for ever; a server that is away, or has forgotten, is asked again."""
        while True:
            with contextlib.suppress(aiohttp.ClientError, OSError, _AgainError, ValueError):
                version = await self._list(resource)
                while True:
                    version = await self._watch(resource, version)
            await asyncio.sleep(_AGAIN)

    async def _list(self, resource: ApiResource) -> str:
        async with self._session.get(self._url(resource)) as answer:
            if answer.status != 200:
                raise _AgainError
            found = msgspec.json.decode(await answer.read())
        named = {
            (each["metadata"]["namespace"], each["metadata"]["name"]): each
            for each in found["items"]
        }
        with self._lock:
            known = {
                (namespace, name): each
                for namespace, objects in self._objects.items()
                for (kind, name), each in objects.items()
                if kind == resource.plural
            }
            for key in known.keys() - named.keys():
                self._note(resource.plural, known[key], gone=True)
            for key, each in named.items():
                if known.get(key) != each:
                    self._note(resource.plural, each, gone=False)
        self._listed.add(resource.plural)
        return str(found["metadata"]["resourceVersion"])

    async def _watch(self, resource: ApiResource, version: str) -> str:
        query = {
            "watch": "true",
            "resourceVersion": version,
            "allowWatchBookmarks": "true",
            "timeoutSeconds": str(_WATCH_SECONDS),
        }
        async with self._session.get(self._url(resource), params=query) as answer:
            if answer.status != 200:
                raise _AgainError
            async for line in answer.content:
                event = msgspec.json.decode(line)
                if event["type"] == "ERROR":
                    raise _AgainError
                version = event["object"]["metadata"]["resourceVersion"]
                if event["type"] == "BOOKMARK":
                    continue
                with self._lock:
                    self._note(resource.plural, event["object"], gone=event["type"] == "DELETED")
        return version

    def _url(self, resource: ApiResource) -> str:
        return self._cluster.url + resource.path(None)

    def _note(self, kind: str, found: Object, *, gone: bool) -> None:
        metadata = found["metadata"]
        namespace, key = metadata["namespace"], (kind, metadata["name"])
        self._number += 1
        if gone:
            self._objects[namespace].pop(key, None)
        else:
            self._objects[namespace][key] = found
        self._changes[namespace].append(Change(self._number, kind, gone, found))
        if kind not in _LIGHT:
            self._last[namespace] = time.monotonic()


class _AgainError(Exception):
    """The server will not go on from here: list anew."""


def text_of(value: Any) -> str:
    """JSON that is the same for what is the same."""
    return json.dumps(value, sort_keys=True)
