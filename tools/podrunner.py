"""Runs the operator's pods, which kwok only says are running, as processes of this machine.

    with PodRunner(cluster) as pods:
        [pod] = pods.until_running(namespace, "app.kubernetes.io/name=prometheus")
        print(pods.page(pods.address(pod), 9090, "/api/v1/targets"))
        print(pods.logs(pod, "config-reloader"))

It is a small kubelet for all nodes at once. Twice a second it looks at all pods with the label
``app.kubernetes.io/managed-by=prometheus-operator`` and at the Secrets and ConfigMaps of their
namespaces, and lets each pod do one step (``pods.pod``). A pod has its own network with its own
address (``pods.network``), its own processes (``pods.sandbox``), and each container its own root
directory with the volumes where the template says (``pods.container``). So **arguments and
environment are the template's, to the letter**. What is different from a real node:

=====================  ===========================================================================
containers             Prometheus, Alertmanager and the peer's reloader, which is the default, are
                       the binaries of ``tools.build``, whatever the image's tag; in images called
                       ``stoker`` the reloader is ours; other containers are not run
users and limits       all run as whoever runs this; resources, capabilities and users are not set
processes              those of a pod see each other, as with ``shareProcessNamespace``
service account        added here, as the cluster has no admission for it; KUBERNETES_SERVICE_HOST
                       is the API server's own address, as nothing serves cluster addresses
names                  there is no DNS: ``localhost``, the pod's own name and ``hostAliases`` only
probes                 kwok says Ready, unless an annotation (``stages.READINESS``) leaves that to
                       this runner; :meth:`PodRunner.ready` asks the readiness probes over HTTP
hostNetwork            the pod has the node's address, in a network of its own all the same
hostPath               a directory of this runner's per node, whatever the type; it outlives pods
other volumes          claims and all else that is not in ``pods.volumes``: the pod waits for ever
restarts               after 0.5 s, doubled up to 10 s (kubelet: 10 s up to 5 min)
the end of a pod       its object is gone before its processes; who replaces it waits for them
grace                  10 s at most
=====================  ===========================================================================

``python -m tools.podrunner`` starts a cluster with our definitions and a runner, to play with.
"""

from __future__ import annotations

import argparse
import contextlib
import http.client
import os
import shutil
import signal
import socket
import subprocess
import sys
import threading
from collections.abc import Iterable
from datetime import UTC, datetime
from typing import Any, Self
from urllib.parse import quote

from tools import build
from tools import namespace as namespaces
from tools.api import ApiError
from tools.catalogue import RELOADER
from tools.cluster import Cluster, ClusterError
from tools.crds import cluster_with_crds
from tools.host import ROOT
from tools.pods.account import token_of
from tools.pods.fields import NotYetError
from tools.pods.gate import Connection, connected
from tools.pods.images import Images
from tools.pods.pod import PYTHON, Place, Pod
from tools.pods.volumes import Sources
from tools.stages import READINESS

LABEL = "app.kubernetes.io/managed-by=prometheus-operator"
POLL = 0.5
KINDS = {"secret": "secrets", "configMap": "configmaps"}

Object = dict[str, Any]
Objects = dict[tuple[str, str, str], Object]
"""Secrets and ConfigMaps by kind, namespace and name."""


class PodRunner:
    """Runs pods from the beginning of its block to its end: all, or those of one namespace."""

    def __init__(self, cluster: Cluster, namespace: str = "") -> None:
        if not cluster.namespaces:
            raise ClusterError("pods run in namespaces only, and this cluster has none")
        self._cluster = cluster
        # Now, and not while somebody waits for a pod.
        build.binaries("prometheus", "alertmanager", RELOADER)
        within = f"/namespaces/{namespace}" if namespace else ""
        self._path = f"/api/v1{within}/pods?labelSelector={quote(LABEL)}"
        self._directory = cluster.directory / "pods"
        self._directory.mkdir(mode=0o700, exist_ok=True)
        self._place = Place(cluster, Images(self._directory), self._directory)
        self._pods: dict[str, Pod] = {}
        self._ending: list[Pod] = []
        self._tokens: dict[tuple[str, str | None], str] = {}
        self._failure: BaseException | None = None
        self._closing = threading.Event()
        self._thread = threading.Thread(target=self._run, name="pods")

    def __enter__(self) -> Self:
        gate = self._directory / "gate"
        gate.unlink(missing_ok=True)
        argv = [*PYTHON, "tools.pods.gate", str(gate)]
        self._gate = self._cluster.spawn(argv, cwd=ROOT, stderr=subprocess.DEVNULL)
        self._cluster.until("the gate", gate.exists)
        self._thread.start()
        return self

    def __exit__(self, kind: object, *_: object) -> None:
        self._closing.set()
        self._thread.join()
        for pod in (*self._pods.values(), *self._ending):
            pod.end(grace=0)
        self._gate.kill()
        self._gate.wait()
        shutil.rmtree(self._directory / "live", ignore_errors=True)
        if kind is None:
            self._check()

    def until_running(self, namespace: str, selector: str, count: int = 1) -> list[Object]:
        """Wait until there are so many such pods, or more, and all are ready; what they are."""
        path = f"/api/v1/namespaces/{namespace}/pods?labelSelector={quote(selector)}"

        def all_ready() -> list[Object]:
            self._check()
            found: list[Object] = self._cluster.api.get(path)["items"]
            return found if len(found) >= count and all(map(self.ready, found)) else []

        return self._cluster.until(f"pods with {selector} to run", all_ready)

    def ready(self, pod: Object) -> bool:
        """Whether the containers of a pod run and say that they are ready."""
        found = self._pods.get(pod["metadata"]["uid"])
        return found is not None and found.running and all(map(self._answers, _probes(found)))

    def missing(self, pod: Object) -> list[str]:
        """What a pod waits for."""
        found = self._pods.get(pod["metadata"]["uid"])
        return found.missing if found else ["the pod itself"]

    def address(self, pod: Object) -> str:
        """The address of a pod; it answers inside the cluster's network only."""
        return str(pod["status"]["podIP"])

    def kill(self, pod: Object, container: str) -> None:
        """End the process of a container without warning, also while its pod is ending."""
        uid = pod["metadata"]["uid"]
        every = (*self._pods.values(), *self._ending)
        mine = (each for each in every if each.manifest["metadata"]["uid"] == uid)
        for each in (one for found in mine for one in found.containers if one.name == container):
            # The pod may be gone meanwhile.
            with contextlib.suppress(ProcessLookupError):
                if number := each.number:
                    os.kill(number, signal.SIGKILL)

    def logs(self, pod: Object, container: str) -> str:
        """What a container has said, in all its lives; also when the pod is gone."""
        file = self._place.logs(pod) / f"{container}.log"
        return file.read_text(errors="replace") if file.exists() else ""

    def connected(self, address: str, port: int) -> socket.socket:
        """A connection to an address inside the cluster's network; OSError where there is none."""
        return connected(self._directory / "gate", address, port)

    def page(self, address: str, port: int, path: str, *, tls: bool = False) -> str:
        """A page of a server inside the cluster's network; `OSError` where there is none."""
        connection = Connection(self._directory / "gate", address, port, tls=tls)
        try:
            connection.request("GET", path)
            response = connection.getresponse()
            text = response.read().decode()
        finally:
            connection.close()
        if response.status >= http.HTTPStatus.BAD_REQUEST:
            raise ConnectionError(f"{address}:{port}{path} answers {response.status}: {text}")
        return text

    def _answers(self, probe: tuple[str, int, str, bool]) -> bool:
        address, port, path, tls = probe
        try:
            self.page(address, port, path, tls=tls)
        except (OSError, http.client.HTTPException):
            return False
        return True

    def _check(self) -> None:
        if self._failure:
            raise self._failure

    def _run(self) -> None:
        try:
            while not self._closing.wait(POLL):
                self._round()
        except BaseException as error:
            self._failure = error

    def _round(self) -> None:
        try:
            listed = self._cluster.api.get(self._path)["items"]
            live = {each["metadata"]["uid"]: each for each in listed if _is_placed(each)}
            objects = self._objects({each["metadata"]["namespace"] for each in live.values()})
        except (OSError, http.client.HTTPException, ApiError):
            # The API server is busy, or ending; whoever waits for a pod finds out which.
            return
        for uid in self._pods.keys() - live.keys():
            self._ending.append(self._pods.pop(uid))
        for pod in self._ending:
            pod.end()
        self._ending = [pod for pod in self._ending if not pod.gone]
        for uid in live.keys() - self._pods.keys():
            self._add(uid, Pod(live[uid], self._place))
        for pod in self._pods.values():
            pod.step(self._sources(pod, objects))
        for each in live.values():
            if (each["metadata"].get("annotations") or {}).get(READINESS) == "told":
                self._tell_readiness(each)

    def _add(self, uid: str, pod: Pod) -> None:
        if not any(each.blocks(pod) for each in self._ending):
            self._pods[uid] = pod

    def _tell_readiness(self, pod: Object) -> None:
        """Write into the status of a pod whether it is ready, where that changed."""
        ready = str(self.ready(pod))
        known = {each["type"]: each["status"] for each in pod["status"]["conditions"]}
        if known.get("Ready") == ready:
            return
        now = datetime.now(UTC).strftime("%Y-%m-%dT%H:%M:%SZ")
        conditions = [
            {"type": each, "status": ready, "lastTransitionTime": now}
            for each in ("Ready", "ContainersReady")
        ]
        metadata = pod["metadata"]
        path = f"/api/v1/namespaces/{metadata['namespace']}/pods/{metadata['name']}/status"
        kind = "application/strategic-merge-patch+json"
        # Gone, or the server is busy: it will be looked at again.
        with contextlib.suppress(OSError, http.client.HTTPException, ApiError):
            body = {"metadata": {"uid": metadata["uid"]}, "status": {"conditions": conditions}}
            self._cluster.api.request("PATCH", path, body, content_type=kind)

    def _objects(self, namespaces: Iterable[str]) -> Objects:
        """All that volumes may show, as it is now."""
        return {
            (kind, namespace, each["metadata"]["name"]): each
            for namespace in namespaces
            for kind, plural in KINDS.items()
            for each in self._cluster.api.get(f"/api/v1/namespaces/{namespace}/{plural}")["items"]
        }

    def _sources(self, pod: Pod, objects: Objects) -> Sources:
        own, uid = pod.manifest["metadata"]["namespace"], pod.manifest["metadata"]["uid"]

        def token(audience: str | None) -> str:
            known = self._tokens.get((uid, audience))
            if known is None:
                try:
                    known = token_of(self._cluster.api, pod.manifest, audience)
                except (OSError, http.client.HTTPException) as error:
                    raise NotYetError(f"no token: {error}") from error
                self._tokens[uid, audience] = known
            return known

        return Sources(lambda kind, name: objects.get((kind, own, name)), token)


def _is_placed(pod: Object) -> bool:
    """Whether a pod has all that it needs to run: a node and an address."""
    return bool(pod["spec"].get("nodeName") and pod.get("status", {}).get("podIP"))


def _probes(pod: Pod) -> list[tuple[str, int, str, bool]]:
    """Where to ask whether the containers of a pod are ready: address, port, path, TLS."""
    made = []
    for container in pod.containers:
        asked = container.manifest.get("readinessProbe", {}).get("httpGet")
        if asked:
            ports = {each.get("name"): each for each in container.manifest.get("ports", [])}
            port = ports.get(asked["port"], {}).get("containerPort", asked["port"])
            made.append((pod.address, port, asked["path"], asked.get("scheme") == "HTTPS"))
    return made


def main(argv: list[str] | None = None) -> int:
    """Keep a cluster whose pods run, until Ctrl-C."""
    parser = argparse.ArgumentParser(
        prog="python -m tools.podrunner",
        description="Start a control plane with our definitions, on which the pods of Prometheus "
        "and Alertmanager really run. Start an operator on it and make a Prometheus.",
    )
    parser.add_argument("--nodes", type=int, default=3, help="how many nodes [3]")
    options = parser.parse_args(argv)
    if not namespaces.launcher():
        print("error: this machine does not let us make namespaces", file=sys.stderr)
        return 1
    # Not blocked: the processes of pods would inherit that.
    signal.signal(signal.SIGTERM, signal.default_int_handler)
    with (
        contextlib.suppress(KeyboardInterrupt),
        cluster_with_crds(nodes=options.nodes) as cluster,
        PodRunner(cluster),
    ):
        print(
            f"  export KUBECONFIG={cluster.kubeconfig}\n  stoker operator\nCtrl-C ends it.",
            flush=True,
        )
        signal.pause()
    return 0


if __name__ == "__main__":
    sys.exit(main())
