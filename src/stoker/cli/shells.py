"""Scripts by which shells complete, made of an outline of all commands.

They have all of their words in them. What a table says goes into them quoted, so that no help text
can be read as a part of a script.
"""

import shlex
from collections.abc import Callable, Iterator, Sequence
from typing import Final

from stoker.api.kinds import KINDS
from stoker.cli.outline import Command, Option


def script(shell: str, commands: Sequence[Command]) -> str:
    """What a shell reads to complete these commands."""
    lines = _WRITERS[shell](commands)
    return "\n".join((*lines, ""))


def _all(commands: Sequence[Command]) -> Iterator[Command]:
    """Commands, each followed by those below it."""
    for each in commands:
        yield each
        yield from _all(each.below)


def _values(option: Option) -> tuple[str, ...]:
    """The words that an option, or words that stand alone, can be, where they are known."""
    if option.sort == "kind":
        return tuple(kind.name.lower() for kind in KINDS)
    return option.choices


def _alone(command: Command) -> tuple[Option, ...]:
    return tuple(each for each in command.options if not each.names)


def _named(command: Command) -> tuple[Option, ...]:
    return tuple(each for each in command.options if each.names)


def _first_line(text: str) -> str:
    return " ".join(text.split())


# --- bash -----------------------------------------------------------------------------------------

_COMPGEN: Final = {"file": "-f", "folder": "-d"}
_BASH: Final = """\
# Completion of stoker for bash, written by `stoker completion bash`.

_stoker_words() {
    local IFS=' '
    COMPREPLY=($(compgen -W "$1" -- "$2"))
}

_stoker_paths() {
    local IFS=$'\\n'
    compopt -o filenames 2>/dev/null
    COMPREPLY+=($(compgen "$1" -- "$2"))
}

_stoker() {
    local word="${COMP_WORDS[COMP_CWORD]}" before="${COMP_WORDS[COMP_CWORD-1]}" command="" at
    # bash makes three words of --output=json.
    if [[ $word == "=" ]]; then
        word=""
    elif [[ $before == "=" ]]; then
        before="${COMP_WORDS[COMP_CWORD-2]}"
    fi
    for ((at = 1; at < COMP_CWORD; at++)); do
        case "$command>${COMP_WORDS[at]}" in"""


def _bash(commands: Sequence[Command]) -> Iterator[str]:
    """A function that looks for the command, then at the word before, then at the word itself."""
    yield _BASH
    yield "            *'>'-*) ;;"
    for each in _all(commands):
        above, _, word = each.name.rpartition(" ")
        yield f"            {shlex.quote(f'{above}>{word}')}) command={shlex.quote(each.name)} ;;"
    yield "            '>'*) command='?' ;;"
    yield '        esac\n    done\n    COMPREPLY=()\n    case "$command>$before" in'
    for each in _all(commands):
        for option in _named(each):
            if option.sort != "nothing":
                names = " | ".join(shlex.quote(f"{each.name}>{name}") for name in option.names)
                yield f"        {names}) {_bash_value(option)}return ;;"
    yield '    esac\n    case "$command>$word" in'
    yield "        '>'-*) _stoker_words '--help --version' \"$word\" ;;"
    yield f"        '>'*) _stoker_words {_bash_words(commands)} \"$word\" ;;"
    for each in _all(commands):
        name = shlex.quote(f"{each.name}>")
        options = shlex.quote(" ".join(name for each in _named(each) for name in each.names))
        yield f'        {name}-*) _stoker_words {options} "$word" ;;'
        below = f'_stoker_words {_bash_words(each.below)} "$word"; ' if each.below else ""
        yield f"        {name}*) {below}{''.join(map(_bash_value, _alone(each)))};;"
    yield "    esac\n}\n\ncomplete -F _stoker stoker kubectl-stoker"


def _bash_words(commands: Sequence[Command]) -> str:
    return shlex.quote(" ".join(each.name.rpartition(" ")[2] for each in commands))


def _bash_value(option: Option) -> str:
    """What completes a value; nothing where nothing is known of it."""
    if option.sort in _COMPGEN:
        return f'_stoker_paths {_COMPGEN[option.sort]} "$word"; '
    words = shlex.quote(" ".join(_values(option)))
    return f'_stoker_words {words} "$word"; ' if _values(option) else ""


# --- zsh ------------------------------------------------------------------------------------------

_ZSH: Final = """\
#compdef stoker kubectl-stoker
# Completion of stoker for zsh, written by `stoker completion zsh`."""
_ZSH_PATHS: Final = {"file": "_files", "folder": "_files -/"}


def _zsh(commands: Sequence[Command]) -> Iterator[str]:
    """A function for each command that has others below it, and one case for each command."""
    yield _ZSH
    for each in _all(commands):
        if each.below:
            yield from _zsh_function(each.name, each.below)
    yield from _zsh_function("", commands)
    yield '\nif [ "$funcstack[1]" = _stoker ]; then\n    _stoker "$@"\nelse'
    yield "    compdef _stoker stoker kubectl-stoker\nfi"


def _zsh_function(name: str, commands: Sequence[Command]) -> Iterator[str]:
    """Complete one of several commands, and then what belongs to it."""
    yield f"\n_{'_'.join(('stoker', *name.split()))}() {{"
    yield '    local context curcontext="$curcontext" state line\n    typeset -A opt_args'
    version = "" if name else "'--version[show the version and exit]' "
    yield f"    _arguments -C '--help[show help and exit]' {version}\\"
    yield "        '1:command:->command' '*::word:->word'"
    yield "    case $state in\n    command)\n        local -a commands=("
    for each in commands:
        word = each.name.rpartition(" ")[2]
        yield f"            {shlex.quote(f'{word}:{each.summary}')}"
    yield "        )\n        _describe -t commands command commands ;;"
    yield "    word)\n        case $words[1] in"
    for each in commands:
        word = each.name.rpartition(" ")[2]
        if each.below:
            yield f"        {word}) _{'_'.join(('stoker', *each.name.split()))} ;;"
        else:
            yield f"        {word}) _arguments -s \\"
            yield from (f"            {shlex.quote(spec)} \\" for spec in _zsh_specs(each))
            yield "            ;;"
    yield "        esac ;;\n    esac\n}"


def _zsh_specs(command: Command) -> Iterator[str]:
    """What `_arguments` takes: a word for each spelling of an option, and one for bare words."""
    for option in _named(command):
        for name in option.names:
            # Two dashes and a value: after `=` or as the next word.
            joined = "=" if option.metavar and name.startswith("--") else ""
            told = f"[{_zsh_text(option.help)}]"
            value = f":{_zsh_text(option.metavar)}:{_zsh_value(option)}" if option.metavar else ""
            yield f"*{name}{joined}{told}{value}"
    for option in _alone(command):
        yield f"*:{_zsh_text(option.metavar)}:{_zsh_value(option)}"


def _zsh_value(option: Option) -> str:
    if _values(option):
        return f"({' '.join(_values(option))})"
    return _ZSH_PATHS.get(option.sort, " ")


def _zsh_text(text: str) -> str:
    """A text in a specification, whose marks are brackets and colons."""
    for mark in ("\\", "[", "]", ":"):
        text = text.replace(mark, f"\\{mark}")
    return _first_line(text)


# --- fish -----------------------------------------------------------------------------------------

_FISH: Final = """\
# Completion of stoker for fish, written by `stoker completion fish`.

function __stoker_words
    set -l said (commandline -opc | string match --invert -- '-*')
    set -e said[1]
    printf '%s\\n' $said
end

# Whether a command has been named, and nothing after it.
function __stoker_at
    set -l said (__stoker_words)
    test "$said" = "$argv"
end

# Whether a command has been named, whatever follows.
function __stoker_in
    set -l said (__stoker_words)
    set -l many (count $argv)
    test (count $said) -ge $many; and test "$said[1..$many]" = "$argv"
end

complete -c stoker -f"""
_FISH_PATHS: Final = {"file": "-F", "folder": "-x -a '(__fish_complete_directories)'"}


def _fish(commands: Sequence[Command]) -> Iterator[str]:
    """A line for each word that there may be, with the condition under which it may."""
    yield _FISH
    yield "complete -c stoker -n __stoker_at -l version -d 'show the version and exit'"
    for each in _all(commands):
        above, _, word = each.name.rpartition(" ")
        at = shlex.quote(f"__stoker_at {above}".strip())
        yield f"complete -c stoker -n {at} -a {word} -d {_fish_text(each.summary)}"
        within = f"complete -c stoker -n '__stoker_in {each.name}'"
        for option in _named(each):
            yield f"{within} {_fish_option(option)}"
        for option in _alone(each):
            if _fish_value(option):
                yield f"{within} {_fish_value(option).replace('-x ', '')}"
    yield "complete -c kubectl-stoker -w stoker"


def _fish_option(option: Option) -> str:
    names = [
        f"-l {name[2:]}" if name.startswith("--") else f"-s {name[1:]}" for name in option.names
    ]
    value = (_fish_value(option) or "-x") if option.metavar else ""
    required = "-r " if value.startswith("-F") else ""
    return f"{' '.join(names)} {required}{value} -d {_fish_text(option.help)}".replace("  ", " ")


def _fish_value(option: Option) -> str:
    if _values(option):
        return f"-x -a {shlex.quote(' '.join(_values(option)))}"
    return _FISH_PATHS.get(option.sort, "")


def _fish_text(text: str) -> str:
    """A text in single quotes, in which fish knows two escapes."""
    escaped = _first_line(text).replace("\\", "\\\\").replace("'", "\\'")
    return f"'{escaped}'"


_WRITERS: Final[dict[str, Callable[[Sequence[Command]], Iterator[str]]]] = {
    "bash": _bash,
    "zsh": _zsh,
    "fish": _fish,
}
