"""Run the operator; `stoker operator --help` lists its flags, which are those of the peer."""

import asyncio
import os
import signal
import sys
from collections.abc import Awaitable, Iterator, Sequence
from contextlib import AsyncExitStack, contextmanager
from itertools import count
from typing import TYPE_CHECKING

from stoker.cli.terminal import failed

if TYPE_CHECKING:
    from stoker.kube.access import Access
    from stoker.kube.client import Client
    from stoker.kube.limits import RateLimit
    from stoker.operator.replica import Operator
    from stoker.settings import ApiSettings, Capabilities, OperatorSettings
    from stoker.web.door import Door
    from stoker.web.operator_metrics import OperatorMetrics

# What one replica may ask of the API server for long: enough for a storm, too little to be one. At
# once it may ask for the objects of a hundred workloads that are new, eight requests each, since a
# start should wait for the server and not for us; workers are few, so it never has many at a time.
_OBJECTS_PER_SECOND = 100
_OBJECTS_AT_ONCE = 1000
_STATUSES_PER_SECOND = 100
_STATUSES_AT_ONCE = 200
_REVIEWS_PER_SECOND = 200
_REVIEWS_AT_ONCE = 400
# What nobody uses and refers to itself stays until there are so many new objects: a few megabytes,
# after some thousand changes. A start is not slower for it.
_NEW_OBJECTS = 10_000
_TURN_SECONDS = 0.001
# M_ARENA_MAX in <malloc.h>
_ONE_HEAP = -8
# Where OpenSSL looks for the authorities that it trusts.
_AUTHORITIES = ("SSL_CERT_FILE", "SSL_CERT_DIR")


def main(words: Sequence[str]) -> int:
    """Run the operator until it is told to stop; return the exit status."""
    from stoker.cli.deep_json import allow_deep_json
    from stoker.cli.flags import about, parsed
    from stoker.cli.operator_settings import settings_of
    from stoker.errors import StokerError
    from stoker.logs import configure

    try:
        given = parsed(words)
        if text := about(given):
            print(text)
            return 0
        settings = settings_of(given)
        configure(settings.log.level, settings.log.format)
        import_all()
        _share_one_heap()
        # A tenant's nested routes must not spoil a whole list.
        allow_deep_json()
        # Threads that judge give way this often: the event loop has much to do in small steps.
        sys.setswitchinterval(_TURN_SECONDS)
        asyncio.run(_run(settings))
    except StokerError as error:
        return failed("operator", error)
    return 0


def import_all() -> None:
    """Import what the operator works with, and keep Python's search for cycles away from it.

    What is imported stays, so it is never looked through. Of what comes after, nearly all is
    resources, which have no cycles: it is looked for rarely.
    """
    import gc

    gc.disable()
    with _authorities_unread():
        import aiohttp  # noqa: F401
    import stoker.operator.replica
    import stoker.web.server  # noqa: F401 - with its metrics

    gc.freeze()
    gc.set_threshold(_NEW_OBJECTS, 20, 50)
    gc.enable()


def _share_one_heap() -> None:
    """Let threads that judge allocate where all others do: heaps of their own keep their gaps."""
    import ctypes

    library = ctypes.CDLL(None)
    if hasattr(library, "mallopt"):
        library.mallopt(_ONE_HEAP, 1)


@contextmanager
def _authorities_unread() -> Iterator[None]:
    """Let aiohttp be imported without reading all authorities of the machine, twice.

    They are for requests that say nothing of TLS, and ours always do. One that did not would trust
    nobody.
    """
    before = {name: os.environ.get(name) for name in _AUTHORITIES}
    os.environ.update(dict.fromkeys(_AUTHORITIES, os.devnull))
    try:
        yield
    finally:
        for name, value in before.items():
            os.environ.pop(name)
            os.environ.update({name: value} if value is not None else {})


async def _run(settings: "OperatorSettings") -> None:
    from stoker import __version__
    from stoker.kube.limits import RateLimit
    from stoker.logs import logger
    from stoker.web.operator_metrics import OperatorMetrics
    from stoker.web.server import WebServer

    log = logger("operator")
    metrics = OperatorMetrics()
    metrics.started(__version__, settings.gates)
    async with AsyncExitStack() as stack:
        access = _access(settings.api)
        limits = RateLimit(_OBJECTS_PER_SECOND, _OBJECTS_AT_ONCE)
        client = await stack.enter_async_context(_client(access, metrics, limits))
        said = RateLimit(_STATUSES_PER_SECOND, _STATUSES_AT_ONCE)
        status = await stack.enter_async_context(_client(access, metrics, said))
        log.info("starting", version=__version__, server=access.server)
        replica = _Replica(client, status, settings, metrics)
        server = WebServer(settings.web, metrics.registry.text, replica.not_ready)
        await server.start()
        stack.push_async_callback(server.stop)
        await _until_stopped(replica.run())
        log.info("stopped")


class _Replica:
    """The operator, and the time before there is one: what the cluster can do is asked first."""

    def __init__(
        self,
        client: "Client",
        status_client: "Client",
        settings: "OperatorSettings",
        metrics: "OperatorMetrics",
    ) -> None:
        self._client = client
        self._status_client = status_client
        self._settings = settings
        self._metrics = metrics
        self._operator: Operator | None = None
        self._problem = "waiting for the API server"

    async def run(self) -> None:
        """Work until cancelled; an API server that does not answer is waited for."""
        from stoker.operator.replica import Operator

        self._operator = Operator(
            self._client,
            self._status_client,
            self._settings,
            await self._capabilities(),
            self._metrics,
        )
        async with AsyncExitStack() as stack:
            await self._show(self._operator, stack)
            await self._operator.run()

    async def _show(self, operator: "Operator", stack: AsyncExitStack) -> None:
        """Serve the status page; work that cannot be shown is done all the same."""
        from stoker.errors import StokerError
        from stoker.logs import logger
        from stoker.web.page import GuardedPageServer, PageServer

        page = self._settings.page
        if page.address is None:
            return
        door = await self._door(operator, stack)
        server = (
            GuardedPageServer(door, page.address, page.hosts, self._settings.web)
            if page.login
            else PageServer(door, page.address, page.hosts)
        )
        try:
            await server.start()
        except StokerError as error:
            logger("page").warn("there is no status page", err=error)
            return
        stack.push_async_callback(server.stop)

    async def _door(self, operator: "Operator", stack: AsyncExitStack) -> "Door":
        """Who may see the page; with a login, questions about people have a limit of their own."""
        from stoker.kube.limits import RateLimit
        from stoker.operator.login import Login
        from stoker.operator.pages import ClusterPages
        from stoker.operator.viewers import ViewerPages
        from stoker.web.door import OpenDoor

        pages = ClusterPages(operator.inside)
        if not self._settings.page.login:
            return OpenDoor(pages)
        limits = RateLimit(_REVIEWS_PER_SECOND, _REVIEWS_AT_ONCE)
        made = _client(self._client.access, self._metrics, limits)
        client = await stack.enter_async_context(made)
        return Login(client, lambda rights: ViewerPages(pages, rights))

    def not_ready(self) -> str:
        """Why this replica cannot do its work; empty when it can."""
        return self._operator.not_ready() if self._operator else self._problem

    async def _capabilities(self) -> "Capabilities":
        """What the cluster can do, as soon as it can be asked."""
        from stoker.cluster.capabilities import capabilities_of
        from stoker.kube.errors import ApiError
        from stoker.kube.watch import UNREACHABLE
        from stoker.logs import logger

        for failures in count(1):
            try:
                return await capabilities_of(self._client, self._settings)
            except ApiError as error:
                if type(error).__name__ not in self._problem:
                    logger("operator").warn("cannot ask the API server, trying again", err=error)
                self._problem = f"{type(error).__name__}: {error}"
                await asyncio.sleep(max(UNREACHABLE.delay(failures), error.asked_wait))
        raise AssertionError("unreachable: it is asked for ever")


async def _until_stopped(work: Awaitable[None]) -> None:
    """Run until the work ends, or a signal asks to stop, which lets it end in order."""
    task = asyncio.ensure_future(work)
    loop = asyncio.get_running_loop()
    for number in (signal.SIGTERM, signal.SIGINT):
        loop.add_signal_handler(number, task.cancel)
    try:
        await task
    except asyncio.CancelledError:
        if not task.cancelled():
            raise


def _client(access: "Access", metrics: "OperatorMetrics", limits: "RateLimit") -> "Client":
    from stoker import __version__
    from stoker.kube.client import Client

    return Client(
        access,
        limits=limits,
        observe=lambda endpoint, _, code, seconds: metrics.requested(endpoint, code, seconds),
        waited=metrics.held_back,
        user_agent=f"stoker/{__version__}",
    )


def _access(settings: "ApiSettings") -> "Access":
    """The API server that flags name, or the kubeconfig, or the cluster that we run in."""
    from stoker.cli.access import access_of
    from stoker.kube import access

    if settings.url:
        return access.from_flags(
            settings.url,
            cert_file=settings.cert_file,
            key_file=settings.key_file,
            ca_file=settings.ca_file,
            tls_insecure=settings.insecure,
            impersonate=settings.impersonate,
        )
    return access_of(
        settings.kubeconfig, settings.context, impersonate=settings.impersonate, at_home=False
    )
