"""The whole state of a world in a form in which two runs can be compared.

What must differ between runs is taken out: uids, versions, times, the world's own prefix, hashes,
random names. What a process left behind is left in: contents (decoded), owners that are still
there, labels, annotations, statuses, bindings, who wrote fields.
"""

from __future__ import annotations

import base64
import gzip
import hashlib
import re
from collections.abc import Callable, Iterable, Iterator, Mapping
from typing import Any, NamedTuple

import msgspec

from stoker.build.hashing import INPUT_HASH
from stoker.status.retention import NEVER
from tests.faults.mirror import Object, text_of

_DROPPED = frozenset(
    {
        "uid",
        "resourceVersion",
        "creationTimestamp",
        "generation",
        "managedFields",
        "deletionTimestamp",
        "deletionGracePeriodSeconds",
    }
)
# Nodes have other uids in each cluster, and some objects say them.
_OF_A_RUN = frozenset(
    {"uid", "lastTransitionTime", "lastProbeTime", "lastUpdateTime", "lastObservedTime"}
)
_TIME = re.compile(r"\d{4}-\d\d-\d\dT\d\d:\d\d:\d\dZ")
_UID = re.compile(r"[0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12}")
# It is named after a hash of the namespaces.
_LEASE = re.compile(r"stoker-operator-[0-9a-f]{10}")
# Of the world that Kubernetes itself makes.
_OF_NOBODY = frozenset({"kube-root-ca.crt"})
# What others note at claims.
_FOREIGN = ("pv.kubernetes.io/", "volume.kubernetes.io/", "volume.beta.kubernetes.io/")
# Nodes, addresses and ports that Kubernetes gives as it likes.
_GIVEN = frozenset({"clusterIP", "clusterIPs", "nodePort", "healthCheckNodePort"})
_OURS = "stoker"
_ONLY_OURS = frozenset({"endpoints", "endpointslices"})
SETS = frozenset({"statefulsets", "daemonsets"})
CONTENTS = frozenset({"secrets", "configmaps"})
_PART = re.compile(r"^[ -]*(?:job_name|name|alert|record): .+$", re.MULTILINE)


class Snapshot(NamedTuple):
    """The state of a world: objects by `namespace/kind/name`, and what was said in Events."""

    objects: dict[str, Any]
    events: frozenset[str]


class Normaliser:
    """Makes snapshots of one world; what did not change is not looked at again."""

    def __init__(self, prefix: str) -> None:
        self._prefix = prefix
        self._known: dict[tuple[str, str], Any] = {}

    def snapshot(self, found: Iterable[tuple[str, Object]]) -> Snapshot:
        """The state of these objects."""
        found = list(found)
        alive = {each["metadata"]["uid"]: each["metadata"]["name"] for _, each in found}
        objects: dict[str, Any] = {}
        events: set[str] = set()
        known: dict[tuple[str, str], Any] = {}
        for kind, each in found:
            metadata = each["metadata"]
            version = (metadata["uid"], metadata["resourceVersion"])
            made = self._known.get(version)
            if made is None:
                made = self._normal(kind, each)
            known[version] = made
            if kind == "events":
                events |= {made} if made else set()
            elif made:
                owned = made | {"owners": _owners(each, alive)}
                named = _with_names(owned, alive) if kind in CONTENTS else owned
                objects[self.key(kind, each)] = named
        self._known = known
        return Snapshot(objects, frozenset(events))

    def key(self, kind: str, found: Object) -> str:
        """What an object is called in all runs alike."""
        metadata = found["metadata"]
        name = _node_pod(found) if kind == "pods" else metadata["name"]
        return self.plain(f"{metadata['namespace']}/{kind}/{name}")

    def plain(self, text: str) -> str:
        """A text without the world's own prefix, and what is made of that."""
        return _LEASE.sub("stoker-operator-…", text.replace(self._prefix, "w"))

    def is_told(self, kind: str, found: Object) -> bool:
        """Whether what happens to an object says something of operators."""
        return kind != "events" and _is_of_somebody(kind, found)

    def template(self, found: Object) -> str:
        """A word for what the pods of a StatefulSet or DaemonSet are made from."""
        template = self._comparable(_without_hashes(found["spec"]["template"]))
        return hashlib.sha256(text_of(template).encode()).hexdigest()[:12]

    def _normal(self, kind: str, found: Object) -> Any:
        metadata = found["metadata"]
        if kind == "events":
            return self.plain(_said(found)) if found.get("reportingController") == _OURS else None
        if not _is_of_somebody(kind, found):
            return None
        reduced = _REDUCED.get(kind, _whole)(found)
        made = {
            **reduced,
            "metadata": _metadata(kind, metadata),
            "written by us": _is_written_by_us(found),
        }
        return self._comparable(made, metadata.get("generation"))

    def _comparable(self, value: Any, generation: int | None = None) -> Any:
        return msgspec.json.decode(self.plain(text_of(_timeless(value, generation))))


def _is_of_somebody(kind: str, found: Object) -> bool:
    """Whether an object is a user's or an operator's; Kubernetes makes some of its own."""
    if kind in _ONLY_OURS:
        return _is_written_by_us(found)
    return found["metadata"]["name"] not in _OF_NOBODY


def _is_written_by_us(found: Object) -> bool:
    fields = found["metadata"].get("managedFields") or ()
    return any(each["manager"] == _OURS for each in fields)


# --- Parts of objects -----------------------------------------------------------------------------


def _metadata(kind: str, metadata: Object) -> Object:
    kept = {name: value for name, value in metadata.items() if name not in _DROPPED}
    kept.pop("ownerReferences", None)
    annotations = {
        name: "…" if name == INPUT_HASH else value
        for name, value in (metadata.get("annotations") or {}).items()
        if not name.startswith(_FOREIGN)
    }
    kept["annotations"] = annotations
    if kind == "pods":
        return {"labels": {}, "annotations": {}}
    if "deletionTimestamp" in metadata:
        kept["is being deleted"] = True
    return kept


def _with_names(made: Object, alive: Mapping[str, str]) -> Object:
    """An object in which uids, as in names of rule files, are told by what has them."""
    text = text_of(made)
    if not _UID.search(text):
        return made
    named = _UID.sub(lambda found: f"<uid of {alive.get(found[0], 'nothing')}>", text)
    result: Object = msgspec.json.decode(named)
    return result


def _owners(found: Object, alive: Mapping[str, str]) -> list[str]:
    """Who owns an object, and whether that one is still there."""
    owners = found["metadata"].get("ownerReferences") or ()
    return sorted(
        f"{each['kind']}/{each['name']}{'' if each['uid'] in alive else ' (gone)'}"
        f"{' controls' if each.get('controller') else ''}"
        for each in owners
    )


def _timeless(value: Any, generation: int | None) -> Any:
    """A value without times and uids, and with generations told as the present one or another."""
    if isinstance(value, dict):
        if isinstance(value.get("bindings"), list):
            # Whoever decides first is first.
            value = value | {"bindings": sorted(value["bindings"], key=_bound)}
        made = {
            name: _timeless(one, generation) for name, one in value.items() if name not in _OF_A_RUN
        }
        if "observedGeneration" in made:
            made["observedGeneration"] = made["observedGeneration"] == generation or "another"
        return made
    if isinstance(value, list):
        return [_timeless(one, generation) for one in value]
    if isinstance(value, str) and _TIME.fullmatch(value) and value != NEVER:
        return "a time"
    return value


def _bound(binding: Object) -> tuple[str, ...]:
    return tuple(str(binding.get(name)) for name in ("resource", "namespace", "name"))


def _whole(found: Object) -> Object:
    return {
        name: value
        for name, value in found.items()
        if name not in ("metadata", "apiVersion", "kind")
    }


def _with_data(found: Object) -> Object:
    """A Secret or ConfigMap, with what is in it as text."""
    data = {name: _decoded(value) for name, value in (found.get("data") or {}).items()}
    return _whole(found) | {"data": data}


def _with_texts(found: Object) -> Object:
    binary = {name: _decoded(value) for name, value in (found.get("binaryData") or {}).items()}
    return _whole(found) | {"binaryData": binary}


def parts_of(kind: str, found: Object) -> frozenset[str]:
    """The jobs, groups, alerts and receivers that a Secret or ConfigMap has, by their names."""
    if kind not in CONTENTS:
        return frozenset()
    made = _REDUCED[kind](found)
    texts = [*(made.get("data") or {}).values(), *(made.get("binaryData") or {}).values()]
    return frozenset(name for text in texts for name in _PART.findall(text))


def _decoded(value: str) -> str:
    content = base64.b64decode(value)
    if content[:2] == b"\x1f\x8b":
        content = gzip.decompress(content)
    return content.decode(errors="replace")


def _set(found: Object) -> Object:
    """A StatefulSet or DaemonSet; its revisions are hashes."""
    status = dict(found.get("status") or {})
    revisions = {status.pop("currentRevision", ""), status.pop("updateRevision", "")}
    for name in ("collisionCount", "currentReplicas", "updatedReplicas"):
        status.pop(name, None)
    spec = found["spec"] | {"template": _without_hashes(found["spec"]["template"])}
    return {"spec": spec, "status": status | {"is rolled out": len(revisions) == 1}}


def _without_hashes(template: Object) -> Object:
    metadata = template.get("metadata") or {}
    annotations = {
        name: "…" if name == INPUT_HASH else value
        for name, value in (metadata.get("annotations") or {}).items()
    }
    return template | {"metadata": metadata | {"annotations": annotations}}


def _service(found: Object) -> Object:
    ports = [
        {name: value for name, value in port.items() if name not in _GIVEN}
        for port in found["spec"].get("ports") or ()
    ]
    spec = {name: value for name, value in found["spec"].items() if name not in _GIVEN}
    headless = found["spec"].get("clusterIP") == "None"
    return {"spec": spec | {"ports": ports, "headless": headless}}


def _pod(found: Object) -> Object:
    """A pod: whether it is ready and what it runs, not where."""
    conditions = (found.get("status") or {}).get("conditions") or ()
    ready = any(each["type"] == "Ready" and each["status"] == "True" for each in conditions)
    images = [each["image"] for each in found["spec"]["containers"]]
    return {"ready": ready, "images": images, "phase": (found.get("status") or {}).get("phase")}


def _node_pod(found: Object) -> str:
    """The name of a pod; one of a DaemonSet by its node, since its own is random."""
    metadata = found["metadata"]
    owner = next((e for e in metadata.get("ownerReferences") or () if e.get("controller")), None)
    if not owner or owner["kind"] != "DaemonSet":
        return str(metadata["name"])
    affinity = (found["spec"].get("affinity") or {}).get("nodeAffinity") or {}
    required = affinity.get("requiredDuringSchedulingIgnoredDuringExecution") or {}
    nodes = [
        value
        for term in required.get("nodeSelectorTerms") or ()
        for field in term.get("matchFields") or ()
        for value in field["values"]
    ]
    return f"{owner['name']}@{','.join(nodes)}"


def _claim(found: Object) -> Object:
    return {"spec": found["spec"], "phase": (found.get("status") or {}).get("phase")}


def _budget(found: Object) -> Object:
    return {"spec": found["spec"]}


_REDUCED: Mapping[str, Callable[[Object], Object]] = {
    "secrets": _with_data,
    "configmaps": _with_texts,
    "statefulsets": _set,
    "daemonsets": _set,
    "services": _service,
    "pods": _pod,
    "persistentvolumeclaims": _claim,
    "poddisruptionbudgets": _budget,
}


def _said(event: Object) -> str:
    """What an Event says, of what; not how often, nor when."""
    about = event.get("regarding") or {}
    of = f"{about.get('kind')} {about.get('namespace')}/{about.get('name')}"
    return f"{event.get('type')} {event.get('reason')} {of}: {event.get('note', '')}"


# --- Differences ----------------------------------------------------------------------------------


def differences(wanted: Snapshot, found: Snapshot) -> list[str]:
    """Where a state is not as it should be, as paths with both values.

    Events that a quiet run does not know are no difference: faults are told.
    """
    missing = [f"not said: {each}" for each in sorted(wanted.events - found.events)]
    return [*_unequal("", wanted.objects, found.objects), *missing]


def _unequal(path: str, wanted: Any, found: Any) -> Iterator[str]:
    if wanted == found:
        return
    if isinstance(wanted, dict) and isinstance(found, dict):
        for name in sorted(wanted.keys() | found.keys()):
            here = f"{path}.{name}" if path else name
            if name not in found:
                yield f"{here}: missing ({_short(wanted[name])})"
            elif name not in wanted:
                yield f"{here}: should not be there ({_short(found[name])})"
            else:
                yield from _unequal(here, wanted[name], found[name])
    elif isinstance(wanted, list) and isinstance(found, list) and len(wanted) == len(found):
        for number, (one, other) in enumerate(zip(wanted, found, strict=True)):
            yield from _unequal(f"{path}[{number}]", one, other)
    elif isinstance(wanted, str) and isinstance(found, str) and "\n" in wanted + found:
        yield from _unequal_lines(path, wanted, found)
    else:
        yield f"{path}: should be {_short(wanted)}, is {_short(found)}"


def _unequal_lines(path: str, wanted: str, found: str) -> Iterator[str]:
    lines, others = wanted.splitlines(), found.splitlines()
    for number, line in enumerate(lines):
        if number >= len(others) or others[number] != line:
            is_ = others[number] if number < len(others) else "(the end)"
            yield f"{path}, line {number + 1} of {len(lines)}: should be {line!r}, is {is_!r}"
            return
    yield f"{path}: {len(others)} lines instead of {len(lines)}"


def _short(value: Any) -> str:
    text = text_of(value)
    return text if len(text) < 200 else f"{text[:200]}…"
