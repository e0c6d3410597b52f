"""Targets that are resources of Amazon Web Services."""

from typing import Final

from stoker.generate.discovery.rows import (
    AUTHORIZATION,
    BASIC_AUTH,
    FILTERS,
    OAUTH2,
    PROXY,
    REFRESH,
    REQUESTS,
    TLS,
    OneOf,
    items,
    secret,
    since,
)
from stoker.generate.grammar import Member, Table

_ACCESS_KEY: Final = Member("access_key", write=secret)
_SECRET_KEY: Final = Member("secret_key", write=secret)
_PROFILE: Final = Member("profile")
_EXTERNAL_ID: Final = Member("external_id", since="3.12.0")

# These two have settings for HTTP since 2.41 only.
EC2: Final[Table] = (
    *since("2.41.0", *PROXY),
    Member("region"),
    _ACCESS_KEY,
    _SECRET_KEY,
    Member("role_arn"),
    REFRESH,
    Member("port"),
    *since("2.3.0", FILTERS),
    *since("2.41.0", *REQUESTS, TLS),
    Member("endpoint", since="2.4.0"),
    _PROFILE,
    _EXTERNAL_ID,
)

LIGHTSAIL: Final[Table] = (
    *since("2.41.0", BASIC_AUTH, AUTHORIZATION, *PROXY, OAUTH2),
    Member("region"),
    Member("endpoint"),
    Member("port"),
    REFRESH,
    _ACCESS_KEY,
    _SECRET_KEY,
    Member("role_arn"),
    *since("2.41.0", TLS, *REQUESTS),
    _PROFILE,
    _EXTERNAL_ID,
)

_ACCOUNT: Final[Table] = (
    Member("region"),
    Member("endpoint"),
    _ACCESS_KEY,
    _SECRET_KEY,
    _PROFILE,
    Member("role_arn"),
    _EXTERNAL_ID,
    *PROXY,
    TLS,
    *REQUESTS,
    Member("port"),
    REFRESH,
)
_CLUSTERS: Final = Member("clusters", write=items)
_ROLES: Final = (
    Member("MSK", since="3.10.0"),
    Member("ElastiCache", since="3.11.0"),
    Member("RDS", since="3.11.0"),
)

ROLES: Final[Table] = (
    Member("role", write=OneOf(_ROLES, str.lower, essential=True)),
    *_ACCOUNT,
    FILTERS,
    _CLUSTERS,
)

CLUSTERS: Final[Table] = (*_ACCOUNT, _CLUSTERS, Member("request_concurrency"))

RDS: Final[Table] = (*CLUSTERS, *since("3.13.0", FILTERS))
