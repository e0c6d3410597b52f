"""ScrapeConfigs that the operator keeps in place of a monitor.

They belong to the monitor, which workloads select; they are not selected by themselves, or targets
would be scraped twice.
"""

from typing import Final

from stoker.api.core import ObjectMeta, OwnerReference
from stoker.api.crd import GROUP

CONSOLIDATED_FROM: Final = "operator.prometheus.io/consolidated-from"
"""The label of a ScrapeConfig that was made of a monitor: the kind of the monitor."""

CONSOLIDATED_BY: Final = "operator.prometheus.io/consolidated-by"
"""The annotation that says which operator wrote it: the name of its Lease."""


def monitor_behind(metadata: ObjectMeta) -> OwnerReference | None:
    """The monitor that a ScrapeConfig stands in for; None for one that stands for itself."""
    kind = (metadata.labels or {}).get(CONSOLIDATED_FROM)
    if not kind:
        return None
    owners = metadata.owner_references or ()
    return next((each for each in owners if _is_monitor(each, kind)), None)


def _is_monitor(owner: OwnerReference, kind: str) -> bool:
    group = owner.api_version.partition("/")[0]
    return bool(owner.controller) and (group, owner.kind) == (GROUP, kind)
