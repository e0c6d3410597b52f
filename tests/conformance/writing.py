"""What becomes of an object that exists when it is written: misc-create-or-update.

The operator's own `Writer` writes to a real API server. The recorded objects are not complete, so
each is given the least that a server asks for. Who set what is not recorded either: the peer made
the object, with its own labels and annotations as they are wanted; what is different, or more, came
later, by kubectl. Addresses are those that the cluster gives.
"""

import asyncio
from collections.abc import Iterator, Mapping
from typing import Any, Final

from stoker.kube import access
from stoker.kube.client import Client
from stoker.kube.resources import resource_of
from stoker.operator.writer import Writer
from tests.conformance.cases import Case
from tests.conformance.compare import differences, without_nulls
from tests.conformance.replay import Context, Outcome, outcome_of, replays
from tests.conformance.server import NAMESPACE

PEER: Final = "PrometheusOperator"
USER: Final = "kubectl-edit"
_OF_KUBECTL: Final = "kubectl.kubernetes.io/"
_ADDRESSES: Final = ("clusterIP", "clusterIPs", "ipFamilies", "ipFamilyPolicy")

Object = dict[str, Any]


@replays("misc-create-or-update", live=True)
def replay(case: Case, context: Context) -> Outcome:
    """Write the desired object over the existing one, and again, which must change nothing."""
    kind = case.given["kind"].partition("(")[0]
    existing, desired, expected = (
        _completed(kind, case.name, each) if each else None
        for each in (case.given["existing"], case.given["desired"], case.expect["result"])
    )
    assert desired
    assert expected
    found = asyncio.run(_written(context, existing, desired))
    return outcome_of(_judged(expected, *found))


async def _written(
    context: Context, existing: Object | None, desired: Object
) -> tuple[Object, Object, bool]:
    """The object before and after it is written, and whether it would be written once more."""
    place = resource_of(desired), NAMESPACE, desired["metadata"]["name"]
    async with Client(access.kubeconfig(context.server.cluster.kubeconfig)) as client:
        before = await _made(client, existing, desired) if existing else {}
        try:
            await Writer(client, lambda _: None).write(desired)
            after = await client.get(*place)
            again = await Writer(client, lambda _: None).write(desired)
        finally:
            await client.delete(*place)
    return before, after, again


async def _made(client: Client, existing: Object, desired: Object) -> Object:
    """Create an object as the peer has it, and let a user change it to what it is."""
    await client.create(_as_the_peer(existing, desired), manager=PEER)
    patch: Object = {"metadata": _annotated(existing)}
    if "template" in existing.get("spec", {}):
        patch["spec"] = {"template": {"metadata": _annotated(existing["spec"]["template"])}}
    metadata = existing["metadata"]
    place = resource_of(existing), metadata["namespace"], metadata["name"]
    return await client.merge_patch(*place, patch, manager=USER)


def _as_the_peer(existing: Object, desired: Object) -> Object:
    wanted = _annotated(desired)
    kept = {
        kind: {name: wanted[kind][name] for name in values if name in wanted[kind]}
        for kind, values in _annotated(existing).items()
    }
    made = existing | {"metadata": existing["metadata"] | kept}
    template = existing.get("spec", {}).get("template")
    if template:
        annotations = _annotated(template)["annotations"].items()
        own = {name: value for name, value in annotations if not name.startswith(_OF_KUBECTL)}
        changed = template | {"metadata": template["metadata"] | {"annotations": own}}
        made["spec"] = existing["spec"] | {"template": changed}
    return made


def _judged(expected: Object, before: Object, after: Object, again: bool) -> Iterator[str]:
    if any(name in expected.get("spec", {}) for name in _ADDRESSES):
        addresses = {name: before["spec"].get(name) for name in _ADDRESSES}
        yield from differences(addresses, {name: after["spec"].get(name) for name in _ADDRESSES})
    yield from differences(_subject(expected), _subject(after))
    if again:
        yield "it would be written again though nothing changed"


def _subject(found: Object) -> Object:
    """What the cases are about."""
    spec = found.get("spec") or {}
    return {
        "metadata": _annotated(found),
        "template": _annotated(spec.get("template") or {})["annotations"],
        "ports": [(port["name"], port["port"]) for port in spec.get("ports") or ()],
    }


def _annotated(found: Mapping[str, Any]) -> dict[str, dict[str, str]]:
    metadata = found.get("metadata") or {}
    return {kind: metadata.get(kind) or {} for kind in ("labels", "annotations")}


# --- Objects that a server takes ------------------------------------------------------------------


def _completed(kind: str, case: str, recorded: Object) -> Object:
    """An object under a name of the case's own, with the least that a server asks for."""
    given: Object = without_nulls(recorded)
    metadata = given["metadata"] | {"namespace": NAMESPACE, "name": case.lower().replace("_", "-")}
    # Some values of labels are none that a server would take.
    labels = {name: value.replace(" ", "-") for name, value in metadata.get("labels", {}).items()}
    metadata["labels"] = labels
    api_version = "apps/v1" if kind == "StatefulSet" else "v1"
    made = given | {"apiVersion": api_version, "kind": kind, "metadata": metadata}
    made.pop("status", None)
    completion = {"StatefulSet": _stateful_set, "Service": _service}.get(kind)
    return made | {"spec": completion(made["spec"])} if completion else made


def _stateful_set(spec: Object) -> Object:
    labels = {"app": "conformance"}
    template = spec["template"]
    pod = {"containers": [{"name": "one", "image": "example.org/one"}]}
    return {
        "replicas": 0,
        "serviceName": "conformance",
        "selector": {"matchLabels": labels},
        "template": {"metadata": template["metadata"] | {"labels": labels}, "spec": pod},
    }


def _service(spec: Object) -> Object:
    ports = [
        {name: value for name, value in port.items() if value} for port in spec.get("ports") or ()
    ]
    given = {"ipFamilyPolicy": "PreferDualStack"} if "ipFamilyPolicy" in spec else {}
    return given | {"ports": ports or [{"name": "web", "port": 9090}]}
