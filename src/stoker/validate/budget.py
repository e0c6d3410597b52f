"""Whether an object costs more than one may (`stoker.limits`): counted, before anything is done.

`over_budget` counts what a tenant wrote: it looks at each text and each list once, parses nothing,
and stops at the first thing that is too much. A `Meter` counts what comes to light only while an
object is judged and written: the values of Secrets, and the size of what it becomes.

Every list, text and mapping is counted by some row: by name where there is one for it below, and
otherwise among the items, the members and the texts. So a new field is bounded from its first day.
"""

import re
from typing import Any, Final, NamedTuple, TypeAlias

import msgspec

from stoker.errors import OverBudgetError, ResourceError
from stoker.golang.regex import parsed
from stoker.limits import Limits, said
from stoker.validate.findings import Finding, Findings, Reason, json_names

_MONITORS: Final = ("ServiceMonitor", "PodMonitor", "Probe", "ScrapeConfig")
BOUNDED: Final = frozenset((*_MONITORS, "PrometheusRule", "AlertmanagerConfig"))
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
# What makes a short pattern heavy: a repetition, a class of Unicode, or ranges in either case.
_HEAVY: Final = re.compile(rb"\{[0-9]|\\\\[pP]|\(\?[imsU]*i")


class _Place(NamedTuple):
    """Where a value stands: below another one, by a name or a number."""

    step: str
    above: "_Place | None" = None
    depth: int = 1

    def below(self, step: str) -> "_Place":
        return _Place(step, self, self.depth + 1)

    def __str__(self) -> str:
        steps, place = [], self
        while place.above is not None:
            steps.append(place.step)
            place = place.above
        steps.reverse()
        shown = steps if len(steps) <= _MOST_STEPS else [*steps[:_MOST_STEPS], "…"]
        return place.step + "".join(shown)


_SPEC: Final = _Place("spec")
_Waiting: TypeAlias = list[tuple[Any, str, _Place]]


def over_budget(spec: Any, limits: Limits, *, nested: bool = False) -> Findings:
    """A finding where a `spec`, typed or as JSON, has more of something than one may.

    One that is small in bytes is not looked through, unless it has `nested` JSON of any shape.
    """
    if not nested and _is_small(spec, limits):
        return
    tally = _Tally(limits)
    try:
        if isinstance(spec, msgspec.Struct):
            # One that is far too long is not taken apart to be counted.
            tally.glance(spec)
        tally.walk(spec if isinstance(spec, dict) else msgspec.to_builtins(spec))
    except OverBudgetError as error:
        yield stopped(error)
    except RecursionError:
        message = said("nesting", limits["nesting"] + 1, limits["nesting"])
        yield Finding("spec", Reason.OVER_BUDGET, message)


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
    return len(encoded) < limits.small and not _HEAVY.search(encoded)


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


class _Tally:
    def __init__(self, limits: Limits) -> None:
        self._limits = limits
        self._counted = dict.fromkeys(limits.values, 0)

    def glance(self, spec: msgspec.Struct) -> None:
        """Look at the lengths of the lists at the top, and at nothing else."""
        for attribute, name in json_names(type(spec)).items():
            found = getattr(spec, attribute)
            if isinstance(found, list | tuple):
                self._most(_row_of(name), len(found), _SPEC.below(f".{name}"))

    def walk(self, spec: Any) -> None:
        waiting: _Waiting = [(spec, "", _SPEC)]
        while waiting:
            value, name, place = waiting.pop()
            if isinstance(value, str):
                self._text(value, name, place)
            elif isinstance(value, dict):
                self._mapping(value, place, waiting)
            elif isinstance(value, list | tuple):
                self._list(value, name, place, waiting)

    def _mapping(self, value: dict[Any, Any], place: _Place, waiting: _Waiting) -> None:
        self._most("nesting", place.depth, place)
        self._add("members", len(value), place)
        is_reference = "key" in value and value.keys() <= _REFERENCE
        kind = "reference" if is_reference else ""
        pattern = value.get("matchType") in _REGEX_TYPES or value.get("regex") is True
        for key, item in value.items():
            self._name(key, place)
            if isinstance(item, str | dict | list | tuple):
                name = "regex" if pattern and key == "value" else kind or str(key)
                waiting.append((item, name, place.below(f".{str(key)[:_LONGEST_STEP]}")))

    def _list(self, value: Any, name: str, place: _Place, waiting: _Waiting) -> None:
        self._most("nesting", place.depth, place)
        self._add(_row_of(name), len(value), place)
        for index, item in enumerate(value):
            if isinstance(item, str | dict | list | tuple):
                waiting.append((item, "", place.below(f"[{index}]")))

    def _name(self, key: Any, place: _Place) -> None:
        length = len(key) if isinstance(key, str) else 1
        self._most("text-length", length, place)
        self._add("object-length", length, place)

    def _text(self, text: str, name: str, place: _Place) -> None:
        length = len(text)
        self._most("text-length", length, place)
        self._add("object-length", length, place)
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
        tokens = _TOKEN.findall(text)
        self._most("expression-tokens", len(tokens), place)
        self._add("all-expression-tokens", len(tokens), place)
        for token in tokens:
            if token[0] in "\"'`":
                self._pattern(token[1:-1].replace("\\\\", "\\"), place)

    def _pattern(self, text: str, place: _Place) -> None:
        # One that Go would refuse costs nobody anything, and is refused for that.
        weight = parsed(text).weight
        self._most("pattern-weight", weight, place)
        self._add("all-pattern-weight", weight, place)

    def _add(self, row: str, amount: int, place: _Place) -> None:
        self._counted[row] = together = self._counted[row] + amount
        self._most(row, together, place)

    def _most(self, row: str, measured: int, place: _Place) -> None:
        if measured > self._limits.values[row]:
            raise OverBudgetError(str(place), said(row, measured, self._limits[row]))
