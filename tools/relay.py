"""Carries TCP connections into the cluster's network namespace, and inside it from one to another.

A socket belongs to the namespace in which it was made, whichever process holds it. So the caller
makes a listening socket outside and hands it to the supervisor, which accepts connections from
outside on it and opens their counterparts inside.

``python -m tools.relay PORT FILE`` stands for a Service: it relays to the address and the port that
are in the file, which whoever knows them keeps up to date. A path in the file is that of a Unix
socket, which can lead out of the namespace: file systems, not networks, say where it is.
"""

from __future__ import annotations

import asyncio
import contextlib
import socket
import sys
from asyncio import StreamReader, StreamWriter
from collections.abc import Callable
from pathlib import Path

Place = tuple[str, int] | Path


async def serve(listener: socket.socket, far: Callable[[], Place]) -> asyncio.Server:
    """Relay every connection on the listener to where the function says."""

    async def connected(reader: StreamReader, writer: StreamWriter) -> None:
        with contextlib.closing(writer), contextlib.suppress(OSError, ValueError):
            far_reader, far_writer = await _opened(far())
            with contextlib.closing(far_writer):
                await _both_ways((reader, writer), (far_reader, far_writer))

    return await asyncio.start_server(connected, sock=listener)


Side = tuple[StreamReader, StreamWriter]


async def _opened(place: Place) -> Side:
    if isinstance(place, Path):
        return await asyncio.open_unix_connection(place)
    return await asyncio.open_connection(*place)


async def _both_ways(near: Side, far: Side) -> None:
    # A broken connection on either side ends both directions.
    with contextlib.suppress(ExceptionGroup):
        async with asyncio.TaskGroup() as directions:
            directions.create_task(_pump(near[0], far[1]))
            directions.create_task(_pump(far[0], near[1]))


async def _pump(reader: StreamReader, writer: StreamWriter) -> None:
    while data := await reader.read(65536):
        writer.write(data)
        await writer.drain()
    writer.write_eof()


def written(file: Path) -> Place:
    """The address and the port in a file, or the path of a socket."""
    host, *port = file.read_text().split()
    return (host, int(port[0])) if port else Path(host)


async def main(argv: list[str]) -> None:
    """Relay until the end of the process."""
    port, file = int(argv[0]), Path(argv[1])
    with socket.create_server(("0.0.0.0", port)) as listener:  # noqa: S104 - of every pod's name
        server = await serve(listener, lambda: written(file))
        await server.serve_forever()


if __name__ == "__main__":
    asyncio.run(main(sys.argv[1:]))
