"""Names: of groups, receivers, intervals, labels, metrics, jobs; of others, twice, or none."""

from typing import Final

from stoker.validate.findings import Reason
from tests.hostile.payload import (
    DUPLICATE,
    HOOK,
    INVALID,
    REFUSED,
    USED,
    Attack,
    Json,
    LeftOut,
    Refused,
)

ATTACK: Final = Attack("names")

OF_OTHERS: Final = (
    "alice/shop/phone",
    "../shop/phone",
    "/",
    "null",
    "~",
    "true",
    "1e3",
    "\n- name: x",
    "x" * 2000,
    "{{ .x }}",
    "mallory/hostile/mine",
    "alice/shop/phone\x00",
)


def called(name: str) -> Json:
    """A receiver of that name, and the route to it."""
    return {
        "route": {"receiver": name},
        "receivers": [{"name": name, "webhookConfigs": [HOOK]}],
    }


for _name in OF_OTHERS:
    ATTACK.whole("AlertmanagerConfig", f"receiver called {_name[:30]!a}", called(_name))
    ATTACK.whole(
        "AlertmanagerConfig",
        f"interval called {_name[:30]!a}",
        {
            "route": {"receiver": "mine", "muteTimeIntervals": [_name]},
            "muteTimeIntervals": [{"name": _name, "timeIntervals": [{"months": ["1"]}]}],
        },
    )
ATTACK.at(
    "AlertmanagerConfig", "spec.route.groupBy", ["a", "a"], then=Refused("spec.route.groupBy[1]")
)
# Of others, and not of one's own.
for _name in ("alice/shop/phone", "phone", "null", "default"):
    ATTACK.at("AlertmanagerConfig", "spec.route.receiver", _name, then=INVALID)
for _field in ("muteTimeIntervals", "activeTimeIntervals"):
    for _name in ("alice/shop/nights", "nights"):
        ATTACK.at("AlertmanagerConfig", f"spec.route.{_field}[0]", _name, then=INVALID)
ATTACK.at("AlertmanagerConfig", "spec.route.receiver", "", then=LeftOut(Reason.REQUIRED))
ATTACK.whole(
    "AlertmanagerConfig", "receiver without a name", called(""), Refused("spec.receivers[0].name")
)
ATTACK.whole(
    "AlertmanagerConfig",
    "two receivers of one name",
    {"receivers": [{"name": "mine", "webhookConfigs": [HOOK]}] * 2},
    Refused("spec.receivers[1]"),
)
ATTACK.whole(
    "AlertmanagerConfig",
    "two intervals of one name",
    {"muteTimeIntervals": [{"name": "x", "timeIntervals": [{"months": ["1"]}]}] * 2},
    DUPLICATE,
    "spec.muteTimeIntervals[1].name",
)
for _labels, _reason, _path in (
    (["..."], None, ""),
    (["...", "a"], Reason.CONFLICT, "spec.route.groupBy"),
    ([""], Reason.INVALID_VALUE, "spec.route.groupBy[0]"),
):
    _then = LeftOut(_reason, _path) if _reason else USED
    ATTACK.at("AlertmanagerConfig", "spec.route.groupBy", _labels, then=_then)
ATTACK.at(
    "AlertmanagerConfig",
    "spec.route.groupBy[0]",
    "a.b",
    "é",
    workload="old",
    then=LeftOut(webhook=False),
)
ATTACK.at("AlertmanagerConfig", "spec.inhibitRules[0].equal[0]", "", then=INVALID)

# --- Rules ----------------------------------------------------------------------------------------

_GROUPS: Final = "spec.groups"
_RULE: Final = {"alert": "A", "expr": "up"}
ATTACK.whole(
    "PrometheusRule",
    "two groups of one name",
    {"groups": [{"name": "g", "rules": [_RULE]}] * 2},
    Refused("spec.groups[1]"),
)
ATTACK.at("PrometheusRule", "spec.groups[0].name", "", then=REFUSED)
ATTACK.at(
    "PrometheusRule",
    "spec.groups[0].name",
    "shop",
    "a\nb",
    "*a",
    "../../etc/passwd",
    "x" * 3000,
    "$(POD_NAME)",
    "\x00",
    "{{ .x }}",
)
_ONE: Final = "spec.groups[0].rules[0]"
ATTACK.at("PrometheusRule", f"{_ONE}.alert", "a b", "\n", "{{", "é", "__name__", "x" * 3000, '"')
ATTACK.at(
    "PrometheusRule", f"{_ONE}.record", "a{b}", "{", "a}", beside={"alert": None}, then=INVALID
)
ATTACK.at("PrometheusRule", f"{_ONE}.record", "a b", "a-b", "a\nb", '"', beside={"alert": None})
for _name in ("a b", "a-b", "1a", "é"):
    ATTACK.at(
        "PrometheusRule", f"{_ONE}.record", _name, beside={"alert": None}, workload="legacy",
        then=LeftOut(webhook=False), about=f"record {_name!a} where names are legacy",
    )  # fmt: skip
for _field in ("labels", "annotations"):
    ATTACK.at("PrometheusRule", f"{_ONE}.{_field}", {"": "x"}, then=INVALID)
ATTACK.at("PrometheusRule", f"{_ONE}.labels", {"__name__": "x"}, then=INVALID)
ATTACK.at("PrometheusRule", "spec.groups[0].labels", {"__name__": "x"}, {"": "x"}, then=INVALID)
ATTACK.at("PrometheusRule", f"{_ONE}.labels", {"alertname": "B", "namespace": "alice", "a b": "c"})
ATTACK.at("PrometheusRule", f"{_ONE}.annotations", {"a.b": "x", "日本": "y", "\n": "z"})

# --- Monitors -------------------------------------------------------------------------------------

ATTACK.at(
    "ServiceMonitor",
    "spec.scrapeClass",
    "nobody",
    then=LeftOut(Reason.SCRAPE_CLASS_NOT_FOUND, webhook=False),
)
ATTACK.at("ServiceMonitor", "spec.scrapeClass", "", then=REFUSED)
ATTACK.at(
    "ScrapeConfig",
    "spec.scrapeClass",
    "no\nbody",
    then=LeftOut(Reason.SCRAPE_CLASS_NOT_FOUND, webhook=False),
)
ATTACK.at(
    "ScrapeConfig",
    "spec.staticConfigs[0].labels",
    {"": "x"},
    then=LeftOut(path="spec.staticConfigs[0].labels[]"),
)
ATTACK.at(
    "Probe",
    "spec.targets.staticConfig.labels",
    {"": "x"},
    then=LeftOut(path="spec.targets.staticConfig.labels[]"),
)
ATTACK.at("ScrapeConfig", "spec.jobName", "serviceMonitor/alice/shop/0", "scrapeConfig/alice/shop")
ATTACK.at("ScrapeConfig", "spec.jobName", "", then=REFUSED)
ATTACK.at("Probe", "spec.jobName", "probe/alice/shop", "\n", "x" * 3000)
ATTACK.at(
    "ServiceMonitor",
    "spec.scrapeProtocols",
    ["PrometheusProto", "PrometheusProto"],
    then=Refused("spec.scrapeProtocols[1]"),
)
ATTACK.at("ServiceMonitor", "spec.scrapeProtocols[0]", "Gopher", then=REFUSED)

# Objects whose names, with their namespace, could be somebody else's.
for _name in ("shop", "alice-shop", "0", "a.b", "x" * 253, "shop.0"):
    for _kind in ("ServiceMonitor", "PrometheusRule", "AlertmanagerConfig"):
        ATTACK.whole(_kind, f"is called {_name[:20]}", {}, name=_name)
