"""The caller's end of a supervisor: starts it, tells it what to run, and ends it.

The supervisor lives as long as the pipe to its standard input, which is closed by :meth:`stop` or
by the kernel when the caller dies. Processes that the caller wants to hold itself (to read their
output, to signal them) are its own children, put beside the supervisor by ``namespace.py``.
"""

from __future__ import annotations

import contextlib
import json
import socket
import subprocess
import sys
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import IO, cast

from tools import namespace
from tools.supervisor import FAILED_FILE

ROOT = Path(__file__).parent.parent
STOP_SECONDS = 30.0
TAIL_LINES = 15

Stream = int | IO[bytes] | None


class ClusterError(Exception):
    """The cluster did not start, did not do something in time, or is no longer there."""


class Host:
    """The supervisor of one cluster, and all that runs beside it."""

    def __init__(
        self,
        directory: Path,
        *,
        launcher: Sequence[str] = (),
        relay: tuple[socket.socket, int] | None = None,
        remove: bool = False,
    ) -> None:
        self._directory = directory
        self._spawned: list[subprocess.Popen[bytes]] = []
        command = [*launcher, sys.executable, "-m", "tools.supervisor", str(directory)]
        command += ["--namespaces"] * bool(launcher) + ["--remove"] * remove
        if relay is None:
            self._supervisor = self._start(command)
        else:
            file, port = relay[0].fileno(), relay[1]
            command += [f"--relay-fd={file}", f"--relay-port={port}"]
            self._supervisor = self._start(command, file)
        self._input = cast("IO[bytes]", self._supervisor.stdin)

    def run(self, name: str, argv: list[str]) -> None:
        """Have the supervisor run a process, with a log of that name."""
        self._tell(name=name, argv=argv)

    def signal(self, name: str, number: int) -> None:
        """Have the supervisor signal a process; one that is killed may be run again."""
        self._tell(name=name, signal=number)

    def _tell(self, **command: object) -> None:
        self.check()
        self._input.write(json.dumps(command).encode() + b"\n")
        self._input.flush()

    def spawn(
        self,
        argv: Sequence[str | Path],
        *,
        env: Mapping[str, str],
        cwd: Path | None = None,
        stdout: Stream = None,
        stderr: Stream = None,
    ) -> subprocess.Popen[bytes]:
        """Start a child of the caller's own in the supervisor's namespaces, which ends with it."""
        self.check()
        enter = [sys.executable, "-I", "-S", namespace.__file__, str(self._supervisor.pid)]
        process = subprocess.Popen(
            [*enter, *map(str, argv)],
            env=env,
            cwd=cwd,
            stdin=subprocess.DEVNULL,
            stdout=stdout,
            stderr=stderr,
            start_new_session=True,
        )
        self._spawned.append(process)
        return process

    def check(self) -> None:
        """Raise an error that explains it, if the supervisor has ended."""
        # Looked at first: a failure is written down before the supervisor has ended.
        if failed := self._failure():
            name, status = failed
            tail = self._tail(name)
            raise ClusterError(f"{name} ended with status {status}; its log ends:\n{tail}".rstrip())
        if self._supervisor.poll() is not None:
            raise ClusterError(f"the cluster has ended {self._tail('supervisor')}".rstrip())

    def stop(self) -> None:
        """End every process and wait until they are gone; calling it twice is fine."""
        with contextlib.suppress(BrokenPipeError):
            self._input.close()
        try:
            self._supervisor.wait(STOP_SECONDS)
        except subprocess.TimeoutExpired:
            self._supervisor.kill()
            self._supervisor.wait()
        for process in self._spawned:
            process.wait()

    def _start(self, command: list[str], *files: int) -> subprocess.Popen[bytes]:
        with (self._directory / "supervisor.log").open("wb") as log:
            return subprocess.Popen(
                command,
                cwd=ROOT,
                stdin=subprocess.PIPE,
                stdout=log,
                stderr=log,
                pass_fds=files,
                # Ctrl-C is for the caller, which then ends the cluster in order.
                start_new_session=True,
            )

    def _failure(self) -> list[str]:
        file = self._directory / FAILED_FILE
        return file.read_text().split() if file.exists() else []

    def _tail(self, name: str) -> str:
        log = self._directory / f"{name}.log"
        if not log.exists():
            return ""
        return "\n".join(log.read_text(errors="replace").splitlines()[-TAIL_LINES:])
