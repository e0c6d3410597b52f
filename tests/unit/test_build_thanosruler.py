"""The objects of a ThanosRuler: what becomes of each setting."""

from base64 import b64decode
from typing import Any

import pytest

from stoker.api.core import Object
from stoker.api.thanosruler import ThanosRuler
from stoker.build.alerting import thanosruler
from stoker.build.alerting.objects import RulerContents, ruler_objects
from stoker.build.site import TlsAssets
from stoker.errors import WorkloadError
from stoker.generate.thanosruler import RemoteWriteFile, library_version, remote_write_file
from stoker.ref import Ref
from stoker.select.assets import SECRET, AssetsAtHand, Source
from stoker.settings import ObjectSettings
from stoker.version import parse_version
from tests.builders import typed
from tests.unit.test_validate import CERTIFICATE

NO_ASSETS = TlsAssets("assets", 0)
KEY = {"name": "vault", "key": "plain"}
TLS = {"cert": {"secret": KEY}, "keySecret": KEY}


def workload(spec: dict[str, Any]) -> ThanosRuler:
    """Name the ThanosRuler `main` in the namespace `shop`, with someone to ask."""
    return typed(ThanosRuler, "main", {"queryEndpoints": ["q"]} | spec, uid="u-1")


def stateful_set(spec: dict[str, Any], *rules: str, **settings: Any) -> Object:
    """Build the StatefulSet."""
    return thanosruler.stateful_set(
        workload(spec), ObjectSettings(**settings), rule_config_maps=rules, tls_assets=NO_ASSETS
    )


def pod(spec: dict[str, Any], *rules: str) -> Object:
    """Build the specification of the pods."""
    found: Object = stateful_set(spec, *rules)["spec"]["template"]["spec"]
    return found


def flags(spec: dict[str, Any], *rules: str) -> list[str]:
    """Build the command line of Thanos."""
    found: list[str] = pod(spec, *rules)["containers"][0]["args"]
    return found


def names(items: list[Object]) -> list[str]:
    """List the names of items."""
    return [one["name"] for one in items]


# --- The command line -----------------------------------------------------------------------------


def test_a_bare_ruler_has_defaults() -> None:
    """Which replica made a result is a label, but not of alerts, which would come twice."""
    assert flags({}) == [
        "rule",
        "--data-dir=/thanos/data",
        "--eval-interval=15s",
        "--tsdb.retention=24h",
        '--label=thanos_ruler_replica="$(POD_NAME)"',
        "--alert.label-drop=thanos_ruler_replica",
        "--rule-file=/etc/thanos/rules/*/*.yaml",
        "--query=q",
    ]


@pytest.mark.parametrize(
    ("spec", "since", "flag"),
    [
        ({"ruleQueryOffset": "5m"}, "0.38.0", "--rule-query-offset=5m"),
        ({"ruleConcurrentEval": 5}, "0.37.0", "--rule-concurrent-evaluation=5"),
        ({"ruleOutageTolerance": "1h"}, "0.30.0", "--for-outage-tolerance=1h"),
        ({"ruleGracePeriod": "10m"}, "0.30.0", "--for-grace-period=10m"),
        ({"enableFeatures": ["a", "b"]}, "0.39.0", "--enable-feature=a,b"),
        (
            {"remoteWrite": [{"url": "http://x"}]},
            "0.24.0",
            "--remote-write.config-file=/etc/thanos/config/remote-write-config/remote-write.yaml",
        ),
        (
            {"grpcServerTlsConfig": {"curves": ["X25519"]}},
            "0.42.0",
            "--grpc-server-tls-curves=X25519",
        ),
        ({}, "0.22.0", "--http.config=/etc/thanos/web_config/web-config.yaml"),
    ],
)
def test_a_flag_is_given_to_versions_that_know_it(
    spec: dict[str, Any], since: str, flag: str
) -> None:
    """From its first version on; the one before would not start with it."""
    minor = int(since.split(".")[1])
    assert flag in flags(spec | {"version": f"v{since}"}, "rules")
    assert flag not in flags(spec | {"version": f"v0.{minor - 1}.9"}, "rules")


@pytest.mark.parametrize(
    ("spec", "flag"),
    [
        ({"evaluationInterval": "30s"}, "--eval-interval=30s"),
        ({"evaluationInterval": "1d"}, "--eval-interval=86400000ms"),
        ({"retention": "2d"}, "--tsdb.retention=2d"),
        ({"resendDelay": "1h"}, "--resend-delay=1h"),
        ({"labels": {"a": "b"}}, '--label=a="b"'),
        ({"labels": {"a": 'x"y\\z\n'}}, r'--label=a="x\"y\\z\n"'),
        ({"alertDropLabels": ["a"]}, "--alert.label-drop=a"),
        ({"listenLocal": True}, "--http-address=localhost:10902"),
        ({"logLevel": "debug"}, "--log.level=debug"),
        ({"logFormat": "json"}, "--log.format=json"),
        ({"queryConfig": KEY}, "--query.config-file=/etc/thanos/config/query-config/plain"),
        ({"alertmanagersUrl": ["http://a"]}, "--alertmanagers.url=http://a"),
        (
            {"alertmanagersConfig": KEY, "alertmanagersUrl": ["http://a"]},
            "--alertmanagers.config-file=/etc/thanos/config/alertmanager-config/plain",
        ),
        (
            {"objectStorageConfig": KEY},
            "--objstore.config-file=/etc/thanos/config/objstorage-config/plain",
        ),
        (
            {"objectStorageConfig": KEY, "objectStorageConfigFile": "/mine"},
            "--objstore.config-file=/mine",
        ),
        ({"tracingConfigFile": "/mine"}, "--tracing.config-file=/mine"),
        (
            {"alertRelabelConfigs": KEY},
            "--alert.relabel-config-file=/etc/thanos/config/alertrelabel-config/plain",
        ),
        ({"alertRelabelConfigFile": "/mine"}, "--alert.relabel-config-file=/mine"),
        ({"alertQueryUrl": "https://q"}, "--alert.query-url=https://q"),
        ({"externalPrefix": "/x"}, "--web.external-prefix=/x"),
        ({"routePrefix": "/x"}, "--web.route-prefix=/x"),
        ({"grpcServerTlsConfig": {"certFile": "/c"}}, "--grpc-server-tls-cert=/c"),
    ],
)
def test_a_setting_becomes_a_flag(spec: dict[str, Any], flag: str) -> None:
    """What is in a Secret is a file in the container."""
    assert flag in flags(spec)


def test_a_file_wins_over_a_list_of_addresses() -> None:
    """Thanos would take the file anyway, and complain."""
    spec = {"queryConfig": KEY, "alertmanagersConfig": KEY, "alertmanagersUrl": ["http://a"]}
    found = flags(spec)
    assert not [one for one in found if one.startswith(("--query=", "--alertmanagers.url="))]


def test_flags_have_the_order_of_prometheus_operator() -> None:
    """Another order would replace every pod at a takeover."""
    spec = {
        "remoteWrite": [{"url": "http://x"}],
        "queryConfig": KEY,
        "alertmanagersConfig": KEY,
        "objectStorageConfig": KEY,
        "tracingConfig": KEY,
        "alertRelabelConfigs": KEY,
        "grpcServerTlsConfig": {"certFile": "/c"},
        "externalPrefix": "/x",
        "routePrefix": "/x",
        "alertQueryUrl": "https://q",
    }
    found = [one.partition("=")[0] for one in flags(spec)]
    assert found[found.index("--rule-file") + 1 :] == [
        *("--remote-write.config-file", "--query.config-file", "--alertmanagers.config-file"),
        *("--objstore.config-file", "--tracing.config-file", "--alert.relabel-config-file"),
        *("--grpc-server-tls-cert", "--web.external-prefix", "--web.route-prefix"),
        "--alert.query-url",
    ]


def test_the_users_arguments_come_before_the_web_servers_file() -> None:
    """As prometheus-operator orders them: another order would replace every pod."""
    found = flags({"additionalArgs": [{"name": "mine", "value": "1"}]}, "rules")
    assert found[-2:] == ["--mine=1", "--http.config=/etc/thanos/web_config/web-config.yaml"]


@pytest.mark.parametrize(
    ("spec", "path"),
    [
        ({"queryEndpoints": []}, "spec.queryEndpoints"),
        ({"objectStorageConfig": {"key": "a"}}, "spec.objectStorageConfig.name"),
        ({"queryConfig": {"name": "a", "key": ""}}, "spec.queryConfig.key"),
        ({"labels": {"a=b": "c"}}, "spec.labels"),
        ({"additionalArgs": [{"name": "http.config", "value": "x"}]}, "spec.additionalArgs[0]"),
        ({"additionalArgs": [{"name": "query", "value": "x"}]}, "spec.additionalArgs[0]"),
        ({"version": "0.29.0-0123"}, "spec.version"),
        ({"version": "v2.1.0"}, "spec.version"),
        ({"volumes": [{"name": "rules"}]}, "spec.volumes[0].name"),
    ],
)
def test_what_cannot_be_built_is_told_with_its_path(spec: dict[str, Any], path: str) -> None:
    """And nothing is built."""
    with pytest.raises(WorkloadError) as caught:
        stateful_set(spec, "rules")
    assert caught.value.path == path


# --- The pod --------------------------------------------------------------------------------------


def test_a_reloader_watches_the_rules() -> None:
    """It calls Thanos under its prefix, and over TLS where that is served."""
    made = pod({"routePrefix": "/r", "web": {"tlsConfig": TLS}}, "rules-0", "rules-1")
    reloader = made["containers"][1]
    assert reloader["args"] == [
        "--listen-address=:8080",
        "--web-config-file=/etc/thanos/web_config/web-config.yaml",
        "--reload-url=https://localhost:10902/r/-/reload",
        "--watched-dir=/etc/thanos/rules/rules-0",
        "--watched-dir=/etc/thanos/rules/rules-1",
    ]
    assert names(reloader["volumeMounts"])[:3] == ["rules-0", "rules-1", "web-config"]


def test_when_to_pull_the_reloaders_image_is_left_to_kubernetes() -> None:
    """As with prometheus-operator: another policy would replace every pod."""
    ruler, reloader = pod({"imagePullPolicy": "Always"}, "rules-0")["containers"]
    assert ruler["imagePullPolicy"] == "Always"
    assert "imagePullPolicy" not in reloader


def test_the_container_that_kubectl_takes_is_fixed() -> None:
    """As with prometheus-operator: another annotation would replace every pod."""
    name = "kubectl.kubernetes.io/default-container"
    made = stateful_set({"podMetadata": {"annotations": {name: "mine", "a": "b"}}})
    found = made["spec"]["template"]["metadata"]["annotations"]
    assert found == {name: "thanos-ruler", "a": "b"}


def test_without_rules_there_is_no_reloader() -> None:
    """There is nothing to watch, and no init container at any time."""
    assert names(pod({})["containers"]) == ["thanos-ruler"]
    assert "initContainers" not in pod({}, "rules-0")


def test_volumes_and_mounts_have_a_fixed_order() -> None:
    """As prometheus-operator orders them: another order would replace every pod."""
    spec = {
        "objectStorageConfig": KEY,
        "volumes": [{"name": "mine", "emptyDir": {}}],
        "volumeMounts": [{"name": "mine", "mountPath": "/mine"}],
    }
    made = pod(spec, "rules")
    assert names(made["volumes"]) == [
        *("remote-write-config", "objstorage-config", "tls-assets", "web-config", "rules"),
        *("thanos-ruler-main-data", "mine"),
    ]
    assert names(made["containers"][0]["volumeMounts"]) == [
        *("remote-write-config", "objstorage-config", "tls-assets", "web-config"),
        *("thanos-ruler-main-data", "rules", "mine"),
    ]


def test_pods_are_selected_by_the_users_labels_too() -> None:
    """So it is with prometheus-operator, and the selector of a StatefulSet cannot be changed."""
    spec = {"podMetadata": {"labels": {"team": "a", "thanos-ruler": "other"}}}
    made = stateful_set(spec, labels={"flag": "x"})
    assert made["spec"]["selector"]["matchLabels"] == {
        "app.kubernetes.io/managed-by": "prometheus-operator",
        "app.kubernetes.io/name": "thanos-ruler",
        "app.kubernetes.io/instance": "main",
        "thanos-ruler": "main",
        "team": "a",
        "flag": "x",
    }
    assert made["metadata"]["labels"]["team"] == "a"


def test_a_ruler_listens_for_queriers_always() -> None:
    """On the loopback address it has no port of the web server; it is never probed."""
    local, open_ = (pod({"listenLocal": one})["containers"][0] for one in (True, False))
    assert names(local["ports"]) == ["grpc"]
    assert names(open_["ports"]) == ["grpc", "web"]
    assert not [name for name in open_ if name.endswith("Probe")]


# --- Where results go -----------------------------------------------------------------------------


def sent(remote: list[Object], version: str = "v0.42.4", **secrets: str) -> RemoteWriteFile:
    """Write the file, with a Secret `vault` of these keys."""
    contents = AssetsAtHand({Ref(SECRET, "shop", "vault"): secrets})
    return remote_write_file(workload({"remoteWrite": remote}), contents, parse_version(version))


def test_a_ruler_that_sends_nothing_has_an_empty_list() -> None:
    """The file is there anyway, as it is mounted."""
    assert sent([]).text == "remote_write: []\n"


def test_values_are_put_in_and_files_are_named() -> None:
    """The values that were read are told, so that the file can be made again when one changes."""
    auth = {"username": KEY, "password": {"name": "vault", "key": "word"}}
    tls = {"insecureSkipVerify": True}
    made = sent([{"url": "http://x", "basicAuth": auth, "tlsConfig": tls}], plain="me", word="pw")
    assert made.text == (
        "remote_write:\n- url: http://x\n  basic_auth:\n    username: me\n    password: pw\n"
        "  tls_config:\n    insecure_skip_verify: true\n"
    )
    assert Source(SECRET, "shop", "vault", "word") in made.reads


def test_certificates_lie_where_thanos_has_them() -> None:
    """Not where Prometheus has its own; and they are told, to be mounted."""
    made = sent([{"url": "http://x", "tlsConfig": {"ca": {"secret": KEY}}}], plain=CERTIFICATE)
    assert "ca_file: /etc/thanos/certs/0_shop_vault_plain\n" in made.text
    assert list(made.files) == ["0_shop_vault_plain"]


@pytest.mark.parametrize(
    ("thanos", "prometheus"),
    [
        ("0.20.0", "2.31.0"),
        ("0.25.1", "2.31.0"),
        ("0.27.0", "2.33.0"),
        ("0.37.2", "2.55.0"),
        ("0.38.0", "3.1.0"),
        ("0.42.4", "3.9.0"),
        ("0.99.0", "3.9.0"),
    ],
)
def test_thanos_reads_settings_as_the_prometheus_in_it(thanos: str, prometheus: str) -> None:
    """That of its own release; the newest we know for what comes after."""
    assert library_version(parse_version(thanos)) == prometheus


def test_what_thanos_does_not_know_is_left_out_and_told() -> None:
    """It reads the file strictly, and would not start."""
    entry = {"url": "http://x", "roundRobinDNS": True, "sendNativeHistograms": True}
    old = sent([entry], "v0.31.0")
    assert "round_robin_dns" not in old.text
    assert "send_native_histograms: true" in old.text
    assert [one.path for one in old.ignored] == ["spec.remoteWrite[0].roundRobinDNS"]
    assert "Thanos 0.31.0 is built with 2.42.0" in old.ignored[0].reason
    assert "round_robin_dns: true" in sent([entry]).text
    assert [one.path for one in sent([entry], "v0.23.0").ignored] == ["spec.remoteWrite"]


@pytest.mark.parametrize(
    ("remote", "path"),
    [
        ([{"url": "://"}], "spec.remoteWrite[0].url"),
        ([{"url": "http://x", "basicAuth": {"username": KEY}}], "spec.remoteWrite[0].basicAuth"),
        ([{"url": "http://x"}, {"url": "http://x"}], "spec.remoteWrite[1]"),
    ],
)
def test_what_thanos_would_not_load_is_refused(remote: list[Object], path: str) -> None:
    """With the path, before anything is written."""
    with pytest.raises(WorkloadError) as caught:
        sent(remote)
    assert caught.value.path.startswith(path)


# --- All objects ----------------------------------------------------------------------------------


def test_all_objects_of_a_ruler() -> None:
    """What pods mount comes first. They mount the ConfigMaps with rules that there are."""
    contents = RulerContents(
        remote_write="remote_write: []\n", asset_files={}, rule_files=[{"a.yaml": "x"}]
    )
    made = ruler_objects(workload({}), ObjectSettings(), contents)
    assert [f"{each['kind']} {each['metadata']['name']}" for each in made] == [
        "ConfigMap thanos-ruler-main-rulefiles-0",
        "Secret thanos-ruler-main-config",
        "Secret thanos-ruler-main-tls-assets-0",
        "Secret thanos-ruler-main-web-config",
        "Service thanos-ruler-operated",
        "StatefulSet thanos-ruler-main",
    ]
    assert {each["metadata"]["namespace"] for each in made} == {"shop"}
    rules, config = made[:2]
    assert rules["metadata"]["labels"]["thanos-ruler-name"] == "main"
    assert b64decode(config["data"]["remote-write.yaml"]) == b"remote_write: []\n"
    volumes = names(made[-1]["spec"]["template"]["spec"]["volumes"])
    assert [one for one in volumes if "rulefiles" in one] == ["thanos-ruler-main-rulefiles-0"]


def test_half_of_a_certificate_is_refused() -> None:
    """Thanos would not start."""
    contents = RulerContents(remote_write="", asset_files={})
    given = workload({"web": {"tlsConfig": {"keySecret": KEY}}})
    with pytest.raises(WorkloadError, match=r"spec\.web\.tlsConfig\.cert"):
        ruler_objects(given, ObjectSettings(), contents)
