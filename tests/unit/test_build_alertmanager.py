"""The objects of an Alertmanager: what becomes of each setting."""

from base64 import b64decode
from typing import Any

import pytest

from stoker.api.alertmanager import Alertmanager
from stoker.api.core import Object
from stoker.build.alerting import alertmanager
from stoker.build.alerting.objects import AlertmanagerContents, alertmanager_objects
from stoker.build.alerting.paths import CONFIG_KEY
from stoker.build.hashing import INPUT_HASH
from stoker.build.site import TlsAssets
from stoker.errors import WorkloadError
from stoker.settings import ObjectSettings
from tests.builders import typed

NO_ASSETS = TlsAssets("assets", 0)
KEY = {"name": "vault", "key": "plain"}
TLS = {"cert": {"secret": KEY}, "keySecret": KEY}
CONTENTS = AlertmanagerContents(config_files={CONFIG_KEY: b"packed"}, asset_files={"file": "text"})


def workload(spec: dict[str, Any], **metadata: Any) -> Alertmanager:
    """Name the Alertmanager `main` in the namespace `shop`."""
    return typed(Alertmanager, "main", spec, **{"uid": "u-1"} | metadata)


def stateful_set(spec: dict[str, Any], **settings: Any) -> Object:
    """Build the StatefulSet."""
    return alertmanager.stateful_set(
        workload(spec), ObjectSettings(**settings), tls_assets=NO_ASSETS, input_hash="h"
    )


def pod(spec: dict[str, Any], **settings: Any) -> Object:
    """Build the specification of the pods."""
    found: Object = stateful_set(spec, **settings)["spec"]["template"]["spec"]
    return found


def container(spec: dict[str, Any], name: str = "alertmanager", **settings: Any) -> Object:
    """Build a container, init containers included."""
    made = pod(spec, **settings)
    return next(one for one in made["containers"] + made["initContainers"] if one["name"] == name)


def flags(spec: dict[str, Any], **settings: Any) -> list[str]:
    """Build the command line of Alertmanager."""
    found: list[str] = container(spec, **settings)["args"]
    return found


def objects(spec: dict[str, Any]) -> dict[str, Object]:
    """Build all objects, by kind and name."""
    made = alertmanager_objects(workload(spec), ObjectSettings(), CONTENTS)
    return {f"{each['kind']} {each['metadata']['name']}": each for each in made}


def named(items: list[Object], name: str) -> Object:
    """Find an item by its name."""
    return next(one for one in items if one["name"] == name)


# --- The command line -----------------------------------------------------------------------------


def test_a_bare_alertmanager_runs_alone_with_defaults() -> None:
    """It keeps data for five days, and listens for no other members."""
    assert flags({}) == [
        "--config.file=/etc/alertmanager/config_out/alertmanager.env.yaml",
        "--storage.path=/alertmanager",
        "--data.retention=120h",
        "--cluster.listen-address=",
        "--web.listen-address=:9093",
        "--web.route-prefix=/",
        "--cluster.peer-name=$(POD_NAME)",
        "--cluster.label=shop/main",
        "--cluster.peer=alertmanager-main-0.alertmanager-operated:9094",
        "--cluster.reconnect-timeout=5m",
        "--web.config.file=/etc/alertmanager/web_config/web-config.yaml",
    ]


@pytest.mark.parametrize(
    ("spec", "since", "flag"),
    [
        ({"enableFeatures": ["a", "b"]}, "0.27.0", "--enable-feature=a,b"),
        ({"web": {"getConcurrency": 5}}, "0.17.0", "--web.get-concurrency=5"),
        ({"web": {"timeout": 50}}, "0.17.0", "--web.timeout=50s"),
        ({"logFormat": "json"}, "0.16.0", "--log.format=json"),
        ({"limits": {"maxSilences": 0}}, "0.28.0", "--silences.max-silences=0"),
        (
            {"limits": {"maxPerSilenceBytes": "64KiB"}},
            "0.28.0",
            "--silences.max-silence-size-bytes=65536",
        ),
        ({"minReadySeconds": 60}, "0.30.0", "--dispatch.start-delay=60s"),
        ({"minReadySeconds": 0}, "0.30.0", "--dispatch.start-delay=0s"),
        ({"clusterPeerName": "me"}, "0.30.0", "--cluster.peer-name=me"),
        ({"clusterLabel": "all"}, "0.26.0", "--cluster.label=all"),
        ({}, "0.22.0", "--web.config.file=/etc/alertmanager/web_config/web-config.yaml"),
        (
            {"clusterTLS": {"server": TLS, "client": {}}},
            "0.24.0",
            "--cluster.tls-config=/etc/alertmanager/cluster_tls_config/cluster-tls-config.yaml",
        ),
    ],
)
def test_a_flag_is_given_to_versions_that_know_it(
    spec: dict[str, Any], since: str, flag: str
) -> None:
    """From its first version on; the one before would not start with it."""
    minor = int(since.split(".")[1])
    assert flag in flags(spec | {"version": f"v{since}"})
    assert not {flag} & set(flags(spec | {"version": f"v0.{minor - 1}.9"}))


@pytest.mark.parametrize(
    ("spec", "flag"),
    [
        ({"retention": "48h"}, "--data.retention=48h"),
        ({"retention": "0s"}, "--data.retention=120h"),
        ({"externalUrl": "https://x/y"}, "--web.external-url=https://x/y"),
        ({"routePrefix": "/y"}, "--web.route-prefix=/y"),
        ({"logLevel": "debug"}, "--log.level=debug"),
        ({"listenLocal": True}, "--web.listen-address=127.0.0.1:9093"),
        ({"forceEnableClusterMode": True}, "--cluster.listen-address=[$(POD_IP)]:9094"),
        ({"replicas": 2}, "--cluster.listen-address=[$(POD_IP)]:9094"),
        ({"additionalPeers": ["far:9094"]}, "--cluster.peer=far:9094"),
        ({"clusterAdvertiseAddress": "1.2.3.4:5"}, "--cluster.advertise-address=1.2.3.4:5"),
        ({"clusterGossipInterval": "1s"}, "--cluster.gossip-interval=1s"),
        ({"clusterPushpullInterval": "2m"}, "--cluster.pushpull-interval=2m"),
        ({"clusterPeerTimeout": "3s"}, "--cluster.peer-timeout=3s"),
    ],
)
def test_a_setting_becomes_a_flag(spec: dict[str, Any], flag: str) -> None:
    """For all versions."""
    assert flag in flags(spec)
    assert flag in flags(spec | {"version": "v0.15.3"})


def test_flags_have_the_order_of_prometheus_operator() -> None:
    """Another order would replace every pod at a takeover."""
    spec = {
        "externalUrl": "https://x",
        "enableFeatures": ["a"],
        "web": {"getConcurrency": 5, "timeout": 50},
        "limits": {"maxSilences": 1, "maxPerSilenceBytes": "1KiB"},
        "minReadySeconds": 60,
        "logLevel": "debug",
        "logFormat": "json",
        "clusterAdvertiseAddress": "1.2.3.4:5",
        "clusterGossipInterval": "1s",
        "clusterPushpullInterval": "2m",
        "clusterPeerTimeout": "3s",
    }
    found = [one.partition("=")[0] for one in flags(spec)]
    assert found[found.index("--web.listen-address") + 1 :] == [
        *("--web.external-url", "--enable-feature", "--web.route-prefix"),
        *("--web.get-concurrency", "--web.timeout", "--silences.max-silences"),
        *("--silences.max-silence-size-bytes", "--dispatch.start-delay"),
        *("--log.level", "--log.format", "--cluster.advertise-address"),
        *("--cluster.gossip-interval", "--cluster.pushpull-interval", "--cluster.peer-timeout"),
        *("--cluster.peer-name", "--cluster.label", "--cluster.peer"),
        *("--cluster.reconnect-timeout", "--web.config.file"),
    ]


def test_what_alertmanager_does_anyway_is_not_said() -> None:
    """Neither its own log settings, nor durations of zero, with which it would not work."""
    zero = {"clusterGossipInterval": "0s", "clusterPeerTimeout": "0", "logLevel": "info"}
    assert flags(zero | {"logFormat": "logfmt"}) == flags({})


def test_members_find_each_other_by_the_names_that_a_service_gives() -> None:
    """One for each replica, in the domain of the cluster if that is known."""
    found = flags({"replicas": 2, "serviceName": "own"}, cluster_domain="cluster.test")
    assert [flag for flag in found if flag.startswith("--cluster.peer=")] == [
        "--cluster.peer=alertmanager-main-0.own.shop.svc.cluster.test.:9094",
        "--cluster.peer=alertmanager-main-1.own.shop.svc.cluster.test.:9094",
    ]


def test_the_user_may_say_how_long_to_wait_before_notifying() -> None:
    """Then the time until a pod counts as available does not."""
    delay = {"name": "dispatch.start-delay", "value": "10s"}
    found = flags({"minReadySeconds": 60, "additionalArgs": [delay]})
    assert [flag for flag in found if "start-delay" in flag] == ["--dispatch.start-delay=10s"]
    assert found[-1] == "--dispatch.start-delay=10s"


@pytest.mark.parametrize(
    ("spec", "path"),
    [
        ({"additionalArgs": [{"name": "cluster.peer", "value": "x"}]}, "spec.additionalArgs[0]"),
        ({"limits": {"maxPerSilenceBytes": "much"}}, "spec.limits.maxPerSilenceBytes"),
        ({"replicas": 2_000_000_000}, "spec.replicas"),
        ({"version": "latest"}, "spec.version"),
        ({"version": "v3.1.0"}, "spec.version"),
        ({"storage": {}}, "spec.storage"),
        ({"volumes": [{"name": "config-out"}]}, "spec.volumes[0].name"),
        (
            {"volumeMounts": [{"name": "x", "mountPath": "/alertmanager"}]},
            "spec.volumeMounts[0].mountPath",
        ),
        (
            {"alertmanagerConfiguration": {"templates": [{"secret": KEY}, {}]}},
            "spec.alertmanagerConfiguration.templates[1]",
        ),
        (
            {"topologySpreadConstraints": [{"topologyKey": "zone"}] * 2},
            "spec.topologySpreadConstraints[1]",
        ),
    ],
)
def test_what_cannot_be_built_is_told_with_its_path(spec: dict[str, Any], path: str) -> None:
    """And nothing is built."""
    with pytest.raises(WorkloadError) as caught:
        stateful_set(spec)
    assert caught.value.path == path


# --- The pod --------------------------------------------------------------------------------------


def test_alertmanager_is_asked_whether_it_lives_and_is_ready() -> None:
    """At its port and under its prefix, over TLS if it serves that."""
    made = container({"routePrefix": "/am", "portName": "alerts", "web": {"tlsConfig": TLS}})
    asked = {"port": "alerts", "scheme": "HTTPS"}
    assert made["livenessProbe"]["httpGet"] == {"path": "/am/-/healthy", **asked}
    assert made["readinessProbe"]["httpGet"] == {"path": "/am/-/ready", **asked}
    assert made["ports"][0] == {"name": "alerts", "containerPort": 9093, "protocol": "TCP"}


def test_alertmanager_on_the_loopback_address_is_not_asked() -> None:
    """Kubernetes does not reach it; the members of the cluster still reach each other."""
    made = container({"listenLocal": True})
    assert not {"livenessProbe", "readinessProbe"} & made.keys()
    assert [port["name"] for port in made["ports"]] == ["mesh-tcp", "mesh-udp"]


def test_the_reloader_watches_all_that_the_configuration_may_read() -> None:
    """Its own Secret, those that the user lists, and templates; it calls under the prefix."""
    spec = {
        "secrets": ["tokens"],
        "configMaps": ["words"],
        "alertmanagerConfiguration": {"templates": [{"secret": KEY}]},
        "routePrefix": "/am",
        "logLevel": "debug",
    }
    made = container(spec, "config-reloader")
    assert made["args"] == [
        "--listen-address=:8080",
        "--web-config-file=/etc/alertmanager/web_config/web-config.yaml",
        "--reload-url=http://localhost:9093/am/-/reload",
        "--config-file=/etc/alertmanager/config/alertmanager.yaml.gz",
        "--config-envsubst-file=/etc/alertmanager/config_out/alertmanager.env.yaml",
        "--watched-dir=/etc/alertmanager/config",
        "--watched-dir=/etc/alertmanager/templates",
        "--watched-dir=/etc/alertmanager/secrets/tokens",
        "--watched-dir=/etc/alertmanager/configmaps/words",
        "--log-level=debug",
    ]
    assert container(spec, "init-config-reloader")["args"][:2] == [
        "--watch-interval=0",
        "--listen-address=:8081",
    ]


def test_templates_lie_in_one_directory() -> None:
    """From Secrets and ConfigMaps; of two with the same name, the first."""
    more = [{"configMap": {"name": "words", "key": "plain"}}, {"configMap": KEY | {"key": "b"}}]
    spec = {"alertmanagerConfiguration": {"templates": [{"secret": KEY}, *more]}}
    assert named(pod(spec)["volumes"], "notification-templates")["projected"]["sources"] == [
        {"secret": {"name": "vault", "items": [{"key": "plain", "path": "plain"}]}},
        {"configMap": {"name": "vault", "items": [{"key": "b", "path": "b"}]}},
    ]


def test_an_item_of_templates_may_name_a_secret_and_a_config_map() -> None:
    """Both are mounted, as by prometheus-operator."""
    both = {"secret": KEY, "configMap": {"name": "words", "key": "b"}}
    spec = {"alertmanagerConfiguration": {"templates": [both]}}
    assert named(pod(spec)["volumes"], "notification-templates")["projected"]["sources"] == [
        {"configMap": {"name": "words", "items": [{"key": "b", "path": "b"}]}},
        {"secret": {"name": "vault", "items": [{"key": "plain", "path": "plain"}]}},
    ]


def test_the_container_that_kubectl_takes_is_fixed() -> None:
    """As with prometheus-operator: another annotation would replace every pod."""
    name = "kubectl.kubernetes.io/default-container"
    made = stateful_set({"podMetadata": {"annotations": {name: "mine", "a": "b"}}})
    found = made["spec"]["template"]["metadata"]["annotations"]
    assert found == {name: "alertmanager", "a": "b"}


def test_the_users_mounts_stand_before_those_of_the_web_server() -> None:
    """As prometheus-operator orders them: another order would replace every pod."""
    spec = {
        "secrets": ["tokens"],
        "alertmanagerConfiguration": {"templates": [{"secret": KEY}]},
        "volumes": [{"name": "mine", "emptyDir": {}}],
        "volumeMounts": [{"name": "mine", "mountPath": "/mine"}],
    }
    assert [one["name"] for one in container(spec)["volumeMounts"]] == [
        *("config-volume", "config-out", "tls-assets", "alertmanager-main-db"),
        *("notification-templates", "secret-tokens", "mine", "web-config", "cluster-tls-config"),
    ]
    assert [one["name"] for one in pod(spec)["volumes"]] == [
        *("config-volume", "tls-assets", "config-out", "notification-templates", "secret-tokens"),
        *("web-config", "cluster-tls-config", "alertmanager-main-db", "mine"),
    ]


def test_certificates_for_the_cluster_are_mounted_for_both_directions() -> None:
    """Whatever Secrets and ConfigMaps they are in; the reloader has no part in it."""
    client = {"ca": {"configMap": KEY}, "cert": {"secret": KEY}, "keySecret": KEY}
    spec = {"clusterTLS": {"server": TLS, "client": client}}
    below = "/etc/alertmanager/cluster_tls_config/"
    paths = [one["mountPath"] for one in container(spec)["volumeMounts"]]
    assert [path.removeprefix(below) for path in paths if path.startswith(below)] == [
        "cluster-tls-config.yaml",
        "server_tls/secret/vault-key",
        "server_tls/secret/vault-cert",
        "client_tls/secret/vault-key",
        "client_tls/secret/vault-cert",
        "client_tls/configmap/vault-ca",
    ]
    reloader = container(spec, "config-reloader")["volumeMounts"]
    assert not [one for one in reloader if one["mountPath"].startswith(below)]


@pytest.mark.parametrize(
    ("given", "requests"),
    [
        ({}, {"memory": "200Mi"}),
        ({"requests": {"cpu": "1"}}, {"cpu": "1", "memory": "200Mi"}),
        ({"requests": {"memory": "1Gi"}}, {"memory": "1Gi"}),
        ({"limits": {"memory": "1Gi"}}, {"memory": "200Mi"}),
        ({"limits": {"memory": "100Mi"}}, None),
    ],
)
def test_memory_is_asked_for_unless_the_user_allows_less(
    given: Object, requests: Object | None
) -> None:
    """Kubernetes refuses a request above the limit, and takes the limit where there is none."""
    assert container({"resources": given})["resources"].get("requests") == requests


def test_pods_are_selected_by_labels_that_users_cannot_take() -> None:
    """Their own labels are added; those of flags are on everything."""
    spec = {"podMetadata": {"labels": {"alertmanager": "other", "team": "a"}}}
    made = stateful_set(spec, labels={"flag": "x"})
    selected = made["spec"]["selector"]["matchLabels"]
    assert selected == {
        "app.kubernetes.io/managed-by": "prometheus-operator",
        "app.kubernetes.io/name": "alertmanager",
        "app.kubernetes.io/instance": "main",
        "alertmanager": "main",
        "flag": "x",
    }
    labels = made["spec"]["template"]["metadata"]["labels"]
    assert labels == selected | {"team": "a", "app.kubernetes.io/version": "0.34.0"}


def test_the_image_is_the_users_or_that_of_the_version() -> None:
    """As they write the version, as tags have a `v` in some registries only."""
    assert (
        container({"version": "0.30.0"}, alertmanager_base_image="x/am")["image"] == "x/am:0.30.0"
    )
    assert container({"image": "mine:1"})["image"] == "mine:1"


def test_data_is_kept_where_the_user_says() -> None:
    """In a directory of the volume; the claim has the user's name."""
    template = {"metadata": {"name": "kept"}, "spec": {"resources": {}}}
    spec = {"storage": {"volumeClaimTemplate": template}}
    made = stateful_set(spec)["spec"]
    assert [one["metadata"]["name"] for one in made["volumeClaimTemplates"]] == ["kept"]
    mounts = made["template"]["spec"]["containers"][0]["volumeMounts"]
    assert named(mounts, "kept")["subPath"] == "alertmanager-db"


# --- All objects ----------------------------------------------------------------------------------


def test_an_alertmanager_is_four_secrets_a_service_and_a_stateful_set() -> None:
    """What pods mount comes first; all are in its namespace and belong to it."""
    made = objects({})
    assert list(made) == [
        "Secret alertmanager-main-generated",
        "Secret alertmanager-main-tls-assets-0",
        "Secret alertmanager-main-web-config",
        "Secret alertmanager-main-cluster-tls-config",
        "Service alertmanager-operated",
        "StatefulSet alertmanager-main",
    ]
    for each in made.values():
        assert each["metadata"]["namespace"] == "shop"
        assert [one["uid"] for one in each["metadata"]["ownerReferences"]] == ["u-1"]
    assert len(made["StatefulSet alertmanager-main"]["metadata"]["annotations"][INPUT_HASH]) == 32


def test_an_own_service_is_left_to_the_user() -> None:
    """There is none of the operator's then."""
    assert "Service alertmanager-operated" not in objects({"serviceName": "own"})


def test_secrets_carry_what_they_are_given() -> None:
    """The configuration, the files behind references, and the two files for TLS."""
    client = {"insecureSkipVerify": True, "minVersion": "TLS12"}
    made = objects({"web": {"tlsConfig": TLS}, "clusterTLS": {"server": TLS, "client": client}})

    def text(name: str, key: str) -> str:
        return b64decode(made[f"Secret alertmanager-main-{name}"]["data"][key]).decode()

    assert text("generated", "alertmanager.yaml.gz") == "packed"
    assert text("tls-assets-0", "file") == "text"
    assert text("web-config", "web-config.yaml").startswith("tls_server_config:\n  cert_file: /etc")
    cluster = "/etc/alertmanager/cluster_tls_config/server_tls/secret"
    assert text("cluster-tls-config", "cluster-tls-config.yaml") == (
        "tls_server_config:\n"
        f"  key_file: {cluster}/vault-key/plain\n"
        f"  cert_file: {cluster}/vault-cert/plain\n"
        "tls_client_config:\n"
        "  insecure_skip_verify: true\n"
        "  min_version: TLS12\n"
    )


def test_an_old_alertmanager_is_not_told_what_it_would_not_read() -> None:
    """The file is read strictly; 0.24 does not know versions of TLS for a client."""
    tls = {"server": TLS, "client": {"minVersion": "TLS12"}}
    made = objects({"clusterTLS": tls, "version": "v0.24.0"})
    data = made["Secret alertmanager-main-cluster-tls-config"]["data"]
    assert b"min_version" not in b64decode(data["cluster-tls-config.yaml"])


@pytest.mark.parametrize(
    ("spec", "path"),
    [
        ({"web": {"tlsConfig": {"keySecret": KEY}}}, "spec.web.tlsConfig.cert"),
        ({"clusterTLS": {"server": {}, "client": {}}}, "spec.clusterTLS.server.cert"),
        (
            {"clusterTLS": {"server": TLS, "client": {"cert": {"secret": KEY}}}},
            "spec.clusterTLS.client",
        ),
    ],
)
def test_half_of_a_certificate_is_refused(spec: dict[str, Any], path: str) -> None:
    """Alertmanager would not start."""
    with pytest.raises(WorkloadError) as caught:
        objects(spec)
    assert caught.value.path.startswith(path)


def test_building_leaves_the_users_object_alone() -> None:
    """What was given can be built from again, and gives the same."""
    given = workload({"volumes": [{"name": "a", "emptyDir": {}}], "resources": {"requests": {}}})
    first = alertmanager_objects(given, ObjectSettings(), CONTENTS)
    first[-1]["spec"]["template"]["spec"]["volumes"].clear()
    again = alertmanager_objects(given, ObjectSettings(), CONTENTS)
    assert again[-1]["spec"]["template"]["spec"]["volumes"]
