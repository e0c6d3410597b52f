"""The reloaders of a pod of Prometheus: one that begins, one that stays.

The usual image of the reloader unpacks one file. Where the configuration is split over several,
each further file has a reloader of its own, beginning and staying, with a port of its own.
"""

from typing import Final

from msgspec import Struct
from msgspec.structs import replace

from stoker.api.core import Object
from stoker.build.arguments import web_url
from stoker.build.paths import (
    CONFIG,
    CONFIG_FILE,
    CONFIG_VOLUME,
    EXPANDED,
    EXPANDED_VOLUME,
)
from stoker.build.portions import portion_arguments, token_mounts
from stoker.build.reloader import ReloaderPlan, reloader_container
from stoker.build.site import Site
from stoker.build.topology import shard_in_zone, zone_of
from stoker.build.webconfig import Mount
from stoker.generate.sections import RULES
from stoker.generate.split import MAIN_FILE, expanded_file, file_name

_NAME: Final = "config-reloader"
_FURTHER_PORTS: Final = 8082


class Reloading(Struct, frozen=True, kw_only=True):
    """What reloaders look after.

    Without a `shard` they run on every node, and put in the name of their node. `web`: how
    Prometheus listens, where the reloader should listen alike. `files`: those of the configuration.
    """

    site: Site
    shard: int | None
    web: Mount | None
    rules: tuple[str, ...] = ()
    files: int = 1


def init_reloaders(what: Reloading) -> list[Object]:
    """What unpacks the configuration before Prometheus starts."""
    plan = _plan(what, f"init-{_NAME}", init=True)
    return [
        reloader_container(one, what.site.settings.reloader) for one in _per_file(plan, what.files)
    ]


def reloaders(what: Reloading) -> list[Object]:
    """What unpacks the configuration again when it changes, and tells Prometheus."""
    spec, host = what.site.scraper.spec, what.site.settings.local_host
    by_signal = spec.reload_strategy == "ProcessSignal"
    url = web_url(what.site.scraper, host, "-/reload")
    runtime = web_url(what.site.scraper, host, "api/v1/status/runtimeinfo")
    plan = replace(
        _plan(what, _NAME, init=False),
        use_signal=by_signal,
        reload_url="" if by_signal else url,
        runtime_info_url=runtime if by_signal else "",
        # As prometheus-operator has it: one that sends signals listens on all addresses.
        listen_local=bool(spec.listen_local) and not by_signal,
        local_host=host,
        web_config_file=(what.web.argument.value or "") if what.web else "",
    )
    main, *further = (
        reloader_container(one, what.site.settings.reloader) for one in _per_file(plan, what.files)
    )
    return [main, *(_moved(one, number) for number, one in enumerate(further, start=1))]


def _plan(what: Reloading, name: str, *, init: bool) -> ReloaderPlan:
    """What both kinds of reloader have in common."""
    scraper, spec = what.site.scraper, what.site.scraper.spec
    zone = "" if what.shard is None else zone_of(scraper, what.shard)
    return ReloaderPlan(
        name=name,
        init=init,
        config_file=f"{CONFIG}/{MAIN_FILE}",
        config_envsubst_file=CONFIG_FILE,
        watched_directories=tuple(f"{RULES}/{rules}" for rules in what.rules),
        log_level=spec.log_level or "",
        log_format=spec.log_format or "",
        image_pull_policy=spec.image_pull_policy or "",
        shard=what.shard or 0,
        zone=zone,
        inzone_shard=shard_in_zone(scraper, what.shard or 0) if zone else None,
        node_name=what.shard is None,
        portion=tuple(portion_arguments(scraper, what.site.settings)),
        volume_mounts=_mounts(what),
    )


def _mounts(what: Reloading) -> tuple[Object, ...]:
    return (
        {"name": CONFIG_VOLUME, "mountPath": CONFIG},
        {"name": EXPANDED_VOLUME, "mountPath": EXPANDED},
        *token_mounts(what.site.scraper),
        *(what.web.mounts if what.web else ()),
        *({"name": name, "mountPath": f"{RULES}/{name}"} for name in what.rules),
    )


def _per_file(plan: ReloaderPlan, files: int) -> list[ReloaderPlan]:
    """The plan for the main file, and those for further ones, which watch nothing else."""
    further = [
        replace(
            plan,
            name=f"{plan.name}-{number + 1}",
            config_file=f"{CONFIG}/{file_name(number)}",
            config_envsubst_file=expanded_file(number),
            portion=(),
            watched_directories=(),
        )
        for number in range(files - 1)
    ]
    return [plan, *further]


def _moved(container: Object, number: int) -> Object:
    """A reloader on a port of its own: containers of a pod share their addresses.

    Kubernetes looks after the first one only; the others do the same work.
    """
    port = _FURTHER_PORTS + number - 1
    moved = {name: value for name, value in container.items() if not name.endswith("Probe")}
    moved["args"] = [_on_port(argument, port) for argument in container["args"]]
    if "ports" in container:
        name = f"reloader-web-{number}"
        moved["ports"] = [{"name": name, "containerPort": port, "protocol": "TCP"}]
    return moved


def _on_port(argument: str, port: int) -> str:
    flag, _, address = argument.partition("=")
    host = address.rpartition(":")[0]
    return f"{flag}={host}:{port}" if flag == "--listen-address" else argument
