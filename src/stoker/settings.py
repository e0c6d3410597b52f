"""What the operator is started with: gates, defaults, facts about the cluster.

Everything here is frozen: a change of settings is a restart.
"""

from collections.abc import Mapping
from hashlib import sha256
from typing import Final

import msgspec
from msgspec import Struct

from stoker.errors import FieldError
from stoker.limits import NO_CHANGES, Limits

DEFAULT_PROMETHEUS_VERSION: Final = "v3.14.0"
DEFAULT_ALERTMANAGER_VERSION: Final = "v0.34.0"
DEFAULT_THANOS_VERSION: Final = "v0.42.4"


class Capabilities(Struct, frozen=True, kw_only=True):
    """Facts and gates that change what is generated.

    `endpoint_slices`: the API server has EndpointSlices. `pod_topology_labels`: it copies the zone
    of a node to its pods (Kubernetes 1.35). `daemon_sets`, `topology_sharding`, `shard_retention`:
    feature gates.
    `deny_files`: no monitor, ScrapeConfig or AlertmanagerConfig may name files of a container.
    `limits`: what one configuration resource may cost. `mode_change_patience`: for how many seconds
    a change of an agent's mode waits for pods that may never come; 0 for ever.
    """

    endpoint_slices: bool = True
    pod_topology_labels: bool = False
    daemon_sets: bool = True
    topology_sharding: bool = True
    shard_retention: bool = True
    deny_files: bool = False
    limits: Limits = NO_CHANGES


class NodeServer(Struct, frozen=True, kw_only=True):
    """Where agents on nodes get their portions.

    `ca` is whom they trust there, as PEM; empty where it is not known, as without a cluster.
    `assumed`: no flag says where that is, and who only judges takes it for granted.
    """

    url: str
    ca: str = ""
    assumed: bool = False


SOME_NODE_SERVER: Final = NodeServer(url="", assumed=True)
"""What is there where the flags of the operator are not known."""


class Reloader(Struct, frozen=True, kw_only=True):
    """The container that brings changed configuration to its neighbour.

    An amount of "0" asks for none. `probes`: whether Kubernetes looks after the container.
    """

    image: str = "quay.io/prometheus-operator/prometheus-config-reloader:v0.94.1"
    cpu_request: str = "10m"
    cpu_limit: str = "10m"
    memory_request: str = "50Mi"
    memory_limit: str = "50Mi"
    probes: bool = False


class ObjectSettings(Struct, frozen=True, kw_only=True):
    """What flags say about the objects that are made.

    `labels` and `annotations` are put on every object and win over the user's own. `node_server` is
    None where agents on nodes are given no portions.
    """

    local_host: str = "localhost"
    cluster_domain: str = ""
    reloader: Reloader = Reloader()
    node_server: NodeServer | None = None
    prometheus_base_image: str = "quay.io/prometheus/prometheus"
    alertmanager_base_image: str = "quay.io/prometheus/alertmanager"
    thanos_base_image: str = "quay.io/thanos/thanos"
    labels: dict[str, str] = {}
    annotations: dict[str, str] = {}


# --- The running operator -------------------------------------------------------------------------

STATUS_GATE: Final = "StatusForConfigurationResources"
DAEMON_SET_GATE: Final = "PrometheusAgentDaemonSet"
DEFAULT_GATES: Final = {
    DAEMON_SET_GATE: True,
    "PrometheusShardRetentionPolicy": True,
    "PrometheusTopologySharding": True,
    "RemoteWriteCustomResourceDefinition": False,
    STATUS_GATE: True,
}
"""The feature gates, named as prometheus-operator's; two that are off there are finished here."""


class NamespaceSettings(Struct, frozen=True, kw_only=True):
    """Where the operator looks, as flags say it; `stoker.select.namespaces` says what that means.

    `allowed` and `denied` exclude each other; the others are for one kind and win over both.
    """

    allowed: tuple[str, ...] = ()
    denied: tuple[str, ...] = ()
    prometheus: tuple[str, ...] = ()
    alertmanager: tuple[str, ...] = ()
    alertmanager_config: tuple[str, ...] = ()
    thanos_ruler: tuple[str, ...] = ()


class SelectorSettings(Struct, frozen=True, kw_only=True):
    """Selectors for what is watched, as text that the API server takes; empty for all."""

    prometheus: str = ""
    alertmanager: str = ""
    thanos_ruler: str = ""
    secret_labels: str = ""
    secret_fields: str = ""
    config_map_labels: str = ""
    config_map_fields: str = ""


class DiscoveryFiles(Struct, frozen=True, kw_only=True):
    """Where a certificate lies that somebody else keeps, its key, and whom agents are to trust."""

    cert: str
    key: str
    ca: str


class DiscoverySettings(Struct, frozen=True, kw_only=True):
    """Where portions are served (None: nowhere), and with which certificate (None: one of ours)."""

    address: tuple[str, int] | None = None
    files: DiscoveryFiles | None = None


class KubeletSettings(Struct, frozen=True, kw_only=True):
    """The Service that stands for all kubelets; none is kept if it has no name.

    `max_endpoints`: how many addresses one EndpointSlice holds.
    """

    namespace: str = ""
    name: str = ""
    endpoints: bool = True
    endpoint_slices: bool = False
    http_metrics: bool = True
    node_selector: str = ""
    address_priority: str = "internal"
    sync_seconds: float = 180.0
    max_endpoints: int = 512


class WebSettings(Struct, frozen=True, kw_only=True):
    """How metrics and health are served.

    `client_ca_required`: a client CA was asked for, so that its absence must stop the server.
    Versions, cipher suites and curves have the names that Go gives them.
    """

    host: str = ""
    port: int = 8080
    tls: bool = False
    cert_file: str = "/etc/tls/private/tls.crt"
    key_file: str = "/etc/tls/private/tls.key"
    client_ca_file: str = "/etc/tls/private/tls-ca.crt"
    client_ca_required: bool = False
    min_version: str = "VersionTLS13"
    cipher_suites: tuple[str, ...] = ()
    curves: tuple[str, ...] = ()
    reload_seconds: float = 60.0


class LogSettings(Struct, frozen=True, kw_only=True):
    """How much is logged, and in which form."""

    level: str = "info"
    format: str = "logfmt"


class ApiSettings(Struct, frozen=True, kw_only=True):
    """How the API server is reached; by the pod's own service account if nothing is said."""

    url: str = ""
    kubeconfig: str = ""
    context: str = ""
    impersonate: str = ""
    ca_file: str = ""
    cert_file: str = ""
    key_file: str = ""
    insecure: bool = False


class LeaderSettings(Struct, frozen=True, kw_only=True):
    """Which Lease the leader holds. No namespace: the operator's own."""

    enabled: bool = True
    namespace: str = ""
    name: str = "stoker-operator"


class TargetSettings(Struct, frozen=True, kw_only=True):
    """How often workloads are asked for their targets (0: never), and how much at a time."""

    interval_seconds: float = 0.0
    requests: int = 100


class PageSettings(Struct, frozen=True, kw_only=True):
    """Where the status page is served (None: nowhere), and the names it may be asked for by.

    The names of the machine itself, such as localhost, need not be among `hosts`. With `login`
    everybody says who they are with a token of the cluster, and sees what they may see there.
    """

    address: tuple[str, int] | None = ("127.0.0.1", 8095)
    hosts: tuple[str, ...] = ()
    login: bool = False


class OperatorSettings(Struct, frozen=True, kw_only=True):
    """Everything that flags say to `stoker operator`.

    `unmanaged_configurations`: a Prometheus without any selector is left its own configuration.
    `references_everywhere`: Secrets and ConfigMaps are watched wherever monitors may be, not only
    beside workloads. `repair_policy`: `none`, `evict` or `delete` for pods of a stuck StatefulSet.
    `deny_files`: configuration resources must not name files of the container that reads them.
    `consolidate_monitors`: monitors are kept, and scraped, as ScrapeConfigs that belong to them.
    `limits`: what one configuration resource may cost. `mode_change_patience`: for how many seconds
    a change of an agent's mode waits for pods that may never come; 0 for ever.
    """

    objects: ObjectSettings = ObjectSettings()
    namespaces: NamespaceSettings = NamespaceSettings()
    selectors: SelectorSettings = SelectorSettings()
    gates: dict[str, bool] = msgspec.field(default_factory=lambda: dict(DEFAULT_GATES))
    controller_id: str = ""
    repair_policy: str = "none"
    mode_change_patience: float = 600.0
    unmanaged_configurations: bool = True
    references_everywhere: bool = False
    deny_files: bool = False
    consolidate_monitors: bool = False
    limits: Limits = NO_CHANGES
    workers: int = 4
    kubelet: KubeletSettings = KubeletSettings()
    discovery: DiscoverySettings = DiscoverySettings()
    targets: TargetSettings = TargetSettings()
    web: WebSettings = WebSettings()
    page: PageSettings = PageSettings()
    log: LogSettings = LogSettings()
    api: ApiSettings = ApiSettings()
    leader: LeaderSettings = LeaderSettings()


SOME_OPERATOR: Final = OperatorSettings(objects=ObjectSettings(node_server=SOME_NODE_SERVER))
"""An operator whose flags are not known, for who judges and makes nothing."""


def capabilities_with(
    settings: OperatorSettings, *, endpoint_slices: bool = True, pod_topology_labels: bool = False
) -> Capabilities:
    """What the settings say, and facts of a cluster, where there is one."""
    return Capabilities(
        endpoint_slices=endpoint_slices,
        pod_topology_labels=pod_topology_labels,
        daemon_sets=settings.gates[DAEMON_SET_GATE],
        topology_sharding=settings.gates["PrometheusTopologySharding"],
        shard_retention=settings.gates["PrometheusShardRetentionPolicy"],
        deny_files=settings.deny_files,
        limits=settings.limits,
    )


def gates_with(known: Mapping[str, bool], wanted: Mapping[str, bool]) -> dict[str, bool]:
    """The gates after a user's wishes; one that does not exist is an error."""
    for name in wanted:
        if name not in known:
            raise FieldError(name, f"there is no such feature gate; there are {', '.join(known)}")
    return {**known, **wanted}


def with_own(flags: Mapping[str, str], own: Mapping[str, str]) -> dict[str, str]:
    """The labels or annotations of an object: its own and those of flags, which win."""
    return {**own, **flags}


def lease_name(settings: OperatorSettings) -> str:
    """The name of the Lease of operators that look after the same workloads.

    Operators that share the work of one cluster live side by side, often in one namespace: were
    their Lease the same, one of them would wait for ever.
    """
    choice = settings.selectors
    share = (
        settings.controller_id,
        settings.namespaces,
        (choice.prometheus, choice.alertmanager, choice.thanos_ruler),
    )
    if share == ("", NamespaceSettings(), ("", "", "")):
        return LeaderSettings().name
    return f"{LeaderSettings().name}-{sha256(msgspec.json.encode(share)).hexdigest()[:10]}"
