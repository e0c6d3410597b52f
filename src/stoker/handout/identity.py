"""What the server shows, and whom agents are to trust; `own_identity` makes it, files have it."""

import asyncio
import os
import ssl
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Final, Protocol

from stoker.errors import FieldError
from stoker.logs import logger
from stoker.settings import DiscoveryFiles

_FLAG: Final = "--node-discovery-{}-file"
_BIGGEST: Final = 1 << 20

Shown = Callable[[ssl.SSLContext, str], None]
"""Called with what to show, and whom agents are to trust, whenever that changes."""


class ServerIdentity(Protocol):
    """Where the server's certificate comes from."""

    @property
    def until(self) -> float:
        """Until when it is good, as seconds since 1970; 0 where that is not known."""
        ...

    async def run(self, shown: Shown) -> None:
        """Tell what there is, and whatever changes, until cancelled."""
        ...

    async def keep(self) -> None:
        """Keep it good while this replica leads, until cancelled."""
        ...


class IdentityInFiles(ServerIdentity):
    """A certificate, its key and whom to trust, in files that somebody else keeps."""

    def __init__(self, files: DiscoveryFiles, seconds: float) -> None:
        self._files = files
        self._seconds = seconds
        self._shown: tuple[bytes, ...] = ()
        self._log = logger("node-discovery")

    @property
    def until(self) -> float:
        """Not known: nobody reads it here."""
        return 0.0

    async def run(self, shown: Shown) -> None:
        """Report what the files hold, whenever that changes, but nothing that cannot be used."""
        while True:
            try:
                found = await asyncio.to_thread(self._read)
                if found != self._shown:
                    context = context_of(*found[:2])
                    self._shown = found
                    shown(context, found[2].decode("ascii", "replace"))
            except FieldError as error:
                self._log.error("the certificate cannot be used; what was there stays", err=error)
            await asyncio.sleep(self._seconds)

    async def keep(self) -> None:
        """Whoever writes the files does that."""
        await asyncio.Event().wait()

    def _read(self) -> tuple[bytes, ...]:
        files = self._files
        return _content("cert", files.cert), _content("key", files.key), _content("ca", files.ca)


def _content(what: str, path: str) -> bytes:
    try:
        with open(path, "rb") as file:
            content = file.read(_BIGGEST)
    except OSError as error:
        said = f"{path} cannot be read: {error.strerror}"
        raise FieldError(_FLAG.format(what), said) from None
    if not content:
        raise FieldError(_FLAG.format(what), f"{path} is empty")
    return content


def context_of(certificate: bytes, key: bytes) -> ssl.SSLContext:
    """TLS 1.3 with a certificate and its key, as PEM; FieldError where they cannot be used."""
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    context.minimum_version = ssl.TLSVersion.TLSv1_3
    # Nobody comes back within a session, and tickets are memory for each connection.
    context.num_tickets = 0
    try:
        with _in_memory(certificate) as one, _in_memory(key) as other:
            context.load_cert_chain(one, other, password=_no_password)
    except (ssl.SSLError, OSError, ValueError) as error:
        said = f"cannot be used with the key: {type(error).__name__}"
        raise FieldError(_FLAG.format("cert"), said) from None
    return context


@contextmanager
def _in_memory(content: bytes) -> Iterator[str]:
    """The path of a file that is nowhere but in memory: OpenSSL is given files alone."""
    descriptor = os.memfd_create("stoker", os.MFD_CLOEXEC)
    try:
        os.write(descriptor, content)
        yield f"/proc/self/fd/{descriptor}"
    finally:
        os.close(descriptor)


def _no_password() -> str:
    """Refuse a key that is encrypted: OpenSSL would ask for its password on the terminal."""
    raise ValueError("the key is encrypted")
