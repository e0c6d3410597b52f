"""Operators that follow each other: each may be killed at the first write that it makes.

    with Succession(cluster, "--leader-election=false") as operators:
        operators.killing = True
        world.put(agent("light", mode="DaemonSet"))
        …
        operators.killing = False
        print(operators.kills)

A gateway before the API server sees what they write. The server has done the write when its author
is killed, and the answer reaches nobody: what was to come after it is for the next one to find out.
"""

from __future__ import annotations

import threading
import time
from typing import Self

from aiohttp import web

from tests.live.faults import Gateway
from tests.live.operating import Running
from tools.cluster import Cluster

_READS = ("GET", "HEAD")
# They stand for nothing that the next one could find done: an Event is told again, a review asks.
_NO_STATE = ("/events", "/leases", "reviews")
_FAILED = 300
_POLL = 0.05


class Succession:
    """A running operator, and another one as soon as it is killed.

    `killing`: whether each is killed at its first write. `kills` counts these, and `away` has the
    times from each death to the first word of the one that follows.
    """

    def __init__(self, cluster: Cluster, *flags: str) -> None:
        self.killing = False
        self.kills = 0
        self.away: list[tuple[float, float]] = []
        self._cluster = cluster
        self._flags = flags
        self._gateway = Gateway(cluster)
        self._gateway.done = self._done
        self._current: Running | None = None
        self._died = 0.0
        self._failure: BaseException | None = None
        self._closing = threading.Event()
        self._thread = threading.Thread(target=self._run, name="operators")

    def __enter__(self) -> Self:
        self._gateway.__enter__()
        self._thread.start()
        return self

    def __exit__(self, *_: object) -> None:
        self._closing.set()
        self._thread.join()
        self._gateway.__exit__()
        if self._failure:
            raise self._failure

    def _run(self) -> None:
        try:
            kubeconfig = self._gateway.kubeconfig
            while not self._closing.is_set():
                with Running(self._cluster, self._flags, kubeconfig) as self._current:
                    self._watch(self._current)
        except BaseException as error:
            self._failure = error

    def _watch(self, operator: Running) -> None:
        """Wait until it is killed; that it ends for another reason is an error."""
        while operator.process.poll() is None:
            if self._closing.wait(_POLL):
                return
        if operator.process.returncode >= 0:
            raise AssertionError(f"the operator ended:\n{operator.log()}")

    def _done(self, request: web.Request, status: int) -> None:
        if self._died:
            self.away.append((self._died, time.time()))
            self._died = 0.0
        operator = self._current
        # What it had sent before it died may still be on its way.
        lives = operator is not None and operator.process.poll() is None
        if operator and lives and self.killing and _is_write(request, status):
            operator.process.kill()
            operator.process.wait()
            self.kills += 1
            self._died = time.time()


def _is_write(request: web.Request, status: int) -> bool:
    """Whether something is different now that the next operator could find."""
    asked = request.method in _READS or "dryRun" in request.query
    return not asked and status < _FAILED and not any(each in request.path for each in _NO_STATE)
