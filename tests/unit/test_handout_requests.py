"""Requests for portions: what is one, and what is said to all else."""

from __future__ import annotations

import json
from collections.abc import Callable
from http import HTTPStatus

import pytest
from hypothesis import given
from hypothesis import strategies as st

from stoker.handout import frames
from stoker.handout.request import (
    MOST_FILES,
    RefusedError,
    RequestHead,
    answer_of,
    have_of,
    head_of,
)

LINES = (
    b"POST /v1/portion HTTP/1.1",
    b"Host: stoker",
    b"Authorization: Bearer abc.def.ghi",
    b"Content-Type: application/json",
    b"Content-Length: 2",
)


def joined(*lines: bytes) -> bytes:
    """A head of these lines."""
    return b"\r\n".join(lines)


def without(name: bytes) -> bytes:
    """The good head less a field."""
    return joined(*(each for each in LINES if not each.startswith(name)))


def refusal(read: Callable[[bytes], object], data: bytes) -> RefusedError | None:
    """Why something is refused, if it is."""
    try:
        read(data)
    except RefusedError as error:
        return error
    return None


def test_a_good_head_is_read() -> None:
    """However the names of fields are written, and whatever else there is."""
    wanted = RequestHead("abc.def.ghi", 2)
    assert head_of(joined(*LINES)) == wanted
    assert head_of(joined(LINES[0], *(each.lower() for each in LINES[1:]))) == wanted
    typed = without(b"Content-Type") + b"\r\ncontent-type: application/json; charset=utf-8"
    assert head_of(typed) == wanted


@pytest.mark.parametrize(
    ("head", "status"),
    [
        (b"", 400),
        (joined(b"GET /v1/portion HTTP/1.1", *LINES[1:]), 405),
        (joined(b"POST /v1/portion?a HTTP/1.1", *LINES[1:]), 404),
        (joined(b"POST  /v1/portion HTTP/1.1", *LINES[1:]), 400),
        (joined(b"POST /v1/portion HTTP/1.0", *LINES[1:]), 400),
        (joined(*LINES, b"Transfer-Encoding: chunked"), 411),
        (without(b"Content-Length"), 411),
        (joined(*LINES, b"Content-Length: 2"), 400),
        (joined(*LINES, b"Content-Length : 2"), 400),
        (without(b"Content-Length") + b"\r\nContent-Length: 0x2", 400),
        (without(b"Content-Length") + b"\r\nContent-Length: 99999999", 413),
        (without(b"Content-Type"), 415),
        (without(b"Authorization"), 401),
        (without(b"Authorization") + b"\r\nAuthorization: Basic abcdef", 401),
        (without(b"Authorization") + b"\r\nAuthorization: Bearer a b", 401),
        (joined(*LINES, *(b"X-%d: x" % number for number in range(70))), 431),
        (joined(*LINES, b" folded"), 400),
        (joined(*LINES, b"X: \0"), 400),
    ],
)
def test_what_is_no_request_is_refused_by_its_status(head: bytes, status: int) -> None:
    """Nothing is guessed."""
    with pytest.raises(RefusedError) as refused:
        head_of(head)
    assert refused.value.status == status


@given(st.binary(max_size=300), st.integers(0, 200), st.integers(0, 20))
def test_whatever_comes_is_a_head_or_refused(noise: bytes, place: int, gone: int) -> None:
    """Also what is nearly one; no other error, and the answer is one of HTTP."""
    good = joined(*LINES)
    for data in (noise, good[:place] + noise + good[place + gone :]):
        refused = refusal(head_of, data)
        assert refused is None or answer_of(refused).startswith(b"HTTP/1.1 4")


@given(st.binary(max_size=200))
def test_a_body_is_files_or_refused(body: bytes) -> None:
    """No other error, however deep or wrong it is."""
    refused = refusal(have_of, body)
    assert refused is None or refused.status == 400


def test_a_body_says_what_there_is() -> None:
    """Paths with digests; not more of them than a node may have."""
    assert have_of(b'{"have": {"jobs/a.yaml": "abc"}, "later": 1}') == {"jobs/a.yaml": "abc"}
    assert have_of(b"{}") == {}
    many = {str(number): "" for number in range(MOST_FILES + 1)}
    for wrong in (json.dumps({"have": many}).encode(), b"[" * 100_000, b'{"have": {"a": 1}}'):
        with pytest.raises(RefusedError):
            have_of(wrong)


def test_a_refusal_says_nothing_of_its_reason() -> None:
    """The status alone, and when to ask again."""
    error = RefusedError(HTTPStatus.SERVICE_UNAVAILABLE, "a reason for the log", after=2)
    text = answer_of(error).decode()
    assert text.startswith("HTTP/1.1 503 Service Unavailable\r\nRetry-After: 2\r\n")
    assert "reason" not in text


def test_frames_are_lines_of_json_and_texts() -> None:
    """A file is followed by its text; the whole does not depend on the order."""
    framed = frames.file_frame("jobs/a.yaml", "d", b"x\ny")
    line, _, text = framed.partition(b"\n")
    assert json.loads(line) == {"file": "jobs/a.yaml", "digest": "d", "size": 3}
    assert text == b"x\ny"
    assert json.loads(frames.gone_frame({"b", "a"})) == {"gone": ["a", "b"]}
    digests = {"jobs/a.yaml": "1", "targets/a.json": "2"}
    backwards = dict(reversed(digests.items()))
    assert frames.commit_frame(digests) == frames.commit_frame(backwards)
    assert frames.whole_of({}) == "e3b0c44298fc1c149afbf4c8996fb924"
    assert frames.chunk_of(b"x" * 17) == b"11\r\n" + b"x" * 17 + b"\r\n"
