"""On which nodes the pods of a DaemonSet run, and why not on the others.

As its controller decides it: by the name of the node, `nodeSelector`, required node affinity, and
taints against tolerations, those included that every pod of a DaemonSet gets. What holds up a pod
that has its node already (memory, ports of the host, affinity to other pods) is not asked here: the
status of the DaemonSet tells of it.
"""

import re
from collections.abc import Iterable, Iterator, Mapping
from itertools import product
from typing import Final, Protocol

from msgspec import Struct

from stoker.api.declare import Model
from stoker.select.labels import DOES_NOT_EXIST, EXISTS, IN, NOT_IN

GREATER: Final = "Gt"
LESS: Final = "Lt"

# What keeps pods away; PreferNoSchedule does not.
_KEEPING_AWAY: Final = ("NoSchedule", "NoExecute")
# A label has no sign.
_INTEGER: Final = re.compile(r"[0-9]{1,63}", re.ASCII)
_BOUND: Final = 2**63


class Taint(Model):
    """What keeps pods away from a node that do not tolerate it."""

    key: str = ""
    value: str | None = None
    effect: str = ""

    def __str__(self) -> str:
        return f"{self.key}{f'={self.value}' if self.value else ''}:{self.effect}"


class Node(Protocol):
    """A node, as far as it matters for who runs there."""

    @property
    def name(self) -> str:
        """Its name."""
        ...

    @property
    def labels(self) -> Mapping[str, str]:
        """Its labels."""
        ...

    @property
    def taints(self) -> tuple[Taint, ...]:
        """Its taints."""
        ...


# --- Pods -----------------------------------------------------------------------------------------


class Toleration(Model):
    """Taints that pods put up with."""

    key: str | None = None
    operator: str | None = None
    value: str | None = None
    effect: str | None = None

    def covers(self, taint: Taint) -> bool:
        """Whether a taint is one of these."""
        if (self.effect or taint.effect) != taint.effect or (self.key or taint.key) != taint.key:
            return False
        if self.operator in (None, "", "Equal"):
            return (self.value or "") == (taint.value or "")
        return self.operator == EXISTS


class NodeRequirement(Model):
    """One condition on a label, or on the name, of a node."""

    key: str = ""
    operator: str = ""
    values: tuple[str, ...] | None = None

    def holds(self, labels: Mapping[str, str]) -> bool:
        """Whether the labels of a node meet it."""
        value, operator, values = labels.get(self.key), self.operator, self.values or ()
        if operator == IN:
            return value is not None and value in values
        if operator == NOT_IN:
            return value is None or value not in values
        if operator in (EXISTS, DOES_NOT_EXIST):
            return (value is not None) is (operator == EXISTS)
        own, bound = _number(value), _number(values[0] if values else "")
        if own is None or bound is None:
            return False
        return own > bound if operator == GREATER else operator == LESS and own < bound

    def __str__(self) -> str:
        values = ", ".join(self.values or ())
        return {
            IN: f"`{self.key} in ({values})`",
            NOT_IN: f"`{self.key} not in ({values})`",
            EXISTS: f"a label `{self.key}`",
            DOES_NOT_EXIST: f"no label `{self.key}`",
            GREATER: f"`{self.key} > {values}`",
            LESS: f"`{self.key} < {values}`",
        }.get(self.operator, f"`{self.key} {self.operator} {values}`")


def _number(text: str | None) -> int | None:
    """A number as Kubernetes reads it."""
    found = int(text) if text and _INTEGER.fullmatch(text) else _BOUND
    return found if found < _BOUND else None


class NodeTerm(Model):
    """Conditions that must all hold; fields know the name of a node alone."""

    match_expressions: tuple[NodeRequirement, ...] | None = None
    match_fields: tuple[NodeRequirement, ...] | None = None

    @property
    def on_labels(self) -> tuple[NodeRequirement, ...]:
        """The conditions on labels."""
        return self.match_expressions or ()

    @property
    def on_fields(self) -> tuple[NodeRequirement, ...]:
        """The conditions on fields."""
        return self.match_fields or ()

    def missing(self, node: Node) -> NodeRequirement | None:
        """The first condition that a node does not meet."""
        labels = node.labels
        for each in self.on_labels:
            if not each.holds(labels):
                return each
        fields = {"metadata.name": node.name} if self.on_fields else {}
        return next((each for each in self.on_fields if not each.holds(fields)), None)


class NodeTerms(Model):
    """Terms of which one must hold; an empty one never does."""

    node_selector_terms: tuple[NodeTerm, ...] | None = None

    @property
    def terms(self) -> tuple[NodeTerm, ...]:
        """Those that can hold."""
        every = self.node_selector_terms or ()
        return tuple(each for each in every if each.on_labels or each.on_fields)


class NodeAffinity(Model):
    """What is required of nodes; what is only preferred keeps no pod away."""

    required_during_scheduling_ignored_during_execution: NodeTerms | None = None


class Affinity(Model):
    """What is required of nodes; affinity to pods is not looked at."""

    node_affinity: NodeAffinity | None = None


class Placing(Model):
    """The part of a pod's `spec` that says where it may run."""

    node_name: str | None = None
    node_selector: dict[str, str] | None = None
    affinity: Affinity | None = None
    tolerations: tuple[Toleration, ...] | None = None
    host_network: bool | None = None

    @property
    def required(self) -> NodeTerms | None:
        """What it requires of nodes."""
        nodes = self.affinity.node_affinity if self.affinity else None
        return nodes.required_during_scheduling_ignored_during_execution if nodes else None

    @property
    def is_choosy(self) -> bool:
        """Whether it asks for some nodes only, taints aside."""
        return bool(self.node_name or self.node_selector or self.required is not None)


# Every pod of a DaemonSet tolerates these, and with the network of its host one more.
_OF_DAEMON_SETS: Final = tuple(
    Toleration(key=f"node.kubernetes.io/{key}", operator=EXISTS, effect=effect)
    for key, effect in (
        ("not-ready", "NoExecute"),
        ("unreachable", "NoExecute"),
        ("disk-pressure", "NoSchedule"),
        ("memory-pressure", "NoSchedule"),
        ("pid-pressure", "NoSchedule"),
        ("unschedulable", "NoSchedule"),
    )
)
_WITH_HOST_NETWORK: Final = Toleration(
    key="node.kubernetes.io/network-unavailable", operator=EXISTS, effect="NoSchedule"
)
# Kubernetes sets and takes off these as a node fares; pods of a DaemonSet stay meanwhile.
_PASSING: Final = frozenset(
    {
        "node.kubernetes.io/not-ready",
        "node.kubernetes.io/unreachable",
        "node.kubernetes.io/network-unavailable",
        "node.cloudprovider.kubernetes.io/uninitialized",
    }
)


# --- Both together --------------------------------------------------------------------------------


class Absence(Struct, frozen=True):
    """Why no pod runs on a node: a sentence whose subject is the node.

    `passing`: the node is not well for now, and nothing is wrong with the specification.
    """

    why: str
    passing: bool = False


def absence(pods: Placing, node: Node, *, daemon: bool = True) -> Absence | None:
    """Why pods of a DaemonSet, or (not `daemon`) of anything else, cannot be on a node.

    None where they can.
    """
    why = _not_chosen(pods, node)
    if why:
        return Absence(why)
    taints = node.taints
    # Most nodes have none.
    return _kept_away(pods, taints, daemon=daemon) if taints else None


def _kept_away(pods: Placing, taints: Iterable[Taint], *, daemon: bool) -> Absence | None:
    own = (*(pods.tolerations or ()), *(_tolerated(pods) if daemon else ()))
    away = [each for each in taints if each.effect in _KEEPING_AWAY]
    unmet = [each for each in away if not any(one.covers(each) for one in own)]
    # What will not pass is the reason where there are several.
    unmet.sort(key=lambda each: each.key in _PASSING)
    if not unmet:
        return None
    told = f"has taint {unmet[0]} that spec.tolerations does not tolerate"
    return Absence(told, unmet[0].key in _PASSING)


def _tolerated(pods: Placing) -> Iterator[Toleration]:
    yield from _OF_DAEMON_SETS
    if pods.host_network:
        yield _WITH_HOST_NETWORK


def _not_chosen(pods: Placing, node: Node) -> str:
    """Why a node is not one that pods ask for; empty if it is."""
    if pods.node_name and pods.node_name != node.name:
        return f"is not the node `{pods.node_name}` that spec.nodeName asks for"
    if pods.node_selector:
        labels = node.labels
        for key, value in sorted(pods.node_selector.items()):
            if labels.get(key) != value:
                return f"{_has(node, key)}, and spec.nodeSelector asks for `{key}={value}`"
    required = pods.required
    if required is None:
        return ""
    missing = [each.missing(node) for each in required.terms]
    if None in missing:
        return ""
    if len(missing) != 1 or missing[0] is None:
        return f"fits none of the {len(missing)} terms that spec.affinity.nodeAffinity requires"
    told = "spec.affinity.nodeAffinity requires"
    by_name = missing[0] in required.terms[0].on_fields
    return f"{'is another' if by_name else _has(node, missing[0].key)}, and {told} {missing[0]}"


def _has(node: Node, key: str) -> str:
    value = node.labels.get(key)
    return f"has no label `{key}`" if value is None else f"has `{key}={value}`"


# --- In words -------------------------------------------------------------------------------------

_MOST_NAMES: Final = 5
_MOST_REASONS: Final = 5


def without_pods(pods: Placing, nodes: Iterable[Node]) -> dict[str, str]:
    """The nodes that have no pod by what is specified, and why; those that are unwell may be."""
    found = ((node.name, absence(pods, node)) for node in nodes)
    return {name: each.why for name, each in found if each and not each.passing}


def coverage(total: int, without: Mapping[str, str]) -> str:
    """On how many nodes an agent has a pod, and why not on the others (`without`)."""
    told = f"covers {total - len(without)} of {total} node{'' if total == 1 else 's'}"
    return f"{told}; it is not on {left_out(without)}" if without else told


def left_out(without: Mapping[str, str]) -> str:
    """Nodes without a pod, those with the same reason together; many are cut short."""
    alike: dict[str, list[str]] = {}
    for name in sorted(without):
        alike.setdefault(without[name], []).append(name)
    few = sorted(alike.items(), key=lambda each: (-len(each[1]), each[1]))[:_MOST_REASONS]
    more = len(without) - sum(len(names) for _, names in few)
    told = [f"{few_of(names)} ({why})" for why, names in few]
    return "; ".join([*told, *([f"and {more} more"] if more else [])])


def few_of(names: list[str]) -> str:
    """Names in a row; many are cut short."""
    more = len(names) - _MOST_NAMES
    return ", ".join(names[:_MOST_NAMES]) + (f" and {more} more" if more > 0 else "")


# --- Where no node is known -----------------------------------------------------------------------


def never_meet(one: Placing, other: Placing) -> bool:
    """Whether no node, whatever its labels, can have pods of both."""
    pairs = product(_alternatives(one), _alternatives(other))
    return all(_contradict((*first, *second)) for first, second in pairs)


def _alternatives(pods: Placing) -> Iterator[tuple[NodeRequirement, ...]]:
    """The sets of conditions of which a node must meet one."""
    always = [
        NodeRequirement(key=key, operator=IN, values=(value,))
        for key, value in (pods.node_selector or {}).items()
    ]
    if pods.node_name:
        always.append(NodeRequirement(key=_NAME, operator=IN, values=(pods.node_name,)))
    if pods.required is None:
        yield tuple(always)
        return
    for term in pods.required.terms:
        named = (
            NodeRequirement(key=_NAME, operator=each.operator, values=each.values)
            for each in term.on_fields
        )
        yield (*always, *term.on_labels, *named)


# No label is called so: it is the name of the node.
_NAME: Final = ""


def _contradict(conditions: Iterable[NodeRequirement]) -> bool:
    """Whether no node meets all of some conditions, as far as that shows at a glance."""
    by_key: dict[str, list[NodeRequirement]] = {}
    for each in conditions:
        by_key.setdefault(each.key, []).append(each)
    return any(map(_impossible, by_key.values()))


def _impossible(conditions: list[NodeRequirement]) -> bool:
    """Whether no label meets all of some conditions on it."""
    operators = {each.operator for each in conditions}
    if DOES_NOT_EXIST in operators:
        return bool(operators & {IN, EXISTS, GREATER, LESS})
    allowed = [set(each.values or ()) for each in conditions if each.operator == IN]
    if not allowed:
        return False
    values = set.intersection(*allowed)
    return not any(all(each.holds({each.key: value}) for each in conditions) for value in values)
