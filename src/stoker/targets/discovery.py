"""A discovery in the Kubernetes API as configured, and what of the world it sees.

An API server leaves out what the selectors of a discovery do not choose; a pod that is left out
adds no labels to the endpoint that leads to it. In each namespace that is named a discovery looks
on its own, so that nothing of one is joined with what is in another.
"""

from collections.abc import Callable, Iterator, Mapping
from typing import Any, Final

from msgspec import Struct

from stoker.select.labels import EVERYTHING, Selector, selector_of_text
from stoker.targets.objects import (
    ByNamespace,
    N,
    Namespace,
    Node,
    ObjectModel,
    Pod,
    Service,
    TargetSources,
)

POD: Final = "pod"
NODE: Final = "node"
SERVICE: Final = "service"
ENDPOINTS: Final = "endpoints"
ENDPOINT_SLICE: Final = "endpointslice"
INGRESS: Final = "ingress"

Labels = dict[str, str]


class CannotTellError(Exception):
    """Something that Prometheus would do, and that is not done here; says what."""


class Group(Struct):
    """Candidates that come from one object.

    `shared` are labels of all of them, unless they have their own.
    """

    source: str
    shared: Labels
    candidates: list[Labels]


class AskedFor(Struct, frozen=True):
    """What of a kind an API server is asked for."""

    labels: Selector = EVERYTHING
    fields: tuple[tuple[str, bool, str], ...] = ()

    def takes(self, found: ObjectModel) -> bool:
        """Whether an object is among it."""
        return self.labels.matches(found.metadata.labels) and all(
            (_FIELDS[name](found) == value) is wanted for name, wanted, value in self.fields
        )


_FIELDS: Final[dict[str, Callable[[Any], str]]] = {
    "metadata.name": lambda found: found.name,
    "metadata.namespace": lambda found: found.namespace,
    "spec.nodeName": lambda found: found.node,
    "status.phase": lambda found: (found.status and found.status.phase) or "",
    "status.podIP": lambda found: found.address,
}
_OF_PODS: Final = frozenset({"spec.nodeName", "status.phase", "status.podIP"})
_ALL: Final = AskedFor()


def _choice(role: str, labels: str, fields: str) -> AskedFor:
    terms = tuple(_field(role, each) for each in fields.split(",") if each)
    return AskedFor(selector_of_text(labels), terms)


def _field(role: str, term: str) -> tuple[str, bool, str]:
    name, _, value = term.partition("=")
    wanted = not name.endswith("!")
    name = name.removesuffix("!")
    if name not in _FIELDS or (name in _OF_PODS and role != POD):
        raise CannotTellError(f"objects are chosen by `{name}`")
    return name, wanted, value.removeprefix("=")


class KubernetesSd(Struct, frozen=True):
    """One item of `kubernetes_sd_configs`; no `namespaces` means all of them."""

    role: str
    namespaces: tuple[str, ...]
    choices: Mapping[str, AskedFor]
    with_node: bool = False
    with_namespace: bool = False


_KNOWN: Final = frozenset({"role", "namespaces", "selectors", "attach_metadata"})
_HOW_TO_ASK: Final = frozenset({
    "api_server", "authorization", "basic_auth", "bearer_token", "bearer_token_file",
    "enable_http2", "follow_redirects", "kubeconfig_file", "no_proxy", "oauth2",
    "proxy_connect_header", "proxy_from_environment", "proxy_url", "tls_config",
})  # fmt: skip


def discovery_of(block: Mapping[str, Any]) -> KubernetesSd:
    """A discovery as the configuration says it."""
    unknown = set(block) - _KNOWN - _HOW_TO_ASK
    attach = block.get("attach_metadata") or {}
    unknown |= {name for name, wanted in attach.items() if wanted} - {"node", "namespace"}
    spaces = block.get("namespaces") or {}
    if unknown or spaces.get("own_namespace"):
        raise CannotTellError(f"{min(unknown, default='own_namespace')} is set")
    return KubernetesSd(
        role=block["role"],
        namespaces=tuple(dict.fromkeys(spaces.get("names") or ())),
        choices={
            each["role"]: _choice(each["role"], each.get("label") or "", each.get("field") or "")
            for each in block.get("selectors") or ()
        },
        with_node=bool(attach.get("node")),
        with_namespace=bool(attach.get("namespace")),
    )


class SeenObjects(Struct, frozen=True):
    """What one discovery sees in one namespace, or in all of them where `namespace` is empty."""

    world: TargetSources
    of: KubernetesSd
    namespace: str = ""

    def all(self, role: str, found: ByNamespace[N]) -> Iterator[N]:
        """All objects of a role."""
        choice = self.of.choices.get(role, _ALL)
        spaces = [found.get(self.namespace, {})] if self.namespace else list(found.values())
        return (each for space in spaces for each in space.values() if choice.takes(each))

    def pod(self, namespace: str, name: str) -> Pod | None:
        """A pod, if it is seen."""
        return self._one(POD, self.world.pods, namespace, name)

    def service(self, namespace: str, name: str) -> Service | None:
        """A Service, if it is seen."""
        return self._one(SERVICE, self.world.services, namespace, name)

    def _one(self, role: str, objects: ByNamespace[N], namespace: str, name: str) -> N | None:
        if self.namespace and namespace != self.namespace:
            return None
        found = objects.get(namespace, {}).get(name)
        return found if found and self.of.choices.get(role, _ALL).takes(found) else None

    def node(self, name: str) -> Node | None:
        """A node, if nodes are asked for and this one is seen."""
        found = self.world.nodes.get(name) if self.of.with_node else None
        return found if found and self.of.choices.get(NODE, _ALL).takes(found) else None

    def space(self, name: str) -> Namespace | None:
        """A namespace, if their labels are asked for."""
        return self.world.namespaces.get(name) if self.of.with_namespace else None


def sights(world: TargetSources, discovery: KubernetesSd) -> list[SeenObjects]:
    """What a discovery sees: in each namespace that it names, or in all at once."""
    return [SeenObjects(world, discovery, each) for each in discovery.namespaces or ("",)]
