"""The changelog: fragments of changelog.d become a section of CHANGELOG.md."""

from __future__ import annotations

import re
from collections.abc import Mapping
from pathlib import Path

FILE = Path("CHANGELOG.md")
FOLDER = Path("changelog.d")
# In the order of reading: first what it is all about, and what somebody has to do something about.
SUMMARY = "summary"
KINDS = {
    SUMMARY: "",
    "removed": "Removed",
    "changed": "Changed",
    "security": "Security",
    "added": "Added",
    "fixed": "Fixed",
}
# Before the first release nobody had anything that changes or is mended.
FIRST = (SUMMARY, "security", "added")
TITLE = "# Changelog\n\nWhat users notice, the newest version first.\n"
_NAME = re.compile(r"^(?P<what>[a-z0-9-]+)\.(?P<kind>[a-z]+)\.md$")


class FragmentError(ValueError):
    """A fragment whose name or text is not one."""


def fragments(folder: Path) -> dict[str, list[str]]:
    """The sentences of each kind, by the names of their files."""
    found: dict[str, list[str]] = {kind: [] for kind in KINDS}
    for path in sorted(fragment_files(folder), key=lambda each: each.name.split(".")):
        match = _NAME.match(path.name)
        if match is None or match["kind"] not in KINDS:
            raise FragmentError(f"{path.name}: not <what>.<kind>.md with one of {', '.join(KINDS)}")
        sentence = " ".join(path.read_text().split())
        if not sentence:
            raise FragmentError(f"{path.name}: says nothing")
        found[match["kind"]].append(sentence)
    return found


def fragment_files(folder: Path) -> list[Path]:
    """The fragments of a folder, which also has a page that says what they are."""
    return sorted(path for path in folder.glob("*") if path.name != "README.md")


def section(version: str, date: str, sentences: Mapping[str, list[str]]) -> str:
    """A version's part of the changelog."""
    parts = [f"## {version} ({date})", *sentences.get(SUMMARY, ())]
    for kind, title in KINDS.items():
        if title and sentences.get(kind):
            parts.append(f"### {title}\n\n" + "\n".join(f"- {each}" for each in sentences[kind]))
    return "\n\n".join(parts) + "\n"


def of_the_first(sentences: Mapping[str, list[str]]) -> dict[str, list[str]]:
    """What the first release says: not what became of anything on the way to it."""
    return {kind: sentences[kind] for kind in FIRST if kind in sentences}


def with_section(text: str, made: str) -> str:
    """A changelog with one more version, which comes first."""
    head, mark, rest = (text or TITLE).partition("\n## ")
    older = f"\n{mark.lstrip()}{rest}" if mark else ""
    return f"{head.rstrip()}\n\n{made}{older}"


def section_of(text: str, version: str) -> str:
    """What a changelog says of a version; empty if it is not there."""
    found = re.search(rf"^## {re.escape(version)} \(.*?(?=^## |\Z)", text, re.M | re.S)
    return found[0].rstrip() + "\n" if found else ""
