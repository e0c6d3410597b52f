"""The metrics of the webhook.

The counters of validations have the names that the peer's operator had for them, so that alerts on
them go on working; `prometheus_operator_admission_webhook_…` are about requests.
"""

import platform
from collections.abc import Callable
from typing import Final

from stoker.web.metrics import Counter, Histogram, Registry
from stoker.web.process import watch_process

_PREFIX: Final = "prometheus_operator_"
_OWN: Final = f"{_PREFIX}admission_webhook_"
_SECONDS: Final = (0.001, 0.005, 0.025, 0.1, 0.25, 0.5, 1.0, 2.5, 5.0, 10.0)
# Why a request was not answered for load: no place, the deadline, or no process to do it.
_CAUSES: Final = ("connections", "bytes_full", "small_full", "dear_full", "deadline", "broken")
# The path of a validation, and what the peer called those who are validated there.
_VALIDATIONS: Final = {
    "/admission-prometheusrules/validate": ("rule", "PrometheusRules"),
    "/admission-alertmanagerconfigs/validate": ("alertmanager_config", "AlertmanagerConfigs"),
}


class WebhookMetrics:
    """What the webhook counts."""

    def __init__(self, version: str, paths: tuple[str, ...]) -> None:
        self.registry = Registry()
        watch_process(self.registry)
        self._build_info(version)
        self._requests = self.registry.counter(
            f"{_OWN}requests_total", "Requests, by path and HTTP status.", ("path", "code")
        )
        self._refused = self.registry.counter(
            f"{_OWN}refused_total", "Reviews that ended with a no, by path.", ("path",)
        )
        self._turned_away = self.registry.counter(
            f"{_OWN}turned_away_total", "Requests that were not answered for load.", ("cause",)
        )
        for cause in _CAUSES:
            self._turned_away.add(0, cause)
        self._duration = Histogram(
            f"{_OWN}request_duration_seconds",
            "How long requests took.",
            ("path",),
            buckets=_SECONDS,
        )
        self.registry.register(self._duration)
        for path in paths:
            self._requests.add(0, path, "200")
            self._refused.add(0, path)
            self._duration.appear(path)
        self._validations = {path: self._validation(*names) for path, names in _VALIDATIONS.items()}

    def _validation(self, name: str, what: str) -> tuple[Counter, Counter]:
        return (
            self.registry.counter(
                f"{_PREFIX}{name}_validation_triggered_total", f"{what} that were validated."
            ),
            self.registry.counter(
                f"{_PREFIX}{name}_validation_errors_total", f"{what} that were refused."
            ),
        )

    def _build_info(self, version: str) -> None:
        labels = ("branch", "goarch", "goos", "goversion", "revision", "tags", "version")
        gauge = self.registry.gauge(f"{_OWN}build_info", "What is running; always 1.", labels)
        machine, system = platform.machine(), platform.system().lower()
        python = f"python{platform.python_version()}"
        gauge.set(1, "", machine, system, python, "", "", version)

    def requested(self, path: str, code: int, seconds: float) -> None:
        """Count a request that was answered."""
        self._requests.add(1, path, str(code))
        self._duration.observe(seconds, path)

    def turned_away(self, cause: str) -> None:
        """Count a request that was not answered for load."""
        self._turned_away.add(1, cause)

    def counts_connections(self, turned_away: Callable[[], int]) -> None:
        """Count connections for which there was no place, too."""
        self._turned_away.follow(turned_away, "connections")

    def reviewed(self, path: str, *, allowed: bool) -> None:
        """Count a review, whose answer was yes or no."""
        self._refused.add(not allowed, path)
        if path in self._validations:
            triggered, errors = self._validations[path]
            triggered.add(1)
            errors.add(not allowed)
