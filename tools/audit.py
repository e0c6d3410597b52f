"""What was written to the cluster, and by whom: the API server's own audit log.

Only writes are logged, without bodies. The log is complete: it is written before the answer.
"""

from __future__ import annotations

import json
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

LOG = "audit.log"
POLICY = "audit-policy.json"

_RULES: dict[str, Any] = {
    "apiVersion": "audit.k8s.io/v1",
    "kind": "Policy",
    "omitStages": ["RequestReceived"],
    "rules": [
        {"level": "Metadata", "verbs": ["create", "update", "patch", "delete"]},
        {"level": "None"},
    ],
}


@dataclass(frozen=True)
class Write:
    """One request that could change something."""

    verb: str
    resource: str
    subresource: str
    namespace: str
    name: str
    agent: str
    user: str
    status: int

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

    def mark(self) -> int:
        """A place in the log: its end."""
        return self._path.stat().st_size if self._path.exists() else 0

    def since(self, mark: int, agent: str = "") -> list[Write]:
        """The writes after a place, by clients whose user agent begins with this."""
        return [one for one in self._read(mark) if one.agent.startswith(agent)]

    def _read(self, mark: int) -> Iterator[Write]:
        with self._path.open("rb") as log:
            log.seek(mark)
            for line in log:
                if line.endswith(b"\n"):
                    yield _write(json.loads(line))


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
    )
