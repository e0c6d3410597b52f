"""The features that our table has for the newest version, held against the program itself."""

import re
import subprocess
from pathlib import Path

import pytest

from stoker.validate.features import ALERTMANAGER_FEATURES, FEATURES, NEWEST_KNOWN
from stoker.version import parse_version
from tools.build import binaries

_UNKNOWN = re.compile(r'msg="Unknown option for --enable-feature" option=(\S+)')
_IDLE = re.compile(r"no-op\..*option=(\S+)")
# These two exclude each other, and the second ends the program before it has told of the others.
_APART = ("otlp-deltatocumulative", "otlp-native-delta-ingestion")


def said(folder: Path, *words: str) -> tuple[int, str]:
    """What Prometheus says, and how it ends, without a configuration: after it read its flags."""
    program = str(binaries("prometheus")["prometheus"])
    file = f"--config.file={folder}/nowhere.yaml"
    done = subprocess.run(
        [program, file, *words], capture_output=True, text=True, check=False, timeout=60
    )
    return done.returncode, done.stdout + done.stderr


def test_the_table_is_that_of_the_newest_version(tmp_path: Path) -> None:
    """It knows the same features, does nothing for the same, and goes on with one unknown."""
    _, version = said(tmp_path, "--version")
    assert NEWEST_KNOWN in version
    newest = parse_version(NEWEST_KNOWN)
    names = [*FEATURES, "no-such-feature"]
    names.remove(_APART[1])
    _, log = said(tmp_path, f"--enable-feature={','.join(names)}")
    assert "Error loading config" in log, "it went on until it needed its configuration"
    unknown = {
        name for name in names if name not in FEATURES or not FEATURES[name].known_to(newest)
    }
    assert set(_UNKNOWN.findall(log)) == unknown
    idle = {name for name in set(names) - unknown if FEATURES[name].idle_in(newest)}
    assert set(_IDLE.findall(log)) == idle


def test_an_alertmanager_ends_with_what_our_table_does_not_have(tmp_path: Path) -> None:
    """And knows all that the table has for its version; it, too, reads its flags first."""
    program = str(binaries("alertmanager")["alertmanager"])

    def run(*words: str) -> str:
        file = f"--config.file={tmp_path}/nowhere.yaml"
        listens = ("--cluster.listen-address=", "--web.listen-address=127.0.0.1:0")
        command = [program, file, f"--storage.path={tmp_path}", *listens, *words]
        done = subprocess.run(command, capture_output=True, text=True, check=False, timeout=60)
        return done.stdout + done.stderr

    found = re.search(r"version (\d+\.\d+\.\d+)", run("--version"))
    assert found
    running = parse_version(found[1])
    for name, feature in ALERTMANAGER_FEATURES.items():
        unknown = f"unknown option '{name}'" in run(f"--enable-feature={name}").lower()
        assert unknown is not feature.known_to(running), name
    assert "unknown option 'nope'" in run("--enable-feature=nope").lower()
    assert "cannot have both" in run("--enable-feature=classic-mode,utf8-strict-mode")


@pytest.mark.parametrize(
    ("words", "told"),
    [
        ((f"--enable-feature={','.join(_APART)}",), "at the same time"),
        (("--agent", "--storage.tsdb.retention.time=1d"), "can not be used in agent mode"),
        (("--agent", "--query.max-samples=5"), "can not be used in agent mode"),
        (("--storage.agent.retention.min-time=5m",), "can only be used in agent mode"),
    ],
)
def test_what_we_say_ends_prometheus_ends_it(
    tmp_path: Path, words: tuple[str, ...], told: str
) -> None:
    """Before it looks for its configuration."""
    status, log = said(tmp_path, *words)
    assert status
    assert told in log
    assert "Error loading config" not in log
