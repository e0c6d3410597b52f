"""The kubelets' Service, Endpoints and EndpointSlices."""

from collections.abc import Iterable
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as some
from msgspec.structs import replace

from stoker.build.drift import drift
from stoker.build.kubelet import KubeletExisting, KubeletPlan, kubelet_plan
from stoker.build.nodes import node_addresses
from stoker.settings import KubeletSettings, ObjectSettings

Object = dict[str, Any]

SETTINGS = KubeletSettings(
    namespace="kube-system", name="kubelet", endpoint_slices=True, max_endpoints=2
)
SERVICE: Object = {"metadata": {"name": "kubelet", "uid": "service-uid"}, "spec": {}}
SKIP_MIRROR = "endpointslice.kubernetes.io/skip-mirror"


def node(name: str, *addresses: str, ready: str = "True", kind: str = "InternalIP") -> Object:
    """A node with addresses of one type."""
    return {
        "apiVersion": "v1",
        "metadata": {"name": name, "uid": f"uid-{name}"},
        "status": {
            "conditions": [{"type": "Ready", "status": ready}] if ready else [],
            "addresses": [{"type": kind, "address": address} for address in addresses],
        },
    }


def nodes(numbers: Iterable[int]) -> list[Object]:
    """Nodes with an IPv4 address each."""
    return [node(f"node-{number:03}", f"10.0.0.{number}") for number in numbers]


def planned(
    found: list[Object],
    existing: KubeletExisting | None = None,
    settings: KubeletSettings = SETTINGS,
) -> KubeletPlan:
    """The plan for these nodes."""
    return kubelet_plan(
        found, existing or KubeletExisting(service=SERVICE), settings, ObjectSettings()
    )


def applied(made: KubeletPlan, existing: KubeletExisting) -> KubeletExisting:
    """What the cluster has after a plan."""
    gone = {one["metadata"]["name"] for one in made.deletions}
    wanted = {one["metadata"]["name"]: one for one in made.slices}
    kept = [
        wanted.pop(one["metadata"]["name"], one)
        for one in existing.slices
        if one["metadata"]["name"] not in gone
    ]
    return replace(existing, endpoints=made.endpoints, slices=[*kept, *wanted.values()])


def ips(slices: Iterable[Object]) -> list[list[str]]:
    """The addresses of each slice."""
    return [[point["addresses"][0] for point in one["endpoints"]] for one in slices]


def test_the_service_has_no_address_of_its_own_and_the_kubelets_ports() -> None:
    """Without a cluster IP; the port without encryption can be left out."""
    service = planned([]).service
    assert service["spec"]["clusterIP"] == "None"
    names = [port["name"] for port in service["spec"]["ports"]]
    assert names == ["https-metrics", "http-metrics", "cadvisor"]
    closed = planned([], settings=replace(SETTINGS, http_metrics=False)).service
    assert [port["port"] for port in closed["spec"]["ports"]] == [10250, 4194]


def test_labels_of_flags_are_on_every_object_but_not_in_the_way() -> None:
    """They win over the usual labels, though not over those by which slices are found."""
    flags = ObjectSettings(
        labels={"k8s-app": "mine", "kubernetes.io/service-name": "other"}, annotations={"a": "b"}
    )
    made = kubelet_plan(nodes([1]), KubeletExisting(service=SERVICE), SETTINGS, flags)
    assert made.endpoints is not None
    for one in (made.service, made.endpoints, *made.slices):
        assert one["metadata"]["labels"]["k8s-app"] == "mine"
        assert one["metadata"]["annotations"] == {"a": "b"}
    assert made.slices[0]["metadata"]["labels"]["kubernetes.io/service-name"] == "kubelet"


def test_a_node_that_comes_or_goes_changes_one_slice() -> None:
    """Addresses stay where they are; a gap is filled before a new slice is made."""
    live = KubeletExisting(service=SERVICE)
    live = applied(planned(nodes(range(1, 6)), live), live)
    assert ips(live.slices) == [["10.0.0.1", "10.0.0.2"], ["10.0.0.3", "10.0.0.4"], ["10.0.0.5"]]
    fewer = planned(nodes([1, 2, 4, 5]), live)
    assert ips(fewer.slices) == [["10.0.0.1", "10.0.0.2"], ["10.0.0.4"], ["10.0.0.5"]]
    live = applied(fewer, live)
    more = planned(nodes([0, 1, 2, 4, 5]), live)
    assert ips(more.slices) == [["10.0.0.1", "10.0.0.2"], ["10.0.0.4", "10.0.0.0"], ["10.0.0.5"]]
    unchanged = [drift(new, old, "x") for new, old in zip(more.slices, live.slices, strict=True)]
    assert unchanged.count(None) == 2


def test_an_empty_slice_is_deleted_unless_it_is_needed() -> None:
    """The last address of a slice takes it along; a new address takes its place."""
    live = KubeletExisting(service=SERVICE)
    live = applied(planned(nodes([1, 2, 3]), live), live)
    gone = planned(nodes([1, 2]), live)
    assert [one["metadata"]["name"] for one in gone.deletions] == ["kubelet-ipv4-1"]
    assert gone.deletions[0]["kind"] == "EndpointSlice"
    replaced = planned(nodes([1, 2, 4]), live)
    assert not replaced.deletions
    assert ips(replaced.slices) == [["10.0.0.1", "10.0.0.2"], ["10.0.0.4"]]


@given(some.lists(some.sets(some.integers(0, 60)), max_size=6), some.integers(1, 9))
def test_slices_always_hold_each_address_once(steps: list[set[int]], size: int) -> None:
    """Whatever nodes come and go: no address is lost or doubled, no slice is too big or empty."""
    settings = replace(SETTINGS, max_endpoints=size)
    live = KubeletExisting(service=SERVICE)
    for numbers in steps:
        made = planned(nodes(numbers), live, settings)
        live = applied(made, live)
        held = [ip for one in ips(live.slices) for ip in one]
        assert sorted(held) == sorted(f"10.0.0.{number}" for number in numbers)
        assert all(0 < len(one) <= size for one in ips(live.slices))
        again = planned(nodes(numbers), live, settings)
        assert (list(again.slices), again.deletions) == (list(live.slices), ())


def test_slices_are_by_family_and_belong_to_the_service() -> None:
    """Both addresses of a node are there, each in a slice of its family."""
    made = planned([node("a", "10.0.0.1", "fd00::1")])
    assert [one["addressType"] for one in made.slices] == ["IPv4", "IPv6"]
    owner = made.slices[0]["metadata"]["ownerReferences"][0]
    assert (owner["uid"], owner["controller"]) == ("service-uid", True)


def test_slices_wait_for_their_service() -> None:
    """Without its UID there is nothing to belong to; nothing is deleted either."""
    live = KubeletExisting(service=SERVICE)
    live = applied(planned(nodes([1]), live), live)
    made = planned(nodes([1]), replace(live, service=None))
    assert (made.slices, made.deletions) == ((), ())
    assert made.endpoints is not None


def test_slices_of_a_service_made_anew_are_replaced() -> None:
    """The old ones belong to an object that is gone and are deleted with it."""
    live = KubeletExisting(service=SERVICE)
    live = applied(planned(nodes([1]), live), live)
    renewed = {"metadata": {"name": "kubelet", "uid": "other"}}
    made = planned(nodes([1]), replace(live, service=renewed))
    assert len(made.deletions) == len(made.slices) == 1
    assert made.deletions[0]["metadata"]["name"] != made.slices[0]["metadata"]["name"]


def test_slices_of_others_are_left_alone() -> None:
    """Those that Kubernetes made of the Endpoints, or of another Service, are not ours."""
    foreign = [
        {"metadata": {"name": "a", "labels": {"kubernetes.io/service-name": "kubelet"}}},
        {
            "metadata": {
                "name": "b",
                "labels": {
                    "endpointslice.kubernetes.io/managed-by": "prometheus-operator",
                    "kubernetes.io/service-name": "other",
                },
            }
        },
    ]
    live = KubeletExisting(service=SERVICE, slices=foreign)
    for settings in (SETTINGS, replace(SETTINGS, endpoint_slices=False)):
        assert not planned(nodes([1]), live, settings).deletions


def test_what_is_turned_off_is_taken_away() -> None:
    """Stale addresses would be scraped for ever; an object of somebody else is not touched."""
    live = KubeletExisting(service=SERVICE)
    live = applied(planned(nodes([1]), live), live)
    off = replace(SETTINGS, endpoints=False, endpoint_slices=False)
    kinds = [one["kind"] for one in planned(nodes([1]), live, off).deletions]
    assert sorted(kinds) == ["EndpointSlice", "Endpoints"]
    theirs = KubeletExisting(service=SERVICE, endpoints={"metadata": {"name": "kubelet"}})
    assert not planned(nodes([1]), theirs, off).deletions


def test_endpoints_are_mirrored_unless_we_make_slices() -> None:
    """Kubernetes makes slices of Endpoints; it must not where we do, and must again later."""
    made = planned(nodes([1]))
    assert made.endpoints is not None
    assert made.endpoints["metadata"]["labels"][SKIP_MIRROR] == "true"
    off = replace(SETTINGS, endpoint_slices=False)
    fresh = planned(nodes([1]), settings=off)
    assert fresh.endpoints is not None
    assert SKIP_MIRROR not in fresh.endpoints["metadata"]["labels"]
    back = planned(nodes([1]), KubeletExisting(service=SERVICE, endpoints=made.endpoints), off)
    assert back.endpoints is not None
    assert back.endpoints["metadata"]["labels"][SKIP_MIRROR] == "false"


def test_endpoints_in_another_order_are_not_written_again() -> None:
    """Defect 15: the API server sorts addresses and ports its way; that is no difference."""
    made = planned(nodes([1, 2, 3]))
    assert made.endpoints is not None
    (subset,) = made.endpoints["subsets"]
    stored = {
        **made.endpoints,
        "subsets": [
            {
                "addresses": subset["addresses"][::-1],
                "ports": [{**port, "protocol": "TCP"} for port in subset["ports"][::-1]],
            }
        ],
    }
    again = planned(nodes([1, 2, 3]), KubeletExisting(service=SERVICE, endpoints=stored))
    assert again.endpoints is not None
    assert drift(again.endpoints, stored, "x") is None


def test_endpoints_without_a_node_have_no_subset() -> None:
    """The API server refuses a subset without an address."""
    made = planned([])
    assert made.endpoints is not None
    assert made.endpoints["subsets"] == []


def test_endpoints_hold_one_address_of_a_node_in_the_services_family() -> None:
    """A node without such an address is there with the one that it has."""
    service = {**SERVICE, "spec": {"ipFamilies": ["IPv6", "IPv4"]}}
    found = [node("a", "10.0.0.1", "fd00::1"), node("b", "10.0.0.2")]
    made = planned(found, KubeletExisting(service=service))
    assert made.endpoints is not None
    (subset,) = made.endpoints["subsets"]
    assert [one["ip"] for one in subset["addresses"]] == ["fd00::1", "10.0.0.2"]
    assert subset["addresses"][0]["targetRef"]["uid"] == "uid-a"


@pytest.mark.parametrize(
    "odd", ["", "node.example.com", "127.0.0.1", "224.0.0.1", "169.254.1.1", "fd00::1%eth0", "::"]
)
def test_a_node_with_an_odd_address_costs_only_itself(odd: str) -> None:
    """An address that the API server refuses would keep all others from being written."""
    found, problems = node_addresses([node("odd", odd), node("good", "10.0.0.1")], "internal")
    assert [one.ip for one in found] == ["10.0.0.1"]
    assert problems == ["node odd has no usable internal or external address"]
    assert planned([node("odd", odd)]).problems == tuple(problems)


def test_a_node_that_reports_nothing_is_there_but_not_ready() -> None:
    """Unknown and not yet known are the same; a node that is not well still has a kubelet."""
    found, _ = node_addresses(
        [
            node("well", "10.0.0.1"),
            node("unwell", "10.0.0.2", ready="False"),
            node("silent", "10.0.0.3", ready="Unknown"),
            node("new", "10.0.0.4", ready=""),
        ],
        "internal",
    )
    assert [one.ready for one in found] == [True, True, False, False]


def test_a_silent_node_gives_way_to_the_one_that_has_its_address() -> None:
    """A node that was replaced is not scraped a second time under its old name."""
    found, _ = node_addresses(
        [node("old", "10.0.0.1", ready="Unknown"), node("new", "10.0.0.1")], "internal"
    )
    assert [one.node for one in found] == ["new"]


def test_the_other_type_of_address_is_taken_if_there_is_no_preferred_one() -> None:
    """Internal or external first, as told."""
    both = node("a", "10.0.0.1")
    both["status"]["addresses"].append({"type": "ExternalIP", "address": "203.0.113.1"})
    assert node_addresses([both], "internal")[0][0].ip == "10.0.0.1"
    assert node_addresses([both], "external")[0][0].ip == "203.0.113.1"
    only = node("b", "203.0.113.2", kind="ExternalIP")
    assert node_addresses([only], "internal")[0][0].ip == "203.0.113.2"
