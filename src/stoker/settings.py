"""What the operator is told at its start: gates, defaults, facts about the cluster.

Everything here is frozen: a change of settings is a restart.
"""

from typing import Final

from msgspec import Struct

DEFAULT_PROMETHEUS_VERSION: Final = "v3.14.0"


class Capabilities(Struct, frozen=True, kw_only=True):
    """Facts and gates that change what is generated.

    `endpoint_slices`: the API server has EndpointSlices. `pod_topology_labels`: it copies the zone
    of a node to its pods (Kubernetes 1.35). `topology_sharding`, `shard_retention`: feature gates.
    """

    endpoint_slices: bool = True
    pod_topology_labels: bool = False
    topology_sharding: bool = True
    shard_retention: bool = True
