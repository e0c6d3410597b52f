"""A world that stays as large as it is while everything in it changes, for as long as one likes.

Tenants share a cluster. Each has a namespace, a workload of each kind there, resources that these
select, and Secrets that the resources read; what it does is drawn by lot, the same in each run.
Much of it is renewed under names that were never there before, so that whatever is kept for the
sake of a name shows in the end.
"""

from __future__ import annotations

import random
from collections import defaultdict, deque
from collections.abc import Callable, Iterator
from typing import Any, NamedTuple

from stoker.kube.resources import resource_of
from tests.builders import (
    agent,
    alertmanager,
    alertmanager_config,
    prometheus,
    resource,
    secret,
    service_monitor,
    thanos_ruler,
    thing,
)

Object = dict[str, Any]

MARKER = "marker"
"""The ServiceMonitor whose path says how far a tenant has come."""
SECRETS = 6
# How many of each kind of resource a tenant has.
KEPT = {
    "ServiceMonitor": 20,
    "PodMonitor": 5,
    "Probe": 5,
    "ScrapeConfig": 5,
    "PrometheusRule": 8,
    "AlertmanagerConfig": 5,
}
_RULES = 5
_MERGE = "application/merge-patch+json"
_JSON = "application/json"


class Request(NamedTuple):
    """What somebody asks of the API server; `absent`: whether there may be no such object."""

    method: str
    path: str
    body: Object | None = None
    content_type: str = _JSON
    absent: bool = False


class Tenant:
    """One namespace, what is in it, and what happens there next; `changes` counts what did.

    There are at most `contents` that resources have: with fewer, what is remembered of texts has
    soon come to its bound.
    """

    def __init__(self, namespace: str, seed: int, contents: int) -> None:
        self.namespace = namespace
        self.changes = 0
        self._contents = contents
        self._dice = random.Random(f"{seed} {namespace}")
        self._names = 0
        self._alive: defaultdict[str, deque[str]] = defaultdict(deque)
        self._workload = ""
        self._annexe = ""

    def furnish(self) -> Iterator[Request]:
        """Make what there is at first."""
        yield _made(_namespace(self.namespace))
        for number in range(SECRETS):
            yield self._make(_secret(number, "first"))
        for make in (prometheus, agent, alertmanager, thanos_ruler):
            yield self._make(make("main", replicas=0))
        yield self._make(_on_nodes())
        yield self.mark("start")
        for kind, count in KEPT.items():
            for _ in range(count):
                yield self._make(self._fresh(kind))
        yield from self.move()
        yield from self.build()

    def next(self) -> list[Request]:
        """What happens next: one change, or a few that belong together."""
        (change,) = self._dice.choices(list(CHANGES), list(CHANGES.values()))
        requests = list(change(self))
        self.changes += len(requests)
        return requests

    def mark(self, word: str) -> Request:
        """Change the marker, so that it can be seen when all before it was followed."""
        made = service_monitor(MARKER, path=f"/{word}")
        if word == "start":
            return self._make(made)
        self.changes += 1
        return self._patch(made, {"spec": made["spec"]})

    # --- What may happen --------------------------------------------------------------------------

    def alter(self) -> Iterator[Request]:
        """Change a resource."""
        kind = self._dice.choice(list(KEPT))
        name = self._dice.choice(self._alive[kind])
        made = self._resource(kind, name)
        yield self._patch(made, {"spec": made["spec"]})

    def renew(self) -> Iterator[Request]:
        """Make a resource of a new name, and delete the oldest of its kind."""
        kind = self._dice.choice(list(KEPT))
        yield self._make(self._fresh(kind))
        yield self._delete(kind, self._alive[kind].popleft())

    def spoil(self) -> Iterator[Request]:
        """Make a monitor one that must be left out; another change of it will mend it."""
        name = self._dice.choice(self._alive["ServiceMonitor"])
        made = service_monitor(name, relabelings=[{"regex": f"({self._number()}"}])
        yield self._patch(made, {"spec": made["spec"]})

    def rotate(self) -> Iterator[Request]:
        """Change the value of a Secret that monitors read."""
        made = _secret(self._dice.randrange(SECRETS), f"value-{self._number()}")
        yield self._patch(made, {"stringData": made["stringData"]})

    def replace(self) -> Iterator[Request]:
        """Delete a Secret that monitors read, and make it again."""
        made = _secret(self._dice.randrange(SECRETS), f"value-{self._number()}")
        yield self._delete("Secret", made["metadata"]["name"])
        yield self._make(made)

    def reconfigure(self) -> Iterator[Request]:
        """Change a workload so that its configuration is another."""
        make = self._dice.choice((prometheus, agent))
        labels = {"round": f"round-{self._number()}"}
        yield self._patch(make("main"), {"spec": {"externalLabels": labels}})

    def remake(self) -> Iterator[Request]:
        """Change a workload so that its pods would be others."""
        make = self._dice.choice((prometheus, agent, alertmanager, thanos_ruler))
        labels = {"labels": {"round": f"round-{self._number()}"}}
        yield self._patch(make("main"), {"spec": {"podMetadata": labels}})

    def relabel(self) -> Iterator[Request]:
        """Change the labels of the namespace: a Prometheus elsewhere selects by them, or not."""
        labels = {"watched": self._dice.choice(("yes", None))}
        yield _patched(_namespace(self.namespace), {"metadata": {"labels": labels}})

    def harm(self) -> Iterator[Request]:
        """Delete something that the operator made."""
        yield self._delete(*self._dice.choice(MADE))

    def meddle(self) -> Iterator[Request]:
        """Change something that the operator made."""
        kind = self._dice.choice(("statefulsets", "daemonsets", "services"))
        name = next(each for of, each in MADE if _PLURALS.get(of) == kind)
        group = "/api/v1" if kind == "services" else "/apis/apps/v1"
        path = f"{group}/namespaces/{self.namespace}/{kind}/{name}"
        labels = {"app.kubernetes.io/managed-by": f"somebody-{self._number()}"}
        yield Request("PATCH", path, {"metadata": {"labels": labels}}, _MERGE, absent=True)

    def move(self) -> Iterator[Request]:
        """Make a workload of a new name, and delete the one before."""
        before, self._workload = self._workload, f"other-{self._number()}"
        yield self._make(prometheus(self._workload, replicas=0))
        if before:
            yield self._delete("Prometheus", before)

    def build(self) -> Iterator[Request]:
        """Make a namespace of a new name with a monitor in it, and delete the one before."""
        before, self._annexe = self._annexe, f"{self.namespace}-{self._number()}"
        yield _made(_namespace(self._annexe, watched="yes"))
        yield _made(_placed(service_monitor("visitor"), self._annexe))
        if before:
            yield Request("DELETE", f"/api/v1/namespaces/{before}")

    # --- Objects ----------------------------------------------------------------------------------

    def _number(self) -> int:
        self._names += 1
        return self._names

    def _fresh(self, kind: str) -> Object:
        name = f"{kind.lower()}-{self._number()}"
        self._alive[kind].append(name)
        return self._resource(kind, name)

    def _resource(self, kind: str, name: str) -> Object:
        content = self._number() % self._contents
        return _RESOURCES[kind](name, content, self._dice.randrange(SECRETS))

    def _make(self, made: Object) -> Request:
        return _made(_placed(made, self.namespace))

    def _patch(self, of: Object, patch: Object) -> Request:
        return _patched(_placed(of, self.namespace), patch)

    def _delete(self, kind: str, name: str) -> Request:
        found = resource_of({"apiVersion": _VERSIONS[kind], "kind": kind})
        return Request("DELETE", found.path(self.namespace, name), absent=True)


CHANGES: dict[Callable[[Tenant], Iterator[Request]], float] = {
    Tenant.alter: 40,
    Tenant.renew: 16,
    Tenant.spoil: 4,
    Tenant.rotate: 12,
    Tenant.replace: 2,
    Tenant.reconfigure: 6,
    Tenant.remake: 4,
    Tenant.relabel: 3,
    Tenant.harm: 4,
    Tenant.meddle: 4,
    Tenant.move: 1,
    Tenant.build: 0.2,
}
"""What may happen, and how often in comparison."""

MADE = (
    ("StatefulSet", "prometheus-main"),
    ("StatefulSet", "alertmanager-main"),
    ("StatefulSet", "thanos-ruler-main"),
    ("DaemonSet", "prom-agent-nodes"),
    ("Secret", "prometheus-main"),
    ("Secret", "prom-agent-main"),
    ("Secret", "alertmanager-main-generated"),
    ("ConfigMap", "prometheus-main-rulefiles-0"),
    ("Service", "prometheus-operated"),
    ("Service", "alertmanager-operated"),
)
_PLURALS = {"StatefulSet": "statefulsets", "DaemonSet": "daemonsets", "Service": "services"}
_VERSIONS = {
    **dict.fromkeys(("StatefulSet", "DaemonSet"), "apps/v1"),
    **dict.fromkeys(("Secret", "ConfigMap", "Service"), "v1"),
}


def _namespace(name: str, **labels: str) -> Object:
    return thing("Namespace", name, labels=labels)


def _secret(number: int, value: str) -> Object:
    return secret(f"token-{number}", {"token": value})


def _on_nodes() -> Object:
    nowhere = {"kubernetes.io/hostname": "nowhere"}
    spec = {"mode": "DaemonSet", "podMonitorSelector": {}, "nodeSelector": nowhere}
    return resource("PrometheusAgent", "nodes", spec)


def _monitor(name: str, number: int, secret: int) -> Object:
    token = {"credentials": {"name": f"token-{secret}", "key": "token"}}
    dropped = {"regex": f"series_{number}|other_{number % 50}", "action": "drop"}
    kept = {"sourceLabels": ["__name__"], **dropped}
    path = f"/metrics-{number}"
    return service_monitor(name, path=path, authorization=token, metricRelabelings=[kept])


def _pod_monitor(name: str, number: int, _secret: int) -> Object:
    endpoint = {"port": "web", "path": f"/metrics-{number}"}
    return resource("PodMonitor", name, {"selector": {}, "podMetricsEndpoints": [endpoint]})


def _probe(name: str, number: int, _secret: int) -> Object:
    targets = {"staticConfig": {"static": [f"shop-{number}.example"]}}
    return resource("Probe", name, {"prober": {"url": "prober:9115"}, "targets": targets})


def _scrape_config(name: str, number: int, _secret: int) -> Object:
    return resource("ScrapeConfig", name, {"staticConfigs": [{"targets": [f"shop-{number}:80"]}]})


def _rules(name: str, number: int, _secret: int) -> Object:
    rules = [
        {"record": "job:seen:sum", "expr": f'sum by (job) (rate(seen_{number}{{n="{each}"}}[5m]))'}
        for each in range(_RULES)
    ]
    return resource("PrometheusRule", name, {"groups": [{"name": name, "rules": rules}]})


def _routes(name: str, number: int, _secret: int) -> Object:
    return alertmanager_config(name, {"name": "shop", "value": f"shop-{number}"})


_RESOURCES: dict[str, Callable[[str, int, int], Object]] = {
    "ServiceMonitor": _monitor,
    "PodMonitor": _pod_monitor,
    "Probe": _probe,
    "ScrapeConfig": _scrape_config,
    "PrometheusRule": _rules,
    "AlertmanagerConfig": _routes,
}
_VERSIONS |= {kind: make("any", 0, 0)["apiVersion"] for kind, make in _RESOURCES.items()}
_VERSIONS["Prometheus"] = prometheus("any")["apiVersion"]


def _placed(made: Object, namespace: str) -> Object:
    return made | {"metadata": made["metadata"] | {"namespace": namespace}}


def _made(made: Object) -> Request:
    metadata = made["metadata"]
    return Request("POST", resource_of(made).path(metadata.get("namespace")), made)


def _patched(of: Object, patch: Object) -> Request:
    metadata = of["metadata"]
    path = resource_of(of).path(metadata.get("namespace"), metadata["name"])
    return Request("PATCH", f"{path}?fieldManager=kubectl-edit", patch, _MERGE)
