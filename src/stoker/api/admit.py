"""What an API server does with a new object of our kinds: prune, default, validate.

The same schema that `stoker crds` publishes is applied here without a server, so that a manifest in
a directory meets the verdict that the cluster would give, with the same path to the field. The
verdicts are compared with a real API server's in `tests/conformance`.
"""

import json
from collections import Counter
from collections.abc import Iterator
from functools import cache
from typing import Any

import re2
from msgspec import Struct

from stoker.api.cel import holds
from stoker.api.crd import KindVersion, version_schema
from stoker.api.declare import Model
from stoker.api.schema import Schema, schema_of
from stoker.errors import below

INVALID = "Invalid"
REQUIRED = "Required"
UNSUPPORTED = "Unsupported"
DUPLICATE = "Duplicate"
WRONG_TYPE = "WrongType"
UNKNOWN_FIELD = "UnknownField"


class Objection(Struct, frozen=True):
    """Something wrong with an object: where, what sort of thing, and a sentence for people."""

    path: str
    reason: str
    message: str


class Admission(Struct, frozen=True):
    """The object as the API server would store it, and what it would refuse it for."""

    stored: dict[str, Any]
    findings: tuple[Objection, ...]
    unknown: tuple[Objection, ...]


def admit(version: KindVersion, manifest: dict[str, Any]) -> Admission:
    """Prune, default and validate a manifest of one of our kinds.

    A new object has no status: the API server drops what the manifest says there.
    """
    schema = _schema(version)
    unknown = tuple(_unknown(schema, manifest, ""))
    stored = _defaulted(schema, _pruned(schema, manifest))
    stored.pop("status", None)
    stored["metadata"] = manifest.get("metadata") or {}
    findings = (*_scale_violations(version, stored), *_findings(schema, stored))
    return Admission(stored, findings, unknown)


def faults(model: type[Model], value: dict[str, Any]) -> tuple[Objection, ...]:
    """What the API server would refuse a part of an object for, by the part's declared type.

    An object that was stored before a rule was there, or where none is installed, may break it.
    """
    return _findings(_schema_of_part(model), value)


@cache
def _schema_of_part(model: type[Model]) -> Schema:
    return schema_of(model)


@cache
def _schema(version: KindVersion) -> Schema:
    schema = version_schema(version)
    schema["properties"]["metadata"] = {
        "type": "object",
        "x-kubernetes-preserve-unknown-fields": True,
    }
    return schema


def _pruned(schema: Schema, value: Any) -> Any:
    if schema.get("x-kubernetes-preserve-unknown-fields"):
        return value
    if isinstance(value, list) and "items" in schema:
        return [_pruned(schema["items"], item) for item in value]
    if not isinstance(value, dict):
        return value
    return {
        name: _pruned(inner, value[name])
        for name in value
        if (inner := _member(schema, name)) is not None
    }


def _unknown(schema: Schema, value: Any, path: str) -> Iterator[Objection]:
    if schema.get("x-kubernetes-preserve-unknown-fields"):
        return
    if isinstance(value, list) and "items" in schema:
        for index, item in enumerate(value):
            yield from _unknown(schema["items"], item, f"{path}[{index}]")
    elif isinstance(value, dict) and schema.get("type") == "object":
        for name, item in value.items():
            inner = _member(schema, name)
            here = below(path, name)
            if inner is None:
                yield Objection(here, UNKNOWN_FIELD, "unknown field, the API server drops it")
            else:
                yield from _unknown(inner, item, here)


def _member(schema: Schema, name: str) -> Schema | None:
    """The schema of a member of an object, or None where the object has no such member."""
    found: Schema | None = schema.get("properties", {}).get(name)
    if found is None:
        found = schema.get("additionalProperties")
    return found


def _defaulted(schema: Schema, value: Any) -> Any:
    """Drop the nulls of declared members, none of which can be null, and fill in defaults."""
    if isinstance(value, list) and "items" in schema:
        return [_defaulted(schema["items"], item) for item in value]
    if not isinstance(value, dict):
        return value
    filled = {
        name: _defaulted(_member(schema, name) or {}, item)
        for name, item in value.items()
        if not (item is None and _member(schema, name) is not None)
    }
    for name, inner in schema.get("properties", {}).items():
        if "default" in inner and name not in filled:
            filled[name] = inner["default"]
    return filled


# A rule in CEL that reads a value of the wrong shape would only echo the fault.
_BLOCKING = frozenset({REQUIRED, UNSUPPORTED, WRONG_TYPE})


def _findings(schema: Schema, stored: dict[str, Any]) -> tuple[Objection, ...]:
    """What is wrong: CEL rules are asked, as by the API server, only of a well-shaped object."""
    found = tuple(_violations(schema, stored, ""))
    if any(finding.reason in _BLOCKING for finding in found):
        return found
    return found + tuple(_broken_rules(schema, stored, ""))


def _scale_violations(version: KindVersion, stored: dict[str, Any]) -> Iterator[Objection]:
    """The scale subresource takes no negative number, whatever the schema says."""
    if version.scale is None:
        return
    path = version.scale.spec_replicas.removeprefix(".")
    number: Any = stored
    for name in path.split("."):
        number = number.get(name) if isinstance(number, dict) else None
    if isinstance(number, int) and number < 0:
        yield Objection(path, INVALID, f"{number} is less than 0")


def _broken_rules(schema: Schema, value: Any, path: str) -> Iterator[Objection]:
    if isinstance(value, dict):
        for name, item in value.items():
            yield from _broken_rules(_member(schema, name) or {}, item, below(path, name))
    elif isinstance(value, list):
        for index, item in enumerate(value):
            yield from _broken_rules(schema.get("items", {}), item, f"{path}[{index}]")
    for rule in schema.get("x-kubernetes-validations", ()):
        if not holds(rule["rule"], value):
            yield Objection(path, INVALID, rule["message"])


def _violations(schema: Schema, value: Any, path: str) -> Iterator[Objection]:
    mismatch = _type_mismatch(schema, value)
    if mismatch:
        yield Objection(path, WRONG_TYPE, mismatch)
        return
    yield from _value_violations(schema, value, path)
    if isinstance(value, dict):
        yield from _object_violations(schema, value, path)
    elif isinstance(value, list):
        yield from _list_violations(schema, value, path)


_TYPES: dict[str, tuple[tuple[type, ...], str]] = {
    "string": ((str,), "a string"),
    "integer": ((int,), "an integer"),
    "number": ((int, float), "a number"),
    "boolean": ((bool,), "a boolean"),
    "array": ((list,), "a list"),
    "object": ((dict,), "an object"),
    "int-or-string": ((int, str), "an integer or a string"),
}


def _type_mismatch(schema: Schema, value: Any) -> str:
    expected = "int-or-string" if schema.get("x-kubernetes-int-or-string") else schema.get("type")
    if expected is None:
        return ""
    wanted, words = _TYPES[expected]
    if isinstance(value, wanted) and (bool in wanted or not isinstance(value, bool)):
        return ""
    if expected == "integer" and isinstance(value, float) and value.is_integer():
        return "" if abs(value) < _INTEGER_LIMITS["int64"] else f"{value} does not fit into int64"
    return f"expected {words}, got {_described(value)}"


def _described(value: Any) -> str:
    for wanted, words in _TYPES.values():
        if type(value) in wanted:
            return f"{words} ({json.dumps(value)})" if isinstance(value, int | float) else words
    return "nothing"


def _value_violations(schema: Schema, value: Any, path: str) -> Iterator[Objection]:
    if "enum" in schema and value not in schema["enum"]:
        allowed = ", ".join(f"`{choice}`" for choice in schema["enum"])
        yield Objection(path, UNSUPPORTED, f"{_quoted(value)} is not one of {allowed}")
    if isinstance(value, str):
        yield from _text_violations(schema, value, path)
    elif isinstance(value, int | float):
        yield from _number_violations(schema, value, path)


def _text_violations(schema: Schema, value: str, path: str) -> Iterator[Objection]:
    if len(value) < schema.get("minLength", 0):
        yield Objection(path, INVALID, _too_short(schema["minLength"]))
    if len(value) > schema.get("maxLength", len(value)):
        yield Objection(path, INVALID, f"longer than {schema['maxLength']} characters")
    if "pattern" in schema and not _pattern(schema["pattern"]).search(value):
        yield Objection(path, INVALID, f"{_quoted(value)} does not match `{schema['pattern']}`")
    if schema.get("format") == "date-time" and not _DATE_TIME.match(value):
        yield Objection(
            path, INVALID, f"{_quoted(value)} is not a time such as 2026-01-31T12:00:00Z"
        )


def _number_violations(schema: Schema, value: float, path: str) -> Iterator[Objection]:
    if value < schema.get("minimum", value):
        yield Objection(path, INVALID, f"{value} is less than {schema['minimum']}")
    if value > schema.get("maximum", value):
        yield Objection(path, INVALID, f"{value} is more than {schema['maximum']}")
    limit = _INTEGER_LIMITS.get(schema.get("format", ""))
    if limit and not -limit <= value < limit:
        yield Objection(path, INVALID, f"{value} does not fit into {schema['format']}")


def _object_violations(schema: Schema, value: dict[str, Any], path: str) -> Iterator[Objection]:
    for name in schema.get("required", ()):
        if name not in value:
            yield Objection(below(path, name), REQUIRED, "required, but missing")
    for name, item in value.items():
        inner = _member(schema, name)
        if inner is not None:
            yield from _violations(inner, item, below(path, name))


def _list_violations(schema: Schema, value: list[Any], path: str) -> Iterator[Objection]:
    if len(value) < schema.get("minItems", 0):
        yield Objection(path, INVALID, f"needs at least {_counted(schema['minItems'], 'item')}")
    if len(value) > schema.get("maxItems", len(value)):
        yield Objection(path, INVALID, f"takes at most {_counted(schema['maxItems'], 'item')}")
    for index, item in enumerate(value):
        yield from _violations(schema.get("items", {}), item, f"{path}[{index}]")
    yield from _duplicates(schema, value, path)


def _duplicates(schema: Schema, value: list[Any], path: str) -> Iterator[Objection]:
    """The second of each set of equal items, as the API server has it."""
    seen: Counter[str] = Counter()
    for index, item in enumerate(value):
        identity = _identity(schema, item)
        if identity is None:
            return
        # By their text, since `True` and `1` are equal only in Python.
        if seen[repr(identity)] == 1:
            yield Objection(f"{path}[{index}]", DUPLICATE, f"{_quoted(identity)} stands here twice")
        seen[repr(identity)] += 1


def _identity(schema: Schema, item: Any) -> Any:
    """What tells list items apart, or None for lists that may repeat themselves."""
    list_type = schema.get("x-kubernetes-list-type")
    if list_type == "set":
        return item
    if list_type == "map" and isinstance(item, dict):
        return {key: item.get(key) for key in schema["x-kubernetes-list-map-keys"]}
    return None


_INTEGER_LIMITS = {"int32": 2**31, "int64": 2**63}
_DATE_TIME = re2.compile(r"(?i)^\d{4}-\d{2}-\d{2}[t ]\d{2}:\d{2}:\d{2}(\.\d+)?(z|[+-]\d{2}:\d{2})$")


@cache
def _pattern(text: str) -> Any:
    return re2.compile(text)


def _counted(number: int, noun: str) -> str:
    return f"{number} {noun}" + ("" if number == 1 else "s")


def _too_short(minimum: int) -> str:
    return "must not be empty" if minimum == 1 else f"shorter than {minimum} characters"


def _quoted(value: Any) -> str:
    if isinstance(value, dict):
        return ", ".join(f"{key} `{item}`" for key, item in value.items())
    text = str(value)
    return f"`{text[:60]}…`" if len(text) > 60 else f"`{text}`"
