"""Kinds to CustomResourceDefinition manifests.

A kind may have versions of which one cannot be read as the other unless a webhook converts them:
without it the API server would drop every field that has another name. Such a kind is served in one
version only, or in all of them with the webhook (`Serving`).
"""

from collections.abc import Callable
from typing import Any, Final

from msgspec import Struct

from stoker.api.core import ObjectMeta
from stoker.api.declare import Model
from stoker.api.schema import Schema, schema_of, without_cel, without_descriptions

GROUP: Final = "monitoring.coreos.com"
CONVERT_PATH: Final = "/convert"


class Column(Struct, frozen=True, omit_defaults=True):
    """A column of `kubectl get`; priority 1 shows it with `-o wide` only."""

    name: str
    path: str
    type: str = "string"
    priority: int = 0


class ScalePaths(Struct, frozen=True):
    """Where `kubectl scale` and autoscalers find the numbers."""

    spec_replicas: str
    status_replicas: str
    selector: str = ".status.selector"


class Later(Struct, frozen=True):
    """A declaration that is made when it is asked for: the same one each time."""

    make: Callable[[], type["CustomResource"]]


class KindVersion(Struct, frozen=True):
    """One version of a kind and the declaration behind it.

    `converted`: it can stand beside others only where a webhook converts objects. `deprecated` is
    what the API server says to those who use it while others are served. `differences` makes the
    reference page of a version that is described by how it differs from the preferred one.
    """

    name: str
    declared: type["CustomResource"] | Later
    storage: bool = True
    columns: tuple[Column, ...] = ()
    scale: ScalePaths | None = None
    converted: bool = False
    deprecated: str = ""
    differences: Callable[[], str] | None = None

    @property
    def model(self) -> type["CustomResource"]:
        """The type of its objects."""
        return self.declared.make() if isinstance(self.declared, Later) else self.declared


class Kind(Struct, frozen=True):
    """A kind of ours, with the names that users type."""

    name: str
    plural: str
    short: str
    versions: tuple[KindVersion, ...]
    prefers: str = ""

    @property
    def stored(self) -> KindVersion:
        """The version in which objects lie in etcd where no webhook converts them."""
        return next(version for version in self.versions if version.storage)

    @property
    def preferred(self) -> KindVersion:
        """The version that new manifests should have, and that a webhook lets us store."""
        return self.version(self.prefers) or self.stored

    def version(self, name: str) -> KindVersion | None:
        """The version of that name, or None if there is none."""
        return next((version for version in self.versions if version.name == name), None)


class ConversionWebhook(Struct, frozen=True):
    """The Service behind which the webhook converts; `ca_bundle` is PEM in base64, or nothing."""

    namespace: str
    service: str
    port: int = 443
    path: str = CONVERT_PATH
    ca_bundle: str = ""


class Serving(Struct, frozen=True):
    """Which versions a definition has, and how one becomes another."""

    versions: tuple[KindVersion, ...]
    stored: KindVersion
    unserved: frozenset[str] = frozenset()
    conversion: ConversionWebhook | None = None


def without_webhook(kind: Kind) -> Serving:
    """What an API server can serve on its own."""
    alone = tuple(version for version in kind.versions if not version.converted)
    return Serving(alone, kind.stored)


def only(version: KindVersion) -> Serving:
    """One version and no other."""
    return Serving((version,), version)


def with_webhook(
    kind: Kind,
    conversion: ConversionWebhook,
    stored: str = "",
    unserved: frozenset[str] = frozenset(),
) -> Serving:
    """All versions of a kind; those that are stored are in the preferred one unless it is named."""
    if len(kind.versions) == 1:
        return without_webhook(kind)
    lies = kind.version(stored) or kind.preferred
    return Serving(kind.versions, lies, unserved, conversion)


class CustomResource(Model):
    """The base of the ten kinds. Subclasses add `spec` and `status`."""

    api_version: str | None = None
    kind: str | None = None
    metadata: ObjectMeta = ObjectMeta()


def manifest(
    kind: Kind, *, serving: Serving | None = None, descriptions: bool = True, cel: bool = True
) -> dict[str, Any]:
    """The CustomResourceDefinition of a kind; unless told otherwise, as it works on its own."""
    chosen = serving or without_webhook(kind)
    spec: dict[str, Any] = {
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
        "versions": [_version(each, chosen, descriptions, cel) for each in chosen.versions],
    }
    if chosen.conversion:
        spec["conversion"] = _conversion(chosen.conversion)
    return {
        "apiVersion": "apiextensions.k8s.io/v1",
        "kind": "CustomResourceDefinition",
        "metadata": {"name": f"{kind.plural}.{GROUP}"},
        "spec": spec,
    }


def _conversion(conversion: ConversionWebhook) -> dict[str, Any]:
    client: dict[str, Any] = {
        "service": {
            "namespace": conversion.namespace,
            "name": conversion.service,
            "port": conversion.port,
            "path": conversion.path,
        }
    }
    if conversion.ca_bundle:
        client["caBundle"] = conversion.ca_bundle
    return {
        "strategy": "Webhook",
        "webhook": {"conversionReviewVersions": ["v1"], "clientConfig": client},
    }


def version_schema(version: KindVersion) -> Schema:
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


def _version(
    version: KindVersion, serving: Serving, descriptions: bool, cel: bool
) -> dict[str, Any]:
    schema = version_schema(version)
    if not descriptions:
        schema = without_descriptions(schema)
    if not cel:
        schema = without_cel(schema)
    published: dict[str, Any] = {
        "name": version.name,
        "served": version.name not in serving.unserved,
        "storage": version is serving.stored,
        "schema": {"openAPIV3Schema": schema},
        "subresources": {"status": {}}
        | ({"scale": _scale(version.scale)} if version.scale else {}),
    }
    if version.deprecated and serving.conversion:
        published |= {"deprecated": True, "deprecationWarning": version.deprecated}
    if version.columns:
        published["additionalPrinterColumns"] = [_column(column) for column in version.columns]
    return published


def _scale(scale: ScalePaths) -> dict[str, str]:
    return {
        "specReplicasPath": scale.spec_replicas,
        "statusReplicasPath": scale.status_replicas,
        "labelSelectorPath": scale.selector,
    }


def _column(column: Column) -> dict[str, Any]:
    shown: dict[str, Any] = {"name": column.name, "type": column.type, "jsonPath": column.path}
    return shown | ({"priority": column.priority} if column.priority else {})
