"""The status page over HTTP: files of the page, answers as JSON, and news of changes.

    /, /page.css, /js/…          the page itself
    /api/…                       answers (`stoker.page.answers`)
    /api/events                  a number whenever something changed; the page then asks again

Everything is to be read only, and by nobody else: the page has no login of its own and is meant for
a loopback address (`stoker.web.gate`).
"""

import asyncio
import secrets
from collections.abc import Awaitable, Callable, Collection
from typing import Any, Final, Protocol

from aiohttp import hdrs, web

from stoker.errors import FieldError
from stoker.logs import Logger, logger
from stoker.page.answers import (
    MOST_ITEMS,
    BusyError,
    Configuration,
    Items,
    Overview,
    Part,
    ResourceAnswer,
    Unknown,
    WorkloadAnswer,
)
from stoker.page.index import Query
from stoker.select.choice import SELECTED_KINDS
from stoker.view.states import State
from stoker.web.gate import HEADERS, Gate, as_json, page_file

_LONGEST_QUERY: Final = 1000
_SAME_SECONDS: Final = 0.1
_PAUSE_SECONDS: Final = 0.5
_SILENCE_SECONDS: Final = 15.0
_MOST_LISTENERS: Final = 64
_FILTERS: Final = {
    "kind": tuple(kind.name for kind in SELECTED_KINDS),
    "state": tuple(each.value for each in State),
}


class Pages(Protocol):
    """Something that answers for the page. BusyError: not now."""

    @property
    def revision(self) -> int:
        """A number that is another one whenever an answer may be."""
        ...

    async def overview(self) -> Overview:
        """Everything at a glance."""
        ...

    async def resources(self, query: Query) -> Items:
        """Some resources."""
        ...

    async def resource(self, kind: str, namespace: str, name: str) -> ResourceAnswer | Unknown:
        """All about a resource."""
        ...

    async def workload(self, kind: str, namespace: str, name: str) -> WorkloadAnswer | Unknown:
        """All about a workload."""
        ...

    async def configuration(
        self, kind: str, namespace: str, name: str, offset: int, limit: int
    ) -> Configuration | Unknown:
        """Some parts of the configuration of a workload."""
        ...

    async def part(self, kind: str, namespace: str, name: str, title: str) -> Part | Unknown:
        """One part of it, whole."""
        ...


class PageServer:
    """Serves the page at an address until it is stopped.

    `hosts` are names under which it may be asked for beside those of this machine itself.
    """

    def __init__(
        self,
        pages: Pages,
        address: tuple[str, int],
        hosts: Collection[str] = (),
        log: Logger | None = None,
    ) -> None:
        self._address = address
        self._log = log or logger("page")
        application = page_application(pages, {address[0], *hosts}, self._log)
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
            reason = getattr(error, "strerror", None) or str(error)
            raise FieldError("", f"cannot listen on {host}:{port}: {_plain(reason)}") from None
        self._port = _port_of(self._runner)
        self._log.info("the status page is ready", url=self.url)

    async def stop(self) -> None:
        """Stop listening and close all connections."""
        await self._runner.cleanup()


def _plain(reason: str) -> str:
    """What the system says, without what asyncio adds to it."""
    return reason.rpartition(": ")[2][:1].lower() + reason.rpartition(": ")[2][1:]


def _port_of(runner: web.AppRunner) -> int:
    return int(runner.addresses[0][1])


def page_application(pages: Pages, hosts: Collection[str], log: Logger) -> web.Application:
    """The page and its answers."""
    gate = Gate(hosts, log)
    application = web.Application(middlewares=[gate.guard])
    desk = _Desk(pages)
    add = application.router.add_get
    add("/api/overview", desk.overview)
    add("/api/resources", desk.resources)
    add("/api/resources/{kind}/{namespace}/{name}", desk.resource)
    add("/api/workloads/{kind}/{namespace}/{name}", desk.workload)
    add("/api/workloads/{kind}/{namespace}/{name}/configuration", desk.configuration)
    add("/api/workloads/{kind}/{namespace}/{name}/configuration/part", desk.part)
    add("/api/events", desk.events)
    add("/{path:.*}", page_file)
    return application


# --- Answers --------------------------------------------------------------------------------------


class _Desk:
    """Takes requests apart, and puts answers into responses."""

    def __init__(self, pages: Pages) -> None:
        self._pages = pages
        # A revision of another process is not one of ours.
        self._process = secrets.token_hex(4)
        self._listeners = 0

    async def overview(self, request: web.Request) -> web.Response:
        return await self._tagged(request, self._pages.overview)

    async def resources(self, request: web.Request) -> web.Response:
        query = _query(request)
        return await self._tagged(request, lambda: self._pages.resources(query))

    async def resource(self, request: web.Request) -> web.Response:
        return _found(await self._pages.resource(*_names(request)))

    async def workload(self, request: web.Request) -> web.Response:
        return _found(await self._pages.workload(*_names(request)))

    async def configuration(self, request: web.Request) -> web.Response:
        offset = _number(request, "offset", 0, None)
        limit = _number(request, "limit", 200, MOST_ITEMS)
        return _found(await self._pages.configuration(*_names(request), offset, limit))

    async def part(self, request: web.Request) -> web.Response:
        return _found(await self._pages.part(*_names(request), request.query.get("title", "")))

    async def _tagged(
        self, request: web.Request, ask: Callable[[], Awaitable[Any]]
    ) -> web.Response:
        """An answer that depends on the revision alone."""
        tag = f'"{self._process}-{self._pages.revision}"'
        if request.headers.get(hdrs.IF_NONE_MATCH) == tag:
            return web.Response(status=304, headers={hdrs.ETAG: tag})
        response = as_json(await ask())
        # What changed while the answer was made belongs to the next.
        if tag == f'"{self._process}-{self._pages.revision}"':
            response.headers[hdrs.ETAG] = tag
        return response

    async def events(self, request: web.Request) -> web.StreamResponse:
        if self._listeners >= _MOST_LISTENERS:
            raise BusyError("too many pages are open")
        response = web.StreamResponse(headers=HEADERS | {"Cache-Control": "no-store"})
        response.content_type = "text/event-stream"
        self._listeners += 1
        try:
            await response.prepare(request)
            if request.method != "HEAD":
                await self._tell(response)
        except ConnectionResetError:
            pass
        finally:
            self._listeners -= 1
        return response

    async def _tell(self, response: web.StreamResponse) -> None:
        """Write the revision whenever it is another one, and something at times."""
        clock = asyncio.get_running_loop().time
        told, last = None, clock()
        while True:
            if self._pages.revision != told:
                told, last = self._pages.revision, clock()
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


def _query(request: web.Request) -> Query:
    given = request.query
    workload = given.get("workload", "")
    kind, _, key = workload.partition("/")
    if len(given.get("q", "")) > _LONGEST_QUERY:
        raise web.HTTPBadRequest(text="q is too long")
    for name, known in _FILTERS.items():
        word = given.get(name, "")
        if word and word not in known:
            raise web.HTTPBadRequest(text=f"there is no {name} `{word}`: {', '.join(known)}")
    return Query(
        q=given.get("q", ""),
        kind=given.get("kind", ""),
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
