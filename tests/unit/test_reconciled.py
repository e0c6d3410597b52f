"""Workloads that cannot be reconciled: `explain` and the page say why, as the condition does."""

import asyncio
from pathlib import Path
from typing import Any

import pytest
from msgspec.structs import replace

from stoker.api.decode import convert
from stoker.api.prometheus import Prometheus
from stoker.api.prometheus_common import PrometheusStatus
from stoker.errors import WorkloadError
from stoker.explain.answer import Explanation
from stoker.kube.endless import words
from stoker.offline.manifests import read
from stoker.offline.pages import DirectoryPages, desk_of
from stoker.offline.world import world_of
from stoker.page.answers import ResourceAnswer, WorkloadAnswer
from stoker.page.index import PageSearch
from stoker.plan import objects_for
from stoker.settings import OperatorSettings
from stoker.status.workload import failed
from stoker.view.states import Cause, State
from stoker.view.view import View
from tests.builders import thing
from tests.planning import decide
from tests.unit.test_explain import SHOP, Object, monitor, prometheus, told, viewed

RULE = thing(
    "PrometheusRule", "cart",
    spec={"groups": [{"name": "g", "rules": [{"record": "a:b", "expr": "sum(up)"}]}]},
)  # fmt: skip
EVERY_RULE: Object = {"ruleSelector": {}, "ruleNamespaceSelector": {}}
RULER = thing("ThanosRuler", "ruler", "monitoring", spec=EVERY_RULE)
QUERIES = (
    "spec.queryEndpoints: set `queryEndpoints` or `queryConfig`: rules need someone to ask for data"
)
STORAGE = "spec.storage: set one of `emptyDir`, `ephemeral` and `volumeClaimTemplate`"
CONFIG = {"route": {"receiver": "r"}, "receivers": [{"name": "r"}]}

CASES: dict[str, tuple[Object, Object, str]] = {
    "a ThanosRuler that asks nobody": (RULER, RULE, QUERIES),
    "storage on nothing": (prometheus(storage={}), monitor(), STORAGE),
    "an agent's, too": (prometheus("PrometheusAgent", storage={}), monitor(), STORAGE),
    "an Alertmanager's": (
        thing("Alertmanager", "main", "monitoring",
              spec={"storage": {}, "alertmanagerConfigSelector": {},
                    "alertmanagerConfigNamespaceSelector": {}}),
        thing("AlertmanagerConfig", "cart", spec=CONFIG), STORAGE,
    ),
    "an argument of the operator's": (
        prometheus(additionalArgs=[{"name": "config.file", "value": "x"}]), monitor(),
        "spec.additionalArgs[0]: the operator sets `config.file` itself",
    ),
    "a volume of the operator's": (
        prometheus(volumes=[{"name": "config", "emptyDir": {}}]), monitor(),
        "spec.volumes[0].name: `config` is the operator's own: give it another",
    ),
    "too many shards": (
        prometheus(shards=2001), monitor(), "spec.shards: 2001 are too many: at most 2000",
    ),
    "many shards on nothing": (prometheus(shards=2000, storage={}), monitor(), STORAGE),
    "no version": (
        prometheus(version="latest"), monitor(),
        "spec.version: `latest` is not a version such as v3.5.0",
    ),
}  # fmt: skip


def title(found: Object) -> tuple[str, str]:
    """Kind and name of an object."""
    return found["kind"], f"{found['metadata']['namespace']}/{found['metadata']['name']}"


async def asked(folder: Path, ask: str, found: Object) -> Any:
    """What the page answers about an object."""
    pages = DirectoryPages(str(folder), OperatorSettings())
    reading = asyncio.create_task(pages.run())
    kind, name = title(found)
    try:
        return await getattr(pages, ask)(kind, *name.split("/"))
    finally:
        reading.cancel()


@pytest.mark.parametrize("case", CASES)
def test_a_workload_that_cannot_be_built_is_not_reconciled(case: str, tmp_path: Path) -> None:
    """Its first line and that of what it selects have the path; so has the page, and its list."""
    workload, resource, problem = CASES[case]
    view = viewed(tmp_path, SHOP, workload, resource)
    own, its = told(view, *title(workload)), told(view, *title(resource))
    assert (own.good, own.headline) == (False, f"not reconciled: {problem}")
    said = f"the workload is not reconciled: {problem}"
    assert its.headline == f"selected by {' '.join(title(workload))}, but {said}"
    assert (its.good, its.by_workload[0].cause) == (False, Cause.WORKLOAD_PROBLEM)
    assert {each.kind: each.selected for each in own.counts}[resource["kind"]] == 1

    page: WorkloadAnswer = asyncio.run(asked(tmp_path, "workload", workload))
    assert page.explanation.headline == page.workload.headline == own.headline
    assert page.workload.state == "problem"
    (item,) = page.resources.items
    assert (item.state, item.headline) == (State.HELD, said)
    alone: ResourceAnswer = asyncio.run(asked(tmp_path, "resource", resource))
    assert alone.explanation.headline == its.headline


@pytest.mark.parametrize("case", CASES)
def test_the_words_are_those_of_the_condition(case: str, tmp_path: Path) -> None:
    """What the operator records of a failure is the text of the error, and so is ours."""
    given, resource, problem = CASES[case]
    view = viewed(tmp_path, SHOP, given, resource)
    (workload,) = view.workloads
    made = decide(workload, view.resources, view.namespaces, view.assets, view.capabilities)
    said = made.problem
    if not said:
        with pytest.raises(WorkloadError) as error:
            objects_for(workload, view.capabilities, view.settings.objects, made.contents)
        said = words(error.value)
    failure = failed(said).failure
    assert failure is not None
    assert failure.message == problem


def test_a_patch_of_containers_that_no_schema_has_seen(tmp_path: Path) -> None:
    """An object from before the CRD had its schema is told as well."""
    view = viewed(tmp_path, SHOP, prometheus(), monitor())
    spec = prometheus(containers=[{"name": "prometheus", "volumeMounts": [{"name": "x"}]}])
    workload = convert(Prometheus, spec)
    found = told(replace(view, workloads=(workload,)), "Prometheus", "monitoring/main")
    path = "spec.containers[0].volumeMounts[0]"
    assert found.headline == f"not reconciled: {path}: an item needs `mountPath` to be merged by"


def test_many_shards_are_no_fault(tmp_path: Path) -> None:
    """As many as there may be; nobody waits until all of them are built."""
    view = viewed(tmp_path, SHOP, prometheus(shards=2000), monitor())
    assert told(view, "Prometheus", "monitoring/main").good


def test_a_workload_beside_one_that_works_is_told_at_the_end(tmp_path: Path) -> None:
    """The resource is used, by one; the first line says of the other why it is not."""
    view = viewed(tmp_path, SHOP, prometheus(), RULER, RULE)
    found = told(view, "PrometheusRule")
    assert found.good
    selects = "ThanosRuler monitoring/ruler selects it, too, but the workload is not reconciled"
    assert found.headline == f"used by Prometheus monitoring/main: 1 rule; {selects}: {QUERIES}"


def test_a_paused_workload_is_paused_first(tmp_path: Path) -> None:
    """The operator does not try as long as it is; that it could not is a note."""
    view = viewed(tmp_path, SHOP, prometheus(storage={}, paused=True), monitor())
    found = told(view, "Prometheus", "monitoring/main")
    assert found.headline.startswith("paused: ")
    assert found.notes == (f"once it is not paused, it cannot be reconciled: {STORAGE}",)
    assert "spec.paused" in told(view).headline


# --- What only the operator can find --------------------------------------------------------------


def reported(view: View, message: str, status: str = "False", observed: int = 1) -> View:
    """A view whose workload has a condition of its generation 1."""
    condition = {"type": "Reconciled", "status": status, "reason": "ReconciliationFailed",
                 "message": message, "observedGeneration": observed,
                 "lastTransitionTime": "2026-11-15T00:00:00Z"}  # fmt: skip
    (workload,) = view.workloads
    made = replace(
        workload,
        metadata=replace(workload.metadata, generation=1),
        status=convert(PrometheusStatus, {"conditions": [condition]}),
    )
    return replace(view, workloads=(made,))


def both(view: View) -> tuple[Explanation, Explanation]:
    """What is said of the workload and of the resource."""
    return told(view, "Prometheus", "monitoring/main"), told(view)


def test_what_the_operator_says_counts(tmp_path: Path) -> None:
    """Of a storage class that is not there, manifests say nothing; its condition does."""
    message = "spec.storage: there is no StorageClass `fast`"
    view = viewed(tmp_path, SHOP, prometheus(), monitor())
    own, its = both(reported(view, message))
    assert own.headline == f"not reconciled: {message}"
    assert its.headline.endswith(f"but the workload is not reconciled: {message}")
    assert its.by_workload[0].state is State.HELD


@pytest.mark.parametrize(("status", "observed"), [("True", 1), ("Unknown", 1), ("False", 0)])
def test_what_it_said_before_does_not(status: str, observed: int, tmp_path: Path) -> None:
    """A condition of another generation may be over, and others are no failures."""
    view = viewed(tmp_path, SHOP, prometheus(), monitor())
    own, its = both(reported(view, "no", status, observed))
    assert not own.headline.startswith("not reconciled")
    assert its.by_workload[0].state is State.USED


def test_what_a_workload_of_no_version_selects_is_listed(tmp_path: Path) -> None:
    """Nothing could be judged, but it is selected all the same: nobody says that it is not."""
    viewed(tmp_path, SHOP, prometheus(version="latest"), monitor())
    desk = desk_of(world_of(read([str(tmp_path)])), OperatorSettings(), 1)
    assert desk.index.found(PageSearch(state="not selected")).total == 0
    assert desk.index.found(PageSearch(state="held")).total == 1
