"""What one configuration resource may cost: the table of limits, and their values.

One object is one tenant's; what it costs (time, memory, room in a configuration) is everybody's. So
there is a row for whatever a tenant can make long or many, and an object over one of them is left
out and reported (`stoker.validate.budget`). The defaults are at least ten times the largest that
was seen in honest use, and `seen` says what that was; the page on security is held to this table.
"""

from collections.abc import Mapping
from typing import Final, NamedTuple

from stoker.errors import FieldError
from stoker.spelling import did_you_mean

FLAG: Final = "--resource-limits"
_MIB: Final = 1024 * 1024


class Limit(NamedTuple):
    """A row: `unit` is what is counted in the words of a message, `counts` the same for a page.

    `seen`: the most in honest use. `least`: the fewest bytes of JSON that one of them takes; 0 for
    what the size of the object says nothing about.
    """

    default: int
    unit: str
    counts: str
    seen: int
    least: float = 0


LIMITS: Final[dict[str, Limit]] = {
    "object-length": Limit(
        default=2 * _MIB,
        unit="characters",
        counts="Characters of all texts and names of fields in `spec`. etcd takes 1.5 MiB of an"
        " object unless configured otherwise",
        seen=79_877,
        least=1,
    ),
    "text-length": Limit(
        default=512 * 1024,
        unit="characters in one text",
        counts="Characters of any one text",
        seen=3_721,
        least=1,
    ),
    "name-length": Limit(
        default=4096,
        unit="characters in the name of a Secret, a ConfigMap or a key",
        counts="Characters of the name of a Secret or ConfigMap, and of a key in one. Kubernetes"
        " has none of more than 253",
        seen=26,
        least=1,
    ),
    "nesting": Limit(
        default=256,
        unit="levels of lists and mappings within each other",
        counts="Lists and mappings within each other",
        seen=9,
    ),
    "items": Limit(
        default=20_000,
        unit="items in lists",
        counts="Items of all lists that no other row counts: labels to group by, source labels,"
        " target labels, namespaces, values of selectors, members of time intervals, …",
        seen=26,
        least=2,
    ),
    "members": Limit(
        default=50_000,
        unit="members of mappings",
        counts="Members of all mappings: fields that are set, labels, annotations, parameters,"
        " headers",
        seen=1_054,
        least=4,
    ),
    "endpoints": Limit(
        default=2_000,
        unit="endpoints",
        counts="Endpoints of a ServiceMonitor or PodMonitor",
        seen=4,
        least=3,
    ),
    "relabelings": Limit(
        default=10_000,
        unit="relabelings",
        counts="Relabelings of targets and of samples, together",
        seen=22,
        least=3,
    ),
    "targets": Limit(
        default=50_000,
        unit="static targets",
        counts="Static targets of a Probe or ScrapeConfig, together",
        seen=2,
        least=3,
    ),
    "discoveries": Limit(
        default=2_000,
        unit="discoveries",
        counts="Ways to find targets in a ScrapeConfig, static lists among them, together",
        seen=2,
        least=3,
    ),
    "groups": Limit(
        default=2_000,
        unit="groups of rules",
        counts="Groups of a PrometheusRule",
        seen=25,
        least=3,
    ),
    "rules": Limit(
        default=10_000,
        unit="rules",
        counts="Rules of a PrometheusRule, in all groups",
        seen=134,
        least=3,
    ),
    "expression-length": Limit(
        default=128 * 1024,
        unit="characters in one expression",
        counts="Characters of one PromQL expression",
        seen=1_486,
        least=1,
    ),
    "expression-tokens": Limit(
        default=20_000,
        unit="words and signs in one expression",
        counts="Words and signs of one PromQL expression",
        seen=264,
        least=1,
    ),
    "all-expression-tokens": Limit(
        default=150_000,
        unit="words and signs in all expressions",
        counts="Words and signs of all PromQL expressions of a PrometheusRule",
        seen=8_318,
        least=1,
    ),
    "template-length": Limit(
        default=256 * 1024,
        unit="characters in one template",
        counts="Characters of one text with `{{` in it",
        seen=619,
        least=1,
    ),
    "all-template-length": Limit(
        default=512 * 1024,
        unit="characters in all templates",
        counts="Characters of all texts with `{{` in them",
        seen=15_938,
        least=1,
    ),
    "alert-queries-length": Limit(
        default=64 * 1024,
        unit="characters in queries of alerts' texts",
        counts="Characters of all `query` in labels and annotations of alerts, where the namespace"
        " is enforced",
        seen=0,
    ),
    "pattern-weight": Limit(
        default=50_000,
        unit="steps in one regular expression",
        counts="Steps of one regular expression, in relabelings, matchers and PromQL: its"
        " characters, those that are repeated as often as they are repeated",
        seen=3_721,
        least=0.25,
    ),
    "all-pattern-weight": Limit(
        default=200_000,
        unit="steps in all regular expressions",
        counts="Steps of all regular expressions",
        seen=8_562,
        least=0.25,
    ),
    "receivers": Limit(
        default=1_000,
        unit="receivers",
        counts="Receivers of an AlertmanagerConfig",
        seen=4,
    ),
    "integrations": Limit(
        default=5_000,
        unit="integrations",
        counts="Integrations (Slack, e-mail, webhook, …) of all its receivers",
        seen=7,
    ),
    "routes": Limit(
        default=5_000,
        unit="routes",
        counts="Routes of an AlertmanagerConfig, at all depths",
        seen=2,
    ),
    "matchers": Limit(
        default=20_000,
        unit="matchers",
        counts="Matchers of its routes and inhibition rules",
        seen=2,
    ),
    "inhibit-rules": Limit(
        default=2_000,
        unit="inhibition rules",
        counts="Inhibition rules of an AlertmanagerConfig",
        seen=1,
    ),
    "time-intervals": Limit(
        default=5_000,
        unit="time intervals",
        counts="Time intervals of an AlertmanagerConfig, and names of them in its routes",
        seen=3,
    ),
    "values-read": Limit(
        default=64 * _MIB,
        unit="characters read from Secrets and ConfigMaps",
        counts="Characters of the values of Secrets and ConfigMaps, each counted as often as it is"
        " named",
        seen=0,
    ),
    "configuration-bytes": Limit(
        default=4 * _MIB,
        unit="characters of configuration",
        counts="Characters that the object becomes in `prometheus.yaml` or `alertmanager.yaml`,"
        " with the values of Secrets in it",
        seen=16_450,
    ),
    "file-bytes": Limit(
        default=4 * _MIB,
        unit="characters of files to mount",
        counts="Characters of the certificates and keys that must be mounted for it",
        seen=0,
    ),
}
"""The limits by name, in the order in which pages and help list them."""

DEFAULTS: Final = {name: limit.default for name, limit in LIMITS.items()}


# No declared type of a monitor or rule has more levels; nested JSON of any shape is always counted.
_DECLARED_LEVELS: Final = 20


def _small(values: Mapping[str, int]) -> float:
    if values["nesting"] < _DECLARED_LEVELS:
        return 0
    rows = ((values[name], limit.least) for name, limit in LIMITS.items())
    return min(value * least for value, least in rows if least)


class Limits:
    """The values of all limits, which never change.

    `small` is a number of bytes of JSON in which nothing that has a `least` can be too many.
    """

    __slots__ = ("small", "values")

    def __init__(self, values: Mapping[str, int] = DEFAULTS) -> None:
        self.values = values
        self.small = _small(values)

    def __getitem__(self, name: str) -> int:
        return self.values[name]

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Limits) and self.values == other.values

    def __hash__(self) -> int:
        return hash(tuple(self.values.values()))


NO_CHANGES: Final = Limits()


def limits_with(changed: Mapping[str, int]) -> Limits:
    """The limits after a user's wishes; one that does not exist is an error."""
    for name in changed:
        if name not in LIMITS:
            hint = did_you_mean(name, LIMITS) or f"; there are {', '.join(LIMITS)}"
            raise FieldError(name, f"there is no such limit{hint}")
    return Limits({**DEFAULTS, **changed})


def said(name: str, measured: int, most: int) -> str:
    """What a limit says of an object that is over it."""
    unit = LIMITS[name].unit
    return f"{measured} {unit}, of at most {most}: the operator's {FLAG}={name}=… raises it"
