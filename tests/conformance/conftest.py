"""The folder of recorded cases, or a skip that says what is missing."""

from pathlib import Path

import pytest

from tests.conformance.cases import default_folder

CASES = 6721


@pytest.fixture(scope="session")
def conformance() -> Path:
    """Find the recorded cases; without them, what needs them is skipped."""
    folder = default_folder()
    if not folder.is_dir():
        pytest.skip(f"{CASES} recorded cases are missing: no folder {folder}")
    return folder
