"""TLS towards the API server: contexts made of files or data, and made again when files change.

Certificates are renewed while we run. A new context replaces the old one instead of changing it, so
that connections made with the old certificate are not used again.
"""

import ssl
import tempfile
import time
from contextlib import ExitStack
from pathlib import Path
from typing import Final

from msgspec import Struct

from stoker.kube.errors import AccessError

CHECK_SECONDS: Final = 60.0


class Pem(Struct, frozen=True):
    """One or more PEM blocks, in a file or as data, which goes first; never shown."""

    file: str = ""
    data: bytes = b""

    def __bool__(self) -> bool:
        return bool(self.file or self.data)

    def __repr__(self) -> str:
        return f"Pem({self.file or 'data'!r})"


class Tls:
    """How we verify the server and show ourselves; `context` is the current state of it."""

    def __init__(
        self,
        *,
        ca: Pem | None = None,
        certificate: Pem | None = None,
        key: Pem | None = None,
        insecure: bool = False,
    ) -> None:
        if bool(certificate) != bool(key):
            raise AccessError("a client certificate needs its key, and a key its certificate")
        self._ca = ca
        self._pair = (certificate, key) if certificate and key else None
        self._insecure = insecure
        self._stamps = self._seen()
        self._checked = time.monotonic()
        self.context = self._made()

    def show(self, certificate: bytes, key: bytes) -> None:
        """Show this certificate from now on."""
        pair = (Pem(data=certificate), Pem(data=key))
        if pair != self._pair:
            self._pair = pair
            self.context = self._made()

    def refresh(self, *, now: bool = False) -> None:
        """Look at the files again, if that is due; what cannot be read replaces nothing."""
        due = now or time.monotonic() - self._checked >= CHECK_SECONDS
        if not due:
            return
        self._checked = time.monotonic()
        stamps = self._seen()
        if stamps == self._stamps:
            return
        try:
            self.context = self._made()
        except AccessError:
            # Half of a renewal: the certificate is new and the key is not yet, for one.
            return
        self._stamps = stamps

    def _seen(self) -> list[int]:
        """When each file was last written."""
        pems = (self._ca, *(self._pair or ()))
        return [_written(pem.file) for pem in pems if pem and not pem.data]

    def _made(self) -> ssl.SSLContext:
        context = _verifying(self._ca)
        if self._insecure:
            context.check_hostname = False
            context.verify_mode = ssl.CERT_NONE
        if self._pair:
            _load_pair(context, *self._pair)
        return context


def _written(file: str) -> int:
    try:
        return Path(file).stat().st_mtime_ns
    except OSError:
        return 0


def _verifying(ca: Pem | None) -> ssl.SSLContext:
    """A context that trusts this authority, or those of the system."""
    try:
        context = ssl.create_default_context(
            cafile=ca.file if ca and not ca.data else None,
            cadata=ca.data.decode() if ca and ca.data else None,
        )
    except (OSError, ValueError) as error:
        where = ca.file if ca and not ca.data else "the given data"
        raise AccessError(f"no certificate authority can be read from {where}") from error
    # Authorities of clusters often lack what the strict check wants, and may be intermediate.
    context.verify_flags &= ~ssl.VERIFY_X509_STRICT
    context.verify_flags |= ssl.VERIFY_X509_PARTIAL_CHAIN
    return context


def _load_pair(context: ssl.SSLContext, certificate: Pem, key: Pem) -> None:
    """Load a certificate and its key, by way of private files where they are data."""
    with ExitStack() as stack:
        try:
            context.load_cert_chain(
                _as_file(certificate, stack), _as_file(key, stack), _no_password
            )
        except (OSError, ValueError) as error:
            places = ", ".join({certificate.file or "data", key.file or "data"})
            raise AccessError(f"no client certificate can be loaded from {places}") from error


def _as_file(pem: Pem, stack: ExitStack) -> str:
    if not pem.data:
        return pem.file
    file = stack.enter_context(tempfile.NamedTemporaryFile())  # noqa: SIM115 - the stack closes it
    file.write(pem.data)
    file.flush()
    return file.name


def _no_password() -> str:
    """Answer for an encrypted key, so that nobody is asked at a terminal."""
    return ""
