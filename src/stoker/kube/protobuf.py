"""Secrets and ConfigMaps in the API server's own binary form.

A configuration of half a megabyte as JSON keeps an API server busy for longer than all the rest of
a change takes: base64, texts, field by field. In this form its bytes are just copied
(`docs/decisions/20261115-replaced-in-binary.md`).

    magic, Unknown { type: TypeMeta, raw: Secret { metadata: ObjectMeta, data, type } }

The numbers are those of `generated.proto` in k8s.io/api and k8s.io/apimachinery; they never change.
Only members that an object of ours can have are known here, and anything else is an error: what
is left out of an update is lost.
"""

from collections.abc import Callable, Iterator, Mapping
from itertools import chain
from typing import Any, Final

import msgspec

from stoker.api.core import Object

CONTENT_TYPE: Final = "application/vnd.kubernetes.protobuf"

Chunks = list[bytes]
"""A message in pieces, which are joined once: the largest is most of the whole."""

Encode = Callable[[Any], Chunks]

_MAGIC: Final = b"k8s\0"
_LENGTH_DELIMITED: Final = 2


def encoded(obj: Object) -> bytes:
    """The object in binary form; ValueError where it has a member that is not known here."""
    raw = _message(_KINDS[obj["kind"]])({k: v for k, v in obj.items() if k not in _TYPE})
    return b"".join([_MAGIC, *_message(_UNKNOWN)({"typeMeta": obj, "raw": raw})])


def knows(kind: str) -> bool:
    """Whether objects of a kind can be written so."""
    return kind in _KINDS


def _number(value: int) -> bytes:
    """A number in as few bytes as it takes, seven bits in each, the lowest first."""
    made = bytearray()
    while value > 0x7F:
        made.append(value & 0x7F | 0x80)
        value >>= 7
    made.append(value)
    return bytes(made)


def _field(number: int, content: Chunks) -> Chunks:
    size = sum(map(len, content))
    return [_number(number << 3 | _LENGTH_DELIMITED) + _number(size), *content]


def _text(value: str) -> Chunks:
    return [value.encode()]


def _bytes(value: str) -> Chunks:
    # From base64, three times as fast as the standard library.
    return [msgspec.convert(value, bytes)]


def _ready(value: Chunks) -> Chunks:
    return value


class _Flag:
    """A boolean has no length: it is written as a number."""


_FLAG: Final = _Flag()
_Members = Mapping[str, tuple[int, "Encode | _Flag"]]


def _message(members: _Members) -> Encode:
    """How a message with these members is written."""

    def write(value: Mapping[str, Any]) -> Chunks:
        unknown = value.keys() - members.keys()
        if unknown:
            raise ValueError(f"there is no way to write {', '.join(sorted(unknown))}")
        return list(chain.from_iterable(_written(members, value)))

    return write


def _written(members: _Members, value: Mapping[str, Any]) -> Iterator[Chunks]:
    for name, (number, encode) in members.items():
        found = value.get(name)
        if found is None:
            continue
        if isinstance(encode, _Flag):
            yield [_number(number << 3) + _number(int(found))]
        elif isinstance(found, list | tuple) and encode is not _ready:
            yield from (_field(number, encode(each)) for each in found)
        elif isinstance(found, Mapping) and encode in _ENTRIES:
            entries = ({"key": key, "value": item} for key, item in found.items())
            yield from (_field(number, encode(each)) for each in entries)
        else:
            yield _field(number, encode(found))


_texts: Final = _message({"key": (1, _text), "value": (2, _text)})
_files: Final = _message({"key": (1, _text), "value": (2, _bytes)})
# A map is written as a list of its entries.
_ENTRIES: Final = frozenset({_texts, _files})

_owner: Final = _message(
    {
        "kind": (1, _text),
        "name": (3, _text),
        "uid": (4, _text),
        "apiVersion": (5, _text),
        "controller": (6, _FLAG),
        "blockOwnerDeletion": (7, _FLAG),
    }
)
_metadata: Final = _message(
    {
        "name": (1, _text),
        "namespace": (3, _text),
        "uid": (5, _text),
        "resourceVersion": (6, _text),
        "labels": (11, _texts),
        "annotations": (12, _texts),
        "ownerReferences": (13, _owner),
        "finalizers": (14, _text),
    }
)
_KINDS: Final[Mapping[str, _Members]] = {
    "Secret": {
        "metadata": (1, _metadata),
        "data": (2, _files),
        "type": (3, _text),
        "immutable": (5, _FLAG),
    },
    "ConfigMap": {
        "metadata": (1, _metadata),
        "data": (2, _texts),
        "binaryData": (3, _files),
        "immutable": (4, _FLAG),
    },
}
_TYPE: Final = frozenset({"apiVersion", "kind"})


def _type_meta(value: Mapping[str, Any]) -> Chunks:
    return _field(1, _text(value["apiVersion"])) + _field(2, _text(value["kind"]))


_UNKNOWN: Final[_Members] = {"typeMeta": (1, _type_meta), "raw": (2, _ready)}
