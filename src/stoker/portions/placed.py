"""A job as nodes get it: which candidates it keeps, and its files."""

from collections.abc import Iterable, Iterator, Mapping
from hashlib import sha256
from typing import Any, Final

import msgspec

from stoker.generate.nodejobs import NodeJob
from stoker.portions.candidates import ROLES
from stoker.portions.whereabouts import MOMENT_OF_CHANGE, Only
from stoker.targets.discovery import CannotTellError, Group, KubernetesSd, Labels, discovery_of
from stoker.targets.job import Defaults, Job, job_of
from stoker.targets.metadata import ADDRESS, present_and_value
from stoker.targets.steps import Step, deciding, dropped_by, reads
from stoker.version import Version

_KUBERNETES: Final = "kubernetes_sd_configs"
_VARIABLE: Final = "$("
MOMENT: Final = present_and_value("endpointslice_annotation", MOMENT_OF_CHANGE)
"""The labels that tell when a slice was changed for the last time: whoever reads them has them.

They are others for all endpoints of a Service whenever one pod comes, and for all nodes of these.
"""
# What the steps of a job may cost for one candidate: about so many microseconds, at the slowest.
_MOST_UNITS: Final = 2_000
_ENCODED: Final = msgspec.json.Encoder(order="deterministic").encode


class Shared:
    """A discovery, and the jobs that have it; candidates are made once for all of them."""

    def __init__(self, discovery: KubernetesSd) -> None:
        self.discovery = discovery
        self.jobs: dict[str, PlacedJob] = {}

    def sees(self, only: Only) -> bool:
        """Whether a change that concerns some discoveries only concerns this one."""
        if only is Only.WITH_NODES:
            return self.discovery.with_node
        return only is Only.ALL or any(each.reads_moment for each in self.jobs.values())

    @property
    def spaces(self) -> tuple[tuple[str, str], ...]:
        """Role and namespace of the objects that it looks at; no namespace means all."""
        return tuple((self.discovery.role, each) for each in self.discovery.namespaces or ("",))


class PlacedJob:
    """One job. `since` is the state of the workload's jobs in which it finds what it finds now.

    CannotTellError where its discovery is none that is known here.
    """

    def __init__(self, job: NodeJob, known: "Known", since: int) -> None:
        self.job = job
        self.since = since
        self.text = job.text.encode()
        self.digest = digest_of(self.text)
        self.path, self.targets = f"jobs/{job.stem}.yaml", f"targets/{job.stem}.json"
        self.tls = tuple((f"tls/{name}", name) for name in job.files)
        self.shared = known.shared_by(job.block)
        relabeling = _relabeling_of(job.block, known)
        self.reads_moment = relabeling is None or _reads_moment(relabeling.steps)
        self._labels = relabeling.labels if relabeling else {}
        self._steps = deciding(relabeling.steps) if relabeling else ()
        self._weight = sum(each.expression.weight for each in self._steps)

    def keeps(self, group: Group) -> Iterator[bytes]:
        """The candidates that its steps let pass, written down; all where that is not known."""
        for each in group.candidates:
            found = {**group.shared, **each}
            if found.get(ADDRESS) and self._lets_pass(found):
                if not self.reads_moment:
                    for name in MOMENT:
                        found.pop(name, None)
                yield _written(found)

    def _lets_pass(self, found: Labels) -> bool:
        if not self._steps:
            return True
        longest = max(map(len, found.values())) if self._weight else 0
        if len(self._steps) + self._weight * longest // 1000 > _MOST_UNITS:
            return True
        try:
            return dropped_by(self._steps, {**self._labels, **found}) is None
        except CannotTellError:
            return True


class Known:
    """The discoveries of a workload, and what its jobs take for granted."""

    def __init__(self, version: Version, defaults: Defaults) -> None:
        self.version, self.defaults = version, defaults
        self._shared: dict[bytes, Shared] = {}

    def shared_by(self, block: Mapping[str, Any]) -> tuple[Shared, ...]:
        """The discoveries of a job."""
        return tuple(map(self._of, block.get(_KUBERNETES) or ()))

    def _of(self, block: Mapping[str, Any]) -> Shared:
        key = _ENCODED(block)
        if key not in self._shared:
            discovery = discovery_of(block)
            if discovery.role not in ROLES or discovery.with_namespace:
                raise CannotTellError(f"targets by the role {discovery.role} are on no node")
            self._shared[key] = Shared(discovery)
        return self._shared[key]

    def forget(self) -> None:
        """Let go of discoveries that no job has."""
        self._shared = {key: each for key, each in self._shared.items() if each.jobs}

    @property
    def all(self) -> Iterable[Shared]:
        """All discoveries."""
        return self._shared.values()


def _relabeling_of(block: Mapping[str, Any], known: Known) -> Job | None:
    """A job with its steps; None where what they do is not known."""
    if _has_variable(block):
        return None
    try:
        return job_of(block, known.version, known.defaults)
    except CannotTellError:
        return None


def _reads_moment(steps: Iterable[Step]) -> bool:
    """Whether it makes a difference to a target when its slice was changed for the last time."""
    return any(reads(step, name) for step in steps for name in MOMENT)


def _has_variable(value: Any) -> bool:
    """Whether something in it is filled in on the node."""
    if isinstance(value, str):
        return _VARIABLE in value
    if isinstance(value, Mapping):
        return any(map(_has_variable, value.values()))
    return isinstance(value, list | tuple) and any(map(_has_variable, value))


def digest_of(text: bytes) -> str:
    """What a file is compared by."""
    return sha256(text).hexdigest()[:32]


def targets_file(written: Iterable[bytes]) -> bytes:
    """A file for `file_sd_configs`; the same for the same candidates, in whatever order."""
    return b"[\n" + b",\n".join(sorted(set(written))) + b"\n]\n"


def _written(found: Labels) -> bytes:
    """A candidate as it is in a file; its labels are taken for that."""
    address = found.pop(ADDRESS)
    return _ENCODED({"targets": [address], "labels": found})
