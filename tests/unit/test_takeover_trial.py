"""The trial of takeovers: what it must see, and that it puts back what was recorded."""

from copy import deepcopy

import pytest
from msgspec.structs import replace

from tests.takeover import shop
from tests.takeover.recording import key_of, recorded, restored
from tests.takeover.report import excused_sets, unwanted
from tests.takeover.snapshot import Changes, Key, Snapshot

SET: Key = ("shop", "statefulsets/alertmanager-main")
POD: Key = ("shop", "alertmanager-main-0")


@pytest.fixture
def before() -> Snapshot:
    """The shop as the peer made it, and a pod."""
    made = shop.recorded_world().expect["objects"]
    objects = {("shop", name): deepcopy(each) for name, each in made.items()}
    generations = {key: 1 for key in objects if "set" in key[1].partition("/")[0]}
    return Snapshot(objects, generations, {POD: "a"}, {})


def test_an_object_is_recorded_as_it_was_restored_from_a_record() -> None:
    """Its owners and the files of rules have UIDs of the cluster in between."""
    world = shop.recorded_world()
    uid = "12345678-1234-1234-1234-123456789012"
    uids = {(each["kind"], each["metadata"]["name"]): uid for each in world.given["resources"]}
    for name, each in world.expect["objects"].items():
        made = restored(name, each, uids)
        assert key_of(made) == name
        assert "UID" not in str(made.get("data", {}).keys())
        assert recorded(made) == each


def test_nothing_is_unwanted_where_nothing_changed(before: Snapshot) -> None:
    """Nor is anything counted."""
    changes = Changes.between(before, before)
    assert list(unwanted(changes, excused_sets(changes))) == []
    assert not any(changes.counts().values())


def test_pods_templates_and_objects_that_go_are_seen(before: Snapshot) -> None:
    """Each in a line of its own."""
    objects = deepcopy(before.objects)
    objects[SET]["spec"]["template"]["spec"]["containers"][0]["args"].append("--new")
    gone: Key = ("shop", "secrets/prometheus-main")
    del objects[gone]
    objects["shop", "secrets/prometheus-short"]["data"]["prometheus.yaml.gz"] = ""
    after = replace(before, objects=objects, generations=before.generations | {SET: 2}, pods={})
    changes = Changes.between(before, after)
    assert [line.partition(":")[0] for line in unwanted(changes, excused_sets(changes))] == [
        "shop/statefulsets/alertmanager-main rolls",
        "shop/alertmanager-main-0",
        "shop/secrets/prometheus-main",
    ]
    assert changes.told == [("shop", "secrets/prometheus-short")]


def test_a_pod_may_go_where_all_of_its_template_that_changed_is_on_purpose(
    before: Snapshot,
) -> None:
    """No Alertmanager starts with a timeout that has no unit; another change is none of that."""
    objects = deepcopy(before.objects)
    for found, unit in ((before.objects, ""), (objects, "s")):
        found[SET]["spec"]["template"]["spec"]["containers"][0]["args"].append(
            f"--web.timeout=50{unit}"
        )
    after = replace(before, objects=objects, pods={POD: "b"})
    changes, back = Changes.between(before, after), Changes.between(after, before)
    excused = excused_sets(changes)
    assert list(unwanted(changes, excused)) == list(unwanted(back, excused)) == []
    objects[SET]["spec"]["template"]["metadata"]["labels"]["new"] = "label"
    changes = Changes.between(before, after)
    assert len(list(unwanted(changes, excused_sets(changes)))) == 3
