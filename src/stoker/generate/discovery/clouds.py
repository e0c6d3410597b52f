"""Targets that are machines of a cloud provider."""

import re
from typing import Final

from stoker.api.common import SafeAuthorization
from stoker.generate.block import Block
from stoker.generate.discovery.rows import (
    AUTHORIZATION,
    CREDENTIALS,
    FILTERS,
    OAUTH2,
    PROXY,
    REDIRECTS,
    REFRESH,
    TLS,
    Shaped,
    Table,
    Word,
    items,
    lower,
    secret,
    since,
)
from stoker.generate.draft import Draft, Key
from stoker.generate.http import authorization

_ACCESS_KEY: Final = Key("access_key", write=secret)
_SECRET_KEY: Final = Key("secret_key", write=secret)

# The two AWS discoveries have settings for HTTP since 2.41 only.
EC2: Final[Table] = (
    *since("2.41.0", *PROXY),
    Key("region"),
    _ACCESS_KEY,
    _SECRET_KEY,
    Key("role_arn"),
    REFRESH,
    Key("port"),
    *since("2.3.0", FILTERS),
    *since("2.41.0", *REDIRECTS, TLS),
)

LIGHTSAIL: Final[Table] = (
    *since("2.41.0", *CREDENTIALS, *PROXY),
    Key("region"),
    Key("endpoint"),
    Key("port"),
    REFRESH,
    _ACCESS_KEY,
    _SECRET_KEY,
    Key("role_arn"),
    *since("2.41.0", *REDIRECTS, TLS),
)


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
)

GCE: Final[Table] = (
    Key("project"),
    Key("zone"),
    Key("filter"),
    REFRESH,
    Key("port"),
    Key("tag_separator"),
)

DIGITAL_OCEAN: Final[Table] = (
    AUTHORIZATION,
    OAUTH2,
    *PROXY,
    TLS,
    *REDIRECTS,
    Key("port"),
    REFRESH,
)

HETZNER: Final[Table] = (
    *CREDENTIALS,
    *PROXY,
    Key("role", write=lower),
    TLS,
    *REDIRECTS,
    Key("port"),
    REFRESH,
    Key("label_selector", since="3.5.0"),
)


def _authorization_if_set(auth: SafeAuthorization, draft: Draft, path: str) -> Block | None:
    """IONOS requires the field even where OAuth 2.0 is used instead: then it is empty."""
    return authorization(auth, draft, path) if auth.type or auth.credentials else None


IONOS: Final[Table] = (
    Key("authorization", since=AUTHORIZATION.since, write=_authorization_if_set),
    OAUTH2,
    *PROXY,
    TLS,
    Key("datacenter_id"),
    *REDIRECTS,
    Key("port"),
    REFRESH,
)

LINODE: Final[Table] = (
    AUTHORIZATION,
    OAUTH2,
    *PROXY,
    TLS,
    Key("region", since="2.52.0"),
    Key("port"),
    Key("enable_http2", since="2.35.0"),
    Key("tag_separator"),
    REFRESH,
    Key("follow_redirects", since="2.26.0"),
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

_UUID: Final = re.compile(r"[0-9a-fA-F]{8}-(?:[0-9a-fA-F]{4}-){3}[0-9a-fA-F]{12}")
_SCALEWAY_KEY: Final = re.compile("SCW[A-Z0-9]{17}")
_SCALEWAY_ZONE: Final = re.compile("[a-z]{2}-[a-z]{3}-[1-9]")
_NO_SLASH: Final = re.compile(r".*[^/]", re.DOTALL)

SCALEWAY: Final[Table] = (
    Key("access_key", write=Shaped(_SCALEWAY_KEY, "an access key such as SCWXXXXXXXXXXXXXXXXX")),
    Key("secret_key", write=Shaped(_UUID, "a UUID", secret)),
    Key("project_id", write=Shaped(_UUID, "a UUID")),
    Key("role", write=lower),
    Key("port"),
    Key("api_url", write=Shaped(_NO_SLASH, "a URL without a slash at its end")),
    Key("zone", write=Shaped(_SCALEWAY_ZONE, "a zone such as fr-par-1")),
    Key("name_filter"),
    Key("tags_filter", write=items),
    REFRESH,
    *PROXY,
    *REDIRECTS,
    TLS,
)
