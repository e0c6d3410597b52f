"""ServiceMonitor, PodMonitor and Probe: what Prometheus could not load or must not read.

Each kind is a chain of checks. All of them are made, so that everything that is wrong with a
resource is reported at once.
"""

from collections.abc import Mapping
from typing import Any, Final

from stoker.api.common import TlsConfig
from stoker.api.core import LabelSelector
from stoker.api.monitors import PodMonitor, Probe, ProbeTargets, ServiceEndpoint, ServiceMonitor
from stoker.api.scrape import Endpoint, ScrapeSettings
from stoker.errors import below
from stoker.select.labels import problems
from stoker.validate.findings import Finding, Findings, Reason, json_name
from stoker.validate.http import http_client
from stoker.validate.reading import ScraperReading
from stoker.validate.relabel import relabelings
from stoker.validate.syntax import byte_size, host_and_port, label_name, milliseconds

# What the API server fills in for a Prometheus that says nothing.
DEFAULT_INTERVAL: Final = "30s"


def service_monitor(monitor: ServiceMonitor, reading: ScraperReading) -> Findings:
    """Everything about a ServiceMonitor."""
    yield from scrape_settings(monitor.spec, reading, "spec")
    yield from selector(monitor.spec.selector, "spec.selector")
    yield from copied_labels(monitor.spec.target_labels, reading, "spec.targetLabels")
    yield from copied_labels(monitor.spec.pod_target_labels, reading, "spec.podTargetLabels")
    for index, endpoint in enumerate(monitor.spec.endpoints):
        path = f"spec.endpoints[{index}]"
        yield from forbidden_files(endpoint, reading, path)
        yield from scrape_endpoint(endpoint, reading, path)


def pod_monitor(monitor: PodMonitor, reading: ScraperReading) -> Findings:
    """Everything about a PodMonitor."""
    yield from scrape_settings(monitor.spec, reading, "spec")
    yield from selector(monitor.spec.selector, "spec.selector")
    yield from copied_labels(monitor.spec.pod_target_labels, reading, "spec.podTargetLabels")
    for index, endpoint in enumerate(monitor.spec.pod_metrics_endpoints or ()):
        yield from scrape_endpoint(endpoint, reading, f"spec.podMetricsEndpoints[{index}]")


def probe(resource: Probe, reading: ScraperReading) -> Findings:
    """Everything about a Probe."""
    spec = resource.spec
    yield from scrape_settings(spec, reading, "spec")
    yield from prober(resource, reading)
    yield from probe_targets(spec.targets, "spec.targets")
    yield from targets_of_probe(spec.targets or ProbeTargets(), reading, "spec.targets")
    yield from interval_and_timeout(spec.interval, spec.scrape_timeout, reading, "spec")
    yield from relabelings(spec.metric_relabelings, reading, "spec.metricRelabelings")
    yield from http_client(spec, reading, "spec")


def scrape_settings(spec: ScrapeSettings, reading: ScraperReading, path: str) -> Findings:
    """What all kinds can say: the scrape class, the protocols and how large a scrape may be."""
    yield from scrape_class(spec.scrape_class, reading, below(path, "scrapeClass"))
    yield from sizes(spec, path, "body_size_limit")
    protocols = spec.scrape_protocols or ()
    if len(set(protocols)) < len(protocols):
        where = below(path, "scrapeProtocols")
        yield Finding(where, Reason.DUPLICATE, "names a protocol twice")


def scrape_class(name: str | None, reading: ScraperReading, path: str) -> Findings:
    """The workload has that class."""
    if name and name not in {known.name for known in reading.spec.scrape_classes or ()}:
        message = f"the Prometheus has no scrape class `{name}`"
        yield Finding(path, Reason.SCRAPE_CLASS_NOT_FOUND, message)


def copied_labels(names: tuple[str, ...] | None, reading: ScraperReading, path: str) -> Findings:
    """Labels of objects whose names, with `_` for other characters, can be those of targets."""
    for index, name in enumerate(names or ()):
        if not name or (name[0] in _DIGITS and reading.legacy_names()):
            message = f"`{name}` does not make the name of a label"
            yield Finding(f"{path}[{index}]", Reason.INVALID_VALUE, message)


_DIGITS: Final = "0123456789"


def selector(declared: LabelSelector | None, path: str) -> Findings:
    """A label selector that Kubernetes takes."""
    for problem in problems(declared, path):
        yield Finding(problem.path, Reason.INVALID_SELECTOR, problem.message)


def scrape_endpoint(endpoint: Endpoint, reading: ScraperReading, path: str) -> Findings:
    """Everything about an endpoint of a ServiceMonitor or PodMonitor."""
    yield from interval_and_timeout(endpoint.interval, endpoint.scrape_timeout, reading, path)
    yield from relabelings(endpoint.relabelings, reading, below(path, "relabelings"))
    yield from relabelings(endpoint.metric_relabelings, reading, below(path, "metricRelabelings"))
    yield from http_client(endpoint, reading, path)


_TLS_FILES: Final = ("ca_file", "cert_file", "key_file")


def forbidden_files(endpoint: ServiceEndpoint, reading: ScraperReading, path: str) -> Findings:
    """No files of the container, where the Prometheus denies them."""
    if not files_denied(reading):
        return
    if endpoint.bearer_token_file:
        yield forbidden_file(below(path, "bearerTokenFile"))
    tls = endpoint.tls_config or TlsConfig()
    for name in _TLS_FILES:
        if getattr(tls, name):
            yield forbidden_file(f"{path}.tlsConfig.{json_name(tls, name)}")


def files_denied(reading: ScraperReading) -> bool:
    """Whether resources may name no files of the Prometheus container."""
    access = reading.spec.arbitrary_fs_access_through_sms
    return reading.capabilities.deny_files or bool(access and access.deny)


def forbidden_file(path: str) -> Finding:
    """A file of the container was named, and that is denied."""
    message = "files of the container must not be named: the Prometheus or the operator forbids it"
    return Finding(path, Reason.FILE_ACCESS_FORBIDDEN, message)


def interval_and_timeout(
    interval: str | None,
    timeout: str | None,
    reading: ScraperReading,
    path: str,
    names: tuple[str, str] = ("interval", "scrapeTimeout"),
) -> Findings:
    """Both are durations, and a scrape does not outlast its interval."""
    effective = interval or reading.spec.scrape_interval or DEFAULT_INTERVAL
    between, longest = milliseconds(effective), milliseconds(timeout or "0")
    if interval and between is None:
        yield invalid_duration(below(path, names[0]), interval)
    if timeout and longest is None:
        yield invalid_duration(below(path, names[1]), timeout)
    if between is not None and longest is not None and longest > between:
        message = f"`{timeout}` is longer than the interval of `{effective}`"
        yield Finding(below(path, names[1]), Reason.CONFLICT, message)


def invalid_duration(path: str, text: str) -> Finding:
    """A text that is no duration."""
    return Finding(path, Reason.INVALID_VALUE, f"`{text}` is not a duration such as `30s`")


def durations(source: Any, path: str, *attributes: str) -> Findings:
    """Members of an object that are durations, where they are given."""
    for attribute in attributes:
        text = getattr(source, attribute, None)
        if text and milliseconds(text) is None:
            yield invalid_duration(below(path, json_name(source, attribute)), text)


def sizes(source: Any, path: str, *attributes: str) -> Findings:
    """Members of an object that are sizes, where they are given."""
    for attribute in attributes:
        text = getattr(source, attribute, None)
        if text and byte_size(text) is None:
            message = f"`{text}` is not a size such as `10MB`"
            yield Finding(below(path, json_name(source, attribute)), Reason.INVALID_VALUE, message)


def prober(resource: Probe, reading: ScraperReading) -> Findings:
    """The prober's address is a host with or without a port, and can be reached."""
    one = resource.spec.prober
    if one is None:
        yield Finding("spec.prober", Reason.REQUIRED, "must be set")
        return
    if not host_and_port(one.url):
        message = "must be a host with or without a port, and no URL: `blackbox:9115`"
        yield Finding("spec.prober.url", Reason.INVALID_VALUE, message)
    yield from http_client(one, reading, "spec.prober")


def probe_targets(targets: ProbeTargets | None, path: str) -> Findings:
    """A list of targets or Ingresses."""
    if not targets or (targets.static_config is None and targets.ingress is None):
        yield Finding(path, Reason.REQUIRED, "needs `staticConfig` or `ingress`")


def targets_of_probe(targets: ProbeTargets, reading: ScraperReading, path: str) -> Findings:
    """Labels, selectors and relabelings of the targets."""
    static, ingress = targets.static_config, targets.ingress
    if static:
        where = below(path, "staticConfig")
        yield from target_labels(static.labels, reading, below(where, "labels"))
        yield from relabelings(
            static.relabeling_configs, reading, below(where, "relabelingConfigs")
        )
    if ingress:
        where = below(path, "ingress")
        yield from selector(ingress.selector, below(where, "selector"))
        yield from relabelings(
            ingress.relabeling_configs, reading, below(where, "relabelingConfigs")
        )


def target_labels(labels: Mapping[str, str] | None, reading: ScraperReading, path: str) -> Findings:
    """Names of labels that the version takes on a target."""
    for name in sorted(labels or ()):
        if not label_name(name, legacy=not reading.utf8_names):
            message = "is not the name of a label"
            if not reading.utf8_names:
                message += "; before Prometheus 3.0 only letters, digits and `_` are"
            yield Finding(f"{path}[{name}]", Reason.INVALID_VALUE, message)
