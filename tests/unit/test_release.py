"""Releases: the changelog, the version, and archives, as far as nothing is installed.

`tests/live/test_release.py` makes one and installs it.
"""

import gzip
import io
import re
import subprocess
import tarfile
from pathlib import Path

import pytest

from stoker import __version__
from tools.release import __main__ as release
from tools.release import changelog, numbering
from tools.release.archives import tar_gz
from tools.release.sums import summed

ROOT = Path(__file__).parents[2]


def folder_of(directory: Path, **texts: str) -> Path:
    """A folder with fragments; `a_added` is the file a.added.md."""
    folder = directory / "changelog.d"
    folder.mkdir()
    (folder / "README.md").write_text("# What fragments are\n")
    for name, text in texts.items():
        (folder / f"{name.replace('_', '.')}.md").write_text(text)
    return folder


def test_every_fragment_is_one() -> None:
    """A name with a kind, and a sentence: or the next release could not be made."""
    assert sum(map(len, changelog.fragments(ROOT / "changelog.d").values())) >= 0
    assert [path.name for path in changelog.fragment_files(ROOT / "changelog.d")] == sorted(
        path.name for path in (ROOT / "changelog.d").iterdir() if path.name != "README.md"
    )


def test_fragments_become_a_section(tmp_path: Path) -> None:
    """By kind, one line each."""
    folder = folder_of(
        tmp_path, b_fixed="It is\nmended.\n", a_fixed="See it.\n", c_removed="Gone.\n"
    )
    made = changelog.section("1.2.0", "2026-11-18", changelog.fragments(folder))
    assert made == (
        "## 1.2.0 (2026-11-18)\n\n### Removed\n\n- Gone.\n\n"
        "### Fixed\n\n- See it.\n- It is mended.\n"
    )


def test_what_is_more_of_something_follows_it(tmp_path: Path) -> None:
    """`lint-formats` comes after `lint`, though a hyphen comes before a dot."""
    folder = folder_of(tmp_path, **{"lint-formats_added": "More.", "lint_added": "Lint."})
    assert list(changelog.fragments(folder)["added"].values()) == ["Lint.", "More."]


def test_a_long_list_has_a_heading_for_each_topic(tmp_path: Path) -> None:
    """By the first word of a name; what is of no topic comes last, and a short list has none."""
    names = ["strange", *(f"page-{number:02}" for number in range(changelog.LONG - 1)), "agent"]
    folder = folder_of(tmp_path, **{f"{name}_added": f"On {name}." for name in names})
    sentences = changelog.fragments(folder)
    made = changelog.section("1.2.0", "2026-11-18", sentences)
    agents, pages, rest = made.partition("### Added\n\n")[2].split("\n\n#### ")
    assert agents == "#### Agents on nodes\n\n- On agent."
    assert pages.splitlines()[:4] == ["Status page", "", "- On page-00.", "- On page-01."]
    assert rest == "Other\n\n- On strange.\n"
    del sentences["added"]["strange"]
    assert "####" not in changelog.section("1.2.0", "2026-11-18", sentences)


def test_what_is_added_is_of_a_topic() -> None:
    """What there is comes under headings that people look for it by."""
    names = changelog.fragments(ROOT / "changelog.d")["added"]
    assert [each for each in names if changelog.topic_of(each) == changelog.OTHER] == []


def test_a_section_begins_with_what_it_is_about(tmp_path: Path) -> None:
    """In words before all lists."""
    folder = folder_of(tmp_path, b_added="It is new.\n", a_summary="All about\nit.\n")
    made = changelog.section("1.2.0", "2026-11-18", changelog.fragments(folder))
    assert made == "## 1.2.0 (2026-11-18)\n\nAll about it.\n\n### Added\n\n- It is new.\n"


def test_the_first_release_says_what_there_is(tmp_path: Path) -> None:
    """And not what was mended or changed on the way; the second release says that, too."""
    release.copy(tmp_path)
    (tmp_path / changelog.FILE).unlink(missing_ok=True)
    for version, mended in (("98.7.6", False), ("98.7.7", True)):
        for kind in changelog.KINDS:
            fragment = tmp_path / changelog.FOLDER / f"a.{kind}.md"
            fragment.write_text(f"This is {kind} in {version}.\n")
        release.prepare(tmp_path, version, "2026-01-02")
        text = (tmp_path / changelog.FILE).read_text()
        for kind in ("fixed", "changed", "removed"):
            assert (f"This is {kind} in {version}." in text) == mended
        for kind in ("summary", "security", "added"):
            assert f"This is {kind} in {version}." in text


def test_fragments_are_for_those_who_have_nothing_but_a_release() -> None:
    """What only makers know, such as the numbers of what is asked for, is not in them."""
    numbered = re.compile(r"\((?:.* )?[A-Z]\d{1,2}[–,)]|defect \d")
    sentences = changelog.fragments(ROOT / changelog.FOLDER)
    said = (one for each in sentences.values() for one in each.values())
    assert [one for one in said if numbered.search(one)] == []


@pytest.mark.parametrize(
    ("name", "text"), [("a_new", "A."), ("a", "A."), ("a_added", " \n"), ("A_added", "A.")]
)
def test_what_is_no_fragment_is_named(tmp_path: Path, name: str, text: str) -> None:
    """A release does not pass over what somebody wrote."""
    with pytest.raises(changelog.FragmentError, match=name.replace("_", r"\.")):
        changelog.fragments(folder_of(tmp_path, **{name: text}))


def test_the_newest_version_comes_first() -> None:
    """And each can be found again, whatever stands around it."""
    first = changelog.with_section("", "## 1.2.0 (2026-01-01)\n\n- A.\n")
    both = changelog.with_section(first, "## 1.20.0 (2026-02-02)\n\n- B.\n")
    assert both == (
        f"{changelog.TITLE}\n## 1.20.0 (2026-02-02)\n\n- B.\n\n## 1.2.0 (2026-01-01)\n\n- A.\n"
    )
    assert changelog.section_of(both, "1.2.0") == "## 1.2.0 (2026-01-01)\n\n- A.\n"
    assert changelog.section_of(both, "1.20.0") == "## 1.20.0 (2026-02-02)\n\n- B.\n"
    assert changelog.section_of(both, "1.2") == ""


def test_the_version_is_one_everywhere() -> None:
    """Each place that a release writes has it now, and no other page or chart names it."""
    assert numbering.read(ROOT) == __version__
    for path in numbering.PLACES:
        text = (ROOT / path).read_text()
        assert numbering.written(path, text, __version__) == text
        assert __version__ not in numbering.written(path, text, "98.7.6"), path
    pages = [*ROOT.glob("*.md"), *(ROOT / "docs").rglob("*.md"), *(ROOT / "deploy").rglob("*.yaml")]
    pages += [path for path in (ROOT / "charts").rglob("*") if path.is_file()]
    exact = re.compile(rf"(?<![\w.]){re.escape(__version__)}(?![\w.])")
    told = {path.relative_to(ROOT) for path in pages if exact.search(path.read_text())}
    assert told - {changelog.FILE} <= set(numbering.PLACES)


@pytest.mark.parametrize("version", ["1.2", "v1.2.3", "1.2.3rc1", "01.2.3", "1.2.3\n", ""])
def test_other_versions_are_refused(version: str, capsys: pytest.CaptureFixture[str]) -> None:
    """Three numbers mean the same to pip, to Helm and to a registry of images."""
    assert release.main([version, "--dry-run"]) == 1
    assert "is not a version" in capsys.readouterr().err


def test_what_was_prepared_stays_as_it_is(tmp_path: Path) -> None:
    """A release can be made again from what was committed; fragments that came since are named."""
    release.copy(tmp_path)
    changed = release.prepare(tmp_path, "98.7.6", "2026-01-02")
    prepared = {
        path: (tmp_path / path).read_text() for path in changed if (tmp_path / path).exists()
    }
    assert numbering.read(tmp_path) == "98.7.6"
    assert changelog.fragment_files(tmp_path / "changelog.d") == []
    release.prepare(tmp_path, "98.7.6", "2027-03-04")
    assert {path: (tmp_path / path).read_text() for path in prepared} == prepared
    (tmp_path / "changelog.d" / "late.fixed.md").write_text("Late.\n")
    with pytest.raises(LookupError, match="1 fragments wait"):
        release.prepare(tmp_path, "98.7.6", "2027-03-04")


def test_only_files_of_a_release_are_replaced(tmp_path: Path) -> None:
    """Whoever names a folder of his own does not lose what is in it."""
    made = tmp_path / "made"
    made.mkdir()
    (made / "stoker-1.2.0.tgz").write_text("new")
    there = tmp_path / "there"
    there.mkdir()
    for name in ("stoker-1.1.0.tgz", "SHA256SUMS", "SHA256SUMS.sig", "mine"):
        (there / name).write_text("old")
    release.publish([made / "stoker-1.2.0.tgz"], there, key=None)
    assert sorted(path.name for path in there.iterdir()) == [
        "SHA256SUMS",
        "mine",
        "stoker-1.2.0.tgz",
    ]


def test_archives_do_not_tell_who_made_them_when(tmp_path: Path) -> None:
    """Times, owners and umasks differ; bytes do not, but for what can be executed."""
    archives = []
    for number, mode in enumerate((0o600, 0o664)):
        folder = tmp_path / str(number)
        folder.mkdir()
        for name in ("b", "a")[:: 1 if number else -1]:
            (folder / name).write_text(name)
            (folder / name).chmod(mode)
        archives.append(tar_gz(folder, folder.iterdir(), "top"))
    assert archives[0] == archives[1]
    with tarfile.open(fileobj=io.BytesIO(gzip.decompress(archives[0]))) as archive:
        assert [entry.name for entry in archive] == ["top/a", "top/b"]
        assert {(entry.uid, entry.gid, entry.mode) for entry in archive} == {(0, 0, 0o644)}


def test_checksums_are_those_that_people_check(tmp_path: Path) -> None:
    """`sha256sum --check` reads them, and finds a byte that has changed."""
    for name in ("a", "b"):
        (tmp_path / name).write_text(name)
    (tmp_path / "SHA256SUMS").write_text(summed([tmp_path / "a", tmp_path / "b"]))
    check = ["sha256sum", "--check", "--strict", "SHA256SUMS"]
    assert subprocess.run(check, cwd=tmp_path, capture_output=True, check=False).returncode == 0
    (tmp_path / "b").write_text("c")
    assert subprocess.run(check, cwd=tmp_path, capture_output=True, check=False).returncode == 1
