"""A manifest changed as its owner would change it: lines go, a line comes, comments stay.

The fields that must go are members of `spec`, so whole lines can be taken out. What is left is read
again, and where that is not exactly what is wanted (everything on one line, an anchor in a field
that went, what only a server writes), there is no such text and the manifest is written anew.
"""

from collections.abc import Collection
from typing import Any, Final

import yaml

from stoker.api.core import Object
from stoker.yamltree import YamlError, parse

_LOADER: Final[Any] = getattr(yaml, "CBaseLoader", yaml.BaseLoader)


def edited(text: str, gone: Collection[str], mode: str, wanted: Object) -> str | None:
    """The document less these members of `spec` and with this mode; None if it cannot be done."""
    try:
        line, spec = _spec(yaml.compose(text, Loader=_LOADER))
        if spec is None or spec.flow_style or not spec.value:
            return None
        lines = _changed(text.splitlines(keepends=True), spec, gone, mode)
        if all(key.value != "mode" for key, _ in spec.value):
            lines.insert(line + 1, f"{' ' * spec.start_mark.column}mode: {mode}\n")
        changed = "".join(lines)
        return changed if parse(changed) == wanted else None
    except (yaml.YAMLError, YamlError, RecursionError, UnicodeError):
        return None


def _spec(root: Any) -> tuple[int, Any]:
    """The line of `spec` and its members."""
    for key, value in root.value if isinstance(root, yaml.MappingNode) else ():
        if key.value == "spec" and isinstance(value, yaml.MappingNode):
            return key.start_mark.line, value
    return 0, None


def _changed(lines: list[str], spec: Any, gone: Collection[str], mode: str) -> list[str]:
    """The lines, as many as before: those that go are empty."""
    starts = [key.start_mark.line for key, _ in spec.value]
    ends = [*starts[1:], spec.end_mark.line]
    for (key, value), start, end in zip(spec.value, starts, ends, strict=True):
        if key.value in gone:
            last = _end(lines, start, end)
            lines[start:last] = [""] * (last - start)
        elif key.value == "mode":
            begin, stop = value.start_mark.column, value.end_mark.column
            lines[start] = lines[start][:begin] + mode + lines[start][stop:]
    return lines


def _end(lines: list[str], start: int, end: int) -> int:
    """Where a member ends: comments and blank lines after it belong to what follows."""
    while end > start + 1 and lines[end - 1].lstrip()[:1] in ("", "#"):
        end -= 1
    return end
