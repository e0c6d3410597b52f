"""What becomes of the Service of all kubelets, which belongs to no workload."""

from collections.abc import Sequence
from typing import Final

from msgspec import Struct

from stoker.api.core import Object
from stoker.build.kubelet import KubeletExisting, kubelet_plan
from stoker.build.names import FIELD_MANAGER
from stoker.cluster.listed import listed
from stoker.cluster.live import as_claimed
from stoker.compare.defaults import without_defaults
from stoker.compare.objects import Action, changed_from_live
from stoker.kube.client import Client
from stoker.kube.errors import Forbidden, NotFound
from stoker.kube.resources import ENDPOINT_SLICE, ENDPOINTS, NODE, SERVICE, ApiResource
from stoker.ref import ref_of_manifest
from stoker.settings import OperatorSettings


class KubeletHandover(Struct, frozen=True, kw_only=True):
    """Objects that are `new`, `written` otherwise, and `gone`; `unknown` is why that is unclear."""

    service: str = ""
    new: tuple[str, ...] = ()
    written: tuple[str, ...] = ()
    gone: tuple[str, ...] = ()
    unknown: str = ""


NOTHING: Final = KubeletHandover()


async def kubelet_handover(client: Client, settings: OperatorSettings) -> KubeletHandover:
    """What becomes of the objects for kubelets, if the operator keeps any."""
    kubelet = settings.kubelet
    if not kubelet.name:
        return NOTHING
    name = f"{kubelet.namespace}/{kubelet.name}"
    try:
        nodes = await listed(client, NODE, None)
        existing = await _existing(client, kubelet.namespace, kubelet.name)
    except Forbidden as error:
        unknown = f"the Service {name}: you cannot {error.verb} {error.resource}"
        return KubeletHandover(service=name, unknown=unknown)
    planned = kubelet_plan(nodes, existing, kubelet, settings.objects)
    wanted = [planned.service, *planned.slices]
    if planned.endpoints:
        wanted.append(planned.endpoints)
    changed = _changes(wanted, existing)
    return KubeletHandover(
        service=name,
        new=tuple(title for title, action in changed if action is Action.NEW),
        written=tuple(title for title, action in changed if action is Action.CHANGED),
        gone=tuple(str(ref_of_manifest(each)) for each in planned.deletions),
    )


def _changes(wanted: Sequence[Object], existing: KubeletExisting) -> list[tuple[str, Action]]:
    there = [*existing.slices, existing.service, existing.endpoints]
    live = {ref_of_manifest(each): each for each in there if each}
    found = []
    for each in wanted:
        one = live.get(ref_of_manifest(each))
        before = without_defaults(as_claimed(one)) if one else None
        change = changed_from_live(without_defaults(each), before, FIELD_MANAGER)
        if change:
            found.append((change.title, change.action))
    return found


async def _existing(client: Client, namespace: str, name: str) -> KubeletExisting:
    selector = f"kubernetes.io/service-name={name}"
    return KubeletExisting(
        service=await _one(client, SERVICE, namespace, name),
        endpoints=await _one(client, ENDPOINTS, namespace, name),
        slices=await listed(client, ENDPOINT_SLICE, namespace, labelSelector=selector),
    )


async def _one(client: Client, resource: ApiResource, namespace: str, name: str) -> Object | None:
    try:
        return await client.get(resource, namespace, name)
    except NotFound:
        return None
