"""What a state of the world makes of a workload, as it is compared with another state."""

from collections.abc import Mapping

from msgspec import Struct
from msgspec.structs import replace

from stoker.api.core import Object
from stoker.api.scrapeconfig.v1alpha1 import ScrapeConfig
from stoker.compare.shown import shown_text
from stoker.errors import UnknownError
from stoker.plan import Existing, Plan, plan, stand_ins_of_plan
from stoker.plan.existing import NOTHING
from stoker.ref import Ref, ref_of
from stoker.select.assets import Assets
from stoker.select.workload import Workload
from stoker.validate.verdicts import Verdict
from stoker.view.not_ours import why_not_ours
from stoker.view.view import Noting, View


class Planned(Struct, frozen=True, kw_only=True):
    """What becomes of a workload; with a `problem` there are no objects.

    `text` is the configuration as people may see it. `unread` names values that could not be read.
    `stand_ins` are the ScrapeConfigs that are kept in place of its monitors.
    """

    plan: Plan
    objects: tuple[Object, ...] = ()
    text: str = ""
    problem: str = ""
    unread: str = ""
    stand_ins: tuple[ScrapeConfig, ...] = ()

    @property
    def workload(self) -> Workload:
        """The workload."""
        return self.plan.workload

    @property
    def verdicts(self) -> Mapping[Ref, Verdict]:
        """What became of the resources that it could judge."""
        return {} if self.plan.not_ours else self.plan.verdicts

    @property
    def blocked(self) -> str:
        """Why nothing is written, whatever would be right."""
        if self.is_unclear:
            return f"what is written is not known: {self.problem}"
        if self.problem:
            return f"nothing is written: {self.problem}"
        paused = self.workload.spec.paused
        return "paused: nothing is written until spec.paused is unset" if paused else ""

    @property
    def is_unclear(self) -> bool:
        """Whether what becomes of it hangs on something that is not there to be read."""
        return isinstance(self.plan.unmade, UnknownError)

    @property
    def members(self) -> frozenset[Ref]:
        """The resources that apply to it."""
        if self.plan.not_ours:
            return frozenset()
        return frozenset(self.plan.unjudged).union(self.verdicts)

    @property
    def title(self) -> str:
        """Kind, namespace and name of the workload."""
        return str(ref_of(self.workload))


def planned(
    view: View, workload: Workload, existing: Existing = NOTHING, before: Assets | None = None
) -> Planned:
    """What an operator makes of a workload, on top of what exists.

    Values that are not those of `before` are marked as other ones in the text.
    """
    assets = Noting(view.assets)
    facts = replace(view.facts, assets=assets)
    made = plan(facts, workload, existing)
    if made.not_ours:
        reason = why_not_ours(made.not_ours, workload, view.settings)
        return Planned(plan=made, problem=f"not looked after: {reason.text}")
    found = Planned(
        plan=made,
        objects=made.objects,
        problem=made.problem,
        unread=str(assets.unreadable[0]) if assets.unreadable else "",
        stand_ins=tuple(stand_ins_of_plan(facts, made)),
    )
    if made.error:
        return found
    text = shown_text(view, workload, found.verdicts, made.contents, before)
    return replace(found, text=text)
