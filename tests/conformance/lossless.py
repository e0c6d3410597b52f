"""Finds every resource of our kinds in the recorded cases, and what is lost by decoding it.

Recorded objects come from Go tests: many say neither `apiVersion` nor `kind`, so the member that
holds an object, and the suite around it, tell what it is.
"""

import json
from collections.abc import Iterator
from typing import Any, Final

from msgspec import Struct

from stoker.api.crd import GROUP
from stoker.api.decode import decode, encode
from stoker.api.kinds import kind_called, version_of
from stoker.errors import DecodeError
from tests.conformance.cases import Case
from tests.conformance.compare import differences, without_nulls

_MEMBERS: Final = {
    "alertmanager": "Alertmanager",
    "alertmanagerConfig": "AlertmanagerConfig",
    "alertmanagerConfigs": "AlertmanagerConfig",
    "podMonitors": "PodMonitor",
    "probes": "Probe",
    "prometheus": "Prometheus",
    "prometheusRule": "PrometheusRule",
    "scrapeConfigs": "ScrapeConfig",
    "serviceMonitors": "ServiceMonitor",
}
_WORKLOADS: Final = ("workload", "a", "b")
_SELECTION: Final = "selection-"
_CONVERSION: Final = "alertmanagerconfig-conversion-derived"
_VERSIONS: Final = {"AlertmanagerConfig": "v1alpha1", "PrometheusAgent": "v1alpha1"} | {
    "ScrapeConfig": "v1alpha1"
}


class Resource(Struct, frozen=True):
    """An object of one of our kinds, and where it was found."""

    kind: str
    version: str
    place: str
    content: dict[str, Any]


def resources(case: Case) -> Iterator[Resource]:
    """The resources in a case: those that say what they are, and those that we recognise."""
    for part, content in (("given", case.given), ("expect", case.expect)):
        for member, value in content.items():
            place = f"{case.suite}/{case.name}: {part}.{member}"
            kind = _kind_of(case, member)
            for one in _objects(value) if kind else ():
                yield Resource(kind, _version_of(case, part, kind, one), place, one)
            if not kind:
                yield from _named(value, place)


def losses(resource: Resource) -> Iterator[str]:
    """What a resource loses when it is decoded and encoded again."""
    version = version_of(f"{GROUP}/{resource.version}", resource.kind)
    if version is None:
        yield f"{resource.place}: we have no {resource.version} {resource.kind}"
        return
    content = without_nulls(resource.content)
    try:
        returned = json.loads(encode(decode(version.model, json.dumps(content))))
    except DecodeError as error:
        yield f"{resource.place}: {error}"
        return
    for difference in differences(content, without_nulls(returned)):
        yield f"{resource.place}: {difference}"


def _kind_of(case: Case, member: str) -> str:
    """The kind of the objects in a member that do not say it themselves, or nothing."""
    if member in _WORKLOADS:
        return str(case.given.get("workloadKind") or _workload_of(case.suite))
    if member == "objects" and case.suite.startswith(_SELECTION):
        kind = kind_called(case.suite.removeprefix(_SELECTION))
        return kind.name if kind else ""
    if member == "object" and case.suite == _CONVERSION:
        return "AlertmanagerConfig"
    return _MEMBERS.get(member, "")


def _workload_of(suite: str) -> str:
    for word, kind in (("alertmanager", "Alertmanager"), ("thanosruler", "ThanosRuler")):
        if word in suite:
            return kind
    return "Prometheus"


def _version_of(case: Case, part: str, kind: str, content: dict[str, Any]) -> str:
    if content.get("apiVersion"):
        return str(content["apiVersion"]).removeprefix(f"{GROUP}/")
    if case.suite == _CONVERSION:
        return str(case.given["from" if part == "given" else "to"])
    if kind == "AlertmanagerConfig" and "v1beta1" in case.suite:
        return "v1beta1"
    return _VERSIONS.get(kind, "v1")


def _objects(value: Any) -> Iterator[dict[str, Any]]:
    """The objects in a member: one, a list of them, or a map by key; anything else is none."""
    if isinstance(value, dict) and "spec" in value:
        yield value
    elif isinstance(value, dict | list):
        for item in value.values() if isinstance(value, dict) else value:
            yield from _objects(item)


def _named(value: Any, place: str) -> Iterator[Resource]:
    """Resources at any depth that give their own `apiVersion` and `kind`."""
    if isinstance(value, list):
        for item in value:
            yield from _named(item, place)
    elif isinstance(value, dict):
        group, _, version = str(value.get("apiVersion")).partition("/")
        if group == GROUP and value.get("kind"):
            yield Resource(value["kind"], version, place, value)
        else:
            for item in value.values():
                yield from _named(item, place)
