"""A configuration that is too large for one Secret, as several files."""

import gzip
import random
from typing import Any

import pytest
import yaml
from hypothesis import given
from hypothesis import strategies as st

from stoker.api.decode import convert
from stoker.api.prometheus import PrometheusSpec
from stoker.api.scrapeconfig.v1alpha1 import ScrapeConfig
from stoker.errors import WorkloadError
from stoker.generate.fragments import KeptConfiguration
from stoker.generate.prometheus import Additional, Frame
from stoker.generate.split import (
    LARGEST_FILE,
    LARGEST_PIECE,
    MAIN_FILE,
    SECRET_LIMIT,
    _chosen,
    file_count,
    split_files,
)
from stoker.generate.stream import Piece
from stoker.ref import Ref, ref_of
from stoker.select.assets import AssetsAtHand
from stoker.select.workload import Scraper
from stoker.version import parse_version
from tests.builders import typed

NOTHING = AssetsAtHand()
NEWEST = parse_version("3.14.0")
FRAME = Frame("global: {}\n", "", "storage: {}\n")
MANY, ENOUGH, FEWER = 1200, 600, 480  # too much for two Secrets, too much for one, and not
ADDITIONAL = Additional(scrape_configs=[{"job_name": "own"}])


def server(version: str = "v3.14.0") -> Scraper:
    """The server `main` in `shop`, which also has a section after its jobs."""
    intervals = {"scrapeInterval": "30s", "evaluationInterval": "30s"}
    spec = intervals | {"version": version, "remoteWrite": [{"url": "http://store"}]}
    return Scraper(namespace="shop", name="main", spec=convert(PrometheusSpec, spec))


def noisy(number: int, seed: int = 0) -> tuple[Ref, ScrapeConfig]:
    """A ScrapeConfig that takes about 2 KB, however well it is compressed."""
    letters = random.Random(f"{number} {seed}").randbytes(1_500).hex()
    targets = [letters[start : start + 50] for start in range(0, len(letters), 50)]
    spec = {"staticConfigs": [{"targets": targets}]}
    made = typed(ScrapeConfig, f"config-{number}", spec, f"team-{number % 7}")
    return ref_of(made), made


def kept_of(count: int, version: str = "v3.14.0") -> KeptConfiguration:
    """The configuration of so many of them."""
    kept = KeptConfiguration(server(version), NOTHING, ADDITIONAL)
    kept.put_all(dict(noisy(number) for number in range(count)), NOTHING)
    return kept


def parsed(packed: bytes) -> dict[str, Any]:
    """What a file says."""
    loader = getattr(yaml, "CSafeLoader", yaml.SafeLoader)
    found: dict[str, Any] = yaml.load(gzip.decompress(packed), loader)  # noqa: S506 (a safe one)
    return found


def test_what_fits_is_one_file() -> None:
    """As it always was."""
    kept = kept_of(3)
    assert kept.config_files() == {MAIN_FILE: kept.gzip()}
    assert kept.config_files(now=2) == {MAIN_FILE: kept.gzip()}


def test_what_does_not_fit_is_divided_among_files_that_do() -> None:
    """Every job is in exactly one of them, and the main file names the others."""
    kept = kept_of(MANY)
    assert len(kept.gzip()) > 2 * SECRET_LIMIT
    files = kept.config_files()
    main = parsed(files.pop(MAIN_FILE))
    assert max(map(len, files.values())) <= LARGEST_FILE
    assert main["scrape_config_files"] == [
        f"/etc/prometheus/config_out/{name.removesuffix('.yaml.gz')}.env.yaml" for name in files
    ]
    assert list(files) == [f"scrape-{number}.yaml.gz" for number in range(len(files))]
    sections = ["global", "scrape_config_files", "scrape_configs", "storage", "remote_write"]
    assert list(main) == sections
    assert [job["job_name"] for job in main["scrape_configs"]] == ["own"]
    further = [parsed(packed) for packed in files.values()]
    assert {tuple(one) for one in further} == {("scrape_configs",)}
    names = [job["job_name"] for one in further for job in one["scrape_configs"]]
    assert sorted(names) == sorted(f"scrapeConfig/team-{n % 7}/config-{n}" for n in range(MANY))


def changed_files(before: dict[str, bytes], after: dict[str, bytes]) -> set[str]:
    """The names of files that must be written or removed."""
    return {name for name in before | after if before.get(name) != after.get(name)}


def test_a_changed_resource_changes_one_file() -> None:
    """And the main file stays as it is."""
    kept = kept_of(MANY)
    before = kept.config_files()
    for number in (0, 50, 123, 999):
        key, one = noisy(number, seed=1)
        kept.put(key, one, NOTHING)
        after = kept.config_files(now=len(before) - 1)
        (changed,) = changed_files(before, after)
        assert changed != MAIN_FILE
        before = after


def test_resources_that_come_and_go_change_two_files_at_most() -> None:
    """Two where a run is divided; one, as often as not."""
    kept = kept_of(MANY)
    before = kept.config_files()
    counts = []
    for number in range(MANY, MANY + 12):
        key, one = noisy(number)
        kept.put(key, one, NOTHING)
        after = kept.config_files()
        counts.append(len(changed_files(before, after)))
        kept.remove(key)
        assert kept.config_files() == before
    assert max(counts) <= 2
    assert counts.count(1) >= len(counts) / 2


def test_the_files_do_not_tell_how_they_came_about() -> None:
    """A restarted operator makes the same ones and writes nothing."""
    later = kept_of(ENOUGH + 20)
    for number in (7, 300, 8):
        later.put(*noisy(number, seed=1), NOTHING)
        later.put(*noisy(number), NOTHING)
    for number in reversed(range(ENOUGH, ENOUGH + 20)):
        later.remove(noisy(number)[0])
    assert later.config_files() == kept_of(ENOUGH).config_files()


def test_an_old_version_is_told_that_it_cannot_have_several_files() -> None:
    """The sentence has all that one needs to know."""
    kept_of(ENOUGH, "v2.43.0").config_files()
    with pytest.raises(WorkloadError) as raised:
        kept_of(ENOUGH, "v2.42.0").config_files()
    assert raised.value.path == "spec.version"
    assert raised.value.reason.startswith("the configuration takes 1,")
    assert raised.value.reason.endswith(
        "bytes compressed, more than the 988,576 that a Secret can hold; to divide it among "
        "several needs Prometheus 2.43.0 or newer, and this is 2.42.0"
    )


def test_an_old_version_that_was_divided_goes_back_to_one_file() -> None:
    """Where the version was set back and the configuration fits."""
    kept = kept_of(FEWER, "v2.42.0")
    assert list(kept.config_files(now=2)) == [MAIN_FILE]
    assert len(kept_of(FEWER).config_files(now=2)) == 3


def test_a_workload_whose_own_part_is_too_large_is_told_so() -> None:
    """It cannot be divided."""
    noise = random.Random(1).randbytes(1_000_000).hex()
    with pytest.raises(WorkloadError, match="the workload's own part of it takes 1,"):
        split_files(Frame(f"# {noise}\n", "", ""), [], NEWEST)


# --- How many files -------------------------------------------------------------------------------


def test_files_are_filled_to_three_quarters() -> None:
    """So that there is room for change."""
    full = LARGEST_FILE * 3 // 4
    assert [file_count(size) for size in (1, full, full + 1, 4 * full)] == [1, 1, 2, 4]


def test_files_are_given_up_late() -> None:
    """Their number must not go up and down with a few bytes, since pods mount them."""
    full = LARGEST_FILE * 3 // 4
    assert file_count(4 * full + 1, now=4) == 5
    assert file_count(3 * full, now=5) == 5
    assert file_count(5 * full // 2, now=5) == 3


def test_what_is_divided_stays_divided_until_half_would_do() -> None:
    """For the same reason."""
    kept = kept_of(FEWER)
    assert len(kept.gzip()) < LARGEST_FILE
    assert list(kept.config_files()) == [MAIN_FILE]
    assert len(kept.config_files(now=2)) == 3


@given(st.integers(0, 2**32 - 1), st.integers(1, 50))
def test_one_more_file_takes_only_what_moves_to_it(number: int, count: int) -> None:
    """All else stays where it is."""
    before, after = _chosen(number, count), _chosen(number, count + 1)
    assert 0 <= before < count
    assert after in (before, count)


def test_names_are_spread_evenly() -> None:
    """Otherwise one file would be full while others are empty."""
    found = [_chosen(number * 2_654_435_761 % 2**32, 5) for number in range(5000)]
    assert all(900 < found.count(place) < 1100 for place in range(5))


@given(st.lists(st.integers(20, LARGEST_PIECE), max_size=12))
def test_pieces_of_any_size_find_a_place(sizes: list[int]) -> None:
    """Each exactly one, with more files if need be."""
    pieces = [
        Piece(f"run-{number // 2}", f"<<{number:03}>>".encode().ljust(size, b"."))
        for number, size in enumerate(sizes)
    ]
    files = split_files(FRAME, pieces, NEWEST)
    del files[MAIN_FILE]
    assert all(len(file) <= LARGEST_FILE for file in files.values())
    for piece in pieces:
        assert sum(piece.member[:7] in file for file in files.values()) == 1
    assert sum(file.count(b"<<") for file in files.values()) == len(pieces)
    assert len(files) <= max(1, len(pieces), file_count(sum(sizes)))


def test_a_piece_that_fits_nowhere_is_a_mistake_of_the_caller() -> None:
    """One that would otherwise be looked a place for without end."""
    with pytest.raises(ValueError, match="fits into no file"):
        split_files(FRAME, [Piece("", b"x" * (LARGEST_PIECE + 1))], NEWEST)


def test_a_file_without_jobs_is_still_one() -> None:
    """The main file names it."""
    assert parsed(split_files(FRAME, [], NEWEST)["scrape-0.yaml.gz"]) == {"scrape_configs": []}
