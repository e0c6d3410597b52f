"""Asks a running Prometheus for its targets; bounded in time and in memory.

Nothing of ours goes along, no credential and no cookie, so its certificate need not be checked: it
is made out to a name, and a pod is asked by its address. Answers are read as they are, not
unpacked, no further than to a limit, and no redirection is followed.
"""

from typing import Any, Final, Self

import aiohttp

from stoker.errors import StokerError

_LARGEST: Final = 4 << 20
_SECONDS: Final = 5.0
_CONNECTIONS: Final = 2
_OK: Final = 200


class NotAnsweredError(StokerError):
    """What a Prometheus scrapes is not known; the message says why."""


class TooMuchError(StokerError):
    """A job has more targets than are read."""


class ScraperApi:
    """The way to all of them; an async context manager."""

    async def __aenter__(self) -> Self:
        self._session = aiohttp.ClientSession(
            connector=aiohttp.TCPConnector(limit=_CONNECTIONS, ssl=False),
            cookie_jar=aiohttp.DummyCookieJar(),
            timeout=aiohttp.ClientTimeout(total=_SECONDS),
            headers={"Accept-Encoding": "identity", "User-Agent": "stoker"},
            auto_decompress=False,
        )
        return self

    async def __aexit__(self, *_: object) -> None:
        await self._session.close()

    async def targets(self, url: str, job: str) -> bytes:
        """The active targets of a job as `/api/v1/targets`, at this URL, answers."""
        query = {"state": "active", "scrapePool": job}
        try:
            async with self._session.get(url, params=query, allow_redirects=False) as response:
                return await _body(response)
        except TimeoutError:
            raise NotAnsweredError(f"no answer in {_SECONDS:.0f} s") from None
        except aiohttp.ClientConnectorError as error:
            raise NotAnsweredError(f"cannot connect: {error.os_error}") from None
        except aiohttp.ClientOSError as error:
            raise NotAnsweredError(f"the connection was lost: {error.strerror or error}") from None
        except aiohttp.ClientError as error:
            raise NotAnsweredError(type(error).__name__) from None


async def _body(response: Any) -> bytes:
    if response.status != _OK:
        raise NotAnsweredError(f"answers with status {response.status}")
    body = bytearray()
    async for chunk in response.content.iter_any():
        body += chunk
        if len(body) > _LARGEST:
            # Half of a list would be counted wrong, so it is not counted at all.
            response.close()
            raise TooMuchError(f"more than {_LARGEST >> 20} MiB in one job")
    return bytes(body)
