"""Why an operator does not look after a workload, in words."""

from collections.abc import Callable, Mapping
from typing import Final

from stoker.plan.custody import NotOurs, not_ours, selector_of_flag
from stoker.ref import ref_of
from stoker.roles import WORKLOADS
from stoker.select.namespaces import Namespaces, scope_of
from stoker.select.workload import CONTROLLER_ID, Workload, controller_of
from stoker.settings import OperatorSettings
from stoker.view.states import Cause, WhyNot
from stoker.view.view import View
from stoker.view.wording import asked_for, failing, present


def not_managed(view: View, workload: Workload) -> WhyNot | None:
    """Why an operator with these settings does not look after a workload."""
    found = not_ours(workload, view.settings)
    return why_not_ours(found, workload, view.settings) if found else None


def why_not_ours(found: NotOurs, workload: Workload, settings: OperatorSettings) -> WhyNot:
    """The reason in words, for whoever wonders."""
    return _WORDS[found](settings, workload)


def _deleting(_settings: OperatorSettings, _workload: Workload) -> WhyNot:
    return WhyNot(Cause.DELETING, "the workload is being deleted")


def _another_operator(settings: OperatorSettings, workload: Workload) -> WhyNot:
    wanted, own = controller_of(workload), settings.controller_id
    has = f"is `{wanted}`" if wanted else "is not set"
    mine = f"has `--controller-id={own}`" if own else "has no --controller-id"
    text = f"its annotation {CONTROLLER_ID} {has}, and the operator {mine}"
    return WhyNot(Cause.CONTROLLER_ID, text)


def _workload_out_of_sight(settings: OperatorSettings, workload: Workload) -> WhyNot:
    kind, namespace, _ = ref_of(workload)
    text = out_of_scope(kind, namespace, scope_of(kind, settings.namespaces))
    return WhyNot(Cause.WORKLOAD_NOT_WATCHED, text)


def _left_out_by_flag(settings: OperatorSettings, workload: Workload) -> WhyNot:
    kind, labels = type(workload).__name__, workload.metadata.labels or {}
    missed = failing(selector_of_flag(kind, settings), labels)[0]
    flag = f"--{WORKLOADS[kind].flags.replace('_', '-')}-instance-selector"
    told = f"{flag} asks for {asked_for(missed)}; the workload {present(missed, labels)}"
    return WhyNot(Cause.WORKLOAD_NOT_WATCHED, told)


_WORDS: Final[Mapping[NotOurs, Callable[[OperatorSettings, Workload], WhyNot]]] = {
    NotOurs.DELETING: _deleting,
    NotOurs.ANOTHERS: _another_operator,
    NotOurs.OUT_OF_SIGHT: _workload_out_of_sight,
    NotOurs.NOT_SELECTED: _left_out_by_flag,
}


def out_of_scope(kind: str, namespace: str, scope: Namespaces) -> str:
    """That an operator does not look for a kind in a namespace."""
    if scope.allowed is None:
        return f"the operator was told to stay away from namespace {namespace}"
    where = ", ".join(sorted(scope.allowed))
    return f"the operator looks for {kind} objects in {where} alone, not in {namespace}"
