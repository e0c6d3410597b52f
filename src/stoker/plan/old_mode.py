"""The mode or discovery that an agent is leaving: what its pods read stays current until they go.

    agent, sets of the other mode ──> the agent as those pods know it ──> its own contents
                                                  ──> the Secrets that those pods read

The old pods follow monitors, credentials and whatever else the specification says, but for what
they are: their mode, their version, and over how many shards targets are divided. They are never
rolled; so what they could not read or would misread is not written, and then what they have stays
as it is. All of this costs something during a change of mode only.
"""

from collections.abc import Iterable, Iterator
from typing import Final

import msgspec
from msgspec import Struct
from msgspec.structs import replace

from stoker.api.core import Object
from stoker.api.prometheus import (
    NOT_ON_EVERY_NODE,
    DaemonSetSettings,
    PrometheusAgent,
    PrometheusAgentSpec,
)
from stoker.api.workload import WorkloadSpec
from stoker.build.names import APPLICATION_VERSION, SHARD
from stoker.build.objects import Contents
from stoker.build.secrets import config_secrets, shards_of, tls_asset_secrets
from stoker.plan.existing import OldConfiguration, Running
from stoker.plan.switching import (
    Found,
    apart,
    old_discovery,
    old_places,
    reads_portions,
    secrets_read,
    usual_names,
)
from stoker.select.workload import BY_OPERATOR, Scraper
from stoker.settings import ObjectSettings
from stoker.validate.findings import json_names

_NODE_NAME: Final = "$(NODE_NAME)"
_ZONE: Final = "TOPOLOGY_ZONE"
_STATEFUL_SET, _DAEMON_SET = "StatefulSet", "DaemonSet"
# What is said in the configuration, and not about pods.
_SAID: Final = tuple(
    name
    for name in PrometheusAgentSpec.__struct_fields__
    if name not in WorkloadSpec.__struct_fields__
)


class OldMode(Struct, frozen=True):
    """An agent as the pods of its old mode know it.

    `mounted` are the Secrets that all of them mount. `apart`: by which of the two names they know
    those with the configuration. `own_files`: no new pod mounts those with files that references
    lead to. With a `problem`, what they read must stay as it is.
    """

    agent: PrometheusAgent
    mounted: frozenset[str]
    apart: tuple[bool, ...] = (False,)
    own_files: bool = False
    problem: str = ""


# --- The agent as its old pods know it ------------------------------------------------------------


def old_mode_of(agent: PrometheusAgent, scraper: Scraper, found: Found) -> OldMode | None:
    """The mode that an agent is leaving, by the sets that exist; None if it is leaving none."""
    mode, old = found.left(scraper)
    if not old:
        return _old_discovery_of(agent, scraper, found)
    shards = max((_shard(each) for each in old), default=0) + 1
    known = _in_mode(agent, mode, shards, _version(agent, old))
    by_operator = reads_portions(scraper, old)
    if mode == _DAEMON_SET:
        known = with_discovery(known, by_operator=by_operator)
    mounted = [frozenset(secrets_read(each)) for each in old]
    return OldMode(
        agent=known,
        mounted=frozenset.intersection(*mounted),
        apart=old_places(replace(scraper, portions=by_operator), found),
        own_files=by_operator != scraper.portions,
        problem=next(_obstacles(known, old), "") if mode == _STATEFUL_SET else "",
    )


def _old_discovery_of(agent: PrometheusAgent, scraper: Scraper, found: Found) -> OldMode | None:
    """The agent with the discovery that it is leaving, if pods are left that have it."""
    places = old_discovery(scraper, found)
    if places is None:
        return None
    return OldMode(
        agent=with_discovery(agent, by_operator=not scraper.portions),
        mounted=places.secrets,
        apart=places.apart,
        own_files=True,
    )


def with_discovery(agent: PrometheusAgent, *, by_operator: bool) -> PrometheusAgent:
    """An agent on nodes with this discovery."""
    on_nodes = agent.spec.daemon_set or DaemonSetSettings()
    discovery = BY_OPERATOR if by_operator else None
    spec = replace(agent.spec, daemon_set=replace(on_nodes, discovery=discovery))
    return replace(agent, spec=spec)


def _in_mode(
    agent: PrometheusAgent, mode: str, shards: int, version: str | None
) -> PrometheusAgent:
    """The agent in a mode, without what it could not have there."""
    spec = replace(agent.spec, mode=mode, version=version)
    if mode == _STATEFUL_SET:
        labels = spec.external_labels or {}
        plain = {name: text for name, text in labels.items() if _NODE_NAME not in text}
        kept = plain if labels else spec.external_labels
        spec = replace(spec, daemon_set=None, shards=shards, external_labels=kept)
    else:
        attributes = {name: attribute for attribute, name in json_names(type(spec)).items()}
        gone = {attributes[name]: None for name in NOT_ON_EVERY_NODE}
        spec = replace(spec, shards=None, **gone)
    return replace(agent, spec=spec)


def _version(agent: PrometheusAgent, old: Iterable[Running]) -> str | None:
    """The version that the old pods run: a newer one may be asked for along with the mode."""
    metadata = agent.spec.pod_metadata
    if APPLICATION_VERSION in ((metadata.labels if metadata else None) or {}):
        # It is the user's word, for whatever they like.
        return agent.spec.version
    labels = (_template(each).get("metadata", {}).get("labels") or {} for each in old)
    found = {each[APPLICATION_VERSION] for each in labels if APPLICATION_VERSION in each}
    return min(found) if found else agent.spec.version


def _obstacles(agent: PrometheusAgent, old: Iterable[Running]) -> Iterator[str]:
    """Why pods of StatefulSets could not go on with what the agent says now."""
    said = msgspec.json.encode([getattr(agent.spec, name) for name in _SAID])
    if _NODE_NAME.encode() in said:
        yield f"the specification mentions {_NODE_NAME}, which they do not know"
    if any(_ZONE in _environment(each) for each in old):
        yield "the zones that they divide targets by are no longer in the specification"


def _environment(found: Running) -> set[str]:
    containers = _template(found).get("spec", {}).get("containers") or ()
    return {each["name"] for one in containers for each in one.get("env") or ()}


def _shard(found: Running) -> int:
    number = (found.metadata.labels or {}).get(SHARD, "0")
    return int(number) if number.isascii() and number.isdecimal() else 0


def _template(found: Running) -> Object:
    template: Object = (found.spec or {}).get("template") or {}
    return template


# --- Its configuration ----------------------------------------------------------------------------


def old_configuration(
    old: OldMode, prometheus: Scraper, settings: ObjectSettings, contents: Contents
) -> OldConfiguration:
    """What the old pods should read, if they mount all that it takes."""
    made = config_secrets(old.agent, prometheus, settings, contents.config_files)
    named = _placed(reversed(made), prometheus)
    secrets = [one for own in old.apart for one in (apart(prometheus, named) if own else named)]
    files = tls_asset_secrets(old.agent, prometheus, settings, contents.asset_files)
    needed = set(usual_names(prometheus, (each["metadata"]["name"] for each in secrets)))
    needed |= {each["metadata"]["name"] for each in files}
    if not needed <= set(usual_names(prometheus, old.mounted)):
        return OldConfiguration(problem="it takes more Secrets than they mount")
    if old.own_files:
        return OldConfiguration((*_placed(files, prometheus), *secrets))
    return OldConfiguration(tuple(secrets), dict(contents.asset_files))


def _placed(secrets: Iterable[Object], prometheus: Scraper) -> list[Object]:
    """Secrets that say in which namespace they are."""
    in_place = {"namespace": prometheus.namespace}
    return [each | {"metadata": each["metadata"] | in_place} for each in secrets]


def together(contents: Contents, old: OldConfiguration) -> tuple[Contents, OldConfiguration]:
    """The contents for the new pods, and in the Secrets that both modes read all that both need.

    Pods must not be rolled for the sake of the old ones: where that takes more Secrets, these keep
    what they have.
    """
    files = {**old.files, **contents.asset_files}
    if len(shards_of(files)) > len(shards_of(contents.asset_files)):
        return contents, OldConfiguration(problem="both modes' files do not fit into the Secrets")
    return replace(contents, asset_files=files), old
