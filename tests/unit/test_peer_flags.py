"""prometheus-operator as it is installed: how its Deployment is found, and what its flags mean."""

from typing import Any

import pytest

from stoker.cli.peer_flags import FlagState, PeerFlags, flags_of
from stoker.cluster.takeover.peer import PeerOperator, peer_operators

Object = dict[str, Any]
IMAGE = "quay.io/prometheus-operator/prometheus-operator:v0.94.1"


def deployment(*arguments: str, name: str = "prometheus-operator", **members: Any) -> Object:
    """A Deployment of one container."""
    container = {"name": name, "image": IMAGE, "args": list(arguments)} | members
    pod = {"spec": {"serviceAccountName": "watcher", "containers": [container]}}
    return {
        "kind": "Deployment",
        "metadata": {"namespace": "monitoring", "name": "operator"},
        "spec": {"replicas": 2, "selector": {"matchLabels": {"app": "po"}}, "template": pod},
    }


def peer(*arguments: str, **members: Any) -> PeerOperator:
    """The operator of such a Deployment."""
    (found,) = peer_operators([deployment(*arguments, **members)])
    return found


def told(flags: PeerFlags) -> dict[str, FlagState]:
    """What each flag is taken for."""
    return {each.name: each.state for each in flags.flags}


@pytest.mark.parametrize(
    "members",
    [
        {"image": IMAGE, "name": "x"},
        {"image": "localhost:5000/mirror/prometheus-operator@sha256:ab", "name": "x"},
        {"image": "example.org/po", "name": "prometheus-operator"},
        {"image": "example.org/po", "name": "x", "args": ["--kubelet-service=kube-system/k"]},
        {"image": "example.org/po", "name": "x", "command": ["/po", "-kubelet-service", "a/b"]},
    ],
)
def test_an_operator_is_known_by_its_image_its_container_or_its_flags(members: Object) -> None:
    """Whatever its Deployment is called."""
    found = peer(**members)
    assert (found.title, found.account) == ("monitoring/operator", "monitoring/watcher")
    assert (found.replicas, found.pods) == (2, {"app": "po"})


@pytest.mark.parametrize(
    "members",
    [
        {"image": "example.org/stoker", "args": ["operator", "--kubelet-service=a/b"]},
        {"image": "example.org/stoker", "command": ["stoker", "operator"], "args": ["--labels=a"]},
        {"image": "quay.io/prometheus-operator/admission-webhook:v0.94.1"},
        {"image": "quay.io/brancz/kube-rbac-proxy:v0.22.1", "args": ["--upstream=x"]},
    ],
)
def test_our_operator_and_what_stands_beside_theirs_are_none(members: Object) -> None:
    """Ours has the same flags; proxies and webhooks have others."""
    assert not list(peer_operators([deployment(**{"name": "x"} | members)]))


@pytest.mark.parametrize(
    ("image", "version"),
    [
        (IMAGE, "0.94.1"),
        ("example.org/po:v0.93.0-rc.1@sha256:ab", "0.93.0-rc.1"),
        ("localhost:5000/prometheus-operator", ""),
        ("example.org/prometheus-operator:main", ""),
    ],
)
def test_its_version_is_that_of_its_image(image: str, version: str) -> None:
    """Where a tag says it."""
    assert peer(image=image).version == version


def test_variables_of_the_environment_are_filled_in_as_kubernetes_does() -> None:
    """Values, other variables, the namespace; what is not there stays, and is known as such."""
    env = [
        {"name": "GOGC", "value": "30"},
        {"name": "TEAM", "value": "shop"},
        {"name": "BOTH", "value": "$(TEAM),$(TEAM)-test"},
        {"name": "OWN", "valueFrom": {"fieldRef": {"fieldPath": "metadata.namespace"}}},
        {"name": "HIDDEN", "valueFrom": {"secretKeyRef": {"name": "a", "key": "b"}}},
    ]
    words = ("--namespaces=$(BOTH)", "--controller-id=$(OWN)", "--labels=a=$$(TEAM)")
    found = peer(*words, "--cluster-domain=$(HIDDEN)", "--as=$(NOWHERE)", env=env)
    assert found.arguments == (
        "--namespaces=shop,shop-test",
        "--controller-id=monitoring",
        "--labels=a=$(TEAM)",
        "--cluster-domain=$(HIDDEN)",
        "--as=$(NOWHERE)",
    )
    assert found.unresolved == {"HIDDEN", "NOWHERE"}
    assert found.environment == ("GOGC", "TEAM")


def test_every_flag_is_told_for_what_it_is() -> None:
    """One that we do not know keeps no other from being read."""
    words = ("-log-level", "debug", "--web.enable-http2", "--brand-new", "--labels=a=b", "stray")
    flags = flags_of(peer(*words, "--workers=many", "--newer", "value"))
    assert told(flags) == {
        "log-level": FlagState.UNDERSTOOD,
        "web.enable-http2": FlagState.IDLE,
        "brand-new": FlagState.UNKNOWN,
        "labels": FlagState.UNDERSTOOD,
        "stray": FlagState.UNKNOWN,
        "workers": FlagState.REFUSED,
        "newer": FlagState.UNKNOWN,
    }
    assert flags.settings.objects.labels == {"a": "b"}
    assert len(flags.doubts) == 4
    assert flags.to_pass == ("--log-level=debug", "--labels=a=b")


def test_what_the_deployment_does_not_tell_can_be_told_by_hand() -> None:
    """The word of whoever asks counts, and only that one."""
    hidden = [{"name": "A", "valueFrom": {"configMapKeyRef": {"name": "a", "key": "b"}}}]
    asked = peer("--namespaces=$(A)", "--controller-id=x", env=hidden)
    assert told(flags_of(asked))["namespaces"] is FlagState.UNCLEAR
    flags = flags_of(asked, ["namespaces=shop"])
    assert flags.doubts == ()
    assert flags.settings.namespaces.allowed == ("shop",)
    assert flags.settings.controller_id == "x"


def test_settings_that_contradict_each_other_are_a_doubt() -> None:
    """What such an operator makes cannot be told."""
    flags = flags_of(peer("--namespaces=a", "--deny-namespaces=a"))
    assert len(flags.doubts) == 1


def test_flags_of_the_process_are_not_passed_on() -> None:
    """Our manifests have their own; one that names a file is told apart."""
    words = ("--web.cert-file=/cert/tls.crt", "--apiserver=https://x", "--localhost=127.0.0.1")
    flags = flags_of(peer(*words))
    assert flags.to_pass == ("--localhost=127.0.0.1",)
    assert "names a file" in next(e.note for e in flags.flags if e.name == "web.cert-file")


def test_an_operator_of_another_version_has_another_reloader() -> None:
    """Its pods have that image, and keep it if it is passed on."""
    older = flags_of(peer(image=IMAGE.replace("94.1", "80.0")))
    image = "quay.io/prometheus-operator/prometheus-config-reloader:v0.80.0"
    assert older.to_pass == (f"--prometheus-config-reloader={image}",)
    assert "older than v0.94.1" in older.notes[0]
    assert "newer than v0.94.1" in flags_of(peer(image=IMAGE.replace("94", "99"))).notes[0]
    assert "not known" in flags_of(peer(image="prometheus-operator")).notes[0]
    assert flags_of(peer()).to_pass == ()
    assert flags_of(peer("--prometheus-config-reloader=x")).settings.objects.reloader.image == "x"
