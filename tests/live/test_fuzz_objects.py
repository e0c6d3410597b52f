"""Objects of made-up workloads, shown to a real API server."""

from typing import Final

import pytest

from stoker.api.core import Object
from stoker.kube.errors import ApiError, Invalid
from tests.builders import prometheus
from tests.fuzz.building import NAMESPACE, Attempt, attempts, counted
from tests.live.dry_run import Answer, answers
from tests.live.operating import Running, World
from tools.cluster import Cluster

SEED, COUNT = 20261115, 400

NO_PORT: Final = {"port": 2**40}


@pytest.fixture(scope="module")
def tried(cluster: Cluster) -> list[tuple[Attempt, Object, Answer]]:
    """Make workloads up, and ask the server about their objects."""
    made = list(attempts(SEED, COUNT))
    failures = [f"seed {each.seed}: {each.problem}" for each in made if each.problem]
    assert failures == []
    print(dict(counted(made)))
    # Another test may have had one of this name, which takes its time to go.
    body = {"metadata": {"name": NAMESPACE}}
    cluster.until(NAMESPACE, lambda: cluster.api.request("POST", "/api/v1/namespaces", body))
    pairs = [(each, found) for each in made for found in each.objects]
    said = answers(cluster, (found for _, found in pairs))
    cluster.kubectl("delete", "namespace", NAMESPACE, "--wait=false")
    return [(each, found, answer) for (each, found), answer in zip(pairs, said, strict=True)]


def at_fault(error: ApiError) -> bool:
    """Tell whether an error says that the object is wrong, and why, not that the server is."""
    return bool(error.message) and (isinstance(error, Invalid) or 400 <= error.status < 500)


def test_the_server_takes_an_object_or_says_why_not(
    tried: list[tuple[Attempt, Object, Answer]],
) -> None:
    """Each error is the object's fault, and has words for the workload's condition."""
    errors = [(each.seed, answer.error) for each, _, answer in tried if answer.error]
    assert [(seed, str(error)) for seed, error in errors if not at_fault(error)] == []
    # Where everything is refused, nothing is proved.
    assert len(errors) < len(tried) / 4


def test_what_the_server_takes_is_not_written_twice(
    tried: list[tuple[Attempt, Object, Answer]],
) -> None:
    """However strange a workload is, its objects come back without drift."""
    drifted = [
        (each.seed, found["kind"], answer.drift) for each, found, answer in tried if answer.drift
    ]
    assert drifted == []


def test_only_pods_can_be_refused(tried: list[tuple[Attempt, Object, Answer]]) -> None:
    """Nothing that a user writes keeps a Secret or a ConfigMap from being written."""
    refused = {found["kind"] for each, found, answer in tried if answer.error and each.admitted}
    assert refused <= {"StatefulSet", "DaemonSet", "Service"}


REFUSED: Final[dict[str, tuple[Object, str]]] = {
    "no-image": ({"containers": [{"name": "extra"}]}, "image: Required value"),
    "no-port": (
        {"containers": [{"name": "extra", "image": "x", "livenessProbe": {"httpGet": NO_PORT}}]},
        "cannot unmarshal number",
    ),
}


@pytest.mark.parametrize("name", REFUSED)
def test_a_refusal_is_told_in_the_condition(world: World, operator: Running, name: str) -> None:
    """The server's own words tell the user what is wrong, and nothing is built from it."""
    spec, words = REFUSED[name]
    world.put(prometheus(name, **spec))

    def told() -> bool:
        condition = world.condition("prometheus", name, "Reconciled")
        return condition["status"] == "False" and words in condition["message"]

    world.until(f"`{words}` in the condition", told)
    assert world.get("statefulsets.apps", f"prometheus-{name}") is None
