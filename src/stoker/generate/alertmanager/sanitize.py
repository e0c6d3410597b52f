"""What an Alertmanager of a version gets of a configuration.

Alertmanager refuses a whole file for one field that it does not know. So a field that is too new is
left out and reported; where leaving it out would change who is notified, or with which credentials,
the configuration is refused instead. A file with a value gives way to the value itself.
"""

from collections.abc import Callable
from typing import Any, TypeAlias

from stoker.errors import FieldError, below
from stoker.generate.alertmanager.table import Member, Section
from stoker.generate.block import Block
from stoker.generate.draft import Ignored
from stoker.version import Version


def sanitized(
    block: Block, section: Section, version: Version, ignored: list[Ignored], path: str = ""
) -> Block:
    """A mapping of the file for a version, in the order of its table.

    What was left out is added to `ignored`. FieldError where the version cannot do with the rest.
    """
    for check in section.given:
        check(block, version, path)

    def again(inner: Section, item: Block, place: str) -> Block:
        return sanitized(item, inner, version, ignored, place)

    result: Block = {}
    for row in section.rows:
        value = block.get(row.key)
        where = below(path, row.key)
        if value is not None and _left_out(row, result, version, ignored, where):
            value = None
        if value is not None:
            result[row.key] = _inside(value, section, row, where, again)
        elif row.default is not None:
            result[row.key] = row.default
    for check in section.checks:
        check(result, version, path)
    return result


def _left_out(
    row: Member, before: Block, version: Version, ignored: list[Ignored], path: str
) -> bool:
    if not row.known_to(version):
        reason = f"needs Alertmanager {row.since} or newer"
        if row.refused:
            raise FieldError(path, reason)
        ignored.append(Ignored(path, reason))
        return True
    if row.unless and before.get(row.unless):
        ignored.append(Ignored(path, f"gives way to `{row.unless}`"))
        return True
    return False


Again: TypeAlias = Callable[[Section, Block, str], Block]


def _inside(value: Any, section: Section, row: Member, path: str, again: Again) -> Any:
    """What is inside of a member: one mapping, a list of them, some under names, or no mapping."""
    inner = section if row.kind.again else row.kind.section
    if inner is None:
        return value
    if row.kind.many:
        return [again(inner, item, f"{path}[{at}]") for at, item in enumerate(value)]
    if row.kind.keyed:
        return {name: again(inner, item, f"{path}[{name}]") for name, item in value.items()}
    return again(inner, value, path)
