"""What others run `stoker lint` by: the action for workflows, the hook for pre-commit."""

import os
import shlex
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
import yaml

from stoker.cli.commands import parser_of

ROOT = Path(__file__).parents[2]
ACTION = yaml.safe_load((ROOT / "action.yml").read_text())
[HOOK] = yaml.safe_load((ROOT / ".pre-commit-hooks.yaml").read_text())
WORKFLOW = yaml.safe_load((ROOT / "example/.github/workflows/lint.yaml").read_text())


def checked(
    where: Path, paths: str, options: str = "", **more: str
) -> subprocess.CompletedProcess[str]:
    """What the action's last step does, run as a runner would, with the stoker of these tests."""
    place = where / "stoker" / "bin"
    place.mkdir(parents=True, exist_ok=True)
    program = place / "stoker"
    program.write_text(f'#!/bin/sh\nexec {shlex.quote(sys.executable)} -m stoker "$@"\n')
    program.chmod(0o755)
    told = {"RUNNER_TEMP": str(where), "STOKER_PATHS": paths, "STOKER_OPTIONS": options}
    return subprocess.run(
        [
            "bash",
            "--noprofile",
            "--norc",
            "-eo",
            "pipefail",
            "-c",
            ACTION["runs"]["steps"][-1]["run"],
        ],
        env=os.environ | told | more,
        cwd=ROOT,
        capture_output=True,
        text=True,
        check=False,
    )


def test_the_action_marks_what_is_wrong_and_fails(tmp_path: Path) -> None:
    """One annotation for each problem, and the exit status of lint."""
    done = checked(tmp_path, "example/mistakes.yaml\nexample/outside.yaml\n")
    assert done.returncode == 1, done.stderr
    assert "::error file=example/mistakes.yaml,line=" in done.stdout
    assert checked(tmp_path, "example/prometheus.yaml").returncode == 0


def test_the_action_takes_what_the_example_workflow_passes(tmp_path: Path) -> None:
    """Inputs that it has, and options that lint has."""
    with_ = WORKFLOW["jobs"]["lint"]["steps"][-1]["with"]
    assert with_.keys() <= ACTION["inputs"].keys()
    done = checked(tmp_path, "example/prometheus.yaml", with_["options"])
    assert (done.returncode, done.stdout) == (0, "")
    assert checked(tmp_path, "example/prometheus.yaml", "--stirct").returncode == 2


def test_what_a_workflow_passes_stays_text(tmp_path: Path) -> None:
    """A title or a name of a branch in an input runs nothing, and is one word."""
    evil = f"$(touch {tmp_path}/ran); touch {tmp_path}/ran; `touch {tmp_path}/ran` *"
    done = checked(tmp_path, evil, evil)
    assert (done.returncode, done.stdout.count("no such file")) == (1, 2)
    assert not (tmp_path / "ran").exists()
    for step in ACTION["runs"]["steps"]:
        assert "${{" not in step["run"]


def test_the_action_installs_what_is_locked() -> None:
    """With the hashes of the repository, by files that are there."""
    install = ACTION["runs"]["steps"][0]["run"]
    assert "--require-hashes" in install
    assert '"$GITHUB_ACTION_PATH/requirements/stoker.txt"' in install
    assert (ROOT / "requirements" / "stoker.txt").is_file()
    assert (ACTION["runs"]["using"], {step["shell"] for step in ACTION["runs"]["steps"]}) == (
        "composite",
        {"bash"},
    )
    given = {
        name: text.removeprefix("${{ inputs.").removesuffix(" }}")
        for name, text in ACTION["runs"]["steps"][1]["env"].items()
    }
    assert given == {"STOKER_PATHS": "paths", "STOKER_OPTIONS": "options"}
    assert set(given.values()) == ACTION["inputs"].keys()


def test_the_hook_is_a_command_line_that_lint_takes() -> None:
    """The command, and the words that pre-commit adds to it."""
    command, *words = shlex.split(HOOK["entry"]) + list(HOOK["args"])
    assert command == "stoker"
    options: dict[str, Any] = vars(parser_of([words[0]]).parse_args(words))
    assert (options["command"], options["paths"]) == ("lint", ["."])
    assert (HOOK["id"], HOOK["language"], HOOK["pass_filenames"]) == (
        "stoker-lint",
        "python",
        False,
    )


@pytest.mark.parametrize(
    "file", ["action.yml", ".pre-commit-hooks.yaml", "example/.github/workflows/lint.yaml"]
)
def test_the_page_on_lint_leads_there(file: str) -> None:
    """Or nobody would find it; and no page names an action or hook that is not there."""
    page = (ROOT / "docs" / "lint.md").read_text()
    assert f"](../{file})" in page
    assert f"id: {HOOK['id']}" in page
