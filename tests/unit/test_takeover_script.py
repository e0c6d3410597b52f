"""The scripts of `stoker migrate takeover`: what they say, and that names stay names."""

import json
import subprocess
from pathlib import Path
from typing import Any

import yaml
from msgspec.structs import replace

from stoker.cli.peer_flags import flags_of
from stoker.cli.takeover_script import Destination, back_script, move_script
from stoker.cluster.takeover.peer import PeerOperator

PEER = PeerOperator(
    namespace="monitoring",
    name="observer",
    container="main",
    image="example.org/prometheus-operator:v0.94.1",
    version="0.94.1",
    replicas=0,
    account="monitoring/default",
    pods={"app": "po", "of": "us"},
    arguments=("--kubelet-service=kube-system/nodes", "--annotations=a=it's $HOME `x`\nEND"),
)
NOWHERE = Destination()


def overlay(peer: PeerOperator, place: Destination = NOWHERE) -> dict[str, Any]:
    """The kustomization in a script, as a shell would write it."""
    script = move_script(peer, flags_of(peer), place, ["Probe"])
    text = script.split("<<'END'\n")[1].split("\nEND\n")[0]
    found: dict[str, Any] = yaml.safe_load(text)
    return found


def patches(found: dict[str, Any]) -> dict[str, list[dict[str, str]]]:
    """The operations by the kind of object."""
    return {each["target"]["kind"]: json.loads(each["patch"]) for each in found["patches"]}


def test_the_flags_lie_in_an_overlay_whatever_they_say() -> None:
    """As they are, in a file that no shell reads."""
    made = patches(overlay(PEER))
    assert [each["value"] for each in made["Deployment"]] == list(PEER.arguments)


def test_the_role_for_kubelets_is_for_the_service_of_that_name() -> None:
    """In its namespace; where there is none, ours keeps none either."""
    made = patches(overlay(PEER))
    assert {each["value"] for each in made["Role"]} == {"nodes"}
    elsewhere = replace(PEER, arguments=("--kubelet-service=home/kubelet",))
    made = patches(overlay(elsewhere))
    assert "Role" not in made
    assert made["Role|RoleBinding"][0]["value"] == "home"
    none = patches(overlay(replace(PEER, arguments=())))
    assert list(none) == ["Deployment"]
    assert none["Deployment"][0]["value"] == "--kubelet-service="


def test_parts_that_need_other_rights_are_components() -> None:
    """And the image is what it is told."""
    flags = ("--kubelet-service=kube-system/kubelet", "--kubelet-endpointslice=true")
    peer = replace(PEER, arguments=(*flags, "--repair-policy-for-statefulsets=evict"))
    found = overlay(peer, Destination(image="localhost:5000/stoker:v1"))
    assert found["components"] == ["../deploy/kubelet/endpointslices", "../deploy/repair"]
    (image,) = found["images"]
    assert image == {"name": "stoker", "newName": "localhost:5000/stoker", "newTag": "v1"}
    (image,) = overlay(peer, Destination(image="a/b@sha256:ab"))["images"]
    assert image == {"name": "stoker", "newName": "a/b", "digest": "sha256:ab"}
    assert "images" not in overlay(peer)


def called(script: str, folder: Path) -> list[list[str]]:
    """What a shell would call, with the words of each call."""
    programs = "kubectl() { printf '%s\\0' kubectl \"$@\"; echo; }\nstoker() { :; }\n"
    programs += "command() { shift; printf '%s\\0' kubectl \"$@\"; echo; }\n"
    done = subprocess.run(
        ["sh", "-c", programs + script], capture_output=True, text=True, check=True, cwd=folder
    )
    return [line.rstrip("\0").split("\0")[1:] for line in done.stdout.splitlines()]


def test_one_operator_stops_before_the_other_starts(tmp_path: Path) -> None:
    """And back; with the cluster that was meant."""
    place = Destination(context="prod; rm -rf x")
    calls = called(move_script(PEER, flags_of(PEER), place, ["Probe"]), tmp_path)
    words = ["--context", "prod; rm -rf x"]
    assert all(each[:2] == words for each in calls)
    verbs = [next(word for word in each[2:] if word in VERBS) for each in calls]
    assert verbs == ["apply", "scale", "wait", "apply", "rollout"]
    assert "app=po,of=us" in calls[2]
    verbs = [
        next(word for word in each if word in VERBS)
        for each in called(back_script(PEER, NOWHERE), tmp_path)
    ]
    assert verbs == ["scale", "wait", "scale", "rollout"]
    assert "--replicas=1" in back_script(PEER, NOWHERE)


VERBS = ("apply", "scale", "wait", "rollout")


def test_definitions_that_a_webhook_converts_are_left_as_they_are() -> None:
    """Only those that are named are updated."""
    script = move_script(PEER, flags_of(PEER), NOWHERE, ["Probe", "PodMonitor"])
    assert "stoker crds probe podmonitor |" in script
    assert "stoker crds" not in move_script(PEER, flags_of(PEER), NOWHERE, [])
