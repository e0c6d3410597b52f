"""Manifests from files on a cluster, as far as they matter to an operator."""

import json
from collections.abc import Sequence
from pathlib import Path
from typing import Any, Final

from stoker.api.core import Object
from stoker.offline.manifests import Manifest, read
from tools.cluster import Cluster

# Definitions are ours, and nobody answers webhooks here.
_SKIPPED: Final = (
    "CustomResourceDefinition",
    "APIService",
    "MutatingWebhookConfiguration",
    "ValidatingWebhookConfiguration",
)
_OPERATOR: Final = "/prometheus-operator:"
# What concerns the operator's own process, and not what it makes.
_OWN_FLAGS: Final = ("--web.", "--log-", "--kubeconfig")


def manifests(paths: Sequence[Path]) -> list[Object]:
    """All objects of files and folders that are put on a cluster."""
    found = [each for each in read(map(str, paths)) if isinstance(each, Manifest)]
    return [each.object for each in found if each.object["kind"] not in _SKIPPED]


def operator_flags(objects: Sequence[Object]) -> list[str]:
    """The flags that the manifests give to the peer."""
    for each in objects:
        if each["kind"] == "Deployment":
            for container in each["spec"]["template"]["spec"]["containers"]:
                if _OPERATOR in container["image"]:
                    return [flag for flag in container["args"] if not flag.startswith(_OWN_FLAGS)]
    return []


def apply(cluster: Cluster, objects: Sequence[Object]) -> None:
    """Put them there: namespaces first, also those that nobody declares."""
    declared = {each["metadata"].get("namespace", "default") for each in objects}
    declared |= {each["metadata"]["name"] for each in objects if each["kind"] == "Namespace"}
    names: list[Any] = [
        {"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": name}}
        for name in sorted(declared)
    ]
    for some in (names, [each for each in objects if each["kind"] != "Namespace"]):
        text = json.dumps({"apiVersion": "v1", "kind": "List", "items": some})
        cluster.kubectl("apply", "--server-side", "--force-conflicts", "-f", "-", input=text)
