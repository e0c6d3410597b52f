"""Our CustomResourceDefinitions against the peer's: nothing missing, nothing different.

Each path of the peer's schema must lead to the same constraints in ours, descriptions aside. What
ours have beyond the peer's is allowed if it is named in `ADDITIONS`; what we leave out on purpose
is named in `OMITTED_RULES`. A name in either list that does not occur is a difference too.
"""

import re
from collections.abc import Iterator
from typing import Any, Final

from msgspec import Struct

from stoker.api.crd import manifest
from stoker.api.kinds import kind_called
from stoker.api.schema import Schema, walk
from tests.conformance.cases import CRDS, Case
from tests.conformance.replay import Context, Outcome, outcome_of, replays

# {CRD: {path and message of a rule of the peer: why we do not have it}}
OMITTED_RULES: Final[dict[str, dict[str, str]]] = {
    "prometheusagents": {
        f"v1alpha1.spec: {field} cannot be set when mode is DaemonSet": (
            "DaemonSet agents of ours scrape ServiceMonitors, so they may select them"
        )
        for field in ("serviceMonitorSelector", "serviceMonitorNamespaceSelector")
    },
}

_TARGETS: Final = {"*.status.bindings[].targets": "what is scraped, as a binding counts it"}

# {CRD: {what ours has and the peer's has not: why}}; a `*` stands for any part of a name
ADDITIONS: Final[dict[str, dict[str, str]]] = {
    **dict.fromkeys(
        ("alertmanagerconfigs", "podmonitors", "probes", "prometheusrules", "servicemonitors"),
        _TARGETS,
    ),
    "prometheusagents": {
        "v1alpha1.status.desiredReplicas": "how many pods there should be, in either mode",
        "v1alpha1.spec.daemonSet": "how agents on every node are updated and keep their log",
        "v1alpha1.spec: daemonSet can only be set when mode is DaemonSet": "it is about one",
        "v1alpha1.spec: maxSurge cannot be set with hostNetwork: two agents would want one port of"
        " a node": "neither could ever make room for the other",
        "v1alpha1.spec: apiserverConfig cannot be set when daemonSet.discovery is Operator": "such"
        " agents ask no API server then",
    },
    "scrapeconfigs": {
        **_TARGETS,
        **{
            f"v1alpha1.spec.{name}SDConfigs": "a discovery that the peer lacks"
            for name in (
                "aws",
                "ecs",
                "elastiCache",
                "marathon",
                "msk",
                "nerve",
                "oci",
                "outscale",
                "rds",
                "serverset",
                "stackit",
                "triton",
                "uyuni",
                "vultr",
            )
        },
        "v1alpha1.spec.ec2SDConfigs[].endpoint": "Prometheus has it",
        "v1alpha1.spec.*SDConfigs[].profile": "EC2 and Lightsail have it in Prometheus",
        "v1alpha1.spec.*SDConfigs[].externalID": "EC2 and Lightsail have it in Prometheus",
        "v1alpha1.spec.digitalOceanSDConfigs[].role": "databases are found too",
        **{
            f"v1alpha1.spec.kubernetesSDConfigs[].attachMetadata.{name}": "Prometheus has it"
            for name in ("namespace", "deployment", "job", "cronJob")
        },
        "v1alpha1.spec.extraScrapeMetrics": "a job of Prometheus has it",
        "v1alpha1.spec.followRedirects": "a job of Prometheus has it",
        **{
            f"v1alpha1.spec{where}.{name}": "HTTP clients of Prometheus 2.55 and 3.8"
            for where in ("", ".*SDConfigs[]")
            for name in (
                "httpHeaders",
                "oauth2.grantType",
                "oauth2.clientCertificateKey",
                "oauth2.clientCertificateKeyID",
                "oauth2.signatureAlgorithm",
                "oauth2.issuer",
                "oauth2.audience",
                "oauth2.claims",
            )
        },
    },
}

_STRUCTURE: Final = {"properties", "items", "additionalProperties", "x-kubernetes-validations"}
_UNORDERED: Final = {"enum", "required"}


class Comparison(Struct):
    """The outcome for one CRD: how many paths were compared, and what was found."""

    paths: int = 0
    differences: list[str] = []
    additions: list[str] = []
    omitted: list[str] = []


@replays(CRDS)
def same_crd(case: Case, context: Context) -> Outcome:
    """Compare the CRD of a kind with the peer's."""
    return outcome_of(faults(case.name, compare(case.expect)))


def faults(name: str, comparison: Comparison) -> Iterator[str]:
    """What must be mended in our CRD, or named as meant."""
    additions = ADDITIONS.get(name, {})
    omitted = OMITTED_RULES.get(name, {})
    yield from comparison.differences
    yield from (f"{one}: added by accident?" for one in _only(comparison.additions, additions))
    yield from (
        f"{one}: named as added, but is not" for one in _only(additions, comparison.additions)
    )
    yield from (f"{one}: the rule is missing" for one in _only(comparison.omitted, omitted))
    yield from (
        f"{one}: named as omitted, but is not" for one in _only(omitted, comparison.omitted)
    )


def compare(peer: dict[str, Any]) -> Comparison:
    """Our CRD of the same kind, held against the peer's."""
    found = Comparison()
    kind = kind_called(peer["spec"]["names"]["kind"])
    if kind is None:
        found.differences.append("we do not have this kind")
        return found
    ours = manifest(kind)
    _compare_words(found, "", _head(peer), _head(ours))
    our_versions = {version["name"]: version for version in ours["spec"]["versions"]}
    for version in peer["spec"]["versions"]:
        _compare_version(found, version, our_versions.pop(version["name"], None))
    found.additions.extend(our_versions)
    return found


def _head(crd: dict[str, Any]) -> dict[str, Any]:
    """All that a CRD says outside its versions."""
    spec = {name: value for name, value in crd["spec"].items() if name != "versions"}
    return {"apiVersion": crd["apiVersion"], "name": crd["metadata"]["name"], **spec}


def _compare_version(found: Comparison, peer: Schema, ours: Schema | None) -> None:
    name = peer["name"]
    if ours is None:
        found.differences.append(f"{name}: missing")
        return
    _compare_words(found, name, _around(peer), _around(_without_own_columns(peer, ours)))
    _compare_schemas(found, name, _schema(peer), _schema(ours))


# An agent on every node has no `.spec.replicas`, so the peer's column is empty there.
_OWN_PATHS: Final = {".status.desiredReplicas": ".spec.replicas"}


def _without_own_columns(peer: Schema, ours: Schema) -> Schema:
    """Our version as the peer has it where only we have columns, which are for people alone."""
    if "additionalPrinterColumns" in peer:
        return ours
    return {name: value for name, value in ours.items() if name != "additionalPrinterColumns"}


def _around(version: dict[str, Any]) -> dict[str, Any]:
    """What a version says besides its schema: columns, subresources, served, stored."""
    around = {name: value for name, value in version.items() if name != "schema"}
    columns = around.get("additionalPrinterColumns")
    if columns:
        around["additionalPrinterColumns"] = [
            each | {"jsonPath": _OWN_PATHS.get(each["jsonPath"], each["jsonPath"])}
            for each in columns
        ]
    return around


def _schema(version: dict[str, Any]) -> Schema:
    schema: Schema = version["schema"]["openAPIV3Schema"]
    return schema


def _compare_schemas(found: Comparison, version: str, peer: Schema, ours: Schema) -> None:
    our_paths = dict(walk(ours, version))
    peer_paths = dict(walk(peer, version))
    found.paths += len(peer_paths)
    for path, schema in peer_paths.items():
        if path not in our_paths:
            found.differences.append(f"{path}: missing")
            continue
        _compare_words(found, path, _words(schema), _words(our_paths[path]))
        _compare_rules(found, path, _rules(schema), _rules(our_paths[path]))
    found.additions.extend(_topmost(path for path in our_paths if path not in peer_paths))


def _words(schema: Schema) -> dict[str, Any]:
    """The constraints at one path, in a form that does not depend on the order of choices."""
    return {
        word: sorted(value) if word in _UNORDERED else value
        for word, value in schema.items()
        if word not in _STRUCTURE | {"description"}
    }


def _rules(schema: Schema) -> dict[tuple[tuple[str, str], ...], str]:
    """CEL rules by all that they do; the wording of the message is ours to choose."""
    found = {}
    for rule in schema.get("x-kubernetes-validations", ()):
        does = {word: " ".join(str(rule[word]).split()) for word in rule if word != "message"}
        found[tuple(sorted(does.items()))] = rule.get("message", rule["rule"])
    return found


def _compare_words(
    found: Comparison, path: str, peer: dict[str, Any], ours: dict[str, Any]
) -> None:
    for word in sorted(peer.keys() | ours.keys()):
        if peer.get(word) != ours.get(word):
            text = f"{path}: {word}: peer {peer.get(word)!r}, ours {ours.get(word)!r}"
            found.differences.append(text)


def _compare_rules(
    found: Comparison,
    path: str,
    peer: dict[tuple[tuple[str, str], ...], str],
    ours: dict[tuple[tuple[str, str], ...], str],
) -> None:
    found.omitted.extend(f"{path}: {peer[rule]}" for rule in peer if rule not in ours)
    found.additions.extend(f"{path}: {ours[rule]}" for rule in ours if rule not in peer)


def _topmost(paths: Iterator[str]) -> list[str]:
    """Added paths less those below another of them; `walk` gives the outermost first."""
    topmost: list[str] = []
    for path in paths:
        if not any(path.startswith((f"{one}.", f"{one}[", f"{one}{{")) for one in topmost):
            topmost.append(path)
    return topmost


def _only(some: Any, others: Any) -> list[str]:
    return [one for one in some if not any(_same(one, other) for other in others)]


def _same(one: str, other: str) -> bool:
    """Whether two names mean the same; either may have a `*` for any part of a name."""
    if "*" not in one and "*" not in other:
        return one == other
    pattern, name = (one, other) if "*" in one else (other, one)
    return bool(re.fullmatch(re.escape(pattern).replace(r"\*", r"\w+"), name))
