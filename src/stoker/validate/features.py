"""What is odd about an agent that runs: features, its version, fields without effect (K4).

Prometheus starts with a flag that it does not know and only logs it, so nothing here stops a
workload: these are notes for its status. The table of features comes from Prometheus' list of flags
and its changelog; where that does not say when a flag came, any version is taken to know it.
"""

from typing import Final

from msgspec import Struct

from stoker.api.prometheus import PrometheusAgentSpec
from stoker.validate.findings import Finding, Findings, Reason, json_names
from stoker.version import Version, parse_version


class Feature(Struct, frozen=True):
    """A flag: the first version that knows it, the first that no longer does, and who uses it."""

    since: str = ""
    until: str = ""
    server_only: bool = False

    def known_to(self, version: Version) -> bool:
        """Whether a version knows the flag."""
        if self.since and version < parse_version(self.since):
            return False
        return not (self.until and version >= parse_version(self.until))


_UNTIL_3: Final = "3.0.0"
FEATURES: Final[dict[str, Feature]] = {
    "agent": Feature("2.32.0", _UNTIL_3),
    "auto-gomaxprocs": Feature("2.35.0", _UNTIL_3),
    "auto-gomemlimit": Feature("2.50.0", _UNTIL_3),
    "auto-reload-config": Feature("3.0.0"),
    "concurrent-rule-eval": Feature(server_only=True),
    "created-timestamp-zero-ingestion": Feature("2.50.0"),
    "delayed-compaction": Feature("2.55.0", server_only=True),
    "exemplar-storage": Feature("2.26.0"),
    "expand-external-labels": Feature("2.27.0", _UNTIL_3),
    "extra-scrape-metrics": Feature("2.30.0"),
    "fast-startup": Feature("3.11.0", server_only=True),
    "histograms-st-encoding": Feature("3.14.0"),
    "memory-snapshot-on-shutdown": Feature("2.30.0", server_only=True),
    "metadata-wal-records": Feature("2.54.0"),
    "native-histograms": Feature("2.40.0"),
    "new-service-discovery-manager": Feature("2.31.0", _UNTIL_3),
    "no-default-scrape-port": Feature("2.38.0", _UNTIL_3),
    "old-ui": Feature("3.0.0", server_only=True),
    "ooo-native-histograms": Feature(server_only=True),
    "openmetrics2": Feature(),
    "otlp-deltatocumulative": Feature("3.2.0"),
    "otlp-native-delta-ingestion": Feature(),
    "otlp-write-receiver": Feature(until=_UNTIL_3),
    "promql-at-modifier": Feature("2.25.0", _UNTIL_3, server_only=True),
    "promql-binop-fill-modifiers": Feature(server_only=True),
    "promql-delayed-name-removal": Feature("2.55.0", server_only=True),
    "promql-duration-expr": Feature(server_only=True),
    "promql-experimental-functions": Feature("2.49.0", server_only=True),
    "promql-extended-range-selectors": Feature("3.7.0", server_only=True),
    "promql-negative-offset": Feature("2.26.0", _UNTIL_3, server_only=True),
    "promql-per-step-stats": Feature("2.35.0", server_only=True),
    "remote-write-receiver": Feature("2.25.0", _UNTIL_3),
    "search-api": Feature(server_only=True),
    "st-storage": Feature("3.11.0"),
    "st-synthesis": Feature("3.12.0"),
    "type-and-unit-labels": Feature("3.5.0"),
    "use-start-timestamps": Feature("3.12.0", server_only=True),
    "use-uncached-io": Feature(server_only=True),
    "utf8-names": Feature("2.55.0", _UNTIL_3),
    "xor2-encoding": Feature("3.11.0"),
    "zstd-scrape": Feature("3.15.0"),
}


class Idle(Struct, frozen=True):
    """A field that may be set in a mode and does nothing there: why, and what does it instead."""

    field: str
    why: str
    instead: str = ""


IDLE_ON_NODES: Final = (
    Idle("updateStrategy", "it is a StatefulSet's", "daemonSet.updateStrategy"),
    Idle("podManagementPolicy", "it is a StatefulSet's"),
    Idle("serviceName", "pods of a DaemonSet have no names in DNS"),
    Idle("serviceDiscoveryRole", "EndpointSlices are used, for the node that they name"),
)
_FIRST_AGENT: Final = "2.32.0"


def agent_notes(spec: PrometheusAgentSpec, version: Version) -> Findings:
    """What is odd about an agent: its version, flags, samples that it keeps, idle fields."""
    if version < parse_version(_FIRST_AGENT):
        message = (
            f"Prometheus {version} is no agent and will not start: {_FIRST_AGENT} is the first"
        )
        yield Finding("spec.version", Reason.UNSUPPORTED_VERSION, message)
    for index, name in enumerate(spec.enable_features or ()):
        path, feature = f"spec.enableFeatures[{index}]", FEATURES.get(name)
        if feature is None:
            yield Finding(path, Reason.INVALID_VALUE, f"no Prometheus knows the feature `{name}`")
        elif not feature.known_to(version):
            message = f"Prometheus {version} does not know the feature `{name}`"
            yield Finding(path, Reason.UNSUPPORTED_VERSION, message)
        elif feature.server_only:
            message = f"the feature `{name}` is a server's; an agent ignores it"
            yield Finding(path, Reason.INVALID_VALUE, message)
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
