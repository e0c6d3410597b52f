"""The job of a ScrapeConfig, and what each discovery becomes."""

from typing import Any

import msgspec
import pytest

from stoker.api.decode import convert
from stoker.api.prometheus import PrometheusSpec
from stoker.api.scrapeconfig.v1alpha1 import ScrapeConfig, ScrapeConfigSpec
from stoker.errors import ResourceError
from stoker.generate.block import Block, text_of
from stoker.generate.discovery import DISCOVERIES
from stoker.generate.discovery.kubernetes import attach_metadata
from stoker.generate.discovery.rows import Each
from stoker.generate.draft import ScraperDraft
from stoker.generate.scrapeconfig import scrape_config_job
from stoker.ref import Ref
from stoker.select.assets import AssetsAtHand
from stoker.select.workload import Scraper
from stoker.settings import Capabilities
from stoker.version import Version
from tests.unit.discovery_examples import EXAMPLES, OAUTH2, key

SECRETS = AssetsAtHand(
    {
        Ref("Secret", "team", "cloud"): {
            "id": "me",
            "password": "pa55",
            "token": "t0ken",
            "uuid": "22222222-2222-2222-2222-222222222222",
        },
        Ref("ConfigMap", "team", "cloud"): {"client": "us"},
    }
)


def draft_for(
    version: str = "v3.14.0", *, shards_live_on: bool = False, **spec: Any
) -> ScraperDraft:
    """Start a draft for a Prometheus of that version, with no other feature gate open."""
    workload = Scraper(
        namespace="monitoring",
        name="main",
        spec=convert(PrometheusSpec, {"version": version, **spec}),
        capabilities=Capabilities(topology_sharding=False, shard_retention=shards_live_on),
    )
    return ScraperDraft(workload, SECRETS, "team")


def job_of(spec: dict[str, Any], draft: ScraperDraft | None = None) -> Block:
    """Write the job of a ScrapeConfig named team/it."""
    config = {"metadata": {"namespace": "team", "name": "it"}, "spec": spec}
    return scrape_config_job(convert(ScrapeConfig, config), draft or draft_for())


def discoveries_in(job: Block) -> Block:
    """Give the part of a job that the discoveries wrote."""
    names = {row.name for row in DISCOVERIES}
    return {name: value for name, value in job.items() if name in names}


@pytest.mark.parametrize("field", EXAMPLES)
def test_each_discovery_becomes_what_prometheus_reads(field: str) -> None:
    """With every setting of its own."""
    draft = draft_for()
    entry, expected = EXAMPLES[field]
    assert text_of(discoveries_in(job_of({field: [entry]}, draft))) == expected
    assert draft.ignored == []


@pytest.mark.parametrize(
    ("field", "half"),
    [
        ("ec2SDConfigs", "accessKey"),
        ("lightSailSDConfigs", "secretKey"),
        ("ecsSDConfigs", "accessKey"),
    ],
)
def test_half_a_pair_of_keys_is_left_out(field: str, half: str) -> None:
    """Prometheus could not log in with it; without, it takes the role of its surroundings."""
    draft = draft_for()
    found = discoveries_in(job_of({field: [{"region": "eu", half: key("id")}]}, draft))
    assert list(found.values()) == [[{"region": "eu"}]]
    assert [one.path for one in draft.ignored] == [f"spec.{field}[0].{half}"]


def discovery_fields() -> dict[str, Any]:
    """Tell which fields of a ScrapeConfig hold discoveries, and their types."""
    fields = msgspec.structs.fields(ScrapeConfigSpec)
    return {field.name: field for field in fields if field.name.endswith("_sd_configs")}


def entry_type(field: str) -> Any:
    """Tell the type of a discovery from the field that holds a list of them."""
    info: Any = msgspec.inspect.type_info(discovery_fields()[field].type)
    return next(part.item_type.cls for part in info.types if hasattr(part, "item_type"))


def test_every_declared_discovery_is_in_the_registry_and_has_an_example() -> None:
    """A discovery that is declared and not written would be lost in silence."""
    declared = discovery_fields()
    assert {row.field or row.name for row in DISCOVERIES} == set(declared)
    assert {field.encode_name for field in declared.values()} == set(EXAMPLES)


@pytest.mark.parametrize("row", DISCOVERIES, ids=lambda row: row.name)
def test_every_declared_field_of_a_discovery_has_a_row(row: Any) -> None:
    """And no row is left of a field that is gone."""
    model = entry_type(row.field or row.name)
    assert isinstance(row.write, Each)
    rows = row.write.table
    if row.write.more:
        assert row.write.more is attach_metadata
        rows += attach_metadata(model())
    declared = {field.name for field in msgspec.structs.fields(model)}
    assert {key.field or key.name for key in rows} == declared


@pytest.mark.parametrize(
    ("version", "field", "entry", "left"),
    [
        ("v2.27.1", "httpSDConfigs", {"url": "http://x"}, None),
        ("v2.36.2", "nomadSDConfigs", {"server": "http://x"}, None),
        ("v2.39.1", "ovhcloudSDConfigs", {"applicationKey": "x"}, None),
        ("v2.32.1", "kubernetesSDConfigs", {"role": "Pod", "attachMetadata": {"node": True}},
         {"role": "pod"}),
        ("v2.36.0", "kubernetesSDConfigs", {"role": "Endpoints", "attachMetadata": {"node": True}},
         {"role": "endpoints"}),
        ("v3.14.0", "kubernetesSDConfigs", {"role": "Ingress", "attachMetadata": {"node": True}},
         {"role": "ingress"}),
        ("v2.48.0", "dnsSDConfigs", {"names": ["x"], "type": "NS"}, {"names": ["x"]}),
        ("v2.40.0", "ec2SDConfigs", {"region": "x", "proxyUrl": "http://p"}, {"region": "x"}),
        ("v3.11.1", "consulSDConfigs", {"server": "x", "healthFilter": "y"}, {"server": "x"}),
        ("v2.54.0", "dockerSDConfigs", {"host": "x", "matchFirstNetwork": True}, {"host": "x"}),
        ("v3.11.3", "ec2SDConfigs", {"region": "x", "externalID": "y"}, {"region": "x"}),
        ("v3.11.3", "ecsSDConfigs", {"region": "x", "externalID": "y"}, {"region": "x"}),
        ("v2.3.2", "ec2SDConfigs", {"region": "x", "endpoint": "y"}, {"region": "x"}),
        ("v3.11.3", "digitalOceanSDConfigs", {"port": 1, "role": "Droplets"}, {"port": 1}),
        ("v2.4.3", "tritonSDConfigs", {"account": "x", "groups": ["y"]}, {"account": "x"}),
        ("v2.54.1", "vultrSDConfigs", {"port": 1, "httpHeaders": {"X": {"values": ["y"]}}},
         {"port": 1}),
        ("v3.5.1", "kubernetesSDConfigs", {"role": "Pod", "attachMetadata": {"namespace": True}},
         {"role": "pod"}),
        ("v3.10.0", "kubernetesSDConfigs",
         {"role": "Pod", "attachMetadata": {"node": True, "deployment": True}},
         {"role": "pod", "attach_metadata": {"node": True}}),
        ("v3.14.0", "kubernetesSDConfigs",
         {"role": "Service", "attachMetadata": {"namespace": True, "cronJob": True}},
         {"role": "service", "attach_metadata": {"namespace": True}}),
        ("v3.14.0", "kubernetesSDConfigs", {"role": "Node", "attachMetadata": {"namespace": True}},
         {"role": "node"}),
    ],
)  # fmt: skip
def test_what_the_version_does_not_know_is_left_out_and_reported(
    version: str, field: str, entry: dict[str, Any], left: dict[str, Any] | None
) -> None:
    """The whole discovery, or one field of it, with its path."""
    draft = draft_for(version)
    written = discoveries_in(job_of({field: [entry]}, draft))
    assert list(written.values()) == ([] if left is None else [[left]])
    assert len(draft.ignored) == 1
    assert draft.ignored[0].path.startswith(f"spec.{field}")


@pytest.mark.parametrize(
    ("field", "entry", "path"),
    [
        ("azureSDConfigs", {"clientSecret": key("gone")}, "azureSDConfigs[0].clientSecret"),
        ("openstackSDConfigs", {"password": key("gone")}, "openstackSDConfigs[0].password"),
        ("ec2SDConfigs", {"accessKey": key("gone")}, "ec2SDConfigs[0].accessKey"),
        ("lightSailSDConfigs", {"secretKey": key("gone")}, "lightSailSDConfigs[0].secretKey"),
        ("consulSDConfigs", {"tokenRef": key("gone")}, "consulSDConfigs[0].tokenRef"),
        ("ovhcloudSDConfigs", {}, "ovhcloudSDConfigs[0].applicationSecret"),
        ("scalewaySDConfigs", {}, "scalewaySDConfigs[0].secretKey"),
    ],
)
def test_a_discovery_without_its_secret_stops_the_resource(
    field: str, entry: dict[str, Any], path: str
) -> None:
    """It could not log in, and its targets would seem to be gone."""
    draft = draft_for()
    with pytest.raises(ResourceError) as caught:
        job_of({field: [entry]}, draft)
    assert caught.value.path == f"spec.{path}"
    assert "Secret" in caught.value.reason


@pytest.mark.parametrize(
    ("version", "field", "entry", "path"),
    [
        ("v3.1.0", "openstackSDConfigs", {"role": "LoadBalancer"}, "openstackSDConfigs[0].role"),
        (
            "v3.10.0",
            "azureSDConfigs",
            {"authenticationMethod": "WorkloadIdentity"},
            "azureSDConfigs[0].authenticationMethod",
        ),
    ],
)
def test_a_word_that_nothing_can_replace_stops_the_resource(
    version: str, field: str, entry: dict[str, Any], path: str
) -> None:
    """Without it, Prometheus would refuse the file or look for something else."""
    with pytest.raises(ResourceError, match="needs Prometheus") as caught:
        job_of({field: [entry]}, draft_for(version))
    assert caught.value.path == f"spec.{path}"


@pytest.mark.parametrize(
    ("field", "value"),
    [
        ("accessKey", "scwxxxxxxxxxxxxxxxxx"),
        ("secretKey", key("token")),
        ("projectID", "shop"),
        ("zone", "europe"),
        ("apiURL", "https://api.scaleway.com/"),
    ],
)
def test_what_prometheus_checks_the_form_of_stops_the_resource(field: str, value: Any) -> None:
    """It would refuse the whole file; what a Secret holds is not told."""
    entry = EXAMPLES["scalewaySDConfigs"][0] | {field: value}
    with pytest.raises(ResourceError, match="is not a") as caught:
        job_of({"scalewaySDConfigs": [entry]})
    assert caught.value.path == f"spec.scalewaySDConfigs[0].{field}"


def test_missing_credentials_of_http_are_written_empty() -> None:
    """They are refused when resources are selected; here the file stays well-formed."""
    auth = {"username": key("gone"), "password": key("gone")}
    job = job_of({"httpSDConfigs": [{"url": "http://x", "basicAuth": auth}]})
    assert job["http_sd_configs"][0]["basic_auth"] == {"username": "", "password": ""}


def test_a_client_that_signs_its_tokens_sends_no_secret() -> None:
    """The grant has its long name; claims keep their types."""
    oauth2 = {
        **OAUTH2,
        "grantType": "JWTBearer",
        "clientCertificateKey": key("token"),
        "issuer": "us",
        "claims": {"level": 3, "roles": ["read"], "on": True},
    }
    assert text_of(job_of({"oauth2": oauth2})["oauth2"]) == (
        """\
client_id: us
token_url: https://login
grant_type: urn:ietf:params:oauth:grant-type:jwt-bearer
client_certificate_key: t0ken
iss: us
claims:
  level: 3
  "on": true
  roles:
  - read
"""
    )
    assert "client_secret" in job_of({"oauth2": OAUTH2})["oauth2"]


def test_headers_have_their_own_values_and_those_of_secrets() -> None:
    """A header without values stays, as Prometheus reads it; a Secret must be there."""
    headers = {"X-B": {"secrets": [key("id")], "values": ["1", "2"]}, "X-A": {}}
    job = job_of({"httpHeaders": headers, "followRedirects": False})
    assert list(job["http_headers"].items()) == [
        ("X-A", {}),
        ("X-B", {"values": ["1", "2"], "secrets": ["me"]}),
    ]
    assert job["follow_redirects"] is False
    with pytest.raises(ResourceError):
        job_of({"httpHeaders": {"X-A": {"secrets": [key("gone")]}}})


def test_an_empty_authorization_of_ionos_gives_way_to_oauth2() -> None:
    """The field is required, so it is there even where OAuth 2.0 is meant."""
    entry = {"datacenterID": "dc", "authorization": {}, "oauth2": OAUTH2}
    job = job_of({"ionosSDConfigs": [entry]})
    assert list(job["ionos_sd_configs"][0]) == ["oauth2", "datacenter_id"]
    written = {"type": "Basic", "credentials": key("id")}
    job = job_of({"ionosSDConfigs": [entry | {"authorization": written}]})
    assert list(job["ionos_sd_configs"][0]) == ["oauth2", "datacenter_id"]


def test_an_empty_authorization_of_ionos_is_a_bearer_without_a_token() -> None:
    """As of every other object with an authorization, and as prometheus-operator writes it."""
    job = job_of({"ionosSDConfigs": [{"datacenterID": "dc", "authorization": {}}]})
    assert job["ionos_sd_configs"] == [{"authorization": {"type": "Bearer"}, "datacenter_id": "dc"}]


def test_empty_lists_and_strings_count_as_unset() -> None:
    """As they do for the peer, whose types cannot tell the difference."""
    entry = {"server": "consul", "services": [], "nodeMeta": {}, "datacenter": ""}
    spec = {"consulSDConfigs": [entry], "dnsSDConfigs": [], "staticConfigs": [], "params": {}}
    job = job_of(spec)
    assert list(job) == ["job_name", "consul_sd_configs", "relabel_configs"]
    assert job["consul_sd_configs"] == [{"server": "consul"}]


def test_an_empty_scrape_config_keeps_its_name() -> None:
    """A job without targets, with the one step that every job has."""
    assert text_of([job_of({})]) == (
        """\
- job_name: scrapeConfig/team/it
  relabel_configs:
  - source_labels:
    - job
    target_label: __tmp_prometheus_job_name
"""
    )


def test_the_whole_request_and_all_limits_are_written() -> None:
    """What to ask a target, and what to accept of the answer."""
    spec = {
        "staticConfigs": [
            {"targets": ["a:1"]},
            {"targets": ["b:2"], "labels": {"y": "2", "x": ""}},
        ],
        "honorTimestamps": False,
        "trackTimestampsStaleness": True,
        "honorLabels": True,
        "metricsPath": "/federate",
        "params": {"match[]": ["up"], "debug": []},
        "enableCompression": False,
        "enableHTTP2": True,
        "scrapeInterval": "15s",
        "scrapeTimeout": "10s",
        "scheme": "HTTPS",
        "proxyUrl": "http://proxy:3128",
        "basicAuth": {"username": key("id"), "password": key("password")},
        "tlsConfig": {"insecureSkipVerify": True},
        "sampleLimit": 5,
        "bodySizeLimit": "1MB",
        "scrapeProtocols": ["PrometheusProto"],
        "fallbackScrapeProtocol": "PrometheusText0.0.4",
        "scrapeNativeHistograms": True,
        "nameValidationScheme": "Legacy",
        "nameEscapingScheme": "AllowUTF8",
    }
    assert text_of(job_of(spec)) == (
        """\
job_name: scrapeConfig/team/it
honor_timestamps: false
track_timestamps_staleness: true
honor_labels: true
metrics_path: /federate
params:
  debug: []
  match[]:
  - up
enable_compression: false
enable_http2: true
scrape_interval: 15s
scrape_timeout: 10s
scrape_protocols:
- PrometheusProto
fallback_scrape_protocol: PrometheusText0.0.4
scheme: https
proxy_url: http://proxy:3128
basic_auth:
  username: me
  password: pa55
tls_config:
  insecure_skip_verify: true
sample_limit: 5
scrape_native_histograms: true
body_size_limit: 1MB
static_configs:
- targets:
  - a:1
  labels: {}
- targets:
  - b:2
  labels:
    x: ""
    "y": "2"
relabel_configs:
- source_labels:
  - job
  target_label: __tmp_prometheus_job_name
metric_name_validation_scheme: legacy
metric_name_escaping_scheme: allow-utf-8
"""
    )


def test_the_workload_can_override_what_targets_claim() -> None:
    """Labels only where the ScrapeConfig honours them, timestamps always."""
    draft = draft_for(overrideHonorLabels=True, overrideHonorTimestamps=True)
    assert "honor_labels" not in job_of({}, draft)
    job = job_of({"honorLabels": True}, draft)
    assert (job["honor_labels"], job["honor_timestamps"]) == (False, False)


DEFAULT_CLASS = {
    "name": "internal",
    "default": True,
    "authorization": {"credentialsFile": "/secrets/token"},
    "tlsConfig": {"caFile": "/secrets/ca.crt"},
    "relabelings": [{"targetLabel": "zone", "replacement": "dmz"}],
    "metricRelabelings": [{"regex": "noise", "action": "LabelDrop"}],
    "fallbackScrapeProtocol": "PrometheusText0.0.4",
}


def test_steps_run_in_the_order_that_keeps_enforcement_last() -> None:
    """Scrape class, job name, the user's, and last the enforced namespace."""
    draft = draft_for(enforcedNamespaceLabel="ns", scrapeClasses=[DEFAULT_CLASS])
    own = [{"sourceLabels": ["a"], "targetLabel": "b", "action": "Replace"}]
    job = job_of({"jobName": "web", "relabelings": own, "metricRelabelings": own}, draft)
    user = {"source_labels": ["a"], "target_label": "b", "action": "replace"}
    assert job["relabel_configs"] == [
        {"source_labels": ["job"], "target_label": "__tmp_prometheus_job_name"},
        {"target_label": "zone", "replacement": "dmz"},
        {"target_label": "job", "action": "replace", "replacement": "web"},
        user,
        {"target_label": "ns", "replacement": "team"},
    ]
    assert job["metric_relabel_configs"] == [
        {"regex": "noise", "action": "labeldrop"},
        user,
        {"target_label": "ns", "replacement": "team"},
    ]


@pytest.mark.parametrize("shards", [1, 3])
def test_targets_get_the_namespace_without_steps_of_their_own(shards: int) -> None:
    """Lists and discoveries bring labels, and `up` has those of the target; the peer forgets it."""
    listed = {"staticConfigs": [{"targets": ["a:1"], "labels": {"ns": "other"}}]}
    job = job_of(listed, draft_for(enforcedNamespaceLabel="ns", shards=shards))
    enforced = {"target_label": "ns", "replacement": "team"}
    assert job["relabel_configs"][1] == enforced
    assert not any(step.get("target_label") == "ns" for step in job["relabel_configs"][2:])
    assert enforced not in job_of(listed, draft_for(shards=shards))["relabel_configs"]


def test_a_scrape_class_gives_what_the_scrape_config_does_not_set() -> None:
    """Credentials, certificates, and the format to fall back on."""
    draft = draft_for(scrapeClasses=[DEFAULT_CLASS, {"name": "plain"}])
    job = job_of({}, draft)
    assert job["authorization"] == {"type": "Bearer", "credentials_file": "/secrets/token"}
    assert job["tls_config"] == {"ca_file": "/secrets/ca.crt"}
    assert job["fallback_scrape_protocol"] == "PrometheusText0.0.4"
    assert list(job_of({"scrapeClass": "plain"}, draft)) == ["job_name", "relabel_configs"]


def test_an_excluded_scrape_config_keeps_its_own_namespace_label() -> None:
    """The exclusion names the resource and, if it likes, the object."""
    rule = {"group": "monitoring.coreos.com", "resource": "scrapeconfigs", "namespace": "team"}
    draft = draft_for(enforcedNamespaceLabel="ns", excludedFromEnforcement=[rule])
    job = job_of({"relabelings": [{"action": "LabelDrop", "regex": "a"}]}, draft)
    assert "metric_relabel_configs" not in job
    assert len(job["relabel_configs"]) == 2


def test_targets_are_divided_by_address_once_there_are_shards() -> None:
    """One shard needs no steps; several do, also where zones divide the other targets."""
    topology = {"mode": "Topology", "topology": {"values": ["a", "b"]}}
    assert len(job_of({}, draft_for(shards=1))["relabel_configs"]) == 1
    steps = job_of({}, draft_for(shards=4, shardingStrategy=topology))["relabel_configs"]
    assert [step.get("modulus") for step in steps] == [None, None, 4, None]
    assert steps[-1]["regex"] == "$(SHARD);|.+;.+"


def test_a_shard_that_was_scaled_away_scrapes_nothing() -> None:
    """Where shards are retained, one shard may not be alone."""
    policy = {"whenScaled": "Retain"}
    kept = draft_for(shards_live_on=True, shardRetentionPolicy=policy)
    assert {"source_labels": ["__tmp_current_shard"], "regex": "0", "action": "keep"} in (
        job_of({}, kept)["relabel_configs"]
    )
    assert len(job_of({}, draft_for(shards_live_on=True))["relabel_configs"]) == 1


def test_a_scrape_config_can_divide_its_targets_itself() -> None:
    """Steps that name the shard are taken for that; a value to hash by is not."""
    hashed = {"sourceLabels": ["x"], "targetLabel": "__tmp_hash", "action": "Replace"}
    kept = {"sourceLabels": ["x"], "regex": "$(SHARD)", "action": "Keep"}
    draft = draft_for(shards=2)
    assert len(job_of({"relabelings": [hashed]}, draft)["relabel_configs"]) == 5
    assert len(job_of({"relabelings": [hashed, kept]}, draft)["relabel_configs"]) == 3


def test_every_version_in_the_tables_is_a_version() -> None:
    """Rows are data: a typing error would otherwise only show at that version."""
    draft = draft_for("v2.0.0")
    for row in DISCOVERIES:
        assert isinstance(row.write, Each)
        for each in (row, *row.write.table):
            assert isinstance(each.known_to(draft.version), bool)
            assert each.known_to(Version(99, 0, 0))
