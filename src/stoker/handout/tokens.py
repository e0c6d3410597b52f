"""Whose token it is: asked of the API server once, and remembered until the token expires.

A token names the pod that it was made for. What stands in it is looked at first, unverified: what
is plainly not for us is refused without a question. It is kept as a digest, and nowhere else.
"""

import asyncio
import base64
import time
from collections import OrderedDict
from collections.abc import Callable, Sequence
from hashlib import sha256
from http import HTTPStatus
from typing import Final, NamedTuple

import msgspec
from msgspec import Struct, field

from stoker.build.portions import AUDIENCE
from stoker.handout.request import RefusedError
from stoker.handout.seldom import Seldom
from stoker.kube.client import Client
from stoker.kube.errors import ApiError, Forbidden
from stoker.kube.resources import TOKEN_REVIEW
from stoker.logs import logger

_MOST: Final = 20_000
_AT_ONCE: Final = 16
# A token that is no good now is not asked about again for so long.
_BAD_SECONDS: Final = 10.0
_USER: Final = "system:serviceaccount:"
_EXTRA: Final = "authentication.kubernetes.io/"


class TokenOwner(NamedTuple):
    """The pod that a token was made for; `expires` is in seconds since 1970."""

    namespace: str
    pod: str
    uid: str
    expires: float


class _Claims(Struct, frozen=True):
    aud: str | list[str] = ""
    exp: float = 0.0


class _User(Struct, frozen=True):
    username: str = ""
    extra: dict[str, list[str]] = {}


class _Status(Struct, frozen=True):
    authenticated: bool = False
    audiences: list[str] = []
    user: _User = _User()


class _Answer(Struct, frozen=True):
    status: _Status = field(default_factory=_Status)


_CLAIMS: Final = msgspec.json.Decoder(_Claims)


class Tokens:
    """Knows whose tokens are; `now` is the clock, in seconds since 1970."""

    def __init__(self, client: Client, now: Callable[[], float] = time.time) -> None:
        self.reviews = 0
        self._client = client
        self._now = now
        self._known: OrderedDict[bytes, tuple[TokenOwner | None, float]] = OrderedDict()
        self._asking = asyncio.Semaphore(_AT_ONCE)
        self._not_reviewed = Seldom(
            logger("node-discovery").warn, "tokens of agents cannot be reviewed"
        )

    async def owner(self, token: str) -> TokenOwner:
        """Whose token it is; RefusedError where it is no one's, not for us, or not known."""
        expires = self._plausible(token)
        key = sha256(token.encode()).digest()
        found, until = self._known.get(key, (None, 0.0))
        if until <= self._now():
            found = await self._asked(token, expires)
            self._remember(key, found, expires if found else self._now() + _BAD_SECONDS)
        if found is None:
            raise _unknown("a token that the API server does not know")
        return found

    def _plausible(self, token: str) -> float:
        """Until when a token says that it is good; RefusedError where it is not for us."""
        try:
            claims = _CLAIMS.decode(_decoded(token.split(".")[1]))
        except (IndexError, ValueError, msgspec.DecodeError, RecursionError):
            raise _unknown("a token that is none") from None
        wanted = [claims.aud] if isinstance(claims.aud, str) else claims.aud
        if AUDIENCE not in wanted:
            raise _unknown("a token for somebody else")
        if not self._now() < claims.exp < float("inf"):
            raise _unknown("a token that has expired")
        return claims.exp

    async def _asked(self, token: str, expires: float) -> TokenOwner | None:
        spec = {"token": token, "audiences": [AUDIENCE]}
        resource = TOKEN_REVIEW
        review = {"apiVersion": resource.api_version, "kind": resource.kind, "spec": spec}
        body = msgspec.json.encode(review)
        self.reviews += 1
        try:
            async with self._asking:
                answer = await self._client.ask(
                    _Answer, "POST", resource.path(None), body=body, exempt=True
                )
        except ApiError as error:
            self._tell(error)
            status = HTTPStatus.SERVICE_UNAVAILABLE
            raise RefusedError(status, "the API server does not review tokens", after=5) from None
        return _owner_in(answer.status, expires)

    def _tell(self, error: ApiError) -> None:
        """Say why no token can be reviewed, now and then: what was asked is not in it."""
        said = type(error).__name__
        if isinstance(error, Forbidden):
            said = f"the operator cannot {error.verb} {error.resource}"
        self._not_reviewed.tell(err=said)

    def _remember(self, key: bytes, found: TokenOwner | None, until: float) -> None:
        self._known[key] = found, until
        self._known.move_to_end(key)
        while len(self._known) > _MOST:
            self._known.popitem(last=False)

    def __len__(self) -> int:
        """How many answers are remembered."""
        return len(self._known)


def _owner_in(status: _Status, expires: float) -> TokenOwner | None:
    """The pod that a review names, if the token is good and names one."""
    user = status.user
    namespace = user.username.removeprefix(_USER).partition(":")[0]
    pod, uid = (_only(user.extra.get(f"{_EXTRA}{name}") or ()) for name in ("pod-name", "pod-uid"))
    good = status.authenticated and AUDIENCE in status.audiences
    if good and user.username.startswith(_USER) and namespace and pod and uid:
        return TokenOwner(namespace, pod, uid, expires)
    return None


def _only(values: Sequence[str]) -> str:
    return values[0] if len(values) == 1 else ""


def _decoded(part: str) -> bytes:
    return base64.urlsafe_b64decode(part + "=" * (-len(part) % 4))


def _unknown(reason: str) -> RefusedError:
    return RefusedError(HTTPStatus.UNAUTHORIZED, reason)
