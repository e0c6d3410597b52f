"""The parts of `make up` that need no cluster: the lock, the doors, and what is shown."""

from __future__ import annotations

import socket
import threading
from pathlib import Path

import pytest

from stoker.__main__ import main
from tools import cache, demo
from tools.door import ANY, Door


def test_whoever_holds_a_folder_may_remove_it(tmp_path: Path) -> None:
    """Those who wait hold a new one then, each alone, and not the file that is gone."""
    folder, inside = tmp_path / "up", threading.Lock()
    taken: list[bool] = []

    def remove() -> None:
        with cache.locked(folder):
            taken.append(inside.acquire(blocking=False))
            inside.release()
            cache.remove(folder)

    threads = [threading.Thread(target=remove) for _ in range(20)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert taken == [True] * 20
    assert list(tmp_path.iterdir()) == []


def _answering(listener: socket.socket) -> None:
    """Answer with what was said, until the other side is done, and one word more."""
    with listener.accept()[0] as connection:
        while data := connection.recv(1000):
            connection.sendall(data.upper())
        connection.sendall(b"BYE")


def test_a_door_carries_both_ways_from_another_port_if_need_be() -> None:
    """What is said comes back, also after one side has said all; a port that is taken is not."""
    with socket.create_server(("127.0.0.1", ANY)) as listener:
        address = listener.getsockname()
        server = threading.Thread(target=_answering, args=(listener,))
        server.start()
        with Door(address[1], lambda: socket.create_connection(address)) as door:
            port = int(door.url.rpartition(":")[2])
            assert port != address[1]
            with socket.create_connection(("127.0.0.1", port)) as visitor:
                visitor.sendall(b"hello ")
                visitor.shutdown(socket.SHUT_WR)
                assert b"".join(iter(lambda: visitor.recv(100), b"")) == b"HELLO BYE"
        server.join()
        with pytest.raises(ConnectionRefusedError):
            socket.create_connection(("127.0.0.1", port))


def test_a_door_to_nowhere_closes() -> None:
    """Whoever comes is not left waiting."""

    def nowhere() -> socket.socket:
        raise ConnectionRefusedError

    with Door(ANY, nowhere) as door:
        port = int(door.url.rpartition(":")[2])
        with socket.create_connection(("127.0.0.1", port)) as visitor:
            assert visitor.recv(1) == b""


def test_the_shop_is_valid(capsys: pytest.CaptureFixture[str]) -> None:
    """Its mistakes are such that an API server takes them: the operator is to find them."""
    assert main(["lint", str(demo.MANIFESTS)]) == 0
    assert "11 ours (11 valid" in capsys.readouterr().out


def test_places_are_written_whole(tmp_path: Path) -> None:
    """What is read is what was written."""
    places = demo.Places("http://127.0.0.1:1", pretended="no namespaces")
    places.write(tmp_path / "ready")
    assert demo.Places.read(tmp_path / "ready") == places
    assert [each.name for each in tmp_path.iterdir()] == ["ready"]
