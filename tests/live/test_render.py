"""What `stoker render` prints is taken by a real API server."""

import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest
import yaml

from tools.cluster import Cluster

EXAMPLE = Path(__file__).parents[2] / "example"
_DRY_RUN = ("apply", "--dry-run=server", "--output=name", "-f")


def rendered(*options: str) -> str:
    """The output of the real command on our example, which has mistakes in it."""
    command = [sys.executable, "-m", "stoker", "render", str(EXAMPLE), "--quiet", *options]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    assert done.returncode == 1, done.stderr
    return done.stdout


@pytest.fixture(scope="module")
def shop(crds: Cluster) -> Iterator[Cluster]:
    """The cluster with the namespaces of the example, for this file."""
    namespaces = str(EXAMPLE / "namespaces.yaml")
    crds.kubectl("apply", "-f", namespaces)
    yield crds
    crds.kubectl("delete", "--wait=false", "-f", namespaces)


def test_an_api_server_takes_every_object_of_the_example(shop: Cluster, tmp_path: Path) -> None:
    """From a pipe, and from a folder, in which what is for reading is passed over."""
    text = rendered()
    expected = sorted(
        f"{each['kind'].lower()}/{each['metadata']['name']}" for each in yaml.safe_load_all(text)
    )
    assert "statefulset/prometheus-main" in expected
    assert "daemonset/prom-agent-nodes" in expected
    taken = shop.kubectl(*_DRY_RUN, "-", input=text).stdout.replace(".apps/", "/").split()
    assert sorted(taken) == expected
    rendered("-o", str(tmp_path / "out"))
    taken = shop.kubectl(*_DRY_RUN, str(tmp_path / "out")).stdout.replace(".apps/", "/").split()
    assert sorted(taken) == expected


def test_kubectl_refuses_what_is_for_reading(shop: Cluster) -> None:
    """A Secret that was unpacked would leave pods without a configuration."""
    done = shop.kubectl(*_DRY_RUN, "-", input=rendered("--unpack"), check=False)
    assert done.returncode
    assert 'unknown field "unpacked"' in done.stderr
