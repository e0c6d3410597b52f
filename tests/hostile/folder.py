"""Folders of hostile objects through the real command, and what the real programs say of the rest.

    objects ──> folder/*.json ──stoker render -o──> out/readable/… ──promtool, amtool──> refusals

Whatever is refused is a defect: somebody's object stops everybody. Whose it is, is found by trying
each object alone, and then all that the refusal does not need is taken away from it.
"""

import json
import re
import subprocess
import sys
from collections.abc import Callable, Iterable, Mapping, Sequence
from copy import deepcopy
from functools import partial
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any, Final

from msgspec import Struct

from stoker.offline.manifests import Manifest
from stoker.offline.world import World, world_of
from stoker.settings import Capabilities
from tests import amtool, promtool
from tests.fuzz.properties import GONE, OF_A_TARGET
from tests.hostile.payload import Json
from tests.hostile.world import FEATURE
from tests.planning import decide
from tools.build import binaries

_ALERTING: Final = "alertmanager-"
_FEATURED: Final = "prometheus-monitoring-enforced/"
_CHECKED: Final = re.compile(r"^Checking (?P<file>\S+)$", re.MULTILINE)
_ATTEMPTS: Final = 60
_MADE_SMALL: Final = 5
_AT_ONCE: Final = 400


class Refusal(Struct, frozen=True):
    """A file that a program refuses, what it says, and the smallest object that is at fault."""

    file: str
    complaint: str
    culprit: Json | None = None

    def __str__(self) -> str:
        return f"{self.file}: {self.complaint[:500]}\n{json.dumps(self.culprit)[:3000]}"


def fill(folder: Path, objects: Iterable[Json]) -> None:
    """Write the objects, each to a file of its own."""
    folder.mkdir(parents=True, exist_ok=True)
    for number, each in enumerate(objects):
        (folder / f"{number:05}.json").write_text(json.dumps(each), encoding="utf-8")


def render(folder: Path, out: Path) -> str:
    """Run `stoker render` on a folder; what it says about it. It must come to an end in order."""
    command = [sys.executable, "-m", "stoker", "render", str(folder), "-o", str(out)]
    done = subprocess.run(command, capture_output=True, check=False)
    said = done.stderr.decode(errors="replace")
    if done.returncode not in (0, 1):
        raise AssertionError(f"stoker render ended with {done.returncode}: {said[-3000:]}")
    if "Traceback" in said or "no configuration" in said or "no objects" in said:
        raise AssertionError(f"a workload came to nothing: {said[-3000:]}")
    return said


def refused(out: Path) -> dict[str, str]:
    """What the programs say of the files that they refuse, by the paths of these."""
    readable = out / "readable"
    texts = {str(each.relative_to(readable)): each for each in sorted(readable.rglob("*.yaml"))}
    rules = [name for name in texts if "/rules/" in name]
    alerting = [name for name in texts if name.startswith(_ALERTING)]
    configs = [name for name in texts if name not in {*rules, *alerting}]
    featured = [name for name in rules if name.startswith(_FEATURED)]
    asking: tuple[tuple[list[str], Callable[[Sequence[str]], list[str]]], ...] = (
        ([name for name in rules if name not in featured], rule_refusals),
        (featured, partial(rule_refusals, feature=FEATURE)),
        (alerting, amtool.refusals),
        (configs, configured),
    )
    found: dict[str, str] = {}
    for names, asked in asking:
        answers = asked([texts[name].read_text(encoding="utf-8") for name in names])
        found |= {name: answer for name, answer in zip(names, answers, strict=True) if answer}
    return found


def configured(texts: Sequence[str]) -> list[str]:
    """Why promtool refuses each of these configurations, some of which are for older versions."""
    answers = promtool.refusals([GONE.sub("", text) for text in texts])
    return ["" if OF_A_TARGET.match(answer) else answer for answer in answers]


def rule_refusals(texts: Sequence[str], feature: str = "") -> list[str]:
    """Why promtool refuses each of these rule files; empty for one that it takes."""
    batches = (texts[start : start + _AT_ONCE] for start in range(0, len(texts), _AT_ONCE))
    return [answer for batch in batches for answer in _rules_checked(batch, feature)]


def _rules_checked(texts: Sequence[str], feature: str) -> list[str]:
    with TemporaryDirectory() as folder:
        files = [Path(folder, f"{number}.yaml") for number in range(len(texts))]
        for file, text in zip(files, texts, strict=True):
            file.write_text(text, newline="", encoding="utf-8")
        tool = str(binaries("promtool")["promtool"])
        done = subprocess.run(
            [
                tool,
                f"--enable-feature={feature}",
                "check",
                "rules",
                "--lint=none",
                *map(str, files),
            ],
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            check=False,
        )
    output = done.stdout.decode(errors="replace")
    starts = list(_CHECKED.finditer(output))
    assert len(starts) == len(texts), output[-2000:]
    ends = [start.start() for start in starts[1:]] + [len(output)]
    said = [output[start.end() : end] for start, end in zip(starts, ends, strict=True)]
    return ["" if "SUCCESS" in each else " ".join(each.split()) for each in said]


# --- Whose fault it is ----------------------------------------------------------------------------


def blamed(objects: Sequence[Json], found: Mapping[str, str]) -> list[Refusal]:
    """For each refused file the object at fault; of the first few as small as it can be."""
    return [
        _blamed(objects, file, complaint) if number < _MADE_SMALL else Refusal(file, complaint)
        for number, (file, complaint) in enumerate(sorted(found.items()))
    ]


def _blamed(objects: Sequence[Json], file: str, complaint: str) -> Refusal:
    asked = _judge(objects, file)
    ours = [each for each in objects if _is_resource(each) and _may_be_in(each, file)]
    answers = asked([[each] for each in ours])
    culprits = [each for each, answer in zip(ours, answers, strict=True) if answer]
    if not culprits:
        return Refusal(f"together: {file}", complaint)
    shortest = min(culprits, key=lambda each: len(json.dumps(each)))
    small = reduced(shortest, lambda one: bool(asked([[one]])[0]))
    return Refusal(file, asked([[small]])[0], small)


def _may_be_in(manifest: Json, file: str) -> bool:
    """Whether an object can be at fault for a file: one with rules is of one PrometheusRule."""
    kind, metadata = manifest["kind"], manifest["metadata"]
    if "/rules/" in file:
        name = f"/{metadata['namespace']}-{metadata['name']}-"
        return bool(kind == "PrometheusRule") and name in file
    return bool(kind != "PrometheusRule") and (kind == "AlertmanagerConfig") == file.startswith(
        _ALERTING
    )


def _is_resource(manifest: Json) -> bool:
    return manifest["kind"] not in ("Prometheus", "Alertmanager", "Secret", "ConfigMap")


def _judge(objects: Sequence[Json], file: str) -> Callable[[list[list[Json]]], list[str]]:
    """Asks what the program says of the file when a workload has these resources alone."""
    name = file.partition("/")[0].partition("-monitoring-")[2]
    kind = "Alertmanager" if file.startswith(_ALERTING) else "Prometheus"
    others = [each for each in objects if not _is_resource(each)]
    world = _world(others)
    (workload,) = (
        each
        for each in world.workloads
        if (type(each).__name__, each.metadata.name) == (kind, name)
    )

    def asked(groups: list[list[Json]]) -> list[str]:
        found = [_world(group).resources for group in groups]
        made = [decide(workload, each, {}, world.assets, Capabilities()) for each in found]
        if kind == "Alertmanager":
            return amtool.refusals([each.text for each in made])
        if "/rules/" not in file:
            return configured([each.text for each in made])
        texts = ["\n".join(files.values()) for each in made for files in each.contents.rule_files]
        return rule_refusals(texts, FEATURE if file.startswith(_FEATURED) else "")

    return asked


def _world(objects: Iterable[Json]) -> World:
    return world_of(Manifest("", 1, 1, each) for each in objects)


def reduced(manifest: Json, fails: Callable[[Json], bool]) -> Json:
    """The object without the members of its spec that can go while it still fails."""
    left = _ATTEMPTS
    again = True
    while again and left:
        again = False
        for way in list(_ways(manifest["spec"])):
            smaller = deepcopy(manifest)
            holder: Any = smaller["spec"]
            for step in way[:-1]:
                holder = holder[step]
            del holder[way[-1]]
            left -= 1
            if fails(smaller):
                manifest, again = smaller, True
                break
            if not left:
                break
    return manifest


def _ways(value: Any, way: tuple[Any, ...] = ()) -> Iterable[tuple[Any, ...]]:
    """The ways to all members and items, outer ones first."""
    keys = list(value) if isinstance(value, dict) else range(len(value))
    for key in keys:
        yield (*way, key)
    for key in keys:
        if isinstance(value[key], dict | list):
            yield from _ways(value[key], (*way, key))
