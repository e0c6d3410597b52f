"""Where the cluster has a kind, for commands that look once."""

from stoker.cluster.kinds import RESOURCES, WORKLOADS
from stoker.kube.client import Client
from stoker.kube.resources import ApiResource
from stoker.kube.served import Served


async def place_of(client: Client, kind: str) -> ApiResource:
    """The resource of a kind in the version that the cluster stores."""
    found = RESOURCES.get(kind)
    if found is None:
        return WORKLOADS[kind].resource
    if len(found.versions) == 1:
        return found.resource
    return await Served(client, found.versions).look()
