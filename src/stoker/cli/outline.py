"""All commands as values, read from their own parsers: what completion and manual pages are of."""

import argparse
from collections.abc import Iterator
from typing import Final, Literal, NamedTuple

from stoker.cli.commands import COMMANDS, GO_FLAGS, parser_of
from stoker.cli.flag_table import GROUPS, OperatorFlag
from stoker.cli.flags import USAGE
from stoker.cli.webhook_flags import GROUPS as WEBHOOK_GROUPS
from stoker.cli.webhook_flags import USAGE as WEBHOOK_USAGE

# What stands in the place of a value: a file, a folder, a kind, something else, or nothing.
Sort = Literal["file", "folder", "kind", "other", "nothing"]

_SORTS: Final[dict[str, Sort]] = {
    "PATH": "file",
    "FILE": "file",
    "OLD": "file",
    "DIR": "folder",
    "KIND": "kind",
    "KIND [NS/]NAME": "kind",
}
_OF_GO: Final = {"operator": (USAGE, GROUPS), "webhook": (WEBHOOK_USAGE, WEBHOOK_GROUPS)}


class Option(NamedTuple):
    """An option by its spellings, or words that stand alone, which have none."""

    names: tuple[str, ...]
    metavar: str
    sort: Sort
    choices: tuple[str, ...]
    help: str


class Command(NamedTuple):
    """A command, or one of another's: `migrate agent-mode`. Those of its own are `below` it."""

    name: str
    summary: str
    text: str
    usage: str
    options: tuple[Option, ...]
    below: tuple["Command", ...] = ()


def outline() -> tuple[Command, ...]:
    """All commands, with what `--help` shows of them."""
    own = _below(parser_of(COMMANDS), "")
    return tuple(_of_go(each) if each.name in GO_FLAGS else each for each in own)


def _below(parser: argparse.ArgumentParser, name: str) -> tuple[Command, ...]:
    """The commands that a parser has below itself, in their order."""
    found = []
    for action in parser._actions:
        if isinstance(action, argparse._SubParsersAction):
            summaries = {each.dest: each.help or "" for each in action._choices_actions}
            for word, inner in action.choices.items():
                found.append(_command(inner, f"{name} {word}".strip(), summaries[word]))
    return tuple(found)


def _command(parser: argparse.ArgumentParser, name: str, summary: str) -> Command:
    return Command(
        name,
        summary,
        (parser.description or "").strip(),
        # In one line: how it is wrapped depends on the terminal.
        " ".join(parser.format_usage().partition(":")[2].split()),
        tuple(_options(parser)),
        _below(parser, name),
    )


def _options(parser: argparse.ArgumentParser) -> Iterator[Option]:
    """What help shows: old spellings are understood, and not offered to anybody."""
    formatter = parser._get_formatter()
    for action in parser._actions:
        if action.help is argparse.SUPPRESS or isinstance(action, argparse._SubParsersAction):
            continue
        metavar = "" if action.nargs == 0 else str(action.metavar or action.dest.upper())
        choices = tuple(str(each) for each in action.choices or ()) or _in_braces(metavar)
        if choices:
            metavar = f"{{{','.join(choices)}}}"
        sort: Sort = _SORTS.get(metavar, "other") if metavar else "nothing"
        told = formatter._expand_help(action) if action.help else ""
        yield Option(tuple(_spellings(action)), metavar, sort, choices, told)


def _spellings(action: argparse.Action) -> Iterator[str]:
    """The names of an option, without those that have one dash where they should have two."""
    return (name for name in action.option_strings if name.startswith("--") or len(name) == 2)


def _in_braces(metavar: str) -> tuple[str, ...]:
    """Choices that only help shows, because other words are understood, too."""
    return tuple(metavar[1:-1].split(",")) if metavar.startswith("{") else ()


def _of_go(command: Command) -> Command:
    """A command whose flags are a table."""
    usage, groups = _OF_GO[command.name]
    first, _, text = usage.partition("\n")
    options = tuple(_flag(flag) for flags in groups.values() for flag in flags)
    return command._replace(
        text=text.strip(), usage=first.partition(":")[2].strip(), options=options
    )


def _flag(flag: OperatorFlag) -> Option:
    default = flag.shown or (flag.default if isinstance(flag.default, str) else "")
    told = f"{flag.help} [{default}]" if default else flag.help
    metavar = "" if flag.is_switch else "VALUE"
    return Option((f"--{flag.name}",), metavar, "other" if metavar else "nothing", (), told)
