"""Differences on purpose that the recorded worlds do not have, each class with its reason.

Those that they have are in `tests.conformance.exceptions`, where one that is no longer seen fails.
"""

import re
from typing import Final

from tests.conformance.exceptions import Deliberate, is_deliberate

ELSEWHERE: Final = (
    Deliberate(
        r"^services/\S+-operated spec\.ports",
        "workloads that share a Service: all their ports, not those of whoever wrote last",
    ),
    Deliberate(
        r"^secrets/\S+-tls-assets-\d+ \S+ the certificate or key of what is left out",
        "as a ScrapeConfig that Prometheus would refuse is left out, so are its files",
    ),
    Deliberate(
        r"scrapeConfig/\S+: left out: spec\.(fileSDConfigs|\w+\.host).*files of the container",
        "arbitraryFSAccessThroughSMs holds for ScrapeConfigs, too",
    ),
    Deliberate(
        r": left out: \S+targetLabel: `[^`]+` is not the name of a label",
        "Prometheus refuses the whole file under nameValidationScheme Legacy",
    ),
    Deliberate(
        r"scrapeConfig/[^\s.]+\.relabel_configs: only ours: .*__tmp_(hash|current_shard)",
        "shards that are retained scrape nothing, ScrapeConfigs neither",
    ),
    Deliberate(
        r"Probe\.exec\.command\[2\]: expected .*curl --fail http:.*, got .*curl --fail https:",
        "listenLocal with TLS: the peer's pods never become ready",
    ),
    Deliberate(
        r"^services/\S+-operated metadata\.ownerReferences\[\d\]: expected nothing, got",
        "a workload that the peer cannot finish, and we can, owns the Service as well",
    ),
    Deliberate(
        r"remote-write\.yaml .*tls_config\.\w+_file: expected '/etc/prometheus/certs/",
        "pods of a ThanosRuler have these files in another folder",
    ),
    Deliberate(
        r"^secrets/prom-agent-\S+ prometheus\.yaml\.gz the order .*'- job_name: ",
        "additional jobs come last, with agents too; the jobs are the same",
    ),
    Deliberate(
        "no pods by the peer: .* we: (?!nothing)",
        "a workload that nobody can finish keeps what it has",
    ),
    Deliberate(
        r"podMonitor/\S+\.kubernetes_sd_configs\[0\]\.selectors",
        "node and labels are one selector; Prometheus refuses the peer's two",
    ),
    Deliberate(
        r"scrapeConfig/[^\s.]+\.honor_timestamps: expected nothing, got False",
        "overrideHonorTimestamps holds for ScrapeConfigs that say nothing, too",
    ),
)


def is_on_purpose(line: str) -> bool:
    """Whether a difference is one on purpose."""
    return is_deliberate(line) or any(re.search(each.line, line) for each in ELSEWHERE)
