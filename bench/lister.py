"""Lists all ServiceMonitors in one of two ways and prints what that cost. Run by `bench.decoding`.

A module of its own, so that the process imports what an operator would import and nothing else.

    python -m bench.lister typed|json URL TOKEN CA_FILE
"""

import asyncio
import json
import resource
import ssl
import sys
import time
from collections.abc import Callable
from typing import Any, TypeAlias

import aiohttp

PAGE = 500
PATH = "/apis/monitoring.coreos.com/v1/servicemonitors"

Reader: TypeAlias = Callable[[bytes], tuple[list[Any], str]]


def _reader(way: str) -> Reader:
    """A function from the bytes of a page to its objects and where to go on."""
    if way == "json":

        def plain(data: bytes) -> tuple[list[Any], str]:
            page = json.loads(data)
            return page["items"], page["metadata"].get("continue", "")

        return plain

    from stoker.api.decode import decode_page
    from stoker.api.monitors import ServiceMonitor

    def typed(data: bytes) -> tuple[list[Any], str]:
        page, undecodable = decode_page(ServiceMonitor, data)
        if undecodable:
            raise RuntimeError(f"undecodable: {undecodable[0]}")
        return page.items, page.metadata.continue_

    return typed


async def _list(read: Reader, url: str, token: str, ca_file: str) -> list[Any]:
    context = ssl.create_default_context(cafile=ca_file)
    headers = {"Authorization": f"Bearer {token}"}
    connector = aiohttp.TCPConnector(ssl=context)
    found: list[Any] = []
    more = ""
    async with aiohttp.ClientSession(url, headers=headers, connector=connector) as session:
        while True:
            parameters = {"limit": str(PAGE)} | ({"continue": more} if more else {})
            async with session.get(PATH, params=parameters) as response:
                items, more = read(await response.read())
            found.extend(items)
            if not more:
                return found


def main() -> None:
    """Measure one way in this process and print the figures as JSON."""
    way, url, token, ca_file = sys.argv[1:]
    read = _reader(way)
    wall, cpu = time.perf_counter(), time.process_time()
    objects = asyncio.run(_list(read, url, token, ca_file))
    figures = {
        "objects": len(objects),
        "wall": time.perf_counter() - wall,
        "cpu": time.process_time() - cpu,
        "rss": resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024,
    }
    print(json.dumps(figures))


if __name__ == "__main__":
    main()
