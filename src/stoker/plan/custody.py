"""Whether a workload is ours to look after, by the flags of an operator."""

from enum import Enum

from stoker.roles import WORKLOADS
from stoker.select.labels import EVERYTHING, Selector, selector_of_text
from stoker.select.namespaces import scope_of
from stoker.select.workload import Workload, controller_of
from stoker.settings import OperatorSettings


class NotOurs(Enum):
    """Why an operator leaves a workload alone."""

    DELETING = "it is being deleted"
    ANOTHERS = "it is for an operator of another identity"
    OUT_OF_SIGHT = "its namespace is not looked in"
    NOT_SELECTED = "a flag selects workloads with other labels"


def not_ours(workload: Workload, settings: OperatorSettings) -> NotOurs | None:
    """Why an operator with these settings does not look after a workload; None if it does."""
    metadata, kind = workload.metadata, type(workload).__name__
    if metadata.deletion_timestamp:
        return NotOurs.DELETING
    if not is_for(workload, settings):
        return NotOurs.ANOTHERS
    if not scope_of(kind, settings.namespaces).covers(metadata.namespace or ""):
        return NotOurs.OUT_OF_SIGHT
    if not selector_of_flag(kind, settings).matches(metadata.labels):
        return NotOurs.NOT_SELECTED
    return None


def is_for(workload: Workload, settings: OperatorSettings) -> bool:
    """Whether a workload names an operator with this identity, whatever else there is to say."""
    return controller_of(workload) == settings.controller_id


def selector_of_flag(kind: str, settings: OperatorSettings) -> Selector:
    """What the flag about workloads of a kind selects; without the flag, all of them."""
    text: str = getattr(settings.selectors, WORKLOADS[kind].flags)
    return selector_of_text(text) if text else EVERYTHING
