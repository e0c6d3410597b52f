"""Values of Secrets that change while they are read."""

import asyncio
from itertools import pairwise
from typing import Any

import pytest

from stoker.cluster.values import Values
from stoker.kube.backoff import GRANT_SECONDS
from stoker.kube.errors import Unavailable, error_of
from stoker.ref import Ref
from stoker.select.assets import SECRET, Missing, Source
from tests.unit import virtual_time

KEY = Ref(SECRET, "shop", "login")
SOURCE = Source(SECRET, "shop", "login", "password")


class Server:
    """Answers each read with the state at the time of the question, when it is let."""

    def __init__(self) -> None:
        self.version = 1
        self.reads = 0
        self.answer = asyncio.Event()

    async def get(self, *_: object, **__: object) -> dict[str, Any]:
        """A Secret whose password is its version, after a while."""
        version = self.version
        self.reads += 1
        await self.answer.wait()
        return {
            "metadata": {"resourceVersion": str(version)},
            "data": {"password": _PASSWORDS[version], "picture": "//4="},
        }


_PASSWORDS = {1: "Zmlyc3Q=", 2: "c2Vjb25k"}


def test_a_change_that_is_told_before_the_answer_is_read() -> None:
    """The news of a change may overtake the answer to a read from before it."""

    async def read() -> tuple[object, int]:
        server = Server()
        values = Values(server, lambda _: False)  # type: ignore[arg-type]
        view = values.view()
        assert isinstance(view.value(SOURCE), Missing)
        loading = asyncio.create_task(values.load(view))
        await asyncio.sleep(0)
        await asyncio.sleep(0)
        server.version = 2
        values.changed(KEY, "2")
        server.answer.set()
        assert await loading == {KEY}
        return view.value(SOURCE), server.reads

    assert virtual_time.run(read()) == ("second", 2)


def test_what_nobody_refers_to_is_forgotten() -> None:
    """A password does not stay in memory for longer than it is needed."""

    async def read() -> int:
        server = Server()
        server.answer.set()
        values = Values(server, lambda _: False)  # type: ignore[arg-type]
        for referenced in (True, False):
            view = values.view()
            view.value(SOURCE)
            await values.load(view)
            values.keep_only(lambda _, kept=referenced: kept)  # type: ignore[misc]
        assert values.find(KEY) is None
        return server.reads

    assert virtual_time.run(read()) == 1


def test_an_object_can_be_had_whole() -> None:
    """With what is no text as bytes, which is of no use as a value."""

    async def read() -> tuple[object, object]:
        server = Server()
        server.answer.set()
        values = Values(server, lambda _: False)  # type: ignore[arg-type]
        view = values.view()
        assert view.all_of(KEY) == {}
        assert await values.load(view) == {KEY}
        return view.all_of(KEY), view.value(Source(KEY.kind, KEY.namespace, KEY.name, "picture"))

    whole, picture = virtual_time.run(read())
    assert whole == {"password": "first", "picture": b"\xff\xfe"}
    assert isinstance(picture, Missing)
    assert picture.object_exists


class Refusing:
    """Answers each read with the same refusal, for as long as it lasts."""

    def __init__(self, status: int) -> None:
        self.status = status
        self.asked: list[float] = []

    async def get(self, *_: object, **__: object) -> dict[str, Any]:
        """No Secret."""
        self.asked.append(asyncio.get_running_loop().time())
        raise error_of("get", "/api/v1/secrets", {"code": self.status, "message": "no"})


@pytest.mark.parametrize(
    ("status", "is_soon"), [(401, True), (409, True), (429, True), (503, True), (500, False)]
)
def test_what_the_server_says_of_the_moment_is_asked_again_soon(status: int, is_soon: bool) -> None:
    """What it says of this one object, as of one that it cannot decrypt, it may say for long."""

    async def longest() -> float:
        server = Refusing(status)
        values = Values(server, lambda _: False, lambda: KEY)  # type: ignore[arg-type]
        view = values.view()
        view.value(SOURCE)
        await values.load(view)
        await asyncio.sleep(300)
        values.keep_only(lambda _: False)
        return max(later - sooner for sooner, later in pairwise(server.asked))

    assert (virtual_time.run(longest()) <= GRANT_SECONDS) is is_soon


class Failing:
    """Fails soon for one Secret; a read of any other takes a while, also to end it."""

    async def get(self, _: object, __: str, name: str, **___: object) -> dict[str, Any]:
        """Nothing."""
        if name == "broken":
            await asyncio.sleep(1)
            raise Unavailable("get", name, "no answer in time")
        try:
            await asyncio.sleep(10)
        finally:
            await asyncio.sleep(10)
        return {"metadata": {"resourceVersion": "1"}}


def test_a_read_that_fails_leaves_nothing_behind() -> None:
    """Whoever reads is not taken for cancelled then, and would not outlive a real cancellation."""

    async def load() -> int:
        view = Values(Failing(), lambda _: False).view()  # type: ignore[arg-type]
        for name in ("broken", "slow"):
            view.all_of(Ref(SECRET, "shop", name))
        with pytest.raises(Unavailable):
            await view._values.load(view)
        task = asyncio.current_task()
        assert task
        return task.cancelling()

    async def cancelled() -> None:
        loading = asyncio.create_task(load())
        await asyncio.sleep(5)
        loading.cancel()
        with pytest.raises(asyncio.CancelledError):
            await loading

    assert virtual_time.run(load()) == 0
    virtual_time.run(cancelled())
