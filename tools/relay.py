"""Carries TCP connections into the cluster's network namespace.

A socket belongs to the namespace in which it was made, whichever process holds it. So the caller
makes a listening socket outside and hands it to the supervisor, which accepts connections from
outside on it and opens their counterparts inside.
"""

from __future__ import annotations

import asyncio
import contextlib
import socket
from asyncio import StreamReader, StreamWriter


async def serve(listener: socket.socket, port: int) -> asyncio.Server:
    """Relay every connection on the listener to a port on this side's loopback address."""

    async def connected(reader: StreamReader, writer: StreamWriter) -> None:
        with contextlib.closing(writer), contextlib.suppress(OSError):
            far_reader, far_writer = await asyncio.open_connection("127.0.0.1", port)
            with contextlib.closing(far_writer):
                await _both_ways((reader, writer), (far_reader, far_writer))

    return await asyncio.start_server(connected, sock=listener)


Side = tuple[StreamReader, StreamWriter]


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
