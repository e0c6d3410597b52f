"""With `enforcedNamespaceLabel`: no way to read, write or drop another namespace's label.

What the enforced label does to the samples of real targets is shown in `tests/live`; here is which
objects are taken, and the runner looks at what is written for them.
"""

from typing import Final

from tests.hostile.payload import Attack, Json, LeftOut

ATTACK: Final = Attack("enforcement")

_END: Final = "spec.endpoints[0]"
STEPS: Final = (
    {"targetLabel": "namespace", "replacement": "alice"},
    {"action": "labeldrop", "regex": "namespace"},
    {"action": "labelkeep", "regex": "job|instance|__.*"},
    {"action": "labelmap", "regex": "__meta_(.+)", "replacement": "namespace"},
    {"action": "labelmap", "regex": "(name)space|other_(.+)", "replacement": "$1space"},
    {
        "sourceLabels": ["x"],
        "targetLabel": "${1}space",
        "regex": "(name).*",
        "replacement": "alice",
    },
    {"action": "hashmod", "sourceLabels": ["x"], "targetLabel": "namespace", "modulus": 2},
    {"action": "uppercase", "sourceLabels": ["namespace"], "targetLabel": "namespace"},
    {"action": "lowercase", "sourceLabels": ["x"], "targetLabel": "namespace"},
    {"targetLabel": "exported_namespace", "replacement": "alice"},
    {"targetLabel": "__address__", "replacement": "prometheus.alice.svc:9090"},
    {"targetLabel": "__param_match[]", "replacement": '{namespace="alice"}'},
    {"targetLabel": "__metrics_path__", "replacement": "/federate"},
    {"targetLabel": "__scheme__", "replacement": "https"},
    {"targetLabel": "__tmp_hash", "replacement": "0"},
    {"targetLabel": "__tmp_disable_sharding", "replacement": "true"},
    {"targetLabel": "__scrape_interval__", "replacement": "1ms"},
    {"targetLabel": "__name__", "replacement": "alice_metric"},
    {"action": "dropequal", "sourceLabels": ["a"], "targetLabel": "namespace"},
)
_IN: Final[Json] = {"workload": "enforced"}
for _step in STEPS:
    ATTACK.at("ServiceMonitor", f"{_END}.relabelings[0]", _step, **_IN)
    ATTACK.at("ServiceMonitor", f"{_END}.metricRelabelings[0]", _step, **_IN)
for _kind, _places in {
    "PodMonitor": (
        "spec.podMetricsEndpoints[0].relabelings[0]",
        "spec.podMetricsEndpoints[0].metricRelabelings[0]",
    ),
    "Probe": ("spec.targets.staticConfig.relabelingConfigs[0]", "spec.metricRelabelings[0]"),
    "ScrapeConfig": ("spec.relabelings[0]", "spec.metricRelabelings[0]"),
}.items():
    for _place in _places:
        ATTACK.at(_kind, _place, *STEPS[:6], **_IN)
ATTACK.at("ServiceMonitor", f"{_END}.honorLabels", True, **_IN)
ATTACK.at("ServiceMonitor", "spec.targetLabels[0]", "namespace", **_IN)
ATTACK.at("ServiceMonitor", "spec.jobLabel", "namespace", **_IN)
ATTACK.at(
    "ServiceMonitor", "spec.namespaceSelector", {"any": True}, {"matchNames": ["alice"]}, **_IN
)
ATTACK.at("Probe", "spec.targets.staticConfig.labels", {"namespace": "alice"}, **_IN)
ATTACK.at(
    "ScrapeConfig", "spec.staticConfigs[0].labels", {"namespace": "alice"}, {"__name__": "x"}, **_IN
)
ATTACK.at("ScrapeConfig", "spec.httpSDConfigs[0].url", "http://mallory.example/targets", **_IN)
ATTACK.at("ScrapeConfig", "spec.honorLabels", True, **_IN)
ATTACK.at("ScrapeConfig", "spec.params", {"match[]": ['{namespace="alice"}']}, **_IN)
ATTACK.at(
    "ScrapeConfig",
    "spec.kubernetesSDConfigs[0]",
    {"role": "Pod", "namespaces": {"names": ["alice"]}},
    **_IN,
)

# --- Expressions ----------------------------------------------------------------------------------

_EXPR: Final = "spec.groups[0].rules[0].expr"
EXPRESSIONS: Final = (
    'secret{namespace="alice"}',
    'secret{namespace=~".*"}',
    'secret{namespace!="mallory"}',
    '{namespace="alice"}',
    '{"namespace"="alice", __name__="secret"}',
    '{"secret"}',
    'absent(secret{namespace="alice"})',
    "absent_over_time(secret[5m])",
    "sum by (namespace) (secret)",
    'max_over_time(secret{namespace="alice"}[5m:1m])',
    "secret offset 1h @ start()",
    'label_replace(secret, "namespace", "alice", "", "")',
    'label_join(secret, "namespace", "", "x")',
    "secret * on () group_left (namespace) other",
    'count_values("namespace", secret)',
    "secret or other unless third",
    "info(secret)",
    'info(secret, {data="x"})',
    'info(secret, {__name__=~".+_info", namespace="alice"})',
    "vector(1) or secret",
    "scalar(secret)",
    "topk without (namespace) (1, secret)",
    "timestamp(secret)",
    "-secret",
    "(secret)",
    'secret{namespace="alice",namespace="mallory"}',
)
ATTACK.at("PrometheusRule", _EXPR, *EXPRESSIONS, **_IN)
_LABELS: Final = "spec.groups[0].rules[0].labels"
ATTACK.at(
    "PrometheusRule",
    _LABELS,
    {"namespace": "alice"},
    {"namespace": ""},
    {"namespace": "{{ .x }}"},
    **_IN,
)
ATTACK.at("PrometheusRule", "spec.groups[0].labels", {"namespace": "alice"}, **_IN)

# --- Templates of alerts --------------------------------------------------------------------------

_SUMMARY: Final = "spec.groups[0].rules[0].annotations[summary]"
_OUT: Final = LeftOut(webhook=False)
LITERAL: Final = (
    '{{ range query "secret_metric{namespace=\\"victim\\"}" }}{{ . }}{{ end }}',
    "{{ query `secret_metric` | first | value }}",
    '{{ with query "up" }}{{ . }}{{ end }}',
    '{{ query "sum(up)" }}',
    '{{ "secret" | query }}',
)
BUILT: Final = (
    '{{ printf "secret{namespace=%q}" "victim" | query }}',
    '{{ $q := "secret" }}{{ query $q }}',
    "{{ query .Labels.x }}",
    '{{ query (printf "%s" "secret") }}',
    "{{ query $labels.q }}",
    '{{ define "x" }}{{ query . }}{{ end }}{{ template "x" "secret" }}',
    "{{ range query ($labels.a) }}{{ end }}",
)
ATTACK.at("PrometheusRule", _SUMMARY, *LITERAL, **_IN)
ATTACK.at("PrometheusRule", _SUMMARY, *BUILT, then=_OUT, **_IN)
ATTACK.at("PrometheusRule", "spec.groups[0].rules[0].labels[x]", LITERAL[1], **_IN)
ATTACK.at("PrometheusRule", "spec.groups[0].rules[0].labels[x]", BUILT[0], then=_OUT, **_IN)
ATTACK.at("PrometheusRule", _SUMMARY, '{{ query "up {" }}', then=_OUT, **_IN)
ATTACK.at("PrometheusRule", _SUMMARY, "{{ `query` }} {{/* query $x */}} query", **_IN)

# --- AlertmanagerConfigs see the alerts of their namespace ----------------------------------------

_ROUTE: Final = "spec.route"
for _type, _value in (
    ("=", "alice"),
    ("=~", ".*"),
    ("!=", "mallory"),
    ("!~", "mallory"),
    ("=~", "alice|mallory"),
    ("=", ""),
    ("=~", "(?i)ALICE"),
):
    _matcher = {"name": "namespace", "matchType": _type, "value": _value}
    ATTACK.at("AlertmanagerConfig", f"{_ROUTE}.matchers[0]", _matcher)
    ATTACK.at(
        "AlertmanagerConfig", f"{_ROUTE}.routes[0]", {"matchers": [_matcher], "continue": False}
    )
    ATTACK.at(
        "AlertmanagerConfig",
        "spec.inhibitRules[0]",
        {"sourceMatch": [_matcher], "targetMatch": [_matcher]},
    )
ATTACK.at(
    "AlertmanagerConfig",
    "spec.inhibitRules[0]",
    {"sourceMatch": [], "targetMatch": []},
    {"equal": ["namespace"]},
)
ATTACK.at("AlertmanagerConfig", f"{_ROUTE}.continue", False, True)
ATTACK.at(
    "AlertmanagerConfig",
    f"{_ROUTE}.matchers[0]",
    {"name": "namespace", "value": "alice|mallory", "regex": True},
    about="the old regex",
)
