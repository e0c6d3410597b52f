"""Links to what runs: where a workload says that it can be reached from outside."""

import re
from collections.abc import Iterator
from typing import Final

from stoker.api.alertmanager import Alertmanager
from stoker.api.rules import PrometheusRule
from stoker.page.answers import Link
from stoker.ref import ref_of
from stoker.select.choice import Resource
from stoker.select.workload import AnyPrometheus, Workload
from stoker.status.targets import job_names

# A scheme that runs nothing, a host without user and password, a path: nothing a browser, or a
# reader, could take for something else.
_OUTSIDE: Final = re.compile(
    r"https?://(?:[A-Za-z0-9._-]+|\[[0-9A-Fa-f:.]+\])(?::[0-9]{1,5})?(?:/[A-Za-z0-9._~%/+-]*)?"
)


def links_of(workload: Workload, resource: Resource | None = None) -> Iterator[Link]:
    """Where a running workload tells of a resource, or (without) of itself; none where unknown."""
    base = _outside(getattr(workload.spec, "external_url", None) or "")
    if base:
        yield Link(workload=str(ref_of(workload)), url=f"{base}{_page(workload, resource)}")


def _outside(url: str) -> str:
    """A URL that a browser may be sent to, without the slash at its end; empty if it is none."""
    return url.rstrip("/") if _OUTSIDE.fullmatch(url) else ""


def _page(workload: Workload, resource: Resource | None) -> str:
    """The page of Prometheus that tells of a resource."""
    if resource is None or isinstance(workload, Alertmanager):
        return "/"
    if isinstance(resource, PrometheusRule):
        return "/rules"
    if not isinstance(workload, AnyPrometheus):
        return "/"
    # Names of objects need no escape in a query.
    jobs = job_names(resource)
    return f"/targets?scrapePool={jobs[0]}" if len(jobs) == 1 else "/targets"
