"""A cluster that is taken over from the peer and, where the peer is a process, given back."""

import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from typing import Final

from msgspec import Struct

from tests.conformance.cases import Case
from tests.takeover.foresight import Foresight
from tests.takeover.operators import OURS, PEER, running, workloads
from tests.takeover.snapshot import Snapshot
from tests.takeover.world import add_objects_of_the_peer, furnish
from tools.cluster import Cluster
from tools.crds import cluster_with_crds
from tools.progress import say

_NODES: Final = 3


class Trial(Struct, frozen=True):
    """What there was with the peer, then with us, and with the peer again where it came back.

    `foreseen` is what was said of it beforehand.
    """

    before: Snapshot
    after: Snapshot
    foreseen: Foresight
    back: Snapshot | None = None


@contextmanager
def new_cluster() -> Iterator[Cluster]:
    """A cluster with our definitions; how long it was needed is told at its end."""
    begun = time.monotonic()
    with cluster_with_crds(nodes=_NODES) as cluster:
        yield cluster
    say(f"after {time.monotonic() - begun:.0f} s")


def of_recorded(cluster: Cluster, worlds: Sequence[Case]) -> Trial:
    """Take over worlds whose objects are recorded; all must have been so with the same flags."""
    (flags,) = {tuple(world.given["flags"]) for world in worlds}
    for number, world in enumerate(worlds, 1):
        say(f"{world.name}: {number} of {len(worlds)}")
        furnish(cluster, world.given)
        add_objects_of_the_peer(cluster, world)
    before = Snapshot.settled(cluster)
    foreseen = Foresight.of(cluster, flags)
    return Trial(before, _taken_over(cluster, flags, before), foreseen)


def of_process(cluster: Cluster, flags: Sequence[str]) -> Trial:
    """Let the peer's process make what it makes of a cluster, take that over and give it back."""
    say(f"{len(workloads(cluster))} workloads: the peer works")
    with running(PEER, cluster, flags):
        before = Snapshot.settled(cluster)
    foreseen = Foresight.of(cluster, flags)
    after = _taken_over(cluster, flags, before)
    say("the peer comes back")
    with running(PEER, cluster, flags):
        return Trial(before, after, foreseen, Snapshot.settled(cluster))


def _taken_over(cluster: Cluster, flags: Sequence[str], before: Snapshot) -> Snapshot:
    say(f"{len(before.generations)} sets, {len(before.pods)} pods: stoker takes over")
    with running(OURS, cluster, flags):
        return Snapshot.settled(cluster)
