"""The grammar of the tables from which configurations are made: one row for each member.

A `Member` says what a member of a configuration is called, which field of a declared type it comes
from, how the field's value is written, and which versions of the program know it. Tables are
tuples of members in the order in which they are written. They have several readers:

    put, written      make the members of an object's fields, and note those that are too new
    read_section      reads a user's own Alertmanager file strictly (alertmanager/table.py)
    sanitized         leaves out of a file what a version does not know (alertmanager/sanitize.py)
    tools             the page on version compatibility

A `Section` is a table with the rules that hold for its members together; only the file of
Alertmanager, which users may also write themselves, is described by sections.
"""

from collections.abc import Callable
from typing import Any, Final, TypeAlias

from msgspec import Struct

from stoker.errors import FieldError, ResourceError, below
from stoker.generate.block import Block
from stoker.generate.draft import Draft
from stoker.validate.findings import json_names
from stoker.version import Version, Versioned

Write: TypeAlias = Callable[[Any, Any, str], Any]
"""Turns the value of a field, with the draft and the field's path, into what is written."""
Read: TypeAlias = Callable[[Any, str], Any]
"""Turns what stands at a path of a user's own file into what is written."""
TextCheck: TypeAlias = Callable[[Block, Version, str], None]
"""A FieldError where members do not go together."""


class ValueKind(Struct, frozen=True):
    """How a value of a user's own file is read.

    `section` describes what is inside: of each item if `many`, of each member if `keyed`. With
    `again`, it is the section in which the member stands.
    """

    read: Read
    section: "Section | None" = None
    many: bool = False
    keyed: bool = False
    again: bool = False


def _never(_words: Any, path: str) -> Any:
    raise FieldError(path, "is in no file that users write")


NOT_READ: Final = ValueKind(_never)
"""Of the tables of Prometheus, whose configuration users do not write."""


class Member(Versioned, frozen=True):
    """A member of a configuration, and where its value comes from.

    name         what the program calls it
    field        the attribute of the declared type; "" for one of the same name, None for a member
                 that no field becomes
    kind         how it is read in a user's own file, where there are such
    write        makes the value; where that gives None, the member is left out
    refused      a version that does not know it cannot do without it: the object is not used
    unless       the member that it gives way to, in a user's own file
    default      what is written where nothing is said
    keep_empty   an empty string in the field means something
    some_types   not all the types that the table is used for have the field
    """

    name: str
    field: str | None = ""
    kind: ValueKind = NOT_READ
    write: Write | None = None
    refused: bool = False
    unless: str = ""
    default: Any = None
    keep_empty: bool = False
    some_types: bool = False

    @property
    def attribute(self) -> str | None:
        """The attribute of the declared type; None where there is none."""
        return self.name if self.field == "" else self.field


Table: TypeAlias = tuple[Member, ...]


class Section(Struct, frozen=True):
    """A mapping of a file that users may write themselves.

    `given` are checks of what was said, `checks` of what is left of it for a version, and `needs`
    of what the program asks for besides. `write` is for a section that its members alone do not
    make.
    """

    members: Table
    given: tuple[TextCheck, ...] = ()
    checks: tuple[TextCheck, ...] = ()
    needs: tuple[TextCheck, ...] = ()
    write: Write | None = None


def put(block: Block, members: Table, source: Any, draft: Draft, path: str) -> None:
    """Add the members that a table makes of an object's fields, in the order of the table."""
    for member, attribute, json_name, known in _rows(members, type(source), draft.version):
        value = getattr(source, attribute)
        if value is None or (value == "" and not member.keep_empty):
            continue
        here = below(path, json_name)
        if not known:
            leave_out(member, draft, here)
            continue
        made = member.write(value, draft, here) if member.write else value
        if made is not None and (draft.keeps_empty or member.keep_empty or made not in _EMPTY):
            block[member.name] = made


_EMPTY: Final[tuple[Any, ...]] = ("", [], {}, ())


def leave_out(member: Member, draft: Draft, path: str) -> None:
    """Note a field that the version does not know; ResourceError where it is `refused`."""
    if member.refused:
        raise ResourceError(path, member.lacking(draft.program))
    draft.ignore_unknown(path, member)


def written(members: Table, source: Any, draft: Draft, path: str) -> Block:
    """The mapping that a table makes of an object's fields."""
    block: Block = {}
    put(block, members, source, draft, path)
    return block


def by_table(*members: Member) -> Write:
    """Writes an object by a table."""
    return lambda source, draft, path: written(members, source, draft, path)


def by_section(section: Section) -> Write:
    """Writes an object by the table of a section."""
    return section.write or by_table(*section.members)


def each_by(section: Section) -> Write:
    """Writes each object of a list by the table of a section."""
    write = by_section(section)
    return lambda sources, draft, path: [
        write(source, draft, f"{path}[{at}]") for at, source in enumerate(sources)
    ]


_Row: TypeAlias = tuple[Member, str, str, bool]
_ROWS: dict[tuple[int, type, Version], tuple[Table, list[_Row]]] = {}
# All tables for a few dozen versions. Users say which versions there are, and may say many.
_MOST_ROWS: Final = 8192


def _rows(members: Table, model: type, version: Version) -> list[_Row]:
    """A table for a type and a version: attribute, JSON name, and whether the version knows it.

    Tables are constants of their modules, so they are told apart by identity; the entry holds on to
    its table, so that no other can take its place.
    """
    place = (id(members), model, version)
    found = _ROWS.get(place)
    if found is None:
        if len(_ROWS) >= _MOST_ROWS:
            _ROWS.clear()
        made = [row for member in members for row in _row(member, model, version)]
        found = _ROWS[place] = (members, made)
    return found[1]


def _row(member: Member, model: type, version: Version) -> list[_Row]:
    names, attribute = json_names(model), member.attribute
    if attribute is None or (member.some_types and attribute not in names):
        return []
    return [(member, attribute, names[attribute], member.known_to(version))]
