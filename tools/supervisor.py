"""Owns the processes of one cluster, so that none outlives it.

It reads commands from its standard input, one JSON object per line: ``{"name": …, "argv": […]}``
starts a process that logs to ``<name>.log``, ``{"name": …, "signal": 9}`` signals one. The end of
the input is the end of the cluster: the caller closed it, or died in whatever way. SIGTERM does the
same. When a process ends by itself, that is written to ``failed`` and the cluster ends too: half of
a control plane only confuses. One that was killed on command may be started again.

In a PID namespace it is process 1 and the kernel kills all others with it. Without one, each
process asks the kernel to be killed with the supervisor, and leads a group that is killed at stop.
"""

from __future__ import annotations

import argparse
import asyncio
import contextlib
import json
import os
import shutil
import signal
import socket
import subprocess
import sys
from pathlib import Path

from tools import namespace, relay

FAILED_FILE = "failed"


class Supervisor:
    """The processes of one cluster and the future that ends them."""

    def __init__(self, directory: Path, end: asyncio.Future[bool]) -> None:
        self._directory = directory
        self._end = end
        self._input = b""
        self._processes: dict[str, subprocess.Popen[bytes]] = {}

    def read(self) -> None:
        """Take what is on the standard input, and act on each whole line."""
        data = os.read(sys.stdin.fileno(), 65536)
        if not data:
            self.end(well=True)
        *lines, self._input = (self._input + data).split(b"\n")
        for line in lines:
            command = json.loads(line)
            if "signal" in command:
                self._signal(command["name"], command["signal"])
            else:
                self._start(command["name"], command["argv"])

    def end(self, *, well: bool) -> None:
        """Let the cluster end; the first reason counts."""
        if not self._end.done():
            self._end.set_result(well)

    def kill(self) -> None:
        """Kill all that is left, with no grace: the data goes as well."""
        for process in self._processes.values():
            with contextlib.suppress(ProcessLookupError):
                os.killpg(process.pid, signal.SIGKILL)
        for process in self._processes.values():
            process.wait()

    def _start(self, name: str, argv: list[str]) -> None:
        with (self._directory / f"{name}.log").open("ab") as log:
            process = subprocess.Popen(
                argv,
                cwd=self._directory,
                stdin=subprocess.DEVNULL,
                stdout=log,
                stderr=log,
                process_group=0,
                # Safe here: the supervisor has no threads.
                preexec_fn=namespace.die_with_parent,  # noqa: PLW1509
            )
        self._processes[name] = process
        file = os.pidfd_open(process.pid)
        asyncio.get_running_loop().add_reader(file, self._ended, name, process, file)

    def _signal(self, name: str, number: int) -> None:
        process = self._processes[name]
        process.send_signal(number)
        if number == signal.SIGKILL:
            # Whoever starts it again finds its port and its data free.
            process.wait()
            del self._processes[name]

    def _ended(self, name: str, process: subprocess.Popen[bytes], file: int) -> None:
        asyncio.get_running_loop().remove_reader(file)
        os.close(file)
        status = process.wait()
        if not self._end.done() and self._processes.get(name) is process:
            # Renamed into place, as the caller may look at any time.
            scratch = self._directory / f"{FAILED_FILE}.new"
            scratch.write_text(f"{name} {status}")
            scratch.rename(self._directory / FAILED_FILE)
            self.end(well=False)


async def supervise(options: argparse.Namespace) -> bool:
    """Run until the input ends, a signal comes, or a process ends by itself."""
    loop = asyncio.get_running_loop()
    end: asyncio.Future[bool] = loop.create_future()
    supervisor = Supervisor(options.directory, end)
    if options.namespaces:
        namespace.furnish_network()
    if options.relay_fd is not None:
        listener = socket.socket(fileno=options.relay_fd)
        await relay.serve(listener, lambda: ("127.0.0.1", options.relay_port))
    loop.add_reader(sys.stdin.fileno(), supervisor.read)
    for number in (signal.SIGTERM, signal.SIGINT):
        loop.add_signal_handler(number, lambda: supervisor.end(well=True))
    try:
        return await end
    finally:
        supervisor.kill()


def _arguments() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("directory", type=Path, help="for logs and the processes' data")
    parser.add_argument("--namespaces", action="store_true", help="furnish a new network namespace")
    parser.add_argument("--relay-fd", type=int, help="listening socket to relay from")
    parser.add_argument("--relay-port", type=int, help="port in the namespace to relay to")
    parser.add_argument("--remove", action="store_true", help="remove the directory at the end")
    return parser.parse_args()


def main() -> int:
    """Supervise, then remove the directory unless its logs are needed to explain a failure."""
    options = _arguments()
    well = asyncio.run(supervise(options))
    if options.remove and well:
        shutil.rmtree(options.directory, ignore_errors=True)
    return 0 if well else 1


if __name__ == "__main__":
    sys.exit(main())
