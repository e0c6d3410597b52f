"""PrometheusRules as files, and the files over ConfigMaps.

    PrometheusRule ──judged, limited to its namespace──> shop-alerts-1f0c….yaml
    all files ──────────────────────────────> prometheus-main-rulefiles-0, -1, …

A ConfigMap is filled with half a megabyte of them. A file stays in the ConfigMap in which it lies,
and there is room to grow that new files do not get, so one changed rule rewrites one ConfigMap;
without ConfigMaps to begin with they are filled one after the other in the order of the files'
names, as the peer does.
"""

from collections.abc import Iterable, Mapping, Sequence
from typing import Final

from msgspec import Struct
from msgspec.structs import replace

from stoker.api.core import ObjectMeta
from stoker.api.prometheus import PrometheusSpec
from stoker.api.rules import PrometheusRule, PrometheusRuleSpec, Rule, RuleGroup
from stoker.api.thanosruler import ThanosRulerSpec
from stoker.api.workload import ExcludedObject
from stoker.generate.alert_queries import Hold, UnheldError
from stoker.generate.block import Block, text_of
from stoker.generate.draft import Ignored
from stoker.generate.order import in_order
from stoker.promql import enforce_label, nameless_info, to_text
from stoker.select.exclusions import is_spared
from stoker.validate.findings import Finding, Reason
from stoker.validate.rules import GROUP_SINCE, RULE_SINCE, RuleReader, Since, parsed
from stoker.validate.rules import rules as rule_findings

CONFIG_MAP_LIMIT: Final = 524_288
"""The bytes of rules that go into one ConfigMap, and so the most that one PrometheusRule may be."""

GROWN_LIMIT: Final = 655_360
"""The bytes up to which files that are in a ConfigMap already may grow without leaving it.

Kubernetes takes a megabyte of values, and etcd half as much more with all that is beside them.
"""

MOST_FILES: Final = 1_000
"""So many files go into one ConfigMap, however small they are.

A name may take 253 bytes, and is stored twice, as a key and in `managedFields`: with thousands
of them etcd would refuse what Kubernetes takes.
"""

MANAGED: Final = {
    "app.kubernetes.io/managed-by": "prometheus-operator",
    "managed-by": "prometheus-operator",
}
"""Labels of every ConfigMap with rules, beside the one that names the workload."""

_RESOURCE: Final = "prometheusrules"
_LOST_LABELS: Final = (
    "where the namespace is enforced, `info` adds only labels that its second argument names,"
    ' as in `info(x, {cluster=~".+"})`'
)
_LONGEST_KEY: Final = 253

MOUNTED_BY_PROMETHEUS: Final = 3
"""So many ConfigMaps with rules a Prometheus mounts at least, whether they exist or not."""

MOUNTED_BY_RULER: Final = 1
"""A ThanosRuler mounts those that exist, of which there is one at least."""


class Enforcement(Struct, frozen=True):
    """The label that holds rules to their namespace, and the rules that are spared."""

    label: str = ""
    excluded: tuple[ExcludedObject, ...] = ()

    def concerns(self, metadata: ObjectMeta) -> bool:
        """Whether a PrometheusRule is held to its namespace."""
        return bool(self.label) and not is_spared(_RESOURCE, metadata, self.excluded)


class RuleFile(Struct, frozen=True):
    """What became of a PrometheusRule; without text where something is wrong with it."""

    name: str
    text: str = ""
    findings: tuple[Finding, ...] = ()
    ignored: tuple[Ignored, ...] = ()


def enforcement_of(spec: PrometheusSpec | ThanosRulerSpec) -> Enforcement:
    """How a workload holds rules to their namespaces."""
    if not spec.enforced_namespace_label:
        return Enforcement()
    newer = (one for one in spec.excluded_from_enforcement or () if one.resource == _RESOURCE)
    older = (
        ExcludedObject(resource=_RESOURCE, namespace=one.rule_namespace, name=one.rule_name)
        for one in spec.prometheus_rules_excluded_from_enforce or ()
    )
    return Enforcement(spec.enforced_namespace_label, (*newer, *older))


def rule_file(
    rule: PrometheusRule, reader: RuleReader, enforcement: Enforcement | None = None
) -> RuleFile:
    """The file of a PrometheusRule, or why there is none."""
    name = file_name(rule.metadata)
    enforcement = enforcement or Enforcement()
    concerned = enforcement.concerns(rule.metadata)
    found = tuple(rule_findings(rule.spec, reader, enforced=concerned))
    if found:
        return RuleFile(name, findings=found)
    ignored = lost_labels(rule, enforcement, reader)
    try:
        spec = enforced(rule, enforcement, reader)
    except UnheldError as error:
        return RuleFile(name, findings=error.findings)
    text = text_of(_file(spec, reader, ignored))
    size = text_size(text)
    if size > CONFIG_MAP_LIMIT:
        message = f"takes {size} bytes as a file, of at most {CONFIG_MAP_LIMIT}; divide it"
        return RuleFile(name, findings=(Finding("spec", Reason.OVER_BUDGET, message),))
    return RuleFile(name, text, ignored=tuple(ignored))


def file_name(metadata: ObjectMeta) -> str:
    """The name of the file of a PrometheusRule, which no other has.

    It is a key of a ConfigMap, and these are not longer than the longest name of an object.
    """
    start = f"{metadata.namespace or ''}-{metadata.name or ''}"
    end = f"-{metadata.uid or ''}.yaml"
    return start[: _LONGEST_KEY - len(end)] + end


def enforced(
    rule: PrometheusRule, enforcement: Enforcement, reader: RuleReader
) -> PrometheusRuleSpec:
    """The rules, held to their namespace where that is asked; they must be valid.

    UnheldError where the text of an alert cannot be.
    """
    if not enforcement.concerns(rule.metadata):
        return rule.spec
    label, namespace = enforcement.label, rule.metadata.namespace or ""
    hold = Hold(label, namespace, reader)

    def limited(one: Rule, path: str) -> Rule:
        node = enforce_label(parsed(str(one.expr), reader.promql), label, namespace)
        labels = {**(one.labels or {}), label: namespace}
        made = replace(one, expr=to_text(node), labels=labels)
        return hold.alert(made, path) if one.alert else made

    def limited_group(group: RuleGroup, path: str) -> RuleGroup:
        rules = enumerate(group.rules or ())
        made = tuple(limited(one, f"{path}.rules[{number}]") for number, one in rules)
        return hold.group(replace(group, rules=made), path) if made else group

    groups = enumerate(rule.spec.groups or ())
    made = tuple(limited_group(group, f"spec.groups[{index}]") for index, group in groups)
    if hold.findings:
        raise UnheldError(*hold.findings)
    return replace(rule.spec, groups=made)


def lost_labels(
    rule: PrometheusRule, enforcement: Enforcement, reader: RuleReader
) -> list[Ignored]:
    """The expressions that want all labels of info series: held to a namespace, they get none."""
    if not enforcement.concerns(rule.metadata):
        return []
    return [
        Ignored(f"spec.groups[{index}].rules[{number}].expr", _LOST_LABELS)
        for index, group in enumerate(rule.spec.groups or ())
        for number, one in enumerate(group.rules or ())
        # Most expressions need not be walked: the name cannot be written in any other way.
        if "info" in str(one.expr) and nameless_info(parsed(str(one.expr), reader.promql))
    ]


# The members of groups and rules in the order in which they are written, with their attributes.
_GROUP_FIELDS: Final = {
    name: name
    for name in (
        *("interval", "labels", "limit", "name"),
        *("partial_response_strategy", "query_offset", "rules"),
    )
}
_RULE_FIELDS: Final = {
    name: "for_" if name == "for" else name
    for name in ("alert", "annotations", "expr", "for", "keep_firing_for", "labels", "record")
}


def _file(spec: PrometheusRuleSpec, reader: RuleReader, ignored: list[Ignored]) -> Block:
    lacking = _lacking(GROUP_SINCE, reader), _lacking(RULE_SINCE, reader)
    groups = []
    for index, group in enumerate(spec.groups or ()):
        path = f"spec.groups[{index}]"
        block = _block(group, _GROUP_FIELDS, lacking[0], ignored, path)
        if group.rules:
            block["rules"] = [
                _block(rule, _RULE_FIELDS, lacking[1], ignored, f"{path}.rules[{number}]")
                for number, rule in enumerate(group.rules)
            ]
        groups.append(block)
    return {"groups": groups} if groups else {}


def _lacking(since: Mapping[str, Since], reader: RuleReader) -> dict[str, str]:
    """Why the reader does not know a member, of those that it does not know."""
    lacks = ((name, reader.lacks(version)) for name, version in since.items())
    return {name: lack for name, lack in lacks if lack}


def _block(
    source: RuleGroup | Rule,
    fields: Mapping[str, str],
    lacking: Mapping[str, str],
    ignored: list[Ignored],
    path: str,
) -> Block:
    """The members that are set and known; an empty one is as good as none."""
    block: Block = {}
    for name, attribute in fields.items():
        value = getattr(source, attribute)
        if value is None or (not value and value != 0):
            continue
        if name in lacking:
            ignored.append(Ignored(f"{path}.{name}", lacking[name]))
        else:
            block[name] = in_order(value) if isinstance(value, dict) else value
    return block


def config_map_name(prefix: str, number: int) -> str:
    """The name of a ConfigMap with rules; the prefix is the workload's."""
    return f"{prefix}-rulefiles-{number}"


def mounted_names(prefix: str, names: Sequence[str], least: int) -> list[str]:
    """The ConfigMaps to mount: some that do not exist yet, too, so that pods need not roll."""
    spare = (config_map_name(prefix, number) for number in range(len(names), least))
    return [*names, *spare]


def names_to_mount(prefix: str, count: int, least: int) -> list[str]:
    """The ConfigMaps that a workload mounts for as many as there are."""
    names = [config_map_name(prefix, number) for number in range(count)]
    return mounted_names(prefix, names, least)


def split_files(
    files: Mapping[str, str], before: Sequence[Mapping[str, str]] = (), pinned: int = 0
) -> list[dict[str, str]]:
    """The files of each ConfigMap, at least one; `before` is what each of them holds now.

    So many as are `pinned` will be there anyway, so there is nothing to be gained by moving files.
    """
    anew = _placed(sorted(files), files, [])
    if not any(before):
        return _contents(anew, files)
    kept = _kept(files, before)
    moved = _placed(sorted(files.keys() - set().union(*kept)), files, kept)
    while len(moved) > 1 and not moved[-1]:
        moved.pop()
    # Room is lost over time; where that costs a ConfigMap, all are filled afresh.
    return _contents(moved if len(moved) <= max(len(anew), pinned) else anew, files)


def _kept(files: Mapping[str, str], before: Sequence[Mapping[str, str]]) -> list[list[str]]:
    """The files that stay where they are: the unchanged first, then the changed that still fit."""
    seen: set[str] = set()
    kept: list[list[str]] = []
    for held in before:
        here = [name for name in held if name in files and name not in seen]
        room, stay = GROWN_LIMIT, list[str]()
        for name in sorted(here, key=lambda name: (held[name] != files[name], name)):
            size = text_size(files[name])
            if size <= room and len(stay) < MOST_FILES:
                room -= size
                stay.append(name)
                seen.add(name)
        kept.append(stay)
    return kept


def _placed(
    names: Iterable[str], files: Mapping[str, str], kept: Sequence[Sequence[str]]
) -> list[list[str]]:
    """The places of all files: these go where there is room, from the first one that had any."""
    places = [list(held) for held in kept] or [[]]
    sizes = [sum(text_size(files[name]) for name in held) for held in places]
    first = 0
    for name in names:
        size = text_size(files[name])
        while first < len(places) and _is_full(places[first], sizes[first] + size):
            first += 1
        if first == len(places):
            places.append([])
            sizes.append(0)
        places[first].append(name)
        sizes[first] += size
    return places


def _is_full(names: Sequence[str], size: int) -> bool:
    """Whether a ConfigMap with these files has no room for another, with which it had this size."""
    return bool(names) and (size > CONFIG_MAP_LIMIT or len(names) >= MOST_FILES)


def _contents(places: Sequence[Sequence[str]], files: Mapping[str, str]) -> list[dict[str, str]]:
    return [{name: files[name] for name in sorted(names)} for names in places]


def text_size(text: str) -> int:
    """The bytes that a text takes."""
    return len(text) if text.isascii() else len(text.encode("utf-8", "surrogatepass"))


def config_map(name: str, labels: Mapping[str, str], files: Mapping[str, str]) -> Block:
    """A ConfigMap with rules; `labels` name the workload. Owner and namespace are not set here."""
    return {
        "apiVersion": "v1",
        "kind": "ConfigMap",
        "metadata": {"name": name, "labels": {**labels, **MANAGED}},
        "data": dict(files),
    }
