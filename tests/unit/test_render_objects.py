"""`stoker render`: the objects that the operator would create, without a cluster."""

import gzip
import json
import textwrap
from base64 import b64decode
from pathlib import Path
from typing import Any

import pytest
import yaml

from stoker.__main__ import main
from stoker.generate.rules import CONFIG_MAP_LIMIT
from tests.unit.test_render import RULE, WORKLOAD, monitor

Captured = pytest.CaptureFixture[str]
Object = dict[str, Any]

SERVER = WORKLOAD.replace("version: v3.5.0", "version: v3.5.0\n  ruleSelector: {}")
AGENT = """
---
apiVersion: monitoring.coreos.com/v1alpha1
kind: PrometheusAgent
metadata: {name: nodes, namespace: monitoring}
spec: {mode: DaemonSet, remoteWrite: [{url: "http://central"}]}
"""


def server(name: str, spec: str, namespace: str = "monitoring") -> str:
    """A Prometheus that scrapes its own namespace."""
    return textwrap.dedent(f"""
        ---
        apiVersion: monitoring.coreos.com/v1
        kind: Prometheus
        metadata: {{name: {name}, namespace: {namespace}}}
        spec: {{serviceMonitorSelector: {{}}, {spec}}}
        """)


class Answer:
    """What a call printed: exit status, output and summary."""

    def __init__(self, status: int, text: str, summary: str) -> None:
        self.status, self.text, self.summary = status, text, summary

    @property
    def objects(self) -> list[Object]:
        """The printed objects."""
        return list(yaml.safe_load_all(self.text))

    @property
    def names(self) -> list[str]:
        """Kind and name of each."""
        return [f"{each['kind']} {each['metadata']['name']}" for each in self.objects]

    def one(self, kind: str, name: str) -> Object:
        """The object of this kind and name."""
        found = [each for each in self.objects if each["kind"] == kind]
        return next(each for each in found if each["metadata"]["name"] == name)


def rendered(tmp_path: Path, capsys: Captured, text: str, *options: str) -> Answer:
    """The answer of a call on one file."""
    (tmp_path / "all.yaml").write_text(text)
    status = main(["render", str(tmp_path / "all.yaml"), *options])
    answer = capsys.readouterr()
    return Answer(status, answer.out, answer.err)


def test_a_server_becomes_all_its_objects(tmp_path: Path, capsys: Captured) -> None:
    """In the order in which the operator writes them: what pods mount comes before the pods."""
    text = SERVER + RULE % ("good", "sum(up)") + monitor("cart")
    found = rendered(tmp_path, capsys, text)
    assert found.status == 0
    assert found.names == [
        "ConfigMap prometheus-main-rulefiles-0",
        "Secret prometheus-main-tls-assets-0",
        "Secret prometheus-main-web-config",
        "Secret prometheus-main-thanos-prometheus-http-client-file",
        "Secret prometheus-main",
        "Service prometheus-operated",
        "StatefulSet prometheus-main",
    ]
    assert {each["metadata"]["namespace"] for each in found.objects} == {"monitoring"}
    assert "  made      StatefulSet monitoring/prometheus-main" in found.summary
    (rules,) = found.one("ConfigMap", "prometheus-main-rulefiles-0")["data"].values()
    assert "expr: sum(up)" in rules
    data = found.one("Secret", "prometheus-main")["data"]["prometheus.yaml.gz"]
    assert "serviceMonitor/shop/cart/0" in gzip.decompress(b64decode(data)).decode()


def test_shards_and_a_sidecar_have_objects_of_their_own(tmp_path: Path, capsys: Captured) -> None:
    """One StatefulSet for each shard, and the Secret by which Thanos reaches Prometheus."""
    text = server("main", "shards: 2, thanos: {version: v0.40.0}")
    found = rendered(tmp_path, capsys, text)
    assert "Secret prometheus-main-thanos-prometheus-http-client-file" in found.names
    assert found.names[-2:] == [
        "StatefulSet prometheus-main",
        "StatefulSet prometheus-main-shard-1",
    ]


def test_an_agent_on_every_node_becomes_a_daemon_set(tmp_path: Path, capsys: Captured) -> None:
    """It has neither rules nor a Service."""
    found = rendered(tmp_path, capsys, AGENT)
    assert found.names == [
        "Secret prom-agent-nodes-tls-assets-0",
        "Secret prom-agent-nodes-web-config",
        "Secret prom-agent-nodes",
        "DaemonSet prom-agent-nodes",
    ]


def test_an_owner_is_named_only_if_its_uid_is_known(tmp_path: Path, capsys: Captured) -> None:
    """An API server refuses one without, and deletes what belongs to one that does not exist."""
    found = rendered(tmp_path, capsys, server("main", "replicas: 1"))
    assert not any("ownerReferences" in each["metadata"] for each in found.objects)
    known = server("main", "replicas: 1").replace("{name: main,", "{name: main, uid: u-1,")
    found = rendered(tmp_path, capsys, known)
    assert all(each["metadata"]["ownerReferences"][0]["uid"] == "u-1" for each in found.objects)


HOSTILE = [
    "no", "1e3", "0x1F", "12:30", "~", "", " a ", "a: b", "- x", "# x", "{x}", "null", "2001-01-01",
    "a\n  b\n", "\n\n", "\ttab", "--- \nkind: Secret\n", "é\u2028x", "'\"`", "x\\", "<<", "=", "%a",
]  # fmt: skip


@pytest.mark.parametrize("value", HOSTILE)
def test_what_users_write_comes_back_as_it_was(
    tmp_path: Path, capsys: Captured, value: str
) -> None:
    """A user's string stays a string, in every object that carries it."""
    spec = {
        "serviceMonitorSelector": {},
        "podMetadata": {"annotations": {"own": value}},
        "containers": [{"name": "mine", "image": "x", "env": [{"name": "A", "value": value}]}],
    }
    workload = {
        "apiVersion": "monitoring.coreos.com/v1",
        "kind": "Prometheus",
        "metadata": {"name": "main", "namespace": "monitoring"},
        "spec": spec,
    }
    found = rendered(tmp_path, capsys, json.dumps(workload))
    assert found.status == 0
    template = found.one("StatefulSet", "prometheus-main")["spec"]["template"]
    assert template["metadata"]["annotations"]["own"] == value
    mine = next(each for each in template["spec"]["containers"] if each["name"] == "mine")
    assert mine["env"] == [{"name": "A", "value": value}]


# --- What is wrong --------------------------------------------------------------------------------

BAD = {
    "version: v4.0.0": "spec.version: Prometheus 4.0.0 is not supported",
    "volumeMounts: [{name: x, mountPath: /prometheus}]": "spec.volumeMounts[0].mountPath",
    "volumes: [{name: config-out, emptyDir: {}}]": "spec.volumes[0].name: `config-out`",
    "additionalArgs: [{name: config.file, value: x}]": "spec.additionalArgs[0]: the operator sets",
    "thanos: {version: newest}": "spec.thanos.version",
}


@pytest.mark.parametrize("spec", BAD)
def test_a_workload_that_cannot_be_built_says_why(
    tmp_path: Path, capsys: Captured, spec: str
) -> None:
    """With the path to the field; the other workloads are rendered."""
    found = rendered(tmp_path, capsys, server("bad", spec) + server("good", "replicas: 1"))
    assert found.status == 1
    assert f"  no objects: {BAD[spec]}" in found.summary
    heads = [line for line in found.summary.splitlines() if line.startswith("Prometheus ")]
    assert ["held" in line for line in heads] == ["/bad " in line for line in heads]
    assert "StatefulSet prometheus-good" in found.names
    assert not [name for name in found.names if "prometheus-bad" in name]


def test_a_workload_without_a_configuration_has_no_objects(
    tmp_path: Path, capsys: Captured
) -> None:
    """The summary says it once."""
    found = rendered(tmp_path, capsys, SERVER.replace("v3.5.0", "latest"))
    assert (found.status, found.text) == (1, "")
    assert "no configuration: spec.version" in found.summary
    assert "no objects" not in found.summary


def test_workloads_of_a_namespace_share_a_service(tmp_path: Path, capsys: Captured) -> None:
    """It is printed once, with the ports that any of them needs; the others' notes say so."""
    text = server("b", "portName: http, thanos: {}") + server("a", "replicas: 1")
    found = rendered(tmp_path, capsys, text)
    assert found.status == 0
    assert found.names.count("Service prometheus-operated") == 1
    ports = found.one("Service", "prometheus-operated")["spec"]["ports"]
    assert [(each["name"], each["port"]) for each in ports] == [("web", 9090), ("grpc", 10901)]
    note = "note      shares Service monitoring/prometheus-operated with Prometheus monitoring/b"
    assert found.summary.count(note) == 1
    alone = rendered(tmp_path, capsys, text, "--workload", "a")
    assert alone.one("Service", "prometheus-operated")["spec"]["ports"] == ports


def test_a_workload_with_a_service_of_its_own_has_none(tmp_path: Path, capsys: Captured) -> None:
    """Nor a part in that of the others."""
    text = server("a", "serviceName: own, thanos: {}") + server("b", "replicas: 1")
    found = rendered(tmp_path, capsys, text)
    assert [
        each["port"] for each in found.one("Service", "prometheus-operated")["spec"]["ports"]
    ] == [9090]
    assert "shares" not in found.summary


def test_two_workloads_cannot_have_the_same_stateful_set(tmp_path: Path, capsys: Captured) -> None:
    """The second is told; one object would silently replace the other."""
    text = server("a", "shards: 2") + server("a-shard-1", "replicas: 1")
    found = rendered(tmp_path, capsys, text)
    assert found.status == 1
    assert found.names.count("StatefulSet prometheus-a-shard-1") == 1
    owner = "StatefulSet monitoring/prometheus-a-shard-1 is that of Prometheus monitoring/a"
    assert f"no objects: {owner}" in found.summary


def test_files_of_rules_have_names_of_their_own(tmp_path: Path, capsys: Captured) -> None:
    """Although no rule has a UID here: `a/b-c` and `a-b/c` are two files."""
    everywhere = SERVER.replace("ruleSelector: {}", "ruleSelector: {}\n  ruleNamespaceSelector: {}")
    spaces = [
        f"\n---\napiVersion: v1\nkind: Namespace\nmetadata: {{name: {n}}}" for n in ("a", "a-b")
    ]
    rules = (RULE % ("b-c", "one")).replace("monitoring}", "a}")
    rules += (RULE % ("c", "two")).replace("monitoring}", "a-b}")
    found = rendered(tmp_path, capsys, everywhere + "".join(spaces) + rules)
    data = found.one("ConfigMap", "prometheus-main-rulefiles-0")["data"]
    assert len(data) == 2


def test_many_rules_go_over_several_config_maps(tmp_path: Path, capsys: Captured) -> None:
    """All that there are are printed."""
    label = "a" * (CONFIG_MAP_LIMIT * 2 // 3)
    large = RULE.replace("record:", f"labels: {{own: {label}}}, record:")
    text = SERVER + large % ("one", "up") + large % ("two", "up")
    found = rendered(tmp_path, capsys, text)
    maps = [name for name in found.names if name.startswith("ConfigMap")]
    assert maps == [
        "ConfigMap prometheus-main-rulefiles-0",
        "ConfigMap prometheus-main-rulefiles-1",
    ]


# --- Configurations that are the user's -----------------------------------------------------------

UNMANAGED = WORKLOAD.replace("  serviceMonitorSelector: {}\n", "")
OWN = """
---
apiVersion: v1
kind: Secret
metadata: {name: prometheus-main, namespace: monitoring}
stringData: {prometheus.yaml.gz: ""}
"""


def test_a_prometheus_without_selectors_keeps_its_own_configuration(
    tmp_path: Path, capsys: Captured
) -> None:
    """Its Secret is not rendered; where there is none, an empty one is, and a flag decides."""
    found = rendered(tmp_path, capsys, UNMANAGED + OWN)
    assert found.status == 0
    assert "Secret prometheus-main" not in found.names
    assert "note      no selector for ServiceMonitors" in found.summary
    found = rendered(tmp_path, capsys, UNMANAGED)
    data = found.one("Secret", "prometheus-main")["data"]["prometheus.yaml.gz"]
    assert gzip.decompress(b64decode(data)) == b""
    flag = "disable-unmanaged-prometheus-configuration=true"
    found = rendered(tmp_path, capsys, UNMANAGED, "--flag", flag)
    data = found.one("Secret", "prometheus-main")["data"]["prometheus.yaml.gz"]
    assert b"global:" in gzip.decompress(b64decode(data))


def test_a_paused_workload_is_noted(tmp_path: Path, capsys: Captured) -> None:
    """It is rendered as it will be; the operator does not touch it yet."""
    found = rendered(tmp_path, capsys, server("main", "paused: true"))
    assert found.status == 0
    assert "note      spec.paused" in found.summary


# --- Options --------------------------------------------------------------------------------------


def test_flags_of_the_operator_change_objects(tmp_path: Path, capsys: Captured) -> None:
    """As they do when the operator runs with them; others are refused."""
    flags = ("--flag", "labels=team=platform", "--flag=prometheus-config-reloader=mine:1")
    found = rendered(tmp_path, capsys, server("main", "replicas: 1"), *flags)
    made = found.one("StatefulSet", "prometheus-main")
    assert made["metadata"]["labels"]["team"] == "platform"
    assert "mine:1" in [each["image"] for each in made["spec"]["template"]["spec"]["containers"]]
    for wrong in ("workers=3", "nonsense", "feature-gates=Nonsense=true", "labels"):
        found = rendered(tmp_path, capsys, server("main", "replicas: 1"), "--flag", wrong)
        assert (found.status, found.text) == (2, "")
        assert "stoker render: --f" in found.summary or "stoker render: --l" in found.summary


def test_secrets_can_be_shown_as_text(tmp_path: Path, capsys: Captured) -> None:
    """Under another name than `data`, so that nobody takes it for what it was."""
    found = rendered(tmp_path, capsys, SERVER + monitor("cart"), "--unpack", "--quiet")
    shown = found.one("Secret", "prometheus-main")
    assert "data" not in shown
    assert "job_name: serviceMonitor/shop/cart/0" in shown["unpacked"]["prometheus.yaml"]
    assert "  prometheus.yaml: |\n    global:\n" in found.text
    assert "# To be read, not applied" in found.text
    assert found.summary == ""


def test_a_name_cannot_add_to_a_configuration(tmp_path: Path, capsys: Captured) -> None:
    """The comment that names the workload stays a comment."""
    text = WORKLOAD.replace("name: main", 'name: "x\\nscrape_configs: []"', 1)
    found = rendered(tmp_path, capsys, text, "--config-only")
    assert "\nscrape_configs: []\n---" not in found.text
    assert "# Prometheus monitoring/x\\nscrape_configs" in found.text
