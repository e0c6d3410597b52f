"""A cluster on which much goes on at once: what the scenarios of `test_scenarios` look at.

The operator makes a Prometheus `main`, which watches over three teams in namespaces of their own,
and two Alertmanagers that hear from it; in the namespace `divided` one in shards, one with a shard
for each zone, and one with a Thanos sidecar. The pod runner runs all of their pods. An exporter
that knows whom it talks to (`guarded`) answers for the pods of the teams, and a Prometheus outside
of the operator's reach takes what is sent to it over mutual TLS.
"""

from __future__ import annotations

import base64
import http.client
import json
import ssl
import sys
from collections.abc import Iterator
from contextlib import AbstractContextManager, ExitStack, contextmanager
from pathlib import Path
from typing import Any
from urllib.parse import quote

import pytest

from tests.builders import alertmanager, pod, prometheus, resource, secret
from tests.live import guarded
from tests.live.operating import Running, World
from tests.live.scraping import NOBODY, allow_discovery
from tests.live.test_webhook import Authority
from tools import build
from tools.cluster import Cluster
from tools.crds import cluster_with_crds
from tools.host import ROOT
from tools.podrunner import PodRunner
from tools.stages import READINESS

Object = dict[str, Any]

HOME, DIVIDED = "monitoring", "divided"
# Two that are held to their own namespace, and one that is trusted.
TEAMS = ("red", "blue", "infra")
ZONES = {"node-0": "west", "node-1": "east", "node-2": "west"}
ZONE = "topology.kubernetes.io/zone"
STORE = 9096
# What the certificate of all servers here is for.
SERVER_NAME = "127.0.0.1"
NOTHING: Object = {"matchLabels": {"nobody": "nothing"}}
TOLD: Object = {"annotations": {READINESS: "told"}}
QUICK: Object = {"scrapeInterval": "1s", "scrapeTimeout": "1s", "evaluationInterval": "1s"}


class Scenery:
    """The cluster, its namespaces, and what is asked of the servers in it."""

    def __init__(self, cluster: Cluster, pods: PodRunner, folder: Path) -> None:
        self.cluster = cluster
        self.pods = pods
        self.folder = folder
        self.home, self.divided = World(cluster, HOME), World(cluster, DIVIDED)
        self.teams = {name: World(cluster, name) for name in TEAMS}

    def pod(self, world: World, kind: str, name: str) -> Object:
        """Wait until the only pod of a workload runs; what it is."""
        [pod] = self.pods_of(world, kind, name)
        return pod

    def pods_of(self, world: World, kind: str, name: str) -> list[Object]:
        """Wait until all pods of a workload run; what they are."""
        return self.pods.until_running(world.namespace, f"{kind}={name}")

    @property
    def main(self) -> str:
        """The address of the Prometheus that watches over the teams."""
        return self.pods.address(self.pod(self.home, "prometheus", "main"))

    def store(self, path: str) -> str:
        """A page of the Prometheus that knows its clients by their certificates."""
        context = ssl.create_default_context(cafile=str(self.folder / "ca.crt"))
        context.verify_flags &= ~ssl.VERIFY_X509_STRICT
        context.load_cert_chain(self.folder / "tls.crt", self.folder / "tls.key")
        connection = http.client.HTTPConnection(NOBODY, STORE)
        plain = self.pods.connected(NOBODY, STORE)
        connection.sock = context.wrap_socket(plain, server_hostname=SERVER_NAME)
        try:
            connection.request("GET", path)
            return connection.getresponse().read().decode()
        finally:
            connection.close()

    def stored(self, expression: str) -> list[dict[str, str]]:
        """The labels of all series that were sent there."""
        answer = json.loads(self.store(f"/api/v1/query?query={quote(expression)}"))
        return [each["metric"] for each in answer["data"]["result"]]


@contextmanager
def open_scenery(folder: Path) -> Iterator[Scenery]:
    """Start all of it; the pods may still be starting."""
    with ExitStack() as stack:
        cluster = stack.enter_context(cluster_with_crds(nodes=3))
        if not cluster.namespaces:
            pytest.skip("this machine does not let us make network namespaces")
        _certify(folder)
        stack.enter_context(_exporter(cluster, folder))
        stack.enter_context(_store(cluster, folder))
        stack.enter_context(Running.start(cluster))
        pods = stack.enter_context(PodRunner(cluster))
        scenery = Scenery(cluster, pods, folder)
        _furnish(scenery)
        yield scenery


def _certify(folder: Path) -> None:
    """Write an authority, and a certificate that serves servers and clients alike."""
    authority = Authority()
    authority.issue(folder)
    (folder / "ca.crt").write_bytes(base64.b64decode(authority.bundle()))


@contextmanager
def _process(cluster: Cluster, argv: list[str], log: Path) -> Iterator[None]:
    with log.open("ab") as output:
        process = cluster.spawn(argv, cwd=ROOT, stdout=output, stderr=output)
    try:
        yield
    except BaseException:
        print(f"{log.name} ends with:\n{log.read_text()[-2000:]}")
        raise
    finally:
        process.terminate()
        process.wait()


def _exporter(cluster: Cluster, folder: Path) -> AbstractContextManager[None]:
    argv = [sys.executable, "-m", "tests.live.guarded", str(folder)]
    return _process(cluster, argv, folder / "exporter.log")


def _store(cluster: Cluster, folder: Path) -> AbstractContextManager[None]:
    """A Prometheus that scrapes nothing, and talks to nobody without a certificate."""
    server = {
        "cert_file": "tls.crt",
        "key_file": "tls.key",
        "client_ca_file": "ca.crt",
        "client_auth_type": "RequireAndVerifyClientCert",
    }
    (folder / "web.yaml").write_text(json.dumps({"tls_server_config": server}))
    (folder / "store.yaml").write_text("{}\n")
    argv = [
        str(build.binaries("prometheus")["prometheus"]),
        f"--config.file={folder / 'store.yaml'}",
        f"--storage.tsdb.path={folder / 'data'}",
        f"--web.config.file={folder / 'web.yaml'}",
        f"--web.listen-address=0.0.0.0:{STORE}",
        "--web.enable-remote-write-receiver",
    ]
    return _process(cluster, argv, folder / "store.log")


# --- What stands in it ----------------------------------------------------------------------------


def _furnish(scenery: Scenery) -> None:
    cluster = scenery.cluster
    for node, zone in ZONES.items():
        body = {"metadata": {"labels": {ZONE: zone}}}
        kind = "application/merge-patch+json"
        cluster.api.request("PATCH", f"/api/v1/nodes/{node}", body, content_type=kind)
    for name in (HOME, DIVIDED, *TEAMS):
        labels = {"watched": "yes"} if name in TEAMS else {}
        made = {"metadata": {"name": name, "labels": labels}}
        cluster.api.request("POST", "/api/v1/namespaces", made)
    for name in (HOME, DIVIDED):
        allow_discovery(cluster, name)
    for world in (scenery.home, scenery.divided, *scenery.teams.values()):
        world.put(*_credentials(scenery.folder))
    _furnish_home(scenery)
    _furnish_divided(scenery.divided)
    for name, team in scenery.teams.items():
        team.put(_app("app", "node-0"), _service(), app_monitor(name), _alerts(name))


def _furnish_home(scenery: Scenery) -> None:
    scenery.home.put(
        alertmanager("main", podMetadata=TOLD), _more_alertmanagers(), _user_service(), _main()
    )
    scenery.teams["infra"].put(alertmanager("more", podMetadata=TOLD))


def _main() -> Object:
    """The Prometheus of the teams."""
    watched = {"matchLabels": {"watched": "yes"}}
    selectors = dict.fromkeys(("serviceMonitor", "podMonitor", "probe", "rule"), watched)
    return prometheus(
        "main",
        **{f"{kind}NamespaceSelector": selector for kind, selector in selectors.items()},
        **QUICK,
        podMetadata=TOLD,
        minReadySeconds=1,
        enforcedNamespaceLabel="namespace",
        excludedFromEnforcement=[
            {"resource": "servicemonitors", "namespace": "infra", "name": "app"},
            {"resource": "prometheusrules", "namespace": "infra", "name": "alerts"},
        ],
        alerting={
            "alertmanagers": [{"namespace": HOME, "name": "alertmanager-operated", "port": "web"}]
        },
        additionalAlertManagerConfigs={"name": "more-alertmanagers", "key": "more.yaml"},
        enableFeatures=["promql-experimental-functions", "promql-duration-expr"],
        queryLogFile="query.log",
        remoteWrite=[remote_write("secrets", _all_secret()), remote_write("maps", _from_maps())],
    )


def remote_write(name: str, tls: Object) -> Object:
    """Send what is scraped to the store, with a label that tells which way it came."""
    return {
        "name": name,
        "url": f"https://{NOBODY}:{STORE}/api/v1/write",
        "tlsConfig": tls,
        "queueConfig": {"batchSendDeadline": "500ms"},
        "writeRelabelConfigs": [{"targetLabel": "way", "replacement": name}],
    }


def _key(name: str) -> Object:
    return {"name": "identity", "key": name}


def _all_secret() -> Object:
    """A client's certificate and whom it trusts, all from a Secret."""
    return {
        "ca": {"secret": _key("ca.crt")},
        "cert": {"secret": _key("tls.crt")},
        "keySecret": _key("tls.key"),
        "serverName": SERVER_NAME,
    }


def _from_maps() -> Object:
    """The same, with what is no secret from a ConfigMap."""
    public = {"ca": {"configMap": _key("ca.crt")}, "cert": {"configMap": _key("tls.crt")}}
    return _all_secret() | public


TLS = {"secret": _all_secret(), "map": _from_maps()}
"""How a client shows its certificate, by what that is from."""


def _credentials(folder: Path) -> list[Object]:
    """What clients of the exporter and the store need; the ConfigMap has what is no secret."""
    files = {name: (folder / name).read_text() for name in ("ca.crt", "tls.crt", "tls.key")}
    access = {"user": guarded.USER, "password": guarded.PASSWORD, "token": guarded.TOKEN}
    identity = {"apiVersion": "v1", "metadata": {"name": "identity"}}
    public = {name: text for name, text in files.items() if name != "tls.key"}
    return [
        identity | {"kind": "Secret", "stringData": files | access},
        identity | {"kind": "ConfigMap", "data": public},
    ]


def _more_alertmanagers() -> Object:
    """Alertmanagers in words of Prometheus' own: whatever pods of theirs the namespace has."""
    found = {
        "role": "pod",
        "namespaces": {"names": ["infra"]},
        "selectors": [{"role": "pod", "label": "app.kubernetes.io/name=alertmanager"}],
    }
    web = {
        "source_labels": ["__meta_kubernetes_pod_container_port_name"],
        "regex": "web",
        "action": "keep",
    }
    text = json.dumps([{"kubernetes_sd_configs": [found], "relabel_configs": [web]}])
    return secret("more-alertmanagers", {"more.yaml": text})


def _user_service() -> Object:
    """A Service by which a user exposes the Prometheus."""
    spec = {"selector": {"prometheus": "main"}, "ports": [{"name": "web", "port": 9090}]}
    return resource("Service", "exposed", spec)


def _app(name: str, node: str, app: str = "app") -> Object:
    """A pod for which the exporter answers."""
    return pod(name, {"app": app}, guarded.OPEN | guarded.MUTUAL, node)


def _service() -> Object:
    """The Service of a team; that its pods have a port `admin`, it does not say."""
    ports = [{"name": "web", "port": 80, "targetPort": "web"}]
    ports.append({"name": "secure", "port": 443, "targetPort": "tls"})
    labels = {"app": "app"}
    return resource("Service", "app", {"selector": labels, "ports": ports}, labels=labels)


def monitor(
    name: str, *endpoints: Object, kind: str = "ServiceMonitor", app: str = "app"
) -> Object:
    """A monitor of the app."""
    member = "endpoints" if kind == "ServiceMonitor" else "podMetricsEndpoints"
    selector = {"matchLabels": {"app": app}}
    return resource(kind, name, {"selector": selector, member: list(endpoints)})


def app_monitor(team: str) -> Object:
    """The monitor of a team; each would have its series be somebody else's."""
    tricks: dict[str, Object] = {
        "red": {"metricRelabelings": [{"action": "labeldrop", "regex": "namespace"}]},
        "blue": {"relabelings": [{"targetLabel": "namespace", "replacement": "elsewhere"}]},
    }
    return monitor("app", {"port": "web", "honorLabels": True} | tricks.get(team, {}))


def rules(name: str, *listed: Object) -> Object:
    """A PrometheusRule of one group."""
    return resource("PrometheusRule", name, {"groups": [{"name": name, "rules": list(listed)}]})


def _alerts(team: str) -> Object:
    """An alert for each namespace of which the rule can see targets."""
    expression = 'count by (namespace) (up{job="app"}) > 0'
    return rules("alerts", {"alert": "Seen", "expr": expression, "labels": {"from": team}})


def _furnish_divided(world: World) -> None:
    for number in range(6):
        world.put(_app(f"spread-{number}", f"node-{number % 3}", "spread"))
    world.put(monitor("spread", {"port": "web"}, kind="PodMonitor", app="spread"), experimental())
    topology = {"mode": "Topology", "topology": {"values": ["west", "east"]}}
    world.put(
        prometheus("split", **QUICK),
        prometheus("zoned", **QUICK, ruleSelector=NOTHING, shards=2, shardingStrategy=topology),
        _aside(),
    )


def experimental() -> Object:
    """A rule in a language that Prometheus speaks only when asked to."""
    expression = 'mad_over_time(up{job="app"}[2 * 30s]) >= 0'
    return rules("experimental", {"alert": "Steady", "expr": expression})


def _aside() -> Object:
    """A Prometheus with TLS, and with a sidecar that uploads its blocks."""
    served = {"cert": {"secret": _key("tls.crt")}, "keySecret": _key("tls.key")}
    spec = {
        "serviceMonitorSelector": {},
        "web": {"tlsConfig": served},
        "thanos": {"objectStorageConfig": _key("token")},
    }
    return resource("Prometheus", "aside", spec)
