"""What a role does not allow, in words that name the right.

Where a workload cannot be reconciled for want of a right, its condition says so. What is done in
another way then, or left, is said in the log now and then: nobody would look for the reason.
"""

import time
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Final

from stoker.api.core import Object
from stoker.errors import StokerError
from stoker.kube.errors import Forbidden
from stoker.kube.resources import resource_of
from stoker.logs import Logger

# So that the end of a log that was cut has it, too.
_AGAIN_SECONDS: Final = 600.0


class Refusals:
    """Says which right is missing, and what is done without it; each every `again` seconds."""

    def __init__(self, log: Logger, again: float = _AGAIN_SECONDS) -> None:
        self._log = log
        self._again = again
        self._said: dict[tuple[str, str, str], float] = {}

    def tell(self, message: str, error: StokerError, **fields: str) -> None:
        """Warn of a right that is missing, now and then; what else went wrong is a detail."""
        if isinstance(error, Forbidden) and self._is_news(error):
            self._log.warn(message, **fields, err=error)
        else:
            self._log.debug(message, **fields, err=error)

    def _is_news(self, error: Forbidden) -> bool:
        key = error.verb, error.resource, error.namespace
        now = time.monotonic()
        if self._said.get(key, now) > now:
            return False
        self._said[key] = now + self._again
        return True


# What an API server says that asks who may own objects (OwnerReferencesPermissionEnforcement), and
# at the end of it, whatever was asked.
_NO_FINALIZERS: Final = "you can't set finalizers on"
_NO_DELETE: Final = "you can't delete"
_NOISE: Final = ": , <nil>"


@contextmanager
def rights_named(wanted: Object) -> Iterator[None]:
    """While an object is written: where its owners are what was refused, say which right it is."""
    try:
        yield
    except Forbidden as error:
        rights = list(_rights_of_owners(error, wanted))
        if not rights:
            raise
        message = f"{error.message.removesuffix(_NOISE)}: it cannot {', '.join(rights)}"
        raise Forbidden(
            error.verb,
            error.path,
            message,
            status=error.status,
            reason=error.reason,
            details=error.details,
        ) from None


def _rights_of_owners(error: Forbidden, wanted: Object) -> Iterator[str]:
    if _NO_DELETE in error.message:
        yield f"delete {error.resource}"
    elif _NO_FINALIZERS in error.message:
        owners = wanted["metadata"].get("ownerReferences") or ()
        for resource in sorted({resource_of(each).name for each in owners}):
            yield f"update {resource}/finalizers"
