"""Who asks for the page: whoever a bearer token says they are, by the API server's word.

The token comes with every request, from the page itself or from a proxy in front of it. It is kept
nowhere: answers are remembered by its hash, for a minute. All other headers that claim to say who
somebody is are not looked at.
"""

import asyncio
import hashlib
import re
from collections.abc import Callable
from typing import Final

import msgspec
from msgspec import Struct

from stoker.kube.client import Client
from stoker.kube.errors import ApiError
from stoker.kube.resources import TOKEN_REVIEW
from stoker.logs import logger
from stoker.operator.lately import Lately
from stoker.operator.rights import KEPT_SECONDS, Person, Rights, turns
from stoker.page.answers import BusyError
from stoker.web.door import Pages, StrangerError

_MOST_KNOWN: Final = 128
_AT_ONCE: Final = 4
_MOST_WAITING: Final = 32
# As the grammar of the header has it (RFC 6750), and no longer than a header may be.
_BEARER: Final = re.compile(r"[Bb]earer +([A-Za-z0-9._~+/-]{1,8000}=*)")


class _Said(Struct, frozen=True):
    authenticated: bool = False
    user: Person = Person()


class _Answer(Struct, frozen=True):
    status: _Said = _Said()


class Login:
    """Lets in whom the API server knows (`stoker.web.door.Door`).

    `pages` makes the page of one user, by what they may see.
    """

    def __init__(self, client: Client, pages: Callable[[Rights], Pages]) -> None:
        self._client = client
        self._pages = pages
        self._turns = turns()
        self._reviews = asyncio.Semaphore(_AT_ONCE)
        self._waiting = 0
        self._known: Lately[bytes, Pages] = Lately(KEPT_SECONDS, _MOST_KNOWN)
        self._log = logger("page")
        self._trouble = ""

    async def pages(self, authorization: str) -> Pages:
        """The page of whoever has this header; StrangerError if that is nobody."""
        found = _BEARER.fullmatch(authorization)
        if found is None:
            raise StrangerError("log in with a token of this cluster")
        token = found[1]
        key = hashlib.sha256(token.encode()).digest()
        return await self._known.get(key, lambda: self._let_in(token))

    async def _let_in(self, token: str) -> Pages:
        who = await self._who(token)
        return self._pages(Rights(self._client, who, self._turns))

    async def _who(self, token: str) -> Person:
        if self._waiting >= _MOST_WAITING:
            raise BusyError("too many log in at once; try again")
        self._waiting += 1
        try:
            async with self._reviews:
                said = await self._said(token)
        finally:
            self._waiting -= 1
        if not said.authenticated or not said.user.username:
            raise StrangerError("the cluster does not know this token, or it has expired")
        return said.user

    async def _said(self, token: str) -> _Said:
        review = {
            "apiVersion": TOKEN_REVIEW.api_version,
            "kind": TOKEN_REVIEW.kind,
            # Without audiences, it must be a token for the API server itself.
            "spec": {"token": token},
        }
        path, body = TOKEN_REVIEW.path(None), msgspec.json.encode(review)
        try:
            return (await self._client.ask(_Answer, "POST", path, body=body)).status
        except ApiError as error:
            self._tell(str(error))
            raise BusyError(
                "who you are cannot be asked now; the operator's log says why"
            ) from None

    def _tell(self, trouble: str) -> None:
        """Log why nobody can log in, once; a stranger need not know."""
        if trouble != self._trouble:
            self._log.warn("cannot ask who somebody is", reason=trouble)
        self._trouble = trouble
