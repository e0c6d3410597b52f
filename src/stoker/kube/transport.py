"""One request to the API server, with everything that can happen to it.

A request waits for its turn (`limits`), passes the fence when it writes, and is observed. An answer
that says no becomes an `ApiError`. What the server asks us to repeat (`Retry-After`) is repeated a
few times, and credentials that it no longer takes (401) are read again once; everything else is for
the caller, whose queue knows better when to try again.

The fence is asked before the request, and again whenever bytes of it leave (`fencing`): meanwhile
the process may have been stopped for longer than its leadership lasted.
"""

import asyncio
import time
from collections.abc import AsyncIterator, Callable, Mapping
from contextlib import asynccontextmanager
from io import BytesIO
from typing import Any, Final, Self

import aiohttp
import msgspec
from msgspec import Struct
from yarl import URL

from stoker.kube.access import Access, Headers
from stoker.kube.errors import (
    AccessError,
    ApiError,
    TooManyRequests,
    Unauthorized,
    Unavailable,
    error_of,
)
from stoker.kube.fencing import FENCE, Fence, FencedConnector, shut_by
from stoker.kube.limits import RateLimit
from stoker.kube.resources import WRITES, Target

JSON: Final = "application/json"
CONNECT_SECONDS: Final = 10.0
# A server says at once that a stream has begun, also where nothing happens for long.
BEGIN_SECONDS: Final = 15.0
ATTEMPTS: Final = 4
# A server that asks for more is asked again by the queue, not here.
LONGEST_WAIT: Final = 10.0
LARGE_BODY: Final = 2**20

Observe = Callable[[str, str, int, float], None]
"""Endpoint template, method, status (0: no answer), seconds until the headers of the answer."""
Waited = Callable[[str, float], None]
"""Endpoint template, seconds spent waiting for the limit."""


class Transport:
    """Requests to one API server; an async context manager.

    `fence` raises when we must not write. An exempt request (the Lease itself, access reviews)
    passes neither it nor the limit.
    """

    def __init__(
        self,
        access: Access,
        *,
        limits: RateLimit | None = None,
        observe: Observe | None = None,
        waited: Waited | None = None,
        user_agent: str = "stoker",
    ) -> None:
        self.fence: Fence | None = None
        self.access = access
        self._limits = limits
        self._observe = observe
        self._waited = waited
        self._user_agent = user_agent
        # What is kept open, and what is opened for one request.
        self._lasting: _Connections | None = None
        self._fresh: _Connections | None = None

    async def __aenter__(self) -> Self:
        self._lasting = _Connections(self._user_agent, limit=0, keepalive_timeout=30)
        self._fresh = _Connections(self._user_agent, limit=0, force_close=True)
        return self

    async def __aexit__(self, *_: object) -> None:
        await self.close()

    async def close(self) -> None:
        """Close all connections, also those that a cancelled request left in its farewell."""
        for connections in filter(None, (self._lasting, self._fresh)):
            await connections.close()

    async def request(  # noqa: PLR0913 - all but two have a default
        self,
        method: str,
        path: str,
        *,
        query: Mapping[str, str] | None = None,
        body: bytes | None = None,
        content_type: str = JSON,
        accept: str = JSON,
        timeout: float = 30,  # noqa: ASYNC109 - of the connection too
        exempt: bool = False,
        fresh: bool = False,
    ) -> bytes:
        """Send a request and return the body of the answer; a `fresh` one over a new connection."""
        call = _Call(
            method=method,
            path=path,
            query=dict(query or {}),
            body=body,
            headers={"Accept": accept} | ({"Content-Type": content_type} if body else {}),
            timeout=aiohttp.ClientTimeout(total=timeout, sock_connect=CONNECT_SECONDS),
            exempt=exempt,
            fresh=fresh,
        )
        with _translated(call):
            async with self._answered(call) as response:
                return await response.read()

    @asynccontextmanager
    async def stream(
        self,
        path: str,
        query: Mapping[str, str] | None = None,
        *,
        accept: str = JSON,
        exempt: bool = False,
    ) -> AsyncIterator[AsyncIterator[bytes]]:
        """Open an answer without end and give its chunks as they come.

        It fails with `Unavailable` when no answer began in time or the connection broke; it ends
        when the server ends it. For how long it may be silent is for the caller to say.
        """
        call = _Call(
            method="GET",
            path=path,
            query=dict(query or {}),
            headers={"Accept": accept},
            timeout=aiohttp.ClientTimeout(sock_connect=CONNECT_SECONDS),
            begin=BEGIN_SECONDS,
            exempt=exempt,
        )
        async with self._answered(call) as response:
            yield _chunks(call, response)

    @asynccontextmanager
    async def _answered(self, call: "_Call") -> AsyncIterator[aiohttp.ClientResponse]:
        with _translated(call):
            response = await self._response(call)
        try:
            yield response
        finally:
            # A stream that was not read to its end is closed, not drained.
            response.release() if response.content.at_eof() else response.close()

    async def _response(self, call: "_Call") -> aiohttp.ClientResponse:
        """The first answer that is not a reason to try again."""
        renewed = False
        for attempt in range(1, ATTEMPTS + 1):
            try:
                return await self._sent(call)
            except Unauthorized:
                if renewed:
                    raise
                renewed = True
                self.access.forget()
            except (TooManyRequests, Unavailable) as error:
                if attempt == ATTEMPTS or not call.may_repeat_after(error):
                    raise
                await asyncio.sleep(error.retry_after or 0)
        raise AssertionError("unreachable: the last attempt returns or raises")

    async def _sent(self, call: "_Call") -> aiohttp.ClientResponse:
        """One attempt: its answer, or its failure as an ApiError."""
        template = call.target.template if call.target.plural else call.path
        headers = await self._signed(call)
        await self._turn(call, template)
        fence = None if call.exempt or call.method not in WRITES else self.fence
        if fence:
            fence()
        FENCE.set(fence)
        started, status = time.perf_counter(), 0
        try:
            response = await self._begun(call, headers)
            status = response.status
        except (aiohttp.ClientError, OSError) as error:
            if shut := shut_by(error):
                raise shut from error
            if fence:
                # It may have closed the connection in a turn of the loop that was not ours.
                fence()
            raise
        finally:
            if self._observe:
                self._observe(template, call.method, status, time.perf_counter() - started)
        if status >= 400:
            raise await _refusal(call, response)
        return response

    async def _signed(self, call: "_Call") -> Headers:
        try:
            headers = await self.access.headers()
        except AccessError as error:
            raise Unauthorized(call.verb, call.path, str(error)) from error
        headers.update(call.headers)
        return headers

    async def _turn(self, call: "_Call", template: str) -> None:
        if self._limits and not call.exempt:
            seconds = await self._limits.take()
            if self._waited:
                self._waited(template, seconds)

    async def _begun(self, call: "_Call", headers: Headers) -> aiohttp.ClientResponse:
        connections = self._fresh if call.fresh else self._lasting
        if not connections:
            raise RuntimeError("the client is not open: use it as an async context manager")
        access = self.access
        url = URL(access.server + call.path, encoded=True).with_query(call.query)
        async with asyncio.timeout(call.begin):
            return await connections.session.request(
                call.method,
                url,
                data=call.data,
                headers=headers,
                timeout=call.timeout,
                allow_redirects=False,
                ssl=access.ssl or True,
                server_hostname=access.server_name,
                proxy=access.proxy.url if access.proxy else None,
                proxy_headers=access.proxy.headers if access.proxy else None,
            )


class _Connections:
    """Connections that are opened and closed together."""

    def __init__(self, user_agent: str, **options: Any) -> None:
        self._connector = FencedConnector(**options)
        self.session = aiohttp.ClientSession(
            connector=self._connector,
            cookie_jar=aiohttp.DummyCookieJar(),
            headers={"User-Agent": user_agent},
            read_bufsize=2**18,
        )

    async def close(self) -> None:
        await self.session.close()
        self._connector.abort()
        await asyncio.sleep(0)


class _Call(Struct, kw_only=True):
    """All that is said in a request, but for credentials.

    `begin` is after how many seconds the answer must have begun.
    """

    method: str
    path: str
    query: dict[str, str]
    headers: dict[str, str]
    timeout: Any
    begin: float | None = None
    body: bytes | None = None
    exempt: bool = False
    fresh: bool = False

    @property
    def data(self) -> bytes | BytesIO | None:
        """The body; a large one as a file, which is sent piece by piece."""
        large = self.body is not None and len(self.body) > LARGE_BODY
        return BytesIO(self.body or b"") if large else self.body

    @property
    def target(self) -> Target:
        return Target.of(self.path)

    @property
    def verb(self) -> str:
        return self.target.verb(self.method, self.query)

    def may_repeat_after(self, error: ApiError) -> bool:
        """Whether the server wants this call again, soon, and having had it twice does no harm."""
        if error.retry_after is None or error.retry_after > LONGEST_WAIT:
            return False
        # What is refused by 429 was not begun.
        return error.status == 429 or self.method != "POST"


async def _chunks(call: _Call, response: aiohttp.ClientResponse) -> AsyncIterator[bytes]:
    with _translated(call):
        async for chunk in response.content.iter_any():
            yield chunk


class _translated:  # noqa: N801 - reads as a phrase where it is used
    """Turns what the HTTP library raises into `Unavailable`.

    The library's texts name hosts and causes; credentials are in no URL that it sees.
    """

    def __init__(self, call: _Call) -> None:
        self._call = call

    def __enter__(self) -> None:
        return None

    def __exit__(self, _kind: object, error: BaseException | None, _trace: object) -> None:
        if isinstance(error, TimeoutError):
            raise Unavailable(self._call.verb, self._call.path, "no answer in time") from error
        if isinstance(error, aiohttp.ClientError | OSError):
            raise Unavailable(self._call.verb, self._call.path, _words(error)) from error


def _words(error: aiohttp.ClientError | OSError) -> str:
    """What went wrong; the library's own text on connections names objects in our memory."""
    if isinstance(error, aiohttp.ClientConnectorCertificateError):
        cause: object = error.certificate_error
    elif isinstance(error, aiohttp.ClientConnectorError):
        cause = error.os_error
    else:
        return f"{type(error).__name__}: {error}"
    return f"cannot connect to {error.host}:{error.port}: {cause}"


async def _refusal(call: _Call, response: aiohttp.ClientResponse) -> ApiError:
    """What the server said no with; it has as long for its reasons as for an answer to begin."""
    async with asyncio.timeout(call.begin), response:
        body = await response.read()
    fallback = {"message": body[:300].decode(errors="replace").strip() or response.reason}
    try:
        said = msgspec.json.decode(body)
    except msgspec.DecodeError:
        said = fallback
    if not isinstance(said, dict):
        said = fallback
    return error_of(
        call.verb, call.path, {**said, "code": response.status}, retry_after=_retry_after(response)
    )


def _retry_after(response: aiohttp.ClientResponse) -> float | None:
    """The seconds in the header; the API server sends no dates."""
    value = response.headers.get("Retry-After", "")
    return float(value) if value.isdecimal() else None
