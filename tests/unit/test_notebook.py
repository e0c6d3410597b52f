"""Notes on StatefulSets that are being replaced, whatever becomes of the requests."""

from typing import Any

import msgspec
import pytest

from stoker.api.core import Object
from stoker.kube.errors import ApiError, Forbidden, NotFound, Unavailable
from stoker.operator.notebook import Note, Notebook
from stoker.ref import Ref
from tests.unit import virtual_time

WORKLOAD = Ref("Prometheus", "shop", "main")
WANTED: Object = {"kind": "StatefulSet", "metadata": {"namespace": "shop", "name": "main"}}
NOTE = Note(WORKLOAD, "owner", "old", WANTED, {}, [])
TEXT = msgspec.json.encode(NOTE).decode()


class Server:
    """A ConfigMap, or none; `lost` is the error after something was done."""

    def __init__(self, data: dict[str, str] | None = None) -> None:
        self.data = data
        self.refusal: ApiError | None = None
        self.lost: ApiError | None = None

    async def get(self, *_: Any) -> Object:
        """The ConfigMap."""
        if self.refusal:
            raise self.refusal
        if self.data is None:
            raise NotFound("get", "/configmap", "", status=404)
        return {"data": dict(self.data)}

    async def merge_patch(self, *given: Any) -> None:
        """Change some keys."""
        if self.data is None:
            raise NotFound("patch", "/configmap", "", status=404)
        changed = self.data | given[-1]["data"]
        self.data = {key: text for key, text in changed.items() if text is not None}
        if self.lost:
            raise self.lost

    async def create(self, made: Object) -> None:
        """Make it."""
        self.data = made["data"]


def notebook(server: Server) -> Notebook:
    """The notes of an operator that has just begun to lead."""
    return Notebook(server, "home", "notes")  # type: ignore[arg-type]


def test_a_note_is_there_for_the_next_one_until_it_is_struck() -> None:
    """The ConfigMap is made for the first."""
    server = Server()

    async def run() -> list[list[Note]]:
        mine, found = notebook(server), []
        await mine.write(NOTE)
        for _ in range(2):
            heir = notebook(server)
            await heir.look()
            found.append(heir.notes_of(WORKLOAD))
            await mine.strike(NOTE.identity)
        return found

    assert virtual_time.run(run()) == [[NOTE], []]
    assert server.data == {}


def test_what_may_have_been_noted_is_struck() -> None:
    """The answer did not come, and nothing was begun: nothing is left over all the same."""
    server = Server({})
    server.lost = Unavailable("patch", "/configmap", "no answer")

    async def run() -> None:
        mine = notebook(server)
        with pytest.raises(Unavailable):
            await mine.write(NOTE)
        assert server.data == {"shop.main": TEXT}
        server.lost = None
        await mine.strike(NOTE.identity)

    virtual_time.run(run())
    assert server.data == {}


def test_a_note_that_cannot_be_read_is_passed_over() -> None:
    """Somebody may have written it by hand; the others count."""
    odd = TEXT.replace("Prometheus", "Something")
    server = Server({"a": "{", "b": '{"wanted": 1}', "c": odd, "shop.main": TEXT})

    async def run() -> set[Ref]:
        mine = notebook(server)
        await mine.look()
        return mine.workloads()

    assert virtual_time.run(run()) == {WORKLOAD}


def test_who_may_not_read_notes_writes_none() -> None:
    """Work goes on, but nothing is begun that could not be completed."""
    server = Server({})
    server.refusal = Forbidden("get", "/configmap", "no", status=403)

    async def run() -> None:
        mine = notebook(server)
        await mine.look()
        with pytest.raises(Forbidden):
            await mine.write(NOTE)

    virtual_time.run(run())
    assert server.data == {}
