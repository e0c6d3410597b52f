"""The kinds that the operator looks after, and those that these are configured with, as tables."""

from collections.abc import Mapping
from typing import Any, Final

import msgspec
from msgspec import Raw, Struct

from stoker.api.alertmanager import Alertmanager
from stoker.api.convert import as_written, converted
from stoker.api.core import Object
from stoker.api.decode import convert, decode
from stoker.api.kinds import version_of
from stoker.api.prometheus import Prometheus, PrometheusAgent
from stoker.api.thanosruler import ThanosRuler
from stoker.cluster.sharing import lean
from stoker.errors import DecodeError, FieldError
from stoker.kube import resources as kube
from stoker.kube.reading import api_version_of
from stoker.kube.resources import ApiResource, versions_of
from stoker.roles import WORKLOADS as ROLES
from stoker.roles import WorkloadRole
from stoker.select.choice import SELECTED_KINDS


class ResourceKind(Struct, frozen=True):
    """A kind of configuration resource: where the API server has it, and its type.

    The resource is in the version of the model, which is also the first of its `versions`; objects
    in the others are converted when they are read.
    """

    resource: ApiResource
    model: type[Any]
    versions: tuple[ApiResource, ...] = ()

    def read(self, raw: Raw) -> Any:
        """The typed object of JSON in any of the versions; it says in which it was.

        It shares with others what it says as they do.
        """
        return lean(self._read(raw), len(raw))

    def _read(self, raw: Raw) -> Any:
        if len(self.versions) == 1 or api_version_of(raw) == self.resource.api_version:
            return decode(self.model, raw)
        try:
            return self._converted(msgspec.json.decode(raw))
        except FieldError as error:
            raise DecodeError(error.path, error.reason) from None

    def _converted(self, found: Object) -> Any:
        version, kind = found.get("apiVersion"), self.resource.kind
        made = converted(found, self.resource.api_version).object | {"apiVersion": version}
        try:
            return convert(self.model, made)
        except DecodeError as error:
            raise DecodeError(*as_written(version, kind, error.path, error.reason)) from None


class WorkloadKind(Struct, frozen=True):
    """A kind of workload: where the API server has it, and its type.

    What becomes of one is in `stoker.plan.kinds`.
    """

    resource: ApiResource
    model: type[Any]

    @property
    def role(self) -> WorkloadRole:
        """What it is to an operator."""
        return ROLES[self.resource.kind]


WORKLOADS: Final[Mapping[str, WorkloadKind]] = {
    kind.resource.kind: kind
    for kind in (
        WorkloadKind(kube.PROMETHEUS, Prometheus),
        WorkloadKind(kube.PROMETHEUS_AGENT, PrometheusAgent),
        WorkloadKind(kube.ALERTMANAGER, Alertmanager),
        WorkloadKind(kube.THANOS_RULER, ThanosRuler),
    )
}


def _resource_kind(resource: ApiResource, model: type[Any]) -> ResourceKind:
    """A kind, in the version that its model declares."""
    versions = sorted(versions_of(resource), key=lambda each: not _declares(each, model))
    return ResourceKind(versions[0], model, tuple(versions))


def _declares(resource: ApiResource, model: type[Any]) -> bool:
    """Whether a version is the one of this type; a type that is made later is not made for that."""
    version = version_of(resource.api_version, resource.kind)
    return version is not None and version.declared is model


RESOURCES: Final[Mapping[str, ResourceKind]] = {
    kind.name: _resource_kind(kube.OURS[kind.name], kind.model) for kind in SELECTED_KINDS
}
