"""What an agent that ends does not send: by how it ends, where its log was, and its store.

A real agent scrapes one target every second and sends to a real Prometheus, with the queue that
remote write has if nothing is set. It ends once the store has the first samples; another one begins
with its log, or without. Scrapes are counted by the target, samples by the store: the difference of
those from before the end is what was lost.

                       the agent            its log      the store
    stopped            SIGTERM, and waited for
    killed             SIGKILL
                                            kept or lost
                                                         there, or away from before the end until
                                                         the next agent scrapes

    python -m bench losses
"""

import argparse
import json
import shutil
import signal
import subprocess
import tempfile
import threading
import time
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from itertools import product
from pathlib import Path
from typing import Any, Final, NamedTuple
from urllib.parse import quote
from urllib.request import urlopen

import yaml

from tools.build import binaries
from tools.ports import held_port
from tools.waiting import until

# Scrapes before the end.
SCRAPES: Final = 10
# And after samples have arrived at the store.
UNSENT: Final = 3
ENDS: Final = {"stopped": signal.SIGTERM, "killed": signal.SIGKILL}
STORES: Final = ("there", "away")
LOGS: Final = ("kept", "lost")
_SERIES: Final = 'up{job="target"}'


class Loss(NamedTuple):
    """What came of one end: scrapes before it, those not sent, and for how long there were none."""

    scraped: int
    lost: int
    gap: float


class _Target(ThreadingHTTPServer):
    """What is scraped; it knows when."""

    daemon_threads = True

    def __init__(self) -> None:
        self.scrapes: list[float] = []
        super().__init__(("127.0.0.1", 0), _Answer)


class _Answer(BaseHTTPRequestHandler):
    server: _Target

    def do_GET(self) -> None:
        self.server.scrapes.append(time.time())
        self.send_response(200)
        self.send_header("Content-Type", "text/plain; version=0.0.4")
        self.end_headers()
        self.wfile.write(b"made 1\n")

    def log_message(self, format: str, *args: Any) -> None:  # noqa: A002 - as it is called there
        pass


def report(_options: argparse.Namespace) -> bool:
    """Measure and print; the goal is that who is stopped while the store answers loses nothing."""
    print(f"\n{'the agent is':<14}{'store':<8}{'log':<8}{'scraped':>9}{'lost':>6}{'gap, s':>8}")
    missed = False
    for end, store, log in product(ENDS, STORES, LOGS):
        with tempfile.TemporaryDirectory() as folder:
            found = _measured(Path(folder), ENDS[end], away=store == "away", kept=log == "kept")
        print(
            f"{end:<14}{store:<8}{log:<8}{found.scraped:>9}{found.lost:>6}{found.gap:>8.1f}",
            flush=True,
        )
        missed |= (end, store) == ("stopped", "there") and found.lost > 0
    return not missed


def _measured(folder: Path, end: signal.Signals, *, away: bool, kept: bool) -> Loss:
    target, port = _Target(), held_port()
    threading.Thread(target=target.serve_forever, daemon=True).start()
    _configure(folder, target.server_port, port)
    with ExitStack() as stack:
        stack.callback(target.shutdown)
        with _store(folder, port):
            agent = stack.enter_context(_agent(folder))
            until("samples", lambda: len(_received(port)) >= SCRAPES)
            if not away:
                # Nothing of these is sent yet: remote write waits for more, for five seconds.
                _until_scraped(target, UNSENT)
                _ended(agent, end, folder, kept=kept)
                ended = time.time()
                stack.enter_context(_agent(folder))
                return _counted(target, port, ended)
        _until_scraped(target, SCRAPES)
        _ended(agent, end, folder, kept=kept)
        ended = time.time()
        stack.enter_context(_agent(folder))
        _until_scraped(target, SCRAPES // 2)
        with _store(folder, port):
            return _counted(target, port, ended)


def _counted(target: _Target, port: int, ended: float) -> Loss:
    """Wait until the store has what came after an end, and compare what was before."""
    _until_scraped(target, SCRAPES)
    now = time.time()
    until("samples from now on", lambda: _received(port)[-1] > now)
    before = [each for each in target.scrapes if each < ended]
    after = next(each for each in target.scrapes if each >= ended)
    # A sample has the time at which its scrape began, which is before the target was asked.
    sent = [each for each in _received(port) if each < ended]
    return Loss(len(before), len(before) - len(sent), after - before[-1])


def _until_scraped(target: _Target, more: int) -> None:
    wanted = len(target.scrapes) + more
    until(f"{more} scrapes", lambda: len(target.scrapes) >= wanted)


def _ended(
    agent: "subprocess.Popen[bytes]", end: signal.Signals, folder: Path, *, kept: bool
) -> None:
    agent.send_signal(end)
    agent.wait()
    if not kept:
        shutil.rmtree(folder / "log")


def _configure(folder: Path, target: int, store: int) -> None:
    job = {"job_name": "target", "static_configs": [{"targets": [f"127.0.0.1:{target}"]}]}
    config = {
        "global": {"scrape_interval": "1s", "scrape_timeout": "1s"},
        "scrape_configs": [job],
        "remote_write": [{"url": f"http://127.0.0.1:{store}/api/v1/write"}],
    }
    (folder / "agent.yaml").write_text(yaml.safe_dump(config))
    (folder / "store.yaml").write_text("{}")


@contextmanager
def _agent(folder: Path) -> Iterator["subprocess.Popen[bytes]"]:
    words = ("--agent", f"--storage.agent.path={folder}/log", f"--config.file={folder}/agent.yaml")
    with _running(folder / "agent.log", *words, "--web.listen-address=127.0.0.1:0") as process:
        yield process


@contextmanager
def _store(folder: Path, port: int) -> Iterator[None]:
    words = (f"--storage.tsdb.path={folder}/store", f"--config.file={folder}/store.yaml")
    more = ("--web.enable-remote-write-receiver", f"--web.listen-address=127.0.0.1:{port}")
    with _running(folder / "store.log", *words, *more):
        until("the store", lambda: _received(port) is not None)
        yield


@contextmanager
def _running(log: Path, *words: str) -> Iterator["subprocess.Popen[bytes]"]:
    with log.open("ab") as output:
        process = subprocess.Popen(
            [str(binaries("prometheus")["prometheus"]), *words], stdout=output, stderr=output
        )
    try:
        yield process
    finally:
        process.kill()
        process.wait()


def _received(port: int) -> list[float]:
    """When the target was scraped, by what the store has."""
    query = quote(f"{_SERIES}[1h] @ {time.time():.3f}")
    with urlopen(f"http://127.0.0.1:{port}/api/v1/query?query={query}", timeout=10) as answer:
        found = json.load(answer)["data"]["result"]
    return sorted(float(when) for each in found for when, _ in each["values"])
