"""What needs no API server: paths, limits, whose fields, and answers that one rarely gets."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable
from typing import Any

import pytest
from aiohttp import web
from aiohttp.test_utils import TestServer

from stoker.api.kinds import KINDS
from stoker.kube.access import Access
from stoker.kube.client import Client, ListPage, answer_as
from stoker.kube.errors import (
    ApiError,
    Forbidden,
    Gone,
    NotFound,
    NotLeading,
    TooManyRequests,
    Unauthorized,
    Unavailable,
    error_of,
)
from stoker.kube.lease import Leadership
from stoker.kube.limits import RateLimit
from stoker.kube.resources import (
    ALL,
    CONFIG_MAP,
    NAMESPACE,
    NODE,
    PROMETHEUS,
    SECRET,
    Target,
    resource_of,
)
from stoker.kube.takeover import adopted, union

PEER = {"PrometheusOperator", "prometheus-operator"}


def entry(manager: str, operation: str, fields: Any, subresource: str = "") -> dict[str, Any]:
    """An entry of managedFields."""
    more = {"subresource": subresource} if subresource else {}
    return {
        "manager": manager,
        "operation": operation,
        "apiVersion": "apps/v1",
        "time": "2026-01-01T00:00:00Z",
        "fieldsType": "FieldsV1",
        "fieldsV1": fields,
        **more,
    }


def test_the_fields_of_an_update_become_applied_ones() -> None:
    """The peer's entry gets our name and operation; all others stay as they are."""
    kept = [
        entry("kubectl-edit", "Update", {"f:metadata": {}}),
        entry("PrometheusOperator", "Update", {"f:status": {}}, "status"),
    ]
    peer = entry("PrometheusOperator", "Update", {"f:spec": {}})
    expected = [entry("stoker", "Apply", {"f:spec": {}}), *kept]
    assert adopted([kept[0], peer, kept[1]], PEER, "stoker") == expected


def test_fields_are_merged_with_those_that_were_applied() -> None:
    """Also when both names of the peer and our own are there: one entry remains."""
    container: dict[str, Any] = {'k:{"name":"a"}': {".": {}, "f:image": {}}}
    found = adopted(
        [
            entry("prometheus-operator", "Update", {"f:spec": {"f:containers": container}}),
            entry("PrometheusOperator", "Update", {"f:spec": {"f:replicas": {}}}),
            entry("stoker", "Apply", {"f:spec": {"f:containers": {'k:{"name":"b"}': {".": {}}}}}),
        ],
        PEER,
        "stoker",
    )
    both = container | {'k:{"name":"b"}': {".": {}}}
    fields = {"f:spec": {"f:containers": both, "f:replicas": {}}}
    assert found == [entry("stoker", "Apply", fields)]


def test_nothing_is_done_when_nothing_is_the_peers() -> None:
    """None, so that nothing is written; the status alone is not the object."""
    assert adopted(None, PEER, "stoker") is None
    assert adopted([entry("stoker", "Apply", {})], PEER | {"stoker"}, "stoker") is None
    status = [entry("PrometheusOperator", "Update", {}, "status")]
    assert adopted(status, PEER, "stoker") is None
    assert adopted(status, PEER, "stoker", "status") == [entry("stoker", "Apply", {}, "status")]


def test_taking_over_changes_nothing_in_place() -> None:
    """The given entries may lie in a cache."""
    left: dict[str, Any] = {"f:spec": {"f:a": {}}}
    union(left, {"f:spec": {"f:b": {}}})
    assert left == {"f:spec": {"f:a": {}}}


def test_paths_are_made_and_read_back() -> None:
    """For namespaced resources, those of the cluster, subresources and custom resources."""
    assert SECRET.path("a", "b") == "/api/v1/namespaces/a/secrets/b"
    assert SECRET.path(None) == "/api/v1/secrets"
    assert NODE.path("ignored", "n") == "/api/v1/nodes/n"
    assert NAMESPACE.path(None, "n") == "/api/v1/namespaces/n"
    path = "/apis/monitoring.coreos.com/v1/namespaces/a/prometheuses/b/status"
    assert PROMETHEUS.path("a", "b", "status") == path
    assert Target.of(path).resource == "prometheuses.monitoring.coreos.com/status"
    assert Target.of(path).path == path
    assert Target.of("/api/v1/namespaces/n") == Target(version="v1", plural="namespaces", name="n")
    assert Target.of("/version") == Target()


def test_a_path_as_a_label_of_a_metric_has_no_names() -> None:
    """The number of series must not grow with that of objects."""
    target = Target.of(PROMETHEUS.path("a", "b", "status"))
    expected = "/apis/monitoring.coreos.com/v1/namespaces/{namespace}/prometheuses/{name}/status"
    assert target.template == expected


def test_a_name_stays_one_segment_of_a_path() -> None:
    """Names of Secrets are written by tenants."""
    assert SECRET.path("a", "b/../c?d#e") == "/api/v1/namespaces/a/secrets/b%2F..%2Fc%3Fd%23e"


def test_every_version_of_our_kinds_has_a_resource() -> None:
    """Each object that we may read or write finds its resource, and no two share a path."""
    for kind in KINDS:
        for version in kind.versions:
            obj = {"apiVersion": f"monitoring.coreos.com/{version.name}", "kind": kind.name}
            assert resource_of(obj).plural == kind.plural
    assert len({each.path(None) for each in ALL}) == len(ALL)
    with pytest.raises(LookupError, match="Gadget"):
        resource_of({"apiVersion": "v1", "kind": "Gadget"})


def test_verbs_are_those_of_rbac() -> None:
    """A missing role is named by verb and resource."""
    path = SECRET.path("a")
    assert Target.of(path).verb("GET") == "list"
    assert Target.of(path).verb("GET", {"watch": "1"}) == "watch"
    assert Target.of(path + "/b").verb("GET") == "get"
    assert Target.of(path).verb("POST") == "create"
    error = error_of("watch", PROMETHEUS.path("a"), {"code": 403, "message": "no"})
    assert isinstance(error, Forbidden)
    told = (error.verb, error.resource, error.namespace)
    assert told == ("watch", "prometheuses.monitoring.coreos.com", "a")


def test_an_error_event_of_a_watch_is_an_error_too() -> None:
    """410 in a watch comes as a Status object, not as an answer."""
    error = error_of("watch", SECRET.path(None), {"code": 410, "reason": "Expired", "message": "m"})
    assert isinstance(error, Gone)
    assert str(error) == "watch /api/v1/secrets: 410 Expired: m"


def test_a_burst_passes_and_what_follows_waits_in_turn() -> None:
    """Two at once, then one each hundredth of a second; the waiting is measured."""
    limits = RateLimit(100, 2, clock=lambda: 0.0)

    async def take() -> list[float]:
        return [await limits.take() for _ in range(4)]

    assert asyncio.run(take()) == pytest.approx([0, 0, 0.01, 0.02])
    assert limits.waits == 2
    assert limits.waited_seconds == pytest.approx(0.03)


def test_who_gives_up_waiting_leaves_the_token_to_others() -> None:
    """A cancelled request was not made."""
    limits = RateLimit(0.001, 1, clock=lambda: 0.0)

    async def give_up() -> None:
        await limits.take()
        for _ in range(3):
            with pytest.raises(TimeoutError):
                await asyncio.wait_for(limits.take(), 0.001)

    asyncio.run(give_up())
    assert limits.waited_seconds == pytest.approx(3000)


Handler = Callable[[web.Request], Awaitable[web.StreamResponse]]


def talk(
    handler: Handler, script: Callable[[Client], Awaitable[None]], **options: Any
) -> list[tuple[str, str, int]]:
    """Run a script against a server that answers as told; return what was observed.

    A real API server cannot be made to answer these things on demand.
    """
    seen: list[tuple[str, str, int]] = []

    async def run() -> None:
        app = web.Application()
        app.router.add_route("*", "/{any:.*}", handler)
        async with TestServer(app) as server:
            access = options.pop("access", Access)(str(server.make_url("")))
            observe = lambda *said: seen.append(said[:3])  # noqa: E731
            async with Client(access, observe=observe, **options) as client:
                await script(client)

    asyncio.run(run())
    return seen


def test_a_server_that_asks_for_patience_gets_it() -> None:
    """429 with Retry-After is repeated, and each attempt is observed."""
    answers = [429, 429, 200]

    async def busy(_: web.Request) -> web.Response:
        status = answers.pop(0)
        return web.json_response({"kind": "Status"}, status=status, headers={"Retry-After": "0"})

    async def script(client: Client) -> None:
        await client.get(CONFIG_MAP, "a", "b")

    template = "/api/v1/namespaces/{namespace}/configmaps/{name}"
    assert talk(busy, script) == [(template, "GET", status) for status in (429, 429, 200)]


@pytest.mark.parametrize(
    ("status", "after", "method", "attempts"),
    [
        (429, "0", "POST", 4),
        (503, "0", "PATCH", 4),
        (503, "0", "POST", 1),
        (503, None, "GET", 1),
        (429, "3600", "GET", 1),
        (500, None, "GET", 1),
    ],
)
def test_patience_has_an_end(status: int, after: str | None, method: str, attempts: int) -> None:
    """Only what the server asks for soon, and what may be done twice, is done again."""

    async def always(_: web.Request) -> web.Response:
        return web.Response(status=status, headers={"Retry-After": after} if after else {})

    async def script(client: Client) -> None:
        with pytest.raises((TooManyRequests, Unavailable)) as caught:
            await client.request(method, CONFIG_MAP.path("a"), body=b"{}")
        assert caught.value.retry_after == (float(after) if after else None)

    assert len(talk(always, script)) == attempts


class Renewing(Access):
    """An access whose second token is good."""

    tokens = ("old", "new")

    def __init__(self, server: str) -> None:
        super().__init__(server)
        self.left = list(self.tokens)

    async def headers(self) -> Any:
        """Show the token of now."""
        found = await super().headers()
        found["Authorization"] = self.left[0]
        return found

    def forget(self) -> None:
        """Go on to the next."""
        self.left = self.left[1:] or self.left


def test_credentials_that_were_refused_are_renewed_once() -> None:
    """A token rotated under us costs one more request; one that stays bad is an error."""

    async def strict(request: web.Request) -> web.Response:
        good = request.headers["Authorization"] == request.path[1:]
        return web.Response(status=200 if good else 401)

    async def script(client: Client) -> None:
        await client.request("GET", "/new")
        with pytest.raises(Unauthorized):
            await client.request("GET", "/newer")

    statuses = [status for _, _, status in talk(strict, script, access=Renewing)]
    assert statuses == [401, 200, 401, 401]


def test_no_answer_is_unavailable() -> None:
    """Silence and a broken connection are one kind of error."""

    async def odd(request: web.Request) -> web.StreamResponse:
        if request.path == "/broken":
            assert request.transport
            request.transport.close()
        await asyncio.sleep(30)
        return web.StreamResponse()

    async def script(client: Client) -> None:
        with pytest.raises(Unavailable, match="get /silent: no answer in time"):
            await client.request("GET", "/silent", timeout=0.05)
        with pytest.raises(Unavailable, match="create /broken"):
            await client.request("POST", "/broken", body=b"{}")

    talk(odd, script)


def test_what_goes_wrong_while_reading_a_stream_is_not_the_servers_fault() -> None:
    """An error of the reader passes through as it is."""

    async def short(_: web.Request) -> web.Response:
        return web.Response(body=b"one")

    async def script(client: Client) -> None:
        with pytest.raises(TimeoutError, match="mine"):
            async with client.stream("/stream") as _:
                raise TimeoutError("mine")

    talk(short, script)


def test_the_fence_is_asked_again_when_the_connection_stands() -> None:
    """Between the question and the writing, the process may have been stopped."""
    asked: list[int] = []
    served: list[str] = []

    async def count(request: web.Request) -> web.Response:
        served.append(request.method)
        return web.json_response({})

    def fence() -> None:
        asked.append(len(asked))
        if len(asked) in (2, 6):
            raise NotLeading("lost meanwhile")

    async def script(client: Client) -> None:
        client.fence = fence
        for held_back in (True, False, True):
            try:
                await client.merge_patch(CONFIG_MAP, "a", "b", {})
            except NotLeading:
                assert held_back
            else:
                assert not held_back
        await client.get(CONFIG_MAP, "a", "b")

    talk(count, script)
    assert served == ["PATCH", "GET"]
    assert len(asked) == 6


def test_a_write_that_was_held_back_leaves_no_connection_open() -> None:
    """The server sees the connection end, while the client lives on."""
    asked: list[bool] = []
    ended = asyncio.Event()

    async def wait_for_the_end(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        assert await reader.read() == b""
        writer.close()
        ended.set()

    def fence() -> None:
        asked.append(True)
        if len(asked) == 2:
            raise NotLeading("lost meanwhile")

    async def go() -> None:
        async with await asyncio.start_server(wait_for_the_end, "127.0.0.1", 0) as server:
            port = server.sockets[0].getsockname()[1]
            async with Client(Access(f"http://127.0.0.1:{port}")) as client:
                client.fence = fence
                with pytest.raises(NotLeading):
                    await client.merge_patch(CONFIG_MAP, "a", "b", {})
                await asyncio.wait_for(ended.wait(), 30)

    asyncio.run(go())


@pytest.mark.parametrize("name", ["", ".", "..", "a/b", "a%2fb"])
def test_a_name_that_no_object_can_have_is_not_found(name: str) -> None:
    """Nothing is asked: an empty name would name them all, and delete them."""

    async def script(client: Client) -> None:
        with pytest.raises(NotFound):
            await client.delete(SECRET, "a", name)
        with pytest.raises(NotFound):
            await client.get(SECRET, "a", name)

    async def never(_: web.Request) -> web.Response:
        raise AssertionError

    assert talk(never, script) == []


def test_an_answer_that_is_no_status_is_still_an_error() -> None:
    """A proxy between us and the server answers in its own words."""

    async def proxy(_: web.Request) -> web.Response:
        return web.Response(status=418, text="<html>teapot</html>")

    async def script(client: Client) -> None:
        with pytest.raises(ApiError, match="418: <html>teapot") as caught:
            await client.server_version()
        assert caught.value.status == 418

    talk(proxy, script)


@pytest.mark.parametrize("body", [b"<html>Log in</html>", b"[]", b"\xff", b""])
def test_an_answer_that_is_no_object_is_unavailable(body: bytes) -> None:
    """A proxy that wants a login answers with a page, and says that all is well."""

    async def proxy(_: web.Request) -> web.Response:
        return web.Response(body=body)

    async def script(client: Client) -> None:
        with pytest.raises(Unavailable, match="get /version: the answer is no object"):
            await client.server_version()
        contender = Leadership(client, "default", "one", "us")
        with pytest.raises(TimeoutError):
            async with asyncio.timeout(0.1):
                await contender.run()
        assert not contender.is_leading

    talk(proxy, script)


@pytest.mark.parametrize("body", [b"", b'{"items": [{"met', b"[]", b"<html>", b'{"items": 3}'])
def test_an_answer_that_is_not_whole_is_the_servers_fault(body: bytes) -> None:
    """It is tried again, and not told as a fault of our own."""
    with pytest.raises(Unavailable, match="the answer is no object"):
        answer_as(ListPage[Any], "GET", CONFIG_MAP.path("default"), body)
