"""Connections with TLS of our own: who is let in, and what one costs that does not read."""

from __future__ import annotations

import asyncio
import socket
import ssl
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager, suppress
from datetime import UTC, datetime

import pytest

from stoker.handout import issuing
from stoker.handout.connection import TlsConnection
from stoker.handout.door import DoorLimits, PortionDoor, Serve, Visitor, listening_on
from stoker.handout.identity import context_of
from stoker.handout.issued import renewed
from stoker.handout.seldom import Seldom
from stoker.logs import logger

MADE = renewed(
    None, ("localhost",), datetime.now(UTC), issuing.new_authority, issuing.new_certificate
)
CLIENT = ssl.create_default_context(cadata=MADE.trusted)
Streams = tuple[asyncio.StreamReader, asyncio.StreamWriter]


def shown() -> ssl.SSLContext:
    """What the server shows."""
    return context_of(MADE.server.certificate.encode(), MADE.server.key.encode())


@asynccontextmanager
async def opened(serve: Serve, **limits: float) -> AsyncIterator[tuple[PortionDoor, int]]:
    """A door, and its port."""
    door = PortionDoor(serve, logger("test"), DoorLimits(**limits))  # type: ignore[arg-type]
    door.context = shown()
    with listening_on("127.0.0.1", 0) as listening:
        running = asyncio.create_task(door.run(listening))
        try:
            yield door, listening.getsockname()[1]
        finally:
            running.cancel()
            with suppress(asyncio.CancelledError):
                await running


@asynccontextmanager
async def connected(port: int) -> AsyncIterator[Streams]:
    """A connection with TLS, for the length of a block."""
    reader, writer = await asyncio.open_connection(
        "127.0.0.1", port, ssl=CLIENT, server_hostname="localhost"
    )
    try:
        yield reader, writer
    finally:
        writer.close()
        with suppress(OSError):
            await writer.wait_closed()


async def asked(visitor: Visitor) -> None:
    """Take a line, which is the node, and keep the visitor until it says more."""
    await visitor.connection.shake_hands()
    node = (await visitor.connection.read()).decode().strip()
    await visitor.connection.write(b"in\n" if visitor.stay(node) else b"full\n")
    await visitor.connection.read()


@asynccontextmanager
async def staying(port: int, node: str) -> AsyncIterator[bytes]:
    """What is said to somebody on a node, who stays for the length of a block."""
    async with connected(port) as (reader, writer):
        writer.write(f"{node}\n".encode())
        yield await reader.readline()


async def said(port: int, node: str) -> bytes:
    """What is said to somebody who leaves at once."""
    async with staying(port, node) as text:
        return text


def test_a_node_has_few_places() -> None:
    """More than these are turned away, and who leaves makes room."""

    async def work() -> None:
        async with opened(asked, of_a_node=2) as (door, port), staying(port, "a") as first:
            async with staying(port, "a") as second, staying(port, "b") as other:
                assert (first, second, other) == (b"in\n", b"in\n", b"in\n")
                assert await said(port, "a") == b"full\n"
                assert door.staying == 3
            while await said(port, "a") != b"in\n":
                pass

    asyncio.run(work())


def test_all_places_are_limited() -> None:
    """Whatever node somebody is on."""

    async def work() -> None:
        async with opened(asked, staying=2) as (_, port), staying(port, "a"), staying(port, "b"):
            assert await said(port, "c") == b"full\n"

    asyncio.run(work())


def test_who_says_nothing_has_to_go() -> None:
    """With and without a handshake; who has said who it is stays."""

    async def work() -> None:
        async with opened(asked, seconds=0.3) as (door, port), staying(port, "a") as text:
            with socket.create_connection(("127.0.0.1", port)) as silent:
                silent.setblocking(False)
                async with connected(port) as (reader, _):
                    assert await reader.read() == b""
                assert await asyncio.get_running_loop().sock_recv(silent, 1) == b""
            assert (text, door.staying, door.turned_away) == (b"in\n", 1, 2)

    asyncio.run(work())


def test_a_crowd_of_the_silent_keeps_nobody_out() -> None:
    """The oldest of those that have said nothing make room for who comes now."""

    async def work() -> None:
        async with opened(asked, arriving=3) as (door, port):
            crowd = [socket.create_connection(("127.0.0.1", port)) for _ in range(10)]
            assert await said(port, "a") == b"in\n"
            assert door.turned_away >= 7
            for each in crowd:
                each.close()

    asyncio.run(work())


def test_when_all_come_at_once_those_that_have_asked_are_answered() -> None:
    """Who has said nothing yet makes room, however late it came; then nobody does."""

    async def work() -> None:
        going, asked = asyncio.Event(), asyncio.Semaphore(0)

        async def serve(visitor: Visitor) -> None:
            await visitor.connection.shake_hands()
            await visitor.connection.read()
            visitor.has_asked = True
            asked.release()
            await going.wait()
            await visitor.connection.write(b"told\n")

        async def asking(number: int) -> Streams:
            address = f"127.0.0.{number}"
            both = await asyncio.open_connection(
                "127.0.0.1", port, ssl=CLIENT, server_hostname="localhost", local_addr=(address, 0)
            )
            both[1].write(b"me\n")
            await asked.acquire()
            return both

        async with opened(serve, arriving=3) as (door, port):
            answered = [await asking(2), await asking(3)]
            silent = socket.create_connection(("127.0.0.1", port), source_address=("127.0.0.4", 0))
            silent.setblocking(False)
            answered.append(await asking(5))
            assert await asyncio.get_running_loop().sock_recv(silent, 1) == b""
            silent.close()
            with pytest.raises(ConnectionError):
                await asking(6)
            assert door.turned_away == 2
            going.set()
            assert [await reader.readline() for reader, _ in answered] == [b"told\n"] * 3
            for _, writer in answered:
                writer.close()

        # Of one address that has many, one goes for another address, and none for itself.
        going.clear()
        async with opened(serve, arriving=3) as (door, port):
            many = [await asking(2) for _ in range(3)]
            with pytest.raises(ConnectionError):
                await asking(2)
            many.append(await asking(3))
            assert await many[0][0].read() == b""
            going.set()
            assert [await reader.readline() for reader, _ in many[1:]] == [b"told\n"] * 3
            for _, writer in many:
                writer.close()

    asyncio.run(work())


def test_who_does_not_read_is_left() -> None:
    """What is made for it is never more than one part that the kernel has not taken."""

    async def work() -> None:
        plain = listening_on("127.0.0.1", 0)
        client = socket.create_connection(plain.getsockname())
        accepted, _ = plain.accept()
        loop = asyncio.get_running_loop()
        shaking = loop.run_in_executor(
            None, lambda: CLIENT.wrap_socket(client, server_hostname="localhost")
        )
        connection = TlsConnection(accepted, shown(), patience=0.2)
        await connection.shake_hands()
        reading = await shaking
        with pytest.raises(TimeoutError):
            await connection.write(b"x" * 50_000_000)
        connection.close()
        reading.close()
        plain.close()

    asyncio.run(work())


def test_who_is_gone_without_a_word_is_given_up() -> None:
    """A machine that confirms nothing for a minute: its place is for the one that comes back."""

    async def work() -> None:
        with listening_on("127.0.0.1", 0) as plain:
            client = socket.create_connection(plain.getsockname())
            accepted, _ = plain.accept()
            connection = TlsConnection(accepted, shown())
            own = connection._socket
            assert own.getsockopt(socket.IPPROTO_TCP, socket.TCP_USER_TIMEOUT) == 60_000
            connection.close()
            client.close()

    asyncio.run(work())


def test_what_is_written_arrives() -> None:
    """Large and small, in order, and the end with it."""

    async def serve(visitor: Visitor) -> None:
        await visitor.connection.shake_hands()
        for size in (1, 100_000, 3_000_000):
            await visitor.connection.write(bytes([size % 251]) * size)

    async def work() -> None:
        async with opened(serve) as (_, port):
            wanted = b"".join(bytes([size % 251]) * size for size in (1, 100_000, 3_000_000))
            async with connected(port) as (reader, _):
                assert await reader.read() == wanted

    asyncio.run(work())


def test_nobody_is_let_in_without_a_certificate() -> None:
    """Before there is one, connections just end."""

    async def work() -> None:
        async with opened(asked) as (door, port):
            door.context = None
            with pytest.raises(ConnectionError):
                await said(port, "a")
            door.context = shown()
            assert await said(port, "a") == b"in\n"

    asyncio.run(work())


def test_who_cannot_be_accepted_is_told_of_once_a_minute() -> None:
    """Such as when there are no open files left, for as long as that is so; and how often."""

    async def work() -> None:
        async def refuse(*_: object) -> None:
            tries.append(1)
            if len(tries) == 4:
                raise asyncio.CancelledError
            raise OSError(24, "Too many open files")

        tries = list[int]()
        door = PortionDoor(asked, logger("test"))
        door._not_accepted = Seldom(lambda *said, **_: lines.append(said), "not accepted")
        asyncio.get_running_loop().sock_accept = refuse  # type: ignore[assignment,method-assign]
        with socket.socket() as listening, suppress(asyncio.CancelledError):
            await door.run(listening)
        assert len(tries) == 4

    lines = list[object]()
    asyncio.run(work())
    assert lines == [("not accepted",)]


def test_what_strangers_cause_is_said_once_a_minute() -> None:
    """With the number of times."""
    lines, clock = list[tuple[str, int]](), [1000.0]
    seldom = Seldom(lambda said, count: lines.append((said, count)), "refused", lambda: clock[0])
    for seconds in (0, 1, 58, 1, 5, 56):
        clock[0] += seconds
        seldom.tell()
    assert lines == [("refused", 1), ("refused", 3), ("refused", 2)]
