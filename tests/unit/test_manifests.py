"""Reading manifests from files, folders and standard input: nothing raises, nothing hangs."""

import contextlib
import io
import json
import os
import tempfile
import tracemalloc
from collections.abc import Iterator
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from stoker.offline import manifests
from stoker.offline.manifests import Document, Manifest, Unreadable, read


def _read(folder: Path, name: str = "a.yaml", text: str | bytes = "") -> list[Document]:
    path = folder / name
    path.write_bytes(text if isinstance(text, bytes) else text.encode())
    return list(read([str(path)]))


def _objects(readings: list[Document]) -> list[object]:
    return [reading.object for reading in readings if isinstance(reading, Manifest)]


def _only(readings: list[Document]) -> Unreadable:
    (reading,) = readings
    assert isinstance(reading, Unreadable)
    return reading


def test_each_document_is_read_with_its_number_and_line(tmp_path: Path) -> None:
    """Documents count from one; a line is that of the document's first content."""
    text = "# header\n---\n# first\na: 1\n---\n\nb: 2\n...\n---\nc: 3\n"
    found = [r for r in _read(tmp_path, text=text) if isinstance(r, Manifest)]
    assert [(m.document, m.line, m.object) for m in found] == [
        (1, 4, {"a": 1}),
        (2, 7, {"b": 2}),
        (3, 10, {"c": 3}),
    ]


def test_empty_documents_are_passed_over_but_counted(tmp_path: Path) -> None:
    """A number in a report is the number that other tools give the document."""
    found = _read(tmp_path, text="---\n---\n# only a comment\n---\na: 1\n---\n")
    assert [(r.document, r.line) for r in found] == [(3, 5)]


@pytest.mark.parametrize(
    "text",
    [
        "a: |\n  ---\n  ...\n",
        "--- # comment\na: 1\n",
        "--- {a: 1}\n",
        "%YAML 1.1\n---\na: 1\n",
        "\ufeffa: 1\n",
        "a: 1\r\n---\r\n# none\r\n",
        "a: ---\n",
        "---a: 1\n",
    ],
)
def test_a_document_is_cut_only_where_yaml_says_so(tmp_path: Path, text: str) -> None:
    """Markers count in the first column and by themselves; byte order mark and CRLF are fine."""
    found = _read(tmp_path, text=text)
    assert len(_objects(found)) == len(found) == 1
    assert found[0].document == 1


def test_a_broken_document_does_not_take_the_others_along(tmp_path: Path) -> None:
    """One document is unreadable, with its own line, and the others are read."""
    first, second, third = _read(tmp_path, text="a: 1\n---\nb: 2\nc: [\n---\nd: 3\n")
    assert _objects([first, third]) == [{"a": 1}, {"d": 3}]
    assert isinstance(second, Unreadable)
    assert (second.document, second.line) == (2, 4)
    assert "did not find expected" in second.reason


@pytest.mark.parametrize(
    ("text", "line", "reason"),
    [
        ("a: b: c", 1, "mapping values are not allowed in this context"),
        ("a: 1\na: 2", 2, "the key `a` stands here twice"),
        ("[" * 100_000, 1, "nested deeper than 100 levels"),
        ("{a: " * 100_000, 1, "nested deeper than 100 levels"),
        ("a: 1\nb: \0", 2, "holds a NUL byte"),
        (b"a: 1\nb: \xff", 2, "not UTF-8: the byte 0xff does not belong there"),
        ("- 1", 1, "expected an object, got a list"),
        ("hello", 1, "expected an object, got `hello`"),
        ("~", 1, "expected an object, got nothing"),
    ],
)
def test_an_unreadable_document_says_why(
    tmp_path: Path, text: str | bytes, line: int, reason: str
) -> None:
    """Each gets one value with its source, document, line and reason."""
    found = _only(_read(tmp_path, text=text))
    foreign = text == "- 1"
    assert found == Unreadable(str(tmp_path / "a.yaml"), 1, line, "", reason, foreign)


@pytest.mark.parametrize("name", ["a.yaml", "a.json"])
def test_a_document_of_10_mib_is_refused_unparsed(
    tmp_path: Path, name: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """It is measured, not parsed, for the API server would not take it."""
    monkeypatch.setattr(manifests, "parse", lambda *_: pytest.fail("it was parsed"))
    text = '{"a": "' + "x" * (10 * manifests.MIB) + '"}'
    found = _only(_read(tmp_path, name, text))
    assert found.reason == "10.0 MiB; the API server takes at most 3 MiB"


def test_a_large_document_does_not_take_the_others_along(tmp_path: Path) -> None:
    """Its neighbours in the file are read."""
    large = "b:\n" + "  - some text\n" * 300_000
    found = _read(tmp_path, text=f"a: 1\n---\n{large}---\nc: 3\n")
    assert [type(reading) for reading in found] == [Manifest, Unreadable, Manifest]
    assert [reading.line for reading in found] == [1, 2, 300_005]


def test_a_line_longer_than_the_buffer_holds_no_marker(tmp_path: Path) -> None:
    """What looks like a marker in the middle of a long line is text."""
    text = f"a: '{'x' * (manifests.MIB - 4)}--- x'\n"
    assert len(_objects(_read(tmp_path, text=text))) == 1


def test_a_file_of_more_than_256_mib_is_refused(tmp_path: Path) -> None:
    """It is not even opened for reading; here it is a hole on the disk."""
    path = tmp_path / "a.yaml"
    path.touch()
    os.truncate(path, 300 * manifests.MIB)
    found = _only(list(read([str(path)])))
    assert found.reason == "300.0 MiB; stoker takes at most 256 MiB"


def test_an_endless_input_comes_to_an_end(monkeypatch: pytest.MonkeyPatch) -> None:
    """Standard input has no size, so it is counted while it is read."""
    monkeypatch.setattr(manifests, "MAX_FILE", 1000)
    found = list(read(["-"], io.StringIO("---\na: 1\n" * 1000)))
    assert isinstance(found[-1], Unreadable)
    assert found[-1].reason.endswith("the rest is not read")
    assert len(found) < 120


@pytest.mark.parametrize(
    ("text", "line", "reason"),
    [
        ('{"a": 1,}', 1, "not JSON: "),
        ('{"a": 1}\n{"b": 2}', 2, "not JSON: extra data"),
        ('{"a": 1, "a": 2}', 1, "the key `a` stands twice in one object"),
        ('{"a": NaN}', 1, "`NaN` is not a number that JSON allows"),
        ('{"a": 1e999}', 1, "`1e999` is not a number that JSON allows"),
        ('{"a": "\\ud800"}', 1, "a string holds half of a surrogate pair"),
        ("[" * 100_000, 1, "nested deeper than 100 levels"),
        ('{"a":' * 100_000, 1, "nested deeper than 100 levels"),
        ('"' + '\\"' * 1_000_000, 1, "not JSON: "),
        ('{"a": ' + "9" * 5000 + "}", 1, "`999999"),
        ("[1]", 1, "expected an object, got a list"),
    ],
)
def test_a_json_file_holds_one_object_and_nothing_else(
    tmp_path: Path, text: str, line: int, reason: str
) -> None:
    """JSON files are read as JSON, with the same limits."""
    found = _only(_read(tmp_path, "a.json", text))
    assert found.reason.startswith(reason)
    assert found.line == line


def test_json_is_read_as_json_wherever_it_stands(tmp_path: Path) -> None:
    """A surrogate pair is fine in JSON, though YAML does not know it; numbers are as in YAML."""
    text = json.dumps({"a": "\N{FIRE}", "b": [1.0, 1.5, 10]})
    for name in ("a.json", "a.yaml"):
        (manifest,) = _read(tmp_path, name, text)
        assert isinstance(manifest, Manifest)
        assert manifest.object == {"a": "\N{FIRE}", "b": [1, 1.5, 10]}
        assert isinstance(manifest.object["b"][0], int)


def test_lists_are_taken_apart(tmp_path: Path) -> None:
    """Each item comes with its path; a list of one kind lends its kind to its items."""
    text = """
apiVersion: v1
kind: List
items:
  - {kind: A}
  - nonsense
  - apiVersion: g/v1
    kind: ThingList
    items:
      - metadata: {name: x}
      - {kind: Other}
"""
    found = _read(tmp_path, text=text)
    assert [reading.path for reading in found] == [
        "items[0]",
        "items[1]",
        "items[2].items[0]",
        "items[2].items[1]",
    ]
    assert _objects(found) == [
        {"kind": "A"},
        {"apiVersion": "g/v1", "kind": "Thing", "metadata": {"name": "x"}},
        {"apiVersion": "g/v1", "kind": "Other"},
    ]
    assert isinstance(found[1], Unreadable)


@pytest.mark.parametrize(
    "text", ["apiVersion: v1\nkind: List", "apiVersion: v1\nkind: List\nitems:"]
)
def test_an_empty_list_holds_nothing(tmp_path: Path, text: str) -> None:
    """A list without items is no error."""
    assert _read(tmp_path, text=text) == []


def test_a_folder_is_read_in_the_order_of_names(tmp_path: Path) -> None:
    """Subfolders are read in their place; hidden files and other endings are passed over."""
    for name in ("b/z.yml", "b/y.json", "a.yaml", "c.YAML", "d.txt", ".e.yaml", ".git/f.yaml"):
        path = tmp_path / name
        path.parent.mkdir(exist_ok=True)
        path.write_text(json.dumps({"file": name}))
    found = list(read([str(tmp_path)]))
    assert _objects(found) == [{"file": n} for n in ("a.yaml", "b/y.json", "b/z.yml", "c.YAML")]
    assert found == list(read([str(tmp_path)]))


def test_a_file_named_twice_is_read_once(tmp_path: Path) -> None:
    """A path inside a folder that is named as well does not define its objects twice."""
    path = tmp_path / "a.yaml"
    path.write_text("a: 1")
    (tmp_path / "link.yaml").symlink_to(path)
    assert len(list(read([str(tmp_path), str(path)]))) == 1


def test_standard_input_is_a_path(tmp_path: Path) -> None:
    """A dash reads the documents of standard input."""
    (manifest,) = read(["-"], io.StringIO("a: 1\n"))
    assert isinstance(manifest, Manifest)
    assert (manifest.source, manifest.object) == ("<stdin>", {"a": 1})
    (broken,) = read(["-"], io.TextIOWrapper(io.BytesIO(b"a: \xff")))
    assert isinstance(broken, Unreadable)


def test_a_missing_path_is_told(tmp_path: Path) -> None:
    """It is one line in a report, not an exception."""
    path = str(tmp_path / "nowhere")
    assert list(read([path])) == [Unreadable(path, 0, 0, "", "no such file or directory")]


@pytest.mark.parametrize("name", ["bad\0name", "x" * 5000])
def test_an_impossible_path_is_told(name: str) -> None:
    """A path that no file can have is unreadable like any other."""
    assert isinstance(next(read([name])), Unreadable)


def test_an_empty_folder_holds_nothing(tmp_path: Path) -> None:
    """That is for the caller to judge."""
    assert list(read([str(tmp_path)])) == []


@contextlib.contextmanager
def without_privileges() -> Iterator[None]:
    """Run as nobody for a while, where we are root, whom no file refuses."""
    if os.geteuid() != 0:
        yield
        return
    os.seteuid(65534)
    try:
        yield
    finally:
        os.seteuid(0)


def test_a_forbidden_file_is_told() -> None:
    """A file that cannot be opened does not end the reading."""
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        folder.chmod(0o755)
        (folder / "a.yaml").touch(0)
        with without_privileges():
            assert _only(list(read([name]))).reason == "permission denied"


def test_symbolic_links_that_lead_back_are_told(tmp_path: Path) -> None:
    """A loop of links is one line each, and the reading goes on."""
    (tmp_path / "a.yaml").write_text("a: 1")
    inner = tmp_path / "inner"
    inner.mkdir()
    (inner / "up").symlink_to(tmp_path)
    (inner / "self").symlink_to("self")
    (inner / "gone.yaml").symlink_to("nowhere")
    found = list(read([str(tmp_path)]))
    assert _objects(found) == [{"a": 1}]
    assert [(Path(r.source).name, r.reason) for r in found if isinstance(r, Unreadable)] == [
        ("gone.yaml", "no such file or directory"),
        ("self", "too many levels of symbolic links"),
        ("up", "a symbolic link that leads back to a folder above it"),
    ]


def test_folders_that_link_to_each_other_are_read_once(tmp_path: Path) -> None:
    """Many links between folders do not multiply the reading."""
    for name in "abcdefghij":
        (tmp_path / name).mkdir()
        (tmp_path / name / "x.yaml").write_text(f"file: {name}")
    for name in "abcdefghij":
        for other in "abcdefghij":
            (tmp_path / name / f"to-{other}").symlink_to(tmp_path / other)
    assert len(_objects(list(read([str(tmp_path)])))) == 10


def test_a_pipe_in_a_folder_does_not_hang(tmp_path: Path) -> None:
    """Opening a named pipe would wait for a writer, so it is not opened."""
    os.mkfifo(tmp_path / "a.yaml")
    assert _only(list(read([str(tmp_path)]))).reason.startswith("neither a file nor a folder")


def test_files_are_not_held_in_memory(tmp_path: Path) -> None:
    """Reading many files takes the memory of one."""
    for number in range(200):
        (tmp_path / f"{number}.json").write_text(json.dumps({"a": "x" * 100_000}))
    tracemalloc.start()
    count = sum(1 for _ in read([str(tmp_path)]))
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert count == 200
    assert peak < 3 * manifests.MIB


@given(st.binary() | st.text().map(lambda text: text.encode("utf-8", "ignore")))
def test_any_bytes_are_read_or_refused(data: bytes) -> None:
    """Whatever standard input holds, reading it comes to an end without an exception."""
    for reading in read(["-"], io.TextIOWrapper(io.BytesIO(data))):
        assert reading.document >= 1
        assert reading.line >= 1
