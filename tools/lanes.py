"""Runs tests in lanes: `python -m tools.lanes live`, or `unit` for all others.

Lanes run side by side, on two cores; live ones start a cluster each. Some tests hold what is slow
against what is quick, or count scrapes by the second: others beside them would disturb that, so
their lane begins when all others have ended. What all say is printed as it comes, line by line; the
exit status is that of the lane that fares worst.

A live test that fails beside others is tried once more when the machine is quiet, and what it said
at first is printed again at the end whichever way that goes: a test that needs a second chance is
a finding, and a log of thirty minutes is a poor place to look for it. More than a few failures
are no accident, and get no second chance.
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
import tempfile
import threading
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path

from tools import kubernetes

ROOT = Path(__file__).parent.parent


def _live(*names: str) -> tuple[str, ...]:
    return tuple(f"tests/live/test_{name}.py" for name in names)


_OTHERS = "others"
_ALONE = "alone"
# As long as each other, by what `PYTEST_ADDOPTS=--durations=0 make test` prints at the end of each.
_LANES: dict[str, dict[str, tuple[str, ...]]] = {
    "live": {
        _ALONE: _live("daemonset_scrapes", "hostile_tenant"),
        # These wait more than they work: for idleness three minutes, for a kubelet two.
        "waits": _live("idle", "kube_watch", "mode_changes", "page_*", "podrunner"),
        # The first three look at all that is in a cluster, and want one that others have left
        # nothing in.
        "whole clusters": _live(
            *("status_command", "tenant_reach", "watching"),
            *("discovery_scrapes", "graduation", "install", "release", "storage_version"),
        ),
        "faults": _live("faults*", "operator_faults", "operator_rights*", "operator_sequences"),
        "operator, s to z": _live("operator*", "[s-z]*"),
    },
    "unit": {"a to l": ("tests/unit/test_[a-l]*.py",)},
}
# Once more on the oldest API server that we support: definitions, what it refuses, and objects as
# it stores them. `make matrix` runs more, on more versions.
_OLDEST = {"live": _live("crds", "objects", "scrapeconfig_versions", "validation"), "unit": ()}
# Programs of Go collect less garbage: that is a quarter of what an API server computes.
_ENVIRONMENT = {"live": {"GOGC": "300", "GOMEMLIMIT": "800MiB"}, "unit": {}}
_OPTIONS = {"live": ("-m", "live", "-v"), "unit": ("-m", "not live")}
_SECOND_CHANCES = {"live": 3, "unit": 0}
_SOME_FAILED = 1
_INTERRUPTED = 130


def lanes(kind: str) -> dict[str, list[str]]:
    """What each lane gives to pytest; each file is in one of them, a new one too."""
    taken: set[Path] = set()
    chosen: dict[str, list[str]] = {}
    for name, globs in _LANES[kind].items():
        found = {path for files in globs for path in _called(files)} - taken
        chosen[name] = sorted(str(path.relative_to(ROOT)) for path in found)
        taken |= found
    return chosen | {_OTHERS: [f"--ignore={path}" for path in sorted(taken)]}


def _called(files: str) -> list[Path]:
    found = list(ROOT.glob(files))
    if not found:
        sys.exit(f"tools/lanes.py names {files}, and there is no such file")
    return found


@dataclass
class Lane:
    """One run of pytest: what it is given, where it notes what failed, and how it ended."""

    name: str
    words: Sequence[str]
    notes: Path
    environment: Mapping[str, str]
    status: int = 0
    said: list[str] = field(default_factory=list)

    def failed(self) -> list[str]:
        """The tests that failed, by pytest's own notes."""
        noted = self.notes / "v" / "cache" / "lastfailed"
        return sorted(json.loads(noted.read_text())) if noted.exists() else []

    def complaints(self) -> list[str]:
        """The lines from the first failure's story to the end."""
        starts = (
            n for n, line in enumerate(self.said) if "= FAILURES =" in line or "= ERRORS =" in line
        )
        return self.said[next(starts, len(self.said)) :]


class Lanes:
    """All lanes of one kind of tests."""

    def __init__(self, kind: str, notes: Path) -> None:
        self._kind = kind
        self._lanes = [
            Lane(name, words, notes / str(number), _ENVIRONMENT[kind])
            for number, (name, words) in enumerate(lanes(kind).items())
        ]
        if _OLDEST[kind]:
            version = kubernetes.oldest()
            own = {"KUBEBUILDER_ASSETS": str(kubernetes.server_alone(version))}
            environment = _ENVIRONMENT[kind] | own
            self._lanes.append(Lane(version, _OLDEST[kind], notes / version, environment))

    def run(self) -> int:
        """Run them all, wait for all, and say last what failed."""
        beside = [lane for lane in self._lanes if lane.name != _ALONE]
        alone = [lane for lane in self._lanes if lane.name == _ALONE]
        interrupted = not (self._ran(beside) and self._ran(alone))
        if interrupted:
            return _INTERRUPTED
        status = max(lane.status for lane in self._lanes)
        unlucky = [lane for lane in self._lanes if lane.failed()]
        failed = [name for lane in unlucky for name in lane.failed()]
        if status == _SOME_FAILED and 0 < len(failed) <= _SECOND_CHANCES[self._kind]:
            status = self._again(unlucky)
            if status == 0:
                print("Passed only when tried again, with nothing beside it:", *failed, sep="\n  ")
        elif failed:
            _complain(unlucky)
            print("Failed:", *failed, sep="\n  ")
        return status

    def _again(self, unlucky: list[Lane]) -> int:
        again = [
            Lane(
                f"{lane.name}, again",
                [*lane.words, "--last-failed"],
                lane.notes,
                lane.environment,
            )
            for lane in unlucky
        ]
        for lane in again:
            if not self._ran([lane]):
                return _INTERRUPTED
        _complain(unlucky)
        still = [name for lane in again for name in lane.failed()]
        if still:
            print("Failed twice, the second time with nothing beside it:", *still, sep="\n  ")
        return max(lane.status for lane in again)

    def _ran(self, chosen: list[Lane]) -> bool:
        """Run some side by side; whether they were left to end."""
        command = [sys.executable, "-m", "pytest", *_OPTIONS[self._kind]]
        running = [
            subprocess.Popen(
                [*command, "-o", f"cache_dir={lane.notes}", *lane.words],
                cwd=ROOT,
                env=os.environ | lane.environment,
                stdout=subprocess.PIPE,
                stderr=subprocess.STDOUT,
                text=True,
            )
            for lane in chosen
        ]
        readers = [
            threading.Thread(target=_passed_on, args=each)
            for each in zip(chosen, running, strict=True)
        ]
        for reader in readers:
            reader.start()
        try:
            for lane, process in zip(chosen, running, strict=True):
                # One that was killed by a signal has a negative status.
                lane.status = abs(process.wait())
        except KeyboardInterrupt:
            # They were interrupted too, and end what they started.
            for process in running:
                process.wait()
            return False
        else:
            return True
        finally:
            for reader in readers:
                reader.join()


def _passed_on(lane: Lane, process: subprocess.Popen[str]) -> None:
    with process:
        for line in process.stdout or ():
            lane.said.append(line)
            print(f"{lane.name:<6} | {line}", end="", flush=True)


def _complain(unlucky: list[Lane]) -> None:
    for lane in unlucky:
        print(f"What the lane {lane.name!r} said of its failures:")
        print(*lane.complaints(), sep="", flush=True)


def main(kind: str) -> int:
    """Run the lanes of a kind; the exit status."""
    with tempfile.TemporaryDirectory(prefix="stoker-lanes-") as notes:
        return Lanes(kind, Path(notes)).run()


if __name__ == "__main__":
    sys.exit(main(sys.argv[1]))
