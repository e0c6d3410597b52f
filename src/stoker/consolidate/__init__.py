"""ServiceMonitors, PodMonitors and Probes as ScrapeConfigs that scrape the same.

    monitor, Terms ──> one ScrapeConfig for each endpoint, or what cannot be said in one

    terms.py       what the job of a monitor takes from the workload, and that of a ScrapeConfig not
    configs.py     the conversion;  requests.py  the request;  targets.py  whom it is sent to
    names.py       names, labels, owner

Which steps and discoveries the operator gives a monitor is known in `stoker.generate` alone: the
monitor's jobs are made there, for a workload that has nothing but the terms, and read back here.
So a step that is added there is never missing here.
"""

from stoker.consolidate.configs import Consolidated, consolidated, stand_ins_of
from stoker.consolidate.names import manifest_of
from stoker.consolidate.terms import DEFAULT_TERMS, Inexpressible, Terms, terms_of

__all__ = [
    "DEFAULT_TERMS",
    "Consolidated",
    "Inexpressible",
    "Terms",
    "consolidated",
    "manifest_of",
    "stand_ins_of",
    "terms_of",
]
