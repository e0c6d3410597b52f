"""Services that give pods their names: one that workloads share, or one of the user's own."""

from collections.abc import Iterable, Iterator

from stoker.api.core import Object
from stoker.operator.caches import Caches
from stoker.operator.judgements import is_managed
from stoker.operator.tools import Tools
from stoker.plan import shared_service_of
from stoker.ref import Ref
from stoker.select.workload import Workload


def with_shared_service(tools: Tools, owner: Workload, objects: Iterable[Object]) -> list[Object]:
    """The objects of a workload, with its Service as all who share it need it."""
    return [_shared(tools, owner) if each["kind"] == "Service" else each for each in objects]


def governed_by(caches: Caches, namespace: str, service: str) -> Iterator[Ref]:
    """The workloads that a user told to have this Service."""
    for kind, reflector in caches.workloads.items():
        for found in reflector.store.in_namespace(namespace):
            if found.spec.service_name == service:
                yield Ref(kind, namespace, found.metadata.name or "")


def _shared(tools: Tools, owner: Workload) -> Object:
    """The Service of the workloads of this kind and namespace that we look after."""
    store = tools.caches.workloads[type(owner).__name__].store
    others = (
        each
        for each in store.in_namespace(owner.metadata.namespace or "")
        if each.metadata.uid != owner.metadata.uid
        and is_managed(each, tools.settings)
        and not each.metadata.deletion_timestamp
    )
    return shared_service_of((owner, *others), tools.capabilities, tools.settings.objects)
