"""The targets of a resource as they will be: discovery and relabeling as Prometheus does them.

What the other searches count are ports that fit, or what is listed. Here the jobs that the operator
writes are worked out to the end: which candidates their steps drop, which labels the others have,
and which of them are equal, so that Prometheus scrapes them once. Where that cannot be worked out,
what was counted stays.
"""

import re
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from typing import Any, Final

from msgspec import Struct
from msgspec.structs import replace

from stoker.api.monitors import PodMonitor, Probe, ServiceMonitor
from stoker.api.scrapeconfig.v1alpha1 import ScrapeConfig
from stoker.errors import ResourceError
from stoker.explain.answer import Dropped, EndpointTargets, Foreseen, Label, Search
from stoker.explain.known import KnownSources, known_to, seen_by
from stoker.explain.places import places
from stoker.explain.reach import Reach
from stoker.explain.samples import Sample
from stoker.generate.draft import ScraperDraft
from stoker.generate.jobs import POD_MONITOR, PROBE, SERVICE_MONITOR, JobKind, JobSource, source
from stoker.generate.limits import class_path
from stoker.generate.prometheus import job_blocks
from stoker.generate.scrapeconfig import SCRAPE_CONFIG
from stoker.generate.sharding import sharding_steps
from stoker.select.choice import Monitor
from stoker.select.workload import Scraper
from stoker.targets.discovery import CannotTellError
from stoker.targets.job import Budget, Defaults, Job, TargetOutcome, job_of, outcomes
from stoker.targets.steps import Step, dropped_by
from stoker.view.masked import Masked
from stoker.view.view import View

_DISCOVERY: Final = "kubernetes_sd_configs"
_NODE: Final = "__meta_kubernetes_node_"
_SPACE: Final = "__meta_kubernetes_namespace_"
_EXAMPLES: Final = 20
# In microseconds: of one among thousands on a page, and where it is asked for.
_SHORT: Final = 100_000
_LONG: Final = 5_000_000
_CHOOSING: Final = frozenset({"keep", "drop", "keepequal", "dropequal"})
_BY_NAME: Final = frozenset({"labelmap", "labeldrop", "labelkeep"})
# Whatever a value will be, these match it.
_ANYTHING: Final = frozenset({"(.*)", ".*", "(.+)", ".+"})
_VARIABLE: Final = re.compile(r"\$\([A-Za-z_][A-Za-z0-9_]*\)")
_AMONG_MANIFESTS: Final = "counted among the manifests; a cluster may have more"


class _End(Struct, frozen=True):
    """Where targets of a resource come from: the path to it, and the relabeling there."""

    path: str
    steps: Sequence[Any]
    at: str


def foreseen(
    view: View, resource: Monitor, scraper: Scraper, reach: Reach | None, search: Search
) -> Search:
    """A search with what relabeling makes of what was found; as it was, where that is not known."""
    ends = _ENDS[type(resource)](resource)
    if not _is_worth_it(view, resource, ends, search):
        return search
    try:
        endpoints = _endpoints(view, resource, ends, scraper, reach)
    except (CannotTellError, ResourceError) as error:
        return replace(search, notes=(*search.notes, *_unsure(search, ends, error)))
    counts = [each.targets for each in endpoints]
    known = [each for each in counts if each is not None]
    emptied = [each for each in endpoints if each.targets == 0 and each.dropped]
    problems = [*search.problems, *map(_why_empty, emptied)]
    found = replace(search, targets=sum(known) if len(known) == len(counts) else None)
    if search.targets is None:
        found = replace(found, notes=(_AMONG_MANIFESTS,) if view.at_hand else ())
        if found.targets == 0 and not problems:
            problems.append(f"{search.looks_in}: nothing is found there")
    return replace(
        found, endpoints=() if view.brief else tuple(endpoints), problems=tuple(problems)
    )


def _is_worth_it(view: View, resource: Monitor, ends: Sequence[_End], search: Search) -> bool:
    """Whether there may be something to tell."""
    if isinstance(resource, ScrapeConfig) and search.targets is None:
        # Of thousands on a page nobody looks at all pods of a cluster.
        return not view.brief and _finds_in_this_cluster(resource)
    return bool(search.targets) and (not view.brief or any(each.steps for each in ends))


def _finds_in_this_cluster(config: ScrapeConfig) -> bool:
    found = config.spec.kubernetes_sd_configs or ()
    return bool(found) and not any(each.api_server for each in found)


def _unsure(search: Search, ends: Iterable[_End], error: Exception) -> Iterator[str]:
    """Why targets cannot be worked out, where that makes a difference.

    Endpoints may have fewer than are counted if they drop some themselves.
    """
    if search.targets is None:
        yield f"they cannot be worked out here: {error}"
    for end in ends if search.targets else ():
        if {(step.action or "").lower() for step in end.steps} & _CHOOSING:
            yield f"{end.at} may drop targets that are counted here: {error}"


def _why_empty(found: EndpointTargets) -> str:
    most = max(found.dropped, key=lambda each: each.targets or 0)
    return f"{most.path} drops all targets: {most.why}"


# --- Where targets come from ----------------------------------------------------------------------


def _of_services(monitor: ServiceMonitor) -> list[_End]:
    return _listed(SERVICE_MONITOR, monitor.spec.endpoints)


def _of_pods(monitor: PodMonitor) -> list[_End]:
    return _listed(POD_MONITOR, monitor.spec.pod_metrics_endpoints or ())


def _listed(kind: JobKind, every: Sequence[Any]) -> list[_End]:
    paths = (f"{kind.endpoints}[{index}]" for index in range(len(every)))
    return [
        _End(path, each.relabelings or (), f"{path}.relabelings")
        for path, each in zip(paths, every, strict=True)
    ]


def _of_probe(probe: Probe) -> list[_End]:
    targets = probe.spec.targets
    path, own = "spec.targets", None
    if targets and targets.static_config:
        path, own = f"{path}.staticConfig", targets.static_config.relabeling_configs
    elif targets and targets.ingress:
        path, own = f"{path}.ingress", targets.ingress.relabeling_configs
    return [_End(path, own or (), f"{path}.relabelingConfigs")]


def _of_config(config: ScrapeConfig) -> list[_End]:
    return [_End("spec", config.spec.relabelings or (), "spec.relabelings")]


_ENDS: Final[dict[type, Callable[[Any], list[_End]]]] = {
    ServiceMonitor: _of_services,
    PodMonitor: _of_pods,
    Probe: _of_probe,
    ScrapeConfig: _of_config,
}
_KINDS: Final = {
    ServiceMonitor: SERVICE_MONITOR,
    PodMonitor: POD_MONITOR,
    Probe: PROBE,
    ScrapeConfig: SCRAPE_CONFIG,
}


# --- The jobs -------------------------------------------------------------------------------------


class _Steps(Struct, frozen=True):
    """Whose the steps of a job are: the user's, or those of a scrape class, by their numbers."""

    count: int
    paths: Mapping[int, str]

    def path(self, step: int | None) -> str:
        """Where a step is found; empty for those of the operator."""
        return self.paths.get(-1 if step is None else step, "")


def _endpoints(
    view: View, resource: Monitor, ends: Sequence[_End], scraper: Scraper, reach: Reach | None
) -> list[EndpointTargets]:
    assets = Masked(view.assets)
    draft = ScraperDraft(scraper, assets, resource.metadata.namespace or "")
    of = source(_KINDS[type(resource)], resource, draft)
    known = None if isinstance(resource, ScrapeConfig) else _known(view, resource, scraper, reach)
    # What an agent on a node looks at was chosen already: the rest is the same for all nodes.
    everywhere = replace(scraper, portions=scraper.daemon_set)
    budget = Budget(_SHORT if view.brief else _LONG)
    found = []
    for block, end in zip(job_blocks(resource, everywhere, assets), ends, strict=True):
        theirs = _their_steps(of, end, len(block["relabel_configs"]), resource)
        # Every shard has some of the targets, and together they have all.
        steps = block["relabel_configs"][: theirs.count]
        job, seen = _job({**block, "relabel_configs": steps}, view, scraper, known)
        _check_same_in_all_pods(job.steps, theirs)
        every = outcomes(job, seen.world, budget)
        found.append(_endpoint(end.path, every, job, seen, theirs))
    return found


def _known(view: View, resource: Any, scraper: Scraper, reach: Reach | None) -> KnownSources:
    selector = resource.spec
    if isinstance(resource, Probe):
        selector = resource.spec.targets and resource.spec.targets.ingress
    wanted = getattr(selector, "namespace_selector", None)
    names = places(view, wanted, resource.metadata.namespace or "", scraper)
    return known_to(view, resource, names, reach)


def _job(
    block: Mapping[str, Any], view: View, scraper: Scraper, known: KnownSources | None
) -> tuple[Job, KnownSources]:
    spec = scraper.spec
    defaults = Defaults(spec.scrape_interval or "1m", spec.scrape_timeout or "10s")
    job = job_of(_with_namespace(block, scraper.namespace), scraper.version, defaults)
    if any(each.with_namespace for each in job.discoveries):
        _refuse(job.steps, _SPACE, "labels of namespaces are not read")
    seen = seen_by(view, job.discoveries) if known is None else known
    for label, why in seen.unknown.items():
        _refuse_label(job.steps, label, why)
    if not any(each.with_node for each in job.discoveries):
        return job, seen
    nodes = view.surroundings.whole_nodes()
    if seen.is_made_up or nodes.unknown:
        _refuse(job.steps, _NODE, nodes.unknown or "their nodes are not known yet")
        discoveries = tuple(replace(each, with_node=False) for each in job.discoveries)
        return replace(job, discoveries=discoveries), seen
    world = replace(seen.world, nodes={each.name: each for each in nodes.items})
    return job, replace(seen, world=world)


def _with_namespace(block: Mapping[str, Any], own: str) -> Mapping[str, Any]:
    """A job that looks in the namespace of its Prometheus, with the name of that."""
    found = []
    for each in block.get(_DISCOVERY) or ():
        spaces = each.get("namespaces") or {}
        names = [*(spaces.get("names") or ()), own]
        named = {**each, "namespaces": {"names": names}}
        found.append(named if spaces.get("own_namespace") else each)
    return {**block, _DISCOVERY: found} if found else block


def _refuse(steps: Iterable[Step], prefix: str, why: str) -> None:
    """CannotTellError where a step looks at labels that are not known."""
    for each in steps:
        if each.action in _BY_NAME or any(name.startswith(prefix) for name in each.sources):
            raise CannotTellError(why)


def _refuse_label(steps: Iterable[Step], label: str, why: str) -> None:
    """CannotTellError where a step looks at a label that is not known."""
    for each in steps:
        copies = each.action == "labelmap" and each.expression.matches(label)
        if copies or label in each.sources:
            raise CannotTellError(why)


def _their_steps(of: JobSource, end: _End, written: int, resource: Monitor) -> _Steps:
    """The steps that are somebody's, and how many there are before those of sharding."""
    of_class = (of.chosen and of.chosen.relabelings) or ()
    between = 0
    if isinstance(resource, ScrapeConfig):
        # The name of the job stands between; sharding is left out where their own steps do it.
        between = int(bool(resource.spec.job_name))
        count = 1 + len(of_class) + between + len(end.steps) + len(of.enforced)
    else:
        zoned = not isinstance(resource, Probe)
        count = written - len(sharding_steps(of.draft, zoned=zoned))
    start = count - len(of.enforced) - len(end.steps)
    paths = {start + number: f"{end.at}[{number}]" for number in range(len(end.steps))}
    if of_class and of.chosen:
        at = f"{class_path(of.chosen, of.draft)}.relabelings"
        first = start - between - len(of_class)
        paths |= {first + number: f"{at}[{number}]" for number in range(len(of_class))}
    return _Steps(count, paths)


# --- What becomes of them -------------------------------------------------------------------------


def _endpoint(
    path: str, every: Iterable[TargetOutcome], job: Job, known: KnownSources, theirs: _Steps
) -> EndpointTargets:
    stays: dict[frozenset[tuple[str, str]], tuple[TargetOutcome, Sample | None]] = {}
    dropped: dict[int, list[tuple[TargetOutcome, Sample | None]]] = {}
    refused: dict[str, None] = {}
    candidates: list[int | None] = []
    for each in every:
        sample = _sample(each, known)
        if sample:
            _check_certain(each, sample, job.steps, theirs)
        if each.stays:
            candidates.append(sample.count if sample else 1)
            stays[frozenset(each.labels.items())] = each, sample
        elif each.problem:
            refused[each.problem] = None
        elif each.step is not None and theirs.path(each.step):
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
            _dropped(theirs.path(step), job.steps[step], found) for step, found in dropped.items()
        ),
        refused=tuple(refused),
    )


def _check_same_in_all_pods(steps: Sequence[Step], theirs: _Steps) -> None:
    """CannotTellError where steps choose by what the reloader puts in, which each pod has its own.

    It may get there by way of a label.
    """
    own = [steps[number] for number in theirs.paths]
    variables = [found for each in own if (found := _VARIABLE.search(str(dict(each.block))))]
    if variables and any(each.action in _CHOOSING for each in own):
        raise CannotTellError(f"each pod has its own `{variables[0].group()}`")


def _check_certain(
    found: TargetOutcome, sample: Sample, steps: Sequence[Step], theirs: _Steps
) -> None:
    """CannotTellError where it hangs on something made up whether a step drops a candidate."""
    if not sample.made_up or not any(steps[each].action in _CHOOSING for each in theirs.paths):
        return
    labels = dict(found.discovered)
    for number, step in enumerate(steps):
        looks_at = (step.value(labels), labels.get(step.target.text, ""))
        decided = step.action in ("keep", "drop") and step.expression.text in _ANYTHING
        chooses = theirs.path(number) and step.action in _CHOOSING and not decided
        if chooses and sample.stands_in(looks_at):
            told = sample.told(looks_at[0])
            raise CannotTellError(f"{theirs.path(number)} looks at `{told}`, not known yet")
        if dropped_by([step], labels) is not None:
            return


def _sample(found: TargetOutcome, known: KnownSources) -> Sample | None:
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
