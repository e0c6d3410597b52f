"""Golden configurations: the folder is the table, the file's name is the Prometheus version.

    tests/golden/prometheus/<case>/in.yaml           manifests, in our own words
    tests/golden/prometheus/<case>/v3.14.0.yaml      what `stoker render` makes for that version
    tests/golden/prometheus/<case>/v3.14.0.txt       what it says about it

`pytest tests/golden --update-golden` writes the expectations anew; look at the difference.
"""

import io
from pathlib import Path

import pytest

from stoker.cli.render_summary import summary
from stoker.offline.manifests import read
from stoker.offline.objects import Rendered
from stoker.offline.world import World, world_of
from stoker.plan import Plan
from stoker.settings import Capabilities
from tests.planning import decide

FOLDER = Path(__file__).parent / "prometheus"
CASES = sorted(folder.name for folder in FOLDER.iterdir() if folder.is_dir())


def expectations() -> list[object]:
    """Every expected file, with the case and the version it is for."""
    return [
        pytest.param(path.parent, path.stem, id=f"{path.parent.name}-{path.stem}")
        for case in CASES
        for path in sorted((FOLDER / case).glob("v*.yaml"))
    ]


def decided(case: Path, version: str) -> tuple[World, list[Plan]]:
    """What becomes of the workloads of a case when they ask for a version."""
    text = (case / "in.yaml").read_text()
    assert "$VERSION" in text, "the workloads of a case ask for `version: $VERSION`"
    world = world_of(read(["-"], io.StringIO(text.replace("$VERSION", version))))
    found = [
        decide(each, world.resources, world.namespaces, world.assets, Capabilities())
        for each in world.workloads
    ]
    return world, found


@pytest.mark.parametrize(("case", "version"), expectations())
def test_manifests_make_the_expected_configuration(
    case: Path, version: str, pytestconfig: pytest.Config
) -> None:
    """And the summary names what was used, rejected and ignored."""
    world, decisions = decided(case, version)
    texts = [decision.text for decision in decisions]
    said = summary(world, [Rendered(decision) for decision in decisions])
    made = {".yaml": "---\n".join(texts), ".txt": "\n".join(said) + "\n"}
    for ending, text in made.items():
        path = case / f"{version}{ending}"
        if pytestconfig.getoption("--update-golden"):
            path.write_text(text)
        assert path.read_text() == text


def test_every_input_has_an_expectation() -> None:
    """A case without one would test nothing."""
    without = [case for case in CASES if not list((FOLDER / case).glob("v*.yaml"))]
    assert without == []
    assert len(CASES) >= 10
