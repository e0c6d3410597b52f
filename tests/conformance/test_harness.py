"""The replay itself, on cases made up here: it must not pass what it should not."""

import json
from pathlib import Path
from typing import Any

import pytest

from tests.conformance import exceptions, replay, runner
from tests.conformance.__main__ import main
from tests.conformance.cases import Case, suites
from tests.conformance.compare import comparable_object, differences
from tests.conformance.exceptions import Exempt, unknown_names
from tests.conformance.replay import (
    Context,
    Outcome,
    error_outcome,
    object_outcome,
    replays,
    text_outcome,
)


def sums(case: Case, context: Context) -> Outcome:
    """Replay a suite of additions."""
    return object_outcome(case.expect, {"sum": sum(case.given["numbers"])})


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Record three sums, the last of them wrong, and a suite that nobody replays."""
    ways: list[replay.Way] = []
    monkeypatch.setattr(replay, "WAYS", ways)
    monkeypatch.setattr(runner, "WAYS", ways)
    replays("sums")(sums)
    for number, expected in enumerate((3, 3, 4)):
        record(tmp_path / "sums" / f"Sum-{number}.json", {"numbers": [1, 2]}, {"sum": expected})
    record(tmp_path / "derived" / "later" / "Later-1.json", {}, {})
    return tmp_path


def record(path: Path, given: dict[str, Any], expect: dict[str, Any]) -> None:
    """Write a case."""
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(json.dumps({"given": given, "expect": expect}))


def last_line(capsys: pytest.CaptureFixture[str]) -> str:
    """Read the end of what was printed."""
    return capsys.readouterr().out.splitlines()[-1]


def test_a_failure_is_shown_counted_and_told_by_the_exit_status(
    folder: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """The table is for people, the last line and the status are for machines."""
    assert main(["--cases", str(folder)]) == 1
    printed = capsys.readouterr().out
    assert "sums/Sum-2:\n    sum: expected 4, got 3\n" in printed
    assert printed.splitlines()[-1] == "total: 2 passed, 1 failed, 0 excepted, 1 not replayed"


def test_a_single_suite_and_case_can_be_chosen(
    folder: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """Who works on one case wants to see that one."""
    assert main(["--cases", str(folder), "--suite", "sums", "--case", "Sum-0"]) == 0
    assert last_line(capsys) == "total: 1 passed, 0 failed, 0 excepted, 0 not replayed"


@pytest.mark.parametrize(
    "arguments", [["--cases", "/nonexistent"], ["--suite", "sum"], ["--case", "Sum-9"]]
)
def test_what_is_not_there_is_an_error(folder: Path, arguments: list[str]) -> None:
    """A folder, suite or case that does not exist must not look like success."""
    assert main(["--cases", str(folder), *arguments]) == 2


def test_an_excepted_case_is_counted_apart(
    folder: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """A difference that is meant is no failure."""
    except_cases(monkeypatch, Exempt("sums", "Sum-2", "we can add"))
    assert main(["--cases", str(folder)]) == 0
    assert last_line(capsys) == "total: 2 passed, 0 failed, 1 excepted, 1 not replayed"


def test_an_exception_that_is_no_longer_needed_is_a_failure(
    folder: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """Exceptions go when their reason goes."""
    except_cases(monkeypatch, Exempt("sums", "Sum-[12]", "we can add"))
    assert main(["--cases", str(folder)]) == 1
    assert "Sum-1:\n    passes: the exception is no longer needed" in capsys.readouterr().out


def test_an_exception_for_an_unknown_case_is_found(
    folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A misspelt exception would hide nothing and confuse everyone; another folder may lack it."""
    wrong = (Exempt("sums", "Sum-7", ""), Exempt("products", "*", ""))
    except_cases(monkeypatch, *wrong, Exempt("sums", "Sum-2", ""))
    assert len(unknown_names(suites(folder))) == 2
    assert main(["--cases", str(folder)]) == 0


def except_cases(monkeypatch: pytest.MonkeyPatch, *entries: Exempt) -> None:
    """Put these in the place of the list."""
    monkeypatch.setattr(exceptions, "EXCEPTIONS", entries)


def test_a_replay_that_raises_is_a_failed_case(
    folder: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """One case that we cannot even start must not stop the others."""
    record(folder / "sums" / "Sum-3.json", {}, {})
    assert main(["--cases", str(folder)]) == 1
    assert "sums/Sum-3:\n    KeyError: 'numbers'" in capsys.readouterr().out


def test_a_long_string_is_written_short(folder: Path) -> None:
    """`$repeat` and `$count` stand for the text that they describe."""
    record(folder / "long" / "A.json", {"text": {"$repeat": "ab", "$count": 3}}, {})
    assert [case.given for case in suites(folder)["long"].cases()] == [{"text": "ababab"}]


def test_a_list_of_cases_is_named_by_index(folder: Path) -> None:
    """`cases.json` holds many cases in one file."""
    file = folder / "derived" / "listed" / "cases.json"
    file.parent.mkdir()
    file.write_text(json.dumps([{"given": {"a": n}, "expect": {}} for n in range(2)]))
    assert suites(folder)["listed"].names() == ["0000", "0001"]
    assert [case.given["a"] for case in suites(folder)["listed"].cases()] == [0, 1]


def test_text_is_equal_to_the_byte_or_after_parsing_or_not() -> None:
    """The three outcomes of a suite of text are kept apart."""
    assert text_outcome("a: 1\n", "a: 1\n") == Outcome(exact=True)
    assert text_outcome("a: 1\n", "{a: 1}") == Outcome(exact=False)
    assert not text_outcome("a: 1\n", "a: '1'\n").passed


def test_errors_agree_when_both_fail_or_neither() -> None:
    """The wording does not count."""
    assert error_outcome({"error": "boom"}, "something else").passed
    assert error_outcome({"errorAnyOf": ["boom", "bang"]}, "something else").passed
    assert error_outcome({}, None).passed
    assert not error_outcome({"error": "boom"}, None).passed
    assert not error_outcome({}, "something else").passed


def test_booleans_are_no_numbers_and_numbers_have_no_type() -> None:
    """`1` and `1.0` are the same in JSON, `1` and `true` are not."""
    assert not list(differences({"a": 1}, {"a": 1.0}))
    assert list(differences({"a": 1}, {"a": True})) == ["a: expected 1, got True"]
    assert list(differences({"a": [1]}, {"a": []})) == ["a[0]: expected 1, got nothing"]


def test_status_and_empty_members_of_an_object_do_not_count() -> None:
    """Zero values of Go that are left over in recorded objects are dropped; conditions are not."""
    given = {
        "status": {"a": 1},
        "spec": {"b": None, "c": {"d": []}, "e": 0, "f": [{"status": "x"}]},
    }
    assert comparable_object(given) == {"spec": {"e": 0, "f": [{"status": "x"}]}}
