"""Durations, sizes and numbers: out of range, of another shape, or with a meaning of their own."""

from typing import Any, Final

from stoker.validate.findings import Reason
from tests.hostile.payload import CONFLICT, INVALID, REFUSED, Attack, LeftOut, Refused

ATTACK: Final = Attack("measures")

NOT_DURATIONS: Final = (
    "-1s",
    "1.5s",
    "10",
    "s",
    "30m1h",
    "1s ",
    " 1s",
    "1s\n",
    "１s",
    "1S",
    "5 m",
    "1y1y",
    "NaN",
    "1h-1m",
)
TOO_LONG: Final = ("999999999y", "9" * 40 + "s", "300y")

_KINDS: Final = {
    "ServiceMonitor": ("spec.endpoints[0].interval", "spec.endpoints[0].scrapeTimeout"),
    "PodMonitor": ("spec.podMetricsEndpoints[0].interval",),
    "Probe": ("spec.interval", "spec.scrapeTimeout"),
    "ScrapeConfig": ("spec.scrapeInterval", "spec.scrapeTimeout"),
    "PrometheusRule": (
        "spec.groups[0].interval",
        "spec.groups[0].query_offset",
        "spec.groups[0].rules[0].for",
        "spec.groups[0].rules[0].keep_firing_for",
    ),
}
for _kind, _places in _KINDS.items():
    for _number, _place in enumerate(_places):
        ATTACK.at(
            _kind,
            _place,
            *(NOT_DURATIONS[_number:] if _number == 0 else NOT_DURATIONS[:2]),
            then=REFUSED,
        )
        ATTACK.at(_kind, _place, *TOO_LONG[: 3 - _number], then=INVALID)
ATTACK.at("ServiceMonitor", "spec.endpoints[0].scrapeTimeout", "31s", "1y", then=CONFLICT)
ATTACK.at("ServiceMonitor", "spec.endpoints[0].interval", "0", "0s", "1ms", "", "290y")
ATTACK.at("PrometheusRule", "spec.groups[0].interval", "0s", "", "290y")
ATTACK.at(
    "ScrapeConfig",
    "spec.scrapeTimeout",
    "10s",
    beside={"scrapeInterval": "5s"},
    then=CONFLICT,
)

_ROUTE: Final = "spec.route"
for _field in ("groupWait", "groupInterval", "repeatInterval"):
    ATTACK.at("AlertmanagerConfig", f"{_ROUTE}.{_field}", *NOT_DURATIONS[:4], then=REFUSED)
    ATTACK.at("AlertmanagerConfig", f"{_ROUTE}.{_field}", *TOO_LONG[:2], then=INVALID)
ATTACK.at("AlertmanagerConfig", f"{_ROUTE}.groupInterval", "0s", "0")
ATTACK.at("AlertmanagerConfig", f"{_ROUTE}.repeatInterval", "0s")
_HOOK: Final = "spec.receivers[0].webhookConfigs[0]"
ATTACK.at("AlertmanagerConfig", f"{_HOOK}.timeout", "x", "-5s", then=REFUSED)
ATTACK.at("AlertmanagerConfig", f"{_HOOK}.timeout", TOO_LONG[0], then=INVALID)
ATTACK.at("AlertmanagerConfig", f"{_HOOK}.maxAlerts", -1, then=REFUSED)
ATTACK.at("AlertmanagerConfig", f"{_HOOK}.maxAlerts", 2**31, 2**63, 1.5, "1", then=REFUSED)

# --- Sizes ----------------------------------------------------------------------------------------

for _kind in ("ServiceMonitor", "PodMonitor", "ScrapeConfig"):
    ATTACK.at(_kind, "spec.bodySizeLimit", "x", "10", "10 MB\n", then=REFUSED)
ATTACK.at(
    "ServiceMonitor",
    "spec.bodySizeLimit",
    "x 10MB",
    "-10MB",
    "\n10MB",
    "99999999999999999999EB",
    then=INVALID,
)
ATTACK.at("ServiceMonitor", "spec.bodySizeLimit", "0", "10MB", ".5KiB")
_FACTOR: Final = "spec.nativeHistogramMinBucketFactor"
ATTACK.at("ServiceMonitor", _FACTOR, "x", "1,5", "NaN", "1e", then=REFUSED)
ATTACK.at("ServiceMonitor", _FACTOR, "1.5", 2, "1100m", "-1", "0", "1e3")

# --- Whole numbers --------------------------------------------------------------------------------

for _field in ("sampleLimit", "targetLimit", "labelLimit", "keepDroppedTargets"):
    ATTACK.at("ServiceMonitor", f"spec.{_field}", -1, 2**63, "5", 1.5, then=REFUSED)
    ATTACK.at("ServiceMonitor", f"spec.{_field}", 0, 2**31)
ATTACK.at("ServiceMonitor", "spec.sampleLimit", 2**63 - 1)
ATTACK.at("PrometheusRule", "spec.groups[0].limit", -1, 0, 2**62)
ATTACK.at("PrometheusRule", "spec.groups[0].limit", 2**63, then=INVALID)
ATTACK.at("PrometheusRule", "spec.groups[0].limit", "5", then=REFUSED)
ATTACK.at("ServiceMonitor", "spec.endpoints[0].targetPort", -1, 0, 70_000, 2**31 - 1, "x y")
ATTACK.at("ServiceMonitor", "spec.endpoints[0].targetPort", 2**31, 2**63)
ATTACK.at("ServiceMonitor", "spec.endpoints[0].targetPort", 1.5, then=REFUSED)
ATTACK.at("PodMonitor", "spec.podMetricsEndpoints[0].portNumber", 0, 70_000, -1, then=REFUSED)
ATTACK.at(
    "ScrapeConfig",
    "spec.dnsSDConfigs[0].port",
    -1,
    70_000,
    beside={"names": ["a"], "type": "A"},
    then=REFUSED,
)

# --- Discoveries ----------------------------------------------------------------------------------

_HTTP: Final = "spec.httpSDConfigs[0]"
ATTACK.at(
    "ScrapeConfig",
    f"{_HTTP}.refreshInterval",
    "0s",
    "0",
    beside={"url": "http://a.example"},
    then=INVALID,
)
ATTACK.at(
    "ScrapeConfig",
    f"{_HTTP}.refreshInterval",
    "-1s",
    beside={"url": "http://a.example"},
    then=REFUSED,
)
_DNS: Final = "spec.dnsSDConfigs[0]"
ATTACK.at(
    "ScrapeConfig",
    _DNS,
    {"names": [], "type": "A", "port": 1},
    then=Refused(f"{_DNS}.names"),
    about="no names",
)
ATTACK.at("ScrapeConfig", f"{_DNS}.type", "XYZ", beside={"names": ["a"]}, then=REFUSED)

# --- Times ----------------------------------------------------------------------------------------

_INTERVAL: Final = "spec.muteTimeIntervals[0].timeIntervals[0]"
for _field, _values in {
    "months": ["13", "0", "x", "1:2:3", "1\n"],
    "weekdays": ["someday", "monday:"],
    "years": ["1999", "x", "2020:"],
}.items():
    for _value in _values:
        ATTACK.at("AlertmanagerConfig", f"{_INTERVAL}.{_field}[0]", _value, then=REFUSED)
RANGES: Final[tuple[tuple[str, Any], ...]] = (
    ("months[0]", "december:january"),
    ("weekdays[0]", "saturday:monday"),
    ("years[0]", "2030:2020"),
    ("times[0]", {"startTime": "10:00", "endTime": "09:00"}),
    ("times[0]", {"startTime": "10:00"}),
)
for _field, _range in RANGES:
    ATTACK.whole(
        "AlertmanagerConfig",
        f"{_field} {_range}",
        {
            "muteTimeIntervals": [
                {"name": "x", "timeIntervals": [{_field.partition("[")[0]: [_range]}]}
            ]
        },
        INVALID,
        f"{_INTERVAL}.{_field}",
    )
DAYS: Final[tuple[tuple[str, Any, LeftOut | Refused], ...]] = (
    ("daysOfMonth[0]", {"start": 0, "end": 1}, LeftOut(path=f"{_INTERVAL}.daysOfMonth[0].start")),
    (
        "daysOfMonth[0]",
        {"start": -1, "end": 1},
        LeftOut(Reason.CONFLICT, f"{_INTERVAL}.daysOfMonth[0].end"),
    ),
    (
        "daysOfMonth[0]",
        {"start": 5, "end": 2},
        LeftOut(Reason.CONFLICT, f"{_INTERVAL}.daysOfMonth[0].end"),
    ),
    ("daysOfMonth[0]", {"start": 1, "end": 32}, Refused(f"{_INTERVAL}.daysOfMonth[0].end")),
    (
        "times[0]",
        {"startTime": "25:00", "endTime": "26:00"},
        Refused(f"{_INTERVAL}.times[0].startTime"),
    ),
)
for _field, _range, _then in DAYS:
    ATTACK.whole(
        "AlertmanagerConfig",
        f"{_field} {_range}",
        {
            "muteTimeIntervals": [
                {"name": "x", "timeIntervals": [{_field.partition("[")[0]: [_range]}]}
            ]
        },
        _then,
    )
