"""Targets that are machines of a public or private cloud."""

from typing import Final

from stoker.api.core import SecretKeySelector
from stoker.generate.discovery.rows import (
    CREDENTIALS,
    HEADERS,
    PROXY,
    REFRESH,
    REQUESTS,
    TLS,
    Table,
    Word,
    items,
    lower,
    secret,
    since,
)
from stoker.generate.draft import Draft, Key


def _unless_default(wanted: bool, _draft: Draft, _path: str) -> bool | None:
    """What the peer never writes for Azure: true is what Prometheus does anyway."""
    return None if wanted else False


AZURE: Final[Table] = (
    *since("2.31.0", *CREDENTIALS, *PROXY, TLS),
    Key("environment", since="2.4.0"),
    Key(
        "authentication_method",
        since="2.7.0",
        write=Word(
            (Key("SDK", since="2.52.0"), Key("WorkloadIdentity", since="3.11.0")), essential=True
        ),
    ),
    Key("subscription_id"),
    Key("tenant_id"),
    Key("client_id"),
    Key("client_secret", write=secret),
    Key("resource_group", since="2.35.0"),
    REFRESH,
    Key("port"),
    Key("follow_redirects", since="2.31.0", write=_unless_default),
    Key("enable_http2", since="2.35.0", write=_unless_default),
    HEADERS,
)

GCE: Final[Table] = (
    Key("project"),
    Key("zone"),
    Key("filter"),
    REFRESH,
    Key("port"),
    Key("tag_separator"),
)

OPENSTACK: Final[Table] = (
    Key("role", write=Word((Key("LoadBalancer", since="3.2.0"),), str.lower, essential=True)),
    Key("region"),
    Key("identity_endpoint"),
    Key("username"),
    Key("userid"),
    Key("password", write=secret),
    Key("domain_name"),
    Key("domain_id"),
    Key("project_name"),
    Key("project_id"),
    Key("application_credential_name", since="2.7.0"),
    Key("application_credential_id", since="2.7.0"),
    Key("application_credential_secret", since="2.7.0", write=secret),
    Key("all_tenants", since="2.5.0"),
    REFRESH,
    Key("port"),
    Key("availability", since="2.20.0", write=lower),
    *since("2.5.0", TLS),
)

_OVH_SERVICES: Final = {"vps": "vps", "dedicatedserver": "dedicated_server"}


def _ovh_service(service: str, _draft: Draft, _path: str) -> str:
    return _OVH_SERVICES.get(service.lower(), service)


OVHCLOUD: Final[Table] = (
    Key("application_key"),
    Key("application_secret", write=secret),
    Key("consumer_key", write=secret),
    Key("service", write=_ovh_service),
    Key("endpoint"),
    REFRESH,
)


def _private_key(reference: SecretKeySelector, draft: Draft, path: str) -> str | None:
    """The path of the file that holds the key; Prometheus does not take it as text."""
    secret(reference, draft, path)
    return draft.file(reference)


_OCI_METHODS: Final = {"apikey": "api_key", "instanceprincipal": "instance_principal"}


def _oci_method(method: str, _draft: Draft, _path: str) -> str:
    return _OCI_METHODS.get(method.lower(), method)


OCI: Final[Table] = (
    Key("auth", "authentication_method", write=_oci_method),
    Key("tenancy"),
    Key("user"),
    Key("fingerprint"),
    Key("key_file", "private_key", write=_private_key),
    Key("key_passphrase", "private_key_passphrase", write=secret),
    Key("region"),
    Key("compartments", write=items),
    *PROXY,
    TLS,
    *REQUESTS,
    Key("port"),
    REFRESH,
)

OUTSCALE: Final[Table] = (
    Key("endpoint"),
    Key("region"),
    Key("access_key", write=secret),
    Key("secret_key", write=secret),
    *PROXY,
    TLS,
    *REQUESTS,
    REFRESH,
    Key("port"),
)

STACKIT: Final[Table] = (
    *CREDENTIALS,
    *PROXY,
    TLS,
    *REQUESTS,
    Key("project"),
    Key("region"),
    Key("endpoint"),
    Key("service_account_key", write=secret),
    Key("private_key", write=secret),
    REFRESH,
    Key("port"),
)
