"""All objects of an Alertmanager or a ThanosRuler, in the order in which they are written.

What pods mount comes before the pods.
"""

from collections.abc import Mapping, Sequence
from functools import partial
from typing import Final

from msgspec import Struct

from stoker.api.alertmanager import Alertmanager
from stoker.api.core import Object
from stoker.api.thanosruler import ThanosRuler
from stoker.build.alerting import alertmanager, thanosruler
from stoker.build.alerting.clustertls import CLUSTER_TLS_FILE
from stoker.build.alerting.names import (
    cluster_tls_name,
    config_secret_name,
    prefix_of,
    tls_assets_name,
    web_config_name,
)
from stoker.build.alerting.paths import CLUSTER_TLS, WEB_CONFIG
from stoker.build.alerting.site import AlertSite
from stoker.build.hashing import with_hash
from stoker.build.meta import owner_reference
from stoker.build.remembered import Built, Pieces
from stoker.build.secrets import secret, sharded
from stoker.build.services import service_of
from stoker.build.site import TlsAssets
from stoker.build.webconfig import WEB_CONFIG_FILE
from stoker.errors import WorkloadError
from stoker.generate.clustertls import cluster_tls_text
from stoker.generate.rules import (
    MOUNTED_BY_RULER,
    config_map,
    config_map_name,
    names_to_mount,
)
from stoker.generate.thanosruler import REMOTE_WRITE_FILE
from stoker.generate.webconfig import web_config_text
from stoker.settings import ObjectSettings
from stoker.validate.findings import Findings
from stoker.validate.http import tls_settings
from stoker.validate.workload import web_tls

RULES_OF: Final = "thanos-ruler-name"
"""The label of a ConfigMap with rules that says whose they are."""


class AlertmanagerContents(Struct, frozen=True, kw_only=True):
    """What the objects of an Alertmanager carry.

    `config_files`: the compressed configuration under its key, and what lies beside it in the
    user's own Secret. `asset_files`: the files behind references.
    """

    config_files: Mapping[str, str | bytes]
    asset_files: Mapping[str, str]


class RulerContents(Struct, frozen=True, kw_only=True):
    """What the objects of a ThanosRuler carry.

    `remote_write`: the text of that file. `asset_files`: the files behind references.
    `rule_files`: those of each ConfigMap with rules.
    """

    remote_write: str
    asset_files: Mapping[str, str]
    rule_files: Sequence[Mapping[str, str]] = ()


def alertmanager_objects(
    workload: Alertmanager,
    settings: ObjectSettings,
    contents: AlertmanagerContents,
    built: Built | None = None,
) -> list[Object]:
    """The objects; WorkloadError where the workload asks for what cannot be built."""
    site = AlertSite(workload, settings)
    name, files = config_secret_name(site), contents.config_files
    pieces = Pieces(built, site.namespace, (workload, settings))
    pieces.add_fresh([secret(workload, settings, name, files)])
    portions = _add_listening(pieces, site, contents.asset_files, WEB_CONFIG)
    pieces.add("cluster", (), lambda: [_cluster_secret(site, workload)])
    pieces.add("service", (), lambda: _service(site))
    pieces.add("sets", (portions,), lambda: [_alertmanager_set(site, workload, portions)])
    return pieces.objects


def _cluster_secret(site: AlertSite, workload: Alertmanager) -> Object:
    """How members of a cluster talk to each other."""
    cluster = workload.spec.cluster_tls
    if cluster:
        _refuse(web_tls(cluster.server, "spec.clusterTLS.server"))
        _refuse(tls_settings(cluster.client, "spec.clusterTLS.client"))
    text = cluster_tls_text(cluster, CLUSTER_TLS, site.version)
    return secret(workload, site.settings, cluster_tls_name(site), {CLUSTER_TLS_FILE: text})


def _alertmanager_set(site: AlertSite, workload: Alertmanager, portions: int) -> Object:
    assets = TlsAssets(tls_assets_name(site), portions)
    return with_hash(alertmanager.stateful_set(workload, site.settings, tls_assets=assets))


def ruler_objects(
    workload: ThanosRuler,
    settings: ObjectSettings,
    contents: RulerContents,
    built: Built | None = None,
) -> list[Object]:
    """The objects; WorkloadError where the workload asks for what cannot be built."""
    site = AlertSite(workload, settings)
    text = contents.remote_write
    pieces = Pieces(built, site.namespace, (workload, settings))
    for number, files in enumerate(contents.rule_files):
        pieces.add(f"rules {number}", (files,), partial(_rule_map, site, number, files))
    pieces.add("configuration", (text,), lambda: [ruler_config_secret(site, text)])
    portions = _add_listening(pieces, site, contents.asset_files, thanosruler.WEB_CONFIG)
    pieces.add("service", (), lambda: _service(site))
    mounted = (len(contents.rule_files), portions)
    pieces.add("sets", mounted, lambda: [_ruler_set(site, workload, *mounted)])
    return pieces.objects


def _ruler_set(site: AlertSite, workload: ThanosRuler, rule_maps: int, portions: int) -> Object:
    names = names_to_mount(prefix_of(site), rule_maps, MOUNTED_BY_RULER)
    assets = TlsAssets(tls_assets_name(site), portions)
    made = thanosruler.stateful_set(
        workload, site.settings, rule_config_maps=names, tls_assets=assets
    )
    return with_hash(made)


def ruler_config_secret(site: AlertSite, remote_write: str) -> Object:
    """The Secret that says where a ThanosRuler sends its results. It has no controller."""
    made = secret(
        site.workload, site.settings, config_secret_name(site), {REMOTE_WRITE_FILE: remote_write}
    )
    owners = [owner_reference(site.workload, sole=False)]
    return made | {"metadata": made["metadata"] | {"ownerReferences": owners}}


def _add_listening(
    pieces: Pieces, site: AlertSite, files: Mapping[str, str], directory: str
) -> int:
    """Add the Secrets with the files behind references, and the one for the web server.

    How many of the former there are.
    """
    name = tls_assets_name(site)
    portions = pieces.add(
        "assets", (files,), lambda: sharded(site.workload, site.settings, name, files)
    )
    pieces.add("web", (), lambda: [_web_secret(site, directory)])
    return portions


def _web_secret(site: AlertSite, directory: str) -> Object:
    web = site.spec.web
    _refuse(web_tls(web.tls_config if web else None, "spec.web.tlsConfig"))
    data = {WEB_CONFIG_FILE: web_config_text(web, directory)}
    return secret(site.workload, site.settings, web_config_name(site), data)


def _rule_map(site: AlertSite, number: int, files: Mapping[str, str]) -> list[Object]:
    made = config_map(config_map_name(prefix_of(site), number), {RULES_OF: site.name}, files)
    owners = [owner_reference(site.workload)]
    return [made | {"metadata": made["metadata"] | {"ownerReferences": owners}}]


def _service(site: AlertSite) -> list[Object]:
    """The Service for the pods' names, unless the user has one of their own."""
    spec = site.spec
    if spec.service_name:
        return []
    return [service_of(site.program.service, site.workload, site.settings, spec.port_name)]


def _refuse(findings: Findings) -> None:
    """WorkloadError for the first thing that is wrong."""
    for finding in findings:
        raise WorkloadError(finding.path, finding.message)
