"""A user's own Alertmanager configuration as words: what was meant is for the tables to say.

Alertmanager takes `smtp_auth_password: 0123` for the text `0123`, and `chat_id: 0123` for a number.
So a scalar is kept as it was written beside what it looks like; which of the two counts is known
only where the field is. Everything that is not YAML, or hardly what its author meant (a key twice),
is refused by `yamltree` before.
"""

from collections.abc import Iterator
from typing import Any, Final

import yaml
from msgspec import Struct

from stoker.errors import FieldError
from stoker.yamltree import YamlError, parse

_NODES: Final[Any] = getattr(yaml, "CBaseLoader", yaml.BaseLoader)
_MERGE: Final = "<<"


class Word(Struct, frozen=True):
    """A scalar: the text in the file, and the value that a YAML reader sees in it."""

    text: str
    value: Any


def words_of(text: str) -> Any:
    """A document as dictionaries, lists and words; None where there is nothing in it."""
    try:
        values = parse(text)
    except YamlError as error:
        # Only the place: the text is a Secret's, and the reason might quote it.
        place = f"line {error.line}, column {error.column}"
        raise FieldError("", f"is not YAML: see {place}") from None
    return _paired(yaml.compose(text, Loader=_NODES), values)


def _paired(node: Any, value: Any) -> Any:
    """A node with its scalars' values; both have the same form."""
    if isinstance(value, dict):
        nodes = dict(_members(node))
        return {name: _paired(nodes.get(name), item) for name, item in value.items()}
    if isinstance(value, list):
        return [_paired(one, item) for one, item in zip(node.value, value, strict=True)]
    if value is None:
        return None
    return Word(node.value if isinstance(node, yaml.ScalarNode) else str(value), value)


def _members(node: Any) -> Iterator[tuple[str, Any]]:
    """The members of a mapping; those that `<<` brings come first, as later ones win."""
    own = []
    for key, value in node.value:
        # A plain scalar has an empty style or none, by which parser it was read.
        if key.value == _MERGE and not key.style:
            sources = value.value if isinstance(value, yaml.SequenceNode) else [value]
            for source in reversed(sources):
                yield from _members(source)
        else:
            own.append((key.value, value))
    yield from own


def plain(words: Any) -> Any:
    """The values themselves, for what has no table."""
    if isinstance(words, dict):
        return {name: plain(item) for name, item in words.items()}
    if isinstance(words, list):
        return [plain(item) for item in words]
    return words.value if isinstance(words, Word) else words
