"""Asks for a reload and finds out what became of it.

By HTTP the answer tells. By signal nothing answers, so Prometheus is asked when it last took a
configuration and whether the last one was good, before and after. It tells the time in seconds, so
a reload in the same second as the one before could not be noticed: it waits for the next. Where the
last configuration was refused, another refusal cannot be told from a reload that still runs: after
a few seconds it is taken for one. If it was none, the next try finds out.
"""

from __future__ import annotations

import contextlib
import json
import os
import signal
import time
from collections.abc import Iterator

from stoker.reloader.record import record
from stoker.reloader.request import RequestError, Url, answer

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any, Final

_POLL: Final = 0.1
_UNSURE: Final = 5.0
_OK: Final = 200
_REFUSED: Final = 500
_LONGEST_NAME: Final = 15  # of a process, as the kernel keeps it


class ReloadError(Exception):
    """The reload could not be asked for, or it is not known what became of it."""


class RefusedError(ReloadError):
    """The configuration was read and not taken."""


@record
class ByHttp:
    """A reload by a POST."""

    to: Url
    timeout: float

    def __call__(self) -> None:
        """Reload; raises `ReloadError` if that fails."""
        try:
            status, _ = answer("POST", self.to, self.timeout)
        except RequestError as error:
            raise ReloadError(str(error)) from error
        if status != _OK:
            kind = RefusedError if status == _REFUSED else ReloadError
            raise kind(f"{self.to} answers {status}; the process's own log has the reason")


@record
class BySignal:
    """A reload by SIGHUP to the process with this name."""

    name: str
    info: Url
    timeout: float

    def __call__(self) -> None:
        """Reload; raises `ReloadError` if that fails."""
        end = time.monotonic() + self.timeout
        before = self._state(end)
        while before.loaded.startswith(_second()):
            time.sleep(_POLL)
        self._send()
        if not before.good:
            end = min(end, time.monotonic() + _UNSURE)
        while time.monotonic() < end:
            after = self._state(end)
            if after.loaded != before.loaded:
                return
            if before.good and not after.good:
                raise RefusedError("the configuration was refused; its log has the reason")
            time.sleep(_POLL)
        kind = ReloadError if before.good else RefusedError
        raise kind("no configuration was taken in time after the signal; its log has the reason")

    def _state(self, end: float) -> _State:
        try:
            status, body = answer("GET", self.info, max(end - time.monotonic(), _POLL))
            if status != _OK:
                raise ReloadError(f"{self.info} answers {status}")
            data: dict[str, Any] = json.loads(body)["data"]
            return _State(bool(data["reloadConfigSuccess"]), str(data["lastConfigTime"]))
        except (RequestError, ValueError, KeyError, TypeError) as error:
            raise ReloadError(f"{self.info} does not tell its state: {error}") from error

    def _send(self) -> None:
        process = next(processes(self.name), None)
        if process is None:
            raise ReloadError(f"no process called {self.name}; do the containers share theirs?")
        try:
            os.kill(process, signal.SIGHUP)
        except OSError as error:
            raise ReloadError(f"cannot signal {self.name}: {error.strerror}") from error


@record
class _State:
    """What Prometheus says of its configuration."""

    good: bool
    loaded: str


def _second() -> str:
    return time.strftime("%Y-%m-%dT%H:%M:%S", time.gmtime())


def processes(name: str) -> Iterator[int]:
    """The processes that run an executable of that name, the oldest first."""
    for number in sorted(int(entry) for entry in os.listdir("/proc") if entry.isdigit()):
        with contextlib.suppress(OSError):
            if number != os.getpid() and name in _names(number):
                yield number


def _names(number: int) -> list[str]:
    """The name of a process's executable; cut off where only the kernel's short one is known."""
    with open(f"/proc/{number}/comm") as file:
        short = file.read().rstrip("\n")
    try:
        return [os.path.basename(os.readlink(f"/proc/{number}/exe"))]
    except OSError:
        return [short] if len(short) < _LONGEST_NAME else [short, *_first_word(number, short)]


def _first_word(number: int, short: str) -> list[str]:
    with open(f"/proc/{number}/cmdline", "rb") as file:
        word = os.path.basename(os.fsdecode(file.read().split(b"\0")[0]))
    return [word] if word.startswith(short) else []
