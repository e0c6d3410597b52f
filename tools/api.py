"""A small client of the Kubernetes API: JSON in, JSON out, no cache, one connection per request.

It deliberately knows nothing of the operator, so that tests do not check the operator's client
with itself, and it ignores proxy settings: the server is on this machine.
"""

from __future__ import annotations

import http.client
import json
import ssl
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

TIMEOUT = 30.0


class ApiError(Exception):
    """The server answered, and said no."""

    def __init__(self, status: int, message: str) -> None:
        super().__init__(f"{status}: {message}")
        self.status = status


class Api:
    """One API server, one identity."""

    def __init__(self, url: str, token: str, ca_file: Path) -> None:
        self._address = urlsplit(url)
        self._headers = {"Authorization": f"Bearer {token}"}
        self._context = ssl.create_default_context(cafile=str(ca_file))

    def request(
        self, method: str, path: str, body: Any = None, content_type: str = "application/json"
    ) -> Any:
        """Return the answer, decoded; as text where it is not JSON."""
        content = None if body is None else json.dumps(body)
        headers = self._headers | {"Content-Type": content_type}
        connection = self._connection()
        try:
            return _answer(connection, method, path, content, headers)
        finally:
            connection.close()

    def get(self, path: str) -> Any:
        """Return what is at a path."""
        return self.request("GET", path)

    def _connection(self) -> http.client.HTTPSConnection:
        host = self._address.hostname or ""
        return http.client.HTTPSConnection(
            host, self._address.port, context=self._context, timeout=TIMEOUT
        )


class KeptApi(Api):
    """The same over a connection that is kept, for one thread that asks again and again.

    What is asked over one that was closed meanwhile is asked once more: twice, perhaps.
    """

    def __init__(self, url: str, token: str, ca_file: Path) -> None:
        super().__init__(url, token, ca_file)
        self._kept = self._connection()

    def request(
        self, method: str, path: str, body: Any = None, content_type: str = "application/json"
    ) -> Any:
        """Return the answer, decoded; as text where it is not JSON."""
        content = None if body is None else json.dumps(body)
        headers = self._headers | {"Content-Type": content_type}
        try:
            return _answer(self._kept, method, path, content, headers)
        except (OSError, http.client.HTTPException):
            # It opens by itself when it is used.
            self._kept.close()
            return _answer(self._kept, method, path, content, headers)

    def close(self) -> None:
        """Close the connection."""
        self._kept.close()


def _answer(
    connection: http.client.HTTPSConnection,
    method: str,
    path: str,
    content: str | None,
    headers: dict[str, str],
) -> Any:
    connection.request(method, path, content, headers)
    response = connection.getresponse()
    text = response.read().decode()
    if response.status >= 400:
        raise ApiError(response.status, text.strip())
    is_json = response.headers.get_content_type() == "application/json"
    return json.loads(text) if is_json else text


def kubeconfig(url: str, token: str, ca_file: Path) -> str:
    """Write out a kubeconfig with one context, ``stoker`` (JSON, which is YAML too)."""
    cluster = {"server": url, "certificate-authority": str(ca_file)}
    context = {"cluster": "stoker", "user": "admin"}
    document = {
        "apiVersion": "v1",
        "kind": "Config",
        "clusters": [{"name": "stoker", "cluster": cluster}],
        "users": [{"name": "admin", "user": {"token": token}}],
        "contexts": [{"name": "stoker", "context": context}],
        "current-context": "stoker",
    }
    return json.dumps(document, indent=2) + "\n"
