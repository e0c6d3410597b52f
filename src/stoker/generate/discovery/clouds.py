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
    OneOf,
    items,
    lower,
    secret,
    since,
)
from stoker.generate.draft import ScraperDraft
from stoker.generate.grammar import Member, Table


def _unless_default(wanted: bool, _draft: ScraperDraft, _path: str) -> bool | None:
    """What the peer never writes for Azure: true is what Prometheus does anyway."""
    return None if wanted else False


AZURE: Final[Table] = (
    *since("2.31.0", *CREDENTIALS, *PROXY, TLS),
    Member("environment", since="2.4.0"),
    Member(
        "authentication_method",
        since="2.7.0",
        write=OneOf(
            (Member("SDK", since="2.52.0"), Member("WorkloadIdentity", since="3.11.0")),
            essential=True,
        ),
    ),
    Member("subscription_id"),
    Member("tenant_id"),
    Member("client_id"),
    Member("client_secret", write=secret),
    Member("resource_group", since="2.35.0"),
    REFRESH,
    Member("port"),
    Member("follow_redirects", since="2.31.0", write=_unless_default),
    Member("enable_http2", since="2.35.0", write=_unless_default),
    HEADERS,
)

GCE: Final[Table] = (
    Member("project"),
    Member("zone"),
    Member("filter"),
    REFRESH,
    Member("port"),
    Member("tag_separator"),
)

OPENSTACK: Final[Table] = (
    Member(
        "role", write=OneOf((Member("LoadBalancer", since="3.2.0"),), str.lower, essential=True)
    ),
    Member("region"),
    Member("identity_endpoint"),
    Member("username"),
    Member("userid"),
    Member("password", write=secret),
    Member("domain_name"),
    Member("domain_id"),
    Member("project_name"),
    Member("project_id"),
    Member("application_credential_name", since="2.7.0"),
    Member("application_credential_id", since="2.7.0"),
    Member("application_credential_secret", since="2.7.0", write=secret),
    Member("all_tenants", since="2.5.0"),
    REFRESH,
    Member("port"),
    Member("availability", since="2.20.0", write=lower),
    *since("2.5.0", TLS),
)

_OVH_SERVICES: Final = {"vps": "vps", "dedicatedserver": "dedicated_server"}


def _ovh_service(service: str, _draft: ScraperDraft, _path: str) -> str:
    return _OVH_SERVICES.get(service.lower(), service)


OVHCLOUD: Final[Table] = (
    Member("application_key"),
    Member("application_secret", write=secret),
    Member("consumer_key", write=secret),
    Member("service", write=_ovh_service),
    Member("endpoint"),
    REFRESH,
)


def _private_key(reference: SecretKeySelector, draft: ScraperDraft, path: str) -> str | None:
    """The path of the file that holds the key; Prometheus does not take it as text."""
    secret(reference, draft, path)
    return draft.file(reference)


_OCI_METHODS: Final = {"apikey": "api_key", "instanceprincipal": "instance_principal"}


def _oci_method(method: str, _draft: ScraperDraft, _path: str) -> str:
    return _OCI_METHODS.get(method.lower(), method)


OCI: Final[Table] = (
    Member("auth", "authentication_method", write=_oci_method),
    Member("tenancy"),
    Member("user"),
    Member("fingerprint"),
    Member("key_file", "private_key", write=_private_key),
    Member("key_passphrase", "private_key_passphrase", write=secret),
    Member("region"),
    Member("compartments", write=items),
    *PROXY,
    TLS,
    *REQUESTS,
    Member("port"),
    REFRESH,
)

OUTSCALE: Final[Table] = (
    Member("endpoint"),
    Member("region"),
    Member("access_key", write=secret),
    Member("secret_key", write=secret),
    *PROXY,
    TLS,
    *REQUESTS,
    REFRESH,
    Member("port"),
)

STACKIT: Final[Table] = (
    *CREDENTIALS,
    *PROXY,
    TLS,
    *REQUESTS,
    Member("project"),
    Member("region"),
    Member("endpoint"),
    Member("service_account_key", write=secret),
    Member("private_key", write=secret),
    REFRESH,
    Member("port"),
)
