"""Checks that several discoveries share, made for the field that they are about."""

from collections.abc import Callable
from typing import Any, TypeAlias

from stoker.errors import below
from stoker.validate.findings import Finding, Findings, Reason, json_name
from stoker.validate.http import conflict, web_url
from stoker.validate.reading import ScraperReading
from stoker.validate.syntax import milliseconds
from stoker.version import needs_version

DiscoveryCheck: TypeAlias = Callable[[Any, ScraperReading, str], Findings]


def too_old(path: str, since: str) -> Finding:
    """Something that the workload's version does not know."""
    return Finding(path, Reason.UNSUPPORTED_VERSION, needs_version("Prometheus", since))


def needs(attribute: str, since: str, *values: str) -> DiscoveryCheck:
    """The field, or one of these values of it, is not known before a version."""

    def check(item: Any, reading: ScraperReading, path: str) -> Findings:
        value = getattr(item, attribute)
        if (value in values if values else value is not None) and not reading.knows(since):
            yield too_old(below(path, json_name(item, attribute)), since)

    return check


def key(attribute: str, *, filled: bool = False) -> DiscoveryCheck:
    """A reference that must lead to a value, where there is one; `filled`, not to an empty one."""

    def check(item: Any, reading: ScraperReading, path: str) -> Findings:
        reference = getattr(item, attribute)
        where = below(path, json_name(item, attribute))
        if reference is not None:
            yield from reading.unresolved(reference, where)
        if filled and reading.value(reference) == "":
            yield Finding(where, Reason.INVALID_VALUE, "the value is empty")

    return check


def required(attribute: str) -> DiscoveryCheck:
    """A text that must not be blank."""

    def check(item: Any, reading: ScraperReading, path: str) -> Findings:
        if not (getattr(item, attribute) or "").strip():
            yield Finding(below(path, json_name(item, attribute)), Reason.REQUIRED, "must be set")

    return check


def address(attribute: str, *, optional: bool = False) -> DiscoveryCheck:
    """An http or https URL with a host."""

    def check(item: Any, reading: ScraperReading, path: str) -> Findings:
        text = getattr(item, attribute)
        if text or not optional:
            yield from web_url(text, below(path, json_name(item, attribute)))

    return check


def at_least_one(attribute: str) -> DiscoveryCheck:
    """A list with something in it, and nothing blank."""

    def check(item: Any, reading: ScraperReading, path: str) -> Findings:
        where = below(path, json_name(item, attribute))
        values = getattr(item, attribute)
        if not values:
            yield Finding(where, Reason.REQUIRED, "must name at least one")
        yield from _blanks(values, where)

    return check


def no_blanks(attribute: str) -> DiscoveryCheck:
    """A list that may be empty, with nothing blank in it."""

    def check(item: Any, reading: ScraperReading, path: str) -> Findings:
        yield from _blanks(getattr(item, attribute) or (), below(path, json_name(item, attribute)))

    return check


def _blanks(values: tuple[str, ...], path: str) -> Findings:
    for index, value in enumerate(values):
        if not value.strip():
            yield Finding(f"{path}[{index}]", Reason.REQUIRED, "must not be empty")


def only_with(attribute: str, choice: str, *values: str) -> DiscoveryCheck:
    """A field that counts only where another has one of these values (the first by default)."""

    def check(item: Any, reading: ScraperReading, path: str) -> Findings:
        chosen = getattr(item, choice) or values[0]
        if getattr(item, attribute) and chosen not in values:
            where = below(path, json_name(item, attribute))
            words = " or ".join(f"`{value}`" for value in values)
            yield conflict(where, f"needs `{json_name(item, choice)}` to be {words}")

    return check


def more_than_zero(attribute: str) -> DiscoveryCheck:
    """A number that may be left out, but not be zero or less."""

    def check(item: Any, reading: ScraperReading, path: str) -> Findings:
        number = getattr(item, attribute)
        if number is not None and number <= 0:
            where = below(path, json_name(item, attribute))
            yield Finding(where, Reason.INVALID_VALUE, "must be more than 0")

    return check


def refresh(item: Any, reading: ScraperReading, path: str) -> Findings:
    """Some time between two looks: Prometheus would stop with a panic where there is none."""
    text = getattr(item, "refresh_interval", None)
    if text and milliseconds(text) == 0:
        message = "must be longer than 0"
        yield Finding(below(path, "refreshInterval"), Reason.INVALID_VALUE, message)
