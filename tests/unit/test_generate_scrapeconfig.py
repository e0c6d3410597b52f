"""The job of a ScrapeConfig, and one example of each discovery."""

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
from stoker.generate.draft import Draft
from stoker.generate.scrapeconfig import scrape_config_job
from stoker.select.assets import Contents
from stoker.select.workload import Workload
from stoker.settings import Capabilities
from stoker.version import Version

SECRETS = Contents(
    {
        ("Secret", "team", "cloud"): {
            "id": "me",
            "password": "pa55",
            "token": "t0ken",
            "uuid": "22222222-2222-2222-2222-222222222222",
        },
        ("ConfigMap", "team", "cloud"): {"client": "us"},
    }
)


def key(name: str) -> dict[str, str]:
    """Refer to a key of the Secret that all examples use."""
    return {"name": "cloud", "key": name}


OAUTH2 = {
    "clientId": {"configMap": {"name": "cloud", "key": "client"}},
    "clientSecret": key("token"),
    "tokenUrl": "https://login",
}


def draft_for(version: str = "v3.14.0", *, shards_live_on: bool = False, **spec: Any) -> Draft:
    """Start a draft for a Prometheus of that version, with no other feature gate open."""
    workload = Workload(
        namespace="monitoring",
        name="main",
        spec=convert(PrometheusSpec, {"version": version, **spec}),
        capabilities=Capabilities(topology_sharding=False, shard_retention=shards_live_on),
    )
    return Draft(workload, SECRETS, "team")


def job_of(spec: dict[str, Any], draft: Draft | None = None) -> Block:
    """Write the job of a ScrapeConfig named team/it."""
    config = {"metadata": {"namespace": "team", "name": "it"}, "spec": spec}
    return scrape_config_job(convert(ScrapeConfig, config), draft or draft_for())


# For each field of a ScrapeConfig that holds discoveries: an entry with all settings of its own,
# and what Prometheus shall read.
EXAMPLES: dict[str, tuple[dict[str, Any], str]] = {
    "fileSDConfigs": (
        {"files": ["/targets/*.yaml"], "refreshInterval": "2m"},
        """\
file_sd_configs:
- files:
  - /targets/*.yaml
  refresh_interval: 2m
""",
    ),
    "httpSDConfigs": (
        {
            "url": "https://inventory/targets",
            "refreshInterval": "2m",
            "basicAuth": {"username": key("id"), "password": key("password")},
            "proxyUrl": "http://proxy:3128",
            "noProxy": "10.0.0.0/8",
            "tlsConfig": {"ca": {"secret": key("ca")}, "serverName": "inventory"},
            "followRedirects": False,
            "enableHTTP2": False,
        },
        """\
http_sd_configs:
- basic_auth:
    username: me
    password: pa55
  proxy_url: http://proxy:3128
  no_proxy: 10.0.0.0/8
  tls_config:
    ca_file: /etc/prometheus/certs/0_team_cloud_ca
    server_name: inventory
  url: https://inventory/targets
  refresh_interval: 2m
  follow_redirects: false
  enable_http2: false
""",
    ),
    "dnsSDConfigs": (
        {"names": ["db.example.com"], "type": "MX", "port": 9104, "refreshInterval": "2m"},
        """\
dns_sd_configs:
- names:
  - db.example.com
  refresh_interval: 2m
  type: MX
  port: 9104
""",
    ),
    "kubernetesSDConfigs": (
        {
            "role": "EndpointSlice",
            "apiServer": "https://other-cluster",
            "authorization": {"credentials": key("token")},
            "namespaces": {"ownNamespace": False, "names": ["shop"]},
            "selectors": [{"role": "Service", "label": "app=shop", "field": "metadata.name=web"}],
            "attachMetadata": {"node": True},
        },
        """\
kubernetes_sd_configs:
- api_server: https://other-cluster
  role: endpointslice
  authorization:
    type: Bearer
    credentials: t0ken
  namespaces:
    own_namespace: false
    names:
    - shop
  selectors:
  - role: service
    label: app=shop
    field: metadata.name=web
  attach_metadata:
    node: true
""",
    ),
    "consulSDConfigs": (
        {
            "server": "consul:8500",
            "pathPrefix": "/consul",
            "tokenRef": key("token"),
            "datacenter": "dc1",
            "namespace": "team",
            "partition": "eu",
            "scheme": "HTTPS",
            "services": ["web"],
            "tags": ["blue"],
            "tagSeparator": ";",
            "nodeMeta": {"rack": "7", "az": "a"},
            "filter": "Service == web",
            "healthFilter": "Service.Tags contains blue",
            "allowStale": False,
            "refreshInterval": "2m",
        },
        """\
consul_sd_configs:
- server: consul:8500
  path_prefix: /consul
  token: t0ken
  datacenter: dc1
  namespace: team
  partition: eu
  scheme: https
  services:
  - web
  tags:
  - blue
  tag_separator: ;
  node_meta:
    az: a
    rack: "7"
  filter: Service == web
  health_filter: Service.Tags contains blue
  allow_stale: false
  refresh_interval: 2m
""",
    ),
    "nomadSDConfigs": (
        {
            "server": "http://nomad:4646",
            "namespace": "team",
            "region": "eu",
            "tagSeparator": ";",
            "allowStale": False,
            "refreshInterval": "2m",
            "oauth2": OAUTH2,
        },
        """\
nomad_sd_configs:
- oauth2:
    client_id: us
    client_secret: t0ken
    token_url: https://login
  server: http://nomad:4646
  allow_stale: false
  namespace: team
  refresh_interval: 2m
  region: eu
  tag_separator: ;
""",
    ),
    "eurekaSDConfigs": (
        {"server": "http://eureka:8761/eureka", "refreshInterval": "2m"},
        """\
eureka_sd_configs:
- refresh_interval: 2m
  server: http://eureka:8761/eureka
""",
    ),
    "kumaSDConfigs": (
        {
            "server": "http://kuma:5676",
            "clientID": "main",
            "fetchTimeout": "1m",
            "refreshInterval": "2m",
        },
        """\
kuma_sd_configs:
- server: http://kuma:5676
  refresh_interval: 2m
  fetch_timeout: 1m
  client_id: main
""",
    ),
    "puppetDBSDConfigs": (
        {
            "url": "https://puppetdb:8081",
            "query": "nodes { }",
            "includeParameters": True,
            "port": 9100,
            "refreshInterval": "2m",
        },
        """\
puppetdb_sd_configs:
- url: https://puppetdb:8081
  query: nodes { }
  include_parameters: true
  refresh_interval: 2m
  port: 9100
""",
    ),
    "dockerSDConfigs": (
        {
            "host": "tcp://docker:2375",
            "filters": [
                {"name": "network", "values": ["front"]},
                {"name": "label", "values": ["scrape", "now"]},
            ],
            "port": 9100,
            "hostNetworkingHost": "docker",
            "matchFirstNetwork": False,
            "refreshInterval": "2m",
        },
        """\
docker_sd_configs:
- filters:
  - name: label
    values:
    - scrape
    - now
  - name: network
    values:
    - front
  host: tcp://docker:2375
  port: 9100
  host_networking_host: docker
  match_first_network: false
  refresh_interval: 2m
""",
    ),
    "dockerSwarmSDConfigs": (
        {
            "host": "tcp://manager:2375",
            "role": "Tasks",
            "filters": [{"name": "node", "values": ["n1"]}],
            "port": 9100,
            "refreshInterval": "2m",
        },
        """\
dockerswarm_sd_configs:
- filters:
  - name: node
    values:
    - n1
  host: tcp://manager:2375
  role: tasks
  port: 9100
  refresh_interval: 2m
""",
    ),
    "ec2SDConfigs": (
        {
            "region": "eu-west-1",
            "accessKey": key("id"),
            "secretKey": key("password"),
            "roleARN": "arn:aws:iam::1:role/scrape",
            "filters": [{"name": "tag:team", "values": ["shop"]}],
            "port": 9100,
            "refreshInterval": "2m",
            "followRedirects": True,
        },
        """\
ec2_sd_configs:
- region: eu-west-1
  access_key: me
  secret_key: pa55
  role_arn: arn:aws:iam::1:role/scrape
  refresh_interval: 2m
  port: 9100
  filters:
  - name: tag:team
    values:
    - shop
  follow_redirects: true
""",
    ),
    "lightSailSDConfigs": (
        {
            "region": "eu-west-1",
            "endpoint": "https://lightsail.example.com",
            "accessKey": key("id"),
            "secretKey": key("password"),
            "roleARN": "arn:aws:iam::1:role/scrape",
            "port": 9100,
            "refreshInterval": "2m",
        },
        """\
lightsail_sd_configs:
- region: eu-west-1
  endpoint: https://lightsail.example.com
  port: 9100
  refresh_interval: 2m
  access_key: me
  secret_key: pa55
  role_arn: arn:aws:iam::1:role/scrape
""",
    ),
    "azureSDConfigs": (
        {
            "environment": "AzurePublicCloud",
            "authenticationMethod": "OAuth",
            "subscriptionID": "subscription",
            "tenantID": "tenant",
            "clientID": "client",
            "clientSecret": key("password"),
            "resourceGroup": "group",
            "port": 9100,
            "refreshInterval": "2m",
            "followRedirects": True,
            "enableHTTP2": False,
        },
        """\
azure_sd_configs:
- environment: AzurePublicCloud
  authentication_method: OAuth
  subscription_id: subscription
  tenant_id: tenant
  client_id: client
  client_secret: pa55
  resource_group: group
  refresh_interval: 2m
  port: 9100
  enable_http2: false
""",
    ),
    "gceSDConfigs": (
        {
            "project": "shop",
            "zone": "europe-west1-b",
            "filter": "labels.scrape=yes",
            "tagSeparator": ";",
            "port": 9100,
            "refreshInterval": "2m",
        },
        """\
gce_sd_configs:
- project: shop
  zone: europe-west1-b
  filter: labels.scrape=yes
  refresh_interval: 2m
  port: 9100
  tag_separator: ;
""",
    ),
    "digitalOceanSDConfigs": (
        {"authorization": {"credentials": key("token")}, "port": 9100, "refreshInterval": "2m"},
        """\
digitalocean_sd_configs:
- authorization:
    type: Bearer
    credentials: t0ken
  port: 9100
  refresh_interval: 2m
""",
    ),
    "hetznerSDConfigs": (
        {
            "role": "Hcloud",
            "authorization": {"credentials": key("token")},
            "labelSelector": "team=shop",
            "port": 9100,
            "refreshInterval": "2m",
        },
        """\
hetzner_sd_configs:
- authorization:
    type: Bearer
    credentials: t0ken
  role: hcloud
  port: 9100
  refresh_interval: 2m
  label_selector: team=shop
""",
    ),
    "ionosSDConfigs": (
        {
            "datacenterID": "dc",
            "authorization": {"credentials": key("token")},
            "port": 9100,
            "refreshInterval": "2m",
        },
        """\
ionos_sd_configs:
- authorization:
    type: Bearer
    credentials: t0ken
  datacenter_id: dc
  port: 9100
  refresh_interval: 2m
""",
    ),
    "linodeSDConfigs": (
        {
            "authorization": {"credentials": key("token")},
            "region": "eu-west",
            "tagSeparator": ";",
            "port": 9100,
            "refreshInterval": "2m",
            "followRedirects": True,
            "enableHTTP2": True,
        },
        """\
linode_sd_configs:
- authorization:
    type: Bearer
    credentials: t0ken
  region: eu-west
  port: 9100
  enable_http2: true
  tag_separator: ;
  refresh_interval: 2m
  follow_redirects: true
""",
    ),
    "openstackSDConfigs": (
        {
            "role": "LoadBalancer",
            "region": "eu",
            "identityEndpoint": "https://keystone/v3",
            "username": "prometheus",
            "userid": "42",
            "password": key("password"),
            "domainName": "default",
            "domainID": "d1",
            "projectName": "shop",
            "projectID": "p1",
            "applicationCredentialName": "scrape",
            "applicationCredentialId": "c1",
            "applicationCredentialSecret": key("token"),
            "allTenants": True,
            "availability": "Internal",
            "tlsConfig": {"insecureSkipVerify": True},
            "port": 9100,
            "refreshInterval": "2m",
        },
        """\
openstack_sd_configs:
- role: loadbalancer
  region: eu
  identity_endpoint: https://keystone/v3
  username: prometheus
  userid: "42"
  password: pa55
  domain_name: default
  domain_id: d1
  project_name: shop
  project_id: p1
  application_credential_name: scrape
  application_credential_id: c1
  application_credential_secret: t0ken
  all_tenants: true
  refresh_interval: 2m
  port: 9100
  availability: internal
  tls_config:
    insecure_skip_verify: true
""",
    ),
    "ovhcloudSDConfigs": (
        {
            "service": "DedicatedServer",
            "applicationKey": "app",
            "applicationSecret": key("password"),
            "consumerKey": key("token"),
            "endpoint": "ovh-ca",
            "refreshInterval": "2m",
        },
        """\
ovhcloud_sd_configs:
- application_key: app
  application_secret: pa55
  consumer_key: t0ken
  service: dedicated_server
  endpoint: ovh-ca
  refresh_interval: 2m
""",
    ),
    "scalewaySDConfigs": (
        {
            "role": "Baremetal",
            "projectID": "11111111-1111-1111-1111-111111111111",
            "accessKey": "SCWXXXXXXXXXXXXXXXXX",
            "secretKey": key("uuid"),
            "zone": "fr-par-2",
            "nameFilter": "web",
            "tagsFilter": ["blue"],
            "apiURL": "https://api.scaleway.com",
            "port": 9100,
            "refreshInterval": "2m",
        },
        """\
scaleway_sd_configs:
- access_key: SCWXXXXXXXXXXXXXXXXX
  secret_key: 22222222-2222-2222-2222-222222222222
  project_id: 11111111-1111-1111-1111-111111111111
  role: baremetal
  port: 9100
  api_url: https://api.scaleway.com
  zone: fr-par-2
  name_filter: web
  tags_filter:
  - blue
  refresh_interval: 2m
""",
    ),
}


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


def test_an_empty_authorization_of_ionos_gives_way_to_oauth2() -> None:
    """The field is required, so it is there even where OAuth 2.0 is meant."""
    entry = {"datacenterID": "dc", "authorization": {}, "oauth2": OAUTH2}
    job = job_of({"ionosSDConfigs": [entry]})
    assert list(job["ionos_sd_configs"][0]) == ["oauth2", "datacenter_id"]


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
scrape_protocols:
- PrometheusProto
fallback_scrape_protocol: PrometheusText0.0.4
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
    """Job name, scrape class, the user's; for samples then the enforced namespace."""
    draft = draft_for(enforcedNamespaceLabel="ns", scrapeClasses=[DEFAULT_CLASS])
    own = [{"sourceLabels": ["a"], "targetLabel": "b", "action": "Replace"}]
    job = job_of({"jobName": "web", "relabelings": own, "metricRelabelings": own}, draft)
    user = {"source_labels": ["a"], "target_label": "b", "action": "replace"}
    assert job["relabel_configs"] == [
        {"source_labels": ["job"], "target_label": "__tmp_prometheus_job_name"},
        {"target_label": "job", "action": "replace", "replacement": "web"},
        {"target_label": "zone", "replacement": "dmz"},
        user,
    ]
    assert job["metric_relabel_configs"] == [
        {"regex": "noise", "action": "labeldrop"},
        user,
        {"target_label": "ns", "replacement": "team"},
    ]


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
    assert "metric_relabel_configs" not in job_of({}, draft)


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
