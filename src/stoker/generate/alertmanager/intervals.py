"""Time intervals of an AlertmanagerConfig, under names that only it has."""

from typing import Any

from stoker.errors import ResourceError
from stoker.generate.alertmanager.routes import Tenant
from stoker.generate.alertmanager.sections import Flow
from stoker.generate.block import Block
from stoker.validate.alertmanager.syntax import clock_problem, range_of


def intervals_of(spec: Any) -> Any:
    """The time intervals of a spec, whichever version it is of."""
    name = "mute_time_intervals" if hasattr(spec, "mute_time_intervals") else "time_intervals"
    return getattr(spec, name) or ()


def interval(source: Any, tenant: Tenant, path: str) -> Block:
    """A named interval."""
    periods = [
        _period(period, f"{path}.timeIntervals[{index}]")
        for index, period in enumerate(source.time_intervals or ())
    ]
    return {"name": tenant.own(source.name), "time_intervals": periods}


def _period(period: Any, path: str) -> Block:
    days = [f"{days.start or 0}:{days.end or 0}" for days in period.days_of_month or ()]
    block = {
        "times": [_times(times, f"{path}.times") for times in period.times or ()],
        "weekdays": _ranges("weekdays", period.weekdays or (), f"{path}.weekdays"),
        "days_of_month": _ranges("days_of_month", days, f"{path}.daysOfMonth"),
        "months": _ranges("months", period.months or (), f"{path}.months"),
        "years": _ranges("years", period.years or (), f"{path}.years"),
    }
    return {key: value for key, value in block.items() if value}


def _times(times: Any, path: str) -> Block:
    start, end = times.start_time or "", times.end_time or ""
    problem = clock_problem(start, end)
    if problem:
        raise ResourceError(path, problem)
    return {"start_time": start, "end_time": end}


def _ranges(kind: str, texts: Any, path: str) -> Flow | None:
    found = [range_of(kind, text) for text in texts]
    for index, each in enumerate(found):
        if each.problem:
            raise ResourceError(f"{path}[{index}]", each.problem)
    return Flow(tuple(each.text for each in found)) if found else None
