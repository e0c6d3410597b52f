"""Fills in the pod's own values: `$(POD_NAME)`, `$(SHARD)` and their like.

A configuration has texts of three hands, and each is treated after its author:

- **The operator's.** Lines that it writes into the jobs of monitors, to divide targets among shards
  and nodes. They are known to the letter (`SHAPES`), with the lines before them.
- **The owner's**, who wrote the workload: external labels, remote write, alerting, and jobs of
  `additionalScrapeConfigs`. The operator's variables are filled in at the places of `OWNED`, and
  anywhere in such a job but in credentials.
- **A tenant's**, who wrote a monitor or an AlertmanagerConfig: everything else. It is text, and
  stays what it is, whatever it contains.

Only the variables of `VARIABLES` are ever filled in, never another variable of the environment. A
`$(NAME)` of any other name stays as it is.
"""

from __future__ import annotations

import re
from collections import deque
from collections.abc import Iterable, Iterator, Mapping

from stoker.reloader.outline import ITEM, Outline
from stoker.reloader.record import record

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Final

ORDINAL: Final = "STATEFULSET_ORDINAL_NUMBER"
VARIABLES: Final = ("POD_NAME", "NODE_NAME", "SHARD", "INZONE_SHARD", "TOPOLOGY_ZONE", ORDINAL)

_VARIABLE: Final = re.compile(rb"\$\(([A-Za-z0-9_]+)\)")
# A value stands inside a YAML scalar, plain or quoted, and must not end it.
_HARMLESS: Final = re.compile(r"[A-Za-z0-9._/:@%+=,~-]*")
_ORDINAL: Final = re.compile(r"[0-9]+\Z")

_JOBS: Final = b"scrape_configs"
_DEPTH_OF_JOBS: Final = 3  # scrape_configs, -, job_name
_MONITORS: Final = (b"serviceMonitor/", b"podMonitor/", b"probe/", b"scrapeConfig/")
_CREDENTIALS: Final = frozenset(
    {b"password", b"credentials", b"bearer_token", b"client_secret", b"secret_key", b"access_key"}
)


class ExpansionError(Exception):
    """A variable that the configuration needs is not set, or has a value that it cannot take."""


@record
class Shape:
    """A line that the operator writes into jobs of these kinds, at this place, after these lines.

    Where the line is an expression, the value is escaped: a dot in a node's name is a dot.
    """

    line: bytes
    place: tuple[bytes, ...]
    before: tuple[bytes, ...] = ()
    jobs: tuple[bytes, ...] = _MONITORS
    expression: bool = True


def _place(text: str) -> tuple[bytes, ...]:
    return tuple(text.encode().split(b"/"))


_STEP: Final = "scrape_configs/-/relabel_configs/-/"
_REGEX: Final = _place(_STEP + "regex")


def _kept_share(label: str, variable: str) -> Shape:
    before = (b"  - source_labels:", f"    - {label}".encode(), b"    - __tmp_disable_sharding")
    return Shape(f"    regex: $({variable});|.+;.+".encode(), _REGEX, before)


SHAPES: Final = (
    _kept_share("__tmp_hash", "SHARD"),
    _kept_share("__tmp_hash", "INZONE_SHARD"),
    _kept_share("__tmp_topology", "TOPOLOGY_ZONE"),
    Shape(
        b"    replacement: $(SHARD)",
        _place(_STEP + "replacement"),
        (b"  - target_label: __tmp_current_shard",),
        expression=False,
    ),
    Shape(
        b"    replacement: $(NODE_NAME)",
        _place(_STEP + "replacement"),
        (b"  - target_label: __tmp_own_node",),
        jobs=(b"serviceMonitor/",),
        expression=False,
    ),
    # For Prometheus before 2.41, which cannot compare labels.
    Shape(
        b"    regex: $(NODE_NAME);.*|;$(NODE_NAME)",
        _REGEX,
        (
            b"  - action: keep",
            b"    source_labels:",
            b"    - __meta_kubernetes_endpoint_node_name",
            b"    - __meta_kubernetes_pod_node_name",
        ),
        jobs=(b"serviceMonitor/",),
    ),
    # Neither monitor has a field by which a tenant could write a field selector.
    Shape(
        b"      field: spec.nodeName=$(NODE_NAME)",
        _place("scrape_configs/-/kubernetes_sd_configs/-/selectors/-/field"),
        jobs=(b"serviceMonitor/", b"podMonitor/"),
        expression=False,
    ),
)

_ANY: Final = b"*"
_RELABELED: Final = ("regex", "replacement")
OWNED: Final = tuple(
    _place(text)
    for text in (
        "global/external_labels",
        "global/external_labels/*",
        *(f"remote_{way}/-/{key}" for way in ("write", "read") for key in ("url", "name")),
        *(f"remote_{way}/-/headers/*" for way in ("write", "read")),
        *(f"remote_write/-/write_relabel_configs/-/{key}" for key in _RELABELED),
        *(f"alerting/alert_relabel_configs/-/{key}" for key in _RELABELED),
        *(f"alerting/alertmanagers/-/relabel_configs/-/{key}" for key in _RELABELED),
        *(f"alerting/alertmanagers/-/alert_relabel_configs/-/{key}" for key in _RELABELED),
    )
)


def ordinal(pod: str) -> str:
    """The number at the end of a pod's name; empty where there is none."""
    found = _ORDINAL.search(pod)
    return found[0] if found else ""


def variables(environment: Mapping[str, str], pod: str = "") -> dict[str, str]:
    """The operator's variables that are set; `pod` names the variable to take an ordinal from."""
    values = {name: environment[name] for name in VARIABLES if name in environment}
    if pod:
        values[ORDINAL] = ordinal(environment.get(pod, ""))
    return values


def expanded(
    lines: Iterable[bytes], values: Mapping[str, str], everywhere: Mapping[str, str] | None = None
) -> Iterator[bytes]:
    """The lines of a document with the operator's variables filled in.

    `everywhere` are variables that whoever runs the reloader wants filled in at any place.
    Raises `ExpansionError` for a variable of the operator's that is not among the values.
    """
    reader = _Reader(values, everywhere or {})
    return map(reader.line, lines)


class _Reader:
    """Knows where in the document it is, in whose job, and what stood before."""

    def __init__(self, values: Mapping[str, str], everywhere: Mapping[str, str]) -> None:
        self._values = values
        self._everywhere = everywhere
        self._outline = Outline()
        self._before: deque[bytes] = deque(maxlen=max(len(shape.before) for shape in SHAPES))
        self._job = b""

    def line(self, line: bytes) -> bytes:
        """The next line, filled in."""
        known = self._outline.follow(line)
        if known.item and self._outline.depth() <= _DEPTH_OF_JOBS:
            self._notice_job(known.value)
        done = self._filled(line) if b"$(" in line else line
        self._before.append(line)
        return done

    def _notice_job(self, value: bytes) -> None:
        """Take down the name of a job from its first line, where the operator writes it."""
        path = self._outline.path
        if path[:2] == (_JOBS, ITEM):
            self._job = value.strip(b"\"'") if path[2:] == (b"job_name",) else b""

    def _filled(self, line: bytes) -> bytes:
        path = self._outline.path
        if self._is_owned(path):
            line = self._replaced(line, VARIABLES)
        elif shape := self._shape_of(line, path):
            line = self._replaced(line, VARIABLES, expression=shape.expression)
        return self._replaced(line, self._everywhere) if self._everywhere else line

    def _is_owned(self, path: tuple[bytes, ...]) -> bool:
        if path[:2] == (_JOBS, ITEM):
            return not self._job.startswith(_MONITORS) and _CREDENTIALS.isdisjoint(path)
        return any(_matches(path, place) for place in OWNED)

    def _shape_of(self, line: bytes, path: tuple[bytes, ...]) -> Shape | None:
        lines = [text.rstrip(b"\r\n") for text in (*self._before, line)]
        for shape in SHAPES:
            wanted = [*shape.before, shape.line]
            if lines[-len(wanted) :] == wanted and path == shape.place:
                return shape if self._job.startswith(shape.jobs) else None
        return None

    def _replaced(self, line: bytes, names: Iterable[str], *, expression: bool = False) -> bytes:
        def value(found: re.Match[bytes]) -> bytes:
            name = found[1].decode()
            if name not in names:
                return found[0]
            text = self._value(name)
            return (text.replace(".", "\\.") if expression else text).encode()

        return _VARIABLE.sub(value, line)

    def _value(self, name: str) -> str:
        value = self._values.get(name, self._everywhere.get(name))
        if value is None:
            raise ExpansionError(f"$({name}) is used in the configuration but {name} is not set")
        if not _HARMLESS.fullmatch(value):
            raise ExpansionError(f"the value of {name} has characters that would change the file")
        return value


def _matches(path: tuple[bytes, ...], place: tuple[bytes, ...]) -> bool:
    """Whether a path leads to a place, or to a further line of the text that stands there."""
    return len(path) >= len(place) and all(
        wanted in (_ANY, name) for name, wanted in zip(path, place, strict=False)
    )
