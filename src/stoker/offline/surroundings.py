"""A directory as the surroundings of an explanation, and the view of all of it.

A directory need not hold everything. Where it has no object of a kind at all, nothing is concluded
from that; where it has some, these are taken for all that there are, beside those that the operator
makes of the workloads. In the namespace of Kubernetes itself there are always more.
"""

from collections import defaultdict
from collections.abc import Callable, Iterable, Iterator
from functools import cached_property, partial
from typing import Any, Final, TypeAlias, TypeVar

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

Made: TypeAlias = Callable[[str | None], Iterable[ObjectModel]]
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

    `made` gives what the operator adds to them in a namespace, or in all; it is called where that
    matters.
    """

    def __init__(self, objects: Iterable[ObjectModel], made: Made = lambda _: ()) -> None:
        self._given = tuple(objects)
        self._made = made
        self._everything: dict[str | None, tuple[ObjectModel, ...]] = {}
        self._listings: dict[tuple[str, str | None], Listing[Any]] = {}

    @cached_property
    def _kinds(self) -> frozenset[type[ObjectModel]]:
        return frozenset(map(type, self._given))

    @cached_property
    def _nodes(self) -> Listing[Node]:
        found = tuple(each for each in self._given if isinstance(each, Node))
        return Listing(found, "" if found else _NO_NODES)

    @cached_property
    def _spaces(self) -> dict[str | None, list[ObjectModel]]:
        found: defaultdict[str | None, list[ObjectModel]] = defaultdict(list)
        for each in self._given:
            found[each.namespace].append(each)
            found[None].append(each)
        return found

    def services(self, namespace: str | None) -> Listing[Service]:
        """Services."""
        return _with_more(self._listed(Service, namespace), "Services", namespace)

    def slices(self, namespace: str | None) -> Listing[EndpointSlice]:
        """EndpointSlices, of which there are always more: Kubernetes makes them."""
        found = self._listed(EndpointSlice, namespace)
        return Listing(found.items, "EndpointSlices are made in a cluster")

    def pods(self, namespace: str | None) -> Listing[PodGroup]:
        """Pods, and what Deployments, CronJobs and the like make."""
        found = self._once("Pods, Deployments and the like", Runs, namespace, self._groups)
        return _with_more(found, "pods", namespace)

    def ingresses(self, namespace: str | None) -> Listing[Ingress]:
        """Ingresses."""
        return self._listed(Ingress, namespace)

    def nodes(self) -> Listing[Node]:
        """Nodes; where there is one at all, these are all."""
        return self._nodes

    def whole_nodes(self) -> Listing[Node]:
        """The same: a manifest has all that is known of one."""
        return self._nodes

    def allowed(self, need: Need) -> bool | None:
        """Whether roles among the manifests allow it; None where that is not known."""
        return allowed_by(self._given, need)

    def _listed(self, model: type[N], namespace: str | None) -> Listing[N]:
        def of_kind(found: Iterable[ObjectModel]) -> Iterator[N]:
            return (each for each in found if isinstance(each, model))

        return self._once(f"{model.__name__} objects", model, namespace, of_kind)

    def _groups(self, found: Iterable[ObjectModel]) -> Iterator[PodGroup]:
        nodes = self._nodes.items
        return (placed(each, nodes) if nodes else each for each in groups_of(found))

    def _once(
        self,
        what: str,
        kind: Any,
        namespace: str | None,
        chosen: Callable[[Iterable[ObjectModel]], Iterator[T]],
    ) -> Listing[T]:
        """What is chosen among all, looked for once: thousands of resources ask for it.

        Nothing, and that there may be more, where no object of that kind is given at all.
        """
        if (what, namespace) not in self._listings:
            is_given = any(issubclass(each, kind) for each in self._kinds)
            items = tuple(chosen(self._all_in(namespace))) if is_given else ()
            self._listings[what, namespace] = Listing(items, "" if is_given else _absent(what))
        return self._listings[what, namespace]

    def _all_in(self, namespace: str | None) -> tuple[ObjectModel, ...]:
        """The objects of a namespace or of all; what is written wins over what would be made."""
        if namespace not in self._everything:
            first = (_API_SERVER,) if namespace in (None, _API_SERVER.namespace) else ()
            found = (*first, *self._made(namespace), *self._spaces.get(namespace, ()))
            self._everything[namespace] = tuple({each.title: each for each in found}.values())
        return self._everything[namespace]


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
        surroundings=Directory(world.surroundings, partial(_made, world, settings, capabilities)),
        settings=settings,
        capabilities=capabilities,
        labels_unknown="there is no Namespace manifest, so only its name is known",
        rivals=world.rivals,
        dropped=world.dropped,
        at_hand=True,
    )


def _made(
    world: World, settings: OperatorSettings, capabilities: Capabilities, namespace: str | None
) -> Iterator[ObjectModel]:
    """What the operator makes of workloads, as far as it can be scraped: Services and pods."""
    for workload in world.workloads:
        if namespace is not None and (workload.metadata.namespace or "") != namespace:
            continue
        # Somebody looks after it, whoever that is.
        custodian = replace(
            settings,
            controller_id=controller_of(workload),
            namespaces=NamespaceSettings(),
            selectors=SelectorSettings(),
        )
        facts = Facts(settings=custodian, capabilities=capabilities, assets=world.assets)
        for each in plan(facts, workload).objects:
            model = MODELS.get((each["apiVersion"], each["kind"]))
            if model:
                yield convert(model, each)
