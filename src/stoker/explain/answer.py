"""An explanation as a value: for a terminal, a page, or as JSON, whose member names are these."""

from msgspec import Struct, field

from stoker.view.states import Cause, State


class _Answer(Struct, frozen=True, kw_only=True, rename="camel"):
    """The base of all parts."""


class ScrapeError(_Answer, frozen=True, kw_only=True):
    """Why targets cannot be scraped, in the words of Prometheus, and how many of them."""

    message: str
    count: int


class Targets(_Answer, frozen=True, kw_only=True):
    """What a workload scrapes for the resource, as the operator last saw it change."""

    discovered: int
    healthy: int
    errors: tuple[ScrapeError, ...] = ()
    observed_at: str = ""


class Usage(_Answer, frozen=True, kw_only=True):
    """Whether one workload uses the resource, and the first reason why it does not.

    `findings` are why it was rejected, `ignored` what the workload's version does not know,
    `reported` what the operator says in the status of the resource, `targets` what that counts.
    """

    workload: str
    version: str
    state: State
    cause: Cause = Cause.NONE
    reason: str = ""
    findings: tuple[str, ...] = ()
    ignored: tuple[str, ...] = ()
    notes: tuple[str, ...] = ()
    reported: str = ""
    targets: Targets | None = None

    @property
    def selects(self) -> bool:
        """Whether the workload selects the resource, whatever it makes of it."""
        return self.state is not State.NOT_SELECTED


class Unreached(_Answer, frozen=True, kw_only=True):
    """Targets that an agent on nodes does not scrape, as it has no pod where they are.

    `node` is empty where they name none; `names` are pods, addresses, or what makes the pods.
    """

    node: str
    why: str
    targets: int
    names: tuple[str, ...] = ()


class AgentShare(_Answer, frozen=True, kw_only=True):
    """Targets that the agent on a node scrapes; "" for an agent whose node is not known.

    `given` of them are on no node of an agent, and given to this one; `names` are pods, addresses,
    or what makes the pods.
    """

    node: str
    targets: int
    given: int = 0
    names: tuple[str, ...] = ()


class PortMatch(_Answer, frozen=True, kw_only=True):
    """What became of one endpoint at one Service or pod; `targets` is None where unknown.

    `unreached` are further ones, on nodes where the workload has no pod; `perhaps` says why some
    may be on such nodes. `by_node` is what each agent on a node scrapes, as far as it is known.
    """

    path: str
    port: str
    targets: int | None
    problem: str = ""
    unreached: tuple[Unreached, ...] = ()
    perhaps: str = ""
    by_node: tuple[AgentShare, ...] = ()


class MatchedObject(_Answer, frozen=True, kw_only=True):
    """A Service or pod that is selected."""

    object: str
    ports: tuple[PortMatch, ...] = ()


class Label(_Answer, frozen=True, kw_only=True):
    """A label of a target."""

    name: str
    value: str


class Foreseen(_Answer, frozen=True, kw_only=True):
    """A target as it will be; it stands for `count` that differ in what is not known yet."""

    labels: tuple[Label, ...]
    count: int | None = 1


class Dropped(_Answer, frozen=True, kw_only=True):
    """What a relabeling drops: where it is, what it does, and a value that it drops."""

    path: str
    step: str
    targets: int | None
    value: str = ""

    @property
    def why(self) -> str:
        """What the step asks for, and what it found."""
        return f"{self.step}, and it is {f'`{self.value}`' if self.value else 'empty'}"


class EndpointTargets(_Answer, frozen=True, kw_only=True):
    """What relabeling makes of the targets of one endpoint.

    `equal` are those that have the labels of another, and count once; `refused` says of which no
    target can be made. `examples` are the first of them.
    """

    path: str
    targets: int | None
    equal: int = 0
    examples: tuple[Foreseen, ...] = ()
    dropped: tuple[Dropped, ...] = ()
    refused: tuple[str, ...] = ()


class Search(_Answer, frozen=True, kw_only=True):
    """Where a workload looks for targets and what it finds; `targets` is None where unknown.

    `problems` say why there are no targets, or fewer than meant, the most serious first. Of an
    agent on nodes, `unreached` are targets where it has no pod, which do not count; `unsure` says
    why it is not known whether it has one where the others are; `by_node` is what each agent
    scrapes, before relabeling. `endpoints` is what relabeling makes of the targets of each
    endpoint, where that can be worked out.
    """

    workloads: tuple[str, ...]
    looks_in: str = ""
    matches: tuple[MatchedObject, ...] = ()
    targets: int | None = None
    problems: tuple[str, ...] = ()
    notes: tuple[str, ...] = ()
    unreached: tuple[Unreached, ...] = ()
    unsure: str = ""
    by_node: tuple[AgentShare, ...] = ()
    endpoints: tuple[EndpointTargets, ...] = ()

    @property
    def found(self) -> int | None:
        """All targets, those included that are not reached; None where unknown."""
        lost = sum(each.targets for each in self.unreached)
        return None if self.targets is None else self.targets + lost


class AccountRights(_Answer, frozen=True, kw_only=True):
    """What a workload's service account cannot do, or what is not known about that."""

    workload: str
    account: str
    lacks: tuple[str, ...] = ()
    unknown: tuple[str, ...] = ()


class Count(_Answer, frozen=True, kw_only=True):
    """How many resources of a kind a workload selects, and how many of them it rejects."""

    kind: str
    selected: int
    rejected: int
    note: str = ""


class Explanation(_Answer, frozen=True, kw_only=True):
    """Everything there is to say of one object; `good` if all is as it should be.

    `headline` is the whole in one sentence. The rest is empty where it does not apply: `counts`,
    `rejected`, `without_targets` and `conditions` are about workloads, all other members about
    resources.
    """

    kind: str
    namespace: str
    name: str
    good: bool
    headline: str
    by_workload: tuple[Usage, ...] = field(default=(), name="standings")
    searches: tuple[Search, ...] = ()
    access: tuple[AccountRights, ...] = ()
    job: str = ""
    counts: tuple[Count, ...] = ()
    rejected: tuple[str, ...] = ()
    without_targets: tuple[str, ...] = ()
    ignored: tuple[str, ...] = ()
    conditions: tuple[str, ...] = ()
    notes: tuple[str, ...] = ()

    @property
    def title(self) -> str:
        """Kind, namespace and name."""
        return f"{self.kind} {self.namespace}/{self.name}"
