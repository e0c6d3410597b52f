"""Remote write, remote read and alerting: where samples and alerts go."""

from typing import Any

import pytest

from stoker.generate.alerting import alerting_section
from stoker.generate.block import text_of
from stoker.generate.remote import remote_read_section, remote_write_section
from stoker.settings import Capabilities
from tests.unit.test_generate_sections import draft_of, ignored

USER = {"name": "login", "key": "user"}
PASSWORD = {"name": "login", "key": "password"}
BASIC = {"username": USER, "password": PASSWORD}
UUID = "0f5a1d3e-0000-4000-8000-00000000000a"


def written(entry: dict[str, Any], version: str = "v3.14.0") -> dict[str, Any]:
    """What an entry of remote write becomes."""
    draft = draft_of({"version": version, "remoteWrite": [{"url": "http://store"} | entry]})
    return remote_write_section(draft)[0]


# --- remote_write ---------------------------------------------------------------------------------


def test_remote_write_with_its_members_in_order() -> None:
    """The order is the peer's, so that taking over changes no text."""
    entry = {
        "url": "https://store/write",
        "name": "long-term",
        "remoteTimeout": "10s",
        "headers": {"X-Tenant": "b", "X-Other": "a"},
        "messageVersion": "V1.0",
        "sendExemplars": True,
        "sendNativeHistograms": False,
        "writeRelabelConfigs": [{"sourceLabels": ["job"], "regex": "noise", "action": "Drop"}],
        "basicAuth": BASIC,
        "tlsConfig": {"caFile": "/ca.pem"},
        "proxyUrl": "http://proxy",
        "followRedirects": False,
        "enableHTTP2": True,
        "roundRobinDNS": True,
        "queueConfig": {"capacity": 100, "maxShards": 0, "retryOnRateLimit": False},
        "metadataConfig": {"send": True, "sendInterval": "1m", "maxSamplesPerSend": 5},
    }
    assert text_of(remote_write_section(draft_of({"remoteWrite": [entry]}))) == (
        "- url: https://store/write\n"
        "  remote_timeout: 10s\n"
        "  headers:\n"
        "    X-Other: a\n"
        "    X-Tenant: b\n"
        "  name: long-term\n"
        "  protobuf_message: prometheus.WriteRequest\n"
        "  send_exemplars: true\n"
        "  send_native_histograms: false\n"
        "  write_relabel_configs:\n"
        "  - source_labels:\n"
        "    - job\n"
        "    regex: noise\n"
        "    action: drop\n"
        "  basic_auth:\n"
        "    username: ann\n"
        '    password: "yes"\n'
        "  tls_config:\n"
        "    ca_file: /ca.pem\n"
        "  proxy_url: http://proxy\n"
        "  follow_redirects: false\n"
        "  enable_http2: true\n"
        "  queue_config:\n"
        "    capacity: 100\n"
        "  metadata_config:\n"
        "    send: true\n"
        "    send_interval: 1m\n"
        "    max_samples_per_send: 5\n"
        "  round_robin_dns: true\n"
    )


def test_old_versions_get_what_they_know() -> None:
    """All else is left out and reported; the retries of old queues are only for old versions."""
    entry = {
        "url": "http://store",
        "messageVersion": "V2.0",
        "sendExemplars": True,
        "sigv4": {},
        "followRedirects": True,
        "queueConfig": {"maxRetries": 3, "sampleAgeLimit": "1h"},
        "metadataConfig": {"send": True},
    }
    draft = draft_of({"version": "v2.10.0", "remoteWrite": [entry]})
    assert remote_write_section(draft) == [
        {"url": "http://store", "queue_config": {"max_retries": 3}}
    ]
    names = ("messageVersion", "sendExemplars", "sigv4", "followRedirects")
    expected = [f"spec.remoteWrite[0].{name}" for name in (*names, "metadataConfig")]
    assert sorted(ignored(draft)) == sorted(
        [*expected, "spec.remoteWrite[0].queueConfig.sampleAgeLimit"]
    )
    assert "max_retries" not in written({"queueConfig": {"maxRetries": 3}})["queue_config"]


def test_message_version_2_sends_no_metadata_apart() -> None:
    """It is beside each sample already."""
    entry = {"messageVersion": "V2.0", "metadataConfig": {"send": True}}
    assert written(entry)["metadata_config"] == {"send": False}
    assert written(entry, "v2.53.0")["metadata_config"] == {"send": True}
    assert written({"metadataConfig": {}})["metadata_config"] == {"send": False}


@pytest.mark.parametrize(
    ("azure", "version", "expected"),
    [
        (
            {"managedIdentity": {"clientId": UUID}, "cloud": "AzurePublic", "scope": "s"},
            "v3.8.0",
            {"managed_identity": {"client_id": UUID}, "cloud": "AzurePublic"},
        ),
        ({"managedIdentity": {}}, "v3.5.0", {"managed_identity": {}}),
        ({"sdk": {}, "scope": "s"}, "v3.9.0", {"sdk": {}, "scope": "s"}),
        (
            {"oauth": {"clientId": UUID, "clientSecret": PASSWORD, "tenantId": "t"}},
            "v2.48.0",
            {"oauth": {"client_id": UUID, "client_secret": "yes", "tenant_id": "t"}},
        ),
        (
            {"workloadIdentity": {"clientId": UUID, "tenantId": UUID}},
            "v3.7.0",
            {"workload_identity": {"client_id": UUID, "tenant_id": UUID}},
        ),
    ],
)
def test_azure_logins(azure: dict[str, Any], version: str, expected: dict[str, Any]) -> None:
    """Four ways, each since its own version."""
    assert written({"azureAd": azure}, version)["azuread"] == expected


# --- remote_read ----------------------------------------------------------------------------------


def test_remote_read_with_its_members_in_order() -> None:
    """`readRecent: false` is what Prometheus does anyway."""
    entry = {
        "url": "https://store/read",
        "name": "long-term",
        "remoteTimeout": "10s",
        "headers": {"X-Tenant": "b"},
        "requiredMatchers": {"team": "b", "env": "a"},
        "readRecent": False,
        "filterExternalLabels": False,
        "bearerTokenFile": "/token",
        "noProxy": "localhost",
        "followRedirects": True,
    }
    assert text_of(remote_read_section(draft_of({"remoteRead": [entry]}))) == (
        "- url: https://store/read\n"
        "  remote_timeout: 10s\n"
        "  headers:\n"
        "    X-Tenant: b\n"
        "  name: long-term\n"
        "  required_matchers:\n"
        "    env: a\n"
        "    team: b\n"
        "  bearer_token_file: /token\n"
        "  no_proxy: localhost\n"
        "  follow_redirects: true\n"
        "  filter_external_labels: false\n"
    )


def test_agents_read_from_nowhere() -> None:
    """They answer no queries."""
    assert remote_read_section(draft_of({}, agent=True)) == []


# --- alerting -------------------------------------------------------------------------------------


def alertmanager(endpoints: dict[str, Any], spec: dict[str, Any] | None = None) -> dict[str, Any]:
    """What the Alertmanagers behind one Service become."""
    alerting = {"alertmanagers": [{"name": "alerts", "port": "web"} | endpoints]}
    section = alerting_section(draft_of({"alerting": alerting} | (spec or {})))
    assert section
    return dict(section["alertmanagers"][0])


def test_names_of_alertmanagers_are_no_expressions() -> None:
    """A name that means something to a regular expression must not break the file."""
    steps = alertmanager({"name": "a**", "port": "*("})["relabel_configs"]
    assert [step["regex"] for step in steps] == [r"a\*\*", r"\*\("]


def test_alertmanagers_are_the_endpoints_of_a_service() -> None:
    """Those of the port that is named, in the workload's namespace unless another is given."""
    assert text_of(alertmanager({"pathPrefix": "/am", "scheme": "HTTPS", "timeout": "5s"})) == (
        "scheme: https\n"
        "path_prefix: /am\n"
        "timeout: 5s\n"
        "kubernetes_sd_configs:\n"
        "- role: endpoints\n"
        "  namespaces:\n"
        "    names:\n"
        "    - shop\n"
        "relabel_configs:\n"
        "- action: keep\n"
        "  source_labels:\n"
        "  - __meta_kubernetes_service_name\n"
        "  regex: alerts\n"
        "- action: keep\n"
        "  source_labels:\n"
        "  - __meta_kubernetes_endpoint_port_name\n"
        "  regex: web\n"
    )
    other = alertmanager({"namespace": "ops"})["kubernetes_sd_configs"][0]
    assert other["namespaces"] == {"names": ["ops"]}


@pytest.mark.parametrize(
    ("port", "spec", "label"),
    [
        (9093, {}, "__meta_kubernetes_pod_container_port_number"),
        ("web", {}, "__meta_kubernetes_endpoint_port_name"),
        (
            "web",
            {"serviceDiscoveryRole": "EndpointSlice"},
            "__meta_kubernetes_endpointslice_port_name",
        ),
        (
            "web",
            {"serviceDiscoveryRole": "EndpointSlice", "version": "v2.20.0"},
            "__meta_kubernetes_endpoint_port_name",
        ),
    ],
)
def test_ports_are_found_by_name_or_number(
    port: int | str, spec: dict[str, Any], label: str
) -> None:
    """Whose label depends on the objects by which a Service leads to its pods."""
    step = alertmanager({"port": port}, spec)["relabel_configs"][1]
    assert (step["source_labels"], step["regex"]) == ([label], str(port))


@pytest.mark.parametrize("port", [0, ""])
def test_without_a_port_all_of_the_service_is_taken(port: int | str) -> None:
    """Old objects have no port."""
    assert len(alertmanager({"port": port})["relabel_configs"]) == 1


def test_slices_are_used_only_where_the_api_server_has_them() -> None:
    """An old API server has endpoints only."""
    spec = {"serviceDiscoveryRole": "EndpointSlice", "alerting": {"alertmanagers": [{"name": "a"}]}}
    section = alerting_section(draft_of(spec, capabilities=Capabilities(endpoint_slices=False)))
    assert section
    assert section["alertmanagers"][0]["kubernetes_sd_configs"][0]["role"] == "endpoints"


def test_alertmanagers_get_what_the_version_knows() -> None:
    """Steps for alerts since 2.51, signatures since 2.48, version 2 of the API alone since 3.0."""
    steps = [{"targetLabel": "team", "replacement": "a"}]
    endpoints = {"sigv4": {}, "alertRelabelings": steps, "relabelings": steps, "apiVersion": "V1"}
    new = alertmanager(endpoints, {"version": "v3.0.0-rc.0"})
    assert [name for name in new if name not in ("kubernetes_sd_configs", "relabel_configs")] == [
        "sigv4",
        "alert_relabel_configs",
    ]
    assert new["relabel_configs"][-1] == {"target_label": "team", "replacement": "a"}
    old = alertmanager(endpoints, {"version": "v2.47.0"})
    assert list(old) == ["kubernetes_sd_configs", "api_version", "relabel_configs"]
    assert old["api_version"] == "v1"


def test_alertmanagers_can_ask_for_a_password() -> None:
    """The values come from the Secret, in the file's own place for them."""
    assert alertmanager({"basicAuth": BASIC})["basic_auth"] == {
        "username": "ann",
        "password": "yes",
    }


def test_alerts_of_replicas_are_the_same() -> None:
    """They lose the label that tells replicas apart, whatever it is called."""
    spec: dict[str, Any] = {"alerting": {"alertmanagers": []}}
    section = alerting_section(draft_of(spec | {"replicaExternalLabelName": "pod.name"}))
    assert section
    assert section["alert_relabel_configs"] == [{"action": "labeldrop", "regex": r"pod\.name"}]
    section = alerting_section(draft_of(spec | {"replicaExternalLabelName": ""}))
    assert section
    assert section["alert_relabel_configs"] == []


def test_what_users_wrote_themselves_comes_last_and_unchanged() -> None:
    """Also where the workload has no Alertmanager of its own."""
    steps = [{"regex": "1e3", "action": "drop", "source_labels": ["severity"]}]
    section = alerting_section(draft_of({}), steps, [{"static_configs": [{"targets": ["a:1"]}]}])
    assert text_of(section) == (
        "alert_relabel_configs:\n"
        "- action: labeldrop\n"
        "  regex: prometheus_replica\n"
        '- regex: "1e3"\n'
        "  action: drop\n"
        "  source_labels:\n"
        "  - severity\n"
        "alertmanagers:\n"
        "- static_configs:\n"
        "  - targets:\n"
        "    - a:1\n"
    )


def test_without_alertmanagers_there_is_no_alerting() -> None:
    """And agents, which have no rules, never have any."""
    assert alerting_section(draft_of({})) is None
    assert alerting_section(draft_of({}, agent=True), [], []) is None
