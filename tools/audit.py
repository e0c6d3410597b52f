"""What was written to the cluster, and by whom: the API server's own audit log.

Only writes are logged, without bodies: when they come, before anything of them is done, and again
when they are done. What a write changed can be seen between the two, and a long answer may be read.
So whoever asks for writes waits for those that have come; then the log is complete.
"""

from __future__ import annotations

import json
import time
from collections.abc import Iterator
from dataclasses import dataclass
from datetime import datetime
from pathlib import Path
from typing import Any

LOG = "audit.log"
# A server that was killed never says that a write is done.
PATIENCE = 10.0
POLL = 0.01
POLICY = "audit-policy.json"

_RULES: dict[str, Any] = {
    "apiVersion": "audit.k8s.io/v1",
    "kind": "Policy",
    "rules": [
        {"level": "Metadata", "verbs": ["create", "update", "patch", "delete"]},
        {"level": "None"},
    ],
}


@dataclass(frozen=True)
class Write:
    """One request that could change something; when it came and when it was done, since 1970.

    `dry_run`: it only asked what would come of it.
    """

    verb: str
    resource: str
    subresource: str
    namespace: str
    name: str
    agent: str
    user: str
    status: int
    received: float
    done: float
    dry_run: bool = False

    def __str__(self) -> str:
        what = f"{self.resource}/{self.subresource}" if self.subresource else self.resource
        return f"{self.verb} {what} {self.namespace}/{self.name} ({self.status})"


def write_policy(directory: Path) -> Path:
    """Write the policy for the API server; where it is."""
    path = directory / POLICY
    path.write_text(json.dumps(_RULES))
    return path


class AuditLog:
    """The writes of a cluster; `mark` and `since` tell those of a time apart."""

    def __init__(self, directory: Path) -> None:
        self._path = directory / LOG
        self._place = 0
        self._open: set[str] = set()

    def mark(self) -> int:
        """A place in the log: its end, once all that has come is done."""
        self._wait()
        return self._place

    def since(self, mark: int, agent: str = "") -> list[Write]:
        """The writes that were done after a place, by clients whose user agent begins with this."""
        self._wait()
        done, _ = self.after(mark)
        return [one for one in done if one.agent.startswith(agent)]

    def after(self, place: int) -> tuple[list[Write], int]:
        """The writes that are done by now, waiting for none, and the place to go on from."""
        events = list(self._events(place))
        found = [_write(event) for event, _ in events if not _is_open(event)]
        return found, events[-1][1] if events else place

    def _wait(self) -> None:
        """Wait until the writes are done that have come by now."""
        self._go_on()
        waiting, deadline = set(self._open), time.monotonic() + PATIENCE
        while waiting & self._open and time.monotonic() < deadline:
            time.sleep(POLL)
            self._go_on()
        self._open -= waiting

    def _go_on(self) -> None:
        """Note what has come and what is done since this was looked at."""
        for event, place in self._events(self._place):
            self._place = place
            if _is_open(event):
                self._open.add(event["auditID"])
            else:
                self._open.discard(event["auditID"])

    def _events(self, place: int) -> Iterator[tuple[dict[str, Any], int]]:
        """The events after a place, each with the place after it."""
        if not self._path.exists():
            return
        with self._path.open("rb") as log:
            log.seek(place)
            for line in log:
                if not line.endswith(b"\n"):
                    # It is being written: what is read next would be the rest of it.
                    return
                place += len(line)
                yield json.loads(line), place


def _is_open(event: dict[str, Any]) -> bool:
    return bool(event["stage"] == "RequestReceived")


def _write(event: dict[str, Any]) -> Write:
    target = event.get("objectRef") or {}
    return Write(
        verb=event["verb"],
        resource=target.get("resource", ""),
        subresource=target.get("subresource", ""),
        namespace=target.get("namespace", ""),
        name=target.get("name", ""),
        agent=event.get("userAgent", ""),
        user=(event.get("impersonatedUser") or event["user"]).get("username", ""),
        status=(event.get("responseStatus") or {}).get("code", 0),
        received=_seconds(event["requestReceivedTimestamp"]),
        done=_seconds(event["stageTimestamp"]),
        dry_run="dryRun=" in event.get("requestURI", ""),
    )


def _seconds(time_: str) -> float:
    return datetime.fromisoformat(time_).timestamp()
