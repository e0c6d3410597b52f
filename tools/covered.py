"""Which lines and branches of stoker no test runs: `make coverage`.

    make coverage                                     # unit and golden tests
    make coverage ARGS='-m live tests/live'           # those on a control plane; words are pytest's

Processes that tests start count as well: the operator, the webhook, the reloader, commands. It runs
at the lowest priority, and takes two to three times as long as without. Nothing is installed into
.venv, and nothing fails below some number: read the list, and ask of each branch why it is there.
"""

from __future__ import annotations

import os
import subprocess
import sys
import tempfile
from pathlib import Path

ROOT = Path(__file__).parent.parent
MEASURE = "coverage==7.17.3"
# What is left out looks at what is imported, and coverage is.
_UNIT = (
    "-m",
    "not live",
    "--deselect=tests/unit/test_reloader.py::test_the_reloader_imports_nothing_heavy",
)
_SETTINGS = """
[run]
branch = true
parallel = true
sigterm = true
data_file = {folder}/data
source = {root}/src/stoker

[report]
exclude_also =
    if TYPE_CHECKING:
    @overload
"""


def main(words: list[str]) -> int:
    """Run pytest and print what was not run; pytest's exit status."""
    os.nice(19)
    with tempfile.TemporaryDirectory(prefix="stoker-coverage-") as scratch:
        folder = Path(scratch)
        pip = [sys.executable, "-m", "pip", "--quiet", "--disable-pip-version-check", "install"]
        subprocess.run([*pip, "--target", scratch, MEASURE], check=True)
        settings = folder / "settings"
        settings.write_text(_SETTINGS.format(folder=scratch, root=ROOT))
        # Python imports this whenever it starts.
        (folder / "sitecustomize.py").write_text("import coverage\ncoverage.process_startup()\n")
        # Of this tree, whichever one is installed.
        path = f"{scratch}{os.pathsep}{ROOT / 'src'}"
        environment = os.environ | {"PYTHONPATH": path, "COVERAGE_PROCESS_START": str(settings)}
        tests = [sys.executable, "-m", "pytest", *(words or _UNIT)]
        status = subprocess.run(tests, cwd=ROOT, env=environment, check=False).returncode
        _report(scratch, settings)
    return status


def _report(folder: str, settings: Path) -> None:
    """Print each file with the lines and branches that were not run."""
    for words in (["combine", "--quiet"], ["report", "--show-missing", "--skip-covered"]):
        command = [sys.executable, "-m", "coverage", *words, f"--rcfile={settings}"]
        subprocess.run(command, cwd=ROOT, env=os.environ | {"PYTHONPATH": folder}, check=True)


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
