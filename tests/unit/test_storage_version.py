"""What a definition says of versions, how far a migration is, and who owns which field."""

from __future__ import annotations

from typing import Any

import pytest

from stoker.__main__ import main
from stoker.api.crd import GROUP
from stoker.cluster.definitions import NOTE, Definition, MigrationNote
from stoker.cluster.ownership import is_stale, renewed

ALPHA, V1 = f"{GROUP}/v1alpha1", f"{GROUP}/v1"


def definition(
    storage: str = "v1",
    served: tuple[str, ...] = ("v1alpha1", "v1"),
    stored: tuple[str, ...] = ("v1alpha1", "v1"),
    note: str | None = None,
) -> Definition:
    """The definition of ScrapeConfigs."""
    metadata: dict[str, Any] = {"resourceVersion": "7", "generation": 3}
    if note is not None:
        metadata["annotations"] = {NOTE: note}
    versions = [
        {"name": name, "served": name in served, "storage": name == storage}
        for name in ("v1alpha1", "v1beta1", "v1")
    ]
    return Definition.of(
        {
            "metadata": metadata,
            "spec": {
                "names": {"kind": "ScrapeConfig", "plural": "scrapeconfigs"},
                "versions": versions,
            },
            "status": {"storedVersions": list(stored)},
        }
    )


def test_objects_are_written_in_the_stored_version_if_it_is_served() -> None:
    """Else in the highest that is: the API server stores in its storage version anyway."""
    assert definition().resource.api_version == V1
    assert definition(served=("v1alpha1", "v1beta1")).resource.version == "v1beta1"


def test_it_is_done_when_only_the_storage_version_is_stored() -> None:
    """One version alone that is another one is not it."""
    assert definition(stored=("v1",)).is_migrated
    assert not definition(stored=("v1alpha1",)).is_migrated
    assert not definition().is_migrated


@pytest.mark.parametrize(
    ("note", "own"),
    [
        ('{"version":"v1","generation":3,"since":"5"}', MigrationNote("v1", 3, "5")),
        # The definition was changed since: what was stored meanwhile is not known.
        ('{"version":"v1","generation":2,"since":"5"}', None),
        ('{"version":"v1beta1","generation":3,"since":"5"}', None),
        ('{"version":7}', None),
        ("not JSON", None),
        (None, None),
    ],
)
def test_a_migration_goes_on_only_where_nothing_changed(
    note: str | None, own: MigrationNote | None
) -> None:
    """What somebody else wrote there is no reason to fail, but to begin again."""
    assert definition(note=note).own_note == own


def entry(manager: str, version: str, *fields: str, **more: str) -> dict[str, Any]:
    """An entry of `managedFields`."""
    owned: dict[str, Any] = {"f:spec": {f"f:{name}": {} for name in fields}}
    return {
        "manager": manager,
        "apiVersion": version,
        "operation": "Apply",
        "fieldsV1": owned,
    } | more


def test_entries_of_versions_that_are_gone_are_in_one_that_is_served() -> None:
    """All others stay as they are, in their order."""
    given = [entry("kubectl", ALPHA, "a"), entry("argo", V1, "b")]
    assert is_stale(given, {V1})
    assert not is_stale(given, {V1, ALPHA})
    assert renewed(given, {V1}, V1) == [entry("kubectl", V1, "a"), entry("argo", V1, "b")]


def test_two_entries_that_become_one_keep_the_fields_of_both() -> None:
    """Somebody who edited in two versions owns what was edited in either."""
    given = [
        entry("kubectl-edit", ALPHA, "a", "b", operation="Update"),
        entry("kubectl-edit", V1, "b", "c", operation="Update"),
        entry("kubectl-edit", V1, "d", operation="Update", subresource="status"),
    ]
    assert renewed(given, {V1}, V1) == [
        entry("kubectl-edit", V1, "a", "b", "c", operation="Update"),
        given[2],
    ]


def test_a_kind_that_does_not_exist_is_told_with_the_nearest(
    capsys: pytest.CaptureFixture[str],
) -> None:
    """No cluster is asked for that."""
    assert main(["migrate", "storage-version", "scrapconfig"]) == 2
    assert "there is no kind scrapconfig; did you mean `ScrapeConfig`?" in capsys.readouterr().err
