"""The fields of an agent in its other mode: which must go, what that costs, and what is left.

Which fields must go is asked of the rules of the CRD (`RULES_OF_MODES`), so that this
command, the API server and the operator cannot disagree. Only the words are written here.
"""

from collections.abc import Mapping
from typing import Any, Final

from msgspec import Struct

from stoker.api.cel import holds
from stoker.api.core import Object
from stoker.api.prometheus import RULES_OF_MODES
from stoker.select.workload import BY_OPERATOR, SPREAD
from stoker.validate.features import IDLE_ON_NODES

NOTHING: Final[Mapping[str, str | None]] = {}
STATEFUL_SET: Final = "StatefulSet"
DAEMON_SET: Final = "DaemonSet"


class Loss(Struct, frozen=True):
    """A field that counts no longer: what is lost with it, and what there is instead."""

    field: str
    lost: str
    instead: str = ""


_WITH_PROBES: Final = "a StatefulSet agent beside this one"

# Fields that the rules forbid in a mode; a test holds this against the rules.
FORBIDDEN: Final[dict[str, dict[str, Loss]]] = {
    DAEMON_SET: {
        each.field: each
        for each in (
            Loss(
                "replicas",
                "one agent scrapes a target, not several: while it restarts, the targets of its "
                "node are not scraped",
            ),
            Loss(
                "storage",
                "the write-ahead log is no longer on a volume of its own; claims and what is in "
                "them stay until you delete them",
                "daemonSet.storage.hostPath, or an emptyDir through volumes and volumeMounts",
            ),
            Loss(
                "persistentVolumeClaimRetentionPolicy",
                "nothing is lost: there are no claims; with `whenDeleted: Delete` those of the "
                "StatefulSet go with it",
            ),
            Loss("scrapeConfigSelector", "ScrapeConfigs are not scraped", _WITH_PROBES),
            Loss("scrapeConfigNamespaceSelector", "ScrapeConfigs are not scraped", _WITH_PROBES),
            Loss("probeSelector", "Probes are not made", _WITH_PROBES),
            Loss("probeNamespaceSelector", "Probes are not made", _WITH_PROBES),
            Loss("additionalScrapeConfigs", "the jobs in that Secret are not run", _WITH_PROBES),
            Loss("shardingStrategy", "nothing is lost: each agent has the targets of its node"),
            Loss("shards", "nothing is lost: each agent has the targets of its node"),
            Loss(
                "apiserverConfig",
                "another API server is not asked: the operator finds targets in its own cluster",
                "discovery: Kubernetes",
            ),
        )
    },
    STATEFUL_SET: {
        "daemonSet": Loss(
            "daemonSet",
            "discovery by the operator, if that is set: the agents ask the API server themselves; "
            "the update strategy of the DaemonSet; a write-ahead log on the nodes is not read "
            "again, and its directories stay there until you delete them",
            "updateStrategy, minReadySeconds and storage",
        )
    },
}

# Fields that may stay but do nothing.
IDLE: Final[dict[str, tuple[Loss, ...]]] = {
    DAEMON_SET: tuple(Loss(each.field, each.why, each.instead) for each in IDLE_ON_NODES),
    STATEFUL_SET: (),
}

_OF_THE_SERVER: Final = (
    "creationTimestamp",
    "generation",
    "managedFields",
    "resourceVersion",
    "selfLink",
    "uid",
)
_LAST_APPLIED: Final = "kubectl.kubernetes.io/last-applied-configuration"


def removed(spec: Object, mode: str) -> tuple[Loss, ...]:
    """The fields of a spec that the rules forbid in a mode, in the order of the rules."""
    left = {name: value for name, value in spec.items() if value is not None} | {"mode": mode}
    # What an agent on nodes is like stays, and what does not go with it goes.
    stays = {"mode", "daemonSet"} if mode == DAEMON_SET else {"mode"}
    found: dict[str, Loss] = {}
    for message, rule in RULES_OF_MODES.items():
        if holds(rule, left):
            continue
        for name in tuple(left):
            if name not in stays and holds(rule, _less(left, name)):
                found[name] = FORBIDDEN[mode].get(name) or Loss(name, message)
        left = {name: value for name, value in left.items() if name not in found}
    return tuple(found.values())


def idle(spec: Object, mode: str) -> tuple[Loss, ...]:
    """The fields of a spec that may stay in a mode, but do nothing there."""
    return tuple(each for each in IDLE[mode] if spec.get(each.field) is not None)


class WantedDiscovery(Struct, frozen=True):
    """How agents on nodes shall come to their targets; None leaves it as it is."""

    discovery: str | None = None
    without_agent: str | None = None

    def settings(self, spec: Object) -> dict[str, str | None]:
        """The members of `daemonSet` that become others, None for one that goes."""
        given = spec.get("daemonSet")
        now = given if isinstance(given, dict) else {}
        wanted: dict[str, str | None] = {
            name: value
            for name, value in (
                ("discovery", self.discovery), (_WITHOUT_AGENT, self.without_agent)
            )
            if value is not None
        }  # fmt: skip
        by_agents = (wanted.get("discovery") or now.get("discovery")) != BY_OPERATOR
        if by_agents and _WITHOUT_AGENT not in wanted and now.get(_WITHOUT_AGENT) == SPREAD:
            wanted[_WITHOUT_AGENT] = None
        return {name: value for name, value in wanted.items() if now.get(name) != value}


AS_IT_IS: Final = WantedDiscovery()
_WITHOUT_AGENT: Final = "targetsWithoutAgent"


def migrated(
    agent: Object, mode: str, gone: tuple[Loss, ...], found: Mapping[str, str | None] = NOTHING
) -> Object:
    """The manifest in a mode, less these fields and what only a server writes.

    `found` are members of `daemonSet` that become others.
    """
    names = {each.field for each in gone}
    given = with_settings(spec_of(agent), found)
    spec = {name: value for name, value in given.items() if name not in names}
    made = {name: value for name, value in agent.items() if name != "status"}
    # The mode stands where it stood, or first.
    first = {} if "mode" in spec else {"mode": mode}
    return made | {
        "metadata": _own_metadata(agent.get("metadata")),
        "spec": first | spec | {"mode": mode},
    }


def with_settings(spec: Object, found: Mapping[str, str | None]) -> Object:
    """A spec with other members of `daemonSet`."""
    if not found:
        return spec
    given = spec.get("daemonSet")
    merged = {**(given if isinstance(given, dict) else {}), **found}
    return spec | {"daemonSet": {name: each for name, each in merged.items() if each is not None}}


def merge_patch(
    gone: tuple[Loss, ...], mode: str, found: Mapping[str, str | None] = NOTHING
) -> Object:
    """The same as a patch of an object in a cluster."""
    settings = {"daemonSet": dict(found)} if found else {}
    return {"spec": {"mode": mode} | settings | {each.field: None for each in gone}}


def spec_of(agent: Object) -> Object:
    """The spec of a manifest; empty where it is none."""
    spec = agent.get("spec")
    return spec if isinstance(spec, dict) else {}


def mode_of(agent: Object) -> str:
    """The mode that a manifest has."""
    return str(spec_of(agent).get("mode") or STATEFUL_SET)


def _less(spec: Object, name: str) -> Object:
    return {each: value for each, value in spec.items() if each != name}


def _own_metadata(metadata: Any) -> Object:
    if not isinstance(metadata, dict):
        return {}
    own = {name: value for name, value in metadata.items() if name not in _OF_THE_SERVER}
    annotations = own.get("annotations")
    if isinstance(annotations, dict) and _LAST_APPLIED in annotations:
        own["annotations"] = _less(annotations, _LAST_APPLIED)
    return own
