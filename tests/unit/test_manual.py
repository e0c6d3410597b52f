"""Manual pages: one for each command, with all that its help has, as `man` reads them."""

import re
import shutil
import subprocess
import tarfile
from pathlib import Path

import pytest

from stoker.cli.commands import COMMANDS
from stoker.cli.outline import Command, Option, outline
from tools import manual
from tools.release import parts

ROOT = Path(__file__).parents[2]
PAGES = manual.pages()
REQUESTS = {".TH", ".SH", ".TP", ".PP", ".B", ".RS", ".RE", ".nf", ".fi"}


def plain(text: str) -> str:
    """What a page says, without what roff is told, in one line."""
    signs = {code: sign for sign, code in manual._SIGNS.items() if sign != "\\"}
    text = re.sub(r"^\.\w+ ?", "", text, flags=re.MULTILINE)
    text = re.sub(r"\\f[BIR]|\\&", "", text)
    for code, sign in signs.items():
        text = text.replace(code, sign)
    text = re.sub(r"\\\[u([0-9A-F]+)\]", lambda found: chr(int(found[1], 16)), text)
    return " ".join(text.replace(r"\e", "\\").split())


def test_every_command_has_a_page() -> None:
    """Those below others, too, and one for the whole that names them."""
    names = {f"stoker-{name}.1" for name in COMMANDS}
    migrations = ("agent-mode", "storage-version", "takeover")
    below = {f"stoker-migrate-{name}.1" for name in migrations}
    assert PAGES.keys() == names | below | {"stoker.1"}
    assert [name for name in COMMANDS if f"stoker-{name}(1)" not in plain(PAGES["stoker.1"])] == []


@pytest.mark.parametrize("command", outline(), ids=lambda command: command.name)
def test_a_page_says_what_help_says(command: Command) -> None:
    """Every paragraph, every example, every option with its meaning."""
    said = plain(PAGES[f"stoker-{command.name}.1"])
    assert " ".join(command.usage.split()) in said
    for line in command.text.splitlines():
        words = " ".join(line.split()).removeprefix("Exit status")
        assert words.lstrip(":, ") in said
    for option in command.options:
        assert f"{', '.join(option.names)} {option.metavar}".strip() in said
        assert " ".join(option.help.split()) in said


@pytest.mark.parametrize("name", sorted(PAGES))
def test_pages_are_well_formed(name: str) -> None:
    """Known requests only, the sections that every manual page has, in their order, and ASCII."""
    lines = PAGES[name].splitlines()
    assert {line.split(" ")[0] for line in lines if line.startswith(".")} <= REQUESTS
    titles = [line.removeprefix(".SH ") for line in lines if line.startswith(".SH ")]
    assert titles[:2] == ["NAME", "SYNOPSIS"]
    assert len(titles) == len(set(titles)) > 2
    assert PAGES[name].isascii()
    assert lines.count(".nf") == lines.count(".fi")


def test_pages_do_not_tell_who_made_them(monkeypatch: pytest.MonkeyPatch) -> None:
    """Not even how wide the terminal was: a release has the same bytes on all machines."""
    monkeypatch.setenv("COLUMNS", "40")
    assert manual.pages() == PAGES


@pytest.mark.skipif(shutil.which("groff") is None, reason="there is no groff")
def test_groff_has_nothing_to_complain_of() -> None:
    """Not even a warning; and what comes out is what went in."""
    text = "".join(PAGES.values())
    shown = subprocess.run(
        ["groff", "-man", "-ww", "-Tutf8", "-P-c"],
        input=text,
        capture_output=True,
        text=True,
        check=True,
    )
    assert shown.stderr == ""
    assert "stoker lint -o json deploy/ | jq .path" in shown.stdout


EVIL = ".so /etc/passwd\n'br \\*[x] \\n(.x -o \"it's\" `a`"


def test_a_help_text_is_no_request() -> None:
    """A dot, a quote or a backslash stands for itself."""
    option = Option(("--it",), ".X", "other", (), ".ab")
    page = manual.pages((Command("do", ".de", EVIL, "stoker do", (option,)),))["stoker-do.1"]
    assert {line.split(" ")[0] for line in page.splitlines() if line.startswith(".")} <= REQUESTS
    assert not [line for line in page.splitlines() if line.startswith("'")]
    assert " ".join(EVIL.split()) in plain(page)


def test_a_release_has_them(tmp_path: Path) -> None:
    """In the folder in which `man` looks for pages of commands."""
    parts._manual(ROOT, "9.8.7", tmp_path)
    [path] = tmp_path.iterdir()
    assert path.name == "stoker-man-9.8.7.tar.gz"
    with tarfile.open(path) as archive:
        assert {entry.name for entry in archive} == {f"man1/{name}" for name in PAGES}
