"""The parts of the operator, put together: here, and nowhere else, it is decided who knows whom.

    caches ──listeners──> triggers ──> agenda, register
                                          └──> turns ──> reconcile ──> objects
                                                 └──> announcements ──> statuses, bindings, events …

Each part gets those that come after it, or what is only read and written (`tools`, `agenda`,
`register`); none gets one that comes before. So nothing calls back, and a part can be understood
from itself and what it is given.
"""

import asyncio
import socket
import uuid
from collections.abc import Callable, Iterator, Mapping
from datetime import UTC, datetime
from functools import partial
from itertools import count
from typing import Any, Final

from msgspec import Struct
from msgspec.structs import replace

from stoker.build.names import FIELD_MANAGER
from stoker.cluster.kinds import WORKLOADS
from stoker.cluster.values import Values
from stoker.kube.client import Client
from stoker.kube.endless import EndlessWork
from stoker.kube.lease import Leadership
from stoker.logs import logger
from stoker.operator.agenda import Agenda
from stoker.operator.announcements import Announcements, Outlets
from stoker.operator.bindings import Bindings
from stoker.operator.caches import Caches
from stoker.operator.consolidation import Consolidation
from stoker.operator.events import Events
from stoker.operator.footprint import watch_footprint
from stoker.operator.kubelet import Kubelets
from stoker.operator.listeners import Listeners
from stoker.operator.node_discovery import NodeDiscovery
from stoker.operator.notebook import SUFFIX, Notebook
from stoker.operator.published import PublishedVerdicts
from stoker.operator.reconcile import Reconciler
from stoker.operator.refusals import Refusals
from stoker.operator.register import Register
from stoker.operator.rejections import Rejections
from stoker.operator.replacing import Replacing
from stoker.operator.sight import Sight
from stoker.operator.standby import Standby
from stoker.operator.standing_in import StandingIn
from stoker.operator.statuses import Statuses
from stoker.operator.targets import Observed, TargetRounds
from stoker.operator.tools import Tools
from stoker.operator.triggers import Triggers
from stoker.operator.turns import NOT_RECONCILED, Turns
from stoker.operator.workers import Duty, Failures
from stoker.operator.writer import Writer
from stoker.ref import Ref, ref_from
from stoker.select.assets import SECRET
from stoker.settings import STATUS_GATE, Capabilities, OperatorSettings
from stoker.web.operator_metrics import ControllerMetrics, OperatorMetrics, QueueMetrics

_TASKS: Final = (
    "certificate",
    "events",
    "identity",
    "kubelets",
    "lease",
    "namespaces",
    "node-server",
    "nodes",
    "portions",
    "replacements",
    "standby",
    "sweep",
    "targets",
)
_NO_STATUS: Final = "cannot write the status"
_NO_BINDING: Final = "cannot write a binding"
_NO_STAND_IN: Final = "cannot keep the ScrapeConfigs of a monitor"


class Parts(Struct, frozen=True, kw_only=True):
    """What the lifecycle of a replica and the status page have to do with."""

    tools: Tools
    agenda: Agenda
    register: Register
    sight: Sight
    discovery: NodeDiscovery
    reconciler: Reconciler
    turns: Turns
    standby: Standby
    outlets: Outlets
    published: PublishedVerdicts
    announcements: Announcements
    failures: Failures
    leadership: Leadership | None


def assembled(
    client: Client,
    status_client: Client,
    settings: OperatorSettings,
    capabilities: Capabilities,
    metrics: OperatorMetrics,
) -> Parts:
    """All parts; `client` writes objects, `status_client` everything that must not delay them."""
    controllers = {
        name: metrics.controller(kind.role.controller) for name, kind in WORKLOADS.items()
    }
    tools = _tools(client, status_client, settings, capabilities, controllers)
    agenda = Agenda(controllers)
    sight = Sight(tools.caches, settings)
    discovery = NodeDiscovery(tools, sight, agenda, _place(client, settings))
    tools = replace(tools, node_ca=lambda: discovery.trusted)
    register = Register(tools.caches.selected_scopes)
    failures = Failures(logger("operator"), metrics.counter("task_faults_total"), _TASKS)
    published = PublishedVerdicts(tools.caches, register.members, settings, status_client)
    outlets = _outlets(tools, agenda, register, published, controllers)
    announcements = Announcements(tools.caches, published, outlets)
    reconciler = Reconciler(tools, agenda, register, discovery)
    turns = Turns(
        tools=tools,
        agenda=agenda,
        sight=sight,
        reconciler=reconciler,
        announcements=announcements,
        failures=failures,
    )
    triggers = Triggers(agenda, register, settings, tools.writer)
    Listeners(tools, agenda, register, triggers, outlets).listen(sight)
    discovery.listen()
    discovery.measure(metrics)
    watch_footprint(metrics, tools)
    for kind, controller in controllers.items():
        controller.watches(sight.reports(kind))
    return Parts(
        tools=tools,
        agenda=agenda,
        register=register,
        sight=sight,
        discovery=discovery,
        reconciler=reconciler,
        turns=turns,
        standby=Standby(tools, agenda, reconciler, turns),
        outlets=outlets,
        published=published,
        announcements=announcements,
        failures=failures,
        leadership=_leadership(tools),
    )


def _tools(
    client: Client,
    status_client: Client,
    settings: OperatorSettings,
    capabilities: Capabilities,
    metrics: Mapping[str, ControllerMetrics],
) -> Tools:
    caches = Caches(client, settings)
    namespace, name = place = _place(client, settings)
    notebook = Notebook(client, namespace, name + SUFFIX)
    replacing = Replacing(client, notebook, FIELD_MANAGER, lambda kind: metrics[kind].recreated())
    return Tools(
        client=client,
        status_client=status_client,
        caches=caches,
        values=Values(client, caches.is_absent, _own_secrets(caches, place), caches.exists),
        writer=Writer(client, caches.metadata, caches, replacing, caches.is_unmade),
        notebook=notebook,
        settings=settings,
        capabilities=capabilities,
        now=lambda: datetime.now(UTC),
        stand_ins=StandingIn(caches) if settings.consolidate_monitors else None,
    )


def _outlets(
    tools: Tools,
    agenda: Agenda,
    register: Register,
    published: PublishedVerdicts,
    metrics: Mapping[str, ControllerMetrics],
) -> Outlets:
    """All that says, or keeps beside, what came of workloads and resources."""
    settings = tools.settings
    observed = Observed(wanted=settings.targets.interval_seconds > 0)
    bindings = Bindings(tools, published, observed, enabled=settings.gates[STATUS_GATE])
    # Events are a courtesy, and there may be many.
    refusals = Refusals(logger("operator"))
    return Outlets(
        statuses=Statuses(tools, agenda.statuses, metrics),
        bindings=bindings,
        consolidation=Consolidation(tools, published, register.members, agenda),
        targets=TargetRounds(tools, published, observed, bindings.look),
        events=Events(tools.status_client, partial(refusals.tell, "cannot write an event")),
        rejections=Rejections(logger("operator"), _later),
        metrics=metrics,
    )


def _later(seconds: float, work: Callable[[], None]) -> None:
    asyncio.get_running_loop().call_later(seconds, work)


def _place(client: Client, settings: OperatorSettings) -> tuple[str, str]:
    """The namespace and the name of what operators have that share the work."""
    leader = settings.leader
    return leader.namespace or client.access.namespace or "default", leader.name


def _leadership(tools: Tools) -> Leadership | None:
    if not tools.settings.leader.enabled:
        return None
    identity = f"{socket.gethostname()}_{uuid.uuid4()}"
    leadership = Leadership(tools.client, *_place(tools.client, tools.settings), identity)
    for client in (tools.client, tools.status_client):
        client.fence = leadership.fence
    return leadership


def jobs_of(parts: Parts, metrics: OperatorMetrics) -> Iterator[Duty[Any]]:
    """What there is to do for workers."""
    turns, outlets, workers = parts.turns, parts.outlets, parts.tools.settings.workers

    def job(controller: str, name: str, said: str, **rest: Any) -> Duty[Any]:
        observed = QueueMetrics(metrics, (controller, name), rest["queue"])
        return Duty(done=observed.done, failed=partial(parts.failures.tell, said), **rest)

    for kind, queue in parts.agenda.workloads.items():
        name = WORKLOADS[kind].role.controller
        yield job(name, name, NOT_RECONCILED, queue=queue, work=turns.take, workers=workers)
    for controller, name, each, work, many, said in (
        ("status", "workloads", outlets.statuses, outlets.statuses.keep, 2, _NO_STATUS),
        ("status", "resources", outlets.bindings, outlets.bindings.write, 4, _NO_BINDING),
        (
            "consolidation",
            "resources",
            outlets.consolidation,
            outlets.consolidation.keep,
            2,
            _NO_STAND_IN,
        ),
    ):
        waits = controller == "status"
        yield job(controller, name, said, queue=each.queue, work=work, workers=many, waits=waits)


def beside_queues(parts: Parts, metrics: OperatorMetrics) -> dict[str, EndlessWork]:
    """What goes on beside the queues, by name."""
    outlets, settings, client = parts.outlets, parts.tools.settings, parts.tools.status_client
    work: dict[str, EndlessWork] = {
        "events": outlets.events.run,
        "nodes": outlets.statuses.nodes.run,
        **parts.discovery.work_of_leader,
    }
    if settings.targets.interval_seconds:
        work["targets"] = outlets.targets.run
    if settings.kubelet.name:
        made = partial(Kubelets, client, settings.kubelet, settings.objects, metrics)
        work["kubelets"] = lambda: made().run()
    return work


def _own_secrets(caches: Caches, otherwise: tuple[str, str]) -> Callable[[], Ref]:
    """Names, at each call, the next of the Secrets that belong to workloads.

    `otherwise`: the namespace and name of one that might not exist, where there are none. Then
    nothing is in use that could be lost, and that there is none is an answer, too.
    """
    turns = count()

    def name_one() -> Ref:
        found = [
            ref_from(SECRET, each.metadata)
            for reflector in caches.workloads.values()
            for workload in reflector.store
            for each in caches.belonging(SECRET, workload.metadata.uid or "")
        ]
        return found[next(turns) % len(found)] if found else Ref(SECRET, *otherwise)

    return name_one
