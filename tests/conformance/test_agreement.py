"""The offline checker and a real API server, on objects that nobody recorded."""

from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from random import Random
from typing import Any

import pytest

from stoker.api.crd import GROUP, KindVersion
from stoker.api.kinds import KINDS
from tests.conformance.compare import differences
from tests.conformance.generated import leaves, prepare, resource, schema_of_version, spoilt
from tests.conformance.server import NO_FIELD, Server, Verdict
from tests.conformance.validation import comparable, offline_verdict
from tools.cluster import Cluster

OBJECTS_PER_VERSION = 120
SEED = "agreement"


@pytest.mark.live
def test_the_offline_checker_judges_like_the_api_server(cluster: Cluster) -> None:
    """Made-up objects, two in three of them spoilt, get the same verdict, faults and defaults."""
    server = Server.prepared(cluster)
    judged = [(version, made) for version in versions() for made in objects(version)]
    with ThreadPoolExecutor(8) as pool:
        verdicts = list(pool.map(lambda one: online_verdict(server, *one), judged))
    offline = [offline_verdict(version, made) for version, made in judged]
    accepted = sum(verdict.valid for verdict in verdicts)
    print(f"{len(judged)} objects, {accepted} of them accepted")
    for (_, made), ours, theirs in zip(judged, offline, verdicts, strict=True):
        found = list(disagreement(ours, theirs))
        assert not found, f"{found}\n{theirs.message}\n{made}"
    assert 0 < accepted < len(judged)


def versions() -> list[KindVersion]:
    """List all versions of all kinds, with texts for their patterns ready."""
    found = [version for kind in KINDS for version in kind.versions]
    for version in found:
        prepare(schema_of_version(version))
    return found


def objects(version: KindVersion) -> Iterator[dict[str, Any]]:
    """Make up objects of a version, each about another field; a new object has no status."""
    random = Random(SEED + version.model.__name__ + version.name)
    paths = [path for path in leaves(schema_of_version(version)) if path[0] == ".spec"]
    for number in range(OBJECTS_PER_VERSION):
        made = resource(
            version, str(random.random()), random.choice((0, 0.1, 0.3)), random.choice(paths)
        )
        made["metadata"] = {"name": "made-up"}
        yield spoilt(made, str(random.random())) if number % 3 else made


def online_verdict(server: Server, version: KindVersion, made: dict[str, Any]) -> Verdict:
    """Ask the API server."""
    return server.verdict(f"{GROUP}/{version.name}", version.model.__name__, made)


def disagreement(ours: Verdict, theirs: Verdict) -> Iterator[str]:
    """Tell where two verdicts differ."""
    if ours.valid != theirs.valid:
        yield f"we say {'valid' if ours.valid else ours.message}"
    elif ours.valid:
        yield from differences(comparable(theirs.stored), comparable(ours.stored))
    else:
        yield from sorted((ours.fields ^ theirs.fields) - {NO_FIELD})
