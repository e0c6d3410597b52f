"""Jobs of which each node gets those that have a target there, with targets that are given.

The operator finds the targets of all nodes and gives each node its portion. The configuration that
an agent starts with has no job, and names the files of a portion:

    prometheus.yaml      scrape_config_files: […/portion/jobs/*.yaml]
    jobs/STEM.yaml       one job, with file_sd_configs in place of kubernetes_sd_configs
    targets/STEM.json    its targets on this node
    tls/NAME             certificates and keys that it reads

Credentials stand in a job itself, so that they come and go with it.
"""

import re
from collections.abc import Iterable, Iterator, Mapping
from hashlib import sha256
from typing import Any, ClassVar, Final

from msgspec import Struct

from stoker.generate.block import Block, Constant, text_of
from stoker.generate.draft import ScraperDraft
from stoker.limits import Limits
from stoker.select.assets import Assets, Reference, source_of
from stoker.select.workload import Scraper

PORTION: Final = "/etc/prometheus/config_out/portion"
"""Where a pod keeps the portion of its node."""

JOB_FILES: Final = f"{PORTION}/jobs/*.yaml"

_HEAD: Final = "scrape_configs:\n"
_DISCOVERY: Final = "kubernetes_sd_configs"
# Prometheus adds it to whatever it finds in files; no discovery in Kubernetes would.
_FORGET_FILE: Final = Constant({"action": "labeldrop", "regex": "__meta_filepath"})

_NOT_IN_STEM: Final = re.compile(r"[^A-Za-z0-9._-]+")
_READABLE: Final = 120
_DIGEST: Final = 12


class NodeJob(Struct, frozen=True):
    """A job that goes to the nodes where it has targets.

    name    its `job_name`
    stem    what the names of its files begin with
    text    of `jobs/STEM.yaml`
    block   the job with its discovery in Kubernetes, and nothing about a node
    files   the names of the certificates and keys that it reads, as far as they are there
    """

    name: str
    stem: str
    text: str
    block: Mapping[str, Any]
    files: tuple[str, ...] = ()

    @property
    def item(self) -> str:
        """The text as an item of a list of jobs."""
        return self.text.removeprefix(_HEAD)


class NodeDraft(ScraperDraft):
    """What is written for a job whose files come with a portion.

    texts   the files that were referred to, as far as they are there
    """

    directory: ClassVar[str] = f"{PORTION}/tls"

    def __init__(
        self, scraper: Scraper, assets: Assets, namespace: str, limits: Limits | None = None
    ) -> None:
        super().__init__(scraper, assets, namespace, limits)
        self.texts: dict[str, str] = {}

    def file(self, reference: Reference | None) -> str | None:
        """The path of a file, which is read for whoever gets the job."""
        source, text = source_of(reference, self.namespace), self.found(reference)
        if source is not None and isinstance(text, str):
            self.texts[source.file_name] = text
        return super().file(reference)


def node_jobs(jobs: Iterable[Block], draft: NodeDraft) -> Iterator[NodeJob]:
    """Each job, with the files that were referred to while it was made."""
    for job in jobs:
        made = _node_job(job, tuple(name for name in draft.files if name in draft.texts))
        draft.meter.spend(draft.counted_as, len(made.text))
        draft.files.clear()
        yield made


def _node_job(block: Block, files: tuple[str, ...]) -> NodeJob:
    name = block["job_name"]
    stem = stem_of(name)
    return NodeJob(name, stem, _HEAD + text_of([_given(block, stem)]), block, files)


def stem_of(name: str) -> str:
    """What the names of a job's files begin with: readable, and no other job's."""
    readable = _NOT_IN_STEM.sub("_", name)[:_READABLE].lstrip(".-") or "job"
    digest = sha256(name.encode("utf-8", "surrogatepass")).hexdigest()[:_DIGEST]
    return f"{readable}-{digest}"


def _given(block: Block, stem: str) -> Block:
    """The job with its targets from a file, and otherwise as it was."""
    found = [{"files": [f"{PORTION}/targets/{stem}.json"]}]
    given = {
        "file_sd_configs" if name == _DISCOVERY else name: found if name == _DISCOVERY else value
        for name, value in block.items()
    }
    return given | {"relabel_configs": [_FORGET_FILE, *block["relabel_configs"]]}
