"""A real Kubernetes control plane as one object: started, used, and gone without a trace.

    with Cluster.start(nodes=3) as cluster:
        print(cluster.kubectl("get", "nodes").stdout)

All processes belong to a supervisor (see ``host`` and ``supervisor``) and end with it, and it ends
with the caller. Where the machine allows that, they are in namespaces of their own: there every pod
address answers, and nothing is shared with other clusters. The API server is then reached from
outside through a relay; what runs inside reaches it directly.
"""

from __future__ import annotations

import contextlib
import http.client
import os
import shutil
import signal
import socket
import subprocess
import tempfile
from collections.abc import Callable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any, Self, TypeVar

from tools import build, components, credentials, namespace
from tools.api import Api, ApiError, kubeconfig
from tools.audit import AuditLog
from tools.components import ETCD_DATA, SERVER_ADDRESS, Layout, Ports
from tools.host import ClusterError, Host, Stream
from tools.nodes import DEAD_STATUS, is_usable, manifest
from tools.sparse import copied
from tools.stages import DEAD, write_stages
from tools.supervisor import FAILED_FILE
from tools.waiting import DEADLINE, until

__all__ = ["Cluster", "ClusterError"]

T = TypeVar("T")


class Cluster:
    """One control plane. Make it with :meth:`start`; it ends with :meth:`stop` or the caller."""

    def __init__(self, directory: Path | None, *, namespaces: bool | None) -> None:
        launcher = [] if namespaces is False else namespace.launcher()
        if namespaces and not launcher:
            raise ClusterError("this machine does not let us make network and PID namespaces")
        self.namespaces = bool(launcher)
        self._binaries = build.binaries(*components.NAMES, "kubectl")
        self._node_count = 0
        self._temporary = directory is None
        self.directory = _prepared(directory)
        self._stages = write_stages(build.kwok_stages(), self.directory)
        self._ports = Ports() if launcher else Ports.free()
        self._credentials = self._create_credentials()
        self.token = self._credentials.token
        self.ca_file = self._credentials.ca_file
        self._host, port = self._start_host(launcher)
        self.url = f"https://127.0.0.1:{port}"
        self.inside_url = f"https://127.0.0.1:{self._ports.server}"
        self.kubeconfig = self._write_kubeconfig("kubeconfig", self.url)
        self.inside_kubeconfig = self._write_kubeconfig("kubeconfig-inside", self.inside_url)
        self.api = Api(self.url, self.token, self.ca_file)
        self.audit = AuditLog(self.directory)

    @classmethod
    def start(
        cls,
        nodes: int = 3,
        *,
        directory: Path | None = None,
        namespaces: bool | None = None,
        state: Path | None = None,
    ) -> Self:
        """Start a cluster with this many nodes, all of them ready for pods.

        A given directory is kept (its logs are worth reading), a temporary one is not. Namespaces
        are used where they can be, unless told. A `state` that was saved is what it begins with.
        """
        cluster = cls(directory, namespaces=namespaces)
        if state:
            copied(state, cluster.directory / ETCD_DATA)
        cluster._begun(lambda: cluster._boot([f"node-{number}" for number in range(nodes)]))
        return cluster

    @classmethod
    def bare(cls) -> Self:
        """Start etcd and an API server alone: nothing is there but what is asked for."""
        cluster = cls(None, namespaces=False)
        cluster._begun(lambda: cluster._serve(cluster._commands()))
        return cluster

    def save(self, state: Path) -> None:
        """Copy what etcd holds, for other clusters to begin with; this one is of no use then."""
        self.signal("etcd", signal.SIGSTOP)
        copied(self.directory / ETCD_DATA, state)

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.stop()

    @property
    def kubectl_path(self) -> Path:
        """The kubectl that fits this cluster."""
        return self._binaries["kubectl"]

    def kubectl(
        self,
        *args: str,
        input: str | None = None,  # noqa: A002 - as in subprocess.run
        check: bool = True,
    ) -> subprocess.CompletedProcess[str]:
        """Run kubectl on this cluster; a failure is an error that says what kubectl said."""
        self.check()
        environment = {
            "KUBECONFIG": str(self.kubeconfig),
            "KUBECACHEDIR": f"{self.directory}/cache",
        }
        done = subprocess.run(
            [str(self.kubectl_path), *args],
            env=os.environ | environment,
            input=input,
            capture_output=True,
            text=True,
            check=False,
        )
        if check and done.returncode:
            raise ClusterError(f"kubectl {' '.join(args)}: {done.stderr.strip()}")
        return done

    def spawn(
        self,
        argv: Sequence[str | Path],
        *,
        env: Mapping[str, str] | None = None,
        cwd: Path | None = None,
        stdout: Stream = None,
        stderr: Stream = None,
    ) -> subprocess.Popen[bytes]:
        """Start a process in the cluster's namespaces that ends with the cluster.

        It gets the caller's environment, a KUBECONFIG that works inside, and what `env` adds.
        Signals to it reach the command, and its exit status is the command's.
        """
        own = {"KUBECONFIG": str(self.inside_kubeconfig)}
        return self._host.spawn(
            argv, env={**os.environ, **own, **(env or {})}, cwd=cwd, stdout=stdout, stderr=stderr
        )

    def add_node(self, name: str, labels: Mapping[str, str] | None = None) -> None:
        """Add a node and wait until pods can be scheduled to it."""
        self._create_node(name, labels or {})
        self._await_nodes([name])

    def add_dead_node(self) -> None:
        """Add the node at which nobody is at home: pods may be bound to it, and that is all."""
        self._create_node(DEAD, {})
        kind = "application/merge-patch+json"
        self.api.request("PATCH", f"/api/v1/nodes/{DEAD}/status", DEAD_STATUS, content_type=kind)

    def remove_node(self, name: str) -> None:
        """Remove a node, and its pods, which Kubernetes itself would only do a minute later."""
        self.api.request("DELETE", f"/api/v1/nodes/{name}")
        pods = self.api.get(f"/api/v1/pods?fieldSelector=spec.nodeName={name}")["items"]
        for metadata in (pod["metadata"] for pod in pods):
            path = f"/api/v1/namespaces/{metadata['namespace']}/pods/{metadata['name']}"
            with _absent_is_fine():
                self.api.request("DELETE", path, {"gracePeriodSeconds": 0})

    def signal(self, name: str, number: signal.Signals) -> None:
        """Signal a process of the control plane, by its name in `components.NAMES`.

        The cluster goes on without one that is killed, until `restart`.
        """
        self._host.signal(name, number)

    def restart(self, name: str, *flags: str) -> None:
        """Start a process of the control plane that was killed, with more flags than it had."""
        self._host.run(name, [*self._commands()[name], *flags])

    def until(self, what: str, condition: Callable[[], T], seconds: float = DEADLINE) -> T:
        """Wait for a condition, as :func:`tools.waiting.until` does, while the cluster lives."""

        def checked() -> T:
            self.check()
            return condition()

        return until(what, checked, seconds)

    def check(self) -> None:
        """Raise an error that explains it, if the cluster has ended."""
        self._host.check()

    def stop(self) -> None:
        """End every process and wait until they are gone; calling it twice is fine."""
        self._host.stop()
        gone = self.directory if self._temporary else self.directory / ETCD_DATA
        shutil.rmtree(gone, ignore_errors=True)

    def _begun(self, boot: Callable[[], None]) -> None:
        try:
            boot()
        except BaseException:
            with self:
                # A process that died explains more than the broken connection that it caused.
                self.check()
            raise

    def _serve(self, commands: dict[str, list[str]]) -> None:
        for name in ("etcd", "kube-apiserver"):
            self._host.run(name, commands.pop(name))
        self.until("API ready", lambda: self.api.get("/readyz") == "ok")

    def _boot(self, nodes: list[str]) -> None:
        commands = self._commands()
        self._serve(commands)
        # The others give up when the API does not answer soon, so they start only now.
        for name, argv in commands.items():
            self._host.run(name, argv)
        for name in nodes:
            self._create_node(name, {})
        self._await_nodes(nodes)
        account = "/api/v1/namespaces/default/serviceaccounts/default"
        self.until("the default service account", lambda: self.api.get(account))

    def _commands(self) -> dict[str, list[str]]:
        return components.command_lines(self._binaries, self._layout())

    def _layout(self) -> Layout:
        return Layout(
            directory=self.directory,
            credentials=self._credentials,
            kubeconfig=self.inside_kubeconfig,
            stages=self._stages,
            ports=self._ports,
            namespaces=self.namespaces,
        )

    def _start_host(self, launcher: Sequence[str]) -> tuple[Host, int]:
        """Start the supervisor; also tell at which port the API server is reached from here."""
        remove = self._temporary
        if not launcher:
            return Host(self.directory, remove=remove), self._ports.server
        with socket.create_server(("127.0.0.1", 0)) as listener:
            relay = (listener, self._ports.server)
            host = Host(self.directory, launcher=launcher, relay=relay, remove=remove)
            return host, listener.getsockname()[1]

    def _create_credentials(self) -> credentials.Credentials:
        addresses = ("127.0.0.1", SERVER_ADDRESS)
        return credentials.create(self.directory / "credentials", addresses)

    def _write_kubeconfig(self, name: str, url: str) -> Path:
        path = self.directory / name
        path.touch(mode=0o600)
        path.write_text(kubeconfig(url, self.token, self.ca_file))
        return path

    def _create_node(self, name: str, labels: Mapping[str, str]) -> None:
        self.api.request("POST", "/api/v1/nodes", manifest(name, self._node_count, labels))
        self._node_count += 1

    def _await_nodes(self, names: Sequence[str]) -> None:
        def all_usable() -> bool:
            nodes: list[dict[str, Any]] = self.api.get("/api/v1/nodes")["items"]
            return {n["metadata"]["name"] for n in nodes if is_usable(n)} >= set(names)

        self.until(f"nodes {', '.join(names)} ready for pods", all_usable)


def _prepared(directory: Path | None) -> Path:
    if directory is None:
        return Path(tempfile.mkdtemp(prefix="stoker-"))
    directory.mkdir(parents=True, exist_ok=True)
    # What an earlier cluster that was killed left there is not this one's.
    shutil.rmtree(directory / ETCD_DATA, ignore_errors=True)
    (directory / FAILED_FILE).unlink(missing_ok=True)
    return directory.absolute()


@contextlib.contextmanager
def _absent_is_fine() -> Iterator[None]:
    try:
        yield
    except ApiError as error:
        if error.status != http.client.NOT_FOUND:
            raise
