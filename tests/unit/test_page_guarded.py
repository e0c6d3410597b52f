"""The page where strangers may connect: its certificate, and what it tells whom."""

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

import aiohttp
import pytest

from stoker.errors import FieldError
from stoker.offline.pages import DirectoryPages
from stoker.settings import OperatorSettings, WebSettings
from stoker.web.door import Pages, StrangerError
from stoker.web.page import GuardedPageServer
from tests.unit.test_web_server import LOCAL, certify, folder, get, install, secure, trusting

__all__ = ["folder"]
EXAMPLE = Path(__file__).parents[2] / "example"
KNOWN = "Bearer known"


class Password:
    """Lets in whoever sends one header."""

    def __init__(self, pages: Pages) -> None:
        self._pages = pages

    async def pages(self, authorization: str) -> Pages:
        """The page."""
        if authorization != KNOWN:
            raise StrangerError("log in")
        return self._pages


@asynccontextmanager
async def guarded(settings: WebSettings, port: int = 0) -> AsyncIterator[GuardedPageServer]:
    """The page of the examples behind a password."""
    pages = DirectoryPages(str(EXAMPLE), OperatorSettings())
    server = GuardedPageServer(Password(pages), ("127.0.0.1", port), (), settings)
    await server.start()
    reading = asyncio.create_task(pages.run())
    try:
        yield server
    finally:
        reading.cancel()
        await server.stop()


def test_it_has_the_certificate_of_the_web_server(folder: Path) -> None:
    """Renewed as that is; browsers need not show one, also where those who ask for metrics must."""
    certify(folder, "clients")

    async def scenario() -> None:
        async with guarded(secure(folder)) as server:
            assert server.url == f"https://127.0.0.1:{server.port}/"
            assert (await get(server, "/", trusting(folder, "first")))[0] == 200
            certify(folder, "second")
            install(folder, "second")
            assert await server.reload()
            assert (await get(server, "/api/overview", trusting(folder, "second")))[0] == 401

    asyncio.run(scenario())


async def _asked(server: GuardedPageServer, path: str, **headers: str) -> tuple[int, str, Any]:
    url = f"http://127.0.0.1:{server.port}{path}"
    async with aiohttp.ClientSession() as session, session.get(url, headers=headers) as answer:
        return answer.status, await answer.text(), answer.headers


def test_a_stranger_gets_the_form_and_nothing_else() -> None:
    """Files of the page are for all; every answer, and the news of changes, for who is known."""

    async def scenario() -> None:
        async with guarded(LOCAL) as server:
            for path in ("/api/overview", "/api/resources", "/api/events",
                         "/api/objects/ServiceMonitor/shop/cart"):  # fmt: skip
                status, text, headers = await _asked(server, path, Authorization="Bearer other")
                assert (path, status, "shop" in text) == (path, 401, False)
                assert headers["WWW-Authenticate"] == 'Bearer realm="kubernetes"'
            assert (await _asked(server, "/js/login.js"))[0] == 200
            status, text, headers = await _asked(server, "/api/overview", Authorization=KNOWN)
            assert (status, "shop" in text) == (200, True)
            assert headers["Cache-Control"] == "no-store"
            assert "ETag" not in headers
            # There is no metric here, and nothing else of the web server.
            assert (await _asked(server, "/metrics", Authorization=KNOWN))[0] == 404

    asyncio.run(scenario())


@pytest.mark.parametrize("site", ["cross-site", "same-site", "nonsense"])
def test_another_site_cannot_ask_through_a_browser(site: str) -> None:
    """Where a proxy lets the browser in, a site that is visited meanwhile gets nothing."""

    async def scenario() -> None:
        async with guarded(LOCAL) as server:
            asked = {"Authorization": KNOWN, "Sec-Fetch-Site": site}
            assert (await _asked(server, "/api/overview", **asked))[0] == 403
            # A link from elsewhere may lead to the page itself.
            assert (await _asked(server, "/", **{"Sec-Fetch-Site": site}))[0] == 200

    asyncio.run(scenario())


def test_a_port_that_is_taken_is_told() -> None:
    """Without naming the flag of another server."""

    async def scenario() -> None:
        async with guarded(LOCAL) as server:
            with pytest.raises(FieldError, match="cannot listen on 127") as refused:
                async with guarded(LOCAL, server.port):
                    pass
            assert "--" not in str(refused.value)

    asyncio.run(scenario())
