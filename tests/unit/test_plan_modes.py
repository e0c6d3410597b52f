"""A change of an agent's mode is the same one for the operator and for `stoker diff`.

States of a change are made at random: sets of either mode, ready, late or leaving, reading either
of the two names of the Secrets, over several shards, with further files of the configuration.
The operator sees them in its caches, and remembers; diff reads them one by one, and does not.
"""

import asyncio
from datetime import UTC, datetime
from types import SimpleNamespace
from typing import Any

import msgspec
from hypothesis import given, settings
from hypothesis import strategies as st

from stoker.api.core import Object
from stoker.api.monitors import PodMonitor
from stoker.api.prometheus import PrometheusAgent
from stoker.build.names import config_secret_name
from stoker.cluster.diff import Comparing
from stoker.compare.overlay import Manifests
from stoker.compare.plan import planned
from stoker.kube.errors import NotFound
from stoker.offline.surroundings import view_of
from stoker.operator.mode_changes import ModeChanges
from stoker.plan import Existing, outline_of, plan
from stoker.plan.existing import Running
from stoker.plan.switching import Switch, apart, usual_names
from stoker.ref import Ref, ref_of, ref_of_manifest
from stoker.select.workload import Scraper, scraper_of
from stoker.settings import OperatorSettings
from tests.unit.test_plan import fed, made, world_with

MODES = ("StatefulSet", "DaemonSet")
NOON = datetime(2026, 1, 31, 12, tzinfo=UTC)
MONITOR: PodMonitor = made(
    "PodMonitor", "shop", "x", {"selector": {}, "podMetricsEndpoints": [{"port": "web"}]}
)


def agent(mode: str, shards: int) -> PrometheusAgent:
    """An agent in a mode."""
    spec: Object = {
        "podMonitorSelector": {},
        "mode": mode,
        "remoteWrite": [{"url": "http://store/"}],
    }
    spec |= {"shards": shards} if mode == "StatefulSet" else {}
    found: PrometheusAgent = made("PrometheusAgent", "shop", "light", spec)
    return found


def status_of(kind: str, pods: int, *, ready: bool) -> Object:
    """What a controller says of a set whose pods are all there, ready or not."""
    count = pods if ready else 0
    names = (
        {"updatedReplicas": pods, "replicas": pods, "readyReplicas": count}
        | {"availableReplicas": count}
        if kind == "StatefulSet"
        else {"desiredNumberScheduled": pods, "currentNumberScheduled": pods}
        | {"updatedNumberScheduled": pods, "numberAvailable": count}
    )
    return {"observedGeneration": 1} | names


class Cluster:
    """What exists of an agent, for who reads one by one and for who has it all."""

    def __init__(self, objects: list[Object]) -> None:
        self.objects = {ref_of_manifest(each): each for each in objects}

    async def get(self, resource: Any, namespace: str, name: str) -> Object:
        """One object, as an API server answers."""
        found = self.objects.get(Ref(resource.kind, namespace, name))
        if found is None:
            raise NotFound("get", resource.path(namespace, name), "", status=404)
        return found

    async def ask(self, model: Any, *_: object, **__: object) -> Any:
        """No pods: what is made of these is another's matter."""
        return model()

    def belonging(self, kind: str, _uid: str) -> list[Running]:
        """All of a kind, as the caches have it."""
        found = (each for ref, each in sorted(self.objects.items()) if ref.kind == kind)
        return [msgspec.convert(each, Running) for each in found]


@st.composite
def clusters(draw: st.DrawFn, old: PrometheusAgent, new: PrometheusAgent) -> Cluster:
    """Some state between the modes of two agents, which need not be one that we ever made."""
    objects: list[Object] = []
    for each in (old, new):
        view = view_of(world_with([each], [MONITOR]), OperatorSettings())
        wanted = plan(view.facts, each).objects
        scraper = scraper_of(each, view.capabilities)
        if draw(st.booleans()):
            wanted = tuple(apart(scraper, wanted))
        # Sets come and go from the last shard on, so there are none beyond one that is missing.
        sets = [one for one in wanted if one["kind"] in MODES]
        there = sets[: draw(st.integers(0, len(sets)))]
        there += [one for one in wanted if one["kind"] == "Secret" and draw(st.integers(0, 5))]
        objects += [draw(lives(one)) for one in there]
    main = config_secret_name(scraper)
    for name in (main, f"{main}-switch"):
        further = {"kind": "Secret", "metadata": {"namespace": "shop", "name": f"{name}-scrape-0"}}
        objects += [further] if draw(st.booleans()) else []
    return Cluster(objects)


@st.composite
def lives(draw: st.DrawFn, wanted: Object) -> Object:
    """An object as it may be in a cluster."""
    metadata = wanted["metadata"]
    own = {"uid": f"{wanted['kind']} {metadata['name']}", "generation": 1}
    if wanted["kind"] == "Secret":
        return wanted | {"metadata": metadata | own}
    if not draw(st.integers(0, 5)):
        own |= {"deletionTimestamp": "2026-01-01T00:00:00Z"}
    status = status_of(wanted["kind"], draw(st.integers(0, 2)), ready=draw(st.booleans()))
    return wanted | {"metadata": metadata | own, "status": status}


@st.composite
def worlds(draw: st.DrawFn) -> tuple[Cluster, PrometheusAgent, PrometheusAgent]:
    """An agent before and after a change, usually of its mode, and what exists of it."""
    old, new = (agent(draw(st.sampled_from(MODES)), draw(st.integers(1, 3))) for _ in range(2))
    return draw(clusters(old, new)), old, new


async def as_the_operator_does(
    cluster: Cluster, view: Any, new: PrometheusAgent, order: list[int]
) -> tuple[list[Object], Switch]:
    """What is wanted meanwhile, and where the change stands, by what is remembered."""
    scraper: Scraper = scraper_of(new, view.capabilities)
    secrets = [each.metadata.name or "" for each in cluster.belonging("Secret", "")]
    memory = fed(view, new, [MONITOR], order)
    assert memory is not None
    existing = Existing(secrets=usual_names(scraper, secrets))
    found = plan(view.facts, new, existing, memory)
    tools: Any = SimpleNamespace(
        caches=cluster,
        capabilities=view.capabilities,
        client=cluster,
        now=lambda: NOON,
        settings=view.settings,
    )
    outline = outline_of(new, view.capabilities, view.settings.objects)
    change = await ModeChanges(tools).change_of(ref_of(new), new, outline, list(found.objects))
    return change.wanted, change.switch


async def as_diff_does(
    cluster: Cluster, before: Any, after: Any, new: PrometheusAgent
) -> tuple[list[Object], Switch]:
    """The same by what is read."""
    client: Any = cluster
    comparing = Comparing(client, before, after, Manifests())
    there = await comparing.existing(new)
    wanted = planned(after, new, there)
    switched, switch = await comparing.switched(wanted)
    return list(switched.objects), switch or Switch()


@given(worlds(), st.lists(st.integers(0, 3), max_size=2))
@settings(max_examples=60)
def test_operator_and_diff_see_the_same_change_of_mode(
    world: tuple[Cluster, PrometheusAgent, PrometheusAgent], order: list[int]
) -> None:
    """What is written meanwhile, what stays, and what it waits for."""
    cluster, old, new = world
    before, after = (
        view_of(world_with([each], [MONITOR]), OperatorSettings()) for each in (old, new)
    )
    objects, switch = asyncio.run(as_the_operator_does(cluster, after, new, order))
    shown, seen = asyncio.run(as_diff_does(cluster, before, after, new))
    assert shown == objects
    assert seen == switch
