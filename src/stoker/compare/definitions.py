"""The definition of a kind as a cluster has it, beside ours: which fields each has alone."""

from collections.abc import Iterator, Mapping
from enum import StrEnum
from typing import Any, Final

from msgspec import Struct

from stoker.api.core import Object
from stoker.api.crd import Kind, manifest

_VERSION: Final = "operator.prometheus.io/version"


class Age(StrEnum):
    """How a definition is to ours, by its fields; `other` is older and newer in one."""

    MISSING = "missing"
    SAME = "the same"
    OLDER = "older"
    NEWER = "newer"
    OTHER = "other"


class DefinitionHandover(Struct, frozen=True, kw_only=True, rename="camel"):
    """The definition of a kind.

    `version` is what its annotation says. Without an update the fields that it `lacks` are dropped
    from objects; with ours, those that it has `alone`. `conversion` is the Service that converts
    its versions, `unserved` are versions that ours has only with such a Service.
    """

    kind: str
    age: Age
    version: str = ""
    lacks: tuple[str, ...] = ()
    alone: tuple[str, ...] = ()
    conversion: str = ""
    unserved: tuple[str, ...] = ()


def definition_handover(kind: Kind, live: Object | None) -> DefinitionHandover:
    """A definition as it is, None if there is none, beside ours."""
    if live is None:
        return DefinitionHandover(kind=kind.name, age=Age.MISSING)
    ours, theirs = _versions(manifest(kind, descriptions=False)), _versions(live)
    both = [name for name in ours if name in theirs]
    lacks = [path for name in both for path in _topmost(ours[name], theirs[name])]
    alone = [path for name in both for path in _topmost(theirs[name], ours[name])]
    lacks += [f"version {name}" for name in ours if name not in theirs]
    return DefinitionHandover(
        kind=kind.name,
        age=_AGES[bool(lacks), bool(alone)],
        version=(live["metadata"].get("annotations") or {}).get(_VERSION, ""),
        lacks=tuple(lacks),
        alone=tuple(alone),
        conversion=_conversion(live["spec"]),
        unserved=tuple(name for name in theirs if name not in ours),
    )


_AGES: Final = {
    (False, False): Age.SAME,
    (True, False): Age.OLDER,
    (False, True): Age.NEWER,
    (True, True): Age.OTHER,
}


def _versions(definition: Object) -> dict[str, frozenset[str]]:
    """The paths of all fields, by the version that is served."""
    return {
        each["name"]: frozenset(_paths(each["schema"]["openAPIV3Schema"], ""))
        for each in definition["spec"]["versions"]
        if each["served"]
    }


def _paths(schema: Any, path: str) -> Iterator[str]:
    if not isinstance(schema, Mapping):
        return
    for name, inner in (schema.get("properties") or {}).items():
        here = f"{path}.{name}" if path else name
        yield here
        yield from _paths(inner, here)
    for name, suffix in (("items", "[]"), ("additionalProperties", "{}")):
        yield from _paths(schema.get(name), f"{path}{suffix}")


def _topmost(some: frozenset[str], others: frozenset[str]) -> Iterator[str]:
    """The paths that are not among others, less those below such."""
    alone = some - others
    for path in sorted(alone):
        if path.rpartition(".")[0].removesuffix("[]").removesuffix("{}") not in alone:
            yield path


def _conversion(spec: Object) -> str:
    conversion = spec.get("conversion") or {}
    service = ((conversion.get("webhook") or {}).get("clientConfig") or {}).get("service") or {}
    return f"{service.get('namespace')}/{service.get('name')}" if service else ""
