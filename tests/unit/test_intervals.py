"""Ranges of time in AlertmanagerConfigs."""

from collections.abc import Callable

import pytest

from stoker.api.amconfig.intervals import TimeInterval, TimePeriod, TimeRange
from stoker.validate.intervals import Span, months, time_intervals, times, weekdays, years


@pytest.mark.parametrize(
    ("read", "text", "span"),
    [
        (weekdays, "monday", (1, 1)),
        (weekdays, "Sunday:SATURDAY", (0, 6)),
        (months, "january", (1, 1)),
        (months, "1:march", (1, 3)),
        (months, "12", (12, 12)),
        (years, "2030:2050", (2030, 2050)),
    ],
)
def test_ranges_are_two_numbers(
    read: Callable[[str], Span], text: str, span: tuple[int, int]
) -> None:
    """A single one is a range of itself; names may have capitals."""
    assert read(text) == Span(*span)


@pytest.mark.parametrize(
    ("read", "text"),
    [
        (weekdays, "saturday:sunday"),
        (weekdays, "onday"),
        (weekdays, "monday:friyay"),
        (weekdays, "monday:tuesday:friday"),
        (weekdays, "1"),
        (weekdays, ""),
        (months, "13"),
        (months, "0"),
        (months, "march:january"),
        (months, "١"),
        (years, "2020:2010"),
        (years, "-1"),
        (years, "soon"),
        (years, "9" * 5000),
    ],
)
def test_what_is_no_range_has_a_problem(read: Callable[[str], Span], text: str) -> None:
    """It is short, however long the text was."""
    assert 0 < len(read(text).problem) < 100


@pytest.mark.parametrize(
    ("start", "end", "span"),
    [
        ("00:00", "24:00", (0, 1440)),
        ("09:30", "17:00", (570, 1020)),
        ("17:00", "09:00", None),
        ("09:00", "09:00", None),
        ("9:00", "17:00", None),
        ("09:00", "24:01", None),
        ("-9:00", "10:00", None),
        (None, "10:00", None),
    ],
)
def test_times_of_day_are_minutes(
    start: str | None, end: str, span: tuple[int, int] | None
) -> None:
    """From midnight to midnight, in order."""
    found = times(TimeRange(start_time=start, end_time=end))
    assert (None if found.problem else (found.start, found.end)) == span


def test_every_bad_range_of_an_object_is_found() -> None:
    """With the path to it; names must be there, and be one's own."""
    bad = TimePeriod(times=(TimeRange(),), weekdays=("monday", "x"), years=("2030", "y"))
    intervals = (
        TimeInterval(name="a", time_intervals=(TimePeriod(), bad)),
        TimeInterval(name="a"),
        TimeInterval(),
    )
    assert [finding.path for finding in time_intervals(intervals, "spec.timeIntervals")] == [
        "spec.timeIntervals[0].timeIntervals[1].times[0]",
        "spec.timeIntervals[0].timeIntervals[1].weekdays[1]",
        "spec.timeIntervals[0].timeIntervals[1].years[1]",
        "spec.timeIntervals[1].name",
        "spec.timeIntervals[2].name",
    ]
