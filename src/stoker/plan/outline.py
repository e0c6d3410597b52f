"""What is known of a workload before anything is made of it: names, labels, numbers."""

from typing import Final

from msgspec import Struct

from stoker.api.alertmanager import Alertmanager
from stoker.api.core import Object
from stoker.api.thanosruler import ThanosRuler
from stoker.build import names
from stoker.build.alerting import names as alertnames
from stoker.build.alerting.site import AlertSite
from stoker.build.objects import MOST_SHARDS
from stoker.build.services import governing_service, service_of
from stoker.build.sets import replicas_of
from stoker.generate.sharding import shard_count
from stoker.select.workload import AnyPrometheus, Scraper, scraper_of
from stoker.settings import Capabilities, ObjectSettings
from stoker.status.workload import DAEMON_SET, PodSet, Scale

_FIRST_SHARD: Final = 0


class Outline(Struct, frozen=True, kw_only=True):
    """A workload from outside.

    `parts`: what should run its pods, none of it looked up yet. `pods`: the selector of all its
    pods. `labels`: those by which a StatefulSet of it, the first, knows its pods. `scale`: what
    autoscalers read, None for a kind that they do not know. `service`: the one that it shares with
    others of its kind, None if it has none or one of its own. `rules`: what the names of its
    ConfigMaps with rules begin with, empty if it has none. `configuration`: the name of the Secret.
    """

    namespace: str
    parts: tuple[PodSet, ...]
    pods: str
    labels: dict[str, str]
    scale: Scale | None
    service: Object | None
    rules: str
    configuration: str

    @property
    def is_daemon_set(self) -> bool:
        """Whether there is a pod on every node, and none has a name or storage of its own."""
        return any(part.kind == DAEMON_SET for part in self.parts)


def scraper_outline(
    prometheus: AnyPrometheus, capabilities: Capabilities, settings: ObjectSettings
) -> Outline:
    """The outline of a Prometheus or PrometheusAgent."""
    scraper = scraper_of(prometheus, capabilities)
    pods = _selector(names.selector_labels(scraper, None))
    return Outline(
        namespace=scraper.namespace,
        parts=_scraper_parts(scraper),
        pods=pods,
        labels=names.selector_labels(scraper, _FIRST_SHARD, settings.labels),
        scale=Scale(pods, None if scraper.daemon_set else shard_count(scraper)),
        service=scraper_service(prometheus, capabilities, settings),
        rules="" if scraper.agent else names.prefix_of(scraper),
        configuration=names.config_secret_name(scraper),
    )


def scraper_service(
    prometheus: AnyPrometheus, capabilities: Capabilities, settings: ObjectSettings
) -> Object | None:
    """The Service that a Prometheus or PrometheusAgent shares with others."""
    scraper = scraper_of(prometheus, capabilities)
    shared = not scraper.daemon_set and not scraper.spec.service_name
    return governing_service(prometheus, scraper, settings) if shared else None


def _scraper_parts(scraper: Scraper) -> tuple[PodSet, ...]:
    if scraper.daemon_set:
        return (PodSet(name=names.daemon_set_name(scraper), kind=DAEMON_SET, found=None),)
    # More than these are refused, and nobody waits for a list of them.
    shards = range(min(shard_count(scraper), MOST_SHARDS))
    return tuple(
        PodSet(
            name=names.stateful_set_name(scraper, shard),
            found=None,
            replicas=replicas_of(scraper.spec),
            shard=str(shard),
        )
        for shard in shards
    )


def alertmanager_outline(
    workload: Alertmanager, _: Capabilities, settings: ObjectSettings
) -> Outline:
    """The outline of an Alertmanager."""
    site = AlertSite(workload, settings)
    return _alert_outline(site, Scale(_selector(alertnames.own_labels(site))), rules="")


def ruler_outline(workload: ThanosRuler, _: Capabilities, settings: ObjectSettings) -> Outline:
    """The outline of a ThanosRuler."""
    site = AlertSite(workload, settings)
    return _alert_outline(site, None, rules=alertnames.prefix_of(site))


def _alert_outline(site: AlertSite, scale: Scale | None, *, rules: str) -> Outline:
    spec = site.spec
    part = PodSet(name=alertnames.prefix_of(site), found=None, replicas=replicas_of(spec))
    return Outline(
        namespace=site.namespace,
        parts=(part,),
        pods=_selector(alertnames.own_labels(site)),
        labels=alertnames.selector_labels(site),
        scale=scale,
        service=_alert_service(site),
        rules=rules,
        configuration=alertnames.config_secret_name(site),
    )


def alertmanager_service(
    workload: Alertmanager, _: Capabilities, settings: ObjectSettings
) -> Object | None:
    """The Service that an Alertmanager shares with others."""
    return _alert_service(AlertSite(workload, settings))


def ruler_service(
    workload: ThanosRuler, _: Capabilities, settings: ObjectSettings
) -> Object | None:
    """The Service that a ThanosRuler shares with others."""
    return _alert_service(AlertSite(workload, settings))


def _alert_service(site: AlertSite) -> Object | None:
    if site.spec.service_name:
        return None
    return service_of(site.program.service, site.workload, site.settings, site.spec.port_name)


def _selector(labels: dict[str, str]) -> str:
    return ",".join(f"{name}={value}" for name, value in sorted(labels.items()))
