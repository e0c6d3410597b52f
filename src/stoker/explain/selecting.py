"""Why a workload does not select a resource: checks in the order in which they are best mended.

Each check is a function that gives a reason or None. The first reason is the one that is given, and
the more checks a workload passes, the nearer it is to the resource.
"""

from collections.abc import Callable, Mapping
from typing import Any, Final

from stoker.api.core import LabelSelector
from stoker.api.scrapeconfig.v1alpha1 import ScrapeConfig
from stoker.explain.pruned import losses
from stoker.generate.prometheus import kinds_of
from stoker.select.choice import (
    NAMESPACE_NAME,
    SELECTED_KINDS,
    Resource,
    choices,
)
from stoker.select.consolidated import monitor_behind
from stoker.select.labels import problems, selector_of
from stoker.select.namespaces import scope_of
from stoker.select.workload import AnyPrometheus, Workload, scraper_of
from stoker.validate.findings import json_name
from stoker.view.not_ours import not_managed, out_of_scope
from stoker.view.states import Cause, WhyNot
from stoker.view.view import View
from stoker.view.wording import asked_for, failing, present

_KINDS: Final = {kind.name: kind for kind in SELECTED_KINDS}


def first_reason(view: View, workload: Workload, resource: Resource) -> tuple[int, WhyNot | None]:
    """Why a workload does not select a resource, and how many checks it passed; None if it does."""
    checks = _CHECKS_OF_NAMED if _is_named(workload, resource) else _CHECKS
    for passed, check in enumerate(checks):
        reason = check(view, workload, resource)
        if reason:
            return passed, reason
    return len(_CHECKS), None


def can_select(kind: str, workload: type[Any]) -> bool:
    """Whether workloads of a type have a selector for a kind of resource."""
    return hasattr(workload().spec, _KINDS[kind].selector)


def _is_named(workload: Workload, resource: Resource) -> bool:
    """Whether a workload calls the resource by its name."""
    wanted = choices(workload).get(type(resource).__name__)
    metadata = resource.metadata
    return wanted is not None and wanted.names(metadata.namespace or "", metadata.name or "")


# --- The workload and the resource ----------------------------------------------------------------


def _not_managed(view: View, workload: Workload, _resource: Resource) -> WhyNot | None:
    return not_managed(view, workload)


def _resource_out_of_sight(view: View, _: Workload, resource: Resource) -> WhyNot | None:
    kind, namespace = type(resource).__name__, resource.metadata.namespace or ""
    scope = scope_of(kind, view.settings.namespaces)
    if scope.covers(namespace):
        return None
    text = out_of_scope(kind, namespace, scope)
    return WhyNot(Cause.NAMESPACE_NOT_WATCHED, text)


def _not_its_kind(view: View, workload: Workload, resource: Resource) -> WhyNot | None:
    kind = _KINDS[type(resource).__name__]
    if isinstance(workload, AnyPrometheus):
        scraper = scraper_of(workload, view.capabilities)
        if scraper.daemon_set and kind.name not in kinds_of(scraper):
            text = f"an agent on every node (mode DaemonSet) takes no {kind.name} objects"
            return WhyNot(Cause.KIND_NOT_SELECTED, text)
    if getattr(workload.spec, kind.selector) is None:
        path = _path(workload, kind.selector)
        for lost in losses(workload):
            if lost.path == path:
                return WhyNot(Cause.PRUNED, str(lost))
        text = f"{path} is not set, which selects nothing; `{{}}` is all"
        return WhyNot(Cause.KIND_NOT_SELECTED, text)
    return None


def _other_labels(_view: View, workload: Workload, resource: Resource) -> WhyNot | None:
    kind = _KINDS[type(resource).__name__]
    labels = resource.metadata.labels or {}
    return _mismatch(workload, kind.selector, labels, f"the {kind.name}", Cause.LABELS)


def _own_namespace_only(_view: View, workload: Workload, resource: Resource) -> WhyNot | None:
    kind = _KINDS[type(resource).__name__]
    own = workload.metadata.namespace or ""
    selective = getattr(workload.spec, kind.namespace_selector) is not None
    if selective or own == (resource.metadata.namespace or ""):
        return None
    path = _path(workload, kind.namespace_selector)
    text = f"{path} is not set, so it looks in its own namespace {own} alone; `{{}}` is all"
    return WhyNot(Cause.OWN_NAMESPACE_ONLY, text)


def _other_namespace(view: View, workload: Workload, resource: Resource) -> WhyNot | None:
    attribute = _KINDS[type(resource).__name__].namespace_selector
    if getattr(workload.spec, attribute) is None:
        return None
    namespace = resource.metadata.namespace or ""
    labels = view.namespaces.get(namespace)
    known = {NAMESPACE_NAME: namespace} if labels is None else labels
    whose = f"namespace {namespace}"
    reason = _mismatch(workload, attribute, known, whose, Cause.NAMESPACE_LABELS)
    if reason and labels is None and view.labels_unknown:
        return WhyNot(reason.cause, f"{reason.text} ({view.labels_unknown})")
    return reason


def _mismatch(
    workload: Workload, attribute: str, labels: Mapping[str, str], whose: str, cause: Cause
) -> WhyNot | None:
    """The first requirement of a selector that labels do not meet."""
    declared: LabelSelector | None = getattr(workload.spec, attribute)
    path = _path(workload, attribute)
    wrong = next(problems(declared, path), None)
    if wrong:
        return WhyNot(Cause.INVALID_SELECTOR, f"{wrong.path}: {wrong.message}; it selects nothing")
    missed = failing(selector_of(declared), labels)
    if not missed:
        return None
    text = f"{path} asks for {asked_for(missed[0])}; {whose} {present(missed[0], labels)}"
    return WhyNot(cause, text)


def _path(workload: Workload, attribute: str) -> str:
    return f"spec.{json_name(workload.spec, attribute)}"


def _stands_in(_view: View, _workload: Workload, resource: Resource) -> WhyNot | None:
    behind = monitor_behind(resource.metadata) if isinstance(resource, ScrapeConfig) else None
    if behind is None:
        return None
    of = f"{behind.kind} `{behind.name}`"
    text = f"it stands in for {of}, which workloads select in its place: ask for that"
    return WhyNot(Cause.STANDS_IN, text)


_CHECKS: Final[tuple[Callable[[View, Workload, Resource], WhyNot | None], ...]] = (
    _not_managed,
    _not_its_kind,
    _stands_in,
    _resource_out_of_sight,
    _own_namespace_only,
    _other_namespace,
    _other_labels,
)
# The selectors of a workload do not matter for what it calls by its name.
_CHECKS_OF_NAMED: Final = (_not_managed, _resource_out_of_sight)
