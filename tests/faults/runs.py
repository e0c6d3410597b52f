"""Classes of faults that are no walks through the script, but have a world of their own."""

from __future__ import annotations

from collections.abc import Callable
from typing import ClassVar, NamedTuple


class Told(NamedTuple):
    """The figures of a run in words, and what is wrong."""

    text: str
    problems: list[str]


class Run:
    """A class of faults: `changes` and `seed` are for those that leave something to chance."""

    name: ClassVar[str]
    help: ClassVar[str]

    def run(self, tell: Callable[[str], None], changes: int, seed: int) -> Told:
        """Do it, on a cluster of its own."""
        raise NotImplementedError
