"""Serves portions: from a connection to what its pod is sent."""

import asyncio
from collections import Counter
from http import HTTPStatus
from typing import Final

from stoker.errors import FieldError
from stoker.handout.connection import TlsConnection
from stoker.handout.door import DoorLimits, PortionDoor, Visitor, listening_on
from stoker.handout.keeper import PortionKeeper
from stoker.handout.pods import AgentOf, PodLookup
from stoker.handout.request import (
    MOST_HEAD,
    RefusedError,
    RequestHead,
    answer_of,
    have_of,
    head_of,
    not_yet,
)
from stoker.handout.seldom import Seldom
from stoker.handout.stream import PortionStream, StreamCounts
from stoker.handout.tokens import Tokens
from stoker.kube.client import Client
from stoker.kube.endless import words
from stoker.logs import logger

_FLAG: Final = "--node-discovery-address"
_END: Final = b"\r\n\r\n"


class PortionServer:
    """Serves while it runs. `agent_of` tells the agent of a DaemonSet, by its uid.

    `answers` counts requests that were refused by their status, `counts` what was sent.
    """

    def __init__(
        self,
        client: Client,
        keeper: PortionKeeper,
        agent_of: AgentOf,
        limits: DoorLimits | None = None,
    ) -> None:
        self.answers: Counter[int] = Counter()
        self.counts = StreamCounts()
        self._log = logger("node-discovery")
        self.door = PortionDoor(self._serve, self._log, limits)
        self.tokens = Tokens(client)
        self._keeper = keeper
        self._pods = PodLookup(client, agent_of)
        self._not_answered = Seldom(self._log.warn, "agents were not answered")
        self._failed = Seldom(self._log.error, "a portion could not be sent")

    @property
    def refused(self) -> int:
        """How many were sent nothing, be it with an answer or without."""
        return sum(self.answers.values()) + self.door.turned_away

    async def run(self, host: str, port: int) -> None:
        """Listen and serve until cancelled; FieldError where one cannot listen there."""
        try:
            listening = await asyncio.to_thread(listening_on, host, port)
        except OSError as error:
            said = f"cannot listen on {host}:{port}: {error.strerror or error}"
            raise FieldError(_FLAG, said) from None
        with listening:
            self._log.info("listening", port=listening.getsockname()[1], tls=True)
            await self.door.run(listening)

    async def _serve(self, visitor: Visitor) -> None:
        connection = visitor.connection
        await connection.shake_hands()
        try:
            await self._answer(visitor)
        except RefusedError as error:
            self.answers[error.status.value] += 1
            fields = {"status": error.status.value, "err": error, "from": visitor.address}
            self._not_answered.tell(**fields)
            await connection.write(answer_of(error))
        except (OSError, TimeoutError):
            raise
        except Exception as error:
            self.answers[HTTPStatus.INTERNAL_SERVER_ERROR.value] += 1
            self._failed.tell(err=words(error))

    async def _answer(self, visitor: Visitor) -> None:
        """Find out who it is before anything of the body is taken, and then serve it."""
        connection = visitor.connection
        head, rest = await _head(connection)
        visitor.has_asked = True
        if why := self._keeper.why_not:
            raise not_yet(why)
        subscriber = await self._pods.subscriber(await self.tokens.owner(head.token))
        # A node has few places, and a body is kept in one of them: so it keeps few bodies.
        if not visitor.stay(subscriber.node):
            raise RefusedError(HTTPStatus.TOO_MANY_REQUESTS, "too many connections", after=10)
        async with asyncio.timeout(self.door.limits.seconds):
            have = have_of(await _body(connection, head, rest))
        stream = PortionStream(self._keeper, subscriber, connection, self.counts)
        await stream.run(have)


async def _head(connection: TlsConnection) -> tuple[RequestHead, bytes]:
    """The head of a request, and what came of its body already."""
    data = b""
    while _END not in data[: MOST_HEAD + len(_END)]:
        if len(data) > MOST_HEAD:
            raise RefusedError(HTTPStatus.REQUEST_HEADER_FIELDS_TOO_LARGE, "too long a head")
        if not (more := await connection.read()):
            raise ConnectionResetError
        data += more
    head, _, rest = data.partition(_END)
    return head_of(head), rest


async def _body(connection: TlsConnection, head: RequestHead, begun: bytes) -> bytes:
    data = bytearray(begun)
    while len(data) < head.length:
        if not (more := await connection.read()):
            raise ConnectionResetError
        data += more
    if len(data) > head.length:
        raise RefusedError(HTTPStatus.BAD_REQUEST, "more than the body")
    return bytes(data)
