"""A desk on which everything was decided just now: once for each workload, from what is seen."""

from collections import defaultdict
from collections.abc import Sequence

from msgspec.structs import replace

from stoker.explain.idle import idle_of
from stoker.explain.workload import selected
from stoker.page.desk import Desk
from stoker.page.index import IndexMaker
from stoker.page.workloads import ShownWorkload, held_by
from stoker.plan import OWN, Plan, in_sight
from stoker.ref import Ref, ref_of
from stoker.select.choice import Resource
from stoker.select.workload import Workload
from stoker.view.not_ours import not_managed
from stoker.view.reconciled import why_not_reconciled, why_unclear
from stoker.view.sorted import Sorted
from stoker.view.view import View


def decided(view: View, revision: int = 1) -> Desk:
    """Everything that a view shows."""
    seen = in_sight(view.resources, view.settings)
    brief = replace(view, surroundings=Sorted(view.surroundings), brief=True)
    shown: dict[str, ShownWorkload] = {}
    users: defaultdict[Ref, list[ShownWorkload]] = defaultdict(list)
    for workload in sorted(view.workloads, key=lambda each: str(ref_of(each))):
        mine = [] if not_managed(view, workload) else selected(view, workload, seen)
        found = shown[str(ref_of(workload))] = _shown(brief, workload, mine)
        for each in mine:
            users[ref_of(each)].append(found)
    known = {ref_of(each): each for each in view.resources}
    maker = IndexMaker(lambda resource: users.get(ref_of(resource), ()))
    for resource in view.resources:
        maker.add(resource)

    return Desk(
        revision=revision,
        view=view,
        workloads=shown,
        users=lambda resource: users.get(ref_of(resource), ()),
        index=maker.made({title: each.kinds for title, each in shown.items()}),
        find=known.get,
        stand_ins=view.stand_ins,
    )


def _shown(view: View, workload: Workload, mine: Sequence[Resource]) -> ShownWorkload:
    """What a workload makes of the resources that it selects."""
    title, version = str(ref_of(workload)), workload.spec.version or ""
    if not_managed(view, workload):
        return ShownWorkload(workload=workload, title=title, version=version)
    made, _ = view.tried(workload, mine)
    problem = why_not_reconciled(made)
    return ShownWorkload(
        workload=workload,
        title=title,
        version=made.version or version,
        verdicts={key: (each, made.ignored.get(key, ())) for key, each in made.verdicts.items()},
        problem=problem,
        unclear=why_unclear(made),
        held=held_by(workload, view.settings, problem, made.notes),
        ignored=made.ignored.get(OWN, ()),
        notes=made.notes,
        rule_files=_rule_files(made),
        idle=idle_of(view, made) if view.at_hand else {},
    )


def _rule_files(made: Plan) -> int:
    return max(1, len(getattr(made.contents, "rule_files", ())))
