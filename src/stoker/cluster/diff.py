"""What would change in a cluster if manifests were applied.

    the cluster, as the user sees it ──> View ──overlaid with manifests──> View
                                          └──planned──┐                     └──planned──┐
    objects that are there ───────────────────────────┴─────────────────────────────────┴─> Change

Everything is read with the rights of the user who asks, and nothing is written. Values of Secrets
are read where resources refer to them, for a resource with a wrong one is rejected; they are never
part of the answer.
"""

import asyncio
from collections.abc import Iterable, Iterator, Mapping
from functools import partial
from itertools import chain, count
from typing import Final

from msgspec.structs import replace

from stoker.api.core import Object
from stoker.api.decode import convert
from stoker.api.prometheus import PrometheusAgent
from stoker.build.names import FIELD_MANAGER, config_secret_name, daemon_set_name, stateful_set_name
from stoker.build.secrets import config_file_secret_name
from stoker.cluster.inventory import Inventory
from stoker.cluster.live import as_claimed, beside_others
from stoker.cluster.seen import view_of
from stoker.cluster.values import Values
from stoker.compare.change import Change, Comparison, change_of
from stoker.compare.consolidated import StandInChanges, consolidated
from stoker.compare.objects import ObjectChange
from stoker.compare.overlay import Manifests, overlaid
from stoker.compare.plan import Planned, planned
from stoker.errors import WorkloadError
from stoker.generate.rules import config_map_name
from stoker.generate.split import file_name
from stoker.kube import resources as kube
from stoker.kube.client import Client
from stoker.kube.errors import Forbidden, NotFound
from stoker.kube.resources import ApiResource, resource_of
from stoker.plan import Existing, Outline, outline_of
from stoker.plan.existing import Running
from stoker.plan.switching import (
    Found,
    Switch,
    switch_of,
    switch_secret_name,
    switched,
    usual_names,
)
from stoker.ref import Ref, ref_of, ref_of_manifest
from stoker.select.choice import is_unmanaged
from stoker.select.workload import AnyPrometheus, Scraper, Workload, scraper_of
from stoker.settings import OperatorSettings, lease_name
from stoker.view.view import View

_AT_ONCE: Final = 16
# The main Secret of a configuration, and the first beside it: one may be there without the other.
_SECRETS: Final = 2


async def compared_with_cluster(
    client: Client, settings: OperatorSettings, manifests: Manifests
) -> Comparison:
    """What happens to each workload; ApiError where the cluster cannot be asked at all."""
    found = await Inventory(client, _namespaces_of(manifests)).read()
    values = Values(client, lambda _: False)
    assets = values.view()
    before = await view_of(client, settings, found.seen, assets)
    after = overlaid(before, manifests, found.foreign)
    comparing = Comparing(client, before, after, manifests)
    while True:
        changes = await comparing.changes()
        if not await values.load(assets):
            notes = (*found.notes, *comparing.unselected(manifests), *comparing.about_monitors())
            return Comparison(tuple(changes), notes, tuple(comparing.consolidated()))


class Comparing:
    """Two states of a cluster, and what it holds now."""

    def __init__(self, client: Client, before: View, after: View, manifests: Manifests) -> None:
        self._client = client
        self._before, self._after = before, after
        self._named = {ref_of(each) for each in manifests.workloads}
        self._live: dict[Ref, Object | None] = {}
        self._unreadable: dict[Ref, str] = {}
        self._selected: set[Ref] = set()
        self._stand_ins = StandInChanges()

    async def changes(self) -> list[Change]:
        """What happens to each workload that something happens to."""
        self._stand_ins = StandInChanges()
        old = {ref_of(each): each for each in self._before.workloads}
        found = []
        for workload in sorted(self._after.workloads, key=ref_of):
            change = await self._change(old.get(ref_of(workload)), workload)
            if change is not None and not (change.is_nothing and not change.notes):
                found.append(change)
        return found

    def unselected(self, manifests: Manifests) -> Iterator[str]:
        """The resources that nobody takes, for which nothing changes therefore."""
        for each in manifests.resources:
            if ref_of(each) not in self._selected:
                yield f"nobody selects {ref_of(each)}; `stoker explain` says why"

    def consolidated(self) -> Iterator[ObjectChange]:
        """What happens to the ScrapeConfigs of monitors, if the operator keeps any."""
        settings = self._after.settings
        if not settings.consolidate_monitors:
            return iter(())
        return self._stand_ins.changes_in_cluster(self._after.resources, lease_name(settings))

    def about_monitors(self) -> Iterator[str]:
        """What is to be known of ScrapeConfigs in place of monitors beside their changes."""
        yield from self._stand_ins.foreign(self._after.resources)
        there = consolidated(self._after.resources)
        if there and not self._after.settings.consolidate_monitors:
            noun = "ScrapeConfig stands" if there == 1 else "ScrapeConfigs stand"
            yield f"{there} {noun} for monitors: --consolidate-monitors tells what becomes of them"

    async def _change(self, old: Workload | None, new: Workload) -> Change | None:
        existing = await self.existing(new)
        before = planned(self._before, old, existing) if old else None
        after = planned(self._after, new, existing, self._before.assets)
        self._selected |= after.verdicts.keys()
        self._stand_ins.gather(before, after)
        if before and ref_of(new) not in self._named and _is_same(before, after):
            return None
        after, switch = await self.switched(after)
        if before and switch is not None:
            before = _without_kept(before, switch)
        live = await self._found((*(before.objects if before else ()), *after.objects))
        change = change_of(before, _beside(after, live), live, FIELD_MANAGER)
        notes = (*change.notes, *self._notes(before, change), *_waits(switch))
        return replace(change, notes=notes)

    async def taken_over(self, workload: Workload) -> tuple[Planned, dict[Ref, Object]]:
        """What becomes of a workload that nobody changes, and what is there of it, as if ours."""
        existing = await self.existing(workload)
        made, _ = await self.switched(planned(self._after, workload, existing))
        found = await self._found(made.objects)
        live = {key: as_claimed(each) for key, each in found.items()}
        return _beside(made, live), live

    def managed_fields(self, refs: Iterable[Ref]) -> dict[Ref, list[Object]]:
        """Who has which fields of the objects that are there, as it was found."""
        there = {key: self._live.get(key) for key in refs}
        return {
            key: each["metadata"].get("managedFields") or [] for key, each in there.items() if each
        }

    def unreadable(self, refs: Iterable[Ref] | None = None) -> tuple[str, ...]:
        """Of some objects, or of all that were looked at, what cannot be read, in sentences."""
        some = self._unreadable if refs is None else [e for e in refs if e in self._unreadable]
        return tuple(dict.fromkeys(self._unreadable[each] for each in some))

    async def switched(self, after: Planned) -> tuple[Planned, Switch | None]:
        """What is written where the change of an agent's mode stands; None for all others."""
        workload = after.workload
        if not isinstance(workload, PrometheusAgent) or not after.objects:
            return after, None
        scraper = scraper_of(workload, self._after.capabilities)
        found = Found(
            await self._running(kube.STATEFUL_SET, scraper, _sets_of(scraper)),
            await self._running(kube.DAEMON_SET, scraper, [daemon_set_name(scraper)]),
            await self._secrets(workload),
        )
        switch = switch_of(scraper, after.objects, found)
        return replace(after, objects=tuple(switched(scraper, after.objects, switch))), switch

    async def _running(
        self, resource: ApiResource, scraper: Scraper, names: Iterable[str]
    ) -> list[Running]:
        found = await self._numbered(resource, scraper.namespace, names)
        return [convert(Running, each) for each in found]

    async def _numbered(
        self, resource: ApiResource, namespace: str, names: Iterable[str], at_least: int = 1
    ) -> list[Object]:
        """The objects of these names that are there, up to the first that is not."""
        found: list[Object] = []
        for number, name in enumerate(names, 1):
            live = await self._get(resource, Ref(resource.kind, namespace, name))
            if live is not None:
                found.append(live)
            elif number >= at_least:
                break
        return found

    def _outline(self, workload: Workload) -> Outline:
        return outline_of(workload, self._after.capabilities, self._after.settings.objects)

    def _notes(self, before: Planned | None, change: Change) -> Iterable[str]:
        behind = change.objects and not change.configuration and before is not None
        if behind and any(each.kind == "Secret" for each in change.objects):
            yield "a Secret in the cluster is not what the operator would write now"
        yield from (f"{each}: taken as they should be" for each in self.unreadable())

    async def existing(self, workload: Workload) -> Existing:
        """What there is already, so that the plan puts nothing elsewhere without need."""
        try:
            outline = self._outline(workload)
            return Existing(
                rules=await self._rules(outline.namespace, outline.rules),
                secrets=self._usual(workload, await self._secrets(workload)),
                configuration=await self._has_own(workload, outline),
            )
        except (WorkloadError, ValueError):
            return Existing()

    def _usual(self, workload: Workload, secrets: Iterable[str]) -> list[str]:
        if not isinstance(workload, AnyPrometheus):
            return []
        return usual_names(scraper_of(workload, self._after.capabilities), secrets)

    async def _has_own(self, workload: Workload, outline: Outline) -> bool:
        """Whether there is a configuration of the user's own, where that counts."""
        if not is_unmanaged(workload, self._after.settings):
            return False
        name = Ref("Secret", outline.namespace, outline.configuration)
        return await self._get(kube.SECRET, name) is not None

    async def _rules(self, namespace: str, prefix: str) -> list[Mapping[str, str]]:
        found: list[Mapping[str, str]] = []
        while prefix:
            name = config_map_name(prefix, len(found))
            live = await self._get(kube.CONFIG_MAP, Ref("ConfigMap", namespace, name))
            if live is None:
                break
            found.append(live.get("data") or {})
        return found

    async def _secrets(self, workload: Workload) -> list[str]:
        """The Secrets of a configuration: more than one, where it did not fit into that.

        Those of an agent may have another name, beside the usual one or in place of it.
        """
        if not isinstance(workload, AnyPrometheus):
            return []
        scraper = scraper_of(workload, self._after.capabilities)
        names = [_secrets_of(scraper)]
        if scraper.agent:
            names.append(_apart(scraper, _secrets_of(scraper)))
        found = [
            each
            for some in names
            for each in await self._numbered(kube.SECRET, scraper.namespace, some, _SECRETS)
        ]
        return [each["metadata"]["name"] for each in found]

    async def _found(self, objects: Iterable[Object]) -> dict[Ref, Object]:
        """Of these objects those that are there; what cannot be read is taken to be right."""
        wanted = {ref_of_manifest(each): each for each in objects}
        gate = asyncio.Semaphore(_AT_ONCE)

        async def read(key: Ref, each: Object) -> None:
            async with gate:
                await self._get(resource_of(each), key)

        await asyncio.gather(*(read(key, each) for key, each in wanted.items()))
        found = {key: self._live[key] for key in wanted}
        unseen = {key: each for key, each in wanted.items() if key in self._unreadable}
        return {key: _as_ours(each) for key, each in found.items() if each is not None} | unseen

    async def _get(self, resource: ApiResource, key: Ref) -> Object | None:
        if key not in self._live:
            try:
                self._live[key] = await self._client.get(resource, key.namespace, key.name)
            except NotFound:
                self._live[key] = None
            except Forbidden as error:
                self._live[key] = None
                where = f"{error.resource} in namespace {error.namespace}"
                self._unreadable[key] = f"you cannot {error.verb} {where}"
        return self._live[key]


def _is_same(before: Planned, after: Planned) -> bool:
    return (before.objects, before.problem, before.verdicts) == (
        after.objects,
        after.problem,
        after.verdicts,
    )


def _waits(switch: Switch | None) -> Iterator[str]:
    if switch is not None and switch.held:
        yield f"the change of mode will be held: {switch.waits_for}"
    elif switch is not None and switch.waits_for:
        yield f"the {switch.what} is being changed: {switch.waits_for}"


def _without_kept(before: Planned, switch: Switch) -> Planned:
    """A plan without what stays for a while though it is not wanted any longer."""
    going = (each for each in before.objects if ref_of_manifest(each) not in switch.kept)
    return replace(before, objects=tuple(going))


def _sets_of(scraper: Scraper) -> Iterator[str]:
    """The StatefulSets that an agent has or had, by number of the shard, without an end."""
    return map(partial(stateful_set_name, scraper), count())


def _secrets_of(scraper: Scraper) -> Iterator[str]:
    """The Secrets of a configuration, without an end."""
    files = map(file_name, count())
    further = map(partial(config_file_secret_name, scraper), files)
    return chain([config_secret_name(scraper)], further)


def _apart(scraper: Scraper, names: Iterable[str]) -> Iterator[str]:
    """The names of the same Secrets for pods that came after those of the other mode."""
    usual, own = config_secret_name(scraper), switch_secret_name(scraper)
    return (name.replace(usual, own, 1) for name in names)


def _beside(after: Planned, live: Mapping[Ref, Object]) -> Planned:
    """A plan whose objects leave others what is theirs."""
    objects = (
        beside_others(each, live[ref_of_manifest(each)]) if ref_of_manifest(each) in live else each
        for each in after.objects
    )
    return replace(after, objects=tuple(objects))


def _as_ours(live: Object) -> Object:
    """An object as it is once we own it, if we do.

    One that another operator wrote by updates has all defaults on record as that operator's:
    they seem to be wanted no longer, and are filled in again as soon as we take it over.
    """
    fields = live["metadata"].get("managedFields") or ()
    return as_claimed(live) if any(each["manager"] == FIELD_MANAGER for each in fields) else live


def _namespaces_of(manifests: Manifests) -> list[str]:
    several = (*manifests.workloads, *manifests.resources)
    return sorted({each.metadata.namespace or "" for each in several})
