"""The two ways to install: what the chart renders, and what kustomize makes of deploy/.

Both are read as objects by kind, namespace and name, without what only a chart has.
"""

from __future__ import annotations

import json
import os
import subprocess
import tempfile
from collections.abc import Iterable
from pathlib import Path
from typing import Any

import yaml

from stoker.api.crd import GROUP
from stoker.api.kinds import KINDS
from tools import build
from tools.cluster import Cluster

Object = dict[str, Any]
Objects = dict[tuple[str, str, str], Object]

ROOT = Path(__file__).parents[2]
CHART = ROOT / "charts" / "stoker"
DEFINITIONS = ROOT / "charts" / "stoker-crds"
NAMESPACE = "stoker"
# What Helm wants to have, and kustomize does not: another way to find what belongs together.
ONLY_OF_HELM = (
    "app.kubernetes.io/instance",
    "app.kubernetes.io/managed-by",
    "app.kubernetes.io/version",
    "helm.sh/chart",
)


def helm(*arguments: str, kubeconfig: Path | None = None) -> subprocess.CompletedProcess[str]:
    """Run helm, in a home of nobody."""
    program = build.binaries("helm")["helm"]
    with tempfile.TemporaryDirectory() as home:
        homes = {f"HELM_{name}_HOME": home for name in ("CACHE", "CONFIG", "DATA")}
        kube = {"KUBECONFIG": str(kubeconfig or os.devnull), "KUBECACHEDIR": home}
        return subprocess.run(
            [program, *arguments],
            env=os.environ | homes | kube,
            capture_output=True,
            text=True,
            check=False,
        )


def until_found(cluster: Cluster) -> None:
    """Wait until kubectl finds all our kinds, a moment after their definitions are established."""
    kinds = ",".join(f"{kind.plural}.{GROUP}" for kind in KINDS)

    def found() -> bool:
        return cluster.kubectl("get", kinds, "--all-namespaces", check=False).returncode == 0

    cluster.until("kubectl to find our kinds", found)


def rendered(*values: str, chart: Path = CHART, namespace: str = NAMESPACE) -> list[Object]:
    """The objects of a chart with these values (`name=value`)."""
    sets = [word for value in values for word in ("--set", value)]
    made = helm("template", "stoker", str(chart), "--namespace", namespace, *sets)
    assert made.returncode == 0, made.stderr
    return _objects(made.stdout)


def kustomized(folder: Path) -> list[Object]:
    """The objects of a folder with a kustomization."""
    kubectl = build.binaries("kubectl")["kubectl"]
    made = subprocess.run(
        [kubectl, "kustomize", folder], capture_output=True, text=True, check=True
    )
    return _objects(made.stdout)


def overlay(folder: Path, base: str, *components: str, namespace: str = "") -> Path:
    """Make a kustomization of one of deploy/ with further components, perhaps elsewhere."""

    def relative(name: str) -> str:
        return os.path.relpath(ROOT / "deploy" / name, folder.resolve())

    text: Object = {"resources": [relative(base)], "components": list(map(relative, components))}
    if namespace:
        text["namespace"] = namespace
    (folder / "kustomization.yaml").write_text(json.dumps(text))
    return folder


def comparable(objects: Iterable[Object]) -> Objects:
    """Objects by what they are, without what a chart alone has and where an image comes from."""
    found: Objects = {}
    for each in objects:
        if each["kind"] == "Namespace":
            continue
        metadata = each["metadata"]
        place = (each["kind"], metadata.get("namespace", ""), metadata["name"])
        assert place not in found
        found[place] = _reduced(each)
    return found


def _objects(text: str) -> list[Object]:
    """The documents of a text; those that are a line of JSON are read as such, which is faster."""
    lines = text.splitlines()
    if any(line.startswith("{") for line in lines):
        return [json.loads(line) for line in lines if line.startswith("{")]
    return [each for each in yaml.load_all(text, yaml.CSafeLoader) if each]


def _reduced(value: Any, key: str = "") -> Any:
    if isinstance(value, dict):
        kept = {name: inner for name, inner in value.items() if name not in ONLY_OF_HELM}
        kept.pop("imagePullPolicy", None)
        kept.pop("caBundle", None)
        return {name: _reduced(inner, name) for name, inner in kept.items() if inner is not None}
    if isinstance(value, list):
        items = [_reduced(each) for each in value]
        # The order of rules means nothing; that of arguments does.
        return sorted(items, key=_text) if key == "rules" else items
    return value.partition(":")[0] if key == "image" else value


def _text(value: Any) -> str:
    return json.dumps(value, sort_keys=True)
