"""The StatefulSet of a ThanosRuler.

Rules are ConfigMaps that the pods mount. A reloader watches them and tells Thanos to read them
again; without any there is nothing to watch, and no reloader.
"""

from collections.abc import Iterator, Sequence
from typing import Final

from msgspec import Struct

from stoker.api.core import Object
from stoker.api.thanosruler import ThanosRuler, ThanosRulerSpec
from stoker.api.workload import Argument
from stoker.build.alerting.names import config_secret_name, web_config_name
from stoker.build.alerting.pod import (
    NO_SHARD,
    AlertPod,
    alert_data,
    from_pod,
    main_container,
    reload_url,
    stateful_set_of,
    web_port,
)
from stoker.build.alerting.ruler_arguments import (
    CONFIG,
    FILES,
    REMOTE_WRITE_VOLUME,
    RULES,
    ruler_arguments,
)
from stoker.build.alerting.site import AlertSite
from stoker.build.image import image_path
from stoker.build.reloader import ReloaderPlan, reloader_container
from stoker.build.site import TlsAssets
from stoker.build.volumes import Mounted, certificates, mounts_between, read_only, rules
from stoker.build.webconfig import Mount, web_config_mount
from stoker.generate.thanosruler import CERTIFICATES, REMOTE_WRITE_FILE
from stoker.settings import ObjectSettings
from stoker.version import parse_version

WEB_CONFIG: Final = "/etc/thanos/web_config"

_WEB_CONFIG_SINCE: Final = parse_version("0.22.0")
_GRPC: Final = {"name": "grpc", "containerPort": 10901, "protocol": "TCP"}


class _Files(Struct, frozen=True, kw_only=True):
    """What is mounted: configurations and certificates, the web server's file, rules."""

    configs: tuple[Mounted, ...]
    web: Mount | None
    rules: tuple[Mounted, ...]

    @property
    def web_mounts(self) -> list[Object]:
        return self.web.mounts if self.web else []


def stateful_set(
    workload: ThanosRuler,
    settings: ObjectSettings,
    *,
    rule_config_maps: Sequence[str] = (),
    tls_assets: TlsAssets,
    input_hash: str = "",
) -> Object:
    """The StatefulSet of a ThanosRuler; WorkloadError where the user's settings make none."""
    site = AlertSite(workload, settings)
    files = _files(site, workload.spec, rule_config_maps, tls_assets)
    data = alert_data(site)
    reloaders = [reloader_container(_reloader(site, files), settings.reloader)]
    pod = AlertPod(
        site=site,
        containers=(
            _container(site, workload.spec, files, data.mount),
            *(reloaders if files.rules else ()),
        ),
        volumes=tuple(_volumes(files)),
        data=data,
    )
    return stateful_set_of(pod, input_hash)


def _files(
    site: AlertSite, spec: ThanosRulerSpec, rule_config_maps: Sequence[str], assets: TlsAssets
) -> _Files:
    # Without rules nothing is served that were worth a certificate.
    told = rule_config_maps and site.version >= _WEB_CONFIG_SINCE
    web = web_config_mount(WEB_CONFIG, web_config_name(site), spec.web)
    return _Files(
        configs=(*_configs(site, spec), certificates(assets, CERTIFICATES)),
        web=web if told else None,
        rules=tuple(rules(rule_config_maps, RULES)),
    )


def _configs(site: AlertSite, spec: ThanosRulerSpec) -> Iterator[Mounted]:
    yield _key_of_secret(REMOTE_WRITE_VOLUME, config_secret_name(site), REMOTE_WRITE_FILE)
    for file in FILES:
        if chosen := file.secret(spec):
            yield _key_of_secret(file.volume, chosen.name or "", chosen.key)


def _key_of_secret(volume: str, secret: str, key: str) -> Mounted:
    """One key of a Secret as a file, in a directory with the name of the volume."""
    source = {"secretName": secret, "items": [{"key": key, "path": key}]}
    return Mounted({"name": volume, "secret": source}, read_only(volume, f"{CONFIG}/{volume}"))


def _volumes(files: _Files) -> Iterator[Object]:
    yield from (one.volume for one in files.configs)
    yield from files.web.volumes if files.web else ()
    yield from (one.volume for one in files.rules)


def _container(site: AlertSite, spec: ThanosRulerSpec, files: _Files, data: Object) -> Object:
    image = image_path(spec.image, site.settings.thanos_base_image, site.version_text, None, None)
    ours = [
        *(one.mount for one in files.configs),
        *files.web_mounts,
        dict(data),
        *(one.mount for one in files.rules),
    ]
    return main_container(site, image, ruler_arguments(site, _web_argument(files))) | {
        "ports": [dict(_GRPC), *web_port(site)],
        "env": [from_pod("POD_NAME", "metadata.name")],
        "volumeMounts": mounts_between(ours, spec.volume_mounts, ()),
    }


def _web_argument(files: _Files) -> list[Argument]:
    """Thanos has its own name for the flag."""
    return [Argument(name="http.config", value=files.web.argument.value)] if files.web else []


def _reloader(site: AlertSite, files: _Files) -> ReloaderPlan:
    """What tells Thanos of changed rules.

    When to pull its image is left to Kubernetes, as prometheus-operator leaves it.
    """
    spec = site.spec
    paths = tuple(one.mount["mountPath"] for one in files.rules)
    mounts = (
        {"name": one.mount["name"], "mountPath": one.mount["mountPath"]} for one in files.rules
    )
    return ReloaderPlan(
        name="config-reloader",
        watched_directories=paths,
        reload_url=reload_url(site),
        listen_local=bool(spec.listen_local),
        local_host=site.settings.local_host,
        web_config_file=(files.web.argument.value or "") if files.web else "",
        log_level=spec.log_level or "",
        log_format=spec.log_format or "",
        shard=NO_SHARD,
        volume_mounts=(*mounts, *files.web_mounts),
    )
