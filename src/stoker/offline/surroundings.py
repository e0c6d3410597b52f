"""A directory as the surroundings of an explanation, and the view of all of it.

A directory need not hold everything. Where it has no object of a kind at all, nothing is concluded
from that; where it has some, these are taken for all that there are, beside those that the operator
makes of the workloads. In the namespace of Kubernetes itself there are always more.
"""

from collections import defaultdict
from collections.abc import Callable, Iterable, Iterator
from functools import cached_property
from typing import Any, Final, Generic, TypeVar

from msgspec.structs import replace

from stoker.api.core import ObjectMeta
from stoker.api.decode import convert
from stoker.offline.grants import allowed_by
from stoker.offline.world import World
from stoker.plan import Facts, plan
from stoker.select.workload import controller_of
from stoker.settings import (
    Capabilities,
    NamespaceSettings,
    OperatorSettings,
    SelectorSettings,
    capabilities_with,
)
from stoker.targets.objects import (
    EndpointSlice,
    Ingress,
    Node,
    ObjectModel,
    Service,
    ServicePort,
    ServiceSpec,
)
from stoker.view.listing import Listing, Need
from stoker.view.objects import MODELS, PodGroup, Runs, groups_of, placed
from stoker.view.view import View

N = TypeVar("N", bound=ObjectModel)
T = TypeVar("T", bound=ObjectModel | PodGroup)

_OF_KUBERNETES: Final = "kube-system"
_NO_NODES: Final = "there are no Node objects among the manifests"
# It is in every cluster, and in no folder.
_API_SERVER: Final = Service(
    metadata=ObjectMeta(
        name="kubernetes",
        namespace="default",
        labels={"component": "apiserver", "provider": "kubernetes"},
    ),
    spec=ServiceSpec(ports=(ServicePort(name="https", port=443, target_port=6443),)),
)


class Directory:
    """What manifests say of Services, pods and permissions.

    `made` gives what the operator adds to them; it is called when that matters.
    """

    def __init__(
        self, objects: Iterable[ObjectModel], made: Callable[[], Iterable[ObjectModel]] = tuple
    ) -> None:
        self._given = tuple(objects)
        self._made = made
        self._kinds: dict[type[ObjectModel], _Spaces[Any]] = {}

    @cached_property
    def _objects(self) -> tuple[ObjectModel, ...]:
        every = {each.title: each for each in (_API_SERVER, *self._made(), *self._given)}
        return tuple(every.values())

    @cached_property
    def _pods(self) -> "_Spaces[PodGroup]":
        given = any(isinstance(each, Runs) for each in self._given)
        nodes = self._nodes.items
        groups = groups_of(self._objects) if given else ()
        return _Spaces(placed(each, nodes) if nodes else each for each in groups)

    @cached_property
    def _nodes(self) -> Listing[Node]:
        found = tuple(each for each in self._given if isinstance(each, Node))
        return Listing(found, "" if found else _NO_NODES)

    def services(self, namespace: str | None) -> Listing[Service]:
        """Services."""
        return _with_more(self._listed(Service, namespace), "Services", namespace)

    def slices(self, namespace: str | None) -> Listing[EndpointSlice]:
        """EndpointSlices, of which there are always more: Kubernetes makes them."""
        found = self._listed(EndpointSlice, namespace)
        return Listing(found.items, "EndpointSlices are made in a cluster")

    def pods(self, namespace: str | None) -> Listing[PodGroup]:
        """Pods, and what Deployments, CronJobs and the like make."""
        found = self._pods.listed(namespace, "Pods, Deployments and the like")
        return _with_more(found, "pods", namespace)

    def ingresses(self, namespace: str | None) -> Listing[Ingress]:
        """Ingresses."""
        return self._listed(Ingress, namespace)

    def nodes(self) -> Listing[Node]:
        """Nodes; where there is one at all, these are all."""
        return self._nodes

    def allowed(self, need: Need) -> bool | None:
        """Whether roles among the manifests allow it; None where that cannot be told."""
        return allowed_by(self._given, need)

    def _listed(self, model: type[N], namespace: str | None) -> Listing[N]:
        if model not in self._kinds:
            given = any(isinstance(each, model) for each in self._given)
            every = self._objects if given else ()
            self._kinds[model] = _Spaces(each for each in every if isinstance(each, model))
        return self._kinds[model].listed(namespace, f"{model.__name__} objects")


class _Spaces(Generic[T]):
    """Objects of a kind, sorted once: thousands of resources ask for those of their namespace."""

    def __init__(self, objects: Iterable[T]) -> None:
        found: defaultdict[str | None, list[T]] = defaultdict(list)
        for each in objects:
            found[each.namespace].append(each)
            found[None].append(each)
        self._found = {namespace: tuple(some) for namespace, some in found.items()}

    def listed(self, namespace: str | None, what: str) -> Listing[T]:
        """Those in a namespace or in all; `what` they are called where there are none at all."""
        return Listing(self._found.get(namespace, ()), "" if self._found else _absent(what))


def _with_more(found: Listing[T], what: str, namespace: str | None) -> Listing[T]:
    """What is found, and that there is more where Kubernetes has something of its own."""
    if namespace != _OF_KUBERNETES:
        return found
    told = f"Kubernetes has {what} of its own in {namespace}, which are not among the manifests"
    return Listing(found.items, told)


def _absent(what: str) -> str:
    return f"there are no {what} among the manifests, so targets cannot be counted"


def view_of(world: World, settings: OperatorSettings) -> View:
    """A directory, to be explained."""
    capabilities = capabilities_with(settings)
    return View(
        workloads=tuple(world.workloads),
        resources=tuple(world.resources),
        namespaces=world.namespaces,
        assets=world.assets,
        surroundings=Directory(world.surroundings, lambda: _made(world, settings, capabilities)),
        settings=settings,
        capabilities=capabilities,
        labels_unknown="there is no Namespace manifest, so only its name is known",
        rivals=world.rivals,
        dropped=world.dropped,
        at_hand=True,
    )


def _made(
    world: World, settings: OperatorSettings, capabilities: Capabilities
) -> Iterator[ObjectModel]:
    """What the operator makes of workloads, as far as it can be scraped: Services and pods."""
    for owner in world.workloads:
        # Somebody looks after it, whoever that is.
        custodian = replace(
            settings,
            controller_id=controller_of(owner),
            namespaces=NamespaceSettings(),
            selectors=SelectorSettings(),
        )
        facts = Facts(settings=custodian, capabilities=capabilities, assets=world.assets)
        for each in plan(facts, owner).objects:
            model = MODELS.get((each["apiVersion"], each["kind"]))
            if model:
                yield convert(model, each)
