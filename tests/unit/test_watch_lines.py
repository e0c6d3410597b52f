"""What a server writes into a watch: lines in chunks of any size, and what each line means."""

import json
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from msgspec import Raw

from stoker.api.monitors import ServiceMonitor
from stoker.kube.changes import Applied, Deleted, Event, Key, Listed, Ready, UnreadableObject
from stoker.kube.errors import Forbidden, Gone
from stoker.kube.reading import LAST_APPLIED, Head, typed
from stoker.kube.resources import SECRET
from stoker.kube.transcript import LineBuffer, Transcript

PATH = "/apis/monitoring.coreos.com/v1/servicemonitors"


def line(kind: str, name: str = "web", version: str = "7", **more: Any) -> bytes:
    """A line of a watch on ServiceMonitors."""
    metadata = {"namespace": "shop", "name": name, "resourceVersion": version}
    return json.dumps({"type": kind, "object": {"metadata": metadata, **more}}).encode()


def bookmark(version: str, **annotations: str) -> bytes:
    """A line that only says how far the watch is."""
    metadata = {"resourceVersion": version, "annotations": annotations}
    return json.dumps({"type": "BOOKMARK", "object": {"metadata": metadata}}).encode()


END = bookmark("50", **{"k8s.io/initial-events-end": "true"})


def transcript(version: str = "") -> Transcript[ServiceMonitor]:
    """A transcript that lists, or with a version watches."""
    made = Transcript(PATH, typed(ServiceMonitor))
    made.version = version
    return made


@given(st.lists(st.binary().map(lambda data: data.replace(b"\n", b"")), max_size=8), st.data())
def test_lines_do_not_depend_on_how_they_are_cut(lines: list[bytes], data: st.DataObject) -> None:
    """Chunks end anywhere: in the middle of a line or a character, with several lines in one."""
    text = b"".join(each + b"\n" for each in lines)
    places = data.draw(st.lists(st.integers(0, len(text)), max_size=10).map(sorted))
    chunks = [
        text[start:end] for start, end in zip([0, *places], [*places, len(text)], strict=True)
    ]
    parts = LineBuffer()
    assert [found for chunk in chunks for found in parts.of(chunk)] == [
        each for each in lines if each.strip()
    ]


def test_half_a_line_at_the_end_of_a_stream_is_no_line() -> None:
    """The event that was cut off comes again, as the watch goes on before it."""
    parts = LineBuffer()
    assert parts.of(b'{"type":"ADDED"}\n{"type":"MODI') == [b'{"type":"ADDED"}']


def test_a_streamed_list_ends_with_its_bookmark() -> None:
    """Objects before the bookmark are the list, whatever their versions; after it, changes."""
    found = transcript()
    listed = [found.event(line("ADDED", "a", "40")), found.event(line("MODIFIED", "b", "12"))]
    assert all(isinstance(event, Listed) for event in listed)
    assert isinstance(found.event(line("DELETED", "c", "41")), Deleted)
    assert found.event(bookmark("45")) is None
    assert (found.version, found.progress) == ("", False)
    assert found.event(END) == Ready("50")
    assert (found.version, found.progress) == ("50", False)
    assert isinstance(found.event(line("MODIFIED", "a", "51")), Applied)
    assert (found.version, found.progress) == ("51", True)


@pytest.mark.parametrize(
    "text", [line("ADDED"), line("MODIFIED"), line("DELETED"), bookmark("7"), line("ADDED", spec=1)]
)
def test_every_line_of_a_watch_moves_it_on(text: bytes) -> None:
    """Whatever a line says, even unreadable things, the watch goes on after it."""
    found = transcript("6")
    found.event(text)
    assert (found.version, found.progress) == ("7", True)


def test_a_line_that_is_older_than_the_one_before_asks_for_a_list() -> None:
    """Changes come in their order, unless the cluster was set back."""
    with pytest.raises(Gone, match="version 7 comes after 8"):
        transcript("8").event(line("MODIFIED"))


def test_an_object_is_named_by_its_event() -> None:
    """The key and the version are there for every kind of object."""
    event = transcript("6").event(line("ADDED", spec={"selector": {}, "endpoints": []}))
    assert isinstance(event, Applied)
    assert (event.key, event.version) == (Key("shop", "web"), "7")
    assert event.object.metadata.name == "web"


def test_an_unreadable_object_is_named_with_the_path_to_what_is_wrong() -> None:
    """One bad object has a name and a reason, and can be deleted like any other."""
    found = transcript()
    event = found.event(line("ADDED", spec={"endpoints": "none"}))
    assert isinstance(event, UnreadableObject)
    assert event.key == Key("shop", "web")
    assert event.error.path == "spec.endpoints"
    assert found.event(line("DELETED", spec={"endpoints": "none"})) == Deleted(event.key, "7")


@pytest.mark.parametrize(("code", "error"), [(410, Gone), (403, Forbidden)])
def test_an_error_in_the_stream_is_raised(code: int, error: type[Exception]) -> None:
    """A server that has begun to answer can only say no in a line; the version stays."""
    status = {"kind": "Status", "code": code, "message": "too old resource version: 1 (9)"}
    found = transcript("6")
    with pytest.raises(error, match="too old"):
        found.event(json.dumps({"type": "ERROR", "object": status}).encode())
    assert found.version == "6"


@pytest.mark.parametrize(
    "text", [b"<html>", b"{}", b"[]", line("ADDED")[:-3], b'{"type":"A","object":' + b"[" * 9999]
)
def test_a_line_that_is_no_event_asks_for_a_new_list(text: bytes) -> None:
    """What it should have said is lost, so nothing but a list can be trusted."""
    with pytest.raises(Gone):
        transcript("6").event(text)


def secret() -> dict[str, Any]:
    """A Secret as `kubectl apply` makes it: its data is in an annotation as well."""
    copied = json.dumps({"data": {"password": "aHVudGVyMg=="}})
    return {
        "metadata": {
            "name": "web",
            "namespace": "shop",
            "annotations": {LAST_APPLIED: copied, "team": "shop"},
            "managedFields": [{"manager": "kubectl"}],
        },
        "data": {"password": "aHVudGVyMg=="},
    }


def read(event: Event[Any] | None) -> Any:
    """The object of an event."""
    assert isinstance(event, Listed)
    return event.object


def test_metadata_of_a_secret_holds_none_of_its_data() -> None:
    """Neither the data nor the copy that kubectl keeps of it stays in memory."""
    raw = Raw(json.dumps(secret()).encode())
    head: Head = read(Transcript(SECRET.path(None), typed(Head)).listed(raw))
    assert head.metadata.annotations == {"team": "shop"}
    assert "aHVudGVyMg" not in repr(head)
