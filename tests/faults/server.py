"""Faults of the API server, and of all that is between it and the operator.

Each request meets one with a likelihood of 1 to 30 %, drawn for each plan. What is tried is what a
server or a proxy can say at any time without lying about what exists:

| harm | to | when a real one says so |
|---|---|---|
| 401 | all | the webhook that knows tokens is away, a key was rotated |
| 404 without a kind | our kinds, their status | this server does not serve the definition yet |
| 409 Conflict | changes and deletions | somebody was faster, each time that the server tried |
| 410 Expired | watches, later pages | the version is forgotten |
| 429 with Retry-After | all | priority and fairness |
| 500 | all | a webhook or etcd fails |
| 502, 503, 504 | all | a load balancer, a server that starts or ends |
| 504, done all the same | writes | the answer was not in time |
| reset before | all | the connection breaks on the way there |
| reset after | all | or on the way back: it is done, and nobody knows |
| half a body | all but watches | or in the middle |
| delay, slow body | all | load |

Not tried: 404 or AlreadyExists about objects, and 403, 400 and 422 about what is right, which are
answers and no faults; missing rights have a class of their own.
"""

from __future__ import annotations

import json
import random
from collections.abc import Callable, Sequence
from typing import ClassVar

from stoker.api.crd import GROUP
from tests.faults.gateway import Asked, Harm
from tests.faults.oracle import Expected, Trial
from tests.faults.plans import Fault, Kind, Lane, Plan
from tests.faults.stirring import stir
from tests.faults.world import World

RATES = (0.01, 0.02, 0.05, 0.1, 0.15, 0.2, 0.25, 0.3)
STIR_SECONDS, LONG_STIR_SECONDS = (2.0, 5.0), (6.0, 15.0)
"""How long operators are kept busy in the first walk, and in all later ones.

What it takes to act, and to see that all is right and stays so, is the same for many faults as for
few.
"""
_LONGEST_STIRS = 4
_LONGEST_DELAY = 1.5
_PAGE = "<html><body>{} the upstream server is not there</body></html>"


def _said(code: int, reason: str, message: str) -> str:
    said = {"kind": "Status", "apiVersion": "v1", "metadata": {}, "status": "Failure"}
    return json.dumps({**said, "code": code, "reason": reason, "message": message})


def _status(code: int, reason: str, message: str) -> Harm:
    return Harm(str(code), status=code, body=_said(code, reason, message))


def _any(_asked: Asked) -> bool:
    return True


def _is_changing(asked: Asked) -> bool:
    return asked.verb in ("update", "patch", "delete")


def _is_ours(asked: Asked) -> bool:
    return asked.target.group == GROUP


def _forgets(asked: Asked) -> bool:
    from_a_version = asked.verb == "watch" and "sendInitialEvents" not in asked.query
    return from_a_version or "continue" in asked.query


def _is_short(asked: Asked) -> bool:
    return asked.verb != "watch"


def _is_write(asked: Asked) -> bool:
    return asked.is_write


Makes = Callable[[random.Random], Harm]
_TABLE: tuple[tuple[Callable[[Asked], bool], Makes], ...] = (
    (_any, lambda _: _status(401, "Unauthorized", "Unauthorized")),
    (
        _is_ours,
        lambda _: Harm(
            "404 of a kind",
            status=404,
            body="404 page not found\n",
            headers=(("Content-Type", "text/plain"),),
        ),
    ),
    (
        _is_changing,
        lambda _: _status(409, "Conflict", "Operation cannot be fulfilled: it has been modified"),
    ),
    (_forgets, lambda _: _status(410, "Expired", "The resourceVersion is too old")),
    (
        _any,
        lambda dice: Harm(
            "429",
            status=429,
            body=_said(429, "TooManyRequests", "too many requests, please try again later"),
            headers=(("Retry-After", dice.choice(("1", "1", "2"))),),
        ),
    ),
    (_any, lambda _: _status(500, "InternalError", "etcdserver: leader changed")),
    (_any, lambda _: Harm("502", status=502, body=_PAGE.format(502))),
    (_any, lambda _: _status(503, "ServiceUnavailable", "apiserver is shutting down")),
    (_any, lambda _: _status(504, "Timeout", "etcdserver: request timed out")),
    (
        _is_write,
        lambda _: Harm(
            "504, done",
            status=504,
            body=_said(504, "Timeout", "request did not complete within 60s"),
            done_first=True,
        ),
    ),
    (_any, lambda _: Harm("reset before", cut="before")),
    (_is_short, lambda _: Harm("reset after", cut="after")),
    (_is_short, lambda _: Harm("half a body", cut="half")),
    (_any, lambda dice: Harm("delay", seconds=dice.uniform(0.1, _LONGEST_DELAY))),
    (_is_short, lambda dice: Harm("slow body", slowly=dice.uniform(0.1, _LONGEST_DELAY))),
)


class ServerFault(Fault):
    """Requests that fail at a rate."""

    def __init__(self, plan: Plan) -> None:
        super().__init__(plan)
        self._dice = plan.dice
        first, *_ = rates = [self._dice.choice(RATES) for _ in range(2)]
        # The first walk is as gentle as it comes; then the harsher of two.
        self.rate = max(rates) if plan.round else first
        self.seconds = self._dice.uniform(*(LONG_STIR_SECONDS if plan.round else STIR_SECONDS))

    def begin(self, world: World) -> None:
        """Let requests fail from now on."""
        for line in world.lines.values():
            line.before = self._before

    def end(self, world: World, trial: Trial) -> None:
        """Keep the operators busy until something failed; then all is well."""
        for _ in range(_LONGEST_STIRS):
            # Where there is nothing to stir, nothing will fail; on a busy machine it takes longer.
            if not stir(world, trial, self._dice, self.seconds) or self.done:
                break
        for line in world.lines.values():
            line.heal()

    def _before(self, asked: Asked) -> Harm | None:
        if asked.target.plural == "events" or self._dice.random() >= self.rate:
            # An Event is a courtesy that is told once; what it says is in the status as well.
            return None
        fitting = [make for fits, make in _TABLE if fits(asked)]
        harm = self._dice.choice(fitting)(self._dice)
        self.done[harm.kind] += 1
        return harm


class Servers(Kind):
    """Requests that fail."""

    name: ClassVar[str] = "server"
    help: ClassVar[str] = "1 to 30 % of all requests fail: 4xx, 5xx, resets, half and slow bodies"

    def lanes(self, expected: Sequence[Expected], seed: int, rounds: int) -> list[Lane]:
        """As many walks through the script as there are rounds."""
        return [
            {each.name: Plan(self.name, each.name, seed, number) for each in expected}
            for number in range(rounds)
        ]

    def fault(self, plan: Plan) -> Fault:
        """Requests that fail at a rate."""
        return ServerFault(plan)
