"""One pod: what kubelet does for it, in steps.

A step looks at how things are, does what can be done now, and never waits for long. Volumes come
first, then the sandbox, the init containers one after the other, then all containers; one that
ends is started again, later each time. At the end: SIGTERM, some grace, SIGKILL, and its directory
goes.
"""

from __future__ import annotations

import os
import select
import shutil
import subprocess
import sys
import time
from dataclasses import dataclass
from pathlib import Path
from typing import IO, Any, cast

from tools import namespace
from tools.cluster import Cluster
from tools.components import SERVER_ADDRESS
from tools.host import ROOT
from tools.pods.account import with_account
from tools.pods.container import Binding, Plan
from tools.pods.fields import NotYetError, environment, expanded
from tools.pods.images import Image, Images
from tools.pods.volumes import Sources, Volumes, data_of

Object = dict[str, Any]

FIRST_PAUSE, LONGEST_PAUSE = 0.5, 10.0
LONGEST_GRACE = 10.0
PYTHON = (sys.executable, "-S", "-m")
SEARCH_PATH = "/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin"


@dataclass(frozen=True)
class Place:
    """Where pods run: the cluster, the images, and the folder for everything they have."""

    cluster: Cluster
    images: Images
    directory: Path

    def node(self, name: str) -> Path:
        """What stands for the disk of a node; it outlives pods."""
        return self.directory / "nodes" / name

    def logs(self, pod: Object) -> Path:
        """The folder of a pod's logs; they stay until the end."""
        metadata = pod["metadata"]
        return self.directory / "logs" / f"{metadata['namespace']}_{metadata['name']}_{_uid(pod)}"


class Container:
    """A container of a pod that can be run here."""

    def __init__(self, manifest: Object, image: Image) -> None:
        self.manifest = manifest
        self.image = image
        self.name: str = manifest["name"]
        self.process: subprocess.Popen[bytes] | None = None
        self._pause = FIRST_PAUSE
        self._next = 0.0

    @property
    def running(self) -> bool:
        """Whether its process lives."""
        return self.process is not None and self.process.poll() is None

    @property
    def number(self) -> int | None:
        """The number of its process on this machine, which is a child of what put it there."""
        if self.process is None:
            return None
        starter = self.process.pid
        try:
            children = Path(f"/proc/{starter}/task/{starter}/children").read_text().split()
        except FileNotFoundError:
            return None
        return next(map(int, children), None)

    @property
    def succeeded(self) -> bool:
        """Whether its process ended well."""
        return self.process is not None and self.process.poll() == 0

    def due(self) -> bool:
        """Whether it should be started now; the next time is later each time."""
        if self.running or time.monotonic() < self._next:
            return False
        self._next = time.monotonic() + self._pause
        self._pause = min(2 * self._pause, LONGEST_PAUSE)
        return True


class Pod:
    """A pod of this machine."""

    def __init__(self, manifest: Object, place: Place) -> None:
        self.manifest = with_account(manifest)
        self.node: str = manifest["spec"]["nodeName"]
        self.address: str = manifest["status"]["podIP"]
        self.missing: list[str] = []
        self.gone = False
        self._place = place
        self._directory = place.directory / "live" / _uid(manifest)
        self._volumes = Volumes(self.manifest, self._directory / "volumes", place.node(self.node))
        self._init = self._containers("initContainers")
        self.containers = self._containers("containers")
        self._sandbox: Sandbox | None = None
        self._deadline: float | None = None

    @property
    def running(self) -> bool:
        """Whether all its containers run that can."""
        return self._deadline is None and all(each.running for each in self.containers)

    def blocks(self, later: Pod) -> bool:
        """Whether another pod must wait for this one, which is ending, as it would take its place.

        Kubernetes deletes the object of a pod when its processes are gone, kwok does so before.
        """
        replaced = self.node == later.node and _owner(self.manifest) == _owner(later.manifest)
        return replaced or self.address == later.address

    def step(self, sources: Sources) -> None:
        """Do what can be done now."""
        try:
            self._step(sources)
        except NotYetError as error:
            self.missing.append(str(error))

    def _step(self, sources: Sources) -> None:
        self.missing = self._volumes.refresh(sources)
        if self._sandbox is None:
            if self.missing:
                return
            self._sandbox = Sandbox(self._place, self.manifest, self.address)
        for each in self._init:
            if not each.succeeded:
                self._keep(each, sources)
                return
        for each in self.containers:
            self._keep(each, sources)

    def end(self, grace: float = LONGEST_GRACE) -> None:
        """Begin or go on to end it; it is done when it is `gone`."""
        asked = self.manifest["spec"].get("terminationGracePeriodSeconds", grace)
        latest = time.monotonic() + min(asked, grace)
        if self._deadline is None:
            self._deadline = latest
            for process in self._running():
                process.terminate()
        self._deadline = min(self._deadline, latest)
        if self._running() and time.monotonic() < self._deadline:
            return
        if self._sandbox:
            self._sandbox.kill()
        for each in (*self._init, *self.containers):
            if each.process:
                each.process.wait()
        shutil.rmtree(self._directory, ignore_errors=True)
        self.gone = True

    def _running(self) -> list[subprocess.Popen[bytes]]:
        every = (*self._init, *self.containers)
        return [each.process for each in every if each.process and each.running]

    def _containers(self, member: str) -> list[Container]:
        found = []
        for each in self.manifest["spec"].get(member, []):
            if image := self._place.images.find(each["image"]):
                found.append(Container(each, image))
        return found

    def _keep(self, container: Container, sources: Sources) -> None:
        """Start a container unless it runs, or ended too recently."""
        if not container.due():
            return
        file = self._directory / f"{container.name}.json"
        self._plan(container, sources).write(file)
        with self.log(container.name).open("ab") as log:
            sandbox = cast("Sandbox", self._sandbox)
            container.process = sandbox.run([*PYTHON, "tools.pods.container", str(file)], log)

    def log(self, container: str) -> Path:
        """The file with what a container has said, in all its lives."""
        return self._place.logs(self.manifest) / f"{container}.log"

    def _plan(self, container: Container, sources: Sources) -> Plan:
        manifest, image = container.manifest, container.image
        root = self._directory / f"{container.name}.root"
        root.mkdir(parents=True, exist_ok=True)
        variables = environment(manifest, self.manifest, lambda *what: _key_of(sources, *what))
        words = [*(manifest.get("command") or [image.entrypoint]), *manifest.get("args", [])]
        security = manifest.get("securityContext", {})
        return Plan(
            root=str(root),
            host_name=self.manifest["metadata"]["name"],
            hosts=self._hosts(),
            bindings=self._bindings(container, variables),
            read_only=security.get("readOnlyRootFilesystem", False),
            argv=[expanded(word, variables) for word in words],
            environment=self._given() | variables,
            work_directory=manifest.get("workingDir") or image.work_directory,
        )

    def _bindings(self, container: Container, variables: dict[str, str]) -> list[Binding]:
        made = {path: (str(file), path, True) for path, file in container.image.files.items()}
        if data := container.image.data:
            # As the image declares it: lasting no longer than the container.
            scratch = self._directory / f"{container.name}.data"
            shutil.rmtree(scratch, ignore_errors=True)
            scratch.mkdir()
            made[data] = (str(scratch), data, False)
        for mount in container.manifest.get("volumeMounts", []):
            inner = mount.get("subPath") or expanded(mount.get("subPathExpr", ""), variables)
            source = self._volumes.mounted(mount["name"], inner)
            path = mount["mountPath"].rstrip("/")
            made[path] = (str(source), path, mount.get("readOnly", False))
        return list(made.values())

    def _given(self) -> dict[str, str]:
        """The variables that every container has, whatever its template says."""
        return {
            "PATH": SEARCH_PATH,
            "HOME": "/",
            "HOSTNAME": self.manifest["metadata"]["name"],
            "KUBERNETES_SERVICE_HOST": SERVER_ADDRESS,
            "KUBERNETES_SERVICE_PORT": self._place.cluster.inside_url.rpartition(":")[2],
        }

    def _hosts(self) -> str:
        spec, metadata = self.manifest["spec"], self.manifest["metadata"]
        lines = ["127.0.0.1 localhost", f"{self.address} {metadata['name']}"]
        for alias in spec.get("hostAliases", []):
            lines.append(f"{alias['ip']} {' '.join(alias['hostnames'])}")
        return "\n".join(lines) + "\n"


class Sandbox:
    """The namespaces of a pod, and the process that keeps them."""

    def __init__(self, place: Place, pod: Object, address: str) -> None:
        cable = f"pod{_uid(pod)[:8]}"
        file = place.logs(pod) / "sandbox.log"
        file.parent.mkdir(parents=True, exist_ok=True)
        with file.open("wb") as log:
            self._process = place.cluster.spawn(
                [*PYTHON, "tools.pods.sandbox", cable, address, SERVER_ADDRESS],
                cwd=ROOT,
                stdout=subprocess.PIPE,
                stderr=log,
            )
        with cast("IO[bytes]", self._process.stdout) as output:
            first = output.readline()
        if not first:
            self._process.wait()
            raise NotYetError(f"its sandbox ended: {file.read_text()}")
        self._number = int(first)
        self._file = os.pidfd_open(self._number)

    def run(self, argv: list[str], log: IO[bytes]) -> subprocess.Popen[bytes]:
        """Start a process of the pod, which ends with it."""
        enter = [sys.executable, "-I", "-S", namespace.__file__, str(self._number)]
        return subprocess.Popen(
            [*enter, *argv],
            cwd=ROOT,
            stdin=subprocess.DEVNULL,
            stdout=log,
            stderr=log,
            start_new_session=True,
        )

    def kill(self) -> None:
        """End all that is in the pod, and wait until it is."""
        self._process.kill()
        self._process.wait()
        ended = select.poll()
        ended.register(self._file, select.POLLIN)
        ended.poll()
        os.close(self._file)


def _uid(pod: Object) -> str:
    return str(pod["metadata"]["uid"])


def _owner(pod: Object) -> str | None:
    owners = pod["metadata"].get("ownerReferences", [])
    return next((each["uid"] for each in owners if each.get("controller")), None)


def _key_of(sources: Sources, kind: str, wanted: Object) -> str | None:
    """What a variable is set to that refers to a key of a Secret or a ConfigMap."""
    found = sources.find(kind, wanted["name"])
    value = data_of(found or {}).get(wanted["key"])
    if value is None and not wanted.get("optional", False):
        raise NotYetError(f"{kind} {wanted['name']} has no {wanted['key']}")
    return None if value is None else value.decode()
