"""What else belongs into the first line: a resource is used, though not quite as it is written."""

from collections.abc import Iterable, Iterator, Sequence
from itertools import chain
from typing import Final

from stoker.api.alertmanager import Alertmanager
from stoker.explain.answer import Usage
from stoker.generate.alertmanager.config import terms_of
from stoker.select.choice import AlertmanagerConfig, Resource
from stoker.select.workload import AnyPrometheus, Workload
from stoker.validate.findings import json_name
from stoker.view.states import Cause, State

# What a workload may set bounds to, in its own `enforced_…`.
_LIMITS: Final = (
    "sample_limit",
    "target_limit",
    "label_limit",
    "label_name_length_limit",
    "label_value_length_limit",
    "keep_dropped_targets",
)


def remark(resource: Resource, found: Sequence[tuple[Workload, Usage]]) -> str:
    """The end of a sentence about a resource that is used; empty where nothing is to be said."""
    used = [each for each in found if each[1].state is State.USED]
    about = (each for workload, usage in used for each in _said(resource, workload, usage))
    said = next(chain(_waiting(usage for _, usage in found), about), "")
    return f"; {said}" if said else ""


def _waiting(usages: Iterable[Usage]) -> Iterator[str]:
    """Workloads that select it as well, and are not reconciled."""
    for each in usages:
        if each.cause is Cause.WORKLOAD_PROBLEM:
            yield f"{each.workload} selects it, too, but {each.reason}"


def _said(resource: Resource, workload: Workload, usage: Usage) -> Iterator[str]:
    if usage.ignored:
        more = f" and {len(usage.ignored) - 1} more" if len(usage.ignored) > 1 else ""
        yield f"version {usage.version} ignores {usage.ignored[0]}{more}"
    if isinstance(workload, AnyPrometheus):
        yield from _lowered(resource, workload)
    if isinstance(workload, Alertmanager) and isinstance(resource, AlertmanagerConfig):
        if resource.spec.route is None and resource.spec.receivers:
            yield "without spec.route no alert reaches its receivers"
        namespace = terms_of(workload).seen_by(resource.metadata.namespace or "")
        if namespace and not _is_root(resource, workload):
            yield f"it sees only alerts with the label `namespace={namespace}`"


def _lowered(resource: Resource, scraper: AnyPrometheus) -> Iterator[str]:
    for name in _LIMITS:
        own = getattr(resource.spec, name, None)
        most = getattr(scraper.spec, f"enforced_{name}", None)
        if own and most and own > most:
            field = json_name(resource.spec, name)
            bound = json_name(scraper.spec, f"enforced_{name}")
            yield f"spec.{field} is lowered from {own} to {most} by spec.{bound} of the workload"


def _is_root(resource: Resource, workload: Alertmanager) -> bool:
    start = workload.spec.alertmanager_configuration
    beside = resource.metadata.namespace == workload.metadata.namespace
    return beside and start is not None and start.name == resource.metadata.name
