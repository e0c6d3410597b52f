"""Remembers what functions of texts returned, within a bound in bytes.

`functools.lru_cache` counts entries, and a tenant chooses how long a text is. Here a text costs
what it weighs, and one that is long is worked on again each time.
"""

import threading
from collections.abc import Callable
from typing import Any, Final, Generic, ParamSpec, TypeVar

P = ParamSpec("P")
R = TypeVar("R")

# What a key, its place in a dictionary and a small result weigh, beside the texts.
_ENTRY: Final = 400
_LARGEST: Final = 1 / 16


class _Nothing:
    """Stands for what is not remembered; None may be."""


_NOTHING: Final = _Nothing()


class Remembered(Generic[P, R]):
    """A function that remembers; `held` is the number of bytes that it keeps, as estimated.

    There are two generations: when the younger has half of the bytes, the older one is forgotten. A
    result that is asked for in the meantime is young again.
    """

    def __init__(self, function: Callable[P, R], limit: int, per_character: int) -> None:
        self._function = function
        self._limit = limit
        self._per_character = per_character
        self._young: dict[Any, R] = {}
        self._old: dict[Any, R] = {}
        self._young_bytes = self._old_bytes = 0
        self._lock = threading.Lock()
        self.__doc__ = function.__doc__

    @property
    def held(self) -> int:
        """How many bytes are kept, as estimated: never more than the limit."""
        return self._young_bytes + self._old_bytes

    def __call__(self, *args: P.args, **kwargs: P.kwargs) -> R:
        """What the function returns, or returned; arguments with names are not remembered."""
        if kwargs:
            return self._function(*args, **kwargs)
        # Another thread may forget a generation at any moment, so each is asked only once.
        found: R | _Nothing = self._young.get(args, _NOTHING)
        if not isinstance(found, _Nothing):
            return found
        found = self._old.get(args, _NOTHING)
        result = self._function(*args, **kwargs) if isinstance(found, _Nothing) else found
        with self._lock:
            self._keep(args, result)
        return result

    def _keep(self, args: tuple[Any, ...], result: R) -> None:
        cost = _ENTRY + sum(map(self._cost, args))
        if cost > self._limit * _LARGEST or args in self._young:
            return
        if self._young_bytes + cost > self._limit // 2:
            self._old, self._old_bytes = self._young, self._young_bytes
            self._young, self._young_bytes = {}, 0
        self._young[args] = result
        self._young_bytes += cost

    def _cost(self, value: object) -> int:
        if not isinstance(value, str):
            return 0
        width = 1 if value.isascii() else 4
        return len(value) * (width + self._per_character)


def remembered(limit: int, per_character: int = 0) -> Callable[[Callable[P, R]], Remembered[P, R]]:
    """Let a function remember what it returned, in `limit` bytes at most.

    Its arguments are texts and small hashable values, given by position. `per_character` is what a
    result weighs for each character of the texts.
    """
    return lambda function: Remembered(function, limit, per_character)
