"""The objects that the operator would create for the workloads of a directory.

    World ──plan──> Plan ──> Rendered, each object only once

They are complete manifests. What only a cluster knows is absent: the UIDs of owners (an object of
an owner without one would be deleted at once), which StorageClasses there are, and what the
objects held before.
"""

from collections.abc import Iterable, Iterator
from typing import Final, TypeAlias

from msgspec import Struct
from msgspec.structs import replace

from stoker.api.core import Object
from stoker.consolidate import manifest_of
from stoker.errors import UnknownError
from stoker.offline.portions import NOTHING_GIVEN, GivenOut, given_out
from stoker.offline.surroundings import view_of
from stoker.offline.world import World
from stoker.plan import Existing, Facts, Plan, outline_of, plan, stand_ins_of_plan
from stoker.ref import Ref, ref_of, ref_of_manifest
from stoker.select.assets import SECRET
from stoker.select.choice import UNMANAGED, is_unmanaged
from stoker.select.workload import Workload
from stoker.settings import OperatorSettings
from stoker.validate.verdicts import Outcome
from stoker.view.not_ours import why_not_ours

_SHARED: Final = ("Service", "ScrapeConfig")
_PAUSED: Final = "spec.paused: the operator leaves its objects as they are until this is unset"


class Rendered(Struct, frozen=True):
    """What becomes of a workload; with a `problem`, or one of the plan's, no objects.

    `shares` are the jobs of an agent whose targets the operator finds, and what each node gets.
    """

    plan: Plan
    objects: tuple[Object, ...] = ()
    problem: str = ""
    notes: tuple[str, ...] = ()
    shares: GivenOut = NOTHING_GIVEN

    @property
    def title(self) -> str:
        """Kind, namespace and name of the workload."""
        return str(ref_of(self.plan.workload))

    @property
    def is_faulty(self) -> bool:
        """Whether something of it, or of what it selects, is surely not used as it is written."""
        if self.plan.not_ours:
            return False
        outcomes = {verdict.outcome for verdict in self.plan.verdicts.values()}
        unmade = self.plan.unmade if not isinstance(self.plan.unmade, UnknownError) else None
        return bool(self.problem or unmade or self.plan.unbuilt) or Outcome.REJECTED in outcomes


def decided(
    world: World, workloads: Iterable[Workload], settings: OperatorSettings
) -> list[Rendered]:
    """What becomes of these workloads of the world, without their objects."""
    facts = replace(view_of(world, settings).facts, brief=True)
    found = (_rendered(world, each, facts) for each in workloads)
    return [
        replace(each, plan=replace(each.plan, unbuilt=None), objects=(), problem="")
        for each in found
    ]


def rendered(
    world: World, workloads: Iterable[Workload], settings: OperatorSettings
) -> list[Rendered]:
    """What becomes of these workloads of the world, and their objects, each only once."""
    facts = view_of(world, settings).facts
    return _distinct(_rendered(world, each, facts) for each in workloads)


def _rendered(world: World, workload: Workload, facts: Facts) -> Rendered:
    made = plan(facts, workload, _existing(world, workload, facts))
    notes = list(_notes(workload, facts.settings))
    if made.not_ours:
        reason = why_not_ours(made.not_ours, workload, facts.settings)
        return Rendered(made, notes=(*notes, f"not looked after: {reason.text}"))
    configs = map(manifest_of, stand_ins_of_plan(facts, made)) if made.objects else ()
    objects = tuple(map(_applicable, (*made.objects, *configs)))
    shares = given_out(world, made, facts.capabilities)
    return Rendered(made, objects, str(made.unbuilt or ""), tuple(notes), shares)


def _existing(world: World, workload: Workload, facts: Facts) -> Existing:
    """What there is among the manifests already: perhaps a configuration of the user's own."""
    if not is_unmanaged(workload, facts.settings):
        return Existing()
    outline = outline_of(workload, facts.capabilities, facts.settings.objects)
    own = Ref(SECRET, outline.namespace, outline.configuration)
    return Existing(configuration=own in world.contents)


def _notes(workload: Workload, settings: OperatorSettings) -> Iterator[str]:
    if workload.spec.paused:
        yield _PAUSED
    if is_unmanaged(workload, settings):
        yield UNMANAGED


def _applicable(made: Object) -> Object:
    """An object that an API server takes: no owner without a UID."""
    metadata = dict(made["metadata"])
    owners = [owner for owner in metadata.pop("ownerReferences", ()) if owner["uid"]]
    return made | {"metadata": metadata | ({"ownerReferences": owners} if owners else {})}


# --- Objects of several workloads -----------------------------------------------------------------


_Taken: TypeAlias = dict[Ref, Rendered]


def _distinct(found: Iterable[Rendered]) -> list[Rendered]:
    """The same, less objects that belong to a workload before them."""
    taken: _Taken = {}
    kept = []
    for each in found:
        own = _after(each, taken)
        taken |= {ref_of_manifest(made): own for made in own.objects}
        kept.append(own)
    return kept


def _after(each: Rendered, taken: _Taken) -> Rendered:
    """A workload after others: what they share is there already; nothing else may be."""
    own, notes = [], list(each.notes)
    for made in each.objects:
        ref = ref_of_manifest(made)
        if ref not in taken:
            own.append(made)
            continue
        other = taken[ref]
        if ref.kind not in _SHARED:
            reason = f"{ref} is that of {other.title}: rename one of them"
            return replace(each, objects=(), problem=reason)
        notes.append(f"shares {ref} with {other.title}")
    return replace(each, objects=tuple(own), notes=tuple(notes))
