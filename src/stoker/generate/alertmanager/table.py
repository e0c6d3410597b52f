"""The grammar of the tables that describe `alertmanager.yaml`.

A `Section` is a mapping of the file: a table with a `Member` for each, in the order in which they
are written. They have three readers:

    amload       a user's own file: `kind` reads a value strictly, an unknown member is an error
    amsanitize   `since`, `refused` and `unless` say what an Alertmanager of a version gets
    alertmanager `field` and `write` make the member of a field of an AlertmanagerConfig

A field of an API type that becomes no member of the file is a mistake that a test finds.
"""

import re
from collections.abc import Callable
from typing import Any, Final, TypeAlias

from msgspec import Struct

from stoker.errors import FieldError, below
from stoker.generate.alertmanager.draft import AlertDraft
from stoker.generate.alertmanager.yamltext import Word, plain
from stoker.generate.block import Block
from stoker.generate.order import in_order
from stoker.validate.findings import json_names
from stoker.validate.syntax import milliseconds
from stoker.version import Version, parse_version

Read: TypeAlias = Callable[[Any, str], Any]
Write: TypeAlias = Callable[[Any, AlertDraft, str], Any]
Check: TypeAlias = Callable[[Block, Version, str], None]

_GO_DURATION: Final = re.compile(
    r"[-+]?(?:0|(?:(?:[0-9]+\.?[0-9]*|\.[0-9]+)(?:ns|us|µs|μs|ms|s|m|h))+)"
)


class ValueKind(Struct, frozen=True):
    """How a value of the file is read.

    `section` describes what is inside: of each item if `many`, of each member if `keyed`. With
    `again`, it is the section in which the row stands.
    """

    read: Read
    section: "Section | None" = None
    many: bool = False
    keyed: bool = False
    again: bool = False


class Member(Struct, frozen=True):
    """A member of a section.

    `since` is the first version that knows it: for an older one it is left out, or, if `refused`,
    the configuration cannot be used. It gives way where the member `unless` is set. `default` is
    written where nothing is said. `keep_empty`: a field that says "" means it.
    """

    key: str
    kind: ValueKind
    field: str = ""
    write: Write | None = None
    since: str = ""
    refused: bool = False
    unless: str = ""
    default: Any = None
    keep_empty: bool = False

    def known_to(self, version: Version) -> bool:
        """Whether an Alertmanager of this version knows the member."""
        return not self.since or version >= parse_version(self.since)


class Section(Struct, frozen=True):
    """A mapping of the file.

    `given` are checks of what was said, `checks` of what is left of it for a version, and `needs`
    of what Alertmanager asks for besides. `write` is for a section that rows alone do not make.
    """

    rows: tuple[Member, ...]
    given: tuple[Check, ...] = ()
    checks: tuple[Check, ...] = ()
    needs: tuple[Check, ...] = ()
    write: Write | None = None


# --- Reading a user's own file --------------------------------------------------------------------


def read_section(words: Any, section: Section, path: str) -> Block:
    """A mapping in the order of its table; FieldError for what Alertmanager would not read."""
    if words is None:
        return {}
    if not isinstance(words, dict):
        raise FieldError(path, "must be a mapping")
    known = {row.key for row in section.rows}
    for name in words:
        if name not in known:
            raise FieldError(below(path, name), "Alertmanager knows no such field")
    block: Block = {}
    for row in section.rows:
        given = words.get(row.key)
        value = None if given is None else row.kind.read(given, below(path, row.key))
        if value is None:
            value = row.default
        if value is not None:
            block[row.key] = value
    return block


def _text(words: Any, path: str) -> str:
    if not isinstance(words, Word):
        raise FieldError(path, "must be a text")
    # What looks like a number is still the text that was written.
    return words.value if isinstance(words.value, str) else words.text


def _some_text(words: Any, path: str) -> str | None:
    return _text(words, path) or None


def _switch(words: Any, path: str) -> bool:
    if not isinstance(words, Word) or not isinstance(words.value, bool):
        raise FieldError(path, "must be `true` or `false`")
    return words.value


def _whole(words: Any, path: str) -> int:
    value = words.value if isinstance(words, Word) else None
    if isinstance(value, bool) or not isinstance(value, int):
        raise FieldError(path, "must be a whole number")
    return value


def _count(words: Any, path: str) -> int:
    value = _whole(words, path)
    if value < 0:
        raise FieldError(path, "must not be negative")
    return value


def _number(words: Any, path: str) -> float:
    value = words.value if isinstance(words, Word) else None
    if isinstance(value, bool) or not isinstance(value, int | float):
        raise FieldError(path, "must be a number")
    return value


def _duration(words: Any, path: str) -> str:
    text = _text(words, path)
    if milliseconds(text) is None:
        raise FieldError(path, f"`{text[:40]}` is not a duration such as 5m")
    return text


def _go_duration(words: Any, path: str) -> str | int:
    value = words.value if isinstance(words, Word) else None
    if isinstance(value, int) and not isinstance(value, bool):
        return value
    return _go_duration_text(words, path)


def _go_duration_text(words: Any, path: str) -> str:
    text = _text(words, path)
    if not is_go_duration(text):
        raise FieldError(path, f"`{text[:40]}` is not a duration such as 1h30m")
    return text


def is_go_duration(text: str) -> bool:
    """Whether Go's `time.ParseDuration` takes a text: there are no days in it."""
    return _GO_DURATION.fullmatch(text) is not None


def _list(words: Any, path: str) -> list[Any]:
    if not isinstance(words, list):
        raise FieldError(path, "must be a list")
    return words


def _texts(words: Any, path: str) -> list[str]:
    found = _list(words, path)
    # Go reads null in a list of texts as an empty one.
    return ["" if item is None else _text(item, f"{path}[{at}]") for at, item in enumerate(found)]


def _mapping(words: Any, path: str) -> dict[str, str]:
    if not isinstance(words, dict):
        raise FieldError(path, "must be a mapping")
    texts = {
        name: "" if item is None else _text(item, f"{path}[{name}]") for name, item in words.items()
    }
    return in_order(texts)


def _lists(words: Any, path: str) -> dict[str, list[str]]:
    if not isinstance(words, dict):
        raise FieldError(path, "must be a mapping")
    return in_order({name: _texts(item, f"{path}[{name}]") for name, item in words.items()})


def _anything(words: Any, _path: str) -> Any:
    return _ordered(plain(words))


def _ordered(value: Any) -> Any:
    if isinstance(value, dict):
        return in_order({name: _ordered(item) for name, item in value.items()})
    return [_ordered(item) for item in value] if isinstance(value, list) else value


def _object_of_anything(words: Any, path: str) -> Any:
    if not isinstance(words, dict):
        raise FieldError(path, "must be a mapping")
    return _anything(words, path)


TEXT: Final = ValueKind(_text)
SOME_TEXT: Final = ValueKind(_some_text)
"""A text of which an empty one says nothing: a secret, a file."""
SWITCH: Final = ValueKind(_switch)
WHOLE: Final = ValueKind(_whole)
COUNT: Final = ValueKind(_count)
NUMBER: Final = ValueKind(_number)
DURATION: Final = ValueKind(_duration)
GO_DURATION: Final = ValueKind(_go_duration)
"""A duration, or a number of nanoseconds."""
GO_DURATION_TEXT: Final = ValueKind(_go_duration_text)
"""A duration that needs its unit."""
TEXTS: Final = ValueKind(_texts)
MAPPING: Final = ValueKind(_mapping)
LISTS: Final = ValueKind(_lists)
ANYTHING: Final = ValueKind(_anything)
OBJECT_OF_ANYTHING: Final = ValueKind(_object_of_anything)


def one(section: Section) -> ValueKind:
    """A mapping that a table describes."""
    return ValueKind(lambda words, path: read_section(words, section, path), section)


def many(section: Section) -> ValueKind:
    """A list of such mappings."""

    def read(words: Any, path: str) -> list[Block]:
        found = _list(words, path)
        return [read_section(item, section, f"{path}[{at}]") for at, item in enumerate(found)]

    return ValueKind(read, section, many=True)


def keyed(section: Section) -> ValueKind:
    """A mapping from any names to such mappings."""

    def read(words: Any, path: str) -> Block:
        if not isinstance(words, dict):
            raise FieldError(path, "must be a mapping")
        made = {
            name: read_section(item, section, f"{path}[{name}]") for name, item in words.items()
        }
        return in_order(made)

    return ValueKind(read, section, keyed=True)


# --- Writing the fields of an AlertmanagerConfig --------------------------------------------------


def written(section: Section, source: Any, draft: AlertDraft, path: str) -> Block:
    """The members that a table makes of an object's fields."""
    model: Any = type(source)
    names = json_names(model)
    block: Block = {}
    for row in section.rows:
        # v1beta1 has not every field of v1alpha1.
        value = getattr(source, row.field, None) if row.field else None
        if value is None or (value == "" and not row.keep_empty):
            continue
        here = below(path, names[row.field])
        if not row.known_to(draft.version):
            draft.too_new(here, row.since, refused=row.refused)
            continue
        made = row.write(value, draft, here) if row.write else value
        if made is not None and (made not in ("", [], {}, ()) or row.keep_empty):
            block[row.key] = made
    return block


def tabled(section: Section) -> Write:
    """Writes an object by a table."""
    return lambda source, draft, path: written(section, source, draft, path)


def listed(section: Section) -> Write:
    """Writes each object of a list by a table."""
    write = section.write or tabled(section)
    return lambda sources, draft, path: [
        write(source, draft, f"{path}[{at}]") for at, source in enumerate(sources)
    ]
