"""A tiny exporter that answers for any number of pods: ``python -m tools.exporter PORT…``.

It listens on all addresses, so inside the cluster's network it is at every pod that does not run.
Its one metric names the address and the port that were asked. ``/scrapes`` tells, as JSON, how
often who has asked for which: ``{"10.244.1.7:8080": {"10.244.1.3": 12}}``.
"""

from __future__ import annotations

import collections
import json
import socketserver
import sys
import threading
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

Asked = dict[str, collections.Counter[str]]
SCRAPES: Asked = collections.defaultdict(collections.Counter)
LOCK = threading.Lock()


class Exporter(BaseHTTPRequestHandler):
    """One connection of a scraper."""

    protocol_version = "HTTP/1.1"

    def do_GET(self) -> None:
        """Answer with the metric, or with who asked for it."""
        address, port = self.connection.getsockname()[:2]
        if self.path == "/scrapes":
            with LOCK:
                body, kind = json.dumps(SCRAPES), "application/json"
        else:
            with LOCK:
                SCRAPES[f"{address}:{port}"][self.client_address[0]] += 1
            body, kind = f'asked{{address="{address}",port="{port}"}} 1\n', "text/plain"
        self.send_response(200)
        self.send_header("Content-Type", kind)
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body.encode())

    def log_message(self, *_: object) -> None:
        """Say nothing: it is asked all the time."""


class Server(ThreadingHTTPServer):
    """Many agents may knock at once, on a machine that is too busy to open."""

    request_queue_size = 128


def main(argv: list[str]) -> None:
    """Serve on these ports until the end of the process."""
    servers: list[socketserver.BaseServer] = [
        Server(("0.0.0.0", int(port)), Exporter)  # noqa: S104 - that is the idea
        for port in argv
    ]
    threads = [threading.Thread(target=server.serve_forever) for server in servers]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()


if __name__ == "__main__":
    main(sys.argv[1:])
