"""All objects of a Prometheus or PrometheusAgent, in the order in which they are written.

What pods mount comes before the pods, and of a configuration over several Secrets the further
files before the main one that names them.
"""

from collections.abc import Iterator, Mapping, Sequence
from functools import partial
from typing import Final

from msgspec import Struct

from stoker.api.core import Object
from stoker.api.prometheus import PrometheusSpec
from stoker.build import agent, prometheus
from stoker.build.hashing import with_hash
from stoker.build.meta import owner_reference
from stoker.build.names import prefix_of, thanos_http_client_name, tls_assets_name
from stoker.build.paths import WEB_CONFIG
from stoker.build.remembered import Built, Pieces
from stoker.build.secrets import (
    config_secrets,
    secret,
    tls_asset_secrets,
    web_config_secret,
)
from stoker.build.services import governing_service
from stoker.build.site import Site, TlsAssets
from stoker.build.thanos import HTTP_CLIENT_FILE, HTTP_CLIENT_TEXT
from stoker.errors import WorkloadError
from stoker.generate.nodejobs import NodeJob
from stoker.generate.rules import (
    MOUNTED_BY_PROMETHEUS,
    config_map,
    config_map_name,
    names_to_mount,
)
from stoker.generate.sharding import shard_count
from stoker.generate.webconfig import web_config_text
from stoker.ref import Ref

MOST_SHARDS: Final = 2000
"""How many shards a workload may have: a slip of the finger must not occupy the operator."""

_RULES_OF = "prometheus-name"


class Contents(Struct, frozen=True, kw_only=True):
    """What the objects of a workload carry.

    `config_files`: the compressed configuration; none if that is the user's own. `asset_files`:
    the files behind references. `rule_files`: those of each ConfigMap with rules, for a server.
    `node_jobs`: where each node gets a portion, what there is to choose from, by resource;
    `node_files`: the files that those jobs read, by name.
    """

    config_files: Mapping[str, bytes]
    asset_files: Mapping[str, str]
    rule_files: Sequence[Mapping[str, str]] = ()
    node_jobs: Mapping[Ref, tuple[NodeJob, ...]] = {}
    node_files: Mapping[str, str] = {}


def objects_of(site: Site, contents: Contents, built: Built | None = None) -> list[Object]:
    """The objects; WorkloadError where the workload asks for what cannot be built."""
    workload, scraper, settings = site.workload, site.scraper, site.settings
    pieces = Pieces(built, scraper.namespace, (workload, scraper.capabilities, settings))
    for number, files in enumerate(contents.rule_files):
        pieces.add(f"rules {number}", (files,), partial(_rules, site, number, files))
    assets = contents.asset_files
    portions = pieces.add(
        "assets", (assets,), lambda: tls_asset_secrets(workload, scraper, settings, assets)
    )
    pieces.add("fixed", (), lambda: _fixed(site))
    # As large as all others together.
    pieces.add_fresh(reversed(config_secrets(workload, scraper, settings, contents.config_files)))
    if not scraper.spec.service_name and not scraper.daemon_set:
        pieces.add("service", (), lambda: [governing_service(workload, scraper, settings)])
    mounted = (portions, len(contents.config_files), len(contents.rule_files))
    pieces.add("sets", mounted, lambda: _running(site, *mounted))
    return pieces.objects


def _rules(site: Site, number: int, files: Mapping[str, str]) -> Iterator[Object]:
    scraper = site.scraper
    name = config_map_name(prefix_of(scraper), number)
    made = config_map(name, {_RULES_OF: scraper.name}, files)
    owners = {"ownerReferences": [owner_reference(site.workload)]}
    yield made | {"metadata": made["metadata"] | owners}


def _fixed(site: Site) -> Iterator[Object]:
    """What pods mount that the workload alone decides."""
    workload, scraper, settings = site.workload, site.scraper, site.settings
    yield web_config_secret(
        workload, scraper, settings, web_config_text(scraper.spec.web, WEB_CONFIG)
    )
    if isinstance(scraper.spec, PrometheusSpec):
        # Without a sidecar, too, as prometheus-operator does: nothing comes or goes with one.
        data = {HTTP_CLIENT_FILE: HTTP_CLIENT_TEXT}
        yield secret(workload, settings, thanos_http_client_name(scraper), data)


def _running(site: Site, portions: int, config_files: int, rule_maps: int) -> Iterator[Object]:
    """What runs pods that mount so many Secrets with files, with configuration, and ConfigMaps."""
    assets = TlsAssets(tls_assets_name(site.scraper), portions)
    files = max(config_files, 1)
    if site.scraper.daemon_set:
        yield with_hash(agent.daemon_set(site, tls_assets=assets, config_files=files))
        return
    for shard in range(_shards(site)):
        if site.scraper.agent:
            made = agent.stateful_set(site, shard, tls_assets=assets, config_files=files)
        else:
            rules = names_to_mount(prefix_of(site.scraper), rule_maps, MOUNTED_BY_PROMETHEUS)
            made = prometheus.stateful_set(
                site, shard, rule_config_maps=rules, tls_assets=assets, config_files=files
            )
        yield with_hash(made)


def _shards(site: Site) -> int:
    count = shard_count(site.scraper)
    if count > MOST_SHARDS:
        raise WorkloadError("spec.shards", f"{count} are too many: at most {MOST_SHARDS}")
    return count
