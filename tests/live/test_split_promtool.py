"""Prometheus itself reads a configuration that is divided among several files."""

import gzip
import subprocess
from pathlib import Path

import pytest

from stoker.generate.split import MAIN_FILE, expanded_file
from tests.promtool import expanded
from tests.unit.test_split import MANY, kept_of
from tools.build import binaries


def unpacked(files: dict[str, bytes], folder: Path) -> Path:
    """Write the files as the reloader would, but into a folder; return the main one.

    Prometheus looks for the others where a pod has them, so their folder is replaced too.
    """
    home = Path(expanded_file(0)).parent
    for number, name in enumerate(name for name in files if name != MAIN_FILE):
        text = gzip.decompress(files[name]).decode()
        (folder / Path(expanded_file(number)).name).write_text(expanded(text))
    main = folder / "prometheus.env.yaml"
    text = gzip.decompress(files[MAIN_FILE]).decode()
    main.write_text(expanded(text.replace(f"{home}/", f"{folder}/")))
    return main


def checked(main: Path) -> subprocess.CompletedProcess[str]:
    """Ask promtool."""
    command = [str(binaries("promtool")["promtool"]), "check", "config", str(main)]
    return subprocess.run(command, capture_output=True, text=True, check=False)


def test_prometheus_takes_a_configuration_of_several_files(tmp_path: Path) -> None:
    """All of them are found and read."""
    files = kept_of(MANY).config_files()
    assert len(files) > 3
    done = checked(unpacked(files, tmp_path))
    assert done.returncode == 0, done.stderr
    assert " SUCCESS" in done.stdout


@pytest.mark.parametrize(
    ("text", "complaint"),
    [
        ("scrape_configs:\n- job_name: own\n", "found multiple scrape configs with job name"),
        ("global: {}\n", "field global not found"),
    ],
)
def test_prometheus_would_notice_a_mistake_in_a_further_file(
    text: str, complaint: str, tmp_path: Path
) -> None:
    """So the test above shows something: the further files are really read."""
    main = unpacked(kept_of(MANY).config_files(), tmp_path)
    (tmp_path / Path(expanded_file(1)).name).write_text(text)
    done = checked(main)
    assert done.returncode != 0
    assert complaint in done.stdout + done.stderr
