"""What becomes of a workload: the same answer for the operator, `render` and everybody else.

    workload, candidates, values ──> select ──> validate ──> generate ──> Decision ──> objects

    kept.py                               what is kept of a workload, whatever its kind
    scraper.py alertmanager.py ruler.py   the kinds
    outline.py                            what can be told of a workload beforehand
    kinds.py                              the table of kinds

What is `Kept` of a workload is changed piece by piece, as the operator needs it. `decide` is the
same for everything at once, as a value: what was selected and what was rejected, what the
workload's version ignores, and what its objects carry, or the reason why there is nothing.
"""

from collections.abc import Iterable, Mapping
from typing import Any

from msgspec import Struct
from msgspec.structs import replace

from stoker.errors import WorkloadError
from stoker.generate.draft import Ignored
from stoker.generate.fragments import OWN, StandIns
from stoker.plan.alertmanager import KeptAlertmanager
from stoker.plan.existing import Existing
from stoker.plan.kept import Kept
from stoker.plan.kinds import kept_of, objects_for, outline_of, shared_service_of
from stoker.plan.outline import Outline
from stoker.plan.ruler import KeptRuler
from stoker.plan.scraper import KeptScraper
from stoker.ref import Ref, ref_of
from stoker.select.assets import WholeAssets
from stoker.select.choice import NamespaceLabels, Resource, choices, chosen
from stoker.select.workload import Workload
from stoker.settings import Capabilities
from stoker.validate.findings import Finding
from stoker.validate.verdicts import Verdict

__all__ = [
    "OWN",
    "Decision",
    "Existing",
    "Kept",
    "KeptAlertmanager",
    "KeptRuler",
    "KeptScraper",
    "Outline",
    "decide",
    "kept_of",
    "objects_for",
    "outline_of",
    "ref_of",
    "shared_service_of",
]


class Decision(Struct, frozen=True):
    """What becomes of a workload; with a `problem` there are no contents.

    `verdicts` are on the resources that apply to it, `unjudged` those that it could not come to.
    `ignored` are the fields that the version does not know, by resource; the workload's own are
    under `OWN`. `notes` are about a workload that runs, though hardly as it was meant. `text` is
    the configuration before it is compressed.
    """

    owner: Workload
    version: str = ""
    verdicts: tuple[Verdict, ...] = ()
    ignored: Mapping[Ref, tuple[Ignored, ...]] = {}
    text: str = ""
    contents: Any = None
    problem: str = ""
    notes: tuple[Finding, ...] = ()
    unjudged: tuple[Ref, ...] = ()


def decide(  # noqa: PLR0913 - what is decided, and all that it depends on
    owner: Workload,
    candidates: Iterable[Resource],
    namespaces: NamespaceLabels,
    assets: WholeAssets,
    capabilities: Capabilities,
    *,
    stand_ins: StandIns | None = None,
) -> Decision:
    """Select, validate and generate for one workload.

    `stand_ins` says which ScrapeConfigs are scraped in place of a monitor.
    """
    wanted = choices(owner)
    applicable = {ref_of(each): each for each in chosen(wanted, candidates, namespaces)}
    try:
        kept = kept_of(owner, capabilities, assets, stand_ins)
    except WorkloadError as error:
        return Decision(owner, problem=str(error), unjudged=tuple(applicable))
    kept.put_all(applicable, assets)
    verdicts = tuple(kept.verdicts[key] for key in applicable)
    found = Decision(owner, str(kept.version), verdicts, kept.ignored, notes=kept.notes)
    try:
        # In this order: the text names as many ConfigMaps with rules as there are.
        contents = kept.contents(assets)
        return replace(found, text=kept.text(), contents=contents)
    except WorkloadError as error:
        return replace(found, problem=str(error))
