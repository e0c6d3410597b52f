"""How fast the objects of workloads are built, and how fast it is known that nothing changed.

Building is a part of every reconciliation, so it must be small beside the requests of one: about
ten milliseconds each. Three figures: the StatefulSet of a rich workload (sidecar, claims, patches
of containers), all objects of that workload, and the comparison of all of these with what a cluster
has. The best of several runs counts: noise only ever adds.

Goal: a hundred workloads' objects in a second, built and compared.
"""

import time
from collections.abc import Callable
from typing import Any, Final

from stoker.api.decode import convert
from stoker.api.prometheus import Prometheus
from stoker.build.drift import drift
from stoker.build.objects import Contents, objects_of
from stoker.build.prometheus import stateful_set
from stoker.build.site import Site, TlsAssets
from stoker.select.workload import scraper_of
from stoker.settings import Capabilities, ObjectSettings

RUNS, TIMES = 5, 200
GOAL = 100
SHARDS = 2

_SPEC: Final[dict[str, Any]] = {
    "shards": SHARDS,
    "replicas": 2,
    "podMetadata": {"labels": {"team": "shop"}},
    "resources": {"requests": {"cpu": "500m", "memory": "2Gi"}},
    "securityContext": {"fsGroup": 2000, "runAsNonRoot": True, "runAsUser": 1000},
    "storage": {"volumeClaimTemplate": {"spec": {"resources": {"requests": {"storage": "40Gi"}}}}},
    "retention": "30d",
    "secrets": ["tokens"],
    "configMaps": ["targets"],
    "additionalArgs": [{"name": "web.cors.origin", "value": ".*"}],
    "thanos": {"objectStorageConfig": {"name": "bucket", "key": "config"}},
    "topologySpreadConstraints": [
        {
            "maxSkew": 1,
            "topologyKey": "topology.kubernetes.io/zone",
            "whenUnsatisfiable": "ScheduleAnyway",
            "additionalLabelSelectors": "OnShard",
        }
    ],
    "containers": [
        {"name": "prometheus", "env": [{"name": "TZ", "value": "UTC"}]},
        {"name": "proxy", "image": "proxy:1", "ports": [{"containerPort": 8443}]},
    ],
}
_CONTENTS: Final = Contents(
    config_files={"prometheus.yaml.gz": b"x" * 20_000},
    asset_files={f"secret_shop_tls_{number}": "x" * 2_000 for number in range(20)},
    rule_files=({f"shop-{number}.yaml": "x" * 2_000 for number in range(100)},),
)


def report() -> bool:
    """Measure and print; whether the goal was met."""
    metadata = {"name": "main", "namespace": "shop", "uid": "00000000-0000-4000-8000-000000000000"}
    workload = convert(Prometheus, {"metadata": metadata, "spec": _SPEC})
    site = Site(workload, scraper_of(workload, Capabilities()), ObjectSettings())
    live = objects_of(site, _CONTENTS)
    assets = TlsAssets("assets", 1)
    single = _per_second(lambda: stateful_set(site, 0, tls_assets=assets))
    whole = _per_second(lambda: objects_of(site, _CONTENTS))
    compared = _per_second(lambda: _all_right(objects_of(site, _CONTENTS), live))
    print(f"objects of a rich workload ({len(live)} objects, {SHARDS} shards), per second")
    print(f"{'one StatefulSet':<28}{single:>8.0f}")
    print(f"{'all objects of a workload':<28}{whole:>8.0f}{whole * len(live):>10.0f} objects")
    print(f"{'… built and compared':<28}{compared:>8.0f}  goal {GOAL}")
    return compared >= GOAL


def _all_right(wanted: list[Any], live: list[Any]) -> None:
    for one, other in zip(wanted, live, strict=True):
        if drift(one, other, "stoker"):
            raise AssertionError("the same workload made another object")


def _per_second(work: Callable[[], Any]) -> float:
    return TIMES / min(_seconds(work) for _ in range(RUNS))


def _seconds(work: Callable[[], Any]) -> float:
    start = time.process_time()
    for _ in range(TIMES):
        work()
    return time.process_time() - start
