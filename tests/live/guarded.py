"""An exporter that asks who is there: ``python -m tests.live.guarded FOLDER``, in the cluster.

As ``tools.exporter`` it answers for all pods that do not run. It listens without TLS on the ports
of `OPEN`, and with TLS on `MUTUAL` for those who show a certificate of the authority in the folder.
What it says depends on the path; `/basic` and `/bearer` want credentials, and `/probe` is a prober.
"""

from __future__ import annotations

import base64
import ssl
import sys
import threading
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from urllib.parse import parse_qs, urlsplit

OPEN = {"web": 8082, "admin": 8083}
MUTUAL = {"tls": 8443}
USER, PASSWORD, TOKEN = "someone", "pass: word#", "t0ken"

_BASIC = base64.b64encode(f"{USER}:{PASSWORD}".encode()).decode()
_WANTED = {"/basic": f"Basic {_BASIC}", "/bearer": f"Bearer {TOKEN}"}
# Whose series these are, the exporter would like to say itself.
_METRICS = 'spoof{namespace="elsewhere"} 1\n'
# Quoted names are the text format's since version 1.0.0.
_UTF8 = '{"http.requests","status.code"="200"} 7\n'
_UTF8_KIND = "text/plain; version=1.0.0; escaping=allow-utf-8"


class Guarded(BaseHTTPRequestHandler):
    """One connection of a scraper."""

    protocol_version = "HTTP/1.1"

    def do_GET(self) -> None:
        """Answer with metrics, or with nothing to whom it does not know."""
        asked = urlsplit(self.path)
        wanted = _WANTED.get(asked.path)
        if wanted and self.headers.get("Authorization") != wanted:
            self._answer(401, "")
        elif asked.path == "/utf8":
            self._answer(200, _UTF8, _UTF8_KIND)
        elif asked.path == "/probe":
            self._answer(200, _probed(parse_qs(asked.query)))
        else:
            self._answer(200, _METRICS)

    def _answer(self, status: int, body: str, kind: str = "text/plain; version=0.0.4") -> None:
        self.send_response(status)
        self.send_header("Content-Type", kind)
        self.send_header("Content-Length", str(len(body.encode())))
        self.end_headers()
        self.wfile.write(body.encode())

    def log_message(self, *_: object) -> None:
        """Say nothing: it is asked all the time."""


def _probed(parameters: dict[str, list[str]]) -> str:
    said = ",".join(f'{name}="{parameters[name][0]}"' for name in ("target", "module"))
    return f"probed{{{said}}} 1\n"


class _Server(ThreadingHTTPServer):
    # Who finds no room in the queue comes back a second later, when the scrape has timed out.
    request_queue_size = 128


def _server(port: int, folder: Path | None = None) -> ThreadingHTTPServer:
    server = _Server(("0.0.0.0", port), Guarded)  # noqa: S104 - that is the idea
    if folder:
        context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
        context.load_cert_chain(folder / "tls.crt", folder / "tls.key")
        context.load_verify_locations(folder / "ca.crt")
        context.verify_mode = ssl.CERT_REQUIRED
        # Not before the thread of the connection: one that says nothing would hold up the others.
        server.socket = context.wrap_socket(
            server.socket, server_side=True, do_handshake_on_connect=False
        )
    return server


def main(argv: list[str]) -> None:
    """Serve until the end of the process."""
    folder = Path(argv[0])
    servers = [_server(port) for port in OPEN.values()]
    servers += [_server(port, folder) for port in MUTUAL.values()]
    threads = [threading.Thread(target=server.serve_forever) for server in servers]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()


if __name__ == "__main__":
    main(sys.argv[1:])
