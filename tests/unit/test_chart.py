"""What can be said of the charts without Helm: their values, versions and what is made for them."""

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
import yaml

from stoker import __version__
from stoker.api.kinds import KINDS
from tools import reference

ROOT = Path(__file__).parents[2]
CHARTS = ("stoker", "stoker-crds")
# What goes to Kubernetes as it is, so Kubernetes says what may be in it.
AS_IT_IS = ("affinity", "env", "tolerations", "global", "claims")


def schema(chart: str) -> dict[str, Any]:
    """The schema of a chart's values."""
    loaded: dict[str, Any] = json.loads((ROOT / f"charts/{chart}/values.schema.json").read_text())
    return loaded


def values(chart: str) -> Any:
    """The values of a chart."""
    return yaml.safe_load((ROOT / f"charts/{chart}/values.yaml").read_text())


def nodes(node: dict[str, Any], path: str = "") -> Iterator[tuple[str, dict[str, Any]]]:
    """Every part of a schema."""
    yield path, node
    for name, inner in node.get("properties", {}).items():
        yield from nodes(inner, f"{path}.{name}")


def paths(value: Any, path: str = "") -> Iterator[str]:
    """Every path of mappings in values, the empty ones included."""
    yield path
    if isinstance(value, dict):
        for name, inner in value.items():
            yield from paths(inner, f"{path}.{name}")


@pytest.mark.parametrize("chart", CHARTS)
def test_every_value_has_a_type_and_a_description(chart: str) -> None:
    """An editor can explain each, and Helm refuses what is not there."""
    for path, node in nodes(schema(chart)):
        assert node.get("type"), path
        assert node.get("description", "").endswith("."), path
        if node["type"] == "object" and path.rpartition(".")[2] not in AS_IT_IS:
            closed = node.get("additionalProperties") is False
            assert closed or node["additionalProperties"].get("type"), path
        if node["type"] == "array":
            assert node["items"]["type"], path


@pytest.mark.parametrize("chart", CHARTS)
def test_the_schema_knows_the_values_and_no_others(chart: str) -> None:
    """A value that is documented has a default, and the other way round."""
    described = {path for path, _ in nodes(schema(chart))}
    given = set(paths(values(chart)))
    quantities = {path for path in given if ".requests." in path or ".limits." in path}
    assert given - quantities <= described
    optional = (".global", ".claims", ".issuerRef.")
    assert {each for each in described - given if not any(o in each for o in optional)} == set()


@pytest.mark.parametrize("chart", CHARTS)
def test_the_version_is_that_of_the_package(chart: str) -> None:
    """The image's tag is the chart's version unless another is given."""
    about = yaml.safe_load((ROOT / f"charts/{chart}/Chart.yaml").read_text())
    assert about["name"] == chart
    assert about["version"] == about["appVersion"] == __version__


def test_what_is_made_for_the_charts_is_fresh() -> None:
    """`make reference` was run after the last change of a kind or a role.

    A definition for each kind, one more where a webhook serves more, the rules of both roles, the
    alerts and the dashboard.
    """
    made = {path: text for path, text in reference.made().items() if path.parts[0] == "charts"}
    assert len(made) == len(KINDS) + 2 + 2
    stale = [str(path) for path, text in made.items() if (ROOT / path).read_text() != text]
    assert stale == [], "run `make reference`"


def test_one_replica_does_not_hold_up_the_drain_of_a_node() -> None:
    """A budget counts who may be away: with `minAvailable` the only pod could never be evicted."""
    files = [*ROOT.glob("deploy/**/*.yaml"), *ROOT.glob("charts/*/templates/**/*.yaml")]
    budgets = [each for each in files if "kind: PodDisruptionBudget" in each.read_text()]
    assert len(budgets) == 4
    assert [each for each in budgets if "  maxUnavailable: 1\n" not in each.read_text()] == []
    assert [each for each in budgets if "minAvailable" in each.read_text()] == []
