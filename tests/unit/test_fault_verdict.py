"""What is held against an operator that writes where all was right: not a status that came late."""

from __future__ import annotations

import itertools
import time
from collections import Counter
from collections.abc import Iterable
from dataclasses import replace
from types import SimpleNamespace
from typing import Any, cast

import pytest

from tests.faults.mirror import Change
from tests.faults.oracle import LATE_WRITES, Expected, Trial, Verdict
from tests.faults.state import Snapshot
from tests.faults.world import History, World
from tools.audit import Write

Object = dict[str, Any]
HOME = "zz0001-home"


def owned(name: str, owner_kind: str, owner: str) -> Object:
    """An object that another controls, whose uid is its name."""
    reference = {"kind": owner_kind, "name": owner, "uid": owner, "controller": True}
    metadata = {"name": name, "namespace": HOME, "uid": name, "ownerReferences": [reference]}
    return {"metadata": metadata}


SET = owned("prometheus-main", "Prometheus", "main")
POD = owned("prometheus-main-0", "StatefulSet", "prometheus-main")


class Right:
    """A world that is right whenever somebody looks, while an operator writes.

    `writes` come one by one, with each look; `changes` are those of the mirror.
    """

    def __init__(self, writes: Iterable[Write], changes: Iterable[Change]) -> None:
        self.namespaces = (HOME,)
        self.operators: Object = {}
        self._writes = iter(writes)
        self._log: list[Write] = []
        mirror = SimpleNamespace(
            mark=lambda: 0,
            objects=lambda _: [("statefulsets", SET)],
            changes=lambda *_: list(changes),
            forget=lambda *_: None,
        )
        self.ground = SimpleNamespace(
            mirror=mirror, mark=lambda: len(self._log), writes=lambda mark, _: self._log[mark:]
        )

    def snapshot(self) -> Snapshot:
        """As it must be."""
        return Snapshot({}, frozenset())

    def history(self, *_: object) -> History:
        """Nothing that did not happen in a quiet run."""
        return History(Counter(), Counter(), {}, frozenset())

    def wait(self) -> None:
        """Let the operator go on."""
        self._log += itertools.islice(self._writes, 1)


def write(resource: str = "prometheuses", subresource: str = "status", name: str = "main") -> Write:
    """One that the server took just now."""
    now = time.time()
    return Write("patch", resource, subresource, HOME, name, "stoker", "", 200, now, now)


def judged(writes: Iterable[Write], *changes: Change) -> Verdict:
    """What comes of these writes; it is looked once more after each."""
    expected = Expected("any", Snapshot({}, frozenset()), Right([], []).history(), (), 1.0)
    return Trial(cast("World", Right(writes, changes)), expected).verdict(stay=0.0)


def problems(writes: Iterable[Write], *changes: Change) -> list[str]:
    """What is held against these writes."""
    return judged(writes, *changes).problems


CAME = Change(1, "pods", False, POD)


def test_a_status_that_was_true_a_moment_ago_is_no_problem() -> None:
    """Pods were missing when it was looked at them, came, and then that was written, and this."""
    assert problems([write(), write()], CAME) == []


def test_a_status_is_not_late_where_no_pod_changed() -> None:
    """Of the workload that it is about: then it was needless."""
    said = f"written though all was right: patch prometheuses/status {HOME}/main (200)"
    assert problems([write()]) == [said]
    assert problems([write(name="other")], CAME) == [said.replace("main", "other")]
    assert problems([write()], Change(1, "statefulsets", False, SET)) == [said]


@pytest.mark.parametrize("needless", [write("secrets", ""), write("prometheuses", "")])
def test_all_but_a_status_is_needless(needless: Write) -> None:
    """Beside one that comes late, too."""
    assert len(problems([needless], CAME)) == 1
    assert len(problems([write(), needless], CAME)) == 1


def test_what_is_written_again_and_again_is_needless() -> None:
    """It is looked for anew after each status that came late, and few may."""
    assert problems((write() for _ in range(LATE_WRITES)), CAME) == []
    assert problems((write() for _ in itertools.count()), CAME)


def test_right_it_is_since_the_last_status_that_came_late() -> None:
    """By the log: it may have been a while before it was looked at."""
    begun = time.monotonic()
    long_ago = replace(write(), done=time.time() - 100)
    assert judged([long_ago], CAME).at < begun - 50
