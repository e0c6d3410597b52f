"""No reader of a tenant's object does more than in proportion to what was written."""

import sys
from collections.abc import Iterator
from typing import Any

import msgspec
import pytest

from stoker.validate import rules as rule_checks
from stoker.validate import verdicts
from stoker.validate.alertmanager import config as alertmanager_checks
from stoker.validate.budget import BOUNDED
from tests.doubling import Field, fields_once, object_of, read_raw, read_typed, typed_object

FEW = 30
LETTERS = 80
# How many calls may be more than in proportion, for each item: sorting takes some.
SPARE = 12


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


def excess(field: Field) -> int:
    """Calls beyond proportion: with steps of the same length, the work grows by the same amount.

    Looking through n items for each of n, in any way, makes at least n times n of them.
    """
    few = FEW if field.what in ("list", "mapping") else LETTERS
    steps(object_of(field, 3 * few))  # What is remembered of these texts is remembered now.
    once, twice, thrice = (steps(object_of(field, few * times)) for times in (1, 2, 3))
    return max(0, thrice - 2 * twice + once - SPARE * few)


@pytest.fixture
def _uncounted(monkeypatch: pytest.MonkeyPatch) -> None:
    """The budget reads plain texts only; it is looked at with JSON (`read_raw`)."""
    for module in (verdicts, rule_checks, alertmanager_checks):
        counting = module.over_budget

        def plain(spec: Any, limits: Any, *, nested: bool = False, counting: Any = counting) -> Any:
            return counting(spec, limits, nested=nested) if isinstance(spec, dict) else iter(())

        monkeypatch.setattr(module, "over_budget", plain)


def of_kind(kind: str) -> Iterator[Field]:
    """Its lists and mappings, and each text once; `python -m tests.doubling` tries more texts."""
    kept = ("list", "mapping", "'a'")
    return (each for each in FIELDS if each.sort.kind == kind and each.what in kept)


FIELDS = list(fields_once())


@pytest.mark.usefixtures("_uncounted")
@pytest.mark.parametrize("kind", sorted(BOUNDED))
def test_work_is_in_proportion_to_what_is_written(kind: str) -> None:
    """Every list, mapping and text of the kind, as it is declared."""
    beyond = {str(field): excess(field) for field in of_kind(kind)}
    assert beyond
    assert {name: found for name, found in beyond.items() if found} == {}
