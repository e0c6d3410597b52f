"""The command line of a Thanos Ruler: which flags a workload sets, and which versions know them.

Configurations that users keep in Secrets are mounted as files, each named by a row of `FILES`; a
path that the user gives wins over the Secret.
"""

from collections.abc import Callable, Iterable
from typing import Any, Final

from msgspec import Struct

from stoker.api.core import SecretKeySelector
from stoker.api.thanosruler import ThanosRulerSpec
from stoker.api.workload import Argument
from stoker.build.alerting.site import THANOS_RULER, AlertSite
from stoker.build.args import as_text, with_additional
from stoker.build.arguments import Flag, Value, always, flags_set, other_than, spec_value
from stoker.build.thanos import server_tls
from stoker.errors import WorkloadError
from stoker.generate.thanosruler import REMOTE_WRITE_FILE, REMOTE_WRITE_SINCE
from stoker.validate.findings import json_names
from stoker.validate.syntax import milliseconds

CONFIG: Final = "/etc/thanos/config"
RULES: Final = "/etc/thanos/rules"
REMOTE_WRITE_VOLUME: Final = "remote-write-config"

_REPLICA: Final = "thanos_ruler_replica"


class ConfigFile(Struct, frozen=True):
    """A configuration in a Secret: its field, the field of a path that wins, its volume."""

    field: str
    path_field: str
    volume: str

    def secret(self, spec: ThanosRulerSpec) -> SecretKeySelector | None:
        """The key of the Secret to mount, if there is one; WorkloadError where it is half a key."""
        chosen: SecretKeySelector | None = getattr(spec, self.field)
        if chosen is None or self._path(spec):
            return None
        for member in ("name", "key"):
            if not getattr(chosen, member):
                path = f"spec.{json_names(ThanosRulerSpec)[self.field]}.{member}"
                raise WorkloadError(path, "this must be set: the file comes from a key of a Secret")
        return chosen

    def path(self, site: AlertSite) -> Value:
        """Where the file is in the container."""
        spec: Any = site.spec
        secret = self.secret(spec)
        return f"{CONFIG}/{self.volume}/{secret.key}" if secret else self._path(spec)

    def _path(self, spec: ThanosRulerSpec) -> str | None:
        return getattr(spec, self.path_field) if self.path_field else None


_QUERY: Final = ConfigFile("query_config", "", "query-config")
_ALERTMANAGERS: Final = ConfigFile("alertmanagers_config", "", "alertmanager-config")
_STORAGE: Final = ConfigFile(
    "object_storage_config", "object_storage_config_file", "objstorage-config"
)
_TRACING: Final = ConfigFile("tracing_config", "tracing_config_file", "tracing-config")
_RELABELING: Final = ConfigFile(
    "alert_relabel_configs", "alert_relabel_config_file", "alertrelabel-config"
)
FILES: Final = (_QUERY, _ALERTMANAGERS, _STORAGE, _TRACING, _RELABELING)


def ruler_arguments(site: AlertSite, last: Iterable[Argument]) -> list[str]:
    """The command line of a Thanos Ruler; `last`: what comes after the user's own arguments.

    WorkloadError where there is nothing to ask for data.
    """
    spec: Any = site.spec
    if not spec.query_endpoints and spec.query_config is None:
        reason = "set `queryEndpoints` or `queryConfig`: rules need someone to ask for data"
        raise WorkloadError("spec.queryEndpoints", reason)
    version = site.version
    ours = flags_set(_FLAGS, site, version)
    ours += server_tls(spec.grpc_server_tls_config, version)
    ours += flags_set(_WEB_AND_ALERTS, site, version)
    after = list(last)
    words = with_additional([*ours, *after], spec.additional_args, "spec.additionalArgs")
    mine = len(ours)
    # The web server's file stands at the end, as it does with prometheus-operator.
    return ["rule", *words[:mine], *words[mine + len(after) :], *as_text(after)]


def _duration(field: str, default: str | None = None) -> Callable[[AlertSite], Value]:
    """A duration as Go reads it, which knows no days."""

    def value(site: AlertSite) -> Value:
        text: str | None = getattr(site.spec, field) or default
        if not text or not set(text) & set("dwy"):
            return text
        amount = milliseconds(text)
        return text if amount is None else f"{amount}ms"

    return value


def _labels(site: AlertSite) -> Value:
    """The labels of all results; which replica made them comes first."""
    spec: Any = site.spec
    given = spec.labels or {}
    for name in given:
        if not name or "=" in name:
            raise WorkloadError("spec.labels", f"`{name}` is not the name of a label")
    own = f'{_REPLICA}="$(POD_NAME)"'
    return (own, *(f"{name}={_quoted(given[name])}" for name in sorted(given)))


def _quoted(value: str) -> str:
    """A text as Go quotes it."""
    escaped = value.replace("\\", "\\\\").replace('"', '\\"')
    return '"' + escaped.replace("\n", "\\n").replace("\r", "\\r") + '"'


def _dropped(site: AlertSite) -> Value:
    return (_REPLICA, *_list(site, "alert_drop_labels"))


def _local_address(site: AlertSite) -> Value:
    return f"localhost:{THANOS_RULER.web_port}" if site.spec.listen_local else None


def _features(site: AlertSite) -> Value:
    return ",".join(_list(site, "enable_features"))


def _unless_file(field: str, file: ConfigFile) -> Callable[[AlertSite], Value]:
    """A list of addresses, unless a file says it better."""
    return lambda site: None if file.path(site) else _list(site, field)


def _remote_write(site: AlertSite) -> Value:
    wanted = _list(site, "remote_write")
    return f"{CONFIG}/{REMOTE_WRITE_VOLUME}/{REMOTE_WRITE_FILE}" if wanted else None


def _list(site: AlertSite, field: str) -> tuple[Any, ...]:
    return tuple(getattr(site.spec, field) or ())


_FLAGS: Final = (
    Flag("data-dir", always(THANOS_RULER.data_path)),
    Flag("eval-interval", _duration("evaluation_interval", "15s")),
    Flag("tsdb.retention", lambda site: site.spec.retention or "24h"),
    Flag("rule-query-offset", _duration("rule_query_offset"), since="0.38.0"),
    Flag("rule-concurrent-evaluation", spec_value("rule_concurrent_eval"), since="0.37.0"),
    Flag("for-outage-tolerance", _duration("rule_outage_tolerance"), since="0.30.0"),
    Flag("for-grace-period", _duration("rule_grace_period"), since="0.30.0"),
    Flag("resend-delay", _duration("resend_delay")),
    Flag("enable-feature", _features, since="0.39.0"),
    Flag("label", _labels),
    Flag("alert.label-drop", _dropped),
    Flag("http-address", _local_address),
    Flag("log.level", other_than("info", "log_level")),
    Flag("log.format", spec_value("log_format")),
    Flag("rule-file", always(f"{RULES}/*/*.yaml")),
    Flag("remote-write.config-file", _remote_write, since=REMOTE_WRITE_SINCE),
    Flag("query.config-file", _QUERY.path),
    Flag("query", _unless_file("query_endpoints", _QUERY)),
    Flag("alertmanagers.config-file", _ALERTMANAGERS.path),
    Flag("alertmanagers.url", _unless_file("alertmanagers_url", _ALERTMANAGERS)),
    Flag("objstore.config-file", _STORAGE.path),
    Flag("tracing.config-file", _TRACING.path),
    Flag("alert.relabel-config-file", _RELABELING.path),
)
_WEB_AND_ALERTS: Final = (
    Flag("web.external-prefix", spec_value("external_prefix")),
    Flag("web.route-prefix", spec_value("route_prefix")),
    Flag("alert.query-url", spec_value("alert_query_url")),
)
