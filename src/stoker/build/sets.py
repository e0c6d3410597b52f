"""StatefulSets: those of Prometheus, for servers and agents alike, and what all kinds share."""

from collections.abc import Mapping
from typing import Final

from stoker.api.core import Object
from stoker.api.prometheus_common import PrometheusCommonSpec
from stoker.api.workload import WorkloadSpec
from stoker.build.hashing import INPUT_HASH
from stoker.build.meta import metadata
from stoker.build.names import (
    governing_service_name,
    object_labels,
    selector_labels,
    stateful_set_name,
    volume_claim_name,
)
from stoker.build.paths import DATA, DATA_SUB_PATH
from stoker.build.plain import plain
from stoker.build.site import Site
from stoker.build.storage import DataVolume, claim_retention, data_volume
from stoker.build.template import PodPlan, pod_template
from stoker.version import parse_version

# The first version with a setting for how its web server listens.
WEB_CONFIG_SINCE: Final = parse_version("2.24.0")


def workload_data(site: Site) -> DataVolume:
    """Where a pod of a StatefulSet keeps its data."""
    scraper = site.scraper
    name = volume_claim_name(scraper)
    return data_volume(scraper.spec.storage, name, DATA, DATA_SUB_PATH)


def stateful_set_of(plan: PodPlan, shard: int, name: str | None, input_hash: str) -> Object:
    """The StatefulSet of a shard, with these pods."""
    site, scraper = plan.site, plan.site.scraper
    return {
        "apiVersion": "apps/v1",
        "kind": "StatefulSet",
        "metadata": metadata(
            site.workload,
            site.settings,
            name or stateful_set_name(scraper, shard),
            labels=object_labels(scraper, shard),
            annotations={INPUT_HASH: input_hash},
            inherit=True,
        ),
        "spec": _spec(plan, shard),
    }


def _spec(plan: PodPlan, shard: int) -> Object:
    scraper = plan.site.scraper
    return stateful_set_spec(
        scraper.spec,
        service=governing_service_name(scraper),
        selected=selector_labels(scraper, shard, plan.site.settings.labels),
        template=pod_template(plan),
        data=plan.data,
    )


def stateful_set_spec(
    spec: WorkloadSpec,
    *,
    service: str,
    selected: Mapping[str, str],
    template: Object,
    data: DataVolume | None,
) -> Object:
    """The spec of a StatefulSet of any kind of workload; `selected`: the labels of its pods."""
    made: Object = {
        "serviceName": service,
        "replicas": replicas_of(spec),
        "podManagementPolicy": spec.pod_management_policy or "Parallel",
        "updateStrategy": plain(spec.update_strategy) or {"type": "RollingUpdate"},
        "minReadySeconds": spec.min_ready_seconds or None,
        "selector": {"matchLabels": dict(selected)},
        "template": template,
        "volumeClaimTemplates": list(data.claims) if data else None,
        "persistentVolumeClaimRetentionPolicy": claim_retention(
            getattr(spec, "persistent_volume_claim_retention_policy", None)
        ),
    }
    return {member: value for member, value in made.items() if value not in (None, [])}


def replicas_of(spec: WorkloadSpec) -> int:
    """How many pods a StatefulSet has.

    Fewer than none are one of Prometheus, and none of the others, as with prometheus-operator.
    """
    least = 1 if isinstance(spec, PrometheusCommonSpec) else 0
    if spec.replicas is None:
        return 1
    return least if spec.replicas < 0 else spec.replicas
