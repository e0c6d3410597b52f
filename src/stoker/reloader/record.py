"""Records: classes that only hold values.

For a type checker `record` is like `dataclass(frozen=True)`. At run time it does the little of it
that is used here, for `dataclasses` and `typing` would take a fifth of all memory.
"""

from __future__ import annotations

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any, TypeVar, dataclass_transform

    T = TypeVar("T")

    @dataclass_transform(frozen_default=True)
    def record(cls: type[T]) -> type[T]:
        """Give a class the constructor and the equality that its annotations call for."""
        return cls
else:

    def record(cls: type) -> type:
        """Give a class the constructor and the equality that its annotations call for."""
        names = tuple(cls.__annotations__)

        def init(self: Any, *values: Any, **named: Any) -> None:
            given = dict(zip(names, values, strict=False)) | named
            for name in names:
                setattr(self, name, given[name] if name in given else getattr(cls, name))

        cls.__init__ = init
        cls.__eq__ = lambda self, other: type(other) is cls and vars(self) == vars(other)
        cls.__hash__ = None
        return cls
