"""What the operator holds against a workload by itself, whatever there is beside it.

An API server takes such a workload, so the definitions say nothing; whether its Secrets exist is a
question about more than one manifest.
"""

from collections.abc import Iterator
from typing import Any, Final

from stoker.api.alertmanager import Alertmanager
from stoker.api.prometheus import Prometheus, PrometheusAgent
from stoker.api.thanosruler import ThanosRuler
from stoker.build.alerting.objects import AlertmanagerContents, RulerContents
from stoker.build.alerting.site import AlertSite
from stoker.build.objects import Contents
from stoker.errors import WorkloadError
from stoker.plan import objects_for
from stoker.plan.plan import with_few_shards
from stoker.select.workload import AnyPrometheus, Workload, scraper_of
from stoker.settings import SOME_OPERATOR, capabilities_with
from stoker.validate.features import alertmanager_notes, scraper_notes
from stoker.validate.findings import Finding

_SETTINGS: Final = SOME_OPERATOR
_CAPABILITIES: Final = capabilities_with(_SETTINGS)
# What is made of a workload that carries nothing: whether it can be is the same.
_EMPTY: Final[dict[type, Any]] = {
    **dict.fromkeys((Prometheus, PrometheusAgent), Contents(config_files={}, asset_files={})),
    Alertmanager: AlertmanagerContents(config_files={}, asset_files={}),
    ThanosRuler: RulerContents(remote_write="", asset_files={}),
}


def why_not_built(workload: Workload) -> WorkloadError | None:
    """What keeps the operator from making anything of a workload, if it shows in it alone."""
    try:
        objects_for(
            with_few_shards(workload), _CAPABILITIES, _SETTINGS.objects, _EMPTY[type(workload)]
        )
    except WorkloadError as error:
        return error
    return None


def doubts(workload: Workload) -> Iterator[str]:
    """What to tell whoever writes a workload: that nothing can be made of it, or what is odd."""
    error = why_not_built(workload)
    if error:
        yield f"the operator can make nothing of it: {error}"
        return
    yield from map(str, notes_on(workload))


def notes_on(workload: Workload) -> Iterator[Finding]:
    """What is odd about a workload that can be built."""
    if isinstance(workload, AnyPrometheus):
        yield from scraper_notes(workload.spec, scraper_of(workload, _CAPABILITIES).version)
    if isinstance(workload, Alertmanager):
        version = AlertSite(workload, _SETTINGS.objects).version
        yield from alertmanager_notes(workload.spec.enable_features or (), version)
