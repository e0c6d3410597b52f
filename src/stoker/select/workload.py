"""The workload that resources are selected, judged and written for."""

from typing import Final, TypeAlias

from msgspec import Struct
from msgspec.structs import replace

from stoker.api.alertmanager import Alertmanager
from stoker.api.prometheus import DaemonSetSettings, Prometheus, PrometheusAgent
from stoker.api.prometheus_common import PrometheusCommonSpec
from stoker.api.thanosruler import ThanosRuler
from stoker.settings import DEFAULT_PROMETHEUS_VERSION, Capabilities
from stoker.version import Version, parse_version

CONTROLLER_ID: Final = "operator.prometheus.io/controller-id"
"""The annotation that gives a workload to the operator of this identity."""

BY_OPERATOR: Final = "Operator"
"""The `discovery` of agents on nodes for which the operator finds targets."""

SPREAD: Final = "Spread"
"""The `targetsWithoutAgent` of agents on nodes that are given what is on none of these."""

AnyPrometheus: TypeAlias = Prometheus | PrometheusAgent
Workload: TypeAlias = AnyPrometheus | Alertmanager | ThanosRuler
"""A workload as users write it, to which all that is made for it belongs."""


class Scraper(Struct, frozen=True, kw_only=True):
    """The Prometheus or PrometheusAgent that the configuration is for.

    `portions`: it runs on every node, and each node gets the jobs, targets and credentials that are
    its own from the operator; `spread`: targets that have no agent on their node are given to one.
    """

    namespace: str
    name: str
    spec: PrometheusCommonSpec
    agent: bool = False
    daemon_set: bool = False
    portions: bool = False
    spread: bool = False
    capabilities: Capabilities = Capabilities()

    @property
    def version(self) -> Version:
        """The Prometheus version that will read the configuration."""
        return parse_version(self.spec.version or DEFAULT_PROMETHEUS_VERSION)

    @property
    def looks_at_own_node(self) -> bool:
        """Whether each pod itself finds the targets of the node that it runs on."""
        return self.daemon_set and not self.portions


def controller_of(workload: Workload) -> str:
    """The identity of the operator that is to look after a workload; "" for the one without."""
    return (workload.metadata.annotations or {}).get(CONTROLLER_ID) or ""


def scraper_of(scraper: AnyPrometheus, capabilities: Capabilities) -> Scraper:
    """A Prometheus or PrometheusAgent as the generators know it."""
    agent = isinstance(scraper, PrometheusAgent)
    daemon_set = agent and getattr(scraper.spec, "mode", None) == "DaemonSet"
    on_nodes = getattr(scraper.spec, "daemon_set", None) or DaemonSetSettings()
    portions = daemon_set and on_nodes.discovery == BY_OPERATOR
    return Scraper(
        namespace=scraper.metadata.namespace or "",
        name=scraper.metadata.name or "",
        spec=scraper.spec,
        agent=agent,
        daemon_set=daemon_set,
        portions=portions,
        spread=portions and on_nodes.targets_without_agent == SPREAD,
        # The shards of an agent answer no queries, so none lives on that was scaled away.
        capabilities=replace(capabilities, shard_retention=False) if agent else capabilities,
    )
