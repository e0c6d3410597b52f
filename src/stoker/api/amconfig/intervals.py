"""Time intervals: when a route sends notifications, and when it keeps quiet.

The classes have v1beta1's form; v1alpha1 adds list types. All times are in UTC, because neither
version lets a user choose another time zone.
"""

from typing import Annotated, TypeAlias

from stoker.api.declare import NO_TEXT, Model, doc, rule

_MONTH = (
    "(?i)january|february|march|april|may|june|july|august|september|october|november|december"
    "|1[0-2]|[1-9]"
)
_DAY = "sun|mon|tues|wednes|thurs|fri|satur"

Clock: TypeAlias = Annotated[str, rule(pattern="^((([01][0-9])|(2[0-3])):[0-5][0-9])$|(^24:00$)")]
DayOfMonth: TypeAlias = Annotated[int, rule(minimum=-31, maximum=31)]
MonthRange: TypeAlias = Annotated[str, rule(pattern=f"^({_MONTH})(?:((:({_MONTH}))$)|$)")]
WeekdayRange: TypeAlias = Annotated[str, rule(pattern=f"^((?i){_DAY})day(?:((:({_DAY})day)$)|$)")]
YearRange: TypeAlias = Annotated[str, rule(pattern=r"^2\d{3}(?::2\d{3}|$)")]

INTERVALS = doc("Time intervals that the routes of this object name.")
TIMES = doc("Times of day. Unset: the whole day.")
WEEKDAYS = doc(
    "Weekdays by English name, each alone or as an inclusive range: `saturday`, `monday:friday`. "
    "Unset: every day."
)
DAYS_OF_MONTH = doc("Days of the month. Unset: every day.")
MONTHS = doc(
    "Months by English name or number, each alone or as an inclusive range: `may:august`, `12`. "
    "Unset: every month."
)
YEARS = doc("Years, each alone or as an inclusive range: `2026:2028`. Unset: every year.")
PERIODS = doc("Periods that make up the interval; a moment in any of them is in the interval.")


class TimeRange(Model):
    """A part of the day, in UTC. It includes its start and excludes its end."""

    start_time: Annotated[Clock | None, doc("First minute, as `HH:MM`, for example `09:00`.")] = (
        None
    )
    end_time: Annotated[
        Clock | None, doc("Minute after the last, as `HH:MM`; `24:00` is the end of the day.")
    ] = None


class DayOfMonthRange(Model):
    """Days of the month from start to end, both included. Negative days count from its end."""

    start: Annotated[
        DayOfMonth | None, doc("First day: 1 to 31, or -31 to -1 (-1 is the month's last day).")
    ] = None
    end: Annotated[
        DayOfMonth | None, doc("Last day: 1 to 31, or -31 to -1. Cut off where the month ends.")
    ] = None


class TimePeriod(Model):
    """Moments that satisfy all of the fields that are set. A field is satisfied by any item."""

    times: Annotated[tuple[TimeRange, ...] | None, TIMES] = None
    weekdays: Annotated[tuple[WeekdayRange, ...] | None, WEEKDAYS] = None
    days_of_month: Annotated[tuple[DayOfMonthRange, ...] | None, DAYS_OF_MONTH] = None
    months: Annotated[tuple[MonthRange, ...] | None, MONTHS] = None
    years: Annotated[tuple[YearRange, ...] | None, YEARS] = None


class TimeInterval(Model):
    """A named set of periods that routes refer to."""

    name: Annotated[str, doc("Name for routes to refer to. Unique within this object.")] = NO_TEXT
    time_intervals: Annotated[tuple[TimePeriod, ...] | None, PERIODS] = None
