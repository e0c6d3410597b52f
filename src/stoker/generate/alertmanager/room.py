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

from stoker.generate.alertmanager.frame import Texts
from stoker.generate.split import LARGEST_FILE
from stoker.generate.stream import gzip_member, unpacked
from stoker.ref import Ref
from stoker.validate.verdicts import Verdict

LARGEST_TEXT: Final = 32 * 1024 * 1024
NO_ROOM: Final = (
    "does not fit: the AlertmanagerConfigs of this namespace take most of the room that there is in"
    " the configuration"
)


class Size(Struct, frozen=True):
    """Letters of a text, and bytes of the same when it is compressed."""

    text: int = 0
    packed: int = 0

    def __add__(self, other: "Size") -> "Size":
        return Size(self.text + other.text, self.packed + other.packed)

    def __sub__(self, other: "Size") -> "Size":
        return Size(self.text - other.text, self.packed - other.packed)

    @property
    def fits(self) -> bool:
        """Whether there is room for it."""
        return self.text <= LARGEST_TEXT and self.packed <= LARGEST_FILE

    @property
    def share(self) -> float:
        """How much of the room it takes; more than one is too much."""
        return max(self.text / LARGEST_TEXT, self.packed / LARGEST_FILE)


def size_of(text: str) -> Size:
    """The size of a text on its own."""
    return Size(len(text), len(gzip_member(text)))


class LeftOut(Struct, frozen=True):
    """What stays out: its verdict if it did not, its size, and its texts, packed."""

    verdict: Verdict
    size: Size
    packed: bytes
    lengths: dict[str, int]

    def texts(self) -> Texts:
        """What it would put into each gap."""
        text, start, found = unpacked(self.packed), 0, {}
        for gap, length in self.lengths.items():
            found[gap] = text[start : start + length]
            start += length
        return found


def left_out(verdict: Verdict, texts: Texts) -> LeftOut:
    """Keep what stays out; it is compressed once, and no more as long as it does."""
    text = "".join(texts.values())
    packed = gzip_member(text)
    lengths = {gap: len(part) for gap, part in texts.items()}
    return LeftOut(verdict, Size(len(text), len(packed)), packed, lengths)


def without_room(sizes: Mapping[Ref, Size], whole: Size) -> set[Ref]:
    """What must stay out so that the rest of the whole fits.

    Together they compress better than each alone, so the whole is not the sum of the sizes.
    """
    taken: dict[str, float] = defaultdict(float)
    members: dict[str, list[Ref]] = defaultdict(list)
    for key in sorted(sizes, key=lambda key: (sizes[key].share, key)):
        namespace = key.namespace
        taken[namespace] += sizes[key].share
        members[namespace].append(key)
    out: set[Ref] = set()
    while taken and not whole.fits:
        largest = max(taken, key=lambda namespace: (taken[namespace], namespace))
        key = members[largest].pop()
        out.add(key)
        whole -= sizes[key]
        taken[largest] -= sizes[key].share
        if not members[largest]:
            del taken[largest]
    return out
