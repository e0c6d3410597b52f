"""What a container learns of its pod: environment variables, and what refers to them."""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from typing import Any

Object = dict[str, Any]

_KEYED = re.compile(r"metadata\.(labels|annotations)\['(.+)'\]")
_REFERENCE = re.compile(r"\$\$|\$\(([^()]+)\)")


class NotYetError(Exception):
    """Something that a pod needs does not exist, or not yet; kubelet would wait for it."""


def field_of(pod: Object, path: str) -> str:
    """A field of a pod, as the downward API has it; empty where it is not set."""
    if keyed := _KEYED.fullmatch(path):
        return str(pod["metadata"].get(keyed[1], {}).get(keyed[2], ""))
    found: Any = pod
    for name in path.split("."):
        found = found.get(name, {})
    if isinstance(found, dict):
        return "\n".join(f'{key}="{value}"' for key, value in found.items())
    return str(found)


def expanded(text: str, variables: Mapping[str, str]) -> str:
    """A text with $(NAME) filled in as kubelet does: unknown names stay, $$ is a dollar sign."""

    def value(found: re.Match[str]) -> str:
        return "$" if found[1] is None else variables.get(found[1], found[0])

    return _REFERENCE.sub(value, text)


def environment(
    container: Object, pod: Object, key_of: Callable[[str, Object], str | None]
) -> dict[str, str]:
    """The variables that a container's template sets; `key_of` reads Secrets and ConfigMaps."""
    variables: dict[str, str] = {}
    for each in container.get("env", []):
        value = _value(each, pod, variables, key_of)
        if value is not None:
            variables[each["name"]] = value
    return variables


def _value(
    wanted: Object,
    pod: Object,
    variables: Mapping[str, str],
    key_of: Callable[[str, Object], str | None],
) -> str | None:
    source = wanted.get("valueFrom")
    if source is None:
        return expanded(wanted.get("value", ""), variables)
    if "fieldRef" in source:
        return field_of(pod, source["fieldRef"]["fieldPath"])
    for kind in ("secret", "configMap"):
        if f"{kind}KeyRef" in source:
            return key_of(kind, source[f"{kind}KeyRef"])
    raise NotYetError(f"{wanted['name']}: {', '.join(source)} cannot be read here")
