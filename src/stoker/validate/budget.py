"""Whether an object costs more than one may (`stoker.limits`): counted, before anything is done.

`over_budget` counts what a tenant wrote: it looks at each text and each list once, parses nothing,
and stops at the first thing that is too much. A `Meter` counts what comes to light only while an
object is judged and written: the values of Secrets, and the size of what it becomes.

Every list, text and mapping is counted by some row: by name where there is one for it below, and
otherwise among the items, the members and the texts. So a new field is bounded from its first day.
"""

import re
from typing import Any, Final, TypeAlias

import msgspec

from stoker.errors import OverBudgetError, ResourceError
from stoker.golang.regex import parsed
from stoker.limits import LIMITS, Limits, said
from stoker.roles import RESOURCES
from stoker.validate.findings import Finding, Findings, Reason, json_names

BOUNDED: Final = frozenset(RESOURCES)
"""The kinds that have a budget: those that tenants write."""

# Which row counts the items of a list, by the name of the field.
_LISTS: Final = {
    "endpoints": "endpoints",
    "podMetricsEndpoints": "endpoints",
    "relabelings": "relabelings",
    "metricRelabelings": "relabelings",
    "relabelingConfigs": "relabelings",
    "static": "targets",
    "targets": "targets",
    "staticConfigs": "discoveries",
    "groups": "groups",
    "rules": "rules",
    "receivers": "receivers",
    "routes": "routes",
    "matchers": "matchers",
    "sourceMatch": "matchers",
    "targetMatch": "matchers",
    "inhibitRules": "inhibit-rules",
    "muteTimeIntervals": "time-intervals",
    "activeTimeIntervals": "time-intervals",
    "timeIntervals": "time-intervals",
}
# … and by how the name ends: `kubernetesSDConfigs`, `slackConfigs`.
_ENDINGS: Final = (("SDConfigs", "discoveries"), ("Configs", "integrations"))

_LONGEST_STEP: Final = 80
_MOST_STEPS: Final = 20
_REFERENCE: Final = frozenset(("name", "key", "optional"))
_REGEX_TYPES: Final = ("=~", "!~")
_TOKEN: Final = re.compile(
    r"""(?xs) \w++ | "(?:[^"\\]|\\.)*+"?+ | '(?:[^'\\]|\\.)*+'?+ | `[^`]*+`?+ | \#[^\n]*+ | \S""",
    re.ASCII,
)
_QUOTE: Final = re.compile("[\"'`]")
# What makes a short pattern heavy: a repetition, a class of Unicode, or ranges in either case.
_HEAVY: Final = r"\{[0-9]|\\[pP]|\(\?[imsU]*i"
_HEAVY_TEXT: Final = re.compile(_HEAVY)
_HEAVY_JSON: Final = re.compile(_HEAVY.replace(r"\\", r"\\\\").encode())
# Without any of that, a pattern has at most so many steps for each of its characters.
_LIGHT: Final = round(1 / LIMITS["pattern-weight"].least)
# The rows that are estimated first: to count them is more work than all other rows together.
_ESTIMATED: Final = frozenset(
    ("expression-tokens", "all-expression-tokens", "pattern-weight", "all-pattern-weight")
)

_Place: TypeAlias = tuple[str | int, Any]
"""Where a value stands: a name or a number, and the place that this is in; () for none."""
_SPEC: Final[_Place] = ("spec", ())
_Waiting: TypeAlias = list[tuple[Any, str, _Place, int]]


def _path(place: _Place) -> str:
    steps: list[str] = []
    step, above = place
    while above:
        steps.append(f"[{step}]" if isinstance(step, int) else f".{step[:_LONGEST_STEP]}")
        step, above = above
    steps.reverse()
    shown = steps if len(steps) <= _MOST_STEPS else [*steps[:_MOST_STEPS], "…"]
    return str(step) + "".join(shown)


def over_budget(spec: Any, limits: Limits, *, nested: bool = False) -> Findings:
    """A finding where a `spec`, typed or as JSON, has more of something than one may.

    One that is small in bytes is not looked through, unless it has `nested` JSON of any shape.
    """
    if not nested and _is_small(spec, limits):
        return
    try:
        _count(spec, limits)
    except OverBudgetError as error:
        yield stopped(error)
    except RecursionError:
        message = said("nesting", limits["nesting"] + 1, limits["nesting"])
        yield Finding("spec", Reason.OVER_BUDGET, message)


def _count(spec: Any, limits: Limits) -> None:
    """OverBudgetError where it is over a row; what surely is under one is not counted exactly."""
    if isinstance(spec, msgspec.Struct):
        # One that is far too long is not taken apart to be counted.
        _Tally(limits).glance(spec)
    whole = spec if isinstance(spec, dict) else msgspec.to_builtins(spec)
    try:
        _Tally(limits, estimating=True).walk(whole)
    except _PerhapsError:
        _Tally(limits).walk(whole)


def stopped(error: ResourceError) -> Finding:
    """What is said of an object that could not be written: it cost too much, or was wrong."""
    over = isinstance(error, OverBudgetError)
    reason = Reason.OVER_BUDGET if over else Reason.INVALID_VALUE
    return Finding(error.path, reason, error.reason)


def _is_small(spec: Any, limits: Limits) -> bool:
    try:
        encoded = msgspec.json.encode(spec)
    except (UnicodeEncodeError, OverflowError, TypeError):  # What YAML has and JSON has not.
        return False
    return len(encoded) < limits.small and not _HEAVY_JSON.search(encoded)


class Meter:
    """What an object was given of each limit so far; OverBudgetError where it is too much.

    Without limits nothing is too much: a workload is its owner's, and may cost what it costs.
    """

    def __init__(self, limits: Limits | None = None) -> None:
        self._limits = limits
        self._spent: dict[str, int] = {}

    def spend(self, name: str, amount: int, path: str = "spec", *, apart: str = "") -> None:
        """Count so many more; what is counted `apart` is not added to the rest."""
        if self._limits is None:
            return
        place = name + apart
        self._spent[place] = spent = self._spent.get(place, 0) + amount
        if spent > self._limits[name]:
            raise OverBudgetError(path, said(name, spent, self._limits[name]))


def _row_of(name: str) -> str:
    """The row that counts the items of a list."""
    found = (row for end, row in _ENDINGS if name.endswith(end))
    return _LISTS.get(name) or next(found, "items")


class _PerhapsError(Exception):
    """An estimate is over its row; the true figure need not be."""


class _Tally:
    """What was counted so far. `estimating`: of some rows, what it is at most."""

    def __init__(self, limits: Limits, *, estimating: bool = False) -> None:
        self._limits = limits.values
        self._estimating = estimating
        self._counted = dict.fromkeys(limits.values, 0)
        self._letters = 0
        self._most_letters = limits["object-length"]
        self._longest = limits["text-length"]

    def glance(self, spec: msgspec.Struct) -> None:
        """Look at the lengths of the lists at the top, and at nothing else."""
        for attribute, name in json_names(type(spec)).items():
            found = getattr(spec, attribute)
            if isinstance(found, list | tuple):
                self._most(_row_of(name), len(found), (name, _SPEC))

    def walk(self, spec: Any) -> None:
        if isinstance(spec, str):
            self._text(spec, "", _SPEC)
        nested = isinstance(spec, dict | list | tuple)
        waiting: _Waiting = [(spec, "", _SPEC, 1)] if nested else []
        while waiting:
            value, name, place, depth = waiting.pop()
            self._most("nesting", depth, place)
            if isinstance(value, dict):
                self._mapping(value, place, depth + 1, waiting)
            else:
                self._list(value, name, place, depth + 1, waiting)

    def _mapping(self, value: dict[Any, Any], place: _Place, depth: int, waiting: _Waiting) -> None:
        self._add("members", len(value), place)
        kind = "reference" if "key" in value and value.keys() <= _REFERENCE else ""
        pattern = value.get("matchType") in _REGEX_TYPES or value.get("regex") is True
        for key, item in value.items():
            self._length(len(key) if isinstance(key, str) else 1, place)
            name = "regex" if pattern and key == "value" else kind or str(key)
            if isinstance(item, str):
                self._text(item, name, (str(key), place))
            elif isinstance(item, dict | list | tuple):
                waiting.append((item, name, (str(key), place), depth))

    def _list(self, value: Any, name: str, place: _Place, depth: int, waiting: _Waiting) -> None:
        self._add(_row_of(name), len(value), place)
        for index, item in enumerate(value):
            if isinstance(item, str):
                self._text(item, "", (index, place))
            elif isinstance(item, dict | list | tuple):
                waiting.append((item, "", (index, place), depth))

    def _length(self, length: int, place: _Place) -> None:
        """Count the characters of a text or name."""
        self._letters += length
        if length > self._longest:
            self._most("text-length", length, place)
        if self._letters > self._most_letters:
            self._most("object-length", self._letters, place)

    def _text(self, text: str, name: str, place: _Place) -> None:
        length = len(text)
        self._length(length, place)
        if name == "reference":
            self._most("name-length", length, place)
        elif name == "regex":
            self._pattern(text, place)
        elif name == "expr":
            self._most("expression-length", length, place)
            self._expression(text, place)
        elif "{{" in text:
            self._most("template-length", length, place)
            self._add("all-template-length", length, place)

    def _expression(self, text: str, place: _Place) -> None:
        quoted = _QUOTE.search(text) is not None
        if self._estimating and not (quoted and _HEAVY_TEXT.search(text)):
            self._tokens(len(text), place)
            self._weight(_LIGHT * len(text) if quoted else 0, place)
            return
        tokens = _TOKEN.findall(text)
        self._tokens(len(tokens), place)
        for token in tokens if quoted else ():
            if token[0] in "\"'`":
                self._pattern(token[1:-1].replace("\\\\", "\\"), place)

    def _tokens(self, count: int, place: _Place) -> None:
        self._most("expression-tokens", count, place)
        self._add("all-expression-tokens", count, place)

    def _pattern(self, text: str, place: _Place) -> None:
        if self._estimating and not _HEAVY_TEXT.search(text):
            self._weight(_LIGHT * (len(text) + 1), place)
        else:
            # One that Go would refuse costs nothing, and is refused for that.
            self._weight(parsed(text).weight, place)

    def _weight(self, weight: int, place: _Place) -> None:
        self._most("pattern-weight", weight, place)
        self._add("all-pattern-weight", weight, place)

    def _add(self, row: str, amount: int, place: _Place) -> None:
        self._counted[row] = together = self._counted[row] + amount
        if together > self._limits[row]:
            self._most(row, together, place)

    def _most(self, row: str, measured: int, place: _Place) -> None:
        if measured <= self._limits[row]:
            return
        if self._estimating and row in _ESTIMATED:
            raise _PerhapsError
        raise OverBudgetError(_path(place), said(row, measured, self._limits[row]))
