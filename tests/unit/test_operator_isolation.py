"""A Secret that cannot be read concerns those alone who refer to it."""

import asyncio
from collections import Counter
from collections.abc import Awaitable, Callable
from collections.abc import Set as AbstractSet
from typing import Any

import pytest

from stoker.api.monitors import ServiceMonitor
from stoker.api.prometheus import Prometheus
from stoker.cluster.content import Content
from stoker.cluster.turns import Lanes
from stoker.cluster.values import Values, is_name
from stoker.errors import WorkloadError
from stoker.kube.backoff import GRANT_SECONDS
from stoker.kube.client import answer_as
from stoker.kube.errors import ApiError, Forbidden, NotFound, Unavailable, error_of
from stoker.operator.changes import Changes
from stoker.operator.held import Held
from stoker.ref import Ref
from stoker.select.assets import SECRET, Missing, Source
from stoker.settings import Capabilities
from stoker.validate.findings import Reason
from tests.builders import endpoints, typed
from tests.unit.virtual_time import run

OWN = Ref(SECRET, "home", "own")
PATH = "/api/v1/namespaces/shop/secrets/bad"
Answer = Callable[[], Awaitable[dict[str, Any]]]


def well(text: str = "d2VsbA==", version: str = "1") -> Answer:
    """A Secret whose token is this, as base64."""

    async def answer() -> dict[str, Any]:
        return {"metadata": {"resourceVersion": version}, "data": {"token": text}}

    return answer


def failed(error: Exception) -> Answer:
    """A failure."""

    async def answer() -> dict[str, Any]:
        raise error

    return answer


def late(seconds: float) -> Answer:
    """A good answer after a while."""

    async def answer() -> dict[str, Any]:
        await asyncio.sleep(seconds)
        return await well()()

    return answer


def body(text: bytes) -> Answer:
    """The answer with this body."""

    async def answer() -> dict[str, Any]:
        return answer_as(dict[str, Any], "GET", PATH, text)

    return answer


def refused(code: int, reason: str = "") -> Exception:
    """What a server says no with; its words hold what nobody should read."""
    said = {"code": code, "reason": reason, "message": "hunter2"}
    return error_of("get", PATH, said)


def timed_out() -> Exception:
    """No answer in time."""
    error = Unavailable("get", PATH, "no answer in time")
    error.__cause__ = TimeoutError()
    return error


FAULTS: dict[str, Answer] = {
    "400": failed(refused(400, "BadRequest")),
    "401": failed(refused(401, "Unauthorized")),
    "409": failed(refused(409, "Conflict")),
    "410": failed(refused(410, "Gone")),
    "414": failed(refused(414)),
    "422": failed(refused(422, "Invalid")),
    "429": failed(refused(429, "TooManyRequests")),
    "431": failed(refused(431)),
    "500": failed(refused(500, "InternalError")),
    "503": failed(refused(503, "ServiceUnavailable")),
    "504": failed(refused(504, "Timeout")),
    "time": failed(timed_out()),
    "reset": failed(Unavailable("get", PATH, "ClientOSError: reset")),
    "half": failed(Unavailable("get", PATH, "ClientPayloadError: hunter2")),
    "garbage": body(b"\x00\xff{"),
    "empty": body(b""),
    "login page": body(b"<html>log in as hunter2</html>"),
    "a list": body(b"[]"),
    "another object": body(b'{"kind": "Status", "message": "hunter2"}'),
    "bad base64": well("hunter2!"),
    "no text": body(b'{"metadata": {}, "data": {"token": 3}}'),
    "unforeseen": failed(RuntimeError("hunter2")),
    "never": late(100_000),
}


class Server:
    """Has a Secret for each name, with the answer that it gives now."""

    def __init__(self, **answers: Answer) -> None:
        self.answers = answers
        self.asked: list[str] = []

    async def get(self, _: object, __: str, name: str, **___: object) -> dict[str, Any]:
        """The Secret of this name."""
        self.asked.append(name)
        return await self.answers.get(name, well())()


def key(name: str) -> Ref:
    """A monitor."""
    return Ref("ServiceMonitor", "shop", name)


def monitor(each: Ref) -> ServiceMonitor:
    """A monitor that needs the Secret of its own name."""
    token = {"name": each.name, "key": "token"}
    endpoint = {"port": "web", "bearerTokenSecret": token}
    return typed(ServiceMonitor, each.name[:40], endpoints(endpoint))


def prometheus(**spec: Any) -> Prometheus:
    """A Prometheus."""
    return typed(Prometheus, "main", spec)


class World:
    """A workload with monitors, and an API server."""

    def __init__(self, **answers: Answer) -> None:
        self.server = Server(**answers)
        self.values = Values(
            self.server,  # type: ignore[arg-type]
            lambda _: False,
            lambda: OWN,
            lambda each: not each.name.startswith("absent"),
        )
        self.held = Held(self.values, monitor, Capabilities())
        self.arrived: list[str] = []
        self.values.listen(self.held.refers_to, lambda found: self.arrived.append(found.name))

    async def refresh(
        self,
        *names: str,
        values: AbstractSet[str] = frozenset(),
        **spec: Any,
    ) -> dict[str, bool]:
        """Take up monitors of these names; which are accepted."""
        members = frozenset(map(key, names))
        noted = {Ref(SECRET, "shop", name) for name in values}
        changes = Changes(bool(spec), True, resources=set(members), values=noted)
        kept = await self.held.refresh(prometheus(**spec), changes, members)
        return {found.name: each.accepted for found, each in kept.verdicts.items()}

    def changed(self, name: str, version: str) -> None:
        """The watch tells of a Secret."""
        self.values.changed(Ref(SECRET, "shop", name), version)


@pytest.mark.parametrize("fault", FAULTS)
def test_one_secret_that_cannot_be_read_concerns_who_names_it(fault: str) -> None:
    """The others are reconciled; it says why, in words that hold nothing of an answer."""

    async def main() -> None:
        world = World(bad=FAULTS[fault])
        assert await world.refresh("bad", "good") == {"bad": False, "good": True}
        assert world.held.kept is not None
        verdict = world.held.kept.verdicts[key("bad")]
        assert "shop/bad cannot be read: the API server" in verdict.message
        assert "hunter2" not in verdict.message
        assert {each.reason for each in verdict.findings} == {Reason.NOT_READABLE}

    run(main())


@pytest.mark.parametrize("fault", FAULTS)
def test_a_value_that_was_read_stays_while_it_cannot_be_read_again(fault: str) -> None:
    """A job that works is not dropped for a fault of the server; and the new value comes."""

    async def main() -> None:
        world = World()
        assert await world.refresh("bad", "good") == {"bad": True, "good": True}
        world.server.answers["bad"] = FAULTS[fault]
        world.changed("bad", "2")
        assert await world.refresh("bad", "good", values={"bad"}) == {"bad": True, "good": True}
        assert world.held.kept is not None
        assert "bearer_token: well" in world.held.kept.text()
        outdated = dict(world.values.outdated())
        assert "hunter2" not in outdated.pop(Ref(SECRET, "shop", "bad"))
        assert not outdated
        if fault == "never":
            return
        world.server.answers["bad"] = well("bmV3", "2")
        await asyncio.sleep(61)
        assert world.arrived == ["bad"]
        await world.refresh("bad", "good", values={"bad"})
        assert "bearer_token: new" in world.held.kept.text()
        assert not dict(world.values.outdated())

    run(main())


def test_what_could_not_be_read_comes_back_by_itself() -> None:
    """It is tried again, at least once a minute, and less and less often."""

    async def main() -> None:
        world = World(bad=FAULTS["500"])
        await world.refresh("bad", "good")
        before = len(world.server.asked)
        await asyncio.sleep(600)
        assert 10 <= len(world.server.asked) - before <= 40
        assert world.arrived == []
        world.server.answers["bad"] = well()
        await asyncio.sleep(61)
        assert world.arrived == ["bad"]
        assert await world.refresh("bad", "good", values={"bad"}) == {"bad": True, "good": True}
        before = len(world.server.asked)
        await asyncio.sleep(600)
        assert len(world.server.asked) == before

    run(main())


@pytest.mark.parametrize("fault", ["503", "504", "reset"])
def test_after_a_server_was_away_values_are_read_soon(fault: str) -> None:
    """However long it was away: nobody tells that it is back."""

    async def main() -> None:
        world = World(bad=FAULTS[fault])
        await world.refresh("bad", "good")
        await asyncio.sleep(600)
        world.server.answers["bad"] = well()
        await asyncio.sleep(GRANT_SECONDS + 0.1)
        assert world.arrived == ["bad"]

    run(main())


def test_what_nobody_wants_any_longer_is_not_tried_again() -> None:
    """And a Secret that is deleted is not waited for."""

    async def main() -> None:
        world = World(bad=FAULTS["500"], gone=FAULTS["500"])
        await world.refresh("bad", "gone", "good")
        world.server.answers["gone"] = failed(NotFound("get", PATH, "", status=404))
        world.changed("gone", "")
        found = await world.refresh("gone", "good", values={"gone"})
        assert found == {"gone": False, "good": True}
        assert world.held.kept is not None
        said = world.held.kept.verdicts[key("gone")].message
        assert "there is no Secret shop/gone" in said
        await asyncio.sleep(120)
        before = len(world.server.asked)
        await asyncio.sleep(600)
        assert len(world.server.asked) == before

    run(main())


def test_who_may_not_be_read_any_longer_is_not_used() -> None:
    """A permission that was taken away is no fault of the server."""

    async def main() -> None:
        world = World()
        await world.refresh("bad")
        world.server.answers["bad"] = failed(Forbidden("get", PATH, "no", status=403))
        world.changed("bad", "2")
        assert await world.refresh("bad", values={"bad"}) == {"bad": False}
        assert world.held.awaits_permission
        world.server.answers["bad"] = well()
        await asyncio.sleep(GRANT_SECONDS)
        assert await world.refresh("bad") == {"bad": True}

    run(main())


def test_a_slow_answer_is_not_waited_for_by_others() -> None:
    """Not at the start for long, and later no longer than a moment; who named it is told."""

    async def main() -> list[float]:
        world, loop, spans = World(bad=late(25)), asyncio.get_running_loop(), []
        for names in (("good",), ("good", "bad"), ("good", "bad", "more")):
            begun = loop.time()
            accepted = await world.refresh(*names)
            spans.append(loop.time() - begun)
            assert accepted == {name: name != "bad" for name in names}
        assert world.arrived == []
        assert world.values.late == 1
        await asyncio.sleep(25)
        assert world.values.late == 0
        assert world.arrived == ["bad"]
        assert (await world.refresh("good", "bad", values={"bad"}))["bad"]
        return spans

    first, second, third = run(main())
    assert first == 0
    assert 0 < second < 1
    assert third == 0


def test_at_the_start_all_that_comes_in_good_time_is_waited_for() -> None:
    """What is in use must not be left out for a while; slow answers are not waited for."""

    async def main(answer: Answer, count: int) -> tuple[float, int]:
        names = [f"a-{number}" for number in range(count)]
        world, loop = World(**dict.fromkeys(names, answer)), asyncio.get_running_loop()
        begun = loop.time()
        accepted = await world.refresh("good", *names)
        assert accepted["good"]
        return loop.time() - begun, sum(accepted.values())

    span, accepted = run(main(late(0.1), 500))
    assert span > 6
    assert accepted == 501
    span, accepted = run(main(late(25), 12))
    assert span < 3
    assert accepted == 1
    span, accepted = run(main(FAULTS["500"], 40))
    assert span < 8
    assert accepted == 1


def recovering(seconds: float) -> Answer:
    """A server that fails for a while, and then is well."""

    async def answer() -> dict[str, Any]:
        if asyncio.get_running_loop().time() < seconds:
            raise refused(503, "ServiceUnavailable")
        return await well()()

    return answer


@pytest.mark.parametrize("answer", [recovering(1.5), late(3), recovering(50), late(25)])
def test_a_server_that_answers_nobody_at_the_start_is_waited_for(answer: Answer) -> None:
    """A restart while the server is in trouble must not drop all jobs that have credentials."""

    async def main(*others: str) -> tuple[float, int]:
        names = [f"a-{number}" for number in range(8)]
        world, loop = World(**dict.fromkeys((*names, *others), answer)), asyncio.get_running_loop()
        accepted = await world.refresh("good", *names)
        return loop.time(), sum(accepted.values())

    span, accepted = run(main("own"))
    assert span < 60
    assert accepted == 9
    span, accepted = run(main())
    assert span < 1
    assert accepted == 1


def lost_once() -> Answer:
    """The first request gets lost on its way, and the next is answered."""
    asked = 0

    async def answer() -> dict[str, Any]:
        nonlocal asked
        asked += 1
        return await (late(10) if asked == 1 else well())()

    return answer


def test_at_the_start_a_request_that_is_lost_leaves_nothing_out() -> None:
    """Another connection is as good: what is in use stays in use."""

    async def main(count: int) -> tuple[float, int]:
        names = [f"a-{number}" for number in range(count)]
        world, loop = World(**{name: lost_once() for name in names}), asyncio.get_running_loop()
        accepted = await world.refresh("good", *names)
        return loop.time(), sum(accepted.values())

    for count in (1, 12, 100):
        span, accepted = run(main(count))
        assert accepted == count + 1
        assert span < 5


def test_at_the_start_of_a_busy_machine_who_is_a_bit_slower_is_not_left_out() -> None:
    """All answers take long there, and some longer; one that is far behind is not waited for."""

    async def main(seconds: float) -> tuple[float, dict[str, bool]]:
        others = {f"a-{number}": late(0.1 + 0.05 * number) for number in range(6)}
        world, loop = World(**others, bad=late(seconds)), asyncio.get_running_loop()
        accepted = await world.refresh(*others, "bad")
        assert all(accepted[name] for name in others)
        return loop.time(), accepted

    assert run(main(1.5))[1]["bad"]
    span, accepted = run(main(25))
    assert not accepted["bad"]
    assert span < 3


def test_at_the_start_what_may_not_exist_holds_up_nothing() -> None:
    """Hundreds of names of nothing are looked up behind, at their own rate."""

    async def main() -> float:
        absent = [f"absent-{number}" for number in range(1000)]
        nothing = failed(NotFound("get", PATH, "", status=404))
        world, loop = World(**dict.fromkeys(absent, nothing)), asyncio.get_running_loop()
        # More than the rate allows in one go.
        names = [f"z-{number}" for number in range(300)]
        accepted = await world.refresh(*absent, *names)
        assert sum(accepted.values()) == len(names)
        return loop.time()

    assert run(main()) < 1


def test_values_are_read_while_others_are_judged() -> None:
    """Somebody was asked before the last one is looked at."""

    async def main() -> bool:
        world, asked = World(), dict[str, set[str]]()

        def find(each: Ref) -> ServiceMonitor:
            asked[each.name] = set(world.server.asked)
            return monitor(each)

        members = frozenset(key(f"a-{number}") for number in range(200))
        held = Held(
            world.values, find, Capabilities(), weigh=lambda each: 1000 - int(each.name[2:])
        )
        await held.refresh(prometheus(), Changes(members=True), members)
        return bool(asked["a-0"])

    assert run(main())


def test_what_dear_resources_name_is_read_before_they_are_judged() -> None:
    """Nobody waits for a Secret that could have been asked for long ago."""

    async def main() -> list[bool]:
        world, asked = World(), list[bool]()

        def find(each: Ref) -> ServiceMonitor:
            asked.append(each.name in world.server.asked)
            return monitor(each)

        members = frozenset(key(f"a-{number}") for number in range(10))
        held = Held(world.values, find, Capabilities(), weigh=lambda _: 10**6)
        await held.refresh(prometheus(), Changes(members=True), members)
        return asked

    # Each is looked at twice: for what it names, and to be judged; the last are judged last.
    assert run(main())[-5:] == [True] * 5


def test_nothing_is_read_twice_at_a_start() -> None:
    """However many there are to judge while it is read."""

    async def main() -> Counter[str]:
        world = World()
        names = [f"a-{number}" for number in range(300)]
        assert all((await world.refresh(*names)).values())
        return Counter(world.server.asked)

    assert set(run(main()).values()) == {1}


def test_many_slow_answers_hold_up_no_read_of_another_namespace() -> None:
    """Nor do many quick ones: a namespace has its own turns, and a rate of its own."""

    async def main() -> float:
        lanes, loop = Lanes(), asyncio.get_running_loop()

        async def slow() -> None:
            async with lanes.turn("evil"):
                await asyncio.sleep(3600)

        tasks = [asyncio.create_task(slow()) for _ in range(1000)]
        await asyncio.sleep(1)
        begun = loop.time()
        async with lanes.turn("good"):
            pass
        for task in tasks:
            task.cancel()
        return loop.time() - begun

    assert run(main()) < 0.5


def test_a_secret_that_changes_faster_than_it_is_read_holds_up_nobody() -> None:
    """It is read a few times and used as it was then; the change that came since wakes again."""

    async def main() -> None:
        world = World()
        versions = iter(range(2, 1000))

        async def flapping() -> dict[str, Any]:
            read = str(next(versions))
            await asyncio.sleep(0.15)
            for _ in range(3):
                world.changed("bad", str(next(versions)))
            return await well(version=read)()

        world.server.answers["bad"] = flapping
        loop = asyncio.get_running_loop()
        begun = loop.time()
        assert await world.refresh("bad", "good") == {"bad": True, "good": True}
        assert loop.time() - begun < 1
        assert world.server.asked.count("bad") == 2
        found = world.values.find(Ref(SECRET, "shop", "bad"))
        assert found is not None
        assert found.stale
        world.server.answers["bad"] = well("bGFzdA==", "1000")
        world.changed("bad", "1000")
        await world.refresh("bad", "good", values={"bad"})
        assert world.held.kept is not None
        assert "bearer_token: last" in world.held.kept.text()

    run(main())


@pytest.mark.parametrize(
    ("name", "is_one"),
    [
        ("a", True),
        ("a.b-c", True),
        ("a" * 253, True),
        ("a" * 254, False),
        ("a" * 1_100_000, False),
        ("", False),
        ("A", False),
        ("a b", False),
        ("-a", False),
        ("a.", False),
        ("a\n", False),
        ("ä", False),
        ("..", False),
        ("a/b", False),
        ("a%2fb", False),
    ],
)
def test_a_name_that_no_secret_can_have_is_not_asked_for(name: str, is_one: bool) -> None:
    """Whoever names it hears that there is no such Secret, in a message of some words."""

    async def main() -> None:
        assert is_name(name) == is_one
        world = World()
        view = world.values.view()
        found = view.value(Source(SECRET, "shop", name, "token"))
        assert bool(view.unread) == is_one
        assert isinstance(found, Missing)
        assert len(str(found)) < 400
        assert is_one or world.values.find(Ref(SECRET, "shop", name)) == Content()

    run(main())


def test_the_workloads_own_secret_keeps_its_value_and_says_why() -> None:
    """Without a value from before, nothing is written, and that says why as well."""
    jobs = {"name": "jobs", "key": "token"}

    async def main() -> None:
        good = well("LSBqb2JfbmFtZTogYQ==")
        for optional in (False, True):
            spec = {"additionalScrapeConfigs": jobs | {"optional": optional}}
            world = World(jobs=FAULTS["500"])
            await world.refresh("good", values=set(), **spec)
            kept = world.held.kept
            assert kept is not None
            with pytest.raises(WorkloadError, match="cannot be read: the API server answered 500"):
                kept.text()
            world.server.answers["jobs"] = good
            await asyncio.sleep(61)
            assert world.arrived == ["jobs"]
            await world.refresh("good", values={"jobs"})
            assert "job_name: a\n" in kept.text()
            world.server.answers["jobs"] = FAULTS["500"]
            world.changed("jobs", "2")
            await world.refresh("good", values={"jobs"})
            assert "job_name: a\n" in kept.text()
            assert list(dict(world.values.outdated())) == [Ref(SECRET, "shop", "jobs")]

    run(main())


def test_without_patience_a_failure_is_an_error() -> None:
    """Commands that look at a cluster once say what failed."""

    async def main() -> None:
        server = Server(bad=FAULTS["500"])
        view = Values(server, lambda _: False).view()  # type: ignore[arg-type]
        view.all_of(Ref(SECRET, "shop", "bad"))
        with pytest.raises(ApiError, match="500"):
            await view._values.load(view)

    run(main())
