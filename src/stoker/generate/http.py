"""How Prometheus reaches an HTTP server: TLS, credentials, proxies.

Each function turns one declared type into the mapping that Prometheus reads, or None where there
is nothing to write; all of them can be the `write` of a `Member`. User names, passwords and tokens
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
from stoker.generate.draft import ScraperDraft
from stoker.generate.grammar import Member, put
from stoker.generate.order import in_order
from stoker.generate.values import file_of, items, members, value_or_empty


def _headers(
    headers: dict[str, tuple[SecretKeySelector, ...]], draft: ScraperDraft, path: str
) -> Block | None:
    written = {
        name: [value_or_empty(value, draft, path) for value in values]
        for name, values in headers.items()
    }
    return in_order(written) or None


# Files named by the user come last, as the peer writes them after everything from Secrets.
_SAFE_TLS: Final = (
    Member("insecure_skip_verify"),
    Member("ca_file", "ca", write=file_of),
    Member("cert_file", "cert", write=file_of),
    Member("key_file", "key_secret", write=file_of),
    Member("server_name"),
    Member("min_version", since="2.35.0"),
    Member("max_version", since="2.41.0"),
)
_TLS: Final = (*_SAFE_TLS, Member("ca_file"), Member("cert_file"), Member("key_file"))


def tls_config(
    tls: SafeTlsConfig | TlsConfig | None, draft: ScraperDraft, path: str
) -> Block | None:
    """A `tls_config`; empty where the settings are."""
    if tls is None:
        return None
    block: Block = {}
    put(block, _TLS if isinstance(tls, TlsConfig) else _SAFE_TLS, tls, draft, path)
    return block


def basic_auth(auth: BasicAuth | None, draft: ScraperDraft, path: str) -> Block | None:
    """A `basic_auth`, with both members always."""
    if auth is None:
        return None
    return {
        "username": draft.value(auth.username) or "",
        "password": draft.value(auth.password) or "",
    }


_CREDENTIALS: Final = (Member("credentials", write=value_or_empty),)
_CREDENTIALS_OR_FILE: Final = (*_CREDENTIALS, Member("credentials_file"))


def authorization(
    auth: SafeAuthorization | Authorization | None, draft: ScraperDraft, path: str
) -> Block | None:
    """An `authorization`, `Bearer` unless another scheme is named."""
    if auth is None:
        return None
    block: Block = {"type": (auth.type or "").strip() or "Bearer"}
    with_file = isinstance(auth, Authorization)
    put(block, _CREDENTIALS_OR_FILE if with_file else _CREDENTIALS, auth, draft, path)
    return block


PROXY: Final = (
    Member("proxy_url"),
    Member("no_proxy", since="2.43.0"),
    Member("proxy_from_environment", since="2.43.0"),
    Member("proxy_connect_header", since="2.43.0", write=_headers),
)


def put_proxy(block: Block, source: Any, draft: ScraperDraft, path: str) -> None:
    """Add the proxy settings of an object that has the fields of `Proxy`."""
    put(block, PROXY, source, draft, path)


# The token server can be reached through a proxy of its own, and with TLS settings, since 2.43.
_OAUTH2: Final = (
    Member("client_id", write=value_or_empty),
    Member("client_secret", write=value_or_empty),
    Member("token_url", keep_empty=True),
    Member("scopes", write=items),
    Member("endpoint_params", write=members),
    Member("proxy_url", since="2.43.0"),
    *PROXY[1:],
    Member("tls_config", since="2.43.0", write=tls_config),
)


def oauth2(value: OAuth2 | None, draft: ScraperDraft, path: str) -> Block | None:
    """An `oauth2`."""
    if value is None:
        return None
    block: Block = {}
    put(block, _OAUTH2, value, draft, path)
    return block


_SIGV4: Final = (
    Member("region"),
    Member("access_key", write=value_or_empty),
    Member("secret_key", write=value_or_empty),
    Member("profile"),
    Member("role_arn"),
    Member("use_fips_sts_endpoint", since="2.54.0"),
    Member("external_id", since="3.11.0"),
)
_KEY_PAIR: Final = {"access_key": "accessKey", "secret_key": "secretKey"}


def sigv4(value: Sigv4 | None, draft: ScraperDraft, path: str) -> Block | None:
    """A `sigv4`; empty means the default credentials chain of AWS."""
    if value is None:
        return None
    block: Block = {}
    put(block, _SIGV4, value, draft, path)
    drop_half_a_pair(block, draft, path)
    return block


def drop_half_a_pair(block: Block, draft: ScraperDraft, path: str) -> None:
    """Leave out half a pair of AWS' keys, also where the other half is there and empty.

    Prometheus would refuse the whole file, or could not log in; without, it takes the default
    credentials chain.
    """
    if all(map(block.get, _KEY_PAIR)):
        return
    for half in [name for name in _KEY_PAIR if name in block]:
        del block[half]
        draft.ignore(below(path, _KEY_PAIR[half]), "access key and secret key need each other")
