"""Other versions of Kubernetes and of Python, as far as nothing is built for them."""

from __future__ import annotations

import re
import shutil
from importlib import metadata
from pathlib import Path

import pytest

from stoker import __version__
from tools import golang, kubernetes, lock, matrix, pythons
from tools.build import BuildError

THEIRS = """
go 1.20

require (
	k8s.io/api v0.0.0
	k8s.io/klog/v2 v2.100.1
	k8s.io/kms v0.0.0 // indirect
)

replace (
	k8s.io/api => ./staging/src/k8s.io/api
	k8s.io/kms => ./staging/src/k8s.io/kms
	k8s.io/sample-controller => ./staging/src/k8s.io/sample-controller
)
"""


def test_the_parts_of_a_release_are_modules_and_no_folders() -> None:
    """What is required and what it is replaced by have the version that was released of them."""
    ours = kubernetes.go_mod(THEIRS, "v0.28.15")
    assert "./staging" not in ours
    assert "v0.0.0" not in ours
    assert "\tk8s.io/api v0.28.15\n" in ours
    assert "k8s.io/kms => k8s.io/kms v0.28.15\n" in ours
    assert "k8s.io/klog/v2 v2.100.1\n" in ours


def test_every_older_version_is_pinned_once_and_in_order() -> None:
    """One for each minor version, from the oldest that we try to the one before the newest."""
    minors = [golang.version(version)[1] for version in kubernetes.pinned()]
    newest = golang.version(matrix.NEWEST)[1]
    assert minors == list(range(26, newest))
    for checksum in kubernetes.pinned().values():
        assert re.fullmatch(r"[0-9a-f]{64}", checksum)


def test_a_program_says_its_version_wherever_it_is_asked() -> None:
    """Old API servers answer clients with what another package has than for `--version`."""
    recipe = kubernetes._recipe("v1.28.15", "kube-apiserver", Path())
    for package in ("component-base", "client-go/pkg"):
        assert f"-X k8s.io/{package}/version.gitVersion=v1.28.15" in recipe.ldflags


def test_named_by_nobody_as_many_versions_are_tried_as_cost_little(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The oldest, the newest, and what is built; or those that are named, or all."""
    monkeypatch.setenv("STOKER_CACHE", str(tmp_path))
    oldest, second, third, *_ = kubernetes.pinned()
    assert matrix.versions([]) == [oldest, matrix.NEWEST]
    kubernetes.folder(third).mkdir()
    for name in kubernetes.PROGRAMS:
        (kubernetes.folder(third) / name).touch()
    assert matrix.versions([]) == [oldest, third, matrix.NEWEST]
    assert kubernetes.built(third) == kubernetes.folder(third)
    assert matrix.versions([matrix.NEWEST, second]) == [second, matrix.NEWEST]
    assert matrix.versions(["all"]) == [*kubernetes.pinned(), matrix.NEWEST]
    with pytest.raises(BuildError, match=r"unknown: v1\.2\.3 \(known: v1\.26"):
        matrix.versions(["v1.2.3"])


def test_the_core_is_made_of_files_that_there_are() -> None:
    """A renamed file would be left out otherwise."""
    for name in matrix.CORE:
        assert (matrix.ROOT / "tests" / "live" / f"test_{name}.py").exists(), name


def test_another_python_knows_what_is_installed(tmp_path: Path) -> None:
    """Name, version and page, whatever stands in that page."""
    pythons.describe(tmp_path)
    [there] = metadata.distributions(path=[str(tmp_path)])
    assert (there.name, there.version) == ("stoker", __version__)
    assert there.read_text("METADATA") == metadata.distribution("stoker").read_text("METADATA")


def test_what_enters_another_debian_is_found_there() -> None:
    """Some of it is for administrators, so it is not where other programs are."""
    for name in ("sh", "mount", "chroot", "env"):
        assert shutil.which(name, path=pythons.ENVIRONMENT["PATH"]), name


def test_a_dry_run_of_the_lock_says_what_changes() -> None:
    """Versions that are newer, packages that come, and such as go."""
    before = "a==1.0 \\\n    --hash=sha256:x\nb==1.0\nc==2\n"
    after = "a==1.1 \\\n    --hash=sha256:y\nc==2\nd==1\n"
    assert lock.newer(before, after) == ["a: 1.0 → 1.1", "b: 1.0 → none", "d: none → 1"]
    assert lock.newer(before, before) == []
