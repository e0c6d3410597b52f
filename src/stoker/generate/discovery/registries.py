"""Targets that are registered somewhere: in a catalog, an inventory, a scheduler."""

from typing import Final

from stoker.generate.discovery.rows import (
    CREDENTIALS,
    FOLLOW_REDIRECTS,
    PROXY,
    REFRESH,
    REQUESTS,
    TLS,
    Table,
    items,
    lower,
    members,
    secret,
    since,
)
from stoker.generate.draft import Key

# Consul Enterprise's namespace (2.28) and the path prefix (2.45) are written for any version, as
# the peer does; a ScrapeConfig that has them is rejected before, where the version is older.
CONSUL: Final[Table] = (
    *since("2.28.0", *CREDENTIALS, *PROXY),
    TLS,
    Key("server"),
    Key("path_prefix"),
    Key("token", "token_ref", write=secret),
    Key("datacenter"),
    Key("namespace"),
    Key("partition", since="2.40.0"),
    Key("scheme", write=lower),
    Key("services", write=items),
    Key("tags", write=items),
    Key("tag_separator"),
    Key("node_meta", write=members),
    Key("filter", since="3.0.0"),
    Key("health_filter", since="3.11.2"),
    Key("allow_stale"),
    REFRESH,
    *since("2.28.0", *REQUESTS),
)

NOMAD: Final[Table] = (
    *CREDENTIALS,
    *PROXY,
    Key("server"),
    Key("allow_stale"),
    Key("namespace"),
    REFRESH,
    Key("region"),
    Key("tag_separator"),
    *REQUESTS,
    TLS,
)

EUREKA: Final[Table] = (*CREDENTIALS, *PROXY, *REQUESTS, TLS, REFRESH, Key("server"))

KUMA: Final[Table] = (
    *CREDENTIALS,
    *PROXY,
    Key("server"),
    *REQUESTS,
    TLS,
    REFRESH,
    Key("fetch_timeout"),
    Key("client_id", since="2.50.0"),
)

PUPPETDB: Final[Table] = (
    *CREDENTIALS,
    *PROXY,
    Key("url"),
    Key("query"),
    Key("include_parameters"),
    Key("port"),
    REFRESH,
    FOLLOW_REDIRECTS,
    TLS,
    *REQUESTS[1:],
)

MARATHON: Final[Table] = (
    *CREDENTIALS,
    *PROXY,
    Key("servers", write=items),
    TLS,
    Key("auth_token", write=secret),
    REFRESH,
    *REQUESTS,
)

ZOOKEEPER: Final[Table] = (
    Key("servers", write=items),
    Key("paths", write=items),
    Key("timeout"),
)

UYUNI: Final[Table] = (
    *CREDENTIALS,
    *PROXY,
    Key("server"),
    Key("username"),
    Key("password", write=secret),
    TLS,
    Key("entitlement"),
    Key("separator"),
    REFRESH,
    *REQUESTS,
)
