"""A newer version of a kind from an older one, by a table of changes.

    v1alpha1's declaration ──changes──> declaration of the newer version   (`Graduation.model`)
                                └─────> how an object's JSON is rewritten  (`Graduation.shape`)

A row of the table names a declared type and says what is different in it and in all types that
inherit from it:

    Renamed      a field has another name
    Respelled    the values of a field are written in another way, each in one way only
    Relaxed      a field is no longer required
    Ruled        a rule in CEL that the older version could not have

The newer types are subclasses of the older ones with the same attributes; a type in which and
below which nothing changes is used as it is. Descriptions follow: a name or value between
backticks is replaced where the row that renames it applies.
"""

import re
import types
import typing
from collections.abc import Iterable, Mapping
from threading import RLock
from typing import Any, Final, TypeAlias, TypeVar

import msgspec
from msgspec import Struct
from msgspec.structs import FieldInfo

from stoker.api.declare import Constraints, Doc, Model, names

M = TypeVar("M", bound=Model)


class Renamed(Struct, frozen=True):
    """A field of these types is called `name` in JSON; `where` and `why` are for the docs."""

    of: tuple[type[Model], ...]
    attribute: str
    name: str
    where: str
    why: str


class Respelled(Struct, frozen=True):
    """The values of a field: each spelling of the older version, and the one of the newer.

    Of several spellings of one value the first is the usual one: it is what the value becomes on
    the way back unless something better is known.
    """

    of: tuple[type[Model], ...]
    attribute: str
    words: tuple[tuple[str, str], ...]
    where: str
    why: str


class Relaxed(Struct, frozen=True):
    """A required field of these types may be left out; `text` describes it instead."""

    of: tuple[type[Model], ...]
    attribute: str
    text: str
    where: str
    why: str


class Ruled(Struct, frozen=True):
    """A rule that objects of these types must keep when they are written in the newer version."""

    of: tuple[type[Model], ...]
    message: str
    expression: str
    where: str
    why: str


FieldChange: TypeAlias = Renamed | Respelled | Relaxed | Ruled
_C = TypeVar("_C", Renamed, Respelled, Relaxed, Ruled)


class Spelling(Struct, frozen=True):
    """How the values of a field become those of the other version, and how they come back."""

    there: Mapping[str, str]
    back: Mapping[str, str]


class Shape(Struct, frozen=True):
    """How the JSON of a type becomes that of the other version; for a list, of its items.

    A name that only the other version knows is exchanged for the one that only this one knows, so
    that a field that does not exist here cannot become one that exists there.
    """

    renamed: Mapping[str, str]
    spelled: Mapping[str, Spelling]
    inner: Mapping[str, "Shape"]

    @property
    def reversed(self) -> "Shape":
        """The way back."""
        return Shape(
            self.renamed,
            {
                self.renamed.get(name, name): Spelling(one.back, one.there)
                for name, one in self.spelled.items()
            },
            {self.renamed.get(name, name): one.reversed for name, one in self.inner.items()},
        )


_UNCHANGED: Final = Shape({}, {}, {})


class Graduation:
    """The newer types, and the way of JSON to them, that a table of changes makes."""

    def __init__(self, changes: Iterable[FieldChange]) -> None:
        self._changes = tuple(changes)
        # Types are made when they are asked for, by any thread, and must be the same for all.
        self._making = RLock()
        self._models: dict[type[Model], type[Model]] = {}
        self._shapes: dict[type[Model], Shape] = {}

    def model(self, old: type[M]) -> type[M]:
        """The type in the newer version."""
        with self._making:
            if old not in self._models:
                self._models[old] = self._graduated(old)
        made: Any = self._models[old]
        found: type[M] = made
        return found

    def shape(self, old: type[Model]) -> Shape:
        """How JSON of the older type becomes JSON of the newer."""
        with self._making:
            if old not in self._shapes:
                self._shapes[old] = self._shaped(old)
        return self._shapes[old]

    def _rows(self, old: type[Model], row: type[_C]) -> list[_C]:
        return [one for one in self._changes if isinstance(one, row) and issubclass(old, one.of)]

    # --- Types ------------------------------------------------------------------------------------

    def _graduated(self, old: type[Model]) -> type[Model]:
        if hasattr(old, "EMBEDS"):
            return old
        renamed = {row.attribute: row.name for row in self._rows(old, Renamed)}
        anew = {}
        for field in msgspec.structs.fields(old):
            declared, default = self._field(old, field)
            if field.name in renamed or declared != field.type:
                anew[field.name] = declared, default
        rules = {row.message: row.expression for row in self._rows(old, Ruled)}
        if not anew and not rules:
            return old
        return _subclass(old, anew, rules, _json_names(old) | renamed)

    def _field(self, old: type[Model], field: FieldInfo) -> tuple[Any, Any]:
        """The type and the default of a field in the newer version."""
        words = self._words(old, field.name)
        made = self._type(field.type, words, self._spelling(old, field.name))
        default = field.default
        for row in self._rows(old, Relaxed):
            if row.attribute == field.name:
                inner = typing.get_args(made)[0] | None
                made, default = typing.Annotated[inner, Doc(row.text, {})], None
        return made, default

    def _words(self, old: type[Model], attribute: str) -> dict[str, str]:
        """What is written otherwise in the description of a field."""
        encoded = _json_names(old)
        words = {encoded[row.attribute]: row.name for row in self._rows(old, Renamed)}
        for row in self._rows(old, Respelled):
            if row.attribute == attribute:
                words |= dict(row.words)
        return words

    def _spelling(self, old: type[Model], attribute: str) -> dict[str, str]:
        rows = self._rows(old, Respelled)
        return {k: v for row in rows if row.attribute == attribute for k, v in row.words}

    def _type(self, declared: Any, words: Mapping[str, str], spelling: Mapping[str, str]) -> Any:
        """A type with the newer types inside, and descriptions in the newer words."""
        origin, arguments = typing.get_origin(declared), typing.get_args(declared)
        if isinstance(declared, type) and issubclass(declared, Model):
            return self.model(declared)
        if origin is typing.Annotated:
            inner = self._type(arguments[0], words, spelling)
            notes = tuple(_note(note, words, spelling) for note in arguments[1:])
            return typing.Annotated[(inner, *notes)]
        made = tuple(self._type(argument, words, spelling) for argument in arguments)
        if made == arguments:
            return declared
        if origin in (typing.Union, types.UnionType):
            return typing.Union[made]  # noqa: UP007 (made at run time)
        return origin[made]

    # --- JSON -------------------------------------------------------------------------------------

    def _shaped(self, old: type[Model]) -> Shape:
        if hasattr(old, "EMBEDS"):
            return _UNCHANGED
        encoded = _json_names(old)
        renamed = {encoded[row.attribute]: row.name for row in self._rows(old, Renamed)}
        spelled = {
            encoded[row.attribute]: Spelling(dict(row.words), _usual(row.words))
            for row in self._rows(old, Respelled)
        }
        inner = {}
        for field in msgspec.structs.fields(old):
            held = _held(field.type)
            if held is not None and self.shape(held) != _UNCHANGED:
                inner[field.encode_name] = self.shape(held)
        there_and_back = renamed | {new: name for name, new in renamed.items()}
        return Shape(there_and_back, spelled, inner)


def _json_names(model: type[Model]) -> dict[str, str]:
    return dict(zip(model.__struct_fields__, model.__struct_encode_fields__, strict=True))


def _usual(words: Iterable[tuple[str, str]]) -> dict[str, str]:
    usual: dict[str, str] = {}
    for old, new in words:
        usual.setdefault(new, old)
    return usual


def _held(declared: Any) -> type[Model] | None:
    """The declared type that a field holds, by itself or as items of a list."""
    if isinstance(declared, type) and issubclass(declared, Model):
        return declared
    arguments = typing.get_args(declared)
    if typing.get_origin(declared) is dict:
        # What stands below a user's own names is the same in all versions.
        return None
    return next(filter(None, map(_held, arguments)), None)


_QUOTED: Final = re.compile("`([^`]+)`")


def in_words(text: str, words: Mapping[str, str]) -> str:
    """A text with other words between its backticks."""
    return _QUOTED.sub(lambda found: f"`{words.get(found[1], found[1])}`", text)


def _note(note: Any, words: Mapping[str, str], spelling: Mapping[str, str]) -> Any:
    if not isinstance(note, Doc):
        return note
    text, constraints = in_words(note.text, words), _respelled(note.constraints, spelling)
    same = text == note.text and constraints == note.constraints
    return note if same else Doc(text, constraints)


def _respelled(constraints: Constraints, spelling: Mapping[str, str]) -> Constraints:
    made: Constraints = {**constraints}
    if spelling and "enum" in made:
        made["enum"] = tuple(dict.fromkeys(spelling[word] for word in made["enum"]))
    if spelling and "default" in made:
        made["default"] = spelling[made["default"]]
    return made


def _subclass(
    old: type[Model],
    anew: Mapping[str, tuple[Any, Any]],
    rules: Mapping[str, str],
    encoded: dict[str, str],
) -> type[Model]:
    def fill(namespace: dict[str, Any]) -> None:
        namespace.update({name: default for name, (_, default) in anew.items()})
        namespace["__annotations__"] = {name: declared for name, (declared, _) in anew.items()}
        namespace["__module__"] = old.__module__
        namespace["__doc__"] = old.__doc__
        namespace["CEL"] = rules

    made: Any = types.new_class(old.__name__, (old,), {"rename": names(**encoded)}, fill)
    found: type[Model] = made
    return found
