"""Targets that are rented machines: virtual, dedicated, or a database that somebody runs."""

import re
from typing import Final

from stoker.generate.block import Block
from stoker.generate.discovery.rows import (
    AUTHORIZATION,
    CREDENTIALS,
    FOLLOW_REDIRECTS,
    HEADERS,
    OAUTH2,
    PROXY,
    REFRESH,
    REQUESTS,
    TLS,
    OneOf,
    Shaped,
    items,
    lower,
    secret,
)
from stoker.generate.draft import ScraperDraft
from stoker.generate.grammar import Member, Table

DIGITAL_OCEAN: Final[Table] = (
    AUTHORIZATION,
    OAUTH2,
    *PROXY,
    *REQUESTS,
    TLS,
    Member("role", since="3.12.0", write=lower),
    Member("port"),
    REFRESH,
)

HETZNER: Final[Table] = (
    *CREDENTIALS,
    *PROXY,
    Member("role", write=lower),
    *REQUESTS,
    TLS,
    Member("port"),
    REFRESH,
    Member("label_selector", since="3.5.0"),
)


def oauth2_alone(block: Block, _draft: ScraperDraft, _path: str) -> None:
    """OAuth 2.0 wins: IONOS' `authorization` must be written even by those who do not use it."""
    if "oauth2" in block:
        block.pop("authorization", None)


IONOS: Final[Table] = (
    AUTHORIZATION,
    OAUTH2,
    *PROXY,
    TLS,
    Member("datacenter_id"),
    *REQUESTS,
    Member("port"),
    REFRESH,
)

LINODE: Final[Table] = (
    AUTHORIZATION,
    OAUTH2,
    *PROXY,
    TLS,
    Member("port"),
    Member("region", since="2.52.0"),
    Member("enable_http2", since="2.35.0"),
    Member("tag_separator"),
    REFRESH,
    FOLLOW_REDIRECTS,
    HEADERS,
)

_UUID: Final = re.compile(r"[0-9a-fA-F]{8}-(?:[0-9a-fA-F]{4}-){3}[0-9a-fA-F]{12}")
_SCALEWAY_KEY: Final = re.compile("SCW[A-Z0-9]{17}")
_SCALEWAY_ZONE: Final = re.compile("[a-z]{2}-[a-z]{3}-[1-9]")
_NO_SLASH: Final = re.compile(r".*[^/]", re.DOTALL)

SCALEWAY: Final[Table] = (
    Member("access_key", write=Shaped(_SCALEWAY_KEY, "an access key such as SCWXXXXXXXXXXXXXXXXX")),
    Member("secret_key", write=Shaped(_UUID, "a UUID", secret)),
    Member("project_id", write=Shaped(_UUID, "a UUID")),
    Member("role", write=lower),
    Member("port"),
    Member("api_url", write=Shaped(_NO_SLASH, "a URL without a slash at its end")),
    Member("zone", write=Shaped(_SCALEWAY_ZONE, "a zone such as fr-par-1")),
    Member("name_filter"),
    Member("tags_filter", write=items),
    REFRESH,
    *PROXY,
    TLS,
    *REQUESTS,
)

TRITON: Final[Table] = (
    Member("account"),
    Member("role", write=OneOf((Member("CN", since="2.19.0"),), str.lower, essential=True)),
    Member("dns_suffix"),
    Member("endpoint"),
    Member("groups", since="2.5.0", write=items),
    Member("port"),
    REFRESH,
    TLS,
    Member("version"),
)

VULTR: Final[Table] = (AUTHORIZATION, OAUTH2, *PROXY, TLS, *REQUESTS, Member("port"), REFRESH)
