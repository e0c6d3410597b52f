"""How a suite is replayed: one function per suite, found by the name of its folder.

    @replays("rules")
    def rules(case: Case, context: Context) -> Outcome:
        return text_outcome(case.expect["content"], rule_file(case.given))

A suite may be replayed in more than one way (`how="offline"`); each way is a line of the report.
The context holds what is dear to make, and makes it when it is first needed.
"""

from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager
from itertools import islice
from types import TracebackType
from typing import Any, Final, Self, TypeAlias

import yaml
from msgspec import Struct

from tests.conformance.cases import Case
from tests.conformance.compare import comparable_object, differences
from tests.conformance.server import Server
from tools.cluster import Cluster

_SHOWN_DIFFERENCES: Final = 8


class Outcome(Struct, frozen=True):
    """What became of a case; suites of text tell whether it is `exact` or equal once parsed.

    `on_purpose`: all that differs is of a class that is meant to.
    """

    difference: str = ""
    exact: bool | None = None
    on_purpose: bool = False

    @property
    def passed(self) -> bool:
        """Whether there was no difference that counts."""
        return not self.difference


PASSED: Final = Outcome()


class Context:
    """What replays share: an API server with our CRDs, started for the first live suite."""

    def __init__(self, start: Callable[[], AbstractContextManager[Cluster]]) -> None:
        self._start = start
        self._running: AbstractContextManager[Cluster] | None = None
        self._server: Server | Exception | None = None

    def start(self) -> None:
        """Start the API server, once: why it failed to start is told to each case that asks."""
        if self._server is None:
            self._server = self._started()

    @property
    def server(self) -> Server:
        """The API server with our CRDs, for cases of a live suite."""
        if not isinstance(self._server, Server):
            raise self._server or RuntimeError("only a live suite has a server")
        return self._server

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        if self._running:
            self._running.__exit__(kind, error, trace)

    def _started(self) -> Server | Exception:
        try:
            running = self._start()
            cluster = running.__enter__()
            self._running = running
            return Server.prepared(cluster)
        except Exception as error:
            return error


Replay: TypeAlias = Callable[[Case, Context], Outcome]


def _every(case: Case) -> bool:
    return True


class Way(Struct, frozen=True):
    """A way to replay a suite: `workers` cases at a time, `live` on a real API server.

    Cases that `concerns` says no to are not replayed in this way, and not counted.
    """

    suite: str
    how: str
    replay: Replay
    live: bool
    workers: int
    concerns: Callable[[Case], bool] = _every

    @property
    def label(self) -> str:
        """The name of this line in the report."""
        return f"{self.suite} ({self.how})" if self.how else self.suite


WAYS: Final[list[Way]] = []


def replays(
    *suites: str,
    how: str = "",
    live: bool = False,
    workers: int = 1,
    concerns: Callable[[Case], bool] = _every,
) -> Callable[[Replay], Replay]:
    """Register the function that replays these suites."""

    def register(replay: Replay) -> Replay:
        WAYS.extend(Way(suite, how, replay, live, workers, concerns) for suite in suites)
        return replay

    return register


def outcome_of(found: Iterator[str]) -> Outcome:
    """The outcome that these differences make; the first few are told."""
    lines = list(islice(found, _SHOWN_DIFFERENCES + 1))
    more = ["…"] if len(lines) > _SHOWN_DIFFERENCES else []
    return Outcome("\n".join(lines[:_SHOWN_DIFFERENCES] + more))


def object_outcome(expected: Any, actual: Any) -> Outcome:
    """Compare Kubernetes objects: `status`, nulls and empty members do not count."""
    return outcome_of(differences(comparable_object(expected), comparable_object(actual)))


def text_outcome(expected: str, actual: str) -> Outcome:
    """Compare YAML: equal to the byte is the goal, equal after parsing is the least."""
    if expected == actual:
        return Outcome(exact=True)
    found = outcome_of(differences(yaml.safe_load(expected), yaml.safe_load(actual)))
    return Outcome(found.difference, exact=False)


def error_outcome(expect: dict[str, Any], error: str | None) -> Outcome:
    """Compare *that* it fails; the wording is ours."""
    messages = expect.get("errorAnyOf") or [expect.get("error")]
    if bool(messages[0]) == (error is not None):
        return PASSED
    return Outcome(f"expected {messages[0] or 'success'}, got {error or 'success'}")
