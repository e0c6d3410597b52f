"""ServiceMonitors, PodMonitors and Probes as ScrapeConfigs."""

import io
import re
from collections import Counter
from contextlib import suppress
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from stoker.api.admit import admit
from stoker.api.convert import converted
from stoker.api.convert import typed as typed_again
from stoker.api.decode import convert
from stoker.api.monitors import PodMonitor, Probe, ServiceMonitor
from stoker.api.prometheus import Prometheus
from stoker.api.scrapeconfig import SCRAPE_CONFIG
from stoker.api.scrapeconfig.v1alpha1 import ScrapeConfig
from stoker.consolidate import (
    DEFAULT_TERMS,
    Inexpressible,
    Terms,
    consolidated,
    manifest_of,
    stand_ins_of,
    terms_of,
)
from stoker.consolidate.configs import Consolidable
from stoker.consolidate.names import config_name
from stoker.errors import DecodeError
from stoker.explain.selecting import first_reason
from stoker.offline.manifests import read
from stoker.offline.surroundings import Directory
from stoker.offline.world import world_of
from stoker.ref import Ref
from stoker.select.assets import AssetsAtHand
from stoker.select.choice import Resource, choices, choices_in, chosen
from stoker.select.consolidated import CONSOLIDATED_FROM, monitor_behind
from stoker.select.workload import AnyPrometheus, Scraper, scraper_of
from stoker.settings import Capabilities
from stoker.validate.verdicts import Verdict, judge
from stoker.view.states import Cause
from stoker.view.view import View
from tests import builders
from tests.equivalence import differences, jobs_of
from tests.fuzz.world import assets as fuzz_assets
from tests.fuzz.world import typed, worlds_of
from tests.planning import decide

GOLDEN = Path(__file__).parents[1] / "golden" / "prometheus"
NOTHING = AssetsAtHand()


WEB = {"matchLabels": {"app": "web"}}


def service_monitor(*endpoints: dict[str, Any], **spec: Any) -> ServiceMonitor:
    """Monitor Services `app: web` in the namespace `shop`."""
    given = {"selector": WEB, "endpoints": list(endpoints or [{"port": "http"}]), **spec}
    return builders.typed(ServiceMonitor, "web", given, labels={"team": "shop"})


def pod_monitor(**spec: Any) -> PodMonitor:
    """Monitor pods `app: web` in the namespace `shop`."""
    return builders.typed(PodMonitor, "web", {"selector": WEB, **spec})


def probe(**spec: Any) -> Probe:
    """Probe two URLs with the blackbox exporter."""
    given = {
        "prober": {"url": "blackbox:9115", "path": "/probe"},
        "targets": {"staticConfig": {"static": ["https://a.example", "https://b.example"]}},
        **spec,
    }
    return builders.typed(Probe, "sites", given)


def workload(facts: Capabilities | None = None, **spec: Any) -> Scraper:
    """Have a Prometheus with these settings."""
    return scraper_of(
        builders.typed(Prometheus, "main", spec, "monitoring"), facts or Capabilities()
    )


def the_terms(**spec: Any) -> Terms:
    """Find the terms of a workload that has some."""
    found = terms_of(workload(**spec))
    assert isinstance(found, Terms)
    return found


def paths(monitor: Consolidable, terms: Terms = DEFAULT_TERMS) -> list[str]:
    """Tell where a monitor cannot be said in ScrapeConfigs."""
    return [each.path for each in consolidated(monitor, terms).problems]


# --- The same jobs --------------------------------------------------------------------------------

MONITORS: dict[str, Consolidable] = {
    "service monitor": service_monitor({"port": "http"}, {"targetPort": 8080, "path": "/other"}),
    "selecting by the API": service_monitor(
        selectorMechanism="RoleSelector", attachMetadata={"node": True}
    ),
    "other namespaces": service_monitor(namespaceSelector={"matchNames": ["a", "b", "a"]}),
    "any namespace": service_monitor(namespaceSelector={"any": True}),
    "slices": service_monitor(serviceDiscoveryRole="EndpointSlice"),
    "own steps": service_monitor(
        {
            "port": "http",
            "relabelings": [{"sourceLabels": ["__tmp_prometheus_job_name"], "targetLabel": "x"}],
            "metricRelabelings": [{"action": "drop", "regex": "go_.*"}],
        }
    ),
    "token": service_monitor({"bearerTokenSecret": {"name": "vault", "key": "token"}}),
    "empty token": service_monitor({"bearerTokenSecret": {"key": ""}}),
    "empty settings": service_monitor({"tlsConfig": {}, "authorization": {}}),
    "empty settings in a class": service_monitor(
        {"tlsConfig": {"ca": {}}, "authorization": {}}, scrapeClass="tls"
    ),
    "everything": service_monitor(
        {
            "port": "http",
            "honorLabels": True,
            "honorTimestamps": False,
            "trackTimestampsStaleness": True,
            "interval": "7s",
            "scrapeTimeout": "3s",
            "params": {"a": ["b"], "c": []},
            "scheme": "HTTPS",
            "followRedirects": False,
            "enableHttp2": False,
            "filterRunning": False,
            "proxyUrl": "http://proxy",
            "noProxy": "localhost",
            "oauth2": {
                "clientId": {"secret": {"name": "vault", "key": "id"}},
                "clientSecret": {"name": "vault", "key": "secret"},
                "tokenUrl": "https://token",
                "scopes": ["all"],
            },
            "tlsConfig": {"ca": {"secret": {"name": "vault", "key": "ca"}}, "serverName": "web"},
        },
        jobLabel="app",
        targetLabels=["team"],
        podTargetLabels=["version"],
        sampleLimit=10,
        targetLimit=3,
        bodySizeLimit="1MB",
        scrapeProtocols=["PrometheusProto"],
        fallbackScrapeProtocol="PrometheusText0.0.4",
        nativeHistogramMinBucketFactor="1.1",
        scrapeClass="tls",
    ),
    "pod monitor": pod_monitor(podMetricsEndpoints=[{"portNumber": 9100}, {"port": "http"}]),
    "probe": probe(module="http_2xx", params=[{"name": "debug", "values": ["true"]}]),
    "probe with a job": probe(jobName="sites", interval="1m"),
    "probe of ingresses": probe(
        targets={
            "ingress": {
                "selector": {"matchLabels": {"public": "true"}},
                "relabelingConfigs": [{"targetLabel": "via", "replacement": "ingress"}],
            }
        }
    ),
}
WORKLOADS: dict[str, dict[str, Any]] = {
    "plain": {},
    "shards": {"shards": 3},
    "no namespace selectors": {"ignoreNamespaceSelectors": True},
    "pod labels": {"podTargetLabels": ["team"]},
    "enforcing": {"enforcedNamespaceLabel": "ns", "enforcedSampleLimit": 5},
    "another API server": {
        "apiserverConfig": {"host": "https://api", "tlsConfig": {"insecureSkipVerify": True}}
    },
    "slices by default": {"serviceDiscoveryRole": "EndpointSlice"},
    "classes": {
        "scrapeClasses": [
            {
                "name": "tls",
                "tlsConfig": {"caFile": "/ca", "serverName": "class"},
                "attachMetadata": {"node": True},
            },
            {
                "name": "usual",
                "default": True,
                "authorization": {"credentials": {"name": "vault", "key": "token"}},
                "metricRelabelings": [{"action": "drop", "regex": "x"}],
                "attachMetadata": {"node": True},
            },
        ]
    },
    "old": {"version": "v2.30.0"},
}
VALUES = AssetsAtHand(
    {
        Ref("Secret", namespace, "vault"): {"token": "t", "id": "i", "secret": "s", "ca": "c"}
        for namespace in ("shop", "monitoring")
    }
)


@pytest.mark.parametrize("setting", WORKLOADS)
@pytest.mark.parametrize("name", MONITORS)
def test_the_job_of_a_scrape_config_is_that_of_the_monitor(name: str, setting: str) -> None:
    """Whatever the monitor says, and whatever the workload adds."""
    found = differences(MONITORS[name], workload(**WORKLOADS[setting]), VALUES)
    if (name, setting) == ("empty token", "classes"):
        assert not isinstance(found, list)
    else:
        assert found == []


def test_a_cluster_without_slices_has_none_in_scrape_configs_either() -> None:
    """The monitor wants them, and gets Endpoints in both forms."""
    without = workload(Capabilities(endpoint_slices=False), serviceDiscoveryRole="EndpointSlice")
    assert differences(MONITORS["slices"], without, NOTHING) == []
    assert differences(MONITORS["service monitor"], without, NOTHING) == []


@pytest.mark.parametrize("path", sorted(GOLDEN.glob("*/v*.yaml")), ids=lambda path: str(path)[-30:])
def test_golden_monitors_become_scrape_configs_with_the_same_jobs(path: Path) -> None:
    """All monitors of the golden cases, for all workloads and versions there."""
    text = (path.parent / "in.yaml").read_text().replace("$VERSION", path.stem)
    world = world_of(read(["-"], io.StringIO(text)))
    for workload in world.workloads:
        if not isinstance(workload, AnyPrometheus):
            continue
        known = scraper_of(workload, Capabilities())
        wanted = choices(workload)
        for resource in chosen(wanted, world.resources, world.namespaces):
            if isinstance(resource, Consolidable) and judge(known, resource, world.assets).accepted:
                told = differences(resource, known, world.assets)
                assert not isinstance(told, list) or told == []


def test_generated_monitors_become_scrape_configs_with_the_same_jobs() -> None:
    """What a workload accepts has the same jobs, and the API server takes the ScrapeConfigs."""
    counts: Counter[str] = Counter()
    version = SCRAPE_CONFIG.versions[0]
    for seed in range(40):
        world = worlds_of(seed)[0]
        known = scraper_of(world.scraper, world.capabilities)
        for manifest in world.resources:
            try:
                resource = typed(manifest)
            except DecodeError:
                continue
            if not isinstance(resource, Consolidable):
                continue
            if not judge(known, resource, fuzz_assets()).accepted:
                continue
            told = differences(resource, known, fuzz_assets())
            counts[type(resource).__name__ if isinstance(told, list) else "told"] += 1
            if isinstance(told, list):
                assert told == []
                terms = terms_of(known)
                assert isinstance(terms, Terms)
                # Half a surrogate pair: no JSON or YAML reader lets it through.
                with suppress(UnicodeEncodeError):
                    for each in consolidated(resource, terms).configs:
                        assert not admit(version, manifest_of(each)).findings
    assert min(counts[kind] for kind in Ref("ServiceMonitor", "PodMonitor", "Probe")) > 10


# --- Names and owners -----------------------------------------------------------------------------


def test_scrape_configs_are_called_after_the_monitor() -> None:
    """Kind, name and endpoint; terms of their own show as a digest."""
    made = consolidated(MONITORS["service monitor"]).configs
    assert [each.metadata.name for each in made] == ["servicemonitor-web-0", "servicemonitor-web-1"]
    own = consolidated(MONITORS["probe"], the_terms(podTargetLabels=["a"])).configs
    assert re.fullmatch("probe-sites-0-t[0-9a-f]{8}", own[0].metadata.name or "")


def test_workloads_with_equal_terms_share_scrape_configs() -> None:
    """What does not matter for them does not make them differ."""
    one, other = the_terms(shards=3, version="v2.50.0"), the_terms(enforcedSampleLimit=1)
    assert one == other == DEFAULT_TERMS
    assert (
        the_terms(ignoreNamespaceSelectors=True).digest != the_terms(podTargetLabels=["a"]).digest
    )


NAMES = st.from_regex(r"[a-z0-9]([-a-z0-9.]{0,250}[a-z0-9])?", fullmatch=True).filter(
    lambda name: not re.search(r"\.[-.]|-\.", name)
)
IDENTITIES = st.tuples(
    st.sampled_from(["ServiceMonitor", "PodMonitor", "Probe"]),
    NAMES,
    st.integers(0, 30),
    st.sampled_from([DEFAULT_TERMS, Terms(pod_target_labels=("a",))]),
)


@given(one=IDENTITIES, other=IDENTITIES)
def test_no_two_endpoints_share_a_name(one: Any, other: Any) -> None:
    """And each name is one that Kubernetes takes."""
    names = {config_name(*each) for each in (one, other)}
    assert len(names) == len({one, other})
    for name in names:
        assert len(name) <= 253
        assert re.fullmatch(
            r"[a-z0-9]([-a-z0-9]*[a-z0-9])?(\.[a-z0-9]([-a-z0-9]*[a-z0-9])?)*", name
        )


def test_a_scrape_config_belongs_to_its_monitor() -> None:
    """It has the monitor's labels, and the monitor as owner where that is in a cluster."""
    monitor = MONITORS["service monitor"]
    (free, _) = consolidated(monitor).configs
    assert free.metadata.labels == {"team": "shop", CONSOLIDATED_FROM: "ServiceMonitor"}
    assert free.metadata.owner_references is None
    assert monitor_behind(free.metadata) is None
    (kept,) = consolidated(in_cluster(service_monitor())).configs
    behind = monitor_behind(kept.metadata)
    assert behind is not None
    assert (behind.kind, behind.name, behind.uid, behind.controller) == (
        "ServiceMonitor", "web", "one", True,
    )  # fmt: skip


def in_cluster(monitor: ServiceMonitor) -> ServiceMonitor:
    """Have the monitor as a cluster knows it."""
    known = builders.typed(ServiceMonitor, "web", uid="one", labels={"team": "shop"})
    return ServiceMonitor(metadata=known.metadata, spec=monitor.spec)


def test_a_scrape_config_in_place_of_a_monitor_is_never_selected() -> None:
    """The monitor is; a ScrapeConfig that only has the label stands for itself."""
    monitor = in_cluster(service_monitor())
    (kept,) = consolidated(monitor).configs
    free = ScrapeConfig(
        metadata=consolidated(service_monitor()).configs[0].metadata, spec=kept.spec
    )
    spec: dict[str, Any] = {
        f"{kind}{what}": {}
        for kind in ("scrapeConfig", "serviceMonitor")
        for what in ("Selector", "NamespaceSelector")
    }
    wanted = choices_in("monitoring", workload(**spec).spec)
    both: list[Resource] = [kept, monitor]
    assert chosen(wanted, both, {"shop": {}}) == [monitor]
    assert chosen(wanted, [free], {"shop": {}}) == [free]


# --- In place of monitors -------------------------------------------------------------------------


def in_place(resource: Any, known: Scraper) -> tuple[ScrapeConfig, ...]:
    """Have ScrapeConfigs in place of whatever can have them."""
    return stand_ins_of(resource, known)


def text_and_verdict(stand_ins: Any) -> tuple[str, Verdict, Any]:
    """What becomes of a monitor with something that the version ignores."""
    given = {"metadata": {"name": "main", "namespace": "shop"}}
    spec = {"version": "v2.40.0", "serviceMonitorSelector": {}}
    workload = convert(Prometheus, given | {"spec": spec})
    monitor = in_cluster(service_monitor({"port": "http", "trackTimestampsStaleness": True}))
    found = decide(workload, [monitor], {}, NOTHING, Capabilities(), stand_ins=stand_ins)
    (verdict,) = found.verdicts.values()
    return found.text, verdict, found.ignored


def test_jobs_of_scrape_configs_take_the_place_of_the_monitors_own() -> None:
    """Everything that is told about them is told about the monitor, as without them."""
    own, before, ignored = text_and_verdict(None)
    text, after, still_ignored = text_and_verdict(in_place)
    assert "- job_name: serviceMonitor/shop/web/0\n" in own
    assert "- job_name: scrapeConfig/shop/servicemonitor-web-0\n" in text
    assert "serviceMonitor/shop/web/0" not in text
    assert (before, ignored) == (after, still_ignored)
    assert ignored[Ref("ServiceMonitor", "shop", "web")][0].path.endswith(
        "trackTimestampsStaleness"
    )


def test_without_scrape_configs_to_stand_in_a_monitor_has_its_own_jobs() -> None:
    """As long as they are not all there."""
    assert text_and_verdict(lambda *_: ()) == text_and_verdict(None)


@pytest.mark.parametrize("version", ["v1beta1", "v1"])
@pytest.mark.parametrize("name", MONITORS)
def test_a_scrape_config_is_the_same_after_a_way_through_other_versions(
    name: str, version: str
) -> None:
    """A cluster may store another version; what is read must be what was meant."""
    for each in consolidated(MONITORS[name]).configs:
        stored = converted(manifest_of(each), f"monitoring.coreos.com/{version}").object
        assert "annotations" not in stored["metadata"]
        found = typed_again(stored)
        assert isinstance(found, ScrapeConfig)
        assert found.spec == each.spec


def test_who_asks_for_a_scrape_config_in_place_of_a_monitor_is_sent_there() -> None:
    """No workload selects it."""
    (kept,) = consolidated(in_cluster(service_monitor())).configs
    given = {
        "metadata": {"name": "main", "namespace": "shop"},
        "spec": {"scrapeConfigSelector": {}},
    }
    workload = convert(Prometheus, given)
    seen = View(
        workloads=(workload,),
        resources=(kept,),
        namespaces={},
        assets=NOTHING,
        surroundings=Directory(()),
    )
    _, reason = first_reason(seen, workload, kept)
    assert reason is not None
    assert reason.cause == Cause.STANDS_IN
    assert "ServiceMonitor `web`" in reason.text


# --- What cannot be said --------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("endpoint", "path"),
    [
        ({"bearerTokenFile": "/token"}, "spec.endpoints[1].bearerTokenFile"),
        ({"tlsConfig": {"caFile": "/ca"}}, "spec.endpoints[1].tlsConfig.caFile"),
        ({"tlsConfig": {"certFile": "/crt"}}, "spec.endpoints[1].tlsConfig.certFile"),
        ({"tlsConfig": {"keyFile": "/key"}}, "spec.endpoints[1].tlsConfig.keyFile"),
        (
            {"bearerTokenSecret": {"name": "a", "key": "b"}, "basicAuth": {}},
            "spec.endpoints[1].bearerTokenSecret",
        ),
    ],
)
def test_what_no_scrape_config_can_say_is_told_with_its_path(
    endpoint: dict[str, Any], path: str
) -> None:
    """Then the monitor stays as it is, all of it."""
    monitor = service_monitor({"port": "http"}, endpoint)
    assert paths(monitor) == [path]
    assert consolidated(monitor).configs == ()


def test_targets_that_a_scrape_config_cannot_name_are_told() -> None:
    """An empty namespace means all of them to Prometheus; an empty target or path means nothing."""
    assert paths(service_monitor(namespaceSelector={"matchNames": [""]})) == [
        "spec.namespaceSelector.matchNames"
    ]
    assert paths(probe(prober={"url": "a"})) == ["spec.prober.path"]
    assert paths(probe(targets={})) == ["spec.targets"]
    assert paths(probe(targets={"staticConfig": {}})) == ["spec.targets.staticConfig.static"]
    assert paths(probe(targets={"staticConfig": {"static": [""]}})) == [
        "spec.targets.staticConfig.static"
    ]


def test_steps_that_depend_on_the_shard_keep_monitors_as_they_are() -> None:
    """A ScrapeConfig with one is not divided among shards otherwise, but a monitor is."""
    steps = [{"action": "keep", "sourceLabels": ["a"], "regex": "b"}]
    steps.append({"action": "keep", "sourceLabels": ["__tmp_mine"], "regex": "$(SHARD)"})
    monitor = service_monitor({"port": "http"}, {"port": "web", "relabelings": steps})
    assert paths(monitor) == ["spec.endpoints[1].relabelings[1].regex"]
    listed = {"static": ["a"], "relabelingConfigs": steps}
    assert paths(probe(targets={"staticConfig": listed})) == [
        "spec.targets.staticConfig.relabelingConfigs[1].regex"
    ]
    assert paths(probe(targets={"ingress": {"selector": {}, "relabelingConfigs": steps}})) == [
        "spec.targets.ingress.relabelingConfigs[1].regex"
    ]
    assert not paths(service_monitor({"port": "web", "metricRelabelings": steps}))


def test_a_class_that_relabels_targets_keeps_monitors_as_they_are() -> None:
    """Its steps come after the operator's for a monitor and before them for a ScrapeConfig."""
    terms = the_terms(
        scrapeClasses=[{"name": "a", "default": True, "relabelings": [{"targetLabel": "x"}]}]
    )
    assert paths(service_monitor(), terms) == ["spec.scrapeClass"]


@pytest.mark.parametrize(
    ("spec", "path"),
    [
        ({"version": "v2.25.2"}, "spec.version"),
        (
            {"shardingStrategy": {"mode": "Topology", "topology": {"values": ["a"]}}},
            "spec.shardingStrategy",
        ),
        ({"apiserverConfig": {"host": ""}}, "spec.apiserverConfig"),
        (
            {"apiserverConfig": {"host": "a", "bearerToken": "t"}},
            "spec.apiserverConfig.bearerToken",
        ),
        (
            {"apiserverConfig": {"host": "a", "bearerTokenFile": "/t"}},
            "spec.apiserverConfig.bearerTokenFile",
        ),
        (
            {"apiserverConfig": {"host": "a", "basicAuth": {"username": {"key": "a"}}}},
            "spec.apiserverConfig.basicAuth",
        ),
        (
            {"apiserverConfig": {"host": "a", "tlsConfig": {"caFile": "/ca"}}},
            "spec.apiserverConfig.tlsConfig",
        ),
    ],
)
def test_workloads_that_keep_their_monitors_are_told_with_the_path(
    spec: dict[str, Any], path: str
) -> None:
    """None of their monitors is converted."""
    found = terms_of(workload(**spec))
    assert isinstance(found, Inexpressible)
    assert found.path == path


# --- The enforced namespace -----------------------------------------------------------------------


def spared(resource: str) -> dict[str, Any]:
    """Have the label enforced, but not on these in the namespace `shop`."""
    return {
        "enforcedNamespaceLabel": "ns",
        "excludedFromEnforcement": [{"resource": resource, "namespace": "shop"}],
    }


def test_a_spared_monitor_is_not_burdened_by_its_scrape_config() -> None:
    """The label would be enforced on the samples of the ScrapeConfig, so there is none."""
    found = differences(service_monitor(), workload(**spared("servicemonitors")), NOTHING)
    assert not isinstance(found, list)


def test_a_monitor_cannot_escape_enforcement_as_a_spared_scrape_config() -> None:
    """Its ScrapeConfig brings the label itself, on targets and samples."""
    assert differences(service_monitor(), workload(**spared("scrapeconfigs")), NOTHING) == []


def test_targets_of_a_probe_are_divided_among_shards_by_what_is_probed() -> None:
    """All of them have the prober's address, which would give them all to one shard."""
    known = workload(shards=2)
    (made,) = consolidated(probe()).configs
    (job,) = jobs_of(made, known, NOTHING)
    hashed = [each for each in job["relabel_configs"] if each.get("target_label") == "__tmp_hash"]
    assert hashed[0]["source_labels"] == ["__param_target", "__tmp_hash"]
