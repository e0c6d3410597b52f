"""Pieces of pods that all four kinds of workload share."""

from collections.abc import Iterable
from typing import Any, Final

import msgspec

from stoker.api.core import LocalObjectReference, Object
from stoker.api.workload import DnsConfig, HostAlias, WorkloadSpec
from stoker.build.plain import plain
from stoker.errors import WorkloadError

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
    """Lines of `/etc/hosts` as pods spell them; WorkloadError for one without an address."""
    made = []
    for index, one in enumerate(aliases or ()):
        if not one.ip:
            raise WorkloadError(f"spec.hostAliases[{index}].ip", "this must be set")
        made.append({"ip": one.ip, "hostnames": list(one.hostnames)})
    return made


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


# Settings of pods that are called and mean the same in our kinds.
_PASSED_ON: Final = (
    "service_account_name",
    "priority_class_name",
    "security_context",
    "affinity",
    "scheduler_name",
    "tolerations",
    "enable_service_links",
    "host_users",
)
_NAMES: Final = {field.name: field.encode_name for field in msgspec.structs.fields(WorkloadSpec)}


def pod_settings(spec: WorkloadSpec, grace_period: int) -> Object:
    """What every kind of workload says of its pods as a whole; what is unset is None or empty.

    `grace_period`: the seconds to stop in, unless the user has a wish.
    """
    grace = spec.termination_grace_period_seconds
    host_network = getattr(spec, "host_network", None)
    return {
        **{_NAMES[field]: _copied(getattr(spec, field)) for field in _PASSED_ON},
        "imagePullSecrets": _once_each(spec.image_pull_secrets or ()),
        "terminationGracePeriodSeconds": grace_period if grace is None else grace,
        "hostNetwork": host_network or None,
        "dnsPolicy": spec.dns_policy or ("ClusterFirstWithHostNet" if host_network else None),
        "dnsConfig": dns_config(spec.dns_config),
        "hostAliases": host_aliases(spec.host_aliases),
    }


def _copied(value: Any) -> Any:
    """A value of the user's; none where a word is empty."""
    return None if value == "" else plain(value)


def _once_each(references: Iterable[LocalObjectReference]) -> list[Object]:
    """The references by name: Kubernetes keeps them so, and takes no name twice."""
    return [{"name": name} for name in dict.fromkeys(one.name or "" for one in references)]
