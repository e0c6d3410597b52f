"""docs/commands.md names every member that commands print for programs, and no other."""

import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import msgspec.inspect as shapes
import pytest

from stoker.cli.version import versions
from stoker.explain.answer import Explanation
from stoker.offline.migration.plan import Migration
from tools import promises

DOCS = Path(__file__).parents[2] / "docs"
SCHEMA = re.compile(r"\bstoker/([a-z-]+)/v1\b")


def recorded(command: str) -> set[str]:
    """Paths of members that were seen when a command was run on our examples."""
    lines = (line.partition(": .") for line in promises.recorded("output"))
    return {path.replace("[]", "") for name, _, path in lines if name == command}


def declared(shape: Any, path: str = "") -> Iterator[str]:
    """Paths of members that a type has, also where no example shows them."""
    if isinstance(shape, shapes.StructType):
        for field in shape.fields:
            yield f"{path}{field.encode_name}"
            yield from declared(field.type, f"{path}{field.encode_name}.")
    elif isinstance(shape, shapes.UnionType):
        for each in shape.types:
            yield from declared(each, path)
    elif isinstance(shape, shapes.VarTupleType):
        yield from declared(shape.item_type, path)


MEMBERS = {
    "lint": recorded("lint"),
    "explain": recorded("explain") | set(declared(shapes.type_info(Explanation))),
    "diff": recorded("diff") | {"changes.diffs.name", "changes.diffs.lines"},
    "migrate-agent-mode": {
        path
        for path in recorded("migrate agent-mode") | set(declared(shapes.type_info(Migration)))
        if not path.startswith(("manifest.", "patch.", "beside."))
    },
    "migrate-takeover": recorded("migrate takeover"),
    "version": {"schema", *versions()},
}


def rows(schema: str) -> dict[str, str]:
    """What the page says of each member that stands first in a row."""
    text = (DOCS / "commands.md").read_text()
    section = text.partition(f"\n### stoker/{schema}/v1\n")[2].partition("\n## ")[0]
    found = {}
    for line in section.partition("\n### ")[0].splitlines():
        if line.startswith("| `"):
            first, _, rest = line[2:].partition(" | ")
            found.update(dict.fromkeys(re.findall(r"`(\w+)(?:\[\])?`", first), rest))
    return found


@pytest.mark.parametrize("schema", MEMBERS)
def test_the_page_names_each_member(schema: str) -> None:
    """Those at the top in a row of their own, those below in the words of that row."""
    told, members = rows(schema), MEMBERS[schema] - {"schema"}
    assert told.keys() == {path.partition(".")[0] for path in members}
    unsaid = [
        path
        for path in members
        if "." in path and f"`{path.rpartition('.')[2]}`" not in told[path.partition(".")[0]]
    ]
    assert sorted(unsaid) == []


def test_every_schema_has_a_section() -> None:
    """Also one that comes."""
    source = DOCS.parent / "src" / "stoker" / "cli"
    printed = {name for path in source.glob("*.py") for name in SCHEMA.findall(path.read_text())}
    titles = re.findall(r"^### stoker/([a-z-]+)/v1$", (DOCS / "commands.md").read_text(), re.M)
    assert printed == set(titles) == {*MEMBERS, "status"}


def test_the_page_on_status_names_its_members() -> None:
    """Its table has whole paths."""
    page = (DOCS / "status-command.md").read_text().partition("\n## For programs\n")[2]
    words = set(re.findall(r"`([\w.\[\]]+)`", page))
    names = {part.removesuffix("[]") for word in words for part in word.split(".")}
    assert {path.rpartition(".")[2] for path in recorded("status")} - names == set()
