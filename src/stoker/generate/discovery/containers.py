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
    lower,
    since,
)
from stoker.generate.grammar import Member, Table

DOCKER: Final[Table] = (
    AUTHORIZATION,
    OAUTH2,
    *PROXY,
    BASIC_AUTH,
    FILTERS,
    Member("host"),
    TLS,
    Member("port"),
    Member("host_networking_host"),
    Member("match_first_network", since="2.54.1"),
    REFRESH,
    *REQUESTS,
)

DOCKER_SWARM: Final[Table] = (
    *CREDENTIALS,
    *PROXY,
    *since("2.23.0", FILTERS),
    Member("host"),
    TLS,
    Member("role", write=lower),
    Member("port"),
    REFRESH,
    *REQUESTS,
)
