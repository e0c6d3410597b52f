"""An agent that changes its mode: new pods are made and become ready, then the old ones go (D7).

Both modes read their configuration from the same Secret, and the old pods must not act on the new
one:

- **To a DaemonSet.** The new configuration names the variable NODE_NAME, which pods of a
  StatefulSet do not have: their reloaders refuse it and keep what they have.
- **To a StatefulSet.** Pods of a DaemonSet have all variables of the new configuration; each of
  them would scrape everything. So the new configuration goes into a Secret of its own for as long
  as the DaemonSet exists, and the StatefulSets read that. Once the DaemonSet and its pods are gone,
  all is as usual, and the StatefulSets are rolled to the usual Secret.

Nothing is remembered: where a change stands is seen from what exists, so that an operator that was
killed half-way goes on.
"""

from collections.abc import Iterable, Mapping, Sequence
from typing import Any, Final

from msgspec import Struct

from stoker.api.core import Object
from stoker.build.names import config_secret_name, daemon_set_name
from stoker.run.caches import Running
from stoker.run.writer import ObjectId
from stoker.select.workload import Workload

_SUFFIX: Final = "-switch"
_CONFIG_VOLUME: Final = "config"


class Switch(Struct, frozen=True):
    """Where a change of mode stands.

    `apart`: the configuration goes into a Secret of its own. `kept`: objects that are not wanted
    any longer and must stay for now. `waits_for`: what must happen before it goes on, if anything.
    """

    apart: bool = False
    kept: frozenset[ObjectId] = frozenset()
    waits_for: str = ""


class Found(Struct, frozen=True):
    """What an agent has: StatefulSets, DaemonSets, and whether there is a Secret of its own."""

    sets: Sequence[Running]
    daemons: Sequence[Running]
    apart: bool


def switch_of(workload: Workload, wanted: Iterable[Object], found: Found) -> Switch:
    """Where the change stands, by the objects that an agent should have, and those that it has."""
    if not workload.agent:
        return Switch()
    if workload.daemon_set:
        return _to_daemon_set(workload, found)
    names = {each["metadata"]["name"] for each in wanted if each["kind"] == "StatefulSet"}
    return _to_stateful_sets(workload, names, found)


def _to_daemon_set(workload: Workload, found: Found) -> Switch:
    new = [each for each in found.daemons if each.metadata.name == daemon_set_name(workload)]
    if not found.sets or (new and _is_on_all_nodes(new[0])):
        return Switch()
    kept = _identities("StatefulSet", found.sets)
    return Switch(kept=kept, waits_for="the StatefulSet goes when an agent is ready on every node")


def _to_stateful_sets(workload: Workload, wanted: set[str], found: Found) -> Switch:
    new = [each for each in found.sets if each.metadata.name in wanted]
    ready = len(new) == len(wanted) and all(map(_is_ready, new))
    if found.daemons:
        kept = frozenset() if ready else _identities("DaemonSet", found.daemons)
        return Switch(True, kept, "the DaemonSet goes when all pods of the StatefulSets are ready")
    if ready or not found.apart:
        return Switch()
    # Pods that were not rolled yet may be started again, and then they need it.
    secret = ("Secret", workload.namespace, switch_secret_name(workload))
    return Switch(kept=frozenset({secret}), waits_for="pods are rolled to the usual Secret")


def _identities(kind: str, found: Iterable[Running]) -> frozenset[ObjectId]:
    return frozenset(
        (kind, each.metadata.namespace or "", each.metadata.name or "") for each in found
    )


def _is_on_all_nodes(daemon_set: Running) -> bool:
    """Whether a pod of the latest template is available on every node that should have one.

    Where no node should, the old pods are all there is.
    """
    status = _observed(daemon_set)
    nodes = status.get("desiredNumberScheduled", 0)
    counts = (status.get("updatedNumberScheduled", 0), status.get("numberAvailable", 0))
    return nodes > 0 and all(count >= nodes for count in counts)


def _is_ready(stateful_set: Running) -> bool:
    """Whether all pods have the latest template and are ready."""
    status = _observed(stateful_set)
    pods = (stateful_set.spec or {}).get("replicas", 1)
    counts = (status.get("updatedReplicas", 0), status.get("readyReplicas", 0))
    return bool(status) and all(count >= pods for count in counts)


def _observed(found: Running) -> Mapping[str, Any]:
    """The status, if it is about the specification as it is now."""
    status = found.status or {}
    seen = status.get("observedGeneration", 0)
    return status if seen >= (found.metadata.generation or 0) else {}


# --- The Secret of its own ------------------------------------------------------------------------


def switch_secret_name(workload: Workload) -> str:
    """The Secret that holds the new configuration while the DaemonSet exists."""
    return config_secret_name(workload) + _SUFFIX


def apart(workload: Workload, objects: Iterable[Object]) -> list[Object]:
    """The objects, with the configuration in a Secret of its own, and pods that read it."""
    usual, own = config_secret_name(workload), switch_secret_name(workload)
    return [_renamed(each, usual, own) for each in objects]


def _renamed(found: Object, usual: str, own: str) -> Object:
    if found["kind"] == "Secret" and found["metadata"]["name"] == usual:
        return found | {"metadata": found["metadata"] | {"name": own}}
    if found["kind"] != "StatefulSet":
        return found
    spec = found["spec"]
    template = spec["template"]
    pod = template["spec"]
    volumes = [_remounted(each, usual, own) for each in pod["volumes"]]
    renamed = template | {"spec": pod | {"volumes": volumes}}
    return found | {"spec": spec | {"template": renamed}}


def _remounted(volume: Object, usual: str, own: str) -> Object:
    if volume["name"] == _CONFIG_VOLUME and volume.get("secret", {}).get("secretName") == usual:
        return volume | {"secret": volume["secret"] | {"secretName": own}}
    return volume
