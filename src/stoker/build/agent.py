"""The StatefulSets of a Prometheus agent, or its DaemonSet."""

from collections.abc import Iterator
from typing import Final

from stoker.api.core import Object
from stoker.api.prometheus import DaemonSetSettings, HostPath, PrometheusAgentSpec
from stoker.api.workload import Argument
from stoker.build.arguments import agent_arguments, common_arguments
from stoker.build.hashing import INPUT_HASH
from stoker.build.meta import metadata
from stoker.build.names import daemon_set_name, object_labels, prefix_of, selector_labels
from stoker.build.paths import DATA
from stoker.build.plain import plain
from stoker.build.portions import check_server
from stoker.build.sets import WEB_CONFIG_SINCE, stateful_set_of, workload_data
from stoker.build.site import Site, TlsAssets
from stoker.build.storage import DataVolume
from stoker.build.template import PodPlan, check_version, pod_template, web_mount
from stoker.build.webconfig import Mount
from stoker.errors import WorkloadError
from stoker.select.workload import Scraper

_HOST_PATH: Final = "spec.daemonSet.storage.hostPath"


def stateful_set(  # noqa: PLR0913 - what the object depends on
    site: Site,
    shard: int,
    *,
    name: str | None = None,
    tls_assets: TlsAssets,
    input_hash: str = "",
    config_files: int = 1,
) -> Object:
    """The StatefulSet of a shard of an agent.

    `config_files`: over how many Secrets the configuration goes. WorkloadError where the user's
    settings make none.
    """
    scraper = site.scraper
    check_version(scraper)
    web = web_mount(scraper) if scraper.version >= WEB_CONFIG_SINCE else None
    plan = PodPlan(
        site=site,
        shard=shard,
        tls_assets=tls_assets,
        arguments=tuple(_arguments(scraper, web)),
        web=web,
        reloader_web=scraper.spec.web is not None,
        data=workload_data(site),
        config_files=config_files,
    )
    return stateful_set_of(plan, shard, name, input_hash)


def daemon_set(
    site: Site, *, tls_assets: TlsAssets, input_hash: str = "", config_files: int = 1
) -> Object:
    """The DaemonSet of an agent that runs on every node.

    WorkloadError where the user's settings make none.
    """
    scraper = site.scraper
    check_version(scraper)
    check_server(site)
    web = web_mount(scraper)
    plan = PodPlan(
        site=site,
        shard=None,
        tls_assets=tls_assets,
        arguments=tuple(_arguments(scraper, web)),
        web=web,
        reloader_web=True,
        data=_data_on_node(scraper, _settings(site)),
        config_files=config_files,
    )
    return {
        "apiVersion": "apps/v1",
        "kind": "DaemonSet",
        "metadata": metadata(
            site.workload,
            site.settings,
            daemon_set_name(scraper),
            labels=object_labels(scraper, None),
            annotations={INPUT_HASH: input_hash} if input_hash else {},
            inherit=True,
        ),
        "spec": _daemon_set_spec(plan, _settings(site)),
    }


def _settings(site: Site) -> DaemonSetSettings:
    spec = site.workload.spec
    if not isinstance(spec, PrometheusAgentSpec):
        raise TypeError("only a PrometheusAgent runs on every node")
    return spec.daemon_set or DaemonSetSettings()


def _arguments(scraper: Scraper, web: Mount | None) -> Iterator[Argument]:
    yield from common_arguments(scraper)
    yield from agent_arguments(scraper)
    if web:
        yield web.argument


def _daemon_set_spec(plan: PodPlan, settings: DaemonSetSettings) -> Object:
    scraper = plan.site.scraper
    given = settings.min_ready_seconds
    ready = scraper.spec.min_ready_seconds if given is None else given
    made: Object = {
        "selector": {"matchLabels": selector_labels(scraper, None, plan.site.settings.labels)},
        "template": pod_template(plan),
        "updateStrategy": _update_strategy(settings),
        "minReadySeconds": ready or None,
    }
    return {member: value for member, value in made.items() if value is not None}


_NO_SURGE: Final = (0, "0%", "00%")


def _update_strategy(settings: DaemonSetSettings) -> Object | None:
    """How pods are replaced; with `maxSurge`, Kubernetes wants no node to be without an agent."""
    strategy: Object | None = plain(settings.update_strategy)
    pace = (strategy or {}).get("rollingUpdate") or {}
    if pace.get("maxSurge", 0) not in _NO_SURGE:
        pace.setdefault("maxUnavailable", 0)
    return strategy


def _data_on_node(scraper: Scraper, settings: DaemonSetSettings) -> DataVolume | None:
    """The write-ahead log on the node, where it outlives the pod.

    Each agent has a directory of its own: two that shared a log would destroy it.
    """
    host_path = settings.storage.host_path if settings.storage else None
    if host_path is None:
        return None
    name = f"{prefix_of(scraper)}-db"
    mount = {
        "name": name,
        "mountPath": DATA,
        "subPath": f"{scraper.namespace}/{scraper.name}",
    }
    volume = {
        "name": name,
        "hostPath": {
            "path": _directory(host_path),
            "type": host_path.type or "DirectoryOrCreate",
        },
    }
    return DataVolume(mount, (volume,))


def _directory(host_path: HostPath) -> str:
    path = host_path.path
    if not path.startswith("/") or ".." in path.split("/"):
        reason = f"`{path}` is not an absolute path without `..`"
        raise WorkloadError(f"{_HOST_PATH}.path", reason)
    return path
