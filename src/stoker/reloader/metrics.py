"""The reloader's numbers, under the names that dashboards and alerts know."""

from __future__ import annotations

from collections.abc import Iterable

from stoker.reloader.record import record

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Final


@record
class Metric:
    """A number without labels."""

    name: str
    kind: str
    meaning: str


METRICS: Final = (
    Metric("reloader_reloads_total", "counter", "Reloads that were asked for."),
    Metric("reloader_reloads_failed_total", "counter", "Reloads that failed."),
    Metric("reloader_last_reload_successful", "gauge", "Whether the last reload succeeded."),
    Metric(
        "reloader_last_reload_success_timestamp_seconds",
        "gauge",
        "When the last reload that succeeded was done.",
    ),
    Metric(
        "reloader_config_apply_operations_total",
        "counter",
        "How often files were looked at and, where they had changed, applied.",
    ),
    Metric(
        "reloader_config_apply_operations_failed_total",
        "counter",
        "How often that failed: files unreadable, a variable not set, a reload refused.",
    ),
    Metric("reloader_watches", "gauge", "Directories that are watched."),
    Metric("reloader_watch_events_total", "counter", "Changes that the kernel told of."),
    Metric("reloader_watch_errors_total", "counter", "Directories that could not be watched."),
)


PORTION_METRICS: Final = (
    Metric(
        "reloader_portion_connected",
        "gauge",
        "Whether the server of portions has told what is on this node, and tells changes of it.",
    ),
    Metric(
        "reloader_portion_last_commit_timestamp_seconds",
        "gauge",
        "When the portion of this node was last brought up to date.",
    ),
    Metric("reloader_portion_files", "gauge", "Files of the portion of this node."),
    Metric(
        "reloader_portion_refused_total",
        "counter",
        "How often what the server of portions said was not taken.",
    ),
)
"""Those of a reloader that gets the portion of its node."""


class Metrics:
    """The current values."""

    def __init__(self, metrics: Iterable[Metric] = METRICS) -> None:
        self._metrics = tuple(metrics)
        self._values = {metric.name: 0.0 for metric in self._metrics}

    def add(self, name: str, amount: float = 1) -> None:
        """Count, in `reloader_<name>`."""
        self._values[f"reloader_{name}"] += amount

    def put(self, name: str, value: float) -> None:
        """Set `reloader_<name>`."""
        self._values[f"reloader_{name}"] = value

    def text(self) -> str:
        """All of them in the format that Prometheus scrapes."""
        return "".join(
            f"# HELP {metric.name} {metric.meaning}\n"
            f"# TYPE {metric.name} {metric.kind}\n"
            f"{metric.name} {self._values[metric.name]!r}\n"
            for metric in self._metrics
        )
