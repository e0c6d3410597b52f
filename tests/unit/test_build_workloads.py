"""StatefulSets and DaemonSets of Prometheus: what becomes of each setting of a workload."""

import json
from typing import Any

import pytest

from stoker.api.admit import admit
from stoker.api.core import Object
from stoker.api.decode import convert
from stoker.api.prometheus import (
    PROMETHEUS_AGENT,
    Prometheus,
    PrometheusAgent,
    PrometheusAgentSpec,
)
from stoker.api.workload import Storage
from stoker.build import agent, prometheus
from stoker.build.arguments import common_arguments
from stoker.build.hashing import INPUT_HASH, content_hash
from stoker.build.site import Site, TlsAssets
from stoker.build.storage import data_volume
from stoker.build.topology import node_selector, shard_in_zone, zone_of
from stoker.errors import WorkloadError
from stoker.select.workload import scraper_of
from stoker.settings import Capabilities, ObjectSettings
from stoker.validate.workload import mode_rules
from tests.builders import typed

NO_ASSETS = TlsAssets("assets", 0)
TOPOLOGY = {"mode": "Topology", "topology": {"values": ["a", "b"]}}


def site(spec: dict[str, Any], *, on: str = "server", **settings: Any) -> Site:
    """The Prometheus, or the agent, `main` in the namespace `shop`."""
    model: Any = Prometheus if on == "server" else PrometheusAgent
    workload = typed(model, "main", spec, uid="u-1")
    return Site(workload, scraper_of(workload, Capabilities()), ObjectSettings(**settings))


def server(spec: dict[str, Any], shard: int = 0, **more: Any) -> Object:
    """The StatefulSet of a server."""
    return prometheus.stateful_set(site(spec), shard, tls_assets=NO_ASSETS, **more)


def on_nodes(spec: dict[str, Any], **more: Any) -> Object:
    """The DaemonSet of an agent."""
    where = site({"mode": "DaemonSet"} | spec, on="node")
    return agent.daemon_set(where, tls_assets=NO_ASSETS, **more)


def pod(made: Object) -> Object:
    """The specification of the pods."""
    found: Object = made["spec"]["template"]["spec"]
    return found


def container(made: Object, name: str = "prometheus") -> Object:
    """A container of the pods by name, init containers included."""
    all_of_them = pod(made)["containers"] + pod(made)["initContainers"]
    return next(one for one in all_of_them if one["name"] == name)


def flags(made: Object, name: str = "prometheus") -> list[str]:
    """The command line of a container."""
    found: list[str] = container(made, name)["args"]
    return found


def volume(made: Object, name: str) -> Object:
    """A volume of the pods by name."""
    return next(one for one in pod(made)["volumes"] if one["name"] == name)


def mount(made: Object, path: str, name: str = "prometheus") -> Object:
    """The mount of a container at a path."""
    return next(one for one in container(made, name)["volumeMounts"] if one["mountPath"] == path)


# --- the command line -----------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("spec", "expected"),
    [
        ({"externalUrl": "https://x/p"}, "--web.external-url=https://x/p"),
        ({"routePrefix": "/p"}, "--web.route-prefix=/p"),
        ({"logLevel": "debug"}, "--log.level=debug"),
        ({"logFormat": "json"}, "--log.format=json"),
        ({"listenLocal": True}, "--web.listen-address=127.0.0.1:9090"),
        ({"enableAdminAPI": True}, "--web.enable-admin-api"),
        ({"web": {"pageTitle": "Shop"}}, "--web.page-title=Shop"),
        ({"web": {"maxConnections": 0}}, "--web.max-connections=0"),
        ({"enableFeatures": ["a", "b"]}, "--enable-feature=a,b"),
        ({"query": {"maxConcurrency": 3}}, "--query.max-concurrency=3"),
        ({"rules": {"alert": {"resendDelay": "5m"}}}, "--rules.alert.resend-delay=5m"),
        ({"rules": {"alert": {"forGracePeriod": "1m"}}}, "--rules.alert.for-grace-period=1m"),
        ({"walCompression": False}, "--no-storage.tsdb.wal-compression"),
        ({"walCompression": True}, "--storage.tsdb.wal-compression"),
        ({"version": "2.55.0", "retention": "3d"}, "--storage.tsdb.retention.time=3d"),
        ({"version": "2.6.0", "retention": "3d"}, "--storage.tsdb.retention=3d"),
        ({"version": "3.1.0", "retentionSize": "1GB"}, "--storage.tsdb.retention.size=1GB"),
        ({"additionalArgs": [{"name": "x", "value": "1"}]}, "--x=1"),
    ],
)
def test_a_setting_becomes_a_flag(spec: dict[str, Any], expected: str) -> None:
    """A setting that Prometheus takes on its command line is found there."""
    assert expected in flags(server(spec))


@pytest.mark.parametrize(
    ("spec", "absent"),
    [
        ({"logLevel": "info", "logFormat": "logfmt"}, "--log"),
        ({"reloadStrategy": "ProcessSignal"}, "--web.enable-lifecycle"),
        ({"query": {"maxConcurrency": 0, "maxSamples": 0}}, "--query"),
        ({"version": "2.4.0", "query": {"maxSamples": 5}}, "--query.max-samples"),
        ({"version": "2.10.0", "walCompression": True}, "--storage.tsdb.wal-compression"),
        ({"version": "2.20.0", "enableFeatures": ["a"]}, "--enable-feature"),
        ({"version": "2.39.0", "allowOverlappingBlocks": True}, "--storage.tsdb.allow"),
        ({"version": "3.0.0-rc.0"}, "--web.console"),
        ({"version": "3.11.0", "retention": "3d"}, "--storage.tsdb.retention"),
        ({"version": "3.1.0", "retentionSize": "1GB"}, "--storage.tsdb.retention.time"),
        ({"version": "2.23.0"}, "--web.config.file"),
        ({"enableOTLPReceiver": False, "otlp": {}}, "--web.enable-otlp"),
        ({"remoteWriteReceiverMessageVersions": ["V2.0"]}, "--web.remote-write"),
    ],
)
def test_a_flag_that_is_unknown_or_changes_nothing_is_left_out(
    spec: dict[str, Any], absent: str
) -> None:
    """Prometheus does not start with a flag that its version does not know."""
    assert not [one for one in flags(server(spec)) if one.startswith(absent)]


@pytest.mark.parametrize(
    ("spec", "features"),
    [
        ({"version": "2.47.0", "enableOTLPReceiver": True}, ["otlp-write-receiver"]),
        (
            {"version": "3.1.0", "remoteWrite": [{"url": "http://x", "messageVersion": "V2.0"}]},
            ["metadata-wal-records"],
        ),
        (
            {
                "version": "2.54.0",
                "remoteWrite": [{"url": "http://x", "messageVersion": "V2.0"}],
                "otlp": {},
                "enableFeatures": ["mine"],
            },
            ["metadata-wal-records", "otlp-write-receiver", "mine"],
        ),
        ({"tsdb": {"chunkEncoding": {"floats": "Xor2"}}}, ["xor2-encoding"]),
        (
            {"enableFeatures": ["mine"], "tsdb": {"chunkEncoding": {"floats": "Xor2"}}},
            ["mine", "xor2-encoding"],
        ),
        (
            {"enableFeatures": ["xor2-encoding"], "tsdb": {"chunkEncoding": {"floats": "Xor2"}}},
            ["xor2-encoding"],
        ),
    ],
)
def test_a_feature_that_a_setting_needs_is_turned_on(
    spec: dict[str, Any], features: list[str]
) -> None:
    """A user need not know which feature flags a setting needs, and may give them all the same.

    They stand as prometheus-operator orders them: another order would replace every pod.
    """
    made = common_arguments(site(spec).scraper)
    assert [one.value for one in made if one.name == "enable-feature"] == features


def test_the_receiver_of_otlp_is_turned_on_before_features() -> None:
    """As prometheus-operator orders them: another order would replace every pod."""
    found = flags(server({"enableFeatures": ["mine"], "enableOTLPReceiver": True}))
    assert found.index("--web.enable-otlp-receiver") < found.index("--enable-feature=mine")


def test_a_sidecar_that_knows_them_has_both_settings_for_reading_the_configuration() -> None:
    """In prometheus-operator's order; an older one would not start with them."""
    settings = {"getConfigInterval": "1m", "getConfigTimeout": "5s"}
    words = ["--prometheus.get_config_timeout=5s", "--prometheus.get_config_interval=1m"]
    for version, expected in (("v0.29.0", words), ("v0.28.1", [])):
        made = server({"thanos": settings | {"version": version}})
        found = [one for one in flags(made, "thanos-sidecar") if "get_config" in one]
        assert found == expected


def test_a_reloader_that_sends_signals_listens_on_all_addresses() -> None:
    """As with prometheus-operator: to listen elsewhere would replace every pod."""
    made = server({"listenLocal": True, "reloadStrategy": "ProcessSignal"})
    assert "--listen-address=:8080" in flags(made, "config-reloader")
    assert container(made, "config-reloader")["ports"][0]["containerPort"] == 8080


def test_an_agent_is_told_to_be_one_in_the_words_of_its_version() -> None:
    """What makes an agent of Prometheus was a feature first, and is a flag since version 3."""
    for version, word in (("2.53.0", "--enable-feature=agent"), ("3.0.0", "--agent")):
        made = agent.stateful_set(site({"version": version}, on="agent"), 0, tls_assets=NO_ASSETS)
        assert word in flags(made)
        assert "--storage.agent.path=/prometheus" in flags(made)
        assert not [one for one in flags(made) if "tsdb" in one]


def test_garbage_collection_is_a_variable_before_it_is_configuration() -> None:
    """Before Prometheus 2.53 there is no other way to set it."""
    old, new = (server({"version": one, "runtime": {"goGC": 50}}) for one in ("2.52.0", "2.53.0"))
    assert container(old)["env"] == [{"name": "GOGC", "value": "50"}]
    assert container(new)["env"] == []


# --- pods -----------------------------------------------------------------------------------------


def test_settings_of_pods_are_passed_on() -> None:
    """What Kubernetes knows of a pod is said as the user says it."""
    given = {
        "serviceAccountName": "reader",
        "priorityClassName": "high",
        "securityContext": {"runAsUser": 7},
        "imagePullSecrets": [{"name": "login"}],
        "affinity": {"nodeAffinity": {"x": 1}},
        "schedulerName": "own",
        "tolerations": [{"key": "k"}],
        "enableServiceLinks": False,
        "hostUsers": False,
        "nodeSelector": {"disk": "fast"},
        "terminationGracePeriodSeconds": 0,
        "automountServiceAccountToken": False,
        "hostAliases": [{"ip": "10.0.0.1", "hostnames": ["x"]}],
        "dnsConfig": {"searches": ["x.y"]},
    }
    for made in (server(given), on_nodes(given)):
        assert given.items() <= pod(made).items()


@pytest.mark.parametrize(
    ("spec", "policy"),
    [({}, None), ({"hostNetwork": True}, "ClusterFirstWithHostNet")],
)
def test_pods_in_the_network_of_their_node_still_resolve_services(
    spec: dict[str, Any], policy: str | None
) -> None:
    """With the node's network, Kubernetes would take the node's resolver, unless it is told."""
    for made in (server(spec), on_nodes(spec)):
        assert pod(made).get("dnsPolicy") == policy
        assert pod(made).get("hostNetwork") == spec.get("hostNetwork")
    chosen = server(spec | {"dnsPolicy": "Default"})
    assert pod(chosen)["dnsPolicy"] == "Default"


def test_probes_ask_under_the_route_prefix_and_with_tls() -> None:
    """A probe that asks at the wrong address restarts a healthy Prometheus."""
    tls = {"cert": {"secret": {"name": "c", "key": "crt"}}, "keySecret": {"name": "c", "key": "k"}}
    made = server({"routePrefix": "/p/", "web": {"tlsConfig": tls}, "portName": "metrics"})
    asked = container(made)["livenessProbe"]["httpGet"]
    assert asked == {"path": "/p/-/healthy", "port": "metrics", "scheme": "HTTPS"}
    assert "--reload-url=https://localhost:9090/p/-/reload" in flags(made, "config-reloader")


def test_what_listens_locally_is_asked_from_inside() -> None:
    """Kubernetes cannot reach the loopback address of a pod, so a command in the container asks."""
    made = container(server({"listenLocal": True, "routePrefix": "/p"}))
    assert "ports" not in made
    assert "http://localhost:9090/p/-/ready" in made["readinessProbe"]["exec"]["command"][2]


def test_the_users_containers_are_merged_by_name() -> None:
    """A container of a known name changes ours, another is added."""
    patches = [{"name": "prometheus", "tty": True}, {"name": "proxy", "image": "p"}]
    made = server({"containers": patches, "initContainers": [{"name": "chown", "image": "c"}]})
    assert container(made)["tty"] is True
    assert [one["name"] for one in pod(made)["containers"]] == [
        "prometheus",
        "config-reloader",
        "proxy",
    ]
    assert container(made, "chown")["image"] == "c"


def test_in_a_daemon_set_a_volume_that_nobody_mounts_is_left_out() -> None:
    """The peer has none of the user's there, and its pods must not be replaced at a takeover."""
    volumes = [{"name": "used", "emptyDir": {}}, {"name": "idle", "emptyDir": {}}]
    mounts = [{"name": "used", "mountPath": "/used"}]
    for spec in (
        {"volumes": volumes, "volumeMounts": mounts},
        {"volumes": volumes, "containers": [{"name": "x", "image": "x", "volumeMounts": mounts}]},
    ):
        names = [one["name"] for one in pod(on_nodes(spec))["volumes"]]
        assert "used" in names
        assert "idle" not in names
        assert "idle" in [one["name"] for one in pod(server(spec))["volumes"]]


def test_nothing_of_the_users_is_shared_with_what_is_built() -> None:
    """A later change of a built object must not change the resource that it was built from."""
    where = site(
        {
            "volumes": [{"name": "v", "emptyDir": {}}],
            "resources": {"limits": {"cpu": "1"}},
            "affinity": {"nodeAffinity": {}},
            "storage": {"volumeClaimTemplate": {"spec": {"accessModes": ["x"]}}},
            "thanos": {"resources": {"limits": {"cpu": "1"}}},
        }
    )
    before = repr(where.workload)
    made = prometheus.stateful_set(where, 0, tls_assets=NO_ASSETS)
    _scribble(made)
    assert repr(where.workload) == before


def _scribble(value: Any) -> None:
    inner = list(value.values()) if isinstance(value, dict) else value
    for one in inner:
        if isinstance(one, dict | list):
            _scribble(one)
    if isinstance(value, dict):
        value["scribbled"] = True
    else:
        value.append("scribbled")


# --- volumes --------------------------------------------------------------------------------------


def test_listed_secrets_and_config_maps_are_mounted_each_in_its_directory() -> None:
    """Names that no volume could have become names of volumes that differ."""
    made = server({"secrets": ["login", "a.b", "a-b", "a.b"], "configMaps": ["login"]})
    assert volume(made, "secret-login")["secret"] == {"secretName": "login"}
    assert volume(made, "configmap-login")["configMap"] == {"name": "login"}
    assert mount(made, "/etc/prometheus/secrets/a.b")["name"] == "secret-a-b"
    assert mount(made, "/etc/prometheus/secrets/a-b")["name"].startswith("secret-a-b-")


def test_rules_are_mounted_and_watched() -> None:
    """Prometheus reads the rules, and the reloaders tell it when they change."""
    made = server({}, rule_config_maps=["rules-0", "rules-1"])
    where = "/etc/prometheus/rules/rules-1"
    assert volume(made, "rules-1")["configMap"] == {"name": "rules-1", "optional": True}
    assert mount(made, where)["readOnly"] is True
    assert mount(made, where, "config-reloader")["name"] == "rules-1"
    assert f"--watched-dir={where}" in flags(made, "config-reloader")


@pytest.mark.parametrize(
    ("file", "volumes"), [("q.log", 1), ("./q.log", 1), ("/logs/q.log", 0), ("logs/q.log", 0)]
)
def test_log_files_without_a_directory_have_a_volume(file: str, volumes: int) -> None:
    """The root of the file system cannot be written."""
    for field in ("queryLogFile", "scrapeFailureLogFile"):
        names = [one["name"] for one in pod(server({field: file}))["volumes"]]
        assert names.count("log-file") == volumes


@pytest.mark.parametrize(
    ("spec", "mounted"),
    [
        ({"queryLogFile": "q.log"}, ["rules-0", "log-file"]),
        ({"scrapeFailureLogFile": "s.log"}, ["log-file", "rules-0"]),
        ({"queryLogFile": "q.log", "scrapeFailureLogFile": "s.log"}, ["log-file", "rules-0"]),
    ],
)
def test_log_files_and_rules_have_the_order_of_prometheus_operator(
    spec: dict[str, Any], mounted: list[str]
) -> None:
    """Another order of volumes or mounts would replace every pod at a takeover."""
    made = server(spec | {"secrets": ["s"]}, rule_config_maps=["rules-0"])
    assert [one["name"] for one in pod(made)["volumes"]] == [
        *("config", "tls-assets", "config-out", "secret-s", "log-file", "rules-0", "web-config"),
        "prometheus-main-db",
    ]
    assert [one["name"] for one in container(made)["volumeMounts"]] == [
        *("config-out", "tls-assets", "prometheus-main-db", "secret-s", *mounted, "web-config"),
    ]


def test_files_behind_references_come_from_all_their_secrets() -> None:
    """They may be too large for one."""
    made = prometheus.stateful_set(site({}), 0, tls_assets=TlsAssets("x", 2))
    sources = volume(made, "tls-assets")["projected"]["sources"]
    assert sources == [{"secret": {"name": "x-0"}}, {"secret": {"name": "x-1"}}]


@pytest.mark.parametrize(
    ("spec", "path"),
    [
        ({"volumes": [{"name": "ok"}, {"name": "config-out"}]}, "spec.volumes[1].name"),
        ({"volumes": [{"name": "prometheus-main-db"}]}, "spec.volumes[0].name"),
        ({"volumes": [{"name": "x"}, {"name": "x"}]}, "spec.volumes[1].name"),
        (
            {
                "volumes": [{"name": "claimed"}],
                "storage": {"volumeClaimTemplate": {"metadata": {"name": "claimed"}}},
            },
            "spec.volumes[0].name",
        ),
        (
            {"volumeMounts": [{"name": "x", "mountPath": "/prometheus"}]},
            "spec.volumeMounts[0].mountPath",
        ),
        (
            {"thanos": {"volumeMounts": [{"name": "x", "mountPath": "/etc/thanos/config"}]}},
            "spec.thanos.volumeMounts[0].mountPath",
        ),
        ({"additionalArgs": [{"name": "config.file"}]}, "spec.additionalArgs[0]"),
        ({"thanos": {"additionalArgs": [{"name": "http-address"}]}}, "spec.thanos.additional"),
        ({"version": "newest"}, "spec.version"),
        ({"version": "1.8.2"}, "spec.version"),
        ({"thanos": {"version": "newest"}}, "spec.thanos.version"),
        ({"thanos": {"baseImage": "No Image"}}, "spec.thanos.image"),
        ({"storage": {}}, "spec.storage"),
        ({"storage": {"ephemeral": {}}}, "spec.storage.ephemeral.volumeClaimTemplate"),
        ({"containers": [{"image": "x"}]}, "spec.containers[0]"),
    ],
)
def test_what_makes_no_pod_is_refused_with_its_path(spec: dict[str, Any], path: str) -> None:
    """The user learns at once what Kubernetes or Prometheus would refuse later."""
    with pytest.raises(WorkloadError) as error:
        server(spec)
    assert error.value.path.startswith(path)


# --- storage --------------------------------------------------------------------------------------


def test_data_is_lost_with_the_pod_unless_the_user_says_more() -> None:
    """An emptyDir of our own needs no directory of its own in it."""
    made = server({})
    assert volume(made, "prometheus-main-db")["emptyDir"] == {}
    assert "subPath" not in mount(made, "/prometheus")
    assert "volumeClaimTemplates" not in made["spec"]


def test_a_claim_has_the_users_name_labels_and_size() -> None:
    """Kubernetes wants an access mode, which is filled in."""
    template: dict[str, Any] = {
        "metadata": {"name": "disk", "labels": {"a": "b"}},
        "spec": {"resources": {"requests": {"storage": "1Gi"}}},
    }
    made = server(
        {
            "storage": {"volumeClaimTemplate": template},
            "persistentVolumeClaimRetentionPolicy": {"whenDeleted": "Delete"},
        }
    )
    assert made["spec"]["volumeClaimTemplates"] == [
        {
            "metadata": template["metadata"],
            "spec": template["spec"] | {"accessModes": ["ReadWriteOnce"]},
        }
    ]
    assert mount(made, "/prometheus") == {
        "name": "disk",
        "mountPath": "/prometheus",
        "subPath": "prometheus-db",
    }
    assert made["spec"]["persistentVolumeClaimRetentionPolicy"] == {"whenDeleted": "Delete"}


def test_the_first_kind_of_storage_counts() -> None:
    """As documented: emptyDir, ephemeral, volumeClaimTemplate."""
    ephemeral: Object = {"volumeClaimTemplate": {"spec": {}}}
    given = convert(
        Storage,
        {"emptyDir": {"medium": "Memory"}, "ephemeral": ephemeral, "disableMountSubPath": True},
    )
    made = data_volume(given, "data", "/data", "db")
    assert made.volumes == ({"name": "data", "emptyDir": {"medium": "Memory"}},)
    assert made.mount == {"name": "data", "mountPath": "/data"}


# --- shards ---------------------------------------------------------------------------------------


def test_shards_differ_in_name_labels_and_variables() -> None:
    """Each shard is a StatefulSet that knows its own pods only, and its number."""
    first, second = server({"shards": 2, "replicas": 3}), server({"shards": 2}, 1)
    assert first["metadata"]["name"] == "prometheus-main"
    assert second["metadata"]["name"] == "prometheus-main-shard-1"
    assert first["spec"]["replicas"] == 3
    assert first["spec"]["selector"] != second["spec"]["selector"]
    assert {"name": "SHARD", "value": "1"} in container(second, "config-reloader")["env"]


def test_zones_are_taken_in_turn() -> None:
    """With two zones, shard 2 is the second of the first zone, and runs there."""
    where = site({"shards": 4, "shardingStrategy": TOPOLOGY, "nodeSelector": {"x": "y"}})
    workload = where.scraper
    assert [zone_of(workload, shard) for shard in range(4)] == ["a", "b", "a", "b"]
    assert [shard_in_zone(workload, shard) for shard in range(4)] == [0, 0, 1, 1]
    assert node_selector(workload, 3) == {"x": "y", "topology.kubernetes.io/zone": "b"}
    made = prometheus.stateful_set(where, 3, tls_assets=NO_ASSETS)
    environment = container(made, "init-config-reloader")["env"]
    assert {"name": "TOPOLOGY_ZONE", "value": "b"} in environment
    assert {"name": "INZONE_SHARD", "value": "1"} in environment


def test_without_zones_no_zone_is_named() -> None:
    """A shard is numbered among all."""
    workload = site({"shards": 4}).scraper
    assert (zone_of(workload, 3), shard_in_zone(workload, 3)) == ("", 3)
    assert "INZONE_SHARD" not in json.dumps(server({"shards": 4}, 3))


@pytest.mark.parametrize(("added", "shard"), [("OnResource", None), ("OnShard", "0"), (None, None)])
def test_spread_constraints_get_the_labels_that_are_asked_for(
    added: str | None, shard: str | None
) -> None:
    """A user cannot know the labels of a shard when writing its constraint."""
    constraint = {
        "maxSkew": 1,
        "topologyKey": "zone",
        "whenUnsatisfiable": "DoNotSchedule",
        "matchLabelKeys": ["k"],
    } | ({"additionalLabelSelectors": added} if added else {})
    (made,) = pod(server({"topologySpreadConstraints": [constraint]}))["topologySpreadConstraints"]
    labels = made.get("labelSelector", {}).get("matchLabels", {})
    assert "additionalLabelSelectors" not in made
    assert made["matchLabelKeys"] == ["k"]
    assert labels.get("operator.prometheus.io/shard") == shard
    assert labels.get("operator.prometheus.io/name") == ("main" if added else None)


# --- Thanos ---------------------------------------------------------------------------------------

STORAGE = {"objectStorageConfig": {"name": "bucket", "key": "config"}}


def test_a_sidecar_reaches_prometheus_and_serves_thanos() -> None:
    """It asks Prometheus by the pod's own address, under its prefix."""
    made = server({"routePrefix": "/p", "thanos": {"logFormat": "json"}, "logLevel": "warn"})
    assert flags(made, "thanos-sidecar") == [
        "sidecar",
        "--prometheus.url=http://localhost:9090/p",
        "--grpc-address=:10901",
        "--http-address=:10902",
        "--log.level=warn",
        "--log.format=json",
        "--prometheus.http-client-file=/etc/thanos/config/prometheus.http-client-file.yaml",
    ]


def test_uploading_needs_the_data_and_the_bucket() -> None:
    """The bucket's configuration is a Secret, which reaches the sidecar as a variable."""
    made = server({"thanos": STORAGE})
    sidecar = container(made, "thanos-sidecar")
    assert sidecar["env"] == [
        {
            "name": "OBJSTORE_CONFIG",
            "valueFrom": {"secretKeyRef": {"name": "bucket", "key": "config"}},
        }
    ]
    assert "--objstore.config=$(OBJSTORE_CONFIG)" in sidecar["args"]
    assert mount(made, "/prometheus", "thanos-sidecar") == mount(made, "/prometheus")


def test_a_file_wins_over_a_secret() -> None:
    """Then the Secret is not even read."""
    given = {
        "objectStorageConfigFile": "/b",
        "tracingConfig": {"name": "t", "key": "k"},
        "tracingConfigFile": "/t",
    }
    made = container(server({"thanos": STORAGE | given}), "thanos-sidecar")
    assert made["env"] == []
    assert "--objstore.config-file=/b" in made["args"]
    assert "--tracing.config-file=/t" in made["args"]


@pytest.mark.parametrize(
    ("prometheus_version", "thanos_version", "waits"),
    [("3.9.0", "0.42.0", True), ("3.8.0", "0.42.0", False), ("3.9.0", "0.41.0", False)],
)
def test_blocks_are_merged_after_their_upload_where_both_can_wait(
    prometheus_version: str, thanos_version: str, waits: bool
) -> None:
    """Blocks merged before their upload would be lost to Thanos; otherwise none are merged."""
    thanos = STORAGE | {"version": thanos_version, "blockSize": "1h"}
    late = {"outOfOrderTimeWindow": "1h"}
    made = server({"version": prometheus_version, "thanos": thanos, "tsdb": late})
    waiting = "--storage.tsdb.delay-compact-file.path=/prometheus/thanos.shipper.json"
    fixed = "--storage.tsdb.min-block-duration=1h"
    assert (waiting in flags(made), fixed in flags(made)) == (waits, not waits)
    shipper = "--shipper.meta-file-name=thanos.shipper.json"
    assert (shipper in flags(made, "thanos-sidecar")) == waits
    assert "--no-storage.tsdb.allow-overlapping-compaction" in flags(made)


def test_blocks_that_overlap_are_merged_where_none_are_uploaded() -> None:
    """Only an upload leaves them to Thanos."""
    made = server({"thanos": {}, "tsdb": {"outOfOrderTimeWindow": "1h"}})
    assert "--no-storage.tsdb.allow-overlapping-compaction" not in flags(made)


def test_merging_that_is_off_stays_off() -> None:
    """A user's wish stands, uploads or not, and holds for blocks of late samples too."""
    for thanos in ({}, {"thanos": STORAGE}):
        made = server({"disableCompaction": True, "tsdb": {"outOfOrderTimeWindow": "1h"}} | thanos)
        assert "--storage.tsdb.max-block-duration=2h" in flags(made)
        assert "--no-storage.tsdb.allow-overlapping-compaction" in flags(made)
        assert not [one for one in flags(made) if "delay-compact" in one]


@pytest.mark.parametrize(("version", "known"), [("0.36.0", 0), ("0.37.0", 1), ("0.42.0", 3)])
def test_server_tls_is_told_in_flags_that_the_version_knows(version: str, known: int) -> None:
    """Thanos does not start with a flag that it does not know."""
    tls = {"minVersion": "TLS12", "cipherSuites": ["A"], "curves": ["B"], "certFile": "/c"}
    made = flags(
        server({"thanos": {"version": version, "grpcServerTlsConfig": tls}}), "thanos-sidecar"
    )
    given = [
        "--grpc-server-tls-min-version=1.2",
        "--grpc-server-tls-ciphers=A",
        "--grpc-server-tls-curves=B",
    ]
    assert [one for one in made if one in given] == given[:known]
    assert "--grpc-server-tls-cert=/c" in made


# --- split configuration --------------------------------------------------------------------------


def test_each_further_file_of_a_configuration_has_its_reloaders() -> None:
    """All Secrets are one volume; each file is unpacked before the start and after a change."""
    made = server({}, config_files=3)
    names = [one["secret"]["name"] for one in volume(made, "config")["projected"]["sources"]]
    assert names == ["prometheus-main", "prometheus-main-scrape-0", "prometheus-main-scrape-1"]
    for name in ("config-reloader-2", "init-config-reloader-2"):
        words = flags(made, name)
        assert "--config-file=/etc/prometheus/config/scrape-1.yaml.gz" in words
        assert "--config-envsubst-file=/etc/prometheus/config_out/scrape-1.env.yaml" in words
    assert "--reload-url=http://localhost:9090/-/reload" in flags(made, "config-reloader-2")


def test_reloaders_of_further_files_listen_elsewhere() -> None:
    """The containers of a pod share its address, and no two can have the same port."""
    for spec in ({}, {"listenLocal": True}):
        made = server(spec, config_files=3)
        running = [one for one in pod(made)["containers"] if "reloader" in one["name"]]
        addresses = [one["args"][0] for one in running]
        ports = [port for one in running for port in one.get("ports", ())]
        assert len(set(addresses)) == 3
        assert len({port["name"] for port in ports}) == len(ports)
        assert len({port["containerPort"] for port in ports}) == len(ports)


# --- agents on every node -------------------------------------------------------------------------


def test_an_agent_on_every_node_knows_its_node() -> None:
    """The reloaders put the node's name into the configuration; shards and zones mean nothing."""
    made = on_nodes({"shardingStrategy": TOPOLOGY})
    node = {"name": "NODE_NAME", "valueFrom": {"fieldRef": {"fieldPath": "spec.nodeName"}}}
    for name in ("config-reloader", "init-config-reloader"):
        assert node in container(made, name)["env"]
    assert "TOPOLOGY_ZONE" not in json.dumps(made)
    assert "operator.prometheus.io/shard" not in made["spec"]["selector"]["matchLabels"]
    assert (made["kind"], made["metadata"]["name"]) == ("DaemonSet", "prom-agent-main")


def test_volumes_of_the_user_reach_agents_on_every_node() -> None:
    """What a pod of a StatefulSet has, one of a DaemonSet has too."""
    given = {
        "volumes": [{"name": "v", "emptyDir": {}}],
        "volumeMounts": [{"name": "v", "mountPath": "/v"}],
        "podMetadata": {"annotations": {"a": "b"}},
    }
    made = on_nodes(given)
    assert volume(made, "v") == {"name": "v", "emptyDir": {}}
    assert mount(made, "/v") == {"name": "v", "mountPath": "/v"}
    assert made["spec"]["template"]["metadata"]["annotations"]["a"] == "b"


def test_the_pace_of_updates_is_the_users() -> None:
    """How many nodes may be without an agent at once, and what counts as done."""
    strategy = {"type": "RollingUpdate", "rollingUpdate": {"maxUnavailable": "10%"}}
    made = on_nodes(
        {"minReadySeconds": 5, "daemonSet": {"updateStrategy": strategy, "minReadySeconds": 9}}
    )
    assert made["spec"]["updateStrategy"] == strategy
    assert made["spec"]["minReadySeconds"] == 9
    assert on_nodes({"minReadySeconds": 5})["spec"]["minReadySeconds"] == 5
    assert "updateStrategy" not in on_nodes({})["spec"]


def test_the_write_ahead_log_can_lie_on_the_node() -> None:
    """It outlives the pod; each agent has a directory of its own, so none reads another's."""
    made = on_nodes({"daemonSet": {"storage": {"hostPath": {"path": "/var/lib/agents"}}}})
    assert volume(made, "prom-agent-main-db")["hostPath"] == {
        "path": "/var/lib/agents",
        "type": "DirectoryOrCreate",
    }
    assert mount(made, "/prometheus")["subPath"] == "shop/main"
    assert "/prometheus" not in [
        one["mountPath"] for one in container(on_nodes({}))["volumeMounts"]
    ]


@pytest.mark.parametrize("path", ["", "var/lib", "/var/../etc"])
def test_a_path_on_the_node_must_be_absolute(path: str) -> None:
    """Kubernetes refuses others, and a way upwards."""
    with pytest.raises(WorkloadError) as error:
        on_nodes({"daemonSet": {"storage": {"hostPath": {"path": path}}}})
    assert error.value.path == "spec.daemonSet.storage.hostPath.path"


@pytest.mark.parametrize(
    ("spec", "valid"),
    [
        ({"mode": "DaemonSet", "daemonSet": {"minReadySeconds": 1}}, True),
        ({"daemonSet": {"minReadySeconds": 1}}, False),
        ({"mode": "DaemonSet", "daemonSet": {"storage": {"hostPath": {"path": "x"}}}}, False),
        (
            {
                "mode": "DaemonSet",
                "daemonSet": {
                    "storage": {"hostPath": {"path": "/x"}},
                    "updateStrategy": {"type": "RollingUpdate", "rollingUpdate": {"maxSurge": 1}},
                },
            },
            False,
        ),
        (
            {
                "mode": "DaemonSet",
                "daemonSet": {
                    "updateStrategy": {"type": "OnDelete", "rollingUpdate": {"maxUnavailable": 1}}
                },
            },
            False,
        ),
    ],
)
def test_settings_for_every_node_that_make_no_sense_are_refused(
    spec: dict[str, Any], valid: bool
) -> None:
    """They belong to that mode, and two agents never write one log."""
    made = {
        "apiVersion": "monitoring.coreos.com/v1alpha1",
        "kind": "PrometheusAgent",
        "metadata": {"name": "main", "namespace": "shop"},
        "spec": spec,
    }
    (version,) = PROMETHEUS_AGENT.versions
    assert (not admit(version, made).findings) is valid
    declared = convert(PrometheusAgentSpec, spec)
    assert (not list(mode_rules(declared))) is valid


@pytest.mark.parametrize(
    ("pace", "valid"),
    [
        ({}, True),
        ({"maxSurge": 1}, True),
        ({"maxSurge": "10%", "maxUnavailable": 0}, True),
        ({"maxSurge": 0}, True),
        ({"maxUnavailable": "100%"}, True),
        ({"maxSurge": 1, "maxUnavailable": 1}, False),
        ({"maxSurge": 0, "maxUnavailable": 0}, False),
        ({"maxUnavailable": "0%"}, False),
        ({"maxUnavailable": "abc"}, False),
        ({"maxUnavailable": "-5%"}, False),
        ({"maxUnavailable": -1}, False),
        ({"maxUnavailable": "101%"}, False),
        ({"maxSurge": "10"}, False),
    ],
)
def test_a_pace_that_kubernetes_refuses_is_refused_with_its_path(pace: Object, valid: bool) -> None:
    """By the definition and, where that has no rules, by the operator."""
    spec = {"mode": "DaemonSet", "daemonSet": {"updateStrategy": on_pace(pace)}}
    found = [*mode_rules(convert(PrometheusAgentSpec, spec))]
    assert [each.path for each in found] == (
        [] if valid else ["spec.daemonSet.updateStrategy.rollingUpdate"]
    )


def on_pace(pace: Object) -> Object:
    """A strategy of rolling updates."""
    return {"type": "RollingUpdate", "rollingUpdate": pace}


def test_no_node_is_without_an_agent_while_more_than_one_may_run() -> None:
    """Kubernetes fills in one that may be missing, and refuses that beside `maxSurge`."""

    def made(pace: Object) -> Object:
        spec = on_nodes({"daemonSet": {"updateStrategy": on_pace(pace)}})["spec"]
        found: Object = spec["updateStrategy"]["rollingUpdate"]
        return found

    assert made({"maxSurge": 1}) == {"maxSurge": 1, "maxUnavailable": 0}
    assert made({"maxSurge": "0%"}) == {"maxSurge": "0%"}
    assert made({"maxUnavailable": 2}) == {"maxUnavailable": 2}


def test_two_agents_cannot_share_the_ports_of_a_node() -> None:
    """A surge on the host's network would wait for itself."""
    spec = {
        "mode": "DaemonSet",
        "hostNetwork": True,
        "daemonSet": {"updateStrategy": on_pace({"maxSurge": 1})},
    }
    (found,) = mode_rules(convert(PrometheusAgentSpec, spec))
    assert "maxSurge cannot be set with hostNetwork" in found.message


# --- objects --------------------------------------------------------------------------------------


def test_the_hash_tells_contents_apart_and_nothing_else() -> None:
    """An object is written again when its content changes, not when members change their order."""
    made = server({})
    shuffled = dict(reversed(made.items()))
    assert content_hash(made) == content_hash(shuffled)
    assert content_hash(made) == content_hash(server({}, input_hash="before"))
    assert content_hash(made) == content_hash(made | {"status": {"replicas": 1}})
    assert content_hash(made) != content_hash(server({"replicas": 2}))
    assert server({}, input_hash="x")["metadata"]["annotations"][INPUT_HASH] == "x"


@pytest.mark.parametrize(("replicas", "expected"), [(None, 1), (0, 0), (3, 3), (-1, 1)])
def test_there_is_one_replica_unless_the_user_says_otherwise(
    replicas: int | None, expected: int
) -> None:
    """None at all is a wish too; fewer are a mistake, which prometheus-operator reads as one."""
    spec = {} if replicas is None else {"replicas": replicas}
    assert server(spec)["spec"]["replicas"] == expected


def test_a_stateful_set_is_updated_as_the_user_says() -> None:
    """Otherwise pods start together, and are replaced one after the other."""
    usual = server({})["spec"]
    assert (usual["podManagementPolicy"], usual["updateStrategy"]) == (
        "Parallel",
        {"type": "RollingUpdate"},
    )
    strategy = {"type": "RollingUpdate", "rollingUpdate": {"maxUnavailable": 2}}
    made = server(
        {
            "updateStrategy": strategy,
            "podManagementPolicy": "OrderedReady",
            "minReadySeconds": 3,
            "serviceName": "own",
        }
    )["spec"]
    assert made["updateStrategy"] == strategy
    assert (made["podManagementPolicy"], made["minReadySeconds"], made["serviceName"]) == (
        "OrderedReady",
        3,
        "own",
    )


def test_flags_label_everything() -> None:
    """Labels that the operator is told to put on its objects are on sets and pods."""
    made = prometheus.stateful_set(site({}, labels={"team": "x"}), 0, tls_assets=NO_ASSETS)
    assert made["metadata"]["labels"]["team"] == "x"
