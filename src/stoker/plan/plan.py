"""What becomes of one workload: decided here, and nowhere else.

    Facts, workload, Existing ──> plan ──> Plan ──> written, printed, compared, explained

Whether a workload is looked after, which resources are in its sight, that a configuration is its
user's own, which Service it shares with its neighbours, and what stands in for its monitors: all
who ask get the same answer, since they ask this.

What the operator keeps between two decisions is an argument that may be missing (`Memory`). It
saves work and changes nothing.
"""

from collections.abc import Callable, Iterable, Iterator, Mapping
from typing import Any, Final

from msgspec import Struct
from msgspec.structs import replace

from stoker.api.core import Object
from stoker.api.scrapeconfig.v1alpha1 import ScrapeConfig
from stoker.build.objects import MOST_SHARDS
from stoker.build.remembered import Built, essence_of
from stoker.errors import WorkloadError
from stoker.generate.draft import Ignored
from stoker.generate.fragments import StandIns
from stoker.generate.split import MAIN_FILE
from stoker.generate.stream import gzip_member
from stoker.plan.custody import NotOurs, not_ours
from stoker.plan.existing import NOTHING, NOTHING_OLD, Existing, OldConfiguration
from stoker.plan.kept import Kept
from stoker.plan.kinds import kept_of, objects_for, outline_of, shared_service_of
from stoker.plan.old_mode import together
from stoker.ref import Ref, ref_of
from stoker.roles import RESOURCES
from stoker.select.assets import SECRET, WholeAssets
from stoker.select.choice import NamespaceLabels, Resource, choices, chosen, is_unmanaged
from stoker.select.namespaces import scope_of
from stoker.select.workload import AnyPrometheus, Workload, scraper_of
from stoker.settings import Capabilities, OperatorSettings
from stoker.validate.findings import Finding
from stoker.validate.verdicts import Verdict

Neighbours = Callable[[Workload], Iterable[Workload]]
"""The workloads of the same kind and namespace, with or without the one that is asked for."""

_FEW_SHARDS: Final = 16


class Facts(Struct, frozen=True, kw_only=True):
    """What is known of the world around a workload.

    `resources` are all that there are, wherever they are. `stand_ins` says which ScrapeConfigs are
    scraped in place of a monitor; None where monitors stay themselves. With `brief` objects are
    only tried, to see whether they can be made.
    """

    settings: OperatorSettings
    capabilities: Capabilities
    assets: WholeAssets
    namespaces: NamespaceLabels = {}
    resources: Iterable[Resource] = ()
    neighbours: Neighbours = lambda _: ()
    stand_ins: StandIns | None = None
    brief: bool = False


class Memory(Struct):
    """What is remembered of a workload: what its resources became, and its objects.

    `kept` is up to date with all that the facts would say; who gives it sees to that.
    """

    kept: Kept
    built: Built


class Plan(Struct, frozen=True, kw_only=True):
    """What becomes of a workload.

    `not_ours`: why it is left alone; then there are no objects. `verdicts` are on the resources
    that apply to it, `unjudged` those that it could not come to. `ignored` are the fields that the
    version does not know, by resource; the workload's own are under `OWN`. `notes` are about a
    workload that runs, though hardly as it was meant. `text` is the configuration before it is
    compressed, `contents` what the objects carry.

    `objects` are in the order in which they are written; those of `only_made` are written where
    there are none of their names, and otherwise left alone. `old` is what pods read that are of the
    mode that an agent is leaving.

    `unmade` is why there is no configuration, `unbuilt` why there are no objects.
    """

    workload: Workload
    not_ours: NotOurs | None = None
    version: str = ""
    verdicts: Mapping[Ref, Verdict] = {}
    unjudged: tuple[Ref, ...] = ()
    ignored: Mapping[Ref, tuple[Ignored, ...]] = {}
    notes: tuple[Finding, ...] = ()
    text: str = ""
    contents: Any = None
    objects: tuple[Object, ...] = ()
    only_made: frozenset[Ref] = frozenset()
    old: OldConfiguration = NOTHING_OLD
    unmade: WorkloadError | None = None
    unbuilt: WorkloadError | None = None

    @property
    def error(self) -> WorkloadError | None:
        """Why the workload cannot be reconciled as it is."""
        return self.unmade or self.unbuilt

    @property
    def problem(self) -> str:
        """The same as text; empty if it can be."""
        return str(self.error or "")


def plan(
    facts: Facts, workload: Workload, existing: Existing = NOTHING, memory: Memory | None = None
) -> Plan:
    """What becomes of a workload, on top of what exists; by what is remembered, if it is given.

    Then `facts` need no resources, and there is no text: it is as large as all else together, and
    who remembers has it at hand.
    """
    reason = not_ours(workload, facts.settings)
    if memory is not None:
        made = _made(facts, workload, existing, memory)
        return made if reason is None else replace(made, not_ours=reason)
    applicable = {ref_of(each): each for each in _applicable(facts, workload)}
    try:
        kept = kept_of(workload, facts.capabilities, facts.assets, facts.stand_ins)
    except WorkloadError as error:
        return Plan(workload=workload, not_ours=reason, unjudged=tuple(applicable), unmade=error)
    kept.put_all(applicable, facts.assets)
    ours = facts if reason is None else replace(facts, brief=True)
    made = _made(ours, workload, existing, Memory(kept, Built()))
    # Those who read all of it read it in this order.
    verdicts = {key: made.verdicts[key] for key in applicable}
    made = replace(made, not_ours=reason, verdicts=verdicts)
    return made if made.unmade else replace(made, text=kept.text())


def _made(facts: Facts, workload: Workload, existing: Existing, memory: Memory) -> Plan:
    kept = memory.kept
    found = Plan(
        workload=workload,
        version=str(kept.version),
        verdicts=kept.verdicts,
        ignored=kept.ignored,
        notes=kept.notes,
    )
    try:
        contents = kept.contents(facts.assets, existing)
    except WorkloadError as error:
        return replace(found, unmade=error)
    old = existing.old
    if old.files:
        contents, old = together(contents, old)
    unmanaged = is_unmanaged(workload, facts.settings)
    if unmanaged:
        contents = replace(contents, config_files=_room(existing))
    # What was made of the workload may have changed what is ignored of it.
    found = replace(found, contents=contents, old=old, ignored=kept.ignored)
    try:
        objects = _objects(facts, workload, contents, memory.built)
    except WorkloadError as error:
        return replace(found, unbuilt=error)
    only_made = frozenset({_configuration(facts, workload)} if unmanaged and objects else ())
    return replace(found, objects=objects, only_made=only_made)


def stand_ins_of_plan(facts: Facts, found: Plan) -> Iterator[ScrapeConfig]:
    """The ScrapeConfigs that are kept in place of the monitors that a workload takes."""
    workload = found.workload
    if facts.stand_ins is None or found.not_ours or not isinstance(workload, AnyPrometheus):
        return
    scraper = scraper_of(workload, facts.capabilities)
    for verdict in found.verdicts.values():
        if verdict.accepted:
            yield from facts.stand_ins(verdict.resource, scraper)


def in_sight(resources: Iterable[Resource], settings: OperatorSettings) -> list[Resource]:
    """Those from whose namespaces an operator with these settings selects."""
    scopes = {kind: scope_of(kind, settings.namespaces) for kind in RESOURCES}
    return [
        each
        for each in resources
        if scopes[type(each).__name__].covers(each.metadata.namespace or "")
    ]


def with_few_shards(workload: Workload) -> Workload:
    """A workload that can be built if the given one can, and soon: its shards are all alike."""
    if not isinstance(workload, AnyPrometheus) or workload.spec.sharding_strategy:
        return workload
    if not _FEW_SHARDS < (workload.spec.shards or 1) <= MOST_SHARDS:
        return workload
    return replace(workload, spec=replace(workload.spec, shards=1))


def _applicable(facts: Facts, workload: Workload) -> list[Resource]:
    seen = in_sight(facts.resources, facts.settings)
    return chosen(choices(workload), seen, facts.namespaces)


def _room(existing: Existing) -> dict[str, bytes]:
    """What is written of a configuration that is its user's own: something to start with."""
    return {} if existing.configuration else {MAIN_FILE: gzip_member("")}


def _configuration(facts: Facts, workload: Workload) -> Ref:
    outline = outline_of(workload, facts.capabilities, facts.settings.objects)
    return Ref(SECRET, outline.namespace, outline.configuration)


def _objects(facts: Facts, workload: Workload, contents: Any, built: Built) -> tuple[Object, ...]:
    settings = facts.settings.objects
    if facts.brief:
        objects_for(with_few_shards(workload), facts.capabilities, settings, contents, built)
        return ()
    made = objects_for(workload, facts.capabilities, settings, contents, built)
    return tuple(
        _shared_service(facts, workload, built) if each["kind"] == "Service" else each
        for each in made
    )


def _shared_service(facts: Facts, workload: Workload, built: Built) -> Object:
    """The Service of all workloads of this kind and namespace that are looked after together."""
    own = ref_of(workload)
    others = (
        each
        for each in facts.neighbours(workload)
        if ref_of(each) != own and not not_ours(each, facts.settings)
    )
    workloads = tuple(map(essence_of, (workload, *others)))
    terms = facts.capabilities, facts.settings.objects
    [service] = built.piece(
        "shared service", (workloads, *terms), lambda: [shared_service_of(workloads, *terms)]
    )
    return service
