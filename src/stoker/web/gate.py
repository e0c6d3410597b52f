"""Who may ask for the status page, what every answer carries, and the files of the page.

A site that somebody visits meanwhile must not read the page through their browser. Such a site can
let its own name point to this machine (DNS rebinding), so the name that is asked for must be a
local one, or one that was allowed. Browsers are told to load nothing from elsewhere.
"""

import asyncio
import hashlib
import ipaddress
import mimetypes
import re
from collections.abc import Collection, Sequence
from importlib import resources
from importlib.resources.abc import Traversable
from typing import Any, Final

import msgspec
from aiohttp import hdrs, web
from aiohttp.typedefs import Handler

from stoker.logs import Logger
from stoker.page.answers import BusyError, Unknown
from stoker.web.door import StrangerError

HEADERS: Final = {
    "Content-Security-Policy": (
        "default-src 'self'; base-uri 'none'; form-action 'none'; frame-ancestors 'none';"
        " object-src 'none'; require-trusted-types-for 'script'"
    ),
    "X-Content-Type-Options": "nosniff",
    "Referrer-Policy": "no-referrer",
    "Cross-Origin-Resource-Policy": "same-origin",
    "Cross-Origin-Opener-Policy": "same-origin",
    "Cache-Control": "no-cache",
}
_READING: Final = ("GET", "HEAD")
_WHO: Final = {"WWW-Authenticate": 'Bearer realm="kubernetes"'}
_OWN_SITE: Final = ("same-origin", "none")
_WORTH_COMPRESSING: Final = 4096
# An address of IPv6 in brackets, or a name or address of IPv4; then perhaps a port.
_HOST: Final = re.compile(
    r"(?:\[(?P<address>[0-9A-Fa-f:.]+)\]|(?P<name>[A-Za-z0-9_-]+(?:\.[A-Za-z0-9_-]+)*\.?))"
    r"(?::[0-9]{0,5})?"
)
_LONGEST_NAME: Final = 254
_IPV6: Final = 6


class Gate:
    """Refuses what is not meant for the page, and sees to the headers of every answer."""

    def __init__(self, hosts: Collection[str], log: Logger) -> None:
        self._hosts = frozenset(host.lower() for host in hosts if host)
        self._log = log

    def _refused(self, request: web.Request) -> web.Response | None:
        """That a request is not meant for the page; None where it is."""
        if not self.is_local(request.headers.getall(hdrs.HOST, [])):
            return refusal(403, "the page is not served under this name; see --status-page-host")
        if request.method not in _READING:
            return refusal(405, "the page can only be read", {"Allow": ", ".join(_READING)})
        if request.path.startswith("/api/") and not _is_own(request):
            return refusal(403, "another site must not ask for this")
        return None

    async def _answered(self, request: web.Request, handler: Handler) -> web.StreamResponse:
        try:
            return self._refused(request) or await handler(request)
        except StrangerError as error:
            return refusal(401, str(error), _WHO)
        except web.HTTPException as error:
            return refusal(error.status, error.text or error.reason)
        except BusyError as error:
            return refusal(503, str(error), {"Retry-After": "1"})
        except Exception as error:
            # The words of an unforeseen error may hold anything.
            self._log.error("no answer", path=request.path, error=type(error).__name__)
            return refusal(500, "a fault in stoker; its log has more")

    @property
    def guard(self) -> Any:
        """The middleware."""

        @web.middleware
        async def guarded(request: web.Request, handler: Handler) -> web.StreamResponse:
            response = await self._answered(request, handler)
            if not response.prepared:
                response.headers.update(HEADERS | dict(response.headers))
                if hdrs.AUTHORIZATION in request.headers:
                    response.headers[hdrs.CACHE_CONTROL] = "no-store"
                _compress(request, response)
            return response

        return guarded

    def is_local(self, hosts: Sequence[str]) -> bool:
        """Whether the Host headers of a request, of which there is one, name this machine."""
        name = host_name(hosts[0]) if len(hosts) == 1 else ""
        if name in self._hosts or name == "localhost" or name.endswith(".localhost"):
            return True
        try:
            return bool(name) and ipaddress.ip_address(name).is_loopback
        except ValueError:
            return False


def _is_own(request: web.Request) -> bool:
    """Whether a browser, where it is one, asks for the page itself and for no other site."""
    return request.headers.get("Sec-Fetch-Site", "none") in _OWN_SITE


def host_name(host: str) -> str:
    """The name in a Host header, in small letters and without the port; empty if it is none.

    What is not a whole host by the grammar is no name at all: browsers and proxies would each
    read something else into it.
    """
    found = _HOST.fullmatch(host)
    if found is None:
        return ""
    address, name = found["address"], found["name"]
    if address is not None:
        return address.lower() if _is_ipv6(address) else ""
    return "" if len(name) > _LONGEST_NAME else name.lower().removesuffix(".")


def _is_ipv6(address: str) -> bool:
    try:
        return ipaddress.ip_address(address).version == _IPV6
    except ValueError:
        return False


def _compress(request: web.Request, response: web.StreamResponse) -> None:
    body = getattr(response, "body", None)
    accepted = request.headers.get(hdrs.ACCEPT_ENCODING, "")
    if isinstance(body, bytes) and len(body) > _WORTH_COMPRESSING and "gzip" in accepted:
        response.enable_compression(web.ContentCoding.gzip)
    response.headers.setdefault(hdrs.VARY, hdrs.ACCEPT_ENCODING)


def refusal(status: int, reason: str, headers: dict[str, str] | None = None) -> web.Response:
    """That there is no answer, and why, as all answers are written."""
    answer = as_json(Unknown(error=reason), status)
    answer.headers.update(headers or {})
    return answer


def as_json(answer: Any, status: int = 200) -> web.Response:
    """An answer as JSON."""
    body = msgspec.json.encode(answer)
    response = web.Response(
        body=body, status=status, content_type="application/json", charset="utf-8"
    )
    # It is for whoever asked, with their name or without.
    response.headers[hdrs.VARY] = f"{hdrs.AUTHORIZATION}, {hdrs.ACCEPT_ENCODING}"
    return response


# --- The page itself ------------------------------------------------------------------------------


async def page_file(request: web.Request) -> web.Response:
    """A file of the page."""
    path = request.match_info["path"] or "index.html"
    body = await asyncio.to_thread(_asset, path)
    if body is None:
        raise web.HTTPNotFound(text="there is no such page")
    tag = f'"{hashlib.sha256(body).hexdigest()[:16]}"'
    if request.headers.get(hdrs.IF_NONE_MATCH) == tag:
        return web.Response(status=304, headers={hdrs.ETAG: tag})
    kind = mimetypes.guess_type(path)[0] or "application/octet-stream"
    text = kind.startswith("text/") or kind.endswith(("javascript", "json", "xml"))
    response = web.Response(body=body, content_type=kind, charset="utf-8" if text else None)
    response.headers[hdrs.ETAG] = tag
    return response


def _asset(path: str) -> bytes | None:
    """A file of the page; only what is found by walking from its folder exists."""
    place: Traversable = resources.files("stoker.web").joinpath("assets")
    for word in path.split("/"):
        known = {each.name: each for each in place.iterdir()} if place.is_dir() else {}
        if word.startswith(".") or word not in known:
            return None
        place = known[word]
    return place.read_bytes() if place.is_file() else None
