"""What a payload is: an object of somebody who means harm, and what must happen to it.

A payload is a well-formed object of its kind (`BASES`) with something hostile at one place. Places
are written as findings write them (`spec.endpoints[0].params[x]`), so that the place of the attack
is also, unless said otherwise, the path at which stoker must find fault.
"""

import re
from collections import Counter
from collections.abc import Iterator, Mapping
from copy import deepcopy
from typing import Any, Final, TypeAlias

from msgspec import Struct

from stoker.api.crd import GROUP
from stoker.validate.findings import Reason

Json: TypeAlias = dict[str, Any]

ATTACKER: Final = "mallory"
VAULT: Final = "vault"
KINDS: Final = (
    "ServiceMonitor",
    "PodMonitor",
    "Probe",
    "ScrapeConfig",
    "PrometheusRule",
    "AlertmanagerConfig",
)

HOOK: Final[Json] = {"url": "http://hooks.example/mallory"}
BASES: Final[Mapping[str, Json]] = {
    "ServiceMonitor": {"selector": {}, "endpoints": [{"port": "web"}]},
    "PodMonitor": {"selector": {}, "podMetricsEndpoints": [{"port": "web"}]},
    "Probe": {
        "prober": {"url": "blackbox:9115"},
        "targets": {"staticConfig": {"static": ["shop.example:80"]}},
    },
    "ScrapeConfig": {"staticConfigs": [{"targets": ["shop.example:80"]}]},
    "PrometheusRule": {
        "groups": [{"name": "mine", "rules": [{"alert": "A", "expr": "up == 0"}]}],
    },
    "AlertmanagerConfig": {
        "route": {"receiver": "mine"},
        "receivers": [{"name": "mine", "webhookConfigs": [HOOK]}],
    },
}
VERSIONS: Final = {"ScrapeConfig": "v1alpha1", "AlertmanagerConfig": "v1alpha1"}


# --- What must happen -----------------------------------------------------------------------------


class Used(Struct, frozen=True):
    """The object is taken, and harms nobody: a string stays a string."""


class LeftOut(Struct, frozen=True):
    """The object is not used; the finding has this reason, at the place of the attack or `path`.

    `webhook` tells whether the webhook refuses it too: it knows neither Secrets nor workloads.
    """

    reason: Reason | tuple[str, ...] = Reason.INVALID_VALUE
    path: str = ""
    webhook: bool = True

    @property
    def reasons(self) -> tuple[str, ...]:
        """The words that are right."""
        return (self.reason,) if isinstance(self.reason, str) else self.reason


class Refused(Struct, frozen=True):
    """The API server refuses the object by its schema, at the place of the attack or `path`."""

    path: str = ""


class Pruned(Struct, frozen=True):
    """The API server drops a field that there is not; what is left is used."""


Outcome: TypeAlias = Used | LeftOut | Refused | Pruned

USED: Final = Used()
INVALID: Final = LeftOut()
RELABELING: Final = LeftOut(Reason.INVALID_RELABELING)
CONFLICT: Final = LeftOut(Reason.CONFLICT)
DUPLICATE: Final = LeftOut(Reason.DUPLICATE)
REQUIRED: Final = LeftOut(Reason.REQUIRED)
REFUSED: Final = Refused()
PRUNED: Final = Pruned()


class Payload(Struct, frozen=True, kw_only=True):
    """An object of the attacker, and what must happen to it.

    `workload` names the settings of the workload that selects it (`tests.hostile.world`), `vault`
    what the attacker's own Secret holds beside what it always has.
    """

    attack: str
    about: str
    kind: str
    place: str
    spec: Json
    outcome: Outcome
    version: str = ""
    workload: str = "main"
    vault: Mapping[str, str | bytes] = {}
    name: str = "hostile"

    @property
    def id(self) -> str:
        """A name for people."""
        where = "" if self.workload == "main" else f" ({self.workload})"
        return f"{self.attack}: {self.kind} {self.version} {self.about}{where}".replace("  ", " ")

    @property
    def path(self) -> str:
        """Where something must be found wrong."""
        return getattr(self.outcome, "path", "") or self.place

    def manifest(self, name: str = "", namespace: str = ATTACKER) -> Json:
        """The object as the attacker writes it."""
        version = self.version or VERSIONS.get(self.kind, "v1")
        return {
            "apiVersion": f"{GROUP}/{version}",
            "kind": self.kind,
            "metadata": {"namespace": namespace, "name": name or self.name},
            "spec": self.spec,
        }


# --- Making them ----------------------------------------------------------------------------------


class Attack:
    """A class of attacks: makes payloads, and sees to it that each can be told from the others."""

    def __init__(self, name: str) -> None:
        self.name = name
        self.payloads: list[Payload] = []

    def at(
        self,
        kind: str,
        place: str,
        *values: Any,
        then: Outcome = USED,
        beside: Json | None = None,
        **more: Any,
    ) -> None:
        """A payload for each value at a place; `beside` are members of the same object."""
        for value in values:
            about = more.get("about") or f"{place.removeprefix('spec.')} {shown(value)}"
            self.payloads.append(
                Payload(
                    attack=self.name,
                    kind=kind,
                    place=place,
                    spec=with_value(BASES[kind], place, value, beside or {}),
                    outcome=then,
                    **(more | {"about": about}),
                )
            )

    def whole(
        self, kind: str, about: str, spec: Json, then: Outcome = USED, place: str = "", **more: Any
    ) -> None:
        """A payload whose spec is given whole, or laid over that of its kind."""
        laid = deepcopy(BASES[kind]) | spec
        self.payloads.append(
            Payload(
                attack=self.name,
                about=about,
                kind=kind,
                place=place,
                spec=laid,
                outcome=then,
                **more,
            )
        )


def shown(value: Any) -> str:
    """A value for the name of a payload."""
    text = value if isinstance(value, str) else repr(value)
    return f"{text[:60]!a}{f' ({len(text)})' if len(text) > 60 else ''}"


_STEP: Final = re.compile(r"\.?([^.\[\]]+)|\[([^\]]*)\]")


def steps_of(place: str) -> list[str | int]:
    """The keys and indices that lead to a place."""
    found = [(each[1], each[2]) for each in _STEP.finditer(place)]
    return [name or (int(key) if key.isdigit() else key) for name, key in found]


def with_value(base: Json, place: str, value: Any, beside: Json) -> Json:
    """A copy of a spec with the value at the place; what is missing on the way is made."""
    whole = {"spec": deepcopy(base)}
    *way, last = steps_of(place)
    holder: Any = whole
    for step, following in zip(way, [*way[1:], last], strict=True):
        empty: Any = [] if isinstance(following, int) else {}
        holder = _member(holder, step, empty)
    if isinstance(holder, dict):
        holder |= deepcopy(beside)
    _put(holder, last, value)
    return whole["spec"]


def _member(holder: Any, step: str | int, empty: Any) -> Any:
    if isinstance(holder, list):
        assert isinstance(step, int)
        while len(holder) <= step:
            holder.append(deepcopy(empty))
        return holder[step]
    return holder.setdefault(step, empty)


def _put(holder: Any, step: str | int, value: Any) -> None:
    if isinstance(holder, list):
        assert isinstance(step, int)
        holder[step : step + 1] = [value]
    else:
        holder[step] = value


def key(name: str) -> Json:
    """A reference to a key of the attacker's Secret."""
    return {"name": VAULT, "key": name}


def distinct(payloads: Iterator[Payload]) -> tuple[Payload, ...]:
    """All of them; no two may have one name."""
    found = tuple(payloads)
    twice = [name for name, count in Counter(each.id for each in found).items() if count > 1]
    assert not twice, twice
    return found
