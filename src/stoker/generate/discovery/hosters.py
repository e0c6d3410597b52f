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
    Shaped,
    Table,
    Word,
    items,
    lower,
    secret,
)
from stoker.generate.draft import Draft, Key

DIGITAL_OCEAN: Final[Table] = (
    AUTHORIZATION,
    OAUTH2,
    *PROXY,
    *REQUESTS,
    TLS,
    Key("role", since="3.12.0", write=lower),
    Key("port"),
    REFRESH,
)

HETZNER: Final[Table] = (
    *CREDENTIALS,
    *PROXY,
    Key("role", write=lower),
    *REQUESTS,
    TLS,
    Key("port"),
    REFRESH,
    Key("label_selector", since="3.5.0"),
)


def oauth2_alone(block: Block, _draft: Draft, _path: str) -> None:
    """OAuth 2.0 wins: IONOS' `authorization` must be written even by those who do not use it."""
    if "oauth2" in block:
        block.pop("authorization", None)


IONOS: Final[Table] = (
    AUTHORIZATION,
    OAUTH2,
    *PROXY,
    TLS,
    Key("datacenter_id"),
    *REQUESTS,
    Key("port"),
    REFRESH,
)

LINODE: Final[Table] = (
    AUTHORIZATION,
    OAUTH2,
    *PROXY,
    TLS,
    Key("port"),
    Key("region", since="2.52.0"),
    Key("enable_http2", since="2.35.0"),
    Key("tag_separator"),
    REFRESH,
    FOLLOW_REDIRECTS,
    HEADERS,
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
    TLS,
    *REQUESTS,
)

TRITON: Final[Table] = (
    Key("account"),
    Key("role", write=Word((Key("CN", since="2.19.0"),), str.lower, essential=True)),
    Key("dns_suffix"),
    Key("endpoint"),
    Key("groups", since="2.5.0", write=items),
    Key("port"),
    REFRESH,
    TLS,
    Key("version"),
)

VULTR: Final[Table] = (AUTHORIZATION, OAUTH2, *PROXY, TLS, *REQUESTS, Key("port"), REFRESH)
