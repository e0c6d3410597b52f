"""How Alertmanager reaches an HTTP server: TLS, credentials, proxies, AWS signatures."""

from typing import Any, Final

from stoker.errors import FieldError, below
from stoker.generate.alertmanager.checks import all_of, at_most_one
from stoker.generate.alertmanager.draft import AlertDraft, secret
from stoker.generate.alertmanager.table import (
    LISTS,
    MAPPING,
    OBJECT_OF_ANYTHING,
    SOME_TEXT,
    SWITCH,
    TEXT,
    TEXTS,
    keyed,
    one,
)
from stoker.generate.block import Block
from stoker.generate.grammar import Member, Section, by_section, written
from stoker.generate.order import in_order
from stoker.generate.values import file_of, if_any, items, members
from stoker.validate.syntax import Url
from stoker.version import Version

_TLS_VERSIONS: Final = ("TLS10", "TLS11", "TLS12", "TLS13")


# --- TLS ------------------------------------------------------------------------------------------


def _tls_versions(block: Block, _version: Version, path: str) -> None:
    for key in ("min_version", "max_version"):
        if key in block and block[key] not in _TLS_VERSIONS:
            raise FieldError(below(path, key), f"is not one of {', '.join(_TLS_VERSIONS)}")
    low, high = block.get("min_version"), block.get("max_version")
    if low and high and low > high:
        raise FieldError(below(path, "max_version"), "is lower than `min_version`")


def _certificate_and_key(block: Block, _version: Version, path: str) -> None:
    certificate = block.get("cert") or block.get("cert_file")
    key = block.get("key") or block.get("key_file")
    if bool(certificate) != bool(key):
        raise FieldError(path, "a client certificate and its key need each other")


TLS: Final = Section(
    (
        Member("ca", None, SOME_TEXT, since="0.26.0"),
        Member("cert", None, SOME_TEXT, since="0.26.0"),
        Member("key", None, SOME_TEXT, since="0.26.0"),
        Member("ca_file", "ca", SOME_TEXT, file_of),
        Member("cert_file", "cert", SOME_TEXT, file_of),
        Member("key_file", "key_secret", SOME_TEXT, file_of),
        Member("server_name", "server_name", TEXT),
        Member("insecure_skip_verify", "insecure_skip_verify", SWITCH, default=False),
        Member("min_version", "min_version", TEXT, since="0.25.0"),
        Member("max_version", "max_version", TEXT, since="0.25.0"),
    ),
    checks=(_tls_versions,),
    needs=(
        at_most_one("ca", "ca_file"),
        at_most_one("cert", "cert_file"),
        at_most_one("key", "key_file"),
        _certificate_and_key,
    ),
)


# --- Credentials ----------------------------------------------------------------------------------


def _no_basic(block: Block, _version: Version, path: str) -> None:
    if str(block.get("type", "")).strip().lower() == "basic":
        raise FieldError(below(path, "type"), "use `basic_auth` for this scheme")


def _scheme(auth: Any, draft: AlertDraft, path: str) -> Block:
    """The scheme is always named: `Bearer` unless another is."""
    return {"type": (auth.type or "").strip() or "Bearer"} | written(
        AUTHORIZATION.members, auth, draft, path
    )


BASIC_AUTH: Final = Section(
    (
        Member("username", "username", TEXT, secret),
        Member("username_file", None, SOME_TEXT, since="0.28.0"),
        Member("password", "password", SOME_TEXT, secret),
        Member("password_file", None, SOME_TEXT),
    ),
    needs=(at_most_one("username", "username_file"), at_most_one("password", "password_file")),
)
AUTHORIZATION: Final = Section(
    (
        Member("type", None, TEXT),
        Member("credentials", "credentials", SOME_TEXT, secret),
        Member("credentials_file", None, SOME_TEXT),
    ),
    needs=(at_most_one("credentials", "credentials_file"), _no_basic),
)


def _headers(values: Any, draft: AlertDraft, path: str) -> dict[str, list[str]]:
    """Each header with its values, which are all in Secrets."""
    return in_order(
        {
            name: [
                draft.needed(value, f"{path}[{name}][{index}]") for index, value in enumerate(each)
            ]
            for name, each in values.items()
        }
    )


def _proxy_rules(block: Block, _version: Version, path: str) -> None:
    url, environment = block.get("proxy_url"), block.get("proxy_from_environment")
    if environment and url:
        raise FieldError(below(path, "proxy_url"), "excludes `proxy_from_environment`")
    if environment and block.get("no_proxy"):
        raise FieldError(below(path, "no_proxy"), "excludes `proxy_from_environment`")
    if block.get("no_proxy") and not url:
        raise FieldError(below(path, "no_proxy"), "needs `proxy_url`")
    if block.get("proxy_connect_header") and not (url or environment):
        where = below(path, "proxy_connect_header")
        raise FieldError(where, "needs `proxy_url` or `proxy_from_environment`")
    # Alertmanager's reader takes these two for nothing even in quotes, and then refuses them.
    problem = "is no URL" if url in ("null", "~") else Url(url or "").problem
    if problem:
        raise FieldError(below(path, "proxy_url"), problem)


_PROXY: Final = (
    Member("no_proxy", "no_proxy", SOME_TEXT, since="0.26.0"),
    Member("proxy_from_environment", "proxy_from_environment", SWITCH, if_any, since="0.26.0"),
    Member("proxy_connect_header", "proxy_connect_header", LISTS, _headers, since="0.26.0"),
)
OAUTH2: Final = Section(
    (
        Member("client_id", "client_id", TEXT, secret),
        Member("client_secret", "client_secret", SOME_TEXT, secret),
        Member("client_secret_file", None, SOME_TEXT),
        *(
            Member(key, None, OBJECT_OF_ANYTHING if key == "claims" else SOME_TEXT, since="0.31.0")
            for key in (
                "client_certificate_key_id",
                "client_certificate_key",
                "client_certificate_key_file",
                "grant_type",
                "signature_algorithm",
                "iss",
                "audience",
                "claims",
            )
        ),
        Member("scopes", "scopes", TEXTS, items),
        Member("token_url", "token_url", TEXT),
        Member("endpoint_params", "endpoint_params", MAPPING, members),
        Member("proxy_url", "proxy_url", SOME_TEXT, since="0.25.0"),
        *_PROXY,
        Member("tls_config", "tls_config", one(TLS), by_section(TLS), since="0.25.0"),
    ),
    checks=(_proxy_rules,),
    needs=(all_of("client_id", "token_url"), at_most_one("client_secret", "client_secret_file")),
)


# --- The client -----------------------------------------------------------------------------------

# Headers that the HTTP client sets itself.
_RESERVED: Final = frozenset((
    "authorization", "host", "content-encoding", "content-length", "content-type", "user-agent",
    "connection", "keep-alive", "proxy-authenticate", "proxy-authorization", "www-authenticate",
    "accept-encoding", "x-prometheus-remote-write-version", "x-prometheus-remote-read-version",
    "x-prometheus-scrape-timeout-seconds", "x-amz-date", "x-amz-security-token",
    "x-amz-content-sha256",
))  # fmt: skip


def _no_reserved_headers(block: Block, _version: Version, path: str) -> None:
    for name in block.get("http_headers") or ():
        if name.lower() in _RESERVED:
            raise FieldError(f"{below(path, 'http_headers')}[{name}]", "must not be set")


_AUTHENTICATION: Final = (
    "basic_auth",
    "authorization",
    "oauth2",
    "bearer_token",
    "bearer_token_file",
)


def _one_authentication(block: Block, _version: Version, path: str) -> None:
    """A mapping counts even if it is empty."""
    found = [key for key in _AUTHENTICATION if key in block]
    if len(found) > 1:
        raise FieldError(below(path, found[1]), f"excludes `{found[0]}`")


HEADER: Final = Section(
    (Member("values", None, TEXTS), Member("secrets", None, TEXTS), Member("files", None, TEXTS)),
)
HTTP: Final = Section(
    (
        Member(
            "authorization",
            "authorization",
            one(AUTHORIZATION),
            _scheme,
            since="0.22.0",
            refused=True,
        ),
        Member("basic_auth", "basic_auth", one(BASIC_AUTH), by_section(BASIC_AUTH)),
        Member("oauth2", "oauth2", one(OAUTH2), by_section(OAUTH2), since="0.22.0", refused=True),
        Member("bearer_token", "bearer_token_secret", SOME_TEXT, secret),
        Member("bearer_token_file", None, SOME_TEXT),
        Member("tls_config", "tls_config", one(TLS), by_section(TLS), keep_empty=True),
        Member("follow_redirects", "follow_redirects", SWITCH, since="0.22.0"),
        Member("enable_http2", "enable_http2", SWITCH, since="0.25.0"),
        Member("proxy_url", "proxy_url", SOME_TEXT),
        *_PROXY,
        Member("http_headers", None, keyed(HEADER), since="0.28.0"),
    ),
    given=(_no_reserved_headers,),
    checks=(_proxy_rules,),
    needs=(_one_authentication,),
)


def http_config(client: Any, draft: AlertDraft, path: str) -> Block:
    """An `http_config`; the old `proxyURL` goes before `proxyUrl`."""
    block = written(HTTP.members, client, draft, path)
    old = getattr(client, "deprecated_proxy_url", None)
    if old:
        block["proxy_url"] = old
    return block


# --- AWS ------------------------------------------------------------------------------------------


def _key_pair(block: Block, _version: Version, path: str) -> None:
    if bool(block.get("access_key")) != bool(block.get("secret_key")):
        raise FieldError(path, "`access_key` and `secret_key` need each other")


def _role_for_external_id(block: Block, _version: Version, path: str) -> None:
    if block.get("external_id") and not block.get("role_arn"):
        raise FieldError(below(path, "external_id"), "needs `role_arn`")


SIGV4: Final = Section(
    (
        Member("region", "region", TEXT),
        Member("access_key", "access_key", SOME_TEXT, secret),
        Member("secret_key", "secret_key", SOME_TEXT, secret),
        Member("profile", "profile", SOME_TEXT),
        Member("role_arn", "role_arn", SOME_TEXT),
        Member("external_id", "external_id", SOME_TEXT, since="0.34.0"),
        Member("use_fips_sts_endpoint", "use_fips_sts_endpoint", SWITCH, if_any, since="0.28.0"),
        Member("service_name", None, SOME_TEXT, since="0.31.0"),
    ),
    given=(_role_for_external_id,),
    needs=(_key_pair,),
)
