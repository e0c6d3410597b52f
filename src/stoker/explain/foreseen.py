"""The targets of a monitor as they will be: discovery and relabeling, done as Prometheus does them.

What the other searches count are ports that fit. Here the jobs that the operator writes are worked
out to the end: which candidates their steps drop, which labels the others have, and which of them
are equal, so that Prometheus scrapes them once. Where that cannot be told, what was counted stays.
"""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Any, Final

from msgspec import Struct
from msgspec.structs import replace

from stoker.api.monitors import PodMonitor, ServiceMonitor
from stoker.errors import ResourceError
from stoker.explain.answer import Dropped, EndpointTargets, Foreseen, Label, Search
from stoker.explain.places import everywhere, places
from stoker.explain.reach import Reach
from stoker.explain.samples import Sample, made_slices, old_endpoints, sample_of
from stoker.generate.draft import ScraperDraft
from stoker.generate.jobs import POD_MONITOR, SERVICE_MONITOR, JobSource, source
from stoker.generate.limits import class_path
from stoker.generate.prometheus import job_blocks
from stoker.generate.sharding import sharding_steps
from stoker.select.labels import selector_of
from stoker.select.workload import Scraper
from stoker.targets.discovery import CannotTellError
from stoker.targets.job import Budget, Defaults, Job, TargetOutcome, job_of, outcomes
from stoker.targets.objects import TargetSources, by_place
from stoker.targets.steps import Step
from stoker.view.masked import Masked
from stoker.view.objects import slices_of
from stoker.view.view import View

AnyMonitor = ServiceMonitor | PodMonitor
_NODE: Final = "__meta_kubernetes_node_"
_EXAMPLES: Final = 20
# In microseconds: of one among thousands on a page, and where it is asked for.
_SHORT: Final = 100_000
_LONG: Final = 5_000_000
_CHOOSING: Final = frozenset({"keep", "drop", "keepequal", "dropequal"})
_BY_NAME: Final = frozenset({"labelmap", "labeldrop", "labelkeep"})


def foreseen(
    view: View, monitor: AnyMonitor, scraper: Scraper, reach: Reach | None, search: Search
) -> Search:
    """A search with what relabeling makes of what was found; as it was, where that is not known."""
    if not search.targets or (view.brief and not _relabels(monitor)):
        return search
    try:
        endpoints = _endpoints(view, monitor, scraper, reach)
    except (CannotTellError, ResourceError) as error:
        return replace(search, notes=(*search.notes, *_unsure(monitor, error)))
    counts = [each.targets for each in endpoints]
    known = [each for each in counts if each is not None]
    emptied = [each for each in endpoints if each.targets == 0 and each.dropped]
    return replace(
        search,
        targets=sum(known) if len(known) == len(counts) else None,
        endpoints=() if view.brief else tuple(endpoints),
        problems=(*search.problems, *map(_why_empty, emptied)),
    )


def _relabels(monitor: AnyMonitor) -> bool:
    return any(each.relabelings for each in _ends(monitor))


def _ends(monitor: AnyMonitor) -> Sequence[Any]:
    if isinstance(monitor, ServiceMonitor):
        return monitor.spec.endpoints
    return monitor.spec.pod_metrics_endpoints or ()


def _unsure(monitor: AnyMonitor, error: Exception) -> Iterator[str]:
    """Which endpoints may have fewer targets than are counted, since they drop some themselves."""
    member = _KINDS[type(monitor)].endpoints
    for index, endpoint in enumerate(_ends(monitor)):
        actions = {(step.action or "").lower() for step in endpoint.relabelings or ()}
        if actions & _CHOOSING:
            path = f"{member}[{index}].relabelings"
            yield f"{path} may drop targets that are counted here: {error}"


def _why_empty(found: EndpointTargets) -> str:
    most = max(found.dropped, key=lambda each: each.targets or 0)
    return f"{most.path} drops all targets: {_words(most)}"


def _words(dropped: Dropped) -> str:
    return f"{dropped.step}, and it is `{dropped.value}`"


# --- The objects ----------------------------------------------------------------------------------


class _Known(Struct, frozen=True):
    """What targets are made of, with the samples by namespace and name."""

    world: TargetSources
    samples: Mapping[tuple[str, str], Sample]

    @property
    def is_made_up(self) -> bool:
        """Whether there are samples that stand for others."""
        return any(each.made_up for each in self.samples.values())


def _known(view: View, monitor: AnyMonitor, scraper: Scraper) -> _Known:
    """The objects that a monitor leads to, and no others: its steps would drop them."""
    spec, own = monitor.spec, monitor.metadata.namespace or ""
    names = places(view, spec.namespace_selector, own, scraper)
    selector = selector_of(spec.selector)
    if isinstance(monitor, PodMonitor):
        pods = everywhere(view.surroundings.pods, names)
        _whole(pods.unknown)
        return _of_samples(pods.matching(selector))
    services = everywhere(view.surroundings.services, names)
    _whole(services.unknown)
    chosen = services.matching(selector)
    spaces = sorted({each.namespace for each in chosen})
    listings = [view.surroundings.pods(each) for each in spaces]
    for each in listings:
        _whole(each.unknown)
    known = _of_samples(group for each in listings for group in each.items)
    slices = []
    endpoints = []
    for service in chosen:
        read = view.surroundings.slices(service.namespace)
        found = read.matching(slices_of(service))
        if not found and read.unknown:
            pods_of = service.pods
            found = list(made_slices(service, _selected(known.world, service, pods_of)))
        slices += found
        endpoints.append(old_endpoints(service, found))
    world = replace(
        known.world,
        services=by_place(chosen),
        slices=by_place(slices),
        endpoints=by_place(endpoints),
    )
    return replace(known, world=world)


def _selected(world: TargetSources, service: Any, selector: Any) -> list[Any]:
    found = world.pods.get(service.namespace, {}).values()
    return [each for each in found if selector and selector.matches(each.labels)]


def _whole(unknown: str) -> None:
    """CannotTellError where there may be more objects than are known."""
    if unknown:
        raise CannotTellError(unknown)


def _of_samples(groups: Iterable[Any]) -> _Known:
    samples = {}
    for number, group in enumerate(groups):
        made = sample_of(group, number)
        if made:
            samples[made.pod.namespace, made.pod.name] = made
    return _Known(TargetSources(pods=by_place(each.pod for each in samples.values())), samples)


# --- The jobs -------------------------------------------------------------------------------------

_KINDS: Final = {ServiceMonitor: SERVICE_MONITOR, PodMonitor: POD_MONITOR}


class _Steps(Struct, frozen=True):
    """Whose the steps of a job are: the user's, or those of a scrape class, by their numbers."""

    paths: Mapping[int, str]

    def path(self, step: int | None) -> str:
        """Where a step is found; empty for those of the operator."""
        return self.paths.get(-1 if step is None else step, "")


def _endpoints(
    view: View, monitor: AnyMonitor, scraper: Scraper, reach: Reach | None
) -> list[EndpointTargets]:
    if reach is not None:
        raise CannotTellError("each agent on a node has its own")
    assets = Masked(view.assets)
    draft = ScraperDraft(scraper, assets, monitor.metadata.namespace or "")
    of, known = source(_KINDS[type(monitor)], monitor, draft), _known(view, monitor, scraper)
    jobs = job_blocks(monitor, scraper, assets)
    budget = Budget(_SHORT if view.brief else _LONG)
    found = []
    for index, (block, endpoint) in enumerate(zip(jobs, _ends(monitor), strict=True)):
        path = f"{of.kind.endpoints}[{index}]"
        # Every shard has some of the targets, and together they have all.
        count = len(block["relabel_configs"]) - len(sharding_steps(draft))
        steps = block["relabel_configs"][:count]
        job = _job({**block, "relabel_configs": steps}, view, scraper, known)
        owners = _owners(of, endpoint.relabelings or (), f"{path}.relabelings", count)
        found.append(_endpoint(path, outcomes(job, known.world, budget), job, known, owners))
    return found


def _job(block: Mapping[str, Any], view: View, scraper: Scraper, known: _Known) -> Job:
    spec = scraper.spec
    defaults = Defaults(spec.scrape_interval or "1m", spec.scrape_timeout or "10s")
    job = job_of(block, scraper.version, defaults)
    if not any(each.with_node for each in job.discoveries):
        return job
    nodes = view.surroundings.nodes()
    if known.is_made_up or nodes.unknown:
        if any(_reads_nodes(each) for each in job.steps):
            raise CannotTellError(nodes.unknown or "their nodes are not known yet")
        discoveries = tuple(replace(each, with_node=False) for each in job.discoveries)
        return replace(job, discoveries=discoveries)
    return job


def _reads_nodes(step: Step) -> bool:
    return step.action in _BY_NAME or any(each.startswith(_NODE) for each in step.sources)


def _owners(of: JobSource, own: Sequence[Any], path: str, count: int) -> _Steps:
    """The steps that are somebody's, counted from the end: those that enforce come last."""
    start = count - len(of.enforced) - len(own)
    paths = {start + number: f"{path}[{number}]" for number in range(len(own))}
    of_class = (of.chosen and of.chosen.relabelings) or ()
    if of_class and of.chosen:
        at = f"{class_path(of.chosen, of.draft)}.relabelings"
        first = start - len(of_class)
        paths |= {first + number: f"{at}[{number}]" for number in range(len(of_class))}
    return _Steps(paths)


# --- What becomes of them -------------------------------------------------------------------------


def _endpoint(
    path: str, every: Iterable[TargetOutcome], job: Job, known: _Known, owners: _Steps
) -> EndpointTargets:
    stays: dict[frozenset[tuple[str, str]], tuple[TargetOutcome, Sample | None]] = {}
    dropped: dict[int, list[tuple[TargetOutcome, Sample | None]]] = {}
    refused: dict[str, None] = {}
    candidates: list[int | None] = []
    for each in every:
        sample = _sample(each, known)
        if each.stays:
            candidates.append(sample.count if sample else 1)
            stays[frozenset(each.labels.items())] = each, sample
        elif each.problem:
            refused[each.problem] = None
        elif each.step is not None and owners.path(each.step):
            dropped.setdefault(each.step, []).append((each, sample))
    counts = [_count(each, sample) for each, sample in stays.values()]
    targets = _sum(counts)
    fitting = _sum(candidates)
    return EndpointTargets(
        path=path,
        targets=targets,
        equal=fitting - targets if fitting is not None and targets is not None else 0,
        examples=tuple(_example(*each) for each in list(stays.values())[:_EXAMPLES]),
        dropped=tuple(
            _dropped(owners.path(step), job.steps[step], found) for step, found in dropped.items()
        ),
        refused=tuple(refused),
    )


def _sample(found: TargetOutcome, known: _Known) -> Sample | None:
    """The pod that a candidate is made of, if it is one."""
    labels = found.discovered
    namespace = labels.get("__meta_kubernetes_namespace", "")
    return known.samples.get((namespace, labels.get("__meta_kubernetes_pod_name", "")))


def _count(found: TargetOutcome, sample: Sample | None) -> int | None:
    """How many targets one is: where nothing of it is the pod's own, all pods are one target."""
    if sample is None or not sample.stands_in(found.labels.values()):
        return 1
    return sample.count


def _sum(counts: Iterable[int | None]) -> int | None:
    found = list(counts)
    known = [each for each in found if each is not None]
    return sum(known) if len(known) == len(found) else None


def _example(found: TargetOutcome, sample: Sample | None) -> Foreseen:
    labels = (
        Label(name=name, value=sample.told(value) if sample else value)
        for name, value in sorted(found.public.items())
    )
    return Foreseen(labels=tuple(labels), count=_count(found, sample))


def _dropped(
    path: str, step: Step, found: Sequence[tuple[TargetOutcome, Sample | None]]
) -> Dropped:
    first, sample = found[0]
    value = step.value(first.labels)[:100]
    return Dropped(
        path=path,
        step=_step_words(step),
        targets=_sum(_count(each, one) for each, one in found),
        value=sample.told(value) if sample else value,
    )


def _step_words(step: Step) -> str:
    """What a step that drops targets asks for."""
    sources = step.separator.join(step.sources)
    if step.action in ("keepequal", "dropequal"):
        return f"`{step.action}` compares `{sources}` with `{step.target.text}`"
    wants = "matches" if step.action == "drop" else "does not match"
    return f"`{step.action}`: `{sources}` {wants} `{step.expression.text}`"
