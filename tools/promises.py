"""What is promised to programs: names of fields, flags, metrics, and keys of JSON output.

`tests/promised/` has them as lists. What comes is added by `make reference`; nothing is ever taken
out but by hand, because somebody's manifest, alert or script ends there (docs/versioning.md).
"""

from __future__ import annotations

import argparse
import contextlib
import io
import json
import tempfile
from collections.abc import Callable, Iterator
from functools import cache
from importlib import import_module
from pathlib import Path
from typing import Any

from stoker.__main__ import main
from stoker.api.crd import ConversionWebhook, Kind, manifest, with_webhook
from stoker.api.kinds import KINDS
from stoker.cli import flag_table, webhook_flags
from stoker.cli.commands import COMMANDS, GO_FLAGS
from stoker.cli.peer_flags import flags_of
from stoker.cli.takeover_text import summary
from stoker.cluster.takeover.kubelet import KubeletHandover
from stoker.cluster.takeover.peer import PeerOperator
from stoker.cluster.takeover.report import Adoption, TakeoverReport
from stoker.cluster.takeover.rights import RightsHandover
from stoker.compare.definitions import Age, DefinitionHandover
from stoker.compare.handover import Disagreement, Handover
from stoker.compare.lines import FileDiff
from stoker.compare.objects import Action, ObjectChange
from stoker.reloader.metrics import METRICS, PORTION_METRICS
from stoker.web.metric_table import PREFIX, TABLE
from stoker.web.webhook_metrics import WebhookMetrics
from tools import outlines

ROOT = Path(__file__).parent.parent
FOLDER = Path("tests/promised")

Names = frozenset[str]


# --- Fields ---------------------------------------------------------------------------------------


@cache
def fields() -> Names:
    """Every field of every version of a kind, by its path."""
    return frozenset(
        f"{kind.name}/{version['name']}{path}"
        for kind in KINDS
        for version in _definition(kind)["spec"]["versions"]
        for path in _paths(version["schema"]["openAPIV3Schema"])
    )


def _definition(kind: Kind) -> dict[str, Any]:
    """The definition with all versions that can be served."""
    if any(version.converted for version in kind.versions):
        return manifest(kind, serving=with_webhook(kind, ConversionWebhook("", "")))
    return manifest(kind)


def _paths(schema: dict[str, Any], path: str = "") -> Iterator[str]:
    for name, inner in schema.get("properties", {}).items():
        yield f"{path}.{name}"
        yield from _paths(inner, f"{path}.{name}")
    for member, mark in (("items", "[]"), ("additionalProperties", "{}")):
        if isinstance(schema.get(member), dict):
            yield from _paths(schema[member], path + mark)


# --- Flags ----------------------------------------------------------------------------------------


@cache
def flags() -> Names:
    """Every flag of every command."""
    own = {"operator": flag_table.FLAGS, "webhook": webhook_flags.FLAGS}
    found = {f"{command} --{name}" for command in GO_FLAGS for name in own[command]}
    for command in COMMANDS:
        if command not in GO_FLAGS:
            parser = argparse.ArgumentParser()
            import_module(f"stoker.cli.{command}").arguments(parser)
            found.update(_options(command, parser))
    return frozenset(found)


def _options(command: str, parser: argparse.ArgumentParser) -> Iterator[str]:
    for action in parser._actions:
        if isinstance(action, argparse._SubParsersAction):
            for name, inner in action.choices.items():
                yield f"{command} {name}"
                yield from _options(f"{command} {name}", inner)
        else:  # Those that help does not show go on working.
            yield from (f"{command} {option}" for option in action.option_strings)
            yield from (f"{command} {action.option_strings[-1]}={each}" for each in _words(action))


def _words(action: argparse.Action) -> Iterator[str]:
    if action.option_strings and action.choices and not action.dest.startswith("log"):
        yield from (str(each) for each in action.choices)


# --- Metrics --------------------------------------------------------------------------------------


@cache
def metrics() -> Names:
    """Every metric with its type and labels."""
    webhook = WebhookMetrics("", ()).registry.families()
    return frozenset(
        {f"operator {_metric(PREFIX + row.name, row.kind, row.labels)}" for row in TABLE}
        | {f"webhook {_metric(each.name, type(each), each.labels)}" for each in webhook}
        | {f"reloader {each.name} {each.kind}" for each in (*METRICS, *PORTION_METRICS)}
    )


def _metric(name: str, kind: type, labels: tuple[str, ...]) -> str:
    return f"{name} {kind.__name__.lower()}" + (f" by {', '.join(labels)}" if labels else "")


# --- Output ---------------------------------------------------------------------------------------


@cache
def output() -> Names:
    """Every key that commands print as JSON, by its path, when they are run on our examples."""
    example = str(ROOT / "example")
    calls = {
        "lint": ["lint", "--format", "json", example],
        "explain": ["explain", "servicemonitor", "shop/cart", "-o", "json", "--from", example],
        "status": ["status", "-o", "json", "-f", example],
        "migrate agent-mode": _migrating(),
    }
    found: set[str] = set()
    for name, words in calls.items():
        found.update(f"{name}: {path}" for path in _keys(_printed(words)))
    with tempfile.TemporaryDirectory() as nothing:
        Path(nothing, "namespace.yaml").write_text(_NAMESPACE)
        told = _printed(["diff", "--from", nothing, "-o", "json", example])
    found.update(f"diff: {path}" for path in _keys(told))
    return frozenset(found | {f"migrate takeover: {path}" for path in _keys([_taken_over()])})


_NAMESPACE = "apiVersion: v1\nkind: Namespace\nmetadata: {name: shop}\n"


def _migrating() -> list[str]:
    agent = str(ROOT / "example" / "agent.yaml")
    return ["migrate", "agent-mode", "--to", "DaemonSet", "-o", "json", agent]


def _taken_over() -> dict[str, Any]:
    """What is said of a takeover, with one of everything: it takes a cluster to be seen."""
    peer = PeerOperator(
        namespace="",
        name="",
        container="",
        image="",
        version="",
        account="",
        replicas=1,
        pods={},
        arguments=("--log-level=info",),
    )
    changed = ObjectChange(
        kind="", namespace="", name="", action=Action.CHANGED, files=(FileDiff("", ()),)
    )
    disagreement = Disagreement(resource="", before="", after="", reason="")
    report = TakeoverReport(
        source="",
        workloads=(Handover(workload="", disagreements=(disagreement,), sets=(changed,)),),
        left_alone=(),
        unusable=(),
        kubelet=KubeletHandover(),
        adoption=Adoption(),
        definitions=(DefinitionHandover(kind="", age=Age.SAME),),
        rights=RightsHandover(),
        unknown=(),
    )
    return {"schema": ""} | summary(peer, flags_of(peer), report)


def _printed(words: list[str]) -> list[Any]:
    """The JSON documents that a command prints."""
    said, found = io.StringIO(), []
    with contextlib.redirect_stdout(said), contextlib.redirect_stderr(io.StringIO()):
        main(words)
    rest = said.getvalue().strip()
    while rest:
        value, end = json.JSONDecoder().raw_decode(rest)
        found.append(value)
        rest = rest[end:].strip()
    return found


def _keys(value: Any, path: str = "") -> Iterator[str]:
    if isinstance(value, dict):
        for key, inner in value.items():
            yield f"{path}.{key}"
            yield from _keys(inner, f"{path}.{key}")
    elif isinstance(value, list):
        for inner in value:
            yield from _keys(inner, f"{path}[]" if path else "")


# --- Lists ----------------------------------------------------------------------------------------

LISTS: dict[str, Callable[[], Names]] = {
    "fields": fields,
    "flags": flags,
    "metrics": metrics,
    "output": output,
}


def recorded(name: str) -> Names:
    """What has been promised."""
    text = _file(name).read_text() if _file(name).exists() else ""
    return frozenset(outlines.unpacked(text) if name == "fields" else text.splitlines())


def made() -> dict[Path, str]:
    """The lists with what has come."""
    return {
        FOLDER / f"{name}.txt": _text(name, recorded(name) | present())
        for name, present in LISTS.items()
    }


def _file(name: str) -> Path:
    return ROOT / FOLDER / f"{name}.txt"


def _text(name: str, promised: Names) -> str:
    if name == "fields":
        return outlines.packed(promised)
    return "".join(f"{each}\n" for each in sorted(promised))
