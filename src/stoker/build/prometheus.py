"""The StatefulSet of a Prometheus server, one for each shard."""

from collections.abc import Iterator, Sequence
from typing import Final

from stoker.api.core import Object
from stoker.api.prometheus import PrometheusSpec
from stoker.api.workload import Argument
from stoker.build.arguments import common_arguments, server_arguments
from stoker.build.sets import WEB_CONFIG_SINCE, stateful_set_of, workload_data
from stoker.build.site import Site, TlsAssets
from stoker.build.template import PodPlan, check_version, web_mount
from stoker.build.thanos import merging_arguments, sidecar_of
from stoker.build.webconfig import Mount
from stoker.select.workload import Scraper
from stoker.version import parse_version

# From here on the configuration says it.
_GARBAGE_COLLECTION_CONFIGURED: Final = parse_version("2.53.0")


def stateful_set(  # noqa: PLR0913 - what the object depends on
    site: Site,
    shard: int,
    *,
    name: str | None = None,
    rule_config_maps: Sequence[str] = (),
    tls_assets: TlsAssets,
    input_hash: str = "",
    config_files: int = 1,
) -> Object:
    """The StatefulSet of a shard of a server.

    `config_files`: over how many Secrets the configuration goes. WorkloadError where the user's
    settings make none.
    """
    scraper = site.scraper
    check_version(scraper)
    spec = _server_spec(site)
    web = web_mount(scraper) if scraper.version >= WEB_CONFIG_SINCE else None
    data = workload_data(site)
    plan = PodPlan(
        site=site,
        shard=shard,
        tls_assets=tls_assets,
        arguments=tuple(_arguments(scraper, spec, web)),
        web=web,
        reloader_web=spec.web is not None,
        data=data,
        rules=tuple(rule_config_maps),
        environment=tuple(_environment(scraper)),
        sidecar=sidecar_of(site, spec, data.mount),
        config_files=config_files,
    )
    return stateful_set_of(plan, shard, name, input_hash)


def _server_spec(site: Site) -> PrometheusSpec:
    spec = site.workload.spec
    if not isinstance(spec, PrometheusSpec):
        raise TypeError("only a Prometheus has a server")
    return spec


def _arguments(scraper: Scraper, spec: PrometheusSpec, web: Mount | None) -> Iterator[Argument]:
    yield from common_arguments(scraper)
    yield from server_arguments(scraper)
    if web:
        yield web.argument
    yield from merging_arguments(spec, scraper.version)


def _environment(scraper: Scraper) -> Iterator[Object]:
    runtime = scraper.spec.runtime
    percent = runtime.go_gc if runtime else None
    if percent is not None and scraper.version < _GARBAGE_COLLECTION_CONFIGURED:
        yield {"name": "GOGC", "value": str(percent)}
