"""Replays suites about flags, namespaces, finalizers and the kubelets' objects."""

from collections.abc import Callable, Sequence
from typing import Any

from msgspec.structs import replace

from stoker.build.kubelet import KubeletExisting, KubeletPlan, kubelet_plan
from stoker.build.nodes import node_addresses, preferred_addresses
from stoker.cli import flag_values as read
from stoker.errors import FieldError
from stoker.operator.reconcile import Operation, removing
from stoker.select.namespaces import (
    Namespaces,
    by_label,
    contradiction,
    excluding,
    scope_of,
)
from stoker.settings import (
    KubeletSettings,
    NamespaceSettings,
    ObjectSettings,
    gates_with,
    with_own,
)
from tests.conformance.cases import Case
from tests.conformance.compare import comparable_object, differences, without_nulls
from tests.conformance.done_without import adding, identical
from tests.conformance.replay import Context, Outcome, error_outcome, outcome_of, replays

_READERS: dict[str, Callable[[str, Any], Any]] = {
    "map": read.pairs,
    "string-set": read.names,
    "label-selector": read.label_selector,
    "field-selector": read.field_selector,
    "node-address-priority": read.address_priority,
}


@replays("misc-flags")
def values_of_flags(case: Case, context: Context) -> Outcome:
    """Read the text of one flag."""
    given = case.given
    try:
        value = _READERS[given["flag"]](given["value"], given.get("current"))
    except ValueError as error:
        return error_outcome(case.expect, str(error))
    made: dict[str, Any] = {"string": _text(value)}
    if isinstance(value, dict):
        made["map"] = value
    return outcome_of(differences(case.expect, made))


def _text(value: Any) -> str:
    """A value as the peer prints it."""
    if isinstance(value, dict):
        return ",".join(f"{key}={_word(value[key])}" for key in sorted(value))
    return value if isinstance(value, str) else ",".join(value)


def _word(value: Any) -> str:
    return str(value).lower() if isinstance(value, bool) else str(value)


@replays("misc-feature-gates")
def feature_gates(case: Case, context: Context) -> Outcome:
    """Turn gates on and off."""
    known = read.gates(case.given["featureGates"])
    try:
        made = gates_with(known, case.given["flags"])
    except FieldError as error:
        return error_outcome(case.expect, str(error))
    return outcome_of(differences(case.expect, {"featureGates": _text(made)}))


@replays("misc-map-merge")
def merged_labels(case: Case, context: Context) -> Outcome:
    """Labels of an object and of flags together."""
    made = with_own(case.given["map"] or {}, case.given["other"] or {})
    return outcome_of(differences(case.expect["map"] or {}, made))


@replays("misc-namespaces-finalize")
def watched_namespaces(case: Case, context: Context) -> Outcome:
    """Say which namespaces are watched for each kind, from the flags' lists."""
    given = {name: tuple(listed or ()) for name, listed in case.given["namespaces"].items()}
    settings = NamespaceSettings(
        allowed=given["allowList"],
        denied=given["denyList"],
        prometheus=given["prometheusAllowList"],
        alertmanager=given["alertmanagerAllowList"],
        alertmanager_config=given["alertmanagerConfigAllowList"],
        thanos_ruler=given["thanosRulerAllowList"],
    )
    wrong = contradiction(settings)
    if wrong or "error" in case.expect:
        return error_outcome(case.expect, str(wrong) if wrong else None)
    kinds = {
        "allowList": "ServiceMonitor",
        "prometheusAllowList": "PrometheusAgent",
        "alertmanagerAllowList": "Alertmanager",
        "alertmanagerConfigAllowList": "AlertmanagerConfig",
        "thanosRulerAllowList": "ThanosRuler",
    }
    made: dict[str, Any] = {
        name: list(scope_of(kind, settings).watches) for name, kind in kinds.items()
    }
    made["denyList"] = sorted(scope_of("ServiceMonitor", settings).denied) or None
    expected = {
        name: sorted(listed) if listed else None
        for name, listed in case.expect["namespaces"].items()
    }
    return outcome_of(differences(expected, made))


@replays("misc-merge-allow-lists")
def merged_lists(case: Case, context: Context) -> Outcome:
    """Merge two lists of namespaces."""
    both = _of_list(case.given["a"]) | _of_list(case.given["b"])
    return outcome_of(differences(sorted(case.expect["merged"] or []), list(both.watches)))


def _of_list(names: Sequence[str] | None) -> Namespaces:
    """The namespaces of a list; one without a name stands for all."""
    return Namespaces() if "" in (names or ()) else Namespaces(frozenset(names or ()))


@replays("misc-listwatch")
def selectors_of_watches(case: Case, context: Context) -> Outcome:
    """What a watch asks for, given namespaces to keep to or to stay away from."""
    given = case.given
    made: dict[str, Any]
    match given["function"]:
        case "IdenticalNamespaces":
            made = {"identical": identical(given["a"] or (), given["b"] or ())}
        case "DenyTweak":
            values = given["values"] or ()
            text = excluding(given["field"], values, besides=given["fieldSelector"])
            made = {"fieldSelector": text}
        case _:
            exclude = given["filter"] == "Exclude"
            values, besides = given["values"] or (), given["labelSelector"]
            text = by_label(given["label"], values, exclude=exclude, besides=besides)
            made = {"labelSelector": text}
    return outcome_of(differences(case.expect, made))


@replays("misc-finalizer-patch")
def finalizer_patches(case: Case, context: Context) -> Outcome:
    """Compare patches by their effect: ours also test what they build on (defect 8)."""
    finalizers, finalizer = case.given["finalizers"], case.given["finalizer"]
    if case.given["operation"] == "add":
        patch = adding(finalizer, finalizers, "7")
    else:
        patch = removing(finalizer, finalizers)
    before = {"resourceVersion": "7", "finalizers": finalizers}
    expected = case.expect["patch"]
    if bool(expected) != bool(patch):
        return Outcome(f"expected {expected}, got {patch}")
    return outcome_of(differences(patched(before, expected or ()), patched(before, patch)))


def patched(metadata: dict[str, Any], patch: Sequence[Operation]) -> dict[str, Any]:
    """The metadata after a JSON patch; `ValueError` if one of its tests fails."""
    result = {**metadata, "finalizers": list(metadata["finalizers"])}
    for operation in patch:
        name, *index = operation["path"].removeprefix("/metadata/").split("/")
        match operation["op"], index:
            case "test", _:
                found = result[name][int(index[0])] if index else result[name]
                if found != operation["value"]:
                    raise ValueError(f"{operation['path']} is {found}")
            case "add", ["-"]:
                result[name].append(operation["value"])
            case "add", []:
                result[name] = operation["value"]
            case "remove", [place]:
                del result[name][int(place)]
    return result


@replays("kubelet-node-address-priority")
def addresses_of_a_node(case: Case, context: Context) -> Outcome:
    """The addresses of one node."""
    found = preferred_addresses(case.given["node"], case.given["nodeAddressPriority"])
    if not found or "error" in case.expect:
        return error_outcome(case.expect, None if found else "no address")
    return outcome_of(differences(case.expect["addresses"], found))


@replays("kubelet-node-addresses")
def addresses_of_nodes(case: Case, context: Context) -> Outcome:
    """The addresses of all nodes, and how many nodes have none."""
    found, problems = node_addresses(case.given["nodes"], case.given["nodeAddressPriority"])
    made = [
        {
            "apiVersion": one.api_version,
            "ipAddress": one.ip,
            "ipv4": one.family == "IPv4",
            "name": one.node,
            "ready": one.ready,
            "uid": one.uid,
        }
        for one in found
    ]
    if len(problems) != len(case.expect["errors"]):
        return Outcome(f"expected {case.expect['errors']}, got {problems}")
    return outcome_of(differences(case.expect["addresses"] or [], made))


@replays("kubelet-sync")
def kubelet_objects(case: Case, context: Context) -> Outcome:
    """The objects after a sync: first the Service, then (with it) what hangs on it."""
    given = without_nulls(case.given)
    options, existing = given["options"], given.get("existing", {})
    settings = KubeletSettings(
        namespace=options["namespace"],
        name=options["name"],
        endpoints=options["manageEndpoints"],
        endpoint_slices=options["manageEndpointSlice"],
        http_metrics=options["httpMetricsEnabled"],
        node_selector=options["nodeSelector"],
        address_priority=options["nodeAddressPriority"],
        max_endpoints=options["maxEndpointsPerSlice"],
    )
    objects = ObjectSettings(
        labels=options.get("labels", {}), annotations=options.get("annotations", {})
    )
    live = KubeletExisting(
        service=next(iter(existing.get("services", ())), None),
        endpoints=next(iter(existing.get("endpoints", ())), None),
        slices=existing.get("endpointSlices", ()),
    )
    nodes = given.get("nodes", [])
    reachable = "serviceGetFailsWith" not in given
    if reachable:
        first = kubelet_plan(nodes, live, settings, objects)
        live = replace(live, service=_overlaid(live.service or {}, first.service))
    return _compare_sync(case, kubelet_plan(nodes, live, settings, objects), live)


def _compare_sync(case: Case, made: KubeletPlan, live: KubeletExisting) -> Outcome:
    expected = case.expect["objects"]
    actual = {
        "services": [live.service] if live.service else [],
        "endpoints": [_overlaid(live.endpoints or {}, made.endpoints)] if made.endpoints else [],
        "endpointSlices": list(made.slices),
    }
    left = {name: [_told(one) for one in expected.get(name) or ()] for name in actual}
    right = {name: [_told(one) for one in listed] for name, listed in actual.items()}
    for side in (left, right):
        side["endpointSlices"].sort(key=str)
    return outcome_of(differences(left, right))


def _overlaid(live: dict[str, Any], wanted: dict[str, Any]) -> dict[str, Any]:
    """What an apply of the wanted members makes of a live object."""
    result = dict(live)
    for name, value in wanted.items():
        held = live.get(name)
        both = isinstance(value, dict) and isinstance(held, dict)
        result[name] = _overlaid(held, value) if both and held is not None else value
    return result


def _told(value: dict[str, Any]) -> Any:
    """An object less what does not count.

    Slices have random names; Go writes a port of 0 for none; subsets without an address, which only
    a fake API server takes, are nothing.
    """
    copy = {name: item for name, item in value.items() if name not in ("apiVersion", "kind")}
    if "addressType" in copy:
        random = ("name", "generateName", "uid")
        copy["metadata"] = {
            name: item for name, item in copy["metadata"].items() if name not in random
        }
    if "subsets" in copy:
        copy["subsets"] = [one for one in copy["subsets"] if one.get("addresses")]
    if "spec" in copy:
        ports = [
            {name: item for name, item in port.items() if (name, item) != ("targetPort", 0)}
            for port in copy["spec"].get("ports") or ()
        ]
        copy["spec"] = {**copy["spec"], "ports": ports}
    return comparable_object(copy)
