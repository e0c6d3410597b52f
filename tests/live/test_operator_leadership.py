"""Two replicas, one leader."""

from __future__ import annotations

import signal
import time
from collections.abc import Callable
from contextlib import ExitStack
from functools import partial

from tests.builders import Object, prometheus, record, resource, service_monitor
from tests.live.operating import Running, World
from tests.live.replicas import Replica, leads, reconciles, writes

# A Lease runs out 15 s after its last renewal, which may be 2 s old when its holder dies.
TAKEOVER_SECONDS = 20.0
# What a busy machine may add to a time that was promised for one at rest.
SLACK = 60.0
# After this a replica that does not lead has judged a handful of resources.
STANDBY_SECONDS = 4.0


def has_monitors(world: World, workload: str) -> bool:
    """Whether the status of a workload knows that it selects something."""
    condition = world.condition("prometheus", workload, "Reconciled")
    return bool(condition["reason"] == "ReconciliationSucceeded")


def test_one_replica_leads_and_another_follows_it(
    world: World, replica: Replica, new_namespace: Callable[[], str]
) -> None:
    """Killed, the leader is replaced; stopped and resumed, it writes nothing; told to go, at once.

    Killed and stopped leaders are watched side by side, as both take as long as a Lease lasts.
    """
    other = World(world.cluster, new_namespace())
    with ExitStack() as stack:
        flags = f"--namespaces={other.namespace}"
        killed = stack.enter_context(Running.start(other.cluster, flags))
        stopped = replica("stopped")
        world.until("leaders", lambda: leads(killed) and leads(stopped))
        heir = stack.enter_context(Running.start(other.cluster, flags))
        resting = replica("resting")
        assert not leads(heir)
        assert not leads(resting)
        world.put(prometheus("main"))
        world.until("objects", lambda: world.get("statefulset", "prometheus-main"))
        before = reconciles(stopped)

        killed.kill()
        stopped.process.send_signal(signal.SIGSTOP)
        begun = time.monotonic()
        limit = TAKEOVER_SECONDS + SLACK
        world.until("new leaders", lambda: leads(heir) and leads(resting), limit)
        print(f"taken over after {time.monotonic() - begun:.1f} s")

        mark = world.cluster.audit.mark()
        world.put(prometheus("main", replicas=2), prometheus("second"))
        world.until("the new leader", lambda: world.get("statefulset", "prometheus-second"))
        stopped.process.send_signal(signal.SIGCONT)
        world.put(service_monitor("shop"))
        world.until("a binding", lambda: len(world.bindings("servicemonitor", "shop")) == 2)
        world.until("the old leader to notice", lambda: not leads(stopped))
        assert writes(world, mark, "stopped") == []
        assert writes(world, mark, "resting") != []

        for workload in ("main", "second"):
            world.settled("prometheus", workload)
            world.until("the monitor to be told of", partial(has_monitors, world, workload))
        world.until(
            "both pods to be counted",
            lambda: (world.get("prometheus", "main") or {})["status"]["availableReplicas"] == 2,
        )
        world.until_still()
        assert resting.stop() == 0
        begun = time.monotonic()
        world.until("the old leader to lead again", lambda: leads(stopped), SLACK)
        print(f"handed over after {time.monotonic() - begun:.1f} s")
        world.until(
            "both workloads to be looked at again", lambda: reconciles(stopped) >= before + 2
        )
        assert writes(world, mark, "stopped") == []
        world.delete("statefulset", "prometheus-second")
        world.until("it to work", lambda: writes(world, mark, "stopped"))


MADE = (
    ("secret", "prometheus-main", {"data": {"prometheus.yaml.gz": "H4sIAAAAAAAC/wMAAAAAAAAAAAA="}}),
    ("configmap", "prometheus-main-rulefiles-0", {"data": None}),
    ("statefulset", "prometheus-main", {"spec": {"replicas": 3}}),
)


def contents(world: World) -> list[Object | None]:
    """What of each object is damaged below, as it is now."""
    found = [(world.get(kind, name) or {}, patch) for kind, name, patch in MADE]
    return [each.get(part) for each, patch in found for part in patch]


def damage(world: World) -> None:
    """Change what the operator made, and take a part of it away."""
    for kind, name, patch in MADE:
        world.patch(kind, name, patch)
    world.delete("service", "prometheus-operated")


def test_nothing_is_trusted_over_a_change_of_leaders_or_a_restart(
    world: World, replica: Replica
) -> None:
    """What was damaged while nobody led is as it should be, whoever comes then.

    An heir has judged all resources beforehand, and a replica that is started anew has nothing:
    both look at each object, and neither believes that it is still as it was written.
    """
    rules = resource("PrometheusRule", "rules", record("a", "up"))
    world.put(prometheus("main"), service_monitor("shop"), rules)
    leader = replica("leader")
    world.settled("prometheus", "main")
    world.until("the monitor", lambda: world.bindings("servicemonitor", "shop"))
    good = contents(world)
    heir = replica("heir")
    # It judges soon after it has seen what there is; what follows holds whether it has or not.
    time.sleep(STANDBY_SECONDS)
    for name in ("heir", "newcomer"):
        leader.kill()
        damage(world)
        assert contents(world) != good
        leader = heir if name == "heir" else replica(name)
        world.until("a new leader", partial(leads, leader), TAKEOVER_SECONDS + SLACK)
        world.until("it as it was", lambda: contents(world) == good)
        world.until("the Service", lambda: world.get("service", "prometheus-operated"))
