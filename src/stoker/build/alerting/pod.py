"""The StatefulSets of Alertmanager and ThanosRuler, and their pods, as far as they are alike."""

from collections.abc import Sequence
from posixpath import normpath
from typing import Final

from msgspec import Struct

from stoker.api.core import Object
from stoker.build.alerting.names import (
    governing_service_name,
    own_labels,
    pod_annotations,
    pod_labels,
    prefix_of,
    selector_labels,
    volume_claim_name,
)
from stoker.build.alerting.site import AlertSite
from stoker.build.hashing import INPUT_HASH
from stoker.build.merge import merge_containers
from stoker.build.meta import metadata
from stoker.build.plain import plain
from stoker.build.pod import hardened, pod_settings
from stoker.build.sets import stateful_set_spec
from stoker.build.storage import DataVolume, data_volume
from stoker.build.topology import refuse_twice
from stoker.build.volumes import pod_volumes
from stoker.validate.syntax import quantity

WEB_PORT_NAME: Final = "web"

NO_SHARD: Final = -1
"""What reloaders get where there are no shards."""

_GRACE_PERIOD: Final = 120
_MEMORY: Final = "200Mi"


class AlertPod(Struct, frozen=True, kw_only=True):
    """A pod to be built: its containers, and the volumes besides that of the data."""

    site: AlertSite
    containers: tuple[Object, ...]
    init_containers: tuple[Object, ...] = ()
    volumes: tuple[Object, ...]
    data: DataVolume


def stateful_set_of(pod: AlertPod, input_hash: str) -> Object:
    """The StatefulSet with these pods."""
    site = pod.site
    return {
        "apiVersion": "apps/v1",
        "kind": "StatefulSet",
        "metadata": metadata(
            site.workload,
            site.settings,
            prefix_of(site),
            labels=own_labels(site),
            annotations={INPUT_HASH: input_hash},
            inherit=True,
        ),
        "spec": stateful_set_spec(
            site.spec,
            service=governing_service_name(site),
            selected=selector_labels(site),
            template=_template(pod),
            data=pod.data,
        ),
    }


def alert_data(site: AlertSite) -> DataVolume:
    """Where a pod keeps its data."""
    program = site.program
    name = volume_claim_name(site)
    return data_volume(site.spec.storage, name, program.data_path, program.data_sub_path)


def main_container(site: AlertSite, image: str, arguments: Sequence[str]) -> Object:
    """The container of the program itself, less its ports, environment, mounts and probes."""
    container: Object = {
        "name": site.program.application,
        "image": image,
        "args": list(arguments),
        "resources": _resources(site),
        "terminationMessagePolicy": "FallbackToLogsOnError",
        "securityContext": hardened(),
    }
    if site.spec.image_pull_policy:
        container["imagePullPolicy"] = site.spec.image_pull_policy
    return container


def web_port(site: AlertSite) -> list[Object]:
    """The port of the web server, unless it listens on the loopback address only."""
    if site.spec.listen_local:
        return []
    name = site.spec.port_name or WEB_PORT_NAME
    return [{"name": name, "containerPort": site.program.web_port, "protocol": "TCP"}]


def web_path(site: AlertSite, page: str) -> str:
    """The path of a page of the web server."""
    return "/" + normpath(f"{site.spec.route_prefix or '/'}/{page}").lstrip("/")


def serves_tls(site: AlertSite) -> bool:
    """Whether the web server wants TLS."""
    return site.spec.web is not None and site.spec.web.tls_config is not None


def reload_url(site: AlertSite) -> str:
    """What a neighbour in the pod calls to have the configuration read again."""
    scheme = "https" if serves_tls(site) else "http"
    host, port = site.settings.local_host, site.program.web_port
    return f"{scheme}://{host}:{port}{web_path(site, '-/reload')}"


def from_pod(name: str, field: str) -> Object:
    """An environment variable that holds a field of the pod."""
    return {"name": name, "valueFrom": {"fieldRef": {"fieldPath": field}}}


def _template(pod: AlertPod) -> Object:
    site = pod.site
    return {
        "metadata": {"labels": pod_labels(site), "annotations": pod_annotations(site)},
        "spec": _pod_spec(pod),
    }


def _pod_spec(pod: AlertPod) -> Object:
    spec = pod.site.spec
    made: Object = {
        "volumes": pod_volumes(pod.volumes, pod.data, spec.volumes),
        "initContainers": merge_containers(
            pod.init_containers, spec.init_containers, "spec.initContainers"
        ),
        "containers": merge_containers(pod.containers, spec.containers, "spec.containers"),
        "nodeSelector": dict(spec.node_selector or {}),
        "topologySpreadConstraints": _spread_constraints(pod.site),
        "automountServiceAccountToken": getattr(spec, "automount_service_account_token", None),
    }
    made |= pod_settings(spec, _GRACE_PERIOD)
    return {name: value for name, value in made.items() if value not in (None, [], {})}


def _spread_constraints(site: AlertSite) -> list[Object]:
    constraints: list[Object] = plain(site.spec.topology_spread_constraints or ())
    refuse_twice([(one.get("topologyKey"), one.get("whenUnsatisfiable")) for one in constraints])
    return constraints


def _resources(site: AlertSite) -> Object:
    """What the user gives, and some memory, unless they say how much or allow less than that."""
    made: Object = plain(site.spec.resources or {})
    requests = made.get("requests") or {}
    limit = quantity((made.get("limits") or {}).get("memory", _MEMORY))
    least = quantity(_MEMORY)
    if "memory" not in requests and (limit is None or least is None or limit >= least):
        made["requests"] = requests | {"memory": _MEMORY}
    return made
