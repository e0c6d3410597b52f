"""The command line of Prometheus: which flags a workload sets, and which versions know them.

A table is read from top to bottom, and its order is that of the command line: a flag that moves
replaces every pod at an upgrade. A flag that the workload's version does not know is left out.
"""

from collections.abc import Callable
from posixpath import normpath
from typing import Any, Final, TypeAlias

from stoker.api.workload import Argument
from stoker.build.paths import CONFIG_FILE, DATA, WEB_PORT
from stoker.select.workload import Scraper
from stoker.version import Version, Versioned

Value: TypeAlias = str | bool | tuple[str, ...] | None


class Flag(Versioned, frozen=True):
    """A flag of a program.

    `value` gives what follows the `=`, or whether a switch is set; None or nothing leaves it out,
    and several values make the flag that often.
    """

    name: str
    value: Callable[[Any], Value]


def flags_set(table: tuple[Flag, ...], subject: Any, version: Version) -> list[Argument]:
    """The arguments that a table makes of its subject for a version."""
    made = []
    for flag in table:
        value = flag.value(subject) if flag.known_to(version) else None
        if isinstance(value, tuple):
            made += [Argument(name=flag.name, value=one) for one in value]
        elif value:
            text = None if value is True else str(value)
            made.append(Argument(name=flag.name, value=text))
    return made


def common_arguments(scraper: Scraper) -> list[Argument]:
    """What servers and agents have in common, first on the command line."""
    return flags_set(_COMMON, scraper, scraper.version)


def server_arguments(scraper: Scraper) -> list[Argument]:
    """What only a server has: storage, queries and rules."""
    return flags_set(_SERVER, scraper, scraper.version)


def agent_arguments(scraper: Scraper) -> list[Argument]:
    """What makes Prometheus an agent."""
    return flags_set(_AGENT, scraper, scraper.version)


def route_prefix(scraper: Scraper) -> str:
    """The path under which the web server answers."""
    return scraper.spec.route_prefix or "/"


def web_path(scraper: Scraper, page: str = "") -> str:
    """The path of a page of the web server."""
    return "/" + normpath(f"{route_prefix(scraper)}/{page}").lstrip("/")


def web_url(scraper: Scraper, host: str, page: str = "") -> str:
    """The URL of a page of the web server, for a neighbour in the pod."""
    scheme = "https" if serves_tls(scraper) else "http"
    return f"{scheme}://{host}:{WEB_PORT}{web_path(scraper, page)}"


def serves_tls(scraper: Scraper) -> bool:
    """Whether the web server wants TLS."""
    web = scraper.spec.web
    return web is not None and web.tls_config is not None


def always(value: Value) -> Callable[[Any], Value]:
    """The same for every workload."""
    return lambda scraper: value


def spec_value(*path: str) -> Callable[[Any], str | bool | None]:
    """The field at a path of attributes below `spec`; None where a part of it is absent."""

    def value(scraper: Any) -> str | bool | None:
        found: Any = scraper.spec
        for attribute in path:
            found = getattr(found, attribute, None)
        return found if isinstance(found, bool) or found is None else str(found)

    return value


def _positive(*path: str) -> Callable[[Scraper], Value]:
    """A number at a path, unless it is zero or less, which means unlimited or nonsense."""
    number = spec_value(*path)
    return lambda scraper: (text := number(scraper)) and int(text) > 0 and text


def other_than(default: str, field: str) -> Callable[[Any], Value]:
    """A field, unless it says what the program does anyway."""
    given = spec_value(field)
    return lambda scraper: (text := given(scraper)) != default and text


_MESSAGES: Final = {
    "V1.0": "prometheus.WriteRequest",
    "V2.0": "io.prometheus.write.v2.Request",
}


def _accepted_messages(scraper: Scraper) -> Value:
    """What the remote write receiver takes, where there is one."""
    versions = scraper.spec.remote_write_receiver_message_versions or ()
    if not scraper.spec.enable_remote_write_receiver:
        return None
    return ",".join(_MESSAGES.get(version, version) for version in versions)


def _features(scraper: Scraper) -> Value:
    return ",".join(scraper.spec.enable_features or ())


def _metadata_in_log(scraper: Scraper) -> Value:
    """Version 2 of remote write sends metadata, which older Prometheus keeps on request only."""
    sent = any(one.message_version == "V2.0" for one in scraper.spec.remote_write or ())
    return "metadata-wal-records" if sent else None


def _new_encoding(scraper: Scraper) -> Value:
    tsdb = scraper.spec.tsdb
    encoding = tsdb.chunk_encoding if tsdb else None
    wanted = encoding is not None and encoding.floats == "Xor2"
    given = "xor2-encoding" in (scraper.spec.enable_features or ())
    return "xor2-encoding" if wanted and not given else None


def _receives_otlp(scraper: Scraper) -> bool:
    """Settings for OTLP mean that it is wanted, unless the user says that it is not."""
    enabled = scraper.spec.enable_otlp_receiver
    return scraper.spec.otlp is not None if enabled is None else enabled


def _otlp_feature(scraper: Scraper) -> Value:
    return "otlp-write-receiver" if _receives_otlp(scraper) else None


def _local_address(scraper: Scraper) -> Value:
    return "127.0.0.1:9090" if scraper.spec.listen_local else None


_DEFAULT_RETENTION: Final = "24h"


def _retention(scraper: Scraper) -> Value:
    return spec_value("retention")(scraper) or _DEFAULT_RETENTION


def _retention_time(scraper: Scraper) -> Value:
    """How long to keep data; where only the size is limited, the size decides alone."""
    by_size = spec_value("retention_size")(scraper)
    return spec_value("retention")(scraper) or (None if by_size else _DEFAULT_RETENTION)


# Pre-releases of the third major version have its flags already.
_THREE: Final = "3.0.0-0"

_COMMON: Final = (
    Flag("config.file", always(CONFIG_FILE)),
    Flag("web.console.templates", always("/etc/prometheus/consoles"), until=_THREE),
    Flag("web.console.libraries", always("/etc/prometheus/console_libraries"), until=_THREE),
    Flag("web.enable-lifecycle", lambda one: one.spec.reload_strategy != "ProcessSignal"),
    Flag("web.page-title", spec_value("web", "page_title"), since="2.6.0"),
    Flag("web.max-connections", spec_value("web", "max_connections")),
    Flag(
        "web.enable-remote-write-receiver",
        spec_value("enable_remote_write_receiver"),
        since="2.33.0",
    ),
    Flag(
        "web.remote-write-receiver.accepted-protobuf-messages", _accepted_messages, since="2.54.0"
    ),
    Flag("enable-feature", _metadata_in_log, since="2.54.0", until="3.4.0"),
    Flag("enable-feature", _otlp_feature, since="2.47.0", until=_THREE),
    Flag("web.enable-otlp-receiver", _receives_otlp, since=_THREE),
    Flag("enable-feature", _features, since="2.25.0"),
    Flag("enable-feature", _new_encoding, since="3.13.0"),
    Flag("web.external-url", spec_value("external_url")),
    Flag("web.route-prefix", route_prefix),
    Flag("log.level", other_than("info", "log_level")),
    Flag("log.format", other_than("logfmt", "log_format"), since="2.6.0"),
    Flag("web.listen-address", _local_address),
)

# Since 3.11 how much to keep is said in the configuration, where a reload changes it.
_SERVER: Final = (
    Flag("storage.tsdb.retention", _retention, until="2.7.0"),
    Flag("storage.tsdb.retention.time", _retention_time, since="2.7.0", until="3.11.0"),
    Flag(
        "storage.tsdb.retention.size", spec_value("retention_size"), since="2.7.0", until="3.11.0"
    ),
    Flag("storage.tsdb.path", always(DATA)),
    Flag("web.enable-admin-api", spec_value("enable_admin_api")),
    Flag(
        "rules.alert.for-outage-tolerance",
        spec_value("rules", "alert", "for_outage_tolerance"),
        since="2.4.0",
    ),
    Flag(
        "rules.alert.for-grace-period",
        spec_value("rules", "alert", "for_grace_period"),
        since="2.4.0",
    ),
    Flag("rules.alert.resend-delay", spec_value("rules", "alert", "resend_delay"), since="2.4.0"),
    Flag("query.lookback-delta", spec_value("query", "lookback_delta")),
    Flag("query.max-samples", _positive("query", "max_samples"), since="2.5.0"),
    Flag("query.max-concurrency", _positive("query", "max_concurrency")),
    Flag("query.timeout", spec_value("query", "timeout")),
    Flag(
        "storage.tsdb.allow-overlapping-blocks",
        spec_value("allow_overlapping_blocks"),
        since="2.11.0",
        until="2.39.0",
    ),
    Flag("storage.tsdb.wal-compression", spec_value("wal_compression"), since="2.11.0"),
    Flag(
        "no-storage.tsdb.wal-compression",
        lambda one: one.spec.wal_compression is False,
        since="2.11.0",
    ),
)

_AGENT: Final = (
    Flag("enable-feature", always("agent"), until=_THREE),
    Flag("agent", always(True), since=_THREE),
    Flag("storage.agent.path", always(DATA)),
    Flag("storage.agent.wal-compression", spec_value("wal_compression")),
    Flag("no-storage.agent.wal-compression", lambda one: one.spec.wal_compression is False),
)
