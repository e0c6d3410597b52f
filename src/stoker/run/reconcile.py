"""One workload from what it is to what it should be: the loop that all workloads share.

    changes ──> held ──> contents ──> objects ──> written where they differ ──> surplus removed

Which event woke us is not an input. A workload that cannot be reconciled keeps what it has:
nothing is written before everything that is to be written is known.
"""

from collections.abc import Iterator, Mapping, Sequence
from datetime import datetime
from typing import Final

from msgspec import Struct
from msgspec.structs import replace

from stoker.api.core import Object, identity_of
from stoker.build.names import config_secret_name, prefix_of
from stoker.build.objects import Contents, objects_of
from stoker.build.secrets import further_files, secret
from stoker.build.site import Site
from stoker.decide import OWN, KeptScraper
from stoker.generate.rules import config_map_name
from stoker.generate.split import MAIN_FILE
from stoker.generate.stream import gzip_member
from stoker.kube.errors import NotFound
from stoker.kube.resources import CONFIG_MAP
from stoker.run.caches import WORKLOADS
from stoker.run.checks import check_cluster
from stoker.run.claims import grow_claims
from stoker.run.governing import with_shared_service
from stoker.run.held import Held
from stoker.run.surplus import Surplus
from stoker.run.switching import Found, Switch, switch_of, switched, usual_names
from stoker.run.tools import Tools
from stoker.run.triggers import Changes, Triggers
from stoker.select.choice import UNMANAGED, is_unmanaged
from stoker.select.members import WorkloadKey
from stoker.select.references import ObjectKey as Referenced
from stoker.select.workload import Scraper
from stoker.status.conditions import Because
from stoker.status.finalizers import removing
from stoker.status.workload import Reconciliation, Remark

PEER_FINALIZER: Final = "monitoring.coreos.com/status-cleanup"
_UNMANAGED: Final = Remark(Because.CONFIGURATION_UNMANAGED, UNMANAGED)
_NOTHING_SELECTED: Final = Remark(
    Because.NO_SELECTED_RESOURCES, "the selectors match no resource in the namespaces they look in"
)


class Done(Struct, frozen=True):
    """What came of reconciling a workload.

    `again` is when it must be looked at without a cause; `waits`, that it must be looked at when
    pods become ready.
    """

    outcome: Reconciliation
    again: datetime | None = None
    waits: bool = False


class Reconciler:
    """Reconciles workloads, and keeps what there is to keep of each."""

    def __init__(self, tools: Tools, triggers: Triggers) -> None:
        self.held: dict[WorkloadKey, Held] = {}
        self._tools = tools
        self._client = tools.client
        self._caches = tools.caches
        self._settings = tools.settings
        self._triggers = triggers
        self._surplus = Surplus(tools)

    async def reconcile(self, key: WorkloadKey, scraper: Scraper) -> Done:
        """Bring about what a workload asks for.

        WorkloadError where that is impossible until something changes, ApiError where it may go
        well the next time; either way nothing is forgotten.
        """
        if scraper.spec.paused:
            return Done(Reconciliation())
        await self.release(key, scraper)
        changes = self._triggers.take(key)
        try:
            return await self._reconcile(key, scraper, changes)
        except BaseException:
            self._triggers.give_back(key, changes)
            raise

    def forget(self, key: WorkloadKey) -> None:
        """A workload is gone, and with it what was kept of it."""
        if self.held.pop(key, None):
            self._tools.values.keep_only(self._is_read)
        self._triggers.take(key)

    async def _reconcile(self, key: WorkloadKey, scraper: Scraper, changes: Changes) -> Done:
        held = self.held.get(key)
        if held is None:
            held = Held(self._tools.values, self._caches.resource, self._tools.capabilities)
            self.held[key] = held
        members = self._triggers.members.members(key)
        kept = await held.refresh(scraper, changes, members)
        site = Site(scraper, kept.workload, self._settings.objects)
        contents = await self._contents(site, held, kept)
        wanted = with_shared_service(self._tools, site, objects_of(site, contents))
        if changes.own:
            await check_cluster(self._client, site)
        switch = self._switch(site, wanted)
        wanted = switched(site.workload, wanted, switch)
        await self._prepare(site, wanted)
        for each in wanted:
            await self._tools.writer.write(each)
        needed = {identity_of(each) for each in wanted} | switch.kept
        again = await self._surplus.remove(site, needed)
        if changes.own:
            self._tools.values.keep_only(self._is_read)
        remarks = (*self._remarks(site, kept), *_remarks_on(switch))
        return Done(Reconciliation(remarks=remarks), again, waits=bool(switch.waits_for))

    def _switch(self, site: Site, wanted: list[Object]) -> Switch:
        """Where a change of mode stands, by what exists."""
        uid = site.owner.metadata.uid or ""
        found = Found(
            self._caches.belonging("StatefulSet", uid),
            self._caches.belonging("DaemonSet", uid),
            self._names_of_secrets(uid),
        )
        return switch_of(site.workload, wanted, found)

    def _names_of_secrets(self, uid: str) -> list[str]:
        return [each.metadata.name or "" for each in self._caches.belonging("Secret", uid)]

    async def _contents(self, site: Site, held: Held, kept: KeptScraper) -> Contents:
        before: Sequence[Mapping[str, str]] = ()
        if not held.placed and not site.workload.agent:
            before = await self._rules_before(site)
        uid = site.owner.metadata.uid or ""
        names = usual_names(site.workload, self._names_of_secrets(uid))
        further = further_files(site.workload, names)
        contents = kept.contents(self._tools.values.view(), before, further)
        held.placed = True
        if not is_unmanaged(site.owner, self._settings):
            return contents
        await self._leave_room(site)
        return replace(contents, config_files={})

    async def _leave_room(self, site: Site) -> None:
        """Make an empty Secret, where there is none, for the configuration that is a user's own."""
        name = config_secret_name(site.workload)
        namespace = site.workload.namespace
        if self._caches.metadata(("Secret", namespace, name)) is None:
            data = {MAIN_FILE: gzip_member("")}
            made = secret(site.owner, site.settings, name, data)
            metadata = made["metadata"] | {"namespace": namespace}
            await self._tools.writer.create(made | {"metadata": metadata})

    async def _rules_before(self, site: Site) -> list[Mapping[str, str]]:
        """What the ConfigMaps with rules hold, so that nothing moves without need."""
        found: list[Mapping[str, str]] = []
        prefix, namespace = prefix_of(site.workload), site.workload.namespace
        while self._caches.metadata(("ConfigMap", namespace, config_map_name(prefix, len(found)))):
            name = config_map_name(prefix, len(found))
            try:
                held = await self._client.get(CONFIG_MAP, namespace, name)
            except NotFound:
                break
            found.append(held.get("data") or {})
        return found

    async def _prepare(self, site: Site, wanted: list[Object]) -> None:
        """See that what runs the pods can be written, before anything is written for it."""
        sets = [each for each in wanted if each["kind"] in ("StatefulSet", "DaemonSet")]
        for each in sets:
            await self._tools.writer.check(each)
        for each in sets:
            metadata = each["metadata"]
            store = self._caches.owned["StatefulSet"].store
            found = store.get(metadata["namespace"], metadata["name"])
            await grow_claims(self._client, site, each, found)

    def _is_read(self, key: Referenced) -> bool:
        """Whether a workload refers to a Secret or ConfigMap."""
        return any(held.kept and held.kept.refers_to(key) for held in self.held.values())

    async def release(self, key: WorkloadKey, scraper: Scraper) -> None:
        """Take off the peer's finalizer: without the peer, nobody would, and nothing needs it."""
        patch = removing(PEER_FINALIZER, scraper.metadata.finalizers)
        if patch:
            resource, _ = WORKLOADS[key.kind]
            await self._client.json_patch(resource, key.namespace, key.name, patch)

    def _remarks(self, site: Site, kept: KeptScraper) -> Iterator[Remark]:
        if is_unmanaged(site.owner, self._settings):
            yield _UNMANAGED
        elif kept.is_empty:
            yield _NOTHING_SELECTED
        ignored = kept.ignored.get(OWN)
        if ignored:
            text = "; ".join(f"{each.path} {each.reason}" for each in ignored)
            yield Remark(Because.IGNORED_FIELDS, f"fields left out: {text}")
        for note in kept.notes:
            yield Remark(note.reason, str(note))


def _remarks_on(switch: Switch) -> Iterator[Remark]:
    if switch.waits_for:
        yield Remark(Because.SWITCHING_MODE, f"the mode is being changed: {switch.waits_for}")
