"""Rights as roles grant them: one by one, taken away, and whether anybody says that it misses one.

taken = Without(cluster, url, "no-watch", rules_without(rules, {("watch", "probes")}))
with Running.start(cluster, kubeconfig=taken.kubeconfig(folder)): ...
"""

from __future__ import annotations

import json
import re
from collections.abc import Collection, Iterable
from pathlib import Path
from typing import Any, NamedTuple

from tests.live.operating import World
from tools.api import kubeconfig
from tools.cluster import Cluster

Object = dict[str, Any]

Roles = dict[tuple[str, str], list[Object]]
"""The rules of roles by kind and name."""

# All that can be added to `deploy/cluster`.
COMPONENTS = ("kubelet/endpointslices", "repair", "consolidate")
RBAC = "rbac.authorization.k8s.io"
_ROLES = ("Role", "ClusterRole")
_LOG_LEVEL = re.compile(r"\blevel=(\w+)")


class Right(NamedTuple):
    """A verb for a resource, named as RBAC does it: `patch` `prometheuses.example.com/status`."""

    verb: str
    resource: str

    def is_named_in(self, text: str) -> bool:
        """Whether a text says that this is missing, in the API server's words or in ours."""
        plural, _, rest = self.resource.partition(".")
        group, _, sub = rest.partition("/")
        if not rest:
            plural, _, sub = plural.partition("/")
        name = f"{plural}/{sub}" if sub else plural
        theirs = f'cannot {self.verb} resource "{name}" in API group "{group}"'
        ours = rf"\b{self.verb} {re.escape(self.resource)}(?![\w./-])"
        return theirs in text or re.search(ours, text) is not None


def rights_of(rules: Iterable[Object]) -> set[Right]:
    """All that some rules allow."""
    return {
        Right(verb, _full_name(group, each))
        for rule in rules
        for group in rule["apiGroups"]
        for each in rule["resources"]
        for verb in rule["verbs"]
    }


def _full_name(group: str, resource: str) -> str:
    plural, _, sub = resource.partition("/")
    return f"{plural}{group and '.'}{group}{sub and '/'}{sub}"


def without(rules: Iterable[Object], taken: Collection[Right]) -> list[Object]:
    """The same rules, one for each resource, less some rights."""
    return [
        rule | {"apiGroups": [group], "resources": [each], "verbs": verbs}
        for rule in rules
        for group in rule["apiGroups"]
        for each in rule["resources"]
        if (verbs := [v for v in rule["verbs"] if (v, _full_name(group, each)) not in taken])
    ]


def roles_in(objects: Iterable[Object]) -> Roles:
    """The rules of the roles among some objects, by kind and name."""
    found = [each for each in objects if each["kind"] in _ROLES]
    return {(each["kind"], each["metadata"]["name"]): each["rules"] for each in found}


def allow(cluster: Cluster, user: str, rules: list[Object], namespace: str = "") -> None:
    """Let a user do something in a namespace, or in the whole cluster."""
    kind = "Role" if namespace else "ClusterRole"
    place = f"/apis/{RBAC}/v1" + (f"/namespaces/{namespace}" if namespace else "")
    metadata = {"name": user}
    subject = {"kind": "User", "apiGroup": RBAC, "name": user}
    role = {"kind": kind, "apiGroup": RBAC, "name": user}
    binding = {"metadata": metadata, "roleRef": role, "subjects": [subject]}
    plural = f"{kind.lower()}s"
    cluster.api.request("POST", f"{place}/{plural}", {"metadata": metadata, "rules": rules})
    cluster.api.request("POST", f"{place}/{kind.lower()}bindings", binding)


def kubeconfig_of(cluster: Cluster, url: str, user: str, folder: Path) -> Path:
    """A kubeconfig with which one is that user."""
    document = json.loads(kubeconfig(url, cluster.token, cluster.ca_file))
    document["users"][0]["user"]["as"] = user
    path = folder / f"kubeconfig-{user}"
    path.write_text(json.dumps(document))
    return path


def told(log: str, word: str) -> list[str]:
    """The lines of a log with a word that are not for developers alone."""
    lines = (line.replace('\\"', '"') for line in log.splitlines() if word in line)
    return [line for line in lines if (found := _LOG_LEVEL.search(line)) and found[1] != "debug"]


def shown(world: World, *kinds: str) -> list[str]:
    """What the statuses of the objects of some kinds say, in one namespace."""
    return [
        str(condition.get("message", ""))
        for kind in kinds
        for found in world.list(kind)
        for status in [found.get("status") or {}]
        for bearer in (status, *(status.get("bindings") or ()))
        for condition in bearer.get("conditions") or ()
    ]
