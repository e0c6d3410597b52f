"""What Prometheus must be allowed to see, so that it finds the targets of a resource.

Prometheus asks the API server with the service account of its pods. Without a permission it finds
nothing and says so only in its own log, which is why it is reported here. An agent whose targets
the operator finds asks nothing.
"""

from collections.abc import Iterator
from typing import Any, Final

from stoker.api.common import AttachMetadata
from stoker.api.monitors import PodMonitor, Probe, ServiceMonitor
from stoker.api.scrapeconfig.discovery.kubernetes import KubernetesDiscovery
from stoker.api.scrapeconfig.v1alpha1 import ScrapeConfig
from stoker.explain.answer import AccountRights
from stoker.explain.places import places
from stoker.generate.draft import ScraperDraft
from stoker.generate.limits import attached_metadata, scrape_class
from stoker.generate.servicemonitor import role_of
from stoker.ref import ref_of
from stoker.select.workload import AnyPrometheus, Scraper
from stoker.view.listing import Need
from stoker.view.view import View

_SERVICES: Final = ("", "services")
_PODS: Final = ("", "pods")
_NODES: Final = ("", "nodes")
_SLICES: Final = ("discovery.k8s.io", "endpointslices")
_INGRESSES: Final = ("networking.k8s.io", "ingresses")
# What each way to discover reads.
_ROLES: Final = {
    "endpoints": (_SERVICES, ("", "endpoints"), _PODS),
    "endpointslice": (_SERVICES, _SLICES, _PODS),
    "pod": (_PODS,),
    "service": (_SERVICES,),
    "ingress": (_INGRESSES,),
    "node": (_NODES,),
}
# The ways to discover whose targets may have labels of their nodes.
_OF_PODS: Final = ("endpoints", "endpointslice", "pod")


def access_of(
    view: View, prometheus: AnyPrometheus, resource: Any, scraper: Scraper
) -> AccountRights | None:
    """What a workload cannot see of what a resource needs; None if it needs nothing of ours."""
    if prometheus.spec.apiserver_config is not None or scraper.portions:
        return None
    name = prometheus.spec.service_account_name or "default"
    account = f"{scraper.namespace}/{name}"
    needs = list(dict.fromkeys(_needs(view, account, resource, scraper)))
    if not needs:
        return None
    answers = [(need, view.surroundings.allowed(need)) for need in needs]
    return AccountRights(
        workload=str(ref_of(prometheus)),
        account=account,
        lacks=tuple(str(need) for need, answer in answers if answer is False),
        unknown=tuple(str(need) for need, answer in answers if answer is None),
    )


def _needs(view: View, account: str, resource: Any, scraper: Scraper) -> Iterator[Need]:
    for role, namespaces in _discoveries(view, resource, scraper):
        for group, plural in _ROLES.get(role, ()):
            for namespace in namespaces or ("",):
                # Nodes are in no namespace.
                yield Need(account, group, plural, "" if plural == "nodes" else namespace)
    if any(each is not None and each.node for each in _attached(view, resource, scraper)):
        yield Need(account, *_NODES, "")


def _attached(view: View, resource: Any, scraper: Scraper) -> Iterator[AttachMetadata | None]:
    """What is added to targets from other objects, which Prometheus reads as well."""
    if isinstance(resource, ServiceMonitor | PodMonitor):
        draft = ScraperDraft(scraper, view.assets, resource.metadata.namespace or "")
        chosen = scrape_class(resource.spec, draft)
        yield attached_metadata(resource.spec.attach_metadata, chosen, draft)
    elif isinstance(resource, ScrapeConfig):
        for each in resource.spec.kubernetes_sd_configs or ():
            if not each.api_server and each.role.lower() in _OF_PODS:
                yield each.attach_metadata


def _discoveries(
    view: View, resource: Any, scraper: Scraper
) -> Iterator[tuple[str, tuple[str, ...]]]:
    """Each role with the namespaces that it is for; none means all."""
    own, spec = resource.metadata.namespace or "", resource.spec
    if isinstance(resource, ServiceMonitor):
        role = role_of(spec, scraper).member.name
        yield role, places(view, spec.namespace_selector, own, scraper)
    elif isinstance(resource, PodMonitor):
        yield "pod", places(view, spec.namespace_selector, own, scraper)
    elif isinstance(resource, Probe):
        targets = resource.spec.targets
        if targets and targets.ingress and not targets.static_config:
            selector = targets.ingress.namespace_selector
            yield "ingress", places(view, selector, own, scraper)
    elif isinstance(resource, ScrapeConfig):
        for each in resource.spec.kubernetes_sd_configs or ():
            if not each.api_server:
                yield each.role.lower(), _named(each, scraper)


def _named(discovery: KubernetesDiscovery, scraper: Scraper) -> tuple[str, ...]:
    wanted = discovery.namespaces
    if wanted is None:
        return ()
    own = (scraper.namespace,) if wanted.own_namespace else ()
    return (*own, *(wanted.names or ()))
