"""One who asks for the portion of its node, as a reloader does: with a real token, over real TLS.

with Asking(server, token) as asking:
files = asking.commit()
"""

from __future__ import annotations

import http.client
import json
import re
import socket
import ssl
from base64 import b64decode
from collections.abc import Mapping
from hashlib import sha256
from types import TracebackType
from typing import Any, Final, NamedTuple, Self

from tests.live.operating import Running, World
from tools.waiting import DEADLINE

Object = dict[str, Any]

HOST: Final = "localhost"
AUDIENCE: Final = "stoker-portions"
FLAGS: Final = (
    f"--node-discovery-url=https://{HOST}:8443",
    "--node-discovery-address=127.0.0.1:0",
    "--prometheus-config-reloader=example.com/stoker:1",
)
ACCOUNT: Final = "agents"
_PORT: Final = re.compile(r"msg=listening component=node-discovery port=(\d+)")


class ServedAt(NamedTuple):
    """A port that portions are served at, and whom to trust there."""

    port: int
    ca: str

    def connected(self) -> ssl.SSLSocket:
        """A new connection."""
        context = ssl.create_default_context(cadata=self.ca)
        plain = socket.create_connection(("127.0.0.1", self.port), DEADLINE)
        return context.wrap_socket(plain, server_hostname=HOST)


def served_at(operator: Running, world: World, agent: str = "light") -> ServedAt:
    """Where an operator serves; whom to trust is what the pods of the agent are told."""

    def found() -> Any:
        port = _PORT.search(operator.log())
        secret = world.get("secret", f"prom-agent-{agent}-portions") or {}
        ca = b64decode(secret["data"]["portion-ca.pem"]).decode()
        return ServedAt(int(port[1]), ca) if port and ca else None

    made: ServedAt = world.until("the operator to serve portions", found)
    return made


def make_account(world: World) -> None:
    """A service account: the cluster has no admission that would give pods the default one."""
    path = f"/api/v1/namespaces/{world.namespace}/serviceaccounts"
    world.cluster.api.request("POST", path, {"metadata": {"name": ACCOUNT}})


def token_of(world: World, pod: Object, audience: str = AUDIENCE, seconds: int = 3600) -> str:
    """A token as the kubelet gets it for a pod."""
    of = {"kind": "Pod", "apiVersion": "v1", "name": pod["metadata"]["name"]}
    spec = {
        "audiences": [audience],
        "expirationSeconds": seconds,
        "boundObjectRef": of | {"uid": pod["metadata"]["uid"]},
    }
    path = f"/api/v1/namespaces/{world.namespace}/serviceaccounts/{ACCOUNT}/token"
    answer = world.cluster.api.request("POST", path, {"spec": spec})
    return str(answer["status"]["token"])


def request_of(token: str, have: Mapping[str, str] | None = None) -> bytes:
    """A request for a portion by somebody who has some files."""
    body = json.dumps({"have": have or {}}).encode()
    head = (
        f"POST /v1/portion HTTP/1.1\r\nHost: {HOST}\r\nAuthorization: Bearer {token}\r\n"
        f"Content-Type: application/json\r\nContent-Length: {len(body)}\r\n\r\n"
    )
    return head.encode() + body


def digest_of(text: bytes) -> str:
    """What a file is known by."""
    return sha256(text).hexdigest()[:32]


class Asking:
    """A stream; `have` is what lies on the node, as texts."""

    def __init__(
        self, server: ServedAt, token: str, have: Mapping[str, bytes] | None = None
    ) -> None:
        self.files = dict(have or {})
        self.sent = 0
        self._socket = server.connected()
        self._socket.settimeout(DEADLINE)
        digests = {path: digest_of(text) for path, text in self.files.items()}
        self._socket.sendall(request_of(token, digests))
        self._answer = http.client.HTTPResponse(self._socket)
        self._answer.begin()
        self.status = self._answer.status
        self.retry_after = self._answer.headers.get("Retry-After")
        self.first: Object = self._frame() if self.status == 200 else {}

    def commit(self) -> dict[str, bytes]:
        """What lies on the node after the next commit; EOFError at the end of the stream."""
        while True:
            frame = self._frame()
            if "file" in frame:
                text = self._answer.read(frame["size"])
                assert digest_of(text) == frame["digest"]
                self.files[frame["file"]] = text
                self.sent += 1
            for path in frame.get("gone", ()):
                del self.files[path]
            if "commit" in frame:
                self._check(frame)
                return dict(self.files)

    def until_end(self) -> None:
        """Wait until the server ends the stream, as it should be ended."""
        while self._answer.read(4096):
            pass

    def _check(self, commit: Object) -> None:
        lines = (f"{path}\0{digest_of(self.files[path])}\n" for path in sorted(self.files))
        assert commit == {"commit": digest_of("".join(lines).encode()), "files": len(self.files)}

    def _frame(self) -> Object:
        line = self._answer.readline()
        if not line:
            raise EOFError
        found: Object = json.loads(line)
        return found

    def close(self) -> None:
        """Hang up."""
        self._answer.close()
        self._socket.close()

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, _kind: type[BaseException] | None, _e: BaseException | None, _t: TracebackType | None
    ) -> None:
        self.close()


def pods_of(world: World, agent: str = "light") -> dict[str, Object]:
    """The running pods of an agent, by node."""
    label = f"app.kubernetes.io/instance={agent}"
    path = f"/api/v1/namespaces/{world.namespace}/pods?labelSelector={label}"
    found = world.cluster.api.get(path)["items"]
    return {
        each["spec"]["nodeName"]: each
        for each in found
        if each["status"].get("phase") == "Running" and "deletionTimestamp" not in each["metadata"]
    }
