"""The targets of a Probe: a list, or the hosts and paths of Ingresses."""

from stoker.api.monitors import IngressTargets, Probe
from stoker.explain.answer import MatchedObject, PortMatch, Search
from stoker.explain.nearness import near_miss
from stoker.explain.places import everywhere, place_words, places, restricted
from stoker.explain.reach import Reach
from stoker.explain.services import with_matches
from stoker.select.labels import EVERYTHING, selector_of
from stoker.select.workload import Scraper
from stoker.targets.objects import Ingress
from stoker.view.view import View
from stoker.view.wording import selector_words


def probe_search(view: View, probe: Probe, scraper: Scraper, _reach: Reach | None = None) -> Search:
    """Where a workload finds the targets of a Probe; a list wins over Ingresses."""
    targets = probe.spec.targets
    if targets and targets.static_config:
        listed, path = targets.static_config.static or (), "spec.targets.staticConfig"
        problems = () if listed else (f"{path}.static: it lists nothing to probe",)
        return Search(workloads=(), looks_in=path, targets=len(listed), problems=problems)
    if targets and targets.ingress:
        return _ingresses(view, targets.ingress, probe.metadata.namespace or "", scraper)
    return Search(workloads=(), targets=0, problems=("spec.targets: nothing to probe",))


def _ingresses(view: View, wanted: IngressTargets, own: str, scraper: Scraper) -> Search:
    names = places(view, wanted.namespace_selector, own, scraper)
    found = everywhere(view.surroundings.ingresses, names)
    selector = selector_of(wanted.selector) if wanted.selector else EVERYTHING
    chosen = found.matching(selector, view.most)
    notes = restricted(wanted.namespace_selector, scraper)
    base = Search(workloads=(), looks_in=place_words(names), notes=notes)
    if view.is_too_many(chosen):
        return base
    if chosen:
        path = "spec.targets.ingress"
        return with_matches(
            base,
            tuple(
                MatchedObject(object=each.title, ports=(_port_match(each, path),))
                for each in chosen
            ),
        )
    if found.unknown:
        return Search(workloads=(), looks_in=base.looks_in, notes=(found.unknown, *notes))
    asked = selector_words(selector)
    problem = f"no Ingress in {base.looks_in} has what the selector asks for: {asked}"
    return Search(
        workloads=(),
        looks_in=base.looks_in,
        targets=0,
        problems=(problem + ("" if view.brief else near_miss(selector, found.items)),),
        notes=notes,
    )


def _port_match(ingress: Ingress, path: str) -> PortMatch:
    problem = "" if ingress.targets else f"{ingress.title} has no rules, so no host to probe"
    return PortMatch(path=path, port="hosts and paths", targets=ingress.targets, problem=problem)
