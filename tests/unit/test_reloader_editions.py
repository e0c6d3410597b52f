"""The folder of a portion: what Prometheus refuses, kills, and any bytes whatever."""

import os
import random
import socket
from collections.abc import Callable
from functools import partial
from pathlib import Path

import pytest

from stoker.reloader.frames import EndOfStreamError, Stream, StreamError
from stoker.reloader.incoming import whole
from stoker.reloader.metrics import Metrics
from stoker.reloader.portion import Portion
from stoker.reloader.run import Reloader
from stoker.reloader.subscription import take_in
from stoker.reloader.trigger import RefusedError, ReloadError
from tests.portion_server import (
    NODE,
    Files,
    answered,
    digest_of,
    greeting,
    told,
    whole_of,
)
from tests.unit.portion_states import ONE, TWO, everything, give, lies


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """Where the portion lies."""
    return tmp_path / "portion"


# --- What Prometheus refuses ----------------------------------------------------------------------


class Process:
    """What is reloaded: refuses what has the word `bad`, or is not there."""

    def __init__(self, folder: Path) -> None:
        self._folder = folder
        self.there = True
        self.loaded: list[Files] = []

    def __call__(self) -> None:
        """Reload."""
        found = lies(self._folder)
        if not self.there:
            raise ReloadError("not there")
        if any(b"bad" in each for each in found.values()):
            raise RefusedError("refused")
        self.loaded.append(found)


def reloading(portion: Portion, process: Process) -> Reloader:
    """The loop around a portion and nothing else."""
    made = Reloader([], [], lambda lines: lines, process, Metrics())
    made.portions = [portion]
    return made


def test_a_reload_is_asked_for_where_jobs_or_tls_changed(folder: Path) -> None:
    """And not for targets."""
    portion, process = Portion(str(folder)), Process(folder)
    reloader = reloading(portion, process)
    reloads = []
    for files in (
        ONE,
        ONE | {"targets/a.json": b"[7]"},
        ONE | {"tls/cert": b"cert 2"},
        {**ONE, **TWO},
        {**ONE, **TWO},
    ):
        give(portion, files)
        reloads.append(reloader.apply())
    assert reloads == [True, False, True, True, False]
    assert lies(folder) == {**ONE, **TWO}


def test_refused_jobs_make_place_for_the_last_good_ones(folder: Path) -> None:
    """They are tried again; targets stay current, and what is gone has gone all the same."""
    portion, process = Portion(str(folder)), Process(folder)
    reloader = reloading(portion, process)
    give(portion, {**ONE, **TWO})
    reloader.apply()
    bad = {**TWO, "jobs/c.yaml": b"bad", "targets/c.json": b"[8]"}
    give(portion, bad)
    for _ in range(2):
        with pytest.raises(RefusedError):
            reloader.apply()
        assert lies(folder) == {**TWO, "targets/c.json": b"[8]"}
        assert b"cert" not in everything(folder)
    give(portion, TWO)
    assert reloader.apply()
    assert lies(folder) == TWO
    assert process.loaded[-1] == TWO


def test_a_process_that_is_not_there_finds_the_new_jobs(folder: Path) -> None:
    """No answer is no refusal; what is gone does not wait for one."""
    portion, process = Portion(str(folder)), Process(folder)
    reloader = reloading(portion, process)
    give(portion, ONE)
    reloader.apply()
    process.there = False
    give(portion, TWO)
    with pytest.raises(ReloadError):
        reloader.apply()
    assert lies(folder) == TWO
    assert b"cert" not in everything(folder)


def test_a_pod_begins_with_what_was_loaded_before(folder: Path) -> None:
    """A portion that Prometheus has not taken yet is none to start with, where there is another."""
    portion, process = Portion(str(folder)), Process(folder)
    reloader = reloading(portion, process)
    give(portion, ONE)
    reloader.apply()
    give(portion, {**ONE, "jobs/a.yaml": b"bad"})
    portion.activate()
    began = Portion(str(folder))
    began.begin()
    assert lies(folder) == ONE
    assert reloading(began, Process(folder)).portions[0].digests["jobs/a.yaml"] == digest_of(b"bad")


def test_files_stay_while_prometheus_still_names_them(folder: Path) -> None:
    """Those of the jobs that it has loaded go only after it was asked to load others."""
    portion, process = Portion(str(folder)), Process(folder)
    reloader = reloading(portion, process)
    give(portion, ONE)
    reloader.apply()
    give(portion, TWO)
    portion.activate()
    assert lies(folder) == {**TWO, "targets/a.json": b"[1]", "tls/cert": b"cert 1"}
    reloader.apply()
    assert lies(folder) == TWO


def test_containers_of_different_users_share_the_folder(folder: Path) -> None:
    """Folders are for whom the volume is for."""
    folder.parent.chmod(0o2777)
    give(Portion(str(folder)), ONE)
    modes = {each.stat().st_mode & 0o7777 for each in folder.rglob("*") if each.is_dir()}
    assert modes | {folder.stat().st_mode & 0o7777} == {0o2777}


# --- Kills ----------------------------------------------------------------------------------------

CALLS = ("replace", "rename", "unlink", "link", "symlink", "mkdir", "rmdir", "chmod")


def killed_after(calls: int, work: Callable[[], None]) -> bool:
    """Do this in a process that is killed after so many operations on files; whether it was."""
    child = os.fork()
    if child:
        return os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) == 9
    left = calls

    def counted(call: Callable[..., object]) -> Callable[..., object]:
        def counting(*args: object, **named: object) -> object:
            nonlocal left
            if not left:
                os._exit(9)
            left -= 1
            return call(*args, **named)

        return counting

    for name in CALLS:
        setattr(os, name, counted(getattr(os, name)))
    try:
        work()
        os._exit(0)
    finally:
        os._exit(1)


def assert_loadable(folder: Path) -> None:
    """See that jobs of one state lie there, and all that they name."""
    found = lies(folder)
    assert jobs_of(found) in map(jobs_of, (ONE, BAD, TWO))
    for path, text in found.items():
        if path.startswith("jobs/"):
            named = [word for word in text.split() if word.startswith(b"/portion/")]
            assert {word.decode().removeprefix("/portion/") for word in named} <= found.keys()


def jobs_of(files: Files) -> Files:
    """The jobs among files."""
    return {path: text for path, text in files.items() if path.startswith("jobs/")}


BAD: Files = {**ONE, **TWO, "jobs/c.yaml": b"bad /portion/targets/c.json"}


def changed(portion: Portion, process: Process, refused: bool) -> None:
    """Bring a portion to its second state, the first time perhaps with a job that is refused."""
    if refused:
        give(portion, BAD)
        with pytest.raises(RefusedError):
            reloading(portion, process).apply()
    give(portion, TWO)
    reloading(portion, process).apply()


@pytest.mark.parametrize("refused", [False, True], ids=["taken", "refused"])
def test_whenever_it_is_killed_what_lies_there_can_be_loaded(tmp_path: Path, refused: bool) -> None:
    """Between any two operations on files; and whoever comes next finishes it."""
    kills, killed = 0, True
    while killed:
        folder = tmp_path / str(kills)
        portion, process = Portion(str(folder)), Process(folder)
        give(portion, ONE)
        reloading(portion, process).apply()
        killed = killed_after(kills, partial(changed, portion, process, refused))
        assert_loadable(folder)
        again = Portion(str(folder))
        assert_loadable(folder)
        again.begin()
        assert b"bad" not in b"".join(lies(folder).values()) or not killed
        changed(again, process, refused=False)
        assert lies(folder) == TWO
        assert b"cert" not in everything(folder)
        assert len([each for each in os.listdir(folder) if each[2:].isdigit()]) == 1
        kills += 1
    assert kills > 20


# --- Fuzz -----------------------------------------------------------------------------------------


def mutated(data: bytes, dice: random.Random) -> bytes:
    """An answer with something changed."""
    made = bytearray(data)
    for _ in range(dice.randint(1, 3)):
        at = dice.randrange(len(made))
        match dice.randrange(5):
            case 0:
                made[at] = dice.randrange(256)
            case 1:
                del made[at : at + dice.randint(1, 40)]
            case 2:
                made[at:at] = dice.randbytes(dice.randint(1, 40))
            case 3:
                made[at:at] = made[dice.randrange(len(made)) :][: dice.randint(1, 90)]
            case _:
                made[at : at + 1] = dice.choice([b"\r\n", b"\n", b'"', b"0", b"}", b"9" * 30])
    return bytes(made) or b"x"


def test_any_bytes_leave_a_whole_state(folder: Path) -> None:
    """Two thousand answers with something wrong: one is taken as it is, or nothing of it counts."""
    portion = Portion(str(folder))
    give(portion, ONE)
    states = {whole_of(ONE): ONE, whole_of(TWO): TWO}
    dice = random.Random(7)
    refusals = 0
    for _ in range(2000):
        given = TWO if whole(portion.digests) == whole_of(ONE) else ONE
        answer = answered(greeting(), told(given, portion.digests))
        ours, theirs = socket.socketpair()
        with ours, theirs:
            theirs.sendall(mutated(answer, dice))
            theirs.shutdown(socket.SHUT_WR)
            try:
                take_in(Stream(ours), portion, NODE, lambda: None)
            except EndOfStreamError:
                pass
            except StreamError:
                refusals += 1
        portion.activate()
        portion.accept()
        portion.tidy()
        assert lies(folder) == states[whole(portion.digests)]
    assert refusals > 1000
