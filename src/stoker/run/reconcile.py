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
from typing import Any, Final

from msgspec import Struct
from msgspec.structs import replace

from stoker.api.core import Object, ObjectMeta, identity_of
from stoker.api.prometheus import PrometheusAgent
from stoker.build.secrets import secret
from stoker.decide import OWN, Existing, Kept, Outline, objects_for
from stoker.errors import StokerError, WorkloadError
from stoker.generate.rules import config_map_name
from stoker.generate.split import MAIN_FILE
from stoker.generate.stream import gzip_member
from stoker.kube.errors import NotFound
from stoker.kube.resources import CONFIG_MAP, Resource
from stoker.logs import logger
from stoker.run.checks import check_cluster
from stoker.run.finishing import Finishing
from stoker.run.governing import with_shared_service
from stoker.run.held import Held, held_with
from stoker.run.judging import aside
from stoker.run.kinds import WORKLOADS
from stoker.run.mode_changes import ModeChanges, Standing
from stoker.run.objects import RUNNING, Objects, Refused
from stoker.run.old_mode import NOTHING_OLD, OldConfiguration, OldModes, old_mode_of, together
from stoker.run.refusals import Refusals
from stoker.run.surplus import Surplus
from stoker.run.switching import Switch, usual_names
from stoker.run.tools import Tools
from stoker.run.triggers import Changes, Triggers
from stoker.select.choice import UNMANAGED, is_unmanaged
from stoker.select.members import ObjectKey, WorkloadKey
from stoker.select.references import ObjectKey as Referenced
from stoker.select.workload import Owner, workload_of
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
    pods become ready; `later`, after how many seconds there is more to do, None if there is not.
    `without`: the pods that a change of mode goes on without. `refused`: why an object was not
    taken, if one was not.
    """

    outcome: Reconciliation
    again: datetime | None = None
    waits: bool = False
    later: float | None = None
    without: str = ""
    refused: StokerError | None = None


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
        self._mode_changes = ModeChanges(tools)
        self._old_modes = OldModes(tools)
        self._objects = Objects(tools)
        self._finishing = Finishing(tools)
        self._refusals = Refusals(logger("reconcile"))

    def set_aside(self, key: WorkloadKey) -> float | None:
        """After how many seconds a workload has something to do, if it has nothing now."""
        held, changes = self.held.get(key), self._triggers.noted(key)
        if held is None or held.kept is None or changes is None:
            return None
        divided = held.shares.divide(changes)
        return divided.wait if divided.only_later else None

    async def reconcile(self, key: WorkloadKey, owner: Owner) -> Done:
        """Bring about what a workload asks for.

        WorkloadError where that is impossible until something changes, ApiError where it may go
        well the next time; either way nothing is forgotten.
        """
        if owner.spec.paused:
            await self._finishing.finish(key)
            return Done(Reconciliation())
        await self.release(key, owner)
        changes, later = self._divided(key)
        try:
            return replace(await self._reconcile(key, owner, changes), later=later)
        except BaseException:
            self._triggers.give_back(key, changes)
            raise

    def _divided(self, key: WorkloadKey) -> tuple[Changes, float | None]:
        """What a workload takes up now, and after how many seconds there is more."""
        changes, held = self._triggers.take(key), self.held.get(key)
        if held is None or held.kept is None:
            # At the start all of it counts: what is in use must not be left out for a while.
            return changes, None
        now, later, wait = held.shares.divide(changes)
        if not later:
            return now, None
        self._triggers.give_back(key, later)
        return now, wait

    async def interrupted(self) -> set[WorkloadKey]:
        """The workloads of which a StatefulSet is being replaced, perhaps by one before us."""
        return await self._finishing.interrupted()

    async def finish(self, key: WorkloadKey) -> None:
        """A workload is gone, or another's: what was begun for it must not stay so."""
        await self._finishing.finish(key)

    def forget(self, key: WorkloadKey) -> None:
        """A workload is gone, and with it what was kept of it."""
        self._old_modes.forget(key)
        self._mode_changes.forget(key)
        if self.held.pop(key, None):
            self._tools.values.keep_only(self._is_read)
        self._triggers.take(key)

    def readers(self, key: Referenced) -> set[WorkloadKey]:
        """The workloads that looked for a Secret or ConfigMap."""
        held = (workload for workload, held in self.held.items() if held.refers_to(key))
        return {*held, *self._old_modes.readers(key)}

    async def _reconcile(self, key: WorkloadKey, owner: Owner, changes: Changes) -> Done:
        held = self.held.get(key)
        if held is None:
            held = self.held[key] = held_with(self._tools)
        members, first = self._triggers.members.members(key), held.kept is None
        begun, held.judging = time.monotonic(), 0.0
        try:
            with self._tools.writer.reading_ahead(self._existing(owner) if first else ()):
                return await self._brought_about(key, owner, held, changes, members)
        finally:
            # A start takes all of it up, which is nobody's doing.
            if not first:
                held.shares.charge(changes, held.judging, time.monotonic() - begun)

    def _existing(self, owner: Owner) -> Iterator[tuple[Resource, ObjectMeta]]:
        """What belongs to a workload, those first that come first when it is written."""
        for kind in ("StatefulSet", "DaemonSet", "ConfigMap", "Secret"):
            for found in self._caches.belonging(kind, owner.metadata.uid or ""):
                yield self._caches.owned[kind].resource, found.metadata

    async def _old_configuration(
        self, key: WorkloadKey, owner: Owner, changes: Changes, members: frozenset[ObjectKey]
    ) -> OldConfiguration:
        """What pods of the mode that an agent is leaving should read; nothing, if there are none.

        It comes first: the new pods' part of the changes notes itself what it has to begin with.
        """
        old = None
        if isinstance(owner, PrometheusAgent):
            workload = workload_of(owner, self._tools.capabilities)
            old = old_mode_of(owner, workload, self._mode_changes.found(owner))
        if old is None:
            self._old_modes.forget(key)
            return NOTHING_OLD
        return await self._old_modes.configuration(key, old, changes, members)

    async def _brought_about(
        self,
        key: WorkloadKey,
        owner: Owner,
        held: Held,
        changes: Changes,
        members: frozenset[ObjectKey],
    ) -> Done:
        old = await self._old_configuration(key, owner, changes, members)
        kept = await held.refresh(owner, changes, members)
        outline = self._tools.outline(owner)
        contents = await self._contents(owner, outline, held, kept)
        if old.files:
            contents, old = together(contents, old)
        wanted = self._wanted(owner, contents)
        await self._finishing.finish(key, {identity_of(each) for each in wanted})
        problem = await self._checked(key, owner, outline) if changes.own else None
        standing = await self._mode_changes.standing(key, owner, outline, wanted)
        wanted, switch = _with_old(standing.wanted, old), standing.switch
        refused = await self._objects.write(wanted, problem)
        needed = {identity_of(each) for each in wanted} | switch.kept | refused.mounted
        again = await self._surplus.remove(owner, outline, needed)
        if changes.own:
            self._tools.values.keep_only(self._is_read)
        again = min((each for each in (again, standing.again) if each), default=None)
        remarks = (*self._remarks(owner, kept), *_remarks_on(standing, old))
        return Done(
            Reconciliation(_failure(standing, refused), remarks),
            again,
            waits=bool(switch.waits_for),
            without=standing.without,
            refused=refused.first,
        )

    async def _checked(
        self, key: WorkloadKey, owner: Owner, outline: Outline
    ) -> WorkloadError | None:
        """Why pods of this workload must not be made as they are wanted, if there is a reason."""
        try:
            await check_cluster(self._client, owner, outline, self._refusals)
        except WorkloadError as error:
            # The next attempt must ask again.
            self._triggers.give_back(key, Changes(own=True))
            return error
        return None

    def _wanted(self, owner: Owner, contents: Any) -> list[Object]:
        """All objects that a workload should have."""
        tools = self._tools
        made = objects_for(owner, tools.capabilities, self._settings.objects, contents)
        return with_shared_service(tools, owner, made)

    def _names_of_secrets(self, uid: str) -> list[str]:
        return [each.metadata.name or "" for each in self._caches.belonging("Secret", uid)]

    async def _contents(self, owner: Owner, outline: Outline, held: Held, kept: Kept) -> Any:
        rules: Sequence[Mapping[str, str]] = ()
        if not held.placed and outline.rules:
            rules = await self._rules_before(outline)
        secrets = self._names_of_secrets(owner.metadata.uid or "")
        if isinstance(owner, PrometheusAgent):
            secrets = usual_names(workload_of(owner, self._tools.capabilities), secrets)
        existing = Existing(rules=rules, secrets=secrets)
        contents = await aside(kept.contents, self._tools.values.view(), existing)
        held.placed = True
        if not is_unmanaged(owner, self._settings):
            return contents
        await self._leave_room(owner, outline)
        return replace(contents, config_files={})

    async def _leave_room(self, owner: Owner, outline: Outline) -> None:
        """Make an empty Secret, where there is none, for the configuration that is a user's own."""
        name, namespace = outline.configuration, outline.namespace
        if self._caches.metadata(("Secret", namespace, name)) is None:
            data = {MAIN_FILE: gzip_member("")}
            made = secret(owner, self._settings.objects, name, data)
            metadata = made["metadata"] | {"namespace": namespace}
            await self._tools.writer.create(made | {"metadata": metadata})

    async def _rules_before(self, outline: Outline) -> list[Mapping[str, str]]:
        """What the ConfigMaps with rules hold, as far as there are any without a gap.

        They may be of a leader before us, whose last writes the caches need not show yet.
        """
        found: list[Mapping[str, str]] = []
        for number in count():
            name = config_map_name(outline.rules, number)
            try:
                held = await self._tools.writer.look(CONFIG_MAP, outline.namespace, name)
            except NotFound:
                break
            found.append(held.get("data") or {})
        return found

    def _is_read(self, key: Referenced) -> bool:
        """Whether a workload refers to a Secret or ConfigMap."""
        return bool(self.readers(key))

    async def release(self, key: WorkloadKey, owner: Owner) -> None:
        """Take off the peer's finalizer: without the peer, nobody would, and nothing needs it."""
        patch = removing(PEER_FINALIZER, owner.metadata.finalizers)
        if patch:
            resource = WORKLOADS[key.kind].resource
            answer = await self._client.json_patch(resource, key.namespace, key.name, patch)
            self._caches.saw(key.kind, answer)

    def _remarks(self, owner: Owner, kept: Kept) -> Iterator[Remark]:
        if is_unmanaged(owner, self._settings):
            yield _UNMANAGED
        elif kept.is_empty:
            yield _NOTHING_SELECTED
        ignored = kept.ignored.get(OWN)
        if ignored:
            text = "; ".join(f"{each.path} {each.reason}" for each in ignored)
            yield Remark(Because.IGNORED_FIELDS, f"fields left out: {text}")
        for note in kept.notes:
            yield Remark(note.reason, str(note))
        for (kind, namespace, name), problem in sorted(self._tools.values.outdated()):
            own = namespace == owner.metadata.namespace
            if own and kept.refers_to((kind, namespace, name)):
                said = f"{kind} {name} cannot be read, what was read before is used: {problem}"
                yield Remark(Because.VALUES_OUTDATED, said)


def _failure(standing: Standing, refused: Refused) -> Remark | None:
    """What is not as it was asked for."""
    if refused.errors:
        reason = Because.RECONCILIATION_FAILED if refused.stopped else Because.OBJECT_REFUSED
        return Remark(reason, refused.message)
    switch = standing.switch
    return Remark(Because.MODE_CHANGE_HELD, switch.waits_for) if switch.held else None


def _with_old(wanted: Sequence[Object], old: OldConfiguration) -> list[Object]:
    """What old pods read as well: after the files that both modes read, before what runs pods."""
    sets = [each for each in wanted if each["kind"] in RUNNING]
    return [*(each for each in wanted if each["kind"] not in RUNNING), *old.secrets, *sets]


def _remarks_on(standing: Standing, old: OldConfiguration) -> Iterator[Remark]:
    switch: Switch = standing.switch
    if standing.without:
        text = f"the mode is being changed, and it goes on without {standing.without}"
        yield Remark(Because.SWITCHING_MODE, text)
    elif switch.waits_for and not switch.held:
        yield Remark(Because.SWITCHING_MODE, f"the mode is being changed: {switch.waits_for}")
    if old.problem:
        text = f"the configuration of pods of the old mode stays as it is: {old.problem}"
        yield Remark(Because.SWITCHING_MODE, text)
