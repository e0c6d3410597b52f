"""Relabeling steps, as the version of Prometheus that will run them reads them.

Each action says which members it needs, which it refuses, and since when it exists. Names of labels
follow the naming rules of the version (any UTF-8 since 3.0) and of the name validation scheme.
"""

from typing import Final

from stoker.api.common import RelabelConfig
from stoker.errors import below
from stoker.golang.regex import parsed
from stoker.golang.versions import go_of_prometheus
from stoker.validate.findings import Finding, Findings, Reason
from stoker.validate.reading import ScraperReading
from stoker.validate.syntax import label_name, label_template
from stoker.version import Version, Versioned

_DEFAULT_SEPARATOR: Final = ";"
_DEFAULT_REGEX: Final = "(.*)"
_DEFAULT_REPLACEMENT: Final = "$1"
# Since Prometheus 3, a dot is also the end of a line.
_DOT_IS_ALL: Final = 3


class _Action(Versioned, frozen=True):
    """What an action wants: a target (which may be a template), and which members it refuses."""

    needs: tuple[str, ...] = ()
    template: bool = False
    refuses: tuple[str, ...] = ()


_NOT_EQUAL: Final = ("regex", "modulus", "separator", "replacement")
_NOT_REGEX: Final = ("sourceLabels", "targetLabel", "modulus", "separator", "replacement")
_ACTIONS: Final = {
    "replace": _Action(needs=("targetLabel",), template=True),
    "keep": _Action(),
    "drop": _Action(),
    "hashmod": _Action(needs=("targetLabel", "modulus")),
    "labelmap": _Action(),
    "labeldrop": _Action(refuses=_NOT_REGEX),
    "labelkeep": _Action(refuses=_NOT_REGEX),
    "lowercase": _Action(since="2.36.0", needs=("targetLabel",), refuses=("replacement",)),
    "uppercase": _Action(since="2.36.0", needs=("targetLabel",), refuses=("replacement",)),
    "keepequal": _Action(since="2.41.0", needs=("targetLabel",), refuses=_NOT_EQUAL),
    "dropequal": _Action(since="2.41.0", needs=("targetLabel",), refuses=_NOT_EQUAL),
}


def relabelings(
    steps: tuple[RelabelConfig, ...] | None,
    reading: ScraperReading,
    path: str,
    scheme: str | None = None,
) -> Findings:
    """Everything about a list of steps; `scheme` is the resource's own name validation scheme."""
    if not steps:
        return
    legacy = reading.legacy_names(scheme)
    for index, step in enumerate(steps):
        yield from relabeling(step, reading, f"{path}[{index}]", legacy=legacy)


def relabeling(
    step: RelabelConfig, reading: ScraperReading, path: str, *, legacy: bool
) -> Findings:
    """Everything about one step."""
    name = (step.action or "replace").lower()
    action = _ACTIONS.get(name)
    if action is None:
        yield _invalid(below(path, "action"), f"there is no action `{step.action}`")
        return
    if not action.known_to(reading.version):
        message = f"action `{name}` {action.lacking('Prometheus')}"
        yield Finding(below(path, "action"), Reason.UNSUPPORTED_VERSION, message)
    given = _given(step)
    for member in action.needs:
        if member not in given:
            yield _invalid(below(path, member), f"action `{name}` needs it")
    for member in action.refuses:
        if member in given:
            yield _invalid(below(path, member), f"action `{name}` takes no such member")
    yield from _bad_names(step, name, action, path, legacy=legacy)
    yield from _bad_sources(step, path, legacy=not reading.utf8_names)
    problem = regex_problem(step.regex, reading.version) if step.regex else ""
    if problem:
        yield _invalid(below(path, "regex"), problem)


def _given(step: RelabelConfig) -> set[str]:
    """The members that differ from what Prometheus assumes when they are absent."""
    values = {
        "sourceLabels": bool(step.source_labels),
        "targetLabel": bool(step.target_label),
        "modulus": bool(step.modulus),
        "separator": step.separator not in (None, _DEFAULT_SEPARATOR),
        "regex": bool(step.regex) and step.regex != _DEFAULT_REGEX,
        "replacement": step.replacement not in (None, _DEFAULT_REPLACEMENT),
    }
    return {name for name, given in values.items() if given}


def _bad_names(
    step: RelabelConfig, name: str, action: _Action, path: str, *, legacy: bool
) -> Findings:
    valid = label_template if action.template else label_name
    target = step.target_label
    if target and "targetLabel" in action.needs and not valid(target, legacy=legacy):
        yield _invalid(below(path, "targetLabel"), f"`{target}` is not the name of a label")
    replacement = step.replacement
    mapped = name == "labelmap" and replacement is not None
    if mapped and not label_template(replacement or "", legacy=legacy):
        message = f"`{replacement}` does not make the name of a label"
        yield _invalid(below(path, "replacement"), message)


def _bad_sources(step: RelabelConfig, path: str, *, legacy: bool) -> Findings:
    for index, source in enumerate(step.source_labels or ()):
        if not label_name(source, legacy=legacy):
            where = f"{below(path, 'sourceLabels')}[{index}]"
            yield _invalid(where, f"`{source}` is not the name of a label")


def regex_problem(regex: str, version: Version) -> str:
    """Why Go does not take an expression, put between anchors as that Prometheus does."""
    dot = "s" if version.major >= _DOT_IS_ALL else ""
    return parsed(f"^(?{dot}:{regex})$", go_of_prometheus(version)).problem


def _invalid(path: str, message: str) -> Finding:
    return Finding(path, Reason.INVALID_RELABELING, message)
