"""Targets worked out from objects; that they are Prometheus' own, tests/live asks a real one."""

from __future__ import annotations

from typing import Any

import pytest
from msgspec import convert
from msgspec.structs import replace

from stoker.targets.discovery import CannotTellError
from stoker.targets.expressions import Expression, Template
from stoker.targets.job import Budget, TargetOutcome, job_of, outcomes
from stoker.targets.objects import (
    EndpointSlice,
    Node,
    Pod,
    Service,
    ServiceStatus,
    TargetSources,
    by_place,
)
from stoker.targets.steps import deciding, dropped_by, step_of
from stoker.version import parse_version
from tests.targets.relabelings import jobs as made_up_jobs

Object = dict[str, Any]
NEWEST = parse_version("3.15.0")
OLD = parse_version("2.55.0")


def relabeled(*steps: Object, version: str = "3.15.0", **labels: str) -> Object | int:
    """The labels after these steps, or the number of the one that drops them."""
    made = [step_of(each, parse_version(version)) for each in steps]
    step = dropped_by(made, labels)
    return labels if step is None else step


STEPS: dict[str, tuple[Object, Object, Object | int]] = {
    "copies": ({"source_labels": ["a"], "target_label": "b"}, {"a": "x"}, {"a": "x", "b": "x"}),
    "removes": ({"source_labels": ["no"], "target_label": "a"}, {"a": "x"}, {}),
    "matches all or nothing": (
        {"source_labels": ["a"], "regex": "x", "target_label": "a", "replacement": "y"},
        {"a": "xx"},
        {"a": "xx"},
    ),
    "joins": (
        {"source_labels": ["a", "no", "b"], "separator": "-", "target_label": "c"},
        {"a": "1", "b": "2"},
        {"a": "1", "b": "2", "c": "1--2"},
    ),
    "names by groups": (
        {"source_labels": ["a"], "regex": "(?P<k>.+)=(.+)", "target_label": "t_${k}"}
        | {"replacement": "$2"},
        {"a": "x=y"},
        {"a": "x=y", "t_x": "y"},
    ),
    "keeps": ({"action": "keep", "source_labels": ["a"], "regex": "x|y"}, {"a": "y"}, {"a": "y"}),
    "keeps no other": ({"action": "keep", "source_labels": ["a"], "regex": "x"}, {"a": "xy"}, 0),
    "drops": ({"action": "Drop", "source_labels": ["a"], "regex": "x.*"}, {"a": "x\ny"}, 0),
    "compares": (
        {"action": "keepequal", "source_labels": ["a"], "target_label": "b"},
        {"a": "x", "b": "y"},
        0,
    ),
    "hashes": (
        {"action": "hashmod", "source_labels": ["a"], "target_label": "h", "modulus": 8},
        {"a": "foo"},
        {"a": "foo", "h": "0"},
    ),
    "one letter for one": (
        {"action": "uppercase", "source_labels": ["a"], "target_label": "a"},
        {"a": "straße"},
        {"a": "STRAßE"},
    ),
    "dotted capitals": (
        {"action": "lowercase", "source_labels": ["a"], "target_label": "a"},
        {"a": "İ"},
        {"a": "i"},
    ),
    "maps names": (
        {"action": "labelmap", "regex": "__meta_(.+)"},
        {"__meta_a": "x"},
        {"__meta_a": "x", "a": "x"},
    ),
    "drops names": ({"action": "labeldrop", "regex": "a|b"}, {"a": "1", "ab": "2"}, {"ab": "2"}),
    "keeps names": ({"action": "labelkeep", "regex": "a.*"}, {"b": "1", "ab": "2"}, {"ab": "2"}),
}


@pytest.mark.parametrize("case", STEPS)
def test_a_step_does_what_it_says(case: str) -> None:
    """Each action once."""
    step, before, after = STEPS[case]
    assert relabeled(step, **before) == after


def test_old_versions_know_fewer_names_of_labels() -> None:
    """What a group makes a name of is left out where it can be none."""
    step = {"source_labels": ["a"], "target_label": "$1"}
    assert relabeled(step, a="x.y") == {"a": "x.y", "x.y": "x.y"}
    assert relabeled(step, a="x.y", version="2.55.0") == {"a": "x.y"}


@pytest.mark.parametrize(
    ("template", "text"),
    [("$1", "x"), ("${1}y", "xy"), ("$1y", ""), ("$$1", "$1"), ("$", "$"), ("${1", "${1"),
     ("$k-$2", "x-"), ("$01", ""), ("a$-", "a$-")],
)  # fmt: skip
def test_references_to_groups_are_read_as_go_reads_them(template: str, text: str) -> None:
    """The longest name counts, and what is no reference is text."""
    match = Expression("(?P<k>.)|(z)").match("x")
    assert match is not None
    assert Template(template).filled(match) == text


@pytest.mark.parametrize("text", ["a)|(?:b", "(?=a)", "(((.{0,900}){0,9}){0,9})", "["])
def test_an_expression_that_cannot_be_run_here_is_told(text: str) -> None:
    """One that leaves its parentheses, one that Go does not know, one that is too large."""
    with pytest.raises(CannotTellError):
        Expression(text)


def test_a_match_that_would_take_long_is_not_tried() -> None:
    """The size of an expression times the length of a text is bounded."""
    expression = Expression("(.{0,100}a){0,10}b")
    with pytest.raises(CannotTellError, match="too much"):
        expression.matches("a" * 100_000)


def test_a_step_that_prometheus_refuses_is_not_done() -> None:
    """It would stop the whole configuration."""
    for bad in ({"action": "hashmod", "target_label": "a"}, {"action": "replaec"}):
        with pytest.raises(CannotTellError):
            step_of(bad, NEWEST)


# --- Jobs -----------------------------------------------------------------------------------------


def pod(name: str, node: str = "one", **status: Any) -> Pod:
    """A pod with two ports."""
    ports = [{"name": "web", "containerPort": 80}, {"name": "admin", "containerPort": 81}]
    given = {
        "metadata": {"name": name, "namespace": "shop", "labels": {"app.kubernetes.io/name": "c"}},
        "spec": {"nodeName": node, "containers": [{"name": "c", "ports": ports}]},
        "status": {"phase": "Running", "podIP": "10.0.0.1"} | status,
    }
    return convert(given, Pod)


def slice_of(*pods: Pod, family: str = "IPv4") -> EndpointSlice:
    """A slice of the Service `cart`, with its first port."""
    endpoints = [
        {
            "addresses": [each.address],
            "targetRef": {"kind": "Pod", "namespace": "shop", "name": each.name},
            "nodeName": each.node,
        }
        for each in pods
    ]
    metadata = {"name": f"cart-{family.lower()}", "namespace": "shop"}
    metadata["labels"] = {"kubernetes.io/service-name": "cart"}  # type: ignore[assignment]
    given = {"metadata": metadata, "addressType": family, "endpoints": endpoints}
    return convert(given | {"ports": [{"name": "web", "port": 80}]}, EndpointSlice)


def service(**spec: Any) -> Service:
    """The Service of these slices."""
    return convert({"metadata": {"name": "cart", "namespace": "shop"}, "spec": spec}, Service)


def found(
    world: TargetSources, role: str, *steps: Object, version: Any = NEWEST, **sd: Any
) -> list[TargetOutcome]:
    """What becomes of the candidates of a job."""
    block = {"job_name": "j", "kubernetes_sd_configs": [{"role": role} | sd]}
    job = job_of(block | {"relabel_configs": list(steps)}, version, variables={"NODE": "one"})
    return list(outcomes(job, world))


def test_ports_that_no_endpoint_has_are_candidates_too() -> None:
    """With what is known of their pod, but nothing of the endpoint."""
    made = pod("a")
    world = TargetSources(pods=by_place([made]), slices=by_place([slice_of(made)]))
    first, second = found(world, "endpointslice")
    assert first.discovered["__meta_kubernetes_endpointslice_port_name"] == "web"
    assert second.labels["__address__"] == "10.0.0.1:81"
    assert "__meta_kubernetes_endpointslice_port_name" not in second.discovered
    assert second.discovered["__meta_kubernetes_pod_name"] == "a"


def test_a_pod_that_selectors_leave_out_adds_nothing_to_its_endpoint() -> None:
    """The endpoint stays, as with agents that see the pods of their own node."""
    one, other = pod("a"), pod("b", node="two")
    world = TargetSources(pods=by_place([one, other]), slices=by_place([slice_of(one, other)]))
    own = [{"role": "pod", "field": "spec.nodeName=$(NODE)"}]
    outcome = found(world, "endpointslice", selectors=own)
    seen = [each.discovered.get("__meta_kubernetes_pod_name") for each in outcome]
    assert sorted(map(str, seen)) == ["None", "a", "a"]


def test_the_second_family_of_a_service_adds_nothing_in_new_versions() -> None:
    """Its targets are those of the first."""
    both = service(ipFamilyPolicy="PreferDualStack", ipFamilies=["IPv4", "IPv6"])
    world = TargetSources(
        services=by_place([both]),
        slices=by_place([slice_of(pod("a")), slice_of(pod("a"), family="IPv6")]),
    )
    assert len(found(world, "endpointslice")) == 1
    assert len(found(world, "endpointslice", version=parse_version("3.10.0"))) == 2


def test_pods_of_nodes_that_are_not_seen_are_left_out_in_new_versions() -> None:
    """Where labels of nodes are attached: by then a selector may have left the node out."""
    node = convert({"metadata": {"name": "one", "labels": {"zone": "a"}}}, Node)
    world = TargetSources(pods=by_place([pod("a"), pod("b", node="two")]), nodes={"one": node})
    wanted = {"attach_metadata": {"node": True}}
    outcome = found(world, "pod", **wanted)
    assert {each.discovered["__meta_kubernetes_pod_name"] for each in outcome} == {"a"}
    assert {each.discovered["__meta_kubernetes_node_label_zone"] for each in outcome} == {"a"}
    assert len(found(world, "pod", version=parse_version("3.10.0"), **wanted)) == 4


def host(name: str, **status: Any) -> Node:
    """A node with two addresses, as its kubelet reports itself."""
    reported: Object = {
        "addresses": [
            {"type": "Hostname", "address": f"{name}.example"},
            {"type": "ExternalIP", "address": "192.0.2.7"},
            {"type": "InternalDNS", "address": f"{name}.inner"},
            {"type": "ExternalIP", "address": "192.0.2.8"},
        ],
        "conditions": [{"type": "Ready", "status": "Unknown"}],
        "daemonEndpoints": {"kubeletEndpoint": {"Port": 10250}},
    }
    metadata = {"name": name, "labels": {"a/b": "c"}, "annotations": {"d": ""}}
    spec = {"providerID": f"cloud://{name}"}
    return convert({"metadata": metadata, "spec": spec, "status": reported | status}, Node)


META = "__meta_kubernetes_"


def short(outcome: TargetOutcome) -> Object:
    """What discovery says of a candidate, less what each job has."""
    own = {"job", "__scrape_interval__", "__scrape_timeout__", "__scheme__", "__metrics_path__"}
    labels = {name: value for name, value in outcome.discovered.items() if name not in own}
    return {
        name.removeprefix(META): value for name, value in labels.items() if "histograms" not in name
    }


def test_a_node_is_one_candidate_by_the_best_of_its_addresses() -> None:
    """Of each kind of address the first is told, and the name of the node is the instance."""
    [outcome] = found(TargetSources(nodes={"one": host("one")}), "node")
    assert short(outcome) == {
        "__address__": "one.inner:10250",
        "instance": "one",
        "node_name": "one",
        "node_provider_id": "cloud://one",
        "node_condition_ready": "unknown",
        "node_label_a_b": "c",
        "node_labelpresent_a_b": "true",
        "node_annotationpresent_d": "true",
        "node_address_Hostname": "one.example",
        "node_address_ExternalIP": "192.0.2.7",
        "node_address_InternalDNS": "one.inner",
    }
    assert outcome.public["instance"] == "one"


def test_older_versions_know_less_of_nodes() -> None:
    """Each label came with a version, and so did addresses that are names."""
    world = TargetSources(nodes={"one": host("one")})

    def told(version: str) -> Object:
        [outcome] = found(world, "node", version=parse_version(version))
        return short(outcome)

    assert "node_condition_ready" in told("3.12.0")
    assert "node_condition_ready" not in told("3.11.2")
    assert "node_provider_id" in told("2.33.0")
    assert "node_provider_id" not in told("2.32.1")
    assert told("2.12.0")["__address__"] == "192.0.2.7:10250"


def test_nodes_are_in_whatever_namespaces_are_named() -> None:
    """Each once; selectors of nodes choose among them."""
    world = TargetSources(nodes={name: host(name) for name in ("one", "two")})
    named = {"namespaces": {"names": ["shop", "other"]}}
    assert len(found(world, "node", **named)) == 2
    one = {"selectors": [{"role": "node", "field": "metadata.name=two"}]}
    assert [each.public["instance"] for each in found(world, "node", **one)] == ["two"]


def test_a_node_without_an_address_is_no_candidate_and_without_a_status_not_known() -> None:
    """A manifest has no status, and what a cluster will say is not made up."""
    assert found(TargetSources(nodes={"one": host("one", addresses=[])}), "node") == []
    bare = convert({"metadata": {"name": "one"}}, Node)
    with pytest.raises(CannotTellError, match="address of Node one"):
        found(TargetSources(nodes={"one": bare}), "node")


def test_each_port_of_a_service_is_a_candidate_by_its_name() -> None:
    """Whatever is behind it, and whether anything is."""
    ports = [{"name": "web", "port": 80, "protocol": "TCP"}, {"port": 53, "protocol": "UDP"}]
    made = service(type="ClusterIP", clusterIP="10.3.3.3", ports=ports)
    first, second = map(short, found(TargetSources(services=by_place([made])), "service"))
    assert first == {
        "__address__": "cart.shop.svc:80",
        "namespace": "shop",
        "service_name": "cart",
        "service_type": "ClusterIP",
        "service_cluster_ip": "10.3.3.3",
        "service_port_name": "web",
        "service_port_number": "80",
        "service_port_protocol": "TCP",
    }
    assert second["__address__"] == "cart.shop.svc:53"
    assert "service_port_name" not in second


@pytest.mark.parametrize(
    ("version", "ip"), [("3.15.0", "1.1.1.1,3.3.3.3"), ("3.14.0", "9.9.9.9"), ("2.38.0", None)]
)
def test_a_load_balancer_is_told_by_the_addresses_that_it_has(version: str, ip: str | None) -> None:
    """By the one that was asked for before 3.15, and by none before 2.39."""
    spec = {"type": "LoadBalancer", "loadBalancerIP": "9.9.9.9", "ports": [{"port": 1}]}
    given = [{"ip": "1.1.1.1"}, {"hostname": "b"}, {"ip": "3.3.3.3"}]
    made = replace(
        service(**spec), status=convert({"loadBalancer": {"ingress": given}}, ServiceStatus)
    )
    world = TargetSources(services=by_place([made]))
    [outcome] = found(world, "service", version=parse_version(version))
    assert short(outcome).get("service_loadbalancer_ip") == ip


def test_a_service_outside_is_told_by_its_name() -> None:
    """It has no address of its own."""
    made = service(type="ExternalName", externalName="a.example", ports=[{"port": 1}])
    world = TargetSources(services=by_place([made]))
    [outcome] = found(world, "service")
    assert short(outcome)["service_external_name"] == "a.example"
    assert "service_cluster_ip" not in short(outcome)
    assert short(found(world, "service", version=parse_version("2.37.0"))[0]).keys() == (
        short(outcome).keys() - {"service_port_number"}
    )


def unique(found: list[TargetOutcome]) -> list[TargetOutcome]:
    """Targets, each once: Prometheus scrapes one for all that have the same labels."""
    return list({frozenset(each.labels.items()): each for each in found if each.stays}.values())


def test_equal_targets_are_scraped_once() -> None:
    """Equal are those with the same labels, internal ones too."""
    world = TargetSources(pods=by_place([pod("a"), pod("b", podIP="10.0.0.2")]))
    drop_names = {"action": "labeldrop", "regex": "__meta.*"}
    same = {"target_label": "__address__", "replacement": "one:1"}
    assert len(unique(found(world, "pod", drop_names))) == 4
    outcome = found(world, "pod", drop_names, same)
    assert len(outcome) == 4
    [target] = unique(outcome)
    assert target.public == {"job": "j", "instance": "one:1"}


@pytest.mark.parametrize(
    ("label", "value"),
    [("__address__", ""), ("__address__", "a/b"), ("__scrape_interval__", "x"),
     ("__scrape_timeout__", "2m"), ("__scrape_native_histograms__", "maybe")],
)  # fmt: skip
def test_what_can_be_no_target_is_told(label: str, value: str) -> None:
    """It is neither scraped nor dropped."""
    step = {"target_label": label, "replacement": value}
    for each in found(TargetSources(pods=by_place([pod("a")])), "pod", step):
        assert each.problem
        assert each.step is None


def test_old_versions_add_a_port_to_an_address() -> None:
    """By the scheme, after relabeling."""
    step = {"target_label": "__address__", "replacement": "host"}
    world = TargetSources(pods=by_place([pod("a")]))
    assert unique(found(world, "pod", step, version=OLD))[0].public["instance"] == "host:80"
    assert unique(found(world, "pod", step))[0].public["instance"] == "host"


def test_what_is_not_known_here_is_told() -> None:
    """Other discoveries, roles that no monitor asks for, fields of objects."""
    blocks: tuple[Object, ...] = (
        {"dns_sd_configs": [{}]},
        {"kubernetes_sd_configs": [{"role": "pod", "namespaces": {"own_namespace": True}}]},
        {"kubernetes_sd_configs": [{"role": "pod", "attach_metadata": {"job": True}}]},
        {"kubernetes_sd_configs": [{"role": "cronjob"}]},
        {"kubernetes_sd_configs": [
            {"role": "pod", "selectors": [{"role": "pod", "field": "spec.restartPolicy=Never"}]}
        ]},
    )  # fmt: skip
    for block in blocks:
        with pytest.raises(CannotTellError):
            list(outcomes(job_of({"job_name": "j"} | block, NEWEST), TargetSources()))


def test_what_would_take_too_long_is_not_done() -> None:
    """A tenant decides on steps and candidates, and a page shows thousands of resources."""
    steps = [{"source_labels": ["a"], "regex": "(a|b)*c", "target_label": "a"}] * 1000
    job = job_of({"job_name": "j", "kubernetes_sd_configs": [{"role": "pod"}]}, NEWEST)
    dear = job_of(
        {"job_name": "j", "kubernetes_sd_configs": [{"role": "pod"}], "relabel_configs": steps},
        NEWEST,
    )
    world = TargetSources(pods=by_place([pod(f"p{number}") for number in range(100)]))
    assert len(list(outcomes(job, world, Budget(100_000)))) == 200
    with pytest.raises(CannotTellError, match="too many"):
        list(outcomes(dear, world, Budget(100_000)))


@pytest.mark.parametrize("seed", range(0, 2000, 100))
def test_what_decides_on_a_candidate_is_some_of_its_steps(seed: int) -> None:
    """With these alone it stays, or is dropped, as with all of them; with fewer it may not."""
    fewer = 0
    for block in made_up_jobs(seed, 100):
        try:
            steps = job_of(block, NEWEST).steps
        except CannotTellError:
            continue
        chosen = deciding(steps)
        fewer += len(chosen) < len(steps)
        for target in block["static_configs"]:
            labels = {**target["labels"], "__address__": target["targets"][0]}
            try:
                stays = dropped_by(steps, dict(labels)) is None
            except CannotTellError:
                continue
            assert (dropped_by(chosen, dict(labels)) is None) is stays, block
    assert fewer > 40


def test_what_a_label_is_mapped_from_may_decide() -> None:
    """Any label may become the one that a later step looks at."""
    made: list[Object] = [
        {"source_labels": ["job"], "target_label": "__meta_label_app"},
        {"source_labels": ["job"], "target_label": "unread"},
        {"action": "labelmap", "regex": "__meta_label_(.+)"},
        {"action": "keep", "source_labels": ["app"], "regex": "shop"},
        {"source_labels": ["job"], "target_label": "app"},
    ]
    steps = [step_of(each, NEWEST) for each in made]
    chosen = deciding(steps)
    assert [made[steps.index(each)] for each in chosen] == made[:4]
    assert dropped_by(chosen, {"job": "shop"}) is None
