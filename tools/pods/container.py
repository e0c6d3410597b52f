"""Becomes a container's process: ``python -m tools.pods.container PLAN``, started in its pod.

The plan, a JSON file, says what the container sees and runs. It gets a root directory of its own,
an empty file system in memory, with the files of its image, its volumes at the paths of the
template, ``/proc``, ``/dev`` and ``/etc/hosts``. So its arguments can stay what they are.
"""

from __future__ import annotations

import json
import os
import socket
import sys
from dataclasses import asdict, dataclass
from pathlib import Path

from tools.pods import kernel

Binding = tuple[str, str, bool]
"""Where something is on this machine, where in the container, and whether it is read-only there."""


@dataclass(frozen=True)
class Plan:
    """All that makes a container; `root` is an empty directory to mount its file system on."""

    root: str
    host_name: str
    hosts: str
    bindings: list[Binding]
    read_only: bool
    argv: list[str]
    environment: dict[str, str]
    work_directory: str

    def write(self, file: Path) -> None:
        """Write it for the container's process, and nobody else: it may hold secrets."""
        file.touch(mode=0o600)
        file.write_text(json.dumps(asdict(self)))


def main(argv: list[str]) -> None:
    """Become the process of the plan in this file."""
    plan = Plan(**json.loads(Path(argv[0]).read_text()))
    kernel.unshare(kernel.CLONE_NEWNS | kernel.CLONE_NEWUTS)
    socket.sethostname(plan.host_name)
    # From here on nothing that is mounted is seen outside.
    kernel.mount("", "/", flags=kernel.MS_REC | kernel.MS_PRIVATE)
    _furnish(plan)
    os.chroot(plan.root)
    os.chdir(plan.work_directory)
    os.execve(plan.argv[0], plan.argv, plan.environment)  # noqa: S606 - no shell is wanted


def _furnish(plan: Plan) -> None:
    root = Path(plan.root)
    kernel.mount("tmpfs", plan.root, "tmpfs")
    for directory in ("proc", "etc", "tmp"):
        (root / directory).mkdir()
    (root / "etc/hosts").write_text(plan.hosts)
    kernel.mount("proc", f"{root}/proc", "proc")
    bindings = [("/dev", "/dev", False), *plan.bindings]
    # What is mounted in a directory that is mounted itself comes after that.
    bindings.sort(key=lambda each: each[1].count("/"))
    for source, target, _ in bindings:
        _bind(source, _inside(root, target))
    if plan.read_only:
        kernel.make_read_only(plan.root)
    for _, target, read_only in bindings:
        if read_only:
            kernel.make_read_only(str(_inside(root, target)))


def _bind(source: str, target: Path) -> None:
    if Path(source).is_dir():
        target.mkdir(parents=True, exist_ok=True)
    else:
        target.parent.mkdir(parents=True, exist_ok=True)
        target.touch()
    kernel.bind(source, str(target))


def _inside(root: Path, path: str) -> Path:
    """Where a path of the container is; none leads out of it."""
    return root / os.path.normpath(f"/{path}").lstrip("/")


if __name__ == "__main__":
    main(sys.argv[1:])
