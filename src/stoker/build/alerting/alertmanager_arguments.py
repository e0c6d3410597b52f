"""The command line of Alertmanager: which flags a workload sets, and which versions know them.

The order of the table is that of the command line, as for Prometheus. Two flags are not spelled as
prometheus-operator spells them, as no Alertmanager starts with those: a timeout needs a unit, and
the size of a silence is limited by `silences.max-silence-size-bytes`.
"""

from collections.abc import Sequence
from typing import Any, Final

from stoker.api.workload import Argument
from stoker.build.alerting.names import governing_service_name, prefix_of
from stoker.build.alerting.paths import CONFIG_FILE
from stoker.build.alerting.site import ALERTMANAGER, AlertSite
from stoker.build.args import with_additional
from stoker.build.arguments import Flag, Value, always, flags_set, other_than, spec_value
from stoker.build.sets import replicas_of
from stoker.errors import WorkloadError
from stoker.validate.syntax import byte_size

MOST_REPLICAS: Final = 1000
"""How many members a cluster may have: each has all others on its command line."""

_MESH_PORT: Final = 9094
_RETENTION: Final = "120h"
_START_DELAY: Final = "dispatch.start-delay"


def alertmanager_arguments(site: AlertSite, further: Sequence[Argument]) -> list[str]:
    """The command line of Alertmanager; `further`: those of files that are mounted."""
    ours = [*flags_set(_FLAGS, site, site.version), *further]
    words = with_additional(ours, site.spec.additional_args, "spec.additionalArgs")
    return [_WITHOUT_VALUE.get(word, word) for word in words]


# An empty address turns the cluster off. The flag is no switch: it must be seen to be empty.
_WITHOUT_VALUE: Final = {"--cluster.listen-address": "--cluster.listen-address="}


def _cluster_address(site: AlertSite) -> Value:
    """Where to listen for other members; a single one needs none, unless the user expects more."""
    alone = replicas_of(site.spec) == 1 and not spec_value("force_enable_cluster_mode")(site)
    return ("",) if alone else f"[$(POD_IP)]:{_MESH_PORT}"


def _web_address(site: AlertSite) -> Value:
    host = "127.0.0.1" if site.spec.listen_local else ""
    return f"{host}:{ALERTMANAGER.web_port}"


def _features(site: AlertSite) -> Value:
    return ",".join(_list(site, "enable_features"))


def _timeout(site: AlertSite) -> Value:
    seconds = spec_value("web", "timeout")(site)
    return seconds and f"{seconds}s"


def _silence_size(site: AlertSite) -> Value:
    """The limit in bytes."""
    text = spec_value("limits", "max_per_silence_bytes")(site)
    if not isinstance(text, str) or not text:
        return None
    size = byte_size(text)
    if size is None:
        reason = f"`{text}` is not a size such as 64KiB"
        raise WorkloadError("spec.limits.maxPerSilenceBytes", reason)
    return str(size)


def _start_delay(site: AlertSite) -> Value:
    """Other members need the time until a pod counts as available; the user may know better."""
    given = any(one.name == _START_DELAY for one in site.spec.additional_args or ())
    seconds = site.spec.min_ready_seconds
    return None if seconds is None or given else f"{seconds}s"


def _peer_name(site: AlertSite) -> Value:
    return spec_value("cluster_peer_name")(site) or "$(POD_NAME)"


def _label(site: AlertSite) -> Value:
    return spec_value("cluster_label")(site) or f"{site.namespace}/{site.name}"


def _peers(site: AlertSite) -> Value:
    """All members, by the names that the governing Service gives them, then the user's own."""
    count = replicas_of(site.spec)
    if count > MOST_REPLICAS:
        raise WorkloadError("spec.replicas", f"{count} are too many: at most {MOST_REPLICAS}")
    domain = site.settings.cluster_domain
    service = governing_service_name(site)
    # The dot at the end keeps the resolver from trying its search domains first.
    host = f"{service}.{site.namespace}.svc.{domain}." if domain else service
    members = (f"{prefix_of(site)}-{number}.{host}:{_MESH_PORT}" for number in range(count))
    return (*members, *_list(site, "additional_peers"))


def _list(site: AlertSite, field: str) -> tuple[str, ...]:
    found: Any = getattr(site.spec, field)
    return tuple(found or ())


_FLAGS: Final = (
    Flag("config.file", always(CONFIG_FILE)),
    Flag("storage.path", always(ALERTMANAGER.data_path)),
    Flag("data.retention", lambda site: site.spec.retention or _RETENTION),
    Flag("cluster.listen-address", _cluster_address),
    Flag("web.listen-address", _web_address),
    Flag("web.external-url", spec_value("external_url")),
    Flag("enable-feature", _features, since="0.27.0"),
    Flag("web.route-prefix", lambda site: site.spec.route_prefix or "/"),
    Flag("web.get-concurrency", spec_value("web", "get_concurrency"), since="0.17.0"),
    Flag("web.timeout", _timeout, since="0.17.0"),
    Flag("silences.max-silences", spec_value("limits", "max_silences"), since="0.28.0"),
    Flag("silences.max-silence-size-bytes", _silence_size, since="0.28.0"),
    Flag(_START_DELAY, _start_delay, since="0.30.0"),
    Flag("log.level", other_than("info", "log_level")),
    Flag("log.format", other_than("logfmt", "log_format"), since="0.16.0"),
    Flag("cluster.advertise-address", spec_value("cluster_advertise_address")),
    Flag("cluster.gossip-interval", spec_value("cluster_gossip_interval")),
    Flag("cluster.pushpull-interval", spec_value("cluster_pushpull_interval")),
    Flag("cluster.peer-timeout", spec_value("cluster_peer_timeout")),
    Flag("cluster.peer-name", _peer_name, since="0.30.0"),
    Flag("cluster.label", _label, since="0.26.0"),
    Flag("cluster.peer", _peers),
    # A pod that is gone has another address when it comes back: six hours would be far too long.
    Flag("cluster.reconnect-timeout", always("5m")),
)
