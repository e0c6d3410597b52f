"""Services that give pods their names: one that workloads share, or one of the user's own.

All workloads of a kind in a namespace share a Service. Each of them asks for the same: the ports
that any of them needs, and all of them as its owners. So none undoes what another did, and the
Service goes with the last.
"""

from collections.abc import Iterable, Iterator, Mapping

from stoker.api.core import Object
from stoker.build.services import governing_service
from stoker.build.site import Site
from stoker.run.caches import Caches
from stoker.run.judgements import is_managed
from stoker.run.tools import Tools
from stoker.select.members import WorkloadKey
from stoker.select.workload import Scraper, workload_of


def with_shared_service(tools: Tools, site: Site, objects: Iterable[Object]) -> list[Object]:
    """The objects of a workload, with its Service as all who share it need it."""
    return [_shared(tools, site) if each["kind"] == "Service" else each for each in objects]


def governed_by(caches: Caches, namespace: str, service: str) -> Iterator[WorkloadKey]:
    """The workloads that a user told to have this Service."""
    for kind, reflector in caches.workloads.items():
        for found in reflector.store.in_namespace(namespace):
            if found.spec.service_name == service:
                yield WorkloadKey(kind, namespace, found.metadata.name or "")


def _shared(tools: Tools, site: Site) -> Object:
    namespace = site.workload.namespace
    services = []
    for scraper in _sharing(tools, site.owner):
        workload = workload_of(scraper, tools.capabilities)
        if not workload.daemon_set and not workload.spec.service_name:
            services.append(governing_service(scraper, workload, site.settings))
    merged = services[0]
    owners = [owner for each in services for owner in each["metadata"]["ownerReferences"]]
    metadata = merged["metadata"] | {"namespace": namespace, "ownerReferences": owners}
    ports = list(_ports(services).values())
    return merged | {"metadata": metadata, "spec": merged["spec"] | {"ports": ports}}


def _sharing(tools: Tools, owner: Scraper) -> list[Scraper]:
    """The workloads of this kind and namespace that we look after, the oldest first."""
    store = tools.caches.workloads[type(owner).__name__].store
    others = [
        each
        for each in store.in_namespace(owner.metadata.namespace or "")
        if each.metadata.uid != owner.metadata.uid
        and is_managed(each, tools.settings)
        and not each.metadata.deletion_timestamp
    ]
    return sorted((owner, *others), key=_age)


def _age(scraper: Scraper) -> tuple[str, str]:
    return scraper.metadata.creation_timestamp or "", scraper.metadata.name or ""


def _ports(services: Iterable[Object]) -> Mapping[int, Object]:
    """The ports by number: a number has one name, which the oldest workload gives it."""
    ports: dict[int, Object] = {}
    for each in services:
        for port in each["spec"]["ports"]:
            ports.setdefault(port["port"], port)
    return ports
