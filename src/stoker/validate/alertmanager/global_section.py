"""The global settings of an Alertmanager (`spec.alertmanagerConfiguration.global`)."""

from stoker.api.alertmanager import GlobalSettings
from stoker.errors import below
from stoker.validate.alertmanager.reading import AlertReading
from stoker.validate.findings import Finding, Findings, Reason
from stoker.validate.http import http_client, tls_config
from stoker.validate.syntax import milliseconds


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
