"""A tiny name server: ``python -m tests.live.naming ADDRESS FILE``, on UDP port 53 of there.

The file has the records as they are now, in JSON::

    {"a.example": {"A": ["192.0.2.1"]}, "_web._tcp.a.example": {"SRV": [["a.example", 8080]]}}

Other names do not exist, and other types of these have no records.
"""

from __future__ import annotations

import ipaddress
import json
import socket
import struct
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from tests.live.operating import Object
from tests.live.scraping import NOBODY
from tools.cluster import Cluster
from tools.host import ROOT

TYPES = {1: "A", 33: "SRV"}
IN, SECONDS, PORT = 1, 1, 53
# An authoritative answer; that of a name that does not exist.
ANSWER, NO_SUCH_NAME = 0x8400, 0x8403

Records = dict[str, dict[str, list[Any]]]

# What makes the processes of a workload ask the name server.
RESOLVER: Object = {
    "apiVersion": "v1",
    "kind": "ConfigMap",
    "metadata": {"name": "names"},
    "data": {"resolv.conf": f"nameserver {NOBODY}\n"},
}
RESOLVING: Object = {
    "volumes": [{"name": "names", "configMap": {"name": "names"}}],
    "volumeMounts": [{"name": "names", "mountPath": "/etc/resolv.conf", "subPath": "resolv.conf"}],
}


@contextmanager
def name_server(cluster: Cluster, file: Path) -> Iterator[None]:
    """Who knows the names in a file, inside the cluster's network."""
    argv = [sys.executable, "-m", "tests.live.naming", NOBODY, str(file)]
    process = cluster.spawn(argv, cwd=ROOT)
    try:
        yield
        assert process.poll() is None
    finally:
        process.terminate()
        process.wait()


def write(file: Path, records: Records) -> None:
    """Let these be the names, all at once."""
    new = file.with_suffix(".new")
    new.write_text(json.dumps(records))
    new.replace(file)


def answer(query: bytes, records: Records) -> bytes:
    """What to say to a query of one question."""
    labels = list(_labels(query, 12))
    end = 12 + sum(len(each) + 1 for each in labels) + 1
    (kind,) = struct.unpack_from(">H", query, end)
    known = records.get(b".".join(labels).decode().lower())
    found = (known or {}).get(TYPES.get(kind, ""), [])
    flags = NO_SUCH_NAME if known is None else ANSWER
    head = query[:2] + struct.pack(">5H", flags, 1, len(found), 0, 0)
    # 0xC00C: the name that was asked for.
    body = (
        struct.pack(">HHHIH", 0xC00C, kind, IN, SECONDS, len(one)) + one
        for one in (_data(TYPES[kind], each) for each in found)
    )
    return head + query[12 : end + 4] + b"".join(body)


def _labels(message: bytes, at: int) -> Iterator[bytes]:
    while length := message[at]:
        yield message[at + 1 : at + 1 + length]
        at += 1 + length


def _data(kind: str, record: Any) -> bytes:
    if kind == "A":
        return ipaddress.IPv4Address(record).packed
    host, port = record
    labels = [each.encode() for each in host.split(".")]
    return struct.pack(">HHH", 0, 0, port) + b"".join(bytes([len(x)]) + x for x in labels) + b"\0"


def main(argv: list[str]) -> None:
    """Answer until the end of the process."""
    address, file = argv[0], Path(argv[1])
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as listening:
        listening.bind((address, PORT))
        while True:
            query, client = listening.recvfrom(4096)
            listening.sendto(answer(query, json.loads(file.read_text())), client)


if __name__ == "__main__":
    main(sys.argv[1:])
