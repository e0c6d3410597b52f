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


class Existing(Struct, frozen=True, kw_only=True):
    """What there is already, so that nothing moves without need.

    `rules` is what each ConfigMap with rules holds, `secrets` the names of the workload's Secrets.
    """

    rules: Sequence[Mapping[str, str]] = ()
    secrets: Collection[str] = ()


NOTHING: Final = Existing()
