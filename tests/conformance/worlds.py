"""Replays whole namespaces: what the peer's running process made of them, on a real API server.

`given` is read as a directory is (`World`) and goes the way of `stoker render`. A pod template that
differs rolls pods at a takeover. What else differs is told in a line for each difference; those
that are on purpose are classes in `exceptions.py`.

A resource that we leave out is taken out of the peer's configuration before the two are compared,
and is a line of its own, with our reason: one that Prometheus would have taken must not pass.
"""

import base64
import gzip
import re
from collections.abc import Callable, Iterator, Mapping
from difflib import SequenceMatcher
from itertools import zip_longest
from typing import Any, Final

import yaml
from msgspec.structs import replace

from stoker.api.core import Object
from stoker.cli.operator_settings import operator_settings
from stoker.offline.manifests import Manifest
from stoker.offline.objects import Rendered, rendered
from stoker.offline.world import world_of
from stoker.validate.verdicts import Verdict
from tests.conformance.cases import WORLDS, Case
from tests.conformance.compare import comparable_object, differences
from tests.conformance.exceptions import is_deliberate
from tests.conformance.replay import Context, Outcome, outcome_of, replays
from tests.conformance.served import comparable

Objects = Mapping[str, Object]

_UID: Final = "UID"
_UUID: Final = re.compile(r"[0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12}")
_PODS: Final = ("statefulsets/", "daemonsets/")
# The peer makes nothing of a workload for one of these that it cannot use.
_STOPS: Final = "alertmanagerConfig/"
_PEM: Final = "-----BEGIN "
_JOB: Final = re.compile(r"^- job_name: (.+)\n(?:  .*\n)*", re.MULTILINE)
PLURALS: Final = {
    "ConfigMap": "configmaps",
    "DaemonSet": "daemonsets",
    "Secret": "secrets",
    "Service": "services",
    "StatefulSet": "statefulsets",
}


@replays(WORLDS)
def world(case: Case, context: Context) -> Outcome:
    """All objects of a namespace."""
    found = list(lines(case))
    made = outcome_of(line for line in found if not is_deliberate(line))
    return replace(made, on_purpose=bool(found))


def lines(case: Case, found: Objects | None = None) -> Iterator[str]:
    """Every difference, on purpose or not, each with the workload or the object that has it.

    Ours are what `stoker render` makes, unless objects were `found` where our operator ran.
    """
    expected: Objects = case.expect["objects"]
    for workload in workloads_of(case.given):
        made = objects_of(workload)
        ours = made if found is None else _of(workload, found)
        yield from _differences(_Workload(workload, _of(workload, expected), ours, made))


def _of(workload: Rendered, found: Objects) -> Objects:
    return {name: each for name, each in found.items() if _is_of(each, workload)}


def workloads_of(given: dict[str, Any]) -> list[Rendered]:
    """What becomes of the namespace with us."""
    found = world_of(Manifest("", 0, 0, each) for each in _manifests(given))
    assert not found.refused, found.refused
    return rendered(found, found.workloads, operator_settings(given["flags"]))


def _manifests(given: dict[str, Any]) -> Iterator[Object]:
    for name, data in given["secretsAndConfigMaps"].items():
        metadata = {"namespace": given["namespace"], "name": name}
        yield {"apiVersion": "v1", "kind": "Secret", "metadata": metadata, "stringData": data}
        yield {"apiVersion": "v1", "kind": "ConfigMap", "metadata": metadata, "data": data}
    for each in given["resources"]:
        yield each | {"metadata": each["metadata"] | {"uid": _UID}}
        own = each["kind"] == "Alertmanager" and each["spec"].get("configSecret")
        if own and own not in given["secretsAndConfigMaps"]:
            # There is none: among manifests it might be elsewhere, and an empty one is as good.
            metadata = {"namespace": given["namespace"], "name": own}
            yield {"apiVersion": "v1", "kind": "Secret", "metadata": metadata}


def _is_of(found: Object, rendered: Rendered) -> bool:
    workload = rendered.plan.workload
    identity = (type(workload).__name__, workload.metadata.name)
    owners = found["metadata"].get("ownerReferences") or ()
    return any((each["kind"], each["name"]) == identity for each in owners)


# --- A workload -----------------------------------------------------------------------------------


class _Workload:
    """A workload and its objects: theirs, ours, and ours as they would be without an API server."""

    def __init__(self, found: Rendered, theirs: Objects, ours: Objects, made: Objects) -> None:
        self.title = found.title
        self.problem = found.problem or found.plan.problem
        self.theirs = theirs
        self.ours = ours
        self.made = made
        self.left_out = {
            _name_of(verdict): "; ".join(map(str, verdict.findings))
            for verdict in found.plan.verdicts.values()
            if not verdict.accepted
        }


def objects_of(found: Rendered) -> dict[str, Object]:
    """Our objects as they are recorded: by plural and name."""
    return {
        f"{PLURALS[each['kind']]}/{each['metadata']['name']}": readable(each)
        for each in found.objects
    }


def _name_of(verdict: Verdict) -> str:
    """A resource as the name of its job begins."""
    kind, metadata = type(verdict.resource).__name__, verdict.resource.metadata
    return f"{kind[0].lower()}{kind[1:]}/{metadata.namespace}/{metadata.name}"


def readable(made: Object) -> Object:
    """An object as it is recorded: Secrets decoded, every UID replaced, in names of files too."""
    data = made.get("data") or {}
    if made["kind"] == "Secret":
        data = {key: _decoded(key, text) for key, text in data.items()}
    told = {_UUID.sub(_UID, key): _UUID.sub(_UID, text) for key, text in data.items()}
    return made | {"data": told}


def _decoded(key: str, text: str) -> str:
    value = base64.b64decode(text)
    return (gzip.decompress(value) if key.endswith(".gz") else value).decode()


def _differences(one: _Workload) -> Iterator[str]:
    unfinished = not any(name.startswith(_PODS) for name in one.theirs)
    if one.problem:
        if one.theirs:
            begun = "begun by the peer, without pods" if unfinished else "made by the peer"
            yield f"{one.title}: {begun}: {one.problem}"
        return
    if unfinished:
        yield f"{one.title}: no pods by the peer: {_why(one)}"
    for name in sorted(one.theirs.keys() | one.ours.keys()):
        if name in one.theirs and name in one.ours:
            yield from _of_object(name, one)
        elif name in one.theirs or not unfinished:
            yield f"{name}: only made by {'the peer' if name in one.theirs else 'us'}"


def _why(one: _Workload) -> str:
    """Why the peer stopped, or was stopped by the API server; empty where that is not known."""
    sets = [each for name, each in one.made.items() if name.startswith(_PODS)]
    found = [
        *(reason for each in sets for reason in _unacceptable(each["spec"])),
        *(f"{name}: {one.left_out[name]}" for name in one.left_out if name.startswith(_STOPS)),
    ]
    return ", ".join(found)


def _unacceptable(spec: Any) -> Iterator[str]:
    """What no API server takes, or this one has not: offline there is none to ask."""
    pod = spec["template"]["spec"]
    ephemeral = (each.get("ephemeral") or {} for each in pod.get("volumes") or ())
    templates = (each.get("volumeClaimTemplate") for each in ephemeral)
    claims = [*(spec.get("volumeClaimTemplates") or ()), *filter(None, templates)]
    if any(not claim["spec"].get("resources") for claim in claims):
        yield "storage of no size"
    if "'topologyKey': ''" in str(pod.get("affinity")):
        yield "affinity without a topologyKey"


# --- An object ------------------------------------------------------------------------------------


def _of_object(name: str, one: _Workload) -> Iterator[str]:
    theirs, ours = one.theirs[name], one.ours[name]
    for line in differences(comparable(theirs), comparable(ours)):
        yield f"{name} {line}"
    before, after = theirs.get("data") or {}, ours.get("data") or {}
    for key in sorted(before.keys() | after.keys()):
        for line in _of_file(key, before.get(key), after.get(key), one.left_out):
            yield f"{name} {key} {line}"


def _of_file(
    key: str, theirs: str | None, ours: str | None, left_out: Mapping[str, str]
) -> Iterator[str]:
    if theirs == ours:
        return
    if theirs is None or ours is None:
        rule = next((each for each in left_out if _rule_file(each) == key), None)
        if rule:
            yield f"{rule}: left out: {left_out[rule]}"
        elif ours is None and left_out and (theirs or "").startswith(_PEM):
            yield f"the certificate or key of what is left out, of {', '.join(sorted(left_out))}"
        else:
            yield "only one of the two has this file"
        return
    remaining, taken = _REDUCE.get(key, _nothing)(theirs, left_out)
    yield from (f"{each}: left out: {left_out[each]}" for each in sorted(taken))
    found = list(_of_configurations(_parsed(remaining), _parsed(ours)))
    yield from found or (() if taken else (_other_form(theirs, ours),))


def _other_form(theirs: str, ours: str) -> str:
    """That texts of the same meaning differ, and how they do so first."""
    pairs = zip_longest(theirs.splitlines(), ours.splitlines())
    first = next(pair for pair in pairs if pair[0] != pair[1])
    return f"the order or form of the text is another: {first[0]!r}, ours {first[1]!r}"


def _parsed(text: str) -> Any:
    """A configuration, with its jobs by name."""
    found = comparable_object(yaml.safe_load(text) or {})
    if "scrape_configs" in found:
        found["scrape_configs"] = {each["job_name"]: each for each in found["scrape_configs"]}
    return found


def _of_configurations(theirs: Any, ours: Any) -> Iterator[str]:
    """What differs, steps of jobs aside, and then those: one that only one has moves all others."""
    jobs = [_steps_apart(each) for each in (theirs, ours)]
    yield from differences(theirs, ours)
    for path in sorted(jobs[0].keys() & jobs[1].keys()):
        before, after = ([str(step) for step in each[path]] for each in jobs)
        for tag, *places in SequenceMatcher(None, before, after, autojunk=False).get_opcodes():
            if tag != "equal":
                yield from (f"{path}: only the peer's: {it}" for it in before[slice(*places[:2])])
                yield from (f"{path}: only ours: {it}" for it in after[slice(*places[2:])])


def _steps_apart(found: Any) -> dict[str, list[Any]]:
    """Take the steps of all jobs out of a configuration; they are returned by their path."""
    jobs = found.get("scrape_configs") or {}
    return {
        f"scrape_configs.{name}.{member}": job.pop(member, [])
        for name, job in jobs.items()
        for member in ("relabel_configs", "metric_relabel_configs")
    }


def _rule_file(resource: str) -> str:
    return f"{resource.partition('/')[2].replace('/', '-')}-{_UID}.yaml"


# --- What of a configuration came from a resource -------------------------------------------------

_Reduced = tuple[str, set[str]]


def _nothing(text: str, left_out: Mapping[str, str]) -> _Reduced:
    return text, set()


def _without_jobs(text: str, left_out: Mapping[str, str]) -> _Reduced:
    """The text without the jobs of these resources, and those that had any."""
    taken: set[str] = set()

    def kept(job: re.Match[str]) -> str:
        source = "/".join(job[1].split("/")[:3])
        if source not in left_out:
            return job[0]
        taken.add(source)
        return ""

    return _JOB.sub(kept, text), taken


def _without_receivers(text: str, left_out: Mapping[str, str]) -> _Reduced:
    """The text without what these AlertmanagerConfigs added, and those that added anything."""
    config: dict[str, Any] = yaml.safe_load(text)
    taken: set[str] = set()

    def kept(items: list[Any], name: str) -> list[Any]:
        sources = [f"alertmanagerConfig/{item[name].rpartition('/')[0]}" for item in items]
        taken.update(source for source in sources if source in left_out)
        both = zip(items, sources, strict=True)
        return [item for item, source in both if source not in left_out]

    route = config["route"]
    route["routes"] = kept(route.get("routes") or [], "receiver")
    for section in ("receivers", "mute_time_intervals", "time_intervals"):
        config[section] = kept(config.get(section) or [], "name")
    return yaml.safe_dump(config), taken


_REDUCE: Final[dict[str, Callable[[str, Mapping[str, str]], _Reduced]]] = {
    "prometheus.yaml.gz": _without_jobs,
    "alertmanager.yaml.gz": _without_receivers,
}
