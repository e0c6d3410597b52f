"""A lane's failure is told last; a live test gets a second chance, and only that."""

from pathlib import Path

import pytest

from tools import lanes

_LUCKY = """
import pathlib, pytest
@pytest.mark.live
def test_lucky():
    seen = pathlib.Path(__file__).with_suffix(".seen")
    if not seen.exists():
        seen.touch()
        assert False, "once is nothing"
"""
_BROKEN = """
import pytest
@pytest.mark.live
@pytest.mark.parametrize("number", range({count}))
def test_broken(number):
    assert number < 0, "always so"
"""


@pytest.fixture
def checkout(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A folder of tests with two lanes: one that is fine and alone, and what is left over."""
    (tmp_path / "pyproject.toml").write_text(
        '[tool.pytest.ini_options]\nmarkers = ["live: as in ours"]\naddopts = "-ra"\n'
    )
    (tmp_path / "test_fine.py").write_text(
        "import pytest\n@pytest.mark.live\ndef test_fine(): pass\n"
    )
    (tmp_path / "test_lucky.py").write_text(_LUCKY)
    monkeypatch.setattr(lanes, "ROOT", tmp_path)
    monkeypatch.setattr(lanes, "_LANES", {"live": {"alone": ("test_fine.py",)}})
    monkeypatch.setattr(lanes, "_OLDEST", {"live": ()})
    monkeypatch.setenv("PYTEST_DISABLE_PLUGIN_AUTOLOAD", "1")
    return tmp_path


@pytest.mark.usefixtures("checkout")
def test_one_that_passes_when_alone_is_named_and_no_failure(
    capfd: pytest.CaptureFixture[str],
) -> None:
    """It is told what it said, after everything else."""
    assert lanes.main("live") == 0
    _, told = capfd.readouterr().out.rsplit("What the lane", 1)
    assert "once is nothing" in told
    assert told.endswith("with nothing beside it:\n  test_lucky.py::test_lucky\n")


def test_one_that_fails_twice_fails_the_run(
    checkout: Path, capfd: pytest.CaptureFixture[str]
) -> None:
    """The one that passes beside it does not hide it."""
    (checkout / "test_broken.py").write_text(_BROKEN.format(count=1))
    assert lanes.main("live") == 1
    assert capfd.readouterr().out.endswith(
        "Failed twice, the second time with nothing beside it:\n  test_broken.py::test_broken[0]\n"
    )


def test_many_failures_get_no_second_chance(
    checkout: Path, capfd: pytest.CaptureFixture[str]
) -> None:
    """They are no accident."""
    (checkout / "test_broken.py").write_text(_BROKEN.format(count=4))
    assert lanes.main("live") == 1
    said = capfd.readouterr().out
    assert "again |" not in said
    assert said.split("Failed:\n")[1].count("\n") == 5
