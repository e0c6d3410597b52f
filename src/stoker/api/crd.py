"""Kinds to CustomResourceDefinition manifests."""

from typing import Any, Final

from msgspec import Struct

from stoker.api.core import ObjectMeta
from stoker.api.declare import Model
from stoker.api.schema import Schema, schema_of, without_cel, without_descriptions

GROUP: Final = "monitoring.coreos.com"


class Column(Struct, frozen=True, omit_defaults=True):
    """A column of `kubectl get`; priority 1 shows it with `-o wide` only."""

    name: str
    path: str
    type: str = "string"
    priority: int = 0


class Scale(Struct, frozen=True):
    """Where `kubectl scale` and autoscalers find the numbers."""

    spec_replicas: str
    status_replicas: str
    selector: str = ".status.selector"


class Version(Struct, frozen=True):
    """One served version of a kind and the declaration behind it."""

    name: str
    model: type["Resource"]
    storage: bool = True
    columns: tuple[Column, ...] = ()
    scale: Scale | None = None


class Kind(Struct, frozen=True):
    """A kind of ours, with the names that users type."""

    name: str
    plural: str
    short: str
    versions: tuple[Version, ...]

    @property
    def stored(self) -> Version:
        """The version in which objects lie in etcd."""
        return next(version for version in self.versions if version.storage)

    def version(self, name: str) -> Version | None:
        """The version of that name, or None if it is not served."""
        return next((version for version in self.versions if version.name == name), None)


class Resource(Model):
    """The base of the ten kinds. Subclasses add `spec` and `status`."""

    api_version: str | None = None
    kind: str | None = None
    metadata: ObjectMeta = ObjectMeta()


def manifest(kind: Kind, *, descriptions: bool = True, cel: bool = True) -> dict[str, Any]:
    """The CustomResourceDefinition of a kind."""
    return {
        "apiVersion": "apiextensions.k8s.io/v1",
        "kind": "CustomResourceDefinition",
        "metadata": {"name": f"{kind.plural}.{GROUP}"},
        "spec": {
            "group": GROUP,
            "names": {
                "categories": ["prometheus-operator"],
                "kind": kind.name,
                "listKind": f"{kind.name}List",
                "plural": kind.plural,
                "shortNames": [kind.short],
                "singular": kind.name.lower(),
            },
            "scope": "Namespaced",
            "versions": [_version(version, descriptions, cel) for version in kind.versions],
        },
    }


def version_schema(version: Version) -> Schema:
    """The schema of one version, whole: descriptions and CEL rules included."""
    schema = schema_of(version.model)
    schema["properties"] |= {
        "apiVersion": {
            "type": "string",
            "description": f"{GROUP}/{version.name}",
        },
        "kind": {"type": "string", "description": version.model.__name__},
        "metadata": {"type": "object"},
    }
    schema["required"] = [name for name in schema.get("required", ()) if name != "metadata"]
    if version.model.__doc__:
        schema["description"] = version.model.__doc__
    return schema


def _version(version: Version, descriptions: bool, cel: bool) -> dict[str, Any]:
    schema = version_schema(version)
    if not descriptions:
        schema = without_descriptions(schema)
    if not cel:
        schema = without_cel(schema)
    published: dict[str, Any] = {
        "name": version.name,
        "served": True,
        "storage": version.storage,
        "schema": {"openAPIV3Schema": schema},
        "subresources": {"status": {}}
        | ({"scale": _scale(version.scale)} if version.scale else {}),
    }
    if version.columns:
        published["additionalPrinterColumns"] = [_column(column) for column in version.columns]
    return published


def _scale(scale: Scale) -> dict[str, str]:
    return {
        "specReplicasPath": scale.spec_replicas,
        "statusReplicasPath": scale.status_replicas,
        "labelSelectorPath": scale.selector,
    }


def _column(column: Column) -> dict[str, Any]:
    shown: dict[str, Any] = {"name": column.name, "type": column.type, "jsonPath": column.path}
    return shown | ({"priority": column.priority} if column.priority else {})
