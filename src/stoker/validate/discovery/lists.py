"""Targets that something lists or runs: labels, files, DNS records, the Docker daemon."""

from typing import Any

from stoker.api.scrapeconfig.discovery.lists import DnsDiscovery, FileDiscovery, StaticTargets
from stoker.errors import below
from stoker.validate.findings import Finding, Findings, Reason
from stoker.validate.monitors import files_denied, forbidden_file, target_labels
from stoker.validate.reading import ScraperReading
from stoker.validate.syntax import Url


def static_labels(item: StaticTargets, reading: ScraperReading, path: str) -> Findings:
    """Names of labels that the version takes."""
    yield from target_labels(item.labels, reading, below(path, "labels"))


def file_access(item: FileDiscovery, reading: ScraperReading, path: str) -> Findings:
    """No files of the container, where the Prometheus denies them."""
    if files_denied(reading):
        yield forbidden_file(below(path, "files"))


def dns_port(item: DnsDiscovery, reading: ScraperReading, path: str) -> Findings:
    """A port, unless the records bring their own."""
    if item.type not in (None, "", "SRV") and not item.port:
        yield Finding(below(path, "port"), Reason.REQUIRED, "is needed unless `type` is `SRV`")


def docker_host(item: Any, reading: ScraperReading, path: str) -> Findings:
    """The daemon's address can be read as a URL."""
    problem = Url(item.host).problem
    if problem:
        yield Finding(below(path, "host"), Reason.INVALID_VALUE, problem)
    if item.host.startswith("unix:") and files_denied(reading):
        yield forbidden_file(below(path, "host"))
