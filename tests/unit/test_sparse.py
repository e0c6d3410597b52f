"""Copies of folders with much that is reserved and little that is written."""

from pathlib import Path

from tools.sparse import copied


def test_a_copy_is_the_same_and_takes_no_room_for_what_is_not_written(tmp_path: Path) -> None:
    """Whatever the zeros are beside, at the end too, and in folders within."""
    contents = {
        "empty": b"",
        "zeros": bytes(1 << 20),
        "in between": b"a" * 70_000 + bytes(1 << 20) + b"b" + bytes(300_000),
        "in/a folder": b"c" * (1 << 16) + bytes(7),
    }
    for name, content in contents.items():
        file = tmp_path / "one" / name
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_bytes(content)
    copied(tmp_path / "one", tmp_path / "other")
    found = {name: tmp_path / "other" / name for name in contents}
    assert {name: file.read_bytes() for name, file in found.items()} == contents
    assert sum(file.stat().st_blocks * 512 for file in found.values()) < 1 << 19
