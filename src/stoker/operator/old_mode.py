"""What is kept of agents for pods of the mode or discovery that they leave (`plan.old_mode`)."""

from collections.abc import Callable

from msgspec import Struct
from msgspec.structs import replace

from stoker.api.prometheus import PrometheusAgent
from stoker.build.objects import Contents
from stoker.errors import WorkloadError
from stoker.operator.changes import Changes
from stoker.operator.checks import check_authority
from stoker.operator.held import Held, held_with
from stoker.operator.judging import aside
from stoker.operator.register import Register
from stoker.operator.tools import Tools
from stoker.plan import Existing, Kept
from stoker.plan.existing import OldConfiguration
from stoker.plan.old_mode import OldMode, old_configuration
from stoker.plan.switching import usual_names
from stoker.ref import Ref
from stoker.select.workload import Workload, scraper_of


class _Kept(Struct):
    """What is kept of an agent in its old mode, and for which state of it."""

    held: Held
    agent: PrometheusAgent


class OldModes:
    """The configurations of agents in the modes that they are leaving.

    What they read is in the `register`. `planned` gets what was made of each.
    """

    def __init__(
        self, tools: Tools, register: Register, planned: Callable[[Workload, Kept], None]
    ) -> None:
        self._tools = tools
        self._planned = planned
        self._register = register
        self._kept: dict[Ref, _Kept] = {}

    def forget(self, key: Ref) -> None:
        """An agent is gone, or has left its old mode."""
        kept = self._kept.pop(key, None)
        if kept is not None:
            self._register.strike(key, kept.held)

    def start_again(self, key: Ref) -> None:
        """Take up all of it the next time: that may be to write it."""
        kept = self._kept.get(key)
        if kept is not None:
            kept.held.is_starting = True

    async def configuration(
        self, key: Ref, old: OldMode, changes: Changes, members: frozenset[Ref]
    ) -> OldConfiguration:
        """What the old pods should read now."""
        if old.problem:
            self.forget(key)
            return OldConfiguration(problem=old.problem)
        try:
            return await self._current(key, old, changes, members)
        except WorkloadError as error:
            # It may have taken up half of what changed, so it begins again.
            self.forget(key)
            return OldConfiguration(problem=str(error))
        except BaseException:
            self.forget(key)
            raise

    async def _current(
        self, key: Ref, old: OldMode, changes: Changes, members: frozenset[Ref]
    ) -> OldConfiguration:
        tools = self._tools
        kept = self._kept.get(key)
        if kept is None:
            kept = self._kept[key] = _Kept(held_with(tools), old.agent)
            self._register.enter(key, kept.held)
        own = changes.own or kept.agent != old.agent
        kept.agent = old.agent
        made = await kept.held.refresh(old.agent, replace(changes, own=own), members)
        scraper = scraper_of(old.agent, tools.capabilities)
        existing = Existing(secrets=usual_names(scraper, old.mounted))
        facts = tools.facts(old.agent)
        check_authority(old.agent, tools.capabilities, facts.settings.objects)
        contents: Contents = await aside(made.contents, facts.assets, existing)
        self._planned(old.agent, made)
        return old_configuration(old, scraper, facts.settings.objects, contents)
