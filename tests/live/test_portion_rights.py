"""What roles grant for node discovery: without any of it nobody is told anything, and it is named.

The server has no streaming lists, with which a list would be a watch.
"""

from __future__ import annotations

import secrets
from pathlib import Path

import pytest

from tests.live.installing import kustomized, overlay
from tests.live.listening import FLAGS, Asking, make_account, served_at, token_of
from tests.live.operating import Running, World
from tests.live.rights import Right, allow, kubeconfig_of, rights_of, roles_in, told, without
from tests.live.test_portions import on_nodes, pod_monitor, pods_on, shop, until_named
from tests.live.trials import Server, until_allowed

SLICES = "endpointslices.discovery.k8s.io"
GRANTED = [
    Right("watch", "pods"),
    Right("list", SLICES),
    Right("watch", SLICES),
    Right("list", "nodes"),
    Right("watch", "nodes"),
    Right("create", "tokenreviews.authentication.k8s.io"),
]


def test_these_are_all_that_are_granted(tmp_path: Path) -> None:
    """But for the Secret of the certificate, which every operator of a whole cluster may write."""
    with_it = roles_in(kustomized(overlay(tmp_path, "cluster", "node-discovery")))
    without_it = roles_in(kustomized(overlay(tmp_path, "cluster")))
    own = ("ClusterRole", "stoker-operator")
    more = rights_of(with_it[own]) - rights_of(without_it[own])
    more |= rights_of(with_it["ClusterRole", "stoker-operator-node-discovery"])
    assert more == set(GRANTED)
    written = rights_of(with_it["Role", "stoker-operator-node-discovery"])
    assert written == {Right(verb, "secrets") for verb in ("list", "watch", "update", "create")}


@pytest.mark.parametrize("right", GRANTED, ids=lambda each: f"{each.verb} {each.resource}")
def test_without_a_right_nobody_is_told_anything(
    strict_server: Server, tmp_path: Path, right: Right
) -> None:
    """What is there stays; the log names the right; and who may have it all tells the portion."""
    cluster, namespace = strict_server.cluster, f"rights-{secrets.token_hex(3)}"
    cluster.kubectl("create", "namespace", namespace)
    world = World(cluster, namespace)
    make_account(world)
    roles = roles_in(kustomized(overlay(tmp_path, "cluster", "node-discovery")))
    names = ("stoker-operator", "stoker-operator-node-discovery")
    rules = [rule for name in names for rule in roles["ClusterRole", name]]
    user = f"limited-{namespace}"
    allow(cluster, user, without(rules, {right}))
    until_allowed(strict_server, without(rules, {right}), namespace, user=user)
    config = kubeconfig_of(cluster, strict_server.url, user, tmp_path)
    home = (f"--leader-election-namespace={namespace}", "--leader-election=false")
    flags = (f"--namespaces={namespace}", *home, *FLAGS)
    world.put(shop("a", "node-0"), pod_monitor(), on_nodes())
    with Running.start(cluster, *flags, kubeconfig=strict_server.kubeconfig) as operator:
        server, token = served_at(operator, world), token_of(world, pods_on(world)["node-0"])
        with Asking(server, token) as asking:
            files = until_named(asking, ["a"])
    with Running.start(cluster, *flags, kubeconfig=config, ready=False) as operator:
        server = served_at(operator, world)

        def named() -> bool:
            with Asking(server, token, files) as asking:
                assert asking.status == 503
            return any(map(right.is_named_in, told(operator.log(), "")))

        world.until("the right to be named", named)
