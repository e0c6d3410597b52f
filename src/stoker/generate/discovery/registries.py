"""Targets that are registered somewhere: in a catalog, an inventory, a scheduler."""

from typing import Final

from stoker.generate.discovery.rows import (
    CREDENTIALS,
    FOLLOW_REDIRECTS,
    PROXY,
    REFRESH,
    REQUESTS,
    TLS,
    items,
    lower,
    members,
    secret,
    since,
)
from stoker.generate.grammar import Member, Table

# Consul Enterprise's namespace (2.28) and the path prefix (2.45) are written for any version, as
# the peer does; a ScrapeConfig that has them is rejected before, where the version is older.
CONSUL: Final[Table] = (
    *since("2.28.0", *CREDENTIALS, *PROXY),
    TLS,
    Member("server"),
    Member("path_prefix"),
    Member("token", "token_ref", write=secret),
    Member("datacenter"),
    Member("namespace"),
    Member("partition", since="2.40.0"),
    Member("scheme", write=lower),
    Member("services", write=items),
    Member("tags", write=items),
    Member("tag_separator"),
    Member("node_meta", write=members),
    Member("filter", since="3.0.0"),
    Member("health_filter", since="3.11.2"),
    Member("allow_stale"),
    REFRESH,
    *since("2.28.0", *REQUESTS),
)

NOMAD: Final[Table] = (
    *CREDENTIALS,
    *PROXY,
    Member("server"),
    Member("allow_stale"),
    Member("namespace"),
    REFRESH,
    Member("region"),
    Member("tag_separator"),
    *REQUESTS,
    TLS,
)

EUREKA: Final[Table] = (*CREDENTIALS, *PROXY, *REQUESTS, TLS, REFRESH, Member("server"))

KUMA: Final[Table] = (
    *CREDENTIALS,
    *PROXY,
    Member("server"),
    *REQUESTS,
    TLS,
    REFRESH,
    Member("fetch_timeout"),
    Member("client_id", since="2.50.0"),
)

PUPPETDB: Final[Table] = (
    *CREDENTIALS,
    *PROXY,
    Member("url"),
    Member("query"),
    Member("include_parameters"),
    Member("port"),
    REFRESH,
    FOLLOW_REDIRECTS,
    TLS,
    *REQUESTS[1:],
)

MARATHON: Final[Table] = (
    *CREDENTIALS,
    *PROXY,
    Member("servers", write=items),
    TLS,
    Member("auth_token", write=secret),
    REFRESH,
    *REQUESTS,
)

ZOOKEEPER: Final[Table] = (
    Member("servers", write=items),
    Member("paths", write=items),
    Member("timeout"),
)

UYUNI: Final[Table] = (
    *CREDENTIALS,
    *PROXY,
    Member("server"),
    Member("username"),
    Member("password", write=secret),
    TLS,
    Member("entitlement"),
    Member("separator"),
    REFRESH,
    *REQUESTS,
)
