"""Tests on the real control plane: one fresh namespace for each of them."""

from __future__ import annotations

import secrets
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from tests.live.faults import SecondServer, minor_of, without_streams
from tests.live.installing import kustomized, overlay, until_found
from tests.live.operating import Running, World
from tests.live.replicas import Replica, replicas
from tests.live.rights import COMPONENTS, Roles, roles_in
from tests.live.trials import Server
from tools.api import kubeconfig
from tools.cluster import Cluster
from tools.crds import cluster_with_crds

HERE = Path(__file__).parent


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Mark everything in this folder, so that ``-m "not live"`` needs no control plane."""
    for item in items:
        if HERE in item.path.parents:
            item.add_marker(pytest.mark.live)


@pytest.fixture
def new_namespace(cluster: Cluster) -> Iterator[Callable[[], str]]:
    """Give a function that makes namespaces; they are deleted afterwards, without waiting."""
    made: list[str] = []

    def make() -> str:
        name = f"test-{secrets.token_hex(4)}"
        cluster.api.request("POST", "/api/v1/namespaces", {"metadata": {"name": name}})
        made.append(name)
        account = f"/api/v1/namespaces/{name}/serviceaccounts/default"
        cluster.until(f"the service account of {name}", lambda: cluster.api.get(account))
        return name

    yield make
    for name in made:
        cluster.api.request("DELETE", f"/api/v1/namespaces/{name}")


@pytest.fixture(scope="session")
def minor(cluster: Cluster) -> int:
    """Which Kubernetes it is, by the second number of its version."""
    return minor_of(cluster)


@pytest.fixture(scope="session")
def crds(cluster: Cluster) -> Cluster:
    """The cluster, whose definitions are found."""
    until_found(cluster)
    return cluster


@pytest.fixture(scope="session")
def open_cluster() -> Iterator[Cluster]:
    """Another one, with all ports in reach, so that a second API server can join; ours to harm."""
    with cluster_with_crds(nodes=2, namespaces=False) as cluster:
        yield cluster


@pytest.fixture(scope="session")
def strict_server(open_cluster: Cluster) -> Iterator[Server]:
    """The server that operators talk to here."""
    asks = "--enable-admission-plugins=OwnerReferencesPermissionEnforcement"
    with SecondServer(open_cluster, asks, *without_streams(open_cluster)) as second:
        # In a file of its own: there may be other second servers.
        path = open_cluster.directory / "kubeconfig-strict"
        path.write_text(kubeconfig(second.url, open_cluster.token, open_cluster.ca_file))
        yield Server(open_cluster, second.url, path)


@pytest.fixture(scope="session")
def installed(tmp_path_factory: pytest.TempPathFactory) -> Roles:
    """The rules of the roles of `deploy/cluster` with all components."""
    folder = overlay(tmp_path_factory.mktemp("all"), "cluster", *COMPONENTS)
    return roles_in(kustomized(folder))


@pytest.fixture
def world(crds: Cluster, namespace: str) -> World:
    """A namespace for a workload and what it selects."""
    return World(crds, namespace)


@pytest.fixture
def operator(world: World) -> Iterator[Running]:
    """An operator that looks after the test's namespace."""
    with Running.start(world.cluster, f"--namespaces={world.namespace}") as running:
        yield running


@pytest.fixture
def replica(world: World) -> Iterator[Replica]:
    """Starts replicas that look after the test's namespace, each under the name it is given."""
    with replicas(world) as start:
        yield start


@pytest.fixture
def namespace(new_namespace: Callable[[], str]) -> str:
    """Name a namespace that no other test has seen."""
    return new_namespace()
