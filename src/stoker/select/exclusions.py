"""Which resources are spared from the enforced namespace label."""

from collections.abc import Iterable

from stoker.api.core import ObjectMeta
from stoker.api.crd import GROUP
from stoker.api.workload import ExcludedObject


def is_spared(
    resource: str, metadata: ObjectMeta, exclusions: Iterable[ExcludedObject] | None
) -> bool:
    """Whether an object of a resource (`servicemonitors`, …) is among the exclusions.

    An exclusion without a name covers the whole namespace.
    """
    return any(
        (one.group or GROUP) == GROUP
        and one.resource == resource
        and one.namespace == (metadata.namespace or "")
        and (not one.name or one.name == metadata.name)
        for one in exclusions or ()
    )
