"""What the fault campaign compares, and the plans that it makes."""

from __future__ import annotations

import base64
import gzip
import shlex
from collections import Counter
from dataclasses import replace
from pathlib import Path
from types import SimpleNamespace
from typing import Any, NamedTuple, cast

import pytest

from tests.faults.campaign import Attempt, tried, tried_together
from tests.faults.crash import Crashes
from tests.faults.mirror import Change
from tests.faults.oracle import Expected, Trial, load, save
from tests.faults.plans import Fault, Kind, Plan
from tests.faults.script import NAMES, SCRIPT, Action
from tests.faults.state import Normaliser, Snapshot, differences
from tests.faults.stirring import is_looked_after, is_users_own, used
from tests.faults.world import Ground, History, World
from tools.api import ApiError

Object = dict[str, Any]
UID = "0b18278d-b712-4fe3-9728-4cdf3af4a2b9"


def made(name: str = "a", namespace: str = "zz0001-home", **more: Any) -> Object:
    """An object as an API server tells of it."""
    metadata = {"name": name, "namespace": namespace, "uid": name, "resourceVersion": "1"}
    return {"metadata": metadata | more.pop("metadata", {}), **more}


def snapshot(*found: tuple[str, Object], prefix: str = "zz0001") -> Snapshot:
    """The state of these objects."""
    return Normaliser(prefix).snapshot(found)


def test_what_must_differ_between_runs_is_no_difference() -> None:
    """The prefix, uids, versions, times and generations; a configuration is compared as text."""

    def of(prefix: str, uid: str, time: str, generation: int) -> Snapshot:
        text = gzip.compress(f"job: {prefix}-home/x\n".encode(), mtime=generation)
        data = {"file.gz": base64.b64encode(text).decode()}
        condition = {"lastTransitionTime": time, "observedGeneration": generation}
        workload = made(
            namespace=f"{prefix}-home",
            metadata={"uid": uid, "generation": generation},
            status={"conditions": [condition]},
        )
        secret = made("b", f"{prefix}-home", data=data, metadata={"resourceVersion": uid})
        return snapshot(("prometheuses", workload), ("secrets", secret), prefix=prefix)

    one = of("zz0001", "u1", "2026-01-01T00:00:00Z", 1)
    other = of("zz0042", "u2", "2026-02-02T00:00:00Z", 7)
    assert differences(one, other) == []
    assert one.objects["w-home/secrets/b"]["data"] == {"file.gz": "job: w-home/x\n"}


def test_what_operators_did_is_a_difference() -> None:
    """Contents, owners that are gone, files of rules that are gone, objects too many or too few."""
    owner = {"kind": "Prometheus", "name": "main", "uid": UID, "controller": True}
    own = made(metadata={"ownerReferences": [owner]}, data={f"{UID}.yaml": "x"})
    alive = ("prometheuses", made("main", metadata={"uid": UID}))
    wanted = snapshot(("configmaps", own), alive)
    found = snapshot(("configmaps", own), ("secrets", made("more")))
    assert [line.split(":")[0] for line in differences(wanted, found)] == [
        "w-home/configmaps/a.data.<uid of main>.yaml",
        "w-home/configmaps/a.data.<uid of nothing>.yaml",
        "w-home/configmaps/a.owners[0]",
        "w-home/prometheuses/main",
        "w-home/secrets/more",
    ]
    said = wanted._replace(events=frozenset({"Warning InvalidConfiguration"}))
    assert differences(wanted, said) == []
    assert differences(said, wanted) == ["not said: Warning InvalidConfiguration"]


def expected(name: str, *writes: str) -> Expected:
    """What must come of an action with these writes."""
    history = History(Counter(), Counter(), {}, frozenset())
    return Expected(name, Snapshot({}, frozenset()), history, writes, 1.0)


def test_what_was_missing_for_a_while_has_the_same_name_in_all_worlds() -> None:
    """Or what a quiet run may lose for a moment would be held against all others."""

    def lost(prefix: str) -> frozenset[str]:
        def secret(text: str) -> Object:
            data = {"a.yaml": base64.b64encode(text.encode()).decode()}
            return made("a", f"{prefix}-home", data=data)

        whole, without = (secret(each) for each in (f"- job_name: {prefix}-home/x\n", ""))
        row = [
            Change(number, "secrets", False, each) for number, each in enumerate((without, whole))
        ]
        ground = cast("Ground", SimpleNamespace(cluster=None, mirror=Row(row)))
        return World(ground, prefix).history(-1, [("secrets", whole)]).lost

    assert lost("zz0001") == lost("zz0042") == {"w-home/secrets/a: - job_name: w-home/x"}


class Row(NamedTuple):
    """What a mirror tells of changes."""

    found: list[Change]

    def changes(self, _namespaces: object, _mark: int) -> list[Change]:
        """All of them."""
        return self.found


def test_a_pod_that_was_on_no_node_counts_neither_as_made_nor_as_gone() -> None:
    """The one before it is removed by its name, twice, and the second time hits this one."""

    def pod(uid: str, **spec: str) -> Object:
        found = made("a", "zz0001-home", spec=spec)
        return {**found, "metadata": {**found["metadata"], "uid": uid}}

    first, hit, last = pod("1", nodeName="node-0"), pod("2"), pod("3", nodeName="node-0")
    told = ((first, True), (hit, False), (hit, True), (last, False))
    row = [Change(number, "pods", gone, each) for number, (each, gone) in enumerate(told)]
    ground = cast("Ground", SimpleNamespace(cluster=None, mirror=Row(row)))
    found = World(ground, "zz0001").history(-1, [("pods", first)])
    assert (found.births, found.deaths) == ({"w-home/pods/a": 1}, {"w-home/pods/a": 1})


def test_each_write_is_aimed_at_before_and_after_in_a_plan_of_its_own() -> None:
    """In as few walks as the action with the most writes needs."""
    script = [expected("a", "one", "two", "three"), expected("b"), expected("c", "four")]
    lanes = Crashes().lanes(script, seed=1, rounds=2)
    aims = sorted(plan.at for lane in lanes[:-2] for plan in lane.values())
    writes = ("four", "one", "three", "two")
    assert aims == [f"{when} {write}" for when in ("after", "before") for write in writes]
    assert len(lanes) == 2 * 3 + 2
    assert all(set(lane) == {"a", "c"} for lane in lanes[-2:])
    assert lanes == Crashes().lanes(script, seed=1, rounds=2)


def test_what_is_left_to_users_is_not_damaged_for_the_operator_to_mend() -> None:
    """A Prometheus without selectors has a Secret that is made once, and then its user's own."""
    secret, service = made("prometheus-own"), made("prometheus-operated")
    own, managed = made("own", spec={}), made("own", spec={"probeSelector": {}})
    assert is_users_own(secret, own)
    assert not any(is_users_own(*each) for each in ((secret, managed), (service, own)))


def test_what_nobody_can_make_again_is_not_damaged() -> None:
    """As where the workload is paused, or broken, or going."""
    broken = {"conditions": [{"type": "Reconciled", "status": "False"}]}
    assert is_looked_after(made())
    assert not any(
        map(
            is_looked_after,
            (None, made(spec={"paused": True}), made(status=broken)),
        )
    )


def test_what_sets_name_is_found_in_volumes_of_all_kinds() -> None:
    """What none of them names is not damaged: it is left as it is until it is of use again."""
    volumes = [
        {"secret": {"secretName": "a"}},
        {"configMap": {"name": "b"}},
        {"projected": {"sources": [{"secret": {"name": "c"}}, {"configMap": {"name": "d"}}]}},
        {"emptyDir": {}},
    ]
    template = {"spec": {"volumes": volumes}}
    found = {
        "w-home/statefulsets/x": made(spec={"serviceName": "e", "template": template}),
        "w-home/secrets/f": made("f"),
    }
    names = ("secrets/a", "configmaps/b", "secrets/c", "configmaps/d", "services/e")
    assert used(found) == {f"w-home/{name}" for name in names}


@pytest.mark.parametrize("where", ["begin", "the action", "end"])
def test_harm_is_mended_wherever_a_plan_breaks_off(where: str) -> None:
    """What else stands on the same machines finds them well."""
    row: list[str] = []

    def step(name: str) -> None:
        row.append(name)
        if name == where:
            raise ApiError(500, "away")

    class Breaking(Fault):
        def begin(self, world: World) -> None:
            step("begin")

        def end(self, world: World, trial: Trial) -> None:
            step("end")

        def mend(self, world: World) -> None:
            step("mend")

    kind = cast("Kind", SimpleNamespace(fault=Breaking, told=True))
    world = cast("World", Quiet("a"))
    action = Action("a", lambda _world: step("the action"))
    with pytest.raises(ApiError):
        tried(kind, Attempt(world, action, Plan("any", "a"), expected("a")), 0.0)
    assert row[-2:] == [where, "mend"]


def test_worlds_that_stand_in_one_harm_are_each_judged_for_themselves() -> None:
    """The harm is done once, and what came of it is told of each."""
    row: list[str] = []

    class Once(Fault):
        def begin(self, world: World) -> None:
            row.append(f"begin in {world.prefix}")

        def end(self, world: World, trial: Trial) -> None:
            self.done["harm"] += 1

        def mend(self, world: World) -> None:
            row.append("mend")

        def problems(self, world: World) -> list[str]:
            return ["wrong"] if world.prefix == "b" else []

    def acted(name: str) -> Action:
        return Action(name, lambda world: row.append(f"{name} in {world.prefix}"))

    plans = {name: Plan("any", name, at="harm") for name in ("one", "two")}
    worlds = [cast("World", Quiet(prefix)) for prefix in ("a", "b")]
    attempts = [
        Attempt(world, acted(name), plan, expected(name))
        for world, (name, plan) in zip(worlds, plans.items(), strict=True)
    ]
    kind = cast("Kind", SimpleNamespace(fault=Once, told=True))
    outcomes = tried_together(kind, attempts, 0.0)
    assert (row[0], row[-1], set(row[1:-1])) == ("begin in a", "mend", {"one in a", "two in b"})
    assert [each.plan for each in outcomes] == list(plans.values())
    assert [each.problems for each in outcomes] == [[], ["wrong"]]
    assert all(each.reached for each in outcomes)


class Quiet:
    """A world in which nothing is and nothing happens."""

    def __init__(self, prefix: str) -> None:
        self.prefix = prefix
        self.namespaces = ()
        self.operators: Object = {}
        mirror = SimpleNamespace(
            mark=lambda: 0, objects=lambda _namespaces: [], forget=lambda *_: None
        )
        self.ground = SimpleNamespace(mirror=mirror, mark=lambda: 0, writes=lambda *_: [])

    def snapshot(self) -> Snapshot:
        """Nothing."""
        return Snapshot({}, frozenset())

    def history(self, *_: object) -> History:
        """Nothing either."""
        return History(Counter(), Counter(), {}, frozenset())

    def wait(self) -> None:
        """Do not."""


def test_a_plan_is_repeated_by_its_command() -> None:
    """The words are what the command line takes; the dice are the same."""
    plan = Plan("crash", NAMES[0], seed=3, round=2, at="before patch secrets w-home/a #1")
    words = shlex.split(plan.command([NAMES[1]]))
    assert words[:4] == ["python", "-m", "tests.faults", "crash"]
    given = dict(zip(words[4::2], words[5::2], strict=True))
    assert given == {
        "--only": NAMES[0],
        "--seed": "3",
        "--round": "2",
        "--at": plan.at,
        "--after": NAMES[1],
    }
    assert plan.dice.random() == Plan(*plan).dice.random()
    assert plan.dice.random() != plan._replace(round=3).dice.random()


def test_what_is_taken_back_at_once_is_not_judged_by_what_happened_meanwhile() -> None:
    """Only the two actions of the script that chance decides on; a kept run says so too."""
    passing = [each.name for each in SCRIPT if each.passing]
    assert passing == [
        "a monitor is deleted and made again at once",
        "a DaemonSet is damaged",
        "and takes it back at once",
    ]


def test_what_is_expected_can_be_kept(tmp_path: Path) -> None:
    """All of it comes back as it was."""
    found = [replace(expected("a", "one"), passing=True), expected("b")]
    save(tmp_path / "kept.json", found)
    assert load(tmp_path / "kept.json") == found


def test_the_script_names_each_action_once() -> None:
    """Plans, and what must come of actions, are found by their names."""
    assert len(set(NAMES)) == len(NAMES)
    assert len(NAMES) >= 60
