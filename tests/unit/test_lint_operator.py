"""`stoker lint` says what the operator would say, with a workload beside a resource or without."""

import json
from pathlib import Path
from typing import Any, NamedTuple

import pytest
import yaml

from stoker.__main__ import main
from stoker.api.kinds import kind_called
from stoker.offline.manifests import Manifest
from stoker.offline.surroundings import view_of
from stoker.offline.world import World, gathered, settled
from stoker.plan import plan
from stoker.settings import OperatorSettings
from stoker.validate.verdicts import Outcome
from stoker.web.reviews import Reviewer, rules_reader
from tests.builders import Object, secret, thing


class Bad(NamedTuple):
    """A resource that an API server takes and the operator rejects, and the field to blame."""

    kind: str
    spec: Any
    path: str


def endpoint(**members: Any) -> Object:
    """The specification of a ServiceMonitor with one endpoint."""
    return {"selector": {}, "endpoints": [{"port": "web"} | members]}


def pods(**members: Any) -> Object:
    """The specification of a PodMonitor with one endpoint."""
    return {"selector": {}, "podMetricsEndpoints": [{"port": "web"} | members]}


def rules(**rule: Any) -> Object:
    """The specification of a PrometheusRule with one rule."""
    return {"groups": [{"name": "g", "rules": [{"alert": "A", "expr": "up"} | rule]}]}


def receiver(**integrations: Any) -> Object:
    """The specification of an AlertmanagerConfig with one receiver."""
    return {"route": {"receiver": "team"}, "receivers": [{"name": "team"} | integrations]}


def relabeling(**step: Any) -> Object:
    """An endpoint's list of one relabeling."""
    return {"relabelings": [step]}


TOKEN = {"name": "token", "key": "token"}
HOOK = {"webhookConfigs": [{"url": "http://hook.example/"}]}
E = "spec.endpoints[0]"
P = "spec.podMetricsEndpoints[0]"
R = "spec.groups[0].rules[0]"

BAD = {
    "timeout over interval": Bad(
        "ServiceMonitor", endpoint(interval="5s", scrapeTimeout="9s"), f"{E}.scrapeTimeout"
    ),
    "broken regex": Bad(
        "ServiceMonitor",
        endpoint(**relabeling(action="keep", sourceLabels=["a"], regex="(")),
        f"{E}.relabelings[0].regex",
    ),
    "regex of another language": Bad(
        "ServiceMonitor",
        endpoint(**relabeling(action="drop", sourceLabels=["a"], regex="a(?=b)")),
        f"{E}.relabelings[0].regex",
    ),
    "replace without a target": Bad(
        "ServiceMonitor",
        endpoint(**relabeling(action="replace", sourceLabels=["a"])),
        f"{E}.relabelings[0]",
    ),
    "hashmod without a modulus": Bad(
        "ServiceMonitor",
        endpoint(**relabeling(action="hashmod", sourceLabels=["a"], targetLabel="b")),
        f"{E}.relabelings[0]",
    ),
    "labeldrop with a source": Bad(
        "ServiceMonitor",
        endpoint(**relabeling(action="labeldrop", sourceLabels=["a"], regex="b")),
        f"{E}.relabelings[0]",
    ),
    "metric relabeling": Bad(
        "ServiceMonitor",
        endpoint(metricRelabelings=[{"action": "drop", "regex": "["}]),
        f"{E}.metricRelabelings[0].regex",
    ),
    "two credentials": Bad(
        "ServiceMonitor",
        endpoint(
            basicAuth={"username": TOKEN, "password": TOKEN}, authorization={"credentials": TOKEN}
        ),
        E,
    ),
    "authorization that is basic": Bad(
        "ServiceMonitor",
        endpoint(authorization={"type": "Basic", "credentials": TOKEN}),
        f"{E}.authorization",
    ),
    "half a certificate": Bad(
        "ServiceMonitor", endpoint(tlsConfig={"cert": {"secret": TOKEN}}), f"{E}.tlsConfig"
    ),
    "TLS versions the wrong way": Bad(
        "ServiceMonitor",
        endpoint(tlsConfig={"minVersion": "TLS13", "maxVersion": "TLS12"}),
        f"{E}.tlsConfig",
    ),
    "key that is not in the Secret": Bad(
        "ServiceMonitor",
        endpoint(authorization={"credentials": {"name": "token", "key": "tokne"}}),
        f"{E}.authorization.credentials",
    ),
    "reference that names nothing": Bad(
        "ServiceMonitor",
        endpoint(basicAuth={"username": TOKEN}),
        f"{E}.basicAuth.password",
    ),
    "selector with an odd operator": Bad(
        "ServiceMonitor",
        {
            "selector": {"matchExpressions": [{"key": "a", "operator": "Ins", "values": ["b"]}]},
            "endpoints": [{"port": "web"}],
        },
        "spec.selector",
    ),
    "proxy and its environment": Bad(
        "ServiceMonitor",
        endpoint(proxyFromEnvironment=True, proxyUrl="http://proxy.example/"),
        E,
    ),
    "pods: timeout": Bad(
        "PodMonitor", pods(interval="5s", scrapeTimeout="9s"), f"{P}.scrapeTimeout"
    ),
    "pods: regex": Bad(
        "PodMonitor",
        pods(**relabeling(action="keep", sourceLabels=["a"], regex="*")),
        f"{P}.relabelings[0].regex",
    ),
    "pods: two credentials": Bad(
        "PodMonitor",
        pods(basicAuth={"username": TOKEN, "password": TOKEN}, bearerTokenSecret=TOKEN),
        P,
    ),
    "probe without targets": Bad("Probe", {"prober": {"url": "prober:9115"}}, "spec.targets"),
    "probe: timeout": Bad(
        "Probe",
        {
            "prober": {"url": "prober:9115"},
            "interval": "5s",
            "scrapeTimeout": "9s",
            "targets": {"staticConfig": {"static": ["a:1"]}},
        },
        "spec.scrapeTimeout",
    ),
    "scrape config: timeout": Bad(
        "ScrapeConfig", {"scrapeInterval": "5s", "scrapeTimeout": "9s"}, "spec.scrapeTimeout"
    ),
    "scrape config: two credentials": Bad(
        "ScrapeConfig",
        {
            "basicAuth": {"username": TOKEN, "password": TOKEN},
            "authorization": {"credentials": TOKEN},
        },
        "spec",
    ),
    "scrape config: label": Bad(
        "ScrapeConfig",
        {"relabelings": [{"action": "labelmap", "regex": "(", "replacement": "a"}]},
        "spec.relabelings[0].regex",
    ),
    "scrape config: role selectors": Bad(
        "ScrapeConfig",
        {
            "kubernetesSDConfigs": [
                {"role": "Pod", "selectors": [{"role": "Service", "label": "a=b"}]}
            ]
        },
        "spec.kubernetesSDConfigs[0].selectors[0]",
    ),
    "scrape config: a URL of files": Bad(
        "ScrapeConfig",
        {"httpSDConfigs": [{"url": "ftp://files.example/"}]},
        "spec.httpSDConfigs[0].url",
    ),
    "PromQL": Bad("PrometheusRule", rules(expr="sum(up"), f"{R}.expr"),
    "PromQL of types": Bad("PrometheusRule", rules(expr="rate(up)"), f"{R}.expr"),
    "PromQL function": Bad("PrometheusRule", rules(expr="summ(up)"), f"{R}.expr"),
    "PromQL matcher": Bad("PrometheusRule", rules(expr='up{a=~"("}'), f"{R}.expr"),
    "template": Bad(
        "PrometheusRule", rules(annotations={"summary": "{{ $labels.instance "}), f"{R}.annotations"
    ),
    "template function": Bad(
        "PrometheusRule", rules(annotations={"summary": "{{ nope 1 }}"}), f"{R}.annotations"
    ),
    "label of a rule": Bad("PrometheusRule", rules(labels={"__name__": "a"}), f"{R}.labels"),
    "alert and record": Bad("PrometheusRule", rules(record="a:b"), R),
    "group twice": Bad(
        "PrometheusRule", {"groups": [{"name": "g"}, {"name": "g"}]}, "spec.groups[1]"
    ),
    "route to nobody": Bad(
        "AlertmanagerConfig",
        {"route": {"receiver": "teem"}, "receivers": [{"name": "team"}]},
        "spec.route.receiver",
    ),
    "child route to nobody": Bad(
        "AlertmanagerConfig",
        receiver(**HOOK) | {"route": {"receiver": "team", "routes": [{"receiver": "x"}]}},
        "spec.route.routes[0].receiver",
    ),
    "receiver twice": Bad(
        "AlertmanagerConfig",
        {"route": {"receiver": "a"}, "receivers": [{"name": "a"}, {"name": "a"}]},
        "spec.receivers",
    ),
    "webhook without a URL": Bad(
        "AlertmanagerConfig", receiver(webhookConfigs=[{}]), "spec.receivers[0].webhookConfigs[0]"
    ),
    "mail to nobody": Bad(
        "AlertmanagerConfig",
        receiver(emailConfigs=[{"from": "a@b.example", "smarthost": "mail.example:25"}]),
        "spec.receivers[0].emailConfigs[0]",
    ),
    "matcher that is none": Bad(
        "AlertmanagerConfig",
        receiver(**HOOK)
        | {"inhibitRules": [{"sourceMatch": [{"name": "a", "matchType": "=~", "value": "("}]}]},
        "spec.inhibitRules[0].sourceMatch[0]",
    ),
    "interval that is not defined": Bad(
        "AlertmanagerConfig",
        receiver(**HOOK)
        | {"route": {"receiver": "team", "routes": [{"muteTimeIntervals": ["night"]}]}},
        "spec.route.routes[0]",
    ),
    "template of a receiver": Bad(
        "AlertmanagerConfig",
        receiver(webhookConfigs=[{"url": "http://a/{{ nope }}"}]),
        "spec.receivers[0].webhookConfigs[0]",
    ),
}
# What a webhook cannot know: it reads no Secrets.
WITHOUT_SECRETS = {"key that is not in the Secret"}

SECRET = secret("token", {"token": "abc"}, namespace="shop")
EVERY: Object = {
    f"{kind}{what}": {}
    for kind in ("serviceMonitor", "podMonitor", "probe", "scrapeConfig", "rule")
    for what in ("Selector", "NamespaceSelector")
}
WORKLOADS = [
    thing("Prometheus", "main", "monitoring", spec=EVERY),
    thing(
        "Alertmanager",
        "main",
        "monitoring",
        spec={"alertmanagerConfigSelector": {}, "alertmanagerConfigNamespaceSelector": {}},
    ),
]


def linted(folder: Path, capsys: Any, objects: list[Object], *words: str) -> tuple[int, Any]:
    """The exit status of lint, and what it says as JSON."""
    (folder / "all.yaml").write_text(yaml.safe_dump_all(objects))
    status = main(["lint", str(folder), "-o", "json", *words])
    return status, [json.loads(line) for line in capsys.readouterr().out.splitlines()]


def world_of(objects: list[Object]) -> World:
    """The world of these objects."""
    return settled(gathered(Manifest("-", 1, 1, each) for each in objects))


@pytest.mark.parametrize("name", BAD)
def test_whoever_is_asked_blames_the_same_field(
    name: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """Lint alone, lint beside a workload, the plan of the operator, and the webhook."""
    kind, spec, path = BAD[name]
    bad = thing(kind, "bad", spec=spec)
    told = []
    for beside in ([], WORKLOADS):
        status, entries = linted(tmp_path, capsys, [SECRET, bad, *beside])
        assert status == 1
        told.append({(each["path"], each["message"]) for each in entries})
        assert {each["severity"] for each in entries} == {"error"}
        assert {each["kind"] for each in entries} == {kind}
    assert told[0] == told[1]
    assert all(each.startswith(path) for each, _ in told[0]), told[0]
    rejecting = planned([SECRET, bad, *WORKLOADS])
    if rejecting is not None:
        assert rejecting == told[0]
    if name not in WITHOUT_SECRETS:
        answered = {each for each, _ in reviewed(bad)}
        # It may name what holds the field, or what is in it.
        pairs = [sorted((each, one), key=len) for each, _ in told[0] for one in answered]
        assert any(longer.startswith(shorter) for shorter, longer in pairs), answered


def planned(objects: list[Object]) -> set[tuple[str, str]] | None:
    """What the plans of all workloads say of resources; None where a cluster would take none."""
    world = world_of(objects)
    if not world.resources:
        return None
    facts = view_of(world, OperatorSettings()).facts
    found = [
        each for workload in world.workloads for each in plan(facts, workload).verdicts.values()
    ]
    assert [each.outcome for each in found] == [Outcome.REJECTED]
    return {(each.path, each.message) for each in found[0].findings}


def reviewed(bad: Object) -> set[tuple[str, str]]:
    """What the webhook says of an object."""
    found = kind_called(bad["kind"])
    assert found is not None
    review = {
        "kind": "AdmissionReview",
        "apiVersion": "admission.k8s.io/v1",
        "request": {"uid": "1", "operation": "CREATE", "object": bad},
    }
    reviewer = Reviewer(rules_reader("utf8"))
    answer = reviewer.answer(f"/admission-{found.plural}/validate", review)
    causes = answer.body["response"].get("status", {}).get("details", {}).get("causes", ())
    return {(each["field"], each["message"]) for each in causes}


# --- What is not known ----------------------------------------------------------------------------

SECRETS = {
    "credentials": ("ServiceMonitor", endpoint(authorization={"credentials": TOKEN})),
    "certificates": (
        "PodMonitor",
        pods(tlsConfig={"cert": {"secret": TOKEN}, "keySecret": TOKEN, "ca": {"configMap": TOKEN}}),
    ),
    "oauth": (
        "Probe",
        {
            "prober": {"url": "prober:9115"},
            "targets": {"staticConfig": {"static": ["a:1"]}},
            "oauth2": {
                "clientId": {"secret": TOKEN},
                "clientSecret": TOKEN,
                "tokenUrl": "http://login.example/",
            },
        },
    ),
    "discovery": (
        "ScrapeConfig",
        {"consulSDConfigs": [{"server": "consul:8500", "tokenRef": TOKEN}]},
    ),
    "receiver": (
        "AlertmanagerConfig",
        receiver(slackConfigs=[{"apiURL": TOKEN, "channel": "#a"}]),
    ),
    "scrape class": ("ServiceMonitor", endpoint() | {"scrapeClass": "tls"}),
    "experimental": ("PrometheusRule", rules(expr="mad_over_time(up[5m])")),
}


@pytest.mark.parametrize("name", SECRETS)
def test_what_is_elsewhere_is_unknown_and_no_fault(
    name: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """A Secret, a scrape class or a feature that a cluster may have."""
    kind, spec = SECRETS[name]
    status, entries = linted(tmp_path, capsys, [thing(kind, "bad", spec=spec)], "--strict")
    assert status == 0
    assert entries
    assert {(each["severity"], each["reason"]) for each in entries} == {("unknown", "NotKnown")}


@pytest.mark.parametrize("name", [each for each in SECRETS if SECRETS[each][0] != "PrometheusRule"])
def test_what_is_unknown_alone_is_unknown_beside_a_workload(
    name: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """But for a scrape class, which the workload surely lacks."""
    kind, spec = SECRETS[name]
    status, entries = linted(tmp_path, capsys, [thing(kind, "bad", spec=spec), *WORKLOADS])
    known = name == "scrape class"
    assert status == int(known)
    assert {each["severity"] for each in entries} == {"error" if known else "unknown"}


@pytest.mark.parametrize(
    ("kind", "spec"),
    [
        ("Prometheus", {"additionalScrapeConfigs": TOKEN}),
        ("Alertmanager", {"configSecret": "elsewhere"}),
    ],
)
def test_a_workload_may_be_unknown(
    kind: str, spec: Any, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """Whose own Secret is elsewhere."""
    status, entries = linted(tmp_path, capsys, [thing(kind, "main", spec=spec)])
    assert status == 0
    assert [(each["severity"], each["name"]) for each in entries] == [("unknown", "main")]


# --- Versions -------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("bad", "option", "path"),
    [
        (("PrometheusRule", rules(expr="up @ end()")), "--prometheus-version=v2.20.0", R),
        (("PrometheusRule", rules(expr="up == on() first(up)")), "--thanos-version=v0.30.0", R),
        (
            ("AlertmanagerConfig", receiver(msteamsConfigs=[{"webhookUrl": TOKEN}])),
            "--alertmanager-version=v0.25.0",
            "spec.receivers[0]",
        ),
    ],
    ids=["Prometheus", "Thanos", "Alertmanager"],
)
def test_resources_are_judged_for_the_version_that_is_named(
    bad: tuple[str, Any], option: str, path: str, tmp_path: Path, capsys: Any
) -> None:
    """Where no workload among the manifests selects them."""
    kind, spec = bad
    given = [SECRET, thing(kind, "bad", spec=spec)]
    status, entries = linted(tmp_path, capsys, given, option)
    assert status == 1
    assert all(each["path"].startswith(path) for each in entries)


def test_a_version_that_is_none_is_told(tmp_path: Path, capsys: Any) -> None:
    """Before anything is read."""
    assert linted(tmp_path, capsys, [SECRET], "--prometheus-version=latest")[0] == 2


def test_what_a_workload_alone_holds_against_a_resource_names_it(
    tmp_path: Path, capsys: Any
) -> None:
    """Its version, or a setting of its own."""
    spec = {"ruleSelector": {}, "ruleNamespaceSelector": {}, "version": "v2.20.0"}
    old = thing("Prometheus", "old", "monitoring", spec=spec)
    rule = thing("PrometheusRule", "new", spec=rules(expr="up @ end()"))
    status, entries = linted(tmp_path, capsys, [rule, old])
    assert status == 1
    assert entries[0]["message"].endswith("; so says Prometheus monitoring/old (2.20.0)")


# --- What is no manifest --------------------------------------------------------------------------

STRANGERS = {
    "values.yaml": "replicas: 2\nmetadata: {a: b}\n",
    "kustomization.yaml": "resources: [all.yaml]\n",
    "dashboard.json": '{"title": "A", "panels": []}',
    "list.json": "[1, 2]",
    "chart/Chart.yaml": "apiVersion: v2\nname: a\n",
    "chart/templates/rule.yaml": "kind: {{ .Values.kind }}\n",
    "chart/templates/deep/named.yaml": (
        "apiVersion: monitoring.coreos.com/v1\nkind: Probe\nmetadata: {name: '{{ .x }}'}\n"
    ),
    "loose.yaml": "{{- if .Values.enabled }}\nkind: Probe\n{{- end }}\n",
}


def test_what_is_no_manifest_is_counted_and_passed_over(tmp_path: Path, capsys: Any) -> None:
    """By every command that reads a folder."""
    good = [thing("ServiceMonitor", "good", spec=endpoint()), *WORKLOADS]
    (tmp_path / "all.yaml").write_text(yaml.safe_dump_all(good))
    for name, text in STRANGERS.items():
        (tmp_path / name).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / name).write_text(text)
    assert main(["lint", str(tmp_path)]) == 0
    summary = capsys.readouterr().out
    assert summary.startswith("1 file, 3 objects: 3 ours (3 valid, 0 with errors, 0 warnings), ")
    assert summary.endswith(f" 0 unreadable, {len(STRANGERS)} no manifests\n")
    assert main(["render", str(tmp_path), "--config-only"]) == 0
    assert "refused" not in capsys.readouterr().err
    main(["explain", "smon/good", "-n", "shop", "-f", str(tmp_path)])
    assert "not everything could be read" not in capsys.readouterr().out


@pytest.mark.parametrize(
    "text",
    [
        "apiVersion: monitoring.coreos.com/v1\nspec: {}\n",
        "kind: Probe\nspec: {}\n",
        "apiVersion: v1\nmetadata: {name: a}\n",
        "kind: Service\nmetadata: {name: a}\n",
        "kind: Probe\nmetadata: {{ $labels }}: [\n",
    ],
)
def test_what_was_meant_as_a_manifest_is_told(text: str, tmp_path: Path) -> None:
    """One that says half of what it is, and one that is broken."""
    (tmp_path / "a.yaml").write_text(text)
    assert main(["lint", str(tmp_path)]) == 1


@pytest.mark.parametrize("pattern", ["bad.yaml", "*.bad.*", "sub", "sub/bad.yaml", "*/bad.*"])
def test_what_is_excluded_is_not_looked_at(pattern: str, tmp_path: Path, capsys: Any) -> None:
    """A file or a folder, by its name, the end of its path, or a pattern."""
    (tmp_path / "sub").mkdir()
    (tmp_path / "good.yaml").write_text(
        yaml.safe_dump(thing("ServiceMonitor", "a", spec=endpoint()))
    )
    name = "x.bad.yaml" if pattern == "*.bad.*" else "bad.yaml"
    (tmp_path / "sub" / name).write_text("a: [")
    assert main(["lint", str(tmp_path)]) == 1
    assert main(["lint", str(tmp_path), "--exclude", "other", "--exclude", pattern]) == 0
    capsys.readouterr()
    for more in ([], ["--exclude", pattern]):
        main(["status", "-f", str(tmp_path), *more])
        assert (name in capsys.readouterr().out) is not bool(more)


def test_fields_that_would_be_dropped_are_told_by_every_command(
    tmp_path: Path, capsys: Any
) -> None:
    """A selector without `matchLabels` selects every Service."""
    spec = {"selector": {"app": "api"}, "endpoints": [{"port": "web"}]}
    objects = [thing("ServiceMonitor", "cart", spec=spec), *WORKLOADS]
    (tmp_path / "all.yaml").write_text(yaml.safe_dump_all(objects))
    folder = str(tmp_path)
    assert main(["explain", "smon/cart", "-n", "shop", "-f", folder]) == 1
    first = capsys.readouterr().out.splitlines()[0]
    assert first.endswith("spec.selector.app is dropped: there is no such field")
    told = "ServiceMonitor shop/cart: spec.selector.app: there is no such field"
    assert main(["render", folder, "--config-only"]) == 0
    assert f"dropped   {told}" in capsys.readouterr().err
    assert main(["diff", "--from", folder, folder]) == 0
    assert f"dropped: {told}" in capsys.readouterr().err
