"""The rights that are not for the namespaces of workloads, taken away one by one.

The Service of kubelets, the Lease, and what belongs to the whole cluster; and that no right is
without a case, here or in `right_cases`.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from contextlib import ExitStack
from functools import partial
from pathlib import Path

import pytest
from msgspec.structs import replace

from stoker.settings import KubeletSettings
from tests.builders import prometheus, service_monitor
from tests.live.installing import kustomized, overlay, rendered
from tests.live.operating import Object, Running, World
from tests.live.right_cases import CASES, CONSOLIDATION_CASES, DAEMON_SET, has_job, on_nodes
from tests.live.rights import (
    Right,
    Roles,
    allow,
    kubeconfig_of,
    rights_of,
    roles_in,
    shown,
    told,
    without,
)
from tests.live.test_operator_kubelet import Keeping, own_slices
from tests.live.test_operator_storage import storage
from tests.live.trials import Server, holds, is_reconciled, until_allowed

KEEP = ("get", "list", "create", "patch")
LISTS = frozenset({"endpoints", "endpointslices"})
SLICES = "endpointslices.discovery.k8s.io"
NOTHING: frozenset[str] = frozenset()
# Which lists of nodes there are without a right: where nothing was there before, …
NEW: dict[Right, frozenset[str]] = {
    Right("list", "nodes"): NOTHING,
    Right("watch", "nodes"): NOTHING,
    Right("patch", "services"): frozenset({"endpoints"}),
    Right("update", "services/finalizers"): frozenset({"endpoints"}),
    **{Right(verb, "endpoints"): LISTS - {"endpoints"} for verb in KEEP},
    **{Right(verb, SLICES): LISTS - {"endpointslices"} for verb in KEEP},
}
# … where somebody deletes one, …
DELETED = {
    Right("watch", "endpoints"): frozenset({"endpointslices"}),
    Right("watch", SLICES): frozenset({"endpoints"}),
}
# … and where they are not wanted any longer.
UNWANTED = {
    Right("delete", "endpoints"): frozenset({"endpoints"}),
    Right("delete", SLICES): frozenset({"endpointslices"}),
}
# Nobody has it, so nobody misses it.
CONTROL = Right("keep", "everything")
LEASES = "leases.coordination.k8s.io"
LEASE = {
    Right("get", LEASES): "cannot contend for the lease",
    Right("create", LEASES): "cannot contend for the lease",
    Right("update", LEASES): "cannot renew the lease",
}
NOTES = tuple(Right(verb, "configmaps") for verb in ("get", "create", "patch"))
WHOLE = (
    Right("list", "namespaces"),
    Right("watch", "namespaces"),
    Right("get", "storageclasses.storage.k8s.io"),
)
OF_NODES = (Right("list", "nodes"), Right("watch", "nodes"))
OWN = Right("get", "namespaces")


# --- None is forgotten ----------------------------------------------------------------------------


def workload_rights() -> set[Right]:
    """Those that are tried in the namespaces of workloads."""
    return {right for each in (*CASES, *CONSOLIDATION_CASES) for right in each.effects}


def test_no_right_is_granted_without_a_case(installed: Roles, tmp_path: Path) -> None:
    """Who adds a rule says what needs it, and what is said without it."""
    found = {role: rights_of(rules) for role, rules in installed.items()}
    kubelet = found.pop(("Role", "stoker-operator-kubelet"))
    kubelet |= found.pop(("ClusterRole", "stoker-operator-kubelet"))
    assert kubelet == {*NEW, *DELETED, *UNWANTED}
    assert found.pop(("Role", "stoker-operator-lease")) == set(LEASE)
    assert found.pop(("Role", "stoker-operator-replacements")) == set(NOTES)
    assert found.pop(("ClusterRole", "stoker-operator")) == workload_rights() | {*WHOLE, *OF_NODES}
    assert found == {}
    narrow = roles_in(kustomized(overlay(tmp_path, "namespaced", "repair", "consolidate")))
    own = rights_of(narrow.pop(("Role", "stoker-operator")))
    assert own == workload_rights() | {OWN}
    others = {("Role", f"stoker-operator-{each}") for each in ("lease", "replacements")}
    assert set(narrow) == others


@pytest.mark.parametrize(
    ("values", "more", "less"),
    [
        (("kubelet.enabled=false",), set(), {"endpoints", SLICES}),
        (("kubelet.cleanUp=true",), {("delete", SLICES)}, set()),
        (("consolidate.cleanUp=true",), {("delete", "scrapeconfigs.monitoring.coreos.com")}, set()),
        (("repair.enabled=true",), {("create", "pods/eviction")}, set()),
        (("repair.enabled=true", "repair.policy=delete"), {("delete", "pods")}, set()),
        (("operator.args={--leader-election=false}",), set(), {LEASES}),
    ],
    ids=str,
)
def test_values_of_the_chart_grant_what_they_need(
    values: tuple[str, ...], more: set[tuple[str, str]], less: set[str]
) -> None:
    """And nothing beside that."""
    usual, now = (_all_rights(rendered(*each)) for each in ((), values))
    assert now - usual == more
    assert {right.resource for right in usual - now} == less


def _all_rights(objects: list[Object]) -> set[Right]:
    return rights_of(rule for rules in roles_in(objects).values() for rule in rules)


# --- Kubelets -------------------------------------------------------------------------------------


class Kubelets:
    """The loop for kubelets in many namespaces; in each it misses a right."""

    def __init__(self, server: Server, roles: Roles, folder: Path) -> None:
        self._server, self._folder = server, folder
        self._nodes = roles["ClusterRole", "stoker-operator-kubelet"]
        services = [
            each for each in roles["ClusterRole", "stoker-operator"] if _is_of_services(each)
        ]
        self._rules = roles["Role", "stoker-operator-kubelet"] + services
        self._stack = ExitStack()
        self.worlds: dict[Right, World] = {}

    def __enter__(self) -> Kubelets:
        return self

    def __exit__(self, *_: object) -> None:
        self._stack.close()

    def settings(self, right: Right) -> KubeletSettings:
        """Both lists are kept in the namespace of a right."""
        return KubeletSettings(
            namespace=self.worlds[right].namespace,
            name="kubelet",
            endpoint_slices=True,
            sync_seconds=3600.0,
        )

    def place(self, right: Right) -> World:
        """Make a namespace where the operator misses a right."""
        world = new_world(self._server, f"kubelet-{_word(right)}")
        self.worlds[right] = world
        for rules, where in ((self._nodes, ""), (self._rules, world.namespace)):
            left = without(rules, {right})
            if left:
                allow(self._server.cluster, world.namespace, left, where)
                until_allowed(self._server, left, where, user=world.namespace)
        return world

    def furnish(self, *rights: Right) -> None:
        """Make both lists, with all rights."""
        with ExitStack() as stack:
            for right in rights:
                stack.enter_context(self.keep(right, self.settings(right), limited=False))
            for right in rights:
                world = self.worlds[right]
                world.until("both lists", are_left(world, LISTS))

    def keep(self, right: Right, settings: KubeletSettings, *, limited: bool = True) -> Keeping:
        """Keep the lists, with all rights or with one less."""
        user = self.worlds[right].namespace
        cluster, url = self._server.cluster, self._server.url
        config = kubeconfig_of(cluster, url, user, self._folder) if limited else None
        return Keeping(cluster, settings, config or self._server.kubeconfig)

    def run(self, right: Right, settings: KubeletSettings) -> None:
        """Keep the lists until the end, with one right less."""
        self._stack.enter_context(self.keep(right, settings))


def _is_of_services(rule: Object) -> bool:
    return rule["resources"] == ["services"] and not rule.get("resourceNames")


def _word(right: Right) -> str:
    return f"{right.verb}-{right.resource.split('.')[0].replace('/', '-')}"


def new_world(server: Server, name: str) -> World:
    """A new namespace."""
    server.cluster.api.request("POST", "/api/v1/namespaces", {"metadata": {"name": name}})
    return World(server.cluster, name)


def lists(world: World) -> frozenset[str]:
    """Which lists of nodes there are."""
    found = {"endpoints": world.get("endpoints", "kubelet"), "endpointslices": own_slices(world)}
    return frozenset(name for name, value in found.items() if value)


def are_left(world: World, expected: Iterable[str]) -> Callable[[], bool]:
    """Whether these lists are there."""
    return lambda: lists(world) == frozenset(expected)


@pytest.fixture
def kubelets(strict_server: Server, installed: Roles, tmp_path: Path) -> Iterator[Kubelets]:
    """Places for the loop for kubelets."""
    with Kubelets(strict_server, installed, tmp_path) as made:
        yield made


def test_each_right_for_kubelets_is_missed(
    kubelets: Kubelets, caplog: pytest.LogCaptureFixture
) -> None:
    """One list of nodes is not kept without it, the other is, and the log says why."""
    for right in (*NEW, *DELETED, *UNWANTED, CONTROL):
        kubelets.place(right)
    kubelets.furnish(*DELETED, *UNWANTED, CONTROL)
    for right in (*NEW, *DELETED, CONTROL):
        kubelets.run(right, kubelets.settings(right))
    for right, left in UNWANTED.items():
        unwanted = {"endpoints": False} if "endpoints" in left else {"endpoint_slices": False}
        kubelets.run(right, replace(kubelets.settings(right), **unwanted))
    for right in (*NEW, *DELETED, *UNWANTED):
        kubelets.worlds[right].until(f"a word of {right}", partial(is_logged, right, caplog))
    for right, left in NEW.items():
        world = kubelets.worlds[right]
        world.until(f"{right}: {sorted(left)}", are_left(world, left))
    assert {lists(kubelets.worlds[right]) for right in UNWANTED} == {LISTS}

    # What is deleted comes back where it is seen.
    for right, left in (DELETED | {CONTROL: NOTHING}).items():
        for each in LISTS - left:
            delete_list(kubelets.worlds[right], each)
    world = kubelets.worlds[CONTROL]
    world.until("both lists again", are_left(world, LISTS))
    assert {right: lists(kubelets.worlds[right]) for right in DELETED} == DELETED


def delete_list(world: World, name: str) -> None:
    """Somebody deletes a list of nodes."""
    found = own_slices(world) if name == "endpointslices" else [world.get(name, "kubelet")]
    for each in found:
        world.delete(name, (each or {})["metadata"]["name"])


def is_logged(right: Right, caplog: pytest.LogCaptureFixture) -> bool:
    """Whether it was logged that the user of this right's case misses it."""
    user = f"kubelet-{_word(right)}"
    lines = (f"{each.getMessage()} {getattr(each, 'stoker_fields', '')}" for each in caplog.records)
    return any(user in line and right.is_named_in(line) for line in lines)


# --- The Lease, and the whole cluster -------------------------------------------------------------


class Operators:
    """Operators that miss a right each, side by side."""

    def __init__(self, server: Server, folder: Path) -> None:
        self._server, self._folder = server, folder
        self._stack = ExitStack()

    def __enter__(self) -> Operators:
        return self

    def __exit__(self, *_: object) -> None:
        self._stack.close()

    def start(self, world: World, rules: list[Object], where: str, *flags: str) -> Running:
        """Start one with these rights, there or in the whole cluster."""
        user, server = world.namespace, self._server
        allow(server.cluster, user, rules, where)
        until_allowed(server, rules, where, user=user)
        config = kubeconfig_of(server.cluster, server.url, user, self._folder)
        own = (f"--namespaces={user}", *flags)
        running = Running.start(server.cluster, *own, kubeconfig=config, ready=False)
        return self._stack.enter_context(running)


@pytest.fixture
def operators(strict_server: Server, tmp_path: Path) -> Iterator[Operators]:
    """Operators that miss rights."""
    with Operators(strict_server, tmp_path) as made:
        yield made


def logged(operator: Running, words: str) -> bool:
    """Whether an operator has logged something."""
    return words in operator.log()


def says(operator: Running, right: Right, words: str = "") -> Callable[[], bool]:
    """Whether an operator has logged that it misses a right."""
    return lambda: any(map(right.is_named_in, told(operator.log(), words)))


def test_each_right_for_the_lease_is_missed(
    strict_server: Server, installed: Roles, operators: Operators
) -> None:
    """Nobody leads without it, and the log says why."""
    rules = installed["Role", "stoker-operator-lease"]
    name = "--leader-election-id=stoker-operator"
    for right, words in LEASE.items():
        world = new_world(strict_server, f"lease-{right.verb}")
        where = f"--leader-election-namespace={world.namespace}"
        operator = operators.start(world, without(rules, {right}), world.namespace, name, where)
        world.until(f"a word of {right}", says(operator, right, words))
        if right.verb == "update":
            world.until("the end of leadership", partial(logged, operator, "lost leadership"))
        else:
            assert not operator.is_ready()


def test_each_right_for_notes_on_replacements_is_missed(
    strict_server: Server, installed: Roles, operators: Operators
) -> None:
    """A StatefulSet that must be replaced stays as it is, and the workload says why."""
    rules = installed["Role", "stoker-operator-replacements"]
    everything = [{"apiGroups": ["*"], "resources": ["*"], "verbs": ["*"]}]
    for right in NOTES:
        world = new_world(strict_server, f"replaced-{right.verb}")
        left = without(rules, {right})
        place = new_world(strict_server, f"replacements-{right.verb}").namespace
        allow(strict_server.cluster, world.namespace, left, place)
        until_allowed(strict_server, left, place, user=world.namespace)
        flags = ("--leader-election=false", "--leader-election-id=stoker-operator")
        where = f"--leader-election-namespace={place}"
        operators.start(world, everything, world.namespace, *flags, where)
        if right.verb == "patch":
            # `create` would do for the first of them.
            made = {"apiVersion": "v1", "kind": "ConfigMap"}
            metadata = {"name": "stoker-operator-replacements", "namespace": place}
            world.put(made | {"metadata": metadata})
        world.put(prometheus("main", replicas=0))
        before = world.until("a set", partial(_set_uid, world))
        world.patch("prometheus", "main", {"spec": {"podManagementPolicy": "OrderedReady"}})
        world.until(f"a word of {right}", partial(_is_shown, world, right))
        assert _set_uid(world) == before


def _set_uid(world: World) -> str:
    found = world.get("statefulset", "prometheus-main") or {}
    return str(found["metadata"]["uid"])


def _is_shown(world: World, right: Right) -> bool:
    return any(map(right.is_named_in, shown(world, "prometheuses")))


NAMED = {"matchLabels": {"team": "a"}}


def test_each_right_in_the_whole_cluster_is_missed(
    strict_server: Server, installed: Roles, operators: Operators
) -> None:
    """Labels of namespaces, and whether a StorageClass exists, are not known without it."""
    rules = installed["ClusterRole", "stoker-operator"]
    main = prometheus("main", replicas=0, serviceMonitorNamespaceSelector=NAMED)
    worlds = {}
    for right in WHOLE:
        world = worlds[right] = new_world(strict_server, f"whole-{_word(right)}")
        spec = main["spec"] | {"storage": storage(world, "1Gi")}
        world.put(main | {"spec": spec}, service_monitor("shop"))
        strict_server.cluster.kubectl("label", "namespace", world.namespace, "team=a")
        operator = operators.start(world, without(rules, {right}), "", "--leader-election=false")
        world.until(f"a word of {right}", says(operator, right))
    for right in WHOLE[:2]:
        world = worlds[right]
        world.until("the check", partial(says_there_is_no_class, world))
        assert not world.bindings("servicemonitor", "shop")
    world = worlds[WHOLE[2]]
    world.until("a StatefulSet", partial(world.get, "statefulset", "prometheus-main"))
    world.until("its job", partial(holds, has_job("shop"), world))
    assert not says_there_is_no_class(world)


def test_the_right_to_watch_nodes_is_missed(
    strict_server: Server, installed: Roles, operators: Operators
) -> None:
    """Agents run on nodes all the same; only which ones they are not on is not told.

    Without such an agent nobody asks for nodes.
    """
    rules = installed["ClusterRole", "stoker-operator"]
    for right in OF_NODES:
        world = new_world(strict_server, f"nodes-{right.verb}")
        world.put(prometheus("main", replicas=0))
        operator = operators.start(world, without(rules, {right}), "", "--leader-election=false")
        world.until("a status", partial(is_reconciled, world, "prometheus", "main"))
        assert not says(operator, right)()
        selector = {"kubernetes.io/hostname": "nowhere"}
        (agent,) = on_nodes()
        world.put(agent | {"spec": agent["spec"] | {"nodeSelector": selector}})
        world.until(f"a word of {right}", says(operator, right))
        world.until("its status", partial(is_reconciled, world, "prometheusagents", "nodes"))
        said = world.condition("prometheusagents", "nodes", "Reconciled")
        assert "covers" not in said["message"]
        assert world.get("daemonset", DAEMON_SET)


def says_there_is_no_class(world: World) -> bool:
    """Whether the workload is not reconciled for want of a StorageClass."""
    found = world.condition("prometheus", "main", "Reconciled")
    return "there is no StorageClass" in found.get("message", "")


def test_the_right_to_read_the_own_namespace_is_missed(
    strict_server: Server, operators: Operators, tmp_path: Path
) -> None:
    """With `deploy/namespaced`: its labels are not known, and the log says why."""
    rules = roles_in(kustomized(overlay(tmp_path, "namespaced")))["Role", "stoker-operator"]
    world = new_world(strict_server, "own-namespace")
    world.put(prometheus("main", replicas=0), service_monitor("shop"))
    left = without(rules, {OWN})
    operator = operators.start(world, left, world.namespace, "--leader-election=false")
    world.until("a word of it", says(operator, OWN, "known by its name alone"))
    world.until("the job", partial(holds, has_job("shop"), world))
