"""To whom of many something is given: always the same for the same, and few move when one goes.

Rendezvous hashing: each taker bids for each thing, and the highest bid has it. Whoever goes leaves
what it had to the others, each thing to the next in its own order; whoever comes takes from all of
them what it bids most for. Who knows the same takers comes to the same, wherever that is.
"""

from collections.abc import Iterable, Mapping
from hashlib import blake2b
from typing import Final

NOBODY: Final = ""
"""Who has everything where there is no taker."""

# A bid is a product modulo a prime: cheap, and fair as long as both numbers look random.
_PRIME: Final = 2**61 - 1


def numbers(names: Iterable[str]) -> dict[str, int]:
    """What takers bid with, always in the same order."""
    return {name: _number(name) for name in sorted(set(names))}


def highest(thing: str, takers: Mapping[str, int]) -> str:
    """Which of the takers (`numbers`) has a thing."""
    own = _number(thing)
    return max(takers, key=lambda name: own * takers[name] % _PRIME, default=NOBODY)


def _number(text: str) -> int:
    digest = blake2b(text.encode("utf-8", "surrogatepass"), digest_size=16).digest()
    return int.from_bytes(digest) % (_PRIME - 1) + 1
