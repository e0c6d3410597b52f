"""Everything at hand to answer with, at one moment.

A shell lays it out: what it sees, what the workloads made of it, and the index of that. What takes
long with thousands of resources is a generator, so that a shell can do something else in between.
"""

from collections.abc import Callable, Iterator, Mapping

from msgspec import Struct

from stoker.api.kinds import KINDS, WORKLOADS
from stoker.explain.answer import Explanation
from stoker.explain.ask import not_found
from stoker.explain.selecting import can_select
from stoker.explain.workload import Tally, explained_plan, odd_of
from stoker.generate.fragments import StandIns
from stoker.page.answers import Item, MisspeltObject, Row, Unknown
from stoker.page.index import Index, PageSearch, SearchResult
from stoker.page.overview import bounded, item_of, row_of, unseen_item
from stoker.page.sight import WHOLE, Clearance
from stoker.page.workloads import ShownWorkload, Users
from stoker.plan import OWN, Plan
from stoker.ref import Ref, by_path, ref_of
from stoker.select.assets import Assets
from stoker.select.choice import Resource
from stoker.spelling import nearest
from stoker.view.configuration import Layout, Materials, layout_of
from stoker.view.meant import meant
from stoker.view.view import View

_KINDS = tuple(kind.name for kind in KINDS)
# To compare a name with thousands takes seconds.
_MOST_COMPARED = 1000


class Desk(Struct, frozen=True, kw_only=True):
    """What is seen, and what became of it.

    `workloads` are all of them by their titles. `find` gives a resource, None if there is none,
    `stand_ins` the ScrapeConfigs in place of a monitor. `sight` is what of all there is may be
    seen: nothing else is on the desk.
    """

    revision: int
    view: View
    workloads: Mapping[str, ShownWorkload]
    users: Users
    index: Index
    find: Callable[[Ref], Resource | None]
    stand_ins: StandIns | None = None
    sight: Clearance = WHOLE

    def unseen(self, kind: str) -> str:
        """Why there may be workloads that select resources of a kind and are not seen."""
        able = (each.name for each in WORKLOADS if can_select(kind, each.stored.model))
        hidden = self.sight.hidden(able)
        return f"you cannot list {' and '.join(hidden)} objects in all namespaces" if hidden else ""

    def workload(self, kind: str, namespace: str, name: str) -> ShownWorkload | None:
        """A workload by its name, None if there is none."""
        return self.workloads.get(str(Ref(kind, namespace, name)))

    def rows(self) -> Iterator[Row]:
        """All workloads, in the order of their titles."""
        for title in sorted(self.workloads):
            yield self.row(self.workloads[title])

    def row(self, shown: ShownWorkload) -> Row:
        """One workload."""
        return row_of(self.view, shown, self._tally(shown))

    def items(self, query: PageSearch, found: SearchResult) -> Iterator[Item]:
        """The resources that were found."""
        for entry in found.entries:
            resource = self.find(entry.ref)
            users = list(self.users(resource)) if resource else []
            unseen = "" if users or not resource else self.unseen(entry.ref.kind)
            if resource and unseen:
                yield unseen_item(entry, resource, unseen)
            else:
                yield item_of(self.view, entry, resource, users, query.workload)

    def explained(self, shown: ShownWorkload) -> Explanation:
        """One workload, explained by what became of it."""
        # Of those that are accepted, the numbers are enough.
        refused = [verdict for verdict, _ in shown.verdicts.values() if not verdict.accepted]
        found = Plan(
            workload=shown.workload,
            version=shown.version,
            verdicts={each.ref: each for each in sorted(refused, key=lambda each: each.ref)},
            ignored={OWN: shown.ignored},
            notes=shown.notes,
        )
        return bounded(explained_plan(self.view, found, self._tally(shown)))

    def misspelt(
        self, place: Callable[[Ref, str], str] = lambda _ref, _path: ""
    ) -> Iterator[MisspeltObject]:
        """Objects with fields that do not exist; `place` says where such a field is written."""
        found = (
            one
            for one in self.view.dropped.items()
            if self.sight.is_whole or self.sight.covers(one[0])
        )
        for ref, paths in sorted(found, key=lambda each: by_path(each[0])):
            yield MisspeltObject(
                kind=ref.kind,
                namespace=ref.namespace,
                name=ref.name,
                fields=paths,
                place=place(ref, paths[0]),
            )

    def layout(self, shown: ShownWorkload, assets: Assets) -> Layout:
        """The configuration of a workload; WorkloadError where it cannot be configured."""
        materials = Materials(
            used=self.index.used_by(shown.title),
            find=self.find,
            assets=assets,
            capabilities=self.view.capabilities,
            rule_files=shown.rule_files,
            stand_ins=self.stand_ins,
        )
        return layout_of(shown.workload, materials)

    def unknown(self, kind: str, namespace: str, name: str) -> Unknown:
        """That there is no such object, and what was probably meant."""
        if kind not in _KINDS:
            return Unknown(error=f"there is no kind {kind}", meant=nearest(kind, _KINDS))
        key, known = f"{namespace}/{name}", list(self._keys(kind))
        if len(known) > _MOST_COMPARED:
            near = [each for each in known if each.partition("/")[0] == namespace]
            known = (near or known)[:_MOST_COMPARED]
        return Unknown(error=not_found(kind, key, known), meant=meant(key, known))

    def _keys(self, kind: str) -> Iterator[str]:
        for each in self.view.workloads:
            if type(each).__name__ == kind:
                yield ref_of(each).path
        for entry in self.index.found(PageSearch(kind=kind, limit=self.index.totals.total)).entries:
            yield entry.ref.path

    def _tally(self, shown: ShownWorkload) -> Tally:
        return Tally(
            version=shown.version,
            selected=self.index.selected(shown.title),
            rejected=self.index.rejected(shown.title),
            made=self.index.made(shown.title),
            there=self.index.kinds,
            problem=shown.problem,
            unclear=shown.unclear,
            odd=odd_of(shown.notes),
        )
