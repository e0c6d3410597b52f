"""What a replica does while another leads: it judges what it will have to judge when it leads.

Nothing is written, and nothing is said. What was judged is what the first turn of a workload begins
with, should this replica lead: that turn is a start all the same, and looks at everything, but most
of it is found as it should be. A workload that was in hand when leadership came is begun again.
"""

import asyncio
from collections.abc import Iterator
from typing import Final

from stoker.logs import logger
from stoker.operator.agenda import Agenda
from stoker.operator.reconcile import Reconciler
from stoker.operator.tools import Tools
from stoker.operator.turns import Turns
from stoker.plan.custody import not_ours
from stoker.ref import Ref, ref_from
from stoker.select.workload import Workload

# Who gets the Lease without waiting for another has it by then.
_FIRST_SECONDS: Final = 2.0
_EVERY_SECONDS: Final = 1.0
# What cannot be judged is not tried all the time.
_FAILED_SECONDS: Final = 30.0


class Standby:
    """Keeps what is judged up to date for as long as it runs."""

    def __init__(self, tools: Tools, agenda: Agenda, reconciler: Reconciler, turns: Turns) -> None:
        self._tools = tools
        self._agenda = agenda
        self._reconciler = reconciler
        self._turns = turns
        self._ready: set[Ref] = set()
        # When what failed is tried again.
        self._later: dict[Ref, float] = {}
        self._log = logger("standby")

    async def run(self) -> None:
        """Judge all workloads, and then what changes, until cancelled."""
        for key in list(self._reconciler.held):
            # It may be of a time when this replica led, and that may have ended anywhere.
            self._turns.forget(key)
        self._ready.clear()
        await asyncio.sleep(_FIRST_SECONDS)
        while True:
            for key, workload in list(self._behind()):
                await self._judge(key, workload)
            await asyncio.sleep(_EVERY_SECONDS)

    def take(self) -> frozenset[Ref]:
        """The workloads that are judged, for whoever begins to lead: they are no longer ours."""
        ready, self._ready = frozenset(self._ready), set()
        return ready

    def _behind(self) -> Iterator[tuple[Ref, Workload]]:
        """The workloads of which something is not judged."""
        now = asyncio.get_running_loop().time()
        for kind, reflector in self._tools.caches.workloads.items():
            for each in list(reflector.store):
                key = ref_from(kind, each.metadata)
                done = key in self._ready and not self._agenda.noted(key)
                wanted = not each.spec.paused and not_ours(each, self._tools.settings) is None
                if wanted and not done and self._later.get(key, now) <= now:
                    yield key, each

    async def _judge(self, key: Ref, workload: Workload) -> None:
        self._ready.discard(key)
        self._later.pop(key, None)
        try:
            await self._reconciler.judge(key, workload)
        except Exception as error:
            self._later[key] = asyncio.get_running_loop().time() + _FAILED_SECONDS
            self._log.debug("cannot judge what another leads", kind=key.kind, err=error)
        else:
            self._ready.add(key)
