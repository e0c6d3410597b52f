"""What Alertmanager would refuse of an AlertmanagerConfig, with the path to each fault.

`alertmanager_config` is for an Alertmanager that selects the object: it knows the version and reads
the values behind references. `settings_of` is of the object alone, as a webhook sees it, and
`global_settings` of what stands beside a global one (`spec.alertmanagerConfiguration.global`).
"""

from typing import Any, TypeAlias

from stoker.api.alertmanager import GlobalSettings
from stoker.api.amconfig import v1alpha1, v1beta1
from stoker.errors import OverBudgetError, below
from stoker.limits import NO_CHANGES
from stoker.validate.alertmanager import receivers as amreceivers
from stoker.validate.alertmanager import routes as amroutes
from stoker.validate.alertmanager.reading import AlertReading
from stoker.validate.budget import over_budget, stopped
from stoker.validate.findings import Finding, Findings, Reason
from stoker.validate.http import http_client, tls_config
from stoker.validate.intervals import time_intervals
from stoker.validate.syntax import milliseconds

Config: TypeAlias = v1alpha1.AlertmanagerConfig | v1beta1.AlertmanagerConfig


def settings_of(config: Config) -> Findings:
    """What is wrong with an object whoever reads it."""
    return _findings(config.spec, None)


def alertmanager_config(config: Config, reading: AlertReading) -> Findings:
    """What is wrong with an object for one Alertmanager; what it costs first."""
    limits = reading.limits or NO_CHANGES
    over = tuple(over_budget(config.spec, limits, nested=True))
    if over:
        yield from over
        return
    try:
        yield from _findings(config.spec, reading)
    except OverBudgetError as error:
        yield stopped(error)


def _findings(spec: Any, reading: AlertReading | None) -> Findings:
    attribute = "time_intervals" if hasattr(spec, "time_intervals") else "mute_time_intervals"
    shown = "timeIntervals" if attribute == "time_intervals" else "muteTimeIntervals"
    given = getattr(spec, attribute) or ()
    names = amroutes.Names(
        receivers=frozenset(receiver.name for receiver in spec.receivers or ()),
        intervals=frozenset(interval.name for interval in given),
        version=reading.version if reading else None,
        utf8=reading.utf8_names if reading else True,
    )
    yield from amreceivers.receivers(spec.receivers, reading, "spec.receivers")
    if spec.route is not None:
        yield from amroutes.routes(spec.route, names, "spec.route")
    yield from amroutes.inhibit_rules(spec.inhibit_rules, names, "spec.inhibitRules")
    yield from time_intervals(given, below("spec", shown))


# --- What lies beside a global one ----------------------------------------------------------------


def global_settings(settings: GlobalSettings, reading: AlertReading, path: str) -> Findings:
    """The HTTP client, TLS for mail, and durations; the rest is checked as it is written."""
    text = settings.resolve_timeout
    if text and milliseconds(text) is None:
        where = below(path, "resolveTimeout")
        yield Finding(where, Reason.INVALID_VALUE, f"`{text[:40]}` is not a duration such as 5m")
    if settings.http_config is not None:
        yield from http_client(settings.http_config, reading, below(path, "httpConfig"))
    if settings.smtp is not None:
        yield from tls_config(settings.smtp.tls_config, reading, below(path, "smtp.tlsConfig"))
