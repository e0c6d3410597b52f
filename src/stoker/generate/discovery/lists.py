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
    OneOf,
    items,
)
from stoker.generate.grammar import Member, Table

FILE: Final[Table] = (Member("files", write=items), REFRESH)

URL: Final[Table] = (
    BASIC_AUTH,
    AUTHORIZATION,
    TLS,
    *PROXY,
    OAUTH2,
    Member("url"),
    REFRESH,
    *REQUESTS,
)

DNS: Final[Table] = (
    Member("names", write=items),
    REFRESH,
    Member("type", write=OneOf((Member("MX", since="2.38.0"), Member("NS", since="2.49.0")))),
    Member("port"),
)
