"""All objects of an Alertmanager or a ThanosRuler, in the order in which they are written.

What pods mount comes before the pods.
"""

from collections.abc import Iterator, Mapping, Sequence
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
from stoker.build.secrets import secret, sharded, shards_of
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
    owner: Alertmanager, settings: ObjectSettings, contents: AlertmanagerContents
) -> list[Object]:
    """The objects; WorkloadError where the workload asks for what cannot be built."""
    site = AlertSite(owner, settings)
    cluster = owner.spec.cluster_tls
    if cluster:
        _refuse(web_tls(cluster.server, "spec.clusterTLS.server"))
        _refuse(tls_settings(cluster.client, "spec.clusterTLS.client"))
    text = cluster_tls_text(cluster, CLUSTER_TLS, site.version)
    made = [
        secret(owner, settings, config_secret_name(site), contents.config_files),
        *_listening(site, contents.asset_files, WEB_CONFIG),
        secret(owner, settings, cluster_tls_name(site), {CLUSTER_TLS_FILE: text}),
        *_service(site),
        with_hash(
            alertmanager.stateful_set(
                owner, settings, tls_assets=_assets(site, contents.asset_files)
            )
        ),
    ]
    return _placed(site, made)


def ruler_objects(
    owner: ThanosRuler, settings: ObjectSettings, contents: RulerContents
) -> list[Object]:
    """The objects; WorkloadError where the workload asks for what cannot be built."""
    site = AlertSite(owner, settings)
    made = [
        *_rules(site, contents.rule_files),
        ruler_config_secret(site, contents.remote_write),
        *_listening(site, contents.asset_files, thanosruler.WEB_CONFIG),
        *_service(site),
        with_hash(
            thanosruler.stateful_set(
                owner,
                settings,
                rule_config_maps=names_to_mount(
                    prefix_of(site), len(contents.rule_files), MOUNTED_BY_RULER
                ),
                tls_assets=_assets(site, contents.asset_files),
            )
        ),
    ]
    return _placed(site, made)


def ruler_config_secret(site: AlertSite, remote_write: str) -> Object:
    """The Secret that says where a ThanosRuler sends its results. Nobody controls it."""
    made = secret(
        site.owner, site.settings, config_secret_name(site), {REMOTE_WRITE_FILE: remote_write}
    )
    owners = [owner_reference(site.owner, sole=False)]
    return made | {"metadata": made["metadata"] | {"ownerReferences": owners}}


def _listening(site: AlertSite, files: Mapping[str, str], directory: str) -> Iterator[Object]:
    """The Secrets with the files behind references, and the one for the web server."""
    yield from sharded(site.owner, site.settings, tls_assets_name(site), files)
    web = site.spec.web
    _refuse(web_tls(web.tls_config if web else None, "spec.web.tlsConfig"))
    data = {WEB_CONFIG_FILE: web_config_text(web, directory)}
    yield secret(site.owner, site.settings, web_config_name(site), data)


def _rules(site: AlertSite, rule_files: Sequence[Mapping[str, str]]) -> Iterator[Object]:
    for number, files in enumerate(rule_files):
        name = config_map_name(prefix_of(site), number)
        made = config_map(name, {RULES_OF: site.name}, files)
        owners = [owner_reference(site.owner)]
        yield made | {"metadata": made["metadata"] | {"ownerReferences": owners}}


def _service(site: AlertSite) -> list[Object]:
    """The Service for the pods' names, unless the user has one of their own."""
    spec = site.spec
    if spec.service_name:
        return []
    return [service_of(site.program.service, site.owner, site.settings, spec.port_name)]


def _assets(site: AlertSite, files: Mapping[str, str]) -> TlsAssets:
    return TlsAssets(tls_assets_name(site), len(shards_of(files)))


def _refuse(findings: Findings) -> None:
    """WorkloadError for the first thing that is wrong."""
    for finding in findings:
        raise WorkloadError(finding.path, finding.message)


def _placed(site: AlertSite, objects: Sequence[Object]) -> list[Object]:
    namespace = {"namespace": site.namespace}
    return [each | {"metadata": each["metadata"] | namespace} for each in objects]
