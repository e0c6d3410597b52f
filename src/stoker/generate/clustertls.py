"""The file that lets the members of an Alertmanager cluster talk over mutual TLS.

Each member is a server to the others and a client of them, so the file has settings for both. The
certificates and keys stay in their Secrets and ConfigMaps, which pods mount below its directory:

    DIRECTORY/cluster-tls-config.yaml
    DIRECTORY/server_tls/secret/NAME-key/KEY
    DIRECTORY/client_tls/configmap/NAME-ca/KEY
"""

from collections.abc import Iterable
from typing import Any, Final

from msgspec import Struct

from stoker.api.alertmanager import ClusterTlsConfig
from stoker.api.common import SafeTlsConfig
from stoker.api.workload import WebTlsConfig
from stoker.generate.block import Block, text_of
from stoker.generate.webconfig import Credential, credential, private_key, tls_credentials
from stoker.version import Version, parse_version

SERVER_DIRECTORY: Final = "server_tls"
CLIENT_DIRECTORY: Final = "client_tls"

# The first Alertmanager that can restrict the version of TLS when it is the client.
_CLIENT_VERSIONS_SINCE: Final = parse_version("0.25.0")


class ClusterCredentials(Struct, frozen=True):
    """What the settings refer to, in the order in which pods mount it."""

    server: tuple[Credential, ...] = ()
    client: tuple[Credential, ...] = ()


def cluster_credentials(tls: ClusterTlsConfig | None) -> ClusterCredentials:
    """The certificates and keys for a cluster."""
    if tls is None:
        return ClusterCredentials()
    client = (_client_key(tls.client), _client_cert(tls.client), _client_ca(tls.client))
    named = tuple(one for one in client if one)
    return ClusterCredentials(tuple(tls_credentials(tls.server)), named)


def cluster_tls_text(
    tls: ClusterTlsConfig | None, directory: str, version: Version | None = None
) -> str:
    """The text of the file in this directory, for a version; empty where nothing is set."""
    if tls is None:
        return ""
    block: Block = {
        "tls_server_config": _server(tls.server, f"{directory}/{SERVER_DIRECTORY}"),
        "tls_client_config": _client(tls.client, f"{directory}/{CLIENT_DIRECTORY}", version),
    }
    return text_of(block)


def _server(tls: WebTlsConfig, directory: str) -> Block:
    return _present(
        (
            ("key_file", _path(private_key(tls.key_secret), directory, tls.key_file)),
            ("cert_file", _path(credential(tls.cert, "cert"), directory, tls.cert_file)),
            ("client_auth_type", tls.client_auth_type),
            (
                "client_ca_file",
                _path(credential(tls.client_ca, "ca"), directory, tls.client_ca_file),
            ),
            ("min_version", tls.min_version),
            ("max_version", tls.max_version),
            ("cipher_suites", tls.cipher_suites),
            ("prefer_server_cipher_suites", tls.prefer_server_cipher_suites),
            ("curve_preferences", tls.curve_preferences),
        )
    )


def _client(tls: SafeTlsConfig, directory: str, version: Version | None) -> Block:
    restricts = version is None or version >= _CLIENT_VERSIONS_SINCE
    return _present(
        (
            ("key_file", _path(_client_key(tls), directory)),
            ("cert_file", _path(_client_cert(tls), directory)),
            ("ca_file", _path(_client_ca(tls), directory)),
            ("server_name", tls.server_name),
            ("insecure_skip_verify", tls.insecure_skip_verify),
            ("min_version", tls.min_version if restricts else None),
            ("max_version", tls.max_version if restricts else None),
        )
    )


def _client_key(tls: SafeTlsConfig) -> Credential | None:
    return private_key(tls.key_secret)


def _client_cert(tls: SafeTlsConfig) -> Credential | None:
    return credential(tls.cert, "cert")


def _client_ca(tls: SafeTlsConfig) -> Credential | None:
    return credential(tls.ca, "ca")


def _path(found: Credential | None, directory: str, file: str | None = None) -> str | None:
    """Where a file is: mounted from a reference, or where the user says."""
    return found.path(directory) if found else file


def _present(members: Iterable[tuple[str, Any]]) -> Block:
    """The members that are set; an empty text or list sets nothing."""
    return {name: value for name, value in members if value or value is False}
