"""Certificates of the web server: read from files, again when these change.

The files are read in a thread, since a disk may be slow. Whoever asks for certificates of clients
must get them: a client CA that was asked for and cannot be read stops the server from starting, and
one that was read once is never dropped again. New certificates that are unusable leave the old
ones at work.
"""

import asyncio
import os
import ssl
from typing import Any, Final

from msgspec import Struct

from stoker.errors import FieldError
from stoker.settings import WebSettings
from stoker.web.names import CIPHER_SUITES, CURVES, VERSIONS

_BIGGEST: Final = 1 << 20


class Material(Struct, frozen=True):
    """The contents of the files, by which a change is noticed; no client CA: clients need none."""

    certificate: bytes
    key: bytes
    client_ca: bytes | None


class Certificates:
    """The server's certificates, and whether there are newer ones."""

    def __init__(self, settings: WebSettings) -> None:
        self._settings = settings
        self._in_use: Material | None = None

    async def changed(self) -> ssl.SSLContext | None:
        """A context with the certificates in the files; None if these are in use already.

        `FieldError` names the flag whose file cannot be used. Whatever is in use stays so.
        """
        return await asyncio.to_thread(self._changed)

    def _changed(self) -> ssl.SSLContext | None:
        material = self._read()
        if material == self._in_use:
            return None
        context = _context(self._settings, material)
        self._in_use = material
        return context

    def _read(self) -> Material:
        settings = self._settings
        return Material(
            _content("--web.cert-file", settings.cert_file),
            _content("--web.key-file", settings.key_file),
            self._read_client_ca(),
        )

    def _read_client_ca(self) -> bytes | None:
        path = self._settings.client_ca_file
        needed = self._settings.client_ca_required or (self._in_use and self._in_use.client_ca)
        if not path or (not needed and _is_absent(path)):
            return None
        return _content("--web.client-ca-file", path)


def _is_absent(path: str) -> bool:
    """Whether there is no such file; one that cannot be looked at is not absent."""
    try:
        os.stat(path)
    except (FileNotFoundError, NotADirectoryError):
        return True
    except OSError:
        return False
    return False


def _content(flag: str, path: str) -> bytes:
    try:
        with open(path, "rb") as file:
            content = file.read(_BIGGEST + 1)
    except OSError as error:
        raise FieldError(flag, f"{path} cannot be read: {error.strerror}") from None
    if not content or len(content) > _BIGGEST:
        raise FieldError(flag, f"{path} is {'too big' if content else 'empty'}")
    return content


def _context(settings: WebSettings, material: Material) -> ssl.SSLContext:
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    context.minimum_version = ssl.TLSVersion[VERSIONS[settings.min_version]]
    try:
        # Key and certificate can be loaded from files only. That they belong together is checked,
        # so files that are replaced at this moment are an error, and are read again later.
        context.load_cert_chain(settings.cert_file, settings.key_file, password=_no_password)
    except (ssl.SSLError, OSError, ValueError) as error:
        raise FieldError("--web.cert-file", f"cannot be used with the key: {error}") from None
    _limit_ciphers(context, settings)
    _limit_curves(context, settings)
    if material.client_ca is not None:
        _require_clients(context, material.client_ca)
    return context


def _no_password() -> str:
    """Refuse a key that is encrypted: OpenSSL would ask for its password on the terminal."""
    raise ValueError("the key is encrypted")


def _limit_ciphers(context: ssl.SSLContext, settings: WebSettings) -> None:
    chosen = [CIPHER_SUITES[name] for name in settings.cipher_suites if CIPHER_SUITES[name]]
    if not chosen:
        return
    try:
        context.set_ciphers(":".join(chosen))
    except ssl.SSLError:
        listed = ", ".join(settings.cipher_suites)
        raise FieldError("--web.tls-cipher-suites", f"OpenSSL has none of {listed}") from None


def _limit_curves(context: Any, settings: WebSettings) -> None:
    """Allow the curves asked for, or as many of them as this Python can: one, before 3.15."""
    chosen = [CURVES[name] for name in settings.curves]
    if chosen and hasattr(context, "set_groups"):
        context.set_groups(":".join(chosen))
        return
    for name in chosen:
        try:
            context.set_ecdh_curve(name)
        except (ValueError, ssl.SSLError):
            continue
        return
    if chosen:
        listed = ", ".join(settings.curves)
        raise FieldError("--web.tls-curves", f"OpenSSL has none of {listed}")


def _require_clients(context: ssl.SSLContext, client_ca: bytes) -> None:
    try:
        context.load_verify_locations(cadata=client_ca.decode("ascii"))
    except (ssl.SSLError, ValueError) as error:
        raise FieldError("--web.client-ca-file", f"holds no usable certificates: {error}") from None
    context.verify_mode = ssl.CERT_REQUIRED
