"""A port in the cluster's network that leads to operators, which run outside of it.

It stands for the Service by which agents on nodes reach the operator: each connection goes to one
of those that serve, and is closed where none does.
"""

from __future__ import annotations

import contextlib
import random
import re
import socket
import socketserver
import subprocess
import sys
import tempfile
import threading
from pathlib import Path
from typing import Any, Self

from tests.live.operating import Running
from tools.cluster import Cluster
from tools.components import SERVER_ADDRESS
from tools.door import carry
from tools.host import ROOT
from tools.pods.images import OUR_IMAGE

PORT = 8443
FLAGS = (
    f"--node-discovery-url=https://{SERVER_ADDRESS}:{PORT}",
    "--node-discovery-address=127.0.0.1:0",
    f"--prometheus-config-reloader={OUR_IMAGE}",
)
"""What operators are started with that agents on nodes reach through it."""

_LISTENING = re.compile(r"msg=listening component=node-discovery port=(\d+)")


class _Server(socketserver.ThreadingUnixStreamServer):
    daemon_threads = True
    block_on_close = False
    outlet: Outlet

    def handle_error(self, *_: Any) -> None:
        """Say nothing: whoever came sees that it closed."""


class _Visitor(socketserver.BaseRequestHandler):
    server: _Server

    def handle(self) -> None:
        """Carry both ways until both sides are done."""
        with contextlib.suppress(OSError), self.server.outlet.connected() as far:
            back = threading.Thread(target=carry, args=(far, self.request), daemon=True)
            back.start()
            carry(self.request, far)
            back.join()


class Outlet:
    """Open for the time of its block; `operators` are those that are there now."""

    def __init__(self, cluster: Cluster) -> None:
        self.operators: list[Running] = []
        self._cluster = cluster
        self._folder = tempfile.TemporaryDirectory(prefix="outlet-")
        path = Path(self._folder.name) / "socket"
        self._place = Path(self._folder.name) / "place"
        self._place.write_text(str(path))
        self._server = _Server(str(path), _Visitor)
        self._server.outlet = self

    def connected(self) -> socket.socket:
        """A connection to one of the operators; ConnectionRefusedError if none serves."""
        serving = [each for each in self.operators if each.process.poll() is None]
        ports = [port for each in serving for port in _LISTENING.findall(each.log())[-1:]]
        if not ports:
            raise ConnectionRefusedError("no operator serves portions")
        return socket.create_connection(("127.0.0.1", int(random.choice(ports))))

    def __enter__(self) -> Self:
        threading.Thread(target=self._server.serve_forever, daemon=True).start()
        argv = [sys.executable, "-m", "tools.relay", str(PORT), str(self._place)]
        self._relay = self._cluster.spawn(argv, cwd=ROOT, stderr=subprocess.DEVNULL)
        return self

    def __exit__(self, *_: object) -> None:
        self._relay.kill()
        self._relay.wait()
        self._server.shutdown()
        self._server.server_close()
        self._folder.cleanup()
