"""JSON to typed objects and back.

Unknown fields are passed over, and nothing that the schema merely *constrains* is enforced: an
object that was stored before a rule was tightened still loads. What cannot be loaded is an object
whose types are wrong. In a list, such an object is set aside with its name and path, and the rest
loads: the list is decoded at once, and only where that fails is each item tried on its own.
"""

import re
from functools import cache
from typing import Any, Generic, TypeVar

import msgspec
from msgspec import Raw, Struct

from stoker.api.core import ObjectMeta
from stoker.errors import DecodeError

T = TypeVar("T")

_TOO_DEEP = "is nested too deeply to be read"


class ListMeta(Struct, rename="camel", frozen=True):
    """The metadata of a list: where to go on, and where to watch from."""

    resource_version: str = ""
    continue_: str = msgspec.field(default="", name="continue")


class ListAnswer(Struct, Generic[T], frozen=True):
    """One answer to a list request."""

    metadata: ListMeta = ListMeta()
    items: list[T] = []


class Undecodable(Struct, frozen=True):
    """An object of a list that does not fit its kind's types."""

    namespace: str
    name: str
    path: str
    reason: str


class _Named(Struct):
    metadata: ObjectMeta = ObjectMeta()


def decode(model: type[T], data: bytes | str) -> T:
    """The typed object behind JSON text, or a DecodeError with the path to what is wrong."""
    try:
        return _decoder(model).decode(data)
    except msgspec.DecodeError as error:
        raise decode_error(error) from None
    except RecursionError:
        raise DecodeError("", _TOO_DEEP) from None


def convert(model: type[T], value: Any) -> T:
    """The typed object behind plain dictionaries, or a DecodeError with the path."""
    try:
        return msgspec.convert(value, model)
    except msgspec.ValidationError as error:
        raise decode_error(error) from None
    except RecursionError:
        raise DecodeError("", _TOO_DEEP) from None


def decode_page(model: type[T], data: bytes) -> tuple[ListAnswer[T], list[Undecodable]]:
    """A page of a list, and the objects in it that had to be left out."""
    try:
        return _page_decoder(model).decode(data), []
    except msgspec.ValidationError:
        return _salvaged(model, data)


def encode(value: Any) -> bytes:
    """JSON text of a typed object: what was absent stays absent."""
    return msgspec.json.encode(value)


def decode_error(error: msgspec.DecodeError) -> DecodeError:
    """The complaint of msgspec as ours: `$.spec.replicas` becomes the path `spec.replicas`."""
    text = str(error)
    found = re.fullmatch(r"(?P<reason>.*) - at `(?:key in )?\$\.?(?P<path>.*)`", text, re.DOTALL)
    if not found:
        return DecodeError("", _plain(text))
    return DecodeError(found["path"].replace("[...]", "[*]"), _plain(found["reason"]))


_TYPE_WORDS = {
    "str": "a string",
    "int": "an integer",
    "float": "a number",
    "bool": "a boolean",
    "array": "a list",
    "object": "an object",
    "null": "nothing",
}


def _plain(reason: str) -> str:
    """`Expected `str | null`, got `int`` in the words of YAML rather than of Python."""
    found = re.fullmatch(r"Expected `([^`]+)`, got `([^`]+)`", reason)
    if not found:
        return reason[:1].lower() + reason[1:]
    wanted = [_TYPE_WORDS.get(word, word) for word in found[1].split(" | ") if word != "null"]
    return f"expected {' or '.join(wanted)}, got {_TYPE_WORDS.get(found[2], found[2])}"


def _salvaged(model: type[T], data: bytes) -> tuple[ListAnswer[T], list[Undecodable]]:
    raw = _page_decoder(Raw).decode(data)
    items: list[T] = []
    undecodable: list[Undecodable] = []
    for item in raw.items:
        try:
            items.append(_decoder(model).decode(item))
        except msgspec.ValidationError as error:
            undecodable.append(_set_aside(item, decode_error(error)))
    return ListAnswer(raw.metadata, items), undecodable


def _set_aside(item: Raw, error: DecodeError) -> Undecodable:
    try:
        metadata = _decoder(_Named).decode(item).metadata
    except msgspec.ValidationError:
        metadata = ObjectMeta()
    return Undecodable(metadata.namespace or "", metadata.name or "", error.path, error.reason)


def _decoder(model: type[T]) -> msgspec.json.Decoder[T]:
    shape: Any = model
    return _decoder_of(shape)


def _page_decoder(model: type[T]) -> msgspec.json.Decoder[ListAnswer[T]]:
    page: Any = ListAnswer[model]  # type: ignore[valid-type]
    return _decoder_of(page)


@cache
def _decoder_of(shape: Any) -> msgspec.json.Decoder[Any]:
    """Decoders are worth keeping: making one reads the whole declaration."""
    return msgspec.json.Decoder(shape)
