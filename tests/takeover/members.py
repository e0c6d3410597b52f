"""What workloads and alerting resources of made-up worlds may have: values for their members.

A member is tried with each kind of workload that has it. References lead to the Secret and the
ConfigMap `vault`, whose keys are in `VALUES`.
"""

from typing import Any, Final

Spec = dict[str, Any]

VAULT: Final = "vault"
VALUES: Final = {
    "token": "a-token",
    "user": "reader",
    "url": "https://hooks.example.com/services/T0/B0",
    "objstore.yaml": "type: FILESYSTEM\nconfig:\n  directory: /data\n",
    "tracing.yaml": "type: OTLP\nconfig:\n  client_type: grpc\n",
    "query.yaml": "- http_config: {}\n",
    "alertmanagers.yaml": "alertmanagers:\n- static_configs: [am:9093]\n",
    "relabel.yaml": "- action: labeldrop\n  regex: replica\n",
    "jobs.yaml": "- job_name: more\n  static_configs:\n  - targets: [a:1]\n",
    "alertmanager.yaml": "route:\n  receiver: all\nreceivers:\n- name: all\n",
    "page.tmpl": '{{ define "title" }}{{ .Status }}{{ end }}\n',
}


def _key(name: str) -> Spec:
    return {"name": VAULT, "key": name}


# Whether it is folded is up to who writes it.
_LONG: Final = "a text of many words that goes on for as long as no line of a file should be, " * 3
_SIZE: Final = {"requests": {"storage": "1Gi"}}
_LABELS: Final = {"matchLabels": {"tier": "metrics"}}
_ANTI: Final = {
    "podAntiAffinity": {
        "preferredDuringSchedulingIgnoredDuringExecution": [
            {
                "weight": 50,
                "podAffinityTerm": {
                    "topologyKey": "kubernetes.io/hostname",
                    "labelSelector": _LABELS,
                },
            }
        ]
    }
}
_SPREAD: Final = {"maxSkew": 1, "topologyKey": "zone", "whenUnsatisfiable": "ScheduleAnyway"}
_PROXY: Final = {
    "name": "proxy",
    "image": "proxy:1",
    "ports": [{"containerPort": 8443, "name": "https"}],
}
_BASIC: Final = {"username": _key("user"), "password": _key("token")}
_WEB_TLS: Final = {
    "cert": {"secret": _key("certificate")},
    "keySecret": _key("private-key"),
    "minVersion": "TLS12",
}
_CLIENT_TLS: Final = {
    "ca": {"configMap": _key("certificate")},
    "cert": {"secret": _key("certificate")},
    "keySecret": _key("private-key"),
    "serverName": "storage",
}
_REMOTE: Final[tuple[Spec, ...]] = (
    {"url": "https://a/write", "basicAuth": _BASIC, "sendExemplars": True},
    {"url": "https://b/write", "tlsConfig": _CLIENT_TLS, "headers": {"X-Scope": "a"}},
    {
        "url": "https://c/write",
        "sigv4": {"region": "eu-west-1", "accessKey": _key("user"), "secretKey": _key("token")},
    },
    {"url": "https://d/write", "writeRelabelConfigs": [{"action": "labeldrop", "regex": "pod"}]},
    {"url": "https://e/write", "queueConfig": {"capacity": 10, "maxShards": 3}, "name": "e"},
    {"url": "https://f/write", "messageVersion": "V2.0", "enableHTTP2": False},
    {
        "url": "https://g/write",
        "oauth2": {
            "clientId": {"secret": _key("user")},
            "clientSecret": _key("token"),
            "tokenUrl": "https://l",
        },
    },
)

# Of pods and what runs them, for all kinds that have the member.
OF_PODS: Final[dict[str, tuple[Any, ...]]] = {
    "replicas": (1, 2, 3),
    "shards": (2, 3),
    "version": ("", "v3.8.0", "v3.5.0", "v2.55.1", "v2.45.0"),
    "podMetadata": (
        {"labels": {"team": "shop"}, "annotations": {"note": "a: b"}},
        {"annotations": {"sidecar.example.com/inject": "false"}},
    ),
    "serviceAccountName": ("scraper",),
    "automountServiceAccountToken": (False, True),
    "priorityClassName": ("",),
    "imagePullPolicy": ("Always", "IfNotPresent"),
    "imagePullSecrets": ([{"name": "registry"}],),
    "nodeSelector": ({"kubernetes.io/os": "linux"},),
    "tolerations": ([{"key": "a", "operator": "Exists"}], [{"operator": "Exists"}]),
    "affinity": (_ANTI,),
    "topologySpreadConstraints": (
        [{**_SPREAD, "labelSelector": _LABELS}],
        [{**_SPREAD, "additionalLabelSelectors": "OnResource"}],
    ),
    "securityContext": (
        {"fsGroup": 2000, "runAsNonRoot": True, "runAsUser": 1000},
        {"seccompProfile": {"type": "RuntimeDefault"}},
        {},
    ),
    "resources": (
        {"requests": {"cpu": "0.5", "memory": "1024Mi"}, "limits": {"memory": "2G"}},
        {"limits": {"cpu": 2}},
    ),
    "hostAliases": ([{"ip": "10.0.0.1", "hostnames": ["storage.internal"]}],),
    "hostNetwork": (True,),
    "hostUsers": (True, False),
    "dnsPolicy": ("Default", "ClusterFirst"),
    "dnsConfig": ({"nameservers": ["10.0.0.53"], "options": [{"name": "ndots", "value": "1"}]},),
    "terminationGracePeriodSeconds": (0, 60, 600),
    "enableServiceLinks": (False, True),
    "minReadySeconds": (0, 5),
    "maximumStartupDurationSeconds": (60, 1800),
    "secrets": (["tokens", "client.example.com"],),
    "configMaps": (["targets"],),
    "volumes": ([{"name": "scratch", "emptyDir": {"sizeLimit": "1024Mi"}}],),
    "containers": ([_PROXY],),
    "initContainers": ([{"name": "chown", "image": "tool:1", "command": ["true"]}],),
    "additionalArgs": ([{"name": "web.max-requests", "value": "5"}],),
    "portName": ("metrics", "http-web"),
    "externalUrl": ("https://example.com/m", "http://example.com:9090"),
    "routePrefix": ("/shop", "/"),
    "logLevel": ("debug", "warn"),
    "logFormat": ("json", "logfmt"),
    "listenLocal": (True,),
    "podManagementPolicy": ("OrderedReady", "Parallel"),
    "updateStrategy": (
        {"type": "OnDelete"},
        {"type": "RollingUpdate", "rollingUpdate": {"maxUnavailable": 1}},
    ),
    "persistentVolumeClaimRetentionPolicy": ({"whenDeleted": "Delete", "whenScaled": "Retain"},),
    "schedulerName": ("default-scheduler",),
    "storage": (
        {"emptyDir": {"sizeLimit": "512Mi"}},
        {"volumeClaimTemplate": {"spec": {"resources": _SIZE}}},
        {
            "volumeClaimTemplate": {
                "metadata": {"name": "db", "labels": {"a": "b"}},
                "spec": {"accessModes": ["ReadWriteOnce"], "resources": _SIZE},
            }
        },
        {
            "ephemeral": {
                "volumeClaimTemplate": {
                    "spec": {"accessModes": ["ReadWriteOnce"], "resources": _SIZE}
                }
            }
        },
    ),
    "web": (
        {"tlsConfig": _WEB_TLS},
        {"httpConfig": {"http2": False, "headers": {"xFrameOptions": "Deny"}}},
        {},
    ),
    "paused": (False,),
}

# Of what Prometheus, its agents, Alertmanager and Thanos do, by the kind.
_SCRAPING: Final[dict[str, tuple[Any, ...]]] = {
    "externalLabels": (
        {"cluster": "a", "zone": "b"},
        {"text": _LONG},
    ),
    "containers": (
        [{"name": "prometheus", "env": [{"name": "TZ", "value": "UTC"}]}],
        [{"name": "prometheus", "startupProbe": {"failureThreshold": 200}}, _PROXY],
        [{"name": "config-reloader", "resources": {"limits": {"cpu": "0.1"}}}],
    ),
    "prometheusExternalLabelName": ("", "server"),
    "replicaExternalLabelName": ("", "member"),
    "scrapeInterval": ("10s", "2m"),
    "scrapeTimeout": ("5s",),
    "scrapeProtocols": (["OpenMetricsText1.0.0", "PrometheusText0.0.4"],),
    "enableFeatures": (["exemplar-storage"], ["native-histograms", "otlp-write-receiver"]),
    "enableRemoteWriteReceiver": (True,),
    "enableOTLPReceiver": (True,),
    "remoteWrite": tuple([each] for each in _REMOTE),
    "walCompression": (True, False),
    "reloadStrategy": ("HTTP", "ProcessSignal"),
    "overrideHonorLabels": (True,),
    "overrideHonorTimestamps": (True,),
    "ignoreNamespaceSelectors": (True,),
    "enforcedNamespaceLabel": ("tenant",),
    "enforcedSampleLimit": (1000,),
    "enforcedBodySizeLimit": ("10MB",),
    "sampleLimit": (500,),
    "arbitraryFSAccessThroughSMs": ({"deny": True},),
    "additionalScrapeConfigs": (_key("jobs.yaml"),),
    "podTargetLabels": (["team"],),
    "scrapeClasses": (
        [{"name": "main", "default": True, "tlsConfig": {"caFile": "/ca.pem"}}],
        [{"name": "other", "relabelings": [{"targetLabel": "class", "replacement": "other"}]}],
    ),
    "serviceDiscoveryRole": ("EndpointSlice", "Endpoints"),
    "nameValidationScheme": ("UTF8", "Legacy"),
    "nameEscapingScheme": ("AllowUTF8", "Dots"),
    "convertClassicHistogramsToNHCB": (True,),
    "scrapeFailureLogFile": ("failures.log", "/logs/failures.log"),
    "tracingConfig": ({"endpoint": "otel:4317", "samplingFraction": "0.5", "insecure": True},),
    "runtime": ({"goGC": 50},),
    "otlp": ({"promoteResourceAttributes": ["service.name"]},),
    "apiserverConfig": (
        {"host": "https://api:6443", "authorization": {"credentials": _key("token")}},
    ),
    "shardRetentionPolicy": ({"whenScaled": "Retain"}, {"whenScaled": "Delete"}),
}
OF_KINDS: Final[dict[str, dict[str, tuple[Any, ...]]]] = {
    "Prometheus": {
        **_SCRAPING,
        "thanos": (
            {},
            {"objectStorageConfig": _key("objstore.yaml"), "version": "v0.35.0"},
            {"tracingConfig": _key("tracing.yaml"), "minTime": "-2h", "logLevel": "warn"},
            {"grpcListenLocal": True, "blockSize": "2h", "readyTimeout": "20m"},
        ),
        "retention": ("30d", "24h"),
        "retentionSize": ("30GB",),
        "disableCompaction": (True,),
        "evaluationInterval": ("15s", "1m"),
        "query": ({"timeout": "1m", "maxConcurrency": 10, "lookbackDelta": "3m"},),
        "rules": ({"alert": {"resendDelay": "1m", "forGracePeriod": "5m"}},),
        "queryLogFile": ("queries.log", "/logs/queries.log"),
        "enableAdminAPI": (True,),
        "remoteRead": ([{"url": "https://a/read", "readRecent": True, "basicAuth": _BASIC}],),
        "alerting": (
            {"alertmanagers": [{"name": "alertmanager-operated", "port": "web"}]},
            {
                "alertmanagers": [
                    {
                        "name": "am",
                        "namespace": "alerting",
                        "port": 9093,
                        "pathPrefix": "/am",
                        "apiVersion": "v2",
                        "timeout": "5s",
                        "basicAuth": _BASIC,
                    }
                ]
            },
        ),
        "additionalAlertRelabelConfigs": (_key("relabel.yaml"),),
        "exemplars": ({"maxSize": 1000},),
        "tsdb": ({"outOfOrderTimeWindow": "10m"},),
        "allowOverlappingBlocks": (True,),
        "ruleQueryOffset": ("1m",),
        "excludedFromEnforcement": (
            [
                {
                    "group": "monitoring.coreos.com",
                    "resource": "prometheusrules",
                    "namespace": "elsewhere",
                }
            ],
        ),
    },
    "PrometheusAgent": _SCRAPING,
    "Alertmanager": {
        "version": ("", "v0.28.0", "v0.26.0"),
        "containers": ([{"name": "alertmanager", "livenessProbe": {"failureThreshold": 30}}],),
        "configSecret": (VAULT,),
        "alertmanagerConfigMatcherStrategy": (
            {"type": "OnNamespace"},
            {"type": "None"},
            {"type": "OnNamespaceExceptForAlertmanagerNamespace"},
        ),
        "alertmanagerConfiguration": (
            {
                "name": "global",
                "global": {"resolveTimeout": "10m", "slackApiUrl": _key("url")},
                "templates": [{"configMap": _key("page.tmpl")}],
            },
        ),
        "retention": ("120h", "24h"),
        "forceEnableClusterMode": (True,),
        "additionalPeers": (["other-0.am:9094"],),
        "clusterAdvertiseAddress": ("10.0.0.1:9094",),
        "clusterGossipInterval": ("500ms",),
        "clusterPushpullInterval": ("30s",),
        "clusterPeerTimeout": ("10s",),
        "clusterLabel": ("main",),
        "clusterTLS": (
            {
                "server": {
                    "cert": {"secret": _key("certificate")},
                    "keySecret": _key("private-key"),
                    "client_ca": {"secret": _key("certificate")},
                    "clientAuthType": "RequireAndVerifyClientCert",
                },
                "client": _CLIENT_TLS,
            },
        ),
        "enableFeatures": (["classic-mode"],),
        "limits": ({"maxSilences": 100},),
        "web": ({"getConcurrency": 5}, {"tlsConfig": _WEB_TLS}),
        "additionalArgs": ([{"name": "dispatch.maintenance-interval", "value": "30s"}],),
    },
    "ThanosRuler": {
        "version": ("", "v0.39.0", "v0.30.0"),
        "evaluationInterval": ("15s", "1m"),
        "containers": (
            [{"name": "thanos-ruler", "env": [{"name": "TZ", "value": "UTC"}]}, _PROXY],
        ),
        "queryConfig": (_key("query.yaml"),),
        "alertmanagersUrl": (["http://am:9093"], ["dns+http://a:1", "http://b:2"]),
        "alertmanagersConfig": (_key("alertmanagers.yaml"),),
        "alertQueryUrl": ("https://query.example.com",),
        "alertDropLabels": (["replica", "zone"],),
        "alertRelabelConfigs": (_key("relabel.yaml"),),
        "labels": ({"cluster": "a", "thanos_ruler_replica": "r"}, {}),
        "retention": ("24h", "7d"),
        "objectStorageConfig": (_key("objstore.yaml"),),
        "tracingConfig": (_key("tracing.yaml"),),
        "remoteWrite": tuple([each] for each in _REMOTE),
        "externalPrefix": ("https://example.com/rule",),
        "enforcedNamespaceLabel": ("tenant",),
        "ruleConcurrentEval": (4,),
        "ruleOutageTolerance": ("1h",),
        "ruleGracePeriod": ("10m",),
        "ruleQueryOffset": ("1m",),
        "resendDelay": ("1m",),
        "enableFeatures": (["expand-external-labels"],),
        "grpcServerTlsConfig": ({"certFile": "/a.crt", "keyFile": "/a.key"},),
        "additionalArgs": ([{"name": "shipper.upload-compacted"}],),
    },
}

RECEIVERS: Final[tuple[Spec, ...]] = (
    {"webhookConfigs": [{"url": "https://example.com/hook", "maxAlerts": 5}]},
    {"webhookConfigs": [{"urlSecret": _key("url"), "httpConfig": {"basicAuth": _BASIC}}]},
    {
        "slackConfigs": [
            {
                "apiURL": _key("url"),
                "channel": "#shop",
                "title": "{{ .Status }}",
                "text": _LONG,
                "fields": [{"title": "a", "value": "b", "short": True}],
                "actions": [{"type": "button", "text": "go", "url": "https://a"}],
            }
        ]
    },
    {
        "emailConfigs": [
            {
                "to": "a@example.com",
                "from": "b@example.com",
                "smarthost": "mail:25",
                "authUsername": "u",
                "authPassword": _key("token"),
                "headers": [{"key": "Subject", "value": "{{ .Status }}"}],
            }
        ]
    },
    {
        "pagerdutyConfigs": [
            {
                "routingKey": _key("token"),
                "severity": "critical",
                "details": [{"key": "a", "value": "b"}],
            }
        ]
    },
    {
        "opsgenieConfigs": [
            {
                "apiKey": _key("token"),
                "priority": "P1",
                "responders": [{"name": "shop", "type": "team"}],
            }
        ]
    },
    {"discordConfigs": [{"apiURL": _key("url"), "title": "t"}]},
    {"msteamsConfigs": [{"webhookUrl": _key("url"), "text": "x"}]},
    {"msteamsv2Configs": [{"webhookURL": _key("url"), "text": "x"}]},
    {"telegramConfigs": [{"botToken": _key("token"), "chatID": -5, "parseMode": "HTML"}]},
    {
        "pushoverConfigs": [
            {"userKey": _key("user"), "token": _key("token"), "retry": "5m", "expire": "1h"}
        ]
    },
    {"snsConfigs": [{"topicARN": "arn:aws:sns:eu-west-1:1:a", "sigv4": {"region": "eu-west-1"}}]},
    {
        "victoropsConfigs": [
            {
                "apiKey": _key("token"),
                "routingKey": "r",
                "customFields": [{"key": "a", "value": "b"}],
            }
        ]
    },
    {"wechatConfigs": [{"apiSecret": _key("token"), "corpID": "c", "toUser": "u"}]},
    {
        "webexConfigs": [
            {"roomID": "r", "httpConfig": {"authorization": {"credentials": _key("token")}}}
        ]
    },
    {"rocketchatConfigs": [{"token": _key("token"), "tokenID": _key("user"), "channel": "#a"}]},
)
ROUTES: Final[tuple[Spec, ...]] = (
    {},
    {"groupBy": ["job"], "groupWait": "10s", "groupInterval": "1m", "repeatInterval": "4h"},
    {"matchers": [{"name": "severity", "value": "critical"}], "continue": True},
    {"matchers": [{"name": "team", "value": "a|b", "matchType": "=~"}]},
    {"matchers": [{"name": "env", "value": "t.*", "regex": True}], "groupBy": ["..."]},
    {"muteTimeIntervals": ["nights"]},
    {"activeTimeIntervals": ["nights"]},
)
NIGHTS: Final[Spec] = {
    "name": "nights",
    "timeIntervals": [
        {
            "times": [{"startTime": "20:00", "endTime": "24:00"}],
            "weekdays": ["monday:friday", "Sunday"],
            "months": ["january:March"],
            "daysOfMonth": [{"start": 1, "end": -1}],
            "years": ["2026:2030"],
        }
    ],
}
INHIBIT: Final[Spec] = {
    "sourceMatch": [{"name": "severity", "value": "critical"}],
    "targetMatch": [{"name": "severity", "value": "warn.*", "matchType": "=~"}],
    "equal": ["job"],
}
