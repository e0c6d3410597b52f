"""The StatefulSet of an Alertmanager.

A reloader unpacks the configuration before Alertmanager starts, and again when it changes. It
watches all that the configuration may read: templates, and the Secrets and ConfigMaps that the
user lists.
"""

from collections.abc import Iterator
from typing import Final

from msgspec import Struct
from msgspec.structs import replace

from stoker.api.alertmanager import Alertmanager, AlertmanagerSpec
from stoker.api.common import SecretOrConfigMap
from stoker.api.core import Object
from stoker.api.workload import Argument
from stoker.build.alerting.alertmanager_arguments import alertmanager_arguments
from stoker.build.alerting.clustertls import ClusterMount, cluster_tls_mount
from stoker.build.alerting.names import cluster_tls_name, config_secret_name, web_config_name
from stoker.build.alerting.paths import (
    CERTIFICATES,
    CLUSTER_TLS,
    CONFIG,
    CONFIG_FILE,
    CONFIG_KEY,
    CONFIG_MAPS,
    CONFIG_VOLUME,
    EXPANDED,
    SECRETS,
    TEMPLATES,
    TEMPLATES_VOLUME,
    WEB_CONFIG,
)
from stoker.build.alerting.pod import (
    NO_SHARD,
    WEB_PORT_NAME,
    AlertPod,
    alert_data,
    from_pod,
    main_container,
    reload_url,
    serves_tls,
    stateful_set_of,
    web_path,
    web_port,
)
from stoker.build.alerting.site import AlertSite
from stoker.build.image import image_path
from stoker.build.paths import EXPANDED_VOLUME
from stoker.build.pod import http_probe
from stoker.build.reloader import ReloaderPlan, reloader_container
from stoker.build.site import TlsAssets
from stoker.build.volumes import (
    Mounted,
    certificates,
    expanded_mount,
    expanded_volume,
    listed,
    mounts_between,
    read_only,
)
from stoker.build.webconfig import Mount, secret_volume, web_config_mount
from stoker.errors import WorkloadError
from stoker.generate.alertmanager.zero import without_zero_durations
from stoker.settings import ObjectSettings
from stoker.version import parse_version

_WEB_CONFIG_SINCE: Final = parse_version("0.22.0")
_CLUSTER_TLS_SINCE: Final = parse_version("0.24.0")
_NAMED_SINCE: Final = parse_version("0.30.0")
"""The first version that takes the name of a member, for which it needs that of its pod."""

_MESH: Final = (
    {"name": "mesh-tcp", "containerPort": 9094, "protocol": "TCP"},
    {"name": "mesh-udp", "containerPort": 9094, "protocol": "UDP"},
)
_LIVENESS: Final = {"timeoutSeconds": 3, "failureThreshold": 10}
_READINESS: Final = _LIVENESS | {"initialDelaySeconds": 3, "periodSeconds": 5}


class _Files(Struct, frozen=True, kw_only=True):
    """What is mounted: `web` and `cluster` from the versions on that have a flag for it."""

    listed: tuple[Mounted, ...]
    web: Mount | None
    cluster: ClusterMount | None

    @property
    def web_mounts(self) -> list[Object]:
        return self.web.mounts if self.web else []

    @property
    def arguments(self) -> list[Argument]:
        found = (self.web and self.web.argument, self.cluster and self.cluster.argument)
        return [one for one in found if one]


def stateful_set(
    workload: Alertmanager, settings: ObjectSettings, *, tls_assets: TlsAssets, input_hash: str = ""
) -> Object:
    """The StatefulSet of an Alertmanager; WorkloadError where the user's settings make none."""
    spec, _ = without_zero_durations(workload.spec)
    site = AlertSite(replace(workload, spec=spec), settings)
    files = _files(site, spec)
    data = alert_data(site)
    pod = AlertPod(
        site=site,
        containers=(
            _container(site, spec, files, tls_assets, data.mount),
            reloader_container(_reloader(site, files), settings.reloader),
        ),
        init_containers=(reloader_container(_init_reloader(site, files), settings.reloader),),
        volumes=tuple(_volumes(site, files, tls_assets)),
        data=data,
    )
    return stateful_set_of(pod, input_hash)


def _files(site: AlertSite, spec: AlertmanagerSpec) -> _Files:
    web = web_config_mount(WEB_CONFIG, web_config_name(site), spec.web)
    cluster = cluster_tls_mount(CLUSTER_TLS, cluster_tls_name(site), spec.cluster_tls)
    return _Files(
        listed=(*_templates(spec), *listed(spec, SECRETS, CONFIG_MAPS)),
        web=web if site.version >= _WEB_CONFIG_SINCE else None,
        cluster=cluster if site.version >= _CLUSTER_TLS_SINCE else None,
    )


def _templates(spec: AlertmanagerSpec) -> list[Mounted]:
    """The files of templates in one directory; the first of a name is taken."""
    configuration = spec.alertmanager_configuration
    templates = (configuration.templates if configuration else None) or ()
    sources: dict[str, Object] = {}
    for index, template in enumerate(templates):
        for key, source in _projections(template, index):
            sources.setdefault(key, source)
    if not sources:
        return []
    volume = {"name": TEMPLATES_VOLUME, "projected": {"sources": list(sources.values())}}
    return [Mounted(volume, read_only(TEMPLATES_VOLUME, TEMPLATES))]


def _projections(template: SecretOrConfigMap, index: int) -> list[tuple[str, Object]]:
    """The files that an item names, by their keys: it may name one of each kind."""
    made: list[tuple[str, Object]] = []
    for kind, chosen in (("configMap", template.config_map), ("secret", template.secret)):
        if chosen and chosen.name and chosen.key:
            items = [{"key": chosen.key, "path": chosen.key}]
            made.append((chosen.key, {kind: {"name": chosen.name, "items": items}}))
    if not made:
        path = f"spec.alertmanagerConfiguration.templates[{index}]"
        raise WorkloadError(path, "this names no key of a Secret or ConfigMap")
    return made


def _volumes(site: AlertSite, files: _Files, assets: TlsAssets) -> Iterator[Object]:
    yield secret_volume(CONFIG_VOLUME, config_secret_name(site))
    yield certificates(assets, CERTIFICATES).volume
    yield expanded_volume()
    yield from (one.volume for one in files.listed)
    yield from files.web.volumes if files.web else ()
    yield from files.cluster.volumes if files.cluster else ()


def _container(
    site: AlertSite, spec: AlertmanagerSpec, files: _Files, assets: TlsAssets, data: Object
) -> Object:
    before = [
        {"name": CONFIG_VOLUME, "mountPath": CONFIG},
        expanded_mount(EXPANDED),
        certificates(assets, CERTIFICATES).mount,
        dict(data),
        *(one.mount for one in files.listed),
    ]
    after = [*files.web_mounts, *(files.cluster.mounts if files.cluster else ())]
    return main_container(
        site, _image(site, spec), alertmanager_arguments(site, files.arguments)
    ) | {
        "ports": [*web_port(site), *map(dict, _MESH)],
        "env": _environment(site),
        "volumeMounts": mounts_between(before, spec.volume_mounts, after),
        **_probes(site),
    }


def _image(site: AlertSite, spec: AlertmanagerSpec) -> str:
    base = spec.base_image or site.settings.alertmanager_base_image
    return image_path(spec.image, base, site.version_text, spec.tag, spec.sha)


def _environment(site: AlertSite) -> list[Object]:
    address = from_pod("POD_IP", "status.podIP")
    named = site.version >= _NAMED_SINCE
    return [address, from_pod("POD_NAME", "metadata.name")] if named else [address]


def _probes(site: AlertSite) -> Object:
    """Whether Alertmanager lives and can be reached; it cannot where it listens locally."""
    if site.spec.listen_local:
        return {}
    return {
        "livenessProbe": _handler(site, "-/healthy") | _LIVENESS,
        "readinessProbe": _handler(site, "-/ready") | _READINESS,
    }


def _handler(site: AlertSite, page: str) -> Object:
    port = site.spec.port_name or WEB_PORT_NAME
    return http_probe(web_path(site, page), port, tls=serves_tls(site))


def _init_reloader(site: AlertSite, files: _Files) -> ReloaderPlan:
    """What unpacks the configuration before Alertmanager starts."""
    spec = site.spec
    return ReloaderPlan(
        name="init-config-reloader",
        init=True,
        config_file=f"{CONFIG}/{CONFIG_KEY}",
        config_envsubst_file=CONFIG_FILE,
        watched_directories=(CONFIG, *(one.mount["mountPath"] for one in files.listed)),
        log_level=spec.log_level or "",
        log_format=spec.log_format or "",
        image_pull_policy=spec.image_pull_policy or "",
        shard=NO_SHARD,
        volume_mounts=(
            read_only(CONFIG_VOLUME, CONFIG),
            {"name": EXPANDED_VOLUME, "mountPath": EXPANDED},
            *(one.mount for one in files.listed),
            *files.web_mounts,
        ),
    )


def _reloader(site: AlertSite, files: _Files) -> ReloaderPlan:
    """What unpacks the configuration again when it changes, and tells Alertmanager."""
    return replace(
        _init_reloader(site, files),
        name="config-reloader",
        init=False,
        reload_url=reload_url(site),
        listen_local=bool(site.spec.listen_local),
        local_host=site.settings.local_host,
        web_config_file=(files.web.argument.value or "") if files.web else "",
    )
