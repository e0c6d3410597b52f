"""Everything that the operator watches, and how long it takes until it is all there.

Our own kinds are kept whole, in the version that their types declare, whichever the cluster has.
StatefulSets and DaemonSets are kept with what their status says, and of Namespaces, Services,
Secrets and ConfigMaps only the metadata. Where a list of namespaces is given, each of them is
watched on its own, so that Roles in these namespaces suffice.
"""

import asyncio
from collections.abc import Iterable, Iterator
from functools import partial, reduce
from operator import or_
from typing import Any, Final, TypeAlias

from stoker.api.core import Object, ObjectMeta
from stoker.cluster.kinds import RESOURCES, WORKLOADS, ResourceKind
from stoker.cluster.sharing import of_one_spec
from stoker.kube import resources as kube
from stoker.kube.client import Client
from stoker.kube.endless import Told, endless
from stoker.kube.reading import Head, slim, typed
from stoker.kube.reflector import Reflector
from stoker.kube.resources import ApiResource
from stoker.kube.served import Served
from stoker.kube.watch import WatchScope
from stoker.operator.namespaces import read_one_by_one
from stoker.plan.existing import Running
from stoker.ref import Ref
from stoker.roles import RESOURCES as ROLES
from stoker.select.choice import Resource
from stoker.select.namespaces import Namespaces, excluding, reference_scope, scope_of
from stoker.select.workload import Workload
from stoker.settings import OperatorSettings

OWNER: Final = "owner"
"""The index of objects by the uid of what they belong to."""

_MANAGED: Final = "managed-by=prometheus-operator"


Cached: TypeAlias = Reflector[Any]


def owners(found: Head | Running) -> Iterator[str]:
    """The uids of what an object belongs to."""
    return (workload.uid for workload in found.metadata.owner_references or ())


class Caches:
    """All reflectors. Nothing is watched before `run`."""

    def __init__(self, client: Client, settings: OperatorSettings) -> None:
        self._client = client
        self._settings = settings
        selectors = settings.selectors
        self.workloads: dict[str, Cached] = {
            name: self._of(
                kind.resource,
                kind.model,
                self.workload_scope(name),
                getattr(selectors, kind.role.flags),
            )
            for name, kind in WORKLOADS.items()
        }
        self.resources: dict[str, Cached] = {
            name: self._selectable(name, kind) for name, kind in RESOURCES.items()
        }
        self._selected = _together(self.selected_scopes.values())
        # Whether namespaces that cannot be listed were tried one by one.
        self._tried = asyncio.Event()
        labels = self._selected.namespace_selector
        self.namespaces: Reflector[Head] = Reflector(
            client,
            WatchScope(kube.NAMESPACE, label_selector=labels, metadata_only=True),
            typed(Head),
        )
        everywhere = settings.references_everywhere
        self.value_scope = _together(
            reference_scope(name, settings.namespaces, everywhere=everywhere) for name in WORKLOADS
        )
        self._own = own = _together(map(self.workload_scope, WORKLOADS))
        self.owned: dict[str, Cached] = {
            "Secret": self._heads(
                kube.SECRET, self.value_scope, selectors.secret_labels, selectors.secret_fields
            ),
            "ConfigMap": self._heads(
                kube.CONFIG_MAP,
                self.value_scope,
                selectors.config_map_labels,
                selectors.config_map_fields,
            ),
            # Those of users too: a workload may name one of them.
            "Service": self._heads(kube.SERVICE, own),
            "StatefulSet": self._of(kube.STATEFUL_SET, Running, own, _MANAGED, owned=True),
            "DaemonSet": self._of(kube.DAEMON_SET, Running, own, _MANAGED, owned=True),
        }

    @property
    def all(self) -> list[Cached]:
        """Every reflector."""
        every = (self.workloads.values(), self.resources.values(), self.owned.values())
        return [self.namespaces, *(each for group in every for each in group)]

    async def run(self, told: Told) -> None:
        """Watch until cancelled; `told` hears of what fails beside the watches."""
        async with asyncio.TaskGroup() as tasks:
            for each in self.all:
                tasks.create_task(each.run())
            names = self._selected.allowed
            if names is not None:
                read = partial(
                    read_one_by_one, self._client, self.namespaces, sorted(names), self._tried
                )
                tasks.create_task(endless(read, told))
            else:
                self._tried.set()

    async def settled(self) -> None:
        """Wait until everything is known that can be."""
        for each in self.all:
            await each.settled()
        await self._tried.wait()

    @property
    def selected_scopes(self) -> dict[str, Namespaces]:
        """Where resources of each kind are selected from."""
        return {name: scope_of(name, self._settings.namespaces) for name in RESOURCES}

    def _resource_scope(self, name: str) -> Namespaces:
        selected = scope_of(name, self._settings.namespaces)
        named_by = ROLES[name].named_by
        return selected | self.workload_scope(named_by) if named_by else selected

    def workload_scope(self, kind: str) -> Namespaces:
        """Where workloads of a kind are looked for."""
        return scope_of(kind, self._settings.namespaces)

    @property
    def are_unlabelled(self) -> bool:
        """Whether namespaces that resources are selected from were never seen."""
        reports = self.namespaces.reports
        if all(report.listed or report.trouble is None for report in reports):
            return False
        names = self._selected.allowed
        return names is None or any(self.namespaces.store.get("", one) is None for one in names)

    def workload(self, key: Ref) -> Workload | None:
        """A workload as it is now."""
        found: Workload | None = self.workloads[key.kind].store.get(key.namespace, key.name)
        return found

    def resource(self, key: Ref) -> Resource | None:
        """A configuration resource as it is now."""
        found: Resource | None = self.resources[key.kind].store.get(key.namespace, key.name)
        return found

    def size(self, key: Ref) -> int:
        """In how many bytes a configuration resource came."""
        return self.resources[key.kind].store.size(key.namespace, key.name)

    def place(self, kind: str) -> ApiResource:
        """Where configuration resources of a kind are, in the version that is watched."""
        return self.resources[kind].resource

    def metadata(self, identity: Ref) -> ObjectMeta | None:
        """What is known of an object that may be ours."""
        kind, namespace, name = identity
        found = self.owned[kind].store.get(namespace, name)
        return found.metadata if found is not None else None

    def saw(self, kind: str, live: Object) -> bool:
        """Take up what the server answered; whether the object is still there, for all we know."""
        reflector = self._of_kind(kind)
        still = reflector.saw(live)
        # What a selector of the user's leaves out is there, though no watch tells us of it.
        return still or self._is_selective(reflector, self.value_scope)

    async def ask(self, client: Client, resource: ApiResource, metadata: ObjectMeta) -> None:
        """Take up how an object is now: something is newer than what the watch has reported."""
        name, seen = metadata.name or "", metadata.resource_version or ""
        live = await client.find(resource, metadata.namespace, name, seen=seen)
        if live is None:
            self.lost(resource.kind, metadata)
        else:
            self.saw(resource.kind, live)

    def seen(self, kind: str, namespace: str | None, name: str) -> str:
        """The version in which an object is known; nothing if it is not."""
        found = self._of_kind(kind).store.get(namespace or "", name)
        return found.metadata.resource_version or "" if found is not None else ""

    def lost(self, kind: str, metadata: ObjectMeta) -> None:
        """Take up that the object with this metadata was deleted."""
        self._of_kind(kind).lost(metadata)

    def _of_kind(self, kind: str) -> Cached:
        return (self.owned | self.resources | self.workloads)[kind]

    def belonging(self, kind: str, uid: str) -> list[Any]:
        """The objects of a kind that belong to a workload."""
        return self.owned[kind].store.by_index(OWNER, uid)

    def exists(self, identity: Ref) -> bool:
        """Whether a Secret or ConfigMap is known to exist."""
        return self.metadata(identity) is not None

    def is_absent(self, identity: Ref) -> bool:
        """Whether an object that may be ours is known not to exist, since it would be watched."""
        return not self.owned[identity.kind].scope.label_selector and self.is_unmade(identity)

    def is_unmade(self, identity: Ref) -> bool:
        """The same, but there may be one of that name without the label of what we make."""
        kind, namespace, name = identity
        reflector = self.owned[kind]
        scope = self.value_scope if kind in ("Secret", "ConfigMap") else self._own
        is_ours = reflector.scope.label_selector in ("", _MANAGED)
        if not is_ours or _narrowed(reflector.scope, scope) or not scope.covers(namespace):
            return False
        return reflector.store.ready.is_set() and reflector.store.get(namespace, name) is None

    def _is_selective(self, reflector: Cached, scope: Namespaces) -> bool:
        """Whether objects may be left out by what a user has selected, or by a label."""
        narrowed = _narrowed(reflector.scope, scope)
        return bool(reflector.scope.label_selector) or narrowed

    def _selectable(self, name: str, kind: ResourceKind) -> Cached:
        scope = self._resource_scope(name)
        several = len(kind.versions) > 1
        return Reflector(
            self._client,
            WatchScope(kind.resource, field_selector=scope.field_selector),
            slim(kind.read),
            namespaces=_names(scope),
            joined=of_one_spec,
            served=Served(self._client, kind.versions) if several else None,
        )

    def _of(
        self,
        resource: ApiResource,
        model: type[Any],
        scope: Namespaces,
        labels: str = "",
        *,
        owned: bool = False,
    ) -> Cached:
        watched = WatchScope(resource, label_selector=labels, field_selector=scope.field_selector)
        return self._reflector(watched, model, scope, owned=owned)

    def _heads(
        self, resource: ApiResource, scope: Namespaces, labels: str = "", fields: str = ""
    ) -> Cached:
        both = ",".join(part for part in (scope.field_selector, fields) if part)
        watched = WatchScope(
            resource, label_selector=labels, field_selector=both, metadata_only=True
        )
        return self._reflector(watched, Head, scope, owned=True)

    def _reflector(
        self, watched: WatchScope, model: type[Any], scope: Namespaces, *, owned: bool
    ) -> Cached:
        indices = {OWNER: owners} if owned else None
        return Reflector(
            self._client, watched, typed(model), namespaces=_names(scope), indices=indices
        )


def _together(scopes: Iterable[Namespaces]) -> Namespaces:
    return reduce(or_, scopes)


def _names(scope: Namespaces) -> list[str] | None:
    return None if scope.allowed is None else sorted(scope.allowed)


def _narrowed(watched: WatchScope, scope: Namespaces) -> bool:
    """Whether a field selector of the user's leaves out more than the denied namespaces."""
    return watched.field_selector != excluding("metadata.namespace", scope.denied)
