"""When a watch is in trouble, and what is said about it."""

import inspect
import logging
import time

import pytest

from stoker.kube import report as reporting
from stoker.kube.clock import awake_or_asleep
from stoker.kube.errors import Forbidden, NotFound, Silent, Unavailable
from stoker.kube.lease import Leadership
from stoker.kube.report import BLIND_SECONDS, LIST, WATCH, Report
from stoker.kube.watch import LATE_SECONDS, WATCH_SECONDS

SILENT = Silent(WATCH, "/api/v1/secrets", "it did not end")
BROKEN = Unavailable(WATCH, "/api/v1/secrets", "connection reset")
FORBIDDEN = Forbidden(LIST, "/api/v1/secrets", "not allowed", status=403)
MISSING = NotFound(LIST, "/apis/example.com/v1/kettles", "not found", status=404)


def test_one_broken_connection_is_no_trouble() -> None:
    """Connections end every day; only when the next try fails too is something wrong."""
    report = Report("secrets")
    report.failed(WATCH, BROKEN)
    assert report.trouble is None
    report.heard()
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
        report.heard()
        report.heard()
    assert [line.levelname for line in caplog.records] == ["WARNING", "INFO"]
    assert "cannot list secrets in namespace shop" in caplog.messages[0]
    assert (report.attempts[LIST], report.failures[LIST]) == (100, 100)
    assert report.trouble is None


def test_a_watch_that_is_answered_and_says_nothing_is_in_trouble() -> None:
    """After a silent one, being answered is no sign of life; after a broken one it is."""
    report = Report("secrets")
    for _ in range(2):
        report.opened()
        report.failed(WATCH, SILENT)
    report.opened()
    troubles = [report.trouble]
    report.heard()
    troubles.append(report.trouble)
    for _ in range(2):
        report.opened()
        report.failed(WATCH, BROKEN)
    assert [*troubles, report.trouble] == [SILENT, None, None]


def test_a_watch_is_blind_when_it_was_not_heard_of(monkeypatch: pytest.MonkeyPatch) -> None:
    """Not before its first list, and not where there is nothing to hear."""
    now = 1000.0
    monkeypatch.setattr(reporting, "awake_or_asleep", lambda: now)
    report = Report("secrets")
    found = [report.is_blind]
    report.heard()
    for passed in (BLIND_SECONDS, 1):
        now += passed
        found.append(report.is_blind)
    report.opened()
    found.append(report.is_blind)
    report.failed(WATCH, FORBIDDEN)
    assert [*found, report.is_blind] == [False, False, True, True, False]
    report.heard()
    assert report.silence == 0


def test_a_watch_that_is_well_is_heard_of_in_time() -> None:
    """Else all of them would be called blind now and then."""
    assert max(WATCH_SECONDS) + LATE_SECONDS < BLIND_SECONDS


@pytest.mark.skipif(not hasattr(time, "CLOCK_BOOTTIME"), reason="a clock of Linux")
def test_spans_are_measured_by_a_clock_that_counts_the_time_of_sleep() -> None:
    """A machine that was suspended must not take itself for the leader of before."""
    before = time.clock_gettime(time.CLOCK_BOOTTIME)
    assert before <= awake_or_asleep() <= time.clock_gettime(time.CLOCK_BOOTTIME)
    assert inspect.signature(Leadership).parameters["clock"].default is awake_or_asleep
