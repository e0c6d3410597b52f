"""No decision rests on something that is older than what we did ourselves.

Secrets of one workload, a server with all that happened to them, a watch that is late, and a
worker that does what the operator does: it writes what is wanted and deletes what is not, by what
the real `Writer` and the real `Reflector` know. Others change and delete objects and the workload,
also between one of our writes and its answer.
"""

from __future__ import annotations

import asyncio
import json
from collections import Counter
from collections.abc import Iterable, Sequence
from typing import Any

import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st
from msgspec import Struct

from stoker.api.core import Object, ObjectMeta
from stoker.kube.changes import Begin, Ready
from stoker.kube.errors import Conflict, NotFound, Unavailable
from stoker.kube.reading import Head, typed
from stoker.kube.reflector import Reflector
from stoker.kube.report import Report
from stoker.kube.resources import SECRET, ApiResource
from stoker.kube.transcript import Transcript
from stoker.kube.versions import is_older, newest
from stoker.kube.watch import SET_BACK_SECONDS, WatchScope, _Watch
from stoker.operator.caches import OWNER, owners
from stoker.operator.writer import Writer
from stoker.ref import Ref
from tests.builders import thing
from tests.unit import virtual_time

NAMES = ("a", "b")
WORKLOAD = "main"


class Step(Struct, frozen=True):
    """Something that happens; `during` happens between our first write after it and its answer."""

    what: str
    name: str = "a"
    count: int = 1
    during: tuple[Step, ...] = ()


WANT_TWO, WANT_ONE, WANT_NONE = (Step("want", count=count) for count in (2, 1, 0))
TWICE_MADE = (Step("work"), Step("delete"), Step("work"))
CHANGED = (Step("work"), Step("change"))
OTHERS = ("change", "delete", "tell", "list", "want", "replace workload", "hear of workload")
_plain = st.builds(
    Step, st.sampled_from(OTHERS), st.sampled_from(NAMES), st.integers(min_value=0, max_value=4)
)
_work = st.builds(Step, st.just("work"), during=st.lists(_plain, max_size=4).map(tuple))


class Server:
    """All Secrets, whatever happened to them, and the workload that they belong to."""

    def __init__(self) -> None:
        self.version = 1
        self.uid = "uid-1"
        self.uids = Counter({"workload": 1})
        self.objects: dict[str, Object] = {}
        self.history: list[tuple[int, str, Object]] = []
        self.deletions: Counter[str] = Counter()
        self.pending: list[Step] = []
        self.world: World | None = None
        # Workloads that existed since the worker began.
        self.recent: set[str] = set()

    # --- What others do ---------------------------------------------------------------------------

    def put(self, name: str, content: Object) -> Object:
        """Create or change a Secret."""
        self.version += 1
        before = self.objects.get(name)
        self.uids["secret"] += before is None
        uid = before["metadata"]["uid"] if before else f"secret-{self.uids['secret']}"
        own = {"uid": uid, "resourceVersion": str(self.version), "namespace": "shop", "name": name}
        found = content | {"metadata": content["metadata"] | own}
        self.objects[name] = found
        self.history.append((self.version, "MODIFIED" if before else "ADDED", found))
        return found

    def drop(self, name: str) -> None:
        """Delete a Secret."""
        found = self.objects.pop(name)
        self.version += 1
        metadata = found["metadata"] | {"resourceVersion": str(self.version)}
        self.history.append((self.version, "DELETED", found | {"metadata": metadata}))

    def replace_workload(self) -> None:
        """Another workload has the name; the garbage collector removes what the old one had."""
        self.uids["workload"] += 1
        self.uid = f"uid-{self.uids['workload']}"
        self.recent.add(self.uid)
        for name in [one for one, found in self.objects.items() if self.uid not in str(found)]:
            self.drop(name)

    def as_of(self, version: int) -> list[Object]:
        """What a list of that version has."""
        found: dict[str, Object] = {}
        for at, kind, each in self.history:
            if at <= version:
                found[each["metadata"]["name"]] = each if kind != "DELETED" else {}
        return [each for each in found.values() if each]

    # --- What we ask for --------------------------------------------------------------------------

    async def find(self, *_: Any, **__: Any) -> Object:
        """The workload as it is."""
        return {"metadata": {"uid": self.uid, "generation": 1}}

    async def get(self, _: ApiResource, __: str, name: str, **___: Any) -> Object:
        """An object as it is."""
        if name not in self.objects:
            raise NotFound("get", "/secret", "", status=404, reason="NotFound")
        return self.objects[name]

    async def apply(self, wanted: Object, **_: Any) -> Object:
        """Make a Secret as it is wanted."""
        return await self._made(wanted)

    async def replace(self, wanted: Object, **_: Any) -> Object:
        """Make a Secret as it is wanted, if it has the version that is named."""
        metadata = wanted["metadata"]
        live = self.objects.get(metadata["name"])
        if live is None:
            raise NotFound("update", "/secret", "", status=404)
        if live["metadata"]["resourceVersion"] != metadata["resourceVersion"]:
            raise Conflict("update", "/secret", "", status=409)
        return await self._made(wanted)

    async def delete(self, _: ApiResource, __: str, name: str, *, uid: str, **___: Any) -> Object:
        """Delete a Secret, if it is the one that is meant."""
        self.deletions[uid] += 1
        live = self.objects.get(name)
        if live is None:
            raise NotFound("delete", "/secret", "", status=404, reason="NotFound")
        if live["metadata"]["uid"] != uid:
            raise Conflict("delete", "/secret", "", status=409)
        self.drop(name)
        await self._answering()
        return {"kind": "Status"}

    async def _made(self, wanted: Object) -> Object:
        name = wanted["metadata"]["name"]
        live = self.objects.get(name)
        assert live is None or (live["data"], owner_of(live)) != (wanted["data"], owner_of(wanted))
        if live is None:
            assert owner_of(wanted) in self.recent, "made for a workload that is gone"
        metadata = {k: v for k, v in wanted["metadata"].items() if k != "resourceVersion"}
        made = self.put(name, wanted | {"metadata": metadata})
        await self._answering()
        return made

    async def _answering(self) -> None:
        assert self.world
        pending, self.pending = self.pending, []
        for step in pending:
            self.world.happens(step)
        await asyncio.sleep(0)


def owner_of(found: Object) -> str:
    """The uid of the workload that a Secret belongs to."""
    return str(found["metadata"]["ownerReferences"][0]["uid"])


class World:
    """A server, a watch of it, and a worker."""

    def __init__(self) -> None:
        self.server = Server()
        self.server.world = self
        client: Any = self.server
        indices = {OWNER: owners}
        scope = WatchScope(SECRET, metadata_only=True)
        self.reflector: Reflector[Head] = Reflector(client, scope, typed(Head), indices=indices)
        self.writer = Writer(client, self.current, self)
        self.transcript = Transcript("/secrets", typed(Head))
        self.known_uid = self.server.uid
        self.wanted: dict[str, int] = {}
        self.woken = True
        self.written: dict[str, str] = {}
        self.reflector.store.listen(self.changed)
        self.list_as_of(self.server.version)

    # --- What the operator has --------------------------------------------------------------------

    def current(self, identity: Ref) -> ObjectMeta | None:
        """What the cache has."""
        found = self.reflector.store.get(identity.namespace, identity.name)
        return found.metadata if found else None

    def saw(self, _: str, live: Object) -> bool:
        """Pass an answer on to the cache."""
        still = self.reflector.saw(live)
        name = live["metadata"]["name"]
        self.written[name] = newest(self.written.get(name, ""), live["metadata"]["resourceVersion"])
        return still

    def lost(self, _: str, metadata: ObjectMeta) -> None:
        """Pass it on to the cache."""
        self.reflector.lost(metadata)
        assert metadata.uid not in {each.metadata.uid for each in self.reflector.store}

    def seen(self, *_: object) -> str:
        """Nothing is known of workloads here."""
        return ""

    def changed(self, old: Head | None, new: Head | None) -> None:
        """Wake the worker, as triggers do."""
        if new is None and old is not None:
            self.writer.forget("Secret", old.metadata)
        if new is None or not self.writer.is_written("Secret", new.metadata):
            self.woken = True

    async def work(self) -> None:
        """Write what is wanted, and delete what is not."""
        await asyncio.sleep(10)
        self.woken, self.server.recent = False, {self.server.uid}
        uid, wanted = self.known_uid, dict(self.wanted)
        try:
            for name, number in wanted.items():
                await self.writer.write(secret(name, number, uid))
            for found in self.reflector.store.by_index(OWNER, uid):
                if found.metadata.name not in wanted:
                    await self.writer.delete(SECRET, found.metadata)
        except Conflict:
            self.woken = True

    # --- What happens -----------------------------------------------------------------------------

    def happens(self, step: Step) -> None:
        """Let others do something, or the watch tell of it."""
        match step.what:
            case "change" if step.name in self.server.objects:
                live = self.server.objects[step.name]
                self.server.put(step.name, live | {"data": {"other": str(self.server.version)}})
            case "delete" if step.name in self.server.objects:
                self.server.drop(step.name)
            case "tell":
                self.tell(step.count)
            case "list":
                position = int(self.transcript.version)
                self.list_as_of(min(position + step.count, self.server.version))
            case "want":
                self.wanted = dict.fromkeys(NAMES[: step.count % 3], step.count)
                self.woken = True
            case "replace workload":
                self.server.replace_workload()
            case "hear of workload":
                self.woken |= self.known_uid != self.server.uid
                self.known_uid = self.server.uid
        self.check()

    def tell(self, count: int) -> None:
        """Let the watch tell of so many changes."""
        coming = [one for one in self.server.history if one[0] > int(self.transcript.version)]
        for _, kind, found in coming[:count]:
            line = json.dumps({"type": kind, "object": found}).encode()
            event = self.transcript.event(line)
            assert event
            self.part.take(event)

    def list_as_of(self, version: int) -> None:
        """Let the watch begin anew, with a list of a version."""
        self.part.take(Begin())
        for each in self.server.as_of(version):
            self.part.take(self.transcript.listed(msgspec.Raw(msgspec.json.encode(each))))
        self.transcript.version = str(version)
        self.part.take(Ready(str(version)))

    @property
    def part(self) -> Any:
        """The watch of the reflector."""
        return self.reflector._parts[0]

    def check(self) -> None:
        """See that the cache is not behind what was answered."""
        for name, version in self.written.items():
            found = self.current(Ref("Secret", "shop", name))
            if found is None:
                gone = [at for at, kind, each in self.server.history if is_gone(name, kind, each)]
                assert any(not is_older(str(at), version) for at in gone)
            else:
                assert not is_older(found.resource_version or "", version)


def is_gone(name: str, kind: str, found: Object) -> bool:
    """Whether this is the end of a Secret."""
    return kind == "DELETED" and found["metadata"]["name"] == name


def secret(name: str, number: int, uid: str) -> Object:
    """What is wanted."""
    owner = {
        "apiVersion": "monitoring.coreos.com/v1",
        "kind": "Prometheus",
        "name": WORKLOAD,
        "uid": uid,
        "controller": True,
    }
    return thing("Secret", name, ownerReferences=[owner], data={"n": str(number)})


async def lived(steps: Iterable[Step]) -> World:
    """A world in which all that has happened, and of which everybody has heard at last."""
    world = World()
    for step in steps:
        if step.what == "work":
            world.server.pending = list(step.during)
            await world.work()
            world.check()
        else:
            world.happens(step)
    world.server.pending.clear()
    world.happens(Step("hear of workload"))
    for _ in range(20):
        world.tell(10**6)
        if not world.woken:
            return world
        await world.work()
    raise AssertionError("it goes on for ever")


def expected(world: World) -> dict[str, tuple[str, str]]:
    """What there should be: the content and the owner of each Secret."""
    return {name: (str(number), world.server.uid) for name, number in world.wanted.items()}


def present(world: World) -> dict[str, tuple[str, str]]:
    """What there is."""
    found = world.server.objects.items()
    return {name: (str(each["data"].get("n")), owner_of(each)) for name, each in found}


_steps = st.lists(st.one_of(_plain, _work, _work), max_size=20)


@given(st.builds(lambda steps: [WANT_TWO, Step("work"), *steps], _steps))
def test_whatever_is_late_the_end_is_as_wanted_and_nothing_is_done_twice(
    steps: Sequence[Step],
) -> None:
    """What is deleted comes back, what is not wanted goes, and each of it is one request."""
    world = virtual_time.run(lived(steps))
    assert present(world) == expected(world)
    assert [uid for uid, count in world.server.deletions.items() if count > 1] == []


@pytest.mark.parametrize(
    "steps",
    [
        pytest.param(
            (WANT_ONE, Step("work"), Step("delete"), Step("list", count=9)),
            id="made and deleted before the watch begins anew",
        ),
        pytest.param(
            (WANT_ONE, Step("work", during=(Step("delete"), Step("list", count=9)))),
            id="made, deleted and listed before the answer",
        ),
        pytest.param(
            (WANT_TWO, Step("work"), WANT_ONE, Step("work")),
            id="not wanted any longer before the watch shows it",
        ),
        pytest.param(
            (WANT_TWO, Step("work"), WANT_ONE, Step("work"), Step("list"), Step("work")),
            id="listed again after we deleted it",
        ),
        pytest.param(
            (WANT_ONE, Step("work"), Step("list", count=0), Step("work")),
            id="a list that is older than what we wrote",
        ),
        pytest.param(
            (WANT_ONE, *TWICE_MADE, WANT_TWO, Step("work"), Step("tell", count=2), Step("work")),
            id="made again before the watch tells of the deletion",
        ),
        pytest.param(
            (WANT_ONE, *CHANGED, WANT_NONE, Step("work"), Step("tell", count=2), Step("work")),
            id="an old state after we deleted it",
        ),
        pytest.param(
            (WANT_ONE, Step("work"), Step("replace workload"), Step("tell", count=9), Step("work")),
            id="the workload is another, and nobody has heard of it",
        ),
    ],
)
def test_what_was_found_wrong_once(steps: Sequence[Step]) -> None:
    """The shortest of the histories that went wrong."""
    world = virtual_time.run(lived(steps))
    assert present(world) == expected(world)
    assert [uid for uid, count in world.server.deletions.items() if count > 1] == []


def test_a_cluster_that_was_set_back_counts_as_it_is() -> None:
    """Then the list is the truth, though all that was known is newer."""

    async def main() -> set[str]:
        world = World()
        world.wanted = {"a": 1, "b": 1}
        await world.work()
        world.part.take(Begin())
        world.part.take(Ready("1", anew=True))
        assert world.woken
        return {each.metadata.name or "" for each in world.reflector.store}

    assert virtual_time.run(main()) == set()


def test_a_list_that_stays_behind_counts_in_the_end() -> None:
    """A server may be behind for a moment; a cluster that was set back stays so."""

    async def main() -> tuple[Ready, Ready]:
        client: Any = None
        watch = _Watch(client, WatchScope(SECRET), typed(Head), Report())
        watch._seen = "50"
        for _ in range(3):
            with pytest.raises(Unavailable, match="50 was seen before"):
                watch._believed(Ready("40"))
            await asyncio.sleep(SET_BACK_SECONDS / 4)
        caught_up = watch._believed(Ready("51"))
        with pytest.raises(Unavailable):
            watch._believed(Ready("40"))
        await asyncio.sleep(SET_BACK_SECONDS)
        return caught_up, watch._believed(Ready("40"))

    assert virtual_time.run(main()) == (Ready("51"), Ready("40", anew=True))


def test_versions_are_numbers() -> None:
    """More digits are more, not less; what is no number is never older."""
    assert is_older("99", "100")
    assert not is_older("100", "99")
    assert not is_older("", "1")
    assert not is_older("nine", "10")
    assert newest("99", "100") == newest("100", "99") == "100"
