"""What the objects of an Alertmanager or ThanosRuler are built from.

Both kinds are one StatefulSet without shards. They differ in what runs (a `Program`), in its
arguments, and in the files that it reads.
"""

from typing import Final

from msgspec import Struct

from stoker.api.alertmanager import Alertmanager, AlertmanagerSpec
from stoker.api.thanosruler import ThanosRuler, ThanosRulerSpec
from stoker.build.services import ALERTMANAGER as ALERTMANAGER_SERVICE
from stoker.build.services import THANOS_RULER as THANOS_RULER_SERVICE
from stoker.build.services import Governing
from stoker.errors import WorkloadError
from stoker.settings import (
    DEFAULT_ALERTMANAGER_VERSION,
    DEFAULT_THANOS_VERSION,
    ObjectSettings,
)
from stoker.version import Version, parse_version


class Program(Struct, frozen=True, kw_only=True):
    """What runs in the pods of a kind.

    `application` is the word for it in names and labels; `config` and `data` end the names of the
    Secret with the configuration and of the volume with the data. `selects_by_users_labels`: the
    StatefulSet knows its pods by the labels that users give them, too.
    """

    title: str
    application: str
    config: str
    data: str
    data_path: str
    data_sub_path: str
    default_version: str
    service: Governing
    web_port: int
    selects_by_users_labels: bool = False


ALERTMANAGER: Final = Program(
    title="Alertmanager",
    application="alertmanager",
    config="generated",
    data="db",
    data_path="/alertmanager",
    data_sub_path="alertmanager-db",
    default_version=DEFAULT_ALERTMANAGER_VERSION,
    service=ALERTMANAGER_SERVICE,
    web_port=9093,
)
THANOS_RULER: Final = Program(
    title="Thanos",
    application="thanos-ruler",
    config="config",
    data="data",
    data_path="/thanos/data",
    data_sub_path="",
    default_version=DEFAULT_THANOS_VERSION,
    service=THANOS_RULER_SERVICE,
    web_port=10902,
    selects_by_users_labels=True,
)


class AlertSite(Struct, frozen=True):
    """An Alertmanager or ThanosRuler as users wrote it, and the flags."""

    workload: Alertmanager | ThanosRuler
    settings: ObjectSettings

    @property
    def spec(self) -> AlertmanagerSpec | ThanosRulerSpec:
        """What the user asks for."""
        return self.workload.spec

    @property
    def name(self) -> str:
        """The name of the custom resource."""
        return self.workload.metadata.name or ""

    @property
    def namespace(self) -> str:
        """The namespace of the custom resource and of everything that belongs to it."""
        return self.workload.metadata.namespace or ""

    @property
    def program(self) -> Program:
        """What runs in the pods."""
        return ALERTMANAGER if isinstance(self.workload, Alertmanager) else THANOS_RULER

    @property
    def version_text(self) -> str:
        """The version as the user writes it, or else the default."""
        return self.spec.version or self.program.default_version

    @property
    def version(self) -> Version:
        """The version that runs; WorkloadError where that is none, or none whose flags we know."""
        try:
            version = parse_version(self.version_text)
        except ValueError as error:
            raise WorkloadError("spec.version", str(error)) from None
        if version.major:
            reason = f"{self.program.title} {version} is not supported: versions 0.x are"
            raise WorkloadError("spec.version", reason)
        return version
