"""What all tests may ask for: one real control plane for the whole session."""

from collections.abc import Iterator

import pytest

from tools.cluster import Cluster


def pytest_addoption(parser: pytest.Parser) -> None:
    """Let golden files be written anew."""
    parser.addoption("--update-golden", action="store_true", help="write golden files anew")


@pytest.fixture(scope="session")
def cluster() -> Iterator[Cluster]:
    """A control plane with three nodes; its binaries are built first if need be."""
    with Cluster.start(nodes=3) as cluster:
        yield cluster
