"""In which version a resource is asked for, where it has several.

Discovery says which versions an API server has, and in which of them it stores objects: as a hash
of that version's name (`storageVersionHash`). Everybody may read it. The stored version is the best
one to read and watch: the API server has nothing to convert then, so no webhook that converts can
come between us and our objects. Which version that is may change at any time.
"""

import asyncio
import base64
import hashlib
import math
import re
from collections.abc import Mapping, Sequence
from contextlib import suppress
from typing import Final

from msgspec import Struct

from stoker.kube.client import Client
from stoker.kube.errors import ApiError, NotFound
from stoker.kube.resources import ApiResource

_VERSION: Final = re.compile(r"v(\d+)(?:(alpha|beta)(\d+))?")
# The stored version changes when somebody migrates it, which is a matter of minutes.
_FRESH_SECONDS: Final = 60.0
_STAGES: Final = {"alpha": 0, "beta": 1, None: 2}


class _Resource(Struct, frozen=True, rename="camel"):
    name: str
    storage_version_hash: str = ""


class _Resources(Struct, frozen=True):
    resources: list[_Resource] = []


class Served:
    """The version of a resource to use now, out of those that we know.

    The first of `versions` is used until the API server was asked, and where it has none of them.
    """

    def __init__(self, client: Client, versions: Sequence[ApiResource]) -> None:
        self.resource = versions[0]
        self._client = client
        self._versions = tuple(versions)
        self._asking = asyncio.Lock()
        self._asked = 0
        self._asked_at = -math.inf

    async def look(self, anew: bool = True) -> ApiResource:
        """Ask which version it is; without an answer what was known stays. Many may ask at once.

        What was asked lately is not asked again, unless `anew`.
        """
        before = self._asked
        async with self._asking:
            is_fresh = not anew and _now() - self._asked_at < _FRESH_SECONDS
            if self._asked == before and not is_fresh:
                await self._ask()
        return self.resource

    async def _ask(self) -> None:
        # Without an answer too: those that wait would only ask the same.
        self._asked += 1
        self._asked_at = _now()
        with suppress(ApiError):
            found = await served(self._client, self._versions)
            self.resource = chosen(found, self.resource)


def _now() -> float:
    return asyncio.get_running_loop().time()


async def served(client: Client, versions: Sequence[ApiResource]) -> dict[ApiResource, str]:
    """Those of the versions that the API server has, each with the hash of the stored one."""
    answers = await asyncio.gather(*(_storage_hash(client, each) for each in versions))
    return {
        each: answer for each, answer in zip(versions, answers, strict=True) if answer is not None
    }


async def _storage_hash(client: Client, resource: ApiResource) -> str | None:
    """What discovery says of the stored version; None if this version is not served."""
    try:
        found = await client.ask(_Resources, "GET", f"/apis/{resource.api_version}")
    except NotFound:
        return None
    named = (each for each in found.resources if each.name == resource.plural)
    hashes = (each.storage_version_hash for each in named)
    return next(hashes, None)


def chosen(found: Mapping[ApiResource, str], current: ApiResource) -> ApiResource:
    """The version to use: the stored one; else the one in use, or the highest."""
    for each, stored in found.items():
        if stored == storage_hash(each):
            return each
    if current in found or not found:
        return current
    return max(found, key=lambda each: priority(each.version))


def storage_hash(resource: ApiResource) -> str:
    """How discovery names this version when it is the stored one."""
    named = f"{resource.group}/{resource.version}/{resource.kind}"
    return base64.b64encode(hashlib.sha256(named.encode()).digest()[:8]).decode()


def priority(version: str) -> tuple[int, int, int]:
    """The order of versions in Kubernetes: v2, v1, v1beta2, v1beta1, v1alpha1."""
    found = _VERSION.fullmatch(version)
    if not found:
        return (-1, 0, 0)
    major, stage, minor = found.groups()
    return (_STAGES[stage], int(major), int(minor or 0))
