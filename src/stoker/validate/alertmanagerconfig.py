"""What Alertmanager would refuse of an AlertmanagerConfig, with the path to each fault.

`alertmanager_config` is for an Alertmanager that selects the object: it knows the version and reads
the values behind references. `settings_of` is of the object alone, as a webhook sees it.
"""

from typing import Any, TypeAlias

from stoker.api.amconfig import v1alpha1, v1beta1
from stoker.errors import below
from stoker.validate import amreceivers, amroutes
from stoker.validate.alerting import day_of_month_range
from stoker.validate.amscope import AlertScope
from stoker.validate.amsyntax import Range, clock_problem, range_of
from stoker.validate.findings import Finding, Findings, Reason

Config: TypeAlias = v1alpha1.AlertmanagerConfig | v1beta1.AlertmanagerConfig


def settings_of(config: Config) -> Findings:
    """What is wrong with an object whoever reads it."""
    return _findings(config.spec, None)


def alertmanager_config(config: Config, scope: AlertScope) -> Findings:
    """What is wrong with an object for one Alertmanager."""
    return _findings(config.spec, scope)


def _findings(spec: Any, scope: AlertScope | None) -> Findings:
    attribute = "time_intervals" if hasattr(spec, "time_intervals") else "mute_time_intervals"
    shown = "timeIntervals" if attribute == "time_intervals" else "muteTimeIntervals"
    given = getattr(spec, attribute) or ()
    names = amroutes.Names(
        receivers=frozenset(receiver.name for receiver in spec.receivers or ()),
        intervals=frozenset(interval.name for interval in given),
        version=scope.version if scope else None,
        utf8=scope.utf8_names if scope else True,
    )
    yield from amreceivers.receivers(spec.receivers, scope, "spec.receivers")
    if spec.route is not None:
        yield from amroutes.routes(spec.route, names, "spec.route")
    yield from amroutes.inhibit_rules(spec.inhibit_rules, names, "spec.inhibitRules")
    yield from _intervals(given, below("spec", shown))


def _intervals(given: Any, path: str) -> Findings:
    seen = set()
    for index, interval in enumerate(given):
        where = f"{path}[{index}]"
        if not interval.name:
            yield Finding(below(where, "name"), Reason.REQUIRED, "must be set")
        elif interval.name in seen:
            message = f"there are two time intervals `{interval.name}`"
            yield Finding(below(where, "name"), Reason.DUPLICATE, message)
        seen.add(interval.name)
        for at, period in enumerate(interval.time_intervals or ()):
            yield from _period(period, f"{where}.timeIntervals[{at}]")


def _period(period: Any, path: str) -> Findings:
    for index, times in enumerate(period.times or ()):
        problem = clock_problem(times.start_time or "", times.end_time or "")
        if problem:
            yield Finding(f"{path}.times[{index}]", Reason.INVALID_VALUE, problem)
    for index, days in enumerate(period.days_of_month or ()):
        where = f"{path}.daysOfMonth[{index}]"
        found = list(day_of_month_range(days, where))
        yield from found
        if not found:
            yield from _out_of_range(range_of("days_of_month", f"{days.start}:{days.end}"), where)
    for kind in ("weekdays", "months", "years"):
        for index, text in enumerate(getattr(period, kind) or ()):
            yield from _out_of_range(range_of(kind, text), f"{path}.{kind}[{index}]")


def _out_of_range(found: Range, path: str) -> Findings:
    if found.problem:
        yield Finding(path, Reason.INVALID_VALUE, found.problem)
