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
    Word,
    items,
)
from stoker.generate.members import Member, Members

FILE: Final[Members] = (Member("files", write=items), REFRESH)

URL: Final[Members] = (
    BASIC_AUTH,
    AUTHORIZATION,
    TLS,
    *PROXY,
    OAUTH2,
    Member("url"),
    REFRESH,
    *REQUESTS,
)

DNS: Final[Members] = (
    Member("names", write=items),
    REFRESH,
    Member("type", write=Word((Member("MX", since="2.38.0"), Member("NS", since="2.49.0")))),
    Member("port"),
)
