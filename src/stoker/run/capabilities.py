"""What the cluster can do, and the gates that change what is generated."""

from stoker.kube.client import Client
from stoker.settings import Capabilities, OperatorSettings
from stoker.version import parse_version


async def capabilities_of(client: Client, settings: OperatorSettings) -> Capabilities:
    """Ask the API server what there is, and the settings what is on."""
    version = parse_version(await client.server_version())
    return Capabilities(
        endpoint_slices="endpointslices" in await client.api_resources("discovery.k8s.io/v1"),
        pod_topology_labels=version >= parse_version("1.35.0"),
        topology_sharding=settings.gates["PrometheusTopologySharding"],
        shard_retention=settings.gates["PrometheusShardRetentionPolicy"],
        deny_files=settings.deny_files,
        limits=settings.limits,
    )
