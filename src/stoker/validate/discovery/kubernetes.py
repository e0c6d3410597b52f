"""Targets that are objects of a Kubernetes cluster: selectors, and how to reach the API server."""

from typing import Final

from stoker.api.scrapeconfig.discovery.kubernetes import KubernetesDiscovery
from stoker.errors import below
from stoker.select.labels import field_text_problem, label_text_problem
from stoker.validate.discovery.checks import too_old
from stoker.validate.findings import Finding, Findings, Reason
from stoker.validate.http import conflict
from stoker.validate.reading import ScraperReading
from stoker.validate.syntax import Url

# What a selector can narrow down besides the role itself.
_SELECTABLE: Final = {
    "pod": ("pod", "node"),
    "service": ("service",),
    "endpoints": ("pod", "service", "endpoints"),
    "endpointslice": ("pod", "service", "endpointslice"),
    "node": ("node",),
    "ingress": ("ingress",),
}
_NODE_SELECTORS_OF_PODS: Final = "3.11.0"
_OWN_NAMESPACE: Final = "2.33.0"


def kubernetes_namespace(item: KubernetesDiscovery, reading: ScraperReading, path: str) -> Findings:
    """The own namespace is known to newer versions only; older ones would look in all of them."""
    own = item.namespaces and item.namespaces.own_namespace
    if own and not reading.knows(_OWN_NAMESPACE):
        yield too_old(below(path, "namespaces.ownNamespace"), _OWN_NAMESPACE)


def kubernetes_selectors(item: KubernetesDiscovery, reading: ScraperReading, path: str) -> Findings:
    """Selectors that can be read, for roles that the discovery looks at, each once."""
    role = item.role.lower()
    seen: set[str] = set()
    for index, selector in enumerate(item.selectors or ()):
        where, chosen = f"{path}.selectors[{index}]", selector.role.lower()
        if chosen in seen:
            yield Finding(below(where, "role"), Reason.DUPLICATE, f"`{selector.role}` comes twice")
        seen.add(chosen)
        if chosen not in _SELECTABLE.get(role, ()):
            message = f"role `{item.role}` has no selectors for `{selector.role}`"
            yield Finding(below(where, "role"), Reason.INVALID_SELECTOR, message)
        if (role, chosen) == ("pod", "node") and not reading.knows(_NODE_SELECTORS_OF_PODS):
            yield too_old(below(where, "role"), _NODE_SELECTORS_OF_PODS)
        for name, text, problem_of in (
            ("label", selector.label, label_text_problem),
            ("field", selector.field, field_text_problem),
        ):
            problem = problem_of(text or "")
            if problem:
                yield Finding(below(where, name), Reason.INVALID_SELECTOR, problem)


def kubernetes_server(item: KubernetesDiscovery, reading: ScraperReading, path: str) -> Findings:
    """What is said about reaching an API server needs to say which one."""
    if item.api_server:
        problem = Url(item.api_server).problem
        if problem:
            yield Finding(below(path, "apiServer"), Reason.INVALID_VALUE, problem)
        if item.namespaces and item.namespaces.own_namespace:
            yield conflict(below(path, "apiServer"), "excludes `namespaces.ownNamespace`")
        return
    settings = (
        item.tls_config,
        item.authorization,
        item.basic_auth,
        item.oauth2,
        item.proxy_url,
        item.http_headers,
    )
    others = item.proxy_from_environment or item.follow_redirects is False
    if any(settings) or others or item.enable_http2 is False:
        yield conflict(path, "settings of the HTTP client need `apiServer`")
