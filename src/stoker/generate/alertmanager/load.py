"""Reads a user's own Alertmanager configuration as strictly as Alertmanager does.

    text ── amyaml ──> words ── the tables ──> a tree in the order of the file ──> checks

An unknown field, a text where a number belongs, a route without its receiver: each is a FieldError
with the path in the file. Whoever wrote the file learns of it once and clearly, and the running
configuration stays.
"""

from collections.abc import Iterable, Mapping
from typing import Any, Final

from stoker.errors import FieldError, below
from stoker.generate.alertmanager.fallback import receiver_problem
from stoker.generate.alertmanager.sections import CONFIGURATION
from stoker.generate.alertmanager.table import read_section
from stoker.generate.alertmanager.yamltext import words_of
from stoker.generate.block import Block
from stoker.generate.grammar import Section
from stoker.settings import DEFAULT_ALERTMANAGER_VERSION
from stoker.version import parse_version

_NEWEST: Final = parse_version(DEFAULT_ALERTMANAGER_VERSION)


def loaded(text: str) -> Block:
    """The configuration in a text; FieldError for one that Alertmanager would not load."""
    tree = read_section(words_of(text), CONFIGURATION, "")
    check_needs(tree, CONFIGURATION, "")
    check_whole(tree)
    return tree


def check_needs(block: Block, section: Section, path: str) -> None:
    """Everything that Alertmanager asks of each mapping on its own."""
    for check in (*section.given, *section.checks, *section.needs):
        check(block, _NEWEST, path)
    for member in section.members:
        inner = section if member.kind.again else member.kind.section
        value = block.get(member.name)
        if inner is None or value is None:
            continue
        where = below(path, member.name)
        for place, item in _places(value, where, many=member.kind.many, keyed=member.kind.keyed):
            check_needs(item, inner, place)


def _places(value: Any, path: str, *, many: bool, keyed: bool) -> Iterable[tuple[str, Block]]:
    if many:
        return [(f"{path}[{index}]", item) for index, item in enumerate(value)]
    if keyed:
        return [(f"{path}[{name}]", item) for name, item in value.items()]
    return [(path, value)]


def check_whole(tree: Block) -> None:
    """What the parts of a file ask of each other."""
    _check_root(tree.get("route"))
    receivers = _names(tree.get("receivers"), "receivers")
    _check_unique(receivers)
    for index, receiver in enumerate(tree.get("receivers") or ()):
        path, problem = receiver_problem(receiver, tree.get("global") or {})
        if problem:
            raise FieldError(f"receivers[{index}].{path}", problem)
    intervals = [
        *_names(tree.get("mute_time_intervals"), "mute_time_intervals"),
        *_names(tree.get("time_intervals"), "time_intervals"),
    ]
    _check_unique(intervals)
    _check_route(tree["route"], dict(receivers), dict(intervals), "route")


_NOT_AT_ROOT: Final = {
    "match": "matchers",
    "match_re": "matchers",
    "matchers": "matchers",
    "mute_time_intervals": "time intervals",
    "active_time_intervals": "time intervals",
    "continue": "`continue`",
}


def _check_root(route: Block | None) -> None:
    if route is None:
        raise FieldError("route", "must be set")
    if not route.get("receiver"):
        raise FieldError("route.receiver", "the first route needs a receiver")
    for key, what in _NOT_AT_ROOT.items():
        if route.get(key):
            raise FieldError(f"route.{key}", f"the first route cannot have {what}")


def _names(items: Any, path: str) -> list[tuple[str, str]]:
    return [
        (item.get("name", ""), f"{path}[{index}].name") for index, item in enumerate(items or ())
    ]


def _check_unique(names: Iterable[tuple[str, str]]) -> None:
    seen = set()
    for name, path in names:
        if name in seen:
            raise FieldError(path, f"`{name}` stands here twice")
        seen.add(name)


def _check_route(
    route: Block, receivers: Mapping[str, str], intervals: Mapping[str, str], path: str
) -> None:
    receiver = route.get("receiver")
    if receiver and receiver not in receivers:
        raise FieldError(below(path, "receiver"), f"there is no receiver `{receiver}`")
    for key in ("mute_time_intervals", "active_time_intervals"):
        for index, name in enumerate(route.get(key) or ()):
            if name not in intervals:
                where = f"{below(path, key)}[{index}]"
                raise FieldError(where, f"there is no time interval `{name}`")
    for index, inner in enumerate(route.get("routes") or ()):
        _check_route(inner, receivers, intervals, f"{below(path, 'routes')}[{index}]")
