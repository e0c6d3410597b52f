"""Services that give pods their names, where these are the user's own."""

from collections.abc import Iterator

from stoker.operator.caches import Caches
from stoker.ref import Ref


def governed_by(caches: Caches, namespace: str, service: str) -> Iterator[Ref]:
    """The workloads that a user told to have this Service."""
    for kind, reflector in caches.workloads.items():
        for found in reflector.store.in_namespace(namespace):
            if found.spec.service_name == service:
                yield Ref(kind, namespace, found.metadata.name or "")
