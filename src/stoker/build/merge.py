"""A user's containers over the operator's: merged by name as Kubernetes merges a strategic patch.

Objects are merged member by member. A list replaces the other, unless Kubernetes gives it a merge
key (`patchMergeKey` of its API): then items with the same key are merged, and the order is the
patch's, with what it does not name where it was as far as possible. Directives steer it:

    $patch: delete | replace           on an object or an item of a list
    $retainKeys: [name, …]             drop all other members of the base
    $deleteFromPrimitiveList/args: […] drop these values
    $setElementOrder/env: [{name: A}]  another order than the patch's

In one thing we are kinder: of members that exclude each other, such as the handlers of a probe, the
patch's choice drops the base's, which would leave a container that no API server accepts.
"""

from collections.abc import Iterator, Mapping, Sequence
from copy import deepcopy
from typing import Any, Final

from stoker.api.core import Object
from stoker.errors import WorkloadError, below

_MERGE_KEYS: Final = {
    "ports": "containerPort",
    "env": "name",
    "volumeMounts": "mountPath",
    "volumeDevices": "devicePath",
}
_ONE_OF: Final = (
    {"exec", "grpc", "httpGet", "sleep", "tcpSocket"},
    {"value", "valueFrom"},
    {"configMapKeyRef", "fieldRef", "fileKeyRef", "resourceFieldRef", "secretKeyRef"},
)

# Members of Kubernetes' API types whose zero means "not set", and so changes nothing in a patch.
_ZERO_IS_UNSET: Final = {
    "failureThreshold",
    "hostPort",
    "initialDelaySeconds",
    "periodSeconds",
    "readOnly",
    "stdin",
    "stdinOnce",
    "successThreshold",
    "timeoutSeconds",
    "tty",
}

_PATCH: Final = "$patch"
_RETAIN: Final = "$retainKeys"
_DELETE_VALUES: Final = "$deleteFromPrimitiveList/"
_ORDER: Final = "$setElementOrder/"


def merge_containers(
    base: Sequence[Object], patches: Sequence[Object] | None, path: str
) -> list[Object]:
    """The base's containers, with those of the same name merged in, then the new ones.

    WorkloadError with the path of the item for a patch without a name or of a wrong shape.
    """
    containers = {container["name"]: deepcopy(container) for container in base}
    for index, patch in enumerate(patches or ()):
        here = f"{path}[{index}]"
        name = patch.get("name")
        if not isinstance(name, str) or not name:
            raise WorkloadError(f"{here}.name", "a container needs a name")
        _check(patch, here)
        if patch.get(_PATCH) == "delete":
            containers.pop(name, None)
        elif name in containers:
            containers[name] = _merged(containers[name], patch, here)
        else:
            containers[name] = deepcopy(patch)
    return list(containers.values())


# --- The shape of a patch -------------------------------------------------------------------------


def _check(patch: Object, path: str) -> None:
    """WorkloadError where a patch cannot be read: an API server that knows no schema keeps it."""
    for name, value in patch.items():
        here = below(path, name)
        _, _, ordered = name.partition(_ORDER)
        key = _MERGE_KEYS.get(ordered or name)
        if value is not None and (key or name == _RETAIN or name.startswith(_DELETE_VALUES)):
            _check_list(value, key, here)
        for where, inner in _objects_in(value, here):
            _check(inner, where)


def _check_list(value: Any, key: str | None, path: str) -> None:
    if not isinstance(value, list):
        raise WorkloadError(path, "this must be a list")
    for index, item in enumerate(value if key else ()):
        replaces = item == {_PATCH: "replace"}
        found = item.get(key) if isinstance(item, dict) else None
        if not replaces and not isinstance(found, str | int):
            raise WorkloadError(f"{path}[{index}]", f"an item needs `{key}` to be merged by")


def _objects_in(value: Any, path: str) -> Iterator[tuple[str, Object]]:
    if isinstance(value, dict):
        yield path, value
    for index, item in enumerate(value if isinstance(value, list) else ()):
        if isinstance(item, dict):
            yield f"{path}[{index}]", item


_SHAPES: Final = ((dict, "an object"), (list, "a list"))


def _check_shape(base: Any, value: Any, path: str) -> None:
    """WorkloadError where a patch puts a list or a word in the place of an object, or the like."""
    for shape, words in _SHAPES:
        if isinstance(base, shape) and not isinstance(value, shape):
            raise WorkloadError(path, f"this must be {words}")
    if isinstance(base, str | int) and isinstance(value, dict | list):
        raise WorkloadError(path, "this must be a single value")


# --- Merging --------------------------------------------------------------------------------------


def _merged(base: Object, patch: Object, path: str) -> Object:
    """Both objects in one; nothing of it is shared with the patch."""
    if patch.get(_PATCH) in ("delete", "replace"):
        replaced = {} if patch[_PATCH] == "delete" else patch
        return {name: deepcopy(value) for name, value in replaced.items() if name != _PATCH}
    result = _retained(base, patch)
    for name, value in _members(patch):
        if value is None:
            result.pop(name, None)
        else:
            result[name] = _member(name, result.get(name), value, patch, below(path, name))
    return result


def _retained(base: Object, patch: Object) -> Object:
    """The base less what the patch excludes."""
    keep = patch.get(_RETAIN, base)
    excluded = {name for group in _ONE_OF if group & patch.keys() for name in group - patch.keys()}
    kept = {name: value for name, value in base.items() if name in keep and name not in excluded}
    for name, values in patch.items():
        if name.startswith(_DELETE_VALUES):
            member = name.removeprefix(_DELETE_VALUES)
            held = kept.get(member)
            if isinstance(held, list):
                kept[member] = [value for value in held if value not in values]
    return kept


def _members(patch: Object) -> Iterator[tuple[str, Any]]:
    """What a patch sets: neither directives nor members that are empty."""
    for name, value in patch.items():
        empty = value in ("", [], {}) or (name in _ZERO_IS_UNSET and value in (0, False))
        if not name.startswith("$") and not empty:
            yield name, value


def _member(name: str, base: Any, value: Any, patch: Object, path: str) -> Any:
    _check_shape(base, value, path)
    if name in _MERGE_KEYS:
        order = patch.get(f"{_ORDER}{name}") or value
        return _merged_items(base or [], value, order, _MERGE_KEYS[name], path)
    if isinstance(value, dict):
        return _merged(base or {}, value, path)
    return deepcopy(value)


def _merged_items(
    base: list[Object], patch: list[Object], order: list[Object], key: str, path: str
) -> list[Object]:
    """Two lists in one, by the key of their items."""
    plain = [item for item in patch if item != {_PATCH: "replace"}]
    if len(plain) < len(patch):
        base = []
    patches = {item[key]: item for item in plain}
    positions = {item.get(key): position for position, item in reversed([*enumerate(base)])}
    merged = [
        _merged(item, patches.pop(item.get(key), {}), path)
        for item in base
        if patches.get(item.get(key), {}).get(_PATCH) != "delete"
    ]
    merged += [deepcopy(item) for item in patches.values() if item.get(_PATCH) != "delete"]
    return _ordered(merged, [item.get(key) for item in order], positions, key)


def _ordered(
    items: list[Object], order: list[Any], positions: Mapping[Any, int], key: str
) -> list[Object]:
    """The items in the order asked for; what it does not name stays before what it stood before."""
    named = sorted(
        (item for item in items if item.get(key) in order), key=lambda i: order.index(i.get(key))
    )
    others = [item for item in items if item.get(key) not in order]
    last = len(positions)
    result = []
    for item in named:
        place = positions.get(item.get(key), -1)
        while others and positions.get(others[0].get(key), last) < place:
            result.append(others.pop(0))
        result.append(item)
    return result + others
