"""The file that tells a web server how to listen: TLS, HTTP/2 and headers.

Prometheus, Alertmanager and ThanosRuler read the same format. Certificates and keys stay in their
Secrets and ConfigMaps, which pods mount below the directory of this file:

    DIRECTORY/web-config.yaml
    DIRECTORY/secret/NAME-key/KEY
    DIRECTORY/configmap/NAME-cert/KEY
"""

from collections.abc import Callable, Mapping
from typing import Any, Final

from msgspec import Struct

from stoker.api.common import SecretOrConfigMap
from stoker.api.core import SecretKeySelector
from stoker.api.workload import WebConfig, WebHeaders, WebHttpConfig, WebTlsConfig
from stoker.generate.block import Block, text_of


class Credential(Struct, frozen=True):
    """A file in a Secret or ConfigMap (`source`), and what it is for: `key`, `cert` or `ca`."""

    source: str
    name: str
    key: str
    use: str

    def directory(self, base: str) -> str:
        """Where the whole Secret or ConfigMap is mounted."""
        return f"{base}/{self.source}/{self.name}-{self.use}"

    def path(self, base: str) -> str:
        """Where the file is."""
        return f"{self.directory(base)}/{self.key}" if self.key else self.directory(base)


def credential(selector: SecretOrConfigMap | None, use: str) -> Credential | None:
    """What a selector names, if it names anything."""
    if selector and selector.secret:
        return _secret(selector.secret, use)
    if selector and selector.config_map:
        chosen = selector.config_map
        return Credential("configmap", chosen.name, chosen.key, use) if chosen.name else None
    return None


def private_key(selector: SecretKeySelector | None) -> Credential | None:
    """The private key that a selector names, if it names one."""
    return _secret(selector, "key") if selector else None


def tls_credentials(tls: WebTlsConfig | None) -> list[Credential]:
    """What the TLS settings refer to, in the order in which pods mount it."""
    if tls is None:
        return []
    named = (
        private_key(tls.key_secret),
        credential(tls.cert, "cert"),
        credential(tls.client_ca, "ca"),
    )
    return [one for one in named if one]


def web_config_text(web: WebConfig | None, directory: str) -> str:
    """The text of the file in this directory; empty where nothing is set."""
    block: Block = {}
    if web and web.tls_config:
        block["tls_server_config"] = _tls(web.tls_config, directory)
    if web and web.http_config:
        block["http_server_config"] = _http(web.http_config)
    return text_of(block) if block else ""


def _secret(selector: SecretKeySelector, use: str) -> Credential | None:
    return Credential("secret", selector.name, selector.key, use) if selector.name else None


def _tls(tls: WebTlsConfig, directory: str) -> Block:
    def file(found: Credential | None, given: str | None) -> str | None:
        return found.path(directory) if found else given

    return _present(
        {
            "cert_file": file(credential(tls.cert, "cert"), tls.cert_file),
            "key_file": file(private_key(tls.key_secret), tls.key_file),
            "client_auth_type": tls.client_auth_type,
            "client_ca_file": file(credential(tls.client_ca, "ca"), tls.client_ca_file),
            "min_version": tls.min_version,
            "max_version": tls.max_version,
            "cipher_suites": tls.cipher_suites,
            "prefer_server_cipher_suites": tls.prefer_server_cipher_suites,
            "curve_preferences": tls.curve_preferences,
        }
    )


def _http(http: WebHttpConfig) -> Block:
    block: Block = {} if http.http2 is None else {"http2": http.http2}
    if http.headers:
        block["headers"] = {name: value for name, read in _HEADERS if (value := read(http.headers))}
    return block


_HEADERS: Final[tuple[tuple[str, Callable[[WebHeaders], str | None]], ...]] = (
    ("Content-Security-Policy", lambda headers: headers.content_security_policy),
    ("Strict-Transport-Security", lambda headers: headers.strict_transport_security),
    ("X-Content-Type-Options", lambda headers: (headers.x_content_type_options or "").lower()),
    ("X-Frame-Options", lambda headers: (headers.x_frame_options or "").lower()),
    ("X-XSS-Protection", lambda headers: headers.x_xss_protection),
)


def _present(members: Mapping[str, Any]) -> Block:
    """The members that are set; an empty text or list sets nothing."""
    return {name: value for name, value in members.items() if value or value is False}
