"""A real Prometheus, the targets of tricks, and all series that come of them."""

from __future__ import annotations

import io
import json
import re
import subprocess
import threading
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any, Final
from urllib.parse import unquote, urlencode
from urllib.request import urlopen

from msgspec import Struct

from stoker.consolidate import stand_ins_of
from stoker.generate.block import text_of
from stoker.offline.manifests import read
from stoker.offline.world import world_of
from stoker.settings import Capabilities
from stoker.yamltree import parse
from tests.builders import resource
from tests.live.tricks import CLASSES, LABEL, TENANT, VICTIM, Trick
from tests.planning import decide
from tests.promtool import expanded
from tools.build import binaries
from tools.cluster import Cluster
from tools.ports import held_port
from tools.waiting import until

Json = dict[str, Any]
Series = dict[str, str]

_ADDRESS: Final = re.compile(r"127\.[12]\.\d+\.\d+")
_GROUP: Final = "monitoring.coreos.com"

# --- Targets --------------------------------------------------------------------------------------

_METRICS: Final = """\
# TYPE spans histogram
spans_bucket{{{0},le="1"}} 1
spans_bucket{{{0},le="+Inf"}} 2
spans_sum{{{0}}} 3
spans_count{{{0}}} 2
# TYPE plain gauge
plain{{trick="{2}"}} 1
# TYPE claims gauge
claims{{{0}}} 1
# TYPE exported gauge
exported{{trick="{2}",exported_namespace="{1}"}} 1
# TYPE up gauge
up{{{0}}} 1
# TYPE scrape_duration_seconds gauge
scrape_duration_seconds{{{0}}} 1
# TYPE target_info gauge
target_info{{{0}}} 1
# TYPE ALERTS gauge
ALERTS{{{0},alertname="a",alertstate="firing"}} 1
# TYPE hidden gauge
hidden{{{0},__tmp="{1}",__meta_kubernetes_namespace="{1}"}} 1
"""
_OPENMETRICS: Final = """\
# TYPE claims gauge
claims{{{0}}} 1
# TYPE requests counter
requests_total{{{0}}} 5 # {{namespace="{1}",trace_id="1"}} 1
requests_created{{{0}}} 1700000000
# EOF
"""
_UTF8: Final = """\
claims{{{0}}} 1
{{"claims.more",{0},"name.space"="{1}"}} 1
{{"up.more","trick"="{2}","namespace"="{1}"}} 1
"""
_OPENMETRICS_TYPE: Final = "application/openmetrics-text; version=1.0.0; charset=utf-8"
_TEXT_TYPE: Final = "text/plain; version=0.0.4; charset=utf-8"
_PAGES: Final = {
    "openmetrics": (_OPENMETRICS, _OPENMETRICS_TYPE),
    "utf8": (_UTF8, "text/plain; version=1.0.0; escaping=allow-utf-8; charset=utf-8"),
}


class _Target(BaseHTTPRequestHandler):
    """All targets at once: each is an address of this machine."""

    def do_GET(self) -> None:
        """Answer with hostile samples, or with the targets that a discovery asks for."""
        address = self.connection.getsockname()[0]
        path, _, query = self.path.partition("?")
        if path == "/sd":
            target = f"{address}:{self.connection.getsockname()[1]}"
            listed = [{"targets": [target], "labels": json.loads(unquote(query))}]
            return self._answer(json.dumps(listed), "application/json")
        page, kind = _PAGES.get(path.strip("/"), (_METRICS, _TEXT_TYPE))
        own = f'trick="{address}",namespace="{VICTIM}"'
        return self._answer(page.format(own, VICTIM, address), kind)

    def _answer(self, text: str, kind: str) -> None:
        body = text.encode()
        self.send_response(200)
        self.send_header("Content-Type", kind)
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)

    def log_message(self, *_: object) -> None:
        """Say nothing."""


class _Targets(ThreadingHTTPServer):
    request_queue_size = 256
    daemon_threads = True

    def handle_error(self, *_: object) -> None:
        """Say nothing of who hangs up: Prometheus does, at its end and for a body too large."""


@contextmanager
def targets() -> Iterator[int]:
    """What answers at every address of this machine, at the port that is given."""
    with _Targets(("0.0.0.0", 0), _Target) as server:  # noqa: S104 - that is the idea
        thread = threading.Thread(target=server.serve_forever)
        thread.start()
        try:
            yield int(server.server_address[1])
        finally:
            server.shutdown()
            thread.join()


# --- Configurations -------------------------------------------------------------------------------


class Laid(Struct, frozen=True):
    """A trick at its address; the second time round its ScrapeConfigs stand in for it."""

    trick: Trick
    number: int
    port: int
    stands_in: bool
    tenant: str = TENANT

    @property
    def host(self) -> str:
        """The address alone."""
        high, low = divmod(self.number, 200)
        return f"127.{2 if self.stands_in else 1}.{high}.{low + 1}"

    @property
    def address(self) -> str:
        """The address with its port."""
        return f"{self.host}:{self.port}"

    def manifest(self, folder: Path) -> Json:
        """The monitor."""
        text = json.dumps(self.trick.spec).replace("FOLDER", str(folder))
        version = "v1alpha1" if self.trick.kind == "ScrapeConfig" else "v1"
        spec = json.loads(text.replace("HERE", self.address))
        name = f"trick-{self.number}"
        return resource(self.trick.kind, name, spec, version=version, namespace=self.tenant)


def prometheus(**spec: Any) -> Json:
    """A Prometheus that selects everything of everybody."""
    kinds = ("serviceMonitor", "podMonitor", "probe", "scrapeConfig")
    every: Json = {f"{kind}{what}": {} for kind in kinds for what in ("Selector", _NAMESPACES)}
    spec = {"version": "v3.15.0", "scrapeClasses": CLASSES, **every, **spec}
    return resource("Prometheus", "main", spec, namespace="monitoring")


_NAMESPACES: Final = "NamespaceSelector"


def decided_jobs(laid: Sequence[Laid], folder: Path, **spec: Any) -> list[Json]:
    """The jobs that stoker writes for tricks of one tenant."""
    space = {"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": laid[0].tenant}}
    objects = [prometheus(**spec), space, *(each.manifest(folder) for each in laid)]
    stream = io.StringIO("\n---\n".join(map(json.dumps, objects)))
    world = world_of(read(["-"], stream))
    assert not world.refused, world.refused[:3]
    made = decide(
        world.workloads[0], world.resources, world.namespaces, world.assets, Capabilities(),
        stand_ins=stand_ins_of if laid[0].stands_in else None,
    )  # fmt: skip
    rejected = [each for each in made.verdicts.values() if not each.accepted]
    assert not rejected, (made.problem, rejected[:3])
    assert len(made.verdicts) == len(laid)
    jobs: list[Json] = parse(expanded(made.text))["scrape_configs"]
    return jobs


def jobs_of(laid: Sequence[Laid], folder: Path, **spec: Any) -> list[Json]:
    """The same, where what Kubernetes would find is found already."""
    by_number = {str(each.number): each for each in laid}
    return [_found(job, by_number) for job in decided_jobs(laid, folder, **spec)]


def _found(job: Json, laid: dict[str, Laid]) -> Json:
    number = re.search(r"trick-(\d+)", job["job_name"])
    assert number, job["job_name"]
    each = laid[number[1]]
    if job.pop("kubernetes_sd_configs", None):
        labels = dict(each.trick.found or {})
        job["static_configs"] = [{"targets": [each.address], "labels": labels}]
    return job


def jobs_in(cluster: Cluster, laid: Sequence[Laid], folder: Path, **spec: Any) -> list[Json]:
    """The same, for a Prometheus that looks into a cluster from outside."""
    jobs = decided_jobs(laid, folder, **spec)
    for each in (each for job in jobs for each in job["kubernetes_sd_configs"]):
        each["kubeconfig_file"] = str(cluster.kubeconfig)
    return jobs


def lists_for(laid: Sequence[Laid], folder: Path) -> None:
    """Write what discoveries by file read."""
    for each in laid:
        if "fileSDConfigs" in each.trick.spec:
            listed = [{"targets": [each.address], "labels": {LABEL: VICTIM}}]
            (folder / f"targets-{each.address}.json").write_text(json.dumps(listed))


# --- Prometheus -----------------------------------------------------------------------------------


class Server(Struct, frozen=True):
    """A Prometheus that runs."""

    port: int

    def ask(self, path: str, **query: Any) -> Any:
        """What its API answers."""
        url = f"http://127.0.0.1:{self.port}/api/v1/{path}?{urlencode(query, doseq=True)}"
        with urlopen(url, timeout=60) as answer:
            return json.load(answer)["data"]

    def series(self, selector: str = '{__name__=~".+"}') -> list[Series]:
        """The labels of everything that it has, or of what is selected."""
        found: list[Series] = self.ask("series", **{"match[]": selector})
        return found


@contextmanager
def running(config: Json, folder: Path, *flags: str) -> Iterator[Server]:
    """A Prometheus with a configuration."""
    folder.mkdir(exist_ok=True)
    (folder / "prometheus.yml").write_text(text_of(config))
    port = held_port()
    command = [
        str(binaries("prometheus")["prometheus"]),
        f"--config.file={folder / 'prometheus.yml'}",
        f"--web.listen-address=127.0.0.1:{port}",
        *(
            []
            if any("tsdb.path" in each for each in flags)
            else [f"--storage.tsdb.path={folder}/d"]
        ),
        *flags,
    ]
    with (folder / "log").open("w") as output:
        process = subprocess.Popen(command, stderr=output)

    def is_ready() -> bool:
        assert process.poll() is None, (folder / "log").read_text()[-2000:]
        with urlopen(f"http://127.0.0.1:{port}/-/ready", timeout=10) as answer:
            return bool(answer.status == 200)

    try:
        until("Prometheus to be ready", is_ready)
        yield Server(port)
    finally:
        process.terminate()
        process.wait()


def scraped(server: Server, count: int) -> list[Series]:
    """All series, once so many targets were scraped: each makes one that no exporter makes."""
    own = "scrape_samples_scraped"
    until(f"{count} targets to be scraped", lambda: len(server.series(own)) >= count)
    return server.series()


def host_of(series: Series) -> str:
    """The address of the trick that a series comes from, if anything of it tells."""
    texts = (series.get(name, "") for name in ("trick", "instance"))
    found = next((found for found in map(_ADDRESS.search, texts) if found), None)
    return found[0] if found else ""
