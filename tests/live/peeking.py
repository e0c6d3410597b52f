"""Expressions of a tenant who wants to see series of another: all functions, all operators.

The data is that of two tenants and of nobody, under the same names, and does not change: what an
expression may see of the others shows in what it returns with them and without them.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Final

from stoker.promql import NEWEST, Node, ParseError, options_for, parse
from stoker.promql.functions import FUNCTIONS, MATRIX, SCALAR, STRING, VECTOR, Function
from stoker.promql.syntax import AGGREGATORS
from tests.unit.promql_expressions import FEATURES, Grammar

LABEL: Final = "namespace"
TENANT, VICTIM, NOBODY = "a", "b", ""

START: Final = 1_760_000_000
STEP: Final = 60
STEPS: Final = 40
NOW: Final = START + 30 * STEP

EVERYTHING: Final = options_for(NEWEST, FEATURES)

# --- Data -----------------------------------------------------------------------------------------

_JOBS: Final = ("web", "db")
_INSTANCES: Final = ("one:80", "two:80")
_FACTORS: Final = {TENANT: 1, VICTIM: 7, NOBODY: 11}
_TARGET_INFO: Final = "target_info"


def openmetrics(tenants: Sequence[str]) -> str:
    """The data of these tenants, for `promtool tsdb create-blocks-from openmetrics`."""
    families = (
        ("load", "gauge", _gauge),
        ("hits", "counter", _counter),
        ("spans", "histogram", _histogram),
        (_TARGET_INFO, "gauge", _info),
        ("build_info", "gauge", _info),
        ("only", "gauge", _gauge),
    )
    lines = []
    for name, kind, samples in families:
        lines.append(f"# TYPE {name} {kind}")
        for tenant in tenants:
            if name == "only" and tenant == TENANT:
                continue
            for labels, instance in _series(tenant):
                lines += samples(name, labels, _FACTORS[tenant] * (instance + 1), tenant)
    return "\n".join((*lines, "# EOF\n"))


def _series(tenant: str) -> Iterator[tuple[str, int]]:
    # Somebody of nobody's has a job that nobody else has.
    jobs = (*_JOBS, "mail") if tenant != TENANT else _JOBS
    for number, job in enumerate(jobs):
        for index, instance in enumerate(_INSTANCES):
            own = f',{LABEL}="{tenant}"' if tenant else ""
            yield f'job="{job}",instance="{instance}"{own}', 2 * number + index


def _over_time(name: str, labels: str, values: Sequence[float]) -> list[str]:
    return [
        f"{name}{{{labels}}} {value} {START + index * STEP}" for index, value in enumerate(values)
    ]


def _gauge(name: str, labels: str, factor: int, _tenant: str) -> list[str]:
    return _over_time(name, labels, [factor * (1 + index % 5) for index in range(STEPS)])


def _counter(name: str, labels: str, factor: int, _tenant: str) -> list[str]:
    return _over_time(f"{name}_total", labels, [factor * index for index in range(STEPS)])


def _histogram(name: str, labels: str, factor: int, _tenant: str) -> list[str]:
    lines = []
    for share, bound in ((1, "0.1"), (2, "1"), (4, "+Inf")):
        counts = [share * factor * index for index in range(STEPS)]
        lines += _over_time(f"{name}_bucket", f'{labels},le="{bound}"', counts)
    lines += _over_time(f"{name}_count", labels, [4 * factor * index for index in range(STEPS)])
    return lines + _over_time(f"{name}_sum", labels, [factor * index for index in range(STEPS)])


def _info(name: str, labels: str, factor: int, tenant: str) -> list[str]:
    # Not every target has one: `info` then takes what it finds, but no two of the same time.
    lacks = {TENANT: 'job="web",instance="two', NOBODY: 'job="web"'}.get(tenant, " ")
    if name == _TARGET_INFO and lacks in labels:
        return []
    more = f'{labels},cluster="of-{tenant}",secret="{tenant}{factor}"'
    return _over_time(name, more, [1] * STEPS)


# --- Expressions ----------------------------------------------------------------------------------

_METRICS: Final = (
    "load", "load", "hits_total", "spans_bucket", "spans_sum", "target_info", "build_info", "only"
)  # fmt: skip
_WANTED: Final = (
    f'{LABEL}="{VICTIM}"', f'{LABEL}=~".+"', f'{LABEL}!="{TENANT}"', f'{LABEL}!~"{TENANT}|"',
    f'"{LABEL}"="{VICTIM}"', rf'"namesp\x61ce"=~"{VICTIM}|"', f'{LABEL}=""',
    f'{LABEL}="{TENANT}",{LABEL}=~".*"', "'namespace'!='a'", '`namespace`=~`(?i:B)`',
    'job="web"', 'instance=~".*:80"', 'secret!=""', "",
)  # fmt: skip
_DATA: Final = (
    "{}", '{__name__="target_info"}', '{__name__=~".+_info"}', '{__name__!="load"}',
    '{cluster=~".+"}', '{cluster=~".*"}', '{secret=~".+",namespace="b"}', '{"secret"!="x"}',
    '{namespace=~".+"}', '{namespace=~".*",secret=~".*"}', '{"build_info",cluster=~".+"}',
    '{__name__="load",secret=~".*"}', '{cluster!~"of-a|"}', '{namespace=""}',
)  # fmt: skip
_PERIODS: Final = ("5m", "10m", "90s", "300", "5m + 5m", "(5m)", "max_of(2m, 5m)")
_MOMENTS: Final = (
    "", "", "", "", " offset 1m", " offset -1m", " @ start()", f" @ {START + 600}", " offset (2m)"
)  # fmt: skip
_LABELS: Final = (LABEL, "job", "instance", "secret", "cluster", "le")
_REPLACED: Final = (
    '"namespace", "b", "", ""', '"namespace", "", "", ""', '"namespace", "$1", "secret", "(.).*"',
    '"job", "mail", "", ""', '"instance", "two:80", "job", ".*"', '"__name__", "only", "", ""',
    '"secret", "$1", "namespace", "(.*)"', '"job", "", "", ""',
)  # fmt: skip
_JOINED: Final = (
    '"namespace", "", "job"', '"namespace", "-", "job", "secret"', '"job", "", "namespace"',
    '"__name__", "", "job"', '"namespace", "b"',
)  # fmt: skip
_TEXTS: Final = {
    "label_replace": _REPLACED,
    "label_join": _JOINED,
    "sort_by_label": ('"namespace"', '"job", "secret"'),
    "sort_by_label_desc": ('"namespace"', '"instance"'),
    "histogram_quantiles": ('"q"', '"namespace"'),
}
_KNOWN: Final = [
    one for one in FUNCTIONS.values() if one.gate is None or not one.gate.refusal(EVERYTHING)
]


class Peeking(Grammar):
    """Makes expressions over the data, with every function and aggregation that there is."""

    wanted: Sequence[str] = _WANTED
    labels: Sequence[str] = _LABELS
    functions: Sequence[Function] = (*_KNOWN, *[FUNCTIONS["info"]] * 12)
    texts: Mapping[str, Sequence[str]] = _TEXTS

    def selector(self) -> str:
        """Make a selector, mostly for what is somebody else's."""
        metric, wanted = self.chance.choice(_METRICS), self.chance.choice(self.wanted)
        forms = (
            f"{metric}{{{wanted}}}",
            f'{{__name__="{metric}"{"," if wanted else ""}{wanted}}}',
            f'{{"{metric}"{"," if wanted else ""}{wanted}}}',
            f'{{__name__=~"{metric}|only"{"," if wanted else ""}{wanted}}}',
        )
        return self.chance.choice(forms)

    def period(self) -> str:
        """Make a length of time that the data has."""
        return self.chance.choice(_PERIODS)

    def moment(self) -> str:
        """Make a time that the data has."""
        return self.chance.choice(_MOMENTS)

    def range(self, depth: int) -> str:
        """Make a range vector."""
        if depth <= 0 or self.chance.random() < 0.6:
            return f"{self.selector()}[{self.period()}]{self.moment()}"
        step = self.chance.choice(("", "1m", "90s"))
        return f"({self.vector(depth - 1)})[{self.period()}:{step}]{self.moment()}"

    def _extension(self) -> str:
        return ""

    def _labels(self) -> str:
        return ", ".join(self.chance.sample(self.labels, self.chance.randrange(4)))

    def _matching(self) -> str:
        label = self.chance.choice(self.labels)
        how = self.chance.choice((" on(job, instance)", f" ignoring({label})", "", " on(job)"))
        grouped = self.chance.choice(("", f" group_left({label})", " group_right", " group_left"))
        fill = self.chance.choice(("", "", " fill(0)", " fill_left(-1)", " fill_right(7)"))
        return f"{how}{grouped if how else ''}{fill}"

    def _call(self, depth: int) -> str:
        function = self.chance.choice(self.functions)
        if function.returns == SCALAR:
            return f"vector({self._called(function, depth)})"
        return self._called(function, depth)

    def _called(self, function: Function, depth: int) -> str:
        if function.name == "info":
            data = self.chance.choice((*[""] * 5, *(f", {each}" for each in _DATA)))
            return f"info({self.vector(depth)}{data})"
        make = {VECTOR: self.vector, MATRIX: self.range, SCALAR: self._number}
        texts = self.chance.choice(self.texts.get(function.name, ("",)))
        arguments = [make[kind](depth) for kind in function.arguments if kind != STRING]
        if texts:
            arguments.insert(1, texts)
        missing = len(function.arguments) - function.least
        if missing and function.most is not None and not texts and self.chance.random() < 0.5:
            arguments = arguments[: function.least]
        return f"{function.name}({', '.join(arguments)})"

    def _number(self, _depth: int) -> str:
        return self.chance.choice(("0.5", "1", "2", "3", f"scalar({self.selector()})"))

    def _aggregation(self, depth: int) -> str:
        one = self.chance.choice([*AGGREGATORS.values()])
        parameters = {"": "", "scalar": f"{self._number(0)}, ", "string": '"namespace", '}
        how = f"{self.chance.choice(('by', 'without'))} ({self._labels()})"
        inner = f"({parameters[one.parameter]}{self.vector(depth)})"
        return self.chance.choice((f"{one.name}{inner}", f"{one.name} {how} {inner}"))


class Honest(Peeking):
    """Makes calls of `info`, as somebody writes them who thinks of no others."""

    wanted = ('job="web"', 'instance=~".*:80"', 'secret!=""', "")
    labels = _LABELS[1:]
    # What is absent has the labels that were asked for, and so the enforced one.
    functions = tuple(
        one for one in _KNOWN if one.name != "info" and not one.name.startswith("absent")
    )
    texts = _TEXTS | {"label_replace": _REPLACED[3:5], "label_join": ('"x", "", "job"',)}

    def vector(self, depth: int) -> str:
        """Make a call of `info`, or what is within it."""
        if depth < _DEPTH:
            return super().vector(depth)
        return f"info({super().vector(depth - 1)}, {self.chance.choice(_NAMED)})"

    def _aggregation(self, depth: int) -> str:
        return super()._aggregation(depth).replace(LABEL, "value")


_NAMED: Final = (
    '{cluster=~".+"}', '{cluster=~".*"}', '{secret=~".*",cluster=~".+"}', '{"secret"!="x"}',
    '{"build_info",cluster=~".+"}', '{__name__=~".+_info",secret=~".*"}',
)  # fmt: skip
_DEPTH: Final = 3


def expressions(grammar: Grammar, count: int) -> list[Node]:
    """Make so many expressions that return an instant vector."""
    made: list[Node] = []
    while len(made) < count:
        try:
            made.append(parse(grammar.vector(_DEPTH), EVERYTHING))
        except ParseError:
            continue
    return made
