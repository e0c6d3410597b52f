r"""What one hostile object costs: CPU and peak memory of `stoker render`.

Each case is a folder with a workload that selects everything and one namespace's objects, at the
size at which it was found to cost everybody. `quiet` is the same workload with one small monitor.

    python -m bench hostile

The goal: none over 3 s of CPU or 250 MiB. Below stand objects at the edge of the
limits, which are used: what a tenant can still make an object cost.
"""

import subprocess
import sys
import tempfile
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any, Final, NamedTuple

import msgspec

MOST_SECONDS: Final = 3.0
MOST_MIB: Final = 250.0
_GROUP: Final = "monitoring.coreos.com"
_MIB: Final = 1024

Object = dict[str, Any]


class Cost(NamedTuple):
    """What a command took, and how it ended."""

    seconds: float
    mib: float
    status: int


def _object(kind: str, spec: Object, name: str = "hostile", version: str = "v1") -> Object:
    metadata = {"name": name, "namespace": "tenant"}
    return {"apiVersion": f"{_GROUP}/{version}", "kind": kind, "metadata": metadata, "spec": spec}


def _monitor(endpoints: list[Object]) -> Object:
    return _object("ServiceMonitor", {"selector": {}, "endpoints": endpoints})


def _rule(rules: list[Object], name: str = "hostile") -> Object:
    return _object("PrometheusRule", {"groups": [{"name": "g", "rules": rules}]}, name)


def _alerting(route: Object, receiver: Object, name: str = "hostile") -> Object:
    spec = {
        "route": {"receiver": "r", **route},
        "receivers": [{"name": "r", **receiver}],
    }
    return _object("AlertmanagerConfig", spec, name, "v1alpha1")


def quiet() -> Iterator[Object]:
    """One honest monitor."""
    yield _monitor([{"port": "web"}])


def patterns_in_relabelings() -> Iterator[Object]:
    """A monitor of 7 KB with 150 expressions that are dear to compile."""
    steps = [{"regex": f"{index}\\PN{{1000}}", "action": "keep"} for index in range(150)]
    yield _monitor([{"port": "web", "relabelings": steps}])


def patterns_in_expressions() -> Iterator[Object]:
    """The same in the matchers of one PromQL expression."""
    found = ",".join(f'l{index}=~"{index}\\\\PN{{1000}}"' for index in range(150))
    yield _rule([{"record": "a:b", "expr": f"up{{{found}}}"}])


def value_named_often() -> Iterator[Object]:
    """600 endpoints that name one Secret of 900 KB."""
    data = {"token": "t" * 900_000}
    metadata = {"name": "large", "namespace": "tenant"}
    yield {"apiVersion": "v1", "kind": "Secret", "metadata": metadata, "stringData": data}
    token = {"name": "large", "key": "token"}
    yield _monitor([{"port": "web", "bearerTokenSecret": token}] * 600)


def many_endpoints() -> Iterator[Object]:
    """80,000 endpoints in a megabyte."""
    yield _monitor([{"port": "a"}] * 80_000)


def long_expressions() -> Iterator[Object]:
    """Four rules of 510 KB `a+a+…`."""
    for index in range(4):
        yield _rule([{"record": "a:b", "expr": f"{index}" + "+a" * 255_000}], f"long-{index}")


def long_annotation() -> Iterator[Object]:
    """One annotation of 480 KB."""
    yield _rule([{"alert": "A", "expr": "up", "annotations": {"text": "x" * 480_000}}])


def long_grouping() -> Iterator[Object]:
    """`groupBy` with 40,000 labels."""
    labels = [f"l{index}" for index in range(40_000)]
    yield _alerting({"groupBy": labels}, {"webhookConfigs": [{"url": "http://a"}]})


def large_configs() -> Iterator[Object]:
    """30 AlertmanagerConfigs of 1.2 MB, for which there is no room."""
    for index in range(30):
        text = "".join(f"{index * 100_003 + at:x}" for at in range(220_000))
        slack = {"apiURL": {"name": "s", "key": "k"}, "text": text[:1_200_000]}
        yield _alerting({}, {"slackConfigs": [slack]}, f"large-{index}")
    metadata = {"name": "s", "namespace": "tenant"}
    data = {"k": "http://slack.example"}
    yield {"apiVersion": "v1", "kind": "Secret", "metadata": metadata, "stringData": data}


# --- As much as the limits allow ------------------------------------------------------------------


def most_endpoints() -> Iterator[Object]:
    """As many endpoints as there may be."""
    yield _monitor([{"port": f"p{index}"} for index in range(2_000)])


def most_relabelings() -> Iterator[Object]:
    """As many relabelings as there may be, in one endpoint."""
    steps = [{"regex": f"a{index}", "targetLabel": f"l{index}"} for index in range(10_000)]
    yield _monitor([{"port": "web", "relabelings": steps}])


def most_patterns() -> Iterator[Object]:
    """As heavy patterns as there may be together."""
    steps = [{"regex": f"{index}" + "\\PN" * 330, "action": "keep"} for index in range(10)]
    yield _monitor([{"port": "web", "relabelings": steps}])


def most_expressions() -> Iterator[Object]:
    """As many words and signs as expressions may have, in one object."""
    rules = [{"record": "a:b", "expr": f"a{index}" + "+a" * 9_000} for index in range(8)]
    yield _rule(rules)


def most_templates() -> Iterator[Object]:
    """As long templates as there may be."""
    texts = {f"t{index}": "{{ $value }}" * 20_000 for index in range(2)}
    yield _rule([{"alert": "A", "expr": "up", "annotations": texts}])


def most_items() -> Iterator[Object]:
    """As many labels to group by as there may be."""
    labels = [f"l{index}" for index in range(20_000)]
    yield _alerting({"groupBy": labels}, {"webhookConfigs": [{"url": "http://a"}]})


def most_routes() -> Iterator[Object]:
    """Routes and matchers, as many members as there may be."""
    matchers = [{"name": "a", "value": "b", "matchType": "="}] * 4
    routes = [{"receiver": "r", "matchers": matchers}] * 3_000
    yield _alerting({"routes": routes}, {"webhookConfigs": [{"url": "http://a"}]})


def most_values() -> Iterator[Object]:
    """A large value, as often as it may be named."""
    data = {"token": "t" * 900_000}
    metadata = {"name": "large", "namespace": "tenant"}
    yield {"apiVersion": "v1", "kind": "Secret", "metadata": metadata, "stringData": data}
    token = {"name": "large", "key": "token"}
    yield _monitor([{"port": "web", "bearerTokenSecret": token}] * 4)


def most_authorities() -> Iterator[Object]:
    """A large file of certificates, looked at as often as it may be."""
    lines = "\n".join(["MIIB" + "A" * 60] * 20)
    block = f"-----BEGIN CERTIFICATE-----\n{lines}\n-----END CERTIFICATE-----\n"
    metadata = {"name": "large", "namespace": "tenant"}
    data = {"ca": block * (900_000 // len(block))}
    yield {"apiVersion": "v1", "kind": "Secret", "metadata": metadata, "stringData": data}
    authority = {"ca": {"secret": {"name": "large", "key": "ca"}}}
    yield _monitor([{"port": "web", "tlsConfig": authority}] * 70)


def most_products() -> Iterator[Object]:
    """Labels to copy, for each of many endpoints."""
    labels = [f"l{index}" for index in range(19_000)]
    spec = {"selector": {}, "endpoints": [{"port": "a"}] * 2_000, "targetLabels": labels}
    yield _object("ServiceMonitor", spec)


CASES: Final[dict[str, Callable[[], Iterator[Object]]]] = {
    "quiet": quiet,
    "relabelings": patterns_in_relabelings,
    "patterns in PromQL": patterns_in_expressions,
    "Secret x 600": value_named_often,
    "80,000 endpoints": many_endpoints,
    "long expressions": long_expressions,
    "long annotation": long_annotation,
    "groupBy": long_grouping,
    "no room": large_configs,
    "most endpoints": most_endpoints,
    "most relabelings": most_relabelings,
    "most patterns": most_patterns,
    "most expressions": most_expressions,
    "most templates": most_templates,
    "most items": most_items,
    "most routes": most_routes,
    "most values": most_values,
    "most authorities": most_authorities,
    "most products": most_products,
}

_EVERYTHING: Final = ("serviceMonitor", "podMonitor", "probe", "scrapeConfig", "rule")


def workloads() -> Iterator[Object]:
    """A Prometheus and an Alertmanager that select all there is."""
    metadata = {"name": "main", "namespace": "monitoring"}
    chosen: Object = {
        f"{kind}{what}": {} for kind in _EVERYTHING for what in ("Selector", "NamespaceSelector")
    }
    alerting: Object = {"alertmanagerConfigSelector": {}, "alertmanagerConfigNamespaceSelector": {}}
    for kind, spec in (("Prometheus", chosen), ("Alertmanager", alerting)):
        yield {"apiVersion": f"{_GROUP}/v1", "kind": kind, "metadata": metadata, "spec": spec}
    for name in ("monitoring", "tenant"):
        yield {"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": name}}


def write(folder: Path, objects: Iterator[Object]) -> None:
    """Write manifests, each to a file; JSON is YAML."""
    folder.mkdir(parents=True)
    for index, each in enumerate((*workloads(), *objects)):
        (folder / f"{index:03}.json").write_bytes(msgspec.json.encode(each))


# In a small process of its own: a child begins with the peak of its parent.
_RUN: Final = """
import json, os, sys
log, *command = sys.argv[1:]
out = os.open(log, os.O_WRONLY | os.O_CREAT)
actions = [(os.POSIX_SPAWN_DUP2, out, number) for number in (1, 2)]
child = os.posix_spawn(command[0], command, os.environ, file_actions=actions)
_, status, used = os.wait4(child, 0)
seconds = used.ru_utime + used.ru_stime
print(json.dumps([seconds, used.ru_maxrss, os.waitstatus_to_exitcode(status)]))
"""


def cost_of(words: list[str], log: Path) -> Cost:
    """Run `stoker` with these words, and say what it took."""
    command = [sys.executable, "-c", _RUN, str(log), sys.executable, "-m", "stoker", *words]
    done = subprocess.run(command, capture_output=True, check=True)
    seconds, peak, status = msgspec.json.decode(done.stdout)
    return Cost(seconds, peak / _MIB, status)


def report() -> bool:
    """Print the table; False where something costs too much."""
    print(f"{'case':22} {'CPU s':>8} {'MiB':>8} {'status':>7}")
    fine = True
    with tempfile.TemporaryDirectory() as name:
        for title, objects in CASES.items():
            folder = Path(name, title.replace(" ", "-"))
            write(folder / "in", objects())
            words = ["render", str(folder / "in"), "-o", str(folder / "out")]
            found = cost_of(words, folder / "log")
            within = found.seconds <= MOST_SECONDS and found.mib <= MOST_MIB
            fine = fine and within
            shown = "" if within else "  over the goal"
            print(
                f"{title:22} {found.seconds:8.2f} {found.mib:8.0f} {found.status:7}{shown}",
                flush=True,
            )
    return fine
