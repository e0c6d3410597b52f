"""The workload that resources are selected, judged and written for."""

from typing import TypeAlias

from msgspec import Struct

from stoker.api.prometheus import Prometheus, PrometheusAgent
from stoker.api.prometheus_common import PrometheusCommonSpec
from stoker.settings import DEFAULT_PROMETHEUS_VERSION, Capabilities
from stoker.version import Version, parse_version

Scraper: TypeAlias = Prometheus | PrometheusAgent


class Workload(Struct, frozen=True, kw_only=True):
    """The Prometheus or PrometheusAgent that the configuration is for."""

    namespace: str
    name: str
    spec: PrometheusCommonSpec
    agent: bool = False
    daemon_set: bool = False
    capabilities: Capabilities = Capabilities()

    @property
    def version(self) -> Version:
        """The Prometheus version that will read the configuration."""
        return parse_version(self.spec.version or DEFAULT_PROMETHEUS_VERSION)


def workload_of(scraper: Scraper, capabilities: Capabilities) -> Workload:
    """A Prometheus or PrometheusAgent as the generators know it."""
    agent = isinstance(scraper, PrometheusAgent)
    return Workload(
        namespace=scraper.metadata.namespace or "",
        name=scraper.metadata.name or "",
        spec=scraper.spec,
        agent=agent,
        daemon_set=agent and getattr(scraper.spec, "mode", None) == "DaemonSet",
        capabilities=capabilities,
    )
