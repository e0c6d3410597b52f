"""The running operator on a real control plane: objects, pods, status, and what changes them."""

import gzip
from base64 import b64decode

from tests.live.operating import Running, World, agent, prometheus, service_monitor


def configuration(world: World, name: str) -> str:
    """The configuration in a workload's Secret."""
    found = world.get("secret", name)
    assert found
    return gzip.decompress(b64decode(found["data"]["prometheus.yaml.gz"])).decode()


def test_a_prometheus_becomes_ready_and_has_its_monitors(world: World, operator: Running) -> None:
    """Create: objects appear, pods become ready, the status says so, monitors are in the file."""
    world.put(prometheus("main", replicas=2), service_monitor("shop"))
    world.until(
        "both replicas to be available",
        lambda: (
            world.condition("prometheus", "main", "Available")["status"] == "True"
            and world.condition("prometheus", "main", "Reconciled")["status"] == "True"
        ),
    )
    found = world.get("prometheus", "main")
    assert found
    assert found["status"]["availableReplicas"] == 2
    assert f"serviceMonitor/{world.namespace}/shop/0" in configuration(world, "prometheus-main")
    bound = world.until("a binding", lambda: world.bindings("servicemonitor", "shop"))
    assert bound["prometheuses/main"]["status"] == "True"


def test_an_agent_becomes_ready(world: World, operator: Running) -> None:
    """The same for a PrometheusAgent."""
    world.put(agent("light"), service_monitor("shop"))
    world.until(
        "the agent to be available",
        lambda: world.condition("prometheusagent", "light", "Available")["status"] == "True",
    )
    assert f"serviceMonitor/{world.namespace}/shop/0" in configuration(world, "prom-agent-light")
