"""The pod runner's volumes and variables, which must be what kubelet would make of the template."""

from __future__ import annotations

import base64
from pathlib import Path
from typing import Any

import pytest

from tools.pods.fields import environment, expanded
from tools.pods.images import OUR_IMAGE, Images
from tools.pods.volumes import Sources, Volumes, swap

Object = dict[str, Any]


def secret(**data: str) -> Object:
    """A Secret as it comes from the API."""
    packed = {key: base64.b64encode(text.encode()).decode() for key, text in data.items()}
    return {"type": "Opaque", "data": packed}


def volumes(tmp_path: Path, *declared: Object, node: str = "one") -> Volumes:
    """The volumes of a pod."""
    pod = {"metadata": {"name": "web-0"}, "spec": {"volumes": list(declared)}}
    return Volumes(pod, tmp_path / "pod", tmp_path / node)


def sources(**objects: Object) -> Sources:
    """Objects by name, of whichever kind."""
    return Sources(lambda _, name: objects.get(name), lambda audience: f"token for {audience}")


def test_a_change_replaces_all_files_at_once(tmp_path: Path) -> None:
    """Names are links through `..data`, and only that one link is ever replaced."""
    swap(tmp_path, {"a": b"1", "b": b"1"})
    link = (tmp_path / "a").lstat().st_ino
    swap(tmp_path, {"a": b"2", "c": b"2"})
    assert (tmp_path / "a").lstat().st_ino == link
    assert {each.name: each.read_text() for each in tmp_path.glob("[a-z]")} == {"a": "2", "c": "2"}
    entries = [each.name for each in tmp_path.iterdir() if each.name.startswith("..")]
    assert sorted(entries) == sorted(["..data", (tmp_path / "..data").readlink().name])


def test_an_unchanged_volume_is_left_alone(tmp_path: Path) -> None:
    """A reloader that watches the directory must not be woken for nothing."""
    made = volumes(tmp_path, {"name": "v", "secret": {"secretName": "s"}})
    made.refresh(sources(s=secret(a="1")))
    before = (made.path("v") / "..data").readlink()
    made.refresh(sources(s=secret(a="1")))
    assert (made.path("v") / "..data").readlink() == before


def test_items_choose_and_rename_keys(tmp_path: Path) -> None:
    """Only the named keys are there, at their paths."""
    items = [{"key": "a", "path": "deep/b"}]
    made = volumes(tmp_path, {"name": "v", "configMap": {"name": "c", "items": items}})
    assert made.refresh(sources(c={"data": {"a": "1", "z": "2"}})) == []
    assert (made.path("v") / "deep/b").read_text() == "1"
    assert not (made.path("v") / "z").exists()


def test_what_is_optional_may_be_missing_and_come_later(tmp_path: Path) -> None:
    """An optional ConfigMap is an empty directory until it exists, and after it is gone."""
    made = volumes(tmp_path, {"name": "v", "configMap": {"name": "c", "optional": True}})
    for objects, wanted in (({}, []), ({"c": {"data": {"a": "1"}}}, ["a"]), ({}, [])):
        assert made.refresh(sources(**objects)) == []
        assert [each.name for each in made.path("v").glob("[a-z]*")] == wanted


def test_what_is_missing_is_told_and_the_last_contents_stay(tmp_path: Path) -> None:
    """A Secret that is deleted under a running pod takes nothing from it."""
    made = volumes(tmp_path, {"name": "v", "secret": {"secretName": "s"}})
    assert made.refresh(sources()) == ["secret s does not exist"]
    assert made.refresh(sources(s=secret(a="1"))) == []
    assert made.refresh(sources()) == ["secret s does not exist"]
    assert (made.path("v") / "a").read_text() == "1"


def test_a_missing_key_is_told(tmp_path: Path) -> None:
    """An item that names no key of the object keeps the pod waiting."""
    items = [{"key": "b", "path": "b"}]
    made = volumes(tmp_path, {"name": "v", "secret": {"secretName": "s", "items": items}})
    assert made.refresh(sources(s=secret(a="1"))) == ["secret s has no b"]


def test_a_projected_volume_has_the_files_of_all_its_sources(tmp_path: Path) -> None:
    """Objects, the pod's own fields and tokens come together in one directory."""
    field = {"path": "pod", "fieldRef": {"fieldPath": "metadata.name"}}
    listed = [
        {"secret": {"name": "s"}},
        {"configMap": {"name": "c", "items": [{"key": "k", "path": "d/k"}]}},
        {"downwardAPI": {"items": [field]}},
        {"serviceAccountToken": {"path": "token", "audience": "them"}},
    ]
    made = volumes(tmp_path, {"name": "v", "projected": {"sources": listed}})
    assert made.refresh(sources(s=secret(a="1"), c={"data": {"k": "2"}})) == []
    path = made.path("v")
    names = ("a", "d/k", "pod", "token")
    assert [(path / name).read_text() for name in names] == ["1", "2", "web-0", "token for them"]


def test_host_paths_are_per_node_and_empty_directories_per_pod(tmp_path: Path) -> None:
    """Two nodes have different disks; none leads out of its own directory."""
    declared = ({"name": "h", "hostPath": {"path": "/var/../../x"}}, {"name": "e", "emptyDir": {}})
    one, two = (volumes(tmp_path, *declared, node=node) for node in ("one", "two"))
    assert one.refresh(sources()) == two.refresh(sources()) == []
    assert (one.path("h"), two.path("h")) == (tmp_path / "one/x", tmp_path / "two/x")
    assert one.path("e") == tmp_path / "pod/e"


def test_a_sub_path_is_a_directory_that_is_made_or_a_file_that_is_there(tmp_path: Path) -> None:
    """A file is shown as it is now, also after its volume has changed."""
    declared = ({"name": "e", "emptyDir": {}}, {"name": "s", "secret": {"secretName": "s"}})
    made = volumes(tmp_path, *declared)
    made.refresh(sources(s=secret(a="1")))
    assert made.mounted("e", "data/own") == tmp_path / "pod/e/data/own"
    assert made.mounted("e", "../../out").is_relative_to(tmp_path / "pod/e")
    assert made.mounted("s", "a").read_text() == "1"
    assert not made.mounted("s", "a").is_symlink()


def test_a_volume_of_an_unknown_kind_is_told(tmp_path: Path) -> None:
    """A pod with a claim waits, and says for what."""
    made = volumes(tmp_path, {"name": "v", "persistentVolumeClaim": {"claimName": "c"}})
    assert made.refresh(sources()) == ["volume v: persistentVolumeClaim does not exist here"]


def test_variables_come_from_values_fields_and_keys() -> None:
    """Values may refer to variables before them; an optional key that is absent sets nothing."""
    pod = {
        "metadata": {"name": "web-0", "labels": {"app.kubernetes.io/name": "web"}},
        "spec": {"nodeName": "node-1"},
        "status": {"podIP": "10.0.0.1"},
    }
    fields = {
        "POD": "metadata.name",
        "NODE": "spec.nodeName",
        "IP": "status.podIP",
        "APP": "metadata.labels['app.kubernetes.io/name']",
        "NONE": "metadata.annotations['x']",
    }
    env: list[Object] = [
        {"name": name, "valueFrom": {"fieldRef": {"fieldPath": path}}}
        for name, path in fields.items()
    ]
    env.append({"name": "BOTH", "value": "$(POD) on $(NODE), $(LATER), $$(POD)"})
    env.append({"name": "LATER", "value": "x"})
    env.append({"name": "KEY", "valueFrom": {"secretKeyRef": {"name": "s", "key": "a"}}})
    env.append({"name": "NO", "valueFrom": {"configMapKeyRef": {"name": "c", "key": "a"}}})
    made = environment({"env": env}, pod, lambda kind, _: "1" if kind == "secret" else None)
    assert made == {
        "POD": "web-0",
        "NODE": "node-1",
        "IP": "10.0.0.1",
        "APP": "web",
        "NONE": "",
        "BOTH": "web-0 on node-1, $(LATER), $(POD)",
        "LATER": "x",
        "KEY": "1",
    }


def test_arguments_are_expanded_as_kubelet_does_it() -> None:
    """Unknown names and lone dollar signs stay as they are."""
    assert expanded("a$ $(A) $(B) $$(A) $$", {"A": "1"}) == "a$ 1 $(B) $(A) $"


@pytest.mark.parametrize(
    ("reference", "program"),
    [
        ("quay.io/prometheus-operator/prometheus-config-reloader:v1", "prometheus-config-reloader"),
        ("localhost:5000/stoker@sha256:00", "ours"),
        (OUR_IMAGE, "ours"),
        ("quay.io/prometheus/prometheus:v3.15.0", "prometheus"),
        ("quay.io/thanos/thanos:v0.40.0", None),
        ("quay.io/prometheus/busybox", None),
    ],
)
def test_images_are_known_by_their_last_name(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, reference: str, program: str | None
) -> None:
    """Registries, ports, tags and digests do not matter, and others' images are not run.

    Both reloaders are at the path that templates name; which one it is depends on the image.
    """
    for name in ("prometheus", "prometheus-config-reloader"):
        (tmp_path / name).touch(mode=0o755)
    monkeypatch.setenv("KUBEBUILDER_ASSETS", str(tmp_path))
    found = Images(tmp_path).find(reference)
    if found is None:
        assert program is None
    elif program == "ours":
        assert found.entrypoint == "/bin/prometheus-config-reloader"
        assert "stoker.reloader" in found.files[found.entrypoint].read_text()
    else:
        assert found.entrypoint == f"/bin/{program}"
        assert found.files[found.entrypoint] == tmp_path / str(program)
