"""What a running operator knows, laid out for the status page.

Verdicts are those that were published; nothing is decided again, and nothing is read but who else
looks after a workload that has changed. The index of all resources is made a few at a time, so that
the loops go on meanwhile.
"""

import asyncio
from collections.abc import Callable, Iterable, Iterator, Mapping
from typing import Final, TypeVar

from msgspec import Struct
from msgspec.structs import replace

from stoker.cluster.explain import Around, MayDo
from stoker.cluster.kinds import RESOURCES
from stoker.cluster.values import Values
from stoker.generate.rules import config_map_name
from stoker.kube.lease import Leadership
from stoker.kube.reading import Head
from stoker.kube.store import Store
from stoker.operator.caches import Cached
from stoker.operator.held import Held
from stoker.operator.published import PublishedVerdicts
from stoker.operator.rivals import Rivals
from stoker.operator.tools import Tools
from stoker.page.answers import FailingTarget, UnusableObject
from stoker.page.desk import Desk
from stoker.page.index import IndexMaker
from stoker.page.workloads import ShownWorkload, held_by
from stoker.plan import OWN
from stoker.ref import Ref, ref_of
from stoker.select.assets import Missing, Source
from stoker.select.choice import NAMESPACE_NAME, Resource
from stoker.select.members import Members
from stoker.select.workload import Workload
from stoker.status.conditions import GOES_ON
from stoker.status.workload import Remark
from stoker.targets.objects import Node
from stoker.view.configuration import Layout
from stoker.view.listing import Listing
from stoker.view.reconciled import reported_failure
from stoker.view.view import View

T = TypeVar("T")

_AT_ONCE: Final = 64
_NOT_ALLOWED: Final = "the operator cannot read it, so only its name is known"


class Inside(Struct, frozen=True, kw_only=True):
    """What there is to see of a replica.

    `held` is what is kept of each workload, `failure` tells why the last attempt at one failed,
    `not_ready` why the replica does not do its work; there is none, or it is empty, if all is well.
    `nodes` are those that it knows, if it does. `failing` are targets of a resource that a workload
    could not scrape when it was last asked.
    """

    tools: Tools
    members: Members
    published: PublishedVerdicts
    held: Mapping[Ref, Held]
    failure: Callable[[Ref], Remark | None]
    nodes: Callable[[], Listing[Node] | None]
    leadership: Leadership | None
    not_ready: Callable[[], str]
    failing: Callable[[Ref, Ref], Iterable[FailingTarget]] = lambda _workload, _resource: ()


class Looking:
    """Lays out what is inside a replica."""

    def __init__(self, inside: Inside) -> None:
        self._inside = inside
        self._tools = inside.tools
        self._caches = inside.tools.caches
        self._rivals = Rivals(inside.tools.status_client)

    @property
    def cached(self) -> dict[str, Cached]:
        """Our own kinds by their names."""
        return {**self._caches.workloads, **self._caches.resources}

    def listen(self, changed: Callable[[object, object], None]) -> None:
        """Call this whenever what the API server tells has changed."""
        for cached in (*self.cached.values(), self._caches.namespaces):
            cached.store.listen(changed)

    def note(self) -> str:
        """What one should know before believing the rest."""
        reason = self._inside.not_ready()
        leadership = self._inside.leadership
        if reason or leadership is None or leadership.is_leading:
            return reason
        holder = leadership.holder
        return f"another replica leads: {holder}" if holder else "no replica leads yet"

    def beside(self) -> tuple[str, ...]:
        """What changes without a change in the caches: who leads, and what cannot be seen."""
        troubles = (str(each) for cached in self.cached.values() for each in cached.troubles)
        return (self.note(), *troubles)

    def problems(self) -> Iterator[UnusableObject]:
        """What cannot be seen, and what does not fit its type."""
        for kind, cached in self.cached.items():
            for trouble in cached.troubles:
                yield UnusableObject(source="cluster", subject=kind, reasons=(str(trouble),))
            for key, error in cached.unreadable.items():
                subject = f"{kind} {key.namespace}/{key.name}"
                yield UnusableObject(source="cluster", subject=subject, reasons=(str(error),))

    async def desk(self, revision: int, before: Desk | None = None) -> Desk:
        """Everything, as of a revision; what did not change is taken from the desk before."""
        await self._rivals.look(self.view().workloads)
        view = self.view()
        shown = {ref_of(each): self._shown(each) for each in view.workloads}
        members = self._inside.members

        # Most resources have the same users.
        alike: dict[frozenset[Ref], list[ShownWorkload]] = {}

        def users(resource: Resource) -> Iterable[ShownWorkload]:
            keys = members.users(ref_of(resource))
            found = alike.get(keys)
            if found is None:
                found = alike[keys] = [shown[each] for each in sorted(keys) if each in shown]
            return found

        maker = IndexMaker(users, before.index if before else None)
        resources = [each for cached in self._caches.resources.values() for each in cached.store]
        await chopped(map(maker.add, resources))
        by_title = {each.title: each for each in shown.values()}
        selectable = {title: each.kinds for title, each in by_title.items()}
        return Desk(
            revision=revision,
            view=view,
            workloads=by_title,
            users=users,
            index=await asyncio.to_thread(maker.made, selectable),
            find=self._find,
            stand_ins=self._tools.stand_ins,
        )

    def _find(self, ref: Ref) -> Resource | None:
        return self._caches.resource(ref) if ref.kind in RESOURCES else None

    def _shown(self, workload: Workload) -> ShownWorkload:
        key = ref_of(workload)
        held = self._inside.held.get(key)
        kept = held.kept if held else None
        published = self._inside.published.of_workload(key)
        # What another replica says counts until we have had a try at it.
        reported = reported_failure(workload) if published is None else ""
        failure = self._inside.failure(key)
        problem = failure.message if failure else reported
        goes_on = failure is not None and failure.reason in GOES_ON
        conditions = workload.status.conditions if workload.status else None
        notes = kept.notes if kept else ()
        return ShownWorkload(
            workload=workload,
            title=str(ref_of(workload)),
            version=str(kept.version) if kept else workload.spec.version or "",
            verdicts=published or {},
            problem=problem,
            held=held_by(workload, self._tools.settings, "" if goes_on else problem, notes),
            ignored=kept.ignored.get(OWN, ()) if kept else (),
            notes=notes,
            known=published is not None or bool(conditions),
        )

    def view(self) -> View:
        """What explanations are made from; the values and surroundings are not read yet."""
        workloads = (each for cached in self._caches.workloads.values() for each in cached.store)
        client = self._tools.status_client
        return View(
            workloads=tuple(workloads),
            resources=(),
            namespaces=_Namespaces(self._caches.namespaces.store),
            assets=Values(client, self._caches.is_absent).view(),
            surroundings=self.around(),
            settings=self._tools.settings,
            capabilities=self._tools.capabilities,
            labels_unknown=_NOT_ALLOWED,
            rivals=self._rivals.names,
            rivals_unknown=self._rivals.unknown,
        )

    def around(self, may: MayDo | None = None, *, with_nodes: bool = True) -> Around:
        """What is around workloads and resources, to be read as it is asked for, if it `may` be."""
        nodes = self._inside.nodes() if with_nodes else None
        return Around(self._tools.status_client, "the operator", nodes, may)

    def layout(self, desk: Desk, shown: ShownWorkload) -> Layout:
        """A configuration in parts; WorkloadError where there is none."""
        outline = self._tools.outline(shown.workload)
        count = 0
        while outline.rules and self._caches.metadata(
            Ref("ConfigMap", outline.namespace, config_map_name(outline.rules, count))
        ):
            count += 1
        return desk.layout(replace(shown, rule_files=max(count, 1)), _Read(self._tools.values))


async def chopped(made: Iterable[T], at_once: int = _AT_ONCE) -> list[T]:
    """All of it, with a pause for others after every few."""
    found = []
    for each in made:
        found.append(each)
        if len(found) % at_once == 0:
            await asyncio.sleep(0)
    return found


class _Namespaces(Mapping[str, Mapping[str, str]]):
    """The labels of namespaces as the cache has them, without a copy."""

    def __init__(self, store: Store[Head]) -> None:
        self._store = store

    def __getitem__(self, name: str) -> Mapping[str, str]:
        found = self._store.get("", name)
        if found is None:
            raise KeyError(name)
        return {NAMESPACE_NAME: name} | (found.metadata.labels or {})

    def __iter__(self) -> Iterator[str]:
        return (each.metadata.name or "" for each in self._store)

    def __len__(self) -> int:
        return len(self._store)


class _Read:
    """What was read already; what was not is there all the same."""

    def __init__(self, values: Values) -> None:
        self._values = values

    def value(self, source: Source) -> str | Missing:
        """The text behind a key, or why there is none."""
        content = self._values.find(source.ref)
        if content is None:
            return Missing(source, object_exists=True, problem="it was not read")
        if content.data is None:
            return Missing(source, object_exists=False, problem=content.problem)
        found = content.data.get(source.key)
        return found if isinstance(found, str) else Missing(source, object_exists=True)
