"""Our CustomResourceDefinitions on a cluster, as `stoker crds` prints them.

To install them takes an API server five seconds of computing. What etcd holds afterwards is kept in
the cache, and clusters that begin with it have them at once.
"""

from __future__ import annotations

import functools
import hashlib
import shutil
import subprocess
import sys
import time
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from tools import build, cache
from tools.cluster import Cluster

_DEFINITIONS = "/apis/apiextensions.k8s.io/v1/customresourcedefinitions"
_STOKER = (sys.executable, "-m", "stoker")
_STATES = "state-"
_DIGITS = 12
_KEPT_SECONDS = 24 * 3600


def cluster_with_crds(*options: str, nodes: int = 3, namespaces: bool | None = None) -> Cluster:
    """Start a cluster in which all definitions are installed; options are those of the command."""
    state = _state(_printed(_STOKER, options))
    cluster = Cluster.start(nodes, namespaces=namespaces, state=state)
    try:
        _await_served(cluster)
    except BaseException:
        cluster.stop()
        raise
    return cluster


def _state(definitions: str) -> Path:
    """What etcd holds when these definitions are installed, by programs as they are here."""
    digest = hashlib.sha256(definitions.encode())
    for path in build.binaries("etcd", "kube-apiserver").values():
        found = path.stat()
        digest.update(f"{path} {found.st_size} {found.st_mtime_ns}".encode())
    folder = cache.root() / f"{_STATES}{digest.hexdigest()[:_DIGITS]}"
    with cache.locked(folder):
        state = folder / "etcd"
        if not state.exists():
            making = folder / "making"
            shutil.rmtree(making, ignore_errors=True)
            with Cluster.bare() as cluster:
                _install(cluster, definitions)
                cluster.save(making)
            making.rename(state)
        folder.touch()
    for each in filter(_is_old, folder.parent.glob(f"{_STATES}{'?' * _DIGITS}")):
        with cache.locked(each):
            # Somebody may have come to use it while we waited.
            if _is_old(each):
                cache.remove(each)
    return state


def _is_old(state: Path) -> bool:
    """Whether nobody used it lately: each change of a definition leaves one behind."""
    try:
        return time.time() - state.stat().st_mtime > _KEPT_SECONDS
    except FileNotFoundError:
        # Somebody else just removed it.
        return False


def install_crds(cluster: Cluster, *options: str, program: Sequence[str] = _STOKER) -> None:
    """Install all definitions and wait until they are served; options are those of the command.

    `program` is how stoker is called: another one may have other definitions.
    """
    _install(cluster, _printed(tuple(program), options))


@functools.cache
def _printed(program: tuple[str, ...], options: tuple[str, ...]) -> str:
    command = [*program, "crds", *options]
    return subprocess.run(command, capture_output=True, text=True, check=True).stdout


def _install(cluster: Cluster, definitions: str) -> None:
    cluster.kubectl("apply", "--server-side", "-f", "-", input=definitions)
    _await_served(cluster)


def _await_served(cluster: Cluster) -> None:
    def served() -> bool:
        found = cluster.api.get(_DEFINITIONS)["items"]
        return all(_is_established(each) and _answers(cluster, each) for each in found)

    cluster.until("our definitions to be served", served)


def _is_established(crd: dict[str, Any]) -> bool:
    conditions = crd["status"].get("conditions") or []
    return any(each["type"] == "Established" and each["status"] == "True" for each in conditions)


def _answers(cluster: Cluster, crd: dict[str, Any]) -> bool:
    """Whether its objects can be listed, which takes a moment longer; an error says no.

    Where a webhook converts them it may not run yet, and is not waited for.
    """
    spec = crd["spec"]
    if spec["conversion"]["strategy"] == "None":
        for version in (each["name"] for each in spec["versions"] if each["served"]):
            cluster.api.get(f"/apis/{spec['group']}/{version}/{spec['names']['plural']}?limit=1")
    return True
