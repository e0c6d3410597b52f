"""`stoker render -o`: a folder with one file for each object, and what is for reading."""

import os
import stat
from pathlib import Path

import pytest
import yaml

from stoker.__main__ import main
from stoker.offline.folder import LIST, safe_name
from tests.unit.test_render import RULE, WORKLOAD, monitor
from tests.unit.test_render_objects import AGENT, SERVER, Captured, server


def written(tmp_path: Path, text: str, *options: str) -> tuple[int, list[str]]:
    """Exit status, and the files in the folder afterwards."""
    (tmp_path / "all.yaml").write_text(text)
    out = tmp_path / "out"
    status = main(["render", str(tmp_path / "all.yaml"), "-o", str(out), "--quiet", *options])
    files = [str(path.relative_to(out)) for path in out.rglob("*") if path.is_file()]
    return status, sorted(files)


def test_each_object_is_a_file(tmp_path: Path, capsys: Captured) -> None:
    """Named after kind, namespace and name; configuration and rules lie beside, as text."""
    status, files = written(tmp_path, SERVER + monitor("cart") + RULE % ("good", "sum(up)"))
    assert status == 0
    assert capsys.readouterr().out == ""
    (rule,) = [name for name in files if "/rules/" in name]
    assert [name for name in files if name != rule] == [
        LIST,
        "configmap-monitoring-prometheus-main-rulefiles-0.yaml",
        "readable/prometheus-monitoring-main/prometheus.yaml",
        "secret-monitoring-prometheus-main-thanos-prometheus-http-client-file.yaml",
        "secret-monitoring-prometheus-main-tls-assets-0.yaml",
        "secret-monitoring-prometheus-main-web-config.yaml",
        "secret-monitoring-prometheus-main.yaml",
        "service-monitoring-prometheus-operated.yaml",
        "statefulset-monitoring-prometheus-main.yaml",
    ]
    out = tmp_path / "out"
    made = yaml.safe_load((out / "statefulset-monitoring-prometheus-main.yaml").read_text())
    assert made["kind"] == "StatefulSet"
    read = out / "readable/prometheus-monitoring-main/prometheus.yaml"
    assert "job_name: serviceMonitor/shop/cart/0" in read.read_text()
    assert rule.startswith("readable/prometheus-monitoring-main/rules/prometheus-main-rulefiles-0/")
    assert "expr: sum(up)" in (out / rule).read_text()


def test_only_the_user_can_read_the_files(tmp_path: Path) -> None:
    """They hold what Secrets hold."""
    written(tmp_path, SERVER)
    out = tmp_path / "out"
    for path in (out, *(each for each in out.rglob("*") if each.is_file())):
        assert not stat.S_IMODE(path.stat().st_mode) & 0o077


def test_a_second_run_leaves_nothing_of_the_first(tmp_path: Path) -> None:
    """What is not made any more is removed, empty folders too."""
    written(tmp_path, SERVER + AGENT)
    assert (tmp_path / "out/readable/prometheusagent-monitoring-nodes").is_dir()
    _, files = written(tmp_path, SERVER)
    assert not [name for name in files if "agent" in name]
    assert not (tmp_path / "out/readable/prometheusagent-monitoring-nodes").exists()
    assert (tmp_path / "out" / LIST).read_text().splitlines()[1:] == files[1:]
    assert written(tmp_path, SERVER) == (0, files)


def test_a_folder_with_other_files_is_left_alone(tmp_path: Path, capsys: Captured) -> None:
    """Whether or not there was a run before: nothing is written or removed."""
    out = tmp_path / "out"
    out.mkdir()
    (out / "notes.txt").write_text("mine")
    assert written(tmp_path, SERVER) == (2, ["notes.txt"])
    assert "`notes.txt` is not from an earlier run" in capsys.readouterr().err
    (out / "notes.txt").unlink()
    _, files = written(tmp_path, SERVER + AGENT)
    (out / "readable/notes.txt").write_text("mine")
    status, after = written(tmp_path, SERVER)
    assert (status, after) == (2, sorted([*files, "readable/notes.txt"]))


def test_a_list_cannot_remove_what_is_elsewhere(tmp_path: Path) -> None:
    """Nor does a link lead anywhere: it is replaced itself."""
    precious = tmp_path / "precious"
    precious.mkdir()
    (precious / "x.yaml").write_text("mine")
    out = tmp_path / "out"
    out.mkdir()
    os.symlink(precious, out / "readable")
    os.symlink(precious / "x.yaml", out / "statefulset-monitoring-prometheus-main.yaml")
    listed = "../precious/x.yaml\nreadable\nstatefulset-monitoring-prometheus-main.yaml\n"
    (out / LIST).write_text(listed)
    assert written(tmp_path, SERVER)[0] == 0
    assert (precious / "x.yaml").read_text() == "mine"
    assert [path.name for path in precious.iterdir()] == ["x.yaml"]
    assert not (out / "readable").is_symlink()


@pytest.mark.parametrize("name", ["../../../evil", "/etc/evil", "..", "UPPER", "a\\nb", "x" * 300])
def test_a_name_is_never_a_path(tmp_path: Path, name: str) -> None:
    """Whatever a workload or a rule is called, its files lie in the folder."""
    text = SERVER.replace("name: main", f'name: "{name}"', 1) + RULE % (f'"{name}"', "up")
    _, files = written(tmp_path, text)
    assert [path for path in tmp_path.iterdir() if path.name not in ("all.yaml", "out")] == []
    assert any(file.startswith("statefulset-monitoring-prometheus-") for file in files)
    assert all(file == file.lower() and ".." not in Path(file).parts for file in files)


def test_names_that_run_together_are_told_apart() -> None:
    """`a-b` and `c`, `a` and `b-c` are two objects, and two files."""
    first = safe_name(("secret", "a-b", "c"), ".yaml")
    second = safe_name(("secret", "a", "b-c"), ".yaml", {first})
    assert first == "secret-a-b-c.yaml"
    assert second.startswith("secret-a-b-c-")
    assert second.endswith(".yaml")
    assert safe_name(("A",)) != safe_name(("a",))


def test_nothing_is_touched_where_no_workload_is(tmp_path: Path) -> None:
    """A slip of the pen must not empty a folder."""
    _, files = written(tmp_path, SERVER)
    assert written(tmp_path, SERVER, "--workload", "nobody") == (2, files)


def test_configurations_alone_can_be_written(tmp_path: Path) -> None:
    """With --config-only; --unpack is for printing."""
    expected = [LIST, "readable/prometheus-monitoring-main/prometheus.yaml"]
    assert written(tmp_path, WORKLOAD, "--config-only") == (0, expected)
    assert written(tmp_path, WORKLOAD, "--unpack") == (2, expected)


def test_a_folder_that_cannot_be_made_is_told(tmp_path: Path, capsys: Captured) -> None:
    """In one line, without a traceback."""
    (tmp_path / "out").write_text("a file")
    (tmp_path / "all.yaml").write_text(server("main", "replicas: 1"))
    assert main(["render", str(tmp_path / "all.yaml"), "-o", str(tmp_path / "out/x")]) == 2
    assert "stoker render: " in capsys.readouterr().err
