"""Relabeling: the users' steps, and the steps that the operator adds itself.

A user's step has its members in the order of Prometheus' documentation, with the action last. The
operator's own steps are constants wherever nothing in them depends on the resource; they are
shared between jobs and must never be changed. Steps that depend on a name are made by the functions
below, the only place where a name becomes part of a label or of an expression.
"""

import re
from collections.abc import Iterable
from typing import Final

from stoker.api.common import RelabelConfig
from stoker.api.core import LabelSelector, LabelSelectorRequirement, ObjectMeta
from stoker.api.scrape import Endpoint
from stoker.generate.block import Block, Constant
from stoker.generate.draft import ScraperDraft
from stoker.generate.grammar import Member, put
from stoker.generate.values import items, lower
from stoker.remembered import remembered
from stoker.select.exclusions import is_spared


def _nonzero(number: int, _draft: ScraperDraft, _path: str) -> int | None:
    return number or None


# An empty separator or replacement means something else than none.
_STEP: Final = (
    Member("source_labels", write=items),
    Member("separator", keep_empty=True),
    Member("target_label"),
    Member("regex"),
    Member("modulus", write=_nonzero),
    Member("replacement", keep_empty=True),
    Member("action", write=lower),
)


def relabel_configs(
    steps: tuple[RelabelConfig, ...] | None, draft: ScraperDraft, path: str
) -> list[Block]:
    """The users' steps as Prometheus reads them."""
    written = []
    for index, step in enumerate(steps or ()):
        block: Block = {}
        put(block, _STEP, step, draft, f"{path}[{index}]")
        written.append(block)
    return written


# The operator's own steps.


def copied(source: str, target: str) -> Block:
    """A step that copies a label."""
    return {"source_labels": [source], "target_label": target}


def fixed(target: str, value: str) -> Block:
    """A step that sets a label."""
    return {"target_label": target, "replacement": value}


def kept(source: str, regex: str | int) -> Block:
    """A step that keeps only targets with a matching label."""
    return {"action": "keep", "source_labels": [source], "regex": regex}


def copied_if_set(source: str, target: str) -> Block:
    """A step that copies a label unless it is empty."""
    return {
        "source_labels": [source],
        "target_label": target,
        "regex": "(.+)",
        "replacement": "${1}",
    }


JOB_NAME: Final[Block] = Constant(copied("job", "__tmp_prometheus_job_name"))
NAMESPACE: Final[Block] = Constant(copied("__meta_kubernetes_namespace", "namespace"))
SERVICE: Final[Block] = Constant(copied("__meta_kubernetes_service_name", "service"))
POD: Final[Block] = Constant(copied("__meta_kubernetes_pod_name", "pod"))
CONTAINER: Final[Block] = Constant(copied("__meta_kubernetes_pod_container_name", "container"))
INGRESS: Final[Block] = Constant(copied("__meta_kubernetes_ingress_name", "ingress"))
SERVICE_AS_JOB: Final[Block] = Constant(
    {
        "source_labels": ["__meta_kubernetes_service_name"],
        "target_label": "job",
        "replacement": "${1}",
    }
)
NOT_FINISHED: Final[Block] = Constant(
    {
        "action": "drop",
        "source_labels": ["__meta_kubernetes_pod_phase"],
        "regex": "(Failed|Succeeded)",
    }
)
ADDRESS_AS_TARGET: Final[Block] = Constant(copied("__address__", "__param_target"))
TARGET_AS_INSTANCE: Final[Block] = Constant(copied("__param_target", "instance"))
INGRESS_AS_TARGET: Final[Block] = Constant(
    {
        "source_labels": [
            "__meta_kubernetes_ingress_scheme",
            "__address__",
            "__meta_kubernetes_ingress_path",
        ],
        "separator": ";",
        "regex": "(.+);(.+);(.+)",
        "target_label": "__param_target",
        "replacement": "${1}://${2}${3}",
        "action": "replace",
    }
)
INGRESS_ADDRESS: Final[Block] = Constant(
    {
        "source_labels": ["__address__"],
        "separator": ";",
        "regex": "(.*)",
        "target_label": "__tmp_ingress_address",
        "replacement": "$1",
        "action": "replace",
    }
)


@remembered(4 * 1024 * 1024, per_character=1)
def label_name(name: str) -> str:
    """The name of a Kubernetes label as Prometheus writes it in its own labels."""
    return _NOT_IN_NAMES.sub("_", name)


_NOT_IN_NAMES: Final = re.compile(r"[^a-zA-Z0-9_]")


def literal(text: str) -> str:
    """An expression that matches a name or label value.

    The dot stays as it is, as the peer writes it; everything else that could make an expression
    of a name is escaped, so that no name can break the configuration.
    """
    return _META.sub(r"\\\g<0>", text)


_META: Final = re.compile(r"[\\+*?()|\[\]{}^$]")


def label_copies(kind: str, labels: Iterable[str]) -> list[Block]:
    """Steps that copy labels of a Kubernetes object (`pod`, `service`) to its targets."""
    return [
        copied_if_set(f"__meta_kubernetes_{kind}_label_{name}", name)
        for name in map(label_name, labels)
    ]


def job_from_label(kind: str, label: str | None) -> list[Block]:
    """The step that takes the `job` label from a label of the object, where one is named."""
    if not label:
        return []
    return [copied_if_set(f"__meta_kubernetes_{kind}_label_{label_name(label)}", "job")]


def endpoint_name(endpoint: Endpoint) -> list[Block]:
    """The step that names the port of a target in the label `endpoint`, where it has a name."""
    name = endpoint.port or endpoint.target_port
    # The number zero selects no port, but is a name, as with the peer.
    return [] if name in (None, "") else [fixed("endpoint", str(name))]


def container_port(port: str | int) -> list[Block]:
    """The step that keeps only targets at a port that their container declares."""
    if isinstance(port, str):
        return [kept("__meta_kubernetes_pod_container_port_name", literal(port))]
    return [kept("__meta_kubernetes_pod_container_port_number", port)]


def selector_steps(kind: str, selector: LabelSelector | None) -> list[Block]:
    """Steps that keep only targets whose object (`pod`, `service`, `ingress`) is selected."""
    if selector is None:
        return []
    labels = selector.match_labels or {}
    steps = [_valued("keep", kind, name, (labels[name],)) for name in sorted(labels)]
    for requirement in selector.match_expressions or ():
        step = _requirement_step(kind, requirement)
        if step:
            steps.append(step)
    return steps


def _requirement_step(kind: str, requirement: LabelSelectorRequirement) -> Block | None:
    name, values = requirement.key, requirement.values or ()
    match requirement.operator:
        case "In":
            return _valued("keep", kind, name, values)
        case "NotIn":
            return _valued("drop", kind, name, values)
        case "Exists":
            return _present("keep", kind, name)
        case "DoesNotExist":
            return _present("drop", kind, name)
    return None


def _valued(action: str, kind: str, label: str, values: tuple[str, ...]) -> Block:
    name = label_name(label)
    return {
        "action": action,
        "source_labels": [
            f"__meta_kubernetes_{kind}_label_{name}",
            f"__meta_kubernetes_{kind}_labelpresent_{name}",
        ],
        "regex": f"({'|'.join(map(literal, values))});true",
    }


def _present(action: str, kind: str, label: str) -> Block:
    name = f"__meta_kubernetes_{kind}_labelpresent_{label_name(label)}"
    return {"action": action, "source_labels": [name], "regex": "true"}


def namespace_steps(resource: str, metadata: ObjectMeta, draft: ScraperDraft) -> list[Block]:
    """The step that enforces the namespace label on a resource (`servicemonitors`, …), if any."""
    label = draft.spec.enforced_namespace_label
    if not label or is_spared(resource, metadata, draft.spec.excluded_from_enforcement):
        return []
    return [fixed(label, metadata.namespace or "")]
