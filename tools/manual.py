"""Writes a manual page for each command into a folder: `python -m tools.manual FOLDER`.

The pages are of the same outline as completion in shells: what `--help` says, for `man`.
"""

from __future__ import annotations

import re
import sys
from collections.abc import Iterator
from pathlib import Path
from textwrap import dedent

from stoker import __version__
from stoker.cli.outline import Command, Option, outline

# What roff would set as something else than what people copy.
_SIGNS = {
    "\\": r"\e",
    "-": r"\-",
    "'": r"\(aq",
    "`": r"\(ga",
    "^": r"\(ha",
    "~": r"\(ti",
    '"': r"\(dq",
}
_STATUS = "Exit status"


def pages(commands: tuple[Command, ...] | None = None) -> dict[str, str]:
    """Every page by the name of its file: one of the whole, and one of each command."""
    shown = outline() if commands is None else commands
    made = {"stoker.1": _whole(shown)}
    for each in _all(shown):
        made[f"{_name(each)}.1"] = _page(each)
    return made


def _all(commands: tuple[Command, ...]) -> Iterator[Command]:
    for each in commands:
        yield each
        yield from _all(each.below)


def _name(command: Command) -> str:
    return f"stoker {command.name}".replace(" ", "-")


def _whole(commands: tuple[Command, ...]) -> str:
    lines = [
        *_head("stoker", "a Prometheus Operator, and its commands"),
        ".SH SYNOPSIS",
        f".B {_text('stoker')}",
        r"\fICOMMAND\fR ...",
        ".SH COMMANDS",
        *_list(commands),
    ]
    return "\n".join(lines) + "\n"


def _page(command: Command) -> str:
    lines = _head(_name(command), command.summary)
    lines += [".SH SYNOPSIS", _line(command.usage)]
    described, _, status = command.text.partition(f"{_STATUS}")
    lines += [".SH DESCRIPTION", *_paragraphs(described)]
    if command.below:
        lines += [".SH COMMANDS", *_list(command.below)]
    for title, options in (
        ("ARGUMENTS", [each for each in command.options if not each.names]),
        ("OPTIONS", [each for each in command.options if each.names]),
    ):
        if options:
            lines += [f".SH {title}", *(line for each in options for line in _option(each))]
    if status:
        lines += [".SH EXIT STATUS", *_paragraphs(status.lstrip(":,"))]
    return "\n".join([*lines, ".SH SEE ALSO", r"\fBstoker\fR(1)"]) + "\n"


def _head(name: str, summary: str) -> list[str]:
    # No date: the same version gives the same bytes.
    return [
        f'.TH {_text(name.upper())} 1 "" "stoker {__version__}" "stoker"',
        ".SH NAME",
        f"{_text(name)} \\- {_text(summary)}",
    ]


def _list(commands: tuple[Command, ...]) -> Iterator[str]:
    for each in commands:
        yield from (".TP", rf"\fB{_text(_name(each))}\fR(1)", _line(each.summary))


def _option(option: Option) -> Iterator[str]:
    names = ", ".join(rf"\fB{_text(name)}\fR" for name in option.names)
    metavar = rf"\fI{_text(option.metavar)}\fR" if option.metavar else ""
    yield from (".TP", f"{names} {metavar}".strip(), _line(option.help))


def _paragraphs(text: str) -> Iterator[str]:
    """Paragraphs are filled; what is indented, such as examples, stays line by line."""
    for number, part in enumerate(re.split(r"\n\s*\n", text.strip("\n"))):
        if part.startswith(" ") and number:
            yield from (".PP", ".RS", ".nf", *map(_line, dedent(part).splitlines()), ".fi", ".RE")
        else:
            yield from (".PP", *map(_line, part.strip().splitlines()))


def _line(text: str) -> str:
    """A line of text; at its beginning a dot or a quote would be a request."""
    found = _text(text)
    return rf"\&{found}" if found.startswith(".") else found


def _text(text: str) -> str:
    return "".join(
        _SIGNS.get(sign) or (sign if sign.isascii() else rf"\[u{ord(sign):04X}]") for sign in text
    )


def main(words: list[str]) -> int:
    """Write all pages into a folder; the exit status."""
    if len(words) != 1:
        print("usage: python -m tools.manual FOLDER", file=sys.stderr)
        return 2
    folder = Path(words[0])
    folder.mkdir(parents=True, exist_ok=True)
    for name, text in pages().items():
        (folder / name).write_text(text)
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
