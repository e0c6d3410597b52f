"""Two states of a portion, and its folder as tests look at it."""

import os
import socket
import threading
from pathlib import Path

import pytest

from stoker.reloader.frames import EndOfStreamError, Stream
from stoker.reloader.portion import Portion
from stoker.reloader.subscription import take_in
from tests.portion_server import NODE, Files, answered, greeting, told

ONE: Files = {
    "jobs/a.yaml": b"a 1 /portion/targets/a.json /portion/tls/cert\n",
    "targets/a.json": b"[1]",
    "tls/cert": b"cert 1",
}
TWO: Files = {
    "jobs/b.yaml": b"b 1 /portion/targets/b.json /portion/tls/key\n",
    "jobs/c.yaml": b"c 1 /portion/targets/c.json\n",
    "targets/b.json": b"[2]",
    "targets/c.json": b"[3]",
    "tls/key": b"key 1",
}


def lies(folder: Path) -> dict[str, bytes]:
    """The files that Prometheus sees."""
    return {
        f"{each}/{name}": (folder / each / name).read_bytes()
        for each in ("jobs", "targets", "tls")
        if (folder / each).is_dir()
        for name in os.listdir(folder / each)
    }


def everything(folder: Path) -> bytes:
    """The contents of all files in the folder, wherever they are."""
    return b"".join(each.read_bytes() for each in sorted(folder.rglob("*")) if each.is_file())


def give(portion: Portion, files: Files) -> None:
    """Commit a state."""
    portion.tell(portion.digests)
    ours, theirs = socket.socketpair()
    with ours, theirs:
        frames = [greeting(), told(files, portion.digests)]
        sending = threading.Thread(target=theirs.sendall, args=(answered(*frames),))
        sending.start()
        with pytest.raises(EndOfStreamError):
            take_in(Stream(ours), portion, NODE, lambda: None)
        sending.join()
