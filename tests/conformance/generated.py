"""Objects made up from a schema, valid as far as the schema can say (CEL rules aside).

A generator is led by three things. The *focus* is a path that the object must contain; taking all
paths of a schema in turn reaches every field of it, however deep. The *fill* is the share of the
other optional members that are present, less with each level, so that objects stay small. A seed
decides the rest, so that an object can be made again.
"""

import json
from collections.abc import Iterator
from copy import deepcopy
from functools import cache
from random import Random
from typing import Any, Final, TypeAlias

import re2
from hypothesis import given, settings
from hypothesis import strategies as st

from stoker.api.crd import GROUP, KindVersion, version_schema
from stoker.api.schema import Schema, subschemas

Path: TypeAlias = tuple[str, ...]

# What YAML, templates or terminals like to take for something else, and line breaks of all sorts.
_TEXTS: Final = (
    "a",
    "Z9-",
    "yes",
    "~",
    "0777",
    "1e3",
    "<<",
    "$(VAR)",
    "{{.x}}",
    "'",
    '"',
    "é",
    "😀",
)
_SPACES: Final = (" lead", "trail ", "two\nlines", "tab\t", "\x85", "\u2028", "\x00")
_TIMES: Final = ("2026-01-31T12:00:00Z", "1999-12-31T23:59:59.123456789+01:00")
_JSON: Final[tuple[Any, ...]] = (
    None,
    True,
    0,
    -1.5,
    "",
    "text",
    [],
    {},
    [None, {"a": [1]}],
    {"b": {"c": None}},
)
# No integer too big for its format: the API server refuses it without saying where it stands.
_SPOILERS: Final[tuple[Any, ...]] = (
    *(None, "", 1, -1, 1.5, True, [], {}, "bad value", ["a", "a"], ["a", "b", "a"]),
    *({"unknown": 1}, [None], [{}, {}], "10s", {"name": "x"}),
)
_LIMITS: Final = {"int32": 2**31, "int64": 2**63}


class Generator:
    """Makes values of schemas; one per object."""

    def __init__(self, seed: str, fill: float) -> None:
        self._random = Random(seed)
        self._fill = fill

    def value(self, schema: Schema, focus: Path = (), depth: int = 0) -> Any:
        """A value that the schema allows and that contains the focus."""
        if "enum" in schema:
            return self._random.choice(schema["enum"])
        if schema.get("x-kubernetes-int-or-string"):
            return self._random.choice((self._integer, self._text))(schema)
        if schema.get("type") == "object":
            return self._object(schema, focus, depth)
        if schema.get("type") == "array":
            return self._list(schema, focus, depth)
        return self._scalar(schema)

    def _scalar(self, schema: Schema) -> Any:
        match schema.get("type"):
            case "string":
                return self._text(schema)
            case "integer":
                return self._integer(schema)
            case "number":
                return self._random.choice((0.0, 1.0, -2.5, 1e300, self._random.random()))
            case "boolean":
                return self._random.random() < 0.5
        return self._random.choice(_JSON)

    def _object(self, schema: Schema, focus: Path, depth: int) -> dict[str, Any]:
        # Of a hundred members most are passed over, so little is done for each.
        required = schema.get("required", ())
        meant = focus[0].removeprefix(".") if focus and focus[0] != "{}" else None
        share, chance = self._fill * 0.5**depth, self._random.random
        made = {
            name: self.value(inner, focus[1:] if name == meant else (), depth + 1)
            for name, inner in schema.get("properties", {}).items()
            if name in required or name == meant or chance() < share
        }
        if isinstance(schema.get("additionalProperties"), dict):
            inner, below = schema["additionalProperties"], focus[1:] if focus[:1] == ("{}",) else ()
            made |= {self._random.choice(_TEXTS): self.value(inner, below, depth + 1)}
        if schema.get("x-kubernetes-preserve-unknown-fields"):
            made |= {"anything": self._random.choice(_JSON)}
        return made

    def _list(self, schema: Schema, focus: Path, depth: int) -> list[Any]:
        least = max(schema.get("minItems", 0), 1 if focus else 0)
        count = max(least, self._random.randint(0, 2))
        made: dict[str, Any] = {}
        for index in range(count):
            item = self.value(schema["items"], () if index else focus[1:], depth + 1)
            made.setdefault(_identity(schema, index, item), item)
        return list(made.values())

    def _text(self, schema: Schema) -> str:
        if schema.get("format") == "date-time":
            return self._random.choice(_TIMES)
        if "pattern" in schema:
            return self._random.choice(matching(schema["pattern"], schema.get("minLength", 0)))
        return self._random.choice(_TEXTS + _SPACES + (() if schema.get("minLength") else ("",)))

    def _integer(self, schema: Schema) -> int:
        limit = _LIMITS[schema.get("format", "int64")]
        low, high = schema.get("minimum", -limit), schema.get("maximum", limit - 1)
        choices = (low, high, 0, 1, 8080, self._random.randint(low, high))
        return self._random.choice([number for number in choices if low <= number <= high])


def resource(version: KindVersion, seed: str, fill: float, focus: Path) -> dict[str, Any]:
    """An object of one of our kinds."""
    generator = Generator(seed, fill)
    made: dict[str, Any] = generator.value(schema_of_version(version), focus)
    own = {"apiVersion": f"{GROUP}/{version.name}", "kind": version.model.__name__}
    return made | own | {"metadata": {"name": "made-up", "labels": {"seed": seed}}}


@cache
def schema_of_version(version: KindVersion) -> Schema:
    """The schema of a version and what its scale subresource demands; made once, as it is slow."""
    schema = version_schema(version)
    if version.scale:
        _, _, counted = version.scale.spec_replicas.removeprefix(".").partition(".")
        schema["properties"]["spec"]["properties"][counted]["minimum"] = 0
    return schema


def leaves(schema: Schema, path: Path = ()) -> Iterator[Path]:
    """The paths to all values that contain no others."""
    inner = list(subschemas(schema))
    if not inner:
        yield path
    for step, below in inner:
        yield from leaves(below, (*path, step))


@cache
def matching(pattern: str, shortest: int) -> tuple[str, ...]:
    """A few texts that match a pattern, made once per pattern because it is slow.

    RE2 has the last word: Python's `re` takes no flags in the middle, and lets `$` stand before a
    newline at the end.
    """
    compiled = re2.compile(pattern)
    found: set[str] = set()

    @settings(max_examples=30, database=None, derandomize=True, deadline=None)
    @given(st.from_regex(pattern.replace("(?i)", "")))
    def collect(text: str) -> None:
        if compiled.search(text) and len(text) >= shortest:
            found.add(text)

    collect()
    return tuple(sorted(found))


def prepare(schema: Schema) -> None:
    """Make the texts for all patterns of a schema: Hypothesis cannot do it inside an example."""
    if "pattern" in schema:
        matching(schema["pattern"], schema.get("minLength", 0))
    for _, inner in subschemas(schema):
        prepare(inner)


def spoilt(made: dict[str, Any], seed: str) -> dict[str, Any]:
    """The object with a value or two of its spec replaced by what may not belong there."""
    random = Random(seed)
    copy = deepcopy(made)
    for _ in range(random.randint(1, 2)):
        places = list(_places(copy["spec"]))
        if places:
            holder, key = random.choice(places)
            holder[key] = deepcopy(random.choice(_SPOILERS))
    return copy


def _places(value: Any) -> Iterator[tuple[Any, Any]]:
    """Every place in a value that holds another, as the container and its key or index."""
    if isinstance(value, dict | list):
        for key in list(value) if isinstance(value, dict) else range(len(value)):
            yield value, key
            yield from _places(value[key])


def _identity(schema: Schema, index: int, item: Any) -> str:
    """What may stand in the list only once: the item, its keys with their defaults, or nothing."""
    match schema.get("x-kubernetes-list-type"):
        case "set":
            return json.dumps(item)
        case "map":
            inner = schema["items"]["properties"]
            keys = schema["x-kubernetes-list-map-keys"]
            return json.dumps([item.get(key, inner[key].get("default")) for key in keys])
    return str(index)
