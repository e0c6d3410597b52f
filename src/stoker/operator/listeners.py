"""Every change in the caches reaches those that it concerns.

workloads ───────────────> triggers
resources ───────────────> triggers, bindings; those in place of monitors: consolidation
namespaces ──────────────> triggers
Secrets, StatefulSets … ─> what is known of written objects and of values, then triggers
late reads of Secrets ───> triggers
permissions ─────────────> triggers
"""

from collections.abc import Iterator
from functools import partial
from typing import Any

from stoker.operator.agenda import Agenda
from stoker.operator.announcements import Outlets
from stoker.operator.caches import Caches
from stoker.operator.changes import Changes
from stoker.operator.register import Register
from stoker.operator.sight import Sight
from stoker.operator.standing_in import SCRAPE_CONFIG, monitor_key
from stoker.operator.tools import Tools
from stoker.operator.triggers import Triggers
from stoker.ref import Ref, ref_from

_VALUES = ("Secret", "ConfigMap")


class Listeners:
    """Listens to all caches, once `listen` was called."""

    def __init__(
        self,
        tools: Tools,
        agenda: Agenda,
        register: Register,
        triggers: Triggers,
        outlets: Outlets,
    ) -> None:
        self._caches = tools.caches
        self._writer = tools.writer
        self._values = tools.values
        self._agenda = agenda
        self._register = register
        self._triggers = triggers
        self._bindings = outlets.bindings
        self._consolidation = outlets.consolidation

    def listen(self, sight: Sight) -> None:
        """Listen from now on."""
        caches = self._caches
        for kind, reflector in caches.workloads.items():
            reflector.store.listen(partial(self._triggers.workload, kind))
        for kind, reflector in caches.resources.items():
            own = self._scrape_config_changed if kind == SCRAPE_CONFIG else self._resource_changed
            reflector.store.listen(partial(own, kind))
        caches.namespaces.store.listen(self._triggers.namespace)
        for kind, reflector in caches.owned.items():
            reflector.store.listen(partial(self._object_changed, kind))
        self._values.listen(self._register.is_read, self._triggers.arrived)
        sight.listen(self._triggers.sight)

    def _resource_changed(self, kind: str, old: Any, new: Any) -> None:
        self._triggers.resource(kind, old, new)
        self._bindings.changed(kind, old, new)

    def _scrape_config_changed(self, kind: str, old: Any, new: Any) -> None:
        """One that stands in for a monitor is nobody's choice; it may become or cease to be one."""
        before, after = (monitor_key(each.metadata) if each else None for each in (old, new))
        own = (old if before is None else None, new if after is None else None)
        if any(own):
            self._triggers.resource(kind, *own)
        if before and own[1]:
            # At once: its job must not be there twice, for itself and for the monitor.
            self._triggers.stand_in(before)
        self._bindings.changed(kind, old, new)
        if before or after:
            self._consolidation.changed(old, new)

    def _object_changed(self, kind: str, old: Any, new: Any) -> None:
        metadata = (new or old).metadata
        if new is None:
            self._writer.forget(kind, metadata)
        if kind in _VALUES:
            identity = ref_from(kind, metadata)
            version = metadata.resource_version if new is not None else ""
            self._values.changed(identity, version or "")
            self._triggers.value(kind, old, new)
        self._triggers.owned(kind, old, new)
        if kind == "Service":
            for key in _governed_by(self._caches, metadata.namespace or "", metadata.name or ""):
                self._agenda.note(key, Changes(own=True))


def _governed_by(caches: Caches, namespace: str, service: str) -> Iterator[Ref]:
    """The workloads whose users chose this Service to name their pods."""
    for kind, reflector in caches.workloads.items():
        for found in reflector.store.in_namespace(namespace):
            if found.spec.service_name == service:
                yield Ref(kind, namespace, found.metadata.name or "")
