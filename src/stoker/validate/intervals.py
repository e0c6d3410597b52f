"""Ranges of time in AlertmanagerConfigs: times of day, weekdays, days, months, years.

A range is a start and an end, both included (the end of a time of day is not). One that
cannot be read, or that ends before it starts, has a `problem` instead: Alertmanager would refuse
its whole configuration for it.
"""

import re
from collections.abc import Callable, Iterable
from typing import Final

from msgspec import Struct

from stoker.api.amconfig.intervals import DayOfMonthRange, TimeInterval, TimePeriod, TimeRange
from stoker.errors import below
from stoker.validate.alerting import day_of_month_range
from stoker.validate.alertmanager.syntax import range_of
from stoker.validate.findings import Finding, Findings, Reason

_CLOCK: Final = re.compile(r"([01][0-9]|2[0-3]):([0-5][0-9])|24:00")
_NUMBER: Final = re.compile(r"[0-9]{1,9}")
_WEEKDAYS: Final = (
    *("sunday", "monday", "tuesday", "wednesday"),
    *("thursday", "friday", "saturday"),
)
_MONTHS: Final = (
    *("january", "february", "march", "april", "may", "june"),
    *("july", "august", "september", "october", "november", "december"),
)
_END_OF_DAY: Final = 24 * 60


class Span(Struct, frozen=True):
    """A range as two numbers, or why it is none."""

    start: int = 0
    end: int = 0
    problem: str = ""


def times(given: TimeRange) -> Span:
    """Minutes of the day, from 0 to 1440."""
    start, end = _minutes(given.start_time or ""), _minutes(given.end_time or "")
    if start is None or end is None:
        return Span(problem="needs a start and an end as `HH:MM`, between 00:00 and 24:00")
    if start >= end:
        return Span(problem="must end after it starts; a night is two ranges")
    return Span(start, end)


def weekdays(text: str) -> Span:
    """Days of the week; Sunday, the first, is 0."""
    return _span(text, _weekday, "weekday")


def months(text: str) -> Span:
    """Months from 1 to 12, by number or by name."""
    return _span(text, _month, "month")


def years(text: str) -> Span:
    """Years."""
    return _span(text, _number, "year")


def time_intervals(intervals: Iterable[TimeInterval], path: str) -> Findings:
    """Each with a name of its own, and made of ranges that can be read."""
    seen: set[str] = set()
    for index, interval in enumerate(intervals):
        here = f"{path}[{index}]"
        if not interval.name:
            yield Finding(below(here, "name"), Reason.REQUIRED, "a time interval needs a name")
        elif interval.name in seen:
            message = f"there is already a time interval `{interval.name[:80]}` in this object"
            yield Finding(below(here, "name"), Reason.DUPLICATE, message)
        seen.add(interval.name)
        for at, period in enumerate(interval.time_intervals or ()):
            yield from _period(period, f"{here}.timeIntervals[{at}]")


def _period(period: TimePeriod, path: str) -> Findings:
    for index, given in enumerate(period.times or ()):
        yield from _problem(times(given), f"{path}.times[{index}]")
    for index, days in enumerate(period.days_of_month or ()):
        yield from _days(days, f"{path}.daysOfMonth[{index}]")
    for name, texts, read in (
        ("weekdays", period.weekdays, weekdays),
        ("months", period.months, months),
        ("years", period.years, years),
    ):
        for index, text in enumerate(texts or ()):
            yield from _problem(read(text), f"{path}.{name}[{index}]")


def _days(days: DayOfMonthRange, path: str) -> Findings:
    """Days in their order; Alertmanager, unlike a calendar, asks it of the shortest month."""
    found = list(day_of_month_range(days, path))
    yield from found
    problem = range_of("days_of_month", f"{days.start}:{days.end}").problem
    if problem and not found:
        yield Finding(path, Reason.INVALID_VALUE, problem)


def _problem(span: Span, path: str) -> Findings:
    if span.problem:
        yield Finding(path, Reason.INVALID_VALUE, span.problem)


def _span(text: str, member: Callable[[str], int | None], what: str) -> Span:
    ends = text.lower().split(":")
    if len(ends) > 2:
        return Span(problem=f"`{text[:40]}` has more than a start and an end")
    found = [member(end) for end in ends]
    for word, number in zip(ends, found, strict=True):
        if number is None:
            return Span(problem=f"`{word[:40]}` is no {what}")
    start, end = found[0] or 0, found[-1] or 0
    return (
        Span(start, end) if start <= end else Span(problem=f"`{text[:40]}` ends before it starts")
    )


def _minutes(text: str) -> int | None:
    found = _CLOCK.fullmatch(text)
    if not found:
        return None
    return int(found[1]) * 60 + int(found[2]) if found[1] else _END_OF_DAY


def _weekday(word: str) -> int | None:
    return _WEEKDAYS.index(word) if word in _WEEKDAYS else None


def _month(word: str) -> int | None:
    number = _MONTHS.index(word) + 1 if word in _MONTHS else _number(word)
    return number if number and number <= len(_MONTHS) else None


def _number(word: str) -> int | None:
    return int(word) if _NUMBER.fullmatch(word) else None
