"""Declarations to reference pages: one Markdown page per kind and version, one for shared types.

A type that only one kind uses is described on that kind's page, in the order in which a reader
meets it; a type that several use is described once, on `shared.md`. Kubernetes' own types are named
and linked, not described again. A version that differs little from the preferred one has a page of
the differences.
"""

import typing
from collections.abc import Iterator

from msgspec import Struct

from stoker.api.crd import GROUP, Kind, KindVersion
from stoker.api.declare import Constraints, Doc, Model
from stoker.api.schema import Field, fields_of, rules_of

SHARED = "shared.md"
KUBERNETES = "https://kubernetes.io/docs/reference/generated/kubernetes-api/v1.37"


class Page(Struct, frozen=True):
    """One file of the reference."""

    name: str
    text: str


def pages(kinds: tuple[Kind, ...]) -> list[Page]:
    """All pages, the index first."""
    users = _users(kinds)
    shared = {model for model, names in users.items() if len(names) > 1}
    found = [Page("README.md", _index(kinds))]
    for kind in kinds:
        for version in kind.versions:
            found.append(Page(page_name(kind, version), _kind_page(kind, version, shared)))
    found.append(Page(SHARED, _shared_page(sorted(shared, key=lambda model: model.__name__))))
    return found


def page_name(kind: Kind, version: KindVersion) -> str:
    """The file of a kind; versions other than the preferred one carry their name."""
    suffix = "" if version is kind.preferred else f"-{version.name}"
    return f"{kind.name.lower()}{suffix}.md"


def _index(kinds: tuple[Kind, ...]) -> str:
    rows = "".join(
        f"| [{kind.name}]({page_name(kind, version)}) | `{GROUP}/{version.name}` "
        f"| `{kind.short}` | {'Deprecated. ' if version.deprecated else ''}"
        f"{_first_sentence(version.model)} |\n"
        for kind in kinds
        for version in kind.versions
    )
    return (
        "# API reference\n\n"
        "Generated from the declarations in `src/stoker/api` by `make reference`.\n\n"
        "| kind | apiVersion | short name | what it is |\n|---|---|---|---|\n"
        f"{rows}\n"
        f"[Types that several kinds share]({SHARED}).\n"
    )


def _kind_page(kind: Kind, version: KindVersion, shared: set[type[Model]]) -> str:
    own = [model for model in _reachable(version.model) if model not in shared]
    head = (
        f"# {kind.name}\n\n{_paragraphs(version.model)}\n\n"
        f"`apiVersion: {GROUP}/{version.name}`, `kind: {kind.name}`, short name `{kind.short}`.\n"
    )
    if version.differences:
        return f"{head}\n{version.differences()}"
    return head + "".join(_section(model, shared) for model in own[1:])


def _shared_page(models: list[type[Model]]) -> str:
    head = "# Types that several kinds share\n"
    return head + "".join(_section(model, set()) for model in models)


def _section(model: type[Model], shared: set[type[Model]]) -> str:
    rules = "".join(f"- {message}\n" for message in rules_of(model))
    rows = "".join(_row(field, shared) for field in fields_of(model))
    return (
        f"\n## {model.__name__}\n\n{_paragraphs(model)}\n\n"
        + (f"Rules:\n\n{rules}\n" if rules else "")
        + f"| field | type | meaning |\n|---|---|---|\n{rows}"
    )


def _row(field: Field, shared: set[type[Model]]) -> str:
    name = f"`{field.name}`" + (" **required**" if field.required else "")
    meaning = " ".join([field.text, *_constraint_words(_constraints(field.type))])
    return f"| {name} | {_cell(_type_name(field.type, shared))} | {_cell(meaning)} |\n"


def _type_name(declared: typing.Any, shared: set[type[Model]]) -> str:
    declared, constraints = _unwrapped(declared)
    if "embeds" in constraints:
        return _kubernetes_link(constraints["embeds"])
    if isinstance(declared, type) and issubclass(declared, Model):
        return _model_link(declared, shared)
    origin, arguments = typing.get_origin(declared), typing.get_args(declared)
    if origin is tuple:
        return f"list of {_type_name(arguments[0], shared)}"
    if origin is dict:
        return f"map of {_type_name(arguments[1], shared)}"
    if set(arguments) == {int, str}:
        return "integer or string"
    return _SCALAR_NAMES[declared]


_SCALAR_NAMES: dict[typing.Any, str] = {
    str: "string",
    int: "integer",
    bool: "boolean",
    float: "number",
    typing.Any: "any",
}


def _model_link(model: type[Model], shared: set[type[Model]]) -> str:
    if hasattr(model, "EMBEDS") and not _adds_fields(model):
        return _kubernetes_link(model.EMBEDS)
    page = SHARED if model in shared else ""
    return f"[{model.__name__}]({page}#{model.__name__.lower()})"


def _kubernetes_link(name: str) -> str:
    short = name.rpartition(".")[2]
    return f"[{short}]({KUBERNETES}/#{short.lower()}-v1-core)"


def _adds_fields(model: type[Model]) -> bool:
    return any(field.text for field in fields_of(model))


def _constraint_words(constraints: Constraints) -> Iterator[str]:
    if "default" in constraints and constraints["default"] != "":
        yield f"Default: `{constraints['default']}`."
    if "enum" in constraints:
        yield "One of " + ", ".join(f"`{value}`" for value in constraints["enum"]) + "."
    if "minimum" in constraints:
        yield f"At least {constraints['minimum']}."
    if "maximum" in constraints:
        yield f"At most {constraints['maximum']}."
    if "minItems" in constraints:
        yield "Must not be empty." if constraints["minItems"] == 1 else "Several items."
    if "minLength" in constraints:
        yield "Must not be empty."
    if "pattern" in constraints:
        yield f"Must match `{constraints['pattern']}`."


def _constraints(declared: typing.Any) -> Constraints:
    return _unwrapped(declared)[1]


def _unwrapped(declared: typing.Any) -> tuple[typing.Any, Constraints]:
    """A type without `Annotated` and `| None`, and the constraints on the value itself."""
    found: Constraints = {}
    while True:
        if typing.get_origin(declared) is typing.Annotated:
            declared, *notes = typing.get_args(declared)
            for note in notes:
                if isinstance(note, Doc):
                    found = {**note.constraints, **found}
            continue
        inner = _without_none(declared)
        if inner is declared:
            return declared, found
        declared = inner


def _without_none(declared: typing.Any) -> typing.Any:
    arguments = typing.get_args(declared)
    if type(None) not in arguments:
        return declared
    left = tuple(argument for argument in arguments if argument is not type(None))
    return left[0] if len(left) == 1 else typing.Union[left]  # noqa: UP007 (made at run time)


def _users(kinds: tuple[Kind, ...]) -> dict[type[Model], set[str]]:
    users: dict[type[Model], set[str]] = {}
    for kind in kinds:
        for version in kind.versions:
            for model in _reachable(version.model) if not version.differences else ():
                users.setdefault(model, set()).add(page_name(kind, version))
    return users


def _reachable(model: type[Model]) -> list[type[Model]]:
    """A type and those below it, in the order in which a reader meets them."""
    found: list[type[Model]] = []
    _collect(model, found)
    return found


def _collect(declared: typing.Any, found: list[type[Model]]) -> None:
    if isinstance(declared, type) and issubclass(declared, Model):
        described = not hasattr(declared, "EMBEDS") or _adds_fields(declared)
        if declared in found or not described or declared.__name__ == "ObjectMeta":
            return
        found.append(declared)
        for field in fields_of(declared):
            _collect(field.type, found)
    for argument in typing.get_args(declared):
        _collect(argument, found)


def _paragraphs(model: type[Model]) -> str:
    lines = (model.__doc__ or "").strip().splitlines()
    return "\n".join(line.strip() for line in lines)


def _first_sentence(model: type[Model]) -> str:
    return _cell(_paragraphs(model).partition("\n")[0])


def _cell(text: str) -> str:
    return text.replace("|", "\\|").replace("\n", " ").strip()
