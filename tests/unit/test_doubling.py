"""No reader of a tenant's object does more than in proportion to what was written."""

import sys
from collections.abc import Iterator
from itertools import islice
from typing import Any

import msgspec
import pytest

from stoker.validate import rules as rule_checks
from stoker.validate import verdicts
from stoker.validate.alertmanager import config as alertmanager_checks
from tests.doubling import SORTS, Field, Sort, fields, object_of, read_raw, read_typed, typed_object

FEW = 24
LETTERS = 160
# Work that is proportional doubles; a little more for what is sorted.
ALLOWED = 2.3
# What is done once, whatever the size, is known from an object with next to nothing in it.
LEAST = 200


class Text(str):
    """A text whose comparisons are calls, so that looking through a list is seen as work."""

    __slots__ = ()

    def __eq__(self, other: object) -> bool:
        return str.__eq__(self, other)

    def __ne__(self, other: object) -> bool:
        return str.__ne__(self, other)

    def __hash__(self) -> int:
        return str.__hash__(self)


def with_texts(value: Any) -> Any:
    """The same object, with every text in a list such a one."""
    if isinstance(value, tuple):
        return tuple(Text(each) if type(each) is str else with_texts(each) for each in value)
    if isinstance(value, msgspec.Struct):
        names = value.__struct_fields__
        return type(value)(**{name: with_texts(getattr(value, name)) for name in names})
    return value


def steps(given: dict[str, Any]) -> int:
    """How many calls it takes to read an object."""
    found = with_texts(typed_object(given))
    counted = 0

    def count(_frame: Any, event: str, _argument: Any) -> None:
        nonlocal counted
        counted += event in ("call", "c_call")

    sys.setprofile(count)
    try:
        read_raw(given)
        if found is not None:
            read_typed(found)
    finally:
        sys.setprofile(None)
    return counted


def growth(field: Field) -> float:
    """How many times the work is, above that of the least, when the field is twice as long."""
    few = FEW if field.what in ("list", "mapping") else LETTERS
    none, once, twice = (steps(object_of(field, count)) for count in (1, few, 2 * few))
    return (twice - none + LEAST) / (once - none + LEAST)


@pytest.fixture
def _uncounted(monkeypatch: pytest.MonkeyPatch) -> None:
    """The budget reads plain texts only; it is looked at with JSON (`read_raw`)."""
    for module in (verdicts, rule_checks, alertmanager_checks):
        counting = module.over_budget

        def plain(spec: Any, limits: Any, *, nested: bool = False, counting: Any = counting) -> Any:
            return counting(spec, limits, nested=nested) if isinstance(spec, dict) else iter(())

        monkeypatch.setattr(module, "over_budget", plain)


def of_sort(sort: Sort) -> Iterator[Field]:
    """Its lists and mappings, and each text once; `python -m tests.doubling` tries more texts."""
    kept = ("list", "mapping", "'a'")
    return (field for field in fields(sort) if field.what in kept)


@pytest.mark.usefixtures("_uncounted")
@pytest.mark.parametrize("sort", SORTS, ids=lambda sort: f"{sort.kind}-{sort.version}")
def test_twice_as_much_is_twice_the_work(sort: Sort) -> None:
    """Every list, mapping and text of the kind, as it is declared."""
    for field in islice(of_sort(sort), 1):
        steps(object_of(field, 2 * FEW))  # What is made once and kept.
    grown = {str(field): growth(field) for field in of_sort(sort)}
    assert len(grown) > 10
    assert {name: found for name, found in grown.items() if found > ALLOWED} == {}
