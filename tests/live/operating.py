"""A running operator for tests: the real command as a process of its own, on the real cluster.

    with Running.start(cluster, f"--namespaces={namespace}") as operator:
        world.put(prometheus("main"))
        world.until("a StatefulSet", lambda: world.get("statefulsets.apps", "prometheus-main"))

Operators with other namespaces have other Leases, so tests do not get in each other's way.
"""

from __future__ import annotations

import os
import re
import signal
import subprocess
import sys
import tempfile
import time
import urllib.error
import urllib.request
from collections.abc import Callable
from functools import partial
from http import HTTPStatus
from pathlib import Path
from typing import Any, Self, TypeVar

from stoker.kube.resources import ALL, ApiResource, resource_of
from tools.api import ApiError
from tools.audit import Write
from tools.cluster import Cluster
from tools.waiting import DEADLINE, until

T = TypeVar("T")
Object = dict[str, Any]

_KINDS: dict[str, ApiResource] = {
    name: each
    for each in reversed(ALL)
    for name in (each.kind.lower(), each.plural, f"{each.plural}.{each.group}")
}
# Who has not written for so long is done, unless it was stopped meanwhile.
STILL_SECONDS = 2.0
_PORT = re.compile(r"msg=listening component=web port=(\d+)")


PROGRAM = (sys.executable, "-m", "stoker")


class Running:
    """An operator's process; it ends with the block."""

    def __init__(
        self,
        cluster: Cluster,
        flags: tuple[str, ...],
        kubeconfig: Path | None,
        program: tuple[str, ...] = PROGRAM,
    ) -> None:
        self._log_file = tempfile.NamedTemporaryFile("w+", suffix=".log")  # noqa: SIM115
        environment = os.environ | {"KUBECONFIG": str(kubeconfig or cluster.kubeconfig)}
        # An operator that is installed has compiled bytecode; many are started here.
        environment.pop("PYTHONDONTWRITEBYTECODE", None)
        page = "--status-page-address=127.0.0.1:0"
        usual = (page, "--web.listen-address=127.0.0.1:0", "--log-level=debug")
        self.process = subprocess.Popen(
            [*program, "operator", *usual, *flags],
            env=environment,
            stdout=self._log_file,
            stderr=self._log_file,
        )

    @classmethod
    def start(
        cls,
        cluster: Cluster,
        *flags: str,
        kubeconfig: Path | None = None,
        ready: bool = True,
        program: tuple[str, ...] = PROGRAM,
    ) -> Self:
        """Start one and wait until it serves; with `ready`, until it could do its work.

        `program` is how stoker is called: another one may be installed elsewhere.
        """
        running = cls(cluster, flags, kubeconfig, program)
        try:
            until("the operator to listen", lambda: running.port)
            if ready:
                until("the operator to be ready", running.is_ready)
        except BaseException as error:
            running.kill()
            running.__exit__(error)
            raise
        return running

    @property
    def port(self) -> int:
        """Where it serves; 0 while it does not. An operator that ended is an error."""
        if self.process.poll() is not None:
            raise AssertionError(f"the operator ended:\n{self.log()}")
        found = _PORT.search(self.log())
        return int(found[1]) if found else 0

    def is_ready(self) -> bool:
        """Whether it could do its work."""
        try:
            return self.page("/readyz") != ""
        except OSError:
            return False

    def why_not_ready(self) -> str:
        """What it says of why it could not do its work; empty if it could."""
        try:
            self.page("/readyz")
        except urllib.error.HTTPError as refused:
            return str(refused.read().decode())
        return ""

    def page(self, path: str) -> str:
        """What it serves at a path."""
        url = f"http://127.0.0.1:{self.port}{path}"
        with urllib.request.urlopen(url, timeout=30) as answer:
            return str(answer.read().decode())

    def metric(self, name: str, /, **labels: str) -> float:
        """The sum of a metric over all of its series with these labels."""
        total = 0.0
        for line in self.page("/metrics").splitlines():
            named, _, value = line.rpartition(" ")
            wanted = all(f'{label}="{text}"' in named for label, text in labels.items())
            if named.split("{")[0] == name and wanted:
                total += float(value)
        return total

    def log(self) -> str:
        """Everything that it has logged."""
        return Path(self._log_file.name).read_text()

    def stop(self) -> int:
        """End it in order; its exit status."""
        self.process.send_signal(signal.SIGCONT)
        self.process.terminate()
        return self.process.wait(DEADLINE)

    def kill(self) -> None:
        """End it at once."""
        self.process.kill()
        self.process.wait(DEADLINE)

    def __enter__(self) -> Self:
        return self

    def __exit__(self, kind: object, *_: object) -> None:
        if self.process.poll() is None:
            self.stop()
        if kind:
            print(f"the operator said at last:\n{self.log()[-6000:]}")
        self._log_file.close()


class World:
    """One namespace of the cluster, and what a test does there."""

    def __init__(self, cluster: Cluster, namespace: str) -> None:
        self.cluster = cluster
        self.namespace = namespace

    def put(self, *objects: Object) -> None:
        """Create or change objects, as `kubectl apply --server-side` by a user."""
        for each in objects:
            found = resource_of(each)
            owned = {"namespace": self.namespace} if found.namespaced else {}
            metadata = owned | each["metadata"]
            path = found.path(metadata.get("namespace"), metadata["name"])
            query = "fieldManager=kubectl&force=true"
            self._patch(f"{path}?{query}", each | {"metadata": metadata}, "apply-patch+yaml")

    def put_status(self, each: Object, manager: str, **status: Any) -> None:
        """Apply some of an object's status, as an operator of this name."""
        path = resource_of(each).path(self.namespace, each["metadata"]["name"])
        given = {member: value for member, value in each.items() if member != "spec"}
        query = f"fieldManager={manager}"
        self._patch(f"{path}/status?{query}", given | {"status": status}, "apply-patch+yaml")

    def get(self, kind: str, name: str) -> Object | None:
        """An object as it is now, None if there is none."""
        try:
            found: Object = self.cluster.api.get(self.path(kind, name))
        except ApiError as error:
            if error.status != HTTPStatus.NOT_FOUND:
                raise
            return None
        return found

    def list(self, kind: str) -> list[Object]:
        """All objects of a kind."""
        items: list[Object] = self.cluster.api.get(self.path(kind))["items"]
        return items

    def patch(self, kind: str, name: str, patch: Object) -> None:
        """Change members of an object (a merge patch)."""
        self._patch(f"{self.path(kind, name)}?fieldManager=kubectl-edit", patch)

    def delete(self, kind: str, name: str) -> None:
        """Delete an object, without waiting."""
        self.cluster.api.request("DELETE", self.path(kind, name))

    def path(self, kind: str, name: str = "") -> str:
        """Where an object is, or all of a kind; kinds are named as for kubectl."""
        return _KINDS[kind].path(self.namespace, name)

    def _patch(self, path: str, patch: Object, kind: str = "merge-patch+json") -> None:
        self.cluster.api.request("PATCH", path, patch, content_type=f"application/{kind}")

    def until(self, what: str, condition: Callable[[], T], seconds: float = DEADLINE) -> T:
        """Wait for a condition; one that raises because something is not there yet is not true."""

        def tried() -> T | None:
            try:
                return condition()
            except (KeyError, IndexError, TypeError, AssertionError):
                return None

        return self.cluster.until(what, tried, seconds)  # type: ignore[return-value]

    def settled(self, kind: str, name: str) -> Object:
        """Wait until a workload is reconciled and available as it is specified now; what it is."""
        return self.until(f"{kind} {name} to be settled", partial(self.settled_now, kind, name))

    def settled_now(self, kind: str, name: str) -> Object:
        """The same without waiting; an AssertionError or KeyError where it is not so."""
        found = self.get(kind, name) or {}
        generation = found["metadata"]["generation"]
        conditions = {each["type"]: each for each in found["status"]["conditions"]}
        for type_ in ("Reconciled", "Available"):
            assert conditions[type_]["status"] == "True"
            assert conditions[type_]["observedGeneration"] == generation
        # Pods of the old template count until they are replaced.
        assert found["status"].get("updatedReplicas") == found["status"].get("replicas")
        # The operator may not have seen yet what Kubernetes makes of the new template.
        assert all(map(_is_rolled_out, self.owned(found)))
        return found

    def owned(self, workload: Object) -> tuple[Object, ...]:
        """The StatefulSets and DaemonSets of a workload."""
        uid = workload["metadata"]["uid"]
        return tuple(
            each
            for kind in ("statefulset", "daemonset")
            for each in self.list(kind)
            if uid in {one["uid"] for one in each["metadata"].get("ownerReferences") or ()}
        )

    def writes(self, mark: int, *, events: bool = False) -> tuple[Write, ...]:
        """What operators wrote here since a mark of the audit log, but for their Lease."""
        passed = {"leases"} if events else {"leases", "events"}
        return tuple(
            each
            for each in self.cluster.audit.since(mark, "stoker")
            if each.namespace == self.namespace and each.resource not in passed
        )

    def until_still(self) -> int:
        """Wait until operators write nothing here any longer; the place in the audit log."""
        mark = self.cluster.audit.mark()
        quiet, deadline = time.monotonic() + STILL_SECONDS, time.monotonic() + DEADLINE
        while time.monotonic() < quiet:
            assert time.monotonic() < deadline, self.writes(mark, events=True)
            time.sleep(0.1)
            if self.writes(mark, events=True):
                mark, quiet = self.cluster.audit.mark(), time.monotonic() + STILL_SECONDS
        return mark

    def condition(self, kind: str, name: str, type_: str) -> Object:
        """A condition of a workload."""
        found = self.get(kind, name) or {}
        conditions: list[Object] = (found.get("status") or {}).get("conditions") or []
        return next((each for each in conditions if each["type"] == type_), {})

    def bindings(self, kind: str, name: str) -> dict[str, Object]:
        """The Accepted condition of each binding, by `resource/name` of its workload."""
        found = self.get(kind, name) or {}
        return {
            f"{each['resource']}/{each['name']}": each["conditions"][0]
            for each in (found.get("status") or {}).get("bindings") or []
        }


def _is_rolled_out(found: Object) -> bool:
    """Whether the controller of a StatefulSet or DaemonSet has done what its template asks for."""
    status = found.get("status") or {}
    current = status.get("currentRevision") == status.get("updateRevision")
    return current and status.get("observedGeneration") == found["metadata"]["generation"]
