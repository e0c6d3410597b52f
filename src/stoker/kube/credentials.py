"""What we show to the API server: a token, a name and password, or what a plugin hands out.

Each source gives the value of the Authorization header, and may be told to `forget` it when the
server did not take it. Values are in no error and no repr.
"""

import asyncio
import base64
import binascii
import datetime
import os
import shutil
import time
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any, Final, Protocol

import msgspec
from msgspec import Struct

from stoker.kube.errors import AccessError

# Tokens that are mounted into a pod are replaced long before they expire.
REREAD_SECONDS: Final = 60.0
PLUGIN_SECONDS: Final = 60.0
EXPIRY_MARGIN: Final = datetime.timedelta(seconds=10)
_PLUGIN_GROUP: Final = "client.authentication.k8s.io"
PLUGIN_VERSIONS: Final = (f"{_PLUGIN_GROUP}/v1", f"{_PLUGIN_GROUP}/v1beta1")


class Credentials(Protocol):
    """A source of credentials."""

    @property
    def certificate(self) -> tuple[bytes, bytes] | None:
        """A client certificate and its key, once `authorization` was asked."""

    async def authorization(self) -> str:
        """The value of the Authorization header, "" for none."""

    def forget(self) -> None:
        """What was given last is not good any more."""


class Fixed:
    """Credentials that never change; none at all by default."""

    certificate = None

    def __init__(self, value: str = "") -> None:
        self._value = value

    @classmethod
    def token(cls, token: str) -> "Fixed":
        """A bearer token."""
        return cls(f"Bearer {token}")

    @classmethod
    def basic(cls, user: str, password: str) -> "Fixed":
        """A name and a password."""
        return cls(basic(user, password))

    async def authorization(self) -> str:
        """The value of the Authorization header."""
        return self._value

    def forget(self) -> None:
        """Nothing: there is nowhere to ask."""


class TokenFile:
    """A bearer token in a file, which is read again every minute."""

    certificate = None

    def __init__(self, path: Path) -> None:
        self._path = path
        self._token = ""
        self._read_at = 0.0

    async def authorization(self) -> str:
        """The value of the Authorization header; a file that vanished leaves the last one."""
        if not self._token or time.monotonic() - self._read_at >= REREAD_SECONDS:
            self._token = self._read() or self._token
            self._read_at = time.monotonic()
        if not self._token:
            raise AccessError(f"there is no token in {self._path}")
        return f"Bearer {self._token}"

    def forget(self) -> None:
        """Read the file before the next request."""
        self._read_at = float("-inf")

    def _read(self) -> str:
        try:
            return self._path.read_text().strip()
        except OSError:
            return ""


class _Handed(Struct, rename="camel", frozen=True):
    """The `status` of an ExecCredential."""

    token: str = ""
    client_certificate_data: str = ""
    client_key_data: str = ""
    expiration_timestamp: datetime.datetime | None = None

    def __repr__(self) -> str:
        return "_Handed(…)"


class _ExecCredential(Struct, rename="camel", frozen=True):
    api_version: str
    kind: str
    status: _Handed | None = None


class Plugin:
    """Credentials from a command (an exec plugin), kept until they expire or are refused."""

    def __init__(
        self,
        argv: Sequence[str],
        *,
        api_version: str,
        environment: Mapping[str, str] | None = None,
        cluster: Mapping[str, Any] | None = None,
        install_hint: str = "",
    ) -> None:
        if api_version not in PLUGIN_VERSIONS:
            known = " and ".join(PLUGIN_VERSIONS)
            raise AccessError(f"exec plugins of {api_version!r} are not known, only {known}")
        self._argv = list(argv)
        self._api_version = api_version
        self._environment = dict(environment or {})
        self._cluster = cluster
        self._hint = f"; {install_hint}" if install_hint else ""
        self._lock = asyncio.Lock()
        self._handed: _Handed | None = None

    @property
    def certificate(self) -> tuple[bytes, bytes] | None:
        """A client certificate and its key, when the plugin hands them out."""
        handed = self._handed
        if not handed or not handed.client_certificate_data:
            return None
        return handed.client_certificate_data.encode(), handed.client_key_data.encode()

    async def authorization(self) -> str:
        """The value of the Authorization header; the command runs when there is none that holds."""
        async with self._lock:
            if not self._handed or _has_expired(self._handed):
                self._handed = await self._run()
            token = self._handed.token
        return f"Bearer {token}" if token else ""

    def forget(self) -> None:
        """Run the command before the next request."""
        self._handed = None

    async def _run(self) -> _Handed:
        name = self._argv[0]
        try:
            async with asyncio.timeout(PLUGIN_SECONDS):
                output = await self._output()
        except TimeoutError as error:
            raise AccessError(f"the exec plugin {name!r} took too long") from error
        except OSError as error:
            raise AccessError(
                f"the exec plugin {name!r} cannot be started: {error.strerror}{self._hint}"
            ) from error
        return self._understood(output)

    async def _output(self) -> bytes:
        # Its standard error is ours, as with kubectl: what it says there is for people.
        process = await asyncio.create_subprocess_exec(
            *self._argv,
            stdin=asyncio.subprocess.DEVNULL,
            stdout=asyncio.subprocess.PIPE,
            env={**os.environ, **self._environment, "KUBERNETES_EXEC_INFO": self._info()},
        )
        try:
            output, _ = await process.communicate()
        finally:
            if process.returncode is None:
                process.kill()
                await process.wait()
        if process.returncode:
            raise AccessError(
                f"the exec plugin {self._argv[0]!r} ended with status {process.returncode}"
            )
        return output

    def _info(self) -> str:
        spec: dict[str, Any] = {"interactive": False}
        if self._cluster is not None:
            spec["cluster"] = self._cluster
        info = {"apiVersion": self._api_version, "kind": "ExecCredential", "spec": spec}
        return msgspec.json.encode(info).decode()

    def _understood(self, output: bytes) -> _Handed:
        name = self._argv[0]
        try:
            credential = msgspec.json.decode(output, type=_ExecCredential)
        except (msgspec.DecodeError, UnicodeDecodeError):
            # Without the cause: it may quote what was printed.
            raise AccessError(f"the exec plugin {name!r} printed no ExecCredential") from None
        if credential.kind != "ExecCredential" or credential.api_version != self._api_version:
            raise AccessError(f"the exec plugin {name!r} printed no {self._api_version}")
        handed = credential.status
        if not handed or not (handed.token or handed.client_certificate_data):
            raise AccessError(f"the exec plugin {name!r} handed out no credentials")
        if bool(handed.client_certificate_data) != bool(handed.client_key_data):
            raise AccessError(f"the exec plugin {name!r} handed out half of a certificate")
        return handed


def _has_expired(handed: _Handed) -> bool:
    until = handed.expiration_timestamp
    if until is None:
        return False
    return datetime.datetime.now(datetime.UTC) >= until.astimezone(datetime.UTC) - EXPIRY_MARGIN


def basic(user: str, password: str) -> str:
    """A name and a password as the value of a header."""
    return "Basic " + base64.b64encode(f"{user}:{password}".encode()).decode()


def decoded(data: str, what: str) -> bytes:
    """The bytes of a base64 member."""
    try:
        return base64.b64decode(data, validate=True)
    except (binascii.Error, ValueError):
        raise AccessError(f"{what} is not base64") from None


def command_at(command: str, directory: Path) -> str:
    """The command of a plugin: looked up in PATH, or beside the file that names it."""
    if os.sep in command:
        return str(directory / command)
    return shutil.which(command) or command
