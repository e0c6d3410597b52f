"""What somebody may do in the cluster, in the words of the API server itself.

Each question is a SubjectAccessReview, so that whoever decides (RBAC, a webhook) is asked what they
would be asked of a request. Rules that `SelfSubjectRulesReview` lists would be fewer requests, but
are exact only where all that decide can list theirs, and would have to be read as RBAC reads them.

Of each kind it is asked first whether all of it may be listed. If not, it is asked namespace by
namespace, of those where there is something of that kind. Answers are kept for a minute.
"""

import asyncio
from collections.abc import Iterable
from typing import Any, Final, NamedTuple

import msgspec
from msgspec import Struct

from stoker.kube.client import Client, Review
from stoker.kube.errors import ApiError
from stoker.kube.resources import OURS, SUBJECT_ACCESS_REVIEW, ApiResource
from stoker.operator.lately import Lately
from stoker.page.answers import BusyError
from stoker.page.sight import Clearance

KEPT_SECONDS: Final = 60.0
_MOST_ANSWERS: Final = 20_000
_AT_ONCE: Final = 8


class Person(Struct, frozen=True, kw_only=True):
    """Who somebody is, as a TokenReview says it."""

    username: str = ""
    uid: str = ""
    groups: tuple[str, ...] | None = None
    extra: dict[str, tuple[str, ...]] | None = None


class RightAsked(NamedTuple):
    """What is asked: may this be done, there? An empty namespace means all of them."""

    verb: str
    resource: ApiResource
    namespace: str = ""
    name: str = ""


class Rights:
    """What one user may do; `turns` bounds how much is asked at a time for all of them."""

    def __init__(self, client: Client, who: Person, turns: asyncio.Semaphore) -> None:
        self.who = who
        self._client = client
        self._turns = turns
        self._answers: Lately[RightAsked, bool] = Lately(KEPT_SECONDS, _MOST_ANSWERS)

    async def may(self, verb: str, resource: ApiResource, namespace: str | None) -> bool:
        """Whether something may be done in a namespace, or (None) in all of them."""
        return await self.allowed(RightAsked(verb, resource, namespace or ""))

    async def allowed(self, question: RightAsked) -> bool:
        """Whether it is allowed; BusyError where that cannot be found out, which is never yes."""
        return await self._answers.get(question, lambda: self._asked(question))

    async def sight(self, there: Iterable[tuple[str, str]]) -> Clearance:
        """What of our kinds may be seen; `there` are the kinds and namespaces of all objects."""
        kinds = list(OURS)
        every = await asyncio.gather(*(self._lists(kind, "") for kind in kinds))
        everywhere = frozenset(kind for kind, yes in zip(kinds, every, strict=True) if yes)
        places = sorted({each for each in there if each[0] not in everywhere})
        some = await asyncio.gather(*(self._lists(*each) for each in places))
        within = frozenset(each for each, yes in zip(places, some, strict=True) if yes)
        return Clearance(everywhere=everywhere, within=within)

    async def _lists(self, kind: str, namespace: str) -> bool:
        return await self.allowed(RightAsked("list", OURS[kind], namespace))

    async def _asked(self, question: RightAsked) -> bool:
        body = msgspec.json.encode(_review(self.who, question))
        path = SUBJECT_ACCESS_REVIEW.path(None)
        async with self._turns:
            try:
                answer = await self._client.ask(Review, "POST", path, body=body)
            except ApiError as error:
                raise BusyError(f"what you may see is not known: {error}") from None
        return answer.status.allowed


def turns() -> asyncio.Semaphore:
    """So much is asked at a time."""
    return asyncio.Semaphore(_AT_ONCE)


def _review(who: Person, question: RightAsked) -> dict[str, Any]:
    resource = question.resource
    return {
        "apiVersion": SUBJECT_ACCESS_REVIEW.api_version,
        "kind": SUBJECT_ACCESS_REVIEW.kind,
        "spec": {
            "user": who.username,
            "uid": who.uid,
            "groups": who.groups or (),
            "extra": who.extra or {},
            "resourceAttributes": {
                "verb": question.verb,
                "group": resource.group,
                "version": resource.version,
                "resource": resource.plural,
                "namespace": question.namespace,
                "name": question.name,
            },
        },
    }
