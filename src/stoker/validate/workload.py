"""A workload's own settings: what keeps its configuration from being made or loaded at all.

Findings here are about the Prometheus or PrometheusAgent itself. Its last good configuration stays
until they are gone, so only what Prometheus or Kubernetes would refuse is found.
"""

import re
from collections import Counter
from itertools import combinations
from typing import Any, Final

import msgspec

from stoker.api.admit import faults
from stoker.api.cel import holds
from stoker.api.core import SecretKeySelector
from stoker.api.prometheus import DaemonSetSettings, PrometheusAgentSpec
from stoker.api.prometheus_common import (
    OtlpConfig,
    PrometheusCommonSpec,
    ScrapeClass,
    TracingConfig,
    Tsdb,
)
from stoker.api.remote import AzureAd, AzureManagedIdentity, RemoteWrite
from stoker.api.workload import WebTlsConfig
from stoker.errors import below
from stoker.select.choice import SELECTORS
from stoker.select.workload import BY_OPERATOR
from stoker.settings import DAEMON_SET_GATE
from stoker.validate.findings import Finding, Findings, Reason, json_name
from stoker.validate.http import (
    authorization_settings,
    conflict,
    http_client,
    is_set,
    secret_or_config_map_settings,
    tls_settings,
    web_url,
)
from stoker.validate.monitors import (
    copied_labels,
    durations,
    interval_and_timeout,
    selector,
    sizes,
)
from stoker.validate.reading import ScraperReading
from stoker.validate.relabel import relabelings
from stoker.validate.scrapeconfig import name_schemes, too_old
from stoker.validate.syntax import enforced_label_problem, label_name, quantity
from stoker.version import needs_version

_FURTHER_FILES: Final = "2.43.0"
_MODES: Final = ("StatefulSet", "DaemonSet")


def workload(spec: PrometheusCommonSpec, reading: ScraperReading) -> Findings:
    """Everything about a workload."""
    yield from mode_rules(spec)
    yield from gated_mode(spec, reading)
    yield from discovery(spec, reading)
    for attribute in (each for each in SELECTORS if hasattr(spec, each)):
        path = below("spec", json_name(spec, attribute))
        yield from selector(getattr(spec, attribute), path)
    yield from given_intervals(spec)
    names = ("scrapeInterval", "scrapeTimeout")
    yield from interval_and_timeout(
        spec.scrape_interval, spec.scrape_timeout, reading, "spec", names
    )
    yield from durations(spec, "spec", "evaluation_interval", "rule_query_offset", "retention")
    yield from sizes(spec, "spec", "body_size_limit", "enforced_body_size_limit", "retention_size")
    yield from name_schemes(None, spec.name_escaping_scheme, reading, "spec")
    yield from label_names(spec, reading)
    yield from scrape_classes(spec.scrape_classes, reading, "spec.scrapeClasses")
    yield from remote_writes(spec.remote_write, reading, "spec.remoteWrite")
    yield from remote_reads(getattr(spec, "remote_read", None), reading, "spec.remoteRead")
    if spec.apiserver_config:
        yield from http_client(spec.apiserver_config, reading, "spec.apiserverConfig")
    yield from alertmanagers(spec, reading)
    yield from additional_configs(spec, reading)
    yield from tracing(spec.tracing_config, reading, "spec.tracingConfig")
    yield from tsdb(spec.tsdb, "spec.tsdb")
    yield from otlp(spec.otlp, "spec.otlp")
    yield from web_tls(spec.web.tls_config if spec.web else None, "spec.web.tlsConfig")


def given_intervals(spec: PrometheusCommonSpec) -> Findings:
    """Both intervals; the API server fills in what is absent, but not what is empty."""
    for attribute in ("scrape_interval", "evaluation_interval"):
        if getattr(spec, attribute, None) == "":
            yield Finding(below("spec", json_name(spec, attribute)), Reason.REQUIRED, "must be set")


_LABEL_NAMES: Final = ("prometheus_external_label_name", "replica_external_label_name")


def mode_rules(spec: PrometheusCommonSpec) -> Findings:
    """What an agent cannot have in its mode.

    The rules are those of the definition. The API server enforces them where it knows CEL and where
    they are installed; elsewhere this is the only place that does.
    """
    if not isinstance(spec, PrometheusAgentSpec):
        return
    if spec.mode and spec.mode not in _MODES:
        known = " and ".join(f"`{mode}`" for mode in _MODES)
        yield Finding("spec.mode", Reason.INVALID_VALUE, f"is none of {known}")
    if spec.mode in (None, "", _MODES[0]) and spec.daemon_set is None:
        return
    value = msgspec.to_builtins(spec)
    for message, rule in PrometheusAgentSpec.CEL.items():
        if not holds(rule, value):
            yield Finding("spec", Reason.CONFLICT, message)
    for fault in faults(DaemonSetSettings, value.get("daemonSet", {})):
        yield Finding(below("spec.daemonSet", fault.path), Reason.INVALID_VALUE, fault.message)


def gated_mode(spec: PrometheusCommonSpec, reading: ScraperReading) -> Findings:
    """No agents on every node where the operator does not run them."""
    if reading.capabilities.daemon_sets or getattr(spec, "mode", None) != "DaemonSet":
        return
    message = f"the operator was told not to run such agents: {DAEMON_SET_GATE}=false"
    yield Finding("spec.mode", Reason.CONFLICT, message)


def discovery(spec: PrometheusCommonSpec, reading: ScraperReading) -> Findings:
    """Targets that the operator finds come in files, which the version must look for."""
    on_nodes: DaemonSetSettings | None = getattr(spec, "daemon_set", None)
    wanted = on_nodes is not None and on_nodes.discovery == BY_OPERATOR
    if wanted and not reading.knows(_FURTHER_FILES):
        message = f"`{BY_OPERATOR}` {needs_version('Prometheus', _FURTHER_FILES)}"
        yield Finding("spec.daemonSet.discovery", Reason.UNSUPPORTED_VERSION, message)


def label_names(spec: PrometheusCommonSpec, reading: ScraperReading) -> Findings:
    """Names that the version takes for labels on everything."""
    own = {below("spec", json_name(spec, name)): getattr(spec, name) for name in _LABEL_NAMES}
    own |= {f"spec.externalLabels[{name}]": name for name in spec.external_labels or {}}
    legacy = reading.legacy_names()
    for path, name in own.items():
        # An empty one switches the label off.
        if name and not label_name(name, legacy=legacy):
            yield Finding(path, Reason.INVALID_VALUE, f"`{name}` is not the name of a label")
    problem = enforced_label_problem(spec.enforced_namespace_label or "", legacy=legacy)
    if problem:
        yield Finding("spec.enforcedNamespaceLabel", Reason.INVALID_VALUE, problem)
    yield from copied_labels(spec.pod_target_labels, reading, "spec.podTargetLabels")


def scrape_classes(
    classes: tuple[ScrapeClass, ...] | None, reading: ScraperReading, path: str
) -> Findings:
    """Names that tell classes apart, one default at most, and settings that can work."""
    defaults = [one.name for one in classes or () if one.default]
    if len(defaults) > 1:
        names = ", ".join(f"`{name}`" for name in defaults)
        yield Finding(path, Reason.DUPLICATE, f"more than one class is the default: {names}")
    yield from duplicate_names(classes, path)
    for index, one in enumerate(classes or ()):
        where = f"{path}[{index}]"
        yield from tls_settings(one.tls_config, below(where, "tlsConfig"))
        yield from authorization_settings(one.authorization, below(where, "authorization"))
        yield from relabelings(one.relabelings, reading, below(where, "relabelings"))
        yield from relabelings(one.metric_relabelings, reading, below(where, "metricRelabelings"))


def duplicate_names(items: tuple[Any, ...] | None, path: str) -> Findings:
    """Items of a list that have the same name; those without one do not count."""
    counts = Counter(item.name for item in items or () if item.name)
    for index, item in enumerate(items or ()):
        if counts[item.name] > 1:
            message = f"`{item.name}` comes twice"
            yield Finding(f"{path}[{index}].name", Reason.DUPLICATE, message)


_QUEUE: Final = ("batch_send_deadline", "min_backoff", "max_backoff", "sample_age_limit")


def same_twice(items: tuple[Any, ...] | None, path: str) -> Findings:
    """Entries without any difference, which Prometheus refuses when it comes to use them."""
    for index, item in enumerate(items or ()):
        if item in (items or ())[:index]:
            yield Finding(f"{path}[{index}]", Reason.DUPLICATE, "is the same as an entry before it")


def remote_writes(
    items: tuple[RemoteWrite, ...] | None, reading: ScraperReading, path: str
) -> Findings:
    """Everything about remote write."""
    yield from duplicate_names(items, path)
    yield from same_twice(items, path)
    for index, item in enumerate(items or ()):
        where = f"{path}[{index}]"
        yield from remote_storage(item, reading, where)
        yield from azure_ad(item.azure_ad, reading, below(where, "azureAd"))
        yield from durations(item.queue_config, below(where, "queueConfig"), *_QUEUE)
        yield from durations(item.metadata_config, below(where, "metadataConfig"), "send_interval")
        configs = below(where, "writeRelabelConfigs")
        yield from relabelings(item.write_relabel_configs, reading, configs)
        oauth = item.azure_ad.oauth if item.azure_ad else None
        if oauth:
            secret = f"{where}.azureAd.oauth.clientSecret"
            yield from reading.unresolved(oauth.client_secret, secret)


def remote_reads(items: tuple[Any, ...] | None, reading: ScraperReading, path: str) -> Findings:
    """Everything about remote read."""
    yield from duplicate_names(items, path)
    yield from same_twice(items, path)
    for index, item in enumerate(items or ()):
        yield from remote_storage(item, reading, f"{path}[{index}]")


def remote_storage(item: Any, reading: ScraperReading, path: str) -> Findings:
    """What remote write and remote read share."""
    yield from web_url(item.url, below(path, "url"))
    yield from http_client(item, reading, path)
    yield from durations(item, path, "remote_timeout")


_DASHED: Final = "[0-9a-f]{8}-(?:[0-9a-f]{4}-){3}[0-9a-f]{12}"
_UUID: Final = re.compile(rf"(?:urn:uuid:)?{_DASHED}|\{{{_DASHED}\}}|[0-9a-f]{{32}}", re.IGNORECASE)
# The ways to log in to Azure: since when there are, and which members are UUIDs.
_AZURE_LOGINS: Final[dict[str, tuple[str, tuple[str, ...]]]] = {
    "managed_identity": ("", ("client_id",)),
    "oauth": ("2.48.0", ("client_id",)),
    "sdk": ("2.52.0", ()),
    "workload_identity": ("3.7.0", ("client_id", "tenant_id")),
}
_SYSTEM_IDENTITY: Final = "3.5.0"


def azure_ad(azure: AzureAd | None, reading: ScraperReading, path: str) -> Findings:
    """One login that the version knows, with well-formed ids."""
    if azure is None:
        return
    given = [name for name in _AZURE_LOGINS if getattr(azure, name) is not None]
    if not given:
        names = ", ".join(f"`{json_name(azure, name)}`" for name in _AZURE_LOGINS)
        yield Finding(path, Reason.REQUIRED, f"needs one of {names}")
    for one, other in combinations(given, 2):
        yield conflict(below(path, json_name(azure, other)), f"excludes `{json_name(azure, one)}`")
    for name in given:
        where = below(path, json_name(azure, name))
        yield from _azure_login(getattr(azure, name), *_AZURE_LOGINS[name], reading, where)
    identity = azure.managed_identity
    if identity and not identity.client_id and not reading.knows(_SYSTEM_IDENTITY):
        message = f"is needed before Prometheus {_SYSTEM_IDENTITY}"
        yield Finding(f"{path}.managedIdentity.clientId", Reason.UNSUPPORTED_VERSION, message)


def _azure_login(
    login: Any, since: str, ids: tuple[str, ...], reading: ScraperReading, path: str
) -> Findings:
    if since and not reading.knows(since):
        yield too_old(path, since)
    for attribute in ids:
        identifier = getattr(login, attribute)
        # Without an id, the identity of the machine itself is used.
        if identifier in (None, "") and isinstance(login, AzureManagedIdentity):
            continue
        if not _UUID.fullmatch(identifier):
            where = below(path, json_name(login, attribute))
            yield Finding(where, Reason.INVALID_VALUE, "is not a UUID")


def alertmanagers(spec: PrometheusCommonSpec, reading: ScraperReading) -> Findings:
    """How alerts reach their Alertmanagers."""
    alerting: Any = getattr(spec, "alerting", None)
    for index, one in enumerate((alerting and alerting.alertmanagers) or ()):
        path = f"spec.alerting.alertmanagers[{index}]"
        yield from http_client(one, reading, path)
        yield from durations(one, path, "timeout")
        yield from relabelings(one.relabelings, reading, below(path, "relabelings"))
        yield from relabelings(one.alert_relabelings, reading, below(path, "alertRelabelings"))


_ADDITIONAL: Final = (
    "additional_scrape_configs",
    "additional_alert_relabel_configs",
    "additional_alert_manager_configs",
)


def additional_configs(spec: PrometheusCommonSpec, reading: ScraperReading) -> Findings:
    """The Secrets with configuration to add are there, or may be missing."""
    for attribute in _ADDITIONAL:
        reference: SecretKeySelector | None = getattr(spec, attribute, None)
        if reference is not None:
            path = below("spec", json_name(spec, attribute))
            yield from reading.unresolved_unless_optional(reference, path)


def tracing(config: TracingConfig | None, reading: ScraperReading, path: str) -> Findings:
    """A share of traces, and a collector that can be reached."""
    if config is None:
        return
    yield from share(config.sampling_fraction, below(path, "samplingFraction"))
    yield from durations(config, path, "timeout")
    yield from http_client(config, reading, path)


def tsdb(settings: Tsdb | None, path: str) -> Findings:
    """A share of series, and a window of time."""
    if settings is not None:
        yield from durations(settings, path, "out_of_order_time_window")
        threshold = settings.stale_series_compaction_threshold
        yield from share(threshold, below(path, "staleSeriesCompactionThreshold"))


def share(value: str | int | None, path: str) -> Findings:
    """A quantity from 0 to 1."""
    if value is None:
        return
    number = quantity(value)
    if number is None or not 0 <= number <= 1:
        yield Finding(path, Reason.INVALID_VALUE, f"`{value}` is not between 0 and 1")


def otlp(config: OtlpConfig | None, path: str) -> Findings:
    """Attributes that have a name, each once; spaces around it do not count."""
    for attribute in ("promote_resource_attributes", "ignore_resource_attributes"):
        names = [name.strip() for name in getattr(config, attribute, None) or ()]
        for index, name in enumerate(names):
            where = f"{below(path, json_name(config, attribute))}[{index}]"
            if not name:
                yield Finding(where, Reason.INVALID_VALUE, "must not be blank")
            elif name in names[:index]:
                yield Finding(where, Reason.DUPLICATE, f"`{name}` comes twice")


def web_tls(tls: WebTlsConfig | None, path: str) -> Findings:
    """A certificate and its key for the web server, each from one place."""
    if tls is None:
        return
    named_key = tls.key_secret if _names_something(tls.key_secret) else None
    for attribute, file, reference in (
        ("cert", tls.cert_file, is_set(tls.cert)),
        ("key_secret", tls.key_file, named_key),
        ("client_ca", tls.client_ca_file, is_set(tls.client_ca)),
    ):
        where = below(path, json_name(tls, attribute))
        if file and reference:
            yield conflict(where, "excludes the file")
        if not file and not reference and attribute != "client_ca":
            yield Finding(where, Reason.REQUIRED, "this or a file must be set")
    yield from secret_or_config_map_settings(tls.cert, below(path, "cert"))
    yield from secret_or_config_map_settings(tls.client_ca, below(path, "client_ca"))


def _names_something(reference: SecretKeySelector | None) -> bool:
    return reference is not None and bool(reference.name or reference.key)
