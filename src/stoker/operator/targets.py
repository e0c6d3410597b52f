"""Targets in bindings: every now and then a few questions to each Prometheus and agent.

In a round each workload has its turn for one resource after the other, from where the last round
ended, until the requests of the round are used up. A resource is asked about in one ready pod of
each shard, or in all pods of an agent that runs on nodes; with many of them that goes on in the
next round. A workload that does not answer is left alone for the rest of the round.

    known       the counts, until the next time
    not asked   whatever the binding says since an earlier life of ours
    lost        nothing, after a few rounds without an answer, or where there is no way to ask

Nobody waits for any of this: it has connections of its own, and what it finds goes into the queue
of bindings, which only write what is new.
"""

import asyncio
from bisect import bisect_right
from collections import deque
from collections.abc import AsyncIterator, Callable, Iterable, Iterator
from typing import Final

import msgspec
from msgspec import Struct
from msgspec.structs import asdict

from stoker.api.common import TargetCounts
from stoker.api.core import Object, ObjectMeta
from stoker.api.declare import Model
from stoker.api.prometheus import Prometheus, PrometheusAgent
from stoker.build.arguments import web_url
from stoker.errors import StokerError
from stoker.kube.client import ListPage
from stoker.kube.endless import undisturbed, words
from stoker.kube.resources import POD
from stoker.logs import logger
from stoker.operator.published import PublishedVerdicts
from stoker.operator.scraper_api import NotAnsweredError, ScraperApi, TooMuchError
from stoker.operator.tools import Tools
from stoker.operator.workers import tell
from stoker.page.answers import FailingTarget
from stoker.plan.custody import not_ours
from stoker.ref import Ref, ref_from
from stoker.roles import WORKLOADS
from stoker.select.choice import Monitor, Resource
from stoker.select.workload import AnyPrometheus, Scraper, scraper_of
from stoker.status.conditions import AVAILABLE, DEGRADED, TRUE, timestamp
from stoker.status.pods import by_owner, ready
from stoker.status.targets import (
    NOTHING,
    SINCE,
    Failing,
    Scraped,
    job_names,
    scraped,
    target_counts,
)
from stoker.status.workload import DAEMON_SET

_KINDS: Final = tuple(kind for kind, role in WORKLOADS.items() if role.scrapes)
_WORKERS: Final = 2
_PATIENCE: Final = 3
_PAUSE: Final = 1.0
_PAGE: Final = "500"
# Decoding more than this would hold up everybody else.
_LARGE: Final = 1 << 18
# Whoever shows no certificate is turned away, which a Prometheus logs as an error each time.
_WANTS_CERTIFICATES: Final = frozenset({"RequireAnyClientCert", "RequireAndVerifyClientCert"})


class Observed:
    """What is known of targets; not `wanted`, it is nothing, and no binding speaks of it."""

    def __init__(self, *, wanted: bool) -> None:
        self._wanted = wanted
        self._known: dict[Ref, dict[Ref, TargetCounts | None]] = {}
        self._failing: dict[Ref, dict[Ref, tuple[Failing, ...]]] = {}
        self._lost: set[Ref] = set()

    def of(self, workload: Ref, resource: Ref, told: TargetCounts | None) -> TargetCounts | None:
        """What a binding should say; `told` is what it says."""
        if not self._wanted or workload in self._lost:
            return None
        return self._known.get(workload, {}).get(resource, told)

    def failing(self, workload: Ref, resource: Ref) -> Iterator[FailingTarget]:
        """Some of the targets that could not be scraped."""
        for each in self._failing.get(workload, {}).get(resource, ()):
            yield FailingTarget(workload=str(workload), address=each.address, error=each.error)

    def note(
        self,
        workload: Ref,
        resource: Ref,
        found: TargetCounts | None,
        failing: tuple[Failing, ...] = (),
    ) -> None:
        """A workload answered; None where that cannot be counted."""
        self._lost.discard(workload)
        self._known.setdefault(workload, {})[resource] = found
        of_workload = self._failing.setdefault(workload, {})
        if failing:
            of_workload[resource] = failing
        else:
            of_workload.pop(resource, None)

    def keep(self, workload: Ref, resources: Iterable[Ref]) -> None:
        """A workload has no other resources than these."""
        wanted = set(resources)
        for known in (self._known.get(workload, {}), self._failing.get(workload, {})):
            for gone in known.keys() - wanted:
                del known[gone]

    def lose(self, workload: Ref) -> bool:
        """A workload cannot be asked; whether that is news."""
        self._known.pop(workload, None)
        self._failing.pop(workload, None)
        news = workload not in self._lost
        self._lost.add(workload)
        return news

    def forget(self, workload: Ref) -> None:
        """A workload is gone, or another's now."""
        self._known.pop(workload, None)
        self._failing.pop(workload, None)
        self._lost.discard(workload)


class _Visit(Struct):
    """The questions about one resource that are left, and the sum of the answers."""

    resource: Ref
    questions: list[tuple[str, str]]
    found: Scraped = NOTHING


class _Turn(Struct):
    """What a workload is asked in a round: about these resources, at these URLs."""

    key: Ref
    scraper: Scraper
    workload: AnyPrometheus
    resources: deque[Ref]
    urls: list[str] | None = None


class _Pod(Model):
    """What is read of a pod."""

    metadata: ObjectMeta = ObjectMeta()
    status: Object | None = None


class TargetRounds:
    """Asks for as long as `run` runs; `look` gets the bindings that have news."""

    def __init__(
        self,
        tools: Tools,
        published: PublishedVerdicts,
        observed: Observed,
        look: Callable[[Iterable[Ref]], None],
    ) -> None:
        self._tools = tools
        self._settings = tools.settings.targets
        self._published = published
        self._observed = observed
        self._look = look
        self._log = logger("targets")
        self._left = 0
        self._last: dict[Ref, Ref] = {}
        self._visits: dict[Ref, _Visit] = {}
        self._failures: dict[Ref, int] = {}
        self._told: dict[Ref, str] = {}

    async def run(self) -> None:
        """Work until cancelled."""
        loop = asyncio.get_running_loop()
        async with ScraperApi() as api:
            while True:
                begun = loop.time()
                await self.one_round(api)
                spent = loop.time() - begun
                await asyncio.sleep(max(self._settings.interval_seconds - spent, _PAUSE))

    def failing(self, workload: Ref, resource: Ref) -> Iterator[FailingTarget]:
        """Some of the targets that could not be scraped when they were last asked about."""
        return self._observed.failing(workload, resource)

    def forget(self, workload: Ref) -> None:
        """A workload is gone, or another's now."""
        self._observed.forget(workload)
        for each in (self._last, self._visits, self._failures, self._told):
            each.pop(workload, None)

    # --- A round ----------------------------------------------------------------------------------

    async def one_round(self, api: ScraperApi) -> None:
        """Ask as much as one round may."""
        self._left = self._settings.requests
        turns = deque(self._turns())
        async with asyncio.TaskGroup() as tasks:
            for _ in range(_WORKERS):
                tasks.create_task(self._work(api, turns))

    def _turns(self) -> Iterator[_Turn]:
        """The workloads that can be asked, those first that the last round left in the middle."""
        keys = [
            ref_from(kind, found.metadata)
            for kind in _KINDS
            for found in self._tools.caches.workloads[kind].store
        ]
        for key in sorted(keys, key=lambda each: (each not in self._visits, each)):
            workload = self._tools.caches.workload(key)
            if isinstance(workload, Prometheus | PrometheusAgent) and self._is_ours(workload):
                scraper = scraper_of(workload, self._tools.capabilities)
                resources = self._resources(key)
                if never := _never(scraper):
                    self._lose(key, never)
                elif resources:
                    yield _Turn(key, scraper, workload, resources)

    def _is_ours(self, workload: AnyPrometheus) -> bool:
        return not_ours(workload, self._tools.settings) is None

    def _resources(self, key: Ref) -> deque[Ref]:
        """All that a workload uses, beginning after the one that was asked about last."""
        every = self._published.accepted(key)
        self._observed.keep(key, every)
        last = self._last.get(key)
        begin = bisect_right(every, last) if last else 0
        return deque(every[begin:] + every[:begin])

    async def _work(self, api: ScraperApi, turns: deque[_Turn]) -> None:
        while turns and self._left > 0:
            turn = turns.popleft()
            try:
                more = await undisturbed(self._step(api, turn))
            except Exception as error:
                self._visits.pop(turn.key, None)
                if not isinstance(error, StokerError):
                    tell(self._log, "cannot ask for targets", error, **asdict(turn.key))
                self._failed(turn.key, words(error))
            else:
                if more:
                    turns.append(turn)

    async def _step(self, api: ScraperApi, turn: _Turn) -> bool:
        """Ask about one resource; whether there are more."""
        if turn.urls is None:
            turn.urls = await self._urls(turn)
        visit = self._visits.pop(turn.key, None) or self._next(turn)
        if visit is None:
            return False
        while visit.questions:
            if self._left <= 0:
                self._visits[turn.key] = visit
                return False
            self._left -= 1
            try:
                visit.found = visit.found.plus(await _answer(api, *visit.questions.pop()))
            except TooMuchError as error:
                self._note(turn.key, visit.resource, None)
                self._log.info("too many targets to count", **asdict(visit.resource), err=error)
                return True
        self._note(turn.key, visit.resource, visit.found)
        return True

    def _next(self, turn: _Turn) -> _Visit | None:
        while turn.resources:
            key = turn.resources.popleft()
            found = self._tools.caches.resource(key)
            jobs = self._jobs(found, turn.scraper) if found is not None else []
            # Whatever comes of it, the next round begins with another.
            self._last[turn.key] = key
            if jobs:
                return _Visit(key, [(url, job) for url in turn.urls or () for job in jobs])
        return None

    def _jobs(self, found: Resource, scraper: Scraper) -> list[str]:
        """The jobs of a resource, or of the ScrapeConfigs that stand in for it."""
        stand_ins = self._tools.stand_ins
        in_place = stand_ins(found, scraper) if stand_ins and isinstance(found, Monitor) else ()
        return [job for each in in_place or (found,) for job in job_names(each)]

    # --- What came of it --------------------------------------------------------------------------

    def _note(self, key: Ref, resource: Ref, found: Scraped | None) -> None:
        self._failures.pop(key, None)
        self._told.pop(key, None)
        now = timestamp(self._tools.now())
        counts = target_counts(found, now) if found else None
        self._observed.note(key, resource, counts, found.failing if found else ())
        self._look([resource])

    def _failed(self, key: Ref, reason: str) -> None:
        self._failures[key] = self._failures.get(key, 0) + 1
        if self._failures[key] >= _PATIENCE:
            self._lose(key, reason)

    def _lose(self, key: Ref, reason: str) -> None:
        if self._told.get(key) != reason:
            self._told[key] = reason
            self._log.info("its targets are not known", **asdict(key), reason=reason)
        if self._observed.lose(key):
            self._look(self._published.accepted(key))

    # --- Pods -------------------------------------------------------------------------------------

    async def _urls(self, turn: _Turn) -> list[str]:
        """Where to ask: in one ready pod of each shard, or in every one on nodes."""
        conditions = (turn.workload.status and turn.workload.status.conditions) or ()
        if not any(
            each.type == AVAILABLE and each.status in (TRUE, DEGRADED) for each in conditions
        ):
            raise NotAnsweredError("it is not available")
        outline = self._tools.outline(turn.workload)
        owned = by_owner([each async for each in self._pods(outline.namespace, outline.pods)])
        found: list[str] = []
        for part in outline.parts:
            addresses = [each["status"]["podIP"] for each in owned.get((part.kind, part.name), ())]
            if not addresses:
                raise NotAnsweredError(f"{part.name} has no pod that is ready")
            found += addresses if part.kind == DAEMON_SET else addresses[:1]
        return [web_url(turn.scraper, _host(each), "api/v1/targets") for each in found]

    async def _pods(self, namespace: str, selector: str) -> AsyncIterator[Object]:
        """The pods that can be asked, page by page."""
        query = {"labelSelector": selector, "limit": _PAGE}
        while True:
            client = self._tools.status_client
            page = await client.ask(ListPage[_Pod], "GET", POD.path(namespace), query=query)
            for each in page.items:
                pod: Object = msgspec.to_builtins(each)
                if ready(pod) and pod["status"].get("podIP"):
                    yield pod
            if not page.metadata.continue_:
                return
            query["continue"] = page.metadata.continue_


def _never(scraper: Scraper) -> str:
    """Why a workload cannot be asked as long as it is as it is; empty if it can."""
    try:
        version = scraper.version
    except ValueError as error:
        return f"its version cannot be read: {error}"
    if version < SINCE:
        return f"Prometheus before {SINCE} cannot be asked for the targets of one job"
    if scraper.spec.listen_local:
        return "it listens inside its pod only (spec.listenLocal)"
    tls = scraper.spec.web and scraper.spec.web.tls_config
    if tls and tls.client_auth_type in _WANTS_CERTIFICATES:
        return "it wants a certificate, and we have none (spec.web.tlsConfig.clientAuthType)"
    return ""


async def _answer(api: ScraperApi, url: str, job: str) -> Scraped:
    body = await api.targets(url, job)
    try:
        if len(body) > _LARGE:
            return await asyncio.to_thread(scraped, body, job)
        return scraped(body, job)
    except ValueError as error:
        raise NotAnsweredError(str(error)) from None


def _host(address: str) -> str:
    return f"[{address}]" if ":" in address else address
