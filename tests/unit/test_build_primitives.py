"""The pieces of workload objects: names, metadata, containers, Secrets, Services."""

from base64 import b64decode
from copy import deepcopy
from typing import Any

import pytest
import yaml

from stoker.api.alertmanager import ClusterTlsConfig
from stoker.api.core import Object
from stoker.api.decode import convert
from stoker.api.prometheus import Prometheus, PrometheusAgent
from stoker.api.workload import Argument, DnsConfig, HostAlias, WebConfig
from stoker.build.args import as_text, with_additional
from stoker.build.image import image_path
from stoker.build.merge import merge_containers
from stoker.build.meta import metadata, owner_reference
from stoker.build.names import (
    config_secret_name,
    daemon_set_name,
    governing_service_name,
    object_labels,
    pod_annotations,
    pod_labels,
    selector_labels,
    stateful_set_name,
    thanos_http_client_name,
    tls_assets_name,
    unique_label,
    volume_claim_name,
    web_config_name,
)
from stoker.build.pod import (
    dns_config,
    exec_probe,
    host_aliases,
    http_probe,
    probe,
    startup_probe_timing,
)
from stoker.build.reloader import ReloaderPlan, reloader_container
from stoker.build.secrets import (
    config_secrets,
    shards_of,
    tls_asset_secrets,
    web_config_secret,
)
from stoker.build.services import (
    ALERTMANAGER,
    THANOS_RULER,
    check_custom_service,
    governing_service,
    service_of,
)
from stoker.build.webconfig import web_config_mount
from stoker.build.xxh64 import xxh64
from stoker.errors import WorkloadError
from stoker.generate.clustertls import cluster_tls_text
from stoker.generate.webconfig import web_config_text
from stoker.select.workload import AnyPrometheus, Scraper, scraper_of
from stoker.settings import Capabilities, ObjectSettings, Reloader


def prometheus(spec: dict[str, Any] | None = None, **meta: Any) -> Prometheus:
    """A Prometheus `main` with this specification."""
    return convert(
        Prometheus,
        {
            "apiVersion": "monitoring.coreos.com/v1",
            "kind": "Prometheus",
            "metadata": {"name": "main", "namespace": "ns", "uid": "u1"} | meta,
            "spec": spec or {},
        },
    )


def agent(**spec: Any) -> Scraper:
    """A PrometheusAgent `edge`."""
    return seen(convert(PrometheusAgent, {"metadata": {"name": "edge"}, "spec": spec}))


def seen(scraper: AnyPrometheus) -> Scraper:
    """A workload as the builders know it."""
    return scraper_of(scraper, Capabilities())


def server(**spec: Any) -> Scraper:
    """The Prometheus `main` as the builders know it."""
    return seen(prometheus(spec))


# --- names


def test_objects_are_named_after_their_workload() -> None:
    """Each object has the name under which a takeover looks for it."""
    workload = server()
    assert stateful_set_name(workload, 0) == "prometheus-main"
    assert stateful_set_name(workload, 2) == "prometheus-main-shard-2"
    assert config_secret_name(workload) == "prometheus-main"
    assert tls_assets_name(workload) == "prometheus-main-tls-assets"
    assert web_config_name(workload) == "prometheus-main-web-config"
    assert thanos_http_client_name(workload) == "prometheus-main-thanos-prometheus-http-client-file"
    assert governing_service_name(workload) == "prometheus-operated"
    assert volume_claim_name(workload) == "prometheus-main-db"


def test_objects_of_an_agent_have_a_prefix_of_their_own() -> None:
    """An agent and a server of the same name do not collide."""
    workload = agent()
    assert stateful_set_name(workload, 1) == "prom-agent-edge-shard-1"
    assert daemon_set_name(workload) == "prom-agent-edge"
    assert governing_service_name(workload) == "prometheus-agent-operated"


def test_users_name_their_own_service_and_claims() -> None:
    """`serviceName` and the name of the claim template are taken."""
    template = {"volumeClaimTemplate": {"metadata": {"name": "data"}}}
    workload = server(serviceName="mine", storage=template)
    assert governing_service_name(workload) == "mine"
    assert volume_claim_name(workload) == "data"


def test_pods_are_selected_by_labels_that_no_one_can_change() -> None:
    """A pod label of the user does not replace one that is selected by."""
    labels = {"app.kubernetes.io/name": "other", "team": "a", "app.kubernetes.io/version": "x"}
    workload = server(podMetadata={"labels": labels}, version="v3.1.0")
    selected = selector_labels(workload, 1)
    assert selected == {
        "app.kubernetes.io/managed-by": "prometheus-operator",
        "app.kubernetes.io/name": "prometheus",
        "app.kubernetes.io/instance": "main",
        "operator.prometheus.io/name": "main",
        "operator.prometheus.io/shard": "1",
        "prometheus": "main",
    }
    pods = pod_labels(workload, 1, {"from": "flags"})
    assert pods == selected | {
        "team": "a",
        "app.kubernetes.io/version": "x",
        "from": "flags",
    }


def test_pods_of_a_daemon_set_have_no_shard() -> None:
    """One agent per node: neither a shard nor the label of servers."""
    labels = object_labels(agent(version="3.2.0"), None)
    assert labels["operator.prometheus.io/mode"] == "agent"
    assert labels["app.kubernetes.io/name"] == "prometheus-agent"
    assert "operator.prometheus.io/shard" not in labels
    assert "prometheus" not in labels


def test_pods_tell_kubectl_their_main_container() -> None:
    """The annotation is there, and a user may point it elsewhere."""
    key = "kubectl.kubernetes.io/default-container"
    assert pod_annotations(server()) == {key: "prometheus"}
    own = server(podMetadata={"annotations": {key: "proxy", "a": "b"}})
    assert pod_annotations(own) == {key: "proxy", "a": "b"}


@pytest.mark.parametrize(
    ("prefix", "name", "label"),
    [
        ("", "NAME", "name-4cfd3574"),
        ("with-prefix-", "name", "with-prefix-name-6c5f7b2e"),
        ("", "foo^%#$bar", "foo-bar-f3e212b1"),
        ("", "foo--", "foo-e705c7c8"),
        ("secret", "my.dotted.secret", "secret-my-dotted-secret-1246522d"),
        ("p", "test-secret", "p-test-secret-f9e12a15"),
    ],
)
def test_a_volume_is_named_after_its_secret(prefix: str, name: str, label: str) -> None:
    """What cannot stand in a label is left out, and a hash of the name tells it apart."""
    assert unique_label(prefix, name) == label


def test_a_long_name_still_makes_a_label_of_its_own() -> None:
    """Two names with the same beginning differ, and neither is longer than a label may be."""
    first, second = (unique_label("", "a" * 63 + end) for end in ("foo", "bar"))
    assert first != second
    assert len(first) == len(second) == 63
    assert "--" not in unique_label("", "a" * 53 + "-bc")


def test_a_name_without_letters_makes_no_label() -> None:
    """There is nothing to name the volume after."""
    with pytest.raises(WorkloadError):
        unique_label("", "@$!!@")


@pytest.mark.parametrize(
    ("text", "value"),
    [
        ("", 0xEF46DB3751D8E999),
        ("a", 0xD24EC4F1A98C6E5B),
        ("abc", 0x44BC2CF5AD770999),
        ("Call me Ishmael. Some years ago--never mind how long precisely-", 0x02A2E85470D6FD96),
    ],
)
def test_the_hash_is_xxh64(text: str, value: int) -> None:
    """Published values, for inputs shorter and longer than a stripe."""
    assert xxh64(text.encode()) == value


# --- metadata


def test_an_object_inherits_from_its_owner_and_flags_win() -> None:
    """The owner's labels, then ours, then those of flags; kubectl's notes stay with the owner."""
    workload = prometheus(
        labels={"team": "a", "managed-by": "me", "site": "x"},
        annotations={"kubectl.kubernetes.io/last-applied-configuration": "{}", "note": "n"},
    )
    settings = ObjectSettings(labels={"site": "y"}, annotations={"note": "flag"})
    made = metadata(
        workload, settings, "name", labels={"mode": "m"}, annotations={"hash": "h"}, inherit=True
    )
    assert made["labels"] == {
        "team": "a",
        "mode": "m",
        "site": "y",
        "managed-by": "prometheus-operator",
        "app.kubernetes.io/managed-by": "prometheus-operator",
    }
    assert made["annotations"] == {"note": "flag", "hash": "h"}


def test_an_object_that_does_not_inherit_has_none_of_it() -> None:
    """Secrets and Services carry only our labels."""
    made = metadata(prometheus(labels={"team": "a"}, annotations={"n": "n"}), ObjectSettings(), "x")
    assert "team" not in made["labels"]
    assert "annotations" not in made


def test_an_owner_controls_what_is_only_its_own() -> None:
    """A Service that several own has no controller."""
    owner = prometheus()
    assert owner_reference(owner) == {
        "apiVersion": "monitoring.coreos.com/v1",
        "kind": "Prometheus",
        "name": "main",
        "uid": "u1",
        "controller": True,
        "blockOwnerDeletion": True,
    }
    assert "controller" not in owner_reference(owner, sole=False)


# --- command lines


def test_arguments_come_in_order_and_switches_without_a_value() -> None:
    """Ours first, then the user's."""
    ours = [Argument(name="a", value="1"), Argument(name="b")]
    assert as_text(ours) == ["--a=1", "--b"]
    user = [Argument(name="c", value="x=y"), Argument(name="d", value="")]
    assert with_additional(ours, user, "args") == ["--a=1", "--b", "--c=x=y", "--d"]


@pytest.mark.parametrize("name", ["log.level", "no-log.level"])
@pytest.mark.parametrize("ours", ["log.level", "no-log.level"])
def test_an_argument_that_we_set_is_refused(ours: str, name: str) -> None:
    """Also where one of the two is the negated form; the path leads to the item."""
    with pytest.raises(WorkloadError, match=r"log\.level") as caught:
        with_additional(
            [Argument(name=ours)],
            [Argument(name="ok"), Argument(name=name)],
            "spec.additionalArgs",
        )
    assert caught.value.path == "spec.additionalArgs[1]"


# --- images


@pytest.mark.parametrize(
    ("given", "image"),
    [
        (("my/own:tag", "base", "v1", "t", "s"), "my/own:tag"),
        (("  ", "base", "v1", None, None), "base:v1"),
        ((None, "base", "v1", "t", None), "docker.io/library/base:t"),
        ((None, "a/b", "v1", "t", None), "docker.io/a/b:t"),
        ((None, "index.docker.io/a", "v1", "t", None), "docker.io/library/a:t"),
        ((None, "localhost/a", "v1", "t", None), "localhost/a:t"),
        ((None, "host:5000/a/b", "v1", "t", None), "host:5000/a/b:t"),
        ((None, "base", "v1", "t", "abcd"), "base@sha256:abcd"),
        ((None, "host:5000/a/b-c__d", "v1", "", ""), "host:5000/a/b-c__d:v1"),
        ((None, "host/a:pinned", "v1", None, None), "host/a:pinned"),
        ((None, "host/a:pinned", "v1", "t", "abcd"), "host/a:pinned"),
        ((None, f"a@sha256:{'0' * 64}", "v1", None, "abcd"), f"a@sha256:{'0' * 64}"),
    ],
)
def test_the_most_exact_wish_names_the_image(given: Any, image: str) -> None:
    """The image itself, a digest, a tag, the version; never two of them.

    With a tag the name is spelt out, as by prometheus-operator: another text would roll pods.
    """
    assert image_path(*given) == image


@pytest.mark.parametrize("base", ["", "example.com/bar::v1", "a/Upper", "a b", "-a", "a/", "a\n"])
def test_a_base_image_that_is_none_stops_the_workload(base: str) -> None:
    """No pod is made that could never start."""
    with pytest.raises(WorkloadError) as caught:
        image_path(None, base, "v1", None, None)
    assert caught.value.path == "spec.image"


@pytest.mark.parametrize(
    ("version", "tag", "path"), [("", None, "spec.version"), ("v1", "-t", "spec.tag")]
)
def test_an_image_needs_a_version_or_a_tag_that_is_one(
    version: str, tag: str | None, path: str
) -> None:
    """Whatever `latest` is must not run by accident."""
    with pytest.raises(WorkloadError) as caught:
        image_path(None, "base", version, tag, None)
    assert caught.value.path == path


# --- containers over containers

BASE: Object = {
    "name": "prometheus",
    "image": "ours",
    "args": ["--a", "--b"],
    "env": [{"name": "A", "value": "1"}, {"name": "B", "value": "2"}],
    "ports": [{"name": "web", "containerPort": 9090, "protocol": "TCP"}],
    "volumeMounts": [{"name": "data", "mountPath": "/data", "readOnly": True}],
    "livenessProbe": {"httpGet": {"path": "/", "port": "web"}, "periodSeconds": 5},
    "resources": {"requests": {"memory": "400Mi"}},
}


def patched(**patch: Any) -> Object:
    """The base container under a patch."""
    made = merge_containers([BASE], [{"name": "prometheus"} | patch], "spec.containers")
    assert len(made) == 1
    return made[0]


def test_members_are_merged_and_others_stay() -> None:
    """Objects are merged in depth; a plain list replaces the other; empty members do nothing."""
    made = patched(
        image="theirs", args=["--c"], resources={"limits": {"cpu": "1"}}, command=[], workingDir=""
    )
    assert made["image"] == "theirs"
    assert made["args"] == ["--c"]
    assert made["resources"] == {"requests": {"memory": "400Mi"}, "limits": {"cpu": "1"}}
    assert "command" not in made
    assert "workingDir" not in made
    assert made["env"] == BASE["env"]


def test_items_of_lists_are_merged_by_their_key() -> None:
    """Environment by name, ports by number, mounts by path; zero values are no wish."""
    made = patched(
        env=[{"name": "B", "value": "3"}],
        ports=[{"containerPort": 9090, "name": "http"}],
        volumeMounts=[{"mountPath": "/data", "name": "data", "subPath": "s", "readOnly": False}],
    )
    assert made["env"] == [{"name": "A", "value": "1"}, {"name": "B", "value": "3"}]
    assert made["ports"] == [{"name": "http", "containerPort": 9090, "protocol": "TCP"}]
    assert made["volumeMounts"] == [
        {"name": "data", "mountPath": "/data", "readOnly": True, "subPath": "s"}
    ]


def test_the_order_is_the_patchs_and_the_rest_keeps_its_place() -> None:
    """As Kubernetes orders a merged list: new items first, unless told otherwise."""
    new = {"name": "N", "value": "n"}
    b = {"name": "B", "value": "2"}
    assert [item["name"] for item in patched(env=[new])["env"]] == ["N", "A", "B"]
    assert [item["name"] for item in patched(env=[new, b])["env"]] == ["N", "A", "B"]
    assert [item["name"] for item in patched(env=[b, new])["env"]] == ["A", "B", "N"]
    order = [{"name": "A"}, {"name": "B"}, {"name": "N"}]
    made = patched(env=[new], **{"$setElementOrder/env": order})
    assert [item["name"] for item in made["env"]] == ["A", "B", "N"]


def test_of_what_excludes_each_other_the_patch_chooses() -> None:
    """A probe with two handlers, or a variable with two values, would be refused."""
    made = patched(
        livenessProbe={"exec": {"command": ["x"]}},
        env=[{"name": "A", "valueFrom": {"fieldRef": {"fieldPath": "f"}}}],
    )
    assert made["livenessProbe"] == {"exec": {"command": ["x"]}, "periodSeconds": 5}
    assert made["env"][0] == {"name": "A", "valueFrom": {"fieldRef": {"fieldPath": "f"}}}


def test_directives_delete_and_replace() -> None:
    """`$patch`, `$retainKeys` and `$deleteFromPrimitiveList` do what Kubernetes says."""
    made = patched(
        env=[{"name": "A", "$patch": "delete"}, {"name": "C", "value": "c"}],
        ports=[{"$patch": "replace"}, {"containerPort": 1}],
        livenessProbe={"$patch": "replace", "tcpSocket": {"port": 1}},
        resources={"$retainKeys": ["limits"], "limits": {"cpu": "1"}},
        **{"$deleteFromPrimitiveList/args": ["--a"]},
    )
    assert made["env"] == [{"name": "C", "value": "c"}, {"name": "B", "value": "2"}]
    assert made["ports"] == [{"containerPort": 1}]
    assert made["livenessProbe"] == {"tcpSocket": {"port": 1}}
    assert made["resources"] == {"limits": {"cpu": "1"}}
    assert made["args"] == ["--b"]
    gone = {"name": "prometheus", "$patch": "delete"}
    assert merge_containers([BASE], [gone], "") == []


def test_new_containers_come_after_ours_and_nothing_is_shared() -> None:
    """The order is stable, and what a user wrote is not changed by what is made of it."""
    own = {"name": "proxy", "env": [{"name": "A", "value": "1"}]}
    patch = {"name": "prometheus", "env": [{"name": "B", "value": "9"}]}
    before = deepcopy([own, patch, BASE])
    made = merge_containers([BASE, {"name": "config-reloader"}], [own, patch], "spec.containers")
    assert [one["name"] for one in made] == ["prometheus", "config-reloader", "proxy"]
    made[0]["env"][0]["value"] = made[2]["env"][0]["value"] = "changed"
    assert [own, patch, BASE] == before


@pytest.mark.parametrize(
    ("patch", "path"),
    [
        ({"image": "x"}, "spec.containers[1].name"),
        ({"name": "prometheus", "env": {"A": "1"}}, "spec.containers[1].env"),
        ({"name": "prometheus", "env": [{"value": "1"}]}, "spec.containers[1].env[0]"),
    ],
)
def test_a_patch_of_a_wrong_shape_is_told_with_its_path(patch: Object, path: str) -> None:
    """One clear error, at the item."""
    with pytest.raises(WorkloadError) as caught:
        merge_containers([BASE], [{"name": "ok"}, patch], "spec.containers")
    assert caught.value.path == path


# --- the reloader


def test_a_reloader_watches_its_file_and_reloads_over_http() -> None:
    """Arguments in their order; the directory of the file is watched once."""
    plan = ReloaderPlan(
        name="config-reloader",
        config_file="/etc/p/config/p.yaml.gz",
        config_envsubst_file="/etc/p/out/p.yaml",
        watched_directories=("/rules", "/etc/p/config"),
        reload_url="http://localhost:9090/-/reload",
        log_level="debug",
        log_format="logfmt",
        shard=0,
        zone="z",
        inzone_shard=1,
    )
    made = reloader_container(plan, Reloader(image="i", cpu_limit="0"))
    assert made["args"] == [
        "--listen-address=:8080",
        "--reload-url=http://localhost:9090/-/reload",
        "--config-file=/etc/p/config/p.yaml.gz",
        "--config-envsubst-file=/etc/p/out/p.yaml",
        "--watched-dir=/rules",
        "--watched-dir=/etc/p/config",
        "--log-level=debug",
    ]
    assert [one["name"] for one in made["env"]] == [
        "POD_NAME",
        "SHARD",
        "TOPOLOGY_ZONE",
        "INZONE_SHARD",
    ]
    assert made["resources"] == {
        "limits": {"memory": "50Mi"},
        "requests": {"cpu": "10m", "memory": "50Mi"},
    }
    assert made["ports"] == [{"name": "reloader-web", "containerPort": 8080, "protocol": "TCP"}]
    assert made["securityContext"]["capabilities"] == {"drop": ["ALL"]}


def test_an_init_reloader_unpacks_once_and_is_not_probed() -> None:
    """It has a port of its own, so that the two never meet."""
    made = reloader_container(ReloaderPlan(name="init", init=True), Reloader(probes=True))
    assert made["args"] == ["--watch-interval=0", "--listen-address=:8081"]
    assert made["ports"][0]["name"] == "reloader-init"
    assert "livenessProbe" not in made


def test_a_reloader_signals_where_it_is_told_to() -> None:
    """The reload URL is not used then."""
    plan = ReloaderPlan(
        name="r", use_signal=True, runtime_info_url="http://l/i", reload_url="http://l/r"
    )
    args = reloader_container(plan, Reloader())["args"]
    assert args[1:] == ["--reload-method=signal", "--runtimeinfo-url=http://l/i"]


def test_a_reloader_on_the_loopback_is_probed_from_inside() -> None:
    """It has no port, and its probe runs a command."""
    plan = ReloaderPlan(name="r", listen_local=True, local_host="localhost", node_name=True)
    made = reloader_container(plan, Reloader(probes=True))
    assert made["args"] == ["--listen-address=localhost:8080"]
    assert "ports" not in made
    assert "http://localhost:8080/healthz" in made["readinessProbe"]["exec"]["command"][2]
    assert made["env"][1]["name"] == "NODE_NAME"


def test_a_reloader_with_tls_is_probed_with_tls() -> None:
    """It listens with its neighbour's settings, which the scheme of the URL tells."""
    plan = ReloaderPlan(name="r", web_config_file="/w", reload_url="https://localhost/r")
    handler = reloader_container(plan, Reloader(probes=True))["livenessProbe"]["httpGet"]
    assert handler == {"path": "/healthz", "port": 8080, "scheme": "HTTPS"}


# --- web configuration


def web(**members: Any) -> WebConfig:
    """Settings of a web server."""
    return convert(WebConfig, members)


def test_a_web_server_is_told_tls_http2_and_headers() -> None:
    """Keys in the order of the format; values that are words in lower case."""
    settings = web(
        tlsConfig={
            "cert": {"configMap": {"name": "c", "key": "crt"}},
            "keySecret": {"name": "s", "key": "key"},
            "clientCAFile": "/ca",
            "preferServerCipherSuites": False,
            "cipherSuites": ["A", "B"],
            "minVersion": "",
        },
        httpConfig={"http2": True, "headers": {"xFrameOptions": "Deny", "xXSSProtection": ""}},
    )
    assert web_config_text(settings, "/w") == (
        "tls_server_config:\n"
        "  cert_file: /w/configmap/c-cert/crt\n"
        "  key_file: /w/secret/s-key/key\n"
        "  client_ca_file: /ca\n"
        "  cipher_suites:\n"
        "  - A\n"
        "  - B\n"
        "  prefer_server_cipher_suites: false\n"
        "http_server_config:\n"
        "  http2: true\n"
        "  headers:\n"
        "    X-Frame-Options: deny\n"
    )


def test_members_of_a_cluster_are_told_how_clients_prove_themselves_before_by_whom() -> None:
    """The order is prometheus-operator's, so that the file does not change at a takeover."""
    server = {"certFile": "/c", "keyFile": "/k", "clientCAFile": "/ca", "clientAuthType": "any"}
    tls = convert(ClusterTlsConfig, {"server": server, "client": {}})
    assert cluster_tls_text(tls, "/t") == (
        "tls_server_config:\n"
        "  key_file: /k\n"
        "  cert_file: /c\n"
        "  client_auth_type: any\n"
        "  client_ca_file: /ca\n"
        "tls_client_config: {}\n"
    )


def test_a_header_cannot_become_structure() -> None:
    """What a user writes stays a string."""
    settings = web(httpConfig={"headers": {"contentSecurityPolicy": "a: b\n# c"}})
    read = yaml.safe_load(web_config_text(settings, "/w"))
    assert read["http_server_config"]["headers"] == {"Content-Security-Policy": "a: b\n# c"}


@pytest.mark.parametrize("settings", [None, WebConfig()])
def test_without_settings_the_file_is_empty(settings: WebConfig | None) -> None:
    """It is there all the same, so that settings can come later without new pods."""
    assert web_config_text(settings, "/w") == ""
    mount = web_config_mount("/w", "secret", settings)
    assert mount.argument == Argument(name="web.config.file", value="/w/web-config.yaml")
    assert mount.volumes == [{"name": "web-config", "secret": {"secretName": "secret"}}]


def test_what_tls_refers_to_is_mounted() -> None:
    """Key, certificate and authorities; files that are there already are not."""
    tls = {
        "cert": {"secret": {"name": "s", "key": "crt"}},
        "keyFile": "/key",
        "keySecret": {"key": ""},
        "client_ca": {"configMap": {"name": "c", "key": "ca"}},
    }
    mount = web_config_mount("/w", "secret", web(tlsConfig=tls))
    assert [one["mountPath"] for one in mount.mounts[1:]] == [
        "/w/secret/s-cert",
        "/w/configmap/c-ca",
    ]
    assert [one["name"] for one in mount.mounts] == [one["name"] for one in mount.volumes]
    assert mount.volumes[1]["secret"] == {"secretName": "s"}
    assert mount.volumes[2]["configMap"] == {"name": "c"}
    assert mount.volumes[2]["name"].startswith("web-config-tls-configmap-client-ca-c-")


# --- pods


@pytest.mark.parametrize(
    ("seconds", "timing"),
    [(None, (15, 60)), (59, (15, 60)), (60, (60, 1)), (129, (43, 3)), (900, (60, 15))],
)
def test_a_startup_probe_waits_as_long_as_asked(
    seconds: int | None, timing: tuple[int, int]
) -> None:
    """At least a minute; no more than a minute between two questions."""
    assert startup_probe_timing(seconds) == timing


def test_probes_say_how_and_how_often() -> None:
    """Over the network, with TLS or not, or from inside."""
    assert http_probe("/-/ready", "web") == {"httpGet": {"path": "/-/ready", "port": "web"}}
    assert http_probe("/", "web", tls=True)["httpGet"]["scheme"] == "HTTPS"
    command = exec_probe("http://localhost:1/x")["exec"]["command"]
    assert command[2].count("http://localhost:1/x") == 2
    assert probe({}, 5, 3) == {"timeoutSeconds": 3, "periodSeconds": 5, "failureThreshold": 3}


def test_resolver_and_hosts_are_passed_on() -> None:
    """As pods spell them, with nothing where nothing is set."""
    assert host_aliases(None) == []
    alias = HostAlias(ip="1.1.1.1", hostnames=("a", "b"))
    assert host_aliases([alias]) == [{"ip": "1.1.1.1", "hostnames": ["a", "b"]}]
    with pytest.raises(WorkloadError, match=r"spec\.hostAliases\[1\]\.ip: this must be set"):
        host_aliases([alias, convert(HostAlias, {"hostnames": ["a"]})])
    assert dns_config(None) is None
    given = {"searches": ["a"], "options": [{"name": "ndots", "value": "5"}, {"name": "debug"}]}
    assert dns_config(convert(DnsConfig, given)) == given


# --- Secrets


def test_assets_go_over_as_many_secrets_as_they_need() -> None:
    """Keys count too; the same data comes out the same, whatever its order."""
    limit = 998_576
    data: dict[str, str | bytes] = {"b": "x" * (limit - 1), "a": "x", "c": b"y"}
    assert [sorted(part) for part in shards_of(data)] == [["a"], ["b"], ["c"]]
    assert shards_of(dict(reversed(data.items()))) == shards_of(data)
    assert shards_of({}) == [{}]
    made = tls_asset_secrets(prometheus(), server(), ObjectSettings(), {"f": "text"})
    assert [one["metadata"]["name"] for one in made] == ["prometheus-main-tls-assets-0"]
    assert b64decode(made[0]["data"]["f"]) == b"text"


def test_each_file_of_a_configuration_has_a_secret() -> None:
    """The main file has the workload's own Secret."""
    files = {"prometheus.yaml.gz": b"main", "scrape-0.yaml.gz": b"jobs"}
    made = config_secrets(prometheus(), server(), ObjectSettings(), files)
    assert [(one["metadata"]["name"], *one["data"]) for one in made] == [
        ("prometheus-main", "prometheus.yaml.gz"),
        ("prometheus-main-scrape-0", "scrape-0.yaml.gz"),
    ]
    assert b64decode(made[1]["data"]["scrape-0.yaml.gz"]) == b"jobs"


def test_the_web_configuration_has_a_secret_even_if_empty() -> None:
    """Pods mount it in any case."""
    made = web_config_secret(prometheus(), server(), ObjectSettings(), "")
    assert made["metadata"]["name"] == "prometheus-main-web-config"
    assert made["data"] == {"web-config.yaml": ""}
    assert made["metadata"]["labels"]["managed-by"] == "prometheus-operator"


# --- Services


def test_one_headless_service_serves_all_of_a_kind() -> None:
    """It is owned without control, and its web port bears the user's name for it."""
    workload = prometheus({"portName": "http", "thanos": {}})
    made = governing_service(workload, seen(workload), ObjectSettings(labels={"a": "b"}))
    assert made["metadata"]["name"] == "prometheus-operated"
    assert made["metadata"]["labels"]["operated-prometheus"] == "true"
    assert made["metadata"]["labels"]["a"] == "b"
    assert "controller" not in made["metadata"]["ownerReferences"][0]
    assert made["spec"]["clusterIP"] == "None"
    assert made["spec"]["selector"] == {"app.kubernetes.io/name": "prometheus"}
    assert made["spec"]["ports"] == [
        {"name": "http", "port": 9090, "targetPort": "http"},
        {"name": "grpc", "port": 10901, "targetPort": "grpc"},
    ]


def test_an_agents_service_has_only_a_web_port() -> None:
    """Agents have no sidecar."""
    workload = convert(PrometheusAgent, {"metadata": {"name": "edge"}})
    made = governing_service(workload, seen(workload), ObjectSettings())
    assert made["metadata"]["name"] == "prometheus-agent-operated"
    assert made["metadata"]["labels"]["operated-prometheus"] == "true"
    assert [port["name"] for port in made["spec"]["ports"]] == ["web"]


def test_alertmanagers_find_each_other_before_they_are_ready() -> None:
    """Their mesh has ports of its own."""
    made = service_of(ALERTMANAGER, prometheus(), ObjectSettings(), None)
    assert made["spec"]["publishNotReadyAddresses"] is True
    assert [port["targetPort"] for port in made["spec"]["ports"]] == [
        "web",
        "mesh-tcp",
        "mesh-udp",
    ]
    ruler = service_of(THANOS_RULER, prometheus(), ObjectSettings(), None)
    assert "publishNotReadyAddresses" not in ruler["spec"]


def test_a_users_own_service_must_select_the_pods() -> None:
    """It must be in the same namespace, and ask for nothing that pods do not have."""
    service = {"metadata": {"name": "s", "namespace": "ns"}, "spec": {"selector": {"a": "1"}}}
    check_custom_service("ns", "s", [service], {"a": "1", "b": "2"})
    for namespace, labels in (("other", {"a": "1"}), ("ns", {"a": "2"}), ("ns", {"b": "2"})):
        with pytest.raises(WorkloadError) as caught:
            check_custom_service(namespace, "s", [service], labels)
        assert caught.value.path == "spec.serviceName"
