"""What a state of the world makes of a workload: its objects, and what became of its resources."""

from collections.abc import Iterable, Iterator, Mapping
from typing import Any

from msgspec import Struct
from msgspec.structs import replace

from stoker.api.core import Object
from stoker.api.scrapeconfig.v1alpha1 import ScrapeConfig
from stoker.compare.shown import shown_text
from stoker.errors import WorkloadError
from stoker.explain.selecting import not_managed
from stoker.explain.view import Noting, View
from stoker.plan import Existing, kept_of, objects_for, shared_service_of
from stoker.ref import Ref, ref_of
from stoker.select.assets import Assets
from stoker.select.choice import Resource, choices, chosen, is_unmanaged
from stoker.select.namespaces import scope_of
from stoker.select.workload import AnyPrometheus, Workload, scraper_of
from stoker.validate.verdicts import Verdict

NOTHING_THERE = Existing()


class Planned(Struct, frozen=True, kw_only=True):
    """What becomes of a workload; with a `problem` there are no objects.

    `unjudged` are resources that apply to it and that it could not come to.
    `text` is the configuration as people may see it. `unread` names values that could not be read.
    `stand_ins` are the ScrapeConfigs that are kept in place of its monitors.
    """

    owner: Workload
    verdicts: Mapping[Ref, Verdict] = {}
    unjudged: frozenset[Ref] = frozenset()
    objects: tuple[Object, ...] = ()
    text: str = ""
    problem: str = ""
    unread: str = ""
    stand_ins: tuple[ScrapeConfig, ...] = ()

    @property
    def blocked(self) -> str:
        """Why nothing is written, whatever would be right."""
        if self.problem:
            return f"nothing is written: {self.problem}"
        paused = self.owner.spec.paused
        return "paused: nothing is written until spec.paused is unset" if paused else ""

    @property
    def members(self) -> frozenset[Ref]:
        """The resources that apply to it."""
        return self.unjudged.union(self.verdicts)

    @property
    def title(self) -> str:
        """Kind, namespace and name of the workload."""
        return str(ref_of(self.owner))


def planned(
    view: View, owner: Workload, existing: Existing = NOTHING_THERE, before: Assets | None = None
) -> Planned:
    """What an operator makes of a workload, on top of what exists.

    Values that are not those of `before` are marked as other ones in the text.
    """
    reason = not_managed(view, owner)
    if reason:
        return Planned(owner=owner, problem=f"not looked after: {reason.text}")
    assets, applicable = Noting(view.assets), _applicable(view, owner)
    try:
        kept = kept_of(owner, view.capabilities, assets, view.stand_ins)
        kept.put_all(applicable, assets)
    except WorkloadError as error:
        unjudged = frozenset(applicable)
        return Planned(owner=owner, unjudged=unjudged, problem=str(error), unread=_unread(assets))
    stand_ins = tuple(_stand_ins(view, owner, kept.verdicts.values()))
    found = Planned(owner=owner, verdicts=dict(kept.verdicts), stand_ins=stand_ins)
    try:
        contents = kept.contents(assets, existing)
        if is_unmanaged(owner, view.settings):
            contents = replace(contents, config_files={})
        objects = _objects(view, owner, contents)
    except WorkloadError as error:
        return replace(found, problem=str(error), unread=_unread(assets))
    text = shown_text(view, owner, found.verdicts, contents, before)
    return replace(found, objects=tuple(objects), text=text, unread=_unread(assets))


def _stand_ins(view: View, owner: Workload, verdicts: Iterable[Verdict]) -> Iterator[ScrapeConfig]:
    """The ScrapeConfigs that are kept in place of the monitors that a workload takes."""
    if view.stand_ins is None or not isinstance(owner, AnyPrometheus):
        return
    workload = scraper_of(owner, view.capabilities)
    for verdict in verdicts:
        if verdict.accepted:
            yield from view.stand_ins(verdict.resource, workload)


def _unread(assets: Noting) -> str:
    return str(assets.unreadable[0]) if assets.unreadable else ""


def _applicable(view: View, owner: Workload) -> dict[Ref, Resource]:
    wanted = choices(owner)
    seen = (each for each in view.resources if _is_in_sight(view, each))
    return {ref_of(each): each for each in chosen(wanted, seen, view.namespaces)}


def _is_in_sight(view: View, resource: Resource) -> bool:
    scope = scope_of(type(resource).__name__, view.settings.namespaces)
    return scope.covers(resource.metadata.namespace or "")


def _objects(view: View, owner: Workload, contents: Any) -> list[Object]:
    objects = objects_for(owner, view.capabilities, view.settings.objects, contents)
    sharing = [each for each in view.workloads if _shares(view, each, owner)]
    return [
        shared_service_of(sharing, view.capabilities, view.settings.objects)
        if each["kind"] == "Service"
        else each
        for each in objects
    ]


def _shares(view: View, one: Workload, other: Workload) -> bool:
    """Whether two workloads have the same Service, as the operator looks after both."""
    alike = type(one) is type(other) and one.metadata.namespace == other.metadata.namespace
    return alike and not not_managed(view, one)
