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
    Table,
    Word,
    items,
    secret,
    since,
)
from stoker.generate.draft import Key

_ACCESS_KEY: Final = Key("access_key", write=secret)
_SECRET_KEY: Final = Key("secret_key", write=secret)
_PROFILE: Final = Key("profile")
_EXTERNAL_ID: Final = Key("external_id", since="3.12.0")

# These two have settings for HTTP since 2.41 only.
EC2: Final[Table] = (
    *since("2.41.0", *PROXY),
    Key("region"),
    _ACCESS_KEY,
    _SECRET_KEY,
    Key("role_arn"),
    REFRESH,
    Key("port"),
    *since("2.3.0", FILTERS),
    *since("2.41.0", *REQUESTS, TLS),
    Key("endpoint", since="2.4.0"),
    _PROFILE,
    _EXTERNAL_ID,
)

LIGHTSAIL: Final[Table] = (
    *since("2.41.0", BASIC_AUTH, AUTHORIZATION, *PROXY, OAUTH2),
    Key("region"),
    Key("endpoint"),
    Key("port"),
    REFRESH,
    _ACCESS_KEY,
    _SECRET_KEY,
    Key("role_arn"),
    *since("2.41.0", TLS, *REQUESTS),
    _PROFILE,
    _EXTERNAL_ID,
)

_ACCOUNT: Final[Table] = (
    Key("region"),
    Key("endpoint"),
    _ACCESS_KEY,
    _SECRET_KEY,
    _PROFILE,
    Key("role_arn"),
    _EXTERNAL_ID,
    *PROXY,
    TLS,
    *REQUESTS,
    Key("port"),
    REFRESH,
)
_CLUSTERS: Final = Key("clusters", write=items)
_ROLES: Final = (
    Key("MSK", since="3.10.0"),
    Key("ElastiCache", since="3.11.0"),
    Key("RDS", since="3.11.0"),
)

ROLES: Final[Table] = (
    Key("role", write=Word(_ROLES, str.lower, essential=True)),
    *_ACCOUNT,
    FILTERS,
    _CLUSTERS,
)

CLUSTERS: Final[Table] = (*_ACCOUNT, _CLUSTERS, Key("request_concurrency"))

RDS: Final[Table] = (*CLUSTERS, *since("3.13.0", FILTERS))
