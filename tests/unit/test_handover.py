"""What happens to a workload at a takeover, from its plan and the objects that are there."""

import base64
import gzip
from pathlib import Path
from typing import Any

import pytest
import yaml
from msgspec import to_builtins
from msgspec.structs import replace

from stoker.api.crd import manifest
from stoker.api.decode import convert
from stoker.api.kinds import KINDS, kind_called
from stoker.build.names import FIELD_MANAGER
from stoker.cluster.live import as_claimed
from stoker.cluster.takeover.rights import operator_rights
from stoker.compare.change import Pods
from stoker.compare.defaults import without_defaults
from stoker.compare.definitions import Age, definition_handover
from stoker.compare.handover import Handover, handover_of
from stoker.compare.plan import Planned, planned
from stoker.compare.taken import taken_by
from stoker.kube.takeover import overruled
from stoker.offline.manifests import Manifest
from stoker.offline.surroundings import view_of
from stoker.offline.world import world_of
from stoker.ref import Ref, ref_of, ref_of_manifest
from stoker.settings import OperatorSettings
from tests.builders import alert, alertmanager, prometheus, resource, service_monitor

Object = dict[str, Any]
ROOT = Path(__file__).parents[2]


class World:
    """Manifests, the plan of their one workload, and what another operator made of it."""

    def __init__(self, *objects: Object) -> None:
        for each in objects:
            each["metadata"] |= {"namespace": "shop", "uid": f"uid-{each['metadata']['name']}"}
        # What a manifest says of a status does not count; a cluster has one all the same.
        said = {each["metadata"]["name"]: each.pop("status", None) for each in objects}
        view = view_of(world_of(Manifest("", 0, 0, each) for each in objects), OperatorSettings())
        resources = tuple(_with_status(each, said) for each in view.resources)
        view = replace(view, resources=resources)
        workload = _with_status(view.workloads[0], said)
        self.planned: Planned = planned(view, workload)
        self.known = {ref_of(each) for each in view.resources}
        self.live = {ref_of_manifest(each): each for each in self.planned.objects}

    def change(self, kind: str, name: str, **members: Any) -> None:
        """Another operator made this of an object."""
        key = Ref(kind, "shop", name)
        self.live[key] = self.live[key] | members

    def text(self, name: str, key: str) -> str:
        """The configuration in a Secret."""
        data = self.live[Ref("Secret", "shop", name)]["data"]
        return gzip.decompress(base64.b64decode(data[key])).decode()

    def write(self, name: str, key: str, text: str) -> None:
        """Another operator wrote this configuration."""
        packed = base64.b64encode(gzip.compress(text.encode())).decode()
        data = self.live[Ref("Secret", "shop", name)]["data"] | {key: packed}
        self.change("Secret", name, data=data)

    def handover(self, *surplus: Ref) -> Handover:
        """What happens."""
        return handover_of(self.planned, self.live, self.known, surplus)


def _with_status(found: Any, said: Object) -> Any:
    status = said[found.metadata.name]
    return convert(type(found), to_builtins(found) | {"status": status}) if status else found


MAIN = ("prometheus-main", "prometheus.yaml.gz")
WRONG = service_monitor("wrong", interval="10s", scrapeTimeout="20s")


def judged(found: Handover) -> list[tuple[str, str, str]]:
    """Which resource, and what becomes of it before and after."""
    return [(each.resource, each.before, each.after) for each in found.disagreements]


def test_nothing_happens_to_what_is_as_it_should_be() -> None:
    """A plan with rejections is nothing new where these are left out already."""
    found = World(prometheus("main"), service_monitor("cart"), WRONG).handover()
    assert found.is_nothing
    assert found.pods is Pods.STAY


def test_a_resource_that_was_taken_and_would_be_left_out_is_told() -> None:
    """That there is a job of it is proof, and the reason is ours."""
    world = World(prometheus("main"), service_monitor("cart"), WRONG)
    job = "- job_name: serviceMonitor/shop/wrong/0\n"
    world.write(*MAIN, world.text(*MAIN).replace("scrape_configs:\n", f"scrape_configs:\n{job}"))
    found = world.handover()
    assert judged(found) == [("ServiceMonitor shop/wrong", "taken", "left out")]
    assert "scrapeTimeout" in found.disagreements[0].reason
    assert found.parts == ("job serviceMonitor/shop/wrong/0",)
    assert found.written == ("Secret shop/prometheus-main",)
    assert not found.is_nothing


def test_a_resource_that_was_left_out_and_would_be_taken_is_told() -> None:
    """With what its status says, if it says so."""
    condition = {"type": "Accepted", "status": "False", "message": "too odd"}
    binding = {"namespace": "shop", "name": "main", "conditions": [condition]}
    cart = service_monitor("cart") | {"status": {"bindings": [binding]}}
    world = World(prometheus("main"), cart, service_monitor("till"))
    head, _, rest = world.text(*MAIN).partition("- job_name: serviceMonitor/shop/cart/0")
    _, till, rest = rest.partition("- job_name: serviceMonitor/shop/till/0")
    world.write(*MAIN, head + till + rest)
    found = world.handover()
    assert judged(found) == [("ServiceMonitor shop/cart", "left out", "taken")]
    assert found.disagreements[0].reason == "too odd"


def test_a_resource_that_would_not_be_selected_is_told_if_it_exists() -> None:
    """A job of one that is gone says nothing."""
    chosen = {"matchLabels": {"team": "a"}}
    world = World(prometheus("main", serviceMonitorSelector=chosen), service_monitor("cart"))
    jobs = "".join(f"- job_name: serviceMonitor/shop/{name}/0\n" for name in ("cart", "gone"))
    world.write(*MAIN, f"scrape_configs:\n{jobs}")
    assert judged(world.handover()) == [("ServiceMonitor shop/cart", "taken", "not selected")]


def test_rules_are_judged_by_their_files() -> None:
    """One that Prometheus would refuse is left out; it was not before."""
    world = World(prometheus("main"), resource("PrometheusRule", "bad", alert("g", "up ==")))
    assert world.handover().is_nothing
    world.change("ConfigMap", "prometheus-main-rulefiles-0", data={"shop-bad-uid-bad.yaml": "x"})
    assert judged(world.handover()) == [("PrometheusRule shop/bad", "taken", "left out")]


def test_what_nobody_can_see_is_not_known() -> None:
    """An AlertmanagerConfig that sends to nobody has no receiver; a configuration may be none."""
    wrong = {"name": "a", "value": "(", "matchType": "=~"}
    rule = {"sourceMatch": [wrong], "targetMatch": [wrong]}
    silent = resource("AlertmanagerConfig", "silent", {"inhibitRules": [rule]})
    world = World(alertmanager("main"), silent)
    assert judged(world.handover()) == [("AlertmanagerConfig shop/silent", "not known", "left out")]
    world = World(prometheus("main"), WRONG)
    world.write(*MAIN, "{")
    assert judged(world.handover()) == [("ServiceMonitor shop/wrong", "not known", "left out")]


def test_a_workload_is_judged_by_its_status() -> None:
    """What we would refuse and the other does not, and the other way round."""
    assert World(prometheus("main", version="newest")).handover().refused
    condition = {"type": "Reconciled", "status": "False", "message": "no"}
    failed = {"status": {"conditions": [condition]}}
    assert World(prometheus("main") | failed).handover().said == "no"
    both = World(prometheus("main", version="newest") | failed).handover()
    assert both.is_nothing


def test_a_pod_template_that_differs_rolls_pods_and_says_where() -> None:
    """With the lines that differ; what is only filled in is no difference."""
    world = World(prometheus("main"))
    made = world.live[Ref("StatefulSet", "shop", "prometheus-main")]
    template = made["spec"]["template"]
    filled = template["spec"] | {"dnsPolicy": "ClusterFirst", "restartPolicy": "Always"}
    spec = made["spec"] | {"template": template | {"spec": filled}, "revisionHistoryLimit": 10}
    world.change("StatefulSet", "prometheus-main", spec=spec)
    assert world.handover().is_nothing
    first, *others = template["spec"]["containers"]
    other = filled | {"containers": [first | {"image": "example.org/other"}, *others]}
    spec = made["spec"] | {"template": template | {"spec": other}}
    world.change("StatefulSet", "prometheus-main", spec=spec)
    found = world.handover()
    assert found.pods is Pods.ROLL
    assert [each.paths for each in found.sets] == [("spec.template.spec.containers[0].image",)]
    assert "-        image: example.org/other" in found.sets[0].files[0].lines


def test_what_another_operator_wrote_and_we_would_not_is_a_difference() -> None:
    """We take all fields over, and what is not applied then goes; but not what is filled in."""
    world = World(prometheus("main"))
    key = Ref("StatefulSet", "shop", "prometheus-main")
    pod: Object = world.live[key]["spec"]["template"]["spec"]
    more = {"dnsPolicy": "ClusterFirst", "priorityClassName": "high"}
    names: Object = {f"f:{name}": {} for name in more}
    fields = {"f:spec": {"f:template": {"f:spec": names}}}
    entry = {"manager": "PrometheusOperator", "operation": "Update", "fieldsV1": fields}
    template = world.live[key]["spec"]["template"] | {"spec": pod | more}
    spec = world.live[key]["spec"] | {"template": template}
    metadata = world.live[key]["metadata"] | {"managedFields": [entry]}
    world.live[key] = as_claimed(world.live[key] | {"spec": spec, "metadata": metadata})
    found = world.handover()
    paths = [path for each in found.sets for path in each.paths]
    assert "spec.template.spec.priorityClassName" in paths
    assert "spec.template.spec.dnsPolicy" not in paths


def test_objects_come_and_go() -> None:
    """Each by its name."""
    world = World(prometheus("main"))
    del world.live[Ref("Secret", "shop", "prometheus-main-web-config")]
    old = Ref("ConfigMap", "shop", "prometheus-main-rulefiles-7")
    found = world.handover(old)
    assert found.new == ("Secret shop/prometheus-main-web-config",)
    assert found.gone == (str(old),)
    assert not found.is_nothing


def test_a_paused_workload_is_left_as_it_is() -> None:
    """Whatever differs."""
    world = World(prometheus("main", paused=True))
    world.live.clear()
    assert world.handover().is_nothing


def test_whose_part_of_an_object_is_undone_is_known() -> None:
    """Content is an operator's alone; metadata, status, and what we or the other wrote is not."""

    def entry(manager: str, name: str, **members: str) -> Object:
        fields: Object = {name: {"f:x": {}}}
        return {"manager": manager, "operation": "Update", "fieldsV1": fields} | members

    fields = [
        entry("PrometheusOperator", "f:spec"),
        entry(FIELD_MANAGER, "f:spec"),
        entry("kubectl-edit", "f:spec"),
        entry("kubectl-label", "f:metadata"),
        entry("controller", "f:spec", subresource="status"),
    ]
    assert overruled(fields, FIELD_MANAGER) == ["kubectl-edit"]


# --- Parts ----------------------------------------------------------------------------------------


def test_what_a_server_fills_in_is_left_out_and_nothing_else() -> None:
    """By the member that holds it."""
    probe = {"httpGet": {"path": "/", "port": "web", "scheme": "HTTP"}, "periodSeconds": 10}
    container = {"image": "a:v1", "imagePullPolicy": "IfNotPresent", "readinessProbe": probe}
    spec = {"containers": [container], "serviceAccountName": "a", "serviceAccount": "a"}
    assert without_defaults({"spec": spec | {"restartPolicy": "Always"}}) == {
        "spec": {
            "containers": [
                {"image": "a:v1", "readinessProbe": {"httpGet": {"path": "/", "port": "web"}}}
            ],
            "serviceAccountName": "a",
        }
    }
    kept: Object = {
        "metadata": {"labels": {"type": "ClusterIP"}},
        "spec": {
            "restartPolicy": "Never",
            "containers": [{"image": "a", "imagePullPolicy": "IfNotPresent"}],
            "ports": [{"port": 80, "targetPort": "web", "protocol": "UDP"}],
        },
    }
    assert without_defaults(kept) == kept


@pytest.mark.parametrize(
    ("image", "policy"),
    [
        ("a", "Always"),
        ("registry:5000/a/b", "Always"),
        ("a:latest", "Always"),
        ("a:v1", "IfNotPresent"),
        ("registry:5000/a/b:v1", "IfNotPresent"),
        ("a@sha256:ab", "IfNotPresent"),
        ("a:latest@sha256:ab", "IfNotPresent"),
        ("MadeUp", "IfNotPresent"),
    ],
)
def test_how_an_image_is_pulled_follows_from_its_name(image: str, policy: str) -> None:
    """As an API server has it."""
    container = {"image": image, "imagePullPolicy": policy}
    assert without_defaults({"containers": [container]}) == {"containers": [{"image": image}]}


@pytest.mark.parametrize("text", ["[1, 2]", "scrape_configs: 1", "receivers: [a]", "{", "\x00"])
def test_a_configuration_that_is_none_is_nothing_taken(text: str) -> None:
    """Somebody may have written anything there."""
    data = {"a.yaml.gz": base64.b64encode(gzip.compress(text.encode())).decode()}
    secret = {"kind": "Secret", "data": data | {"b.yaml.gz": "not packed", "c": "d"}}
    assert taken_by([secret]).resources == frozenset()


def test_definitions_are_compared_by_their_fields() -> None:
    """Older, newer, both, or not there; what is below a missing field is not counted."""
    kind = kind_called("Probe")
    assert kind
    assert {definition_handover(each, manifest(each)).age for each in KINDS} == {Age.SAME}
    assert definition_handover(kind, None).age is Age.MISSING

    def spec_of(definition: Object) -> Object:
        schema: Object = definition["spec"]["versions"][0]["schema"]["openAPIV3Schema"]
        found: Object = schema["properties"]["spec"]["properties"]
        return found

    older = manifest(kind)
    del spec_of(older)["targets"]
    found = definition_handover(kind, older)
    assert (found.age, found.lacks) == (Age.OLDER, ("spec.targets",))
    newer = manifest(kind)
    spec_of(newer)["brandNew"] = {"type": "object", "properties": {"a": {"type": "string"}}}
    found = definition_handover(kind, newer)
    assert (found.age, found.alone) == (Age.NEWER, ("spec.brandNew",))


def test_a_webhook_that_converts_is_told() -> None:
    """Definitions without it would serve fewer versions."""
    kind = kind_called("AlertmanagerConfig")
    assert kind
    live = manifest(kind)
    version = live["spec"]["versions"][0]
    live["spec"]["versions"].append(version | {"name": "v2", "storage": False})
    service = {"namespace": "monitoring", "name": "hook"}
    webhook = {"clientConfig": {"service": service}}
    live["spec"]["conversion"] = {"strategy": "Webhook", "webhook": webhook}
    found = definition_handover(kind, live)
    assert (found.conversion, found.unserved) == ("monitoring/hook", ("v2",))


def test_the_rights_that_are_asked_for_are_those_of_our_role() -> None:
    """What is asked is what deploy/ gives."""
    documents = list(yaml.safe_load_all((ROOT / "deploy/cluster/role.yaml").read_text()))
    given = [
        (group, set(rule["resources"]), set(rule["verbs"]), set(rule.get("resourceNames") or ()))
        for rule in documents[0]["rules"]
        for group in rule["apiGroups"]
    ]
    assert given == [
        (each.group, set(each.resources), set(each.verbs), set(each.names))
        for each in operator_rights()
    ]
