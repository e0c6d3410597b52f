"""What is kept of a workload of any kind, and changed piece by piece."""

from collections.abc import Iterable, Mapping
from typing import Any, Protocol, TypeAlias

from stoker.generate.draft import Ignored
from stoker.plan.existing import NOTHING, Existing
from stoker.ref import Ref
from stoker.select.assets import WholeAssets
from stoker.select.choice import Resource
from stoker.validate.findings import Finding
from stoker.validate.verdicts import Verdict
from stoker.version import Version

FullVerdict: TypeAlias = tuple[Verdict, tuple[Ignored, ...]]
"""A verdict, and what the version that runs does not know of the resource."""


class Kept(Protocol):
    """What becomes of one workload.

    The `assets` of each call know what the resources that it concerns refer to, and the workload.
    A workload that cannot be read at all is a WorkloadError, and nothing changes. What else is
    wrong with it is raised when its contents are asked for.
    """

    # --- Changes ----------------------------------------------------------------------------------

    def set_workload(self, workload: Any, assets: WholeAssets, /) -> None:
        """Take another state of the workload."""
        ...

    def put_all(self, resources: Mapping[Ref, Resource], assets: WholeAssets) -> None:
        """Add or change resources that apply to the workload."""
        ...

    def remove(self, key: Ref, assets: WholeAssets) -> None:
        """Drop a resource that is gone or no longer applies; an unknown one is fine."""
        ...

    def touched(self, objects: Iterable[Ref], assets: WholeAssets) -> None:
        """Secrets and ConfigMaps were added, changed or deleted."""
        ...

    # --- Answers ----------------------------------------------------------------------------------

    def contents(self, assets: WholeAssets, existing: Existing = NOTHING) -> Any:
        """What the objects of the workload carry; WorkloadError where there is nothing."""
        ...

    def text(self) -> str:
        """The configuration before it is compressed; WorkloadError where there is none."""
        ...

    def take_news(self) -> set[Ref]:
        """The resources that were judged or dropped since this was asked."""
        ...

    @property
    def version(self) -> Version:
        """The version that runs."""
        ...

    @property
    def verdicts(self) -> Mapping[Ref, Verdict]:
        """What became of each resource; a copy."""
        ...

    @property
    def ignored(self) -> Mapping[Ref, tuple[Ignored, ...]]:
        """What the version does not know, by resource; the workload's own under `OWN`; a copy."""
        ...

    def verdict(self, key: Ref) -> FullVerdict | None:
        """What became of one resource, and what of it the version does not know."""
        ...

    @property
    def is_empty(self) -> bool:
        """Whether the workload asks for resources, and none applies."""
        ...

    @property
    def notes(self) -> tuple[Finding, ...]:
        """What should be known of a workload that runs."""
        ...

    def refers_to(self, key: Ref) -> bool:
        """Whether a Secret or ConfigMap was looked for, whether or not it exists."""
        ...
