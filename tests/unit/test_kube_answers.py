"""An answer of which only half came is a fault of the server, whoever asked for it."""

from __future__ import annotations

import ast
import asyncio
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager
from pathlib import Path

import pytest
from aiohttp import web
from aiohttp.test_utils import TestServer

import stoker
from stoker.api.crd import GROUP
from stoker.cli import cluster
from stoker.cluster.definitions import Definition, definition_of, trimmed
from stoker.cluster.inventory import Inventory
from stoker.cluster.storage_version import StoppedError, StorageMigration
from stoker.errors import StokerError
from stoker.kube.access import Access
from stoker.kube.client import Client
from stoker.kube.errors import Unavailable
from stoker.kube.resources import OURS, SERVICE, ApiResource
from stoker.kube.served import served
from stoker.operator import claims

SOURCES = Path(stoker.__file__).parent
DEFINITION = Definition(
    kind="ScrapeConfig",
    plural="scrapeconfigs",
    storage="v1alpha1",
    served=("v1alpha1",),
    stored=("v1alpha1",),
    generation=1,
    version="1",
)
# A version of which nothing has to be asked first.
PLAIN = ApiResource(GROUP, "v1", "servicemonitors", "ServiceMonitor")

READERS: dict[str, Callable[[Client], Awaitable[object]]] = {
    "get": lambda client: client.get(SERVICE, "shop", "cart"),
    "may": lambda client: client.can_i("list", SERVICE),
    "versions": lambda client: served(client, [OURS["ScrapeConfig"]]),
    "definition": lambda client: definition_of(client, "scrapeconfigs"),
    "a definition that is written": lambda client: trimmed(client, DEFINITION),
    "migrate storage-version": lambda client: StorageMigration(client, DEFINITION).run(),
    "diff": lambda client: Inventory(client, ()).read(),
    "lint of a cluster": lambda client: cluster._listed(client, PLAIN),
    "claims": lambda client: claims._claims(client, "shop"),
}


@asynccontextmanager
async def answered(
    answer: Callable[[web.Request], Awaitable[web.Response]],
) -> AsyncIterator[Client]:
    """A client of a server that answers everything so."""
    app = web.Application()
    app.router.add_route("*", "/{any:.*}", answer)
    async with (
        TestServer(app) as server,
        Client(Access(str(server.make_url("")).rstrip("/"))) as client,
    ):
        yield client


@pytest.mark.parametrize("read", READERS.values(), ids=READERS)
@pytest.mark.parametrize("body", [b'{"kind": "List", "items": [{"meta', b"<html>", b"[]"])
def test_half_an_answer_is_not_a_fault_of_ours(
    read: Callable[[Client], Awaitable[object]], body: bytes
) -> None:
    """It is told as what the server said, and whoever repeats what failed repeats it."""

    async def answer(_request: web.Request) -> web.Response:
        return web.Response(body=body, content_type="application/json")

    async def main() -> None:
        async with answered(answer) as client:
            with pytest.raises(StokerError) as caught:
                await read(client)
        assert isinstance(caught.value, Unavailable | StoppedError)
        assert "the answer is no object" in str(caught.value)

    asyncio.run(main())


def test_nobody_reads_answers_in_a_way_of_its_own() -> None:
    """Else the next one that is written takes half an answer for a fault of the operator."""
    rooms = (path for room in ("run", "cli") for path in (SOURCES / room).rglob("*.py"))
    found = {f"{path.name}:{line}" for path in rooms for line in _bodies_taken(path)}
    assert found == set()


def _bodies_taken(path: Path) -> list[int]:
    """Where the bytes of an answer are used; a request without a use for its answer is fine."""
    tree = ast.parse(path.read_text())
    dropped = {id(node.value) for node in ast.walk(tree) if isinstance(node, ast.Expr)}
    return [
        node.lineno
        for node in ast.walk(tree)
        if isinstance(node, ast.Await) and id(node) not in dropped
        if isinstance(node.value, ast.Call)
        if isinstance(node.value.func, ast.Attribute) and node.value.func.attr == "request"
    ]


@pytest.mark.parametrize(("seen", "believed"), [("", True), ("5", True), ("7", True), ("8", False)])
def test_that_one_object_is_gone_is_not_believed_from_before_it_was_seen(
    seen: str, believed: bool
) -> None:
    """A server that is behind does not have it yet."""

    async def answer(_request: web.Request) -> web.Response:
        return web.json_response({"metadata": {"resourceVersion": "7"}, "items": []})

    async def main() -> None:
        async with answered(answer) as client:
            if believed:
                assert await client.find(SERVICE, "shop", "cart", seen=seen) is None
            else:
                with pytest.raises(Unavailable, match="8 was seen"):
                    await client.find(SERVICE, "shop", "cart", seen=seen)

    asyncio.run(main())
