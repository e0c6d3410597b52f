"""An agent that changes its mode: new pods are made and get going, then the old ones go.

**When the old ones go.** A new agent is ready before it scrapes: it must find its targets first,
and Prometheus looks at what it has found every five seconds (older versions: ten in all). So during
the change what is new must have been ready for ten seconds; `minReadySeconds` makes Kubernetes
count them. Then each target is scraped again within one interval of its own.

**Whose configuration.** Pods of one mode never see the configuration of the other: those of a
StatefulSet would look for the targets of no node, and each of those of a DaemonSet would scrape
everything. So there are two names for the Secrets, the usual one and one `apart`, and new pods read
those that the old ones do not. They go on doing so when the old ones are gone: to move them would
roll them, and nobody would scrape meanwhile. A change that is taken back finds the old pods with
what they had, and what those read is kept current (`old_mode`).

**When the discovery changes.** The DaemonSet stays and rolls its pods; what the others read has
other names (`names`), and stays until all are rolled.

**When nothing is begun.** Pods that want the same port of a node exclude each other there: the new
ones would wait for the old ones, and these for them. Then the change is held, and says so.

Nothing is remembered: where a change stands is seen from what exists, so that an operator that was
killed half-way goes on.
"""

from collections.abc import Collection, Iterable, Mapping, Sequence
from typing import Any, Final

from msgspec import Struct
from msgspec.structs import replace

from stoker.api.core import Object
from stoker.build.drift import drift
from stoker.build.hostports import held_by, in_each_others_way
from stoker.build.names import FIELD_MANAGER, config_secret_name, tls_assets_name
from stoker.build.secrets import config_file_secret_name, further_files
from stoker.build.volumes import sources
from stoker.generate.split import file_name
from stoker.plan.existing import Running
from stoker.ref import Ref, ref_from
from stoker.select.workload import Scraper

_SUFFIX: Final = "-switch"
_CONFIG_VOLUME: Final = "config"
# Twice as long as the newest Prometheus needs from being ready to the first scrapes.
_SETTLING_SECONDS: Final = 10


class Switch(Struct, frozen=True):
    """Where a change of mode stands.

    `apart`: the configuration goes into Secrets of its own. `settling`: old pods wait for new ones
    to get going. `kept`: objects that are not wanted any longer and must stay for now. `untouched`:
    those that are wanted and must not be written yet. `waits_for`: what must happen before it goes
    on, if anything. `held`: that will not happen by itself. `starts` and `leaves` are the uids of
    sets whose pods must get ready, or go, before that. `what` is being changed.
    """

    apart: bool = False
    settling: bool = False
    kept: frozenset[Ref] = frozenset()
    untouched: frozenset[Ref] = frozenset()
    waits_for: str = ""
    held: bool = False
    starts: frozenset[str] = frozenset()
    leaves: frozenset[str] = frozenset()
    what: str = "mode"


class Found(Struct, frozen=True):
    """What an agent has: StatefulSets, DaemonSets, and the names of its Secrets.

    `excused`: how many pods of a set, by its uid, a change of mode goes on without.
    """

    sets: Sequence[Running]
    daemons: Sequence[Running]
    secrets: Collection[str]
    excused: Mapping[str, int] = {}

    def left(self, scraper: Scraper) -> tuple[str, Sequence[Running]]:
        """The kind of what runs pods of the mode that an agent is leaving, and what there is."""
        if scraper.daemon_set:
            return "StatefulSet", self.sets
        return "DaemonSet", self.daemons

    def entered(self, scraper: Scraper) -> tuple[str, Sequence[Running]]:
        """The same of the mode that it is to have."""
        if scraper.daemon_set:
            return "DaemonSet", self.daemons
        return "StatefulSet", self.sets


def switch_of(scraper: Scraper, wanted: Sequence[Object], found: Found) -> Switch:
    """Where the change stands, by the objects that an agent should have, and those that it has."""
    if not scraper.agent:
        return Switch()
    kind, of_mode = found.entered(scraper)
    old_kind, old = found.left(scraper)
    names = {each["metadata"]["name"] for each in wanted if each["kind"] == kind}
    there = [each for each in of_mode if each.metadata.name in names]
    # What is being deleted still says that it is ready.
    new = [each for each in there if not each.metadata.deletion_timestamp]
    late = [each for each in new if not _READY[kind](each, _excused(each, found))]
    ready = len(new) == len(names) and not late
    if not old:
        return _settled(scraper, found, there, ready=ready)
    is_apart = not _reads_apart(scraper, old)
    made = apart(scraper, wanted) if is_apart else wanted
    kept = _usual_secrets(scraper, found) if is_apart else _own_secrets(scraper, found)
    kept |= _read_with_other_names(scraper, old, found)
    rolled = _rolled_elsewhere(scraper, found)
    obstacle = rolled or _ports_in_the_way(scraper, made, found)
    if rolled:
        kept |= _own_secrets(scraper, found)
    if not ready or (_is_rolled(made, new) and not obstacle):
        kept |= _identities(old_kind, old)
    if obstacle and not ready:
        return Switch(
            apart=is_apart,
            settling=True,
            kept=kept | _identities(kind, there),
            untouched=_begun_by(scraper, made, there),
            waits_for=obstacle,
            held=not rolled,
        )
    going = old if ready else [each for each in there if each not in new]
    return Switch(
        apart=is_apart,
        settling=True,
        kept=kept,
        untouched=_begun_by(scraper, made, there) if obstacle else frozenset(),
        waits_for=_words(kind, late, going, ready=ready),
        starts=_uids(late),
        leaves=_uids(each for each in going if each.metadata.deletion_timestamp),
    )


def _words(kind: str, late: Sequence[Running], going: Sequence[Running], *, ready: bool) -> str:
    """What a change towards this kind waits for."""
    other = "StatefulSet" if kind == "DaemonSet" else "DaemonSet"
    if ready:
        return f"the new pods are ready, and the {other} goes with its pods"
    if going:
        return f"the {kind} is still being deleted, and is recreated when its pods are gone"
    if kind == "DaemonSet" and late and _observed(late[0]).get("desiredNumberScheduled") == 0:
        return f"{_NO_NODE}, so the StatefulSet stays: change them, or take the change back"
    return _WAITING[kind]


def _excused(found: Running, all_found: Found) -> int:
    return all_found.excused.get(found.metadata.uid or "", 0)


def _uids(found: Iterable[Running]) -> frozenset[str]:
    return frozenset(each.metadata.uid or "" for each in found)


def _rolled_elsewhere(scraper: Scraper, found: Found) -> str:
    """That old pods read the Secrets of both names for now, so that there are none for new ones."""
    if len(old_places(scraper, found)) == 1:
        return ""
    kind, _ = found.left(scraper)
    return f"pods of the {kind} are being rolled from one Secret to the other"


def _ports_in_the_way(scraper: Scraper, made: Sequence[Object], found: Found) -> str:
    """Why new pods could not start beside the old ones; empty where they can."""
    kind, old = found.left(scraper)
    pods = [(each.spec or {})["template"]["spec"] for each in old if _has_pods(each)]
    wanted = (each["spec"]["template"]["spec"] for each in made if each["kind"] in _KINDS)
    ports = {one for new in wanted for pod in pods for one in in_each_others_way(new, pod)}
    return held_by(ports, kind, scraper.namespace, (each.metadata.name or "" for each in old))


def _has_pods(found: Running) -> bool:
    """Whether there is, or will be, a pod of it; without any it is in nobody's way."""
    spec, status = found.spec or {}, _observed(found)
    wanted = status.get("desiredNumberScheduled", spec.get("replicas", 1))
    there = status.get("currentNumberScheduled", status.get("replicas", 1))
    return bool(wanted or there)


def _begun_by(scraper: Scraper, made: Iterable[Object], there: Sequence[Running]) -> frozenset[Ref]:
    """What must not be written: what runs new pods, and what they would read if there are none."""
    made = list(made)
    named = usual_names(scraper, (each["metadata"]["name"] for each in made if _is_secret(each)))
    read = set() if there else set(_own_names(scraper, named))
    return frozenset(
        Ref(each["kind"], scraper.namespace, each["metadata"]["name"])
        for each in made
        if each["kind"] in _KINDS
        or (_is_secret(each) and _usual(scraper, each["metadata"]["name"]) in read)
    )


def _settled(scraper: Scraper, found: Found, new: Sequence[Running], *, ready: bool) -> Switch:
    """What is left of a change: pods that read Secrets of their own, or Secrets nobody reads."""
    is_apart = _reads_apart(scraper, new)
    own = _own_secrets(scraper, found)
    # Pods that were not rolled yet may be started again, and then they need them.
    if places := old_discovery(scraper, found):
        return Switch(
            apart=is_apart,
            kept=own | _secrets(scraper, places.secrets),
            waits_for=_ROLLED,
            what="discovery",
        )
    if is_apart:
        return Switch(apart=True)
    if ready or not own:
        return Switch()
    return Switch(kept=own, waits_for="pods are rolled to the usual Secret")


def switched(scraper: Scraper, wanted: Sequence[Object], switch: Switch) -> list[Object]:
    """The objects as they must be where the change stands."""
    made = apart(scraper, wanted) if switch.apart else list(wanted)
    made = [
        each
        for each in made
        if Ref(each["kind"], scraper.namespace, each["metadata"]["name"]) not in switch.untouched
    ]
    return [_unhurried(each) for each in made] if switch.settling else made


def _identities(kind: str, found: Iterable[Running]) -> frozenset[Ref]:
    return frozenset(ref_from(kind, each.metadata) for each in found)


def _is_on_all_nodes(daemon_set: Running, excused: int) -> bool:
    """Whether a pod of the latest template is available on every node that should have one.

    Where no node should, the old pods are all there is.
    """
    status = _observed(daemon_set)
    nodes = status.get("desiredNumberScheduled", 0) - excused
    counts = (status.get("updatedNumberScheduled", 0), status.get("numberAvailable", 0))
    return nodes > 0 and all(count >= nodes for count in counts)


def _is_ready(stateful_set: Running, excused: int) -> bool:
    """Whether all pods have the latest template and have been ready for long enough.

    Of each shard at least one must: nobody else has its targets.
    """
    status, spec = _observed(stateful_set), stateful_set.spec or {}
    wanted = spec.get("replicas", 1)
    pods = max(wanted - excused, min(wanted, 1))
    # An old API server drops what it does not know, and does not count.
    counted = "availableReplicas" if spec.get("minReadySeconds") else "readyReplicas"
    counts = (status.get("updatedReplicas", 0), status.get(counted, 0))
    return bool(status) and all(count >= pods for count in counts)


_KINDS: Final = ("DaemonSet", "StatefulSet")
_READY: Final = {"DaemonSet": _is_on_all_nodes, "StatefulSet": _is_ready}
_ROLLED: Final = "pods that have the other one are replaced node by node"
_NO_NODE: Final = "no node fits nodeSelector, affinity and tolerations"
_WAITING: Final = {
    "DaemonSet": "the StatefulSet goes when agents have been ready on all nodes for a while",
    "StatefulSet": "the DaemonSet goes when all pods of the StatefulSets have been ready a while",
}


def _observed(found: Running) -> Mapping[str, Any]:
    """The status, if it is about the specification as it is now."""
    return (found.status or {}) if found.is_observed else {}


def _unhurried(found: Object) -> Object:
    """A StatefulSet or DaemonSet whose pods are available when they have had time to settle."""
    if found["kind"] not in _KINDS:
        return found
    seconds = max(found["spec"].get("minReadySeconds") or 0, _SETTLING_SECONDS)
    return found | {"spec": found["spec"] | {"minReadySeconds": seconds}}


# --- Secrets of its own ---------------------------------------------------------------------------


def switch_secret_name(scraper: Scraper) -> str:
    """The Secret that holds the configuration of pods that came after those of the other mode."""
    return config_secret_name(scraper) + _SUFFIX


def usual_names(scraper: Scraper, secrets: Iterable[str]) -> list[str]:
    """The names of Secrets, with those of a change of mode called as they usually are."""
    return [_usual(scraper, name) for name in secrets]


def _usual(scraper: Scraper, name: str) -> str:
    usual, own = config_secret_name(scraper), switch_secret_name(scraper)
    return name.replace(own, usual, 1) if name == own or name.startswith(f"{own}-") else name


class OldPlaces(Struct, frozen=True):
    """What pods read that have the discovery which an agent is leaving; `apart`: by which names."""

    secrets: frozenset[str]
    apart: tuple[bool, ...]


def old_discovery(scraper: Scraper, found: Found) -> OldPlaces | None:
    """What is read by pods of a DaemonSet that have the other discovery; None if there are none.

    There are some until the DaemonSet has rolled all to a template that reads this one's Secrets.
    """
    if not scraper.daemon_set or all(_is_rolled_to(scraper, each) for each in found.daemons):
        return None
    other = replace(scraper, portions=not scraper.portions)
    known = set(found.secrets)
    usual, own = config_secret_name(other), switch_secret_name(other)
    apart = tuple(each for each, name in ((False, usual), (True, own)) if name in known)
    read = set(_own_names(other, usual_names(other, known)).items())
    files = {name for name in known if _is_numbered(name, tls_assets_name(other))}
    secrets = (files | {name for pair in read for name in pair}) & known
    return OldPlaces(frozenset(secrets), apart) if apart else None


def _is_rolled_to(scraper: Scraper, daemon_set: Running) -> bool:
    """Whether all pods of a DaemonSet have the discovery that an agent is to have."""
    return reads_portions(scraper, [daemon_set]) == scraper.portions and _is_updated(daemon_set)


def reads_portions(scraper: Scraper, sets: Iterable[Running]) -> bool:
    """Whether pods of one of these read a configuration that comes with portions."""
    named = replace(scraper, portions=True)
    names = {config_secret_name(named), switch_secret_name(named)}
    volumes = (each for found in sets for each in _volumes(found))
    return any(names & set(_secrets_in(each)) for each in volumes if each["name"] == _CONFIG_VOLUME)


def _read_with_other_names(
    scraper: Scraper, old: Sequence[Running], found: Found
) -> frozenset[Ref]:
    """All Secrets that old pods read, where these have the names of the other discovery."""
    if reads_portions(scraper, old) == scraper.portions:
        return frozenset()
    names = {name for each in old for name in secrets_read(each)}
    return _secrets(scraper, names & set(found.secrets))


def _is_numbered(name: str, prefix: str) -> bool:
    return name.removeprefix(f"{prefix}-").isdecimal() and name.startswith(f"{prefix}-")


def old_places(scraper: Scraper, found: Found) -> tuple[bool, ...]:
    """By which names pods of the other mode know the configuration; true is `apart`.

    By both, while they are rolled from the one to the other; unless pods of the new mode read one
    of them already.
    """
    _, old = found.left(scraper)
    _, new = found.entered(scraper)
    if _reads_apart(scraper, old):
        return (True,)
    rolled = all(map(_is_updated, old))
    return (False,) if rolled or new or not _own_secrets(scraper, found) else (False, True)


def _is_updated(found: Running) -> bool:
    """Whether no pod is left of an earlier template."""
    status, spec = _observed(found), found.spec or {}
    if "updatedNumberScheduled" in status or "desiredNumberScheduled" in status:
        updated, pods = status.get("updatedNumberScheduled", 0), status["desiredNumberScheduled"]
    else:
        updated, pods = status.get("updatedReplicas", 0), spec.get("replicas", 1)
    return bool(status) and updated >= pods


def apart(scraper: Scraper, objects: Iterable[Object]) -> list[Object]:
    """The objects, with the configuration in Secrets of its own, and pods that read them."""
    made = list(objects)
    named = _own_names(scraper, {each["metadata"]["name"] for each in made if _is_secret(each)})
    return [_renamed(each, named) for each in made]


def _own_names(scraper: Scraper, secrets: Collection[str]) -> dict[str, str]:
    """The Secrets of the configuration, by their usual names, and what they are called apart."""
    usual, own = config_secret_name(scraper), switch_secret_name(scraper)
    files = map(file_name, range(further_files(scraper, secrets)))
    names = [usual, *(config_file_secret_name(scraper, file) for file in files)]
    return {name: name.replace(usual, own, 1) for name in names}


def _own_secrets(scraper: Scraper, found: Found) -> frozenset[Ref]:
    known = set(found.secrets)
    names = _own_names(scraper, usual_names(scraper, known)).values()
    return _secrets(scraper, known & set(names))


def _usual_secrets(scraper: Scraper, found: Found) -> frozenset[Ref]:
    return _secrets(scraper, _own_names(scraper, found.secrets))


def _secrets(scraper: Scraper, names: Iterable[str]) -> frozenset[Ref]:
    return frozenset(Ref("Secret", scraper.namespace, name) for name in names)


def _is_rolled(wanted: Iterable[Object], new: Sequence[Running]) -> bool:
    """Whether what is wanted rolls the pods of what exists."""
    live = {each.metadata.name: (each.spec or {})["template"] for each in new}
    return any(
        drift(each["spec"]["template"], live[each["metadata"]["name"]], FIELD_MANAGER) is not None
        for each in wanted
        if each["kind"] in _KINDS and each["metadata"]["name"] in live
    )


def _reads_apart(scraper: Scraper, sets: Iterable[Running]) -> bool:
    """Whether pods of one of these read the Secrets with the other name."""
    own = switch_secret_name(scraper)
    volumes = [each for found in sets for each in _volumes(found)]
    return any(own in _secrets_in(each) for each in volumes if each["name"] == _CONFIG_VOLUME)


def secrets_read(found: Running) -> list[str]:
    """The names of all Secrets that pods of a StatefulSet or DaemonSet mount."""
    return [name for volume in _volumes(found) for name in _secrets_in(volume)]


def _volumes(found: Running) -> list[Object]:
    volumes: list[Object] = (found.spec or {})["template"]["spec"].get("volumes") or []
    return volumes


def _secrets_in(volume: Object) -> list[str]:
    return [name for kind, name in sources(volume) if kind == "Secret"]


def _is_secret(found: Object) -> bool:
    return bool(found["kind"] == "Secret")


def _renamed(found: Object, named: Mapping[str, str]) -> Object:
    name = found["metadata"]["name"]
    if _is_secret(found) and name in named:
        return found | {"metadata": found["metadata"] | {"name": named[name]}}
    if found["kind"] not in _KINDS:
        return found
    spec = found["spec"]
    template = spec["template"]
    pod = template["spec"]
    volumes = [_remounted(each, named) for each in pod["volumes"]]
    renamed = template | {"spec": pod | {"volumes": volumes}}
    return found | {"spec": spec | {"template": renamed}}


def _remounted(volume: Object, named: Mapping[str, str]) -> Object:
    """The volume of the configuration, with other names; one of several files is projected."""
    if volume["name"] != _CONFIG_VOLUME:
        return volume
    if secret := volume.get("secret"):
        name = secret["secretName"]
        return volume | {"secret": secret | {"secretName": named.get(name, name)}}
    sources = [
        {"secret": each["secret"] | {"name": named[each["secret"]["name"]]}}
        for each in volume["projected"]["sources"]
    ]
    return volume | {"projected": volume["projected"] | {"sources": sources}}
