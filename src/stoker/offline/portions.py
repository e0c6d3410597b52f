"""What each node gets of an agent whose targets the operator finds, as far as manifests say.

    portions/NODE/jobs/STEM.yaml     a job that has a target for the agent on NODE
    portions/NODE/targets/STEM.json  its targets
    portions/NODE/tls/NAME           certificates and keys that it reads

For this there must be Nodes, and pods or EndpointSlices with addresses, as `kubectl get -o yaml`
prints them. Without these there are the jobs as they would be given out, in `jobs/`.
"""

import re
from collections.abc import Iterable, Iterator, Mapping
from typing import Any, Final

from msgspec import Struct

from stoker.explain.samples import made_slices
from stoker.offline.folder import safe_name
from stoker.offline.world import World
from stoker.plan import Plan
from stoker.plan.nodes import placing_of
from stoker.portions.packed import packed
from stoker.portions.portions import Portions
from stoker.portions.strays import Agents
from stoker.portions.whereabouts import Whereabouts
from stoker.select.nodes import without_pods
from stoker.select.workload import AnyPrometheus, Scraper, Workload, scraper_of
from stoker.settings import Capabilities, ObjectSettings
from stoker.targets.job import Defaults
from stoker.targets.objects import EndpointSlice, Node, Pod, Service
from stoker.view.objects import slices_of

_PLAIN: Final = re.compile(r"[A-Za-z0-9_-][A-Za-z0-9._-]*")
_JOB: Final = "jobs/"
_TARGETS: Final = "targets/"


class NodePortion(Struct, frozen=True):
    """The files of one node, by their paths."""

    node: str
    files: Mapping[str, str]

    @property
    def jobs(self) -> int:
        """How many jobs it gets."""
        return sum(path.startswith(_JOB) for path in self.files)

    @property
    def targets(self) -> int:
        """How many targets all of them have."""
        lists = (text for path, text in self.files.items() if path.startswith(_TARGETS))
        return sum(text.count("\n") - 2 for text in lists)


class GivenOut(Struct, frozen=True):
    """What there is to give out, by paths, and what each node gets; None where it is not known."""

    jobs: Mapping[str, str] = {}
    nodes: tuple[NodePortion, ...] | None = None


NOTHING_GIVEN: Final = GivenOut()


def given_out(world: World, made: Plan, capabilities: Capabilities) -> GivenOut:
    """What becomes of the jobs of a workload; nothing for one without portions."""
    if not isinstance(made.workload, AnyPrometheus) or made.contents is None:
        return NOTHING_GIVEN
    scraper = scraper_of(made.workload, capabilities)
    if not scraper.portions:
        return NOTHING_GIVEN
    contents: Any = made.contents
    jobs = {f"{_JOB}{job.stem}.yaml": job.text for of in contents.node_jobs.values() for job in of}
    files = {f"tls/{name}": text for name, text in contents.node_files.items()}
    return GivenOut(
        {**jobs, **_safe(files)}, _by_node(world, made.workload, scraper, contents, capabilities)
    )


def _by_node(
    world: World, workload: Workload, scraper: Scraper, contents: Any, capabilities: Capabilities
) -> tuple[NodePortion, ...] | None:
    nodes = [each for each in world.surroundings if isinstance(each, Node)]
    placing = placing_of(workload, capabilities, ObjectSettings())
    if not nodes or placing is None or not _are_known(world):
        return None
    without = without_pods(placing, nodes)
    homes = frozenset(each.name for each in nodes) - without.keys()
    spec = scraper.spec
    defaults = Defaults(spec.scrape_interval or "1m", spec.scrape_timeout or "10s")
    portions = Portions(_whereabouts(world), scraper.version, defaults)
    portions.set_agents(Agents(homes, homes) if scraper.spread else None)
    portions.set_jobs(contents.node_jobs, contents.node_files)
    return tuple(NodePortion(node, _safe(_files(portions, node))) for node in sorted(homes))


def _files(portions: Portions, node: str) -> dict[str, str]:
    return {path: portions.text(node, path).decode() for path in sorted(portions.digests(node))}


def _are_known(world: World) -> bool:
    """Whether anything has an address."""
    return any(
        (isinstance(each, Pod) and each.address) or (isinstance(each, EndpointSlice))
        for each in world.surroundings
    )


def _whereabouts(world: World) -> Whereabouts:
    """The objects as they are in a cluster, with the slices that Kubernetes makes of Services."""
    found = world.surroundings
    places = Whereabouts()
    for each in (*found, *_made(found)):
        if isinstance(each, Pod | Service | EndpointSlice | Node):
            places.changed(None, packed(each))
    return places


def _made(found: Iterable[Any]) -> Iterator[EndpointSlice]:
    """Slices of Services of which there is none."""
    pods = [each for each in found if isinstance(each, Pod)]
    slices = [each for each in found if isinstance(each, EndpointSlice)]
    for service in (each for each in found if isinstance(each, Service)):
        own = slices_of(service)
        there = any(
            each.namespace == service.namespace and own.matches(each.labels) for each in slices
        )
        selector = service.pods
        if selector and not there:
            chosen = (each for each in pods if each.namespace == service.namespace)
            yield from made_slices(
                service, [each for each in chosen if selector.matches(each.labels)]
            )


def _safe(files: Mapping[str, str]) -> dict[str, str]:
    """The files by paths that stay where they are put: what names them was written by a user."""
    made: dict[str, str] = {}
    for path, text in files.items():
        folder, _, name = path.partition("/")
        made[f"{folder}/{name if _PLAIN.fullmatch(name) else safe_name((name,))}"] = text
    return made
