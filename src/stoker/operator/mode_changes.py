"""The change of an agent's mode as the running operator sees it: what exists, and its pods.

Pods are looked at during a change only, when it waits for some of them: at first every few seconds,
then less often, as long as it lasts. What was seen counts until then, so that a configuration does
not wait for a look at each of its changes.
"""

from datetime import datetime, timedelta
from typing import Final

from msgspec import Struct
from msgspec.structs import replace

from stoker.api.core import Object
from stoker.api.prometheus import PrometheusAgent
from stoker.logs import logger
from stoker.operator.pods import pods_of, states_of
from stoker.operator.tools import Tools
from stoker.plan import Outline
from stoker.plan.switching import Found, Switch, switch_of, switched
from stoker.ref import Ref
from stoker.select.workload import Workload, scraper_of
from stoker.status.waiting import Waiting, doubtful_nodes, waiting_to_go, waiting_to_start

_SOONEST: Final = 5.0
# For how many seconds what was seen is news.
_FRESH: Final = 2.0
_LATEST: Final = 60.0
# Of the time that a change has taken: so much later it is looked at again.
_SHARE: Final = 0.25


class ModeChange(Struct, frozen=True):
    """Where a change of mode stands: the objects that are wanted meanwhile, and when to look again.

    `without`: the pods that it goes on without.
    """

    wanted: list[Object]
    switch: Switch = Switch()
    again: datetime | None = None
    without: str = ""


class _Look(Struct, frozen=True):
    """What was seen of the pods of these sets, and when."""

    uids: frozenset[str]
    at: datetime
    waiting: Waiting


class ModeChanges:
    """Looks at agents that change their mode."""

    def __init__(self, tools: Tools) -> None:
        self._tools = tools
        self._log = logger("mode")
        self._looks: dict[Ref, _Look] = {}

    def found(self, workload: Workload) -> Found:
        """What an agent has, in either mode."""
        uid, caches = workload.metadata.uid or "", self._tools.caches
        return Found(
            caches.belonging("StatefulSet", uid),
            caches.belonging("DaemonSet", uid),
            [each.metadata.name or "" for each in caches.belonging("Secret", uid)],
        )

    def forget(self, key: Ref) -> None:
        """A workload is gone."""
        self._looks.pop(key, None)

    async def change_of(
        self, key: Ref, workload: Workload, outline: Outline, wanted: list[Object]
    ) -> ModeChange:
        """Where a change stands, by what exists, and what is wanted meanwhile."""
        if not isinstance(workload, PrometheusAgent):
            return ModeChange(wanted)
        scraper, found = scraper_of(workload, self._tools.capabilities), self.found(workload)
        switch = switch_of(scraper, wanted, found)
        waiting = await self._waiting(key, outline, switch)
        if waiting.excused:
            found = replace(found, excused=waiting.excused)
            switch = switch_of(scraper, wanted, found)
        without = waiting.without if waiting.excused and not switch.starts else ""
        if without:
            self._log.warn("a change of mode goes on without some pods", pods=without)
        if waiting.words and not without:
            switch = replace(switch, waits_for=f"{switch.waits_for}; it waits for {waiting.words}")
        again = self._again(found, waiting) if switch.starts or switch.leaves else None
        return ModeChange(switched(scraper, wanted, switch), switch, again, without)

    async def _waiting(self, key: Ref, outline: Outline, switch: Switch) -> Waiting:
        uids, now, look = switch.starts or switch.leaves, self._tools.now(), self._looks.get(key)
        if not uids:
            self.forget(key)
            return Waiting()
        # A pod that was given up may have come since: look again.
        known = look is not None and look.uids == uids and not look.waiting.excused
        if look and known and (now - look.at).total_seconds() < _FRESH:
            return look.waiting
        waiting = await self._look(outline, switch, uids)
        self._looks[key] = _Look(uids, now, waiting)
        return waiting

    async def _look(self, outline: Outline, switch: Switch, uids: frozenset[str]) -> Waiting:
        client, patience = self._tools.client, self._tools.settings.mode_change_patience
        pods = await pods_of(client, outline)
        nodes = await states_of(client, doubtful_nodes(pods, uids))
        if switch.starts:
            return waiting_to_start(pods, uids, nodes, self._tools.now(), patience)
        return waiting_to_go(pods, uids, nodes)

    def _again(self, found: Found, waiting: Waiting) -> datetime:
        now = self._tools.now()
        made = (each.metadata.creation_timestamp for each in (*found.sets, *found.daemons))
        begun = max((datetime.fromisoformat(each) for each in made if each), default=now)
        seconds = (now - begun).total_seconds() * _SHARE
        later = now + timedelta(seconds=min(max(seconds, _SOONEST), _LATEST))
        return min(later, waiting.until) if waiting.until else later
