"""The portion of a node: taken from a real server over TLS, and kept whatever that one says."""

import contextlib
import os
import re
import signal
import socket
import subprocess
import sys
import threading
import time
from collections.abc import Callable, Iterator, Mapping
from pathlib import Path
from typing import ClassVar

import pytest

from stoker.reloader.frames import Stream, StreamError
from stoker.reloader.incoming import whole
from stoker.reloader.journal import Journal
from stoker.reloader.metrics import METRICS, PORTION_METRICS, Metrics
from stoker.reloader.options import parsed
from stoker.reloader.portion import Portion
from stoker.reloader.request import url
from stoker.reloader.run import run
from stoker.reloader.subscription import Server, Subscription, take_in
from tests.portion_server import (
    BEGUN,
    END,
    NODE,
    Files,
    PortionServer,
    Said,
    answered,
    chunk,
    commit,
    digest_of,
    file,
    greeting,
    line,
    told,
    whole_of,
)
from tests.unit.portion_states import ONE, TWO, everything, give, lies
from tools.waiting import until


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """Where the portion lies."""
    return tmp_path / "portion"


@pytest.fixture
def server(tmp_path: Path) -> Iterator[PortionServer]:
    """A server that knows of nothing on the node."""
    with PortionServer(tmp_path / "server") as made:
        yield made


def end(_: float) -> None:
    """Rest for ever."""
    threading.Event().wait()


@pytest.fixture(autouse=True)
def asking() -> Iterator[list[Subscription]]:
    """All who ask, who ask no more when a test is over."""
    yield Node.asking
    for each in Node.asking:
        each.rest = end
    Node.asking.clear()


class Node:
    """A subscription as in a pod, and what becomes of it."""

    asking: ClassVar[list[Subscription]] = []

    def __init__(self, folder: Path, server: PortionServer, **settings: object) -> None:
        self.portion = Portion(str(folder))
        self.metrics = Metrics((*METRICS, *PORTION_METRICS))
        self.log: list[str] = []
        self.news = threading.Semaphore(0)
        token = folder.parent / "token"
        token.write_text("a.b.c\n")
        given = {
            "to": url(server.url),
            "ca": str(server.ca),
            "token": str(token),
            "node": NODE,
            "silence": 45.0,
        }
        journal = Journal()
        journal._write = self._write  # type: ignore[method-assign]
        self.subscription = Subscription(
            Server(**given | settings),  # type: ignore[arg-type]
            self.portion,
            self.metrics,
            journal,
            self.news.release,
        )
        self.subscription.rest = lambda seconds: time.sleep(seconds / 10)
        self.asking.append(self.subscription)

    def _write(self, level: str, message: str, fields: dict[str, object]) -> None:
        if level != "debug":
            self.log.append(f"{message} {fields.get('reason', '')}")

    def start(self) -> "Node":
        """Begin to ask."""
        self.subscription.start()
        return self

    def number(self, name: str) -> float:
        """One of its numbers."""
        found = re.search(rf"^reloader_portion_{name} (\S+)$", self.metrics.text(), re.MULTILINE)
        assert found
        return float(found[1])

    def said(self, word: str) -> bool:
        """Whether its log has this."""
        return any(word in each for each in self.log)

    def loads(self) -> None:
        """Prometheus loads what there is."""
        self.portion.activate()
        self.portion.accept()
        self.portion.tidy()


def committed(node: Node, files: Files) -> Callable[[], bool]:
    """Whether this is what it was told last."""
    return lambda: whole(node.portion.digests) == whole_of(files)


# --- An honest server -----------------------------------------------------------------------------


def test_a_portion_comes_and_changes_and_goes(folder: Path, server: PortionServer) -> None:
    """What changed is sent, all of it counts at the commit, and what is gone is removed."""
    server.give(ONE)
    node = Node(folder, server).start()
    assert node.news.acquire(timeout=60)
    node.loads()
    assert lies(folder) == ONE
    assert (node.number("connected"), node.number("files")) == (1, 3)
    assert node.number("last_commit_timestamp_seconds") > 1e9
    server.give({**ONE, **TWO})
    until("the second job", committed(node, {**ONE, **TWO}))
    node.loads()
    assert lies(folder) == {**ONE, **TWO}
    server.give(TWO)
    until("the first one gone", committed(node, TWO))
    node.loads()
    assert lies(folder) == TWO
    assert b"cert" not in everything(folder)
    assert "Authorization: Bearer a.b.c" in server.requests[0].head


def test_targets_are_in_place_at_once_and_nothing_else_is(
    folder: Path, server: PortionServer
) -> None:
    """Prometheus reads targets by itself; for jobs it is asked."""
    server.give(ONE)
    node = Node(folder, server).start()
    assert node.news.acquire(timeout=60)
    node.loads()
    moved = ONE | {"targets/a.json": b"[9]"}
    server.give(moved)
    until("the target", lambda: lies(folder) == moved)
    server.give(ONE | TWO)
    assert node.news.acquire(timeout=60)
    assert lies(folder) == {**ONE, "targets/b.json": b"[2]", "targets/c.json": b"[3]"}
    # The change of targets alone was no news.
    assert not node.news.acquire(blocking=False)


def test_whoever_asks_again_tells_what_lies_here(folder: Path, server: PortionServer) -> None:
    """So nothing is sent anew: after the end of a stream, and after a restart too."""
    server.give({**ONE, **TWO})
    node = Node(folder, server).start()
    assert node.news.acquire(timeout=60)
    node.loads()
    # It is not told anything, so that it leaves the folder to the next one.
    server.answer = lambda said: said.until_closed()
    server.hang_up()
    until("another request", lambda: len(server.requests) > 1)
    server.answer = None
    again = Node(folder, server).start()
    assert again.news.acquire(timeout=60)
    have = {path: digest_of(text) for path, text in (ONE | TWO).items()}
    assert [each.have for each in server.requests] == [{}, have, have]
    assert lies(folder) == {**ONE, **TWO}


def test_a_node_with_too_much_to_tell_is_told_all(
    folder: Path, server: PortionServer, monkeypatch: pytest.MonkeyPatch
) -> None:
    """It says that it has nothing; what lies there stays, whatever happens until the commit."""
    monkeypatch.setattr("stoker.reloader.subscription._LONGEST_REQUEST", 50)
    server.give({**ONE, **TWO})
    node = Node(folder, server).start()
    assert node.news.acquire(timeout=60)
    node.loads()
    answers(server, frames())
    until("another request", lambda: len(server.requests) > 1)
    node.loads()
    assert lies(folder) == {**ONE, **TWO}
    assert not server.requests[-1].have
    server.answer = None
    server.give(TWO)
    until("the first one gone", committed(node, TWO))
    node.loads()
    assert lies(folder) == TWO


def test_thousands_of_files_may_go_at_once(folder: Path) -> None:
    """However many could be told of in a request."""
    many = {f"targets/{'x' * 100}-{number}.json": b"[]" for number in range(4000)}
    portion = Portion(str(folder))
    give(portion, {**ONE, **many})
    give(portion, ONE)
    assert whole(portion.digests) == whole_of(ONE)


def test_a_portion_may_be_empty(folder: Path, server: PortionServer) -> None:
    """A node without targets is not one that waits."""
    node = Node(folder, server).start()
    assert node.news.acquire(timeout=60)
    node.loads()
    assert lies(folder) == {}
    assert node.portion.newest == 1


def test_token_and_authority_are_read_each_time(folder: Path, server: PortionServer) -> None:
    """Both are renewed while a pod runs."""
    node = Node(folder, server).start()
    assert node.news.acquire(timeout=60)
    (folder.parent / "token").write_text("d.e.f")
    ca = server.ca.read_bytes()
    server.ca.write_text("nothing")
    server.hang_up()
    until("the complaint", lambda: node.said("ca.crt"))
    server.ca.write_bytes(ca)
    until("the new token", lambda: "Bearer d.e.f" in server.requests[-1].head)


# --- Any other server -----------------------------------------------------------------------------

A: Files = {"jobs/a.yaml": b"other", "targets/a.json": b"[0]"}


def frames(*parts: bytes) -> bytes:
    """An answer that begins as it should."""
    return answered(greeting(), *parts)


def status(text: str, *headers: str, body: str = "") -> bytes:
    """An answer without frames."""
    length = f"Content-Length: {len(body)}"
    return "\r\n".join([f"HTTP/1.1 {text}", length, *headers, "", body]).encode()


LIES: Mapping[str, tuple[bytes, str]] = {
    "garbage": (b"\x00" * 1000 + b"\r\n\r\n", "not HTTP"),
    "an endless head": (b"HTTP/1.1 200 OK\r\n" + b"x: y\r\n" * 9999, "too long"),
    "no chunks": (status("200 OK"), "not in chunks"),
    "chunks that are none": (BEGUN + b"hello\r\n", "not in chunks"),
    "chunks of another length": (BEGUN + b"1\r\nabc\r\n", "not as long"),
    "a page": (BEGUN + chunk(b"<html>\n"), "no object in JSON"),
    "a list": (BEGUN + chunk(b"[]\n"), "no object in JSON"),
    "deep JSON": (BEGUN + chunk(b"[" * 100_000 + b"\n"), "no object in JSON"),
    "a long line": (BEGUN + chunk(b"x" * (5 << 20)), "too long"),
    "another node": (answered(greeting(node="node-2"), told(A)), "of another node"),
    "no node": (answered(told(A)), "another format"),
    "another format": (answered(greeting(format=2), told(A)), "another format"),
    "the end in a line": (BEGUN + chunk(b'{"node"') + END, "middle of a line"),
    "an unknown frame": (frames(line(take="this")), "no known kind"),
    "another digest": (frames(file("jobs/a.yaml", b"x", digest="0" * 32)), "not the file"),
    "no digest": (frames(file("jobs/a.yaml", b"x", digest=None)), "without a digest"),
    "no size": (frames(file("jobs/a.yaml", b"x", size=None)), "how large"),
    "a wrong size": (frames(file("jobs/a.yaml", b"x\n", size=1), commit(A)), "not the file"),
    "a negative size": (frames(file("jobs/a.yaml", b"", size=-1)), "how large"),
    "a boolean size": (frames(file("jobs/a.yaml", b"x", size=True)), "how large"),
    "a huge file": (frames(file("jobs/a.yaml", b"x", size=(64 << 20) + 1)), "too large"),
    "another whole": (frames(file("jobs/a.yaml", b"x"), commit(A, files=3)), "server counts"),
    "another count": (
        frames(line(gone=list(ONE)), *(file(*each) for each in A.items()), commit(A, files=9)),
        "server counts",
    ),
    "nothing, and no word of it": (frames(commit({})), "server counts"),
    "unauthorized": (status("401 Unauthorized"), "401: it does not take the token"),
    "forbidden": (status("403 Forbidden"), "403: this pod gets no portion"),
    "redirected": (status("302 Found", "Location: http://other"), "it answers 302"),
    "not ready": (status("503 Unavailable", body="not planned yet"), "503: not planned yet"),
    "cut off in a file": (
        BEGUN + chunk(greeting() + file("jobs/a.yaml", b"x" * 99)[:-9]),
        "closed",
    ),
    "cut off in a frame": (BEGUN + chunk(greeting() + told(A)[:20]), "closed"),
    "no word": (b"", "closed"),
}
PATHS = (
    "jobs/../a.yaml", "/etc/passwd", "../jobs/a.yaml", "jobs/a/b.yaml", "jobs/.a.yaml", "jobs/a",
    "jobs/a.json", "targets/a.yaml", "tls/..", "tls/.", "tls/", "tls/a b", "other/a", "jobs", "",
    "tls/a\0b", "tls/a\n", "tls/é", f"tls/{'x' * 300}", "..data/jobs/a.yaml", None, 1, ["tls/a"],
)  # fmt: skip


def refusal_of(portion: Portion, answer: bytes) -> str:
    """Why an answer is not taken."""
    ours, theirs = socket.socketpair()

    def say() -> None:
        with contextlib.suppress(OSError):
            theirs.sendall(answer)
            theirs.shutdown(socket.SHUT_WR)

    with theirs:
        sending = threading.Thread(target=say)
        sending.start()
        with ours, pytest.raises(StreamError) as error:
            take_in(Stream(ours), portion, NODE, lambda: None)
        sending.join()
    return str(error.value)


@pytest.mark.parametrize(("data", "word"), LIES.values(), ids=LIES.keys())
def test_what_cannot_be_true_changes_nothing(folder: Path, data: bytes, word: str) -> None:
    """The reason says what was wrong with it, and the next honest answer counts."""
    portion = Portion(str(folder))
    give(portion, ONE)
    portion.activate()
    assert word in refusal_of(portion, data)
    assert lies(folder) == ONE
    assert whole(portion.digests) == whole_of(ONE)
    give(portion, TWO)


def test_no_file_lies_anywhere_else(folder: Path) -> None:
    """Paths are those of jobs, targets and TLS files, and no others."""
    portion = Portion(str(folder))
    give(portion, ONE)
    portion.activate()
    for path in PATHS:
        for frame in (file("tls/a", b"x", file=path), line(gone=[path]), line(gone=path)):
            refusal = refusal_of(portion, answered(greeting(), frame, commit(ONE)))
            assert "where no file" in refusal or path == ["tls/a"]
    assert lies(folder) == ONE
    assert os.listdir(folder.parent) == ["portion"]


def test_a_reason_is_said_once_until_it_is_another(folder: Path, server: PortionServer) -> None:
    """What lies there stays, and the next honest answer counts."""
    server.give(ONE)
    node = Node(folder, server).start()
    assert node.news.acquire(timeout=60)
    answers(server, frames(file("tls/key", b"s3cret", digest="0" * 32)))
    until("two tries", lambda: len(server.requests) > 2)
    answers(server, status("503 Unavailable"))
    until("another reason", lambda: node.said("503"))
    assert sum("not the file" in each for each in node.log) == 1
    assert sum("503" in each for each in node.log) == 1
    assert node.number("connected") == 0
    assert node.number("refused_total") >= 1
    assert not node.said("a.b.c")
    assert not node.said("s3cret")
    server.answer = None
    server.give(TWO)
    until("the truth", committed(node, TWO))
    assert node.number("connected") == 1


def answers(server: PortionServer, data: bytes) -> None:
    """What is said from now on."""

    def answer(said: Said) -> None:
        said.raw(data)

    server.answer = answer
    server.hang_up()


def test_a_certificate_must_be_the_servers(folder: Path, tmp_path: Path) -> None:
    """By whom it is signed, and for which name."""
    with PortionServer(tmp_path / "server", names=()) as server:
        node = Node(folder, server).start()
        until("the name", lambda: node.said("certificate is not to be trusted: IP address"))
        assert not server.requests
    with PortionServer(tmp_path / "one") as server, PortionServer(tmp_path / "other") as other:
        node = Node(folder, server, ca=str(other.ca)).start()
        until("the signer", lambda: node.said("certificate is not to be trusted: "))
        assert not server.requests


def test_silence_ends_a_stream(folder: Path, server: PortionServer) -> None:
    """Be it before a word, in the middle, or drop by drop."""
    server.answer = lambda said: said.until_closed()
    node = Node(folder, server, silence=0.2).start()
    until("the reason", lambda: node.said("silent, or too slow"))

    def dripping(said: Said) -> None:
        said.raw(BEGUN)
        while True:
            said.raw(chunk(b" "))

    node.log.clear()
    node.subscription.problem = ""
    server.answer = dripping
    until("the reason again", lambda: node.said("silent") or node.said("too long"))


def pauses_of(folder: Path, server: PortionServer, refusal: bytes) -> list[float]:
    """How long somebody rests who is always refused."""
    pauses: list[float] = []
    enough = threading.Event()

    def rest(seconds: float) -> None:
        pauses.append(seconds)
        if len(pauses) >= 12:
            enough.set()
            end(seconds)

    answers(server, refusal)
    node = Node(folder, server)
    node.subscription.rest = rest
    node.start()
    enough.wait()
    return pauses


def test_a_server_says_when_to_ask_again(folder: Path, server: PortionServer) -> None:
    """Pauses grow up to half a minute; where the server asks for longer ones, it gets them."""
    pauses = pauses_of(folder, server, status("503 Unavailable"))
    assert 0.5 <= pauses[0] < 0.8
    assert pauses[:5] == sorted(pauses[:5])
    assert all(20 <= each <= 30 for each in pauses[-4:])
    longer = pauses_of(folder, server, status("429 Too Many", "Retry-After: 100"))
    assert min(longer) >= 100
    assert len(set(longer)) > 1
    assert max(pauses_of(folder, server, status("503 x", "Retry-After: 999999999"))) <= 300


def test_a_server_that_is_back_is_asked_again_soon(folder: Path, server: PortionServer) -> None:
    """Long pauses are for one that does not answer; what says that it is not ready will be soon."""
    pauses: list[float] = []

    def rest(seconds: float) -> None:
        pauses.append(seconds)
        if len(pauses) == 7:
            answers(server, status("503 Unavailable", "Retry-After: 1"))
        if len(pauses) == 12:
            end(seconds)

    answers(server, b"")
    node = Node(folder, server)
    node.subscription.rest = rest
    node.start()
    until("an end", lambda: len(pauses) == 12)
    assert min(pauses[5:7]) >= 16
    assert max(pauses[7:9]) <= 2
    assert min(pauses[10:]) >= 4


# --- The container that begins --------------------------------------------------------------------


@pytest.fixture
def words(
    tmp_path: Path, server: PortionServer, monkeypatch: pytest.MonkeyPatch
) -> Iterator[list[str]]:
    """The arguments of an init container, whose patience is short here."""
    (tmp_path / "in").write_text("a: 1\n")
    (tmp_path / "token").write_text("a.b.c")
    monkeypatch.setenv("NODE_NAME", NODE)
    monkeypatch.setattr("stoker.reloader.run._REMINDER", 0.2)
    monkeypatch.setattr("stoker.reloader.run._SHORT_TRY", 0.2)
    before = {each: signal.getsignal(each) for each in (signal.SIGTERM, signal.SIGINT)}
    yield [
        "--watch-interval=0",
        f"--config-file={tmp_path}/in",
        f"--config-envsubst-file={tmp_path}/out",
        f"--portion-url={server.url}",
        f"--portion-ca={server.ca}",
        f"--portion-token={tmp_path}/token",
        f"--portion-dir={tmp_path}/portion",
    ]
    for each, handler in before.items():
        signal.signal(each, handler)


def test_a_new_pod_waits_and_says_for_what(
    words: list[str], folder: Path, server: PortionServer, capsys: pytest.CaptureFixture[str]
) -> None:
    """For whom, where, and why nobody answers; and it goes on when somebody does."""
    answers(server, status("503 Unavailable"))
    server.give(ONE)

    def mend() -> None:
        until("some tries", lambda: len(server.requests) > 1)
        server.answer = None

    mending = threading.Thread(target=mend)
    mending.start()
    assert run(parsed(words)) == 0
    mending.join()
    said = capsys.readouterr().err
    assert "waiting for the first portion of this node" in said
    assert f'reason="it answers 503: it is not ready yet" node={NODE} server={server.url}' in said
    assert lies(folder) == ONE
    assert (folder.parent / "out").exists()


def test_a_pod_that_has_a_portion_does_not_wait_for_long(
    words: list[str], folder: Path, server: PortionServer, capsys: pytest.CaptureFixture[str]
) -> None:
    """It goes on with what it has while nobody answers."""
    give(Portion(str(folder)), ONE)
    server.answer = lambda said: said.until_closed()
    assert run(parsed(words)) == 0
    assert "goes on with the portion that lies here" in capsys.readouterr().err
    assert lies(folder) == ONE


def test_who_is_ended_while_it_waits_has_not_done_it(
    words: list[str], folder: Path, server: PortionServer
) -> None:
    """So that nothing is started that would read what is not there."""
    answers(server, status("503 Unavailable"))
    command = [sys.executable, "-m", "stoker.reloader", *words]
    with subprocess.Popen(command, stderr=subprocess.DEVNULL) as process:
        until("a request", lambda: server.requests)
        process.terminate()
        assert process.wait() == 143
    assert not (folder.parent / "out").exists()
