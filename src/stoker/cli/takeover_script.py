"""The commands that take over from a prometheus-operator, and that go back, as shell scripts.

They are made for one cluster: its names and flags are in them. Each name is quoted for the shell,
and flags lie in the file of an overlay, where they are JSON.
"""

import json
from collections.abc import Iterable, Iterator, Sequence
from shlex import quote
from typing import Any, Final

from msgspec import Struct

from stoker.cli.peer_flags import PeerFlags
from stoker.cluster.takeover.peer import PeerOperator
from stoker.settings import KubeletSettings, OperatorSettings

_OVERLAY: Final = "stoker-overlay"
_OURS: Final = "kubectl --namespace stoker"
_WAIT: Final = "--timeout=2m"
_NO_REPAIR: Final = "none"


class Destination(Struct, frozen=True):
    """Which cluster is meant, as options of `kubectl`; and the image of our operator there."""

    kubeconfig: str = ""
    context: str = ""
    image: str = ""

    @property
    def words(self) -> str:
        """The words for kubectl."""
        named = (("--kubeconfig", self.kubeconfig), ("--context", self.context))
        return " ".join(f"{option} {quote(value)}" for option, value in named if value)


def move_script(
    peer: PeerOperator, flags: PeerFlags, place: Destination, definitions: Sequence[str]
) -> str:
    """Takes over; `definitions` are the kinds whose definitions become ours."""
    lines = [
        *_head(f"From the prometheus-operator {peer.title} to stoker.", place),
        "# The overlay for stoker, with the flags of the other. Run this where deploy/ is.",
        f"mkdir -p {_OVERLAY}",
        f"cat > {_OVERLAY}/kustomization.yaml <<'END'",
        *_overlay(flags, place),
        "END",
        f"kubectl kustomize {_OVERLAY} > /dev/null",
        "# Definitions first: they change nothing that is stored.",
        *_definitions(definitions),
        "# Then one operator stops, and the other starts.",
        f"{_theirs(peer)} scale deployment {quote(peer.name)} --replicas=0",
        _until_gone(peer),
        f"kubectl apply -k {_OVERLAY}",
        f"{_OURS} rollout status deployment/stoker-operator {_WAIT}",
    ]
    return "\n".join(lines) + "\n"


def back_script(peer: PeerOperator, place: Destination) -> str:
    """Goes back; nothing that we added disturbs the other operator."""
    replicas = max(peer.replicas, 1)
    lines = [
        *_head(f"From stoker back to the prometheus-operator {peer.title}.", place),
        f"{_OURS} scale deployment stoker-operator --replicas=0",
        f"{_OURS} wait --for=delete pod --selector app.kubernetes.io/component=operator {_WAIT}",
        f"{_theirs(peer)} scale deployment {quote(peer.name)} --replicas={replicas}",
        f"{_theirs(peer)} rollout status deployment/{quote(peer.name)} {_WAIT}",
    ]
    return "\n".join(lines) + "\n"


def _head(title: str, place: Destination) -> Iterator[str]:
    yield from ("#!/bin/sh", f"# {title}", "set -eu")
    if place.words:
        yield f'kubectl() {{ command kubectl {place.words} "$@"; }}'


def _theirs(peer: PeerOperator) -> str:
    return f"kubectl --namespace {quote(peer.namespace)}"


def _until_gone(peer: PeerOperator) -> str:
    if not peer.pods:
        return f"{_theirs(peer)} rollout status deployment/{quote(peer.name)} {_WAIT}"
    selector = quote(",".join(f"{name}={value}" for name, value in peer.pods.items()))
    return f"{_theirs(peer)} wait --for=delete pod --selector {selector} {_WAIT}"


def _definitions(kinds: Sequence[str]) -> Iterator[str]:
    if kinds:
        chosen = " ".join(each.lower() for each in kinds)
        yield f"stoker crds {chosen} | kubectl apply --server-side --force-conflicts -f -"


# --- The overlay ----------------------------------------------------------------------------------


def _overlay(flags: PeerFlags, place: Destination) -> Iterator[str]:
    """The lines of a kustomization; each member is JSON, which is YAML."""
    made: dict[str, Any] = {
        "resources": ["../deploy/cluster"],
        "components": list(_components(flags.settings)),
        "patches": list(_patches(flags)),
        "images": list(_images(place.image)),
    }
    for name, value in made.items():
        if value:
            yield f"{name}:"
            yield from (f"  - {json.dumps(each)}" for each in value)


def _components(settings: OperatorSettings) -> Iterator[str]:
    if settings.kubelet.name and settings.kubelet.endpoint_slices:
        yield "../deploy/kubelet/endpointslices"
    if settings.repair_policy != _NO_REPAIR:
        yield "../deploy/repair"


def _patches(flags: PeerFlags) -> Iterator[dict[str, Any]]:
    given = list(flags.to_pass)
    if not flags.settings.kubelet.name:
        # Ours keeps one unless a flag says otherwise.
        given.append("--kubelet-service=")
    path = "/spec/template/spec/containers/0/args/-"
    added = [{"op": "add", "path": path, "value": each} for each in given]
    yield _patch("Deployment", "stoker-operator", added)
    yield from _kubelet(flags.settings.kubelet)


def _kubelet(kubelet: KubeletSettings) -> Iterator[dict[str, Any]]:
    """The Role is for a Service of one name, in one namespace."""
    name = "stoker-operator-kubelet"
    if kubelet.name and kubelet.name != "kubelet":
        named = (f"/rules/{rule}/resourceNames/0" for rule in (0, 1))
        changed = [{"op": "replace", "path": each, "value": kubelet.name} for each in named]
        yield _patch("Role", name, changed)
    if kubelet.name and kubelet.namespace != "kube-system":
        path = "/metadata/namespace"
        moved = [{"op": "replace", "path": path, "value": kubelet.namespace}]
        yield _patch("Role|RoleBinding", name, moved)


def _patch(kind: str, name: str, operations: Iterable[dict[str, str]]) -> dict[str, Any]:
    target = {"kind": kind, "name": f"^{name}$"}
    return {"target": target, "patch": json.dumps(list(operations))}


def _images(image: str) -> Iterator[dict[str, str]]:
    if not image:
        return
    name, at, digest = image.partition("@")
    folder, slash, last = name.rpartition("/")
    base, _, tag = last.partition(":")
    chosen = {"digest": digest} if at else {"newTag": tag} if tag else {}
    yield {"name": "stoker", "newName": f"{folder}{slash}{base}"} | chosen
