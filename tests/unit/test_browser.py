"""Where the browser for tests of the status page comes from."""

from pathlib import Path

import pytest

from tools.browser import BrowserError, found, installed


def program(path: Path) -> Path:
    """A file that can be run."""
    path.write_text("#!/bin/sh\n")
    path.chmod(0o755)
    return path


def test_a_browser_that_is_named_wins_over_those_on_the_path(tmp_path: Path) -> None:
    """STOKER_CHROMIUM first, then the PATH, chromium before Chrome."""
    chrome, chromium = program(tmp_path / "google-chrome"), program(tmp_path / "chromium")
    mine = program(tmp_path / "mine")
    path = {"PATH": str(tmp_path)}
    assert found(path) == chromium
    assert found(path | {"STOKER_CHROMIUM": str(mine)}) == mine
    chromium.unlink()
    assert found(path) == chrome
    chrome.unlink()
    assert found(path) is None


def test_a_name_that_is_no_program_is_told() -> None:
    """A mistyped variable is not passed over."""
    with pytest.raises(BrowserError, match="STOKER_CHROMIUM names /nowhere, which is no program"):
        found({"STOKER_CHROMIUM": "/nowhere"})


def test_where_nothing_can_be_installed_the_error_says_what_to_do(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    """Without apt-get, and without root."""
    monkeypatch.setenv("PATH", str(tmp_path))
    monkeypatch.delenv("STOKER_CHROMIUM", raising=False)
    with pytest.raises(BrowserError, match="no apt-get to install one; install Chromium or Chrome"):
        installed()
    program(tmp_path / "apt-get")
    monkeypatch.setattr("os.geteuid", lambda: 1000)
    with pytest.raises(BrowserError, match="takes root; install Chromium or Chrome yourself"):
        installed()
