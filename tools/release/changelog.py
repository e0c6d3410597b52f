"""The changelog: fragments of changelog.d become a section of CHANGELOG.md."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping
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
# What a fragment is about, by the first word of its name: headings of a list that is long, in the
# order of what people look for first.
TOPICS = {
    "Agents on nodes": ("agent", "node"),
    "Status of resources": ("status",),
    "ScrapeConfig and the other definitions": ("scrapeconfig", "definitions"),
    "Commands": ("commands",),
    "Status page": ("page",),
    "Operator": ("operator", "alerting", "rules", "consolidation"),
    "Webhook and reloader": ("webhook", "reloader"),
    "Moving from prometheus-operator": ("moving",),
    "Installing": ("install",),
}
OTHER = "Other"
LONG = 20
# Before the first release nobody had anything that changes or is mended.
FIRST = (SUMMARY, "security", "added")
TITLE = "# Changelog\n\nWhat users notice, the newest version first.\n"
_NAME = re.compile(r"^(?P<what>[a-z0-9-]+)\.(?P<kind>[a-z]+)\.md$")

Sentences = dict[str, str]
"""What fragments say, by what they are called."""


class FragmentError(ValueError):
    """A fragment whose name or text is not one."""


def fragments(folder: Path) -> dict[str, Sentences]:
    """The sentences of each kind, in the order of the names of their files."""
    found: dict[str, Sentences] = {kind: {} for kind in KINDS}
    for path in sorted(fragment_files(folder), key=lambda each: each.name.split(".")):
        match = _NAME.match(path.name)
        if match is None or match["kind"] not in KINDS:
            raise FragmentError(f"{path.name}: not <what>.<kind>.md with one of {', '.join(KINDS)}")
        sentence = " ".join(path.read_text().split())
        if not sentence:
            raise FragmentError(f"{path.name}: says nothing")
        found[match["kind"]][match["what"]] = sentence
    return found


def fragment_files(folder: Path) -> list[Path]:
    """The fragments of a folder, which also has a page that says what they are."""
    return sorted(path for path in folder.glob("*") if path.name != "README.md")


def section(version: str, date: str, sentences: Mapping[str, Sentences]) -> str:
    """A version's part of the changelog."""
    parts = [f"## {version} ({date})", *sentences.get(SUMMARY, {}).values()]
    for kind, title in KINDS.items():
        if title and (said := sentences.get(kind)):
            parts += [f"### {title}", *_listed(said)]
    return "\n\n".join(parts) + "\n"


def _listed(said: Sentences) -> Iterator[str]:
    """A list; of many sentences one for each topic, below its heading."""
    if len(said) <= LONG:
        yield _list(said.values())
        return
    for topic in (*TOPICS, OTHER):
        if found := [what for what in said if topic_of(what) == topic]:
            yield f"#### {topic}"
            yield _list(said[what] for what in sorted(found, key=_rank))


def topic_of(what: str) -> str:
    """The heading under which a fragment comes that is called so."""
    return next((topic for topic, words in TOPICS.items() if _word(what) in words), OTHER)


def _rank(what: str) -> int:
    """The place of a fragment's first word among those of its topic."""
    words = TOPICS.get(topic_of(what), ())
    return words.index(_word(what)) if words else 0


def _word(what: str) -> str:
    return what.partition("-")[0]


def _list(sentences: Iterable[str]) -> str:
    return "\n".join(f"- {each}" for each in sentences)


def of_the_first(sentences: Mapping[str, Sentences]) -> dict[str, Sentences]:
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
