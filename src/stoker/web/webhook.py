"""The webhook over HTTP: bodies in, reviews out.

A body has a limit, and time to arrive; what is larger is refused before it is read whole. Small
reviews are answered at once, large ones in a thread, so that one huge PrometheusRule does not make
the others wait; of those, few run at a time and few more may wait. Nothing of a body is ever
logged: it may hold what its author would rather not see there.
"""

import asyncio
import sys
import threading
import time
from typing import Final

import msgspec
from aiohttp import web

from stoker.logs import Logger, logger
from stoker.web.reviews import Answer, Reviewer, ReviewError
from stoker.web.webhook_metrics import WebhookMetrics

# Answered on the event loop; more takes more than a few milliseconds.
_SMALL: Final = 32 * 1024
_AT_ONCE: Final = 2
_WAITING: Final = 32
# The API server waits 10 seconds unless it is told otherwise, and at most 30.
_ARRIVAL_SECONDS: Final = 10.0


# Kubernetes reads JSON of 10,000 levels.
_LEVELS: Final = 25_000
_STACK_BYTES: Final = 64 * 1024 * 1024


def allow_deep_json() -> None:
    """Let this process read whatever the API server can store.

    An object that could not be read could not be converted, and with it no list that it is part of.
    """
    sys.setrecursionlimit(_LEVELS)
    threading.stack_size(_STACK_BYTES)


class Webhook:
    """Answers the API server."""

    def __init__(
        self, reviewer: Reviewer, metrics: WebhookMetrics, log: Logger | None = None
    ) -> None:
        self._reviewer = reviewer
        self._metrics = metrics
        self._log = log or logger("webhook")
        self._threads = asyncio.Semaphore(_AT_ONCE)
        self._in_hand = 0

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
        try:
            async with asyncio.timeout(_ARRIVAL_SECONDS):
                body = await request.read()
        except TimeoutError:
            raise web.HTTPRequestTimeout(text="the body took too long to arrive") from None
        encoded, answer = await self._reviewed(request.path, body)
        self._metrics.reviewed(request.path, allowed=answer.allowed)
        self._tell(request.path, answer)
        return web.Response(body=encoded, content_type="application/json")

    async def _reviewed(self, path: str, body: bytes) -> tuple[bytes, Answer]:
        try:
            if len(body) <= _SMALL:
                return self._review(path, body)
            return await self._reviewed_aside(path, body)
        except ReviewError as error:
            raise web.HTTPBadRequest(text=f"the review is not valid: {error}") from None
        except (msgspec.DecodeError, UnicodeDecodeError, RecursionError):
            raise web.HTTPBadRequest(text="the body is not JSON, or nested too deeply") from None

    async def _reviewed_aside(self, path: str, body: bytes) -> tuple[bytes, Answer]:
        if self._in_hand >= _WAITING:
            raise web.HTTPServiceUnavailable(text="too many large reviews at once")
        self._in_hand += 1
        try:
            async with self._threads:
                return await asyncio.to_thread(self._review, path, body)
        finally:
            self._in_hand -= 1

    def _review(self, path: str, body: bytes) -> tuple[bytes, Answer]:
        answer = self._reviewer.answer(path, msgspec.json.decode(body))
        return msgspec.json.encode(answer.body), answer

    def _tell(self, path: str, answer: Answer) -> None:
        """Say what was decided and about whom; paths to fields, but nothing that stands there."""
        fields = {"path": path, **answer.subject}
        if not answer.allowed:
            self._log.info("refused", **fields, fields=", ".join(answer.findings[:8]))
        elif answer.findings:
            self._log.warn("has fields that do not exist", **fields, count=len(answer.findings))
        else:
            self._log.debug("answered", **fields)
