"""What the operator is told at its start: gates, defaults, facts about the cluster.

Everything here is frozen: a change of settings is a restart.
"""

from typing import Final

from msgspec import Struct

DEFAULT_PROMETHEUS_VERSION: Final = "v3.14.0"
DEFAULT_ALERTMANAGER_VERSION: Final = "v0.34.0"
DEFAULT_THANOS_VERSION: Final = "v0.42.4"


class Capabilities(Struct, frozen=True, kw_only=True):
    """Facts and gates that change what is generated.

    `endpoint_slices`: the API server has EndpointSlices. `pod_topology_labels`: it copies the zone
    of a node to its pods (Kubernetes 1.35). `topology_sharding`, `shard_retention`: feature gates.
    """

    endpoint_slices: bool = True
    pod_topology_labels: bool = False
    topology_sharding: bool = True
    shard_retention: bool = True


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

    `labels` and `annotations` are put on every object and win over the user's own.
    """

    local_host: str = "localhost"
    cluster_domain: str = ""
    reloader: Reloader = Reloader()
    prometheus_base_image: str = "quay.io/prometheus/prometheus"
    alertmanager_base_image: str = "quay.io/prometheus/alertmanager"
    thanos_base_image: str = "quay.io/thanos/thanos"
    labels: dict[str, str] = {}
    annotations: dict[str, str] = {}
