"""The web configuration file: TLS, users and headers of what the reloader serves.

It is the file that Prometheus and Alertmanager read for their own listener, so both are protected
alike. Read are block mappings and lists of single values, which is how such files are written.
What cannot be honoured is an error, never left out silently.
"""

from __future__ import annotations

import contextlib
import ctypes
import os
import threading

from stoker.reloader.outline import ITEM, Outline
from stoker.reloader.record import record

TYPE_CHECKING = False
if TYPE_CHECKING:
    import ssl
    from typing import Any, Final

_TLS: Final = "tls_server_config"
_HTTP: Final = "http_server_config"
_USERS: Final = "basic_auth_users"
_KNOWN: Final = {
    _TLS: {
        "cert_file", "key_file", "client_ca_file", "client_auth_type", "min_version", "max_version",
        "cipher_suites", "curve_preferences", "prefer_server_cipher_suites",
    },
    _HTTP: {"http2", "headers"},
}  # fmt: skip
_SINGLE: Final = {
    (_TLS, key)
    for key in _KNOWN[_TLS] - {"cipher_suites", "curve_preferences"}
} | {(_HTTP, "http2")}  # fmt: skip
_VERSIONS: Final = {"TLS10": "TLSv1", "TLS11": "TLSv1_1", "TLS12": "TLSv1_2", "TLS13": "TLSv1_3"}
# Python can only ask for certificates that it then verifies: what asks for any is stricter here.
_CLIENTS: Final = {
    "": "CERT_NONE",
    "NoClientCert": "CERT_NONE",
    "RequestClientCert": "CERT_NONE",
    "RequireAnyClientCert": "CERT_REQUIRED",
    "VerifyClientCertIfGiven": "CERT_OPTIONAL",
    "RequireAndVerifyClientCert": "CERT_REQUIRED",
}
_SUITES_OF_1_3: Final = {
    "TLS_AES_128_GCM_SHA256", "TLS_AES_256_GCM_SHA384", "TLS_CHACHA20_POLY1305_SHA256",
}  # fmt: skip
_CURVES: Final = {
    "CurveP256": "prime256v1", "CurveP384": "secp384r1", "CurveP521": "secp521r1",
    "X25519": "X25519",
}  # fmt: skip


class WebConfigError(Exception):
    """The file cannot be read, or asks for what cannot be done."""


@record
class WebConfig:
    """What the file says."""

    tls: dict[str, str]
    ciphers: tuple[str, ...]
    curves: tuple[str, ...]
    users: dict[str, str]
    headers: dict[str, str]

    @property
    def files(self) -> tuple[str, ...]:
        """The files that it names, for TLS."""
        names = ("cert_file", "key_file", "client_ca_file")
        return tuple(self.tls[name] for name in names if name in self.tls)


PLAIN: Final = WebConfig({}, (), (), {}, {})


def web_config(path: str) -> WebConfig:
    """Read the file; paths in it are relative to it."""
    try:
        with open(path, "rb") as file:
            lines = [line for line in file.read().splitlines() if line.rstrip() != b"---"]
    except OSError as error:
        raise WebConfigError(f"{path}: {error.strerror}") from error
    read = _Reading(path)
    outline = Outline()
    for line in lines:
        value = _scalar(outline.follow(line).value)
        read.take(tuple(name.decode().strip("\"'") for name in outline.path), value)
    folder = os.path.dirname(path)
    tls = {
        key: os.path.join(folder, value) if key.endswith("_file") else value
        for key, value in read.tls.items()
    }
    return WebConfig(tls, tuple(read.ciphers), tuple(read.curves), read.users, read.headers)


class _Reading:
    """Takes the values of the file one by one."""

    def __init__(self, file: str) -> None:
        self._file = file
        self.tls: dict[str, str] = {}
        self.users: dict[str, str] = {}
        self.headers: dict[str, str] = {}
        self.ciphers: list[str] = []
        self.curves: list[str] = []

    def take(self, path: tuple[str, ...], value: str) -> None:
        """Take what stands at a place."""
        if path and path[0] not in (_TLS, _HTTP, _USERS):
            raise WebConfigError(f"{self._file}: `{path[0]}` is not known")
        if len(path) > 1 and path[0] in _KNOWN and path[1] not in _KNOWN[path[0]]:
            raise WebConfigError(f"{self._file}: `{path[0]}.{path[1]}` is not known")
        if value in ("", "{}", "[]"):
            return
        if value[0] in "{[|>&*":
            raise WebConfigError(f"{self._file}: `{'.'.join(path)}` must be a single plain value")
        self._put(path, value)

    def _put(self, path: tuple[str, ...], value: str) -> None:
        item = ITEM.decode()
        match path:
            case (section, key) if (section, key) in _SINGLE:
                if section == _TLS:
                    self.tls[key] = value
            case ("tls_server_config", "cipher_suites", last) if last == item:
                self.ciphers.append(value)
            case ("tls_server_config", "curve_preferences", last) if last == item:
                self.curves.append(value)
            case ("basic_auth_users", user):
                self.users[user] = value
            case ("http_server_config", "headers", name):
                self.headers[name] = value
            case _:
                raise WebConfigError(f"{self._file}: `{'.'.join(path)}` has an unexpected value")


def _scalar(value: bytes) -> str:
    """A single value: quoted, or plain with what may follow it as a comment."""
    text = value.decode(errors="replace")
    if text[:1] in ("'", '"'):
        return text[1:].rpartition(text[0])[0]
    return "" if text.startswith("#") else text.partition(" #")[0].strip()


def tls_context(config: WebConfig) -> ssl.SSLContext | None:
    """How to speak TLS; None where the file does not ask for it."""
    if not config.tls:
        return None
    import ssl

    tls = config.tls
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    try:
        context.load_cert_chain(tls["cert_file"], tls["key_file"])
        if least := tls.get("min_version", "TLS12"):
            context.minimum_version = ssl.TLSVersion[_VERSIONS[least]]
        if most := tls.get("max_version"):
            context.maximum_version = ssl.TLSVersion[_VERSIONS[most]]
        context.verify_mode = _client_mode(tls)
        if "client_ca_file" in tls:
            context.load_verify_locations(tls["client_ca_file"])
        _choose_ciphers(context, config)
    except KeyError as error:
        raise WebConfigError(f"{_TLS}: {error} is missing or not known") from error
    except (OSError, ValueError) as error:
        raise WebConfigError(f"{_TLS}: {error}") from error
    return context


def _client_mode(tls: dict[str, str]) -> ssl.VerifyMode:
    import ssl

    mode = ssl.VerifyMode[_CLIENTS[tls.get("client_auth_type", "")]]
    if "client_ca_file" in tls and mode == ssl.CERT_NONE:
        raise WebConfigError(f"{_TLS}: client_ca_file needs a client_auth_type that verifies")
    return mode


def _choose_ciphers(context: ssl.SSLContext, config: WebConfig) -> None:
    """Those named, as OpenSSL calls them; the suites of TLS 1.3 cannot be chosen, as in Go."""
    for name in config.ciphers:
        if "_WITH_" not in name and name not in _SUITES_OF_1_3:
            raise KeyError(name)
    ciphers = [_openssl_name(name) for name in config.ciphers if "_WITH_" in name]
    if ciphers:
        context.set_ciphers(":".join(ciphers))
    if len(config.curves) == 1:
        context.set_ecdh_curve(_CURVES[config.curves[0]])


def _openssl_name(name: str) -> str:
    """`TLS_ECDHE_RSA_WITH_AES_128_GCM_SHA256` is `ECDHE-RSA-AES128-GCM-SHA256`."""
    exchange, _, cipher = name.removeprefix("TLS_").partition("_WITH_")
    cipher = (
        cipher.replace("AES_", "AES").replace("_CBC", "").replace("POLY1305_SHA256", "POLY1305")
    )
    exchange = "" if exchange == "RSA" else f"{exchange}_"
    return f"{exchange}{cipher}".replace("_", "-")


def _crypt() -> Any:
    """The function `crypt`, of whichever version there is."""
    for name in ("libcrypt.so.2", "libcrypt.so.1"):
        with contextlib.suppress(OSError):
            return ctypes.CDLL(name).crypt
    raise WebConfigError(f"{_USERS} needs libcrypt, which is not installed")


class Passwords:
    """Checks passwords against bcrypt hashes, with the C library's `crypt`."""

    def __init__(self, users: dict[str, str]) -> None:
        self._users = users
        self._lock = threading.Lock()  # `crypt` answers in memory that all threads share
        self._right: dict[str, int] = {}
        if not users:
            return
        self._crypt = _crypt()
        self._crypt.restype = ctypes.c_char_p

    def allow(self, user: str, password: str) -> bool:
        """Whether this is the user's password. A right one is remembered, for bcrypt is slow."""
        known = self._users.get(user)
        if known is None or "\0" in password:
            return False
        with self._lock:
            seen = hash((user, password))
            if self._right.get(user) == seen:
                return True
            made = self._crypt(password.encode(), known.encode())
            if made != known.encode():
                return False
            self._right[user] = seen
            return True
