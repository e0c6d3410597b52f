"""Targets that Docker runs: containers of a daemon, or services, tasks and nodes of a swarm."""

from typing import Final

from stoker.generate.discovery.rows import (
    AUTHORIZATION,
    BASIC_AUTH,
    CREDENTIALS,
    FILTERS,
    OAUTH2,
    PROXY,
    REFRESH,
    REQUESTS,
    TLS,
    Table,
    lower,
    since,
)
from stoker.generate.draft import Key

DOCKER: Final[Table] = (
    AUTHORIZATION,
    OAUTH2,
    *PROXY,
    BASIC_AUTH,
    FILTERS,
    Key("host"),
    TLS,
    Key("port"),
    Key("host_networking_host"),
    Key("match_first_network", since="2.54.1"),
    REFRESH,
    *REQUESTS,
)

DOCKER_SWARM: Final[Table] = (
    *CREDENTIALS,
    *PROXY,
    *since("2.23.0", FILTERS),
    Key("host"),
    TLS,
    Key("role", write=lower),
    Key("port"),
    REFRESH,
    *REQUESTS,
)
