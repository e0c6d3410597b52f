"""List and watch on a real API server, while connections, answers and servers fail.

Every test follows a resource with a `Follower`, which checks each change against those before it:
nothing told twice, nothing skipped. In the end it must know what the server has.
"""

import asyncio
import json
from collections.abc import AsyncIterator, Callable, Iterator
from contextlib import asynccontextmanager, suppress
from functools import partial
from pathlib import Path
from typing import Any, Generic, Literal, TypeVar

import msgspec
import pytest
from aiohttp import web
from msgspec.structs import replace

from stoker.api.core import Object, ObjectMeta
from stoker.api.declare import Model
from stoker.kube import access, report, transport, watch
from stoker.kube.changes import Key
from stoker.kube.client import Client
from stoker.kube.errors import ApiError, Forbidden, NotFound, Silent, Unavailable
from stoker.kube.reading import Head, Reader, typed
from stoker.kube.reflector import Reflector
from stoker.kube.report import LIST, WATCH
from stoker.kube.resources import CONFIG_MAP, SECRET, ApiResource
from stoker.kube.watch import WatchScope
from tests.live.faults import (
    Gateway,
    SecondServer,
    Slow,
    Wire,
    failing,
    silent_watches,
    status,
    without_streams,
)
from tools.api import Api, kubeconfig
from tools.api import ApiError as ToolError
from tools.cluster import Cluster

T = TypeVar("T")
DEADLINE = 120.0


class Follower(Generic[T]):
    """A reflector at work, and a mirror of its store that is made of changes alone."""

    def __init__(self, reflector: Reflector[T], key_of: Callable[[T], Key]) -> None:
        self.reflector = reflector
        self.store = reflector.store
        self.mirror: dict[Key, T] = {}
        self.deleted: list[Key] = []
        self.running = asyncio.create_task(reflector.run())
        self._key_of = key_of
        self.store.listen(self._changed)

    def _changed(self, old: T | None, new: T | None) -> None:
        found = old if new is None else new
        assert found is not None
        key = self._key_of(found)
        assert self.mirror.pop(key, None) is old
        if new is None:
            self.deleted.append(key)
        else:
            self.mirror[key] = new

    @property
    def names(self) -> set[str]:
        """The names of all objects."""
        assert {id(each) for each in self.store} == {id(each) for each in self.mirror.values()}
        return {key.name for key in self.mirror}

    async def until(self, condition: Callable[[], object]) -> None:
        """Wait until something holds."""
        async with asyncio.timeout(DEADLINE):
            while not condition():
                if self.running.done():
                    self.running.result()
                await asyncio.sleep(0.02)


def key_of(obj: Object) -> Key:
    """The key of a plain object."""
    return Key(obj["metadata"].get("namespace", ""), obj["metadata"]["name"])


@asynccontextmanager
async def following(
    path: Path,
    scope: WatchScope,
    read: Reader[Any] | None = None,
    *,
    namespaces: list[str] | None = None,
    key: Callable[[Any], Key] = key_of,
) -> AsyncIterator[Follower[Any]]:
    """Follow a resource by a kubeconfig."""
    async with Client(access.kubeconfig(path)) as client:
        reflector = Reflector(client, scope, read or msgspec.json.decode, namespaces=namespaces)
        follower = Follower(reflector, key)
        try:
            yield follower
        finally:
            follower.running.cancel()
            with suppress(asyncio.CancelledError):
                await follower.running


class ConfigMaps:
    """The ConfigMaps of one namespace, changed behind the back of whoever watches."""

    def __init__(self, api: Api, namespace: str, plural: str = "configmaps") -> None:
        self._api = api
        self._path = f"/api/v1/namespaces/{namespace}/{plural}"

    def create(self, *names: str, **data: str) -> None:
        """Create some, all with the same data."""
        for name in names:
            self._api.request("POST", self._path, {"metadata": {"name": name}, "data": data})

    def change(self, name: str, **data: str) -> None:
        """Give one other data."""
        found = self._api.get(f"{self._path}/{name}")
        found["data"] = data
        self._api.request("PUT", f"{self._path}/{name}", found)

    def delete(self, *names: str) -> None:
        """Delete some."""
        for name in names:
            self._api.request("DELETE", f"{self._path}/{name}")


@pytest.fixture(scope="session")
def list_asked(cluster: Cluster) -> list[str | None]:
    """`sendInitialEvents` of what is asked until there is a list; servers have streams since 1.32.

    One that has none says no to the first request, and is asked for pages ever after.
    """
    asked = "watch=1&sendInitialEvents=true&resourceVersionMatch=NotOlderThan&timeoutSeconds=1"
    nobody = "allowWatchBookmarks=true&fieldSelector=metadata.name=nobody"
    try:
        cluster.api.get(f"/api/v1/configmaps?{asked}&{nobody}")
    except ToolError:
        return ["true", None]
    except json.JSONDecodeError:
        # More than one line was written before the stream ended.
        return ["true"]
    return ["true"]


ROOT = "kube-root-ca.crt"
"""Every namespace gets this ConfigMap, when the controller manager finds the time."""


@pytest.fixture
def scope(cluster: Cluster, namespace: str) -> WatchScope:
    """The ConfigMaps of a namespace of the test's own, which nobody else changes any more."""
    path = f"/api/v1/namespaces/{namespace}/configmaps/{ROOT}"
    cluster.until("the namespace's own ConfigMap", lambda: cluster.api.get(path))
    return WatchScope(CONFIG_MAP, namespace, field_selector=f"metadata.name!={ROOT}")


@pytest.fixture
def maps(cluster: Cluster, scope: WatchScope) -> ConfigMaps:
    """The same ConfigMaps, for changes."""
    return ConfigMaps(cluster.api, scope.namespace or "")


@pytest.fixture
def wire(cluster: Cluster) -> Iterator[Wire]:
    """A wire to the API server that can be cut."""
    with Wire(cluster) as wire:
        yield wire


@pytest.fixture
def gateway(cluster: Cluster) -> Iterator[Gateway]:
    """A gateway to the API server that can answer wrongly."""
    with Gateway(cluster) as gateway:
        yield gateway


def on(fault: web.Response, times: int = 10**9, **query: str) -> Callable[[web.Request], Any]:
    """A fault for requests with such a query (`*`: any value), so many times."""
    left = iter(range(times))

    def decide(request: web.Request) -> web.Response | None:
        return _copy(fault) if asks(request, query) and next(left, None) is not None else None

    return decide


def asks(request: web.Request, query: dict[str, str]) -> bool:
    """Whether a request has such a query."""
    return all(
        request.query.get(name, "") == value or (value == "*" and name in request.query)
        for name, value in query.items()
    )


def _copy(answer: web.Response) -> web.Response:
    # An answer can be sent only once.
    return web.Response(status=answer.status, body=answer.body, headers=answer.headers.copy())


REFUSED = status(422, "Invalid", "sendInitialEvents is forbidden for watch")


def test_a_streamed_list_and_every_change_after_it(
    gateway: Gateway, scope: WatchScope, maps: ConfigMaps, list_asked: list[str | None]
) -> None:
    """One request gives the list, one the changes; each change has the old and the new object."""

    async def main() -> None:
        maps.create("a", "b")
        async with following(gateway.kubeconfig, scope) as follower:
            await follower.reflector.ready()
            assert follower.names == {"a", "b"}
            maps.create("c")
            maps.change("a", x="1")
            maps.delete("b")
            await follower.until(lambda: follower.deleted)
            assert follower.names == {"a", "c"}
            changed = follower.store.get(scope.namespace or "", "a")
            assert changed
            assert changed["data"] == {"x": "1"}
            assert follower.reflector.troubles == []
        assert [url.query.get("sendInitialEvents") for url in gateway.seen] == [*list_asked, None]

    asyncio.run(main())


def test_a_server_that_does_not_stream_lists_is_asked_for_pages(
    gateway: Gateway, scope: WatchScope, maps: ConfigMaps, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The list is complete over several pages, and the watch begins where it ended."""
    monkeypatch.setattr(watch, "PAGE_SIZE", 2)
    gateway.fault = on(REFUSED, sendInitialEvents="true")

    async def main() -> None:
        maps.create(*"abcde")
        async with following(gateway.kubeconfig, scope) as follower:
            await follower.reflector.ready()
            assert follower.names == set("abcde")
            maps.create("f")
            await follower.until(lambda: follower.names == set("abcdef"))
            assert follower.reflector.troubles == []
        assert len([url for url in gateway.seen if "continue" in url.query]) == 2

    asyncio.run(main())


def test_pages_that_the_server_has_forgotten_are_listed_again(
    gateway: Gateway, scope: WatchScope, maps: ConfigMaps, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A 410 in the middle of a list begins it anew: no object is missing, none is told twice."""
    monkeypatch.setattr(watch, "PAGE_SIZE", 2)
    refuse = on(REFUSED, sendInitialEvents="true")
    forget = on(status(410, "Expired"), times=1, **{"continue": "*"})
    gateway.fault = lambda request: refuse(request) or forget(request)

    async def main() -> None:
        maps.create(*"abcde")
        async with following(gateway.kubeconfig, scope) as follower:
            await follower.reflector.ready()
            assert follower.names == set("abcde")
            [report] = follower.reflector.reports
            assert (report.attempts[LIST], report.failures[LIST]) == (3, 0)

    asyncio.run(main())


def test_what_happened_while_the_connection_was_cut_is_noticed(
    wire: Wire, scope: WatchScope, maps: ConfigMaps, list_asked: list[str | None]
) -> None:
    """The watch goes on where it was: deletions, changes and new objects arrive, once each."""

    async def main() -> None:
        maps.create("gone", "changed", "kept")
        async with following(wire.kubeconfig, scope) as follower:
            await follower.reflector.ready()
            wire.refuse()
            maps.delete("gone")
            maps.change("changed", x="1")
            maps.create("new")
            wire.accept()
            await follower.until(lambda: follower.names == {"changed", "kept", "new"})
            assert [key.name for key in follower.deleted] == ["gone"]
            [report] = follower.reflector.reports
            assert report.attempts[LIST] == len(list_asked)

    asyncio.run(main())


def test_an_object_deleted_while_the_server_forgot_is_noticed(
    cluster: Cluster,
    gateway: Gateway,
    scope: WatchScope,
    maps: ConfigMaps,
    list_asked: list[str | None],
) -> None:
    """A watch that cannot go on (410) lists again, and what is missing there is deleted."""

    async def main() -> None:
        maps.create("gone", "kept")
        with Wire(cluster, gateway.url) as cut:
            async with following(cut.kubeconfig, scope) as follower:
                await follower.until(
                    lambda: any("resourceVersion" in url.query for url in gateway.seen)
                )
                kept = follower.store.get(scope.namespace or "", "kept")
                cut.refuse()
                gateway.fault = on(status(410, "Expired"), times=1, resourceVersion="*")
                maps.delete("gone")
                cut.accept()
                await follower.until(lambda: follower.deleted)
                assert follower.names == {"kept"}
                assert follower.store.get(scope.namespace or "", "kept") is kept
                [report] = follower.reflector.reports
                assert report.attempts[LIST] == len(list_asked) + 1

    asyncio.run(main())


def test_a_held_connection_delivers_when_it_is_released(
    wire: Wire, scope: WatchScope, maps: ConfigMaps
) -> None:
    """A short silence is not an end: what was held back arrives, without a new request."""

    async def main() -> None:
        async with following(wire.kubeconfig, scope) as follower:
            await follower.reflector.ready()
            maps.create("early")
            await follower.until(lambda: follower.names == {"early"})
            # A list that was streamed was left, and its connection with it.
            connections = wire.accepted
            wire.hold()
            maps.create("late")
            await asyncio.sleep(0.2)
            assert follower.names == {"early"}
            wire.release()
            await follower.until(lambda: follower.names == {"early", "late"})
        assert wire.accepted == connections

    asyncio.run(main())


SHORT = {
    "WATCH_SECONDS": (2, 2),
    "LATE_SECONDS": 1.0,
    "STALLED_SECONDS": 1.0,
    "LIST_SECONDS": 3,
    "PAGE_SECONDS": 1.0,
}
STREAMED = {"sendInitialEvents": "true"}
WATCHED = {"resourceVersion": "*"}
PAGED = {"limit": "*"}
HALF_A_LINE = 40


@pytest.fixture
def short_lives(monkeypatch: pytest.MonkeyPatch) -> None:
    """Nobody is waited for as long as in life."""
    for name, value in SHORT.items():
        monkeypatch.setattr(watch, name, value)
    monkeypatch.setattr(report, "BLIND_SECONDS", 5.0)


@pytest.mark.parametrize(
    ("asked", "way"),
    [
        (WATCHED, Slow),
        (WATCHED, partial(Slow, HALF_A_LINE)),
        (WATCHED, partial(Slow, HALF_A_LINE, 0.1)),
        (STREAMED, Slow),
        (STREAMED, partial(Slow, HALF_A_LINE)),
        (STREAMED, partial(Slow, HALF_A_LINE, 0.1)),
        (PAGED, Slow),
        (PAGED, partial(Slow, HALF_A_LINE)),
        (PAGED, partial(Slow, HALF_A_LINE, 0.1)),
    ],
)
@pytest.mark.usefixtures("short_lives")
def test_an_answer_that_does_not_go_on_is_replaced(
    gateway: Gateway,
    scope: WatchScope,
    maps: ConfigMaps,
    asked: dict[str, str],
    way: Callable[[], Slow],
) -> None:
    """Silent from its beginning, in the middle of an object, or a few bytes at a time.

    Whether it is a watch or a list: two such answers in a row are told of, also if each of them
    begins well, and with the first good one all is known that happened meanwhile.
    """
    if asked is PAGED:
        gateway.fault = on(REFUSED, sendInitialEvents="true")
    left = iter(range(2))

    def slow(request: web.Request) -> Slow | None:
        return way() if asks(request, asked) and next(left, None) is not None else None

    async def main() -> None:
        maps.create("first", "gone")
        async with following(gateway.kubeconfig, scope) as follower:
            if asked is WATCHED:
                await follower.reflector.ready()
            gateway.slow = slow
            maps.delete("gone")
            maps.create("late")
            [found] = follower.reflector.reports
            troubles: list[ApiError | None] = []

            def are_known() -> bool:
                troubles.append(found.trouble)
                return follower.names == {"first", "late"}

            await follower.until(are_known)
            if asked is not STREAMED:
                # A list that does not come as a stream is soon asked for in pages.
                assert any(isinstance(each, Unavailable) for each in troubles)
            await follower.until(lambda: found.trouble is None and not found.is_blind)

    asyncio.run(main())


@pytest.mark.usefixtures("short_lives")
def test_a_no_whose_reasons_never_come_is_asked_for_again(
    gateway: Gateway, scope: WatchScope, monkeypatch: pytest.MonkeyPatch
) -> None:
    """It is no answer yet, and to wait for it would be to wait for ever."""
    monkeypatch.setattr(transport, "BEGIN_SECONDS", 1.0)
    left = iter(range(2))
    gateway.slow = lambda _request: Slow() if next(left, None) is not None else None
    wrong = replace(scope, field_selector="data.none=such")

    async def main() -> None:
        async with following(gateway.kubeconfig, wrong) as follower:
            [found] = follower.reflector.reports
            await follower.until(lambda: isinstance(found.trouble, Unavailable))
            await follower.until(lambda: found.trouble and found.trouble.status == 400)

    asyncio.run(main())


@pytest.mark.usefixtures("short_lives")
def test_a_watch_that_only_begins_is_blind(
    gateway: Gateway, scope: WatchScope, maps: ConfigMaps
) -> None:
    """That it is answered proves nothing; it is believed again when it says something."""

    async def main() -> None:
        async with following(gateway.kubeconfig, scope) as follower:
            await follower.reflector.ready()
            [found] = follower.reflector.reports
            gateway.slow = silent_watches("configmaps")

            def blind() -> bool:
                return found.is_blind and isinstance(found.trouble, Silent)

            await follower.until(blind)
            begun = found.attempts[WATCH]
            await follower.until(lambda: found.attempts[WATCH] > begun + 2)
            assert blind()
            gateway.slow = lambda _request: None
            maps.create("late")
            await follower.until(lambda: follower.names == {"late"})
            assert not blind()
            assert found.trouble is None

    asyncio.run(main())


def test_connections_cut_again_and_again_lose_nothing(
    wire: Wire, scope: WatchScope, maps: ConfigMaps
) -> None:
    """Half lines, half lists and broken watches add up to what the server has."""

    async def main() -> None:
        maps.create("first", x="1" * 100_000)
        async with following(wire.kubeconfig, scope) as follower:
            for number in range(15):
                wire.cut()
                maps.create(f"n{number}", x="1" * 100_000)
                await asyncio.sleep(0.03 * (number % 4))
            maps.delete("first")
            await follower.until(lambda: follower.names == {f"n{number}" for number in range(15)})

    asyncio.run(main())


def test_requests_that_fail_now_and_then_only_delay(
    gateway: Gateway, scope: WatchScope, maps: ConfigMaps, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Every other request is answered with 503, and watches last a second; all arrives."""
    monkeypatch.setattr(watch, "WATCH_SECONDS", (1, 1))
    gateway.fault = failing(0.5)

    async def main() -> None:
        async with following(gateway.kubeconfig, scope) as follower:
            for number in range(12):
                maps.create(f"n{number}")
                await asyncio.sleep(0.2)
            await follower.until(lambda: len(follower.names) == 12)
            [report] = follower.reflector.reports
            assert sum(report.failures.values()) > 0
            await follower.until(lambda: not follower.reflector.troubles)

    asyncio.run(main())


def test_bookmarks_move_a_quiet_watch_on(
    gateway: Gateway, scope: WatchScope, cluster: Cluster, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A watch on which nothing happens still resumes from a version that the server knows."""
    monkeypatch.setattr(watch, "WATCH_SECONDS", (3, 3))

    def resumed() -> list[int]:
        # A list has none, whether it comes as a stream or, from an older server, in pages.
        versions = (url.query.get("resourceVersion") for url in gateway.seen)
        return [int(version) for version in versions if version]

    async def main() -> None:
        async with following(gateway.kubeconfig, scope) as follower:
            await follower.reflector.ready()
            await follower.until(resumed)
            elsewhere = ConfigMaps(cluster.api, "default")

            def moves_on() -> bool:
                # A watch so short has one bookmark, soon: what comes later is for the next watch.
                elsewhere.create("bookmark")
                elsewhere.delete("bookmark")
                return resumed()[-1] > resumed()[0]

            await follower.until(moves_on)
            assert follower.names == set()

    asyncio.run(main())


def test_a_restarted_server_is_listed_again_and_nothing_is_missed(open_cluster: Cluster) -> None:
    """The new process has forgotten old versions; deletions meanwhile are still noticed."""
    maps = ConfigMaps(open_cluster.api, "default")
    scope = WatchScope(CONFIG_MAP, "default", field_selector=f"metadata.name!={ROOT}")

    async def main(server: SecondServer) -> None:
        async with following(server.kubeconfig, scope) as follower:
            await follower.reflector.ready()
            assert follower.names == {"gone", "kept"}
            server.kill()
            maps.delete("gone")
            maps.create("new")
            await follower.until(lambda: follower.reflector.troubles)
            await asyncio.to_thread(server.start)
            await follower.until(lambda: follower.names == {"kept", "new"})
            assert [key.name for key in follower.deleted] == ["gone"]
            await follower.until(lambda: not follower.reflector.troubles)
            maps.create("after")
            await follower.until(lambda: "after" in follower.names)

    maps.create("gone", "kept")
    with SecondServer(open_cluster) as server:
        asyncio.run(main(server))


def test_a_server_without_streamed_lists_is_followed(open_cluster: Cluster) -> None:
    """The real refusal of a real server: its feature is off, or it is too old to have it."""
    scope = WatchScope(CONFIG_MAP, "kube-system")

    async def main(server: SecondServer) -> None:
        async with following(server.kubeconfig, scope) as follower:
            await follower.reflector.ready()
            [report] = follower.reflector.reports
            assert (report.attempts[LIST], report.failures[LIST]) == (2, 0)
            assert len(follower.names) > 0

    with SecondServer(open_cluster, *without_streams(open_cluster)) as server:
        asyncio.run(main(server))


class Choosy(Model):
    """A ConfigMap that has only good data, or does not fit."""

    metadata: ObjectMeta = ObjectMeta()
    data: dict[str, Literal["good"]] | None = None


def head_key(head: Head | Choosy) -> Key:
    """The key of a typed object."""
    return Key(head.metadata.namespace or "", head.metadata.name or "")


@pytest.mark.parametrize("streams", [True, False])
def test_an_object_that_does_not_fit_is_set_aside(
    gateway: Gateway, scope: WatchScope, maps: ConfigMaps, *, streams: bool
) -> None:
    """It is named with what is wrong; its last good state stays, and the others live."""
    if not streams:
        gateway.fault = on(REFUSED, sendInitialEvents="true")
    bad, turned = (Key(scope.namespace or "", name) for name in ("bad", "turned"))

    async def main() -> None:
        maps.create("bad", x="evil")
        maps.create("turned", "fine", x="good")
        async with following(gateway.kubeconfig, scope, typed(Choosy), key=head_key) as follower:

            def unreadable() -> set[Key]:
                return set(follower.reflector.unreadable)

            await follower.reflector.ready()
            assert follower.names == {"turned", "fine"}
            assert unreadable() == {bad}
            assert "data" in str(follower.reflector.unreadable[bad])
            maps.change("turned", x="evil")
            await follower.until(lambda: unreadable() == {bad, turned})
            assert follower.names == {"turned", "fine"}
            maps.change("bad", x="good")
            await follower.until(lambda: "bad" in follower.names)
            maps.delete("turned")
            await follower.until(lambda: "turned" not in follower.names)
            assert unreadable() == set()

    asyncio.run(main())


@pytest.mark.parametrize("streams", [True, False])
def test_metadata_of_secrets_comes_without_their_data(
    gateway: Gateway, cluster: Cluster, namespace: str, *, streams: bool
) -> None:
    """The data does not even leave the API server, neither in lists nor in watches."""
    if not streams:
        gateway.fault = on(REFUSED, sendInitialEvents="true")
    secrets = ConfigMaps(cluster.api, namespace, "secrets")
    received: list[bytes] = []

    def read(raw: Any) -> Head:
        received.append(bytes(raw))
        return typed(Head)(raw)

    async def main() -> None:
        secrets.create("before", key="aHVudGVyMg==")
        scope = WatchScope(SECRET, namespace, metadata_only=True)
        async with following(gateway.kubeconfig, scope, read, key=head_key) as follower:
            await follower.reflector.ready()
            secrets.create("after", key="aHVudGVyMg==")
            await follower.until(lambda: follower.names == {"before", "after"})
            secrets.change("after", key="aHVudGVyMw==")
            await follower.until(lambda: len(received) == 3)
        assert {json.loads(text)["kind"] for text in received} == {"PartialObjectMetadata"}
        assert not [text for text in received if b"aHVudGVy" in text]

    asyncio.run(main())


def test_only_the_namespaces_that_were_named_are_watched(
    cluster: Cluster, new_namespace: Callable[[], str]
) -> None:
    """Each of them has its own watch; together they fill one store."""
    one, two, other = (new_namespace() for _ in range(3))

    async def main() -> None:
        for namespace in (one, two, other):
            ConfigMaps(cluster.api, namespace).create(f"in-{namespace}")
        scope = WatchScope(CONFIG_MAP, field_selector=f"metadata.name!={ROOT}")
        async with following(cluster.kubeconfig, scope, namespaces=[one, two]) as follower:
            await follower.reflector.ready()
            assert follower.names == {f"in-{one}", f"in-{two}"}
            ConfigMaps(cluster.api, other).create("unseen")
            ConfigMaps(cluster.api, two).create("seen")
            await follower.until(lambda: "seen" in follower.names)
            assert "unseen" not in follower.names

    asyncio.run(main())


@pytest.fixture
def stranger(cluster: Cluster, tmp_path: Path) -> Path:
    """A kubeconfig of someone who may do nothing."""
    document = json.loads(kubeconfig(cluster.url, cluster.token, cluster.ca_file))
    document["users"][0]["user"]["as"] = "stranger"
    path = tmp_path / "kubeconfig"
    path.write_text(json.dumps(document))
    return path


def test_a_missing_role_is_named_and_its_arrival_noticed(
    cluster: Cluster, stranger: Path, scope: WatchScope, maps: ConfigMaps
) -> None:
    """The trouble says verb and resource; nobody has to restart anything when it is mended."""
    rules = [{"apiGroups": [""], "resources": ["configmaps"], "verbs": ["list", "watch"]}]
    base = f"/apis/rbac.authorization.k8s.io/v1/namespaces/{scope.namespace}"

    def grant() -> None:
        cluster.api.request("POST", f"{base}/roles", {"metadata": {"name": "r"}, "rules": rules})
        subject = {"kind": "User", "apiGroup": "rbac.authorization.k8s.io", "name": "stranger"}
        role = {"kind": "Role", "apiGroup": "rbac.authorization.k8s.io", "name": "r"}
        binding = {"metadata": {"name": "r"}, "roleRef": role, "subjects": [subject]}
        cluster.api.request("POST", f"{base}/rolebindings", binding)

    async def main() -> None:
        maps.create("a")
        async with following(stranger, scope) as follower:
            await follower.reflector.settled()
            [trouble] = follower.reflector.troubles
            assert isinstance(trouble, Forbidden)
            assert (trouble.verb, trouble.resource) == (WATCH, "configmaps")
            assert not follower.store.ready.is_set()
            grant()
            await follower.reflector.ready()
            assert follower.names == {"a"}
            assert follower.reflector.troubles == []

    asyncio.run(main())


def test_a_resource_that_does_not_exist_yet_is_waited_for(cluster: Cluster) -> None:
    """A definition that is installed later is found without a restart."""
    schema = {"type": "object", "x-kubernetes-preserve-unknown-fields": True}
    version = {"name": "v1", "served": True, "storage": True, "schema": {"openAPIV3Schema": schema}}
    names = {"plural": "kettles", "kind": "Kettle"}
    definition = {
        "apiVersion": "apiextensions.k8s.io/v1",
        "kind": "CustomResourceDefinition",
        "metadata": {"name": "kettles.example.com"},
        "spec": {
            "group": "example.com",
            "names": names,
            "scope": "Namespaced",
            "versions": [version],
        },
    }
    path = "/apis/apiextensions.k8s.io/v1/customresourcedefinitions"

    async def main() -> None:
        scope = WatchScope(ApiResource("example.com", "v1", "kettles", "Kettle"))
        async with following(cluster.kubeconfig, scope) as follower:
            await follower.reflector.settled()
            [trouble] = follower.reflector.troubles
            assert isinstance(trouble, NotFound)
            cluster.api.request("POST", path, definition)
            await follower.reflector.ready()
            assert follower.names == set()

    try:
        asyncio.run(main())
    finally:
        cluster.api.request("DELETE", f"{path}/kettles.example.com")
