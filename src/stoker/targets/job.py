"""A scrape job as it is configured: where its candidates come from, and what becomes of each."""

from collections.abc import Iterable, Iterator, Mapping
from itertools import chain
from typing import Any, Final

from msgspec import Struct
from msgspec.structs import replace

from stoker.promql.durations import duration_text
from stoker.targets.discovery import (
    CannotTellError,
    Group,
    KubernetesSd,
    Labels,
    discovery_of,
)
from stoker.targets.groups import groups
from stoker.targets.metadata import ADDRESS, with_values
from stoker.targets.objects import TargetSources
from stoker.targets.steps import Step, dropped_by, put, step_of
from stoker.validate.syntax import milliseconds
from stoker.version import Version, parse_version

INTERVAL: Final = "__scrape_interval__"
TIMEOUT: Final = "__scrape_timeout__"
SCHEME: Final = "__scheme__"
PATH: Final = "__metrics_path__"
INSTANCE: Final = "instance"
_PARAMETER: Final = "__param_"
_META: Final = "__meta_"
_INTERNAL: Final = "__"

# From then on what a target says of histograms can be changed by steps, …
_HISTOGRAMS: Final = parse_version("3.13.0")
# … and before this a port was added to an address without one.
_AS_WRITTEN: Final = parse_version("3.0.0")
_NANOSECONDS: Final = 1_000_000
_PORTS: Final = {"": 80, "http": 80, "https": 443}
_SWITCHES: Final = {
    "__convert_classic_histograms_to_nhcb__": "convert_classic_histograms_to_nhcb",
    "__always_scrape_classic_histograms__": "always_scrape_classic_histograms",
    "__scrape_native_histograms__": "scrape_native_histograms",
}
_TRUTHS: Final = frozenset(
    {"1", "t", "T", "true", "TRUE", "True", "0", "f", "F", "false", "FALSE", "False"}
)


class Defaults(Struct, frozen=True):
    """What jobs take from the rest of a configuration where they say nothing themselves."""

    interval: str = "1m"
    timeout: str = "10s"
    switches: Mapping[str, bool] = {}


NO_DEFAULTS: Final = Defaults()


class Job(Struct, frozen=True):
    """A scrape job. `labels` are those that a candidate gets unless it has them."""

    name: str
    discoveries: tuple[KubernetesSd, ...]
    listed: tuple[Group, ...]
    steps: tuple[Step, ...]
    labels: Labels
    version: Version


class TargetOutcome(Struct, frozen=True):
    """What becomes of a candidate: a target, or `step` that drops it, or `problem` that stops it.

    `labels` are all that it has in the end, internal ones too.
    """

    source: str
    discovered: Labels
    labels: Labels
    step: int | None = None
    problem: str = ""

    @property
    def stays(self) -> bool:
        """Whether it becomes a target."""
        return self.step is None and not self.problem

    @property
    def public(self) -> Labels:
        """The labels that its samples get."""
        return {name: v for name, v in self.labels.items() if not name.startswith(_INTERNAL)}


# --- As configured --------------------------------------------------------------------------------


def job_of(
    block: Mapping[str, Any],
    version: Version,
    defaults: Defaults = NO_DEFAULTS,
    variables: Mapping[str, str] | None = None,
) -> Job:
    """A job from its configuration, with what the reloader puts in place of variables.

    CannotTellError where it does something that is not known here.
    """
    block = expanded(block, variables or {})
    others = [each for each in block if each.endswith("_sd_configs") and each != _KUBERNETES]
    if others:
        raise CannotTellError(f"targets are found by {others[0]}")
    legacy = block.get("metric_name_validation_scheme") == "legacy"
    return Job(
        name=block["job_name"],
        discoveries=tuple(discovery_of(each) for each in block.get(_KUBERNETES) or ()),
        listed=tuple(_listed(block.get("static_configs") or ())),
        steps=tuple(
            step_of(each, version, legacy=legacy) for each in block.get("relabel_configs") or ()
        ),
        labels=_own_labels(block, defaults, version),
        version=version,
    )


_KUBERNETES: Final = "kubernetes_sd_configs"


def expanded(value: Any, variables: Mapping[str, str]) -> Any:
    """A piece of a configuration with what the reloader puts in place of variables."""
    if isinstance(value, str):
        for name, text in variables.items():
            value = value.replace(f"$({name})", text)
        return value
    if isinstance(value, Mapping):
        return {name: expanded(each, variables) for name, each in value.items()}
    if isinstance(value, list | tuple):
        return [expanded(each, variables) for each in value]
    return value


def _listed(configs: Iterable[Mapping[str, Any]]) -> Iterator[Group]:
    for index, each in enumerate(configs):
        labels = {name: str(value) for name, value in (each.get("labels") or {}).items() if value}
        yield Group(str(index), labels, [{ADDRESS: str(at)} for at in each.get("targets") or ()])


def _own_labels(block: Mapping[str, Any], defaults: Defaults, version: Version) -> Labels:
    interval = _length(block.get("scrape_interval") or defaults.interval)
    timeout = block.get("scrape_timeout")
    length = _length(timeout) if timeout else min(_length(defaults.timeout), interval)
    labels = {
        "job": block["job_name"],
        INTERVAL: duration_text(interval * _NANOSECONDS),
        TIMEOUT: duration_text(length * _NANOSECONDS),
        PATH: block.get("metrics_path", "/metrics"),
        SCHEME: block.get("scheme", "http"),
    }
    if version >= _HISTOGRAMS:
        for label, member in _SWITCHES.items():
            switch = block.get(member, defaults.switches.get(member, False))
            labels[label] = str(bool(switch)).lower()
    for name, values in (block.get("params") or {}).items():
        if values:
            labels[f"{_PARAMETER}{name}"] = str(values[0])
    return with_values(labels)


def _length(text: str) -> int:
    length = milliseconds(text)
    if length is None:
        raise CannotTellError(f"`{text[:40]}` is no duration")
    return length


# --- What becomes of candidates -------------------------------------------------------------------


class Budget:
    """How much may be done for somebody: about so many microseconds, at the slowest."""

    def __init__(self, units: int) -> None:
        self._left = units

    def spend(self, units: int) -> None:
        """Note what is about to be done; CannotTellError where it is too much."""
        self._left -= units
        if self._left < 0:
            raise CannotTellError("there are too many, or too large, steps and candidates")


def outcomes(
    job: Job, world: TargetSources, budget: Budget | None = None
) -> Iterator[TargetOutcome]:
    """What becomes of each candidate of a job, those that are equal included."""
    weight = sum(each.expression.weight for each in job.steps)
    found = (groups(world, each, job.version) for each in job.discoveries)
    for group in chain(*found, job.listed):
        if budget:
            length = max(map(len, chain(group.shared.values(), *_values(group))), default=0)
            each = len(job.steps) + weight * length // 1000
            budget.spend((_SETTING_UP + each) * len(group.candidates))
        yield from outcomes_of(job, group)


_SETTING_UP: Final = 20


def _values(group: Group) -> Iterator[Iterable[str]]:
    return (each.values() for each in group.candidates)


def outcomes_of(job: Job, group: Group) -> Iterator[TargetOutcome]:
    """What becomes of the candidates of a group."""
    shared = {**job.labels, **group.shared}
    for each in group.candidates:
        discovered = {**shared, **each}
        labels = dict(discovered)
        step = dropped_by(job.steps, labels)
        outcome = TargetOutcome(group.source, discovered, labels, step)
        yield outcome if step is not None else _finished(outcome, job.version)


def _finished(outcome: TargetOutcome, version: Version) -> TargetOutcome:
    """A candidate that all steps let pass, with the labels that Prometheus adds, or refused."""
    labels = outcome.labels
    address = labels.get(ADDRESS, "")
    if version < _AS_WRITTEN and address and _lacks_port(address):
        port = _PORTS.get(labels.get(SCHEME, ""))
        if port is None:
            return replace(outcome, problem=f"invalid scheme: {labels[SCHEME]}")
        address = labels[ADDRESS] = f"{address}:{port}"
    if problem := _problem(labels, address):
        return replace(outcome, problem=problem)
    kept = {name: value for name, value in labels.items() if not name.startswith(_META)}
    if not kept.get(INSTANCE):
        put(kept, INSTANCE, address)
    return replace(outcome, labels=kept)


def _lacks_port(address: str) -> bool:
    """Whether an address is a host alone."""
    if address.startswith("["):
        return address.endswith("]")
    return ":" not in address


def _problem(labels: Labels, address: str) -> str:
    """Why Prometheus makes no target of a candidate; empty if it does."""
    if not address:
        return "no address"
    if "/" in address:
        return f"`{address}` is not a host and a port"
    for label in _SWITCHES:
        if labels.get(label, "0") not in _TRUTHS:
            return f"`{labels[label]}` is no truth value of {label}"
    interval, timeout = (milliseconds(labels.get(name, "")) for name in (INTERVAL, TIMEOUT))
    if not interval or not timeout:
        return f"{TIMEOUT if interval else INTERVAL} is no duration, or 0"
    return "the timeout is longer than the interval" if timeout > interval else ""
