"""The grammar of tables: what a row makes of a field, for which version, and what is said if not.

There is one such grammar. The last tests here look for a second one.
"""

import ast
from collections.abc import Iterator
from itertools import chain
from pathlib import Path
from typing import Any

import pytest
from msgspec import Struct

import stoker
from stoker.errors import FieldError, ResourceError
from stoker.generate.alertmanager.draft import AlertDraft
from stoker.generate.draft import Draft, Ignored
from stoker.generate.grammar import NOT_READ, Member, Section, by_section, each_by, put, written
from stoker.select.assets import AssetsAtHand
from stoker.version import Versioned, parse_version

ROOMS = ("validate", "generate", "consolidate", "build")
SOURCE = Path(stoker.__file__).parent


class Wish(Struct, rename="camel"):
    """What a user may write."""

    speed: str | None = None
    way_home: str | None = None
    stops: tuple[str, ...] | None = None


class NewerWish(Wish, rename="camel"):
    """The same in a newer version, with one field more."""

    mood: str | None = None


def a_draft(version: str = "2.0.0", kind: type[Draft] = Draft) -> Draft:
    """A draft for a version of a program."""
    return kind(parse_version(version), AssetsAtHand(), "shop")


def listed(values: tuple[str, ...], _draft: Draft, _path: str) -> list[str]:
    """How a list is written."""
    return list(values)


def test_a_member_is_called_as_its_field_unless_it_says_otherwise() -> None:
    """In the order of the table, which is that of the file."""
    table = (Member("home", "way_home"), Member("speed"))
    assert list(written(table, Wish("5", "left"), a_draft(), "spec").items()) == [
        ("home", "left"),
        ("speed", "5"),
    ]


def test_a_member_of_no_field_is_left_to_others() -> None:
    """Also where the type has a field of its name."""
    assert written((Member("speed", None),), Wish("5"), a_draft(), "spec") == {}


@pytest.mark.parametrize(
    ("version", "expected"),
    [
        ("1.9.0", (False, "needs Prometheus 2.0.0 or newer")),
        ("2.0.0", (True, "")),
        ("2.9.9", (True, "")),
        ("3.0.0-rc.1", (True, "")),
        ("3.0.0", (False, "")),
    ],
)
def test_a_version_knows_what_is_between_since_and_until(
    version: str, expected: tuple[bool, str]
) -> None:
    """The first that knows it is in, the first that no longer does is out."""
    row, draft = Member("speed", since="2.0.0", until="3.0.0"), a_draft(version)
    known = written((row,), Wish("5"), draft, "spec") == {"speed": "5"}
    assert known == row.known_to(draft.version) == expected[0]
    if expected[1]:
        assert draft.ignored == [Ignored("spec.speed", expected[1])]


def test_what_is_gone_is_said_so() -> None:
    """There is nothing newer that would help."""
    draft = a_draft("3.1.0")
    put({}, (Member("home", "way_home", until="3.0.0"),), Wish(way_home="left"), draft, "spec")
    assert draft.ignored == [Ignored("spec.wayHome", "gone in 3.0.0")]


def test_nothing_is_said_of_what_nobody_asked_for() -> None:
    """A field that is unset is not too new."""
    draft = a_draft("1.0.0")
    put({}, (Member("speed", since="2.0.0"),), Wish(speed=""), draft, "spec")
    assert draft.ignored == []


def test_the_report_names_the_program() -> None:
    """Alertmanager's versions are not those of Prometheus."""
    draft = a_draft("0.20.0", AlertDraft)
    put({}, (Member("speed", since="0.21.0"),), Wish("5"), draft, "spec")
    assert draft.ignored == [Ignored("spec.speed", "needs Alertmanager 0.21.0 or newer")]


def test_what_cannot_be_left_out_stops_the_object() -> None:
    """With the path to the field."""
    row = Member("speed", since="0.21.0", refused=True)
    draft = a_draft("0.20.0", AlertDraft)
    with pytest.raises(ResourceError, match=r"^spec\.speed: needs Alertmanager 0\.21\.0 or newer"):
        put({}, (row,), Wish("5"), draft, "spec")
    assert draft.ignored == []


def test_empty_means_something_to_prometheus_and_nothing_to_alertmanager() -> None:
    """Unless the row says that it is meant."""
    table = (Member("stops", write=listed), Member("speed"))
    wish = Wish(speed="", stops=())
    assert written(table, wish, a_draft(), "") == {"stops": []}
    assert written(table, wish, a_draft(kind=AlertDraft), "") == {}
    kept = tuple(Member(row.name, write=row.write, keep_empty=True) for row in table)
    for kind in (Draft, AlertDraft):
        assert written(kept, wish, a_draft(kind=kind), "") == {"stops": [], "speed": ""}


def test_a_field_that_only_newer_types_have_is_marked() -> None:
    """A table that names a field which is nowhere is a mistake, and is found the first time."""
    with pytest.raises(KeyError, match="mood"):
        written((Member("mood"),), Wish(), a_draft(), "")
    table = (Member("mood", some_types=True),)
    assert written(table, Wish(), a_draft(), "") == {}
    assert written(table, NewerWish(mood="good"), a_draft(), "") == {"mood": "good"}


def test_a_section_can_be_written_for_each_of_many() -> None:
    """By its table, or in its own way."""
    rows = (Member("speed"),)
    wishes, draft = (Wish("5"), Wish("6")), a_draft()
    assert each_by(Section(rows))(wishes, draft, "spec") == [{"speed": "5"}, {"speed": "6"}]
    own = Section(rows, write=lambda _wish, _draft, path: {"at": path})
    assert each_by(own)(wishes, draft, "spec") == [{"at": "spec[0]"}, {"at": "spec[1]"}]
    assert by_section(own)(wishes[0], draft, "spec") == {"at": "spec"}


def test_what_users_do_not_write_is_not_read() -> None:
    """The tables of Prometheus say nothing about how a file is read."""
    assert Member("speed").kind is NOT_READ
    with pytest.raises(FieldError, match="in no file"):
        NOT_READ.read("5", "speed")


# --- There is one grammar -------------------------------------------------------------------------


def classes() -> Iterator[tuple[str, ast.ClassDef]]:
    """Every class of the rooms that know what versions differ in, with the module that has it."""
    for path in chain(*((SOURCE / room).rglob("*.py") for room in ROOMS), SOURCE.glob("*.py")):
        for node in ast.walk(ast.parse(path.read_text())):
            if isinstance(node, ast.ClassDef):
                yield str(path.relative_to(SOURCE)), node


def fields_in(node: ast.ClassDef) -> set[str]:
    """The fields that a class declares."""
    return {
        each.target.id
        for each in node.body
        if isinstance(each, ast.AnnAssign) and isinstance(each.target, ast.Name)
    }


def test_one_class_says_which_versions_know_something() -> None:
    """Members, flags, feature flags and actions are all `Versioned`; none has its own `since`."""
    found = {
        f"{module}: {node.name}"
        for module, node in classes()
        if {"since", "until"} & fields_in(node)
        or any(isinstance(each, ast.FunctionDef) and each.name == "known_to" for each in node.body)
    }
    assert found == {"version.py: Versioned"}


def test_one_function_says_that_a_version_is_too_old() -> None:
    """So that users find the same words everywhere."""
    found: dict[str, list[Any]] = {}
    for path in SOURCE.rglob("*.py"):
        for node in ast.walk(ast.parse(path.read_text())):
            if isinstance(node, ast.JoinedStr) and " or newer" in ast.unparse(node):
                found.setdefault(str(path.relative_to(SOURCE)), []).append(ast.unparse(node))
    # In a sentence that goes on, the verb is another one.
    assert found.keys() == {"version.py", "validate/alertmanager/integrations.py"}, found


def test_a_row_is_versioned() -> None:
    """The words are the same, whatever the row is of."""
    assert Versioned(since="2.0.0").lacking("Thanos") == "needs Thanos 2.0.0 or newer"
