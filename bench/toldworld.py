"""The world of `bench replaced` as an API server tells it, and how a pod of it is replaced."""

import copy
from collections.abc import Iterator
from datetime import UTC, datetime, timedelta
from typing import Any, Final

from bench.asking import HOME
from bench.portions import SERVICES, SPACES, pod_of, service_of
from tests.told import token_of

Object = dict[str, Any]
ToldEvent = tuple[str, Object]
"""What happened to an object, as watches call it, and how it is now."""

_SET: Final = {"kind": "DaemonSet", "name": "prom-agent-main", "uid": "set", "controller": True}
_DUE_TO: Final = "endpoints.kubernetes.io/last-change-trigger-time"
# What most of an object is that nobody reads here.
_MANAGED: Final = {
    "manager": "kube-controller-manager", "operation": "Update", "apiVersion": "v1",
    "time": "2026-11-19T00:00:00Z", "fieldsType": "FieldsV1",
    "fieldsV1": {"f:metadata": {"f:labels": {f"f:label-{n}": {} for n in range(24)}}},
}  # fmt: skip


class ToldWorld:
    """All objects, as an API server tells them; `tokens` are those of the agents, by node."""

    def __init__(self, nodes: int, pods: int) -> None:
        self.count = nodes * pods
        self._nodes = nodes
        self._names = [pod_of(number, nodes)[1]["metadata"]["name"] for number in range(self.count)]
        self._agents = [_agent_pod(number) for number in range(nodes)]
        self._slices = [_slice(number) for number in range(SERVICES)]
        self._pods = [self._pod(number, name) for number, name in enumerate(self._names)]
        for number, pod in enumerate(self._pods):
            self._endpoints(number).append(_endpoint(pod))
        self._seconds = 0
        self.tokens = {
            each["spec"]["nodeName"]: token_of(
                HOME, each["metadata"]["name"], each["metadata"]["uid"]
            )
            for each in self._agents
        }

    @property
    def all(self) -> Iterator[Object]:
        """What there is in the beginning."""
        yield from map(_node, range(self._nodes))
        yield from map(_service, range(SERVICES))
        yield from (*self._agents, *self._pods, *self._slices)

    def replaced(self, number: int, name: str) -> Iterator[list[ToldEvent]]:
        """The steps in which a pod goes and another comes in its place, each with its events."""
        old, endpoints = self._pods[number], self._endpoints(number)
        at = next(n for n, each in enumerate(endpoints) if _is_of(each, old))
        old["metadata"]["deletionTimestamp"] = "2026-11-19T00:00:30Z"
        endpoints[at]["conditions"] = {"ready": False, "serving": True, "terminating": True}
        yield [_event(old), self._slice_event(number)]
        ended, is_ready = copy.deepcopy(old), old["status"]["conditions"][1]
        is_ready["status"] = "False"
        del endpoints[at]
        yield [_event(ended), _event(old, "DELETED"), self._slice_event(number)]
        new = self._pods[number] = self._pod(number, name)
        running, node = new["status"], new["spec"].pop("nodeName")
        new["status"] = {"phase": "Pending"}
        came = _event(new, "ADDED")
        new["spec"]["nodeName"] = node
        yield [came, _event(new)]
        new["status"] = copy.deepcopy(running)
        new["status"]["conditions"][1]["status"] = "False"
        endpoints.append(_endpoint(new, ready=False))
        yield [_event(new), self._slice_event(number)]
        new["status"] = running
        endpoints[-1] = _endpoint(new)
        yield [_event(new), self._slice_event(number, due=True)]

    def _pod(self, number: int, name: str) -> Object:
        path, body = pod_of(number, self._nodes, name)
        return _pod_as_told(body, path.split("/")[4], number)

    def _endpoints(self, number: int) -> list[Object]:
        found: list[Object] = self._slices[number % SERVICES]["endpoints"]
        return found

    def _slice_event(self, number: int, *, due: bool = False) -> ToldEvent:
        found = self._slices[number % SERVICES]
        found["metadata"].pop("annotations", None)
        if due:
            self._seconds += 1
            moment = datetime(2026, 11, 19, tzinfo=UTC) + timedelta(seconds=self._seconds)
            found["metadata"]["annotations"] = {_DUE_TO: moment.strftime("%Y-%m-%dT%H:%M:%SZ")}
        return _event(found)


def _event(what: Object, kind: str = "MODIFIED") -> ToldEvent:
    return kind, copy.deepcopy(what)


def _is_of(endpoint: Object, pod: Object) -> bool:
    return bool(endpoint["targetRef"]["name"] == pod["metadata"]["name"])


def _metadata(name: str, namespace: str = "", **more: Any) -> Object:
    known = {"name": name, "uid": f"uid-{name}", "creationTimestamp": "2026-11-19T00:00:00Z"}
    return known | ({"namespace": namespace} if namespace else {}) | more


def _node(number: int) -> Object:
    name = f"node-{number}"
    labels = {"kubernetes.io/hostname": name, "topology.kubernetes.io/zone": f"z{number % 3}"}
    return {"kind": "Node", "metadata": _metadata(name, labels=labels), "spec": {}}


def _service(number: int) -> Object:
    path, body = service_of(number)
    metadata = _metadata(namespace=path.split("/")[4], **body["metadata"])
    return body | {"kind": "Service", "metadata": metadata}


def _slice(number: int) -> Object:
    service = f"app-{number}"
    labels = service_of(number)[1]["metadata"]["labels"] | {
        "kubernetes.io/service-name": service,
        "endpointslice.kubernetes.io/managed-by": "endpointslice-controller.k8s.io",
    }
    return {
        "kind": "EndpointSlice",
        "metadata": _metadata(
            f"{service}-abcde", f"team-{number % SPACES}", labels=labels, managedFields=[_MANAGED]
        ),
        "addressType": "IPv4",
        "endpoints": [],
        "ports": [{"name": "web", "port": 80, "protocol": "TCP"}],
    }


def _endpoint(pod: Object, *, ready: bool = True) -> Object:
    metadata = pod["metadata"]
    of = {"kind": "Pod", "namespace": metadata["namespace"], "name": metadata["name"]}
    return {
        "addresses": [pod["status"]["podIP"]],
        "conditions": {"ready": ready, "serving": ready, "terminating": False},
        "nodeName": pod["spec"]["nodeName"],
        "targetRef": of | {"uid": metadata["uid"]},
    }


def _agent_pod(number: int) -> Object:
    body = {"metadata": {"name": f"agent-{number}"}, "spec": {"nodeName": f"node-{number}"}}
    body["spec"]["containers"] = [{"name": "prometheus", "image": "prometheus"}]  # type: ignore[assignment]
    made = _pod_as_told(body, HOME, number)
    made["metadata"]["ownerReferences"] = [_SET]
    return made


def _pod_as_told(body: Object, namespace: str, number: int) -> Object:
    """A pod that is ready, with all that an API server says of one."""
    metadata = body["metadata"]
    spec = body["spec"] | {"tolerations": [], "volumes": [{"name": "v", "projected": {}}]}
    address = f"10.{number >> 16}.{number >> 8 & 255}.{number & 255}"
    image = spec["containers"][0]["image"]
    container = {"name": spec["containers"][0]["name"], "image": image, "ready": True}
    return {
        "kind": "Pod",
        "metadata": _metadata(namespace=namespace, managedFields=[_MANAGED] * 2, **metadata),
        "spec": spec,
        "status": {
            "phase": "Running",
            "podIP": address,
            "podIPs": [{"ip": address}],
            "hostIP": "10.0.0.1",
            "conditions": [
                {"type": "PodScheduled", "status": "True"},
                {"type": "Ready", "status": "True"},
            ],
            "containerStatuses": [container | {"containerID": f"containerd://{number:064x}"}],
        },
    }
