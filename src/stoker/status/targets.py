"""What a workload really scrapes for a resource: counts and a few errors, for its binding.

Prometheus is asked for the active targets of one job at a time; what it answers for all jobs of a
resource, in all shards, is added up. Of the texts of errors only what many targets share is kept:
addresses would make each of them another, and credentials must not be shown.
"""

import re
from collections import Counter
from collections.abc import Callable, Mapping
from itertools import islice
from typing import Any, Final

import msgspec
from msgspec import Struct

from stoker.api.common import TargetCounts, TargetError
from stoker.api.monitors import PodMonitor, Probe, ServiceMonitor
from stoker.api.scrapeconfig.v1alpha1 import ScrapeConfig
from stoker.generate.jobs import POD_MONITOR, PROBE, SERVICE_MONITOR, JobKind
from stoker.generate.scrapeconfig import SCRAPE_CONFIG
from stoker.version import parse_version

SINCE: Final = parse_version("2.42.0")
"""The first Prometheus that can be asked for the targets of one job."""

_SHOWN: Final = 3
_LONGEST: Final = 200
_READ: Final = 1000
_SHOWN_FAILING: Final = 5
# Scheme, host, port and path, without a user and a password between them, and parameters.
_ADDRESS: Final = re.compile(r"(https?://)(?:[^/?#\s]*@)?([^/?#\s@]{1,255}(?:/[^?#\s]{0,256})?)")
# A tenant's exporter may fail with another text each time.
_DIFFERENT: Final = 100
_UP: Final = "up"

_Name = Callable[[Any], int | None]
_JOBS: Final[Mapping[type, tuple[JobKind, _Name]]] = {
    ServiceMonitor: (SERVICE_MONITOR, lambda spec: len(spec.endpoints or ())),
    PodMonitor: (POD_MONITOR, lambda spec: len(spec.pod_metrics_endpoints or ())),
    Probe: (PROBE, lambda _: None),
    ScrapeConfig: (SCRAPE_CONFIG, lambda _: None),
}

_CLEANING: Final = tuple(
    (re.compile(pattern, re.IGNORECASE), instead)
    for pattern, instead in (
        # What was asked, at the start of most errors: it is another for each target.
        (r'^[a-z]+ "(?:[^"\\]|\\.)*": ', ""),
        # A user and a password, in a URL or not.
        (r"(//)[^/?#\s\"]*@", r"\1"),
        (r"[^\s/\"@:]{1,64}:[^\s/\"@]{0,128}@", ""),
        # The parameters of a URL.
        (r"\?[^\s\"]*", ""),
        (r"\b\d{1,3}(?:\.\d{1,3}){3}(?::\d{1,5})?(?:->\d{1,3}(?:\.\d{1,3}){3}(?::\d{1,5})?)?", "…"),
        (r"\[[0-9a-f:.]*:[0-9a-f:.]*(?:%\w+)?\](?::\d{1,5})?", "…"),
        # Headers, and what is called a secret.
        (r"\b(bearer|basic)\s+[\w.~+/=-]{6,}", r"\1 …"),
        (r"\b(\w*(?:password|secret|token|api_?key|credentials)\s?[:=]\s?)[^\s,;]+", r"\1…"),
    )
)


class Failing(Struct, frozen=True):
    """A target that cannot be scraped; its address has no user, password or parameters."""

    address: str
    error: str


class Scraped(Struct, frozen=True):
    """What was found for some jobs; `errors` are the texts with how many targets had them.

    `failing` are the first of those targets: nothing for a status, where each would be news.
    """

    discovered: int = 0
    healthy: int = 0
    errors: Mapping[str, int] = {}
    failing: tuple[Failing, ...] = ()

    def plus(self, other: "Scraped") -> "Scraped":
        """Both together."""
        errors = Counter(self.errors) + Counter(other.errors)
        return Scraped(
            self.discovered + other.discovered,
            self.healthy + other.healthy,
            dict(errors.most_common(_DIFFERENT)),
            (*self.failing, *other.failing)[:_SHOWN_FAILING],
        )


NOTHING: Final = Scraped()


class _Target(Struct, rename="camel"):
    """What is read of a target; the labels are most of it."""

    scrape_pool: str = ""
    scrape_url: str = ""
    health: str = ""
    last_error: str = ""


class _Data(Struct, rename="camel"):
    active_targets: list[_Target] | None


class _Answer(Struct):
    data: _Data


def job_names(resource: object) -> tuple[str, ...]:
    """The jobs that a resource becomes; none where it is not about targets."""
    found = _JOBS.get(type(resource))
    if found is None:
        return ()
    kind, count = found
    metadata, spec = resource.metadata, resource.spec  # type: ignore[attr-defined]
    name = f"{kind.job}/{metadata.namespace or ''}/{metadata.name or ''}"
    jobs = count(spec)
    return (name,) if jobs is None else tuple(f"{name}/{index}" for index in range(jobs))


def scraped(answer: bytes, job: str) -> Scraped:
    """What an answer of `/api/v1/targets` says of a job; ValueError where it is none."""
    try:
        listed = msgspec.json.decode(answer, type=_Answer).data.active_targets or ()
    except msgspec.MsgspecError:
        raise ValueError("what it answers is not a list of targets") from None
    own = [each for each in listed if each.scrape_pool == job]
    errors = Counter(cleaned(each.last_error) for each in own if each.last_error)
    return Scraped(
        len(own),
        sum(each.health == _UP for each in own),
        dict(errors.most_common(_DIFFERENT)),
        tuple(
            Failing(address_in(each.scrape_url), cleaned(each.last_error))
            for each in islice((each for each in own if each.last_error), _SHOWN_FAILING)
        ),
    )


def address_in(url: str) -> str:
    """Where a target is, by the URL that is scraped; empty where that is none."""
    found = _ADDRESS.match(url)
    return found[1] + found[2] if found else ""


def cleaned(message: str) -> str:
    """An error as one short line without addresses, parameters and credentials."""
    read = message if len(message) <= _READ else message[:_READ].rpartition(" ")[0]
    text = " ".join(read.split())
    for pattern, instead in _CLEANING:
        text = pattern.sub(instead, text)
    text = "".join(each for each in text if each.isprintable())
    return text if len(text) <= _LONGEST else f"{text[: _LONGEST - 1]}…"


def target_counts(found: Scraped, observed_at: str) -> TargetCounts:
    """What a binding says of it."""
    ranked = sorted(found.errors.items(), key=lambda each: (-each[1], each[0]))
    errors = tuple(TargetError(message=text, count=count) for text, count in ranked[:_SHOWN])
    return TargetCounts(
        discovered=found.discovered,
        healthy=found.healthy,
        errors=errors or None,
        observed_at=observed_at,
    )


def same_targets(a: Mapping[str, Any] | None, b: Mapping[str, Any] | None) -> bool:
    """Whether two bindings count the same, no matter since when."""
    return _content(a) == _content(b)


def _content(targets: Mapping[str, Any] | None) -> dict[str, Any] | None:
    if targets is None:
        return None
    said = {name: value for name, value in targets.items() if value and name != "observedAt"}
    # A cache has tuples, an answer lists.
    return {**said, "errors": list(said.get("errors", ()))}
