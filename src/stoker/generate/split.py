"""A configuration that is too large for one Secret, as several files.

A Secret holds about a megabyte. What does not fit is divided: the main file keeps all that the
workload itself makes and names further files, which hold the jobs of resources.

    prometheus.yaml.gz      head, scrape_config_files, additional jobs, tail
    scrape-0.yaml.gz        scrape_configs: [a b c d] [m n o]
    scrape-1.yaml.gz        scrape_configs: [e f g h i] [j k l] …

The pieces are the compressed runs that there are anyway. Which file a piece goes to is decided by
the name of its run and the number of files (consistent hashing), so a changed resource changes one
file, and with one more file only the share of that file moves. Where each is found in a pod is
described in `docs/decisions/20261115-split-configuration.md`.
"""

import zlib
from collections.abc import Sequence
from typing import Final

from stoker.errors import WorkloadError
from stoker.generate.block import text_of
from stoker.generate.prometheus import SCRAPE_CONFIG_FILES, Frame
from stoker.generate.stream import Piece, gzip_member
from stoker.version import Version

SECRET_LIMIT: Final = 998_576
ROOM_FOR_OTHERS: Final = 10_000
"""What further keys of the same Secret may take."""

LARGEST_FILE: Final = SECRET_LIMIT - ROOM_FOR_OTHERS
LARGEST_PIECE: Final = LARGEST_FILE - 100
"""What one resource may take: a file with nothing else than it and its first line."""

HANDY_PIECE: Final = LARGEST_FILE // 16
"""Pieces up to this size fill files well; larger runs are better taken apart."""

_FULL: Final = LARGEST_FILE * 3 // 4
MAIN_FILE: Final = "prometheus.yaml.gz"
_EXPANDED: Final = "/etc/prometheus/config_out"


def file_name(number: int) -> str:
    """The name of a further file, in the Secret that holds it."""
    return f"scrape-{number}.yaml.gz"


def expanded_file(number: int) -> str:
    """Where Prometheus finds a further file, unpacked and with its variables filled in."""
    return f"{_EXPANDED}/scrape-{number}.env.yaml"


def file_count(size: int, now: int = 0) -> int:
    """How many further files so many bytes of jobs need.

    Those that are there `now` are given up only once half of them would do: a different number
    means other mounts, and new pods.
    """
    needed = -(-size // _FULL)
    return now if needed < now and size > now * _FULL // 2 else needed


def stays_split(size: int, version: Version, now: int) -> bool:
    """Whether a configuration that fits into one file is left in the many that there are now."""
    return SCRAPE_CONFIG_FILES.known_to(version) and 0 < now == file_count(size, now)


def split_files(
    frame: Frame, pieces: Sequence[Piece], version: Version, now: int = 0
) -> dict[str, bytes]:
    """The files of a configuration whose jobs are divided, by name; each fits into a Secret.

    No piece may be larger than `LARGEST_PIECE`. `now` is the number of further files that there are
    already. WorkloadError where the version cannot read several files, or where the workload's own
    part does not fit.
    """
    if any(len(piece.member) > LARGEST_PIECE for piece in pieces):
        raise ValueError("a piece that fits into no file")
    size = sum(len(piece.member) for piece in pieces)
    count = max(1, file_count(size, now))
    while (parts := _divided(pieces, count)) is None:
        count += 1
    main = gzip_member(_main_text(frame, count))
    _check(len(main), size + len(main), version)
    return {MAIN_FILE: main} | {file_name(n): part for n, part in enumerate(parts)}


def _check(main: int, whole: int, version: Version) -> None:
    if not SCRAPE_CONFIG_FILES.known_to(version):
        known = f"{SCRAPE_CONFIG_FILES.lacking('Prometheus')}, and this is {version}"
        reason = f"the configuration {too_large(whole)}; to divide it among several {known}"
        raise WorkloadError("spec.version", reason)
    if main > LARGEST_FILE:
        raise WorkloadError("spec", f"the workload's own part of it {too_large(main)}")


def too_large(size: int) -> str:
    """A part of a sentence about something that no Secret can hold."""
    return f"takes {size:,} bytes compressed, more than the {LARGEST_FILE:,} that a Secret can hold"


def _main_text(frame: Frame, count: int) -> str:
    named = {SCRAPE_CONFIG_FILES.name: [expanded_file(number) for number in range(count)]}
    jobs = f"scrape_configs:\n{frame.additional}" if frame.additional else ""
    return frame.head + text_of(named) + jobs + frame.tail


def _divided(pieces: Sequence[Piece], count: int) -> list[bytes] | None:
    """The contents of so many files; None where they do not fit, which ends with more files.

    A piece goes to the file that its name chooses, or to the next one with room. Large ones go
    first, as they find room less easily.
    """
    files: list[list[tuple[int, bytes]]] = [[] for _ in range(count)]
    room = [LARGEST_PIECE] * count
    order = sorted(range(len(pieces)), key=lambda index: len(pieces[index].member) <= HANDY_PIECE)
    for index in order:
        name, member = pieces[index]
        chosen = _chosen(zlib.crc32(name.encode("utf-8", "surrogatepass")), count)
        places = (place % count for place in range(chosen, chosen + count))
        found = next((place for place in places if len(member) <= room[place]), None)
        if found is None:
            return None
        files[found].append((index, member))
        room[found] -= len(member)
    return [_file([member for _, member in sorted(file)]) for file in files]


def _file(members: list[bytes]) -> bytes:
    return b"".join([_BEGIN, *members]) if members else _NO_JOBS


_BEGIN: Final = gzip_member("scrape_configs:\n")
_NO_JOBS: Final = gzip_member("scrape_configs: []\n")

# The constants of Lamping and Veach, "A Fast, Minimal Memory, Consistent Hash Algorithm" (2014).
_STEP: Final = 2_862_933_555_777_941_757
_WORD: Final = (1 << 64) - 1


def _chosen(number: int, count: int) -> int:
    """One of `count` places; with one place more, it stays or moves to the new one."""
    chosen = candidate = 0
    while candidate < count:
        chosen = candidate
        number = (number * _STEP + 1) & _WORD
        candidate = ((chosen + 1) << 31) // ((number >> 33) + 1)
    return chosen
