"""Lists objects in one of two ways and prints what that cost. Run by `bench.decoding`.

A module of its own, so that the process imports what an operator would import and nothing else.

    python -m bench.lister typed|json URL TOKEN CA_FILE         all ServiceMonitors
    python -m bench.lister typed URL TOKEN CA_FILE all          all resources of any kind
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


def _json(data: bytes) -> tuple[list[Any], str]:
    page = json.loads(data)
    return page["items"], page["metadata"].get("continue", "")


def _typed(model: type[Any]) -> Reader:
    """A function from the bytes of a page to its objects and where to go on."""
    from stoker.api.decode import decode_page

    def typed(data: bytes) -> tuple[list[Any], str]:
        page, undecodable = decode_page(model, data)
        if undecodable:
            raise RuntimeError(f"undecodable: {undecodable[0]}")
        return page.items, page.metadata.continue_

    return typed


def _readers(way: str, kinds: str) -> dict[str, Reader]:
    """What is listed, by its path, and how it is read."""
    if kinds == "all":
        from stoker.cluster.kinds import RESOURCES

        return {one.resource.path(None): _typed(one.model) for one in RESOURCES.values()}
    if way == "json":
        return {PATH: _json}
    from stoker.api.monitors import ServiceMonitor

    return {PATH: _typed(ServiceMonitor)}


async def _list(readers: dict[str, Reader], url: str, token: str, ca_file: str) -> list[Any]:
    context = ssl.create_default_context(cafile=ca_file)
    headers = {"Authorization": f"Bearer {token}"}
    connector = aiohttp.TCPConnector(ssl=context)
    found: list[Any] = []
    async with aiohttp.ClientSession(url, headers=headers, connector=connector) as session:
        for path, read in readers.items():
            more = "first"
            while more:
                go_on = {"continue": more} if more != "first" else {}
                async with session.get(path, params={"limit": str(PAGE)} | go_on) as response:
                    items, more = read(await response.read())
                found.extend(items)
    return found


def main() -> None:
    """Measure one way in this process and print the figures as JSON."""
    way, url, token, ca_file, *kinds = sys.argv[1:]
    readers = _readers(way, "".join(kinds))
    wall, cpu = time.perf_counter(), time.process_time()
    objects = asyncio.run(_list(readers, url, token, ca_file))
    figures = {
        "objects": len(objects),
        "wall": time.perf_counter() - wall,
        "cpu": time.process_time() - cpu,
        "rss": resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024,
    }
    print(json.dumps(figures))


if __name__ == "__main__":
    main()
