"""How Prometheus reaches an HTTP server: TLS, credentials, proxies.

Each function turns one declared type into the mapping that Prometheus reads, or None where there
is nothing to write; all of them can be the `write` of a `Key`. User names, passwords and tokens
are written into the configuration; certificates and keys become files beside it. A reference that
leads nowhere is written as an empty value: whoever selects resources refuses them before, and the
part that is written stays well-formed.
"""

from typing import Any, Final

from stoker.api.common import (
    Authorization,
    BasicAuth,
    OAuth2,
    SafeAuthorization,
    SafeTlsConfig,
    Sigv4,
    TlsConfig,
)
from stoker.api.core import SecretKeySelector
from stoker.errors import below
from stoker.generate.block import Block
from stoker.generate.draft import Draft, Key, put
from stoker.generate.order import in_order
from stoker.generate.values import items, members
from stoker.select.assets import Reference


def _file(reference: Reference, draft: Draft, _path: str) -> str | None:
    return draft.file(reference)


def _value(reference: Reference, draft: Draft, _path: str) -> str:
    return draft.value(reference) or ""


def _headers(
    headers: dict[str, tuple[SecretKeySelector, ...]], draft: Draft, path: str
) -> Block | None:
    written = {
        name: [_value(value, draft, path) for value in values] for name, values in headers.items()
    }
    return in_order(written) or None


# Files named by the user come last, as the peer writes them after everything from Secrets.
_SAFE_TLS: Final = (
    Key("insecure_skip_verify"),
    Key("ca_file", "ca", write=_file),
    Key("cert_file", "cert", write=_file),
    Key("key_file", "key_secret", write=_file),
    Key("server_name"),
    Key("min_version", since="2.35.0"),
    Key("max_version", since="2.41.0"),
)
_TLS: Final = (*_SAFE_TLS, Key("ca_file"), Key("cert_file"), Key("key_file"))


def tls_config(tls: SafeTlsConfig | TlsConfig | None, draft: Draft, path: str) -> Block | None:
    """A `tls_config`; empty where the settings are."""
    if tls is None:
        return None
    block: Block = {}
    put(block, _TLS if isinstance(tls, TlsConfig) else _SAFE_TLS, tls, draft, path)
    return block


def basic_auth(auth: BasicAuth | None, draft: Draft, path: str) -> Block | None:
    """A `basic_auth`, with both members always."""
    if auth is None:
        return None
    return {
        "username": draft.value(auth.username) or "",
        "password": draft.value(auth.password) or "",
    }


_CREDENTIALS: Final = (Key("credentials", write=_value),)
_CREDENTIALS_OR_FILE: Final = (*_CREDENTIALS, Key("credentials_file"))


def authorization(
    auth: SafeAuthorization | Authorization | None, draft: Draft, path: str
) -> Block | None:
    """An `authorization`, `Bearer` unless another scheme is named."""
    if auth is None:
        return None
    block: Block = {"type": (auth.type or "").strip() or "Bearer"}
    with_file = isinstance(auth, Authorization)
    put(block, _CREDENTIALS_OR_FILE if with_file else _CREDENTIALS, auth, draft, path)
    return block


PROXY: Final = (
    Key("proxy_url"),
    Key("no_proxy", since="2.43.0"),
    Key("proxy_from_environment", since="2.43.0"),
    Key("proxy_connect_header", since="2.43.0", write=_headers),
)


def put_proxy(block: Block, source: Any, draft: Draft, path: str) -> None:
    """Add the proxy settings of an object that has the fields of `Proxy`."""
    put(block, PROXY, source, draft, path)


# The token server can be reached through a proxy of its own, and with TLS settings, since 2.43.
_OAUTH2: Final = (
    Key("client_id", write=_value),
    Key("client_secret", write=_value),
    Key("token_url", keep_empty=True),
    Key("scopes", write=items),
    Key("endpoint_params", write=members),
    Key("proxy_url", since="2.43.0"),
    *PROXY[1:],
    Key("tls_config", since="2.43.0", write=tls_config),
)


def oauth2(value: OAuth2 | None, draft: Draft, path: str) -> Block | None:
    """An `oauth2`."""
    if value is None:
        return None
    block: Block = {}
    put(block, _OAUTH2, value, draft, path)
    return block


_SIGV4: Final = (
    Key("region"),
    Key("access_key", write=_value),
    Key("secret_key", write=_value),
    Key("profile"),
    Key("role_arn"),
    Key("use_fips_sts_endpoint", since="2.54.0"),
    Key("external_id", since="3.11.0"),
)
_KEY_PAIR: Final = {"access_key": "accessKey", "secret_key": "secretKey"}


def sigv4(value: Sigv4 | None, draft: Draft, path: str) -> Block | None:
    """A `sigv4`; empty means the default credentials chain of AWS."""
    if value is None:
        return None
    block: Block = {}
    put(block, _SIGV4, value, draft, path)
    drop_half_a_pair(block, draft, path)
    return block


def drop_half_a_pair(block: Block, draft: Draft, path: str) -> None:
    """Leave out half a pair of AWS' keys, also where the other half is there and empty.

    Prometheus would refuse the whole file, or could not log in; without, it takes the default
    credentials chain.
    """
    if all(map(block.get, _KEY_PAIR)):
        return
    for half in [name for name in _KEY_PAIR if name in block]:
        del block[half]
        draft.ignore(below(path, _KEY_PAIR[half]), "access key and secret key need each other")
