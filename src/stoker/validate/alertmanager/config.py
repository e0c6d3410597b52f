"""What Alertmanager would refuse of an AlertmanagerConfig, with the path to each fault.

`alertmanager_config` is for an Alertmanager that selects the object: it knows the version and reads
the values behind references. `settings_of` is of the object alone, as a webhook sees it.
"""

from typing import Any, TypeAlias

from stoker.api.amconfig import v1alpha1, v1beta1
from stoker.errors import OverBudgetError, below
from stoker.limits import NO_CHANGES
from stoker.validate.alertmanager import receivers as amreceivers
from stoker.validate.alertmanager import routes as amroutes
from stoker.validate.alertmanager.reading import AlertReading
from stoker.validate.budget import over_budget, stopped
from stoker.validate.findings import Findings
from stoker.validate.intervals import time_intervals

Config: TypeAlias = v1alpha1.AlertmanagerConfig | v1beta1.AlertmanagerConfig


def settings_of(config: Config) -> Findings:
    """What is wrong with an object whoever reads it."""
    return _findings(config.spec, None)


def alertmanager_config(config: Config, reading: AlertReading) -> Findings:
    """What is wrong with an object for one Alertmanager; what it costs first."""
    limits = reading.limits or NO_CHANGES
    over = tuple(over_budget(config.spec, limits, nested=True))
    if over:
        yield from over
        return
    try:
        yield from _findings(config.spec, reading)
    except OverBudgetError as error:
        yield stopped(error)


def _findings(spec: Any, reading: AlertReading | None) -> Findings:
    attribute = "time_intervals" if hasattr(spec, "time_intervals") else "mute_time_intervals"
    shown = "timeIntervals" if attribute == "time_intervals" else "muteTimeIntervals"
    given = getattr(spec, attribute) or ()
    names = amroutes.Names(
        receivers=frozenset(receiver.name for receiver in spec.receivers or ()),
        intervals=frozenset(interval.name for interval in given),
        version=reading.version if reading else None,
        utf8=reading.utf8_names if reading else True,
    )
    yield from amreceivers.receivers(spec.receivers, reading, "spec.receivers")
    if spec.route is not None:
        yield from amroutes.routes(spec.route, names, "spec.route")
    yield from amroutes.inhibit_rules(spec.inhibit_rules, names, "spec.inhibitRules")
    yield from time_intervals(given, below("spec", shown))
