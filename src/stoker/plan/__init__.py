"""What becomes of a workload: the same answer for the operator, `render` and everybody else.

Facts, workload, Existing ──select──> validate ──> generate ──> build ──> Plan

plan.py                               the decision: one function, and what it answers
custody.py                            whether a workload is ours
existing.py                           what a workload has already
kept.py                               what is kept of a workload, whatever its kind
scraper.py alertmanager.py ruler.py   the kinds;  kinds.py  the table of them
outline.py                            what is known of a workload beforehand
nodes.py                              what an agent on nodes asks of nodes
switching.py old_mode.py              the change of an agent's mode, and its old pods
"""

from stoker.generate.fragments import OWN
from stoker.plan.alertmanager import KeptAlertmanager
from stoker.plan.existing import Existing
from stoker.plan.kept import FullVerdict, Kept
from stoker.plan.kinds import kept_of, objects_for, outline_of, shared_service_of
from stoker.plan.outline import Outline
from stoker.plan.plan import Facts, Memory, Plan, in_sight, plan, stand_ins_of_plan
from stoker.plan.ruler import KeptRuler
from stoker.plan.scraper import KeptScraper

__all__ = [
    "OWN",
    "Existing",
    "Facts",
    "FullVerdict",
    "Kept",
    "KeptAlertmanager",
    "KeptRuler",
    "KeptScraper",
    "Memory",
    "Outline",
    "Plan",
    "in_sight",
    "kept_of",
    "objects_for",
    "outline_of",
    "plan",
    "shared_service_of",
    "stand_ins_of_plan",
]
