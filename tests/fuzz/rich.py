"""Workloads of our own that set nearly everything that shapes their objects.

They are shown to a real API server as they are, and are what fuzzing of objects starts from.
"""

from typing import Any, Final

from tests.fuzz.examples import Spec

_KEY: Final = {"name": "vault", "key": "plain"}
_SIZE: Final = {"requests": {"storage": "40Gi"}}
_CLAIM: Final[Spec] = {
    "metadata": {"name": "metrics", "labels": {"tier": "fast"}, "annotations": {"backup": "no"}},
    "spec": {"storageClassName": "ssd", "resources": _SIZE},
}
_TLS: Final[Spec] = {
    "cert": {"secret": _KEY},
    "keySecret": _KEY,
    "client_ca": {"configMap": _KEY},
    "clientAuthType": "RequireAndVerifyClientCert",
    "minVersion": "TLS12",
    "cipherSuites": ["TLS_AES_128_GCM_SHA256"],
}
_SELECTOR: Final = {"matchLabels": {"app.kubernetes.io/name": "prometheus"}}

_POD: Final[Spec] = {
    "podMetadata": {"labels": {"team": "shop"}, "annotations": {"note": "a: b"}},
    "serviceAccountName": "scraper",
    "automountServiceAccountToken": False,
    "priorityClassName": "important",
    "imagePullPolicy": "IfNotPresent",
    "imagePullSecrets": [{"name": "registry"}],
    "nodeSelector": {"kubernetes.io/os": "linux"},
    "tolerations": [{"key": "dedicated", "operator": "Exists", "effect": "NoSchedule"}],
    "affinity": {
        "podAntiAffinity": {
            "preferredDuringSchedulingIgnoredDuringExecution": [
                {
                    "weight": 100,
                    "podAffinityTerm": {
                        "topologyKey": "kubernetes.io/hostname",
                        "labelSelector": _SELECTOR,
                    },
                }
            ]
        }
    },
    "topologySpreadConstraints": [
        {
            "maxSkew": 1,
            "topologyKey": "topology.kubernetes.io/zone",
            "whenUnsatisfiable": "ScheduleAnyway",
            "additionalLabelSelectors": "OnShard",
        }
    ],
    "securityContext": {
        "fsGroup": 2000,
        "runAsNonRoot": True,
        "runAsUser": 1000,
        "seccompProfile": {"type": "RuntimeDefault"},
    },
    "resources": {
        "requests": {"cpu": "0.5", "memory": "1024Mi"},
        "limits": {"cpu": 2, "memory": "2Gi"},
    },
    "hostAliases": [{"ip": "10.0.0.1", "hostnames": ["storage.internal"]}],
    "dnsPolicy": "ClusterFirst",
    "dnsConfig": {
        "nameservers": ["10.0.0.53"],
        "searches": ["internal"],
        "options": [{"name": "ndots", "value": "1"}, {"name": "edns0"}],
    },
    "terminationGracePeriodSeconds": 60,
    "enableServiceLinks": False,
    "minReadySeconds": 10,
    "secrets": ["tokens", "client.example.com"],
    "configMaps": ["targets"],
    "volumes": [{"name": "scratch", "emptyDir": {"sizeLimit": "1024Mi"}}],
    "volumeMounts": [{"name": "scratch", "mountPath": "/scratch"}],
    "containers": [
        {"name": "proxy", "image": "proxy:1", "ports": [{"containerPort": 8443, "name": "https"}]},
        {
            "name": "prometheus",
            "env": [{"name": "TZ", "value": "UTC"}],
            "startupProbe": {"failureThreshold": 200},
            "resources": {"limits": {"memory": "3Gi"}},
        },
        {"name": "config-reloader", "resources": {"limits": {"cpu": "0.1"}}},
    ],
    "initContainers": [{"name": "chown", "image": "tool:1", "command": ["sh", "-c", "true"]}],
    "additionalArgs": [{"name": "web.cors.origin", "value": "https?://(a|b)"}],
    "web": {"pageTitle": "Shop", "maxConnections": 100, "tlsConfig": _TLS},
    "portName": "metrics",
    "externalUrl": "https://metrics.example.com/shop",
    "routePrefix": "/shop",
    "logLevel": "debug",
    "logFormat": "json",
    "enableFeatures": ["exemplar-storage"],
    "walCompression": True,
    "scrapeFailureLogFile": "failures.log",
    "remoteWrite": [
        {"url": "https://storage/write", "basicAuth": {"username": _KEY, "password": _KEY}}
    ],
}
_SETS: Final[Spec] = {
    "replicas": 2,
    "shards": 2,
    "podManagementPolicy": "OrderedReady",
    "updateStrategy": {"type": "RollingUpdate", "rollingUpdate": {"maxUnavailable": 1}},
    "persistentVolumeClaimRetentionPolicy": {"whenDeleted": "Delete", "whenScaled": "Retain"},
}
_SIDECAR: Final[Spec] = {
    "objectStorageConfig": _KEY,
    "tracingConfig": _KEY,
    "minTime": "-2h",
    "logLevel": "warn",
    "grpcServerTlsConfig": {
        "certFile": "/etc/thanos/tls.crt",
        "keyFile": "/etc/thanos/tls.key",
        "caFile": "/etc/thanos/ca.crt",
        "minVersion": "TLS13",
    },
    "volumeMounts": [{"name": "scratch", "mountPath": "/etc/thanos", "subPath": "tls"}],
    "resources": {"requests": {"memory": "100M"}},
    "additionalArgs": [{"name": "request.logging-config", "value": "a: b"}],
}

RICH: Final[dict[str, list[Spec]]] = {
    "Prometheus": [
        {},
        {
            **_POD,
            **_SETS,
            "storage": {"volumeClaimTemplate": _CLAIM},
            "thanos": _SIDECAR,
            "retention": "30d",
            "retentionSize": "30GB",
            "query": {"timeout": "1m", "maxConcurrency": 10, "maxSamples": 1000},
            "rules": {"alert": {"resendDelay": "1m", "forGracePeriod": "5m"}},
            "queryLogFile": "queries.log",
            "enableAdminAPI": True,
            "externalLabels": {"cluster": "a"},
        },
        {
            "version": "v2.45.0",
            "listenLocal": True,
            "hostNetwork": True,
            "reloadStrategy": "ProcessSignal",
            "disableCompaction": True,
            "storage": {
                "ephemeral": {
                    "volumeClaimTemplate": {
                        "spec": {"accessModes": ["ReadWriteOnce"], "resources": _SIZE}
                    }
                }
            },
            "thanos": {"version": "v0.20.0", "listenLocal": True},
        },
        {
            "shards": 3,
            "shardingStrategy": {"mode": "Topology", "topology": {"values": ["a", "b", "c"]}},
            "storage": {"emptyDir": {"medium": "Memory", "sizeLimit": "512Mi"}},
            "serviceName": "own",
            "hostUsers": True,
        },
    ],
    "PrometheusAgent": [
        {},
        {**_POD, **_SETS, "storage": {"volumeClaimTemplate": _CLAIM}},
        {
            **{name: value for name, value in _POD.items() if name != "topologySpreadConstraints"},
            "mode": "DaemonSet",
            "daemonSet": {
                "minReadySeconds": 5,
                "updateStrategy": {
                    "type": "RollingUpdate",
                    "rollingUpdate": {"maxUnavailable": "10%"},
                },
                "storage": {"hostPath": {"path": "/var/lib/agent"}},
            },
        },
    ],
}

# Each is laid over a workload: what people get wrong, or try, where its objects are concerned.
TRICKS: Final[tuple[dict[str, Any], ...]] = (
    {"containers": [{}]},
    {"containers": [{"name": ""}]},
    {"containers": [{"name": "new"}]},
    {"containers": [{"name": "prometheus", "args": ["--config.file=/mine"]}]},
    {"containers": [{"name": "prometheus", "env": [{"name": "A", "value": "1"}] * 2}]},
    {"containers": [{"name": "prometheus", "env": [{}]}]},
    {"containers": [{"name": "prometheus", "env": "A=1"}]},
    {"containers": [{"name": "prometheus", "env": [{"name": {}}]}]},
    {"containers": [{"name": "prometheus", "ports": [{"containerPort": 9090, "name": "web"}]}]},
    {"containers": [{"name": "prometheus", "ports": [{"name": "x"}, "y"]}]},
    {"containers": [{"name": "prometheus", "livenessProbe": "none"}]},
    {"containers": [{"name": "prometheus", "livenessProbe": {"exec": {"command": ["true"]}}}]},
    {"containers": [{"name": "prometheus", "securityContext": []}]},
    {"containers": [{"name": "prometheus", "resources": {"limits": {"cpu": "much"}}}]},
    {"containers": [{"name": "prometheus", "volumeMounts": [{"mountPath": "/prometheus"}]}]},
    {"containers": [{"name": "prometheus", "volumeMounts": {"mountPath": "/x"}}]},
    {"containers": [{"name": "prometheus", "$patch": "delete"}]},
    {"containers": [{"name": "prometheus", "$patch": "replace"}]},
    {"containers": [{"name": "prometheus", "$retainKeys": 5, "env": []}]},
    {"containers": [{"name": "prometheus", "$deleteFromPrimitiveList/args": 5}]},
    {"containers": [{"name": "prometheus", "$deleteFromPrimitiveList/resources": ["a"]}]},
    {"containers": [{"name": "prometheus", "$setElementOrder/env": 5, "env": [{"name": "B"}]}]},
    {"containers": [{"name": "new", "env": "A"}, {"name": "new", "env": [{"name": "A"}]}]},
    {"containers": [{"name": "init-config-reloader", "image": "x"}]},
    {"containers": [{"name": "Not A Label", "image": "x"}]},
    {"initContainers": [{"name": "prometheus", "image": "x"}]},
    {"initContainers": [{"name": "init-config-reloader", "command": ["false"]}]},
    {"volumes": [{"name": "config", "emptyDir": {}}]},
    {"volumes": [{"name": "config-out"}]},
    {"volumes": [{"name": "scratch"}, {"name": "scratch"}]},
    {"volumes": [{"name": "scratch", "secret": {"secretName": "a"}, "emptyDir": {}}]},
    {"volumes": [{}]},
    {"volumes": [{"name": []}]},
    {"volumeMounts": [{"name": "nowhere", "mountPath": "/nowhere"}]},
    {"volumeMounts": [{"name": "config", "mountPath": "/prometheus"}]},
    {"volumeMounts": [{"name": "scratch", "mountPath": ""}]},
    {"volumeMounts": [{"name": "scratch", "mountPath": {"a": 1}}]},
    {"additionalArgs": [{"name": "config.file", "value": "/mine"}]},
    {"additionalArgs": [{"name": "no-web.enable-lifecycle"}]},
    {"additionalArgs": [{"name": "a=b --web.enable-admin-api", "value": "\n"}]},
    {"storage": {}},
    {"storage": {"emptyDir": {}, "ephemeral": {}, "volumeClaimTemplate": {}}},
    {"storage": {"ephemeral": {}}},
    {"storage": {"emptyDir": {"sizeLimit": "-1"}}},
    {"storage": {"volumeClaimTemplate": {}}},
    {"storage": {"volumeClaimTemplate": {"metadata": {"name": "config"}}}},
    {"storage": {"volumeClaimTemplate": {"metadata": {"name": "scratch"}, "spec": _CLAIM["spec"]}}},
    {"storage": {"volumeClaimTemplate": {"spec": {"accessModes": ["Sometimes"]}}}},
    {"storage": {"volumeClaimTemplate": {"spec": {"resources": {"requests": {"storage": "1 G"}}}}}},
    {"secrets": ["a", "a", "A", "a.b", "a-b", "../up", "x" * 250, ""]},
    {"configMaps": ["targets", "", "%", "日本"]},
    {"version": "latest"},
    {"version": "v4.0.0"},
    {"version": "v1.8.2"},
    {"version": "2.99"},
    {"image": " "},
    {"image": "not an image"},
    {"portName": "http"},
    {"portName": "a-name-that-is-too-long"},
    {"portName": "reloader-web"},
    {"serviceName": "Not.A/Service"},
    {"replicas": -1},
    {"replicas": 2**31 - 1},
    {"shards": 2**31 - 1},
    {"shards": 0},
    {"shards": -5},
    {"minReadySeconds": -1},
    {"maximumStartupDurationSeconds": 2**31 - 1},
    {"terminationGracePeriodSeconds": -1},
    {"podMetadata": {"labels": {"prometheus": "other", "no label": "no value!"}}},
    {"podMetadata": {"name": "mine", "annotations": {"": "", "a b": "c"}}},
    {"podManagementPolicy": "Sometimes"},
    {"updateStrategy": {"type": "OnDelete", "rollingUpdate": {"maxUnavailable": 0}}},
    {"topologySpreadConstraints": [{"additionalLabelSelectors": "OnResource"}]},
    {"nodeSelector": {"not a label": "x" * 100}},
    {"dnsPolicy": "None"},
    {"hostAliases": [{"ip": "nowhere", "hostnames": ["under_score"]}]},
    {"hostNetwork": True, "hostUsers": False},
    {"listenLocal": True, "portName": ""},
    {"web": {"tlsConfig": {"keySecret": {"name": "", "key": "k"}, "cert": {}}}},
    {"routePrefix": "no/slash/../x y"},
    {"queryLogFile": "../queries.log", "scrapeFailureLogFile": "./x"},
    {"externalUrl": "$(POD_NAME) ' \" \\"},
    {"resources": {"limits": {"cpu": "1"}, "requests": {"cpu": "2", "": "1"}}},
    {"thanos": {"version": "new"}},
    {"thanos": {"additionalArgs": [{"name": "tsdb.path"}], "objectStorageConfigFile": "/x"}},
    {"thanos": {"baseImage": "not an image", "sha": "x"}},
    {"thanos": {"volumeMounts": [{"name": "a", "mountPath": "/etc/thanos/config"}]}},
    {"thanos": {"objectStorageConfig": {"key": ""}}},
    {"baseImage": "UPPER/case", "tag": "a b", "sha": "!"},
    {"daemonSet": {"storage": {"hostPath": {"path": "relative"}}}},
    {"daemonSet": {"updateStrategy": {"rollingUpdate": {"maxSurge": "x%"}}}},
)
