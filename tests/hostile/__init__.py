"""What tenants may try, as data: payloads by class of attack, each with what must happen.

    payload.py     what a payload is, and how tables make them
    attacks/       the classes: one module each
    reviews.py     bodies that somebody sends to the webhook
    world.py       workloads, a well-behaved neighbour, Secrets
    trial.py       one payload beside the neighbour: the verdict, and what is written
    folder.py      many in a folder, through the real command, and what the real programs say
    generate.py    folders of mutated payloads from a seed;  __main__.py  by hand

Everything is tried in `tests/unit/test_hostile.py` and `tests/live/test_hostile.py`.
"""

from importlib import import_module
from typing import Final

from tests.hostile.payload import Payload, distinct

CLASSES: Final = (
    "structure",
    "unicode",
    "variables",
    "names",
    "templates",
    "regexes",
    "promql",
    "measures",
    "urls",
    "credentials",
    "values",
    "enforcement",
    "conversion",
    "cost",
)


def _all() -> tuple[Payload, ...]:
    modules = (import_module(f"tests.hostile.attacks.{name}") for name in CLASSES)
    return distinct(each for module in modules for each in module.ATTACK.payloads)


PAYLOADS: Final = _all()
