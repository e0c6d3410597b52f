"""JSON that is nested deeper than this process can read: cut where it is of no use any more.

Kubernetes stores objects of 10,000 levels, and in a list or a watch they lie deeper still. What is
written in C reads no more than 10,000 in Python 3.12 and 3.13, whatever `setrecursionlimit` says: a
tenant with one such object would keep everybody from seeing any. No workload takes an object that
has nearly as many levels as are left (`--resource-limits=nesting=…`), so nobody misses the rest.
This is for reading alone: what is written back must be whole.
"""

import re
from typing import Final

LEVELS: Final = 9_000
_TOKENS: Final = re.compile(rb'"(?:[^"\\]|\\.)*+"|[\[\]{}]', re.DOTALL)


def cut(body: bytes) -> bytes:
    """The same JSON with null for each list and object that lies too deep."""
    kept: list[bytes] = []
    depth = start = 0
    for found in _TOKENS.finditer(body):
        if found[0] in (b"{", b"["):
            depth += 1
            if depth == LEVELS + 1:
                kept.append(body[start : found.start()])
        elif found[0] in (b"}", b"]"):
            if depth == LEVELS + 1:
                kept.append(b"null")
                start = found.end()
            depth -= 1
    return b"".join((*kept, body[start:]))
