"""Broken set-ups of all kinds: the first line of `stoker explain` names the cause."""

import asyncio
import json
import re
import shutil
from pathlib import Path

import pytest

from stoker.__main__ import main
from stoker.api.kinds import kind_called
from stoker.cli.operator_settings import operator_settings
from stoker.explain.ask import IS_WORKLOAD
from stoker.offline.pages import DirectoryPages
from stoker.offline.problems import REASONS
from stoker.page.answers import Unknown
from tests.corpus import PAGE, Case, anchor, cases, page

CASES = cases()
# Alerts that are only seen from one namespace are no fault.
FINE = {"amconfig-own-namespace", "enforced-limit", "version-too-old-field"}
# A cluster may have what is not among the manifests.
UNKNOWN = {"secret-missing", "amconfig-secret-missing"}


@pytest.mark.parametrize("case", CASES, ids=[each.name for each in CASES])
def test_the_first_line_names_the_cause(case: Case, capsys: pytest.CaptureFixture[str]) -> None:
    """The whole line is what people read, search for and find in the page."""
    status = main(["explain", *case.ask.split(), "--from", str(case.manifests)])
    first, *_ = capsys.readouterr().out.splitlines()
    assert first == case.line
    assert status == (0 if case.name in FINE | UNKNOWN else 1)


@pytest.mark.parametrize("case", CASES, ids=[each.name for each in CASES])
def test_the_page_says_the_same(case: Case, capsys: pytest.CaptureFixture[str]) -> None:
    """Whether one asks in a terminal or looks at the page, it is the same sentence."""
    main(["explain", *case.ask.split(), "--from", str(case.manifests), "-o", "json"])
    wanted = json.loads(capsys.readouterr().out)["headline"]
    assert case.line.endswith(f": {wanted}")
    assert asyncio.run(_headline_on_the_page(case)) == wanted


async def _headline_on_the_page(case: Case) -> str:
    word, name, *flags = case.ask.split()
    settings = operator_settings([f"--{each}" for each in flags if each != "--flag"])
    pages = DirectoryPages(str(case.manifests.parent), settings)
    kind = kind_called(word) or kind_called(f"prometheus{word}")
    assert kind is not None
    ask = pages.workload if kind.name in IS_WORKLOAD else pages.resource
    reading = asyncio.create_task(pages.run())
    try:
        found = await ask(kind.name, *name.split("/"))
    finally:
        reading.cancel()
    assert not isinstance(found, Unknown), found
    return found.explanation.headline


def test_there_are_many_and_each_is_another() -> None:
    """At least thirty, each with a symptom of its own and another answer than its neighbours."""
    assert len(CASES) >= 60
    assert len({each.symptom for each in CASES}) == len(CASES)
    answers = [each.line for each in CASES]
    # Two ways to lack a permission read the same, and so do a Secret and what it is of.
    assert len(set(answers)) >= len(answers) - 2


def test_the_page_is_made_of_them() -> None:
    """`python -m tests.corpus` makes it anew."""
    assert PAGE.read_text() == page()


def test_the_page_about_lint_has_every_reason() -> None:
    """With the words of the rules in SARIF."""
    text = (PAGE.parent / "lint.md").read_text()
    for reason, sentence in REASONS.items():
        assert f"| `{reason}` | {sentence} |" in text


@pytest.mark.parametrize("name", ["diff.md", "lint.md", "troubleshooting.md", "explain.md"])
def test_links_lead_somewhere(name: str) -> None:
    """To files that exist, and to headings of the page itself."""
    page = PAGE.parent / name
    text = page.read_text()
    headings = {anchor(each) for each in re.findall(r"^#+ (.*)$", text, re.MULTILINE)}
    for target in re.findall(r"\]\(([^)]+)\)", text):
        path, _, heading = target.partition("#")
        assert not path or (page.parent / path).exists(), target
        assert path or heading in headings, target


def test_the_example_of_diff_is_what_it_prints(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """The commands on the page, typed."""
    shutil.copytree(PAGE.parents[1] / "example", tmp_path / "example")
    shutil.copytree(tmp_path / "example", tmp_path / "new")
    (tmp_path / "new" / "mistakes.yaml").unlink()
    file = tmp_path / "new" / "shop-monitors.yaml"
    file.write_text(file.read_text().replace("interval: 15s", "interval: 10s", 1))
    monkeypatch.chdir(tmp_path)
    assert main(["diff", "--from", "example/", "new/"]) == 1
    assert f"```\n{capsys.readouterr().out}```" in (PAGE.parent / "diff.md").read_text()
