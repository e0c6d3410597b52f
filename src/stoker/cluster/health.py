"""How everything in a cluster is, as whoever asks may see it; nothing is written.

It is decided here what becomes of each resource, as the operator decides it. Whether it has targets
is what its status counts: Services and pods are not read.
"""

from stoker.cluster.inventory import Inventory
from stoker.cluster.kinds import WORKLOADS
from stoker.cluster.seen import view_of
from stoker.cluster.values import Values
from stoker.kube.client import Client
from stoker.page.answers import UnusableObject
from stoker.page.decided import decided
from stoker.page.health import Health, Look, health_of
from stoker.settings import OperatorSettings


async def health_of_cluster(client: Client, settings: OperatorSettings, namespace: str) -> Health:
    """How everything is, or what is in one namespace; ApiError where no server answers."""
    found = await Inventory(client, [namespace] if namespace else ()).read()
    values = Values(client, lambda _: False)
    assets = values.view()
    view = await view_of(client, settings, found.seen, assets)
    desk = decided(view)
    while await values.load(assets):
        desk = decided(view)
    problems = [
        UnusableObject(source="", subject=str(ref), reasons=(reason,))
        for ref, reason in found.undecodable.items()
    ]
    look = Look(
        source=client.access.server,
        namespace=namespace,
        unseen=_unseen(found),
        unsure=next((note for kind, note in found.hidden if kind in WORKLOADS), ""),
    )
    return health_of(desk, problems, look)


def _unseen(found: Inventory) -> tuple[str, ...]:
    """What cannot be seen, and where there is nothing at all, what the cluster does not have."""
    hidden = tuple(dict.fromkeys(note for _, note in found.hidden))
    return hidden if found.workloads or found.resources else tuple(found.notes)
