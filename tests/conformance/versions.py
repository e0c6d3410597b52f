"""Replays the cases of ScrapeConfigs in the versions that were not recorded.

The recorded objects are v1alpha1. Here they are written as v1beta1 and as v1 before they are used,
and what comes out must be what was recorded, to the byte. Cases without a ScrapeConfig would show
nothing, and are not counted.
"""

from typing import Any, Final

from msgspec.structs import replace

from stoker.api.convert import converted
from stoker.api.crd import GROUP
from stoker.api.scrapeconfig import SCRAPE_CONFIG
from tests.conformance.cases import Case
from tests.conformance.compare import without_nulls
from tests.conformance.configuration import configuration_of_server
from tests.conformance.replay import Context, Outcome, Replay, replays
from tests.conformance.selection import selection

_MEMBERS: Final = ("objects", "scrapeConfigs")


def _has_scrape_configs(case: Case) -> bool:
    return any(case.given.get(member) for member in _MEMBERS)


def _written_as(version: str, replay: Replay) -> Replay:
    def replayed(case: Case, context: Context) -> Outcome:
        rewritten = {
            member: _rewritten(case.given[member], f"{GROUP}/{version}")
            for member in _MEMBERS
            if case.given.get(member)
        }
        return replay(replace(case, given=case.given | rewritten), context)

    return replayed


def _rewritten(objects: Any, api_version: str) -> Any:
    """Objects of a list or a map in another version; recorded ones do not say what they are."""
    if isinstance(objects, dict):
        return {key: _rewritten([one], api_version)[0] for key, one in objects.items()}
    own = {"apiVersion": f"{GROUP}/v1alpha1", "kind": "ScrapeConfig"}
    return [converted(without_nulls(one) | own, api_version).object for one in objects]


for _version in SCRAPE_CONFIG.versions:
    if _version.converted:
        _name = _version.name
        replays("selection-scrapeconfig", how=_name, concerns=_has_scrape_configs)(
            _written_as(_name, selection)
        )
        replays("prometheus-config", how=_name, concerns=_has_scrape_configs)(
            _written_as(_name, configuration_of_server)
        )
