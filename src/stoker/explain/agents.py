"""The agents on nodes that are ready, as far as their pods are known."""

from collections.abc import Iterable

from stoker.build.names import daemon_set_name
from stoker.portions.agents import ReadyAgents
from stoker.portions.packed import packed
from stoker.select.workload import Scraper
from stoker.targets.objects import Pod
from stoker.view.objects import PodGroup


def ready_agents(groups: Iterable[PodGroup], scraper: Scraper) -> frozenset[str] | None:
    """The nodes whose agents take strays; None where there is no pod of the workload at all.

    `groups` are the pods of its namespace.
    """
    name = daemon_set_name(scraper)
    found = (each.made_of for each in groups)
    pods = [each for each in found if isinstance(each, Pod) and each.controller[1] == name]
    if not pods:
        return None
    ready = ReadyAgents()
    for each in pods:
        ready.changed(None, packed(each))
    return ready.on((scraper.namespace, name))
