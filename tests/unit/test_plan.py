"""All who ask what becomes of a workload get the same answer, however they came to ask.

Worlds are made at random: neighbours of other operators, workloads that are paused, deleted,
unmanaged or out of sight, monitors that are bad or stand for ScrapeConfigs.
"""

from collections.abc import Iterable
from typing import Any

import yaml
from hypothesis import given, settings
from hypothesis import strategies as st
from msgspec.structs import replace

from stoker.api.alertmanager import Alertmanager
from stoker.api.amconfig.v1alpha1 import AlertmanagerConfig
from stoker.api.core import Object
from stoker.api.decode import convert
from stoker.api.monitors import PodMonitor, ServiceMonitor
from stoker.api.prometheus import Prometheus, PrometheusAgent
from stoker.api.rules import PrometheusRule
from stoker.api.thanosruler import ThanosRuler
from stoker.build.remembered import Built
from stoker.compare.plan import planned
from stoker.consolidate import manifest_of
from stoker.errors import WorkloadError
from stoker.explain.workload import explained_workload
from stoker.offline.objects import rendered
from stoker.offline.surroundings import view_of
from stoker.offline.world import World
from stoker.page.decided import decided
from stoker.plan import Existing, Memory, Plan, kept_of, plan, stand_ins_of_plan
from stoker.ref import Ref, ref_of, ref_of_manifest
from stoker.select.choice import Resource
from stoker.select.workload import CONTROLLER_ID, Workload
from stoker.settings import NamespaceSettings, OperatorSettings, SelectorSettings
from tests.builders import resource

NAMESPACES = ("shop", "team", "far")
CONFIG = "AlertmanagerConfig"
MODELS: dict[str, Any] = {
    "Prometheus": Prometheus,
    "PrometheusAgent": PrometheusAgent,
    "Alertmanager": Alertmanager,
    "ThanosRuler": ThanosRuler,
    "AlertmanagerConfig": AlertmanagerConfig,
    "ServiceMonitor": ServiceMonitor,
    "PodMonitor": PodMonitor,
    "PrometheusRule": PrometheusRule,
}


def made(kind: str, namespace: str, name: str, spec: Object, **metadata: Any) -> Any:
    """An object of one of our kinds."""
    own = {"namespace": namespace, "uid": f"{kind}-{namespace}-{name}"}
    return convert(MODELS[kind], resource(kind, name, spec, **own | metadata))


# What is odd is rare, or nothing would become of most worlds.
WHERE = st.sampled_from(["shop"] * 4 + ["team", "far"])
SELECTORS = st.sampled_from([{}, {}, {}, {"matchLabels": {"tier": "one"}}, None])
LABELS = st.sampled_from([{"tier": "one"}, {"tier": "one"}, {}])


def rarely(draw: st.DrawFn) -> bool:
    """Once in eight times."""
    return draw(st.integers(0, 7)) == 7


SELECTED_BY = {
    "Prometheus": ("serviceMonitor", "podMonitor", "rule"),
    "PrometheusAgent": ("serviceMonitor", "podMonitor"),
    "Alertmanager": ("alertmanagerConfig",),
    "ThanosRuler": ("rule",),
}


@st.composite
def workloads(draw: st.DrawFn, kind: str) -> Any:
    """A workload, of any operator."""
    spec: Object = {"paused": True} if rarely(draw) else {}
    if draw(st.booleans()):
        spec["portName"] = draw(st.sampled_from(["web", "other"]))
    for member in SELECTED_BY[kind]:
        selector = draw(SELECTORS)
        spec |= {} if selector is None else {f"{member}Selector": selector}
        spec |= {f"{member}NamespaceSelector": {}} if draw(st.booleans()) else {}
    spec |= {"version": "v2.x"} if rarely(draw) else {}
    if kind == "ThanosRuler" and not rarely(draw):
        spec["queryEndpoints"] = ["query:1"]
    if kind == "Prometheus":
        spec["shards"] = 5000 if rarely(draw) else draw(st.sampled_from([1, 2]))
    metadata: Object = {"labels": draw(LABELS)}
    if rarely(draw):
        metadata["annotations"] = {CONTROLLER_ID: "theirs"}
    if rarely(draw):
        metadata["deletionTimestamp"] = "2026-01-01T00:00:00Z"
    return made(kind, draw(WHERE), draw(st.sampled_from("ab")), spec, **metadata)


@st.composite
def resources(draw: st.DrawFn) -> Any:
    """A resource, good or bad."""
    kind = draw(st.sampled_from(["ServiceMonitor", "PodMonitor", "PrometheusRule", CONFIG]))
    bad = rarely(draw)
    if kind == CONFIG:
        spec: Object = {"route": {"receiver": "a"}, "receivers": [] if bad else [{"name": "a"}]}
    elif kind == "PrometheusRule":
        rule = {"record": "a", "expr": "up ==" if bad else "up"}
        spec = {"groups": [{"name": "g", "rules": [rule]}]}
    else:
        endpoint = {"port": "web", "interval": "soon" if bad else "30s"}
        member = "endpoints" if kind == "ServiceMonitor" else "podMetricsEndpoints"
        spec = {"selector": {}, member: [endpoint]}
    return made(kind, draw(WHERE), draw(st.sampled_from("xyz")), spec, labels=draw(LABELS))


SETTINGS = st.builds(
    OperatorSettings,
    controller_id=st.sampled_from(["", "", "", "theirs"]),
    consolidate_monitors=st.booleans(),
    unmanaged_configurations=st.booleans(),
    selectors=st.sampled_from([SelectorSettings()] * 3 + [SelectorSettings(prometheus="tier=one")]),
    namespaces=st.sampled_from(
        [
            NamespaceSettings(),
            NamespaceSettings(allowed=("shop", "team")),
            NamespaceSettings(prometheus=("shop",)),
        ]
    ),
)
WORKLOADS = st.lists(
    st.one_of(*map(workloads, SELECTED_BY)),
    min_size=1,
    max_size=4,
    unique_by=ref_of,
)
RESOURCES = st.lists(resources(), min_size=1, max_size=6, unique_by=ref_of)


def world_with(found: Iterable[Workload], others: Iterable[Resource]) -> World:
    """A world of these objects."""
    world = World()
    world.workloads, world.resources = list(found), list(others)
    world.namespaces |= {name: {"kubernetes.io/metadata.name": name} for name in NAMESPACES}
    return world


def as_written(found: Iterable[Object]) -> dict[Ref, str]:
    """Objects by what they are."""
    return {ref_of_manifest(each): yaml.safe_dump(each) for each in found}


@given(WORKLOADS, RESOURCES, SETTINGS)
@settings(max_examples=80)
def test_render_diff_explain_and_the_page_read_the_same_plan(
    found: list[Workload], others: list[Resource], flags: OperatorSettings
) -> None:
    """Objects, what becomes of resources, and whether a workload is looked after at all."""
    world = world_with(found, others)
    view = view_of(world, flags)
    plans = {ref_of(each): plan(view.facts, each) for each in found}
    wanted = [
        *(each for one in plans.values() for each in one.objects),
        *(
            manifest_of(each)
            for one in plans.values()
            if one.objects
            for each in stand_ins_of_plan(view.facts, one)
        ),
    ]
    shown = [each for one in rendered(world, found, flags) for each in one.objects]
    assert as_written(shown) == as_written(wanted)
    for each in found:
        ours = plans[ref_of(each)]
        assert planned(view, each).objects == ours.objects
        assert planned(view, each).problem.startswith("not looked after") == bool(ours.not_ours)
        told = explained_workload(view, each).headline
        assert told.startswith("not looked after") == bool(ours.not_ours)
    desk = decided(view)
    for ours in plans.values():
        shown_there = desk.workloads[str(ref_of(ours.workload))]
        verdicts = {} if ours.not_ours else ours.verdicts
        assert {key: found for key, (found, _) in shown_there.verdicts.items()} == verdicts
        assert bool(shown_there.problem) == bool(ours.error and not ours.not_ours)


def fed(view: Any, workload: Workload, members: list[Resource], order: list[int]) -> Memory | None:
    """What is remembered of a workload after resources came, changed and went, in this order."""
    facts = view.facts
    try:
        kept = kept_of(workload, facts.capabilities, facts.assets, facts.stand_ins)
    except WorkloadError:
        return None
    memory = Memory(kept, Built())
    for number in order:
        if members:
            one = members[number % len(members)]
            kept.put_all({ref_of(one): one}, facts.assets)
            plan(facts, workload, Existing(), memory)
            kept.remove(ref_of(one), facts.assets)
    kept.put_all({ref_of(each): each for each in members}, facts.assets)
    return memory


def answer(found: Plan) -> tuple[Any, ...]:
    """What of a plan is acted upon."""
    told = found.not_ours, found.version, found.problem, found.notes, found.verdicts, found.ignored
    return found.objects, found.only_made, found.contents, *told


@given(WORKLOADS, RESOURCES, SETTINGS, st.lists(st.integers(0, 9), min_size=1, max_size=4))
@settings(max_examples=80)
def test_what_is_remembered_changes_nothing(
    found: list[Workload], others: list[Resource], flags: OperatorSettings, order: list[int]
) -> None:
    """Whatever came and went before, and in which order."""
    view = view_of(world_with(found, others), flags)
    for each in found:
        fresh = plan(view.facts, each)
        if fresh.not_ours:
            continue
        members = [verdict.resource for verdict in fresh.verdicts.values()]
        memory = fed(view, each, members, order)
        if memory is None:
            assert fresh.unmade
            continue
        assert answer(plan(view.facts, each, Existing(), memory)) == answer(fresh)
        # A status, or another version of the same state, is no reason to build anything again.
        later = replace(each, metadata=replace(each.metadata, resource_version="9"))
        again = plan(view.facts, later, Existing(), memory)
        assert answer(again) == answer(fresh)


def test_what_did_not_change_is_not_built_again() -> None:
    """One monitor more is another configuration, and nothing else is touched."""
    workload = made("Prometheus", "shop", "a", {"serviceMonitorSelector": {}})
    monitor = made("ServiceMonitor", "shop", "x", {"selector": {}, "endpoints": [{"port": "web"}]})
    view = view_of(world_with([workload], []), OperatorSettings())
    memory = fed(view, workload, [], [])
    assert memory is not None
    before = plan(view.facts, workload, Existing(), memory).objects
    memory.kept.put_all({ref_of(monitor): monitor}, view.facts.assets)
    after = plan(view.facts, workload, Existing(), memory).objects
    others = [
        one["metadata"]["name"]
        for one, other in zip(before, after, strict=True)
        if one is not other
    ]
    assert others == ["prometheus-a"]


def test_who_remembers_sees_neighbours_come_and_go() -> None:
    """The Service that they share is another one then, and the same as long as they are."""
    spec: Object = {"serviceMonitorSelector": {}}
    ours, other = (made("Prometheus", "shop", name, spec) for name in "ab")
    alone, together = (
        view_of(world_with(each, []), OperatorSettings()) for each in ([ours], [ours, other])
    )
    memory = fed(alone, ours, [], [])
    assert memory is not None
    owners, services = list[list[str]](), list[Object]()
    for view in (alone, together, together, alone):
        found = plan(view.facts, ours, Existing(), memory).objects
        [service] = [each for each in found if each["kind"] == "Service"]
        owners.append([each["name"] for each in service["metadata"]["ownerReferences"]])
        services.append(service)
    assert owners == [["a"], ["a", "b"], ["a", "b"], ["a"]]
    assert services[1] is services[2]


def test_a_configuration_of_the_users_own_is_only_begun() -> None:
    """Where there is no Secret, one that lets pods start; where there is one, it is not touched."""
    workload = made("Prometheus", "shop", "a", {})
    view = view_of(world_with([workload], []), OperatorSettings())
    own = Ref("Secret", "shop", "prometheus-a")
    empty = plan(view.facts, workload)
    assert own in map(ref_of_manifest, empty.objects)
    assert empty.only_made == {own}
    there = plan(view.facts, workload, Existing(configuration=True))
    assert own not in map(ref_of_manifest, there.objects)


def test_a_neighbour_of_another_operator_has_no_say_in_our_service() -> None:
    """Nor is anything made for it."""
    ours = made(
        "Prometheus",
        "shop",
        "b",
        {"serviceMonitorSelector": {}, "portName": "mine"},
        creationTimestamp="2021-01-01T00:00:00Z",
    )
    theirs = made(
        "Prometheus",
        "shop",
        "a",
        {"serviceMonitorSelector": {}, "portName": "theirs"},
        annotations={CONTROLLER_ID: "theirs"},
        creationTimestamp="2020-01-01T00:00:00Z",
    )
    shown = rendered(world_with([ours, theirs], []), [ours, theirs], OperatorSettings())
    [service] = [each for one in shown for each in one.objects if each["kind"] == "Service"]
    assert [port["name"] for port in service["spec"]["ports"]] == ["mine"]
    assert shown[1].objects == ()
    assert "not looked after" in shown[1].notes[0]
