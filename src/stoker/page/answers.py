"""The answers of the page, whose member names in JSON are these in camel case."""

from collections.abc import Mapping

from msgspec import Struct

from stoker.errors import StokerError
from stoker.explain.answer import Count, Explanation
from stoker.view.states import State

MOST_ITEMS = 500
"""The longest list in one answer."""


class BusyError(StokerError):
    """There is no answer now, but there may be one soon."""


class _Answer(Struct, frozen=True, kw_only=True, rename="camel"):
    """The base of all answers."""


class Unknown(_Answer, frozen=True, kw_only=True):
    """That there is no such thing, and what was probably meant (`namespace/name` or nothing)."""

    error: str
    meant: str = ""


class Origin(_Answer, frozen=True, kw_only=True):
    """What is looked at; `note` is what one should know before believing the rest."""

    kind: str
    name: str
    revision: int
    note: str = ""


class Row(_Answer, frozen=True, kw_only=True):
    """A workload in a list; `state` is good, problem or unknown, `ready` like 2/3 or empty."""

    kind: str
    namespace: str
    name: str
    version: str
    state: str
    headline: str
    counts: tuple[Count, ...] = ()
    ready: str = ""


class Totals(_Answer, frozen=True, kw_only=True):
    """All resources by their states."""

    total: int
    used: int
    down: int
    no_targets: int
    rejected: int
    held: int
    unclear: int
    not_selected: int


class UnusableObject(_Answer, frozen=True, kw_only=True):
    """What could not be read, or would be refused."""

    source: str
    subject: str
    reasons: tuple[str, ...]


class MisspeltObject(_Answer, frozen=True, kw_only=True):
    """An object with fields that do not exist, which a cluster drops; `place` is where it is."""

    kind: str
    namespace: str
    name: str
    fields: tuple[str, ...]
    place: str = ""


class NamespaceRow(_Answer, frozen=True, kw_only=True):
    """A namespace: its resources by state, its workloads, and what cannot be used as written.

    `state` is the worst that there is of all of them, `used` or `good` where all is well.
    """

    namespace: str
    state: str
    resources: Totals
    workloads: int = 0
    troubled: int = 0
    unusable: int = 0


class SeenChange(_Answer, frozen=True, kw_only=True):
    """An object that was added, changed or removed, and when that was seen."""

    kind: str
    namespace: str
    name: str
    what: str
    at: str


class Viewer(_Answer, frozen=True, kw_only=True):
    """Who looks, where one must say who one is, and whether they may see everything."""

    user: str
    whole: bool


class Overview(_Answer, frozen=True, kw_only=True):
    """Everything at a glance; `state` is good, problem or unknown, `headline` says it in words.

    `changes` are the last ones, the newest first.
    """

    source: Origin
    state: str
    headline: str
    workloads: tuple[Row, ...]
    resources: Totals
    problems: tuple[UnusableObject, ...] = ()
    misspelt: tuple[MisspeltObject, ...] = ()
    namespaces: tuple[NamespaceRow, ...] = ()
    changes: tuple[SeenChange, ...] = ()
    viewer: Viewer | None = None


class TargetNumbers(_Answer, frozen=True, kw_only=True):
    """How many targets were found, and how many of them were scraped without error."""

    discovered: int
    healthy: int


class Item(_Answer, frozen=True, kw_only=True):
    """A resource in a list; `targets` are those of all workloads that count them, if any do."""

    kind: str
    namespace: str
    name: str
    state: State
    headline: str
    workloads: tuple[str, ...] = ()
    ignored: int = 0
    targets: TargetNumbers | None = None


class Items(_Answer, frozen=True, kw_only=True):
    """A part of a list of resources, and how many there are in all.

    These are by state, by kind and by namespace. `unusable` are objects that match, too, and cannot
    be used as they are written.
    """

    revision: int
    total: int
    offset: int
    items: tuple[Item, ...]
    states: Mapping[str, int] = {}
    kinds: Mapping[str, int] = {}
    namespaces: Mapping[str, int] = {}
    unusable: tuple[UnusableObject, ...] = ()


class Link(_Answer, frozen=True, kw_only=True):
    """Where a running workload itself can be asked, by the address that its user gave it."""

    workload: str
    url: str


class WorkloadAnswer(_Answer, frozen=True, kw_only=True):
    """All about a workload; `place` is where it is written, where that is known.

    `on_nodes` says that it is an agent that runs on nodes.
    """

    revision: int
    workload: Row
    explanation: Explanation
    resources: Items
    place: str = ""
    links: tuple[Link, ...] = ()
    on_nodes: bool = False


class FailingTarget(_Answer, frozen=True, kw_only=True):
    """A target that a workload cannot scrape, and the error in the words of Prometheus."""

    workload: str
    address: str
    error: str


class ResourceAnswer(_Answer, frozen=True, kw_only=True):
    """All about a resource; `place` is where it is written, where that is known."""

    revision: int
    explanation: Explanation
    labels: Mapping[str, str]
    workloads: tuple[str, ...]
    place: str = ""
    links: tuple[Link, ...] = ()
    failing: tuple[FailingTarget, ...] = ()


class ConditionLine(_Answer, frozen=True, kw_only=True):
    """A condition of an object, or of what a workload made of it; `since` when it changed last."""

    workload: str
    type: str
    status: str
    reason: str
    message: str
    since: str


class EventLine(_Answer, frozen=True, kw_only=True):
    """An Event about an object, how often it was reported, and when last."""

    type: str
    reason: str
    message: str
    count: int
    at: str
    by: str


class WriterLine(_Answer, frozen=True, kw_only=True):
    """Who wrote which parts of an object last, and when."""

    by: str
    what: str
    at: str


class ObjectAnswer(_Answer, frozen=True, kw_only=True):
    """An object itself: its manifest, and what was written and said of it.

    `created` and all other times are as Kubernetes writes them. `unknown` says why there may be
    Events that are not shown.
    """

    revision: int
    manifest: str
    place: str = ""
    created: str = ""
    generation: int = 0
    conditions: tuple[ConditionLine, ...] = ()
    events: tuple[EventLine, ...] = ()
    unknown: str = ""
    written: tuple[WriterLine, ...] = ()


class NodeShare(_Answer, frozen=True, kw_only=True):
    """A node as an agent on nodes sees it: whether it has a pod there (`why_not` is empty).

    `targets` are those that it has, or would have, there; None where it is not known.
    """

    node: str
    why_not: str = ""
    targets: int | None = None


class NodesAnswer(_Answer, frozen=True, kw_only=True):
    """The nodes of an agent that runs on nodes, and how many targets are on no node of it.

    `unknown` says why there may be others; without `agent` the workload is none that runs on nodes.
    """

    revision: int
    agent: bool
    nodes: tuple[NodeShare, ...] = ()
    adrift: int = 0
    unknown: str = ""


class NamedResource(_Answer, frozen=True, kw_only=True):
    """A resource by its name."""

    kind: str
    namespace: str
    name: str


class Part(_Answer, frozen=True, kw_only=True):
    """A part of a configuration; the text of a long one is asked for alone.

    `changed` is when its resource changed, where that was seen.
    """

    title: str
    resource: NamedResource | None
    lines: int
    text: str | None
    changed: str = ""


class Configuration(_Answer, frozen=True, kw_only=True):
    """Some parts of a configuration, of `total`; `note` says why there are none."""

    revision: int
    total: int
    offset: int
    parts: tuple[Part, ...]
    note: str = ""
