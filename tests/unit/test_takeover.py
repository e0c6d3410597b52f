"""Whose fields are whose, before an object of ours is applied."""

from typing import Any

from stoker.kube.takeover import claimed

Object = dict[str, Any]


def entry(manager: str, operation: str, fields: Object, **more: str) -> Object:
    """An entry of `managedFields`."""
    return {"manager": manager, "operation": operation, "fieldsV1": fields, **more}


OURS = entry("stoker", "Apply", {"f:spec": {"f:replicas": {}}})


def test_content_becomes_ours_and_metadata_stays_theirs() -> None:
    """What others did to the content is ours to undo; their labels, and restarts, are not."""
    template = {"f:metadata": {"f:annotations": {"f:restartedAt": {}}}, "f:spec": {"f:dns": {}}}
    theirs = entry(
        "kubectl-edit",
        "Update",
        {
            "f:metadata": {"f:labels": {"f:team": {}}},
            "f:spec": {"f:template": template, "f:minReadySeconds": {}},
        },
    )
    assert claimed([OURS, theirs], "stoker") == [
        entry(
            "stoker",
            "Apply",
            {
                "f:spec": {
                    "f:replicas": {},
                    "f:minReadySeconds": {},
                    "f:template": {"f:spec": {"f:dns": {}}},
                }
            },
        ),
        entry(
            "kubectl-edit",
            "Update",
            {
                "f:metadata": {"f:labels": {"f:team": {}}},
                "f:spec": {"f:template": {"f:metadata": template["f:metadata"]}},
            },
        ),
    ]


def test_all_of_the_peer_becomes_ours() -> None:
    """Its labels are ours to remove, too."""
    peer = entry("PrometheusOperator", "Update", {"f:metadata": {"f:labels": {"f:old": {}}}})
    fields = {"f:spec": {"f:replicas": {}}, "f:metadata": {"f:labels": {"f:old": {}}}}
    assert claimed([OURS, peer], "stoker") == [entry("stoker", "Apply", fields)]


def test_names_that_are_reserved_for_operators_become_ours() -> None:
    """Nobody else may say with a label or an annotation what an operator thinks of an object."""
    theirs: Object = {
        "f:labels": {"f:team": {}, "f:operator.prometheus.io/shard": {}},
        "f:annotations": {"f:operator.prometheus.io/deletion-deadline": {}},
    }
    ours: Object = {
        "f:labels": {"f:operator.prometheus.io/shard": {}},
        "f:annotations": {"f:operator.prometheus.io/deletion-deadline": {}},
    }
    assert claimed([OURS, entry("kubectl", "Update", {"f:metadata": theirs})], "stoker") == [
        entry("stoker", "Apply", {"f:spec": {"f:replicas": {}}, "f:metadata": ours}),
        entry("kubectl", "Update", {"f:metadata": {"f:labels": {"f:team": {}}}}),
    ]


def test_an_entry_with_nothing_left_goes() -> None:
    """Data is content, so who wrote nothing else has nothing left."""
    theirs = entry("kubectl", "Update", {"f:data": {"f:more": {}}})
    assert claimed([theirs], "stoker") == [entry("stoker", "Apply", {"f:data": {"f:more": {}}})]


def test_what_can_never_be_changed_and_addresses_are_not_claimed() -> None:
    """The type of a Secret, the families of a Service and any status stay as they are."""
    assert claimed(None, "stoker") is None
    theirs = [
        entry("kubectl", "Update", {"f:type": {}, "f:immutable": {}}),
        entry("kubectl", "Update", {"f:spec": {"f:ipFamilies": {}, "f:clusterIPs": {}}}),
        entry("kube", "Update", {"f:status": {"f:replicas": {}}}, subresource="status"),
        entry("kubectl", "Update", {"f:spec": {"f:replicas": {}}}, subresource="scale"),
    ]
    assert claimed([OURS, *theirs], "stoker") is None
