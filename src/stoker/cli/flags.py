"""The command line of `stoker operator` and `stoker webhook`, read as Go reads it.

A flag may be spelt with one dash or two, its value after an equals sign or as the next word; a
switch takes a value only after an equals sign. That is the grammar of Go's `flag` package, for
which existing deployments were written. What that package passes over in silence (words that belong
to no flag) is an error here.
"""

from collections.abc import Iterator, Mapping, Sequence
from textwrap import wrap
from typing import Any, Final

from stoker import __version__
from stoker.cli.flag_table import FLAGS, GROUPS, OperatorFlag
from stoker.errors import FieldError


class Given:
    """The value of every flag by its name, and which of them the command line had."""

    def __init__(self, given: Mapping[str, Any], flags: Mapping[str, OperatorFlag] = FLAGS) -> None:
        self.names = frozenset(given)
        self._values = {flag.name: flag.default for flag in flags.values()} | dict(given)

    def __getitem__(self, name: str) -> Any:
        return self._values[name]


_SHORT: Final = {"h": "help"}


def parsed(words: Sequence[str], flags: Mapping[str, OperatorFlag] = FLAGS) -> Given:
    """The values that a command line gives; `FieldError` names the flag that is wrong."""
    given: dict[str, Any] = {}
    for flag, text in _uses(words, flags):
        try:
            given[flag.name] = flag.read(text, given.get(flag.name))
        except ValueError as error:
            raise FieldError(f"--{flag.name}", str(error)) from None
    return Given(given, flags)


def _uses(
    words: Sequence[str], flags: Mapping[str, OperatorFlag]
) -> Iterator[tuple[OperatorFlag, str]]:
    """Each use of a flag with the text of its value."""
    rest = iter(words)
    last: OperatorFlag | None = None
    for word in rest:
        if word == "--":
            break
        if not word.startswith("-") or word == "-":
            raise _stray(word, last)
        name, equals, text = word[2 if word.startswith("--") else 1 :].partition("=")
        last = flag = _known(name, flags)
        if not equals:
            text = "true" if flag.is_switch else _next(rest, flag)
        yield flag, text
    for word in rest:
        raise _stray(word, None)


def _known(name: str, flags: Mapping[str, OperatorFlag]) -> OperatorFlag:
    flag = flags.get(_SHORT.get(name, name))
    if flag is None:
        from difflib import get_close_matches

        near = get_close_matches(name, flags, 1)
        hint = f"; did you mean --{near[0]}?" if near else "; --help lists all"
        raise FieldError(f"--{name}", f"there is no such flag{hint}")
    return flag


def _next(rest: Iterator[str], flag: OperatorFlag) -> str:
    text = next(rest, None)
    if text is None:
        raise FieldError(f"--{flag.name}", "needs a value")
    return text


def _stray(word: str, last: OperatorFlag | None) -> FieldError:
    if last and last.is_switch:
        return FieldError(f"--{last.name}", f"takes its value after an equals sign: ={word}")
    return FieldError("", f"`{word}` belongs to no flag")


USAGE: Final = """\
usage: stoker operator [--FLAG[=VALUE] ...]

Run the operator. Every flag of prometheus-operator is understood, with one dash or two:

  stoker operator                                          in a pod, for the whole cluster
  stoker operator --namespaces=shop,payments               for two namespaces
  stoker operator --kubeconfig ~/.kube/config --log-level=debug    from your own machine

A switch is on when it is named; --switch=false turns it off. Lists have commas between their items;
a list that is given twice is both together. Defaults stand in brackets. What is called ours is not
in prometheus-operator.
"""


def help_text(usage: str = USAGE, groups: Mapping[str, tuple[OperatorFlag, ...]] = GROUPS) -> str:
    """The text of `--help`, by default that of `stoker operator`."""
    parts = [usage]
    for title, flags in groups.items():
        parts.append(f"{title}:")
        parts += [_help_of(flag) for flag in flags]
        parts.append("")
    return "\n".join(parts)


def about(
    given: Given, usage: str = USAGE, groups: Mapping[str, tuple[OperatorFlag, ...]] = GROUPS
) -> str:
    """What a command prints instead of running: its help or the version; empty if it is to run."""
    if given["help"]:
        return help_text(usage, groups)
    if given["short-version"]:
        return __version__
    return f"stoker {__version__}" if given["version"] else ""


def _help_of(flag: OperatorFlag) -> str:
    default = flag.shown or (flag.default if isinstance(flag.default, str) else "")
    text = f"{flag.help} [{default}]" if default else flag.help
    name = f"  --{flag.name}"
    lines = wrap(
        text, 76, initial_indent=" " * 6, subsequent_indent=" " * 6, break_on_hyphens=False
    )
    return "\n".join([name if flag.is_switch else f"{name}=…", *lines])
