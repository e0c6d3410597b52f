"""Objects by their labels, so that what a selector chooses among thousands is found at once."""

from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence
from typing import Generic, Protocol, TypeVar

from stoker.select.labels import EXISTS, IN, Requirement, Selector


class Labelled(Protocol):
    """Something with labels."""

    @property
    def labels(self) -> Mapping[str, str]:
        """Its labels."""
        ...


T = TypeVar("T")


class Shelf(Generic[T]):
    """Objects, which have labels, by each of these."""

    def __init__(self, items: Iterable[tuple[T, Mapping[str, str]]]) -> None:
        self._items: list[T] = []
        self._by_key: defaultdict[str, list[T]] = defaultdict(list)
        self._by_label: defaultdict[tuple[str, str], list[T]] = defaultdict(list)
        for item, labels in items:
            self._items.append(item)
            for key, value in labels.items():
                self._by_key[key].append(item)
                self._by_label[key, value].append(item)

    def near(self, selector: Selector) -> Sequence[T]:
        """All that a selector chooses, and perhaps more."""
        if selector.nothing:
            return ()
        found = (self._with(one) for one in selector.requirements)
        return min(found, key=len, default=self._items)

    def _with(self, requirement: Requirement) -> list[T]:
        """Those that meet a requirement, and perhaps more; an object has a label only once."""
        if requirement.operator == EXISTS:
            return self._by_key.get(requirement.key, [])
        if requirement.operator != IN:
            return self._items
        few = [self._by_label.get((requirement.key, each), []) for each in requirement.values]
        return few[0] if len(few) == 1 else [item for each in few for item in each]


class Shelves(Generic[T]):
    """Several together."""

    def __init__(self, parts: Iterable[Shelf[T] | "Shelves[T]"]) -> None:
        self._parts = tuple(parts)

    def near(self, selector: Selector) -> Sequence[T]:
        """All that a selector chooses, and perhaps more."""
        return [item for part in self._parts for item in part.near(selector)]
