"""Discovery of targets in the Kubernetes API (`kubernetes_sd_configs`).

A discovery has a role, namespaces, the way to the API server, and selectors by which the API server
itself leaves objects out. Prometheus takes one selector for a role, so what restricts the same role
(labels that a monitor selects, the node of a DaemonSet's pod) is merged into one. Prometheus shares
watches between discoveries that are equal, so nothing is written here that tells two jobs apart.
"""

from collections.abc import Iterator
from copy import copy
from typing import Final

from stoker.api.common import AttachMetadata, NamespaceSelector
from stoker.api.core import LabelSelector
from stoker.api.monitors import MonitorSpec
from stoker.generate.block import Block
from stoker.generate.draft import ScraperDraft
from stoker.generate.grammar import Member, put
from stoker.generate.http import authorization, basic_auth, put_proxy, tls_config

POD: Final = "pod"
SERVICE: Final = "service"
ENDPOINTS: Final = "endpoints"
ENDPOINT_SLICE: Final = "endpointslice"
INGRESS: Final = "ingress"

NODE: Final = "node"

OWN_NODE: Final = "spec.nodeName=$(NODE_NAME)"
_NODE_ITSELF: Final = "metadata.name=$(NODE_NAME)"

_API_SERVER: Final = (
    Member("api_server", "host"),
    Member("basic_auth", write=basic_auth),
    Member("bearer_token"),
    Member("bearer_token_file"),
    Member("authorization", since="2.26.0", write=authorization),
    Member("tls_config", write=tls_config),
)


_ATTACH: Final = {
    POD: Member("attach_metadata", since="2.35.0"),
    ENDPOINTS: Member("attach_metadata", since="2.37.0"),
    ENDPOINT_SLICE: Member("attach_metadata", since="2.37.0"),
}


def kubernetes_sd_config(
    role: str,
    namespaces: tuple[str, ...],
    draft: ScraperDraft,
    *,
    attach: AttachMetadata | None = None,
    selectors: list[Block] | None = None,
) -> Block:
    """One discovery, in these namespaces or, where there are none, in all."""
    block: Block = {"role": role}
    if namespaces:
        block["namespaces"] = {"names": list(namespaces)}
    _put_api_server(block, draft)
    _put_attached(block, attach, draft)
    every = [*(selectors or ()), *_of_attached(block, draft)]
    if every:
        block["selectors"] = every
    return block


def _put_api_server(block: Block, draft: ScraperDraft) -> None:
    server = draft.spec.apiserver_config
    if server is None:
        return
    path = "spec.apiserverConfig"
    of_workload = in_namespace_of_workload(draft)
    put(block, _API_SERVER, server, of_workload, path)
    put_proxy(block, server, of_workload, path)


def _put_attached(block: Block, attach: AttachMetadata | None, draft: ScraperDraft) -> None:
    if attach is None or attach.node is None:
        return
    member = _ATTACH[block["role"]]
    if member.known_to(draft.version):
        block[member.name] = {"node": attach.node}
    else:
        draft.ignore_unknown("spec.attachMetadata", member)


# Whose labels are attached to pods; with endpoints, Prometheus takes no selector of nodes.
_NODE_SELECTOR: Final = Member("selectors", since="3.11.0")


def _of_attached(block: Block, draft: ScraperDraft) -> list[Block]:
    """What keeps an agent on a node from watching all nodes for the labels of its own."""
    attached = (block.get("attach_metadata") or {}).get("node")
    if not (attached and draft.scraper.looks_at_own_node and block["role"] == POD):
        return []
    known = _NODE_SELECTOR.known_to(draft.version)
    return role_selector(NODE, field=_NODE_ITSELF) if known else []


def in_namespace_of_workload(draft: ScraperDraft) -> ScraperDraft:
    """The same draft for references that the workload makes rather than the resource."""
    other = copy(draft)
    other.namespace = draft.scraper.namespace
    return other


def namespaces_of(selector: NamespaceSelector | None, draft: ScraperDraft) -> tuple[str, ...]:
    """The namespaces that a resource looks for targets in; none means all of them."""
    own = (draft.namespace,)
    if selector is None or draft.spec.ignore_namespace_selectors:
        return own
    if selector.any:
        return ()
    names = selector.match_names or own
    # On every node, a watch that two monitors could have shared is one on every node.
    return tuple(sorted(set(names))) if draft.scraper.daemon_set else names


def role_selector(role: str, label: str | None = None, field: str = "") -> list[Block]:
    """The selector of a role; none where nothing is asked for.

    A label of empty text asks for everything, and is written; beside a field it says nothing.
    """
    if field:
        return [{"role": role, **({"label": label} if label else {}), "field": field}]
    return [{"role": role, "label": label}] if label is not None else []


_SELECTORS: Final = Member("selectors", since="2.17.0")


def selected_by_api(spec: MonitorSpec, draft: ScraperDraft) -> bool:
    """Whether the API server is asked to apply a monitor's selector, rather than relabeling."""
    return spec.selector_mechanism == "RoleSelector" and _SELECTORS.known_to(draft.version)


def selected_labels(spec: MonitorSpec, draft: ScraperDraft) -> str | None:
    """What the API server is asked for in place of relabeling; None where it is not."""
    return selector_text(spec.selector) if selected_by_api(spec, draft) else None


def selector_text(selector: LabelSelector) -> str:
    """A label selector in the syntax of the API server, its requirements ordered by label."""
    return ",".join(text for _, text in sorted(_requirements(selector), key=_label))


def _label(requirement: tuple[str, str]) -> str:
    return requirement[0]


def _requirements(selector: LabelSelector) -> Iterator[tuple[str, str]]:
    for name, value in (selector.match_labels or {}).items():
        yield name, f"{name}={value}"
    for requirement in selector.match_expressions or ():
        name, values = requirement.key, ",".join(sorted(requirement.values or ()))
        match requirement.operator:
            case "In":
                yield name, f"{name} in ({values})"
            case "NotIn":
                yield name, f"{name} notin ({values})"
            case "Exists":
                yield name, name
            case "DoesNotExist":
                yield name, f"!{name}"
