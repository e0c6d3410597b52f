"""The ScrapeConfigs of monitors, kept in step with them (`--consolidate-monitors`).

    monitor judged ─────────┐
    its ScrapeConfig changed ┴─> queue ──> what all workloads want of it ──> written, or deleted
                                                     │
    its ScrapeConfig is there ──> a moment later ──> the workloads look at the monitor again

The unit is the monitor: the ScrapeConfigs that the workloads which accepted it want are compared
with those that belong to it. Without the flag none are wanted, and those that are left from before
go, each when the workloads of its monitor have a configuration that does without it. Several
operators may see the same monitors: whoever wants a ScrapeConfig writes it, and only who wrote it
deletes it, or they would do so for ever.

Who looks again waits until the queue is empty, for a while: when the flag comes, thousands of
monitors must not mean thousands of configurations.
"""

import asyncio
from collections import defaultdict
from collections.abc import Iterable
from typing import Any, Final

from msgspec.structs import replace

from stoker.api.convert import converted
from stoker.api.core import Object, ObjectMeta
from stoker.api.scrapeconfig.v1alpha1 import ScrapeConfig
from stoker.build.names import FIELD_MANAGER
from stoker.consolidate import manifest_of, stand_ins_of
from stoker.consolidate.configs import Consolidable
from stoker.kube.backoff import GRANT_SECONDS
from stoker.kube.errors import Forbidden, Invalid, NotFound
from stoker.kube.queue import KeyedQueue
from stoker.logs import logger
from stoker.operator.agenda import STAND_INS, Agenda
from stoker.operator.changes import Changes
from stoker.operator.published import PublishedVerdicts
from stoker.operator.standing_in import SCRAPE_CONFIG, belongs, found_for, monitor_key
from stoker.operator.tools import Tools
from stoker.operator.writer import Writer
from stoker.ref import Ref, ref_from
from stoker.roles import kinds_that
from stoker.select.consolidated import CONSOLIDATED_BY
from stoker.select.members import Members
from stoker.select.workload import AnyPrometheus, scraper_of
from stoker.settings import lease_name

KINDS: Final = frozenset(kinds_that(consolidated=True))
_GATHER_SECONDS: Final = 0.3
_LONGEST_WAIT: Final = 10.0


class Consolidation:
    """Brings the ScrapeConfigs of each monitor in `queue` up to date.

    Into the `agenda` go the workloads whose monitors have others. Not `enabled`, there should be
    none.
    """

    def __init__(
        self, tools: Tools, published: PublishedVerdicts, members: Members, agenda: Agenda
    ) -> None:
        self.queue: KeyedQueue[Ref] = KeyedQueue()
        self._enabled = tools.settings.consolidate_monitors
        self._client = tools.status_client
        self._caches = tools.caches
        self._capabilities = tools.capabilities
        self._identity = lease_name(tools.settings)
        self._published = published
        self._members = members
        self._agenda = agenda
        self._writer = Writer(tools.status_client, self._metadata, tools.caches)
        self._kept: defaultdict[Ref, set[str]] = defaultdict(set)
        self._refused: dict[Ref, ScrapeConfig] = {}
        self._changed: set[Ref] = set()
        self._timer: asyncio.TimerHandle | None = None
        self._since = 0.0
        self._forbidden_until: dict[str, float] = {}
        self._log = logger("consolidation")

    # --- When -------------------------------------------------------------------------------------

    def look(self, keys: Iterable[Ref]) -> None:
        """These were judged again, or dropped."""
        for key in keys:
            if key.kind in KINDS and (self._enabled or key in self._kept):
                self.queue.add(key)

    def look_at_all(self) -> None:
        """Find what was left behind; whatever is kept now may have been written by another."""
        self._writer.forget_all()
        self._refused.clear()
        for key in self._kept:
            self.queue.add(key)

    def changed(self, old: ScrapeConfig | None, new: ScrapeConfig | None) -> None:
        """A ScrapeConfig is another: its monitor, now or before, is looked at."""
        if old is not None and new is not None and _essence(old) == _essence(new):
            return
        before, after = (monitor_key(each.metadata) if each else None for each in (old, new))
        name = _name(old, new)
        if before is not None and before != after:
            self._kept[before].discard(name)
            if not self._kept[before]:
                del self._kept[before]
        if after is not None:
            self._kept[after].add(name)
        if new is None and old is not None:
            self._writer.forget(SCRAPE_CONFIG, old.metadata)
        for key in {each for each in (before, after) if each is not None}:
            self.queue.add(key)
            self._note(key)

    def _note(self, key: Ref) -> None:
        if not self._enabled or not self._caches.resources[SCRAPE_CONFIG].store.ready.is_set():
            # Nobody has looked yet.
            return
        loop = asyncio.get_running_loop()
        self._changed.add(key)
        if self._timer is None:
            self._since = loop.time()
            self._timer = loop.call_later(_GATHER_SECONDS, self._tell)

    def _tell(self) -> None:
        """Have the workloads look, unless more is about to come."""
        loop = asyncio.get_running_loop()
        if (self.queue or self.queue.in_hand) and loop.time() - self._since < _LONGEST_WAIT:
            self._timer = loop.call_later(_GATHER_SECONDS, self._tell)
            return
        self._timer = None
        changed, self._changed = self._changed, set()
        for key in changed:
            for workload in self._members.users(key):
                self._agenda.note(workload, Changes(resources={key}), STAND_INS)

    # --- What -------------------------------------------------------------------------------------

    async def keep(self, key: Ref) -> None:
        """Bring the ScrapeConfigs of a monitor up to date."""
        wait = self._forbidden_until.get(key.namespace, 0.0) - asyncio.get_running_loop().time()
        if wait > 0:
            self.queue.add_after(key, wait)
            return
        try:
            await self._keep(key)
        except Forbidden:
            # A role that forbids one write forbids all in its namespace: asking for each would be a
            # storm.
            until = asyncio.get_running_loop().time() + GRANT_SECONDS
            self._forbidden_until[key.namespace] = until
            raise

    async def _keep(self, key: Ref) -> None:
        wanted, complete = self._wanted(key)
        for each in wanted.values():
            if self._differs(each):
                await self._write(each)
        if complete:
            for name in self._kept.get(key, set()) - wanted.keys():
                await self._delete(key.namespace, name)

    def _wanted(self, key: Ref) -> tuple[dict[str, ScrapeConfig], bool]:
        """The ScrapeConfigs that a monitor should have by name, and whether these are all.

        They are not as long as a workload has not said what it makes of the monitor as it is now.
        """
        monitor = self._caches.resource(key)
        if not isinstance(monitor, Consolidable) or monitor.metadata.deletion_timestamp:
            return {}, self._caches.resources[key.kind].store.ready.is_set()
        verdicts = dict(self._published.of(key))
        found: dict[str, ScrapeConfig] = {}
        complete = True
        for user in self._members.users(key):
            made = verdicts.get(user)
            if made is None or not _is_of(made[0].resource.metadata, monitor.metadata):
                complete = complete and self._is_paused(user) and not self._enabled
            elif made[0].accepted and self._enabled:
                found |= {each.metadata.name or "": each for each in self._for(user, monitor)}
        return found, complete

    def _for(self, user: Ref, monitor: Consolidable) -> Iterable[ScrapeConfig]:
        workload = self._caches.workload(user)
        if not isinstance(workload, AnyPrometheus):
            return ()
        try:
            return stand_ins_of(monitor, scraper_of(workload, self._capabilities))
        except ValueError:
            # A version that cannot be read; the workload says so.
            return ()

    def _is_paused(self, user: Ref) -> bool:
        """Whether a workload says nothing, since its configuration stays as it is anyway."""
        workload = self._caches.workload(user)
        return workload is None or bool(workload.spec.paused)

    # --- One ScrapeConfig -------------------------------------------------------------------------

    def _differs(self, wanted: ScrapeConfig) -> bool:
        found = found_for(self._caches, wanted)
        if found is None:
            return True
        one, other = found.metadata, wanted.metadata
        same = found.spec == wanted.spec and one.labels == other.labels and belongs(one, other)
        return not (same and _writer_of(one)) and not one.deletion_timestamp

    async def _write(self, wanted: ScrapeConfig) -> None:
        identity = ref_from(SCRAPE_CONFIG, wanted.metadata)
        if self._refused.get(identity) == wanted or await self._is_foreign(wanted):
            return
        api_version = self._caches.place(SCRAPE_CONFIG).api_version
        made = converted(manifest_of(self._signed(wanted)), api_version).object
        try:
            if await self._writer.write(made):
                self._log.info("written", namespace=identity.namespace, name=identity.name)
        except Invalid as error:
            # Until the monitor changes, it would be again. Its own job is used meanwhile.
            self._refused[identity] = wanted
            self._log.warn("refused", namespace=identity.namespace, name=identity.name, err=error)

    def _signed(self, wanted: ScrapeConfig) -> ScrapeConfig:
        signed = replace(wanted.metadata, annotations={CONSOLIDATED_BY: self._identity})
        return replace(wanted, metadata=signed)

    async def _is_foreign(self, wanted: ScrapeConfig) -> bool:
        """Whether somebody else has a ScrapeConfig of that name; it is left alone."""
        found = found_for(self._caches, wanted)
        if found is None or belongs(found.metadata, wanted.metadata):
            return False
        metadata = found.metadata
        place = self._caches.place(SCRAPE_CONFIG)
        try:
            live = await self._client.get(place, metadata.namespace, metadata.name or "")
        except NotFound:
            return False
        if _is_written_by_us(live):
            return False
        reason = "there is another ScrapeConfig of that name"
        self._log.warn(reason, namespace=metadata.namespace or "", name=metadata.name or "")
        return True

    async def _delete(self, namespace: str, name: str) -> None:
        found = self._caches.resource(Ref(SCRAPE_CONFIG, namespace, name))
        if found is None or found.metadata.deletion_timestamp:
            return
        if _writer_of(found.metadata) != self._identity:
            return
        await self._writer.delete(self._caches.place(SCRAPE_CONFIG), found.metadata)
        self._log.info("deleted", namespace=namespace, name=name)

    def _metadata(self, identity: Ref) -> ObjectMeta | None:
        found = self._caches.resource(identity)
        return found.metadata if found is not None else None


def _name(old: Any, new: Any) -> str:
    return (new or old).metadata.name or ""


def _writer_of(metadata: ObjectMeta) -> str:
    """Which operator wrote a ScrapeConfig."""
    return (metadata.annotations or {}).get(CONSOLIDATED_BY) or ""


def _essence(found: ScrapeConfig) -> tuple[object, ...]:
    """What of a ScrapeConfig matters here."""
    of = found.metadata
    ours = (of.uid, of.labels, of.owner_references, of.deletion_timestamp)
    return *ours, _writer_of(of), found.spec


def _is_of(then: ObjectMeta, now: ObjectMeta) -> bool:
    """Whether a verdict is about a monitor as it is now."""
    return (then.uid, then.generation) == (now.uid, now.generation)


def _is_written_by_us(live: Object) -> bool:
    fields = live["metadata"].get("managedFields") or ()
    return any((each["manager"], each["operation"]) == (FIELD_MANAGER, "Apply") for each in fields)
