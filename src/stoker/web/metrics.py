"""Metrics of our own process, in Prometheus' text format (version 0.0.4).

    registry = Registry()
    syncs = registry.counter("syncs_total", "How often nodes were synced.", ("resource",))
    syncs.add(1, "endpoints")
    registry.text()

A family is a metric with its labels; the values of the labels are given in their order with each
change. Everything happens in one thread, that of the event loop: there are no locks.

Decision: no client library. What is needed of one is 200 lines, its default collectors and its
multi-process mode are not, and each dependency of an operator is one that somebody must watch for
advisories. The format is held to the letter by tests.
"""

from collections.abc import Callable, Iterator, Sequence
from math import inf, isnan
from typing import Final, TypeAlias

CONTENT_TYPE: Final = "text/plain; version=0.0.4; charset=utf-8"

LabelValues: TypeAlias = tuple[str, ...]
MetricSample: TypeAlias = tuple[str, Sequence[tuple[str, str]], float]


class Family:
    """A metric: name, help, labels, and a sample for each combination of their values."""

    kind = "untyped"

    def __init__(self, name: str, help_: str, labels: Sequence[str] = ()) -> None:
        self.name = name
        self.help = help_
        self.labels = tuple(labels)

    def samples(self) -> Iterator[MetricSample]:
        """Each sample: its name, its labels and its value."""
        raise NotImplementedError

    def forget(self, *values: str) -> None:
        """Remove a combination of labels: what it was about is gone."""
        raise NotImplementedError

    def _checked(self, values: LabelValues) -> LabelValues:
        if len(values) != len(self.labels):
            raise ValueError(f"{self.name} has the labels {self.labels}, given were {values}")
        return values

    def _named(self, values: LabelValues) -> list[tuple[str, str]]:
        return list(zip(self.labels, values, strict=True))


class _Numbers(Family):
    """A family with one number for each combination, set, or asked for when somebody looks."""

    def __init__(self, name: str, help_: str, labels: Sequence[str] = ()) -> None:
        super().__init__(name, help_, labels)
        self._values: dict[LabelValues, float] = {}
        self._asked: dict[LabelValues, Callable[[], float]] = {}
        if not labels:
            self._values[()] = 0.0

    def add(self, amount: float, *values: str) -> None:
        """Add to a number; adding 0 makes it appear."""
        key = self._checked(values)
        self._values[key] = self._values.get(key, 0.0) + amount

    def value(self, *values: str) -> float:
        """The number, 0 if there is none yet."""
        return self._values.get(self._checked(values), 0.0)

    def follow(self, ask: Callable[[], float], *values: str) -> None:
        """Ask this function whenever the metrics are read."""
        self._asked[self._checked(values)] = ask

    def forget(self, *values: str) -> None:
        """Remove a combination of labels."""
        self._values.pop(self._checked(values), None)
        self._asked.pop(values, None)

    def samples(self) -> Iterator[MetricSample]:
        """One sample for each combination."""
        for values, ask in self._asked.items():
            self._values[values] = ask()
        for values, number in self._values.items():
            yield self.name, self._named(values), number


class Counter(_Numbers):
    """A number that only grows."""

    kind = "counter"

    def add(self, amount: float, *values: str) -> None:
        """Add to the count."""
        if amount < 0:
            raise ValueError(f"{self.name} only grows")
        super().add(amount, *values)


class Gauge(_Numbers):
    """A number that goes up and down."""

    kind = "gauge"

    def set(self, value: float, *values: str) -> None:
        """Say what it is now."""
        self._values[self._checked(values)] = value


class Summary(Family):
    """How many there were, and their sum."""

    kind = "summary"

    def __init__(self, name: str, help_: str, labels: Sequence[str] = ()) -> None:
        super().__init__(name, help_, labels)
        self._totals: dict[LabelValues, tuple[int, float]] = {}

    def observe(self, amount: float, *values: str) -> None:
        """Count one of this size."""
        count, total = self._totals.get(self._checked(values), (0, 0.0))
        self._totals[values] = count + 1, total + amount

    def forget(self, *values: str) -> None:
        """Remove a combination of labels."""
        self._totals.pop(self._checked(values), None)

    def samples(self) -> Iterator[MetricSample]:
        """Sum and count of each combination."""
        for values, (count, total) in self._totals.items():
            yield f"{self.name}_sum", self._named(values), total
            yield f"{self.name}_count", self._named(values), count


class Histogram(Family):
    """How many there were of which size."""

    kind = "histogram"

    def __init__(
        self, name: str, help_: str, labels: Sequence[str] = (), *, buckets: Sequence[float]
    ) -> None:
        super().__init__(name, help_, labels)
        self._bounds = (*buckets, inf)
        self._counts: dict[LabelValues, list[int]] = {}
        self._sums: dict[LabelValues, float] = {}
        if not labels:
            self.appear()

    def appear(self, *values: str) -> None:
        """Show a combination before anything was counted."""
        self._counts.setdefault(self._checked(values), [0] * len(self._bounds))
        self._sums.setdefault(values, 0.0)

    def observe(self, amount: float, *values: str) -> None:
        """Count one of this size."""
        self.appear(*values)
        for index, bound in enumerate(self._bounds):
            if amount <= bound:
                self._counts[values][index] += 1
                break
        self._sums[values] += amount

    def forget(self, *values: str) -> None:
        """Remove a combination of labels."""
        self._counts.pop(self._checked(values), None)
        self._sums.pop(values, None)

    def samples(self) -> Iterator[MetricSample]:
        """Buckets, each with all smaller ones in it, then sum and count."""
        for values, counts in self._counts.items():
            named = self._named(values)
            below = 0
            for bound, count in zip(self._bounds, counts, strict=True):
                below += count
                yield f"{self.name}_bucket", [*named, ("le", number_text(bound))], below
            yield f"{self.name}_sum", named, self._sums[values]
            yield f"{self.name}_count", named, below


class Registry:
    """All families of a process."""

    def __init__(self) -> None:
        self._families: dict[str, Family] = {}
        self._collectors: list[Callable[[], None]] = []

    def register(self, family: Family) -> None:
        """Add a family, whose name must be new."""
        if family.name in self._families:
            raise ValueError(f"there is a metric {family.name} already")
        self._families[family.name] = family

    def before_reading(self, collect: Callable[[], None]) -> None:
        """Call this whenever the metrics are about to be read."""
        self._collectors.append(collect)

    def counter(self, name: str, help_: str, labels: Sequence[str] = ()) -> Counter:
        """A new counter."""
        family = Counter(name, help_, labels)
        self.register(family)
        return family

    def gauge(self, name: str, help_: str, labels: Sequence[str] = ()) -> Gauge:
        """A new gauge."""
        family = Gauge(name, help_, labels)
        self.register(family)
        return family

    def families(self) -> list[Family]:
        """All families, by name."""
        return [self._families[name] for name in sorted(self._families)]

    def text(self) -> str:
        """Everything, as a scrape reads it."""
        for collect in self._collectors:
            collect()
        return "".join(line for family in self.families() for line in _lines(family))


def _lines(family: Family) -> Iterator[str]:
    help_ = family.help.replace("\\", "\\\\").replace("\n", "\\n")
    yield f"# HELP {family.name} {help_}\n# TYPE {family.name} {family.kind}\n"
    for name, labels, value in family.samples():
        inside = ",".join(f'{label}="{_escaped(text)}"' for label, text in labels)
        yield (
            f"{name}{{{inside}}} {number_text(value)}\n"
            if inside
            else (f"{name} {number_text(value)}\n")
        )


def _escaped(text: str) -> str:
    """The value of a label: a tenant's name must not become another label or line."""
    return text.replace("\\", "\\\\").replace('"', '\\"').replace("\n", "\\n")


def number_text(value: float) -> str:
    """A number as Prometheus reads it."""
    if isnan(value):
        return "NaN"
    if value in (inf, -inf):
        return "+Inf" if value > 0 else "-Inf"
    return str(int(value)) if value == int(value) and abs(value) < 1e15 else repr(float(value))
