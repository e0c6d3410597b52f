"""Objects of our own with nearly everything that a user would set: what fuzzing starts from."""

from typing import Any, Final

from tests.unit.discovery_examples import EXAMPLES

Spec = dict[str, Any]

_KEY: Final = {"name": "vault", "key": "plain"}
_STEPS: Final[list[Spec]] = [
    {"sourceLabels": ["__meta_kubernetes_pod_node_name"], "targetLabel": "node"},
    {"action": "drop", "sourceLabels": ["a", "b"], "regex": "x;y", "separator": ";"},
    {"action": "labelmap", "regex": "__meta_(.+)", "replacement": "copy_$1"},
    {"action": "hashmod", "sourceLabels": ["a"], "targetLabel": "h", "modulus": 4},
    {"targetLabel": "tenant", "replacement": "someone-else"},
    {"action": "labeldrop", "regex": "tenant"},
]
_SELECTOR: Final[Spec] = {
    "matchLabels": {"app.kubernetes.io/name": "shop"},
    "matchExpressions": [{"key": "tier", "operator": "In", "values": ["a", "b"]}],
}
_TLS: Final[Spec] = {
    "ca": {"secret": _KEY},
    "cert": {"configMap": _KEY},
    "keySecret": _KEY,
    "serverName": "shop",
}
_OAUTH2: Final[Spec] = {
    "clientId": {"secret": _KEY},
    "clientSecret": _KEY,
    "tokenUrl": "https://login",
    "scopes": ["read"],
    "endpointParams": {"audience": "x"},
}
_REQUEST: Final[Spec] = {"interval": "30s", "scrapeTimeout": "10s", "tlsConfig": _TLS}
_PROXY: Final[Spec] = {
    "proxyUrl": "http://proxy:3128",
    "noProxy": "10.0.0.0/8",
    "proxyConnectHeader": {"X-Team": [_KEY]},
}
_ENDPOINT: Final[Spec] = {
    **_REQUEST,
    **_PROXY,
    "path": "/metrics",
    "port": "web",
    "scheme": "HTTPS",
    "params": {"format": ["a", "b"]},
    "basicAuth": {"username": _KEY, "password": _KEY},
    "relabelings": _STEPS,
    "metricRelabelings": _STEPS,
}
_MONITOR: Final[Spec] = {
    "selector": _SELECTOR,
    "namespaceSelector": {"matchNames": ["team-a", "other"]},
    "jobLabel": "app",
    "podTargetLabels": ["version"],
    "sampleLimit": 100,
    "scrapeProtocols": ["OpenMetricsText1.0.0", "PrometheusProto"],
}
_PROBE: Final[Spec] = {
    **_REQUEST,
    "prober": {"url": "blackbox:9115", "path": "/probe", "scheme": "HTTP"},
    "module": "http_2xx",
    "params": [{"name": "hostname", "values": ["a"]}],
    "oauth2": _OAUTH2,
    "metricRelabelings": _STEPS,
}
_STATIC: Final[Spec] = {"static": ["a", "b:80"], "labels": {"env": "test"}}
_INGRESS: Final[Spec] = {
    "selector": _SELECTOR,
    "namespaceSelector": {"any": True},
    "relabelingConfigs": _STEPS,
}
_REMOTE: Final[Spec] = {
    "url": "https://storage/write",
    "name": "storage",
    "remoteTimeout": "30s",
    "headers": {"X-Scope": "a"},
    "tlsConfig": _TLS,
    **_PROXY,
}

SPECS: Final[dict[str, list[Spec]]] = {
    "ServiceMonitor": [{**_MONITOR, "targetLabels": ["team"], "endpoints": [_ENDPOINT]}],
    "PodMonitor": [{**_MONITOR, "podMetricsEndpoints": [_ENDPOINT]}],
    "Probe": [
        {**_PROBE, "targets": {"staticConfig": _STATIC}},
        {**_PROBE, "targets": {"ingress": _INGRESS}},
    ],
    "ScrapeConfig": [
        {"staticConfigs": [{"targets": ["a:80"], "labels": {"a": "b"}}], "relabelings": _STEPS},
        *({field: [entry]} for field, (entry, _) in EXAMPLES.items()),
    ],
    "Prometheus": [
        {
            "externalLabels": {"cluster": "a"},
            "remoteWrite": [{**_REMOTE, "writeRelabelConfigs": _STEPS, "oauth2": _OAUTH2}],
            "remoteRead": [{**_REMOTE, "authorization": {"credentials": _KEY}}],
            "alerting": {
                "alertmanagers": [
                    {"name": "main", "namespace": "team-a", "port": "web", "relabelings": _STEPS}
                ]
            },
            "tracingConfig": {"endpoint": "otel:4317", "samplingFraction": "0.5"},
        }
    ],
    "PrometheusAgent": [
        {"remoteWrite": [{**_REMOTE, "sigv4": {"region": "eu-west-1", "profile": "main"}}]}
    ],
}
