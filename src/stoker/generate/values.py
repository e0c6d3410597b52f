"""How the value of a field is written, for `Member.write`; None leaves the member out."""

from collections.abc import Mapping, Sequence
from typing import Any, Final

from stoker.generate.block import Block
from stoker.generate.draft import Draft
from stoker.generate.grammar import Member
from stoker.generate.order import in_order
from stoker.select.assets import Reference


def lower(word: str, _draft: Draft, _path: str) -> str:
    """A word in lower case: Kubernetes capitalises what Prometheus does not."""
    return word.lower()


def items(values: Sequence[str], _draft: Draft, _path: str) -> list[str] | None:
    """A list, left out where it is empty."""
    return list(values) or None


def members(values: Mapping[str, str], _draft: Draft, _path: str) -> Block | None:
    """A mapping in a fixed order, left out where it is empty."""
    return in_order(values) or None


def parameters(values: Mapping[str, Sequence[str]], _draft: Draft, _path: str) -> Block | None:
    """Query parameters, each with its values, left out where there are none."""
    return in_order({name: list(each) for name, each in values.items()}) or None


def if_any(value: Any, _draft: Draft, _path: str) -> Any:
    """A switch, number or text of which the zero says the same as nothing."""
    return value or None


def file_of(reference: Reference, draft: Draft, _path: str) -> str | None:
    """The path of the file that will hold what a reference leads to."""
    return draft.file(reference)


def value_or_empty(reference: Reference | None, draft: Draft, _path: str) -> str:
    """What a reference leads to; empty where it leads nowhere."""
    return draft.value(reference) or ""


_ESCAPING: Final = {"AllowUTF8": "allow-utf-8"}


def escaping_scheme(name: str, _draft: Draft, _path: str) -> str:
    """How names are escaped, in Prometheus' word."""
    return _ESCAPING.get(name) or name.lower()


_PROTOCOLS: Final = {"PrometheusText1.0.0": Member("PrometheusText1.0.0", since="3.0.0")}


def scrape_protocols(names: Sequence[str], draft: Draft, path: str) -> list[str] | None:
    """The protocols that the workload's version knows; None where it knows none of them."""
    known = []
    for index, name in enumerate(names):
        protocol = _PROTOCOLS.get(name)
        if protocol is None or protocol.known_to(draft.version):
            known.append(name)
        else:
            draft.ignore(f"{path}[{index}]", f"{name} {protocol.lacking(draft.program)}")
    return known or None
