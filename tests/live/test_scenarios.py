"""What a user sees of a Prometheus that really runs: targets, alerts, samples, shards.

One cluster with all of it at once (`scenery`); each test looks at a part, through Prometheus' own
API where it can.
"""

from __future__ import annotations

import base64
import json
import ssl
from collections.abc import Iterator
from functools import partial
from typing import Any

import pytest

from tests.builders import resource
from tests.live import guarded
from tests.live.operating import World
from tests.live.scenery import (
    HOME,
    STORE,
    TEAMS,
    TLS,
    ZONES,
    Scenery,
    experimental,
    monitor,
    open_scenery,
    rules,
)
from tests.live.scraping import NOBODY, active_targets, series
from tests.live.test_operator import container, found

Object = dict[str, Any]

# --- What the teams have besides their app, its Service and its monitor ---------------------------

PORTS = monitor("ports", {"targetPort": guarded.OPEN["web"]}, {"targetPort": "admin"})
VIA_SECRET = monitor("tls", {"port": "secure", "scheme": "https", "tlsConfig": TLS["secret"]})
KNOWN: list[Object] = [
    {
        "path": "/basic",
        "basicAuth": {
            "username": {"name": "identity", "key": "user"},
            "password": {"name": "identity", "key": "password"},
        },
    },
    {
        "path": "/bearer",
        "authorization": {"credentials": {"name": "identity", "key": "token"}},
    },
    {"port": "tls", "scheme": "https", "tlsConfig": TLS["secret"]},
    {"port": "tls", "scheme": "https", "tlsConfig": TLS["map"]},
]
UNKNOWN: list[Object] = [
    {"path": "/basic"},
    {"path": "/bearer"},
    {"port": "tls", "scheme": "https", "tlsConfig": {"insecureSkipVerify": True}},
]
SECURE = monitor("secure", *({"port": "web"} | e for e in [*KNOWN, *UNKNOWN]), kind="PodMonitor")
STATIC = resource(
    "Probe",
    "static",
    {
        "prober": {"url": f"{NOBODY}:{guarded.OPEN['web']}"},
        "module": "http_2xx",
        "targets": {"staticConfig": {"static": ["example.org"], "labels": {"site": "main"}}},
    },
)
UTF8 = monitor(
    "utf8",
    {
        "port": "web",
        "path": "/utf8",
        "relabelings": [{"targetLabel": "team.näme", "replacement": "blau"}],
    },
    kind="PodMonitor",
)
BUSY = rules("busy", {"alert": "Busy", "expr": '{"http.requests","status.code"="200"} > 1'})
OBJECTS = {
    "red": (PORTS, SECURE, STATIC),
    "blue": (VIA_SECRET, UTF8, BUSY, experimental()),
}


@pytest.fixture(scope="module")
def scenery(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Scenery]:
    """All of it; what a test changes, no other looks at."""
    with open_scenery(tmp_path_factory.mktemp("scenery")) as made:
        for team, objects in OBJECTS.items():
            made.teams[team].put(*objects)
        yield made


def pools(scenery: Scenery, prefix: str) -> dict[str, Object]:
    """The targets of `main` by their pools, which have names like this and one target each."""
    found = active_targets(scenery.pods, scenery.main)
    return {each["scrapePool"]: each for each in found if each["scrapePool"].startswith(prefix)}


def healths(scenery: Scenery, prefix: str) -> dict[str, str]:
    """How the targets of `main` are, by their pools without the prefix."""
    there = pools(scenery, prefix)
    return {name.removeprefix(prefix): each["health"] for name, each in there.items()}


# --- Targets --------------------------------------------------------------------------------------


def test_targets_are_found_in_the_namespaces_that_are_watched(scenery: Scenery) -> None:
    """Each with the labels of where it was found; what is elsewhere, others look after.

    (peer scenario: Prom Discovery)
    (peer scenario: Prom Op Match Prom And Serv Mon In Diff N Ss)
    """
    wanted = {f"{team}/app/0": "up" for team in TEAMS} | {
        "red/ports/0": "up",
        "red/ports/1": "up",
        "blue/tls/0": "up",
    }
    scenery.home.until("all to be up", lambda: healths(scenery, "serviceMonitor/") == wanted)
    for team in ("red", "infra"):
        labels = pools(scenery, "serviceMonitor/")[f"serviceMonitor/{team}/app/0"]["labels"]
        about = {"namespace": team, "pod": "app", "service": "app", "job": "app"}
        assert labels.items() >= (about | {"container": "main", "endpoint": "web"}).items()
    assert not [pool for pool in pools(scenery, "") if "/divided/" in pool]


def test_a_target_is_found_by_the_port_of_its_container(scenery: Scenery) -> None:
    """By number, and by a name that the Service does not know.

    (peer scenario: Prom Discover Target Port)
    """
    prefix = "serviceMonitor/red/ports/"
    scenery.home.until("both ports", lambda: healths(scenery, prefix) == dict.fromkeys("01", "up"))
    address = (scenery.teams["red"].get("pods", "app") or {})["status"]["podIP"]
    by_number, by_name = pools(scenery, prefix).values()
    assert by_number["scrapeUrl"] == f"http://{address}:{guarded.OPEN['web']}/metrics"
    assert by_name["scrapeUrl"] == f"http://{address}:{guarded.OPEN['admin']}/metrics"


def test_credentials_come_from_secrets_and_config_maps(scenery: Scenery) -> None:
    """Passwords, tokens and certificates let a Prometheus in; without them nobody comes in.

    (peer scenario: Prom Secure Pod Monitor)
    (peer scenario: Prom TLS Config Via Secret)
    """
    known = {str(number): "up" for number in range(len(KNOWN))}
    unknown = {str(len(KNOWN) + number): "down" for number in range(len(UNKNOWN))}
    scenery.home.until(
        "who is known to come in",
        lambda: healths(scenery, "podMonitor/red/secure/") == known | unknown,
    )
    scenery.home.until(
        "TLS of a ServiceMonitor",
        lambda: healths(scenery, "serviceMonitor/blue/tls/") == {"0": "up"},
    )


def test_a_probe_of_a_fixed_address_goes_through_the_prober(scenery: Scenery) -> None:
    """The prober is told target and module; the series are the target's.

    (peer scenario: Prom Static Probe)
    """

    def probed() -> list[dict[str, str]]:
        return series(scenery.pods, scenery.main, "probed")

    [labels] = scenery.home.until("a probe", probed)
    wanted = {"target": "example.org", "module": "http_2xx", "instance": "example.org"}
    assert labels.items() >= (wanted | {"site": "main", "namespace": "red"}).items()


def test_names_may_have_any_characters(scenery: Scenery) -> None:
    """In metrics, in labels, in relabeling and in rules, which are held to their namespace as well.

    (peer scenario: Prometheus UTF8 Label Support)
    (peer scenario: Prometheus UTF8 Metrics Support)
    """
    wanted = {"status.code": "200", "team.näme": "blau", "namespace": "blue"}
    asked = '{"http.requests","team.näme"="blau"}'
    [labels] = scenery.home.until("the metric", lambda: series(scenery.pods, scenery.main, asked))
    assert labels.items() >= (wanted | {"__name__": "http.requests"}).items()
    [alert] = scenery.home.until(
        "the alert", lambda: series(scenery.pods, scenery.main, 'ALERTS{alertname="Busy"}')
    )
    assert alert.items() >= (wanted | {"alertstate": "firing"}).items()


# --- What teams cannot do ------------------------------------------------------------------------


def test_teams_cannot_speak_for_other_namespaces_unless_they_are_trusted(scenery: Scenery) -> None:
    """Neither a monitor nor the target itself can; the one that is excluded can.

    (peer scenario: Prom Enforced Namespace Label)
    (peer scenario: Prom Namespace Enforcement Exclusion)
    """

    def spoofed() -> list[tuple[str, str]]:
        there = series(scenery.pods, scenery.main, 'spoof{job="app",endpoint="web"}')
        return sorted((each["instance"], each["namespace"]) for each in there)

    addresses = {
        name: (team.get("pods", "app") or {})["status"]["podIP"]
        for name, team in scenery.teams.items()
    }
    told = {"red": "red", "blue": "blue", "infra": "elsewhere"}
    wanted = sorted(
        (f"{addresses[team]}:{guarded.OPEN['web']}", said) for team, said in told.items()
    )
    scenery.home.until("the series of all", lambda: spoofed() == wanted)


def alerts_of(scenery: Scenery, world: World, name: str) -> list[Object]:
    """What an Alertmanager has heard."""
    address = scenery.pods.address(scenery.pod(world, "alertmanager", name))
    heard: list[Object] = json.loads(scenery.pods.page(address, 9093, "/api/v2/alerts"))
    return heard


def test_rules_of_all_teams_see_their_own_and_reach_all_alertmanagers(scenery: Scenery) -> None:
    """Alertmanagers are found by their Service, or as the user's own words say.

    The rule of a trusted team sees the targets of the others too.

    (peer scenario: Prom Multiple Prometheus Rules Different NS)
    (peer scenario: Prom Namespace Enforcement Exclusion)
    (peer scenario: Prom Alertmanager Discovery)
    (peer scenario: Prom Additional Alert Manager Config)
    """
    own = {(team, team) for team in TEAMS}
    wanted = own | {("infra", "red"), ("infra", "blue")}
    for world, name in ((scenery.home, "main"), (scenery.teams["infra"], "more")):

        def heard(world: World = world, name: str = name) -> bool:
            there = [each["labels"] for each in alerts_of(scenery, world, name)]
            seen = [each for each in there if each["alertname"] == "Seen"]
            return {(each["from"], each["namespace"]) for each in seen} == wanted

        scenery.home.until(f"alerts at {name}", heard)
    page = scenery.pods.page(scenery.main, 9090, "/api/v1/alertmanagers")
    assert len(json.loads(page)["data"]["activeAlertmanagers"]) == 2


def test_rules_may_use_what_their_prometheus_has_enabled(scenery: Scenery) -> None:
    """The same rule is refused for one that has not, and says so.

    (peer scenario: Prom Rule With Parser Options)
    """
    scenery.home.until(
        "the alert", lambda: series(scenery.pods, scenery.main, 'ALERTS{alertname="Steady"}')
    )

    def told(world: World) -> list[Object]:
        return list(world.bindings("prometheusrule", "experimental").values())

    [taken] = scenery.home.until("it to be taken", lambda: told(scenery.teams["blue"]))
    assert taken["status"] == "True"
    [refused] = scenery.divided.until("it to be refused", lambda: told(scenery.divided))
    assert refused["status"] == "False"
    assert "mad_over_time" in refused["message"]


# --- The server itself ----------------------------------------------------------------------------


def test_samples_arrive_at_a_store_that_wants_certificates(scenery: Scenery) -> None:
    """With all of TLS from a Secret, and from a ConfigMap.

    (peer scenario: Prom Remote Write With TLS)
    """
    scenery.home.until("the store", lambda: "is Ready" in scenery.store("/-/ready"))
    # What the server says may be lost when it hangs up.
    with pytest.raises((ssl.SSLError, ConnectionResetError, BrokenPipeError)):
        scenery.pods.page(NOBODY, STORE, "/-/ready", tls=True)

    def ways() -> set[str]:
        return {each["way"] for each in scenery.stored('count by (way) (up{job="app"})')}

    scenery.home.until("samples of both", lambda: ways() == {"secrets", "maps"})


def test_queries_are_logged_where_the_pod_can_write(scenery: Scenery) -> None:
    """A name without a directory is a file of the pod's own.

    (peer scenario: Prom Query Log File)
    """
    pod = scenery.pod(scenery.home, "prometheus", "main")
    made = found(scenery.home, "statefulset", "prometheus-main")
    [mount] = [
        each
        for each in container(made, "prometheus")["volumeMounts"]
        if each["mountPath"] == "/var/log/prometheus"
    ]
    live = scenery.cluster.directory / "pods/live"
    [folder] = live.glob(f"{pod['metadata']['uid']}*/volumes/{mount['name']}")

    def logged() -> bool:
        series(scenery.pods, scenery.main, "vector(20817)")
        return "vector(20817)" in (folder / "query.log").read_text()

    scenery.home.until("the query in the log", logged)


def test_a_server_is_reached_through_the_api_server(scenery: Scenery) -> None:
    """By the user's Service, by ours, and by the pod.

    (peer scenario: Prom Exposing With Kubernetes API)
    """
    scenery.pod(scenery.home, "prometheus", "main")
    places = ("services/exposed:web", "services/prometheus-operated:web", "pods/prometheus-main-0")
    for place in places:
        path = f"/api/v1/namespaces/{HOME}/{place}/proxy/api/v1/status/buildinfo"
        said = scenery.home.until(place, partial(scenery.cluster.api.get, path))
        assert said["data"]["version"]


def test_a_pod_counts_when_it_was_ready_for_a_while(scenery: Scenery) -> None:
    """The StatefulSet is told for how long; the status follows.

    (peer scenario: Prom Min Ready Seconds)
    """

    def counted() -> bool:
        status = scenery.home.settled("prometheus", "main")["status"]
        return bool(status["availableReplicas"] == 1)

    scenery.home.until("the pod to count", counted)
    made = found(scenery.home, "statefulset", "prometheus-main")
    assert made["spec"]["minReadySeconds"] == 1
    assert made["status"]["availableReplicas"] == 1


# --- Shards ---------------------------------------------------------------------------------------


def shares(scenery: Scenery, name: str) -> dict[str, set[str]]:
    """The targets that are up, of each pod of a workload that runs."""
    return {
        pod["metadata"]["name"]: {
            each["labels"]["pod"]
            for each in active_targets(scenery.pods, scenery.pods.address(pod))
            if each["health"] == "up"
        }
        for pod in scenery.pods_of(scenery.divided, "prometheus", name)
    }


SPREAD = {f"spread-{number}" for number in range(6)}


def test_targets_are_shared_among_shards_and_come_back(scenery: Scenery) -> None:
    """One has all, two have each their share, and one again has all.

    (peer scenario: Prometheus Target Distribution On Resharding)
    """
    world, first, second = scenery.divided, "prometheus-split-0", "prometheus-split-shard-1-0"
    world.until("one with all", lambda: shares(scenery, "split") == {first: SPREAD})
    world.patch("prometheus", "split", {"spec": {"shards": 2}})

    def divided() -> bool:
        found = shares(scenery, "split")
        both = found[first], found[second]
        return all(both) and both[0] | both[1] == SPREAD and not both[0] & both[1]

    world.until("two with a share", divided)
    world.patch("prometheus", "split", {"spec": {"shards": 1}})
    world.until("one with all again", lambda: shares(scenery, "split") == {first: SPREAD})


def test_shards_have_the_targets_of_their_zones(scenery: Scenery) -> None:
    """They run there, and their series say so elsewhere.

    (peer scenario: Prometheus Topology Sharding)
    """
    zones = {"prometheus-zoned-0": "west", "prometheus-zoned-shard-1-0": "east"}
    wanted = {
        pod: {name for name in SPREAD if ZONES[f"node-{int(name[-1]) % 3}"] == zone}
        for pod, zone in zones.items()
    }
    scenery.divided.until("each its own", lambda: shares(scenery, "zoned") == wanted)
    for pod in scenery.pods_of(scenery.divided, "prometheus", "zoned"):
        zone = zones[pod["metadata"]["name"]]
        assert ZONES[pod["spec"]["nodeName"]] == zone
        page = scenery.pods.page(scenery.pods.address(pod), 9090, "/api/v1/status/config")
        assert f"    zone: {zone}\n" in json.loads(page)["data"]["yaml"]


# --- Thanos ---------------------------------------------------------------------------------------


def test_a_server_with_tls_has_a_sidecar_that_reaches_it(scenery: Scenery) -> None:
    """The server speaks TLS only, the reloader reaches it, and the sidecar is told how to.

    There is no Thanos to run here: what its container is told is all that is looked at.

    (peer scenario: Prom Web With Thanos Sidecar)
    """
    world = scenery.divided
    address = scenery.pods.address(scenery.pod(world, "prometheus", "aside"))
    with pytest.raises(ConnectionError, match="HTTPS"):
        scenery.pods.page(address, 9090, "/api/v1/status/config")
    world.patch("prometheus", "aside", {"spec": {"evaluationInterval": "17s"}})
    world.until(
        "the new configuration",
        lambda: "17s" in scenery.pods.page(address, 9090, "/api/v1/status/config", tls=True),
    )
    sidecar = container(found(world, "statefulset", "prometheus-aside"), "thanos-sidecar")
    assert "--prometheus.url=https://localhost:9090/" in sidecar["args"]
    [file] = [each.partition("=")[2] for each in sidecar["args"] if "http-client-file=" in each]
    folder, _, key = file.rpartition("/")
    [volume] = [each["name"] for each in sidecar["volumeMounts"] if each["mountPath"] == folder]
    assert "insecure_skip_verify: true" in mounted(world, volume, key)


def mounted(world: World, volume: str, key: str) -> str:
    """A text of the Secret that is a volume of the server with a sidecar."""
    made = found(world, "statefulset", "prometheus-aside")
    volumes = {each["name"]: each for each in made["spec"]["template"]["spec"]["volumes"]}
    secret = found(world, "secret", volumes[volume]["secret"]["secretName"])
    return base64.b64decode(secret["data"][key]).decode()


def test_blocks_are_merged_when_the_sidecar_has_uploaded_them(scenery: Scenery) -> None:
    """Both are told of one file; for a Thanos that cannot write it, nothing is merged.

    (peer scenario: Thanos Sidecar Delayed Compaction)
    """
    world, name = scenery.divided, "storage.tsdb.delay-compact-file.path"
    address = scenery.pods.address(scenery.pod(world, "prometheus", "aside"))
    page = scenery.pods.page(address, 9090, "/api/v1/status/flags", tls=True)
    flags = json.loads(page)["data"]
    made = found(world, "statefulset", "prometheus-aside")
    sidecar = container(made, "thanos-sidecar")["args"]
    [file] = [each.partition("=")[2] for each in sidecar if "shipper.meta-file-name" in each]
    [data] = [each.partition("=")[2] for each in sidecar if "tsdb.path" in each]
    assert flags[name] == f"{data}/{file}"
    assert flags["storage.tsdb.min-block-duration"] != flags["storage.tsdb.max-block-duration"]

    world.patch("prometheus", "aside", {"spec": {"thanos": {"version": "v0.41.0"}}})

    def arguments() -> list[str]:
        told: list[str] = container(found(world, "statefulset", "prometheus-aside"), "prometheus")[
            "args"
        ]
        return told

    world.until("no such file", lambda: not [each for each in arguments() if name in each])
    fixed = {f"--storage.tsdb.{which}-block-duration=2h" for which in ("min", "max")}
    assert fixed <= set(arguments())
