"""A release: made twice, checked, and installed from dist/ alone by what the install page says.

Needs the package index, and a control plane.
"""

from __future__ import annotations

import json
import os
import re
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from stoker import __version__
from tests.live.installing import NAMESPACE, until_found
from tests.live.test_install import works
from tests.live.test_operator_access import Site
from tools import build
from tools.cluster import Cluster

ROOT = Path(__file__).parents[2]
PAGE = (ROOT / "docs/install.md").read_text()
SIGNER = "releases@example.org"


def blocks(heading: str) -> list[str]:
    """The commands below a heading of the install page, block by block."""
    [section] = re.findall(rf"^## {heading}\n(.*?)(?=^## |\Z)", PAGE, re.MULTILINE | re.DOTALL)
    return re.findall(r"^```sh\n(.*?)^```$", section, re.MULTILINE | re.DOTALL)


def made(folder: Path, *options: str, **environment: str) -> Path:
    """A release in a folder, the tree left alone."""
    command = [sys.executable, "-m", "tools.release", __version__, "--dry-run", "-o", str(folder)]
    subprocess.run(
        [*command, *options],
        cwd=ROOT,
        env=os.environ | environment,
        check=True,
        capture_output=True,
    )
    return folder


@pytest.fixture(scope="module")
def dist(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A signed release, with nothing around it but the key of who signed it."""
    folder = tmp_path_factory.mktemp("release")
    key = folder / "key"
    subprocess.run(["ssh-keygen", "-q", "-t", "ed25519", "-N", "", "-f", key], check=True)
    where = made(folder / "dist", "--key", str(key))
    public = key.with_suffix(".pub").read_text()
    (where / "allowed_signers").write_text(f'{SIGNER} namespaces="stoker-release" {public}')
    return where


@pytest.fixture(scope="module")
def site() -> Iterator[Site]:
    """A cluster with nothing in it."""
    with Cluster.start(nodes=2) as cluster:
        yield Site(cluster, cluster.url)


class Shell:
    """A shell in the folder of a release, whose user has kubectl, Helm and a cluster."""

    def __init__(self, folder: Path, home: Path, cluster: Cluster | None = None) -> None:
        self._folder, self._cluster = folder, cluster
        tools = build.binaries("kubectl", "helm")
        for name, path in tools.items():
            if not (home / name).exists():
                (home / name).symlink_to(path)
        places = [folder / ".venv" / "bin", home, Path(sys.executable).parent]
        self._environment = os.environ | {
            "PATH": os.pathsep.join([*map(str, places), os.environ["PATH"]]),
            "KUBECONFIG": str(cluster.kubeconfig if cluster else os.devnull),
            "PIP_DISABLE_PIP_VERSION_CHECK": "1",
            **{f"HELM_{name}_HOME": str(home) for name in ("CACHE", "CONFIG", "DATA")},
        }

    def types(self, block: str) -> None:
        """Each line of a block; after definitions, wait until the API server serves them."""
        for line in block.strip().splitlines():
            command = ["bash", "-o", "pipefail", "-ec", line]
            answer = subprocess.run(
                command,
                cwd=self._folder,
                env=self._environment,
                capture_output=True,
                text=True,
                check=False,
            )
            assert answer.returncode == 0, f"{line}\n{answer.stdout}{answer.stderr}"
            if self._cluster and re.search(r"install .*stoker-crds|crds \| kubectl apply", line):
                until_found(self._cluster)


@pytest.fixture(scope="module")
def unpacked(dist: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The release as the page has it unpacked; the commands come from its wheel."""
    Shell(dist, tmp_path_factory.mktemp("home")).types(blocks("From a release")[1])
    said = subprocess.run(
        [dist / ".venv/bin/stoker", "--version"], check=True, capture_output=True, text=True
    )
    assert said.stdout == f"stoker {__version__}\n"
    return dist


def test_it_is_the_same_each_time(dist: Path, tmp_path: Path) -> None:
    """In another time zone, for somebody with another umask, without a key."""
    before = os.umask(0o077)
    try:
        again = made(tmp_path / "dist", TZ="Asia/Tokyo", LC_ALL="C")
    finally:
        os.umask(before)
    assert len(list(again.iterdir())) == 14
    assert (again / "SHA256SUMS").read_bytes() == (dist / "SHA256SUMS").read_bytes()


def test_it_can_be_checked(dist: Path, tmp_path: Path) -> None:
    """By the two commands of the page; a changed file or another signer is found."""
    shell = Shell(dist, tmp_path)
    shell.types(blocks("From a release")[0])
    notes = dist / f"stoker-{__version__}-notes.md"
    before = notes.read_bytes()
    notes.write_bytes(before + b"\n")
    with pytest.raises(AssertionError, match=r"notes\.md: FAILED"):
        shell.types(blocks("From a release")[0])
    notes.write_bytes(before)
    sums = (dist / "SHA256SUMS").read_bytes()
    (dist / "SHA256SUMS").write_bytes(sums.replace(b"  stoker", b" *stoker", 1))
    with pytest.raises(AssertionError, match="incorrect signature"):
        shell.types(blocks("From a release")[0])
    (dist / "SHA256SUMS").write_bytes(sums)


def test_the_page_is_true_of_helm(unpacked: Path, site: Site, tmp_path: Path) -> None:
    """Installed, at work with the rights of the chart, upgraded, gone."""
    shell = Shell(unpacked, tmp_path, site.cluster)
    shell.types(blocks("With Helm")[0])
    _is_at_work(site, unpacked, "helm")
    shell.types(blocks("Upgrade")[0])
    shell.types(blocks("Uninstall")[0])
    assert _definitions(site)


def test_the_page_is_true_of_kustomize(unpacked: Path, site: Site, tmp_path: Path) -> None:
    """The same with `deploy/`; at the end the definitions go, too."""
    shell = Shell(unpacked, tmp_path, site.cluster)
    shell.types(blocks("With kustomize")[0])
    _is_at_work(site, unpacked, "kustomize")
    shell.types(blocks("Upgrade")[1])
    shell.types(blocks("Uninstall")[1])
    shell.types(blocks("Uninstall")[2])
    site.cluster.until("no definitions", lambda: not _definitions(site))
    short = unpacked / f"stoker-definitions-short-{__version__}.yaml"
    site.cluster.kubectl("apply", "-f", str(short))
    until_found(site.cluster)


def _is_at_work(site: Site, folder: Path, namespace: str) -> None:
    """An operator from the wheel, with the arguments and the rights of what was installed."""
    words = ("get", "deployment", "stoker-operator", "--namespace", NAMESPACE, "-o", "json")
    deployment = json.loads(site.cluster.kubectl(*words).stdout)
    name, *flags = deployment["spec"]["template"]["spec"]["containers"][0]["args"]
    assert name == "operator"
    site.until_may("watch", "prometheuses", "monitoring.coreos.com")
    site.until_may("watch", "nodes", "")
    world = site.world(namespace)
    program = (str(folder / ".venv/bin/stoker"),)
    with site.started(*flags, program=program) as operator:
        works(world, operator)


def _definitions(site: Site) -> list[str]:
    path = "/apis/apiextensions.k8s.io/v1/customresourcedefinitions"
    return [each["metadata"]["name"] for each in site.cluster.api.get(path)["items"]]
