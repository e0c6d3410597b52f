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


class Problem(_Answer, frozen=True, kw_only=True):
    """What could not be read, or would be refused."""

    source: str
    subject: str
    reasons: tuple[str, ...]


class Overview(_Answer, frozen=True, kw_only=True):
    """Everything at a glance; `state` is good, problem or unknown, `headline` says it in words."""

    source: Origin
    state: str
    headline: str
    workloads: tuple[Row, ...]
    resources: Totals
    problems: tuple[Problem, ...] = ()


class Scraped(_Answer, frozen=True, kw_only=True):
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
    targets: Scraped | None = None


class Items(_Answer, frozen=True, kw_only=True):
    """A part of a list of resources, and how many there are in all, by state and by kind."""

    revision: int
    total: int
    offset: int
    items: tuple[Item, ...]
    states: Mapping[str, int] = {}
    kinds: Mapping[str, int] = {}


class WorkloadAnswer(_Answer, frozen=True, kw_only=True):
    """All about a workload."""

    revision: int
    workload: Row
    explanation: Explanation
    resources: Items


class ResourceAnswer(_Answer, frozen=True, kw_only=True):
    """All about a resource."""

    revision: int
    explanation: Explanation
    labels: Mapping[str, str]
    workloads: tuple[str, ...]


class Named(_Answer, frozen=True, kw_only=True):
    """A resource by its name."""

    kind: str
    namespace: str
    name: str


class Part(_Answer, frozen=True, kw_only=True):
    """A part of a configuration; the text of a long one is asked for alone."""

    title: str
    resource: Named | None
    lines: int
    text: str | None


class Configuration(_Answer, frozen=True, kw_only=True):
    """Some parts of a configuration, of `total`; `note` says why there are none."""

    revision: int
    total: int
    offset: int
    parts: tuple[Part, ...]
    note: str = ""
