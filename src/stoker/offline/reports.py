"""Problems in the forms that other tools read: GitHub's annotations, and SARIF.

    ::error file=deploy/cart.yaml,line=9,col=7,title=…::spec.endpoints[0].interval: …

A user's text cannot end an annotation and begin another, nor become a link in SARIF: what has a
meaning there is escaped. SARIF is version 2.1.0, with what code scanning wants beyond the schema:
the rules are the reasons of `stoker lint`, files are named relative to the folder in which the
command was called.
"""

import os
from collections.abc import Iterable
from pathlib import Path, PurePath
from typing import Any, Final, NamedTuple
from urllib.parse import quote

from stoker.offline.manifests import STDIN
from stoker.offline.problems import ERROR, REASONS, UNKNOWN, WARNING

SARIF_SCHEMA: Final = "https://json.schemastore.org/sarif-2.1.0.json"
_DOCUMENTATION: Final = "docs/lint.md"


class ReportLine(NamedTuple):
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
    column: int = 0

    @property
    def subject(self) -> str:
        """Kind, namespace and name, as far as they are known."""
        name = "/".join(part for part in (self.namespace, self.name) if part)
        return " ".join(part for part in (self.kind, name) if part)

    @property
    def text(self) -> str:
        """The field and what is wrong with it."""
        return f"{self.path}: {self.message}" if self.path else self.message


# --- GitHub ---------------------------------------------------------------------------------------

_IN_MESSAGES: Final = {"%": "%25", "\r": "%0D", "\n": "%0A"}
_IN_GITHUB: Final = {ERROR: "error", WARNING: "warning", UNKNOWN: "notice"}
_IN_PROPERTIES: Final = _IN_MESSAGES | {":": "%3A", ",": "%2C"}


def github_line(entry: ReportLine) -> str:
    """A workflow command that marks the place in a pull request."""
    known = {
        "file": "" if entry.file == STDIN else _relative(entry.file),
        "line": entry.line,
        "col": entry.column if entry.line else 0,
        "title": f"{entry.subject} {entry.reason}".strip(),
    }
    shown = (
        f"{name}={_escaped(str(value), _IN_PROPERTIES)}" for name, value in known.items() if value
    )
    return f"::{_IN_GITHUB[entry.severity]} {','.join(shown)}::{_escaped(entry.text, _IN_MESSAGES)}"


def _escaped(text: str, table: dict[str, str]) -> str:
    return text.translate({ord(letter): escape for letter, escape in table.items()})


# --- SARIF ----------------------------------------------------------------------------------------


_IN_SARIF: Final = {ERROR: "error", WARNING: "warning", UNKNOWN: "note"}


def sarif(entries: Iterable[ReportLine], version: str) -> dict[str, Any]:
    """The report as one SARIF document; `version` is ours."""
    found = list(entries)
    used = sorted({each.reason for each in found})
    driver = {
        "name": "stoker lint",
        "version": version,
        "rules": [_rule(reason) for reason in used],
    }
    results = [_result(each, used.index(each.reason)) for each in found]
    run = {
        "tool": {"driver": driver},
        "columnKind": "unicodeCodePoints",
        "results": results,
    }
    return {"$schema": SARIF_SCHEMA, "version": "2.1.0", "runs": [run]}


def _rule(reason: str) -> dict[str, Any]:
    text = REASONS.get(reason, reason)
    return {
        "id": reason,
        "shortDescription": {"text": text},
        "fullDescription": {"text": text},
        "help": {"text": f"{text} See {_DOCUMENTATION}."},
    }


def _result(entry: ReportLine, rule: int) -> dict[str, Any]:
    text = f"{entry.subject}: {entry.text}" if entry.subject else entry.text
    return {
        "ruleId": entry.reason,
        "ruleIndex": rule,
        "level": _IN_SARIF[entry.severity],
        "message": {"text": _plain(text)},
        "locations": [_location(entry)],
    }


def _location(entry: ReportLine) -> dict[str, Any]:
    place: dict[str, Any] = {"artifactLocation": {"uri": _uri(entry.file)}}
    if entry.line:
        column = {"startColumn": entry.column} if entry.column else {}
        place["region"] = {"startLine": entry.line} | column
    location: dict[str, Any] = {"physicalLocation": place}
    if entry.subject:
        path = f"{entry.subject} {entry.path}".strip()
        location["logicalLocations"] = [{"fullyQualifiedName": path, "kind": "object"}]
    return location


def _plain(text: str) -> str:
    """Text without links, which are `[…](…)`; bytes of a file's name that are no text are spelt."""
    return text.replace("](", "] (").encode(errors="backslashreplace").decode()


def _uri(file: str) -> str:
    """A file as a relative reference; a first part with a colon would be taken for a scheme."""
    relative = "stdin" if file == STDIN else _relative(file)
    if os.path.isabs(relative):
        return Path(relative).as_uri()
    return quote(os.fsencode(PurePath(relative).as_posix()), safe="/")


def _relative(file: str) -> str:
    """The file as seen from the current folder, where it lies in it."""
    path = os.path.normpath(file)
    if not os.path.isabs(path):
        return path
    near = os.path.relpath(path)
    return path if near.startswith("..") else near
