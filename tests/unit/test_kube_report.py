"""When a watch is in trouble, and what is said about it."""

import logging

import pytest

from stoker.kube.errors import Forbidden, NotFound, Unavailable
from stoker.kube.report import LIST, WATCH, Report

BROKEN = Unavailable(WATCH, "/api/v1/secrets", "connection reset")
FORBIDDEN = Forbidden(LIST, "/api/v1/secrets", "not allowed", status=403)
MISSING = NotFound(LIST, "/apis/example.com/v1/kettles", "not found", status=404)


def test_one_broken_connection_is_no_trouble() -> None:
    """Connections end every day; only when the next try fails too is something wrong."""
    report = Report("secrets")
    report.failed(WATCH, BROKEN)
    assert report.trouble is None
    report.worked()
    report.failed(WATCH, BROKEN)
    assert report.trouble is None
    report.failed(WATCH, BROKEN)
    assert report.trouble is BROKEN


@pytest.mark.parametrize("refusal", [FORBIDDEN, MISSING])
def test_a_refusal_is_a_trouble_at_once_and_an_answer(refusal: Forbidden | NotFound) -> None:
    """Nobody waits for a list that will not come; a broken connection is no answer."""
    report = Report("secrets")
    report.failed(LIST, BROKEN)
    assert not report.settled.is_set()
    report.failed(LIST, refusal)
    assert report.settled.is_set()
    assert report.trouble is refusal


def test_trouble_is_told_once_and_its_end_too(caplog: pytest.LogCaptureFixture) -> None:
    """A hundred tries are one line in the log, and one more when it works again."""
    report = Report("secrets in namespace shop")
    with caplog.at_level(logging.INFO):
        for _ in range(100):
            report.began(LIST)
            report.failed(LIST, FORBIDDEN)
        report.worked()
        report.worked()
    assert [line.levelname for line in caplog.records] == ["WARNING", "INFO"]
    assert "cannot list secrets in namespace shop" in caplog.messages[0]
    assert (report.attempts[LIST], report.failures[LIST]) == (100, 100)
    assert report.trouble is None
