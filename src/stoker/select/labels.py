"""Label selectors: what they match, and what is wrong with them.

A declared `LabelSelector` is turned into a `Selector` once and then asked often. An absent selector
chooses nothing, an empty one everything. One that Kubernetes would refuse chooses nothing either;
`problems` names what is wrong, with the path.
"""

import re
from collections.abc import Iterator, Mapping
from typing import Final

from msgspec import Struct

from stoker.api.core import LabelSelector, LabelSelectorRequirement

IN: Final = "In"
NOT_IN: Final = "NotIn"
EXISTS: Final = "Exists"
DOES_NOT_EXIST: Final = "DoesNotExist"

_NAME_PATTERN: Final = r"[A-Za-z0-9](?:[-A-Za-z0-9_.]{0,61}[A-Za-z0-9])?"
_NAME: Final = re.compile(_NAME_PATTERN)
_SUBDOMAIN: Final = re.compile(r"[a-z0-9]([-a-z0-9]*[a-z0-9])?(\.[a-z0-9]([-a-z0-9]*[a-z0-9])?)*")


class SelectorProblem(Struct, frozen=True):
    """What Kubernetes would refuse in a selector, and where."""

    path: str
    message: str


class Requirement(Struct, frozen=True):
    """One condition on one label."""

    key: str
    operator: str
    values: frozenset[str] = frozenset()

    def holds(self, labels: Mapping[str, str]) -> bool:
        """Whether the labels meet it."""
        value = labels.get(self.key)
        if self.operator == IN:
            return value is not None and value in self.values
        if self.operator == NOT_IN:
            return value is None or value not in self.values
        return (value is not None) is (self.operator == EXISTS)


class Selector(Struct, frozen=True):
    """Requirements that must all hold; with `nothing`, no labels match."""

    requirements: tuple[Requirement, ...] = ()
    nothing: bool = False

    def matches(self, labels: Mapping[str, str] | None) -> bool:
        """Whether these labels are chosen."""
        known = labels or {}
        return not self.nothing and all(one.holds(known) for one in self.requirements)


EVERYTHING: Final = Selector()
NOTHING: Final = Selector(nothing=True)


def selector_of(declared: LabelSelector | None) -> Selector:
    """The selector that a declaration means."""
    if declared is None or next(problems(declared), None):
        return NOTHING
    pairs = sorted((declared.match_labels or {}).items())
    equal = [Requirement(key, IN, frozenset((value,))) for key, value in pairs]
    others = [_requirement(one) for one in declared.match_expressions or ()]
    return Selector((*equal, *others))


def _requirement(declared: LabelSelectorRequirement) -> Requirement:
    return Requirement(declared.key, declared.operator, frozenset(declared.values or ()))


def problems(declared: LabelSelector | None, path: str = "") -> Iterator[SelectorProblem]:
    """Everything that Kubernetes would refuse in a selector."""
    if declared is None:
        return
    for key, value in sorted((declared.match_labels or {}).items()):
        where = f"{path}.matchLabels[{key}]".lstrip(".")
        yield from _bad_key(key, where)
        yield from _bad_values((value,), where)
    for index, one in enumerate(declared.match_expressions or ()):
        where = f"{path}.matchExpressions[{index}]".lstrip(".")
        yield from _bad_key(one.key, where)
        yield from _bad_values(one.values or (), where)
        yield from _bad_operator(one, where)


def _bad_operator(one: LabelSelectorRequirement, path: str) -> Iterator[SelectorProblem]:
    if one.operator in (IN, NOT_IN):
        if not one.values:
            yield SelectorProblem(path, f"operator `{one.operator}` needs values")
    elif one.operator in (EXISTS, DOES_NOT_EXIST):
        if one.values:
            yield SelectorProblem(path, f"operator `{one.operator}` takes no values")
    else:
        yield SelectorProblem(path, f"there is no operator `{one.operator}`")


def _bad_key(key: str, path: str) -> Iterator[SelectorProblem]:
    prefix, slash, name = key.rpartition("/")
    good_prefix = not slash or (len(prefix) <= 253 and _SUBDOMAIN.fullmatch(prefix))
    if not (good_prefix and _NAME.fullmatch(name)):
        yield SelectorProblem(path, f"`{key}` cannot be the key of a label")


def _bad_values(values: tuple[str, ...], path: str) -> Iterator[SelectorProblem]:
    for value in values:
        if value and not _NAME.fullmatch(value):
            yield SelectorProblem(path, f"`{value}` cannot be the value of a label")


# What Kubernetes passes over, and a gap that may have some of it.
_BLANKS: Final = " \t\r\n"
_GAP: Final = f"[{_BLANKS}]*"
_KEY_TEXT: Final = r"(?:[a-z0-9][-a-z0-9.]{0,252}/)?" + _NAME_PATTERN
_VALUE_TEXT: Final = rf"(?:{_NAME_PATTERN}{_GAP})?"
_VALUES_TEXT: Final = rf"\({_GAP}{_VALUE_TEXT}(?:,{_GAP}{_VALUE_TEXT})*\){_GAP}"
# Each character can be read in one way only, so that no text makes this slow.
_REQUIREMENT_TEXT: Final = re.compile(
    rf"{_GAP}(?:!{_GAP}{_KEY_TEXT}{_GAP}|{_KEY_TEXT}{_GAP}(?:(?:==?|!=){_GAP}{_VALUE_TEXT}"
    rf"|[<>]{_GAP}\d+{_GAP}|(?<=[{_BLANKS}])(?:not)?in{_GAP}{_VALUES_TEXT})?)(?:,|\Z)",
    re.ASCII,
)


def label_text_problem(text: str) -> str:
    """Why Kubernetes would not take a label selector written as text; empty if it would."""
    position = 0 if text.strip(_BLANKS) else len(text)
    while position < len(text):
        found = _REQUIREMENT_TEXT.match(text, position)
        if not found:
            return f"cannot be read as a label selector from `{text[position:][:40]}` on"
        position = found.end()
    return "" if not text.rstrip(_BLANKS).endswith(",") else "ends with a comma"


# In a value, a backslash stands before a comma, an equals sign or a backslash.
_FIELD_VALUE: Final = r"(?:[^\\,=]|\\[\\,=])*"
_FIELD_TERM: Final = rf"(?:[^\\,=!]*(?:==?|!=){_FIELD_VALUE})?"
_FIELD_TEXT: Final = re.compile(rf"{_FIELD_TERM}(?:,{_FIELD_TERM})*")


def field_text_problem(text: str) -> str:
    """Why Kubernetes would not take a field selector written as text; empty if it would."""
    found = _FIELD_TEXT.fullmatch(text)
    return "" if found else "is not a list of conditions such as `spec.nodeName=node-1`"


# --- Selectors of flags ---------------------------------------------------------------------------

_PART: Final = re.compile(
    r"\s*(?:!\s*(?P<absent>[^\s,!=()<>]+)"
    r"|(?P<key>[^\s,!=()<>]+)\s*(?:(?P<sign>==?|!=)\s*(?P<value>[^\s,()]*)"
    r"|(?P<word>in|notin)\s*\((?P<values>[^)]*)\)|[<>]\s*\d+)?)\s*(?:,|$)"
)


def selector_of_text(text: str) -> Selector:
    """A label selector written as text, which was checked before; comparisons of numbers aside."""
    return Selector(tuple(_requirements(text)))


def _requirements(text: str) -> Iterator[Requirement]:
    for found in _PART.finditer(text):
        key, sign, word = found["key"], found["sign"], found["word"]
        if found["absent"]:
            yield Requirement(found["absent"], DOES_NOT_EXIST)
        elif sign:
            yield Requirement(key, NOT_IN if sign == "!=" else IN, frozenset({found["value"]}))
        elif word:
            values = frozenset(each.strip() for each in found["values"].split(","))
            yield Requirement(key, NOT_IN if word == "notin" else IN, values)
        elif key and found[0].strip(" ,\t") == key:
            yield Requirement(key, EXISTS)
