"""Text joined of many parts, kept compressed."""

import gzip
import shutil
import subprocess

import pytest
from hypothesis import given
from hypothesis import strategies as st

from stoker.generate import stream
from stoker.generate.stream import Stream, gzip_member


def joined(parts: dict[int, str]) -> str:
    """What the stream must be: the parts in order of their keys."""
    return "".join(parts[key] for key in sorted(parts))


OPERATIONS = st.lists(
    st.tuples(st.integers(0, 30), st.none() | st.text(max_size=40).map(lambda t: t * 3)),
    max_size=40,
)


@given(OPERATIONS)
def test_a_stream_is_the_join_of_its_parts(operations: list[tuple[int, str | None]]) -> None:
    """Whatever is put, replaced and removed, and its bytes do not tell in which order."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(stream, "MEAN_RUN", 4)
        patch.setattr(stream, "LARGE_PART", 30)
        kept: Stream[int] = Stream()
        expected: dict[int, str] = {}
        for key, text in operations:
            if text is None:
                kept.remove(key)
                expected.pop(key, None)
            else:
                kept.put(key, text)
                expected[key] = text
            assert (key in kept) == (key in expected)
        at_once: Stream[int] = Stream()
        at_once.change(expected)
        assert kept.members() == at_once.members()
        assert kept.pieces(10**6) == at_once.pieces(10**6)
    assert kept.text() == joined(expected)
    assert gzip.decompress(b"".join(kept.members())).decode() == joined(expected)
    assert len(kept) == len(expected)


@given(
    st.dictionaries(st.integers(0, 60), st.text(max_size=9)),
    st.dictionaries(st.integers(0, 60), st.none() | st.text(max_size=9)),
)
def test_many_changes_at_once_are_the_same_as_one_after_the_other(
    before: dict[int, str], changes: dict[int, str | None]
) -> None:
    """Runs that lose their beginning are joined, however many of them."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(stream, "MEAN_RUN", 3)
        patch.setattr(stream, "LARGE_PART", 5)
        at_once: Stream[int] = Stream()
        at_once.change(before)
        at_once.change(changes)
        after = {key: text for key, text in (before | changes).items() if text is not None}
        expected: Stream[int] = Stream()
        for key, text in after.items():
            expected.put(key, text)
        assert at_once.members() == expected.members()
        assert at_once.pieces(10**6) == expected.pieces(10**6)
    assert at_once.text() == joined(after)


@given(st.dictionaries(st.integers(0, 60), st.text(max_size=200)), st.integers(0, 300))
def test_pieces_are_the_stream_under_names(parts: dict[int, str], largest: int) -> None:
    """A run that is too large is taken apart."""
    kept: Stream[int] = Stream()
    kept.change(parts)
    pieces = kept.pieces(largest)
    assert gzip.decompress(b"".join(piece.member for piece in pieces)).decode() == joined(parts)
    alone = {gzip_member(text) for text in parts.values()}
    assert all(len(piece.member) <= largest or piece.member in alone for piece in pieces)
    assert {piece.name for piece in pieces} == {piece.name for piece in kept.pieces(10**6)}


def test_a_changed_part_keeps_the_names_of_all_pieces() -> None:
    """So that what is decided by name stays decided."""
    kept = filled(500)
    before = kept.pieces(10**6)
    kept.put(250, "- job_name: changed\n")
    after = kept.pieces(10**6)
    assert [piece.name for piece in before] == [piece.name for piece in after]


def filled(count: int) -> Stream[int]:
    """A stream with so many parts of about 5 KB."""
    made: Stream[int] = Stream()
    made.change({n: f"- job_name: job-{n}\n" + f"  relabel: {n}\n" * 400 for n in range(count)})
    return made


def test_a_change_rewrites_one_run() -> None:
    """The cost of a change does not depend on how much else there is."""
    kept = filled(1000)
    before = kept.members()
    kept.put(250, "- job_name: changed\n")
    after = kept.members()
    assert len(before) > 10
    assert len([member for member in after if member not in before]) == 1


def test_a_change_beside_a_large_part_does_not_pay_for_it() -> None:
    """However much somebody else's resource becomes, it is not packed again for ours."""
    kept = filled(60)
    before = {n: f"- job_name: job-{n}\n" for n in range(1000, 1030)}
    kept.change(before)
    kept.change(dict.fromkeys(range(1005, 1030, 5), "x" * 10**6))
    large = [run for run in kept._runs if run.is_large]
    assert len(large) == 5
    for n in before:
        kept.put(n, "- job_name: changed\n") if n % 5 else None
    kept.change({n + 0.5: "- job_name: new\n" for n in range(999, 1030)})  # type: ignore[misc]
    assert [run for run in kept._runs if run.is_large] == large


def test_gunzip_reads_it() -> None:
    """The program, not only Python's module."""
    gunzip = shutil.which("gunzip")
    if gunzip is None:
        pytest.fail("gunzip is on every machine that has make")
    kept = filled(60)
    packed = gzip_member("global: {}\n") + b"".join(kept.members())
    done = subprocess.run([gunzip, "-c"], input=packed, capture_output=True, check=True)
    assert done.stdout.decode() == "global: {}\n" + kept.text()
