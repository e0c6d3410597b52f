"""What the writer remembers of objects, whatever comes in between."""

import asyncio
from collections.abc import Callable
from typing import Any

import pytest

from stoker.api.core import Object, ObjectMeta
from stoker.kube.errors import AlreadyExists, ApiError, Conflict, Forbidden, NotFound, Unavailable
from stoker.kube.resources import SECRET
from stoker.operator.writer import Writer
from stoker.ref import Ref
from tests.builders import thing
from tests.unit import virtual_time

WANTED: Object = thing("Secret", "config", data={"a": "1"})


class Server:
    """One Secret; `before_answer` happens after an apply and before its answer."""

    def __init__(self) -> None:
        self.live: Object | None = None
        self.version = 0
        self.calls: list[str] = []
        self.before_answer: Callable[[], None] = lambda: None
        self.refusal: ApiError | None = None

    async def get(self, *_: Any, **__: Any) -> Object:
        """The Secret."""
        self.calls.append("get")
        if self.live is None:
            raise NotFound("get", "/secret", "", status=404)
        return self.live

    async def make(self, wanted: Object, **_: Any) -> Object:
        """Make it, if it is not there; or say no. The metadata alone comes back."""
        if self.live is not None:
            self.calls.append("there")
            raise AlreadyExists("create", "/secret", "", status=409)
        if self.refusal:
            self.calls.append("refused")
            raise self.refusal
        return {"metadata": (await self._made("make", wanted))["metadata"]}

    async def replace(self, wanted: Object, **_: Any) -> Object:
        """Make it as wanted, if its version is the one that is named; or say no."""
        if self.refusal:
            self.calls.append("refused")
            raise self.refusal
        return await self._made("replace", wanted)

    async def apply(self, wanted: Object, **_: Any) -> Object:
        """Make it as wanted, if it is not there, or its version is the one that is named."""
        return await self._made("apply", wanted)

    async def _made(self, call: str, wanted: Object) -> Object:
        self.calls.append(call)
        named = wanted["metadata"].get("resourceVersion")
        if self.live is not None and named is not None and named != str(self.version):
            raise Conflict("patch", "/secret", "", status=409)
        self.version += 1
        metadata = wanted["metadata"] | {"resourceVersion": str(self.version)}
        self.live = answer = wanted | {"metadata": metadata}
        self.before_answer()
        await asyncio.sleep(0)
        return answer

    def touch(self) -> None:
        """Somebody else writes, and changes nothing of what we look at."""
        self.version += 1
        live = self.live or {"metadata": {}}
        self.live = live | {"metadata": live["metadata"] | {"resourceVersion": str(self.version)}}

    def current(self, _: Ref) -> ObjectMeta | None:
        """What a cache that is up to date would have."""
        if self.live is None:
            return None
        metadata = self.live["metadata"]
        return ObjectMeta(
            namespace="shop", name="config", resource_version=metadata["resourceVersion"]
        )


def made() -> tuple[Server, Writer]:
    """A writer, and what it writes to."""
    server = Server()
    return server, Writer(server, server.current)  # type: ignore[arg-type]


def test_an_object_that_is_right_is_not_asked_for_again() -> None:
    """As long as neither what is wanted nor the object changes, there is no request."""

    async def run() -> list[str]:
        server, writer = made()
        assert await writer.write(WANTED)
        assert not await writer.write(WANTED)
        return server.calls

    assert virtual_time.run(run()) == ["get", "apply"]


def test_an_object_that_was_read_ahead_is_compared_without_reading_it_again() -> None:
    """Once; the second time it is read anew."""

    async def run() -> list[str]:
        server, writer = made()
        await writer.write(WANTED)
        writer.forget_all()
        server.calls.clear()
        found = server.current(Ref("Secret", "shop", "config"))
        assert found
        with writer.reading_ahead([(SECRET, found)]):
            assert await writer.look(SECRET, "shop", "config") == server.live
            assert not await writer.write(WANTED)
        return server.calls

    assert virtual_time.run(run()) == ["get"]


def test_what_changes_after_it_was_read_ahead_is_looked_at_again() -> None:
    """Its version says so: nobody's change is taken for what was compared."""

    async def run() -> object:
        server, writer = made()
        await writer.write(WANTED)
        writer.forget_all()
        found = server.current(Ref("Secret", "shop", "config"))
        assert found
        with writer.reading_ahead([(SECRET, found)]):
            await writer.look(SECRET, "shop", "config")
            await server.apply(WANTED | {"data": {"a": "2"}})
            await writer.write(WANTED)
        assert await writer.write(WANTED)
        return (server.live or {})["data"]

    assert virtual_time.run(run()) == WANTED["data"]


def test_what_could_not_be_read_ahead_is_read_when_it_is_needed() -> None:
    """A failure of then is no failure of now."""

    async def run() -> list[str]:
        server, writer = made()
        metadata = ObjectMeta(namespace="shop", name="config")
        with writer.reading_ahead([(SECRET, metadata)]):
            await asyncio.sleep(1)
            assert await writer.write(WANTED)
        return server.calls

    assert virtual_time.run(run()) == ["get", "get", "apply"]


def test_other_data_replaces_without_reading_what_nobody_touched() -> None:
    """A configuration does not wait for a large Secret to be read first."""

    async def run() -> list[str]:
        server, writer = made()
        await writer.write(WANTED)
        server.calls.clear()
        assert await writer.write(WANTED | {"data": {"a": "2"}})
        return server.calls

    assert virtual_time.run(run()) == ["replace"]


@pytest.mark.parametrize(
    "refusal",
    [
        Forbidden("update", "/secret", "", status=403),
        Unavailable("update", "/secret", "unsupported media type", status=415),
    ],
)
def test_who_may_not_replace_applies(refusal: ApiError) -> None:
    """A role without the verb, or a server without the form, costs time and nothing else."""

    async def run() -> tuple[list[str], object]:
        server, writer = made()
        await writer.write(WANTED)
        server.calls.clear()
        server.refusal = refusal
        assert await writer.write(WANTED | {"data": {"a": "2"}})
        return server.calls, (server.live or {})["data"]

    assert virtual_time.run(run()) == (["refused", "get", "apply"], {"a": "2"})


def test_a_label_that_is_wanted_no_longer_is_removed_by_an_apply() -> None:
    """An update carries along what others added, and cannot tell that from what we did."""

    async def run() -> list[str]:
        server, writer = made()
        metadata = WANTED["metadata"]
        await writer.write(WANTED | {"metadata": metadata | {"labels": {"ours": "once"}}})
        server.calls.clear()
        assert await writer.write(WANTED | {"data": {"a": "2"}})
        return server.calls

    assert virtual_time.run(run()) == ["get", "apply"]


def test_a_touch_that_the_cache_does_not_show_yet_is_found() -> None:
    """The version is a precondition: where it does not hold, the object is read after all."""

    async def run() -> tuple[list[str], object]:
        server, writer = made()
        await writer.write(WANTED)
        stale = server.current(Ref("Secret", "shop", "config"))
        writer._checked._current = lambda _: stale
        server.touch()
        server.calls.clear()
        assert await writer.write(WANTED | {"data": {"a": "2"}})
        return server.calls, (server.live or {})["data"]

    assert virtual_time.run(run()) == (["replace", "get", "apply"], {"a": "2"})


def test_a_deletion_that_is_told_before_the_answer_is_not_forgotten() -> None:
    """Otherwise an object that is gone would be taken for right, for ever."""

    async def run() -> list[str]:
        server, writer = made()

        def deleted() -> None:
            server.live = None
            writer.forget("Secret", ObjectMeta(namespace="shop", name="config"))

        server.before_answer = deleted
        await writer.write(WANTED)
        server.before_answer = lambda: None
        server.calls.clear()
        assert await writer.write(WANTED)
        return server.calls

    assert virtual_time.run(run()) == ["get", "apply"]


def test_what_others_add_while_an_object_is_written_is_found() -> None:
    """An apply lands beside what was added since the object was read; it is not right then."""

    async def run() -> list[str]:
        server, writer = made()

        def changed_by_others() -> None:
            server.before_answer = lambda: None
            assert server.live
            server.live["data"] = {"a": "b3RoZXI="}

        server.before_answer = changed_by_others
        await writer.write(WANTED)
        assert server.live
        assert server.live["data"] == WANTED["data"]
        return server.calls

    assert virtual_time.run(run()) == ["get", "apply", "get", "apply"]


def test_two_who_want_the_same_object_write_it_once() -> None:
    """Workloads that share a Service are woken together when it is gone."""

    async def run() -> list[str]:
        server, writer = made()
        await asyncio.gather(writer.write(WANTED), writer.write(WANTED))
        return server.calls

    assert virtual_time.run(run()) == ["get", "apply"]


def stateful_set(**annotations: str) -> Object:
    """A StatefulSet whose pods have these annotations of kubectl."""
    named = {f"kubectl.kubernetes.io/{name}": value for name, value in annotations.items()}
    return {
        "apiVersion": "apps/v1",
        "kind": "StatefulSet",
        "metadata": {"namespace": "shop", "name": "config"},
        "spec": {"template": {"metadata": {"annotations": named}}},
    }


@pytest.mark.parametrize(
    ("live", "wanted", "calls"),
    [
        ({"restartedAt": "noon"}, {"restartedAt": "dawn"}, ["get"]),
        ({"restartedAt": "noon"}, {}, ["get"]),
        ({}, {"restartedAt": "dawn"}, ["get", "apply"]),
        ({"default-container": "more"}, {"default-container": "prometheus"}, ["get", "apply"]),
    ],
)
def test_a_restart_that_a_user_asked_for_is_not_undone(
    live: dict[str, str], wanted: dict[str, str], calls: list[str]
) -> None:
    """`kubectl rollout restart` says so with an annotation, which stands; others are ours."""

    async def run() -> list[str]:
        server, writer = made()
        there = stateful_set(**live)
        metadata = there["metadata"] | {"resourceVersion": "1"}
        server.live, server.version = there | {"metadata": metadata}, 1
        await writer.write(stateful_set(**wanted))
        return server.calls

    assert virtual_time.run(run()) == calls


# --- What is not there ----------------------------------------------------------------------------

LARGE: Object = WANTED | {"data": {"a": "x" * 100_000}}


def absent_from_the_caches(server: Server) -> Writer:
    """A writer whose caches say that nothing is there."""
    return Writer(server, server.current, absent=lambda _: True)  # type: ignore[arg-type]


def test_what_the_caches_know_to_be_missing_is_not_asked_for() -> None:
    """One request instead of two, for each object of a new workload."""

    async def run() -> list[str]:
        server = Server()
        assert await absent_from_the_caches(server).write(WANTED)
        return server.calls

    assert virtual_time.run(run()) == ["apply"]


@pytest.mark.parametrize(
    ("data", "calls"),
    [(WANTED["data"], ["apply", "get"]), ({"a": "theirs"}, ["apply", "get", "apply"])],
    ids=["as it should be", "something else"],
)
def test_what_the_caches_do_not_show_is_not_overwritten_unseen(
    data: Object, calls: list[str]
) -> None:
    """A leader before us may just have made it, or somebody else: it is read and compared first."""

    async def run() -> list[str]:
        server = Server()
        server.touch()
        server.touch()
        metadata = WANTED["metadata"] | {"resourceVersion": "2"}
        server.live = WANTED | {"metadata": metadata, "data": data}
        writer = Writer(server, lambda _: None, absent=lambda _: True)  # type: ignore[arg-type]
        await writer.write(WANTED)
        return server.calls

    assert virtual_time.run(run()) == calls


def test_what_was_looked_for_in_vain_is_not_asked_for_again() -> None:
    """Whether a set would be taken is asked before, and finds that it is not there."""

    async def run() -> list[str]:
        server, writer = made()
        with pytest.raises(NotFound):
            await writer.look(SECRET, "shop", "config")
        await writer.write(WANTED)
        server.live = None
        writer.forget_all()
        with pytest.raises(NotFound):
            await writer.look(SECRET, "shop", "config")
        await asyncio.sleep(2)
        await writer.write(WANTED)
        return server.calls

    assert virtual_time.run(run()) == ["get", "apply", "get", "get", "apply"]


def test_a_large_object_that_is_not_there_is_made_in_binary_form() -> None:
    """And is right then; a server that does not know the form gets an apply."""

    async def run(refusal: ApiError | None) -> list[str]:
        server, writer = made()
        server.refusal = refusal
        assert await writer.write(LARGE)
        assert not await writer.write(dict(LARGE))
        return server.calls

    assert virtual_time.run(run(None)) == ["get", "make"]
    unsupported = ApiError("create", "/secret", "", status=415)
    assert virtual_time.run(run(unsupported)) == ["get", "refused", "apply"]


def test_a_large_object_that_is_there_after_all_is_looked_at() -> None:
    """The caches may be late; what they do not show is not overwritten unseen."""

    async def run() -> tuple[list[str], Object | None]:
        server = Server()
        server.live = WANTED | {"metadata": WANTED["metadata"] | {"resourceVersion": "0"}}
        writer = Writer(server, lambda _: None, absent=lambda _: True)  # type: ignore[arg-type]
        assert await writer.write(LARGE)
        return server.calls, server.live

    calls, live = virtual_time.run(run())
    assert calls == ["there", "get", "apply"]
    assert live
    assert live["data"] == LARGE["data"]


def test_a_set_that_is_alone_is_not_tried_before_it_is_made() -> None:
    """It is refused when it is made, which keeps nothing else from being written."""

    async def run(*, alone: bool) -> list[str]:
        server, writer = made()
        await writer.check(WANTED, alone=alone)
        return server.calls

    assert virtual_time.run(run(alone=True)) == ["get"]
    assert virtual_time.run(run(alone=False)) == ["get", "apply"]
