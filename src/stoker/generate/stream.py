"""Text that is joined of many parts in order, kept compressed, and cheap to change in one place.

A gzip stream may have several members one after the other, and any gunzip reads them as one text.
So the parts are kept in runs, each compressed as a member of its own: long enough that compression
finds the repetition, short enough that a change costs one small run. What is kept is the compressed
run and the lengths of its parts; to change a part, its run is unpacked.

    [a b c d][e f g][h i j k]   put("f", …)   [a b c d][e F g][h i j k]
     member   member  member                   kept     new    kept

Where a run begins is decided by the key alone (one key in sixty-four begins one), so the bytes
depend on the parts and not on the order of changes: after a restart they are the same. Only a large
part has a run to itself: who changes a small one beside it does not pay for it.
"""

import zlib
from array import array
from bisect import bisect_left, bisect_right
from collections.abc import Iterator, Mapping
from collections.abc import Set as AbstractSet
from typing import Any, Generic, NamedTuple, TypeVar

MEAN_RUN = 64
LARGE_PART = 16 * 1024
_GZIP = zlib.MAX_WBITS | 16
# The text is small once it is packed, and each byte of it is sent and stored with every change.
_LEVEL = 9

K = TypeVar("K", bound=Any)
"""The type of keys: anything that can be sorted and whose `repr` says all of it."""


def gzip_member(text: str) -> bytes:
    """A text as one gzip member, the same bytes for the same text."""
    return _packed(text.encode())


def _packed(text: bytes) -> bytes:
    packer = zlib.compressobj(_LEVEL, zlib.DEFLATED, _GZIP)
    return packer.compress(text) + packer.flush()


def unpacked(member: bytes) -> str:
    """The text of a gzip member."""
    return zlib.decompress(member, _GZIP).decode()


class Piece(NamedTuple):
    """A gzip member, and the name of its run, which stays the same while parts change."""

    name: str
    member: bytes


class _Run(Generic[K]):
    """Neighbouring parts, compressed together when that is asked for."""

    __slots__ = ("_loose", "_packed", "keys", "lengths", "named", "replaced")

    def __init__(self, keys: list[K], parts: list[bytes], *, named: bool) -> None:
        self.named = named
        self.keys = keys
        self.lengths = array("L", map(len, parts))
        self.replaced = False
        self._loose: list[bytes] | None = parts
        self._packed = b""

    @property
    def name(self) -> str:
        """The key that begins the run; none for the parts before the first that does."""
        return repr(self.keys[0]) if self.named else ""

    @property
    def is_large(self) -> bool:
        """Whether it is one large part."""
        return self.lengths[0] > LARGE_PART

    @property
    def member(self) -> bytes:
        """The parts as one gzip member."""
        self.pack()
        return self._packed

    def pack(self) -> None:
        """Keep the parts compressed alone from now on."""
        if self._loose is not None:
            self._packed, self._loose = _packed(b"".join(self._loose)), None

    def parts(self) -> list[bytes]:
        if self._loose is not None:
            return self._loose
        text = zlib.decompress(self._packed, _GZIP)
        found, start = [], 0
        for length in self.lengths:
            found.append(text[start : start + length])
            start += length
        return found


class Stream(Generic[K]):
    """Parts of a text under keys, joined in the order of the keys."""

    def __init__(self) -> None:
        self._runs: list[_Run[K]] = []
        self._firsts: list[K] = []
        # What the last change made; where many parts are put in order, the next goes on there.
        self._fresh: list[_Run[K]] = []

    def __len__(self) -> int:
        return sum(len(run.keys) for run in self._runs)

    def __contains__(self, key: K) -> bool:
        if not self._runs:
            return False
        keys = self._runs[self._place(key)].keys
        index = bisect_left(keys, key)
        return index < len(keys) and bool(keys[index] == key)

    def part(self, key: K) -> str:
        """The part under a key; empty if there is none."""
        return self.parts({key}).get(key, "")

    def parts(self, keys: AbstractSet[K]) -> dict[K, str]:
        """The parts under these keys, as far as there are any; each run is unpacked once."""
        found: dict[K, str] = {}
        for place in {self._place(key) for key in keys if self._runs}:
            run = self._runs[place]
            both = zip(run.keys, run.parts(), strict=True)
            found |= {key: part.decode() for key, part in both if key in keys}
        return found

    def put(self, key: K, text: str) -> None:
        """Set the part under a key."""
        self.change({key: text})

    def remove(self, key: K) -> None:
        """Drop the part under a key; a key that is not there is fine."""
        self.change({key: None})

    def change(self, parts: Mapping[K, str | None]) -> None:
        """Set many parts, or with None drop them; each run that they touch is compressed once."""
        before, self._fresh = self._fresh, []
        for start, stop, changes in reversed(self._touched(parts)):
            self._rewrite(start, stop, changes)
        for run in before:
            if not run.replaced:
                run.pack()

    def members(self) -> list[bytes]:
        """The gzip members whose concatenation is the compressed text."""
        return [run.member for run in self._runs]

    def pieces(self, largest: int) -> list[Piece]:
        """The members with the names of their runs.

        Of a run that is larger than asked for there is a member for each part. A changed part
        changes no name; a new or dropped one does for its neighbours where it begins a run.
        """
        found = []
        for run in self._runs:
            fits = len(run.member) <= largest
            members = [run.member] if fits else map(_packed, run.parts())
            found += [Piece(run.name, member) for member in members]
        return found

    def text(self) -> str:
        """The whole text, unpacked."""
        return b"".join(part for run in self._runs for part in run.parts()).decode()

    def _place(self, key: K) -> int:
        """The run in which a key is, or would be."""
        return max(0, bisect_right(self._firsts, key) - 1)

    def _touched(self, parts: Mapping[K, str | None]) -> list[tuple[int, int, dict[K, str | None]]]:
        """Which runs, from where to where, must be made again for which changes."""
        ranges: list[tuple[int, int, dict[K, str | None]]] = []
        for key in sorted(parts):
            if parts[key] is None and key not in self:
                continue
            start, stop = self._range(key, gone=parts[key] is None)
            changes: dict[K, str | None] = {}
            if ranges and (start < ranges[-1][1] or start == ranges[-1][0]):
                start, before, changes = ranges.pop()
                stop = max(before, stop)
            changes[key] = parts[key]
            ranges.append((start, stop, changes))
        return ranges

    def _range(self, key: K, *, gone: bool) -> tuple[int, int]:
        """Which runs, from where to where, another part under a key may concern."""
        place = self._place(key)
        if not self._runs or not self._runs[place].is_large:
            # Without its first part, a run belongs to the one before.
            headless = gone and key == self._firsts[place]
            return (max(0, place - 1) if headless else place), place + 1
        if key == self._firsts[place]:
            # Those on both sides belong together if it is not large any more.
            return max(0, place - 1), min(place + 2, len(self._runs))
        if key < self._firsts[place]:
            return place, place
        return place + 1, min(place + 2, len(self._runs))

    def _rewrite(self, start: int, stop: int, changes: Mapping[K, str | None]) -> None:
        merged: dict[K, bytes] = {}
        for run in self._runs[start:stop]:
            merged.update(zip(run.keys, run.parts(), strict=True))
            run.replaced = True
        for key, text in changes.items():
            if text is None:
                del merged[key]
            else:
                merged[key] = text.encode()
        runs = list(_runs(merged, first=start == 0))
        self._fresh += runs
        self._runs[start:stop] = runs
        self._firsts[start:stop] = [run.keys[0] for run in runs]


def _runs(parts: dict[K, bytes], *, first: bool) -> Iterator[_Run[K]]:
    """The runs of neighbouring parts; `first` tells whether no others are before them."""
    groups: list[list[K]] = []
    for key in sorted(parts):
        apart = bool(groups) and max(len(parts[key]), len(parts[groups[-1][-1]])) > LARGE_PART
        if not groups or apart or _begins_run(key):
            groups.append([])
        groups[-1].append(key)
    for number, keys in enumerate(groups):
        named = bool(number) or not first or _begins_run(keys[0])
        named |= len(parts[keys[0]]) > LARGE_PART
        yield _Run(keys, [parts[chosen] for chosen in keys], named=named)


def _begins_run(key: Any) -> bool:
    return zlib.crc32(repr(key).encode("utf-8", "surrogatepass")) % MEAN_RUN == 0
