"""The container that brings changed configuration to its neighbour, and the one that begins.

Both run the config reloader: the init container unpacks the configuration once, before anything
reads it; the other stays, unpacks again on each change and tells its neighbour to reload.
"""

from collections.abc import Iterator
from posixpath import dirname
from typing import Final

from msgspec import Struct

from stoker.api.core import Object
from stoker.api.workload import Argument
from stoker.build.args import as_text
from stoker.build.pod import exec_probe, hardened, http_probe
from stoker.settings import Reloader

_PROBES: Final = ("livenessProbe", "readinessProbe", "startupProbe")


class ReloaderPlan(Struct, frozen=True, kw_only=True):
    """What one reloader does.

    `init`: unpack once and end. `config_file` is unpacked to `config_envsubst_file`, with variables
    put in: `shard`, `inzone_shard`, `zone`, with `node_name` that of the node. `portion`: the
    arguments by which it gets the portion of its node, if it gets one. `use_signal` reloads by a
    signal, and watches `runtime_info_url` for success; otherwise `reload_url` is called.
    `local_host` is the name under which `listen_local` listens.
    """

    name: str
    init: bool = False
    config_file: str = ""
    config_envsubst_file: str = ""
    watched_directories: tuple[str, ...] = ()
    reload_url: str = ""
    runtime_info_url: str = ""
    use_signal: bool = False
    listen_local: bool = False
    local_host: str = ""
    web_config_file: str = ""
    log_level: str = ""
    log_format: str = ""
    image_pull_policy: str = ""
    shard: int | None = None
    inzone_shard: int | None = None
    zone: str = ""
    node_name: bool = False
    portion: tuple[Argument, ...] = ()
    volume_mounts: tuple[Object, ...] = ()


class _Port(Struct, frozen=True):
    name: str
    number: int


_PORT: Final = _Port("reloader-web", 8080)
_INIT_PORT: Final = _Port("reloader-init", 8081)


def reloader_container(plan: ReloaderPlan, settings: Reloader) -> Object:
    """The container for a plan."""
    container: Object = {
        "name": plan.name,
        "image": settings.image,
        "command": ["/bin/prometheus-config-reloader"],
        "args": as_text(_arguments(plan)),
        "env": list(_environment(plan)),
        "resources": _resources(settings),
        "volumeMounts": [dict(mount) for mount in plan.volume_mounts],
        "terminationMessagePolicy": "FallbackToLogsOnError",
        "securityContext": hardened(),
    }
    if plan.image_pull_policy:
        container["imagePullPolicy"] = plan.image_pull_policy
    if not plan.listen_local:
        container["ports"] = [_container_port(_port(plan))]
    if settings.probes and not plan.init:
        container |= {name: _handler(plan) for name in _PROBES}
    return container


def _arguments(plan: ReloaderPlan) -> Iterator[Argument]:
    if plan.init:
        yield Argument(name="watch-interval", value="0")
    host = plan.local_host if plan.listen_local else ""
    yield Argument(name="listen-address", value=f"{host}:{_port(plan).number}")
    yield from _given(plan)
    yield from plan.portion
    for directory in _watched(plan):
        yield Argument(name="watched-dir", value=directory)
    for name, value, default in (
        ("log-level", plan.log_level, "info"),
        ("log-format", plan.log_format, "logfmt"),
    ):
        if value != default:
            yield from _if_set((name, value))


def _given(plan: ReloaderPlan) -> Iterator[Argument]:
    """The arguments of what has been decided for this plan."""
    yield from _if_set(("web-config-file", plan.web_config_file))
    if plan.use_signal:
        yield Argument(name="reload-method", value="signal")
        yield from _if_set(("runtimeinfo-url", plan.runtime_info_url))
    else:
        yield from _if_set(("reload-url", plan.reload_url))
    yield from _if_set(
        ("config-file", plan.config_file), ("config-envsubst-file", plan.config_envsubst_file)
    )


def _if_set(*pairs: tuple[str, str]) -> Iterator[Argument]:
    return (Argument(name=name, value=value) for name, value in pairs if value)


def _watched(plan: ReloaderPlan) -> list[str]:
    """The directories to watch: Secrets are replaced as a whole, so the file's own is one."""
    own = [dirname(plan.config_file) or "."] if plan.config_file else []
    return list(dict.fromkeys([*plan.watched_directories, *own]))


def _environment(plan: ReloaderPlan) -> Iterator[Object]:
    yield _from_pod("POD_NAME", "metadata.name")
    if plan.node_name:
        yield _from_pod("NODE_NAME", "spec.nodeName")
    if plan.shard is not None:
        yield {"name": "SHARD", "value": str(plan.shard)}
    if plan.zone:
        yield {"name": "TOPOLOGY_ZONE", "value": plan.zone}
    if plan.inzone_shard is not None:
        yield {"name": "INZONE_SHARD", "value": str(plan.inzone_shard)}


def _from_pod(name: str, field: str) -> Object:
    return {"name": name, "valueFrom": {"fieldRef": {"fieldPath": field}}}


def _resources(settings: Reloader) -> Object:
    made = {
        "limits": _amounts(settings.cpu_limit, settings.memory_limit),
        "requests": _amounts(settings.cpu_request, settings.memory_request),
    }
    return {name: amounts for name, amounts in made.items() if amounts}


def _amounts(cpu: str, memory: str) -> dict[str, str]:
    """Amounts of resources less those of zero, which ask for none."""
    amounts = {"cpu": cpu, "memory": memory}
    return {name: amount for name, amount in amounts.items() if amount != "0"}


def _port(plan: ReloaderPlan) -> _Port:
    return _INIT_PORT if plan.init else _PORT


def _container_port(port: _Port) -> Object:
    return {"name": port.name, "containerPort": port.number, "protocol": "TCP"}


def _handler(plan: ReloaderPlan) -> Object:
    """What asks the reloader whether it is well.

    It listens as its neighbour does, with the same file, so the neighbour's URL tells the scheme.
    """
    neighbour = plan.runtime_info_url if plan.use_signal else plan.reload_url
    tls = bool(plan.web_config_file) and neighbour.startswith("https:")
    port = _port(plan).number
    if plan.listen_local:
        scheme = "https" if tls else "http"
        return exec_probe(f"{scheme}://{plan.local_host}:{port}/healthz")
    return http_probe("/healthz", port, tls=tls)
