"""What all tests may ask for: one real control plane for the whole session."""

import os
from collections.abc import Iterator

import pytest
from hypothesis import HealthCheck, settings

from tools.cluster import Cluster
from tools.crds import cluster_with_crds

# The machine may be busy, so no example has a deadline. The same examples are tried each time: what
# a new one finds is for who looks for it (EXPLORE=1 make check), not for a change that has nothing
# to do with it.
settings.register_profile(
    "stoker",
    deadline=None,
    suppress_health_check=[HealthCheck.too_slow],
    derandomize="EXPLORE" not in os.environ,
)
settings.load_profile("stoker")


def pytest_addoption(parser: pytest.Parser) -> None:
    """Let golden files be written anew."""
    parser.addoption("--update-golden", action="store_true", help="write golden files anew")


@pytest.fixture(scope="session")
def cluster() -> Iterator[Cluster]:
    """A control plane with three nodes and our definitions; its binaries are built if need be."""
    with cluster_with_crds(nodes=3) as cluster:
        yield cluster
