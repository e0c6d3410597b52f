"""How the value of a field is written, for `Key.write`; None leaves the member out."""

from collections.abc import Mapping, Sequence
from typing import Any, Final

from stoker.generate.block import Block
from stoker.generate.draft import Draft, Key, Write, put
from stoker.generate.order import in_order


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


def by_table(*keys: Key) -> Write:
    """Writes an object by a table."""

    def write(source: Any, draft: Draft, path: str) -> Block:
        block: Block = {}
        put(block, keys, source, draft, path)
        return block

    return write


_ESCAPING: Final = {"AllowUTF8": "allow-utf-8"}


def escaping_scheme(name: str, _draft: Draft, _path: str) -> str:
    """How names are escaped, in Prometheus' word."""
    return _ESCAPING.get(name) or name.lower()


_PROTOCOLS: Final = {"PrometheusText1.0.0": Key("PrometheusText1.0.0", since="3.0.0")}


def scrape_protocols(names: Sequence[str], draft: Draft, path: str) -> list[str] | None:
    """The protocols that the workload's version knows; None where it knows none of them."""
    known = []
    for index, name in enumerate(names):
        protocol = _PROTOCOLS.get(name)
        if protocol is None or protocol.known_to(draft.version):
            known.append(name)
        else:
            draft.ignore(f"{path}[{index}]", f"{name} {protocol.versions}")
    return known or None
