"""Pods, Services and endpoints made up from a number, for a real API server, and read from it.

Some pods are played by kwok; those on the node where nobody is at home have the status that is
written here. Endpoints are those of Kubernetes' own controller, and some that are written by hand.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from random import Random
from typing import Any, Final

import msgspec

from stoker.targets.objects import (
    Endpoints,
    EndpointSlice,
    Ingress,
    N,
    Namespace,
    Node,
    Pod,
    Service,
    TargetSources,
    by_place,
)
from tests.live.operating import World as Place
from tools.api import Api
from tools.stages import DEAD

Object = dict[str, Any]

_KEYS: Final = ("app", "tier", "team.example/name", "app.kubernetes.io/part-of", "v1-2_3")
_VALUES: Final = ("cart", "stock", "front", "", "a.b", "1")
_NOTES: Final = ("prometheus.io/scrape", "prometheus.io/port", "note", "x--y")
_PORTS: Final = ((8080, "web"), (8081, "admin"), (9090, "metrics"), (8080, "same"), (53, "dns"))
APPS: Final = ("cart", "stock")


def _labels(random: Random) -> dict[str, str]:
    keys = random.sample(_KEYS[1:], random.randint(0, 3))
    return {"app": random.choice(APPS), **{key: random.choice(_VALUES) for key in keys}}


def _metadata(random: Random, name: str) -> Object:
    notes = random.sample(_NOTES, random.randint(0, 2))
    texts = ("true", "8080", "", 'zwölf; "quoted"\n')
    return {
        "name": name,
        "labels": _labels(random),
        "annotations": {key: random.choice(texts) for key in notes},
    }


def _ports(random: Random) -> list[Object]:
    ports: list[Object] = []
    for number, name in random.sample(_PORTS, random.choice((0, 1, 1, 2, 3))):
        port: Object = {"containerPort": number, "protocol": "UDP" if number == 53 else "TCP"}
        if random.random() < 0.8:
            port["name"] = name
        if all(
            (each["containerPort"], each["protocol"]) != (number, port["protocol"])
            for each in ports
        ):
            ports.append(port)
    return ports


def _containers(random: Random) -> Object:
    spec: Object = {
        "containers": [
            {"name": f"c{number}", "image": f"registry/c{number}:1", "ports": _ports(random)}
            for number in range(random.choice((1, 1, 2)))
        ]
    }
    if random.random() < 0.4:
        own = {"name": "first", "image": "registry/first:2", "ports": _ports(random)}
        spec["initContainers"] = [own | random.choice(({}, {"restartPolicy": "Always"}))]
    return spec


def _statuses(containers: Sequence[Object], random: Random) -> list[Object]:
    return [
        {
            "name": each["name"], "image": each["image"], "imageID": "", "ready": True,
            "restartCount": 0, "containerID": f"containerd://{random.randrange(10**6)}",
        }
        for each in containers if random.random() < 0.7
    ]  # fmt: skip


def _status(random: Random, number: int, spec: Object) -> Object:
    status: Object = {
        "phase": random.choice(("Pending", "Running", "Running", "Succeeded", "Failed"))
    }
    if random.random() < 0.85:
        address = f"10.77.0.{number}" if random.random() < 0.8 else f"fd77::{number}"
        status |= {"podIP": address, "podIPs": [{"ip": address}]}
    if random.random() < 0.7:
        status |= {"hostIP": "10.9.9.9", "hostIPs": [{"ip": "10.9.9.9"}]}
    if random.random() < 0.8:
        ready = {"type": "Ready", "status": random.choice(("True", "False", "Unknown"))}
        status["conditions"] = [{"type": "PodScheduled", "status": "True"}, ready]
    status["containerStatuses"] = _statuses(spec["containers"], random)
    status["initContainerStatuses"] = _statuses(spec.get("initContainers", []), random)
    return status


def pods(
    random: Random, nodes: Sequence[str], count: int
) -> Iterator[tuple[Object, Object | None]]:
    """Pods, and the status of those that nobody else gives one."""
    for number in range(count):
        spec = _containers(random)
        node = random.choice((*nodes, DEAD))
        spec |= {"nodeName": node, "tolerations": [{"operator": "Exists"}]}
        if random.random() < 0.2 and not any(each["ports"] for each in spec["containers"]):
            spec["hostNetwork"] = True
        if random.random() < 0.2:
            spec |= {"hostname": f"host-{number}", "subdomain": "cart"}
        metadata = _metadata(random, f"pod-{number}")
        if random.random() < 0.4:
            kind = random.choice(("ReplicaSet", "StatefulSet", "Job"))
            # An owner by another group, so that nobody collects what belongs to nothing.
            metadata["ownerReferences"] = [_owner(kind, controller=random.random() < 0.7)]
        pod = {"apiVersion": "v1", "kind": "Pod", "metadata": metadata, "spec": spec}
        yield pod, _status(random, number, spec) if node == DEAD else None


def _owner(kind: str, *, controller: bool) -> Object:
    return {
        "apiVersion": "shop.example/v1", "kind": kind, "name": f"the-{kind.lower()}",
        "uid": "7d8b1c9e-0000-4000-8000-000000000001", "controller": controller,
    }  # fmt: skip


def services(random: Random, count: int) -> Iterator[Object]:
    """Services with a selector, and some without; of some only the name is told, some are outside.

    The last is a load balancer, of which nobody but we says by which addresses it is reached.
    """
    for number in range(count):
        target = random.choice((8080, 9090, "web", "metrics", 8081))
        spec: Object = {"ports": [{"name": "web", "port": 80, "targetPort": target}]}
        if random.random() < 0.5:
            more = {"name": "more", "port": 81, "targetPort": 8081, "appProtocol": "http"}
            spec["ports"].append(more)
        if random.random() < 0.75:
            spec["selector"] = {"app": random.choice(APPS)}
        last = number == count - 1
        outside = random.random() < 0.2 and not last
        if last:
            spec |= {"type": "LoadBalancer", "loadBalancerIP": "192.0.2.1"}
        elif outside:
            spec |= {"type": "ExternalName", "externalName": "outside.example.com"}
        elif random.random() < 0.3:
            spec["clusterIP"] = "None"
        if random.random() < 0.3:
            spec["publishNotReadyAddresses"] = True
        yield {
            "apiVersion": "v1",
            "kind": "Service",
            "metadata": _metadata(random, f"service-{number}"),
            "spec": spec,
        }


def slices(random: Random, namespace: str, nodes: Sequence[str], count: int) -> Iterator[Object]:
    """Slices that somebody wrote by hand: several for a Service, some for none."""
    for number in range(count):
        family = random.choice(("IPv4", "IPv4", "IPv6", "FQDN"))
        metadata = _metadata(random, f"slice-{number}")
        if random.random() < 0.85:
            service = f"service-{random.randrange(4)}"
            metadata["labels"]["kubernetes.io/service-name"] = service
        yield {
            "apiVersion": "discovery.k8s.io/v1",
            "kind": "EndpointSlice",
            "metadata": metadata,
            "addressType": family,
            "ports": [_slice_port(random, at) for at in range(random.randint(0, 2))],
            "endpoints": [
                _endpoint(random, family, f"{number}{each}", namespace, nodes)
                for each in range(random.randint(0, 3))
            ],
        }


def _slice_port(random: Random, number: int) -> Object:
    port: Object = {"name": ("web", "more")[number], "protocol": random.choice(("TCP", "UDP"))}
    if random.random() < 0.9:
        port["port"] = random.choice((8080, 9090, 53))
    if random.random() < 0.3:
        port["appProtocol"] = "example.com/scraped"
    return port


def _endpoint(
    random: Random, family: str, number: str, namespace: str, nodes: Sequence[str]
) -> Object:
    address = {"IPv4": f"10.88.0.{int(number) % 250}", "IPv6": f"fd88::{number}"}
    made: Object = {"addresses": [address.get(family, f"host-{number}.example.com")]}
    conditions = ("ready", "serving", "terminating")
    made["conditions"] = {
        each: random.random() < 0.5 for each in conditions if random.random() < 0.6
    }
    if random.random() < 0.4:
        made["hostname"] = f"host-{number}"
    if random.random() < 0.6:
        made["nodeName"] = random.choice((*nodes, DEAD, "gone"))
    if random.random() < 0.4:
        made["zone"] = "zone-a"
    if random.random() < 0.7:
        made["targetRef"] = random.choice((
            {"kind": "Pod", "namespace": namespace, "name": f"pod-{random.randrange(8)}"},
            {"kind": "Pod", "namespace": namespace, "name": "gone"},
            {"kind": "Pod", "namespace": "elsewhere", "name": "pod-1"},
            {"kind": "Node", "name": random.choice((*nodes, "gone"))},
            {"kind": "Thing", "name": "some"},
        ))  # fmt: skip
    return made


def endpoints(random: Random, namespace: str, nodes: Sequence[str]) -> Iterator[Object]:
    """Endpoints for the last two Services, where they have no selector."""
    for number in range(2):
        ref = {"kind": "Pod", "namespace": namespace, "name": f"pod-{random.randrange(8)}"}
        addresses: list[Object] = [
            {"ip": f"10.99.{number}.1", "targetRef": ref, "nodeName": random.choice(nodes)},
            {"ip": f"10.99.{number}.2", "hostname": "two"},
            {"ip": f"10.99.{number}.3", "targetRef": {"kind": "Node", "name": nodes[0]}},
        ]
        yield {
            "apiVersion": "v1",
            "kind": "Endpoints",
            "metadata": _metadata(random, f"own-{number}"),
            "subsets": [
                {
                    "addresses": addresses[:2],
                    "notReadyAddresses": addresses[2:],
                    "ports": [
                        {"name": "web", "port": 8080},
                        {"name": "u", "port": 9090, "protocol": "UDP"},
                    ],
                }
            ],
        }


def ingresses(random: Random, count: int) -> Iterator[Object]:
    """Ingresses with hosts, with paths and without."""
    backend = {"service": {"name": "service-0", "port": {"number": 80}}}
    for number in range(count):
        paths = [
            {"path": path, "pathType": "Prefix", "backend": backend}
            for path in random.sample(("/", "/cart", "/a/b"), random.randint(1, 2))
        ]
        rules: list[Object] = [{"host": f"shop-{number}.example.com", "http": {"paths": paths}}]
        spec: Object = {"rules": [*rules, {"host": "plain.example.com"}]}
        if random.random() < 0.6:
            spec["tls"] = [{"hosts": [random.choice(("*.example.com", "plain.example.com"))]}]
        if random.random() < 0.5:
            spec["ingressClassName"] = "outer"
        yield {
            "apiVersion": "networking.k8s.io/v1",
            "kind": "Ingress",
            "metadata": _metadata(random, f"ingress-{number}"),
            "spec": spec,
        }


# --- Read -----------------------------------------------------------------------------------------


def world_of(api: Api) -> TargetSources:
    """What there is now in a cluster."""

    def read(kind: type[N], path: str) -> list[N]:
        return msgspec.convert(api.get(f"/{path}")["items"], list[kind])  # type: ignore[valid-type]

    return TargetSources(
        pods=by_place(read(Pod, "api/v1/pods")),
        services=by_place(read(Service, "api/v1/services")),
        endpoints=by_place(read(Endpoints, "api/v1/endpoints")),
        slices=by_place(read(EndpointSlice, "apis/discovery.k8s.io/v1/endpointslices")),
        ingresses=by_place(read(Ingress, "apis/networking.k8s.io/v1/ingresses")),
        nodes={each.name: each for each in read(Node, "api/v1/nodes")},
        namespaces={each.name: each for each in read(Namespace, "api/v1/namespaces")},
    )


def furnish(place: Place, nodes: Sequence[str], seed: int, *, by_hand: bool = True) -> None:
    """Fill a namespace; with or without endpoints that somebody wrote by hand.

    In every second one the load balancer has addresses.
    """
    random = Random(seed)
    for pod, status in pods(random, nodes, 8):
        place.put(pod)
        if status is not None:
            named = {"name": pod["metadata"]["name"]}
            place.put_status(pod | {"metadata": named}, "nobody", **status)
    made = list(services(random, 4))
    place.put(*made)
    if seed % 2:
        balancer = made[-1] | {"metadata": {"name": made[-1]["metadata"]["name"]}}
        found = [{"ip": "192.0.2.2"}, {"hostname": "lb.example.com"}, {"ip": "192.0.2.3"}]
        place.put_status(balancer, "nobody", loadBalancer={"ingress": found})
    if by_hand:
        place.put(
            *slices(random, place.namespace, nodes, 5),
            *endpoints(random, place.namespace, nodes),
        )
    for each in ingresses(random, 3):
        path = f"/apis/networking.k8s.io/v1/namespaces/{place.namespace}/ingresses"
        place.cluster.api.request("POST", path, each)
