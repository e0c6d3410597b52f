"""The pods of Prometheus, the same for servers and agents but for what a `PodPlan` says."""

from collections.abc import Sequence
from typing import Any, Final

from msgspec import Struct

from stoker.api.core import Object
from stoker.api.workload import Argument
from stoker.build.args import with_additional
from stoker.build.arguments import serves_tls, web_path, web_url
from stoker.build.image import image_path
from stoker.build.merge import merge_containers
from stoker.build.names import (
    pod_annotations,
    pod_labels,
    web_config_name,
)
from stoker.build.paths import CONFIG_MAPS, SECRETS, WEB_CONFIG, WEB_PORT
from stoker.build.plain import plain
from stoker.build.pod import (
    exec_probe,
    hardened,
    http_probe,
    pod_settings,
    probe,
    startup_probe_timing,
)
from stoker.build.portions import check_reloaders, token_volumes
from stoker.build.reloaders import Reloading, init_reloaders, reloaders
from stoker.build.site import Site, TlsAssets
from stoker.build.storage import DataVolume
from stoker.build.thanos import Sidecar
from stoker.build.topology import node_selector, spread_constraints
from stoker.build.volumes import (
    Mounted,
    certificates,
    config_volume,
    expanded_mount,
    expanded_volume,
    listed,
    logs,
    mounted,
    mounts_between,
    pod_volumes,
    rules,
)
from stoker.build.webconfig import Mount, web_config_mount
from stoker.errors import WorkloadError
from stoker.generate.draft import CERTIFICATES
from stoker.generate.sections import RULES
from stoker.select.workload import Scraper

_MAJORS: Final = (2, 3)
_GRACE_PERIOD: Final = 600
_PORT_NAME: Final = "web"


class PodPlan(Struct, frozen=True, kw_only=True):
    """A pod to be built.

    `shard` is None for a pod on every node. `arguments` are those of Prometheus. `web`: how it
    listens, from the version on that can be configured. `reloader_web`: whether reloaders listen
    alike. `rules` are names of ConfigMaps. `config_files`: over how many Secrets the configuration
    goes.
    """

    site: Site
    shard: int | None
    tls_assets: TlsAssets
    arguments: tuple[Argument, ...]
    web: Mount | None
    reloader_web: bool
    data: DataVolume | None
    rules: tuple[str, ...] = ()
    environment: tuple[Object, ...] = ()
    sidecar: Sidecar | None = None
    config_files: int = 1


def check_version(scraper: Scraper) -> None:
    """WorkloadError unless the version is one whose flags we know."""
    try:
        version = scraper.version
    except ValueError as error:
        raise WorkloadError("spec.version", str(error)) from None
    if version.major not in _MAJORS:
        reason = f"Prometheus {version} is not supported: 2 and 3 are"
        raise WorkloadError("spec.version", reason)


def web_mount(scraper: Scraper) -> Mount:
    """The arguments that say how the web server listens."""
    return web_config_mount(WEB_CONFIG, web_config_name(scraper), scraper.spec.web)


def pod_template(plan: PodPlan) -> Object:
    """The template of the pods."""
    scraper, flags = plan.site.scraper, plan.site.settings.labels
    return {
        "metadata": {
            "labels": pod_labels(scraper, plan.shard, flags),
            "annotations": pod_annotations(scraper),
        },
        "spec": _pod_spec(plan),
    }


def _pod_spec(plan: PodPlan) -> Object:
    scraper = plan.site.scraper
    reloading = Reloading(
        site=plan.site,
        shard=plan.shard,
        web=plan.web if plan.reloader_web else None,
        rules=plan.rules,
        files=plan.config_files,
    )
    sidecars = [plan.sidecar.container] if plan.sidecar else []
    ours = [_main_container(plan), *reloaders(reloading), *sidecars]
    spec = scraper.spec
    first = merge_containers(init_reloaders(reloading), spec.init_containers, "spec.initContainers")
    containers = merge_containers(ours, spec.containers, "spec.containers")
    made: Object = {
        "volumes": _volumes(plan, [*first, *containers]),
        "initContainers": first,
        "containers": containers,
        "nodeSelector": node_selector(scraper, plan.shard),
        "topologySpreadConstraints": spread_constraints(
            scraper, plan.shard, plan.site.settings.labels
        ),
    }
    if scraper.portions:
        check_reloaders([*first, *containers], plan.site.settings)
    made |= _settings(scraper)
    return {name: value for name, value in made.items() if value not in (None, [], {})}


def _settings(scraper: Scraper) -> Object:
    """What is said of the pod as a whole; what is empty is left out.

    An agent that gets a portion asks nothing of the API server.
    """
    spec = scraper.spec
    token = spec.automount_service_account_token
    return pod_settings(spec, _GRACE_PERIOD) | {
        "automountServiceAccountToken": not scraper.portions if token is None else token,
        "shareProcessNamespace": spec.reload_strategy == "ProcessSignal",
    }


def _volumes(plan: PodPlan, containers: Sequence[Object]) -> list[Object]:
    """All volumes, but in a DaemonSet those of the user that no container mounts.

    The peer forgets a user's volumes there. Where one is mounted it has no pods; where none is,
    those that it has stay.
    """
    scraper = plan.site.scraper
    theirs = scraper.spec.volumes
    if scraper.daemon_set:
        theirs = mounted(theirs or (), containers)
    kept = logs(scraper)
    ours = [
        config_volume(scraper, plan.config_files),
        certificates(plan.tls_assets, CERTIFICATES).volume,
        expanded_volume(),
        *token_volumes(scraper),
        *(one.volume for one in _listed(plan)),
        *(one.volume for one in (*kept.before, *kept.after)),
        *(one.volume for one in rules(plan.rules, RULES)),
        *(plan.web.volumes if plan.web else ()),
        *(plan.sidecar.volumes if plan.sidecar else ()),
    ]
    return pod_volumes(ours, plan.data, theirs)


def _listed(plan: PodPlan) -> list[Mounted]:
    """The Secrets and ConfigMaps that the user lists."""
    return listed(plan.site.scraper.spec, SECRETS, CONFIG_MAPS)


def _main_container(plan: PodPlan) -> Object:
    spec = plan.site.scraper.spec
    container: Object = {
        "name": "prometheus",
        "image": _image(plan.site),
        "args": with_additional(plan.arguments, spec.additional_args, "spec.additionalArgs"),
        "env": plain(plan.environment),
        "resources": plain(spec.resources or {}),
        "volumeMounts": _mounts(plan),
        **_probes(plan.site.scraper),
        "terminationMessagePolicy": "FallbackToLogsOnError",
        "securityContext": hardened(),
    }
    if not spec.listen_local:
        name = spec.port_name or _PORT_NAME
        container["ports"] = [{"name": name, "containerPort": WEB_PORT, "protocol": "TCP"}]
    if spec.image_pull_policy:
        container["imagePullPolicy"] = spec.image_pull_policy
    return container


def _image(site: Site) -> str:
    spec: Any = site.scraper.spec
    base, tag, sha = (getattr(spec, name, None) for name in ("base_image", "tag", "sha"))
    base = base or site.settings.prometheus_base_image
    return image_path(spec.image, base, f"v{site.scraper.version}", tag, sha)


def _mounts(plan: PodPlan) -> list[Object]:
    """The mounts of Prometheus; the user's come before those that they list by name."""
    before = [expanded_mount(), certificates(plan.tls_assets, CERTIFICATES).mount]
    if plan.data:
        before.append(dict(plan.data.mount))
    kept = logs(plan.site.scraper)
    found = (*_listed(plan), *kept.before, *rules(plan.rules, RULES), *kept.after)
    after = [one.mount for one in found]
    after += plan.web.mounts if plan.web else ()
    return mounts_between(before, plan.site.scraper.spec.volume_mounts, after)


def _probes(scraper: Scraper) -> Object:
    """Whether Prometheus lives, can be asked, and has read its write-ahead log."""
    startup = startup_probe_timing(scraper.spec.maximum_startup_duration_seconds)
    return {
        "livenessProbe": probe(_handler(scraper, "-/healthy"), 5, 6),
        "readinessProbe": probe(_handler(scraper, "-/ready"), 5, 3),
        "startupProbe": probe(_handler(scraper, "-/ready"), *startup),
    }


def _handler(scraper: Scraper, page: str) -> Object:
    spec = scraper.spec
    if spec.listen_local:
        return exec_probe(web_url(scraper, "localhost", page))
    port = spec.port_name or _PORT_NAME
    return http_probe(web_path(scraper, page), port, tls=serves_tls(scraper))
