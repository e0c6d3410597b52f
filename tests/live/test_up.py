"""What `make up` starts, and that `make down` leaves nothing of it."""

from __future__ import annotations

import json
import os
import re
import subprocess
import sys
import tempfile
import urllib.request
from collections.abc import Iterator
from pathlib import Path
from typing import Any
from urllib.parse import quote

import pytest

from tests.live.test_cluster import processes_with
from tools import cache, namespace
from tools.host import ROOT
from tools.waiting import until

Object = dict[str, Any]
UP = "sum by (job) (up) > 0"


class Machine:
    """Where the commands run: with a cache of its own, which has the binaries of the real one."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        for each in cache.root().iterdir():
            if each.name != "up":
                (folder / each.name).symlink_to(each)
        self._environment = os.environ | {"STOKER_CACHE": str(folder)}
        self.printed = ""

    def run(self, command: str) -> str:
        """Run `up` or `down`; what it printed."""
        done = subprocess.run(
            [sys.executable, "-m", f"tools.{command}"],
            cwd=ROOT,
            env=self._environment,
            capture_output=True,
            text=True,
            check=False,
        )
        assert not done.returncode, done.stderr
        self.printed = done.stdout + done.stderr
        return done.stdout

    def url(self, path: str) -> str:
        """A URL that `up` printed: the page, or what has this path."""
        found = re.search(rf"http://[0-9.:]+{re.escape(path)}", self.printed)
        assert found, self.printed
        return found[0]


@pytest.fixture
def machine() -> Iterator[Machine]:
    """A place to try the commands in; what they left running ends with it."""
    # Not in pytest's own folders: sockets must have short names.
    with tempfile.TemporaryDirectory(prefix="up-") as folder:
        made = Machine(Path(folder))
        yield made
        made.run("down")


def answer(url: str) -> Any:
    """What a server of this machine says."""
    with urllib.request.urlopen(url, timeout=30) as response:
        return json.loads(response.read())


def series(prometheus: str, query: str) -> list[Object]:
    """What a Prometheus has for an expression."""
    found: list[Object] = answer(f"{prometheus}={quote(query)}")["data"]["result"]
    return found


def devices() -> set[str]:
    """The network devices of this machine."""
    return {each.name for each in Path("/sys/class/net").iterdir()}


def test_up_shows_the_operator_at_work_and_down_leaves_nothing(machine: Machine) -> None:
    """A real Prometheus scrapes the shop, a rule is evaluated, an alert fires, the page answers.

    A second `up` says that it runs. After `down` there is no process, mount, device or file.
    """
    if not namespace.launcher():
        pytest.skip("this machine does not let us make network namespaces")
    before = devices()
    assert machine.run("up").startswith("The cluster is running.")
    assert "7/7" in machine.printed
    prometheus = machine.url("/api/v1/query?query")

    def all_up() -> bool:
        jobs = {each["metric"]["job"]: each["value"][1] for each in series(prometheus, UP)}
        # Three pods by the server and by the agents on their nodes, which send what they scrape.
        return jobs == {"shop/cart": "3", "shop/cart-on-nodes": "3", "catalogue": "2"}

    until("the targets to be up", all_up)
    until("the rule", lambda: series(prometheus, "shop:targets_up:sum"))
    alerts = until("an alert", lambda: answer(machine.url("/api/v2/alerts")))
    assert {each["labels"]["alertname"] for each in alerts} == {"TargetDown"}
    overview = answer(f"{machine.url('/')}api/overview")
    assert [each["name"] for each in overview["workloads"]] == ["main", "main", "nodes"]
    assert overview["resources"]["rejected"] == 1

    assert processes_with(f"{machine.folder}/up")
    assert machine.run("up").startswith("The cluster is already running.")

    assert machine.run("down") == "The cluster has ended.\n"
    assert not (machine.folder / "up").exists()
    assert not processes_with(f"{machine.folder}/up")
    assert str(machine.folder) not in Path("/proc/self/mountinfo").read_text()
    assert not devices() - before
    assert machine.run("down") == "No cluster was running.\n"
