"""An API server that tells objects from memory: what the operator asks for portions, and no more.

Lists as streams, watches, whose tokens are, one pod by its name. It is for what needs thousands of
objects, or events at chosen moments; what an API server really does is tested in `tests/live`.
"""

from __future__ import annotations

import asyncio
import base64
import json
import threading
import time
from collections import defaultdict
from collections.abc import Iterable, Iterator
from typing import Any, Final
from urllib.parse import parse_qs, urlsplit

from stoker.build.portions import AUDIENCE

Object = dict[str, Any]
PLACES: Final = {
    "Node": "/api/v1/nodes",
    "Service": "/api/v1/services",
    "Pod": "/api/v1/pods",
    "EndpointSlice": "/apis/discovery.k8s.io/v1/endpointslices",
}
_BEGUN: Final = b"HTTP/1.1 200 OK\r\nContent-Type: application/json\r\n"
_END: Final = {"k8s.io/initial-events-end": "true"}
_POD_NAME, _POD_UID = (f"authentication.kubernetes.io/pod-{each}" for each in ("name", "uid"))


def token_of(namespace: str, pod: str, uid: str) -> str:
    """A token for the operator that the server takes for this pod's."""
    claims = {"aud": [AUDIENCE], "exp": time.time() + 7200}
    parts: tuple[Object, ...] = ({}, claims, {"namespace": namespace, "pod": pod, "uid": uid})
    return ".".join(map(_encoded, parts))


def _encoded(what: Object) -> str:
    return base64.urlsafe_b64encode(json.dumps(what).encode()).decode().rstrip("=")


def _decoded(text: str) -> Object:
    found: Object = json.loads(base64.urlsafe_b64decode(text + "=" * (-len(text) % 4)))
    return found


class ToldObjects:
    """A server of these objects; `tell` changes one, in the thread of the server."""

    def __init__(self, objects: Iterable[Object]) -> None:
        self.port = 0
        self.loop = asyncio.new_event_loop()
        self._version = 1
        self._objects: dict[str, dict[tuple[str, str], Object]] = defaultdict(dict)
        for each in objects:
            self._keep(each)
        self._watching: dict[str, set[asyncio.StreamWriter]] = defaultdict(set)
        self._history: dict[str, list[tuple[int, bytes]]] = defaultdict(list)
        self._is_up = threading.Event()
        self._stopping: asyncio.Event
        self._thread = threading.Thread(target=self._run, daemon=True)
        self._thread.start()
        self._is_up.wait()

    def close(self) -> None:
        """End it, with all connections."""
        self.loop.call_soon_threadsafe(self._stopping.set)
        self._thread.join()
        self.loop.close()

    def tell(self, kind: str, what: Object) -> None:
        """Have an object be so from now on; what is said of it is its event."""
        self.loop.call_soon_threadsafe(self._told, kind, what)

    def _told(self, kind: str, what: Object) -> None:
        self._keep(what)
        if kind == "DELETED":
            del self._objects[what["kind"]][_place(what)]
        line = _line(kind, what)
        self._history[what["kind"]].append((self._version, line))
        for writer in self._watching[what["kind"]]:
            writer.write(_chunk(line))

    def _keep(self, what: Object) -> None:
        self._version += 1
        what["metadata"]["resourceVersion"] = str(self._version)
        self._objects[what["kind"]][_place(what)] = what

    def _run(self) -> None:
        self.loop.run_until_complete(self._serve())

    async def _serve(self) -> None:
        self._stopping = asyncio.Event()
        server = await asyncio.start_server(self._answer, "127.0.0.1", 0)
        self.port = server.sockets[0].getsockname()[1]
        self._is_up.set()
        await self._stopping.wait()
        server.close()
        answering = asyncio.all_tasks() - {asyncio.current_task()}
        for each in answering:
            each.cancel()
        await asyncio.gather(*answering, return_exceptions=True)

    async def _answer(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        try:
            while True:
                head = (await reader.readuntil(b"\r\n\r\n")).decode()
                lengths = [x for x in head.lower().split("\r\n") if x.startswith("content-length:")]
                body = await reader.readexactly(int(lengths[0].split(":")[1]) if lengths else 0)
                await self._one(head.split(" ")[1], body, writer)
        except (asyncio.IncompleteReadError, OSError, asyncio.CancelledError):
            pass
        finally:
            for each in self._watching.values():
                each.discard(writer)
            writer.close()

    async def _one(self, target: str, body: bytes, writer: asyncio.StreamWriter) -> None:
        path, query = urlsplit(target).path, parse_qs(urlsplit(target).query)
        if path.endswith("/tokenreviews"):
            _write_whole(writer, _review(json.loads(body)))
        elif "watch" not in query:
            place = path.split("/")[4], query["fieldSelector"][0].partition("=")[2]
            found = self._objects["Pod"].get(place)
            _write_whole(writer, {"items": [found] if found else []})
        else:
            kind = next(each for each, place in PLACES.items() if place == path)
            writer.write(_BEGUN + b"Transfer-Encoding: chunked\r\n\r\n")
            for line in self._listed(kind) if "sendInitialEvents" in query else ():
                writer.write(_chunk(line))
                await writer.drain()
            if "sendInitialEvents" not in query:
                seen = int(query["resourceVersion"][0])
                for version, line in self._history[kind]:
                    writer.write(_chunk(line) if version > seen else b"")
                self._watching[kind].add(writer)
                await asyncio.sleep(float(query["timeoutSeconds"][0]))
                self._watching[kind].discard(writer)
                writer.write(b"0\r\n\r\n")

    def _listed(self, kind: str) -> Iterator[bytes]:
        for each in list(self._objects[kind].values()):
            yield _line("ADDED", each)
        metadata = {"resourceVersion": str(self._version), "annotations": _END}
        yield _line("BOOKMARK", {"kind": kind, "metadata": metadata})


def _place(what: Object) -> tuple[str, str]:
    return what["metadata"].get("namespace", ""), what["metadata"]["name"]


def _line(kind: str, what: Object) -> bytes:
    return json.dumps({"type": kind, "object": what}, separators=(",", ":")).encode() + b"\n"


def _chunk(data: bytes) -> bytes:
    return b"%x\r\n%b\r\n" % (len(data), data)


def _write_whole(writer: asyncio.StreamWriter, what: Object) -> None:
    data = json.dumps(what).encode()
    writer.write(_BEGUN + b"Content-Length: %d\r\n\r\n" % len(data) + data)


def _review(asked: Object) -> Object:
    """Every token is good, and of the pod that it names."""
    owner = _decoded(asked["spec"]["token"].rpartition(".")[2])
    user = {
        "username": f"system:serviceaccount:{owner['namespace']}:agents",
        "extra": {_POD_NAME: [owner["pod"]], _POD_UID: [owner["uid"]]},
    }
    return {
        "status": {"authenticated": True, "audiences": asked["spec"]["audiences"], "user": user}
    }
