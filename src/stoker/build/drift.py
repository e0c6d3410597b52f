"""Whether an object in the cluster is still what it should be.

The API server fills in defaults, writes quantities its own way and drops what is empty, and other
people may add to an object. None of that is a difference. What is: a member that we want and that
is absent or another; and a member that we once wrote and want no longer, which the API server
remembers in `managedFields` under our name.
"""

from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Any, Final

from msgspec import json

from stoker.api.core import Object
from stoker.errors import below
from stoker.validate.syntax import quantity

# The members whose values are quantities, wherever they stand in an object that we make.
_QUANTITIES: Final = frozenset({"limits", "requests", "sizeLimit", "storage", "divisor"})

# The members that are set as a whole: what others add to them changes what they say.
_WHOLE: Final = frozenset({"selector", "matchLabels", "nodeSelector"})


def drift(wanted: Object, live: Object, manager: str) -> str | None:
    """Why an object must be written: the path to the first difference; None if it need not be.

    `manager` is the name under which we write.
    """
    return next(differences(wanted, live, manager), None)


def differences(wanted: Object, live: Object, manager: str) -> Iterator[str]:
    """The paths to all differences: what is not as wanted, then what is wanted no longer."""
    yield from _differences(wanted, live, "")
    yield from _left_over(wanted, live, manager)


def as_far_as_wanted(wanted: Any, live: Any, *, quantities: bool = False) -> Any:
    """Of a live value the part that is compared, in the words of what is wanted.

    What others added and what the API server filled in is left out, so that the two can be laid
    side by side.
    """
    if (_is_empty(wanted) and _is_empty(live)) or _is_equal(wanted, live, quantities=quantities):
        return wanted
    if isinstance(wanted, Mapping) and isinstance(live, Mapping):
        return {
            name: as_far_as_wanted(
                wanted.get(name), value, quantities=quantities or name in _QUANTITIES
            )
            if name not in _WHOLE
            else value
            for name, value in live.items()
            if name in wanted
        } | {name: each for name, each in wanted.items() if name not in live and _is_empty(each)}
    if isinstance(wanted, Sequence) and not isinstance(wanted, str) and isinstance(live, list):
        return [
            as_far_as_wanted(_partner(wanted, one, index), one, quantities=quantities)
            for index, one in enumerate(live)
        ]
    return live


def _partner(wanted: Sequence[Any], one: Any, index: int) -> Any:
    """The item of a list that a live item is to be laid beside: of its name, or in its place."""
    name = one.get("name") if isinstance(one, Mapping) else None
    for each in wanted if name is not None else ():
        if isinstance(each, Mapping) and each.get("name") == name:
            return each
    unnamed = name is None and index < len(wanted)
    return wanted[index] if unnamed else one


def _differences(wanted: Any, live: Any, path: str, *, quantities: bool = False) -> Iterator[str]:
    """The paths at which the live value is not what is wanted."""
    if wanted == live or (_is_empty(wanted) and _is_empty(live)):
        return
    if isinstance(wanted, Mapping) and isinstance(live, Mapping):
        for name, value in wanted.items():
            inside = quantities or name in _QUANTITIES
            if name in _WHOLE and value and _has_more(live.get(name), value):
                yield below(path, name)
            yield from _differences(value, live.get(name), below(path, name), quantities=inside)
    elif isinstance(wanted, Sequence) and not isinstance(wanted, str) and isinstance(live, list):
        if len(wanted) != len(live):
            yield path
        for index, (one, other) in enumerate(zip(wanted, live, strict=False)):
            yield from _differences(one, other, f"{path}[{index}]", quantities=quantities)
    elif not _is_equal(wanted, live, quantities=quantities):
        yield path


def _has_more(live: Any, wanted: Any) -> bool:
    both = isinstance(live, Mapping) and isinstance(wanted, Mapping)
    return both and not live.keys() <= wanted.keys()


def _is_empty(value: Any) -> bool:
    """Whether the API server may leave a value out."""
    return not value


def _is_equal(wanted: Any, live: Any, *, quantities: bool) -> bool:
    if wanted == live:
        return True
    number = quantity(wanted) if quantities else None
    return number is not None and number == quantity(live)


# --- What we wrote and want no longer -------------------------------------------------------------


def _left_over(wanted: Object, live: Object, manager: str) -> Iterator[str]:
    for entry in (live.get("metadata") or {}).get("managedFields") or ():
        ours = entry.get("manager") == manager and entry.get("operation") == "Apply"
        if ours and not entry.get("subresource"):
            yield from _unwanted(entry.get("fieldsV1") or {}, wanted, live, "")


def _unwanted(fields: Mapping[str, Any], wanted: Any, live: Any, path: str) -> Iterator[str]:
    """The paths of fields that are in the set and in the live value, but are not wanted."""
    for name, inner in fields.items():
        mark, _, key = name.partition(":")
        find = _FINDERS.get(mark)
        if find is None:
            continue
        here = find(wanted, key)
        if here or isinstance(here, Mapping):
            # The server fills an empty object with defaults: those are not ours.
            if inner:
                yield from _unwanted(inner, here, find(live, key), _inside(path, mark, key))
        elif not _is_empty(find(live, key)):
            yield _inside(path, mark, key)


def _inside(path: str, mark: str, key: str) -> str:
    return below(path, key) if mark == "f" else f"{path}[{key}]"


def _member(value: Any, key: str) -> Any:
    return value.get(key) if isinstance(value, Mapping) else None


def _item(value: Any, key: str) -> Any:
    """The item of a list that has these members; a default may be left out of what is wanted."""
    if not isinstance(value, list):
        return None
    members = json.decode(key)
    for item in value:
        if all(item.get(name, expected) == expected for name, expected in members.items()):
            return item
    return None


def _value(value: Any, key: str) -> Any:
    item = json.decode(key)
    return item if isinstance(value, list) and item in value else None


# How the server marks what a name in a set of fields is of, and how that is found.
_FINDERS: Final[Mapping[str, Callable[[Any, str], Any]]] = {"f": _member, "k": _item, "v": _value}
