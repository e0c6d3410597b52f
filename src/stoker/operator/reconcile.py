"""One workload from what it is to what it should be: the loop that all workloads share.

    changes ──> held ──> contents ──> objects ──> written where they differ ──> surplus removed

Which event woke us is not an input. A workload that cannot be reconciled keeps what it has:
nothing is written before everything that is to be written is known. Of one object that the server
refuses the others know nothing (`objects`).
"""

import time
from collections.abc import Iterator, Mapping, Sequence
from datetime import datetime
from itertools import count
from typing import Any, Final, TypeAlias

from msgspec import Struct
from msgspec.structs import replace

from stoker.api.core import Object, ObjectMeta
from stoker.api.prometheus import PrometheusAgent
from stoker.cluster.kinds import WORKLOADS
from stoker.errors import StokerError, WorkloadError
from stoker.generate.rules import config_map_name
from stoker.kube.errors import NotFound
from stoker.kube.resources import CONFIG_MAP, ApiResource
from stoker.kube.takeover import PEER_FINALIZER
from stoker.logs import logger
from stoker.operator.agenda import Agenda
from stoker.operator.changes import Changes
from stoker.operator.checks import check_authority, check_cluster
from stoker.operator.finishing import Finishing
from stoker.operator.held import Held, held_with
from stoker.operator.judging import aside
from stoker.operator.mode_changes import ModeChange, ModeChanges
from stoker.operator.node_discovery import NodeDiscovery
from stoker.operator.objects import RUNNING, ObjectWriter, RefusedObjects
from stoker.operator.old_mode import OldModes
from stoker.operator.refusals import Refusals
from stoker.operator.register import Register
from stoker.operator.surplus import Surplus
from stoker.operator.tools import Tools
from stoker.plan import OWN, Existing, Kept, Outline, Plan, plan
from stoker.plan.existing import NOTHING_OLD, OldConfiguration
from stoker.plan.old_mode import old_mode_of
from stoker.plan.switching import Switch, usual_names
from stoker.ref import Ref, ref_of_manifest
from stoker.select.choice import RULE_KIND, UNMANAGED, is_unmanaged
from stoker.select.workload import Workload, scraper_of
from stoker.status.conditions import Because
from stoker.status.workload import Reconciliation, Remark

_UNMANAGED: Final = Remark(Because.CONFIGURATION_UNMANAGED, UNMANAGED)
_NOTHING_SELECTED: Final = Remark(
    Because.NO_SELECTED_RESOURCES, "the selectors match no resource in the namespaces they look in"
)
_FINALIZERS: Final = "/metadata/finalizers"

Operation: TypeAlias = dict[str, Any]
"""A step of a JSON patch."""


class Done(Struct, frozen=True):
    """What came of reconciling a workload.

    `again` is when it must be looked at without a cause; `waits`, that it must be looked at when
    pods become ready; `later`, after how many seconds there is more to do, None if there is not.
    `without`: the pods that a change of mode goes on without. `refused`: why an object was not
    taken, if one was not; of several, one that may be taken the next time.
    """

    outcome: Reconciliation
    again: datetime | None = None
    waits: bool = False
    later: float | None = None
    without: str = ""
    refused: StokerError | None = None


class Reconciler:
    """Reconciles workloads, and keeps what there is to keep of each."""

    def __init__(
        self, tools: Tools, agenda: Agenda, register: Register, discovery: NodeDiscovery
    ) -> None:
        self.held: dict[Ref, Held] = {}
        self._tools = tools
        self._client = tools.client
        self._caches = tools.caches
        self._settings = tools.settings
        self._agenda = agenda
        self._register = register
        self._discovery = discovery
        self._surplus = Surplus(tools)
        self._mode_changes = ModeChanges(tools)
        self._old_modes = OldModes(tools, register, discovery.planned)
        self._objects = ObjectWriter(tools)
        self._finishing = Finishing(tools)
        self._refusals = Refusals(logger("reconcile"))

    def set_aside(self, key: Ref) -> float | None:
        """After how many seconds a workload has something to do, if it has nothing now."""
        held, changes = self.held.get(key), self._agenda.noted(key)
        if held is None or held.is_starting or changes is None:
            return None
        divided = held.shares.divide(changes)
        return divided.wait if divided.only_later else None

    async def reconcile(self, key: Ref, workload: Workload) -> Done:
        """Bring about what a workload asks for.

        WorkloadError where that is impossible until something changes, ApiError where it may go
        well the next time; either way nothing is forgotten.
        """
        if workload.spec.paused:
            await self._finishing.finish(key)
            return Done(Reconciliation())
        await self.release(key, workload)
        changes, later = self._divided(key)
        try:
            return replace(await self._reconcile(key, workload, changes), later=later)
        except BaseException:
            self._agenda.give_back(key, changes)
            raise

    async def judge(self, key: Ref, workload: Workload) -> None:
        """Take up what there is of a workload that another replica looks after; write nothing.

        Its first turn here is a start all the same, of which most is done then.
        """
        held, changes = self._held(key), self._agenda.take(key)
        members, old = self._register.members.members(key), NOTHING_OLD
        try:
            if self._discovery.is_on:
                # Pods of the mode or discovery that an agent is leaving ask any replica, too.
                old = await self._old_configuration(key, workload, changes, members)
            kept = await held.refresh(workload, changes, members)
            if self._discovery.gets_portions(workload):
                # Also from here: but nothing of what could not be brought about.
                await self._plan(workload, self._tools.outline(workload), held, old)
                self._discovery.planned(workload, kept)
        except BaseException:
            self._agenda.give_back(key, changes)
            raise
        finally:
            held.is_starting = True
            self._old_modes.start_again(key)

    def _held(self, key: Ref) -> Held:
        """What is kept of a workload, be it nothing yet."""
        held = self.held.get(key)
        if held is None:
            held = self.held[key] = held_with(self._tools)
            self._register.enter(key, held)
        return held

    def _divided(self, key: Ref) -> tuple[Changes, float | None]:
        """What a workload takes up now, and after how many seconds there is more."""
        changes, held = self._agenda.take(key), self.held.get(key)
        if held is None or held.is_starting:
            # At the start all of it counts: what is in use must not be left out for a while.
            return changes, None
        now, later, wait = held.shares.divide(changes)
        if not later:
            return now, None
        self._agenda.give_back(key, later)
        return now, wait

    def awaits_permission(self, key: Ref) -> bool:
        """Whether something was looked for that we are not allowed to read."""
        held = self.held.get(key)
        return held is not None and held.awaits_permission

    def kept(self, key: Ref) -> Kept | None:
        """What is kept of a workload; None as long as nothing was looked at."""
        held = self.held.get(key)
        return held.kept if held else None

    async def interrupted(self) -> set[Ref]:
        """The workloads of which a StatefulSet is being replaced, perhaps by one before us."""
        return await self._finishing.interrupted()

    async def finish(self, key: Ref) -> None:
        """A workload is gone, or another's: what was begun for it must not stay so."""
        await self._finishing.finish(key)

    def forget(self, key: Ref) -> None:
        """A workload is gone, and with it what was kept of it."""
        self._old_modes.forget(key)
        self._mode_changes.forget(key)
        held = self.held.pop(key, None)
        if held is not None:
            self._register.strike(key, held)
            self._tools.values.keep_only(self._register.is_read)
        self._agenda.forget(key)

    async def _reconcile(self, key: Ref, workload: Workload, changes: Changes) -> Done:
        held = self._held(key)
        members, first = self._register.members.members(key), held.is_starting
        begun, held.judging = time.monotonic(), 0.0
        try:
            with self._tools.writer.reading_ahead(self._existing(workload) if first else ()):
                return await self._brought_about(key, workload, held, changes, members)
        finally:
            # A start takes all of it up, which is nobody's doing.
            if not first:
                held.shares.charge(changes, held.judging, time.monotonic() - begun)

    def _existing(self, workload: Workload) -> Iterator[tuple[ApiResource, ObjectMeta]]:
        """What belongs to a workload, those first that come first when it is written."""
        for kind in ("StatefulSet", "DaemonSet", "ConfigMap", "Secret"):
            for found in self._caches.belonging(kind, workload.metadata.uid or ""):
                yield self._caches.owned[kind].resource, found.metadata

    async def _old_configuration(
        self, key: Ref, workload: Workload, changes: Changes, members: frozenset[Ref]
    ) -> OldConfiguration:
        """What pods of the mode that an agent is leaving should read; nothing, if there are none.

        It comes first: the new pods' part of the changes notes itself what it has to begin with.
        """
        old = None
        if isinstance(workload, PrometheusAgent):
            scraper = scraper_of(workload, self._tools.capabilities)
            old = old_mode_of(workload, scraper, self._mode_changes.found(workload))
            self._discovery.serve(key, workload, *((old.agent,) if old else ()))
        if old is None:
            self._old_modes.forget(key)
            return NOTHING_OLD
        return await self._old_modes.configuration(key, old, changes, members)

    async def _brought_about(
        self,
        key: Ref,
        workload: Workload,
        held: Held,
        changes: Changes,
        members: frozenset[Ref],
    ) -> Done:
        old = await self._old_configuration(key, workload, changes, members)
        kept = await held.refresh(workload, changes, members)
        outline = self._tools.outline(workload)
        made = await self._plan(workload, outline, held, old)
        self._discovery.planned(workload, kept)
        await self._finishing.finish(key, {ref_of_manifest(each) for each in made.objects})
        problem = await self._checked(key, workload, outline) if changes.own else None
        change = await self._mode_changes.change_of(key, workload, outline, list(made.objects))
        wanted, switch = _with_old(change.wanted, made.old), change.switch
        refused = await self._objects.write(wanted, problem, made.only_made)
        needed = {ref_of_manifest(each) for each in wanted} | switch.kept | refused.mounted
        again = await self._surplus.remove(workload, outline, needed)
        if changes.own:
            self._tools.values.keep_only(self._register.is_read)
        again = min((each for each in (again, change.again) if each), default=None)
        remarks = (*self._remarks(made, kept), *_remarks_on(change, made.old))
        return Done(
            Reconciliation(_failure(change, refused), remarks),
            again,
            waits=bool(switch.waits_for),
            without=change.without,
            refused=refused.foremost,
        )

    async def _checked(
        self, key: Ref, workload: Workload, outline: Outline
    ) -> WorkloadError | None:
        """Why pods of this workload must not be made as they are wanted, if there is a reason."""
        try:
            await check_cluster(self._client, workload, outline, self._refusals)
        except WorkloadError as error:
            # The next attempt must ask again.
            self._agenda.give_back(key, Changes(own=True))
            return error
        return None

    def _names_of_secrets(self, uid: str) -> list[str]:
        return [each.metadata.name or "" for each in self._caches.belonging("Secret", uid)]

    async def _plan(
        self, workload: Workload, outline: Outline, held: Held, old: OldConfiguration
    ) -> Plan:
        """What becomes of a workload; WorkloadError where it cannot be reconciled as it is."""
        existing = await self._existing_of(workload, outline, held, old)
        facts = self._tools.facts(workload)
        check_authority(workload, facts.capabilities, facts.settings.objects)
        made = await aside(plan, facts, workload, existing, held.memory)
        held.placed = held.placed or made.unmade is None
        if made.error is not None:
            raise made.error
        return made

    async def _existing_of(
        self, workload: Workload, outline: Outline, held: Held, old: OldConfiguration
    ) -> Existing:
        rules: Sequence[Mapping[str, str]] = ()
        if not held.placed and outline.rules:
            rules = await self._rules_before(outline, has_files=_has_rules(held))
        secrets = self._names_of_secrets(workload.metadata.uid or "")
        if isinstance(workload, PrometheusAgent):
            secrets = usual_names(scraper_of(workload, self._tools.capabilities), secrets)
        configuration = Ref("Secret", outline.namespace, outline.configuration)
        there = self._caches.metadata(configuration) is not None
        return Existing(rules=rules, secrets=secrets, configuration=there, old=old)

    async def _rules_before(self, outline: Outline, *, has_files: bool) -> list[Mapping[str, str]]:
        """What the ConfigMaps with rules hold, as far as there are any without a gap.

        They may be of a leader before us, whose last writes the caches need not show yet; that
        matters only where there are files to be placed.
        """
        found: list[Mapping[str, str]] = []
        for number in count():
            name = config_map_name(outline.rules, number)
            is_absent = self._caches.is_absent(Ref("ConfigMap", outline.namespace, name))
            if is_absent and not has_files:
                break
            try:
                held = await self._tools.writer.look(CONFIG_MAP, outline.namespace, name)
            except NotFound:
                break
            found.append(held.get("data") or {})
        return found

    async def release(self, key: Ref, workload: Workload) -> None:
        """Take off the peer's finalizer: without the peer, nobody would, and nothing needs it."""
        patch = removing(PEER_FINALIZER, workload.metadata.finalizers)
        if patch:
            resource = WORKLOADS[key.kind].resource
            answer = await self._client.json_patch(resource, key.namespace, key.name, patch)
            self._caches.saw(key.kind, answer)

    def _remarks(self, made: Plan, kept: Kept) -> Iterator[Remark]:
        workload = made.workload
        if is_unmanaged(workload, self._settings):
            yield _UNMANAGED
        elif kept.is_empty:
            yield _NOTHING_SELECTED
        ignored = made.ignored.get(OWN)
        if ignored:
            text = "; ".join(f"{each.path} {each.reason}" for each in ignored)
            yield Remark(Because.IGNORED_FIELDS, f"fields left out: {text}")
        for note in made.notes:
            yield Remark(note.reason, str(note))
        for value, problem in sorted(self._tools.values.outdated()):
            if value.namespace == workload.metadata.namespace and kept.refers_to(value):
                said = f"{value.kind} {value.name} cannot be read, what was read before is used"
                yield Remark(Because.VALUES_OUTDATED, f"{said}: {problem}")


def _failure(change: ModeChange, refused: RefusedObjects) -> Remark | None:
    """What is not as it was asked for."""
    if refused.errors:
        reason = Because.RECONCILIATION_FAILED if refused.stopped else Because.OBJECT_REFUSED
        return Remark(reason, refused.message)
    switch = change.switch
    return Remark(Because.MODE_CHANGE_HELD, switch.waits_for) if switch.held else None


def _has_rules(held: Held) -> bool:
    """Whether a workload selects PrometheusRules."""
    verdicts = held.kept.verdicts if held.kept else ()
    return any(key.kind == RULE_KIND.name for key in verdicts)


def _with_old(wanted: Sequence[Object], old: OldConfiguration) -> list[Object]:
    """What old pods read as well: after the files that both modes read, before what runs pods."""
    sets = [each for each in wanted if each["kind"] in RUNNING]
    return [*(each for each in wanted if each["kind"] not in RUNNING), *old.secrets, *sets]


def _remarks_on(change: ModeChange, old: OldConfiguration) -> Iterator[Remark]:
    switch: Switch = change.switch
    if change.without:
        text = f"the {switch.what} is being changed, and it goes on without {change.without}"
        yield Remark(Because.SWITCHING_MODE, text)
    elif switch.waits_for and not switch.held:
        yield Remark(
            Because.SWITCHING_MODE, f"the {switch.what} is being changed: {switch.waits_for}"
        )
    if old.problem:
        text = f"the configuration of pods of the old {switch.what} stays as it is: {old.problem}"
        yield Remark(Because.SWITCHING_MODE, text)


def removing(finalizer: str, finalizers: Sequence[str] | None) -> list[Operation]:
    """The JSON patch that takes a finalizer off; empty where there is none of that name.

    What we know of an object comes from a cache and may be old. So the patch first tests what it
    builds on: the API server refuses it as a whole where that is no longer so.
    """
    present = list(finalizers or ())
    if finalizer not in present:
        return []
    path = f"{_FINALIZERS}/{present.index(finalizer)}"
    return [{"op": "test", "path": path, "value": finalizer}, {"op": "remove", "path": path}]
