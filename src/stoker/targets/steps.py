"""Relabeling: the steps of a job, done to the labels of a candidate as Prometheus does them."""

import re
from collections.abc import Callable, Iterable, Mapping, Sequence
from hashlib import md5
from typing import Any, Final

from msgspec import Struct

from stoker.targets.discovery import CannotTellError, Labels
from stoker.targets.expressions import DEFAULT, Expression, Template
from stoker.version import Version, parse_version

_ANY_NAME: Final = parse_version("3.0.0")
"""From then on the name of a label may have any characters."""
_LEGACY_NAME: Final = re.compile(r"[a-zA-Z_][a-zA-Z0-9_]*")
_DEFAULT_REPLACEMENT: Final = "$1"
_JUDGING: Final = frozenset({"keep", "drop", "keepequal", "dropequal"})


class Step(Struct, frozen=True):
    """One step; `block` is how it is written."""

    action: str
    sources: tuple[str, ...]
    separator: str
    expression: Expression
    target: Template
    replacement: Template
    modulus: int
    any_name: bool
    block: Mapping[str, Any]

    def value(self, labels: Labels) -> str:
        """The text that it looks at."""
        return self.separator.join([labels.get(name, "") for name in self.sources])


def step_of(block: Mapping[str, Any], version: Version, *, legacy: bool = False) -> Step:
    """A step as it is written, with Prometheus' defaults for what is not.

    CannotTellError where its expression cannot be run here.
    """
    action = str(block.get("action") or "replace").lower()
    if action not in _ACTIONS:
        raise CannotTellError(f"there is no action `{action}`")
    modulus = int(block.get("modulus") or 0)
    if action == "hashmod" and modulus < 1:
        raise CannotTellError("hashmod has no modulus")
    return Step(
        action=action,
        sources=tuple(block.get("source_labels") or ()),
        separator=_text(block.get("separator"), ";"),
        expression=Expression(_text(block.get("regex"), DEFAULT)),
        target=Template(_text(block.get("target_label"), "")),
        replacement=Template(_text(block.get("replacement"), _DEFAULT_REPLACEMENT)),
        modulus=modulus,
        any_name=version >= _ANY_NAME and not legacy,
        block=block,
    )


def _text(value: object, default: str) -> str:
    return default if value is None else str(value)


def dropped_by(steps: Iterable[Step], labels: Labels) -> int | None:
    """Do the steps to these labels, which change; the number of the one that drops them, if any."""
    for number, step in enumerate(steps):
        if not _ACTIONS[step.action](step, labels):
            return number
    return None


def deciding(steps: Sequence[Step]) -> tuple[Step, ...]:
    """Those of the steps on which it depends whether a candidate stays, in their order."""
    needed: list[Step] = []
    read: set[str] = set()
    reads_all = False
    for step in reversed(steps):
        written = _written_by(step)
        changes = reads_all or written is None or written in read
        if step.action in _JUDGING or (needed and changes):
            needed.append(step)
            read |= {*step.sources, step.target.text}
            reads_all |= step.action == "labelmap"
    return tuple(reversed(needed))


def _written_by(step: Step) -> str | None:
    """The one label that a step can change; None where it can change any."""
    if step.action in ("labeldrop", "labelkeep"):
        return None
    name = step.replacement if step.action == "labelmap" else step.target
    return None if name.varies else name.text


def reads(step: Step, name: str) -> bool:
    """Whether what a step does to others may depend on a label that a candidate has."""
    if step.action != "labelmap":
        return name in step.sources or step.target.text == name
    return step.expression.matches(name)


def put(labels: Labels, name: str, value: str) -> None:
    """Set a label; one without a value is none."""
    if value:
        labels[name] = value
    else:
        labels.pop(name, None)


# --- Actions: each says whether the target stays --------------------------------------------------


def _replace(step: Step, labels: Labels) -> bool:
    value = step.value(labels)
    match = step.expression.match(value)
    if match is None:
        return True
    name = step.target.filled(match)
    if _is_name(name, any_name=step.any_name):
        put(labels, name, step.replacement.filled(match))
    return True


def _is_name(name: str, *, any_name: bool) -> bool:
    return bool(name) if any_name else bool(_LEGACY_NAME.fullmatch(name))


def _keep(step: Step, labels: Labels) -> bool:
    return step.expression.matches(step.value(labels))


def _drop(step: Step, labels: Labels) -> bool:
    return not step.expression.matches(step.value(labels))


def _keep_equal(step: Step, labels: Labels) -> bool:
    return labels.get(step.target.text, "") == step.value(labels)


def _drop_equal(step: Step, labels: Labels) -> bool:
    return labels.get(step.target.text, "") != step.value(labels)


def _hash_mod(step: Step, labels: Labels) -> bool:
    digest = md5(step.value(labels).encode(), usedforsecurity=False).digest()
    put(labels, step.target.text, str(int.from_bytes(digest[8:], "big") % step.modulus))
    return True


def _lower(step: Step, labels: Labels) -> bool:
    put(labels, step.target.text, "".join(map(_lower_letter, step.value(labels))))
    return True


def _upper(step: Step, labels: Labels) -> bool:
    put(labels, step.target.text, "".join(map(_upper_letter, step.value(labels))))
    return True


def _lower_letter(letter: str) -> str:
    """A letter for a letter, as Go does it: a dotted capital I has a long form otherwise."""
    return letter.lower()[0]


def _upper_letter(letter: str) -> str:
    """A letter for a letter, as Go does it: where there is no single capital, itself."""
    for upper in (letter.upper(), letter.title()):
        if len(upper) == 1:
            return upper
    return letter


def _label_map(step: Step, labels: Labels) -> bool:
    # Names as they were: one that is set meanwhile is not looked at.
    for name, value in sorted(labels.items()):
        match = step.expression.match(name)
        if match:
            put(labels, step.replacement.filled(match), value)
    return True


def _label_drop(step: Step, labels: Labels) -> bool:
    for name in [each for each in labels if step.expression.matches(each)]:
        del labels[name]
    return True


def _label_keep(step: Step, labels: Labels) -> bool:
    for name in [each for each in labels if not step.expression.matches(each)]:
        del labels[name]
    return True


_ACTIONS: Final[dict[str, Callable[[Step, Labels], bool]]] = {
    "replace": _replace,
    "keep": _keep,
    "drop": _drop,
    "keepequal": _keep_equal,
    "dropequal": _drop_equal,
    "hashmod": _hash_mod,
    "lowercase": _lower,
    "uppercase": _upper,
    "labelmap": _label_map,
    "labeldrop": _label_drop,
    "labelkeep": _label_keep,
}
