"""Selectors in words: what is asked for, and what is there instead."""

from collections.abc import Iterable, Mapping
from typing import Final

from stoker.select.labels import DOES_NOT_EXIST, EXISTS, IN, NOT_IN, Requirement, Selector
from stoker.spelling import nearest

_SHOWN: Final = 8


def asked_for(requirement: Requirement) -> str:
    """What a requirement asks for."""
    key, values = requirement.key, sorted(requirement.values)
    if requirement.operator == EXISTS:
        return f"a label `{key}`"
    if requirement.operator == DOES_NOT_EXIST:
        return f"no label `{key}`"
    if len(values) == 1:
        return f"label `{key}{'!=' if requirement.operator == NOT_IN else '='}{values[0]}`"
    word = "not in" if requirement.operator == NOT_IN else "in"
    return f"label `{key} {word} ({', '.join(values)})`"


def selector_words(selector: Selector) -> str:
    """All that a selector asks for."""
    if selector.nothing:
        return "nothing"
    return " and ".join(map(asked_for, selector.requirements)) or "everything"


def present(requirement: Requirement, labels: Mapping[str, str]) -> str:
    """What labels have where a requirement asks for something else; the end of a sentence."""
    value = labels.get(requirement.key)
    if value is not None:
        near = nearest(value, requirement.values) if requirement.operator == IN else ""
        return f"has `{requirement.key}={value}`" + (" (misspelt?)" if near else "")
    guess = nearest(requirement.key, labels, 0.8)
    hint = f", but `{guess}={labels[guess]}`" if guess else ""
    return f"has no label `{requirement.key}`{hint}"


def failing(selector: Selector, labels: Mapping[str, str]) -> list[Requirement]:
    """The requirements that labels do not meet."""
    return [each for each in selector.requirements if not each.holds(labels)]


def listed(words: Iterable[str], empty: str = "none") -> str:
    """Words in a row, each in backticks; many are cut short."""
    found = list(words)
    more = f" and {len(found) - _SHOWN} more" if len(found) > _SHOWN else ""
    return ", ".join(f"`{each}`" for each in found[:_SHOWN]) + more or empty


def counted(number: int, noun: str) -> str:
    """A number, as people read it, with its noun."""
    return f"{number:,} {noun}" + ("" if number == 1 else "s")
