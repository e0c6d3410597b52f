"""An object of a cluster, explained to whoever may see it.

    found ──> View ──explanation──> what was asked for and not read yet ──read──> again ──> answer

Only what the explanation asks for is read, with the rights of the user who asks: what these do not
allow becomes "not known" instead of a failure. Nothing is written; to ask what a service account
may do is no write either.
"""

import asyncio
from collections.abc import Awaitable, Callable, Iterable, Sequence
from contextlib import suppress
from functools import partial
from typing import Any, Final, TypeAlias, TypeVar

import msgspec
from msgspec import Raw, Struct
from msgspec.structs import replace

from stoker.api.decode import decode
from stoker.cluster.accounts import may
from stoker.cluster.kinds import RESOURCES, WORKLOADS
from stoker.cluster.places import place_of
from stoker.cluster.seen import Seen, namespace_labels, view_of
from stoker.cluster.values import Values
from stoker.errors import DecodeError
from stoker.explain.answer import Explanation
from stoker.explain.ask import IS_WORKLOAD, beside_unseen, explanation, not_found, unusable
from stoker.explain.selecting import can_select
from stoker.kube import resources as kube
from stoker.kube.client import Client
from stoker.kube.errors import ApiError, Forbidden, NotFound
from stoker.kube.reading import Head, Reader, typed
from stoker.kube.resources import ApiResource
from stoker.ref import Ref
from stoker.select.choice import Resource
from stoker.select.workload import Workload
from stoker.settings import OperatorSettings
from stoker.targets.objects import EndpointSlice, Ingress, Node, Pod, Service
from stoker.view.listing import Listing, Need
from stoker.view.objects import PodGroup, group_of
from stoker.view.rivals import rivals_of

T = TypeVar("T")

INGRESS: Final = ApiResource("networking.k8s.io", "v1", "ingresses", "Ingress")
_PAGE: Final = "500"
_ABSENT: Final = "the cluster does not have"


async def explained_in_cluster(
    client: Client, settings: OperatorSettings, kind: str, namespace: str, name: str
) -> Explanation | str:
    """What there is to say of an object, or that there is none, in a sentence."""
    try:
        found, rivals = await _object(client, kind, namespace, name)
    except NotFound:
        where = await place_of(client, kind)
        known = await _listed(client, where, typed(Head), None, namespace)
        names = (f"{each.metadata.namespace}/{each.metadata.name}" for each in known.items)
        return not_found(kind, f"{namespace}/{name}", names, _advised(known))
    except DecodeError as error:
        return unusable(kind, namespace, name, (str(error),))
    values = Values(client, lambda _: False)
    reader, assets = Around(client), values.view()
    seen, notes, unseen = await _seen(client, kind, found)
    seen = replace(seen, rivals={Ref(kind, namespace, name): rivals})
    view = await view_of(client, settings, seen, assets, reader)
    while True:
        made = explanation(view, kind, namespace, name)
        more = await reader.load()
        if not await values.load(assets) and not more:
            break
    if made is None:
        return not_found(kind, f"{namespace}/{name}", ())
    if kind not in IS_WORKLOAD:
        made = beside_unseen(made, found, unseen)
    return replace(made, notes=(*made.notes, *notes))


async def _object(
    client: Client, kind: str, namespace: str, name: str
) -> tuple[Any, tuple[str, ...]]:
    """An object, and the operators that share it."""
    where = await place_of(client, kind)
    found = await client.get(where, namespace, name)
    rivals = rivals_of(found["metadata"].get("managedFields"))
    return _reader(kind)(Raw(msgspec.json.encode(found))), rivals


def _reader(kind: str) -> Reader[Any]:
    """Reads whole objects, with what was applied: explaining tells what of that was lost."""
    return RESOURCES[kind].read if kind in RESOURCES else partial(decode, WORKLOADS[kind].model)


async def _seen(client: Client, kind: str, found: Any) -> tuple[Seen, list[str], str]:
    """What is read at once, and what could not be.

    The last is why there may be workloads that select a resource and are not among them.
    """
    near = found.metadata.namespace or ""
    unseen = ""
    if kind in IS_WORKLOAD:
        several = Listing.joined((await _all(client, RESOURCES, near)).values())
        resources: Sequence[Resource] = several.items
        workloads: Sequence[Workload] = (found,)
        labels = await _listed(client, kube.NAMESPACE, typed(Head), None, "")
        heads: Iterable[Head] = labels.items
    else:
        by_kind = await _all(client, WORKLOADS, near)
        several = Listing.joined(by_kind.values())
        able = [each for name, each in by_kind.items() if can_select(kind, WORKLOADS[name].model)]
        unseen = next((each.unknown for each in able if _is_hidden(each)), "")
        resources, workloads = (found,), several.items
        heads = await _head(client, near)
    seen = Seen(
        workloads=tuple(workloads),
        resources=tuple(resources),
        namespaces={
            each.metadata.name or "": namespace_labels(
                each.metadata.name or "", each.metadata.labels
            )
            for each in heads
        },
        rivals={},
    )
    return seen, [several.unknown] if several.unknown else [], unseen


def _is_hidden(found: Listing[Any]) -> bool:
    """Whether there may be more; of a kind that a cluster does not have there are none."""
    return bool(found.unknown) and not found.unknown.startswith(_ABSENT)


def _advised(found: Listing[Any]) -> str:
    """Why there may be more, and what to do about it."""
    if not found.unknown or _is_hidden(found):
        return found.unknown
    return f"{found.unknown}: `stoker crds | kubectl apply --server-side -f -` installs them"


async def _head(client: Client, namespace: str) -> list[Head]:
    try:
        found = await client.get(kube.NAMESPACE, None, namespace)
    except (Forbidden, NotFound):
        return []
    return [decode(Head, msgspec.json.encode(found))]


async def _all(client: Client, kinds: Iterable[str], near: str) -> dict[str, Listing[Any]]:
    async def listed(kind: str) -> Listing[Any]:
        return await _listed(client, await place_of(client, kind), _reader(kind), None, near)

    names = list(kinds)
    return dict(zip(names, await asyncio.gather(*map(listed, names)), strict=True))


async def _listed(
    client: Client, resource: ApiResource, read: Reader[T], namespace: str | None, fallback: str
) -> Listing[T]:
    """Objects in a namespace, or in all; where that is forbidden, in the one to fall back to."""
    try:
        return Listing(tuple(await _pages(client, resource, read, namespace)))
    except NotFound:
        return Listing(unknown=f"{_ABSENT} {resource.name}")
    except Forbidden as error:
        unknown = _may_not(error.verb, resource, namespace)
    if namespace is not None or not fallback:
        return Listing(unknown=unknown)
    near = await _listed(client, resource, read, fallback, "")
    return Listing(near.items, unknown)


def _may_not(verb: str, resource: ApiResource, namespace: str | None) -> str:
    where = f" in namespace {namespace}" if namespace else " in all namespaces"
    return f"you cannot {verb} {resource.name}{where if resource.namespaced else ''}"


async def _pages(
    client: Client, resource: ApiResource, read: Reader[T], namespace: str | None
) -> list[T]:
    query: dict[str, str] = {"limit": _PAGE}
    found: list[T] = []
    while True:
        page = await client.page(resource.path(namespace), query=query)
        for each in page.items:
            with suppress(DecodeError):
                found.append(read(each))
        if not page.metadata.continue_:
            return found
        query["continue"] = page.metadata.continue_


# --- What is read when it is asked for ------------------------------------------------------------


class _Kind(Struct, frozen=True):
    """A kind of object around ours, and what it is turned into."""

    resource: ApiResource
    model: type[Any]
    made: Callable[[Any], Any] = lambda found: found


_SERVICES: Final = _Kind(kube.SERVICE, Service)
_SLICES: Final = _Kind(kube.ENDPOINT_SLICE, EndpointSlice)
_PODS: Final = _Kind(kube.POD, Pod, group_of)
_INGRESSES: Final = _Kind(INGRESS, Ingress)
_NODES: Final = _Kind(kube.NODE, Node)


MayDo: TypeAlias = Callable[[str, ApiResource, str | None], Awaitable[bool]]
"""Whether somebody may do this: a verb, a resource, a namespace or (None) all of them."""


class Around:
    """Surroundings that note what they do not know yet; `who` asks, in words.

    `nodes` are all nodes, where it is known already who may be there. What `may` does not allow is
    not read.
    """

    def __init__(
        self,
        client: Client,
        who: str = "you",
        nodes: Listing[Node] | None = None,
        may: MayDo | None = None,
    ) -> None:
        self._client = client
        self._who = who
        self._may = may
        self._listings: dict[tuple[str, str | None], Listing[Any]] = {}
        self._answers: dict[Need, bool | None] = {}
        self._nodes = nodes
        self._unread: dict[tuple[str, str | None], _Kind] = {}
        self._unasked: dict[Need, None] = {}

    def services(self, namespace: str | None) -> Listing[Service]:
        """Services."""
        return self._listing(_SERVICES, namespace)

    def slices(self, namespace: str | None) -> Listing[EndpointSlice]:
        """EndpointSlices."""
        return self._listing(_SLICES, namespace)

    def pods(self, namespace: str | None) -> Listing[PodGroup]:
        """Pods."""
        return self._listing(_PODS, namespace)

    def ingresses(self, namespace: str | None) -> Listing[Ingress]:
        """Ingresses."""
        return self._listing(_INGRESSES, namespace)

    def nodes(self) -> Listing[Node]:
        """Nodes."""
        return self.whole_nodes() if self._nodes is None else self._nodes

    def whole_nodes(self) -> Listing[Node]:
        """Nodes as they are, whatever is known of them already."""
        return self._listing(_NODES, None)

    def allowed(self, need: Need) -> bool | None:
        """Whether the API server would let a service account list and watch."""
        if need not in self._answers:
            self._unasked[need] = None
        return self._answers.get(need)

    async def load(self) -> bool:
        """Read what was asked for and not known; whether there was any."""
        unread, self._unread = self._unread, {}
        unasked, self._unasked = self._unasked, {}
        for key, kind in unread.items():
            self._listings[key] = await self._read(kind, key[1])
        for need in unasked:
            self._answers[need] = await self._asked(need)
        return bool(unread or unasked)

    async def _read(self, kind: _Kind, namespace: str | None) -> Listing[Any]:
        if self._may and not await self._may("list", kind.resource, namespace):
            return Listing(unknown=_may_not("list", kind.resource, namespace))
        found = await _listed(self._client, kind.resource, typed(kind.model), namespace, "")
        unknown = found.unknown.replace("you may", f"{self._who} may", 1)
        return Listing(tuple(map(kind.made, found.items)), unknown)

    def _listing(self, kind: _Kind, namespace: str | None) -> Listing[Any]:
        key = (kind.resource.plural, namespace)
        if key not in self._listings:
            self._unread[key] = kind
        return self._listings.get(key, _NOT_READ)

    async def _asked(self, need: Need) -> bool | None:
        # What an account may do is for those to know who may ask for it themselves.
        if self._may and not await self._may("create", kube.SUBJECT_ACCESS_REVIEW, None):
            return None
        try:
            return all([await self._review(need, verb) for verb in ("list", "watch")])
        except ApiError:
            return None

    async def _review(self, need: Need, verb: str) -> bool:
        attributes = {
            "verb": verb,
            "group": need.group,
            "resource": need.resource,
            "namespace": need.namespace,
        }
        return await may(self._client, attributes, need.account)


_NOT_READ: Final[Listing[Any]] = Listing(unknown="not read yet")
