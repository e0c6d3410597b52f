"""A manifest changed as its owner would change it: lines go, a line comes, comments stay.

The fields that must go are members of `spec`, so whole lines can be taken out. What is left is read
again, and where that is not exactly what is wanted (everything on one line, an anchor in a field
that went, what only a server writes), there is no such text and the manifest is written as a new
one.
"""

from collections.abc import Collection, Mapping
from typing import Any, Final

import yaml

from stoker.api.core import Object
from stoker.offline.migration.fields import NOTHING
from stoker.yamltree import YamlError, parse

_SETTINGS: Final = "daemonSet"
_LOADER: Final[Any] = getattr(yaml, "CBaseLoader", yaml.BaseLoader)


def edited(
    text: str,
    gone: Collection[str],
    mode: str,
    wanted: Object,
    settings: Mapping[str, str | None] = NOTHING,
) -> str | None:
    """The document less these members of `spec` and with this mode; None if it cannot be done.

    `settings` are members of `daemonSet` that come or become others.
    """
    try:
        line, spec = _spec(yaml.compose(text, Loader=_LOADER))
        if spec is None or spec.flow_style or not spec.value:
            return None
        lines = _changed(text.splitlines(keepends=True), spec, gone, mode)
        margin, names = " " * spec.start_mark.column, [key.value for key, _ in spec.value]
        if settings:
            _set(lines, spec, settings, margin)
        if settings and _SETTINGS not in names:
            inside = [f"{margin}  {name}: {value}\n" for name, value in settings.items()]
            lines[line + 1 : line + 1] = [f"{margin}{_SETTINGS}:\n", *inside]
        if "mode" not in names:
            lines.insert(line + 1, f"{margin}mode: {mode}\n")
        changed = "".join(lines)
        return changed if parse(changed) == wanted else None
    except (yaml.YAMLError, YamlError, RecursionError, UnicodeError):
        return None


def _set(lines: list[str], spec: Any, settings: Mapping[str, str | None], margin: str) -> None:
    """Change the lines of members of `daemonSet`; new ones come after its first line."""
    found = [value for key, value in spec.value if key.value == _SETTINGS]
    for value in found if found and isinstance(found[0], yaml.MappingNode) else ():
        margin = " " * value.start_mark.column
        there = {key.value: at for key, at in value.value}
        for name in settings.keys() & there.keys():
            start, end = there[name].start_mark, there[name].end_mark
            kept = lines[start.line]
            told = f"{kept[: start.column]}{settings[name]}{kept[end.column :]}"
            lines[start.line] = "" if settings[name] is None else told
        new = [name for name in settings if name not in there]
        first = value.start_mark.line
        lines[first] = "".join(f"{margin}{name}: {settings[name]}\n" for name in new) + lines[first]


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
