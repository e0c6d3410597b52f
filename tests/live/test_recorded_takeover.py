"""A world whose objects the peer's own process made is taken over on a real API server."""

from tests.conformance.worlds import lines
from tests.takeover import shop
from tests.takeover.exceptions import is_on_purpose
from tests.takeover.report import unwanted
from tests.takeover.snapshot import Changes
from tests.takeover.trial import new_cluster, of_recorded


def test_a_takeover_of_the_shop_replaces_no_pod_and_rewrites_no_text() -> None:
    """Rulers with rules in several ConfigMaps, agents with shards and on nodes, all of it."""
    world = shop.recorded_world()
    with new_cluster() as cluster:
        trial = of_recorded(cluster, [world])
    assert trial.before.in_namespace(shop.NAMESPACE).keys() == world.expect["objects"].keys()
    assert len(trial.before.generations) == 10
    assert len(trial.before.pods) == 17
    changes = Changes.between(trial.before, trial.after)
    assert list(unwanted(changes, set())) == []
    assert (changes.gained, changes.told, trial.after.problems) == ([], [], {})
    assert list(trial.foreseen.mistakes(changes)) == []
    found = lines(world, trial.after.in_namespace(shop.NAMESPACE))
    assert [line for line in found if not is_on_purpose(line)] == []
