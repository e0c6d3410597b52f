"""The grammar of a declaration: how a Python class says what a field of the API is.

    class Sigv4(Model, rename=names(role_arn="roleArn")):
        \"\"\"Signs requests with AWS Signature Version 4.\"\"\"

        CEL: ClassVar[Cel] = {"externalId needs roleArn": "!has(self.externalId) || …"}

        region: Annotated[str | None, doc("AWS region of the endpoint.")] = None
        service: Annotated[str, doc("AWS service to sign for.", minLength=1)] = NO_TEXT

- A field that may be left out is `T | None = None`. A field of any other type is *required* in
  the published schema. It still has a default (`NO_TEXT`, `NO_NUMBER`, `NO_ITEMS`, or an empty
  Struct), because nothing that is published is enforced when decoding: an object that was stored
  before a rule was tightened must load.
- `doc(text, **constraints)` describes a field; `rule(**constraints)` constrains a type without
  describing it, as in `Duration = Annotated[str, rule(pattern=…)]`. Constraints use the words of
  OpenAPI (`minLength`, `enum`, …) so that there are no new ones to learn.
- A `Mark` beside the description says something about a field that is not published.
- Lists are tuples: an object that was read is never changed in place.
- JSON names are the camelCase of the attribute; `names(...)` lists the others.
- `CEL` holds rules on the object as {message: expression}. Subclasses inherit fields and rules.

The `NO_…` defaults are instances of subclasses on purpose: msgspec leaves a field out of its
output when the value *is* the default, so a user's own `""`, `0` or `[]` is written back as it
was read, and only what was absent stays absent.
"""

from collections.abc import Callable, Mapping
from enum import Enum
from typing import Any, ClassVar, Final, TypeAlias, TypedDict, Unpack, dataclass_transform

from msgspec import Struct, StructMeta, field

Cel: TypeAlias = Mapping[str, str]


class Constraints(TypedDict, total=False):
    """What the published schema says about a value, in OpenAPI's own words."""

    default: Any
    enum: tuple[str, ...]
    format: str
    pattern: str
    minLength: int
    maxLength: int
    minimum: int
    maximum: int
    minItems: int
    maxItems: int
    listType: str
    listMapKeys: tuple[str, ...]
    mapType: str
    preserveUnknownFields: bool
    embeds: str


class Doc(Struct, frozen=True, eq=False):
    """A description and constraints attached to a type with `Annotated`.

    Compared by identity, since `typing` hashes what is inside `Annotated`.
    """

    text: str
    constraints: Constraints


def doc(text: str, **constraints: Unpack[Constraints]) -> Doc:
    """Describe a field for the person who fills it in, with the constraints that are published."""
    return Doc(text, constraints)


def rule(**constraints: Unpack[Constraints]) -> Doc:
    """Constrain a type wherever it is used, leaving the description to the field."""
    return Doc("", constraints)


class Mark(Enum):
    """What is said of a field to our own readers, where it is declared."""

    OF_JOBS = "the scrape jobs of every resource depend on it"


OF_JOBS: Final = Mark.OF_JOBS


def names(**json_names: str) -> Callable[[str], str]:
    """Give the JSON names that are not the camelCase of their attribute (`api_url="apiURL"`)."""

    def rename(attribute: str) -> str:
        if attribute in json_names:
            return json_names[attribute]
        head, *tail = attribute.split("_")
        return head + "".join(part.title() for part in tail)

    return rename


@dataclass_transform(field_specifiers=(field,), frozen_default=True, kw_only_default=True)
class _ModelMeta(StructMeta):
    """Tells type checkers what `Model`'s options mean for its subclasses."""


class Model(
    Struct,
    metaclass=_ModelMeta,
    rename=names(),
    omit_defaults=True,
    frozen=True,
    kw_only=True,
    gc=False,
):
    """The base of everything that a user writes: immutable, and silent about what is absent.

    Objects are trees without cycles, so the garbage collector need not visit them (`gc=False`
    saves 16 bytes an object and the collector's time).
    """

    CEL: ClassVar[Cel] = {}


class _Text(str):
    __slots__ = ()


class _Number(int):
    pass


class _Items(tuple[Any, ...]):
    __slots__ = ()


NO_TEXT: Final[str] = _Text()
NO_NUMBER: Final[int] = _Number()
NO_ITEMS: Final[tuple[Any, ...]] = _Items()
