"""The webhook over HTTP: bodies in, reviews out.

Anybody who reaches the port can ask. A body has a limit, and time to arrive; what is larger is
refused before it is read whole. Small reviews are answered in a thread, others in a process with
limits of time and memory (`worker`), so that one huge PrometheusRule does not make the others wait.
Few of each kind may wait, and no address may have all places: who comes too often is asked to come
again later. Nothing of a body is ever logged: it may hold what its author would rather not see.
"""

import asyncio
import time
from collections import Counter
from collections.abc import AsyncIterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import asynccontextmanager
from typing import Final

import msgspec
from aiohttp import web
from msgspec import Struct

from stoker.logs import Logger, logger
from stoker.web.reviews import CONVERT, Reviewer, ReviewError
from stoker.web.webhook_metrics import WebhookMetrics
from stoker.web.worker import BrokenError, Question, Reply, WorkerProcess

# More takes more than a few milliseconds.
_SMALL: Final = 32 * 1024
# The API server waits 10 seconds unless configured otherwise, and for a conversion 30.
_ARRIVAL_SECONDS: Final = 10.0
_ANSWER_SECONDS: Final = 8.0
_CONVERSION_SECONDS: Final = 25.0
_RETRY_AFTER: Final = {"Retry-After": "1"}


class Capacity(Struct, frozen=True, kw_only=True):
    """How many bytes of bodies there may be, and how many reviews of each kind be done or wait.

    One address may have half of each.
    """

    bytes: int = 32 << 20
    small: int = 512
    dear: int = 32


def reply_of(reviewer: Reviewer, asked: Question) -> Reply:
    """The answer to a body, whatever it is."""
    try:
        answer = reviewer.answer(asked.path, msgspec.json.decode(asked.body))
        body = msgspec.json.encode(answer.body)
    except ReviewError as error:
        return Reply(status=400, problem=f"the review is not valid: {error}")
    except (msgspec.DecodeError, UnicodeDecodeError, RecursionError):
        return Reply(status=400, problem="the body is not JSON, or nested too deeply")
    return Reply(body, answer.allowed, dict(answer.subject), answer.findings)


class ApiServerWebhook:
    """Answers the API server. `command` starts the process for what is dear; without, a thread."""

    def __init__(
        self,
        reviewer: Reviewer,
        metrics: WebhookMetrics,
        command: Sequence[str] = (),
        log: Logger | None = None,
        places: Capacity = Capacity(),  # noqa: B008 (frozen)
    ) -> None:
        self._reviewer = reviewer
        self._metrics = metrics
        self._log = log or logger("webhook")
        self._worker = WorkerProcess(command) if command else None
        self._thread = ThreadPoolExecutor(1, "small")
        self._dear_thread = ThreadPoolExecutor(1, "dear")
        self._rooms = {name: _Room(getattr(places, name)) for name in places.__struct_fields__}

    async def stop(self) -> None:
        """End what was started."""
        if self._worker:
            await self._worker.stop()

    def routes(self) -> list[web.RouteDef]:
        """What the server serves for it."""
        return [web.post(path, self._post) for path in self._reviewer.paths]

    async def _post(self, request: web.Request) -> web.Response:
        began = time.monotonic()
        try:
            response = await self._answered(request)
        except web.HTTPException as error:
            self._count(request.path, error.status, began)
            raise
        except Exception as error:
            # The words of an unforeseen error may hold parts of the body.
            self._log.error("a review failed", path=request.path, error=type(error).__name__)
            self._count(request.path, 500, began)
            raise web.HTTPInternalServerError(text="the review failed; see the logs") from None
        self._count(request.path, response.status, began)
        return response

    def _count(self, path: str, status: int, began: float) -> None:
        self._metrics.requested(path, status, time.monotonic() - began)

    async def _answered(self, request: web.Request) -> web.Response:
        if request.content_type != "application/json":
            raise web.HTTPUnsupportedMediaType(text="the body must be application/json")
        # One that does not say how long it is may be as long as any.
        length = min(request.content_length or request.client_max_size, request.client_max_size)
        async with self._place("bytes", request, length):
            body = await self._arrived(request)
            async with self._place("small" if len(body) <= _SMALL else "dear", request):
                reply = await self._reviewed(Question(request.path, body))
        if reply.problem:
            return web.Response(status=reply.status, text=reply.problem)
        self._metrics.reviewed(request.path, allowed=reply.allowed)
        self._tell(request.path, reply)
        return web.Response(body=reply.body, content_type="application/json")

    async def _arrived(self, request: web.Request) -> bytes:
        try:
            async with asyncio.timeout(_ARRIVAL_SECONDS):
                return await request.read()
        except TimeoutError:
            raise web.HTTPRequestTimeout(text="the body took too long to arrive") from None

    @asynccontextmanager
    async def _place(self, name: str, request: web.Request, size: int = 1) -> AsyncIterator[None]:
        """Have some of the places of a room, or say that there are none."""
        room, caller = self._rooms[name], request.remote or ""
        if not room.enter(caller, size):
            self._metrics.turned_away(f"{name}_full")
            raise web.HTTPTooManyRequests(text="too many reviews at once", headers=_RETRY_AFTER)
        try:
            yield
        finally:
            room.leave(caller, size)

    async def _reviewed(self, asked: Question) -> Reply:
        """The answer; who would wait too long, or cannot be answered, is asked to come again."""
        # After that, the API server does not wait for us any more.
        seconds = _CONVERSION_SECONDS if asked.path == CONVERT else _ANSWER_SECONDS
        try:
            async with asyncio.timeout(seconds):
                return await self._review(asked)
        except TimeoutError:
            problem, cause = "the review took too long", "deadline"
        except BrokenError as error:
            problem, cause = f"the review could not be done: {error}", "broken"
        self._log.warn("a review was given up", path=asked.path, cause=cause, bytes=len(asked.body))
        self._metrics.turned_away(cause)
        raise web.HTTPServiceUnavailable(text=problem, headers=_RETRY_AFTER)

    async def _review(self, asked: Question) -> Reply:
        loop = asyncio.get_running_loop()
        if len(asked.body) <= _SMALL:
            return await loop.run_in_executor(self._thread, reply_of, self._reviewer, asked)
        if self._worker:
            return await self._worker.ask(asked)
        return await loop.run_in_executor(self._dear_thread, reply_of, self._reviewer, asked)

    def _tell(self, path: str, answer: Reply) -> None:
        """Say what was decided and about whom; paths to fields, but nothing that stands there."""
        fields = {"path": path, **answer.subject}
        if not answer.allowed:
            self._log.info("refused", **fields, fields=", ".join(answer.findings[:8]))
        elif answer.findings:
            self._log.warn("has fields that do not exist", **fields, count=len(answer.findings))
        else:
            self._log.debug("answered", **fields)


class _Room:
    """So many places, of which one caller may have half; who is alone finds room for one thing."""

    def __init__(self, places: int) -> None:
        self._places = places
        self._callers: Counter[str] = Counter()

    def enter(self, caller: str, size: int) -> bool:
        """Whether there were places."""
        taken, own = self._callers.total(), self._callers[caller]
        if taken and taken + size > self._places:
            return False
        if own and 2 * (own + size) > self._places:
            return False
        self._callers[caller] += size
        return True

    def leave(self, caller: str, size: int) -> None:
        """Give them back."""
        self._callers[caller] -= size
        self._callers += Counter()
