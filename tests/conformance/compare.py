"""When two results count as the same.

JSON values are compared member by member; booleans are no numbers, `1` and `1.0` are one number,
and the order of a list counts. What differs is named by its path.
"""

from collections.abc import Iterator
from typing import Any

_ABSENT = object()


def differences(expected: Any, actual: Any, path: str = "") -> Iterator[str]:
    """Each difference between two JSON values as a line with its path."""
    if isinstance(expected, dict) and isinstance(actual, dict):
        for name in sorted(expected.keys() | actual.keys()):
            here = f"{path}.{name}" if path else name
            yield from differences(expected.get(name, _ABSENT), actual.get(name, _ABSENT), here)
    elif isinstance(expected, list) and isinstance(actual, list):
        for index in range(max(len(expected), len(actual))):
            yield from differences(_at(expected, index), _at(actual, index), f"{path}[{index}]")
    elif not _same(expected, actual):
        yield f"{path or 'the whole'}: expected {_shown(expected)}, got {_shown(actual)}"


def without_nulls(value: Any) -> Any:
    """The value less all members of objects that are null."""
    if isinstance(value, dict):
        return {name: without_nulls(item) for name, item in value.items() if item is not None}
    if isinstance(value, list):
        return [without_nulls(item) for item in value]
    return value


def comparable_object(value: Any) -> Any:
    """A Kubernetes object less what does not count: `status`, nulls and empty members, anywhere."""
    if isinstance(value, list):
        return [comparable_object(item) for item in value]
    if not isinstance(value, dict):
        return value
    inner = {
        name: comparable_object(item) for name, item in value.items() if not _status(name, item)
    }
    return {name: item for name, item in inner.items() if item not in (None, [], {})}


def _status(name: str, value: Any) -> bool:
    """Whether this is the status of an object rather than of a condition, which is a word."""
    return name == "status" and isinstance(value, dict)


def _same(expected: Any, actual: Any) -> bool:
    if isinstance(expected, bool) or isinstance(actual, bool):
        return expected is actual
    return bool(expected == actual)


def _at(items: list[Any], index: int) -> Any:
    return items[index] if index < len(items) else _ABSENT


def _shown(value: Any) -> str:
    if value is _ABSENT:
        return "nothing"
    text = repr(value)
    return text if len(text) <= 200 else f"{text[:200]}…"
