"""Objects as deep as Kubernetes stores them, where this process reads less."""

import sys
from collections.abc import Iterator

import msgspec
import pytest
from msgspec import Raw

from stoker.kube.changes import Listed
from stoker.kube.client import ListPage, answer_as
from stoker.kube.deep import LEVELS, cut
from stoker.kube.errors import Unavailable
from stoker.kube.reading import Head, typed
from stoker.kube.transcript import Transcript


@pytest.fixture(autouse=True)
def _fewer_levels() -> Iterator[None]:
    """What Python 3.12 and 3.13 have whatever they are told; others are told to read no more.

    Python 3.14 goes by the stack and reads all of it.
    """
    before = sys.getrecursionlimit()
    sys.setrecursionlimit(9_600)
    yield
    sys.setrecursionlimit(before)


def deep(levels: int, name: str = "deep") -> bytes:
    """An object of so many levels, with brackets and quotes in its texts."""
    pairs, more = divmod(levels - 1, 2)
    inside = b'[{"a":' * pairs + (b"[]" if more else b"0") + b"}]" * pairs
    metadata = f'{{"name":"{name}","namespace":"shop","labels":{{"a":"]}}\\"{{["}}}}'
    return b'{"metadata":' + metadata.encode() + b',"data":' + inside + b"}"


def depth(text: bytes) -> int:
    """The levels of JSON that has no brackets in texts."""
    levels = most = 0
    for each in text:
        levels += (each in b"[{") - (each in b"]}")
        most = max(most, levels)
    return most


def test_what_is_cut_is_as_deep_as_may_be_and_all_else_stays() -> None:
    """Texts that look like brackets count for nothing."""
    assert cut(deep(LEVELS)) == deep(LEVELS)
    short = cut(deep(10_000))
    assert short.count(b"null") == 1
    assert depth(short.replace(b']}\\"{[', b"")) == LEVELS
    both = cut(b"[" + deep(20) + b"," + deep(10_000) + b"," + deep(10_000) + b',{"a":"b"}]')
    assert both.startswith(b"[" + deep(20) + b",")
    assert both.endswith(b',{"a":"b"}]')
    assert both.count(b"null") == 2


def test_one_object_that_is_too_deep_hides_no_other() -> None:
    """A page of a list has all of them, and each has its name."""
    body = b'{"items":[' + deep(10_000) + b"," + deep(5, "other") + b"]}"
    page = answer_as(ListPage[Raw], "GET", "/api/v1/configmaps", body, whole=False)
    named = [msgspec.json.decode(cut(bytes(each)))["metadata"]["name"] for each in page.items]
    assert named == ["deep", "other"]


@pytest.mark.skipif(sys.version_info >= (3, 14), reason="it reads all that Kubernetes stores")
def test_what_may_be_written_back_is_never_cut() -> None:
    """Somebody who asks for the whole is told that it cannot be read."""
    with pytest.raises(Unavailable, match="no object"):
        answer_as(ListPage[Raw], "GET", "/api/v1/configmaps", b'{"items":[' + deep(10_000) + b"]}")


def test_a_watch_goes_on_after_an_object_that_is_too_deep() -> None:
    """Its event is one like others."""
    transcript = Transcript("/api/v1/configmaps", typed(Head))
    found = transcript.event(b'{"type":"ADDED","object":' + deep(10_000) + b"}")
    assert isinstance(found, Listed)
    assert found.key.name == "deep"
