"""An object that the API server refuses keeps no other from being written, where that is safe."""

import base64
import gzip
from collections.abc import Iterator

import pytest

from tests.builders import resource
from tests.live.operating import Object, Running, World
from tools.api import ApiError

NAME = "prom-agent-main"


def agent(**spec: object) -> Object:
    """An agent that takes PodMonitors."""
    return resource("PrometheusAgent", "main", {"podMonitorSelector": {}} | spec)


def monitor(name: str) -> Object:
    """A PodMonitor."""
    return resource("PodMonitor", name, {"selector": {}, "podMetricsEndpoints": [{"port": "web"}]})


def configuration(world: World) -> str:
    """What the pods read."""
    [content] = (world.get("secret", NAME) or {})["data"].values()
    return gzip.decompress(base64.b64decode(content)).decode()


def is_bound(world: World, name: str) -> bool:
    """Whether a PodMonitor says that the agent has taken it."""
    found = world.get("podmonitor", name) or {}
    [binding] = found["status"]["bindings"]
    return [each["status"] for each in binding["conditions"]] == ["True"]


def failure(world: World) -> str:
    """Why the agent is not reconciled; an error if it is."""
    found = world.condition("prometheusagent", "main", "Reconciled")
    latest = (world.get("prometheusagent", "main") or {})["metadata"]["generation"]
    assert (found["status"], found["observedGeneration"]) == ("False", latest)
    return str(found["message"])


# More is asked for than allowed, which no schema sees.
TOO_MUCH: Object = {"resources": {"requests": {"cpu": "2"}, "limits": {"cpu": "1"}}}


def test_monitors_are_scraped_and_bound_though_the_pods_are_refused(
    world: World, operator: Running
) -> None:
    """The StatefulSet stays as it is, the status has the server's words, and all else goes on."""
    world.put(agent(), monitor("before"))
    world.settled("prometheusagent", "main")
    before = (world.get("statefulset", NAME) or {})["metadata"]["generation"]
    world.put(agent(**TOO_MUCH), monitor("after"))
    world.until("its job", lambda: "/after/" in configuration(world))
    world.until("its binding", lambda: is_bound(world, "after"))
    message = world.until("the words", lambda: failure(world))
    assert f"StatefulSet {world.namespace}/{NAME}" in message
    assert "spec.template.spec.containers[0].resources.requests" in message
    assert (world.get("statefulset", NAME) or {})["metadata"]["generation"] == before

    world.put(agent())
    world.settled("prometheusagent", "main")


@pytest.mark.parametrize("spec", [{"shards": 2}, {"version": "2.55.1"}], ids=["shards", "version"])
def test_pods_that_are_refused_never_get_a_configuration_for_others(
    world: World, operator: Running, spec: Object
) -> None:
    """Half of the targets would be a second shard's, and there is none; the same for versions."""
    world.put(agent(version="3.1.0"), monitor("before"))
    world.settled("prometheusagent", "main")
    before = configuration(world)
    world.put(agent(**{"version": "3.1.0"} | TOO_MUCH | spec), monitor("after"))
    message = world.until("the words", lambda: failure(world))
    assert "spec.template.spec.containers[0].resources.requests" in message
    assert configuration(world) == before
    assert [each["metadata"]["name"] for each in world.list("statefulset")] == [NAME]


@pytest.fixture
def guarded(world: World) -> Iterator[World]:
    """A namespace in which a policy lets nobody write Services."""
    name = f"no-services-{world.namespace}"
    rule = {
        "apiGroups": [""],
        "apiVersions": ["v1"],
        "operations": ["CREATE", "UPDATE"],
        "resources": ["services"],
    }
    api, kind = "/apis/admissionregistration.k8s.io/v1", "validatingadmissionpolic"
    labels = {"kubernetes.io/metadata.name": world.namespace}
    policy = {
        "metadata": {"name": name},
        "spec": {
            "matchConstraints": {"resourceRules": [rule]},
            "validations": [
                {"expression": "false", "message": "no Services here", "reason": "Forbidden"}
            ],
        },
    }
    binding = {
        "metadata": {"name": name},
        "spec": {
            "policyName": name,
            "validationActions": ["Deny"],
            "matchResources": {"namespaceSelector": {"matchLabels": labels}},
        },
    }
    server = world.cluster.api
    server.request("POST", f"{api}/{kind}ies", policy)
    server.request("POST", f"{api}/{kind}ybindings", binding)
    world.until("the policy to hold", lambda: _is_denied(world))
    yield world
    server.request("DELETE", f"{api}/{kind}ybindings/{name}")
    server.request("DELETE", f"{api}/{kind}ies/{name}")


def _is_denied(world: World) -> bool:
    service = {"metadata": {"name": "try"}, "spec": {"ports": [{"port": 80}]}}
    try:
        path = world.path("service") + "?dryRun=All"
        world.cluster.api.request("POST", path, service)
    except ApiError as error:
        return "no Services here" in str(error)
    return False


def test_a_policy_that_refuses_one_object_stops_no_other(guarded: World) -> None:
    """Without the Service an agent scrapes all the same; it is named, and made when it may be."""
    with Running.start(guarded.cluster, f"--namespaces={guarded.namespace}"):
        guarded.put(agent(), monitor("ours"))
        guarded.until("the pods", lambda: guarded.get("statefulset", NAME))
        guarded.until("its binding", lambda: is_bound(guarded, "ours"))
        message = guarded.until("the words", lambda: failure(guarded))
        assert "no Services here" in message
        assert f"Service {guarded.namespace}/prometheus-agent-operated" in message
        assert "/ours/" in configuration(guarded)
