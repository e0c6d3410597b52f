"""Ports for servers that cannot choose one themselves and say which it is."""

from __future__ import annotations

import socket


def held_port() -> int:
    """A port of the loopback address that nobody else gets while this process lives.

    It is bound and not listened at: whoever connects is refused, and only who is told the port,
    as servers commonly reuse addresses, can listen there, again and again.
    """
    with socket.socket() as held:
        held.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        held.bind(("127.0.0.1", 0))
        port = int(held.getsockname()[1])
        held.detach()
    return port
