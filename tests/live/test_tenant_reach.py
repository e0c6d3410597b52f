"""What a tenant can still do with a Prometheus that is set up against tenants, as the page says.

`docs/security.md` tells owners what remains; each of these sentences is shown here with a real
Prometheus, whose configuration is made from manifests of a tenant. A server of ours is what the
tenant should not reach, and is where the tenant has credentials sent to.
"""

from __future__ import annotations

import json
import subprocess
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any, ClassVar
from urllib.request import urlopen

import pytest
import yaml

from stoker.__main__ import main
from tests.builders import prometheus, resource, secret, service_monitor
from tests.live.operating import Object, World
from tests.live.scraping import target
from tests.promtool import expanded
from tools.build import binaries
from tools.cluster import Cluster
from tools.ports import held_port
from tools.waiting import until

# Nothing answers there.
ELSEWHERE = "192.0.2.1"
TOKEN, SPECIAL = "of-the-owner", "of-the-special-class"


class Reached(BaseHTTPRequestHandler):
    """What asks here, and with which credentials: it may be meant for somebody else."""

    protocol_version = "HTTP/1.1"
    asked: ClassVar[dict[str, str]] = {}

    def do_GET(self) -> None:
        """Answer with metrics, or with targets, or send them away."""
        path = self.path.partition("?")[0]
        self.asked[path] = self.headers.get("Authorization") or ""
        if path == "/away":
            self.send_response(302)
            self.send_header("Location", "/reached-by-a-redirect")
            self.send_header("Content-Length", "0")
            self.end_headers()
        elif path == "/targets":
            self._answer("[]", "application/json")
        else:
            self._answer("reached 1\n", "text/plain; version=0.0.4")

    def do_POST(self) -> None:
        """Give a token to whoever asks for one."""
        self.rfile.read(int(self.headers.get("Content-Length") or 0))
        self.asked[self.path] = self.headers.get("Authorization") or ""
        self._answer('{"access_token": "any", "token_type": "Bearer"}', "application/json")

    def _answer(self, body: str, kind: str) -> None:
        self.send_response(200)
        self.send_header("Content-Type", kind)
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body.encode())

    def log_message(self, *_: object) -> None:
        """Say nothing."""


@pytest.fixture
def here() -> Iterator[str]:
    """Where our server is; what a tenant should not reach."""
    Reached.asked.clear()
    server = ThreadingHTTPServer(("127.0.0.1", 0), Reached)
    thread = threading.Thread(target=server.serve_forever)
    thread.start()
    yield f"127.0.0.1:{server.server_port}"
    server.shutdown()
    thread.join()
    server.server_close()


def owned(tenant: str) -> list[Object]:
    """The Prometheus of an owner who has set what there is to set against tenants."""
    usual, special = (
        {"authorization": {"credentials": {"name": "owner", "key": key}}}
        for key in ("token", "special")
    )
    everywhere: Object = {f"{kind}NamespaceSelector": {} for kind in KINDS}
    made = prometheus(
        "main",
        version="v3.5.0",
        scrapeInterval="1s",
        serviceDiscoveryRole="EndpointSlice",
        enforcedNamespaceLabel="namespace",
        ignoreNamespaceSelectors=True,
        overrideHonorLabels=True,
        arbitraryFSAccessThroughSMs={"deny": True},
        scrapeClasses=[{"name": "usual", "default": True} | usual, {"name": "special"} | special],
        **everywhere,
    )
    namespaces = (
        {"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": each}}
        for each in (OWNER, tenant)
    )
    return [
        *_in(OWNER, made, secret("owner", {"token": TOKEN, "special": SPECIAL})),
        *namespaces,
    ]


KINDS = ("serviceMonitor", "podMonitor", "probe", "scrapeConfig")
OWNER = "owner"


def _in(namespace: str, *objects: Object) -> list[Object]:
    return [each | {"metadata": each["metadata"] | {"namespace": namespace}} for each in objects]


def to(address: str, path: str) -> Object:
    """Send the scrapes of an endpoint there."""
    step = {"targetLabel": "__address__", "replacement": address}
    return {"path": path, "relabelings": [step]}


def tenants(here: str) -> list[Object]:
    """What a tenant writes: each of them reaches what it should not."""
    client = {
        "clientId": {"secret": {"name": "own", "key": "id"}},
        "tokenUrl": f"http://{here}/token",
    }
    oauth = client | {"clientSecret": {"name": "own", "key": "id"}}
    listed = [{"targets": [here]}]
    labels = {"targetLabel": "job", "replacement": "apiserver"}
    special = app(service_monitor("class", **to(here, "/with-a-class")))
    special["spec"]["scrapeClass"] = "special"
    named = to(here, "/another-name")
    steps: list[Object] = [*named["relabelings"], labels]
    return [
        secret("own", {"id": "id"}),
        app(service_monitor("address", **to(here, "/by-a-servicemonitor"))),
        app(service_monitor("proxy", path="/by-a-proxy", proxyUrl=f"http://{here}")),
        app(service_monitor("oauth", oauth2=oauth)),
        special,
        app(service_monitor("away", **to(here, "/away"))),
        app(service_monitor("name", **named | {"relabelings": steps})),
        resource("PodMonitor", "address", {
            "selector": {"matchLabels": {"app": "any"}},
            "podMetricsEndpoints": [{"port": "web", **to(here, "/by-a-podmonitor")}],
        }),
        resource("Probe", "address", {
            "prober": {"url": here, "path": "/by-a-probe"},
            "targets": {"staticConfig": {"static": ["any"]}},
        }),
        resource("ScrapeConfig", "address", {"staticConfigs": listed, "metricsPath": "/by-a-list"}),
        resource("ScrapeConfig", "asks", {"httpSDConfigs": [{"url": f"http://{here}/targets"}]}),
        resource("ScrapeConfig", "looks", {
            "kubernetesSDConfigs": [{"role": "Service", "namespaces": {"names": ["default"]}}],
            "metricsPath": "/by-a-discovery",
            "relabelings": [
                {"targetLabel": "__address__", "replacement": here},
                {"sourceLabels": ["__meta_kubernetes_service_name"], "targetLabel": "service"},
            ],
        }),
    ]  # fmt: skip


def app(monitor: Object) -> Object:
    """A ServiceMonitor of the tenant's Service."""
    selector = {"selector": {"matchLabels": {"app": "any"}}}
    return monitor | {"spec": monitor["spec"] | selector}


def furnish(world: World, nodes: list[Object]) -> None:
    """Make the tenant's Service and pod; what is found there does not matter."""
    ports = [{"name": "web", "port": 80}]
    metadata = {"name": "any", "labels": {"app": "any"}}
    labels = metadata["labels"] | {"kubernetes.io/service-name": "any"}  # type: ignore[operator]
    world.put(
        {"apiVersion": "v1", "kind": "Service", "metadata": metadata, "spec": {"ports": ports}},
        {
            "apiVersion": "discovery.k8s.io/v1",
            "kind": "EndpointSlice",
            "metadata": {"name": "any", "labels": labels},
            "addressType": "IPv4",
            "ports": ports,
            "endpoints": [{"addresses": [ELSEWHERE], "conditions": {"ready": True}}],
        },
        target("any", nodes[0]["metadata"]["name"], {"app": "any"}),
    )


def configured(objects: list[Object], folder: Path, cluster: Cluster) -> Path:
    """The configuration that comes of manifests, with a way to the cluster."""
    given, made = folder / "given.yaml", folder / "made"
    given.write_text(yaml.safe_dump_all(objects))
    assert main(["render", str(given), "-o", str(made), "--quiet"]) == 0
    [found] = [each for each in made.rglob("prometheus.yaml") if "readable" in each.parts]
    config = yaml.safe_load(expanded(found.read_text()))
    for job in config["scrape_configs"]:
        for each in job.get("kubernetes_sd_configs") or ():
            each["kubeconfig_file"] = str(cluster.kubeconfig)
    file = folder / "prometheus.yaml"
    file.write_text(yaml.safe_dump(config))
    return file


@contextmanager
def running(config: Path) -> Iterator[int]:
    """A Prometheus; its port."""
    port = held_port()
    command = [
        str(binaries("prometheus")["prometheus"]),
        f"--config.file={config}",
        f"--storage.tsdb.path={config.parent / 'data'}",
        f"--web.listen-address=127.0.0.1:{port}",
    ]
    with (config.parent / "log").open("w") as log, subprocess.Popen(command, stderr=log) as process:
        try:
            yield port
        finally:
            process.terminate()


def series(port: int, query: str) -> list[dict[str, str]]:
    """The labels of what a Prometheus has."""
    with urlopen(f"http://127.0.0.1:{port}/api/v1/query?query={query}", timeout=10) as answer:
        found: Any = json.load(answer)
    return [each["metric"] for each in found["data"]["result"]]


WAYS = {
    "/by-a-servicemonitor",
    f"http://{ELSEWHERE}:80/by-a-proxy",
    "/token",
    "/away",
    "/reached-by-a-redirect",
    "/another-name",
    "/with-a-class",
    "/by-a-podmonitor",
    "/by-a-probe",
    "/by-a-list",
    "/by-a-discovery",
    "/targets",
}


def test_what_the_page_says_a_tenant_reaches_is_reached(
    cluster: Cluster, namespace: str, here: str, tmp_path: Path
) -> None:
    """Any address, by every kind of monitor; a default scrape class lends its credentials.

    A ScrapeConfig sees the names of what is in other namespaces. The label of the namespace is the
    tenant's all the same, and no other label is sure to be.
    """
    world = World(cluster, namespace)
    furnish(world, cluster.api.get("/api/v1/nodes")["items"])
    objects = [*owned(namespace), *_in(namespace, *tenants(here))]
    with running(configured(objects, tmp_path, cluster)) as port:
        until("all ways", lambda: Reached.asked.keys() >= WAYS)
        until("another job's name", lambda: series(port, "reached{job='apiserver'}"))
        until("what is elsewhere", lambda: series(port, "reached{service='kubernetes'}"))
        found = until("an answer", lambda: series(port, "reached"))
    assert {each["namespace"] for each in found} == {namespace}
    lent = {path for path, credentials in Reached.asked.items() if credentials == f"Bearer {TOKEN}"}
    # An endpoint with credentials of its own, and what asks for targets, have none of the owner's.
    assert WAYS - lent == {"/token", "/targets", "/with-a-class"}
    assert Reached.asked["/with-a-class"] == f"Bearer {SPECIAL}"
