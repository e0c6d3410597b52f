"""Targets that something lists: files, a URL, DNS records."""

from typing import Final

from stoker.generate.discovery.rows import (
    AUTHORIZATION,
    BASIC_AUTH,
    OAUTH2,
    PROXY,
    REFRESH,
    REQUESTS,
    TLS,
    Table,
    Word,
    items,
)
from stoker.generate.draft import Key

FILE: Final[Table] = (Key("files", write=items), REFRESH)

URL: Final[Table] = (
    BASIC_AUTH,
    AUTHORIZATION,
    TLS,
    *PROXY,
    OAUTH2,
    Key("url"),
    REFRESH,
    *REQUESTS,
)

DNS: Final[Table] = (
    Key("names", write=items),
    REFRESH,
    Key("type", write=Word((Key("MX", since="2.38.0"), Key("NS", since="2.49.0")))),
    Key("port"),
)
