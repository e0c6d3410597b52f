"""All that is to be known before an agent changes its mode, as one value."""

from collections.abc import Iterator, Mapping
from typing import Any, Final

from msgspec import Struct
from msgspec.structs import replace

from stoker.api.core import Object
from stoker.api.prometheus import PrometheusAgent, PrometheusAgentSpec
from stoker.build.modes import mode_change_held
from stoker.errors import DecodeError
from stoker.offline.migration.fields import (
    AS_IT_IS,
    DAEMON_SET,
    NOTHING,
    STATEFUL_SET,
    Loss,
    WantedDiscovery,
    idle,
    merge_patch,
    migrated,
    mode_of,
    removed,
    spec_of,
    with_settings,
)
from stoker.offline.migration.nodes import OnNodes, on_nodes
from stoker.offline.migration.steps import steps
from stoker.offline.migration.targets import Overlap, agent_of, homeless, overlaps, takers
from stoker.offline.problems import problems
from stoker.offline.world import DEFAULT_NAMESPACE, World
from stoker.select.choice import MONITOR_KINDS
from stoker.select.workload import scraper_of
from stoker.settings import SOME_OPERATOR, Capabilities
from stoker.validate.findings import json_names

_BESIDE: Final = "-central"
# What an agent beside those on nodes has no use for: their monitors, and being on a node itself.
_OF_NODES: Final = (
    "daemonSet",
    "hostNetwork",
    *(f"{kind}Monitor{what}Selector" for kind in ("pod", "service") for what in ("", "Namespace")),
)
# What makes jobs: where one of these must go, an agent beside those on nodes has them.
_JOBS: Final = frozenset(
    {
        "additionalScrapeConfigs",
        *(json_names(PrometheusAgentSpec)[kind.selector] for kind in MONITOR_KINDS),
    }
)
_HOST_DNS: Final = "ClusterFirstWithHostNet"
_NODE_NAME: Final = "$(NODE_NAME)"


class Migration(Struct, frozen=True):
    """What becomes of an agent in its other mode.

    `removed` are fields that must go, `idle` those that do nothing there. `homeless` is what nobody
    will scrape, `overlaps` who scrapes the same, `problems` what the API server or the operator
    will refuse. `nodes` is what becomes of the targets of an agent on nodes. `beside` is a
    StatefulSet agent for what is homeless, if one was asked for. `settings` are the members of
    `daemonSet` that become others, None for one that goes.
    """

    agent: str
    before: str
    after: str
    removed: tuple[Loss, ...] = ()
    idle: tuple[Loss, ...] = ()
    homeless: tuple[str, ...] = ()
    overlaps: tuple[Overlap, ...] = ()
    problems: tuple[str, ...] = ()
    nodes: OnNodes = OnNodes()
    notes: tuple[str, ...] = ()
    steps: tuple[str, ...] = ()
    manifest: Object = {}
    beside: Object | None = None
    patch: Object = {}
    settings: Mapping[str, str | None] = NOTHING

    @property
    def is_done(self) -> bool:
        """Whether the agent is in that mode already, as it should be."""
        return self.before == self.after and not self.removed and not self.settings

    @property
    def needs_care(self) -> bool:
        """Whether something must be settled first."""
        missed = self.homeless or self.nodes.lost or self.nodes.doubt
        return bool(missed or self.overlaps or self.problems)


def identity_of(manifest: Object) -> str:
    """Namespace and name of an agent."""
    metadata = manifest.get("metadata")
    fields = metadata if isinstance(metadata, dict) else {}
    return f"{fields.get('namespace') or DEFAULT_NAMESPACE}/{fields.get('name') or ''}"


def migration(  # noqa: PLR0913 - what is asked for
    manifest: Object,
    mode: str,
    world: World,
    *,
    discovery: WantedDiscovery = AS_IT_IS,
    beside: bool = False,
    in_cluster: bool = False,
) -> Migration:
    """What becomes of an agent in a mode, among everything else in the world.

    `discovery` is how it shall come to its targets on nodes. With `beside`, a StatefulSet agent
    takes what agents on nodes cannot. `in_cluster` tells whether the manifest is a cluster's, which
    changes the steps.
    """
    settings = discovery.settings(spec_of(manifest)) if mode == DAEMON_SET else NOTHING
    before, gone = mode_of(manifest), removed(with_settings(spec_of(manifest), settings), mode)
    if before == mode and not gone and not settings:
        return Migration(identity_of(manifest), before, mode)
    made = migrated(manifest, mode, gone, settings)
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
    nodes = OnNodes()
    if mode == DAEMON_SET:
        nodes = on_nodes(new, world, takers(new, world, besides))
    found = Migration(
        agent=identity_of(manifest),
        before=before,
        after=mode,
        removed=gone,
        idle=idle(spec_of(made), mode),
        homeless=left,
        overlaps=overlaps(new, world),
        problems=(*wrong, *_unset_variables(made, mode), *_held(old, new)),
        nodes=nodes,
        notes=(*_unchecked(world), *_NOTES[mode](new, nodes), *_not_inherited(manifest, further)),
        manifest=made,
        beside=further,
        patch=merge_patch(gone, mode, settings),
        settings=settings,
    )
    return replace(found, steps=_steps(found, old, new, in_cluster=in_cluster))


def _steps(
    found: Migration, old: PrometheusAgent, new: PrometheusAgent, *, in_cluster: bool
) -> tuple[str, ...]:
    return steps(
        old,
        new,
        found.patch,
        homeless=bool(found.homeless),
        lost=bool(found.nodes.lost),
        beside=found.beside,
        in_cluster=in_cluster,
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
    if not any(each.field in _JOBS for each in gone):
        return None
    made = migrated(manifest, STATEFUL_SET, ())
    spec = {name: value for name, value in made["spec"].items() if name not in _OF_NODES}
    if spec.get("dnsPolicy") == _HOST_DNS:
        del spec["dnsPolicy"]
    spec = _without_variable(spec)
    metadata = made["metadata"]
    return made | {
        "metadata": metadata | {"name": f"{metadata.get('name', '')}{_BESIDE}"},
        "spec": spec,
    }


def _held(old: PrometheusAgent, new: PrometheusAgent) -> Iterator[str]:
    """That the operator would not begin the change, which is better known beforehand."""
    why = mode_change_held(old, new, Capabilities(), SOME_OPERATOR.objects)
    if why:
        yield f"the operator would hold the change: {why}"


def _not_inherited(manifest: Object, further: Object | None) -> Iterator[str]:
    """What the agent beside does not have of the one that it is made from."""
    if further:
        spec = spec_of(manifest)
        paths = [
            *(["spec.hostNetwork"] if spec.get("hostNetwork") else []),
            *_mentions(spec, "spec"),
        ]
        if paths:
            name = further["metadata"]["name"]
            yield f"{name} is on no node of its own, and without {', '.join(paths)}"


def _without_variable(value: Any) -> Any:
    """A value less what names the node: members, or items that have such a member."""
    if isinstance(value, dict):
        return {
            name: _without_variable(item) for name, item in value.items() if not _names_node(item)
        }
    if isinstance(value, list):
        return [_without_variable(each) for each in value if not _is_of_node(each)]
    return value


def _is_of_node(item: Any) -> bool:
    """Whether an item of a list, such as a variable or an argument, names the node."""
    return _names_node(item) or (isinstance(item, dict) and any(map(_names_node, item.values())))


def _names_node(value: Any) -> bool:
    return isinstance(value, str) and _NODE_NAME in value


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
    elif _names_node(value):
        yield path


def _notes_on_nodes(agent: PrometheusAgent, nodes: OnNodes) -> Iterator[str]:
    spec = agent.spec
    if not nodes.covers:
        if spec.node_selector or spec.affinity:
            yield "nodeSelector and affinity say which nodes have an agent; others are not scraped"
        if not spec.tolerations:
            yield "without tolerations nodes with taints have no agent and are not scraped"
        yield "with Nodes among the manifests this says which have no agent"
    scraper = scraper_of(agent, Capabilities())
    if not scraper.portions:
        yield "every node gets the credentials of every monitor, unless discovery is Operator"
    if spec.service_monitor_selector is not None and not scraper.spread:
        yield "an endpoint that names no node in its EndpointSlice is scraped by nobody"
    if spec.replica_external_label_name != "":
        label = spec.replica_external_label_name or "prometheus_replica"
        yield (
            f"the label {label} is the name of a pod, and pods of a DaemonSet get a new one each "
            'time: set replicaExternalLabelName to "" unless you need it'
        )
    if spec.resources:
        yield "resources are those of each agent, one per node"


def _notes_on_sets(agent: PrometheusAgent, _nodes: OnNodes) -> Iterator[str]:
    spec = agent.spec
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
