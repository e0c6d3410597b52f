"""Agents on nodes that get portions: which there are, what was planned for each, and the server.

    caches ──agents──> keeper <──plans── reconcile (also of a replica that stands by)
                         └──> server <── identity ──> whom agents are to trust ──> agenda

Every replica serves. What an agent is given is what was planned for it last, where all was seen
that it asks for; until then nothing is given out.
"""

import time
from collections.abc import Mapping
from functools import partial, reduce
from operator import or_
from ssl import SSLContext
from typing import Final
from urllib.parse import urlsplit

from stoker.api.prometheus import PrometheusAgent
from stoker.build.names import MANAGING_OPERATOR, daemon_set_name
from stoker.errors import WorkloadError
from stoker.handout.identity import IdentityInFiles, ServerIdentity
from stoker.handout.keeper import PortionKeeper
from stoker.handout.own_identity import OwnIdentity
from stoker.handout.server import PortionServer
from stoker.handout.sharing import Sharing
from stoker.handout.stock import PlannedJobs
from stoker.kube.endless import EndlessWork
from stoker.operator.agenda import Agenda
from stoker.operator.changes import Changes
from stoker.operator.sight import Sight
from stoker.operator.tools import Tools
from stoker.plan import Kept
from stoker.plan.custody import not_ours
from stoker.plan.nodes import placing_of
from stoker.plan.scraper import KeptScraper
from stoker.ref import Ref, ref_of
from stoker.select.choice import choices
from stoker.select.workload import Scraper, Workload, scraper_of
from stoker.targets.job import Defaults
from stoker.web.operator_metrics import OperatorMetrics

AGENT: Final = "PrometheusAgent"
_SUFFIX: Final = "-node-discovery"
_LABELS: Final = {"app.kubernetes.io/managed-by": MANAGING_OPERATOR}
_WATCHED: Final = ("EndpointSlice", "Node", "Pod", "Service")
_RELOAD_SECONDS: Final = 60.0


class NodeDiscovery:
    """Knows the agents that get portions; does nothing where no address is given."""

    def __init__(self, tools: Tools, sight: Sight, agenda: Agenda, home: tuple[str, str]) -> None:
        self.trusted = ""
        self._tools = tools
        self._caches = tools.caches
        self._sight = sight
        self._agenda = agenda
        self._keeper = PortionKeeper(tools.status_client, self._namespaces())
        self._server = PortionServer(tools.status_client, self._keeper, self._agent_of)
        self._identity = self._made_identity(home)

    def listen(self) -> None:
        """Follow which agents there are, from now on."""
        if self.is_on:
            self._caches.workloads[AGENT].store.listen(self._agent_changed)

    @property
    def is_on(self) -> bool:
        """Whether portions are served."""
        return self._tools.settings.discovery.address is not None

    @property
    def work(self) -> Mapping[str, EndlessWork]:
        """What goes on in every replica, by name."""
        address = self._tools.settings.discovery.address
        if address is None or self._identity is None:
            return {}
        return {
            "portions": self._keeper.run,
            "identity": partial(self._identity.run, self._show),
            "node-server": partial(self._server.run, *address),
        }

    @property
    def work_of_leader(self) -> Mapping[str, EndlessWork]:
        """What goes on where this replica leads, by name."""
        return {"certificate": self._identity.keep} if self._identity else {}

    def planned(self, workload: Workload, kept: Kept) -> None:
        """A workload was planned; if it is an agent that gets portions they are these now."""
        if not isinstance(kept, KeptScraper) or not kept.scraper.portions:
            return
        # Not to see is not to know that there is nothing.
        if self.is_on and not self._sight.never_seen(choices(workload)):
            spec = kept.scraper.spec
            defaults = Defaults(spec.scrape_interval or "1m", spec.scrape_timeout or "10s")
            try:
                sharing = self._sharing_of(workload, kept.scraper)
            except WorkloadError:
                # There are no pods by what it says now; those of before keep what they have.
                return
            planned = PlannedJobs(kept.version, defaults, kept.node_jobs, kept.node_files, sharing)
            self._keeper.plan(ref_of(workload), planned)

    def _sharing_of(self, workload: Workload, scraper: Scraper) -> Sharing | None:
        """Where the pods of an agent may be, if it shares what no agent is beside."""
        settings = self._tools.settings.objects
        placing = (
            placing_of(workload, self._tools.capabilities, settings) if scraper.spread else None
        )
        return Sharing((scraper.namespace, daemon_set_name(scraper)), placing) if placing else None

    def gets_portions(self, workload: Workload) -> bool:
        """Whether the pods of a workload ask for portions."""
        return self.is_on and self._keeper.is_wanted(ref_of(workload))

    def measure(self, metrics: OperatorMetrics) -> None:
        """Have the metrics tell how it fares."""
        server, keeper = self._server, self._keeper
        for kind in _WATCHED:
            metrics.gauge("node_discovery_objects").follow(partial(keeper.objects, kind), kind)
        metrics.gauge("node_discovery_portions").follow(lambda: keeper.kept_up)
        metrics.gauge("node_discovery_connections").follow(lambda: server.door.staying)
        counts = {
            "node_discovery_requests_total": lambda: server.counts.begun,
            "node_discovery_commits_total": lambda: server.counts.commits,
            "node_discovery_files_total": lambda: server.counts.files,
            "node_discovery_bytes_total": lambda: server.counts.bytes,
            "node_discovery_refused_total": lambda: server.refused,
            "node_discovery_token_reviews_total": lambda: server.tokens.reviews,
        }
        for name, count in counts.items():
            metrics.counter(name).follow(count)
        metrics.gauge("node_discovery_certificate_seconds").follow(self._seconds_left)

    # --- Agents -----------------------------------------------------------------------------------

    def _agent_changed(self, old: PrometheusAgent | None, new: PrometheusAgent | None) -> None:
        found = new or old
        if found is None:
            return
        if not self._is_ours(new):
            self._keeper.drop(ref_of(found))
        elif new is not None and self._asks(new):
            # Where it asks no more, it may still have pods that do.
            self._keeper.want(ref_of(found))

    def serve(self, key: Ref, *known: PrometheusAgent) -> None:
        """Serve an agent if any of its pods, by what they know of it, ask for portions.

        Not one that is gone since whoever calls looked at it: nobody would ever drop it again.
        """
        is_there = self._is_ours(self._caches.workloads[AGENT].store.get(key.namespace, key.name))
        if self.is_on and is_there and any(map(self._asks, known)):
            self._keeper.want(key)
        else:
            self._keeper.drop(key)

    def _is_ours(self, found: PrometheusAgent | None) -> bool:
        return found is not None and not_ours(found, self._tools.settings) is None

    def _asks(self, workload: PrometheusAgent) -> bool:
        return scraper_of(workload, self._tools.capabilities).portions

    def _agent_of(self, uid: str) -> Ref | None:
        """The agent that the DaemonSet with this uid belongs to, if it gets portions."""
        for agent in self._caches.workloads[AGENT].store:
            key, own = ref_of(agent), agent.metadata.uid or ""
            if own and self._keeper.is_wanted(key):
                sets = self._caches.belonging("DaemonSet", own)
                if any(each.metadata.uid == uid for each in sets):
                    return key
        return None

    def _namespaces(self) -> list[str] | None:
        scopes = (*self._caches.selected_scopes.values(), self._caches.workload_scope(AGENT))
        allowed = reduce(or_, scopes).allowed
        return None if allowed is None else sorted(allowed)

    # --- The server -------------------------------------------------------------------------------

    def _made_identity(self, home: tuple[str, str]) -> ServerIdentity | None:
        settings = self._tools.settings
        server = settings.objects.node_server
        if server is None:
            return None
        if settings.discovery.files is not None:
            return IdentityInFiles(settings.discovery.files, _RELOAD_SECONDS)
        host = urlsplit(server.url).hostname or ""
        place = home[0], home[1] + _SUFFIX
        return OwnIdentity(self._tools.status_client, place, (host,), _LABELS)

    def _show(self, context: SSLContext, trusted: str) -> None:
        """Show a certificate from now on; agents hear whom to trust where that changed."""
        self._server.door.context = context
        if trusted != self.trusted:
            self.trusted = trusted
            for agent in self._caches.workloads[AGENT].store:
                if self._keeper.is_wanted(ref_of(agent)):
                    self._agenda.note(ref_of(agent), Changes(own=True))

    def _seconds_left(self) -> float:
        until = self._identity.until if self._identity else 0.0
        return until - time.time() if until else 0.0
