"""The sections of `prometheus.yaml` that come from the workload alone.

Each function makes one section of the workload's spec, or None where the section has nothing to
say. What a field becomes, and which versions of Prometheus know it, is a row of a table. A
combination that Prometheus would refuse to load is a `WorkloadError`: the configuration that runs
stays, and the workload's status tells why.
"""

from collections.abc import Callable, Sequence
from typing import Any, Final

from stoker.api.prometheus import PrometheusSpec
from stoker.api.prometheus_common import (
    ChunkEncoding,
    OtlpConfig,
    PrometheusCommonSpec,
)
from stoker.errors import WorkloadError
from stoker.generate.block import Block
from stoker.generate.draft import ScraperDraft
from stoker.generate.grammar import Member, Write, by_table, put
from stoker.generate.http import tls_config
from stoker.generate.measures import lowest, number, size
from stoker.generate.sharding import zones
from stoker.generate.values import escaping_scheme, items, lower, scrape_protocols

SPEC: Final = "spec"
RULES: Final = "/etc/prometheus/rules"
LOGS: Final = "/var/log/prometheus"
DEFAULT_RETENTION: Final = "24h"

_POD: Final = "$(POD_NAME)"
_ZONE: Final = "$(TOPOLOGY_ZONE)"


# --- How a value is written -----------------------------------------------------------------------


def sorted_members(members: dict[str, str], _draft: ScraperDraft, _path: str) -> Block | None:
    """A mapping in the order of its names; None where it is empty."""
    return dict(sorted(members.items())) or None


def unless_empty(write: Write) -> Write:
    """Leaves out what would be empty."""
    return lambda value, draft, path: write(value, draft, path) or None


def _log_file(name: str, _draft: ScraperDraft, _path: str) -> str:
    """A file without a directory lies in the volume that the operator adds for logs."""
    file = name.removeprefix("./")
    return name if "/" in file else f"{LOGS}/{file}"


def _number(quantity: int | str, _draft: ScraperDraft, path: str) -> float:
    value = number(quantity)
    if value is None:
        raise WorkloadError(path, f"`{quantity}` is not a quantity such as 500m")
    return value


# --- global ---------------------------------------------------------------------------------------

_SCRAPING: Final = (
    Member("scrape_timeout"),
    Member("scrape_protocols", since="2.49.0", write=scrape_protocols),
)
_LIMITS: Final = tuple(
    (Member(name, since=since),)
    for name, since in (
        ("body_size_limit", "2.45.0"),
        ("sample_limit", "2.45.0"),
        ("target_limit", "2.45.0"),
        ("label_limit", "2.45.0"),
        ("label_name_length_limit", "2.45.0"),
        ("label_value_length_limit", "2.45.0"),
        ("keep_dropped_targets", "2.47.0"),
    )
)
_NAMES_AND_HISTOGRAMS: Final = (
    Member("scrape_failure_log_file", since="2.55.0", write=_log_file),
    Member("metric_name_validation_scheme", "name_validation_scheme", since="3.0.0", write=lower),
    Member(
        "metric_name_escaping_scheme", "name_escaping_scheme", since="3.4.0", write=escaping_scheme
    ),
    Member("convert_classic_histograms_to_nhcb", since="3.4.0"),
    Member("always_scrape_classic_histograms", "scrape_classic_histograms", since="3.5.0"),
    Member("scrape_native_histograms", since="3.8.0"),
)
_RULES_AND_QUERIES: Final = (
    Member("rule_query_offset", since="2.53.0"),
    Member("query_log_file", since="2.16.0", write=_log_file),
)


def global_section(draft: ScraperDraft) -> Block:
    """`global`: what holds for all scrapes and rules, and the labels of all that leaves."""
    spec = draft.spec
    block: Block = {"scrape_interval": spec.scrape_interval or ""}
    put(block, _SCRAPING, spec, draft, SPEC)
    block["external_labels"] = external_labels(draft)
    _put_limits(block, draft)
    put(block, _NAMES_AND_HISTOGRAMS, spec, draft, SPEC)
    if isinstance(spec, PrometheusSpec):
        block["evaluation_interval"] = spec.evaluation_interval or ""
        put(block, _RULES_AND_QUERIES, spec, draft, SPEC)
    return block


def external_labels(draft: ScraperDraft) -> dict[str, str]:
    """The labels of all that leaves Prometheus; those that tell workloads apart always win."""
    spec, workload = draft.spec, draft.scraper
    own = {
        label_name(spec.prometheus_external_label_name, "prometheus"): (
            f"{workload.namespace}/{workload.name}"
        ),
        replica_label(spec): _POD,
        _zone_label(draft): _ZONE,
    }
    labels = (spec.external_labels or {}) | own
    return {name: labels[name] for name in sorted(labels) if name}


def label_name(name: str | None, default: str) -> str:
    """The name of a label that a workload can rename, or do without by an empty name."""
    return default if name is None else name


def replica_label(spec: PrometheusCommonSpec) -> str:
    """The external label that tells replicas apart, empty for none."""
    return label_name(spec.replica_external_label_name, "prometheus_replica")


def _zone_label(draft: ScraperDraft) -> str:
    strategy = draft.spec.sharding_strategy
    if not strategy or not strategy.topology or not zones(draft.scraper):
        return ""
    return label_name(strategy.topology.external_label_name, "zone")


def _put_limits(block: Block, draft: ScraperDraft) -> None:
    """Limits for scrapes that set none; where only a ceiling is given, it is the limit too."""
    for table in _LIMITS:
        (member,) = table
        # Zero is no limit, as if none were given.
        limit = getattr(draft.spec, member.name) or None
        if member.known_to(draft.version):
            amount: Callable[[Any], int] = size if member.name == "body_size_limit" else int
            capped = lowest(limit, getattr(draft.spec, f"enforced_{member.name}"), amount)
            block |= {} if capped is None else {member.name: capped}
        elif limit is not None:
            put({}, table, draft.spec, draft, SPEC)


# --- rule_files, runtime --------------------------------------------------------------------------


def rule_files_section(config_maps: Sequence[str], draft: ScraperDraft) -> list[str] | None:
    """`rule_files`: the files in the ConfigMaps that hold rules, where rules are selected."""
    if not isinstance(draft.spec, PrometheusSpec) or draft.spec.rule_selector is None:
        return None
    return [f"{RULES}/{name}/*.yaml" for name in config_maps]


_RUNTIME: Final = (
    Member("runtime", write=unless_empty(by_table(Member("gogc", "go_gc", since="2.53.0")))),
)


def runtime_section(draft: ScraperDraft) -> Block | None:
    """`runtime`: settings of the Go runtime."""
    return _section(_RUNTIME, draft)


# --- storage --------------------------------------------------------------------------------------


def _chunk_encoding(encoding: ChunkEncoding, draft: ScraperDraft, path: str) -> Block | None:
    if not encoding.floats:
        return None
    features = {name for text in draft.spec.enable_features or () for name in text.split(",")}
    if encoding.floats == "Xor" and "st-storage" in features:
        raise WorkloadError(
            f"{path}.floats",
            "Xor chunks cannot hold start timestamps, which the feature st-storage stores",
        )
    return {"floats": encoding.floats.lower()}


def _percentage(quantity: int | str, draft: ScraperDraft, path: str) -> float:
    percent = _number(quantity, draft, path)
    if not 0 <= percent <= 100:
        raise WorkloadError(path, f"must be between 0 and 100, not {quantity}")
    return percent


_TSDB: Final = (
    Member("out_of_order_time_window", since="2.39.0"),
    Member("stale_series_compaction_threshold", since="3.10.0", write=_number),
    Member("chunk_encoding", since="3.13.0", write=_chunk_encoding),
)
_TSDB_OF_AGENT: Final = (Member("out_of_order_time_window", since="2.54.0"), *_TSDB[1:])

# Time and size are flags of older versions: there is nothing to report when they are not here.
_RETENTION: Final = Member("retention", since="3.11.0")
_RETENTION_PERCENTAGE: Final = (
    Member("percentage", "retention_percentage", since="3.11.0", write=_percentage),
)
_RETENTION_KEYS: Final = (
    Member("time", "retention"),
    Member("size", "retention_size"),
    *_RETENTION_PERCENTAGE,
)
_EXEMPLARS: Final = Member(
    "exemplars", since="2.29.0", write=unless_empty(by_table(Member("max_exemplars", "max_size")))
)
_STORAGE: Final = (_EXEMPLARS, Member("tsdb", write=unless_empty(by_table(*_TSDB))))
_STORAGE_OF_AGENT: Final = (Member("tsdb", write=unless_empty(by_table(*_TSDB_OF_AGENT))),)


def storage_section(draft: ScraperDraft) -> Block | None:
    """`storage`: exemplars, the time series database, and how long data is kept."""
    block: Block = {}
    put(block, _STORAGE_OF_AGENT if draft.scraper.agent else _STORAGE, draft.spec, draft, SPEC)
    retention = _retention(draft)
    if retention:
        block["tsdb"] = block.get("tsdb", {}) | {"retention": retention}
    return block or None


def _retention(draft: ScraperDraft) -> Block | None:
    spec = draft.spec
    if not isinstance(spec, PrometheusSpec):
        return None
    if not _RETENTION.known_to(draft.version):
        put({}, _RETENTION_PERCENTAGE, spec, draft, SPEC)
        return None
    block: Block = {}
    put(block, _RETENTION_KEYS, spec, draft, SPEC)
    return block if any(block.values()) else {"time": DEFAULT_RETENTION, **block}


# --- otlp -----------------------------------------------------------------------------------------

_TRANSLATIONS: Final = {
    "NoTranslation": Member("NoTranslation", since="3.4.0"),
    "UnderscoreEscapingWithoutSuffixes": Member("UnderscoreEscapingWithoutSuffixes", since="3.6.0"),
}
_TRANSLATIONS_TO_UTF8: Final = ("NoTranslation", "NoUTF8EscapingWithSuffixes")


def _translation(strategy: str, draft: ScraperDraft, path: str) -> str:
    known = _TRANSLATIONS.get(strategy)
    if known and not known.known_to(draft.version):
        raise WorkloadError(path, f"{strategy} {known.lacking(draft.program)}")
    if strategy in _TRANSLATIONS_TO_UTF8 and draft.spec.name_validation_scheme == "Legacy":
        raise WorkloadError(
            path, f"{strategy} makes names that nameValidationScheme Legacy refuses"
        )
    return strategy


_OTLP: Final = (
    Member("promote_resource_attributes", since="2.55.0", write=items),
    Member("translation_strategy", since="3.0.0", write=_translation),
    Member("keep_identifying_resource_attributes", since="3.1.0"),
    Member("convert_histograms_to_nhcb", since="3.4.0"),
    Member("promote_all_resource_attributes", since="3.5.0"),
    Member("ignore_resource_attributes", since="3.5.0", write=items),
    Member("promote_scope_metadata", since="3.6.0"),
    Member("label_name_underscore_sanitization", since="3.8.0"),
    Member("label_name_preserve_multiple_underscores", since="3.8.0"),
)
_OTLP_SECTION: Final = Member("otlp", since="2.55.0")


def otlp_section(draft: ScraperDraft) -> Block | None:
    """`otlp`: how metrics received by OTLP become series."""
    otlp: OtlpConfig | None = draft.spec.otlp
    path = f"{SPEC}.otlp"
    if otlp is None:
        return None
    if not _OTLP_SECTION.known_to(draft.version):
        raise WorkloadError(path, _OTLP_SECTION.lacking(draft.program))
    block: Block = {}
    put(block, _OTLP, otlp, draft, path)
    promotes_all = block.get("promote_all_resource_attributes")
    if promotes_all and "promote_resource_attributes" in block:
        raise WorkloadError(
            f"{path}.promoteResourceAttributes", "promoteAllResourceAttributes already has them all"
        )
    if not promotes_all and "ignore_resource_attributes" in block:
        raise WorkloadError(
            f"{path}.ignoreResourceAttributes", "needs promoteAllResourceAttributes to be true"
        )
    return block or None


# --- tracing --------------------------------------------------------------------------------------

_TRACING: Final = (
    Member(
        "tracing",
        "tracing_config",
        since="2.34.0",
        write=by_table(
            Member("endpoint", keep_empty=True),
            Member("client_type", write=lower),
            Member("sampling_fraction", write=_number),
            Member("insecure"),
            Member("headers", write=sorted_members),
            Member("compression", write=lower),
            Member("timeout"),
            Member("tls_config", write=tls_config),
        ),
    ),
)


def tracing_section(draft: ScraperDraft) -> Block | None:
    """`tracing`: where Prometheus sends traces of its own work."""
    return _section(_TRACING, draft)


def _section(table: tuple[Member], draft: ScraperDraft) -> Block | None:
    """A section that one field of the spec makes."""
    block: Block = {}
    put(block, table, draft.spec, draft, SPEC)
    (member,) = table
    return block.get(member.name)
