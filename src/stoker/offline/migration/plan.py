"""All that is to be known before an agent changes its mode, as one value."""

from collections.abc import Iterator
from typing import Any, Final

from msgspec import Struct

from stoker.api.core import Object
from stoker.api.prometheus import PrometheusAgent
from stoker.build.modes import mode_change_held
from stoker.errors import DecodeError
from stoker.offline.migration.fields import (
    DAEMON_SET,
    STATEFUL_SET,
    Loss,
    idle,
    merge_patch,
    migrated,
    mode_of,
    removed,
    spec_of,
)
from stoker.offline.migration.steps import steps
from stoker.offline.migration.targets import Overlap, agent_of, homeless, overlaps, taken
from stoker.offline.problems import problems
from stoker.offline.world import DEFAULT_NAMESPACE, World
from stoker.settings import Capabilities, ObjectSettings

_BESIDE: Final = "-central"
_ON_NODES: Final = tuple(
    f"{kind}Monitor{what}Selector" for kind in ("pod", "service") for what in ("", "Namespace")
)
_NODE_NAME: Final = "$(NODE_NAME)"


class Migration(Struct, frozen=True):
    """What becomes of an agent in its other mode.

    `removed` are fields that must go, `idle` those that do nothing there. `homeless` is what nobody
    will scrape, `overlaps` who scrapes the same, `problems` what the API server or the operator
    will refuse. `beside` is a StatefulSet agent for what is homeless, if one was asked for.
    """

    agent: str
    before: str
    after: str
    removed: tuple[Loss, ...] = ()
    idle: tuple[Loss, ...] = ()
    homeless: tuple[str, ...] = ()
    overlaps: tuple[Overlap, ...] = ()
    problems: tuple[str, ...] = ()
    notes: tuple[str, ...] = ()
    steps: tuple[str, ...] = ()
    manifest: Object = {}
    beside: Object | None = None
    patch: Object = {}

    @property
    def is_done(self) -> bool:
        """Whether the agent is in that mode already, as it should be."""
        return self.before == self.after and not self.removed

    @property
    def needs_care(self) -> bool:
        """Whether something must be settled first."""
        return bool(self.homeless or self.overlaps or self.problems)


def identity_of(manifest: Object) -> str:
    """Namespace and name of an agent."""
    metadata = manifest.get("metadata")
    fields = metadata if isinstance(metadata, dict) else {}
    return f"{fields.get('namespace') or DEFAULT_NAMESPACE}/{fields.get('name') or ''}"


def migration(
    manifest: Object, mode: str, world: World, *, beside: bool = False, in_cluster: bool = False
) -> Migration:
    """What becomes of an agent in a mode, among everything else in the world.

    With `beside`, a StatefulSet agent takes what agents on nodes cannot. `in_cluster` tells
    whether the manifest is a cluster's, which changes the steps.
    """
    before, gone = mode_of(manifest), removed(spec_of(manifest), mode)
    if before == mode and not gone:
        return Migration(identity_of(manifest), before, mode)
    made = migrated(manifest, mode, gone)
    further = _beside(manifest, gone) if beside and mode == DAEMON_SET else None
    wrong = [f"{each.path}: {each.message}" for each in problems(made) if not each.warning]
    try:
        old, new = agent_of(manifest), agent_of(made)
        besides = [agent_of(further)] if further else []
    except DecodeError as error:
        wrong = wrong or [str(error)]
        return Migration(
            identity_of(manifest), before, mode, gone, problems=tuple(wrong), manifest=made
        )
    left = homeless(old, new, world, besides) + _lost_jobs(old, gone, further)
    return Migration(
        agent=identity_of(manifest),
        before=before,
        after=mode,
        removed=gone,
        idle=idle(spec_of(made), mode),
        homeless=left,
        overlaps=overlaps(new, world),
        problems=(*wrong, *_unset_variables(made, mode), *_held(old, new)),
        notes=tuple(_NOTES[mode](new, world)),
        steps=steps(old, mode, gone, homeless=bool(left), beside=further, in_cluster=in_cluster),
        manifest=made,
        beside=further,
        patch=merge_patch(gone, mode),
    )


def _lost_jobs(
    old: PrometheusAgent, gone: tuple[Loss, ...], further: Object | None
) -> tuple[str, ...]:
    reference = old.spec.additional_scrape_configs
    if further or reference is None or all(e.field != "additionalScrapeConfigs" for e in gone):
        return ()
    return (f"the jobs in Secret {old.metadata.namespace}/{reference.name}, key {reference.key}",)


def _beside(manifest: Object, gone: tuple[Loss, ...]) -> Object | None:
    """The agent as it was, for all that agents on nodes cannot take; None if there is nothing."""
    selectors = ("probeSelector", "scrapeConfigSelector", "additionalScrapeConfigs")
    if not any(each.field in selectors for each in gone):
        return None
    made = migrated(manifest, STATEFUL_SET, ())
    dropped = {"daemonSet", *_ON_NODES}
    spec = {name: value for name, value in made["spec"].items() if name not in dropped}
    metadata = made["metadata"]
    return made | {
        "metadata": metadata | {"name": f"{metadata.get('name', '')}{_BESIDE}"},
        "spec": spec,
    }


def _held(old: PrometheusAgent, new: PrometheusAgent) -> Iterator[str]:
    """That the operator would not begin the change, which is better known beforehand."""
    why = mode_change_held(old, new, Capabilities(), ObjectSettings())
    if why:
        yield f"the operator would hold the change: {why}"


def _unset_variables(made: Object, mode: str) -> Iterator[str]:
    """Texts that name the node: pods of a StatefulSet do not know it, and keep their old file."""
    if mode == STATEFUL_SET:
        for path in _mentions(made["spec"], "spec"):
            yield f"{path}: {_NODE_NAME} is not set in a StatefulSet's pods; take it out"


def _mentions(value: Any, path: str) -> Iterator[str]:
    if isinstance(value, dict):
        for name, item in value.items():
            yield from _mentions(item, f"{path}.{name}")
    elif isinstance(value, list):
        for index, item in enumerate(value):
            yield from _mentions(item, f"{path}[{index}]")
    elif isinstance(value, str) and _NODE_NAME in value:
        yield path


def _notes_on_nodes(agent: PrometheusAgent, world: World) -> Iterator[str]:
    spec, found = agent.spec, taken(agent, world)
    yield from _unchecked(world)
    if spec.node_selector or spec.affinity:
        yield "nodeSelector and affinity say which nodes have an agent; others are not scraped"
    if not spec.tolerations:
        yield "without tolerations nodes with taints have no agent and are not scraped"
    if any(name.startswith("ServiceMonitor ") for name in found):
        yield "an endpoint that names no node in its EndpointSlice is scraped by nobody"
    if spec.replica_external_label_name != "":
        label = spec.replica_external_label_name or "prometheus_replica"
        yield (
            f"the label {label} is the name of a pod, and pods of a DaemonSet get a new one each "
            'time: set replicaExternalLabelName to "" unless you need it'
        )
    if spec.resources:
        yield "resources are those of each agent, one per node"


def _notes_on_sets(agent: PrometheusAgent, world: World) -> Iterator[str]:
    spec = agent.spec
    yield from _unchecked(world)
    if not spec.shards or spec.shards < 2:
        yield "one agent scrapes all targets of all nodes: see to its resources, or set shards"
    if spec.storage is None:
        yield "without storage the write-ahead log is in an emptyDir, lost with the pod"
    if spec.host_network:
        yield "with hostNetwork no node can have two of its pods"
    if spec.tolerations or spec.node_selector:
        yield "tolerations and nodeSelector stay and say where its pods may run"


_NOTES: Final = {DAEMON_SET: _notes_on_nodes, STATEFUL_SET: _notes_on_sets}


def _unchecked(world: World) -> Iterator[str]:
    if not world.resources:
        yield "there is no monitor here: what would be scraped twice, or by nobody, is not known"
