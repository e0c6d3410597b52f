"""A directory as a cluster: what is taken of odd manifests, and what is said of the rest."""

import base64
import gzip
from pathlib import Path

import pytest

from stoker.__main__ import main
from stoker.offline.manifests import read
from stoker.offline.watched import Folder
from stoker.offline.world import World, world_of
from stoker.ref import Ref
from stoker.select.assets import CONFIG_MAP, SECRET, Missing, Source

Output = pytest.CaptureFixture[str]

WORKLOAD = """
apiVersion: monitoring.coreos.com/v1
kind: Prometheus
metadata: {name: main, namespace: shop}
spec: {serviceMonitorSelector: {}, serviceAccountName: prometheus}
"""
MONITOR = """
---
apiVersion: monitoring.coreos.com/v1
kind: ServiceMonitor
metadata: {name: cart, namespace: shop}
spec: {selector: {}, endpoints: [{port: %s}]}
"""


def world(folder: Path, text: str) -> World:
    """What a file describes."""
    (folder / "all.yaml").write_text(text)
    return world_of(read([str(folder)]))


MISSHAPEN = {
    "no metadata": "kind: %s",
    "a word for metadata": "{kind: %s, metadata: nobody}",
    "a list of labels": "{kind: %s, metadata: {name: a, labels: [b]}}",
    "numbers for names": "{kind: %s, metadata: {name: 1, namespace: 2}}",
    "a word for data": "{kind: %s, metadata: {name: a}, data: text, spec: text, rules: text}",
    "a list of strings": "{kind: %s, metadata: {name: a}, stringData: [b], subjects: [c]}",
}


@pytest.mark.parametrize("case", MISSHAPEN)
@pytest.mark.parametrize(
    "kind",
    ["v1 Service", "v1 Pod", "v1 Namespace", "v1 Secret", "v1 ConfigMap", "apps/v1 Deployment"],
)
def test_a_misshapen_object_costs_nobody_an_answer(
    case: str, kind: str, tmp_path: Path, capsys: Output
) -> None:
    """Every command reads on; what is about the object alone."""
    version, _, name = kind.partition(" ")
    shape = MISSHAPEN[case] % name
    odd = (
        f"{shape[:-1]}, apiVersion: {version}}}"
        if "{" in shape
        else f"{shape}\napiVersion: {version}"
    )
    (tmp_path / "all.yaml").write_text(f"{WORKLOAD}{MONITOR % 'web'}---\n{odd}\n")
    assert main(["render", "--quiet", str(tmp_path)]) in (0, 1)
    assert main(["explain", "servicemonitor", "shop/cart", "--from", str(tmp_path)]) in (0, 1)
    assert main(["diff", "--from", str(tmp_path), str(tmp_path)]) in (0, 2)
    assert "used  Prometheus shop/main" in capsys.readouterr().out


def test_a_workload_that_cannot_be_named_is_no_workload(tmp_path: Path, capsys: Output) -> None:
    """As on a cluster; no objects are made whose names end in nothing."""
    for metadata in ("{namespace: shop}", "{generateName: main-}", "{name: null}", "null"):
        text = WORKLOAD.replace("{name: main, namespace: shop}", metadata)
        found = world(tmp_path, text)
        assert found.workloads == []
        assert "metadata" in found.refused[0].reasons[0]
        assert main(["render", str(tmp_path)]) == 2
    assert "None" not in capsys.readouterr().out


def test_an_empty_namespace_is_the_default_one(tmp_path: Path) -> None:
    """As for an API server, and as templates write it when a value is not set."""
    for namespace in ('""', "null"):
        text = (WORKLOAD + MONITOR % "web").replace("shop", namespace)
        found = world(
            tmp_path, text + "---\n{apiVersion: v1, kind: ConfigMap, metadata: {name: a}}"
        )
        metadata = [each.metadata for each in (*found.workloads, *found.resources)]
        assert [each.namespace for each in metadata] == ["default", "default"]
        assert Ref(CONFIG_MAP, "default", "a") in found.contents


def test_a_secret_may_hold_what_is_no_text(tmp_path: Path) -> None:
    """Keystores and compressed files are well; nothing but a configuration cannot use them."""
    packed = base64.b64encode(gzip.compress(b"x" * 99)).decode()
    lines = "\n    ".join(base64.encodebytes(b"word" * 40).decode().splitlines())
    text = (
        "apiVersion: v1\nkind: Secret\nmetadata: {name: keys, namespace: shop}\n"
        f"data:\n  packed: {packed}\n  long: |\n    {lines}\n"
    )
    found = world(tmp_path, text)
    assert found.refused == []
    assert found.assets.value(Source(SECRET, "shop", "keys", "long")) == "word" * 40
    assert isinstance(found.assets.value(Source(SECRET, "shop", "keys", "packed")), Missing)
    assert isinstance(found.assets.all_of(Ref(SECRET, "shop", "keys"))["packed"], bytes)


def test_what_render_writes_can_be_read_again(tmp_path: Path) -> None:
    """Its Secrets hold compressed configurations."""
    (tmp_path / "all.yaml").write_text(WORKLOAD + MONITOR % "web")
    assert main(["render", "--quiet", str(tmp_path), "-o", str(tmp_path / "out")]) == 0
    assert world_of(read([str(tmp_path)])).refused == []


def test_of_an_object_that_is_there_twice_all_take_the_last(tmp_path: Path, capsys: Output) -> None:
    """`render`, `explain` and `diff` agree, as `kubectl apply` would have it, and say so."""
    (tmp_path / "b.yaml").write_text(WORKLOAD.replace("e: prometheus}", "e: last}"))
    (tmp_path / "all.yaml").write_text(WORKLOAD + MONITOR % "first" + MONITOR % "second")
    told = "ServiceMonitor shop/cart: there are 2 manifests of it; the last one counts"
    assert main(["render", str(tmp_path)]) == 0
    answer = capsys.readouterr()
    assert answer.out.count("kind: StatefulSet") == 1
    assert "serviceAccountName: last" in answer.out
    assert told in answer.err
    assert main(["explain", "servicemonitor", "shop/cart", "--job", "--from", str(tmp_path)]) == 0
    answer = capsys.readouterr()
    assert told in answer.out
    assert ("regex: second" in answer.out, "regex: first" in answer.out) == (True, False)
    assert main(["diff", "--from", str(tmp_path), str(tmp_path)]) == 0
    assert told in capsys.readouterr().err


def test_services_that_are_there_twice_are_counted_once(tmp_path: Path) -> None:
    """The same Service in two files has its pods once; those without a name are each another."""
    service = "---\n{apiVersion: v1, kind: Service, metadata: {name: cart, namespace: shop}}\n"
    pod = "---\n{apiVersion: v1, kind: Pod, metadata: {generateName: a-, namespace: shop}}\n"
    kinds = [type(each).__name__ for each in world(tmp_path, (service + pod) * 2).surroundings]
    assert sorted(kinds) == ["Pod", "Pod", "Service"]


@pytest.mark.parametrize(
    ("version", "kind", "said"),
    [
        ("monitoring.coreos.com/v1beta1", "ServiceMonitor", "it is served as"),
        ("monitoring.coreos.com/v1", "Servicemonitor", "did you mean `ServiceMonitor`?"),
    ],
)
def test_a_version_or_kind_that_does_not_exist_is_told(
    version: str, kind: str, said: str, tmp_path: Path, capsys: Output
) -> None:
    """An object of our group is never passed over in silence."""
    odd = (MONITOR % "web").replace("ServiceMonitor", kind)
    (tmp_path / "all.yaml").write_text(WORKLOAD + odd.replace("monitoring.coreos.com/v1", version))
    assert main(["render", str(tmp_path)]) == 1
    assert said in capsys.readouterr().err


@pytest.mark.parametrize("command", ["render", "status", "lint"])
@pytest.mark.parametrize(
    ("name", "said"),
    [
        ("name: no", "metadata.name: expected a string, got `false`; quote it"),
        ("name: 12", "metadata.name: expected a string, got `12`; quote it"),
        ("labels: {}", "metadata.name: an object needs a `name` or a `generateName`"),
    ],
    ids=["no", "number", "none"],
)
def test_what_is_wrong_with_a_name_is_told_alike(
    command: str, name: str, said: str, tmp_path: Path, capsys: Output
) -> None:
    """YAML reads some names as something else, and whoever wrote them did not leave them out."""
    written = (MONITOR % "web").replace("name: cart", name, 1)
    assert name in written
    (tmp_path / "all.yaml").write_text(WORKLOAD + written)
    words = ["-f", str(tmp_path)] if command == "status" else [str(tmp_path)]
    assert main([command, *words]) == 1
    told = capsys.readouterr()
    assert said in told.out + told.err


@pytest.mark.parametrize("command", ["render", "status"])
def test_a_name_that_an_api_server_makes_up_is_missing_in_a_folder(
    command: str, tmp_path: Path, capsys: Output
) -> None:
    """It is right, so lint says nothing; and nothing can be made of it without a name."""
    written = (MONITOR % "web").replace("name: cart", "generateName: cart-", 1)
    (tmp_path / "all.yaml").write_text(WORKLOAD + written)
    words = ["-f", str(tmp_path)] if command == "status" else [str(tmp_path)]
    assert main([command, *words]) == 1
    told = capsys.readouterr()
    assert "metadata.name: required, but missing" in told.out + told.err


def test_explain_names_the_file_that_cannot_be_read(tmp_path: Path, capsys: Output) -> None:
    """What is asked for may be in it, so nobody is told just that it does not exist."""
    (tmp_path / "broken.yaml").write_text("a: [")
    for path in (str(tmp_path), str(tmp_path / "nowhere")):
        assert main(["explain", "servicemonitor", "shop/cart", "--from", path]) == 2
        assert "cannot be read: " in capsys.readouterr().err


def test_a_file_name_in_another_encoding_is_no_fault_of_the_page(tmp_path: Path) -> None:
    """The problem is told with a name that JSON can carry."""
    (tmp_path / "caf\udce9.yaml").write_text("a: [")
    folder = Folder(str(tmp_path))
    folder.look()
    _, (problem,) = folder.world()
    assert problem.source.encode() == "caf\N{REPLACEMENT CHARACTER}.yaml:1".encode()


def test_what_is_excluded_is_not_on_the_page(tmp_path: Path) -> None:
    """As with the commands that read manifests once; also where it comes later."""
    folder = Folder(str(tmp_path), ["*-draft.yaml"])
    (tmp_path / "cart-draft.yaml").write_text("a: [")
    folder.look()
    (tmp_path / "web-draft.yaml").write_text("a: [")
    assert not folder.look()
    assert folder.world()[1] == ()
