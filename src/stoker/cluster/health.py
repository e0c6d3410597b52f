"""How everything in a cluster is, as whoever asks may see it; nothing is written.

It is decided here what becomes of each resource, as the operator decides it. Whether it has targets
is what its status counts: Services and pods are not read.
"""

from stoker.cluster.capabilities import capabilities_of
from stoker.cluster.inventory import NOWHERE, Inventory
from stoker.cluster.kinds import WORKLOADS
from stoker.cluster.values import Values
from stoker.kube.client import Client
from stoker.page.answers import Problem
from stoker.page.decided import decided
from stoker.page.health import Health, Look, health_of
from stoker.settings import OperatorSettings
from stoker.view.view import View


async def health_of_cluster(client: Client, settings: OperatorSettings, namespace: str) -> Health:
    """How everything is, or what is in one namespace; ApiError where nobody answers."""
    seen = await Inventory(client, [namespace] if namespace else ()).read()
    values = Values(client, lambda _: False)
    assets = values.view()
    view = View(
        workloads=tuple(seen.workloads),
        resources=tuple(seen.resources),
        namespaces=seen.namespaces,
        assets=assets,
        surroundings=NOWHERE,
        settings=settings,
        capabilities=await capabilities_of(client, settings),
        labels_unknown="you may not read it, so only its name is known",
        rivals=seen.rivals,
    )
    desk = decided(view)
    while await values.load(assets):
        desk = decided(view)
    problems = [
        Problem(source="", subject=str(ref), reasons=(reason,))
        for ref, reason in seen.undecodable.items()
    ]
    look = Look(
        source=client.access.server,
        namespace=namespace,
        unseen=_unseen(seen),
        unsure=next((note for kind, note in seen.hidden if kind in WORKLOADS), ""),
    )
    return health_of(desk, problems, look)


def _unseen(seen: Inventory) -> tuple[str, ...]:
    """What may not be seen, and where there is nothing at all, what the cluster does not have."""
    hidden = tuple(dict.fromkeys(note for _, note in seen.hidden))
    return hidden if seen.workloads or seen.resources else tuple(seen.notes)
