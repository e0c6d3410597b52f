"""Check manifests as an API server with our definitions would, without one.

  stoker lint deploy/                            every .yaml, .yml and .json file below a folder
  helm template chart/ | stoker lint -           what a tool prints
  stoker lint -o json deploy/ | jq .path         one JSON object for each problem
  stoker lint -o github deploy/                  marks in a pull request, by GitHub Actions
  stoker lint -o sarif deploy/ > out.sarif       for code scanning

Each problem stands on a line: file, line, document, object, severity, field, reason.

  deploy/cart.yaml:9 doc 1 ServiceMonitor shop/cart  error  spec.endpoints[0].interval: `30x` is …

Objects of other groups (Service, Deployment, …) are passed over. A field that does not exist is a
warning, because an API server accepts the object and drops the field; with --strict it is an error.
So is what a workload has for nothing, such as a feature that its version does not know. What the
operator could make nothing of is an error, though an API server accepts it.
Where Nodes are among the manifests, it is a warning that no agent on nodes is on some of them.

Exit status: 0 if all is well (warnings may be shown), 1 if something is wrong or unreadable,
2 if the command was not understood or there was no manifest at all.
"""

import argparse
import json
import os
import sys
from typing import TYPE_CHECKING, Any, NamedTuple

from stoker.cli.options import (
    JSON,
    TEXT,
    YAML,
    flag_arguments,
    output_argument,
    path_arguments,
    renamed,
)
from stoker.cli.terminal import failed, harmless
from stoker.cli.values import print_value

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

    from stoker.limits import Limits
    from stoker.offline.manifests import Document, Manifest, Unreadable
    from stoker.offline.problems import Problem
    from stoker.offline.reports import Entry
    from stoker.ref import Ref
    from stoker.yamltree import Places

SCHEMA = "stoker/lint/v1"
_FORMATS = (TEXT, JSON, YAML, "github", "sarif")


def arguments(parser: argparse.ArgumentParser) -> None:
    """Declare the options of `stoker lint`."""
    path_arguments(parser)
    output_argument(parser, *_FORMATS)
    renamed(parser, "--format", to="--output", choices=_FORMATS)
    parser.add_argument("--strict", action="store_true", help="count warnings as errors")
    flag_arguments(parser)
    renamed(
        parser,
        "--resource-limits",
        to="--flag resource-limits=…",
        meant="resource-limits={}".format,
    )


def run(options: argparse.Namespace) -> int:
    """Report on the manifests at the paths; return the exit status."""
    from stoker.cli.options import flag_settings
    from stoker.errors import StokerError
    from stoker.offline.manifests import read

    try:
        limits = flag_settings(options.flag).limits
    except StokerError as error:
        return failed("lint", error)
    tally = _Tally()
    entries = _entries(read(options.paths), tally, _Rules(options.strict, limits))
    _report(entries, options.output)
    if not tally.files:
        return failed("lint", f"no manifest found in {', '.join(options.paths)}")
    _print(tally.summary(), sys.stdout if options.output == TEXT else sys.stderr)
    return 1 if tally.faulty or tally.unreadable else 0


def _report(entries: "Iterable[Entry]", form: str) -> None:
    """Print the report; what is one document when all is known, the rest at once."""
    from stoker import __version__
    from stoker.offline.reports import github_line, sarif

    if form == "sarif":
        print(json.dumps(sarif(entries, __version__), indent=2))
        return
    for entry in entries:
        if form in (JSON, YAML):
            print_value(SCHEMA, entry._asdict(), form, indent=None)
        else:
            _print(_as_text(entry) if form == TEXT else harmless(github_line(entry)), sys.stdout)


class _Tally:
    """What was seen, in numbers."""

    def __init__(self) -> None:
        self.files = 0
        self.ours = self.faulty = self.passed_over = self.unreadable = self.warnings = 0
        self._file = ""

    def open(self, file: str) -> None:
        """Count a file at its first document; the documents of a file follow each other."""
        self.files += file != self._file
        self._file = file

    def summary(self) -> str:
        """The last line of the report."""
        ours = f"{self.ours} ours"
        if self.ours:
            verdicts = [f"{self.ours - self.faulty} valid", f"{self.faulty} with errors"]
            ours += f" ({', '.join([*verdicts, _counted(self.warnings, 'warning')])})"
        return (
            f"{_counted(self.files, 'file')}, {_counted(self.ours + self.passed_over, 'object')}: "
            f"{ours}, {self.passed_over} passed over, {self.unreadable} unreadable"
        )


def _counted(number: int, noun: str) -> str:
    return f"{number} {noun}" + ("" if number == 1 else "s")


class _Rules(NamedTuple):
    """How strictly manifests are looked at."""

    strict: bool
    limits: "Limits"


def _entries(readings: "Iterable[Document]", tally: _Tally, rules: _Rules) -> "Iterator[Entry]":
    from stoker.offline.manifests import Manifest
    from stoker.offline.problems import is_node, is_ours, without_kind

    known: dict[Ref, str] = {}
    agents: list[Manifest] = []
    nodes: list[Manifest] = []
    for reading in readings:
        tally.open(reading.source)
        if not isinstance(reading, Manifest):
            tally.unreadable += 1
            yield _unreadable(reading)
        elif untyped := without_kind(reading.object):
            tally.unreadable += 1
            yield _entry(reading, _places(reading), untyped)
        elif is_ours(reading.object):
            entries = _verdict(reading, known, rules)
            tally.ours += 1
            tally.faulty += any(entry.severity == "error" for entry in entries)
            tally.warnings += sum(entry.severity == "warning" for entry in entries)
            yield from entries
            if _is_sound_agent(reading, entries):
                agents.append(reading)
        else:
            tally.passed_over += 1
            if is_node(reading.object):
                nodes.append(reading)
    if agents and nodes:
        yield from _without_agents(agents, nodes, tally, rules)


def _is_sound_agent(manifest: "Manifest", entries: "list[Entry]") -> bool:
    sound = all(entry.severity != "error" for entry in entries)
    return sound and manifest.object.get("kind") == "PrometheusAgent"


def _without_agents(
    agents: "list[Manifest]", nodes: "list[Manifest]", tally: _Tally, rules: _Rules
) -> "Iterator[Entry]":
    """What can only be told when all is read: nodes that agents leave out."""
    from stoker.offline.uncovered import without_agents

    for manifest, problem in without_agents(agents, nodes):
        entry = _entry(manifest, _places(manifest), problem, rules.strict)
        tally.faulty += entry.severity == "error"
        tally.warnings += entry.severity == "warning"
        yield entry


def _unreadable(found: "Unreadable") -> "Entry":
    from stoker.offline.problems import UNREADABLE
    from stoker.offline.reports import Entry

    where = (found.source, found.document, found.line)
    return Entry(*where, "", "", "", found.path, "error", UNREADABLE, found.reason)


def _verdict(manifest: "Manifest", known: "dict[Ref, str]", rules: _Rules) -> "list[Entry]":
    """The problems of an object in the order of their lines."""
    from stoker.offline.problems import defined_twice, problems, workload_problems

    places = _places(manifest)
    found = problems(manifest.object, rules.limits)
    if all(problem.warning for problem in found):
        found += workload_problems(manifest.object)
    before = _defined_before(manifest, places, known)
    if before:
        found.append(defined_twice(before))
    entries = [_entry(manifest, places, problem, rules.strict) for problem in found]
    return sorted(entries, key=lambda entry: entry.line)


def _entry(
    manifest: "Manifest", places: "Places", problem: "Problem", strict: bool = False
) -> "Entry":
    from stoker.offline.reports import Entry

    path = ".".join(part for part in (manifest.path, problem.path) if part)
    line, column = places.place(path)
    where = (manifest.source, manifest.document, line)
    severity = "warning" if problem.warning and not strict else "error"
    kind, namespace, name = _identity(manifest.object)
    return Entry(
        *where, kind, namespace, name, path, severity, problem.reason, problem.message, column
    )


def _places(manifest: "Manifest") -> "Places":
    from stoker.yamltree import Places

    return Places(manifest.text, manifest.line)


def _identity(manifest: dict[str, Any]) -> "Ref":
    """Kind, namespace and name, empty where they are missing or not even text."""
    from stoker.ref import Ref

    metadata = manifest.get("metadata")
    fields = metadata if isinstance(metadata, dict) else {}
    return Ref(*map(_text, (manifest.get("kind"), fields.get("namespace"), fields.get("name"))))


def _text(value: Any) -> str:
    return value if isinstance(value, str) else ""


def _defined_before(manifest: "Manifest", places: "Places", known: "dict[Ref, str]") -> str:
    """Where an object of the same kind and name stood before, or nothing."""
    identity = _identity(manifest.object)
    if not identity.name:
        return ""
    if identity in known:
        return known[identity]
    known[identity] = f"{manifest.source}:{places.line(manifest.path)} doc {manifest.document}"
    return ""


def _as_text(entry: "Entry") -> str:
    place = entry.file + (f":{entry.line}" if entry.line else "")
    document = f"doc {entry.document}" if entry.document else ""
    subject = " ".join(part for part in (place, document, entry.subject) if part)
    return f"{harmless(subject)}  {_severity(entry.severity)}  {harmless(entry.text)}"


def _severity(word: str) -> str:
    if not sys.stdout.isatty() or os.environ.get("NO_COLOR"):
        return word
    return f"\033[{31 if word == 'error' else 33}m{word}\033[0m"


def _print(line: str, stream: Any) -> None:
    """Print in the letters that the stream knows; the others are spelt out."""
    encoding = stream.encoding or "utf-8"
    print(line.encode(encoding, "backslashreplace").decode(encoding), file=stream)
