"""No byte of a write leaves a process that does not lead, however it is stopped."""

from __future__ import annotations

import sys

from tests.live.freezing import freeze
from tools.cluster import Cluster

FREEZES = 4


def test_who_is_frozen_in_the_middle_of_a_body_does_not_complete_it(
    cluster: Cluster, namespace: str
) -> None:
    """A few times here; `python -m tests.live.freezing` does it as often as one likes."""
    assert freeze(cluster, namespace, FREEZES, sys.executable) > 0
