"""What was read of a cluster, as the view of it that explain, diff and status work with."""

from collections.abc import Mapping
from typing import Final

from msgspec import Struct

from stoker.cluster.capabilities import capabilities_of
from stoker.kube.client import Client
from stoker.ref import Ref
from stoker.select.assets import WholeAssets
from stoker.select.choice import NAMESPACE_NAME, NamespaceLabels, Resource
from stoker.select.workload import Workload
from stoker.settings import OperatorSettings
from stoker.targets.objects import EndpointSlice, Ingress, Node, Service
from stoker.view.listing import Listing, Need, Surroundings
from stoker.view.objects import PodGroup
from stoker.view.view import View

_UNREAD: Final = "you cannot read it, so only its name is known"


class Seen(Struct, frozen=True, kw_only=True):
    """What a user may see of our kinds, or of those among them that matter.

    `rivals` are the operators that look after the same workload.
    """

    workloads: tuple[Workload, ...]
    resources: tuple[Resource, ...]
    namespaces: NamespaceLabels
    rivals: Mapping[Ref, tuple[str, ...]]


def namespace_labels(name: str, labels: Mapping[str, str] | None) -> dict[str, str]:
    """The labels of a namespace, with that of its name, which API servers add."""
    return {NAMESPACE_NAME: name} | dict(labels or {})


class _Nowhere:
    """Surroundings that nobody asks about: what is scraped does not matter here."""

    def services(self, namespace: str | None) -> Listing[Service]:
        """None."""
        return Listing()

    def slices(self, namespace: str | None) -> Listing[EndpointSlice]:
        """None."""
        return Listing()

    def pods(self, namespace: str | None) -> Listing[PodGroup]:
        """None."""
        return Listing()

    def ingresses(self, namespace: str | None) -> Listing[Ingress]:
        """None."""
        return Listing()

    def nodes(self) -> Listing[Node]:
        """None."""
        return Listing()

    def whole_nodes(self) -> Listing[Node]:
        """None."""
        return Listing()

    def allowed(self, need: Need) -> bool | None:
        """Not known."""
        return None


NOWHERE: Final = _Nowhere()


async def view_of(
    client: Client,
    settings: OperatorSettings,
    seen: Seen,
    assets: WholeAssets,
    surroundings: Surroundings = NOWHERE,
) -> View:
    """A cluster as an operator with these settings would see it; ApiError where none answers."""
    return View(
        workloads=seen.workloads,
        resources=seen.resources,
        namespaces=seen.namespaces,
        assets=assets,
        surroundings=surroundings,
        settings=settings,
        capabilities=await capabilities_of(client, settings),
        labels_unknown=_UNREAD,
        rivals=seen.rivals,
    )
