"""Workloads that nobody thought of, on their way to Kubernetes objects.

What must hold for each of them, however strange:

- Nothing is raised but the documented errors, and those name the field.
- The same workload makes the same objects, which are JSON.
- Pods carry the labels that their StatefulSet or DaemonSet selects.
- No two containers, volumes or mounts of ours get in each other's way unseen.

Whether an API server takes the objects is for `tests/live` to ask.
"""

import traceback
from collections import Counter
from collections.abc import Iterator
from copy import deepcopy
from functools import cache
from random import Random
from typing import Any, Final

import msgspec
from msgspec import Struct
from msgspec.structs import replace

from stoker.api.core import Object
from stoker.api.schema import Schema
from stoker.build.objects import objects_of
from stoker.build.site import Site
from stoker.errors import DecodeError, WorkloadError
from stoker.plan import KeptScraper
from stoker.settings import Capabilities, ObjectSettings, Reloader
from tests.conformance.cases import default_folder, suites
from tests.conformance.compare import without_nulls
from tests.conformance.generated import schema_of_version
from tests.fuzz.examples import Spec
from tests.fuzz.objects import Texts, leaves_of, manifest, refer, spoil, version_called
from tests.fuzz.rich import RICH, TRICKS
from tests.fuzz.strings import HOSTILE
from tests.fuzz.world import admitted, assets, typed

NAMESPACE: Final = "monitoring"
COUNTS: Final = ("tried", "admitted", "built", "objects", "refused with a path", "undecodable")
_SUITES: Final = {
    "statefulset-prometheus": "Prometheus",
    "statefulset-agent": "PrometheusAgent",
    "daemonset-agent": "PrometheusAgent",
}
_WORDS: Final = (
    *("main", "data", "scratch", "web", "x", "registry.example/image:v1", "/srv/data", "/data"),
    *("10m", "1Gi", "100", "0.5", "50%", "example.com/zone", "topology.kubernetes.io/zone"),
    *("10.0.0.1", "prometheus", "config-reloader", "config", "TCP", "Exists", "Always", "30s"),
)
_SETTINGS: Final = (
    ObjectSettings(),
    ObjectSettings(labels={"team": "x", "managed-by": "y"}, annotations={"note": "z"}),
    ObjectSettings(reloader=Reloader(probes=True, cpu_limit="0"), local_host="127.0.0.1"),
)


class Attempt(Struct, frozen=True, kw_only=True):
    """A workload that was tried, and what became of it: objects, or the field that is at fault.

    One that the API server would not have `admitted` may be older than the schema. A `problem` is
    a property that does not hold.
    """

    seed: int
    workload: dict[str, Any]
    admitted: bool
    objects: tuple[Object, ...] = ()
    refusal: str = ""
    undecodable: bool = False
    problem: str = ""


def attempts(seed: int, count: int) -> Iterator[Attempt]:
    """That many workloads, one for each number from the seed on."""
    return (attempt(number) for number in range(seed, seed + count))


def counted(tried: list[Attempt]) -> Counter[str]:
    """What became of all of them."""
    return Counter(
        {
            "tried": len(tried),
            "admitted": sum(each.admitted for each in tried),
            "built": sum(bool(each.objects) for each in tried),
            "objects": sum(len(each.objects) for each in tried),
            "refused with a path": sum(bool(each.refusal) for each in tried),
            "undecodable": sum(each.undecodable for each in tried),
        }
    )


def attempt(seed: int) -> Attempt:
    """The workload of a number, and what becomes of it."""
    random = Random(f"objects {seed}")
    kind = "Prometheus" if random.random() < 0.6 else "PrometheusAgent"
    made, sound = admitted(manifest(kind, _spec(kind, random), NAMESPACE, "main"))
    made["metadata"] |= {"uid": f"{seed:08x}-0000-4000-8000-000000000000"}
    found = Attempt(seed=seed, workload=made, admitted=sound)
    settings = random.choice(_SETTINGS)
    try:
        objects = built(made, settings)
        problem = _problem(objects) or _changed(objects, built(made, settings))
    except DecodeError:
        return replace(found, undecodable=True)
    except WorkloadError as error:
        # Several findings are one error, each with its path.
        missing = "" if str(error).startswith(("spec.", "spec:")) else f"no path: {error}"
        return replace(found, refusal=str(error), problem=missing)
    except Exception:
        return replace(found, problem=traceback.format_exc(limit=-8))
    return replace(found, objects=tuple(objects), problem=problem)


def built(workload: dict[str, Any], settings: ObjectSettings) -> list[Object]:
    """What the operator would write; WorkloadError with the reason why there is nothing."""
    scraper = typed(_sent(workload))
    kept = KeptScraper(scraper, Capabilities(), assets())
    contents = kept.contents(assets())
    return objects_of(Site(scraper, kept.scraper, settings), contents)


def _sent(workload: dict[str, Any]) -> dict[str, Any]:
    """The workload as it comes from an API server; DecodeError where JSON cannot hold it."""
    try:
        sent: dict[str, Any] = msgspec.json.decode(msgspec.json.encode(workload))
    except UnicodeEncodeError as error:
        raise DecodeError("", str(error)) from None
    return sent


# --- What is tried --------------------------------------------------------------------------------


def _spec(kind: str, random: Random) -> Spec:
    """A spec that shapes objects, made in one way or another."""
    known = random.choice(_known()[kind])
    spec: Spec = deepcopy(known) if random.random() < 0.6 else _from_schema(kind, random)
    if random.random() < 0.5:
        other = random.choice(_known()[kind])
        spec |= {name: deepcopy(other[name]) for name in other if random.random() < 0.5}
    for _ in range(random.choice((0, 0, 1, 1, 2, 3))):
        spec |= deepcopy(random.choice(TRICKS))
    for _ in range(random.choice((0, 0, 0, 1, 2))):
        spoil(spec, random)
    refer(spec, random)
    return spec


@cache
def _known() -> dict[str, list[Spec]]:
    """Our own specs and, where they are present, the recorded ones."""
    found = {kind: list(own) for kind, own in RICH.items()}
    present = suites(default_folder())
    for name, kind in _SUITES.items():
        for case in present[name].cases() if name in present else ():
            found[kind].append(without_nulls(case.given["workload"]["spec"]))
    return found


class _Names(Texts):
    """Texts that have a chance where names, paths and quantities are wanted."""

    def _text(self, schema: Schema) -> str:
        if "pattern" in schema or "format" in schema:
            return super()._text(schema)
        return self._random.choice(_WORDS if self._random.random() < 0.95 else HOSTILE)


def _from_schema(kind: str, random: Random) -> Spec:
    """A spec made of the schema alone, about one of its fields."""
    version = version_called(kind)
    schema = schema_of_version(version)["properties"]["spec"]
    first = random.choice(list(schema["properties"]))
    below = random.choice(leaves_of(version, first))
    fill = random.choice((0, 0, 0.05, 0.1))
    spec: Spec = _Names(str(random.random()), fill).value(schema, (f".{first}", *below))
    return spec


# --- What must hold -------------------------------------------------------------------------------


def _changed(once: list[Object], again: list[Object]) -> str:
    """Whether the same workload made other objects the second time."""
    return "" if msgspec.json.encode(once) == msgspec.json.encode(again) else "not the same twice"


def _problem(objects: list[Object]) -> str:
    names = [(each["kind"], each["metadata"]["name"]) for each in objects]
    if len(names) != len(set(names)):
        return f"two objects of one name: {names}"
    return next((found for each in objects for found in _pod_problems(each)), "")


def _pod_problems(made: Object) -> Iterator[str]:
    spec = made.get("spec") or {}
    if "template" not in spec:
        return
    selected, labels = spec["selector"]["matchLabels"], spec["template"]["metadata"]["labels"]
    if not selected.items() <= labels.items():
        yield f"{made['kind']} does not select its pods: {selected} of {labels}"
    claims = [one["metadata"]["name"] for one in spec.get("volumeClaimTemplates") or ()]
    volumes = [one.get("name") for one in spec["template"]["spec"]["volumes"]]
    # Kubernetes would silently mount the claim instead of the volume.
    if set(claims) & set(volumes):
        yield f"a claim hides a volume: {claims} among {volumes}"
