"""Room in the configuration of an Alertmanager, shared fairly among namespaces.

Alertmanager reads one file, and the file lies in one Secret. Where all AlertmanagerConfigs together
would not fit, those of the namespace that takes most stay out, its largest first, until the rest
does: whoever writes too much harms nobody else. What compresses well is limited too, for
Alertmanager has to read it.
"""

from collections import defaultdict
from collections.abc import Mapping
from typing import Final

from msgspec import Struct

from stoker.generate.fragments import ResourceKey
from stoker.generate.split import LARGEST_FILE

LARGEST_TEXT: Final = 32 * 1024 * 1024
NO_ROOM: Final = (
    "does not fit: the AlertmanagerConfigs of this namespace take most of the room that there is in"
    " the configuration"
)


class Size(Struct, frozen=True):
    """Bytes of a text, and of the same when it is compressed."""

    text: int = 0
    packed: int = 0

    @property
    def fits(self) -> bool:
        """Whether there is room for it."""
        return self.text <= LARGEST_TEXT and self.packed <= LARGEST_FILE

    @property
    def share(self) -> float:
        """How much of the room it takes; more than one is too much."""
        return max(self.text / LARGEST_TEXT, self.packed / LARGEST_FILE)


def first_to_go(sizes: Mapping[ResourceKey, Size]) -> ResourceKey:
    """The largest of the namespace that takes most."""
    taken: dict[str, float] = defaultdict(float)
    for key, size in sizes.items():
        taken[_namespace(key)] += size.share
    largest = max(taken, key=lambda namespace: (taken[namespace], namespace))
    candidates = [key for key in sizes if _namespace(key) == largest]
    return max(candidates, key=lambda key: (sizes[key].share, key))


def _namespace(key: ResourceKey) -> str:
    return key[1].partition("/")[0]
