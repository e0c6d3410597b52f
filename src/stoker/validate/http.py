"""How an HTTP server is reached: TLS, credentials, proxies.

For each declared type there are checks of its settings, which need nothing else, and checks of its
references, which read the values. `http_client` makes both for everything that an object has: an
endpoint, a discovery, remote storage.
"""

import re
from collections.abc import Callable
from functools import cache
from typing import Any, Final

from msgspec.structs import fields

from stoker.api.common import (
    Authorization,
    BasicAuth,
    OAuth2,
    SafeAuthorization,
    SafeTlsConfig,
    SecretOrConfigMap,
    Sigv4,
    TlsConfig,
)
from stoker.api.core import SecretKeySelector
from stoker.api.scrapeconfig.client import GrantOAuth2, HttpHeader
from stoker.errors import below
from stoker.validate.findings import Finding, Findings, Reason, json_name, json_names
from stoker.validate.pem import ca_problem, pair_problem
from stoker.validate.reading import CheckReading
from stoker.validate.syntax import Url, web_url_problem
from stoker.version import needs_version

_TLS_VERSIONS: Final = ("TLS10", "TLS11", "TLS12", "TLS13")


def conflict(path: str, message: str) -> Finding:
    """Fields that exclude or need each other."""
    return Finding(path, Reason.CONFLICT, message)


def is_set(reference: SecretOrConfigMap | None) -> bool:
    """Whether a Secret or a ConfigMap was chosen, even if no name was given."""
    return bool(reference and (reference.secret is not None or reference.config_map is not None))


def secret_or_config_map_settings(reference: SecretOrConfigMap | None, path: str) -> Findings:
    """Not both of them."""
    if reference and reference.secret is not None and reference.config_map is not None:
        yield conflict(path, "`secret` and `configMap` exclude each other")


def tls_versions(tls: SafeTlsConfig, path: str) -> Findings:
    """The lowest version is not above the highest."""
    low, high = tls.min_version, tls.max_version
    if low in _TLS_VERSIONS and high in _TLS_VERSIONS and low > high:
        yield conflict(below(path, "maxVersion"), f"is lower than `minVersion` ({low})")


_SOURCES: Final = (("caFile", "ca"), ("certFile", "cert"), ("keyFile", "keySecret"))


def tls_settings(tls: SafeTlsConfig | None, path: str) -> Findings:
    """Each piece of material from one place, and certificate and key together."""
    if tls is None:
        return
    chosen = {
        "ca": is_set(tls.ca),
        "cert": is_set(tls.cert),
        "keySecret": tls.key_secret is not None,
    }
    files = _files_of(tls)
    for file, source in _SOURCES:
        if file in files and chosen[source]:
            yield conflict(below(path, file), f"excludes `{source}`")
    certificate = chosen["cert"] or "certFile" in files
    key = chosen["keySecret"] or "keyFile" in files
    if certificate and not key:
        yield conflict(path, "a client certificate needs its private key")
    if key and not certificate:
        yield conflict(path, "a private key needs its client certificate")
    yield from secret_or_config_map_settings(tls.ca, below(path, "ca"))
    yield from secret_or_config_map_settings(tls.cert, below(path, "cert"))
    yield from tls_versions(tls, path)


def _files_of(tls: SafeTlsConfig) -> set[str]:
    if not isinstance(tls, TlsConfig):
        return set()
    named = {"caFile": tls.ca_file, "certFile": tls.cert_file, "keyFile": tls.key_file}
    return {name for name, path in named.items() if path}


def tls_references(tls: SafeTlsConfig | None, reading: CheckReading, path: str) -> Findings:
    """The material is there and loads; it becomes files."""
    if tls is None:
        return
    if is_set(tls.ca):
        yield from reading.unresolved(tls.ca, below(path, "ca"))
        yield from _unreadable_ca(tls, reading, below(path, "ca"))
    if is_set(tls.cert):
        yield from reading.unresolved(tls.cert, below(path, "cert"))
    if tls.key_secret is not None:
        yield from reading.unresolved(tls.key_secret, below(path, "keySecret"))
    yield from _unreadable_pair(tls, reading, path)


def _unreadable_ca(tls: SafeTlsConfig, reading: CheckReading, path: str) -> Findings:
    text = reading.value(tls.ca)
    if text is None:
        return
    reading.keep_file(tls.ca, text)
    problem = ca_problem(text)
    if problem:
        yield Finding(path, Reason.INVALID_CERTIFICATE, problem)


def _unreadable_pair(tls: SafeTlsConfig, reading: CheckReading, path: str) -> Findings:
    certificate = reading.value(tls.cert) if is_set(tls.cert) else None
    key = reading.value(tls.key_secret)
    if certificate is not None:
        reading.keep_file(tls.cert, certificate)
    if key is not None:
        reading.keep_file(tls.key_secret, key)
    if certificate is not None and key is not None:
        problem = pair_problem(certificate, key)
        if problem:
            yield Finding(path, Reason.INVALID_CERTIFICATE, problem)


def tls_config(tls: SafeTlsConfig | None, reading: CheckReading, path: str) -> Findings:
    """Everything about TLS settings."""
    yield from tls_settings(tls, path)
    yield from tls_references(tls, reading, path)


def basic_auth(auth: BasicAuth | None, reading: CheckReading, path: str) -> Findings:
    """User name and password are there."""
    if auth is not None:
        yield from reading.unresolved(auth.username, below(path, "username"))
        yield from reading.unresolved(auth.password, below(path, "password"))


def authorization_settings(auth: SafeAuthorization | None, path: str) -> Findings:
    """Not the scheme of basic authentication, and one source of credentials."""
    if auth is None:
        return
    if (auth.type or "").strip().lower() == "basic":
        yield Finding(below(path, "type"), Reason.INVALID_VALUE, "use `basicAuth` for this scheme")
    has_file = isinstance(auth, Authorization) and auth.credentials_file
    if has_file and auth.credentials is not None:
        yield conflict(path, "`credentials` and `credentialsFile` exclude each other")


def authorization(auth: SafeAuthorization | None, reading: CheckReading, path: str) -> Findings:
    """Everything about an `Authorization` header; it may have no credentials."""
    yield from authorization_settings(auth, path)
    if auth is not None:
        yield from reading.unresolved_if_named(auth.credentials, below(path, "credentials"))


def proxy_settings(proxy: Any, path: str) -> Findings:
    """A proxy from its address or from the environment, and nothing without a proxy."""
    url, environment = bool(proxy.proxy_url), bool(proxy.proxy_from_environment)
    if environment and url:
        yield conflict(below(path, "proxyUrl"), "excludes `proxyFromEnvironment`")
    if environment and proxy.no_proxy:
        yield conflict(below(path, "noProxy"), "excludes `proxyFromEnvironment`")
    if proxy.no_proxy and not (url or environment):
        yield conflict(below(path, "noProxy"), "needs `proxyUrl`")
    if proxy.proxy_connect_header and not (url or environment):
        where = below(path, "proxyConnectHeader")
        yield conflict(where, "needs `proxyUrl` or `proxyFromEnvironment`")
    problem = Url(proxy.proxy_url).problem if url else ""
    if problem:
        yield Finding(below(path, "proxyUrl"), Reason.INVALID_VALUE, problem)


def proxy_references(proxy: Any, reading: CheckReading, path: str) -> Findings:
    """The values of headers are there."""
    for name, values in (proxy.proxy_connect_header or {}).items():
        for index, value in enumerate(values):
            where = f"{below(path, 'proxyConnectHeader')}[{name}][{index}]"
            yield from reading.unresolved(value, where)


def oauth2_settings(oauth2: OAuth2 | None, path: str) -> Findings:
    """A client and a token server, reached in a way that can work."""
    if oauth2 is None:
        return
    if not is_set(oauth2.client_id):
        yield Finding(below(path, "clientId"), Reason.REQUIRED, "must be set")
    if not oauth2.token_url:
        yield Finding(below(path, "tokenUrl"), Reason.REQUIRED, "must be set")
    elif Url(oauth2.token_url).problem:
        yield Finding(below(path, "tokenUrl"), Reason.INVALID_VALUE, Url(oauth2.token_url).problem)
    yield from secret_or_config_map_settings(oauth2.client_id, below(path, "clientId"))
    yield from tls_settings(oauth2.tls_config, below(path, "tlsConfig"))
    yield from proxy_settings(oauth2, path)


def oauth2_references(oauth2: OAuth2 | None, reading: CheckReading, path: str) -> Findings:
    """Client id and secret, certificates and headers are there."""
    if oauth2 is None:
        return
    yield from reading.unresolved(oauth2.client_id, below(path, "clientId"))
    if reading.value(oauth2.client_id) == "":
        yield Finding(below(path, "clientId"), Reason.INVALID_VALUE, "the value is empty")
    if not signs_tokens(oauth2):
        yield from reading.unresolved(oauth2.client_secret, below(path, "clientSecret"))
    yield from tls_references(oauth2.tls_config, reading, below(path, "tlsConfig"))
    yield from proxy_references(oauth2, reading, path)


def signs_tokens(oauth2: OAuth2) -> bool:
    """Whether a client signs its tokens itself, so that it needs no client secret."""
    return isinstance(oauth2, GrantOAuth2) and oauth2.grant_type == "JWTBearer"


_SIGNED_TOKENS: Final = "3.8.0"


def grant(oauth2: GrantOAuth2, reading: CheckReading, path: str) -> Findings:
    """Tokens can be signed, where they shall be: by the version, and with a key."""
    if not signs_tokens(oauth2):
        return
    if not reading.knows(_SIGNED_TOKENS):
        message = f"`JWTBearer` {needs_version('Prometheus', _SIGNED_TOKENS)}"
        yield Finding(below(path, "grantType"), Reason.UNSUPPORTED_VERSION, message)
    yield from reading.unresolved(
        oauth2.client_certificate_key, below(path, "clientCertificateKey")
    )


def oauth2(value: OAuth2 | None, reading: CheckReading, path: str) -> Findings:
    """Everything about an OAuth 2.0 client."""
    yield from oauth2_settings(value, path)
    yield from oauth2_references(value, reading, path)
    if isinstance(value, GrantOAuth2):
        yield from grant(value, reading, path)


# Headers that Prometheus sets itself, or that say how the connection is used.
_RESERVED_HEADERS: Final = frozenset(
    {
        "accept-encoding",
        "authorization",
        "connection",
        "content-encoding",
        "content-length",
        "content-type",
        "host",
        "keep-alive",
        "proxy-authenticate",
        "proxy-authorization",
        "user-agent",
        "www-authenticate",
        "x-amz-content-sha256",
        "x-amz-date",
        "x-amz-security-token",
        "x-prometheus-remote-read-version",
        "x-prometheus-remote-write-version",
        "x-prometheus-scrape-timeout-seconds",
    }
)
_HEADER: Final = re.compile("[!#$%&'*+.^_`|~0-9A-Za-z-]+")


def http_headers(headers: dict[str, HttpHeader], reading: CheckReading, path: str) -> Findings:
    """Names of headers that may be set, and values that are there."""
    for name, header in headers.items():
        where = f"{path}[{name}]"
        if not _HEADER.fullmatch(name):
            yield Finding(where, Reason.INVALID_VALUE, "is not the name of a header")
        if name.lower() in _RESERVED_HEADERS:
            yield Finding(where, Reason.INVALID_VALUE, "this header cannot be set")
        for index, secret in enumerate(header.secrets or ()):
            yield from reading.unresolved(secret, f"{where}.secrets[{index}]")


def sigv4(value: Sigv4 | None, reading: CheckReading, path: str) -> Findings:
    """Both AWS keys or none."""
    if value is None:
        return
    named = [reading.names(key) for key in (value.access_key, value.secret_key)]
    if any(named) and not all(named):
        yield conflict(path, "`accessKey` and `secretKey` need each other")
    yield from reading.unresolved_if_named(value.access_key, below(path, "accessKey"))
    yield from reading.unresolved_if_named(value.secret_key, below(path, "secretKey"))


def bearer_token(reference: SecretKeySelector | None, reading: CheckReading, path: str) -> Findings:
    """The token is there; an empty reference is none."""
    yield from reading.unresolved_if_named(reference, path)


_Part = Callable[[Any, CheckReading, str], Findings]
_PARTS: Final[dict[str, _Part]] = {
    "tls_config": tls_config,
    "basic_auth": basic_auth,
    "authorization": authorization,
    "oauth2": oauth2,
    "http_headers": http_headers,
    "bearer_token_secret": bearer_token,
    "sigv4": sigv4,
}
# Prometheus takes one of these.
_CREDENTIALS: Final = (
    "basic_auth",
    "authorization",
    "oauth2",
    "sigv4",
    "azure_ad",
    "bearer_token",
    "bearer_token_secret",
    "bearer_token_file",
)


@cache
def _of_type(model: Any, names: tuple[str, ...]) -> tuple[str, ...]:
    return tuple(name for name in names if name in json_names(model))


@cache
def _to_choose_from(model: Any) -> tuple[str, ...]:
    """The credentials that an object can have or not; what it must have is no choice."""
    optional = {each.name for each in fields(model) if each.default is None}
    return tuple(name for name in _of_type(model, _CREDENTIALS) if name in optional)


def one_kind_of_credentials(source: Any, path: str) -> Findings:
    """At most one way to authenticate."""
    model: Any = type(source)
    given = [name for name in _to_choose_from(model) if _given(getattr(source, name))]
    if len(given) > 1:
        names = " and ".join(f"`{json_name(source, name)}`" for name in given)
        yield conflict(path, f"{names} exclude each other")


def _given(value: Any) -> bool:
    if isinstance(value, SecretKeySelector):
        return bool(value.name or value.key)
    return bool(value)


def http_client(source: Any, reading: CheckReading, path: str) -> Findings:
    """Everything that an object says about how an HTTP server is reached."""
    model: Any = type(source)
    yield from one_kind_of_credentials(source, path)
    for name in _of_type(model, tuple(_PARTS)):
        value = getattr(source, name)
        if value is not None:
            yield from _PARTS[name](value, reading, below(path, json_name(source, name)))
    if "proxy_url" in json_names(model):
        yield from proxy_settings(source, path)
        yield from proxy_references(source, reading, path)


def web_url(text: str | None, path: str) -> Findings:
    """An http or https URL with a host."""
    problem = web_url_problem(text or "")
    if problem:
        yield Finding(path, Reason.INVALID_VALUE, problem)
