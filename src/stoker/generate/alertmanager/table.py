"""How a user's own `alertmanager.yaml` is read, by the tables that describe it.

`read_section` reads a mapping as strictly as Alertmanager does: an unknown member is an error. The
constants are the kinds of values that there are.
"""

import re
from typing import Any, Final

from stoker.errors import FieldError, below
from stoker.generate.alertmanager.yamltext import Word, plain
from stoker.generate.block import Block
from stoker.generate.grammar import Section, ValueKind
from stoker.generate.order import in_order
from stoker.validate.syntax import milliseconds

_GO_DURATION: Final = re.compile(
    r"[-+]?(?:0|(?:(?:[0-9]+\.?[0-9]*|\.[0-9]+)(?:ns|us|µs|μs|ms|s|m|h))+)"
)


def read_section(words: Any, section: Section, path: str) -> Block:
    """A mapping in the order of its table; FieldError for what Alertmanager would not read."""
    if words is None:
        return {}
    if not isinstance(words, dict):
        raise FieldError(path, "must be a mapping")
    known = {member.name for member in section.members}
    for name in words:
        if name not in known:
            raise FieldError(below(path, name), "Alertmanager knows no such field")
    block: Block = {}
    for member in section.members:
        given = words.get(member.name)
        value = None if given is None else member.kind.read(given, below(path, member.name))
        if value is None:
            value = member.default
        if value is not None:
            block[member.name] = value
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
