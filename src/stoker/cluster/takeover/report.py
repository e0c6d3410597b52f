"""All that is to be known before we take over from prometheus-operator; nothing is written.

Deployment ──flags──> settings ─┐
our kinds, values ──────────────┼─> plans ─┬─> workloads, and what is judged otherwise
objects that are there ─────────┘          └─> fields that change hands
definitions, rights ──────────────────────────> what is missing
"""

from collections.abc import Iterable, Iterator, Mapping

from msgspec import Struct
from msgspec.structs import replace

from stoker.api.core import Object
from stoker.api.crd import GROUP
from stoker.api.kinds import KINDS
from stoker.build.names import FIELD_MANAGER
from stoker.cluster.definitions import DEFINITION
from stoker.cluster.diff import Comparing
from stoker.cluster.inventory import Inventory
from stoker.cluster.seen import view_of
from stoker.cluster.takeover.kubelet import KubeletHandover, kubelet_handover
from stoker.cluster.takeover.rights import RightsHandover, rights_handover
from stoker.cluster.takeover.surplus import Belongings
from stoker.cluster.values import Values
from stoker.compare.change import Pods
from stoker.compare.definitions import DefinitionHandover, definition_handover
from stoker.compare.handover import Handover, handover_of
from stoker.compare.overlay import Manifests
from stoker.errors import WorkloadError
from stoker.kube.client import Client
from stoker.kube.errors import Forbidden, NotFound
from stoker.kube.takeover import PEER_FINALIZER, PEER_MANAGERS, overruled
from stoker.plan import outline_of
from stoker.plan.custody import NotOurs
from stoker.ref import Ref, ref_of, ref_of_manifest
from stoker.select.workload import Workload
from stoker.settings import OperatorSettings
from stoker.view.view import View


class Adoption(Struct, frozen=True, kw_only=True):
    """Fields that change hands.

    `objects` is how many objects the other operator has fields of, `finalizers` how many workloads
    have its finalizer. `overruled` are others whose part of an object's content is undone.
    """

    objects: int = 0
    finalizers: int = 0
    overruled: tuple[str, ...] = ()


class TakeoverReport(Struct, frozen=True, kw_only=True):
    """What happens if we take over.

    `left_alone` are workloads that the settings leave to others, `unusable` resources that cannot
    be read. `unknown` is all that could not be found out, in sentences.
    """

    source: str
    workloads: tuple[Handover, ...]
    left_alone: tuple[str, ...]
    unusable: tuple[str, ...]
    kubelet: KubeletHandover
    adoption: Adoption
    definitions: tuple[DefinitionHandover, ...]
    rights: RightsHandover
    unknown: tuple[str, ...]

    @property
    def untouched(self) -> int:
        """To how many workloads nothing would happen, for sure."""
        return sum(each.is_nothing and not each.unknown for each in self.workloads)

    @property
    def is_well(self) -> bool:
        """Whether no pod changes, and nothing is judged otherwise."""
        quiet = (not each.is_judged_otherwise for each in self.workloads)
        return self.restarts == 0 and all(quiet) and not self.unusable

    @property
    def restarts(self) -> int:
        """Of how many workloads pods are recreated, begin or end."""
        return sum(each.pods is not Pods.STAY or bool(each.sets) for each in self.workloads)


async def takeover_report(
    client: Client, settings: OperatorSettings, account: str = ""
) -> TakeoverReport:
    """What happens if an operator of ours with these settings takes over.

    `account` is the service account of the other, if known. ApiError where no server answers.
    """
    found = await Inventory(client, ()).read()
    values = Values(client, lambda _: False)
    assets = values.view()
    view = await view_of(client, settings, found.seen, assets)
    retains = view.capabilities.shard_retention
    belongings = await Belongings.read(client, retains_shards=retains)
    looking = _Looking(client, view, belongings)
    while True:
        await looking.look()
        if not await values.load(assets):
            break
    kubelet = await kubelet_handover(client, settings)
    definitions, hidden = await definitions_of(client)
    rights = await rights_handover(client, account, settings)
    unknown = (
        *(note for _, note in found.hidden),
        *looking.unknown,
        *belongings.hidden,
        *([kubelet.unknown] if kubelet.unknown else ()),
        *hidden,
        *rights.unknown,
    )
    return TakeoverReport(
        source=client.access.server,
        workloads=tuple(sorted(looking.found, key=lambda each: (each.badness, each.workload))),
        left_alone=tuple(looking.left_alone),
        unusable=tuple(f"{ref}: {reason}" for ref, reason in found.undecodable.items()),
        kubelet=kubelet,
        adoption=looking.adoption(),
        definitions=definitions,
        rights=rights,
        unknown=tuple(dict.fromkeys(unknown)),
    )


class _Looking:
    """One look at all workloads after the other, until no value is missing any more."""

    def __init__(self, client: Client, view: View, belongings: Belongings) -> None:
        self._view = view
        self._comparing = Comparing(client, view, view, Manifests())
        self._belongings = belongings
        self._known = {ref_of(each) for each in view.resources}
        self._live: dict[Ref, Object] = {}
        self.found: list[Handover] = []
        self.left_alone: list[str] = []

    @property
    def unknown(self) -> Iterator[str]:
        """What could not be found out about the workloads."""
        for each in self.found:
            yield from each.unknown

    async def look(self) -> None:
        """Look at all of them."""
        self.found, self.left_alone, self._live = [], [], {}
        for workload in sorted(self._view.workloads, key=ref_of):
            planned, live = await self._comparing.taken_over(workload)
            if planned.plan.not_ours:
                if planned.plan.not_ours is not NotOurs.DELETING:
                    self.left_alone.append(f"{planned.title}: {planned.problem}")
                continue
            self._live |= live
            wanted = {ref_of_manifest(each) for each in planned.objects}
            surplus = self._surplus(workload, wanted) if wanted else set()
            made = handover_of(planned, live, self._known, surplus)
            hidden = self._comparing.unreadable(wanted)
            self.found.append(replace(made, unknown=(*made.unknown, *hidden)))

    def _surplus(self, workload: Workload, wanted: set[Ref]) -> set[Ref]:
        view = self._view
        try:
            outline = outline_of(workload, view.capabilities, view.settings.objects)
            return self._belongings.surplus(workload, outline, wanted)
        except (WorkloadError, ValueError):
            return set()

    def adoption(self) -> Adoption:
        """The fields that change hands, of workloads and their objects."""
        finalizers = (
            PEER_FINALIZER in (each.metadata.finalizers or ()) for each in self._view.workloads
        )
        before = self._comparing.managed_fields(self._live)
        return Adoption(
            objects=sum(_is_the_peers(fields) for fields in before.values()),
            finalizers=sum(finalizers),
            overruled=tuple(_overruled(before)),
        )


def _is_the_peers(fields: Iterable[Mapping[str, object]]) -> bool:
    return any(each.get("manager") in PEER_MANAGERS for each in fields)


def _overruled(managed: Mapping[Ref, list[Object]]) -> Iterator[str]:
    for key, fields in sorted(managed.items()):
        for manager in overruled(fields, FIELD_MANAGER):
            yield f"{key}: {manager}"


async def definitions_of(client: Client) -> tuple[tuple[DefinitionHandover, ...], list[str]]:
    """The definitions of all kinds, and what cannot be seen of them."""
    found: list[DefinitionHandover] = []
    hidden: list[str] = []
    for kind in KINDS:
        name = f"{kind.plural}.{GROUP}"
        try:
            live = await client.get(DEFINITION, None, name)
        except NotFound:
            live = None
        except Forbidden as error:
            hidden.append(f"you cannot {error.verb} {error.resource}: how old they are")
            continue
        found.append(definition_handover(kind, live))
    return tuple(found), hidden
