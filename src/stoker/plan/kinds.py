"""The kinds of workload: what is different about each, as a table."""

from collections.abc import Callable, Iterable
from typing import Any, Final

from msgspec import Struct

from stoker.api.alertmanager import Alertmanager
from stoker.api.core import Object
from stoker.api.prometheus import Prometheus, PrometheusAgent
from stoker.api.thanosruler import ThanosRuler
from stoker.build.remembered import Built, essence_of
from stoker.build.services import shared_service
from stoker.generate.fragments import StandIns
from stoker.plan.alertmanager import KeptAlertmanager, objects_of_alertmanager
from stoker.plan.kept import Kept
from stoker.plan.outline import (
    Outline,
    alertmanager_outline,
    alertmanager_service,
    ruler_outline,
    ruler_service,
    scraper_outline,
    scraper_service,
)
from stoker.plan.ruler import KeptRuler, objects_of_ruler
from stoker.plan.scraper import KeptScraper, scraper_objects
from stoker.select.assets import WholeAssets
from stoker.select.workload import Workload
from stoker.settings import Capabilities, ObjectSettings


class _Kind(Struct, frozen=True):
    """What is kept of a workload, what objects it becomes, and what is known of it before.

    `service` is that of the outline, alone: each workload of a namespace asks for that of all.
    """

    keep: Callable[[Any, Capabilities, WholeAssets, StandIns | None], Kept]
    objects: Callable[[Any, Capabilities, ObjectSettings, Any, Built], list[Object]]
    outline: Callable[[Any, Capabilities, ObjectSettings], Outline]
    service: Callable[[Any, Capabilities, ObjectSettings], Object | None]


def _without_monitors(
    keep: Callable[[Any, Capabilities, WholeAssets], Kept],
) -> Callable[[Any, Capabilities, WholeAssets, StandIns | None], Kept]:
    """For a kind whose workloads scrape nothing, so that nothing can stand in."""
    return lambda workload, capabilities, assets, _: keep(workload, capabilities, assets)


_SCRAPER: Final = _Kind(KeptScraper, scraper_objects, scraper_outline, scraper_service)
_KINDS: Final[dict[type, _Kind]] = {
    Prometheus: _SCRAPER,
    PrometheusAgent: _SCRAPER,
    Alertmanager: _Kind(
        _without_monitors(KeptAlertmanager),
        objects_of_alertmanager,
        alertmanager_outline,
        alertmanager_service,
    ),
    ThanosRuler: _Kind(
        _without_monitors(KeptRuler), objects_of_ruler, ruler_outline, ruler_service
    ),
}


def kept_of(
    workload: Workload,
    capabilities: Capabilities,
    assets: WholeAssets,
    stand_ins: StandIns | None = None,
) -> Kept:
    """What is kept of a workload; WorkloadError where it cannot be read.

    `stand_ins` says which ScrapeConfigs are scraped in place of a monitor.
    """
    return _KINDS[type(workload)].keep(workload, capabilities, assets, stand_ins)


def objects_for(
    workload: Workload,
    capabilities: Capabilities,
    settings: ObjectSettings,
    contents: Any,
    built: Built | None = None,
) -> list[Object]:
    """The objects of a workload that carry these contents, in the order in which they are written.

    WorkloadError where it asks for what cannot be built. `built` are those of the last time.
    """
    essence = essence_of(workload)
    return _KINDS[type(workload)].objects(
        essence, capabilities, settings, contents, built or Built()
    )


def outline_of(workload: Workload, capabilities: Capabilities, settings: ObjectSettings) -> Outline:
    """What is known of a workload before anything is made of it."""
    return _KINDS[type(workload)].outline(workload, capabilities, settings)


def shared_service_of(
    workloads: Iterable[Workload], capabilities: Capabilities, settings: ObjectSettings
) -> Object:
    """The Service of workloads of one kind and namespace, of which one at least needs it."""
    oldest = sorted(workloads, key=_age)
    asked = (_KINDS[type(each)].service(each, capabilities, settings) for each in oldest)
    merged = shared_service([each for each in asked if each])
    namespace = oldest[0].metadata.namespace or ""
    return merged | {"metadata": merged["metadata"] | {"namespace": namespace}}


def _age(workload: Workload) -> tuple[str, str]:
    return workload.metadata.creation_timestamp or "", workload.metadata.name or ""
