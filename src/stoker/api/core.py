"""The Kubernetes types inside our kinds.

Those whose fields we read are Structs; those that we only pass on to pods are dictionaries whose
schema comes from Kubernetes' own OpenAPI document (`coreschema/core.json`). Either way the
published schema is Kubernetes' own, named by `embeds`.
"""

from typing import Annotated, Any, ClassVar, TypeAlias

from stoker.api.declare import NO_TEXT, Model, rule

Object: TypeAlias = dict[str, Any]

_CORE = "io.k8s.api.core.v1."
_META = "io.k8s.apimachinery.pkg.apis.meta.v1."

Affinity = Annotated[Object, rule(embeds=_CORE + "Affinity")]
Container = Annotated[Object, rule(embeds=_CORE + "Container")]
EmptyDirVolumeSource = Annotated[Object, rule(embeds=_CORE + "EmptyDirVolumeSource")]
EphemeralVolumeSource = Annotated[Object, rule(embeds=_CORE + "EphemeralVolumeSource")]
PersistentVolumeClaimSpec = Annotated[Object, rule(embeds=_CORE + "PersistentVolumeClaimSpec")]
PersistentVolumeClaimStatus = Annotated[Object, rule(embeds=_CORE + "PersistentVolumeClaimStatus")]
PodSecurityContext = Annotated[Object, rule(embeds=_CORE + "PodSecurityContext")]
ResourceRequirements = Annotated[Object, rule(embeds=_CORE + "ResourceRequirements")]
Toleration = Annotated[Object, rule(embeds=_CORE + "Toleration")]
TopologySpreadConstraint = Annotated[Object, rule(embeds=_CORE + "TopologySpreadConstraint")]
Volume = Annotated[Object, rule(embeds=_CORE + "Volume")]
VolumeMount = Annotated[Object, rule(embeds=_CORE + "VolumeMount")]

IntOrString = Annotated[int | str, rule()]
Int32 = Annotated[int, rule(format="int32")]
Int64 = Annotated[int, rule(format="int64")]
Time = Annotated[str, rule(format="date-time")]


class OwnerReference(Model):
    """The object that another object belongs to."""

    api_version: str = NO_TEXT
    kind: str = NO_TEXT
    name: str = NO_TEXT
    uid: str = NO_TEXT
    controller: bool | None = None
    block_owner_deletion: bool | None = None


class ObjectMeta(Model):
    """The metadata of any object, less what only the API server needs (`managedFields`)."""

    name: str | None = None
    namespace: str | None = None
    generate_name: str | None = None
    uid: str | None = None
    resource_version: str | None = None
    generation: int | None = None
    creation_timestamp: str | None = None
    deletion_timestamp: str | None = None
    deletion_grace_period_seconds: int | None = None
    labels: dict[str, str] | None = None
    annotations: dict[str, str] | None = None
    owner_references: tuple[OwnerReference, ...] | None = None
    finalizers: tuple[str, ...] | None = None


class SecretKeySelector(Model):
    """A key of a Secret in the namespace of the object that refers to it."""

    EMBEDS: ClassVar[str] = _CORE + "SecretKeySelector"

    key: str = NO_TEXT
    name: str | None = None
    optional: bool | None = None


class ConfigMapKeySelector(Model):
    """A key of a ConfigMap in the namespace of the object that refers to it."""

    EMBEDS: ClassVar[str] = _CORE + "ConfigMapKeySelector"

    key: str = NO_TEXT
    name: str | None = None
    optional: bool | None = None


class LocalObjectReference(Model):
    """An object in the same namespace, by name."""

    EMBEDS: ClassVar[str] = _CORE + "LocalObjectReference"

    name: str | None = None


class LabelSelectorRequirement(Model):
    """One expression of a label selector."""

    EMBEDS: ClassVar[str] = _META + "LabelSelectorRequirement"

    key: str = NO_TEXT
    operator: str = NO_TEXT
    values: tuple[str, ...] | None = None


class LabelSelector(Model):
    """Chooses objects by their labels: all requirements must hold; an empty selector takes all."""

    EMBEDS: ClassVar[str] = _META + "LabelSelector"

    match_expressions: tuple[LabelSelectorRequirement, ...] | None = None
    match_labels: dict[str, str] | None = None
