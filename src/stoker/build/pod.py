"""Pieces of pods that all four kinds of workload share."""

from collections.abc import Iterable
from typing import Final

import msgspec

from stoker.api.core import Object
from stoker.api.workload import DnsConfig, HostAlias

_PROBE_TIMEOUT: Final = 3
_LONGEST_PERIOD: Final = 60
_DEFAULT_STARTUP: Final = (15, 60)


def hardened() -> Object:
    """The security context of every container that is ours: no rights beyond those of a user."""
    return {
        "allowPrivilegeEscalation": False,
        "readOnlyRootFilesystem": True,
        "capabilities": {"drop": ["ALL"]},
    }


def startup_probe_timing(seconds: int | None) -> tuple[int, int]:
    """How often to ask a starting container, and how many times, so that it has these seconds.

    No more than a minute lies between two questions. Without a wish of at least a minute, a
    container has a quarter of an hour.
    """
    if seconds is None or seconds < _LONGEST_PERIOD:
        return _DEFAULT_STARTUP
    times = -(-seconds // _LONGEST_PERIOD)
    return -(-seconds // times), times


def http_probe(path: str, port: str | int, *, tls: bool = False) -> Object:
    """What asks over the network; Kubernetes does not verify certificates."""
    asked: Object = {"path": path, "port": port}
    return {"httpGet": asked | {"scheme": "HTTPS"} if tls else asked}


def exec_probe(url: str) -> Object:
    """What asks from inside the container, where it listens on the loopback address only.

    Images have curl or wget, not always both.
    """
    curl = f'if [ -x "$(command -v curl)" ]; then exec curl --fail {url};'
    wget = f'elif [ -x "$(command -v wget)" ]; then exec wget -q -O /dev/null {url};'
    return {"exec": {"command": ["sh", "-c", f"{curl} {wget} else exit 1; fi"]}}


def probe(handler: Object, period: int, threshold: int) -> Object:
    """A probe that asks every `period` seconds and gives up after `threshold` failures."""
    return {
        **handler,
        "timeoutSeconds": _PROBE_TIMEOUT,
        "periodSeconds": period,
        "failureThreshold": threshold,
    }


def host_aliases(aliases: Iterable[HostAlias] | None) -> list[Object]:
    """Lines of `/etc/hosts` as pods spell them."""
    return [{"ip": one.ip, "hostnames": list(one.hostnames)} for one in aliases or ()]


def dns_config(config: DnsConfig | None) -> Object | None:
    """Resolver settings as pods spell them."""
    if config is None:
        return None
    made: Object = {
        "nameservers": list(config.nameservers or ()),
        "searches": list(config.searches or ()),
        "options": [msgspec.to_builtins(option) for option in config.options or ()],
    }
    return {name: items for name, items in made.items() if items}
