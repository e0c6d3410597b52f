"""A small world for the campaign: three namespaces of its own, and the operators in charge of them.

Its names begin with a prefix, so that many worlds live side by side in one cluster. What users do
goes to the API server directly; what operators do goes through a `Line` that can do harm.
"""

from __future__ import annotations

import contextlib
import json
import threading
import time
from collections import Counter, deque
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any, NamedTuple, Self

from stoker.api.crd import GROUP
from tests.faults.gateway import Gateways, Line
from tests.faults.mirror import Change, Mirror
from tests.faults.state import CONTENTS, SETS, Normaliser, Snapshot, parts_of
from tests.live.operating import Running
from tests.live.operating import World as Namespace
from tools.api import ApiError
from tools.audit import Write
from tools.cluster import Cluster
from tools.crds import cluster_with_crds

Object = dict[str, Any]

NODES = 4
PLACES = ("home", "team", "apart")
OPERATORS = ("main", "other")
FIRST_VERSION = "v1alpha1"
VERSIONS = (FIRST_VERSION, "v1")
"""Of ScrapeConfigs; without a webhook a cluster has one of them."""
PREFIX = "%world%"
"""Stands for a world's own prefix in the objects of a script."""

CLAIMS = tuple(
    f"prometheus-main-db-prometheus-main{shard}-{number}"
    for shard in ("", "-shard-1")
    for number in range(2)
)
# Replicas are for the class of machines: whoever is killed would leave its Lease to be waited for.
_FLAGS = ("--leader-election=false",)
_LOGS_KEPT = 4
_LOG_LENGTH = 200_000


class Ground:
    """What all worlds stand on: a cluster, a mirror of it, and the proxies.

    `version`: in which version the cluster has ScrapeConfigs.
    """

    def __init__(
        self, cluster: Cluster, mirror: Mirror, gateways: Gateways, version: str = FIRST_VERSION
    ) -> None:
        self.cluster = cluster
        self.version = version
        self.mirror = mirror
        self.gateways = gateways
        self._audit_turn = threading.Lock()
        self._count = 0

    def world(self) -> World:
        """A new world, with nothing in it."""
        with self._audit_turn:
            self._count += 1
            number = self._count
        return World(self, f"zz{number:04}")

    def mark(self) -> int:
        """A place in the audit log."""
        with self._audit_turn:
            return self.cluster.audit.mark()

    def writes(self, mark: int, namespaces: Sequence[str]) -> list[Write]:
        """What operators wrote in some namespaces since a place in the audit log."""
        with self._audit_turn:
            found = self.cluster.audit.since(mark, "stoker")
        return [each for each in found if each.namespace in namespaces]


@contextmanager
def new_ground(nodes: int = NODES, version: str = FIRST_VERSION) -> Iterator[Ground]:
    """A cluster of its own, whose API server is reached without anything between.

    ScrapeConfigs are served in one version.
    """
    started = cluster_with_crds(f"--scrapeconfig-version={version}", nodes=nodes, namespaces=False)
    with started as cluster, Mirror(cluster, version) as mirror, Gateways(cluster) as gateways:
        yield Ground(cluster, mirror, gateways, version)


class Operator:
    """An operator that can be killed and started again, and its way to the API server."""

    def __init__(self, cluster: Cluster, line: Line, flags: Sequence[str]) -> None:
        self._cluster = cluster
        self.line = line
        self.flags = tuple(flags)
        self.logs: deque[str] = deque(maxlen=_LOGS_KEPT)
        self.kills = 0
        self._running: Running | None = None
        self._is_ready = False

    def start(self) -> None:
        """Start it, without waiting."""
        self._is_ready = False
        self._running = Running(self._cluster, self.flags, self.line.kubeconfig())

    def kill(self) -> None:
        """End it at once, as a crash does."""
        self.kills += 1
        if self._running:
            self._running.kill()

    def stop(self) -> None:
        """End it in order."""
        self._end()

    def restart(self) -> None:
        """Start it again after a crash."""
        self._end()
        self.start()

    @property
    def process(self) -> Running:
        """The process that runs now."""
        assert self._running, "it was never started"
        return self._running

    @property
    def has_ended(self) -> bool:
        """Whether it ended by itself, or was killed."""
        return self._running is None or self._running.process.poll() is not None

    def is_ready(self) -> bool:
        """Whether it could do its work, once."""
        if not self._is_ready and not self.has_ended:
            with contextlib.suppress(OSError, AssertionError):
                self._is_ready = bool(self.process.port) and self.process.is_ready()
        return self._is_ready

    def is_idle(self) -> bool:
        """Whether it is ready and has nothing to do: none of its threads runs, or wants to.

        On a busy machine a process may do nothing for seconds because it has no turn.
        """
        if not self.is_ready():
            return False
        threads = Path(f"/proc/{self.process.process.pid}/task").glob("*/stat")
        try:
            return all(each.read_text().rpartition(") ")[2][:1] != "R" for each in threads)
        except OSError:
            # A thread has ended meanwhile.
            return False

    def log(self) -> str:
        """What it and those before it said at last."""
        now = self._running.log()[-_LOG_LENGTH:] if self._running else ""
        return "\n--- and then ---\n".join([*self.logs, now])

    def _end(self) -> None:
        if self._running:
            self._running.process.poll()
            said = self._running.log()[-_LOG_LENGTH:]
            self._running.__exit__(None)
            self.logs.append(said)
            self._running = None


class History(NamedTuple):
    """What happened in a world during an action, by the names of objects.

    `births`: how often an object of this name was made.
    `deaths`: how often one was deleted.
    `templates`: from which template to which the pods of a set were to be made.
    `lost`: what was missing for a while of a configuration that had it before and after.
    """

    births: Counter[str]
    deaths: Counter[str]
    templates: dict[str, list[str]]
    lost: frozenset[str]


class World:
    """Three namespaces, what users do there, and the operators that look after them."""

    def __init__(self, ground: Ground, prefix: str) -> None:
        self.ground = ground
        self.cluster = ground.cluster
        self.prefix = prefix
        self.namespaces = tuple(f"{prefix}-{place}" for place in PLACES)
        self.operators: dict[str, Operator] = {}
        self.lines: dict[str, Line] = {}
        self._normaliser = Normaliser(prefix)
        self._seen: tuple[int, Snapshot] | None = None

    def __enter__(self) -> Self:
        self._furnish()
        return self

    def __exit__(self, *_: object) -> None:
        for operator in self.operators.values():
            operator.stop()
        self.operators.clear()
        for line in self.lines.values():
            line.heal()
        for namespace in self.namespaces:
            self._request("DELETE", f"/api/v1/namespaces/{namespace}")
        for number in range(len(CLAIMS)):
            self._request("DELETE", f"/api/v1/persistentvolumes/{self.prefix}-{number}")

    # --- What users do ----------------------------------------------------------------------------

    def at(self, place: str) -> Namespace:
        """One of the namespaces."""
        return Namespace(self.cluster, f"{self.prefix}-{place}")

    def own(self, value: Any) -> Any:
        """An object of a script as it is in this world."""
        made = json.loads(json.dumps(value).replace(PREFIX, self.prefix))
        for each in made if isinstance(made, list) else ():
            if each.get("kind") == "ScrapeConfig":
                each["apiVersion"] = f"{GROUP}/{self.ground.version}"
        return made

    def label(self, place: str, labels: Object) -> None:
        """Change labels of a namespace; None takes one away."""
        path = f"/api/v1/namespaces/{self.prefix}-{place}"
        self._request("PATCH", path, {"metadata": {"labels": labels}})

    def grow_allowed(self, allowed: bool) -> None:
        """Say whether claims may grow."""
        path = f"/apis/storage.k8s.io/v1/storageclasses/{self.prefix}"
        self._request("PATCH", path, {"allowVolumeExpansion": allowed})

    def _request(self, method: str, path: str, body: Object | None = None) -> None:
        kind = "application/merge-patch+json" if method == "PATCH" else "application/json"
        with contextlib.suppress(ApiError):
            self.cluster.api.request(method, path, body, content_type=kind)

    def _furnish(self) -> None:
        self.lines = {name: self.ground.gateways.open() for name in OPERATORS}
        for namespace in self.namespaces:
            metadata = {"name": namespace, "labels": {"world": self.prefix}}
            self.cluster.api.request("POST", "/api/v1/namespaces", {"metadata": metadata})
        class_ = {
            "metadata": {"name": self.prefix},
            "provisioner": "kubernetes.io/no-provisioner",
            "allowVolumeExpansion": True,
        }
        self.cluster.api.request("POST", "/apis/storage.k8s.io/v1/storageclasses", class_)
        for number, claim in enumerate(CLAIMS):
            volume = {
                "metadata": {"name": f"{self.prefix}-{number}"},
                "spec": {
                    "capacity": {"storage": "1Gi"},
                    "accessModes": ["ReadWriteOnce"],
                    "storageClassName": self.prefix,
                    "hostPath": {"path": "/data"},
                    "claimRef": {"namespace": f"{self.prefix}-home", "name": claim},
                },
            }
            self.cluster.api.request("POST", "/api/v1/persistentvolumes", volume)

    # --- Operators --------------------------------------------------------------------------------

    def operate(self, name: str, *flags: str) -> None:
        """Have an operator of this name run with these flags; one that runs is ended first."""
        self.retire(name)
        own = [each.replace(PREFIX, self.prefix) for each in flags]
        every = (f"--namespaces={','.join(self.namespaces)}", *_FLAGS, *own)
        self.operators[name] = Operator(self.cluster, self.lines[name], every)
        self.operators[name].start()

    def retire(self, name: str) -> None:
        """End an operator for good."""
        if operator := self.operators.pop(name, None):
            operator.stop()

    # --- What is seen -----------------------------------------------------------------------------

    def snapshot(self) -> Snapshot:
        """The state now."""
        number = self.ground.mirror.latest(self.namespaces)
        if self._seen is None or self._seen[0] != number:
            found = self.ground.mirror.objects(self.namespaces)
            self._seen = number, self._normaliser.snapshot(found)
        return self._seen[1]

    def last_change(self) -> float:
        """When something changed here last, by the monotonic clock."""
        return self.ground.mirror.last_change(self.namespaces)

    def history(self, mark: int, before: Sequence[tuple[str, Object]]) -> History:
        """What happened since a mark of the mirror, at which there were these objects."""
        births, deaths = Counter[str](), Counter[str]()
        templates: dict[str, list[str]] = {}
        parts: dict[str, list[frozenset[str]]] = {}
        there = {each["metadata"]["uid"] for _, each in before}
        known = set(there)
        raw: dict[str, Any] = {}
        for kind, each in before:
            self._note(kind, each, raw, templates, parts)
        for change in self.ground.mirror.changes(self.namespaces, mark):
            if not self._normaliser.is_told(change.kind, change.object):
                continue
            key = self._normaliser.key(change.kind, change.object)
            uid = change.object["metadata"]["uid"]
            if change.gone and _ran_nowhere(change):
                births[key] -= uid not in there
                continue
            if change.gone:
                deaths[key] += 1
                continue
            births[key] += uid not in known
            known.add(uid)
            self._note(change.kind, change.object, raw, templates, parts)
        return History(+births, deaths, templates, frozenset(_lost(parts)))

    def _note(
        self,
        kind: str,
        found: Object,
        raw: dict[str, Any],
        templates: dict[str, list[str]],
        parts: dict[str, list[frozenset[str]]],
    ) -> None:
        """Note what an object has to do with pods and configurations."""
        if kind in SETS:
            self._note_template(kind, found, raw, templates)
        elif kind in CONTENTS:
            key = self._normaliser.key(kind, found)
            names = frozenset(map(self.plain, parts_of(kind, found)))
            parts.setdefault(key, []).append(names)

    def _note_template(
        self, kind: str, found: Object, raw: dict[str, Any], noted: dict[str, list[str]]
    ) -> None:
        """Note a template if it is another than the one before."""
        key, template = self._normaliser.key(kind, found), found["spec"]["template"]
        if raw.get(key) != template:
            raw[key] = template
            noted.setdefault(key, []).append(self._normaliser.template(found))

    def key(self, kind: str, found: Object) -> str:
        """What an object is called in all worlds alike."""
        return self._normaliser.key(kind, found)

    def place(self, found: Object) -> str:
        """In which of the namespaces an object is."""
        namespace: str = found["metadata"]["namespace"]
        return namespace.removeprefix(f"{self.prefix}-")

    def plain(self, text: str) -> str:
        """A text without the prefix of this world."""
        return self._normaliser.plain(text)

    def wait(self, seconds: float = 0.1) -> None:
        """Let the world go on for a moment."""
        self.cluster.check()
        time.sleep(seconds)


def _ran_nowhere(gone: Change) -> bool:
    """Whether a pod is gone that was on no node.

    What stands in for kubelets removes a pod by its name, sometimes twice, and may hit the one that
    was made in its place.
    """
    return gone.kind == "pods" and not gone.object["spec"].get("nodeName")


def _lost(parts: dict[str, list[frozenset[str]]]) -> Iterator[str]:
    """What the first and the last of a row have, and one between them has not."""
    for key, row in parts.items():
        for name in (row[0] & row[-1]).difference(frozenset.intersection(*row)):
            yield f"{key}: {name.strip()}"
