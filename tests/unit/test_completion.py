"""Completion in shells: the scripts are run by the shells that there are, on what people type."""

import shlex
import shutil
import subprocess
from pathlib import Path

import pytest

from stoker.__main__ import main
from stoker.cli.commands import COMMANDS
from stoker.cli.outline import Command, Option, outline
from stoker.cli.shells import script

Capture = pytest.CaptureFixture[str]


def completed(line: str) -> list[str]:
    """What bash offers for the last word of a line, as split by bash where it has a `=`."""
    words = line.replace("=", " = ").split(" ")
    words = [each for each in words[:-1] if each] + words[-1:]
    program = (
        f"{script('bash', outline())}\n"
        f"COMP_WORDS=({' '.join(shlex.quote(each) for each in words)})\n"
        'COMP_CWORD=$((${#COMP_WORDS[@]} - 1)); _stoker; printf "%s\\n" "${COMPREPLY[@]}"'
    )
    done = subprocess.run(
        ["bash", "--noprofile", "--norc", "-uc", program],
        capture_output=True,
        text=True,
        check=True,
    )
    assert done.stderr == ""
    return sorted(done.stdout.split())


@pytest.mark.parametrize(
    ("line", "offered"),
    [
        ("stoker ", sorted(COMMANDS)),
        ("stoker l", ["lint"]),
        ("stoker --v", ["--version"]),
        ("stoker lint -o ", ["github", "json", "sarif", "text", "yaml"]),
        ("stoker lint --output s", ["sarif"]),
        ("stoker lint --output=", ["github", "json", "sarif", "text", "yaml"]),
        ("stoker lint --output=y", ["yaml"]),
        ("stoker lint --str", ["--strict"]),
        ("stoker render -o ", ["json", "yaml"]),
        ("stoker explain servicem", ["servicemonitor"]),
        ("stoker explain -n shop servicem", ["servicemonitor"]),
        ("stoker explain -n ", []),
        (
            "stoker crds podmonitor pro",
            ["probe", "prometheus", "prometheusagent", "prometheusrule"],
        ),
        ("stoker completion ", ["bash", "fish", "zsh"]),
        ("stoker migrate ", ["agent-mode", "storage-version", "takeover"]),
        ("stoker migrate agent-mode --to ", ["DaemonSet", "StatefulSet"]),
        ("stoker migrate storage-version --dr", ["--dry-run"]),
        ("stoker operator --prometheus-instance-s", ["--prometheus-instance-selector"]),
        ("kubectl-stoker status --wa", ["--watch"]),
        ("stoker lint status --wa", []),
        ("stoker nonsense ", []),
    ],
)
def test_bash_offers_what_can_follow(line: str, offered: list[str]) -> None:
    """Commands, options, choices and kinds, wherever they stand."""
    assert completed(line) == offered


def test_bash_offers_files_and_folders(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Where a path belongs, also one with a space; nothing but folders where a folder does."""
    monkeypatch.chdir(tmp_path)
    for command in ("mkdir made", "touch mine.yaml 'my own.yaml'"):
        subprocess.run(["sh", "-c", command], check=True)
    assert completed("stoker lint m") == ["made", "mine.yaml", "my", "own.yaml"]
    assert completed("stoker explain smon/cart -f mi") == ["mine.yaml"]
    assert completed("stoker render --output-dir m") == ["made"]


def everything() -> list[tuple[Command, Option]]:
    """Each option of each command."""
    commands = [*outline(), *(each for command in outline() for each in command.below)]
    return [(command, option) for command in commands for option in command.options]


@pytest.mark.parametrize("shell", ["bash", "zsh", "fish"])
def test_every_command_option_and_choice_is_in_each_script(shell: str, capsys: Capture) -> None:
    """The scripts are made of the parsers, and nothing gets lost on the way."""
    assert main(["completion", shell]) == 0
    text = capsys.readouterr().out
    assert [name for name in COMMANDS if name not in text] == []
    for command, option in everything():
        for name in option.names:
            assert (name.lstrip("-") if shell == "fish" else name) in text, (command.name, name)
        if option.sort != "kind":
            assert " ".join(option.choices) in text
    assert len(everything()) > 150


def test_old_spellings_are_not_offered() -> None:
    """They are understood, and nobody should learn them."""
    lint = next(command for command in outline() if command.name == "lint")
    names = {name for option in lint.options for name in option.names}
    assert not names & {"--format", "--operator-flag", "--resource-limits"}
    assert {"--output", "--flag", "--help"} <= names


EVIL = "it's `touch ran` $(touch ran) [x]: \"; touch ran; \\"
EVIL_COMMAND = Command("do", EVIL, "", "", (Option(("--it",), "X", "other", (), EVIL),))


@pytest.mark.parametrize("shell", ["bash", "zsh", "fish"])
def test_a_help_text_is_no_part_of_a_script(
    shell: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Quotes and marks of a shell stand for themselves: the script is read, and does nothing."""
    monkeypatch.chdir(tmp_path)
    program = shutil.which(shell)
    if program is None:
        pytest.skip(f"there is no {shell}")
    text = script(shell, [EVIL_COMMAND])
    done = subprocess.run(
        [program, "-c", f"compdef() {{ :; }}\n{text}" if shell == "zsh" else text],
        capture_output=True,
        text=True,
        check=False,
    )
    assert (done.returncode, done.stderr) == (0, "")
    assert subprocess.run(["ls"], capture_output=True, text=True, check=True).stdout == ""


@pytest.mark.skipif(shutil.which("fish") is None, reason="there is no fish")
@pytest.mark.parametrize(
    ("line", "offered"),
    [
        ("stoker l", ["lint"]),
        ("stoker lint -o s", ["sarif"]),
        ("stoker lint --output=y", ["--output=yaml"]),
        ("stoker explain servicem", ["servicemonitor"]),
        ("stoker migrate a", ["agent-mode"]),
        ("stoker migrate agent-mode --to D", ["DaemonSet"]),
        ("stoker lint status --wa", []),
    ],
)
def test_fish_offers_what_can_follow(line: str, offered: list[str]) -> None:
    """The same as bash."""
    asked = f"{script('fish', outline())}\ncomplete --do-complete {shlex.quote(line)}"
    done = subprocess.run(["fish", "-c", asked], capture_output=True, text=True, check=True)
    assert [each.partition("\t")[0] for each in done.stdout.splitlines()] == offered
    asked = f"{script('fish', outline())}\ncomplete --do-complete {shlex.quote(line)}"
    done = subprocess.run(["fish", "-c", asked], capture_output=True, text=True, check=True)
    assert [each.partition("\t")[0] for each in done.stdout.splitlines()] == offered


@pytest.mark.parametrize("shell", ["zsh", "fish"])
def test_a_help_text_is_one_word_of_a_script(shell: str) -> None:
    """As the test above, also where there is no such shell: by how its words are quoted."""
    text = script(shell, [EVIL_COMMAND])
    if shell == "fish":  # Its two escapes inside quotes, which shlex does not know.
        text = text.replace("\\\\", "BACKSLASH").replace("\\'", "QUOTE")
    words = [word for word in shlex.split(text, comments=True) if "touch" in word]
    assert len(words) == 2
    for word in words:
        assert word.count("touch ran") == 3
        assert word.rstrip("]:X =").endswith(("\\", "\\\\", "BACKSLASH"))
