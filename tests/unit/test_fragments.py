"""The configuration of one workload, changed piece by piece."""

import gzip
from collections.abc import Iterator
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from msgspec import structs

from stoker.api.declare import OF_JOBS
from stoker.api.decode import convert
from stoker.api.monitors import PodMonitor, Probe, ServiceMonitor
from stoker.api.prometheus import PrometheusAgentSpec, PrometheusSpec
from stoker.api.schema import marked
from stoker.api.scrapeconfig.v1alpha1 import ScrapeConfig
from stoker.errors import WorkloadError
from stoker.generate import fragments, stream
from stoker.generate.fragments import OWN, KeptConfiguration, settings_of_jobs
from stoker.generate.prometheus import NOTHING_ADDITIONAL, Additional, fragment
from stoker.ref import Ref
from stoker.select.assets import SECRET, AssetsAtHand
from stoker.select.choice import Monitor
from stoker.select.workload import Scraper
from stoker.validate.findings import Reason
from stoker.validate.verdicts import judge
from tests.whole import Configuration, Resources, agent_config, server_config

MODELS: dict[str, Any] = {
    "ServiceMonitor": ServiceMonitor,
    "PodMonitor": PodMonitor,
    "Probe": Probe,
    "ScrapeConfig": ScrapeConfig,
}
FIELDS = {
    "ServiceMonitor": "service_monitors",
    "PodMonitor": "pod_monitors",
    "Probe": "probes",
    "ScrapeConfig": "scrape_configs",
}
NOTHING = AssetsAtHand()
TOKEN = {"bearerTokenSecret": {"name": "token", "key": "value"}}
# The least of each kind, something that reads a Secret, and something that is refused.
SPECS: dict[str, list[dict[str, Any]]] = {
    "ServiceMonitor": [
        {"endpoints": [{"port": "web"}, {"port": "admin", "interval": "10s"}]},
        {"endpoints": [{"port": "web", **TOKEN}]},
        {"endpoints": [{"port": "web", "interval": "soon"}]},
        {"endpoints": []},
    ],
    "PodMonitor": [
        {"podMetricsEndpoints": [{"port": "web"}]},
        {"podMetricsEndpoints": [{"port": "web", **TOKEN}]},
        {"podMetricsEndpoints": [{"port": "web", "enableHttp2": True}]},
    ],
    "Probe": [
        {"prober": {"url": "p:9115"}, "targets": {"staticConfig": {"static": ["https://shop"]}}},
        {"prober": {"url": "p:9115"}},
    ],
    "ScrapeConfig": [
        {"staticConfigs": [{"targets": ["shop:80"]}]},
        {"staticConfigs": [{"targets": ["shop:80"]}], "scrapeClass": "unknown"},
    ],
}
# As text, `a-b/x` comes before `a/x`; as pairs it would come after.
NAMES = ["a/x", "a-b/x", "a/y", "b/x"]


def resource(kind: str, name: str, spec: dict[str, Any]) -> Monitor:
    """A configuration resource."""
    namespace, _, own = name.partition("/")
    found = {"metadata": {"namespace": namespace, "name": own}, "spec": {"selector": {}} | spec}
    made: Monitor = convert(MODELS[kind], found)
    return made


def server(spec: dict[str, Any] | None = None) -> Scraper:
    """The server `main` in `shop`."""
    return Scraper(namespace="shop", name="main", spec=convert(PrometheusSpec, spec or {}))


def agent(spec: dict[str, Any] | None = None, *, daemon_set: bool = False) -> Scraper:
    """The agent `main` in `shop`."""
    found = convert(PrometheusAgentSpec, spec or {})
    return Scraper(namespace="shop", name="main", spec=found, agent=True, daemon_set=daemon_set)


def secrets(value: str | None) -> AssetsAtHand:
    """The token of every namespace, or none."""
    tokens = {} if value is None else {"value": value}
    return AssetsAtHand({Ref(SECRET, name.split("/")[0], "token"): tokens for name in NAMES})


def whole(
    workload: Scraper,
    resources: dict[Ref, Monitor],
    assets: AssetsAtHand,
    additional: Additional = NOTHING_ADDITIONAL,
) -> Configuration:
    """What is made of all resources at once."""
    accepted: dict[str, dict[str, Any]] = {field: {} for field in FIELDS.values()}
    for key, one in resources.items():
        if judge(workload, one, assets).accepted:
            accepted[FIELDS[key.kind]][key.path] = one
    config = agent_config if workload.agent else server_config
    return config(workload, Resources(**accepted), assets, additional)


WORKLOADS = [
    server(),
    server({"externalLabels": {"a": "b"}}),
    server({"version": "v2.30.0"}),
    server({"shards": 2, "enforcedNamespaceLabel": "namespace"}),
    agent(),
    agent(daemon_set=True),
]
ADDITIONAL = [NOTHING_ADDITIONAL, Additional(scrape_configs=[{"job_name": "own"}])]
KEYS = st.builds(
    lambda kind, name: Ref(kind, *name.split("/")),
    st.sampled_from(list(MODELS)),
    st.sampled_from(NAMES),
)
CHANGES = st.lists(
    st.one_of(
        st.tuples(st.just("put"), KEYS, st.integers(0, 3)),
        st.tuples(st.just("remove"), KEYS),
        st.tuples(st.just("touched"), st.sampled_from([None, "one", "two"])),
        st.tuples(st.just("workload"), st.sampled_from(WORKLOADS), st.sampled_from(ADDITIONAL)),
    ),
    max_size=25,
)


@pytest.fixture(autouse=True)
def short_runs() -> Iterator[None]:
    """Runs of few parts, so that small examples have several of them."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(stream, "MEAN_RUN", 3)
        patch.setattr(fragments, "_AT_ONCE", 4)
        yield


@given(CHANGES)
def test_after_any_changes_it_is_what_would_be_made_at_once(changes: list[Any]) -> None:
    """Text, bytes, verdicts, ignored fields and references tell nothing of the way there."""
    workload, additional, assets = WORKLOADS[0], ADDITIONAL[0], secrets(None)
    resources: dict[Ref, Monitor] = {}
    kept = KeptConfiguration(workload, assets)
    for name, *values in changes:
        if name == "put":
            key, number = values
            specs = SPECS[key.kind]
            resources[key] = resource(key.kind, key.path, specs[number % len(specs)])
            kept.put(key, resources[key], assets)
        elif name == "remove":
            resources.pop(values[0], None)
            kept.remove(values[0])
        elif name == "touched":
            assets = secrets(values[0])
            kept.touched(assets.objects, assets)
        else:
            workload, additional = values
            kept.set_workload(workload, assets, additional)
    at_once = KeptConfiguration(workload, assets, additional)
    at_once.put_all(resources, assets)
    expected = whole(workload, resources, assets, additional)
    assert kept.text() == expected.text
    assert kept.gzip() == at_once.gzip()
    assert gzip.decompress(kept.gzip()).decode() == expected.text
    assert kept.ignored == at_once.ignored == expected.ignored
    assert kept.verdicts == at_once.verdicts
    assert kept.references == at_once.references
    assert kept.verdicts.keys() == resources.keys()


def monitors(count: int) -> dict[Ref, Monitor]:
    """So many ServiceMonitors of one endpoint."""
    names = [f"shop/monitor-{number:03}" for number in range(count)]
    return {
        Ref("ServiceMonitor", *name.split("/")): resource(
            "ServiceMonitor", name, SPECS["ServiceMonitor"][0]
        )
        for name in names
    }


class Calls:
    """Counts how often fragments are made."""

    def __init__(self, patch: pytest.MonkeyPatch) -> None:
        self.count = 0
        patch.setattr(fragments, "fragment", self._fragment)

    def _fragment(self, *arguments: Any) -> Any:
        self.count += 1
        return fragment(*arguments)


def test_one_change_makes_one_fragment_and_one_run(monkeypatch: pytest.MonkeyPatch) -> None:
    """However many resources there are."""
    calls = Calls(monkeypatch)
    kept = KeptConfiguration(server(), NOTHING)
    kept.put_all(monitors(100), NOTHING)
    assert calls.count == 100
    key = Ref("ServiceMonitor", "shop", "monitor-050")
    before = kept._jobs.members()
    kept.put(key, resource(key.kind, key.path, {"endpoints": [{"port": "other"}]}), NOTHING)
    after = kept._jobs.members()
    assert calls.count == 101
    assert len(set(after) - set(before)) == 1
    kept.remove(key)
    assert calls.count == 101


# --- Secrets --------------------------------------------------------------------------------------


def reading(*names: str) -> dict[Ref, Monitor]:
    """ServiceMonitors that read the token of their namespace."""
    return {
        Ref("ServiceMonitor", *name.split("/")): resource(
            "ServiceMonitor", name, SPECS["ServiceMonitor"][1]
        )
        for name in names
    }


def accepted(kept: KeptConfiguration) -> set[str]:
    """The names of the resources that are in the configuration."""
    return {key.path for key, verdict in kept.verdicts.items() if verdict.accepted}


def test_a_secret_wakes_what_read_it_and_nothing_else(monkeypatch: pytest.MonkeyPatch) -> None:
    """Also while it is missing: the resource is accepted as soon as it appears."""
    kept = KeptConfiguration(server(), NOTHING)
    kept.put_all(monitors(2) | reading("a/x", "b/x"), NOTHING)
    assert accepted(kept) == {"shop/monitor-000", "shop/monitor-001"}
    assert kept.references == {Ref(SECRET, "a", "token"), Ref(SECRET, "b", "token")}
    calls = Calls(monkeypatch)
    kept.touched([Ref(SECRET, "a", "token"), Ref(SECRET, "shop", "other")], secrets("secret"))
    assert calls.count == 1
    assert accepted(kept) == {"shop/monitor-000", "shop/monitor-001", "a/x"}
    assert "bearer_token: secret" in kept.text()


def test_a_secret_that_changed_elsewhere_makes_no_work(monkeypatch: pytest.MonkeyPatch) -> None:
    """Its labels, or a key that nobody reads."""
    kept = KeptConfiguration(server(), NOTHING)
    kept.put_all(reading("a/x"), secrets("secret"))
    calls = Calls(monkeypatch)
    other = AssetsAtHand({Ref(SECRET, "a", "token"): {"value": "secret", "more": "new"}})
    kept.touched(other.objects, other)
    assert calls.count == 0


def test_a_reference_is_forgotten_with_its_last_reader() -> None:
    """Nothing wakes for it any more."""
    kept = KeptConfiguration(server(), NOTHING)
    kept.put_all(reading("a/x", "a/y"), secrets("secret"))
    kept.remove(Ref("ServiceMonitor", "a", "x"))
    assert kept.references == {Ref(SECRET, "a", "token")}
    key = Ref("ServiceMonitor", "a", "y")
    kept.put(key, resource(key.kind, key.path, SPECS["ServiceMonitor"][0]), secrets("secret"))
    assert kept.references == set()


REMOTE = {"remoteWrite": [{"url": "http://store", "basicAuth": {
    "username": {"name": "store", "key": "user"}, "password": {"name": "store", "key": "word"}
}}]}  # fmt: skip


def test_the_workload_has_its_own_references() -> None:
    """Without them there is no configuration; with them only the frame is made again."""
    kept = KeptConfiguration(server(REMOTE), NOTHING)
    kept.put_all(monitors(2), NOTHING)
    assert kept.references == {Ref(SECRET, "shop", "store")}
    assert [str(finding) for finding in kept.findings]
    with pytest.raises(WorkloadError, match="there is no Secret shop/store"):
        kept.gzip()
    found = AssetsAtHand({Ref(SECRET, "shop", "store"): {"user": "me", "word": "secret"}})
    kept.touched(found.objects, found)
    assert kept.findings == ()
    assert "username: me" in kept.text()
    assert kept.text() == whole(server(REMOTE), monitors(2), found).text


def test_files_to_mount_are_those_of_the_accepted(monkeypatch: pytest.MonkeyPatch) -> None:
    """They come and go with verdicts."""
    kept = KeptConfiguration(server(), NOTHING)
    key = Ref("ServiceMonitor", "a", "x")
    plain = judge(server(), resource(key.kind, key.path, SPECS["ServiceMonitor"][0]), NOTHING)
    with_file = structs.replace(plain, files={"0_a_tls_ca": "text"})
    monkeypatch.setattr(fragments, "judge", lambda *_: with_file)
    assert kept.asset_files == {}
    kept.put(key, with_file.resource, NOTHING)
    assert kept.asset_files == {"0_a_tls_ca": "text"}
    kept.remove(key)
    assert kept.asset_files == {}


# --- The workload ---------------------------------------------------------------------------------

# What makes the checks and generators look at all settings that they look at.
THOROUGH: dict[str, list[dict[str, Any]]] = {
    "ServiceMonitor": [
        *SPECS["ServiceMonitor"],
        {
            "endpoints": [
                {
                    "port": "web",
                    "bearerTokenFile": "/token",
                    "honorLabels": True,
                    "relabelings": [{"targetLabel": "a", "replacement": "b"}],
                    "scrapeTimeout": "5s",
                }
            ],
            "sampleLimit": 5,
            "scrapeClass": "fast",
            "serviceDiscoveryRole": "EndpointSlice",
            "namespaceSelector": {"any": True},
        },
    ],
    "PodMonitor": SPECS["PodMonitor"],
    "Probe": SPECS["Probe"],
    "ScrapeConfig": [*SPECS["ScrapeConfig"], {"nameEscapingScheme": "AllowUTF8"}],
}


class Recorded:
    """A spec that remembers which of its fields were asked for."""

    def __init__(self, spec: Any, asked: set[str]) -> None:
        self.__struct_fields__ = spec.__struct_fields__
        self._spec, self._asked = spec, asked

    def __getattr__(self, name: str) -> Any:
        self._asked.add(name)
        return getattr(self._spec, name)


def test_jobs_depend_on_the_settings_that_are_marked() -> None:
    """A mark that is missing would keep a wrong text; one too many makes all again for nothing."""
    asked: set[str] = set()
    tenants = {
        "scrapeClasses": [{"name": "fast", "default": True}],
        "enforcedNamespaceLabel": "namespace",
    }
    settings: list[dict[str, Any]] = [{}, tenants, tenants | {"version": "v2.20.0"}]
    for spec in settings:
        for workload in (server(spec), agent(spec), agent(spec, daemon_set=True)):
            watched: Any = Recorded(workload.spec, asked)
            watching = structs.replace(workload, spec=watched)
            for kind, specs in THOROUGH.items():
                for one in (resource(kind, "shop/cart", each) for each in specs):
                    judge(watching, one, secrets("secret"))
                    fragment(one, watching, secrets("secret"))
    declared = (PrometheusSpec, PrometheusAgentSpec)
    assert asked == {name for spec in declared for name in marked(spec, OF_JOBS)}


def test_a_setting_of_the_frame_makes_no_fragment(monkeypatch: pytest.MonkeyPatch) -> None:
    """One that jobs depend on makes them all."""
    kept = KeptConfiguration(server(), NOTHING)
    kept.put_all(monitors(10), NOTHING)
    calls = Calls(monkeypatch)
    kept.set_workload(server({"externalLabels": {"zone": "a"}, "replicas": 2}), NOTHING)
    assert (calls.count, "zone: a" in kept.text()) == (0, True)
    kept.set_workload(server({"podTargetLabels": ["team"]}), NOTHING)
    assert (calls.count, "zone: a" in kept.text()) == (10, False)
    assert kept.text() == whole(server({"podTargetLabels": ["team"]}), monitors(10), NOTHING).text
    assert settings_of_jobs(server()) == settings_of_jobs(server({"replicas": 2}))


def test_a_workload_that_cannot_be_configured_says_so_when_it_is_asked() -> None:
    """Resources go on changing, and the next good state has them all."""
    kept = KeptConfiguration(server({"retentionPercentage": 101}), NOTHING)
    kept.put_all(monitors(3), NOTHING)
    for ask in (kept.gzip, kept.text, kept.config_files):
        with pytest.raises(WorkloadError, match="between 0 and 100"):
            ask()
    kept.set_workload(server(), NOTHING)
    assert kept.text() == whole(server(), monitors(3), NOTHING).text


def test_a_version_that_cannot_be_read_changes_nothing() -> None:
    """Nothing can be judged or written for it."""
    kept = KeptConfiguration(server(), NOTHING)
    kept.put_all(monitors(3), NOTHING)
    before = kept.gzip()
    with pytest.raises(WorkloadError, match="`newest` is not a version"):
        kept.set_workload(server({"version": "newest"}), NOTHING)
    assert kept.gzip() == before


def test_what_the_version_does_not_know_is_told_for_each() -> None:
    """The workload's own under a key of its own, and only while it is so."""
    spec = {"version": "v2.30.0", "nameValidationScheme": "Legacy"}
    kept = KeptConfiguration(server(spec), NOTHING)
    key = Ref("PodMonitor", "a", "x")
    kept.put(key, resource(key.kind, key.path, SPECS["PodMonitor"][2]), NOTHING)
    assert set(kept.ignored) == {OWN, key}
    kept.set_workload(server(), NOTHING)
    assert kept.ignored == {}


# --- What Prometheus would refuse -----------------------------------------------------------------

NAMESAKE = Additional(scrape_configs=[{"job_name": "serviceMonitor/a/x/0"}, {"job_name": "own"}])


def test_a_job_that_an_additional_one_has_the_name_of_is_left_out() -> None:
    """Prometheus would refuse the whole file; so all others load, and the verdict tells."""
    kept = KeptConfiguration(server(), NOTHING, NAMESAKE)
    key = Ref("ServiceMonitor", "a", "x")
    found = monitors(3) | {key: resource(key.kind, key.path, SPECS["ServiceMonitor"][0])}
    kept.put_all(found, NOTHING)
    (finding,) = kept.verdicts[key].findings
    assert finding.reason == Reason.DUPLICATE
    assert "additional scrape configuration named `serviceMonitor/a/x/0`" in finding.message
    assert kept.text() == whole(server(), monitors(3), NOTHING, NAMESAKE).text
    kept.set_workload(server(), NOTHING)
    assert kept.verdicts[key].accepted
    assert kept.text() == whole(server(), found, NOTHING).text


def test_an_agent_on_every_node_has_no_additional_jobs_to_clash_with() -> None:
    """They would be scraped once for each node, so they are not there."""
    kept = KeptConfiguration(agent(daemon_set=True), NOTHING, NAMESAKE)
    key = Ref("ServiceMonitor", "a", "x")
    kept.put(key, resource(key.kind, key.path, SPECS["ServiceMonitor"][0]), NOTHING)
    assert kept.verdicts[key].accepted


def test_additional_jobs_with_one_name_are_the_workloads_problem() -> None:
    """Also while they are no jobs at all."""
    twice = Additional(scrape_configs=[{"job_name": "own"}, {"job_name": "own"}])
    with pytest.raises(WorkloadError, match="two jobs named own"):
        KeptConfiguration(server(), NOTHING, twice).gzip()
    with pytest.raises(WorkloadError, match="not a scrape configuration"):
        KeptConfiguration(server(), NOTHING, Additional(scrape_configs=["own"])).gzip()


def test_a_resource_that_cannot_be_written_has_a_verdict_that_says_why(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """Whatever the checks let through."""
    spec = {
        "azureSDConfigs": [
            {
                "subscriptionID": "s",
                "authenticationMethod": "OAuth",
                "tenantID": "t",
                "clientID": "c",
                "clientSecret": {"name": "absent", "key": "secret"},
            }
        ]
    }
    key = Ref("ScrapeConfig", "a", "x")
    one = resource(key.kind, key.path, spec)
    passed = structs.replace(judge(server(), one, NOTHING), findings=(), reads={})
    monkeypatch.setattr(fragments, "judge", lambda *_: passed)
    kept = KeptConfiguration(server(), NOTHING)
    kept.put(key, one, NOTHING)
    assert "there is no Secret a/absent" in kept.verdicts[key].message
    assert kept.references == {Ref(SECRET, "a", "absent")}
    assert kept.text() == whole(server(), {}, NOTHING).text


def test_a_resource_that_no_secret_could_hold_is_left_out(monkeypatch: pytest.MonkeyPatch) -> None:
    """It would keep everybody else's from being published."""
    monkeypatch.setattr(fragments, "LARGEST_PIECE", 600)
    kept = KeptConfiguration(server(), NOTHING)
    key = Ref("ScrapeConfig", "a", "x")
    targets = [f"{number * number}.shop:{number}" for number in range(500)]
    kept.put(key, resource(key.kind, key.path, {"staticConfigs": [{"targets": targets}]}), NOTHING)
    small = Ref("ScrapeConfig", "a", "y")
    kept.put(small, resource(small.kind, small.path, SPECS["ScrapeConfig"][0]), NOTHING)
    assert "more than the" in kept.verdicts[key].message
    assert kept.verdicts[small].accepted
    assert "500" not in kept.text()
