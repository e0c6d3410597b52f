"""Declarations to OpenAPI v3 structural schemas, the form that a CRD publishes.

`schema_of` reads a type as it is written in the declaring module (see `declare`) and returns plain
dictionaries. Types of Kubernetes itself (`embeds=…`) come from `coreschema/core.json`, which was
taken from an API server's own OpenAPI document.
"""

import json
import types
import typing
from collections.abc import Iterator
from functools import cache
from importlib.resources import files
from typing import Any, TypeAlias

import msgspec

from stoker.api.declare import Cel, Constraints, Doc, Mark, Model

Schema: TypeAlias = dict[str, Any]

_SCALARS: dict[object, Schema] = {
    str: {"type": "string"},
    int: {"type": "integer"},
    bool: {"type": "boolean"},
    float: {"type": "number"},
    Any: {},
}

_EXTENSIONS = {
    "listType": "x-kubernetes-list-type",
    "listMapKeys": "x-kubernetes-list-map-keys",
    "mapType": "x-kubernetes-map-type",
    "preserveUnknownFields": "x-kubernetes-preserve-unknown-fields",
}


class Field(msgspec.Struct, frozen=True):
    """A field of a declared object, as the schema and the reference pages see it."""

    attribute: str
    name: str
    type: Any
    text: str
    required: bool


@cache
def fields_of(model: type[Model]) -> tuple[Field, ...]:
    """The fields of a declared object in order of their JSON names."""
    hints = typing.get_type_hints(model, include_extras=True)
    found = (
        Field(f.name, f.encode_name, hints[f.name], _text(hints[f.name]), not _optional(f.type))
        for f in msgspec.structs.fields(model)
    )
    return tuple(sorted(found, key=lambda field: field.name))


@cache
def marked(model: type[Model], mark: Mark) -> tuple[str, ...]:
    """The attributes of a declared object that have a mark."""
    return tuple(each.attribute for each in fields_of(model) if mark in typing.get_args(each.type))


def rules_of(model: type[Model]) -> Cel:
    """All CEL rules of an object: those of its bases first, then its own."""
    rules: dict[str, str] = {}
    for base in reversed(model.__mro__):
        rules.update(base.__dict__.get("CEL", {}))
    return rules


def schema_of(declared: Any) -> Schema:
    """The structural schema of a declared type, descriptions included."""
    if typing.get_origin(declared) is typing.Annotated:
        return _annotated(*typing.get_args(declared))
    if declared in _SCALARS:
        return dict(_SCALARS[declared])
    if isinstance(declared, type) and issubclass(declared, Model):
        return _object(declared)
    origin, arguments = typing.get_origin(declared), typing.get_args(declared)
    if origin in (typing.Union, types.UnionType):
        return _union(arguments)
    if origin is tuple:
        return {"type": "array", "items": schema_of(arguments[0])}
    if origin is dict:
        return {"type": "object", "additionalProperties": schema_of(arguments[1])}
    raise TypeError(f"no schema for {declared!r}")


def without_descriptions(schema: Schema) -> Schema:
    """The same schema for those who need it small."""
    return _rewritten(schema, drop=frozenset({"description"}))


def without_cel(schema: Schema) -> Schema:
    """The same schema for API servers that do not know CEL."""
    return _rewritten(schema, drop=frozenset({"x-kubernetes-validations"}))


def subschemas(schema: Schema) -> Iterator[tuple[str, Schema]]:
    """The schemas directly below one, with the step that leads there (`.name`, `[]`, `{}`)."""
    for name, inner in schema.get("properties", {}).items():
        yield f".{name}", inner
    if "items" in schema:
        yield "[]", schema["items"]
    if isinstance(schema.get("additionalProperties"), dict):
        yield "{}", schema["additionalProperties"]


def walk(schema: Schema, path: str = "") -> Iterator[tuple[str, Schema]]:
    """Every schema with its path, the outermost first."""
    yield path, schema
    for step, inner in subschemas(schema):
        yield from walk(inner, path + step)


def _annotated(inner: Any, *notes: Any) -> Schema:
    docs = [note for note in notes if isinstance(note, Doc)]
    embeds = [note.constraints["embeds"] for note in docs if "embeds" in note.constraints]
    schema = core_schema(embeds[0]) if embeds else schema_of(inner)
    for note in docs:
        schema |= _published(note.constraints)
        if note.text:
            schema["description"] = note.text
    return schema


def _published(constraints: Constraints) -> Schema:
    return {
        _EXTENSIONS.get(word, word): list(value) if isinstance(value, tuple) else value
        for word, value in constraints.items()
        if word != "embeds"
    }


def _union(arguments: tuple[Any, ...]) -> Schema:
    members = [argument for argument in arguments if argument is not types.NoneType]
    if len(members) == 1:
        return schema_of(members[0])
    if set(members) == {int, str}:
        alternatives = [{"type": "integer"}, {"type": "string"}]
        return {"anyOf": alternatives, "x-kubernetes-int-or-string": True}
    raise TypeError(f"no schema for a choice of {members!r}")


def _object(model: type[Model]) -> Schema:
    if hasattr(model, "EMBEDS"):
        return _extended(model, core_schema(model.EMBEDS))
    declared = fields_of(model)
    schema: Schema = {
        "type": "object",
        "properties": {field.name: schema_of(field.type) for field in declared},
    }
    required = [field.name for field in declared if field.required]
    if required:
        schema["required"] = required
    rules = [{"message": message, "rule": text} for message, text in rules_of(model).items()]
    if rules:
        schema["x-kubernetes-validations"] = rules
    return schema


def _extended(model: type[Model], schema: Schema) -> Schema:
    """A Kubernetes type and what our declaration adds to it."""
    for field in fields_of(model):
        if field.name not in schema["properties"]:
            schema["properties"][field.name] = schema_of(field.type)
    return schema


def _optional(declared: Any) -> bool:
    if typing.get_origin(declared) is typing.Annotated:
        return _optional(typing.get_args(declared)[0])
    return types.NoneType in typing.get_args(declared)


def _text(declared: Any) -> str:
    notes = getattr(declared, "__metadata__", ())
    return next((note.text for note in notes if isinstance(note, Doc) and note.text), "")


def _rewritten(schema: Schema, drop: frozenset[str]) -> Schema:
    kept = {word: value for word, value in schema.items() if word not in drop}
    if "properties" in kept:
        kept["properties"] = {
            name: _rewritten(inner, drop) for name, inner in kept["properties"].items()
        }
    for word in ("items", "additionalProperties"):
        if isinstance(kept.get(word), dict):
            kept[word] = _rewritten(kept[word], drop)
    return kept


@cache
def _core_definitions() -> dict[str, Schema]:
    text = files("stoker.api.coreschema").joinpath("core.json").read_text()
    definitions: dict[str, Schema] = json.loads(text)["definitions"]
    return definitions


def core_schema(name: str) -> Schema:
    """The schema of a Kubernetes type, with the types it refers to written out."""
    return _inlined(_core_definitions()[name])


def _inlined(schema: Schema) -> Schema:
    if "$ref" in schema:
        around = {word: value for word, value in schema.items() if word != "$ref"}
        return core_schema(schema["$ref"]) | around
    expanded = dict(schema)
    if "properties" in expanded:
        expanded["properties"] = {
            name: _inlined(inner) for name, inner in expanded["properties"].items()
        }
    for word in ("items", "additionalProperties"):
        if isinstance(expanded.get(word), dict):
            expanded[word] = _inlined(expanded[word])
    return expanded
