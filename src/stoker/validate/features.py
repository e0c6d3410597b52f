"""What is odd about a Prometheus or agent: features, arguments, fields without effect.

Nothing here stops a workload: these are notes for its status, for `stoker lint` and `stoker
explain`. Prometheus starts with a feature that it does not know, and only logs it; what it ends
with at once has a word of its own. The table of features is what the sources of each release have.
"""

from collections.abc import Sequence
from typing import Final

from msgspec import Struct

from stoker.api.prometheus import PrometheusAgentSpec
from stoker.api.prometheus_common import PrometheusCommonSpec
from stoker.validate.findings import Finding, Findings, Reason, json_names
from stoker.version import Version, Versioned, parse_version


class Feature(Versioned, frozen=True):
    """A feature flag, and who uses it.

    From version `idle` on it is known and does nothing: what it was for is always so, or a field
    does it `instead`.
    """

    idle: str = ""
    instead: str = ""
    server_only: bool = False

    def idle_in(self, version: Version) -> bool:
        """Whether a version knows the flag for nothing."""
        return bool(self.idle) and version >= parse_version(self.idle)


NEWEST_KNOWN: Final = "3.15.0"
"""The version up to which the table knows every flag."""

_UNTIL_3: Final = "3.0.0"
FEATURES: Final[dict[str, Feature]] = {
    "agent": Feature(since="2.32.0", until=_UNTIL_3),
    "auto-gomaxprocs": Feature(since="2.35.0", until=_UNTIL_3),
    "auto-gomemlimit": Feature(since="2.50.0", until=_UNTIL_3),
    "auto-reload-config": Feature(since="3.0.0"),
    "concurrent-rule-eval": Feature(since="2.51.0", server_only=True),
    "created-timestamp-zero-ingestion": Feature(since="2.50.0"),
    "delayed-compaction": Feature(since="2.55.0", server_only=True),
    "exemplar-storage": Feature(since="2.26.0"),
    "expand-external-labels": Feature(since="2.27.0", until=_UNTIL_3),
    "extra-scrape-metrics": Feature(since="2.30.0"),
    "fast-startup": Feature(since="3.11.0", server_only=True),
    "histograms-st-encoding": Feature(since="3.14.0", server_only=True),
    "memory-snapshot-on-shutdown": Feature(since="2.30.0", server_only=True),
    "metadata-wal-records": Feature(since="2.54.0"),
    "native-histograms": Feature(since="2.40.0", idle="3.9.0", instead="scrapeNativeHistograms"),
    "new-service-discovery-manager": Feature(since="2.31.0", until=_UNTIL_3),
    "no-default-scrape-port": Feature(since="2.38.0", until=_UNTIL_3),
    "old-ui": Feature(since="3.0.0", server_only=True),
    "ooo-native-histograms": Feature(since="3.0.0", idle="3.4.0", server_only=True),
    "openmetrics2": Feature(since="3.15.0"),
    "otlp-deltatocumulative": Feature(since="3.2.0"),
    "otlp-native-delta-ingestion": Feature(since="3.4.0"),
    "otlp-write-receiver": Feature(since="2.47.0", until=_UNTIL_3),
    "promql-at-modifier": Feature(since="2.25.0", until=_UNTIL_3, idle="2.33.0", server_only=True),
    "promql-binop-fill-modifiers": Feature(since="3.10.0", server_only=True),
    "promql-delayed-name-removal": Feature(since="2.55.0", server_only=True),
    "promql-duration-expr": Feature(since="3.4.0", idle="3.14.0", server_only=True),
    "promql-experimental-functions": Feature(since="2.49.0", server_only=True),
    "promql-extended-range-selectors": Feature(since="3.7.0", server_only=True),
    "promql-negative-offset": Feature(
        since="2.26.0", until=_UNTIL_3, idle="2.33.0", server_only=True
    ),
    "promql-per-step-stats": Feature(since="2.35.0", server_only=True),
    "remote-write-receiver": Feature(since="2.25.0", until=_UNTIL_3),
    "search-api": Feature(since="3.13.0", server_only=True),
    "st-storage": Feature(since="3.10.0"),
    "st-synthesis": Feature(since="3.12.0"),
    "type-and-unit-labels": Feature(since="3.5.0"),
    "use-start-timestamps": Feature(since="3.12.0", server_only=True),
    "use-uncached-io": Feature(since="3.5.0", server_only=True),
    "utf8-names": Feature(since="2.55.0", until=_UNTIL_3),
    "xor2-encoding": Feature(since="3.11.0", server_only=True),
    "zstd-scrape": Feature(since="3.15.0"),
}
# Prometheus ends at once with flags of the mode that it does not run in.
_OF_SERVERS: Final = (
    "storage.tsdb.",
    "storage.remote.read-",
    "rules.",
    "alertmanager.",
    "query.",
    "web.search.",
)
_OF_AGENTS: Final = ("storage.agent.",)
# It ends with both of these, too.
_APART: Final = ("otlp-deltatocumulative", "otlp-native-delta-ingestion")


# Alertmanager ends at once with a feature that it does not know, and with both of the last two.
ALERTMANAGER_FEATURES: Final[dict[str, Feature]] = {
    "alert-names-in-metrics": Feature(since="0.31.0"),
    "auto-gomaxprocs": Feature(since="0.28.0", until="0.33.0"),
    "auto-gomemlimit": Feature(since="0.28.0"),
    "event-recorder": Feature(since="0.33.0"),
    "group-key-in-metrics": Feature(since="0.33.0"),
    "receiver-name-in-metrics": Feature(since="0.26.0"),
    "classic-mode": Feature(since="0.27.0"),
    "utf8-strict-mode": Feature(since="0.27.0"),
}
NEWEST_ALERTMANAGER: Final = "0.34.0"
"""The version up to which that table knows every feature."""

_ALERTMANAGER_FLAG: Final = "0.27.0"
_NAMES_APART: Final = ("classic-mode", "utf8-strict-mode")


def alertmanager_notes(names: Sequence[str], version: Version) -> Findings:
    """Features with which an Alertmanager ends at once; older ones are not given any."""
    if version < parse_version(_ALERTMANAGER_FLAG):
        return
    for index, name in enumerate(names):
        feature = ALERTMANAGER_FEATURES.get(name)
        if feature and feature.known_to(version):
            continue
        who = f"Alertmanager {version} does not know"
        if feature is None:
            who = f"no Alertmanager up to {NEWEST_ALERTMANAGER} knows"
        message = f"{who} the feature `{name}`; one that does not know it ends at once"
        yield Finding(f"spec.enableFeatures[{index}]", Reason.WILL_NOT_START, message)
    if all(name in names for name in _NAMES_APART):
        message = f"`{_NAMES_APART[0]}` and `{_NAMES_APART[1]}` exclude each other"
        yield Finding("spec.enableFeatures", Reason.WILL_NOT_START, message)


class WithoutEffect(Struct, frozen=True):
    """A field that may be set in a mode and does nothing there: why, and what does it instead."""

    field: str
    why: str
    instead: str = ""


IDLE_ON_NODES: Final = (
    WithoutEffect("updateStrategy", "it is a StatefulSet's", "daemonSet.updateStrategy"),
    WithoutEffect("podManagementPolicy", "it is a StatefulSet's"),
    WithoutEffect("serviceName", "pods of a DaemonSet have no names in DNS"),
    WithoutEffect("serviceDiscoveryRole", "EndpointSlices are used, for the node that they name"),
)
_FIRST_AGENT: Final = "2.32.0"


def scraper_notes(spec: PrometheusCommonSpec, version: Version) -> Findings:
    """What is odd about a Prometheus or an agent that can be configured."""
    agent = isinstance(spec, PrometheusAgentSpec)
    yield from _features(spec.enable_features or (), version, agent=agent)
    yield from _arguments(spec, agent=agent)
    if isinstance(spec, PrometheusAgentSpec):
        yield from _agent_notes(spec, version)


def _features(names: Sequence[str], version: Version, *, agent: bool) -> Findings:
    for index, name in enumerate(names):
        found = _feature(name, version, agent=agent)
        if found:
            yield Finding(f"spec.enableFeatures[{index}]", *found)
    if all(name in names and FEATURES[name].known_to(version) for name in _APART):
        message = f"`{_APART[0]}` and `{_APART[1]}` exclude each other: Prometheus ends at once"
        yield Finding("spec.enableFeatures", Reason.WILL_NOT_START, message)


def _feature(name: str, version: Version, *, agent: bool) -> tuple[Reason, str] | None:
    """What is odd about one feature, if anything."""
    feature = FEATURES.get(name)
    if feature is None:
        message = f"no Prometheus up to {NEWEST_KNOWN} knows the feature `{name}`"
        return Reason.INVALID_VALUE, f"{message}; one that does not know it logs and ignores it"
    if not feature.known_to(version):
        message = f"Prometheus {version} does not know the feature `{name}`: it is ignored"
        return Reason.UNSUPPORTED_VERSION, message
    if name == "agent" and not agent:
        message = "makes an agent of a server, which ends at once: use a PrometheusAgent"
        return Reason.WILL_NOT_START, message
    if feature.server_only and agent:
        return Reason.INVALID_VALUE, f"the feature `{name}` is a server's; an agent ignores it"
    if feature.idle_in(version):
        what = f"`{feature.instead}` does it" if feature.instead else "it is always on"
        message = f"the feature `{name}` does nothing: since Prometheus {feature.idle} {what}"
        return Reason.INVALID_VALUE, message
    return None


def _arguments(spec: PrometheusCommonSpec, *, agent: bool) -> Findings:
    others, other = (_OF_SERVERS, "a server") if agent else (_OF_AGENTS, "an agent")
    for index, each in enumerate(spec.additional_args or ()):
        if each.name.removeprefix("no-").startswith(others):
            message = f"`{each.name}` is for {other}: Prometheus ends at once with it"
            yield Finding(f"spec.additionalArgs[{index}]", Reason.WILL_NOT_START, message)


def _agent_notes(spec: PrometheusAgentSpec, version: Version) -> Findings:
    if version < parse_version(_FIRST_AGENT):
        message = f"Prometheus {version} is no agent and ends at once: {_FIRST_AGENT} is the first"
        yield Finding("spec.version", Reason.WILL_NOT_START, message)
    if not spec.remote_write:
        message = "without it an agent sends its samples nowhere"
        yield Finding("spec.remoteWrite", Reason.REQUIRED, message)
    if spec.mode == "DaemonSet":
        yield from _idle(spec)


def _idle(spec: PrometheusAgentSpec) -> Findings:
    attributes = {name: attribute for attribute, name in json_names(PrometheusAgentSpec).items()}
    for each in IDLE_ON_NODES:
        if getattr(spec, attributes[each.field]) is not None:
            message = f"has no effect on every node: {each.why}"
            message += f"; use {each.instead}" if each.instead else ""
            yield Finding(f"spec.{each.field}", Reason.INVALID_VALUE, message)
