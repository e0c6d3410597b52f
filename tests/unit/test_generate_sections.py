"""The sections of `prometheus.yaml` that come from the workload alone."""

from typing import Any

import pytest

from stoker.api.decode import convert
from stoker.api.prometheus import PrometheusAgentSpec, PrometheusSpec
from stoker.errors import WorkloadError
from stoker.generate.block import text_of
from stoker.generate.draft import ScraperDraft
from stoker.generate.measures import lowest, number, size
from stoker.generate.sections import (
    global_section,
    otlp_section,
    rule_files_section,
    runtime_section,
    storage_section,
    tracing_section,
)
from stoker.ref import Ref
from stoker.select.assets import AssetsAtHand
from stoker.select.workload import Scraper
from stoker.settings import Capabilities

SECRETS = AssetsAtHand({Ref("Secret", "shop", "login"): {"user": "ann", "password": "yes"}})
ALL = Capabilities()


def draft_of(
    spec: dict[str, Any], *, agent: bool = False, capabilities: Capabilities = ALL
) -> ScraperDraft:
    """A draft for the workload `main` in the namespace `shop`."""
    model: Any = PrometheusAgentSpec if agent else PrometheusSpec
    workload = Scraper(
        namespace="shop",
        name="main",
        spec=convert(model, spec),
        agent=agent,
        capabilities=capabilities,
    )
    return ScraperDraft(workload, SECRETS, workload.namespace)


def ignored(draft: ScraperDraft) -> list[str]:
    """The paths of the fields that were left out."""
    return [one.path for one in draft.ignored]


# --- global ---------------------------------------------------------------------------------------


def test_a_server_tells_its_intervals_and_who_it_is() -> None:
    """Namespace and name of the workload, and the pod, are labels of all that leaves it."""
    section = global_section(draft_of({"scrapeInterval": "30s", "evaluationInterval": "1m"}))
    assert text_of(section) == (
        "scrape_interval: 30s\n"
        "external_labels:\n"
        "  prometheus: shop/main\n"
        "  prometheus_replica: $(POD_NAME)\n"
        "evaluation_interval: 1m\n"
    )


def test_an_agent_has_nothing_of_rules_and_queries() -> None:
    """An agent evaluates nothing, so it has no evaluation interval."""
    section = global_section(draft_of({"scrapeInterval": "30s"}, agent=True))
    assert list(section) == ["scrape_interval", "external_labels"]


def test_labels_that_tell_workloads_apart_win_over_the_users() -> None:
    """Two workloads that write to one storage must never be taken for one."""
    labels = {"prometheus": "mine", "zone": "a", "B": "2", "prometheus_replica": "0"}
    assert global_section(draft_of({"externalLabels": labels}))["external_labels"] == {
        "B": "2",
        "prometheus": "shop/main",
        "prometheus_replica": "$(POD_NAME)",
        "zone": "a",
    }


def test_labels_can_be_renamed_or_left_out() -> None:
    """Another name moves the label, an empty name removes it."""
    spec = {"prometheusExternalLabelName": "cluster", "replicaExternalLabelName": ""}
    assert global_section(draft_of(spec))["external_labels"] == {"cluster": "shop/main"}


@pytest.mark.parametrize(
    ("topology", "gate", "label"),
    [
        ({"values": ["a", "b"]}, True, "zone"),
        ({"values": ["a", "b"], "externalLabelName": "place"}, True, "place"),
        ({"values": ["a", "b"], "externalLabelName": ""}, True, None),
        ({"values": ["a", "b"]}, False, None),
        ({}, True, None),
    ],
)
def test_shards_of_zones_tell_their_zone(
    topology: dict[str, Any], gate: bool, label: str | None
) -> None:
    """Where shards are spread over zones, and unless the label is unwanted."""
    strategy = {"shardingStrategy": {"mode": "Topology", "topology": topology}}
    draft = draft_of(strategy, capabilities=Capabilities(topology_sharding=gate))
    labels = global_section(draft)["external_labels"]
    own = {name for name, value in labels.items() if value == "$(TOPOLOGY_ZONE)"}
    assert own == ({label} if label else set())


def test_a_limit_never_exceeds_its_ceiling() -> None:
    """A ceiling without a limit is the limit, for all scrapes that set none; zero is none."""
    spec = {
        "bodySizeLimit": "1GB",
        "enforcedBodySizeLimit": "900MB",
        "sampleLimit": 10,
        "enforcedSampleLimit": 20,
        "enforcedTargetLimit": 5,
        "labelLimit": 0,
        "enforcedLabelLimit": 7,
        "keepDroppedTargets": 0,
    }
    section = global_section(draft_of(spec))
    limits = {name: value for name, value in section.items() if "limit" in name or "keep" in name}
    assert limits == {
        "body_size_limit": "900MB",
        "sample_limit": 10,
        "target_limit": 5,
        "label_limit": 7,
    }


def test_limits_of_old_versions_are_not_global() -> None:
    """The user's own limit is reported; a ceiling is not, since jobs have it."""
    draft = draft_of({"version": "v2.44.0", "sampleLimit": 10, "enforcedTargetLimit": 5})
    assert not {"sample_limit", "target_limit"} & global_section(draft).keys()
    assert ignored(draft) == ["spec.sampleLimit"]


def test_protocols_that_a_version_does_not_know_are_dropped_one_by_one() -> None:
    """The others stay in their order."""
    wanted = ["PrometheusText1.0.0", "OpenMetricsText1.0.0"]
    draft = draft_of({"version": "v2.49.0", "scrapeProtocols": wanted})
    assert global_section(draft)["scrape_protocols"] == ["OpenMetricsText1.0.0"]
    assert ignored(draft) == ["spec.scrapeProtocols[0]"]


@pytest.mark.parametrize(
    ("name", "path"),
    [
        ("scrape.log", "/var/log/prometheus/scrape.log"),
        ("./scrape.log", "/var/log/prometheus/scrape.log"),
        ("/tmp/scrape.log", "/tmp/scrape.log"),  # noqa: S108
        ("/dev/stdout", "/dev/stdout"),
    ],
)
def test_log_files_without_a_directory_get_the_one_for_logs(name: str, path: str) -> None:
    """The operator mounts a volume there, since the rest may be read-only."""
    section = global_section(draft_of({"scrapeFailureLogFile": name, "queryLogFile": name}))
    assert (section["scrape_failure_log_file"], section["query_log_file"]) == (path, path)


def test_schemes_are_written_in_prometheus_words() -> None:
    """The API capitalises what Prometheus does not."""
    spec = {"nameValidationScheme": "UTF8", "nameEscapingScheme": "AllowUTF8"}
    section = global_section(draft_of(spec))
    assert section["metric_name_validation_scheme"] == "utf8"
    assert section["metric_name_escaping_scheme"] == "allow-utf-8"


def test_what_a_version_does_not_know_is_left_out_and_reported() -> None:
    """Prometheus would refuse the whole file for one unknown member."""
    spec = {
        "version": "v2.15.2",
        "scrapeProtocols": ["PrometheusProto"],
        "keepDroppedTargets": 1,
        "scrapeFailureLogFile": "a.log",
        "nameValidationScheme": "Legacy",
        "nameEscapingScheme": "Dots",
        "scrapeNativeHistograms": True,
        "scrapeClassicHistograms": False,
        "convertClassicHistogramsToNHCB": True,
        "ruleQueryOffset": "1m",
        "queryLogFile": "q.log",
    }
    draft = draft_of(spec)
    known = ["scrape_interval", "external_labels", "evaluation_interval"]
    assert list(global_section(draft)) == known
    assert sorted(ignored(draft)) == sorted(f"spec.{name}" for name in spec if name != "version")


# --- rule_files, runtime --------------------------------------------------------------------------


def test_rule_files_are_those_of_the_config_maps() -> None:
    """Selected but none there is an empty list; without a selector there is no section."""
    selecting = draft_of({"ruleSelector": {}})
    assert rule_files_section(["main-0"], selecting) == ["/etc/prometheus/rules/main-0/*.yaml"]
    assert rule_files_section([], selecting) == []
    assert rule_files_section(["main-0"], draft_of({})) is None


def test_the_go_runtime_is_tuned_where_the_version_can() -> None:
    """A version that cannot gets no section at all."""
    assert runtime_section(draft_of({"runtime": {"goGC": -1}})) == {"gogc": -1}
    assert runtime_section(draft_of({"runtime": {}})) is None
    old = draft_of({"version": "v2.52.0", "runtime": {"goGC": 25}})
    assert runtime_section(old) is None
    assert ignored(old) == ["spec.runtime.goGC"]


# --- storage --------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("spec", "retention"),
    [
        ({}, {"time": "24h"}),
        ({"retention": "2d"}, {"time": "2d"}),
        ({"retentionSize": "1GB"}, {"size": "1GB"}),
        ({"retentionPercentage": "80"}, {"percentage": 80}),
        ({"retentionPercentage": "12500m"}, {"percentage": 12.5}),
        ({"retentionPercentage": 0}, {"time": "24h", "percentage": 0}),
        (
            {"retention": "2d", "retentionSize": "1GB", "retentionPercentage": "80"},
            {"time": "2d", "size": "1GB", "percentage": 80},
        ),
    ],
)
def test_retention_is_in_the_file_where_the_version_reads_it_there(
    spec: dict[str, Any], retention: dict[str, Any]
) -> None:
    """Without any limit data is kept for a day, or the disk would fill."""
    section = storage_section(draft_of({"version": "v3.11.0"} | spec))
    assert section == {"tsdb": {"retention": retention}}
    assert list(section["tsdb"]["retention"]) == list(retention)


def test_older_versions_have_retention_as_flags() -> None:
    """Only the percentage, which is no flag, is reported."""
    spec = {"version": "v3.10.0", "retention": "2d", "retentionPercentage": "200"}
    draft = draft_of(spec)
    assert storage_section(draft) is None
    assert ignored(draft) == ["spec.retentionPercentage"]


@pytest.mark.parametrize("percentage", ["-1", "101", "100001m", "many", ""])
def test_a_percentage_is_between_0_and_100(percentage: str) -> None:
    """Prometheus refuses others, and so must what is no number at all."""
    draft = draft_of({"version": "v3.11.0", "retentionPercentage": percentage})
    if percentage:
        with pytest.raises(WorkloadError, match=r"^spec\.retentionPercentage: "):
            storage_section(draft)
    else:
        assert storage_section(draft) == {"tsdb": {"retention": {"time": "24h"}}}


def test_storage_of_a_server() -> None:
    """Exemplars and the database's own settings, in that order."""
    spec = {
        "version": "v3.13.0",
        "exemplars": {"maxSize": 0},
        "tsdb": {
            "outOfOrderTimeWindow": "10m",
            "staleSeriesCompactionThreshold": "500m",
            "chunkEncoding": {"floats": "Xor2"},
        },
        "retention": "2d",
    }
    assert text_of(storage_section(draft_of(spec))) == (
        "exemplars:\n"
        "  max_exemplars: 0\n"
        "tsdb:\n"
        "  out_of_order_time_window: 10m\n"
        "  stale_series_compaction_threshold: 0.5\n"
        "  chunk_encoding:\n"
        "    floats: xor2\n"
        "  retention:\n"
        "    time: 2d\n"
    )


@pytest.mark.parametrize(("version", "known"), [("v2.53.0", False), ("v2.54.0", True)])
def test_agents_take_late_samples_later_than_servers_do(version: str, known: bool) -> None:
    """Servers can since 2.39, agents since 2.54; agents have no retention."""
    spec = {"version": version, "tsdb": {"outOfOrderTimeWindow": "10m"}}
    expected = {"tsdb": {"out_of_order_time_window": "10m"}}
    assert storage_section(draft_of(spec, agent=True)) == (expected if known else None)
    assert storage_section(draft_of(spec)) == expected


def test_chunks_without_start_timestamps_exclude_their_storage() -> None:
    """Prometheus would not start with both."""
    spec = {
        "version": "v3.13.0",
        "tsdb": {"chunkEncoding": {"floats": "Xor"}},
        "enableFeatures": ["otlp-deltatocumulative,st-storage"],
    }
    with pytest.raises(WorkloadError, match=r"chunkEncoding\.floats"):
        storage_section(draft_of(spec))


# --- otlp, tracing --------------------------------------------------------------------------------


def test_otlp_settings_follow_the_version() -> None:
    """Those that the version does not know are left out and reported."""
    otlp = {
        "promoteResourceAttributes": ["a"],
        "translationStrategy": "UnderscoreEscapingWithSuffixes",
        "keepIdentifyingResourceAttributes": False,
        "ignoreResourceAttributes": ["b"],
    }
    draft = draft_of({"version": "v3.0.0", "otlp": otlp})
    assert otlp_section(draft) == {
        "promote_resource_attributes": ["a"],
        "translation_strategy": "UnderscoreEscapingWithSuffixes",
    }
    assert ignored(draft) == [
        "spec.otlp.keepIdentifyingResourceAttributes",
        "spec.otlp.ignoreResourceAttributes",
    ]


@pytest.mark.parametrize("spec", [{}, {"otlp": {}}, {"otlp": {"promoteResourceAttributes": []}}])
def test_nothing_about_otlp_is_no_section(spec: dict[str, Any]) -> None:
    """An empty section would say nothing."""
    assert otlp_section(draft_of(spec)) is None


@pytest.mark.parametrize(
    ("version", "otlp", "path"),
    [
        ("v2.54.0", {}, "spec.otlp"),
        (
            "v3.5.0",
            {"promoteAllResourceAttributes": True, "promoteResourceAttributes": ["a"]},
            "spec.otlp.promoteResourceAttributes",
        ),
        (
            "v3.5.0",
            {"promoteAllResourceAttributes": False, "ignoreResourceAttributes": ["a"]},
            "spec.otlp.ignoreResourceAttributes",
        ),
        ("v3.3.0", {"translationStrategy": "NoTranslation"}, "spec.otlp.translationStrategy"),
        (
            "v3.5.0",
            {"translationStrategy": "UnderscoreEscapingWithoutSuffixes"},
            "spec.otlp.translationStrategy",
        ),
    ],
)
def test_otlp_settings_that_cannot_be_are_refused(
    version: str, otlp: dict[str, Any], path: str
) -> None:
    """What Prometheus would refuse, or what would change the names of all metrics if left out."""
    with pytest.raises(WorkloadError) as error:
        otlp_section(draft_of({"version": version, "otlp": otlp}))
    assert error.value.path == path


@pytest.mark.parametrize(
    ("strategy", "fits"),
    [
        ("NoUTF8EscapingWithSuffixes", False),
        ("NoTranslation", False),
        ("UnderscoreEscapingWithSuffixes", True),
    ],
)
def test_legacy_names_need_a_translation_that_makes_them(strategy: str, fits: bool) -> None:
    """Names with other characters would be refused one by one."""
    otlp = {"translationStrategy": strategy}
    draft = draft_of({"nameValidationScheme": "Legacy", "otlp": otlp})
    if fits:
        assert otlp_section(draft) == {"translation_strategy": strategy}
    else:
        with pytest.raises(WorkloadError, match="Legacy"):
            otlp_section(draft)


def test_tracing_in_prometheus_words() -> None:
    """Words in lower case, the share as a number, files for certificates."""
    tracing = {
        "endpoint": "collector:4317",
        "clientType": "GRPC",
        "samplingFraction": "250m",
        "insecure": False,
        "headers": {"b": "2", "a": "1"},
        "compression": "Gzip",
        "timeout": "5s",
        "tlsConfig": {"ca": {"configMap": {"name": "trust", "key": "ca"}}},
    }
    assert text_of(tracing_section(draft_of({"tracingConfig": tracing}))) == (
        "endpoint: collector:4317\n"
        "client_type: grpc\n"
        "sampling_fraction: 0.25\n"
        "insecure: false\n"
        "headers:\n"
        '  a: "1"\n'
        '  b: "2"\n'
        "compression: gzip\n"
        "timeout: 5s\n"
        "tls_config:\n"
        "  ca_file: /etc/prometheus/certs/1_shop_trust_ca\n"
    )


def test_versions_before_tracing_have_no_such_section() -> None:
    """It came with 2.34."""
    draft = draft_of({"version": "v2.33.0", "tracingConfig": {"endpoint": "collector:4317"}})
    assert tracing_section(draft) is None
    assert ignored(draft) == ["spec.tracingConfig"]


# --- Numbers and sizes ----------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("quantity", "value"),
    [
        (1, 1),
        ("1", 1),
        ("0.5", 0.5),
        (".5", 0.5),
        ("500m", 0.5),
        ("-1", -1),
        ("2k", 2000),
        ("1Ki", 1024),
        ("1e3", 1000),
        ("1E-3", 0.001),
        ("1E", 1e18),
        ("5u", 0.000005),
        ("", None),
        ("half", None),
        ("1 ", None),
        ("1ki", None),
        ("١", None),
    ],
)
def test_quantities_of_kubernetes(quantity: int | str, value: float | None) -> None:
    """With decimal and binary suffixes and exponents."""
    assert number(quantity) == value


@pytest.mark.parametrize(
    ("text", "value"),
    [("0", 0), ("5B", 5), ("1KB", 1024), ("1KiB", 1024), ("1.5MB", 1572864), ("2GB", 2 << 30)],
)
def test_sizes_of_prometheus_are_binary(text: str, value: int) -> None:
    """Whichever way the unit is written."""
    assert size(text) == value


@pytest.mark.parametrize(
    ("limit", "ceiling", "expected"),
    [(None, None, None), (5, None, 5), (0, None, 0), (None, 5, 5), (0, 5, 5), (9, 5, 5), (9, 0, 9)],
)
def test_zero_limits_nothing(limit: int | None, ceiling: int | None, expected: int | None) -> None:
    """Neither as a limit nor as a ceiling."""
    assert lowest(limit, ceiling) == expected
