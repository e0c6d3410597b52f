"""The documentation is true: links lead somewhere, commands are understood, manifests work."""

import re
import shlex
from collections.abc import Iterator
from itertools import pairwise
from pathlib import Path

import pytest

import stoker.__main__ as command_line
from stoker.cli import webhook_flags
from stoker.cli.flag_table import FLAGS
from stoker.cli.flags import parsed
from stoker.errors import FieldError

ROOT = Path(__file__).parents[2]
PAGES = sorted(
    path.relative_to(ROOT)
    for pattern in ("*.md", "charts/*/*.md", "docs/**/*.md", "example/**/*.md")
    for path in ROOT.glob(pattern)
)
GUIDES = sorted((ROOT / "docs/guides").glob("*.md"))
FENCE = re.compile(r"^```(\w*)\n(.*?)^```$", re.MULTILINE | re.DOTALL)
OPERATORS = set("|&;<>()")
GO_FLAGS = {"operator": FLAGS, "webhook": webhook_flags.FLAGS}


def prose(page: Path) -> str:
    """A page without blocks of code and without code in its sentences."""
    return re.sub(r"`[^`\n]*`", "", FENCE.sub("", (ROOT / page).read_text()))


def blocks(page: Path, language: str) -> list[str]:
    """The blocks of a language on a page."""
    return [text for name, text in FENCE.findall((ROOT / page).read_text()) if name == language]


def anchors(page: Path) -> set[str]:
    """What headings can be linked to by, as GitHub names them: a second one gets a number."""
    found: dict[str, int] = {}
    names = set()
    for title in re.findall(r"^#+ (.*)$", FENCE.sub("", page.read_text()), re.MULTILINE):
        words = re.sub(r"\[([^]]*)\]\([^)]*\)", r"\1", title).strip().lower()
        name = re.sub(r"[^\w -]", "", words).replace(" ", "-")
        count = found[name] = found.get(name, -1) + 1
        names.add(f"{name}-{count}" if count else name)
    return names


@pytest.mark.parametrize("page", PAGES, ids=str)
def test_every_link_leads_somewhere(page: Path) -> None:
    """To a file or folder of the repository, and to a heading where one is named."""
    for target in re.findall(r"\]\(\s*<?([^)>\s]+)>?[^)]*\)", prose(page)):
        if re.match(r"[a-z]+:", target):
            continue
        place, _, heading = target.partition("#")
        found = (ROOT / page).parent / place if place else ROOT / page
        assert found.exists(), f"{page}: {target}: no such file"
        assert not heading or heading in anchors(found), f"{page}: {target}: no such heading"


def commands(page: Path) -> Iterator[list[str]]:
    """The words of each call of stoker on a page, without what a shell does with them."""
    for block in blocks(page, "sh"):
        for line in block.replace("\\\n", " ").splitlines():
            for words in simple_commands(line.removeprefix("$ ")):
                if words and words[0].rpartition("/")[2] == "stoker":
                    yield words[1:]


def simple_commands(line: str) -> Iterator[list[str]]:
    """A line of shell at its pipes, redirections and other operators."""
    lexer = shlex.shlex(line, posix=True, punctuation_chars=True)
    lexer.whitespace_split = True
    words: list[str] = []
    redirected = False
    for word in lexer:
        if set(word) <= OPERATORS:
            redirected = set(word) <= set("<>")
            if not redirected:
                yield words
                words = []
        elif not redirected:
            words.append(word)
        else:
            redirected = False
    yield words


@pytest.mark.parametrize("page", PAGES, ids=str)
def test_pictures_can_be_drawn(page: Path) -> None:
    """Mermaid ends a statement at a semicolon, in a message too, and then draws nothing."""
    for picture in blocks(page, "mermaid"):
        kind, *lines = picture.splitlines()
        assert kind in ("sequenceDiagram", "flowchart TB", "flowchart LR"), f"{page}: {kind}"
        if kind == "sequenceDiagram":
            assert not [line for line in lines if ";" in line or "#" in line], page
        else:
            assert picture.count("[") == picture.count("]"), page
            assert picture.count("{") == picture.count("}"), page
        assert picture.count('"') % 2 == 0, page


@pytest.mark.parametrize("page", ["docs/reliability.md", "docs/sequences.md"])
def test_the_tests_that_hold_a_promise_exist(page: str) -> None:
    """A promise names who pushes against it."""
    named = set(re.findall(r"\btest_\w+\.py\b", (ROOT / page).read_text()))
    assert len(named) > 5
    assert named <= {path.name for path in (ROOT / "tests").rglob("test_*.py")}


@pytest.mark.parametrize("page", PAGES, ids=str)
def test_every_command_is_understood(page: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """No page names a command, an option or a value that does not exist. Nothing is run."""
    monkeypatch.setattr(command_line, "_run", lambda _command: 0)
    for words in commands(page):
        assert is_understood(words), f"{page}: stoker {shlex.join(words)}"


def is_understood(words: list[str]) -> bool:
    """Whether the command line takes these words."""
    if words and words[0] in GO_FLAGS:
        try:
            parsed(words[1:], GO_FLAGS[words[0]])
        except FieldError:
            return False
        return True
    try:
        return command_line.main(words) == 0
    except SystemExit as ended:
        return ended.code == 0


def test_commands_that_do_not_exist_are_found(monkeypatch: pytest.MonkeyPatch) -> None:
    """Or the test above could pass over anything."""
    monkeypatch.setattr(command_line, "_run", lambda _command: 0)
    line = "X=1; .venv/bin/stoker lint --stern a/ | tee b > c && stoker operator --worker=4"
    called = [words[1:] for words in simple_commands(line) if words and "stoker" in words[0]]
    assert called == [["lint", "--stern", "a/"], ["operator", "--worker=4"]]
    assert not any(map(is_understood, called))
    assert is_understood(["lint", "a/"])
    assert sum(len(list(commands(page))) for page in PAGES) > 50


def test_every_guide_is_in_the_table_of_contents() -> None:
    """And so is every page, directly or through one that is."""
    reached, waiting = set(), [ROOT / "docs/README.md"]
    while waiting:
        page = waiting.pop().resolve()
        if page in reached or page.suffix != ".md":
            continue
        reached.add(page)
        links = re.findall(r"\]\(([^)#\s]+)[^)]*\)", page.read_text())
        waiting += [page.parent / each for each in links if (page.parent / each).is_file()]
    # Decisions are records, listed by their folder.
    pages = {
        ROOT / page for page in PAGES if page.parts[0] == "docs" and "decisions" not in page.parts
    }
    assert sorted(str(page) for page in pages - reached) == []


def paths() -> dict[str, list[Path]]:
    """The pages that each reader is led through: the first link of each numbered line."""
    home = ROOT / "docs/README.md"
    parts = re.split(r"^## (.*)$", home.read_text(), flags=re.MULTILINE)
    found = {
        reader: re.findall(r"^\d+\. \[[^]]*\]\(([^)#]+)\)", text, re.MULTILINE)
        for reader, text in zip(parts[1::2], parts[2::2], strict=True)
    }
    return {
        reader: [(home.parent / link).resolve() for link in links]
        for reader, links in found.items()
        if links
    }


def test_each_reader_has_a_path_and_each_page_of_it_leads_on() -> None:
    """An application developer, a platform engineer and who is on call need six pages at most."""
    assert len(paths()) == 3
    for reader, pages in paths().items():
        assert 3 <= len(pages) <= 6, reader
        for page, following in pairwise(pages):
            _, found, last = page.read_text().rpartition("\n**Next:** ")
            assert found, f"{page}: does not say what is next"
            assert "\n\n" not in last, f"{page}: what is next is not the last thing it says"
            links = re.findall(r"\]\(([^)#]+)", last)
            leads = {(page.parent / link).resolve() for link in links}
            assert following in leads, f"{page}: does not lead to {following}"


def test_one_oldest_kubernetes_is_told_everywhere() -> None:
    """The page that people read, and the charts that refuse what is older."""
    page = (ROOT / "docs/install.md").read_text()
    charts = [path.read_text() for path in sorted(ROOT.glob("charts/*/Chart.yaml"))]
    told = {
        *re.findall(r"Kubernetes (1\.\d+) or newer\]", page),
        *re.findall(r"\*\*(1\.\d+) is the oldest version", page),
        *(
            found
            for text in charts
            for found in re.findall(r'kubeVersion: ">=(1\.\d+)\.0-0"', text)
        ),
    }
    assert told == {"1.26"}
    assert len(charts) == 2


def manifests(page: Path) -> str:
    """All whole manifests of a guide, in one file."""
    return "\n---\n".join(text for text in blocks(page, "yaml") if text.startswith("apiVersion:"))


@pytest.mark.parametrize("guide", GUIDES, ids=lambda path: path.stem)
def test_manifests_of_guides_are_taken(
    guide: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """By `stoker lint`, to the letter, and by `render` and `status`: all of them are used."""
    text = manifests(guide)
    assert text
    folder = tmp_path / "manifests"
    folder.mkdir()
    (folder / "guide.yaml").write_text(text)
    assert command_line.main(["lint", "--strict", str(folder)]) == 0, capsys.readouterr().out
    if not re.search(r"^kind: (Prometheus|PrometheusAgent|Alertmanager|ThanosRuler)$", text, re.M):
        # A guide to monitors leaves the workload to the guide about it.
        (folder / "workload.yaml").write_text(manifests(ROOT / "docs/guides/prometheus.md"))
    capsys.readouterr()
    status = command_line.main(["render", str(folder), "--config-only"])
    shown = capsys.readouterr()
    assert status == 0, shown.err
    for kind, name in re.findall(r"^kind: (\w*Monitor|Probe)\nmetadata:\s+name: (\S+)", text, re.M):
        assert f"{kind[0].lower()}{kind[1:]}/shop/{name}" in shown.out, shown.err
    assert command_line.main(["status", "-f", str(folder)]) == 0, capsys.readouterr().out


@pytest.mark.parametrize(
    ("page", "first", "command"),
    [
        ("configuration.md", "PrometheusAgent monitoring/nodes ", "render --config-only example/"),
        ("objects.md", "Prometheus monitoring/main (3.5.0): 11 ", "render example/"),
        ("status-command.md", "$ stoker status -f example/", "status -f example/"),
    ],
)
def test_answers_about_the_example_are_what_is_printed(
    page: str,
    first: str,
    command: str,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    """In this order, though `…` leaves lines out."""
    monkeypatch.chdir(ROOT)
    found = FENCE.findall((ROOT / "docs" / page).read_text())
    [shown] = [text for _, text in found if text.startswith(first)]
    command_line.main(command.split())
    streams = capsys.readouterr()
    printed = iter((streams.out + streams.err).splitlines())
    for line in shown.splitlines():
        if line and "…" not in line and not line.startswith("$ "):
            assert line in printed, f"{page}: {line}"
