"""The world of our own that the peer was recorded with, replayed without a cluster."""

from tests.conformance.worlds import lines
from tests.takeover import shop

# An API server's own default.
_ASIDE = ("services/", "daemonsets/prom-agent-on-nodes spec.updateStrategy: ")


def test_what_the_peer_made_of_the_shop_is_what_we_make_of_it() -> None:
    """Pods and texts, to the letter; of Services several workloads have a part."""
    world = shop.recorded_world()
    assert [line for line in lines(world) if not line.startswith(_ASIDE)] == []
    assert len([name for name in world.expect["objects"] if "rulefiles" in name]) > 9


def test_the_record_is_of_the_shop_as_it_is() -> None:
    """Who changes the one writes the other anew: `python -m tests.takeover record`."""
    assert shop.recorded_world().given == shop.given()
