"""What counts as a difference between an object that is wanted and the one in the cluster."""

import pytest

from stoker.api.core import Object
from stoker.build.drift import drift

MANAGER = "stoker"


def owned(fields: Object, **entry: str) -> dict[str, object]:
    """An object that has these fields of ours in its records."""
    ours = {"manager": MANAGER, "operation": "Apply", "fieldsV1": fields} | entry
    return {"managedFields": [ours]}


@pytest.mark.parametrize(
    ("wanted", "live"),
    [
        ({"spec": {"replicas": 1}}, {"spec": {"replicas": 1, "revisionHistoryLimit": 10}}),
        ({"spec": {"limits": {"cpu": "0.1"}}}, {"spec": {"limits": {"cpu": "100m"}}}),
        ({"spec": {"requests": {"memory": "1024Mi"}}}, {"spec": {"requests": {"memory": "1Gi"}}}),
        (
            {"spec": {"emptyDir": {"sizeLimit": "1024Ki"}}},
            {"spec": {"emptyDir": {"sizeLimit": "1Mi"}}},
        ),
        ({"labels": {"storage": "fast"}}, {"labels": {"storage": "fast"}}),
        ({"spec": {"resources": {}, "paused": False, "args": []}}, {"spec": {}}),
        ({"items": [{"name": "a"}]}, {"items": [{"name": "a", "protocol": "TCP"}]}),
        (
            {"metadata": {"labels": {"a": "b"}}},
            {"metadata": {"labels": {"a": "b", "of": "others"}}},
        ),
    ],
)
def test_what_the_server_or_others_add_is_no_difference(wanted: Object, live: Object) -> None:
    """Defaults, other ways to write a quantity, and foreign members cause no write."""
    assert drift(wanted, live, MANAGER) is None


@pytest.mark.parametrize(
    ("wanted", "live", "path"),
    [
        ({"spec": {"replicas": 2}}, {"spec": {"replicas": 1}}, "spec.replicas"),
        ({"spec": {"replicas": 0}}, {"spec": {"replicas": 1}}, "spec.replicas"),
        ({"spec": {"args": ["a"]}}, {"spec": {"args": ["a", "b"]}}, "spec.args"),
        ({"spec": {"args": ["a", "c"]}}, {"spec": {"args": ["a", "b"]}}, "spec.args[1]"),
        (
            {"spec": {"limits": {"cpu": "1"}}},
            {"spec": {"limits": {"cpu": "100m"}}},
            "spec.limits.cpu",
        ),
        ({"spec": {"limits": {"cpu": "1"}}}, {"spec": {}}, "spec.limits"),
        ({"data": {"a": "x"}}, {}, "data"),
        (
            {"spec": {"selector": {"app": "a"}}},
            {"spec": {"selector": {"app": "a", "more": "b"}}},
            "spec.selector",
        ),
    ],
)
def test_the_first_difference_is_named(wanted: Object, live: Object, path: str) -> None:
    """Whatever is wanted and is absent or another is a reason to write."""
    assert drift(wanted, live, MANAGER) == path


def test_what_we_wrote_and_want_no_longer_is_a_difference() -> None:
    """A label, a container or a finalizer that we own and do not want must go."""
    live = {
        "metadata": {"labels": {"old": "1", "kept": "1"}, "finalizers": ["a", "b"]}
        | owned(
            {
                "f:metadata": {
                    "f:labels": {".": {}, "f:old": {}, "f:kept": {}},
                    "f:finalizers": {'v:"a"': {}, 'v:"b"': {}},
                },
                "f:spec": {"f:containers": {'k:{"name":"side"}': {".": {}, "f:name": {}}}},
            }
        ),
        "spec": {"containers": [{"name": "main"}, {"name": "side"}]},
    }
    main = {"containers": [{"name": "main"}, {"name": "side"}]}
    labels = {"kept": "1"}
    finalizers = ["a", "b"]

    def lacking(**members: object) -> str | None:
        metadata = {"labels": labels | {"old": "1"}, "finalizers": finalizers} | members
        return drift({"metadata": metadata, "spec": main}, live, MANAGER)

    assert lacking() is None
    assert lacking(labels=labels) == "metadata.labels.old"
    assert lacking(finalizers=[]) == "metadata.finalizers"
    metadata = {"labels": labels | {"old": "1"}, "finalizers": finalizers}
    assert drift({"metadata": metadata}, live, MANAGER) == "spec"


def test_defaults_in_an_empty_object_are_the_servers() -> None:
    """An object that we write empty is ours, and what the server puts in is not."""
    fields: Object = {"f:spec": {"f:policy": {}}}
    entry = {"manager": "stoker", "operation": "Apply", "fieldsV1": fields}
    live = {"metadata": {"managedFields": [entry]}, "spec": {"policy": {"whenScaled": "Retain"}}}
    assert drift({"spec": {"policy": {}}}, live, "stoker") is None
    fields["f:spec"]["f:policy"] = {"f:whenScaled": {}}
    assert drift({"spec": {"policy": {}}}, live, "stoker") == "spec.policy.whenScaled"


def test_what_others_wrote_is_theirs() -> None:
    """Fields of another manager, or of a subresource, are none of our business."""
    fields: Object = {"f:metadata": {"f:labels": {"f:theirs": {}}}}
    for entry in ({"manager": "helm"}, {"operation": "Update"}, {"subresource": "status"}):
        live = {"metadata": {"labels": {"theirs": "1"}} | owned(fields, **entry)}
        assert drift({"metadata": {}}, live, MANAGER) is None
