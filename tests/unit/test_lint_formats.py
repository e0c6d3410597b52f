"""`stoker lint` for other tools: GitHub's annotations, and SARIF 2.1.0."""

import argparse
import json
import os
import re
from pathlib import Path
from typing import Any

import pytest

from stoker.api import admit
from stoker.cli import lint
from stoker.offline import problems
from stoker.offline.reports import ReportLine, github_line, sarif
from stoker.validate.findings import Reason

BROKEN = """\
apiVersion: monitoring.coreos.com/v1
kind: ServiceMonitor
metadata:
  name: cart
  namespace: shop
spec:
  selector: {}
  endpoints:
    - port: web
      interval: 30x
      colour: red
"""
ENTRY = ReportLine("a.yaml", 1, 9, "Probe", "shop", "web", "spec", "error", "Invalid", "wrong", 5)
Output = pytest.CaptureFixture[str]


def lines(capsys: Output, *words: str) -> tuple[int, str]:
    """The status and the output of a call."""
    parser = argparse.ArgumentParser()
    lint.arguments(parser)
    status = lint.run(parser.parse_args(words))
    return status, capsys.readouterr().out


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A folder to be in, with a broken file in one below it."""
    monkeypatch.chdir(tmp_path)
    (tmp_path / "my deploy").mkdir()
    (tmp_path / "my deploy" / "a#1.yaml").write_text(BROKEN)
    return tmp_path


# --- GitHub ---------------------------------------------------------------------------------------


def test_a_problem_is_an_annotation_at_its_place(folder: Path, capsys: Output) -> None:
    """File, line, column, title and message, and nothing else on standard output."""
    status, out = lines(capsys, "-o", "github", "my deploy")
    assert status == 1
    error, warning = out.splitlines()
    assert error.startswith(
        "::error file=my deploy/a#1.yaml,line=10,col=7,title=ServiceMonitor shop/cart Invalid::"
        "spec.endpoints[0].interval: `30x` is not a duration"
    )
    assert warning.startswith("::warning file=my deploy/a#1.yaml,line=11,col=7,")


def test_text_cannot_begin_another_annotation() -> None:
    """Whatever has a meaning in a workflow command is escaped."""
    evil = ENTRY._replace(file="a,b:c%.yaml", name="x\n::error::y", message="50%\r\n::warning::z")
    line = github_line(evil)
    assert line.splitlines() == [line]
    assert line == (
        "::error file=a%2Cb%3Ac%25.yaml,line=9,col=5,"
        "title=Probe shop/x%0A%3A%3Aerror%3A%3Ay Invalid::spec: 50%25%0D%0A::warning::z"
    )


def test_what_is_not_known_is_left_out() -> None:
    """A file that cannot be read has no line, and standard input no file."""
    unknown = ENTRY._replace(file="<stdin>", line=0, kind="", namespace="", name="", path="")
    assert github_line(unknown) == "::error title=Invalid::wrong"


def test_a_file_below_the_current_folder_is_named_from_there(folder: Path) -> None:
    """GitHub knows files by their paths in the repository."""
    assert "file=my deploy/b.yaml," in github_line(
        ENTRY._replace(file=str(folder / "my deploy" / "b.yaml"))
    )


# --- SARIF ----------------------------------------------------------------------------------------


def test_the_report_is_sarif(folder: Path, capsys: Output) -> None:
    """The essential constraints of the official schema hold."""
    status, out = lines(capsys, "-o", "sarif", "my deploy")
    assert status == 1
    log = json.loads(out)
    check_sarif(log)
    results = log["runs"][0]["results"]
    assert [(each["ruleId"], each["level"]) for each in results] == [
        ("Invalid", "error"),
        ("UnknownField", "warning"),
    ]
    place = results[0]["locations"][0]["physicalLocation"]
    assert place == {
        "artifactLocation": {"uri": "my%20deploy/a%231.yaml"},
        "region": {"startLine": 10, "startColumn": 7},
    }


def test_nothing_wrong_is_an_empty_report(folder: Path, capsys: Output) -> None:
    """Whoever uploads it needs a document all the same."""
    (folder / "good.yaml").write_text(BROKEN.partition("      interval")[0])
    status, out = lines(capsys, "-o", "sarif", "good.yaml")
    assert (status, json.loads(out)["runs"][0]["results"]) == (0, [])
    check_sarif(json.loads(out))


@pytest.mark.parametrize(
    ("file", "uri"),
    [
        ("a:b.yaml", "a%3Ab.yaml"),
        ("./x/../a.yaml", "a.yaml"),
        ("../up.yaml", "../up.yaml"),
        ("<stdin>", "stdin"),
        ("/nowhere/a b.yaml", "file:///nowhere/a%20b.yaml"),
        ("100%/ü [1]{2}?.yaml", "100%25/%C3%BC%20%5B1%5D%7B2%7D%3F.yaml"),
        (os.fsdecode(b"\xff.yaml"), "%FF.yaml"),
        (os.fsdecode(b"/nowhere/\xff.yaml"), "file:///nowhere/%FF.yaml"),
    ],
)
def test_files_are_references(file: str, uri: str) -> None:
    """Relative where the file lies below the current folder, and never mistaken for a scheme."""
    log = sarif([ENTRY._replace(file=file, line=0)], "1")
    check_sarif(log)
    location = log["runs"][0]["results"][0]["locations"][0]["physicalLocation"]
    assert location == {"artifactLocation": {"uri": uri}}


@pytest.mark.parametrize(
    ("text", "shown"),
    [
        ("see [here](https://shop.example)", "see [here] (https://shop.example)"),
        ("see [here\\](https://shop.example)", "see [here\\] (https://shop.example)"),
        ("as in \udcff.yaml", "as in \\udcff.yaml"),
    ],
)
def test_a_message_is_plain_text(text: str, shown: str) -> None:
    """A user's link is none; what is no Unicode is spelt, as other tools would not read it."""
    log = sarif([ENTRY._replace(message=text)], "1")
    check_sarif(log)
    assert log["runs"][0]["results"][0]["message"]["text"] == f"Probe shop/web: spec: {shown}"


def test_every_reason_has_a_sentence() -> None:
    """A rule without a description helps nobody."""
    words = re.compile(r"^[A-Z][A-Za-z]+$")
    severities = {problems.ERROR, problems.WARNING, problems.UNKNOWN}
    known = set(map(str, Reason)) | {
        value
        for module in (admit, problems)
        for name, value in vars(module).items()
        if name.isupper() and not name.startswith("_") and isinstance(value, str)
        if words.match(value) and value not in severities
    }
    assert known == set(problems.REASONS)


# The members that the schema of SARIF 2.1.0 requires (code scanning wants more of them than it) or
# allows, of the objects that we write. It allows no others, and each array but `results` and
# `locations` has every item once.
_OBJECTS: dict[str, tuple[set[str], set[str]]] = {
    "log": ({"version", "runs"}, {"$schema"}),
    "run": ({"tool", "results"}, {"columnKind"}),
    "driver": ({"name", "rules"}, {"version"}),
    "rule": ({"id", "shortDescription", "fullDescription", "help"}, set()),
    "text": ({"text"}, set()),
    "result": ({"message", "ruleId", "level", "locations"}, {"ruleIndex"}),
    "location": ({"physicalLocation"}, {"logicalLocations"}),
    "logicalLocation": (set(), {"fullyQualifiedName", "kind"}),
    "physicalLocation": ({"artifactLocation"}, {"region"}),
    "artifactLocation": ({"uri"}, set()),
    "region": ({"startLine"}, {"startColumn"}),
}
_LEVELS = {"none", "note", "warning", "error"}
# RFC 3986: a scheme with an absolute path, or a path whose first part has no colon.
_REFERENCE = re.compile(
    r"(?:file://(?=/)|(?![^/]*:))(?:[A-Za-z0-9/._~!$&'()*+,;=:@-]|%[0-9A-F]{2})+"
)


def has_form(value: Any, what: str) -> None:
    """Whether an object has what it must, and nothing that there is not."""
    required, allowed = _OBJECTS[what]
    assert required <= value.keys() <= required | allowed, what


def is_text(value: Any) -> None:
    """Whether it is a text that every reader of JSON takes, without links."""
    has_form(value, "text")
    assert value["text"]
    assert value["text"].encode()
    assert "](" not in value["text"]


def check_sarif(log: Any) -> None:
    """What was learned from the official schema and from the validator of code scanning."""
    has_form(log, "log")
    assert log["version"] == "2.1.0"
    assert log["$schema"].endswith("sarif-2.1.0.json")
    for run in log["runs"]:
        has_form(run, "run")
        assert run["columnKind"] in {"utf16CodeUnits", "unicodeCodePoints"}
        assert run["tool"].keys() == {"driver"}
        driver = run["tool"]["driver"]
        has_form(driver, "driver")
        ids = [rule["id"] for rule in driver["rules"]]
        assert len(ids) == len(set(ids))
        for rule in driver["rules"]:
            has_form(rule, "rule")
            for name in rule.keys() - {"id"}:
                is_text(rule[name])
        for result in run["results"]:
            check_result(result, ids)


def check_result(result: Any, ids: list[str]) -> None:
    """One result, and that its rule is the one it names."""
    has_form(result, "result")
    is_text(result["message"])
    assert result["level"] in _LEVELS
    assert ids[result["ruleIndex"]] == result["ruleId"]
    for location in result["locations"]:
        has_form(location, "location")
        for logical in location.get("logicalLocations", ()):
            has_form(logical, "logicalLocation")
        place = location["physicalLocation"]
        has_form(place, "physicalLocation")
        has_form(place["artifactLocation"], "artifactLocation")
        assert _REFERENCE.fullmatch(place["artifactLocation"]["uri"])
        region = place.get("region", {"startLine": 1})
        has_form(region, "region")
        assert all(isinstance(each, int) and each >= 1 for each in region.values())
