"""What a workload has already, as far as it decides what becomes of it."""

from collections.abc import Collection, Mapping, Sequence
from typing import Final

from msgspec import Struct

from stoker.api.core import Object, ObjectMeta
from stoker.api.declare import Model


class Running(Model):
    """A StatefulSet or DaemonSet as it is."""

    metadata: ObjectMeta = ObjectMeta()
    spec: Object | None = None
    status: Object | None = None

    @property
    def is_observed(self) -> bool:
        """Whether its controller has seen it as it is now."""
        seen: int = (self.status or {}).get("observedGeneration") or 0
        return seen >= (self.metadata.generation or 0)


class OldConfiguration(Struct, frozen=True):
    """What the pods of the old mode read: Secrets, and files in Secrets that both modes read.

    With a `problem` there is nothing, and what they have stays as it is.
    """

    secrets: tuple[Object, ...] = ()
    files: dict[str, str] = {}
    problem: str = ""


NOTHING_OLD: Final = OldConfiguration()


class Existing(Struct, frozen=True, kw_only=True):
    """What there is already, so that nothing moves without need.

    `rules` is what each ConfigMap with rules holds, `secrets` the names of the workload's Secrets.
    `configuration`: whether there is a Secret of the configuration's name, whosever it is. `old` is
    what pods of the mode read that an agent is leaving.
    """

    rules: Sequence[Mapping[str, str]] = ()
    secrets: Collection[str] = ()
    configuration: bool = False
    old: OldConfiguration = NOTHING_OLD


NOTHING: Final = Existing()
