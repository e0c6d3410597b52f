"""What an Alertmanager of a version gets of a configuration.

Alertmanager refuses a whole file for one field that it does not know. So a field that is too new is
left out and reported; where leaving it out would change who is notified, or with which credentials,
the configuration is refused instead. A file with a value gives way to the value itself.
"""

from collections.abc import Callable
from typing import Any, TypeAlias

from stoker.errors import FieldError, below
from stoker.generate.alertmanager.draft import AlertDraft
from stoker.generate.block import Block
from stoker.generate.draft import Ignored
from stoker.generate.grammar import Member, Section
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
    for member in section.members:
        value = block.get(member.name)
        where = below(path, member.name)
        if value is not None and _left_out(member, result, version, ignored, where):
            value = None
        if value is not None:
            result[member.name] = _inside(value, section, member, where, again)
        elif member.default is not None:
            result[member.name] = member.default
    for check in section.checks:
        check(result, version, path)
    return result


def _left_out(
    member: Member, before: Block, version: Version, ignored: list[Ignored], path: str
) -> bool:
    if not member.known_to(version):
        reason = member.lacking(AlertDraft.program)
        if member.refused:
            raise FieldError(path, reason)
        ignored.append(Ignored(path, reason))
        return True
    if member.unless and before.get(member.unless):
        ignored.append(Ignored(path, f"gives way to `{member.unless}`"))
        return True
    return False


Again: TypeAlias = Callable[[Section, Block, str], Block]


def _inside(value: Any, section: Section, member: Member, path: str, again: Again) -> Any:
    """What is inside of a member: one mapping, a list of them, some under names, or no mapping."""
    inner = section if member.kind.again else member.kind.section
    if inner is None:
        return value
    if member.kind.many:
        return [again(inner, item, f"{path}[{at}]") for at, item in enumerate(value)]
    if member.kind.keyed:
        return {name: again(inner, item, f"{path}[{name}]") for name, item in value.items()}
    return again(inner, value, path)
