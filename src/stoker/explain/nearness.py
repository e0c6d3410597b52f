"""What was probably meant: the object whose labels miss a selector by least."""

from collections.abc import Iterable, Mapping
from typing import Protocol, TypeVar

from stoker.select.labels import IN, Requirement, Selector
from stoker.spelling import nearest
from stoker.view.shelves import Labelled
from stoker.view.wording import failing, present


class Titled(Labelled, Protocol):
    """Something with labels and a title."""

    @property
    def title(self) -> str:
        """Kind, namespace and name."""
        ...


L = TypeVar("L", bound=Titled)


def near_miss(selector: Selector, candidates: Iterable[L]) -> str:
    """The nearest object and its first difference; the end of a sentence, empty if none is."""
    found = nearest_of(selector, candidates)
    if found is None:
        return ""
    missed = failing(selector, found.labels)
    return f"; the nearest is {found.title}, which {present(missed[0], found.labels)}"


def nearest_of(selector: Selector, candidates: Iterable[L]) -> L | None:
    """The object that misses a selector by least, if it has anything to do with it."""
    distances = ((distance(selector, each.labels), each.title, each) for each in candidates)
    least, _, found = min(distances, key=lambda each: each[:2], default=(1.0, "", None))
    return found if least < 1 else None


def distance(selector: Selector, labels: Mapping[str, str]) -> float:
    """How far labels are off: from 0, where all holds, to 1, where nothing is even similar."""
    if selector.nothing or not selector.requirements:
        return 1.0
    missed = failing(selector, labels)
    weights = (_weight(each, labels) for each in missed)
    return sum(weights) / len(selector.requirements)


def _weight(requirement: Requirement, labels: Mapping[str, str]) -> float:
    """How far off a label is; a value or a key that is only misspelt is nearer."""
    value = labels.get(requirement.key)
    if requirement.operator != IN:
        return 0.5
    if value is not None:
        return 0.4 if nearest(value, requirement.values) else 0.8
    if any(each in requirement.values for each in labels.values()):
        return 0.3
    return 0.7 if nearest(requirement.key, labels, 0.8) else 1.0
