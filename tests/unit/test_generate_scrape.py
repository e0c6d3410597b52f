"""From ServiceMonitors, PodMonitors and Probes to scrape jobs."""

import re
from typing import Any

import pytest
import re2
import yaml

from stoker.api.common import TlsConfig
from stoker.api.decode import convert
from stoker.api.monitors import PodMonitor, Probe, ServiceMonitor
from stoker.api.prometheus import PrometheusAgentSpec, PrometheusSpec
from stoker.api.prometheus_common import ScrapeClass
from stoker.generate.block import Block, text_of
from stoker.generate.draft import ScraperDraft
from stoker.generate.limits import merged_tls
from stoker.generate.podmonitor import pod_monitor_jobs
from stoker.generate.probe import probe_job
from stoker.generate.relabel import relabel_configs
from stoker.generate.servicemonitor import service_monitor_jobs
from stoker.generate.sharding import sharding_steps
from stoker.ref import Ref
from stoker.select.assets import AssetsAtHand
from stoker.select.workload import Scraper
from stoker.settings import Capabilities

PLAIN = Capabilities(topology_sharding=False, shard_retention=False)
TOKENS = AssetsAtHand(
    {
        Ref("Secret", "shop", "login"): {"token": "of the shop"},
        Ref("Secret", "monitoring", "login"): {"token": "of the workload"},
    }
)
TOKEN = {"name": "login", "key": "token"}
META = {"name": "web", "namespace": "shop"}


def a_draft(
    spec: dict[str, Any] | None = None,
    *,
    daemon_set: bool = False,
    capabilities: Capabilities = PLAIN,
) -> ScraperDraft:
    """A draft for a resource in `shop` and a workload in `monitoring`."""
    model = PrometheusAgentSpec if daemon_set else PrometheusSpec
    workload = Scraper(
        namespace="monitoring",
        name="main",
        spec=convert(model, {"version": "v3.14.0", **(spec or {})}),
        agent=daemon_set,
        daemon_set=daemon_set,
        capabilities=capabilities,
    )
    return ScraperDraft(workload, TOKENS, "shop")


def service_job(
    endpoint: dict[str, Any] | None = None,
    draft: ScraperDraft | None = None,
    **spec: Any,
) -> Block:
    """The job of a ServiceMonitor with one endpoint."""
    given = {"metadata": META, "spec": {**spec, "endpoints": [endpoint or {"port": "http"}]}}
    (job,) = service_monitor_jobs(convert(ServiceMonitor, given), draft or a_draft())
    return job


def pod_job(
    endpoint: dict[str, Any] | None = None,
    draft: ScraperDraft | None = None,
    **spec: Any,
) -> Block:
    """The job of a PodMonitor with one endpoint."""
    endpoints = [endpoint or {"port": "http"}]
    given = {"metadata": META, "spec": {**spec, "podMetricsEndpoints": endpoints}}
    (job,) = pod_monitor_jobs(convert(PodMonitor, given), draft or a_draft())
    return job


def job_of_probe(draft: ScraperDraft | None = None, **spec: Any) -> Block:
    """The job of a Probe."""
    given = {"metadata": META, "spec": {"prober": {"url": "blackbox:9115"}, **spec}}
    return probe_job(convert(Probe, given), draft or a_draft())


def discovery(job: Block) -> Any:
    """The Kubernetes discovery of a job."""
    (found,) = job["kubernetes_sd_configs"]
    return found


def step_for(job: Block, target: str) -> Any:
    """The last step that writes a label."""
    return [step for step in job["relabel_configs"] if step.get("target_label") == target][-1]


SERVICE_JOB = """\
- job_name: serviceMonitor/shop/web/0
  honor_labels: false
  kubernetes_sd_configs:
  - role: endpoints
    namespaces:
      names:
      - shop
  scrape_interval: 15s
  relabel_configs:
  - source_labels:
    - job
    target_label: __tmp_prometheus_job_name
  - action: keep
    source_labels:
    - __meta_kubernetes_service_label_app_kubernetes_io_name
    - __meta_kubernetes_service_labelpresent_app_kubernetes_io_name
    regex: (cart);true
  - action: keep
    source_labels:
    - __meta_kubernetes_endpoint_port_name
    regex: http
  - source_labels:
    - __meta_kubernetes_endpoint_address_target_kind
    - __meta_kubernetes_endpoint_address_target_name
    separator: ;
    regex: Node;(.*)
    replacement: ${1}
    target_label: node
  - source_labels:
    - __meta_kubernetes_endpoint_address_target_kind
    - __meta_kubernetes_endpoint_address_target_name
    separator: ;
    regex: Pod;(.*)
    replacement: ${1}
    target_label: pod
  - source_labels:
    - __meta_kubernetes_namespace
    target_label: namespace
  - source_labels:
    - __meta_kubernetes_service_name
    target_label: service
  - source_labels:
    - __meta_kubernetes_pod_name
    target_label: pod
  - source_labels:
    - __meta_kubernetes_pod_container_name
    target_label: container
  - action: drop
    source_labels:
    - __meta_kubernetes_pod_phase
    regex: (Failed|Succeeded)
  - source_labels:
    - __meta_kubernetes_service_label_team
    target_label: team
    regex: (.+)
    replacement: ${1}
  - source_labels:
    - __meta_kubernetes_service_name
    target_label: job
    replacement: ${1}
  - source_labels:
    - __meta_kubernetes_service_label_app
    target_label: job
    regex: (.+)
    replacement: ${1}
  - target_label: endpoint
    replacement: http
  - source_labels:
    - __address__
    - __tmp_hash
    target_label: __tmp_hash
    regex: (.+);
    replacement: $1
    action: replace
  - source_labels:
    - __tmp_hash
    target_label: __tmp_hash
    modulus: 1
    action: hashmod
  - source_labels:
    - __tmp_hash
    - __tmp_disable_sharding
    regex: $(SHARD);|.+;.+
    action: keep
"""


def test_a_service_monitor_becomes_this_job() -> None:
    """The whole text, so that any change of it is seen."""
    job = service_job(
        {"port": "http", "interval": "15s"},
        selector={"matchLabels": {"app.kubernetes.io/name": "cart"}},
        targetLabels=["team"],
        jobLabel="app",
    )
    assert text_of([job]) == SERVICE_JOB


POD_JOB = """\
- job_name: podMonitor/shop/web/0
  honor_labels: true
  honor_timestamps: false
  track_timestamps_staleness: true
  kubernetes_sd_configs:
  - role: pod
    attach_metadata:
      node: true
  scrape_timeout: 5s
  metrics_path: /stats
  params:
    match:
    - a
    - b
  scheme: https
  enable_http2: false
  relabel_configs:
  - source_labels:
    - job
    target_label: __tmp_prometheus_job_name
  - action: keep
    source_labels:
    - __meta_kubernetes_pod_container_port_name
    regex: http
  - source_labels:
    - __meta_kubernetes_namespace
    target_label: namespace
  - source_labels:
    - __meta_kubernetes_pod_container_name
    target_label: container
  - source_labels:
    - __meta_kubernetes_pod_name
    target_label: pod
  - source_labels:
    - __meta_kubernetes_pod_label_own
    target_label: own
    regex: (.+)
    replacement: ${1}
  - source_labels:
    - __meta_kubernetes_pod_label_every_one
    target_label: every_one
    regex: (.+)
    replacement: ${1}
  - target_label: job
    replacement: shop/web
  - target_label: endpoint
    replacement: http
"""


def test_a_pod_monitor_becomes_this_job() -> None:
    """Labels of the monitor first, then those that the workload copies for all."""
    draft = a_draft({"podTargetLabels": ["every/one"]}, daemon_set=False)
    job = pod_job(
        {
            "port": "http",
            "path": "/stats",
            "scheme": "HTTPS",
            "params": {"match": ["a", "b"]},
            "scrapeTimeout": "5s",
            "enableHttp2": False,
            "honorLabels": True,
            "honorTimestamps": False,
            "trackTimestampsStaleness": True,
            "filterRunning": False,
        },
        draft,
        namespaceSelector={"any": True},
        attachMetadata={"node": True},
        podTargetLabels=["own"],
    )
    shared = len(sharding_steps(draft))
    job["relabel_configs"] = job["relabel_configs"][:-shared]
    assert text_of([job]) == POD_JOB


def test_a_probe_of_listed_targets_asks_the_prober_for_each() -> None:
    """The target becomes a parameter and the instance; the address is the prober's."""
    job = job_of_probe(
        jobName="check",
        module="http_2xx",
        params=[{"name": "module", "values": ["lost"]}, {"name": "hops", "values": ["1", "2"]}],
        prober={"url": "blackbox:9115", "scheme": "HTTP", "path": "/probe", "proxyUrl": "http://p"},
        targets={"staticConfig": {"static": ["https://a.example"], "labels": {"tier": "1"}}},
    )
    assert list(job) == [
        "job_name",
        "honor_timestamps",
        "metrics_path",
        "scheme",
        "params",
        "proxy_url",
        "static_configs",
        "relabel_configs",
    ]
    assert job["params"] == {"module": ["http_2xx"], "hops": ["1", "2"]}
    assert job["static_configs"] == [
        {"targets": ["https://a.example"], "labels": {"namespace": "shop", "tier": "1"}}
    ]
    assert job["relabel_configs"][1:6] == [
        {"target_label": "job", "replacement": "check"},
        {"source_labels": ["__address__"], "target_label": "__param_target"},
        {"source_labels": ["__param_target"], "target_label": "instance"},
        {"target_label": "__address__", "replacement": "blackbox:9115"},
        {
            "source_labels": ["__param_target", "__tmp_hash"],
            "target_label": "__tmp_hash",
            "regex": "(.+);",
            "replacement": "$1",
            "action": "replace",
        },
    ]


def test_the_namespace_of_listed_targets_can_be_set_by_the_user() -> None:
    """As any other label."""
    job = job_of_probe(targets={"staticConfig": {"labels": {"namespace": "mine"}}})
    assert job["static_configs"] == [{"targets": [], "labels": {"namespace": "mine"}}]


def test_a_probe_of_ingresses_finds_their_hosts() -> None:
    """Selected by relabeling, in the namespaces that it names."""
    job = job_of_probe(
        targets={
            "ingress": {
                "selector": {"matchExpressions": [{"key": "probe", "operator": "Exists"}]},
                "namespaceSelector": {"matchNames": ["a", "b"]},
                "relabelingConfigs": [{"targetLabel": "own", "replacement": "x"}],
            }
        }
    )
    assert discovery(job) == {"role": "ingress", "namespaces": {"names": ["a", "b"]}}
    assert job["relabel_configs"][1] == {
        "action": "keep",
        "source_labels": ["__meta_kubernetes_ingress_labelpresent_probe"],
        "regex": "true",
    }
    assert step_for(job, "__param_target")["replacement"] == "${1}://${2}${3}"
    assert step_for(job, "own") == {"target_label": "own", "replacement": "x"}


def test_a_probe_without_targets_is_still_a_job() -> None:
    """It finds nothing, and breaks nothing."""
    job = probe_job(convert(Probe, {"metadata": META, "spec": {}}), a_draft())
    assert job["metrics_path"] == ""
    assert not {"static_configs", "kubernetes_sd_configs"} & job.keys()


# Which objects are looked at.


@pytest.mark.parametrize(
    ("selector", "spec", "names"),
    [
        (None, {}, ["shop"]),
        ({}, {}, ["shop"]),
        ({"matchNames": ["b", "a"]}, {}, ["b", "a"]),
        ({"any": True, "matchNames": ["a"]}, {}, None),
        ({"any": True}, {"ignoreNamespaceSelectors": True}, ["shop"]),
    ],
)
def test_namespaces_to_look_in(selector: Any, spec: dict[str, Any], names: Any) -> None:
    """The own one, those named, or all; the workload can forbid all but the own."""
    monitor = {"namespaceSelector": selector} if selector is not None else {}
    found = discovery(pod_job(None, a_draft(spec), **monitor))
    assert found.get("namespaces", {}).get("names") == names


SELECTOR = {
    "matchLabels": {"b": "1", "a": "2"},
    "matchExpressions": [
        {"key": "c", "operator": "In", "values": ["y", "x"]},
        {"key": "d", "operator": "NotIn", "values": ["z"]},
        {"key": "e", "operator": "Exists"},
        {"key": "f", "operator": "DoesNotExist"},
    ],
}


def test_selectors_become_steps() -> None:
    """Labels in order of their names, then the expressions as they are written."""
    steps = pod_job(selector=SELECTOR)["relabel_configs"][2:8]
    assert [(step["action"], step["regex"]) for step in steps] == [
        ("keep", "(2);true"),
        ("keep", "(1);true"),
        ("keep", "(y|x);true"),
        ("drop", "(z);true"),
        ("keep", "true"),
        ("drop", "true"),
    ]


def test_the_api_server_can_select_instead() -> None:
    """Endpoints and their Services have the same labels; no step repeats the selection."""
    job = service_job(selector=SELECTOR, selectorMechanism="RoleSelector")
    label = "a=2,b=1,c in (x,y),d notin (z),e,!f"
    assert discovery(job)["selectors"] == [
        {"role": "endpoints", "label": label},
        {"role": "service", "label": label},
    ]
    assert not any("label_b" in str(step) for step in job["relabel_configs"])


def test_an_empty_selector_asks_the_api_server_for_everything() -> None:
    """Empty text selects all; prometheus-operator writes it, so it is no change at a takeover."""
    everything = [{"role": "pod", "label": ""}]
    assert discovery(pod_job(selectorMechanism="RoleSelector"))["selectors"] == everything


def test_a_daemon_set_says_nothing_of_labels_that_it_does_not_select() -> None:
    """Its agents ask for the pods of their node, and equal questions are asked once."""
    job = pod_job(None, a_draft(daemon_set=True), selectorMechanism="RoleSelector")
    assert discovery(job)["selectors"] == [{"role": "pod", "field": "spec.nodeName=$(NODE_NAME)"}]


def test_prometheus_that_cannot_ask_the_api_server_relabels() -> None:
    """Selectors of roles came with 2.17."""
    job = pod_job(None, a_draft({"version": "2.16.0"}), selector=SELECTOR)
    again = pod_job(
        None,
        a_draft({"version": "2.16.0"}),
        selector=SELECTOR,
        selectorMechanism="RoleSelector",
    )
    assert job == again


@pytest.mark.parametrize(
    ("workload", "monitor", "version", "role"),
    [
        (None, None, "3.14.0", "endpoints"),
        ("EndpointSlice", None, "3.14.0", "endpointslice"),
        ("EndpointSlice", "Endpoints", "3.14.0", "endpoints"),
        ("Endpoints", "EndpointSlice", "3.14.0", "endpointslice"),
        ("EndpointSlice", None, "2.20.0", "endpoints"),
    ],
)
def test_the_role_of_services(workload: Any, monitor: Any, version: str, role: str) -> None:
    """The monitor's wish counts first; versions that know no slices use Endpoints."""
    spec = {"version": version} | ({"serviceDiscoveryRole": workload} if workload else {})
    wish = {"serviceDiscoveryRole": monitor} if monitor else {}
    job = service_job(None, a_draft(spec), **wish)
    assert discovery(job)["role"] == role
    prefix = "endpointslice" if role == "endpointslice" else "endpoint"
    assert job["relabel_configs"][1]["source_labels"] == [f"__meta_kubernetes_{prefix}_port_name"]


def test_slices_that_the_cluster_lacks_are_reported_to_who_asked() -> None:
    """Targets are found all the same, through Endpoints."""
    draft = a_draft(capabilities=Capabilities(endpoint_slices=False))
    job = service_job(None, draft, serviceDiscoveryRole="EndpointSlice")
    assert discovery(job)["role"] == "endpoints"
    assert [each.path for each in draft.ignored] == ["spec.serviceDiscoveryRole"]


def test_discovery_reaches_the_api_server_as_the_workload_says() -> None:
    """With Secrets of the workload's namespace, whoever the monitor belongs to."""
    server = {
        "host": "https://api.example",
        "authorization": {"credentials": TOKEN},
        "tlsConfig": {"caFile": "/ca"},
        "proxyUrl": "http://proxy",
    }
    found = discovery(pod_job(None, a_draft({"apiserverConfig": server})))
    assert list(found.items()) == [
        ("role", "pod"),
        ("namespaces", {"names": ["shop"]}),
        ("api_server", "https://api.example"),
        ("authorization", {"type": "Bearer", "credentials": "of the workload"}),
        ("tls_config", {"ca_file": "/ca"}),
        ("proxy_url", "http://proxy"),
    ]


@pytest.mark.parametrize(
    ("endpoint", "label", "regex", "name"),
    [
        ({"port": "http", "portNumber": 1, "targetPort": 2}, "name", "http", "http"),
        ({"portNumber": 8080, "targetPort": "x"}, "number", 8080, "x"),
        ({"portNumber": 8080}, "number", 8080, None),
        ({"targetPort": 9090}, "number", 9090, "9090"),
        ({"targetPort": "9090"}, "name", "9090", "9090"),
    ],
)
def test_ports_of_pods(endpoint: Any, label: str, regex: Any, name: str | None) -> None:
    """By name, by number, or by the deprecated field that can be both."""
    steps = pod_job(endpoint)["relabel_configs"]
    assert steps[2] == {
        "action": "keep",
        "source_labels": [f"__meta_kubernetes_pod_container_port_{label}"],
        "regex": regex,
    }
    named = [step["replacement"] for step in steps if step.get("target_label") == "endpoint"]
    assert named == ([name] if name else [])


@pytest.mark.parametrize(
    ("port", "label"), [(8080, "number"), ("metrics", "name")], ids=["number", "name"]
)
def test_target_ports_of_services_are_those_of_containers(port: Any, label: str) -> None:
    """Such ports need not be in the Service."""
    job = service_job({"targetPort": port})
    assert job["relabel_configs"][1] == {
        "action": "keep",
        "source_labels": [f"__meta_kubernetes_pod_container_port_{label}"],
        "regex": port,
    }
    assert step_for(job, "endpoint")["replacement"] == str(port)


SETTINGS: dict[str, Any] = {
    "sampleLimit": 1,
    "keepDroppedTargets": 2,
    "scrapeNativeHistograms": True,
    "scrapeProtocols": ["PrometheusProto"],
    "fallbackScrapeProtocol": "PrometheusText0.0.4",
}
SETTINGS_WRITTEN = [
    *("sample_limit", "keep_dropped_targets", "scrape_native_histograms"),
    *("scrape_protocols", "fallback_scrape_protocol", "body_size_limit"),
]
REQUEST = {
    "interval": "1m",
    "path": "/x",
    "params": {"a": ["b"]},
    "scheme": "HTTPS",
    "followRedirects": True,
    "proxyUrl": "http://proxy",
    "tlsConfig": {"insecureSkipVerify": True},
    "basicAuth": {"username": {"name": "s", "key": "k"}, "password": {"name": "s", "key": "k"}},
}
REQUEST_WRITTEN = [
    *("kubernetes_sd_configs", "scrape_interval", "metrics_path", "params", "scheme"),
    "follow_redirects",
]


@pytest.mark.parametrize(
    ("make", "credentials"),
    [
        (service_job, ["proxy_url", "tls_config", "basic_auth"]),
        (pod_job, ["tls_config", "basic_auth", "proxy_url"]),
    ],
)
def test_the_members_of_a_job_have_the_order_of_prometheus_operator(
    make: Any, credentials: list[str]
) -> None:
    """So that taking over changes no text."""
    job = make(REQUEST, bodySizeLimit="1MB", **SETTINGS)
    first = ["job_name", "honor_labels"]
    assert list(job) == [
        *(*first, *REQUEST_WRITTEN, *credentials, "relabel_configs", *SETTINGS_WRITTEN),
    ]


def test_the_members_of_a_probes_job_have_the_order_of_prometheus_operator() -> None:
    """So that taking over changes no text."""
    job = job_of_probe(
        targets={"staticConfig": {"static": ["x"]}},
        prober={"url": "p", "proxyUrl": "http://proxy"},
        tlsConfig={"insecureSkipVerify": True},
        enableHttp2=False,
        **SETTINGS,
    )
    assert list(job)[3:] == [
        *SETTINGS_WRITTEN[:-1],
        *("proxy_url", "enable_http2", "tls_config", "static_configs", "relabel_configs"),
    ]


@pytest.mark.parametrize("make", [service_job, pod_job])
def test_port_zero_selects_nothing_but_is_a_name(make: Any) -> None:
    """As with prometheus-operator: series would lose a label at a takeover."""
    job = make({"targetPort": 0})
    assert not [step for step in job["relabel_configs"] if "port" in str(step.get("source_labels"))]
    assert step_for(job, "endpoint")["replacement"] == "0"


def test_an_endpoint_without_port_takes_all_ports() -> None:
    """And gives them no name."""
    job = service_job({"path": "/metrics"})
    assert not any(step.get("target_label") == "endpoint" for step in job["relabel_configs"])


@pytest.mark.parametrize("name", ["(", "a|b", "[", "$(TOKEN)", "x{2}", "a\\", "*"])
def test_no_name_can_become_an_expression(name: str) -> None:
    """A port or label value that is none of Kubernetes' must not break everyone's file."""
    steps = pod_job({"port": name}, selector={"matchLabels": {"a": name}})["relabel_configs"]
    assert re2.fullmatch(steps[3]["regex"], name)
    assert re2.fullmatch(steps[2]["regex"], f"{name};true")
    assert not re2.fullmatch(steps[3]["regex"], "a")


# A DaemonSet of agents.


def test_agents_of_a_daemon_set_watch_the_pods_of_their_node() -> None:
    """With one selector for the role, for Prometheus refuses two; and no shards."""
    draft = a_draft(daemon_set=True)
    job = pod_job(None, draft, selector=SELECTOR, selectorMechanism="RoleSelector")
    (selector,) = discovery(job)["selectors"]
    assert selector == {
        "role": "pod",
        "label": "a=2,b=1,c in (x,y),d notin (z),e,!f",
        "field": "spec.nodeName=$(NODE_NAME)",
    }
    assert not any("__tmp_hash" in str(step) for step in job["relabel_configs"])


@pytest.mark.parametrize(("version", "selected"), [("3.10.0", False), ("3.11.0", True)])
def test_agents_of_a_daemon_set_watch_no_node_but_their_own(version: str, selected: bool) -> None:
    """For the labels of nodes, where the version takes a selector of them: beside pods alone."""
    draft = a_draft({"version": version}, daemon_set=True)
    attached = {"attachMetadata": {"node": True}}
    own = {"role": "node", "field": "metadata.name=$(NODE_NAME)"}
    assert (own in discovery(pod_job(None, draft, **attached))["selectors"]) is selected
    assert own not in discovery(pod_job(None, draft))["selectors"]
    assert own not in discovery(service_job(None, draft, **attached))["selectors"]
    server = a_draft({"version": version})
    assert "selectors" not in discovery(pod_job(None, server, **attached))


def test_agents_of_a_daemon_set_keep_the_endpoints_of_their_node() -> None:
    """By the endpoint's own node: one without a pod in sight is not everyone's."""
    draft = a_draft({"serviceDiscoveryRole": "Endpoints"}, daemon_set=True)
    job = service_job(None, draft)
    assert discovery(job)["role"] == "endpointslice"
    assert discovery(job)["selectors"] == [{"role": "pod", "field": "spec.nodeName=$(NODE_NAME)"}]
    node, own, same = job["relabel_configs"][1:4]
    assert node["source_labels"] == [
        "__meta_kubernetes_endpointslice_endpoint_node_name",
        "__meta_kubernetes_pod_node_name",
    ]
    assert own == {"target_label": "__tmp_own_node", "replacement": "$(NODE_NAME)"}
    assert same == {
        "action": "keepequal",
        "source_labels": [node["target_label"]],
        "target_label": own["target_label"],
    }


@pytest.mark.parametrize(
    ("endpoint", "pod", "node"),
    [("a", "", "a"), ("a", "b", "a"), ("", "b", "b"), ("", "", None)],
)
def test_the_node_of_a_target_is_its_endpoints_or_else_its_pods(
    endpoint: str, pod: str, node: str | None
) -> None:
    """Ports that no Service exposes have no endpoint, but a pod."""
    job = service_job(None, a_draft(daemon_set=True))
    regex = re.compile(job["relabel_configs"][1]["regex"])
    found = regex.fullmatch(f"{endpoint};{pod}")
    assert (found and (found[1] or found[2])) == node


def test_agents_before_labels_could_be_compared_match_the_name_of_their_node() -> None:
    """An expression, in which our reloader escapes the dots of the name."""
    job = service_job(None, a_draft({"version": "2.40.0"}, daemon_set=True))
    assert job["relabel_configs"][1] == {
        "action": "keep",
        "source_labels": [
            "__meta_kubernetes_endpoint_node_name",
            "__meta_kubernetes_pod_node_name",
        ],
        "regex": "$(NODE_NAME);.*|;$(NODE_NAME)",
    }


def test_agents_that_do_not_see_the_node_of_a_slice_use_endpoints() -> None:
    """Slices tell their node since 2.52; a step on a label that is never there drops everything."""
    job = service_job(None, a_draft({"version": "2.51.0"}, daemon_set=True))
    assert discovery(job)["role"] == "endpoints"
    assert job["relabel_configs"][1]["source_labels"][0] == "__meta_kubernetes_endpoint_node_name"


def test_monitors_that_look_in_the_same_place_have_the_same_discovery() -> None:
    """To the byte, whatever else tells them apart: Prometheus shares watches between equals.

    On every node even the order of namespaces makes no difference (defect 19).
    """
    for make in (service_job, pod_job):
        one = make({"port": "a", "path": "/x"}, a_draft(daemon_set=True), selector=SELECTOR)
        other = make(
            {"port": "b", "interval": "5s", "params": {"a": ["b"]}},
            a_draft(daemon_set=True),
            selector={"matchLabels": {"x": "y"}},
            namespaceSelector={"matchNames": ["shop", "shop"]},
            jobLabel="x",
        )
        assert text_of(discovery(one)) == text_of(discovery(other))
        names = ({"matchNames": ["b", "a"]}, {"matchNames": ["a", "b", "a"]})
        texts = {
            text_of(discovery(make(None, a_draft(daemon_set=True), namespaceSelector=each)))
            for each in names
        }
        assert len(texts) == 1


# Shards.


def summary(steps: list[Block]) -> list[str]:
    """Steps in short."""
    return [str(step.get("modulus") or step.get("regex") or step["replacement"]) for step in steps]


@pytest.mark.parametrize(("shards", "modulus"), [(None, 1), (0, 1), (1, 1), (7, 7)])
def test_targets_are_divided_by_the_hash_of_their_address(shards: Any, modulus: int) -> None:
    """There is one shard at least."""
    draft = a_draft({} if shards is None else {"shards": shards})
    assert summary(sharding_steps(draft)) == ["(.+);", str(modulus), "$(SHARD);|.+;.+"]


def test_shards_kept_for_their_data_scrape_nothing() -> None:
    """Those scaled away have numbers beyond the active ones."""
    draft = a_draft({"shards": 3}, capabilities=Capabilities(topology_sharding=False))
    assert summary(sharding_steps(draft))[:2] == ["$(SHARD)", "0|1|2"]


TOPOLOGY = {"shardingStrategy": {"mode": "Topology", "topology": {"values": ["a", "b"]}}}
ZONES = Capabilities(shard_retention=False)


@pytest.mark.parametrize(("shards", "each"), [(1, 1), (2, 1), (4, 2), (5, 2)])
def test_zones_have_their_share_of_the_shards(shards: int, each: int) -> None:
    """Rounded down: a shard that does not exist in a zone must not be given targets there."""
    draft = a_draft({**TOPOLOGY, "shards": shards}, capabilities=ZONES)
    assert summary(sharding_steps(draft))[2:] == [
        "$(TOPOLOGY_ZONE);|.+;.+",
        "(.+);",
        str(each),
        "$(INZONE_SHARD);|.+;.+",
    ]


def test_the_zone_of_a_pod_is_looked_up_at_its_node() -> None:
    """So the node's metadata are attached, whatever the monitor says."""
    draft = a_draft({**TOPOLOGY, "shards": 2}, capabilities=ZONES)
    job = pod_job(None, draft, attachMetadata={"node": False})
    assert discovery(job)["attach_metadata"] == {"node": True}
    assert "__meta_kubernetes_node_label_topology_kubernetes_io_zone" in str(job)


def test_pods_that_know_their_zone_need_no_node() -> None:
    """Newer Kubernetes copies the label."""
    capable = Capabilities(shard_retention=False, pod_topology_labels=True)
    job = pod_job(None, a_draft({**TOPOLOGY, "shards": 2}, capabilities=capable))
    assert "attach_metadata" not in discovery(job)
    assert "__meta_kubernetes_pod_label_topology_kubernetes_io_zone" in str(job)


def test_probes_have_no_zone_and_are_divided_among_all_shards() -> None:
    """Otherwise no zone would take them."""
    job = job_of_probe(
        a_draft({**TOPOLOGY, "shards": 4}, capabilities=ZONES),
        targets={"staticConfig": {"static": ["a"]}},
    )
    assert summary(job["relabel_configs"][-3:]) == ["(.+);", "4", "$(SHARD);|.+;.+"]


# What administrators decide.


def test_scraped_labels_and_timestamps_can_be_overridden() -> None:
    """Whatever the monitor wants."""
    draft = a_draft({"overrideHonorLabels": True, "overrideHonorTimestamps": True})
    job = service_job({"honorLabels": True, "honorTimestamps": True}, draft)
    assert job["honor_labels"] is False
    assert job["honor_timestamps"] is False


ENFORCED = {"enforcedNamespaceLabel": "tenant"}


def test_the_namespace_label_comes_after_all_that_users_write() -> None:
    """For targets and for samples; only the division among shards follows."""
    own = {"targetLabel": "tenant", "replacement": "other"}
    endpoint = {"port": "http", "relabelings": [own], "metricRelabelings": [own]}
    job = service_job(endpoint, a_draft(ENFORCED))
    enforced = {"target_label": "tenant", "replacement": "shop"}
    assert job["relabel_configs"][-4] == enforced
    assert job["metric_relabel_configs"][-1] == enforced


@pytest.mark.parametrize(
    ("rule", "excluded"),
    [
        ({"resource": "podmonitors", "namespace": "shop"}, True),
        ({"resource": "podmonitors", "namespace": "shop", "name": "web"}, True),
        ({"resource": "podmonitors", "namespace": "shop", "name": "other"}, False),
        ({"resource": "servicemonitors", "namespace": "shop"}, False),
        ({"resource": "podmonitors", "namespace": "other"}, False),
    ],
)
def test_resources_can_be_excluded_from_enforcement(rule: Any, excluded: bool) -> None:
    """By kind and namespace, or by name too."""
    job = pod_job(None, a_draft({**ENFORCED, "excludedFromEnforcement": [rule]}))
    assert ("metric_relabel_configs" not in job) is excluded


@pytest.mark.parametrize(
    ("version", "wanted", "ceiling", "written"),
    [
        ("3.14.0", 5, None, 5),
        ("3.14.0", 0, None, 0),
        ("3.14.0", 5, 3, 3),
        ("3.14.0", 2, 3, 2),
        ("3.14.0", 0, 3, None),
        ("2.44.0", 0, 3, 3),
        ("3.14.0", None, 3, None),
        ("2.44.0", None, 3, 3),
        ("2.20.0", 5, 3, None),
    ],
)
def test_limits_never_exceed_their_ceiling(
    version: str, wanted: Any, ceiling: Any, written: Any
) -> None:
    """Without one of its own, or with zero, a job has the global one, if Prometheus knows such."""
    spec = {"version": version} | ({"enforcedTargetLimit": ceiling} if ceiling else {})
    limits = {} if wanted is None else {"targetLimit": wanted}
    draft = a_draft(spec)
    assert service_job(None, draft, **limits).get("target_limit") == written
    assert [each.path for each in draft.ignored] == (
        ["spec.targetLimit"] if version == "2.20.0" else []
    )


def test_sizes_are_compared_by_what_they_amount_to() -> None:
    """Not as text."""
    draft = a_draft({"enforcedBodySizeLimit": "4000MB"})
    assert service_job(None, draft, bodySizeLimit="2GB")["body_size_limit"] == "2GB"
    assert service_job(None, draft, bodySizeLimit="5GB")["body_size_limit"] == "4000MB"


CLASSES = {
    "scrapeClasses": [
        {
            "name": "usual",
            "default": True,
            "tlsConfig": {"caFile": "/ca", "certFile": "/crt", "keyFile": "/key"},
            "authorization": {"credentials": TOKEN},
            "relabelings": [{"targetLabel": "class", "replacement": "usual"}],
            "metricRelabelings": [{"regex": "noise", "action": "LabelDrop"}],
            "attachMetadata": {"node": True},
            "fallbackScrapeProtocol": "PrometheusText0.0.4",
        },
        {"name": "bare"},
    ]
}


def test_the_default_scrape_class_completes_a_monitor() -> None:
    """Its steps come before the monitor's; its Secrets are in the workload's namespace."""
    endpoint = {"port": "http", "relabelings": [{"targetLabel": "class", "replacement": "own"}]}
    job = pod_job(endpoint, a_draft(CLASSES))
    assert discovery(job)["attach_metadata"] == {"node": True}
    assert job["tls_config"] == {"ca_file": "/ca", "cert_file": "/crt", "key_file": "/key"}
    assert job["authorization"] == {"type": "Bearer", "credentials": "of the workload"}
    assert [step["replacement"] for step in job["relabel_configs"][-5:-3]] == ["usual", "own"]
    assert job["metric_relabel_configs"] == [{"regex": "noise", "action": "labeldrop"}]
    assert job["fallback_scrape_protocol"] == "PrometheusText0.0.4"


@pytest.mark.parametrize("name", ["bare", "unknown"])
def test_a_monitor_that_names_a_class_has_nothing_of_the_default_one(name: str) -> None:
    """Even where the class it names gives nothing."""
    job = pod_job(None, a_draft(CLASSES), scrapeClass=name)
    assert not {"tls_config", "authorization", "fallback_scrape_protocol"} & job.keys()


def test_what_a_monitor_sets_wins_over_its_class() -> None:
    """And stays with the Secrets of the monitor's namespace."""
    job = pod_job(
        {"port": "http", "authorization": {"credentials": TOKEN}},
        a_draft(CLASSES),
        attachMetadata={"node": False},
        fallbackScrapeProtocol="PrometheusProto",
    )
    assert discovery(job)["attach_metadata"] == {"node": False}
    assert job["authorization"]["credentials"] == "of the shop"
    assert job["fallback_scrape_protocol"] == "PrometheusProto"


@pytest.mark.parametrize(
    ("own", "scheme"),
    [({}, "Bearer"), ({"type": ""}, "Bearer"), ({"type": "Token"}, "Token")],
    ids=["empty", "blank", "scheme"],
)
def test_a_class_gives_the_credentials_that_a_monitor_does_not_name(own: Any, scheme: str) -> None:
    """The scheme stays the monitor's; the Secret is the workload's."""
    job = pod_job({"port": "http", "authorization": own}, a_draft(CLASSES))
    assert job["authorization"] == {"type": scheme, "credentials": "of the workload"}


def test_an_empty_authorization_is_none() -> None:
    """Where there is no class to complete it."""
    assert "authorization" not in pod_job({"port": "http", "authorization": {}})


@pytest.mark.parametrize(
    "own",
    [
        {"basicAuth": {"username": TOKEN, "password": TOKEN}},
        {"oauth2": {"clientId": {"secret": TOKEN}, "clientSecret": TOKEN, "tokenUrl": "http://t"}},
        {"bearerTokenSecret": TOKEN},
    ],
    ids=lambda own: next(iter(own)),
)
def test_a_class_does_not_authenticate_who_does_so_otherwise(own: Any) -> None:
    """Prometheus refuses a job that has two kinds of credentials."""
    assert "authorization" not in pod_job({"port": "http", **own}, a_draft(CLASSES))


def test_tls_of_a_class_fills_only_what_is_missing() -> None:
    """A certificate by reference counts as set; nothing but the files is taken over."""
    chosen = convert(
        ScrapeClass,
        {"name": "c", "tlsConfig": {"caFile": "/ca", "keyFile": "/key", "serverName": "class"}},
    )
    own = convert(TlsConfig, {"keySecret": TOKEN, "ca": {}})
    merged = merged_tls(own, chosen)
    assert merged == convert(TlsConfig, {"keySecret": TOKEN, "ca": {}, "caFile": "/ca"})
    assert merged_tls(None, chosen) is chosen.tls_config
    assert merged_tls(own, None) is own


@pytest.mark.parametrize("empty", [{}, {"ca": {}, "cert": {}}], ids=["nothing", "references"])
def test_empty_tls_settings_leave_all_to_the_class(empty: Any) -> None:
    """Also what is no file; those of a ServiceMonitor, which could name files, are its own."""
    tls = {"ca": {"secret": TOKEN}, "insecureSkipVerify": True, "certFile": "/crt"}
    draft = a_draft({"scrapeClasses": [{"name": "c", "default": True, "tlsConfig": tls}]})
    endpoint = {"port": "http", "tlsConfig": empty}
    assert pod_job(endpoint, draft)["tls_config"] == {
        "insecure_skip_verify": True,
        "ca_file": "/etc/prometheus/certs/0_monitoring_login_token",
        "cert_file": "/crt",
    }
    assert service_job(endpoint, draft)["tls_config"] == {"cert_file": "/crt"}
    assert "tls_config" not in pod_job(endpoint)


# What versions know.


HISTOGRAMS = {
    "scrapeNativeHistograms": True,
    "scrapeClassicHistograms": True,
    "convertClassicHistogramsToNHCB": False,
    "nativeHistogramBucketLimit": 10,
    "nativeHistogramMinBucketFactor": "1100m",
}


@pytest.mark.parametrize(
    ("version", "members"),
    [
        ("2.44.0", []),
        ("2.45.0", ["native_histogram_bucket_limit", "scrape_classic_histograms"]),
        (
            "3.0.0-rc.0",
            [
                "native_histogram_bucket_limit",
                "native_histogram_min_bucket_factor",
                "always_scrape_classic_histograms",
            ],
        ),
        (
            "3.8.0",
            [
                "scrape_native_histograms",
                "native_histogram_bucket_limit",
                "native_histogram_min_bucket_factor",
                "always_scrape_classic_histograms",
                "convert_classic_histograms_to_nhcb",
            ],
        ),
    ],
)
def test_histograms_by_version(version: str, members: list[str]) -> None:
    """One member was renamed; each that is left out is reported once."""
    draft = a_draft({"version": version})
    job = service_job(None, draft, **HISTOGRAMS)
    assert [name for name in job if "histogram" in name] == members
    assert len(draft.ignored) == len(HISTOGRAMS) - len(members)
    assert job.get("native_histogram_min_bucket_factor", 1.1) == 1.1


def test_protocols_that_a_version_does_not_know_are_left_out() -> None:
    """One name in a list can be too new."""
    draft = a_draft({"version": "2.49.0"})
    job = service_job(
        None,
        draft,
        scrapeProtocols=["PrometheusText1.0.0", "PrometheusProto"],
        fallbackScrapeProtocol="PrometheusProto",
    )
    assert job["scrape_protocols"] == ["PrometheusProto"]
    assert [each.path for each in draft.ignored] == [
        "spec.scrapeProtocols[0]",
        "spec.fallbackScrapeProtocol",
    ]


def test_old_versions_get_what_they_know_and_the_rest_is_reported() -> None:
    """With the path to each field."""
    draft = a_draft({"version": "2.8.0"})
    endpoint = {
        "port": "http",
        "followRedirects": True,
        "enableHttp2": True,
        "honorTimestamps": True,
        "trackTimestampsStaleness": True,
        "authorization": {"type": "Token"},
        "oauth2": {"clientId": {}, "clientSecret": TOKEN, "tokenUrl": "http://t"},
    }
    job = service_job(endpoint, draft, attachMetadata={"node": True})
    assert list(job) == [
        "job_name",
        "honor_labels",
        "kubernetes_sd_configs",
        "relabel_configs",
    ]
    assert {each.path for each in draft.ignored} == {
        "spec.attachMetadata",
        *(f"spec.endpoints[0].{name}" for name in endpoint if name != "port"),
    }


def test_a_probe_on_an_old_version_reports_nothing_that_nobody_asked_for() -> None:
    """Timestamps are honoured by default; that is not the user's doing."""
    draft = a_draft({"version": "2.8.0"})
    assert "honor_timestamps" not in job_of_probe(draft)
    assert draft.ignored == []


# Users' steps.


def test_steps_keep_what_is_empty_on_purpose() -> None:
    """An empty separator and replacement mean something, an empty expression does not."""
    given = {
        "sourceLabels": ["a", "b"],
        "separator": "",
        "targetLabel": "c",
        "regex": "",
        "modulus": 0,
        "replacement": "",
        "action": "Replace",
    }
    endpoint = {"port": "http", "metricRelabelings": [given]}
    assert service_job(endpoint)["metric_relabel_configs"] == [
        {
            "source_labels": ["a", "b"],
            "separator": "",
            "target_label": "c",
            "replacement": "",
            "action": "replace",
        }
    ]
    assert relabel_configs(None, a_draft(), "") == []


def test_the_constants_of_the_operator_are_never_changed() -> None:
    """Jobs share them, so writing twice gives the same text twice."""
    first = text_of([service_job(), pod_job(), job_of_probe()])
    assert text_of([service_job(), pod_job(), job_of_probe()]) == first
    assert len(yaml.safe_load(first)) == 3
