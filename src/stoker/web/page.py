"""The status page over HTTP: files of the page, answers as JSON, and news of changes.

    /, /page.css, /js/…          the page itself
    /api/…                       answers (`stoker.page.answers`)
    /api/events                  a number whenever something changed; the page then asks again

Everything is to be read only. Who may read it is for the door to say (`stoker.web.door`): with one
that lets everybody in, the page is meant for a loopback address (`stoker.web.gate`).
"""

import asyncio
import os
import secrets
from collections.abc import Awaitable, Callable, Collection
from typing import Any, Final

from aiohttp import hdrs, web
from msgspec.structs import replace

from stoker.errors import FieldError
from stoker.logs import Logger, logger
from stoker.page.answers import MOST_ITEMS, BusyError, Unknown
from stoker.page.health import UNUSABLE
from stoker.page.index import PageSearch
from stoker.page.parts import PartSearch
from stoker.select.choice import SELECTED_KINDS
from stoker.settings import WebSettings
from stoker.view.states import State
from stoker.web.connections import ConnectionLimits
from stoker.web.door import CHECK_SECONDS, Door, Pages, StrangerError
from stoker.web.gate import HEADERS, Gate, as_json, page_file
from stoker.web.server import Offer, WebServer

_LONGEST_QUERY: Final = 1000
_SAME_SECONDS: Final = 0.1
_PAUSE_SECONDS: Final = 0.5
_SILENCE_SECONDS: Final = 15.0
_MOST_LISTENERS: Final = 64
# Who listens for changes does so for long; a browser connects again by itself.
_CONNECTIONS: Final = ConnectionLimits(answering=3600.0)
_FILTERS: Final = {
    "kind": tuple(kind.name for kind in SELECTED_KINDS),
    "state": (UNUSABLE, *(each.value for each in State)),
}


class PageServer:
    """Serves the page at an address until it is stopped.

    `hosts` are names under which it may be asked for beside those of this machine itself.
    """

    def __init__(
        self,
        door: Door,
        address: tuple[str, int],
        hosts: Collection[str] = (),
        log: Logger | None = None,
    ) -> None:
        self._address = address
        self._log = log or logger("page")
        application = page_application(door, {address[0], *hosts}, self._log)
        self._runner = web.AppRunner(application, access_log=None, shutdown_timeout=0.5)
        self._port = 0

    @property
    def url(self) -> str:
        """Where it is, once it is started."""
        host = self._address[0]
        return f"http://{f'[{host}]' if ':' in host else host or 'localhost'}:{self._port}/"

    async def start(self) -> None:
        """Listen; FieldError with a sentence where that cannot be."""
        host, port = self._address
        await self._runner.setup()
        site = web.TCPSite(self._runner, host or None, port)
        try:
            await site.start()
        except (OSError, OverflowError) as error:
            await self._runner.cleanup()
            raise FieldError("", f"cannot listen on {host}:{port}: {_reason(error)}") from None
        self._port = _port_of(self._runner)
        self._log.info("the status page is ready", url=self.url)

    async def stop(self) -> None:
        """Stop listening and close all connections."""
        await self._runner.cleanup()


class GuardedPageServer(WebServer):
    """The page where strangers may connect: few at a time, and over TLS if the settings say so.

    Its certificate is that of the web server; browsers need not have one.
    """

    def __init__(
        self,
        door: Door,
        address: tuple[str, int],
        hosts: Collection[str],
        settings: WebSettings,
        log: Logger | None = None,
    ) -> None:
        host, port = address
        self._door, self._hosts = door, {host, *hosts}
        own = replace(settings, host=host, port=port, client_ca_file="", client_ca_required=False)
        super().__init__(own, str, str, log or logger("page"), Offer(connections=_CONNECTIONS))

    @property
    def url(self) -> str:
        """Where it is, once it is started."""
        scheme, host = "https" if self._settings.tls else "http", self._settings.host
        return f"{scheme}://{f'[{host}]' if ':' in host else host or 'localhost'}:{self.port}/"

    async def start(self) -> None:
        """Listen; FieldError with a sentence where that cannot be."""
        try:
            await super().start()
        except FieldError as error:
            raise FieldError("", error.reason) from None
        self._log.info("the status page is ready", url=self.url)

    def _application(self, served: Offer) -> web.Application:
        return page_application(self._door, self._hosts, self._log, self._acceptor.marking)


def _reason(error: Exception) -> str:
    """What the system says, without what asyncio adds to it, another thing in each Python."""
    number = getattr(error, "errno", None) or 0
    # Those that are not found by their name have numbers of their own, below zero.
    said = os.strerror(number) if number > 0 else getattr(error, "strerror", None) or str(error)
    return said[:1].lower() + said[1:]


def _port_of(runner: web.AppRunner) -> int:
    return int(runner.addresses[0][1])


def page_application(
    door: Door, hosts: Collection[str], log: Logger, *before: Any
) -> web.Application:
    """The page and its answers, with other middlewares `before`."""
    gate = Gate(hosts, log)
    application = web.Application(middlewares=[*before, gate.guard])
    desk = _Desk(door)
    add = application.router.add_get
    add("/api/overview", desk.overview)
    add("/api/resources", desk.resources)
    add("/api/resources/{kind}/{namespace}/{name}", desk.resource)
    add("/api/objects/{kind}/{namespace}/{name}", desk.object)
    add("/api/workloads/{kind}/{namespace}/{name}", desk.workload)
    add("/api/workloads/{kind}/{namespace}/{name}/nodes", desk.nodes)
    add("/api/workloads/{kind}/{namespace}/{name}/configuration", desk.configuration)
    add("/api/workloads/{kind}/{namespace}/{name}/configuration/part", desk.part)
    add("/api/events", desk.events)
    add("/{path:.*}", page_file)
    return application


# --- Answers --------------------------------------------------------------------------------------


class _Desk:
    """Takes requests apart, and puts answers into responses."""

    def __init__(self, door: Door) -> None:
        self._door = door
        # A revision of another process is not one of ours.
        self._process = secrets.token_hex(4)
        self._listeners = 0

    async def overview(self, request: web.Request) -> web.Response:
        pages = await self._pages(request)
        return await self._tagged(request, pages, pages.overview)

    async def resources(self, request: web.Request) -> web.Response:
        pages, query = await self._pages(request), _query(request)
        return await self._tagged(request, pages, lambda: pages.resources(query))

    async def resource(self, request: web.Request) -> web.Response:
        return _found(await (await self._pages(request)).resource(*_names(request)))

    async def object(self, request: web.Request) -> web.Response:
        return _found(await (await self._pages(request)).object(*_names(request)))

    async def workload(self, request: web.Request) -> web.Response:
        return _found(await (await self._pages(request)).workload(*_names(request)))

    async def nodes(self, request: web.Request) -> web.Response:
        return _found(await (await self._pages(request)).nodes(*_names(request)))

    async def configuration(self, request: web.Request) -> web.Response:
        wanted = PartSearch(
            q=_words(request),
            offset=_number(request, "offset", 0, None),
            limit=_number(request, "limit", 200, MOST_ITEMS),
        )
        pages = await self._pages(request)
        return _found(await pages.configuration(*_names(request), wanted))

    async def part(self, request: web.Request) -> web.Response:
        pages, title = await self._pages(request), request.query.get("title", "")
        return _found(await pages.part(*_names(request), title))

    async def _pages(self, request: web.Request) -> Pages:
        """The page as the one who asks may see it."""
        given = request.headers.getall(hdrs.AUTHORIZATION, [])
        if len(given) > 1:
            raise StrangerError("there is more than one Authorization")
        return await self._door.pages("".join(given))

    async def _tagged(
        self, request: web.Request, pages: Pages, ask: Callable[[], Awaitable[Any]]
    ) -> web.Response:
        """An answer that depends on the revision alone, unless it is for one person."""
        if hdrs.AUTHORIZATION in request.headers:
            return as_json(await ask())
        tag = self._tag(pages)
        if request.headers.get(hdrs.IF_NONE_MATCH) == tag:
            return web.Response(status=304, headers={hdrs.ETAG: tag})
        response = as_json(await ask())
        # What changed while the answer was made belongs to the next.
        if tag == self._tag(pages):
            response.headers[hdrs.ETAG] = tag
        return response

    def _tag(self, pages: Pages) -> str:
        return f'"{self._process}-{pages.revision}"'

    async def events(self, request: web.Request) -> web.StreamResponse:
        pages = await self._pages(request)
        if self._listeners >= _MOST_LISTENERS:
            raise BusyError("too many pages are open")
        response = web.StreamResponse(headers=HEADERS | {"Cache-Control": "no-store"})
        response.content_type = "text/event-stream"
        self._listeners += 1
        try:
            await response.prepare(request)
            if request.method != "HEAD":
                await self._tell(request, response, pages)
        except (ConnectionResetError, StrangerError, BusyError):
            # Who asks again learns why.
            pass
        finally:
            self._listeners -= 1
        return response

    async def _tell(self, request: web.Request, response: web.StreamResponse, pages: Pages) -> None:
        """Write the revision whenever it is another one, and something at times."""
        clock = asyncio.get_running_loop().time
        told, last, checked = None, clock(), clock()
        while True:
            if clock() - checked >= CHECK_SECONDS:
                pages, checked = await self._pages(request), clock()
            if pages.revision != told:
                told, last = pages.revision, clock()
                await response.write(f"event: revision\ndata: {told}\n\n".encode())
                await asyncio.sleep(_PAUSE_SECONDS)
            elif clock() - last >= _SILENCE_SECONDS:
                last = clock()
                await response.write(b": nothing new\n\n")
            await asyncio.sleep(_SAME_SECONDS)


def _found(answer: Any) -> web.Response:
    return as_json(answer, 404 if isinstance(answer, Unknown) else 200)


def _names(request: web.Request) -> tuple[str, str, str]:
    found = request.match_info
    return found["kind"], found["namespace"], found["name"]


def _words(request: web.Request) -> str:
    found = request.query.get("q", "")
    if len(found) > _LONGEST_QUERY:
        raise web.HTTPBadRequest(text="q is too long")
    return found


def _query(request: web.Request) -> PageSearch:
    given = request.query
    workload = given.get("workload", "")
    kind, _, key = workload.partition("/")
    for name, known in _FILTERS.items():
        word = given.get(name, "")
        if word and word not in known:
            raise web.HTTPBadRequest(text=f"there is no {name} `{word}`: {', '.join(known)}")
    return PageSearch(
        q=_words(request),
        kind=given.get("kind", ""),
        namespace=given.get("namespace", ""),
        state=given.get("state", ""),
        workload=f"{kind} {key}" if workload else "",
        offset=_number(request, "offset", 0, None),
        limit=_number(request, "limit", 100, MOST_ITEMS),
    )


def _number(request: web.Request, name: str, default: int, most: int | None) -> int:
    text = request.query.get(name, "") or str(default)
    if not (text.isascii() and text.isdigit() and len(text) < 10):
        raise web.HTTPBadRequest(text=f"{name} must be a number, not negative")
    return int(text) if most is None else min(int(text), most)
