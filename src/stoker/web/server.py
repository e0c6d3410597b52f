"""The web server of the operator and of the webhook: metrics, health and readiness.

    /metrics   for Prometheus
    /healthz   200 as long as the process answers
    /readyz    200 when it does its work, 503 with the reason when not

The webhook adds routes of its own.

It listens on one socket for its whole life. When certificates change, connections that come from
then on get the new ones: none is refused for it, and those that are open go on. How many there may
be, and how long they have, is in `connections`.
"""

import asyncio
import contextlib
import json
import socket
import ssl
from collections.abc import Callable, Sequence
from functools import partial

from aiohttp import web
from msgspec import Struct

from stoker.errors import FieldError
from stoker.kube.endless import endless
from stoker.logs import Logger, logger
from stoker.settings import WebSettings
from stoker.web.connections import Acceptor, ConnectionLimits
from stoker.web.metrics import CONTENT_TYPE
from stoker.web.tls import Certificates

_PATIENCE_SECONDS = 5.0
_INDEX = """\
stoker

/metrics   metrics for Prometheus
/healthz   is it alive?
/readyz    is it at work?
"""


class Offer(Struct, frozen=True):
    """What a server has to offer beside its metrics and health.

    A body of more than `largest_body` bytes is refused with 413.
    """

    routes: Sequence[web.RouteDef] = ()
    largest_body: int = 1 << 16
    connections: ConnectionLimits = ConnectionLimits()


class WebServer:
    """Serves until it is stopped.

    `metrics` gives the text of `/metrics`; `not_ready` says why the operator is not at work, with
    an empty text when it is.
    """

    def __init__(
        self,
        settings: WebSettings,
        metrics: Callable[[], str],
        not_ready: Callable[[], str],
        log: Logger | None = None,
        served: Offer = Offer(),  # noqa: B008 (frozen)
    ) -> None:
        self._settings = settings
        self._metrics = metrics
        self._not_ready = not_ready
        self._log = log or logger("web")
        self._certificates = Certificates(settings)
        self._acceptor = Acceptor(self._protocol, self._log, served.connections)
        self._runner = web.AppRunner(
            self._application(served),
            access_log=None,
            shutdown_timeout=_PATIENCE_SECONDS,
            keepalive_timeout=self._acceptor.limits.waiting,
        )
        self._socket: socket.socket | None = None
        self._accepting: asyncio.Task[None] | None = None
        self._reloading: asyncio.Task[None] | None = None
        # Read, and not yet in use.
        self._next: ssl.SSLContext | None = None

    @property
    def port(self) -> int:
        """The port that it listens on, once it is started; the system may have chosen it."""
        if self._socket is None:
            raise RuntimeError("the server is not started")
        return int(self._socket.getsockname()[1])

    async def start(self) -> None:
        """Listen; `FieldError` names the flag because of which that cannot be."""
        context = await self._certificates.changed() if self._settings.tls else None
        self._socket = await _listening(self._settings)
        # All that accept share this, and one that would wait would hold up everything.
        self._socket.setblocking(False)
        await self._runner.setup()
        self._acceptor.context = context
        accepting = endless(partial(self._acceptor.run, self._socket), self._unaccepted)
        self._accepting = asyncio.create_task(accepting, name="connections")
        if context:
            reloading = endless(self._reload, self._untaken)
            self._reloading = asyncio.create_task(reloading, name="certificates")
        self._log.info("listening", port=self.port, tls=self._settings.tls)

    async def stop(self) -> None:
        """Stop listening, let requests that are being answered end, close all connections."""
        for task in filter(None, (self._reloading, self._accepting)):
            task.cancel()
            with contextlib.suppress(asyncio.CancelledError):
                await task
        await self._runner.cleanup()
        if self._socket:
            self._socket.close()

    async def reload(self) -> bool:
        """Take new certificates into use, if there are any; return whether there were."""
        try:
            self._next = await self._certificates.changed() or self._next
        except FieldError as error:
            self._untaken(error)
            return False
        if self._next is None:
            return False
        self._acceptor.context, self._next = self._next, None
        self._log.info("certificates reloaded")
        return True

    def _untaken(self, error: Exception) -> None:
        self._log.error("certificates cannot be reloaded; the old ones stay", err=error)

    async def _reload(self) -> None:
        while True:
            await asyncio.sleep(self._settings.reload_seconds)
            await self.reload()

    def _unaccepted(self, error: Exception) -> None:
        self._log.error("connections were not accepted for a moment", err=type(error).__name__)

    @property
    def turned_away(self) -> int:
        """How many connections had to go, or were not let in, for want of a place."""
        return self._acceptor.turned_away

    def _protocol(self) -> asyncio.Protocol:
        if self._runner.server is None:
            raise RuntimeError("the server is not started")
        return self._runner.server()

    def _application(self, served: Offer) -> web.Application:
        marking = self._acceptor.marking
        application = web.Application(client_max_size=served.largest_body, middlewares=[marking])
        application.router.add_routes(served.routes)
        application.router.add_get("/", _index)
        application.router.add_get("/healthz", _healthz)
        application.router.add_get("/readyz", self._readyz)
        application.router.add_get("/metrics", self._answer_metrics)
        return application

    async def _answer_metrics(self, _: web.Request) -> web.Response:
        return web.Response(body=self._metrics().encode(), headers={"Content-Type": CONTENT_TYPE})

    async def _readyz(self, _: web.Request) -> web.Response:
        reason = self._not_ready()
        answer = {"status": "not ready", "reason": reason} if reason else {"status": "ready"}
        return _json(answer, 503 if reason else 200)


async def _index(_: web.Request) -> web.Response:
    return web.Response(text=_INDEX)


async def _healthz(_: web.Request) -> web.Response:
    return _json({"status": "up"}, 200)


def _json(answer: dict[str, str], status: int) -> web.Response:
    return web.Response(text=json.dumps(answer), status=status, content_type="application/json")


async def _listening(settings: WebSettings) -> socket.socket:
    """A socket that listens as set; on all interfaces and in both families without a host."""
    try:
        if not settings.host:
            return _on_all_interfaces(settings.port)
        loop = asyncio.get_running_loop()
        found = await loop.getaddrinfo(settings.host, settings.port, type=socket.SOCK_STREAM)
        family, *_, address = found[0]
        return socket.create_server(address[:2], family=family)
    except OSError as error:
        where = f"{settings.host}:{settings.port}"
        reason = error.strerror or str(error)
        raise FieldError("--web.listen-address", f"cannot listen on {where}: {reason}") from None


def _on_all_interfaces(port: int) -> socket.socket:
    if socket.has_dualstack_ipv6():
        return socket.create_server(("", port), family=socket.AF_INET6, dualstack_ipv6=True)
    return socket.create_server(("", port))
