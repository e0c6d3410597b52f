"""Whether a tenant can have the last word on an enforced namespace label.

Steps run in their order, so it is enough to look at those that follow the enforced one: none of
them may write the label, take labels away, or give names that a text of the tenant's makes up.
"""

from collections.abc import Iterator
from typing import Any, Final

from tests.fuzz.world import LABEL, World

_ON_NAMES: Final = ("labelmap", "labeldrop", "labelkeep")


def tampered_jobs(world: World, configuration: dict[str, Any]) -> Iterator[str]:
    """The jobs whose label is not the namespace of their resource, whatever the resource says."""
    if world.workload["spec"].get("enforcedNamespaceLabel") != LABEL:
        return
    for job in configuration["scrape_configs"]:
        enforced = {"target_label": LABEL, "replacement": job["job_name"].split("/")[1]}
        for member in ("relabel_configs", "metric_relabel_configs"):
            if not safe(job.get(member) or [], enforced):
                yield f"{job['job_name']}: {member}"


def safe(steps: list[dict[str, Any]], enforced: dict[str, Any]) -> bool:
    """Whether the enforced step is there and nothing after it touches its label."""
    if enforced not in steps:
        return False
    last = len(steps) - 1 - steps[::-1].index(enforced)
    return not any(_writes(step, enforced["target_label"]) for step in steps[last + 1 :])


def _writes(step: dict[str, Any], label: str) -> bool:
    target = step.get("target_label", "")
    return step.get("action") in _ON_NAMES or target == label or "$" in target
