"""What takes long is told on a terminal, and to nobody else."""

import os
import pty
import subprocess
import sys
import threading
from pathlib import Path

import pytest

from stoker.cli.busy import JUDGING, READING, Busy, busy

GOOD = "apiVersion: v1\nkind: Namespace\nmetadata: {name: shop}\n"
OURS = [sys.executable, "-m", "stoker"]


def until(terminal: int, words: str) -> str:
    """What is shown on a terminal, until it says something or the program ends."""
    shown = ""
    while words not in shown:
        try:
            more = os.read(terminal, 4096)
        except OSError:
            break
        if not more:
            break
        shown += more.decode()
    return shown


@pytest.mark.parametrize("command", [["lint", "-"], ["status", "-f", "-"], ["render", "-"]])
def test_a_terminal_is_told_what_takes_long(command: list[str]) -> None:
    """And nothing of it is left: neither on the terminal nor in the report."""
    ours, theirs = pty.openpty()
    with subprocess.Popen(
        [*OURS, *command],
        stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=theirs, text=True,
    ) as process:  # fmt: skip
        os.close(theirs)
        assert process.stdin
        assert process.stdout
        expected = f"stoker {command[0]}: {READING}"
        assert expected in until(ours, expected)
        process.stdin.write(GOOD)
        process.stdin.close()
        report = process.stdout.read()
        rest = until(ours, "nothing of the kind")
    os.close(ours)
    assert READING not in report
    assert READING not in rest.rpartition("\r\033[K")[2]


def test_nobody_else_is_told(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A log of a pipeline has only the report."""
    threads = threading.active_count()
    with (tmp_path / "log").open("w") as log:
        monkeypatch.setattr(sys, "stderr", log)
        with busy("lint", READING):
            assert threading.active_count() == threads


def test_what_was_read_is_counted() -> None:
    """Until all is there; then it is said what is done with it."""
    work = Busy("lint", READING)
    items = work.counted(range(1500), JUDGING)
    for _ in range(1200):
        next(items)
    assert work.words.startswith(f"stoker lint: {READING} (1,200), ")
    assert len(list(items)) == 300
    assert work.words.startswith(f"stoker lint: {JUDGING} (1,500), ")
