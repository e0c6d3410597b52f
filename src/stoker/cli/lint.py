"""Check manifests as an API server with our definitions would, without one.

  stoker lint deploy/                            every .yaml, .yml and .json file below a folder
  helm template chart/ | stoker lint -           what a tool prints
  stoker lint --format json deploy/ | jq .path   one JSON object for each problem

Each problem stands on a line: file, line, document, object, severity, field, reason.

  deploy/cart.yaml:9 doc 1 ServiceMonitor shop/cart  error  spec.endpoints[0].interval: `30x` is …

Objects of other groups (Service, Deployment, …) are passed over. A field that does not exist is a
warning, because an API server accepts the object and drops the field; with --strict it is an error.

Exit status: 0 if all is well (warnings may be shown), 1 if something is wrong or unreadable,
2 if the command was not understood or there was no manifest at all.
"""

import argparse
import json
import os
import sys
from typing import TYPE_CHECKING, Any, NamedTuple

from stoker.cli.terminal import harmless

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

    from stoker.offline.manifests import Manifest, Reading, Unreadable
    from stoker.offline.problems import Problem
    from stoker.yamltree import Places

_UNREADABLE = "Unreadable"


def arguments(parser: argparse.ArgumentParser) -> None:
    """Declare the options of `stoker lint`."""
    parser.add_argument(
        "paths", metavar="PATH", nargs="+", help="a file, a folder, or - for standard input"
    )
    parser.add_argument(
        "--format", choices=("text", "json"), default="text", help="how to report (default: text)"
    )
    parser.add_argument("--strict", action="store_true", help="count warnings as errors")


def run(options: argparse.Namespace) -> int:
    """Report on the manifests at the paths; return the exit status."""
    from stoker.offline.manifests import read

    tally = _Tally()
    show = _as_json if options.format == "json" else _as_text
    for entry in _entries(read(options.paths), tally, options.strict):
        _print(show(entry), sys.stdout)
    if not tally.files:
        _print(f"stoker lint: no manifest found in {', '.join(options.paths)}", sys.stderr)
        return 2
    _print(tally.summary(), sys.stdout if options.format == "text" else sys.stderr)
    return 1 if tally.faulty or tally.unreadable else 0


class _Entry(NamedTuple):
    """A line of the report; its names are the keys of the JSON format."""

    file: str
    document: int
    line: int
    kind: str
    namespace: str
    name: str
    path: str
    severity: str
    reason: str
    message: str


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


def _entries(readings: "Iterable[Reading]", tally: _Tally, strict: bool) -> "Iterator[_Entry]":
    from stoker.offline.manifests import Manifest
    from stoker.offline.problems import is_ours, without_kind

    known: dict[tuple[str, str, str], str] = {}
    for reading in readings:
        tally.open(reading.source)
        if not isinstance(reading, Manifest):
            tally.unreadable += 1
            yield _unreadable(reading)
        elif untyped := without_kind(reading.object):
            tally.unreadable += 1
            yield _entry(reading, _places(reading), untyped)
        elif is_ours(reading.object):
            entries = _verdict(reading, known, strict)
            tally.ours += 1
            tally.faulty += any(entry.severity == "error" for entry in entries)
            tally.warnings += sum(entry.severity == "warning" for entry in entries)
            yield from entries
        else:
            tally.passed_over += 1


def _unreadable(found: "Unreadable") -> _Entry:
    where = (found.source, found.document, found.line)
    return _Entry(*where, "", "", "", found.path, "error", "Unreadable", found.reason)


def _verdict(
    manifest: "Manifest", known: dict[tuple[str, str, str], str], strict: bool
) -> list[_Entry]:
    """The problems of an object in the order of their lines."""
    from stoker.offline.problems import defined_twice, problems

    places = _places(manifest)
    found = problems(manifest.object)
    before = _defined_before(manifest, places, known)
    if before:
        found.append(defined_twice(before))
    entries = [_entry(manifest, places, problem, strict) for problem in found]
    return sorted(entries, key=lambda entry: entry.line)


def _entry(
    manifest: "Manifest", places: "Places", problem: "Problem", strict: bool = False
) -> _Entry:
    path = ".".join(part for part in (manifest.path, problem.path) if part)
    where = (manifest.source, manifest.document, places.line(path))
    severity = "warning" if problem.warning and not strict else "error"
    subject = _identity(manifest.object)
    return _Entry(*where, *subject, path, severity, problem.reason, problem.message)


def _places(manifest: "Manifest") -> "Places":
    from stoker.yamltree import Places

    return Places(manifest.text, manifest.line)


def _identity(manifest: dict[str, Any]) -> tuple[str, str, str]:
    """Kind, namespace and name, empty where they are missing or not even text."""
    metadata = manifest.get("metadata")
    fields = metadata if isinstance(metadata, dict) else {}
    return _text(manifest.get("kind")), _text(fields.get("namespace")), _text(fields.get("name"))


def _text(value: Any) -> str:
    return value if isinstance(value, str) else ""


def _defined_before(
    manifest: "Manifest", places: "Places", known: dict[tuple[str, str, str], str]
) -> str:
    """Where an object of the same kind and name stood before, or nothing."""
    identity = _identity(manifest.object)
    if not identity[2]:
        return ""
    if identity in known:
        return known[identity]
    known[identity] = f"{manifest.source}:{places.line(manifest.path)} doc {manifest.document}"
    return ""


def _as_json(entry: _Entry) -> str:
    return json.dumps(entry._asdict())


def _as_text(entry: _Entry) -> str:
    place = entry.file + (f":{entry.line}" if entry.line else "")
    document = f"doc {entry.document}" if entry.document else ""
    name = "/".join(part for part in (entry.namespace, entry.name) if part)
    subject = " ".join(part for part in (place, document, entry.kind, name) if part)
    what = f"{entry.path}: {entry.message}" if entry.path else entry.message
    return f"{harmless(subject)}  {_severity(entry.severity)}  {harmless(what)}"


def _severity(word: str) -> str:
    if not sys.stdout.isatty() or os.environ.get("NO_COLOR"):
        return word
    return f"\033[{31 if word == 'error' else 33}m{word}\033[0m"


def _print(line: str, stream: Any) -> None:
    """Print in the letters that the stream knows; the others are spelt out."""
    encoding = stream.encoding or "utf-8"
    print(line.encode(encoding, "backslashreplace").decode(encoding), file=stream)
