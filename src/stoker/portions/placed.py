"""A job as nodes get it: which candidates it keeps, and its files."""

from collections.abc import Callable, Iterable, Iterator, Mapping
from hashlib import sha256
from typing import Any, Final

import msgspec

from stoker.generate.nodejobs import NodeJob
from stoker.portions.candidates import ROLES
from stoker.targets.discovery import CannotTellError, Group, KubernetesSd, Labels, discovery_of
from stoker.targets.job import Defaults, Job, job_of
from stoker.targets.metadata import ADDRESS
from stoker.targets.steps import dropped_by
from stoker.version import Version

_KUBERNETES: Final = "kubernetes_sd_configs"
_VARIABLE: Final = "$("
# What the steps of a job may cost for one candidate: about so many microseconds, at the slowest.
_MOST_UNITS: Final = 2_000
_ENCODED: Final = msgspec.json.Encoder(order="deterministic").encode


class Shared:
    """A discovery, and the jobs that have it; candidates are made once for all of them."""

    def __init__(self, discovery: KubernetesSd) -> None:
        self.discovery = discovery
        self.jobs: dict[str, PlacedJob] = {}

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
        self._relabeling = _relabeling_of(job.block, known)
        self._weight = sum(each.expression.weight for each in self._relabeling.steps)

    def keeps(self, group: Group) -> Iterator[Labels]:
        """The candidates that its steps let pass; where that is not known, all of them."""
        for each in group.candidates:
            found = {**group.shared, **each}
            if found.get(ADDRESS) and self._lets_pass(found):
                yield found

    def _lets_pass(self, found: Labels) -> bool:
        job = self._relabeling
        longest = max(map(len, found.values())) if self._weight else 0
        if len(job.steps) + self._weight * longest // 1000 > _MOST_UNITS:
            return True
        try:
            return dropped_by(job.steps, {**job.labels, **found}) is None
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


def _relabeling_of(block: Mapping[str, Any], known: Known) -> Job:
    """The steps of a job; none where what they do is not known."""
    if _has_variable(block):
        return _without_steps(block, known)
    try:
        return job_of(block, known.version, known.defaults)
    except CannotTellError:
        return _without_steps(block, known)


def _without_steps(block: Mapping[str, Any], known: Known) -> Job:
    return Job(block["job_name"], (), (), (), {}, known.version)


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


def targets_file(found: Iterable[Labels], encoded: Callable[[Any], bytes] = _ENCODED) -> bytes:
    """A file for `file_sd_configs`; the same for the same candidates, in whatever order."""
    entries = (encoded(_entry(each)) for each in found)
    return b"[\n" + b",\n".join(sorted(set(entries))) + b"\n]\n"


def _entry(found: Labels) -> dict[str, Any]:
    labels = {name: value for name, value in found.items() if name != ADDRESS}
    return {"targets": [found[ADDRESS]], "labels": labels}
