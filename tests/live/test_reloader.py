"""`stoker reloader` beside a real Prometheus, with volumes that change as kubelet changes them."""

from __future__ import annotations

import gzip
import json
import os
import re
import shutil
import signal
import ssl
import subprocess
import sys
import threading
import urllib.error
import urllib.request
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest
import yaml

from tests.portion_server import NODE, PortionServer
from tests.unit.test_reloader import swap
from tools import credentials
from tools.build import binaries
from tools.ports import held_port
from tools.waiting import DEADLINE, until

LIMIT = 20 * 1024  # KiB of resident memory
FAST = ["--delay-interval=50ms", "--retry-interval=100ms", "--log-level=debug"]
GOOD = "global:\n  external_labels:\n    replica: $(POD_NAME)\n    version: '{}'\n"
BAD = "global:\n  nonsense: 1\n"


def get(url: str) -> str:
    """The text at a URL; the certificate is not looked at."""
    context = ssl.create_default_context()
    context.check_hostname = False
    context.verify_mode = ssl.CERT_NONE
    try:
        with urllib.request.urlopen(url, context=context, timeout=30) as answer:
            return str(answer.read().decode())
    except urllib.error.HTTPError as error:
        error.close()  # it holds the connection
        raise


class Started:
    """Processes of a test, ended with it."""

    def __init__(self, folder: Path) -> None:
        self._folder = folder
        self._processes: list[subprocess.Popen[bytes]] = []

    def start(self, *command: str, **environment: str) -> subprocess.Popen[bytes]:
        """Start a process; what it logs is in a file named after its place."""
        log = self._folder / f"{len(self._processes)}.log"
        with log.open("wb") as file:
            process = subprocess.Popen(
                command, stdout=file, stderr=file, env=os.environ | environment
            )
        self._processes.append(process)
        return process

    def reloader(self, *words: str, **environment: str) -> subprocess.Popen[bytes]:
        """Start `stoker reloader`."""
        stoker = [sys.executable, "-m", "stoker", "reloader"]
        return self.start(*stoker, *FAST, *words, **{"POD_NAME": "main-0", **environment})

    def end(self) -> None:
        """Kill what still runs."""
        for process in self._processes:
            process.kill()
            process.wait()


@pytest.fixture
def started(tmp_path: Path) -> Iterator[Started]:
    """Start processes."""
    processes = Started(tmp_path)
    yield processes
    processes.end()


class Pod:
    """A Prometheus, its volume, and a reloader beside it."""

    def __init__(self, started: Started, folder: Path) -> None:
        self._started = started
        self._folder = folder
        self._versions = 0
        self.volume = folder / "config"
        self.output = folder / "config_out" / "prometheus.env.yaml"
        self.output.parent.mkdir()
        self.port, self.metrics_port = held_port(), held_port()
        self.files = [f"--config-file={self.volume}/prometheus.yaml"]
        self.files += [f"--config-envsubst-file={self.output}"]

    def put(self, text: str) -> None:
        """Change the configuration as kubelet does."""
        self._versions += 1
        swap(self.volume, str(self._versions), **{"prometheus.yaml": text})

    def start_prometheus(self, executable: str = "") -> subprocess.Popen[bytes]:
        """Start Prometheus with the output that is there, and wait until it is ready."""
        process = self._started.start(
            executable or str(binaries("prometheus")["prometheus"]),
            f"--config.file={self.output}",
            f"--storage.tsdb.path={self._folder}/data",
            f"--web.listen-address=127.0.0.1:{self.port}",
            "--web.enable-lifecycle",
        )
        until("Prometheus is ready", lambda: get(f"http://127.0.0.1:{self.port}/-/ready"))
        return process

    def start_reloader(self, *words: str) -> subprocess.Popen[bytes]:
        """Start the reloader with its usual arguments."""
        base = f"http://127.0.0.1:{self.port}"
        return self._started.reloader(
            *self.files,
            f"--reload-url={base}/-/reload",
            f"--runtimeinfo-url={base}/api/v1/status/runtimeinfo",
            f"--listen-address=127.0.0.1:{self.metrics_port}",
            *words,
        )

    def init(self) -> None:
        """Do what the init container does."""
        assert self._started.reloader(*self.files, "--watch-interval=0").wait(DEADLINE) == 0

    def labels(self) -> dict[str, str]:
        """The external labels that Prometheus has loaded."""
        text = json.loads(get(f"http://127.0.0.1:{self.port}/api/v1/status/config"))["data"]["yaml"]
        return dict(yaml.safe_load(text)["global"]["external_labels"])

    def metric(self, name: str) -> float:
        """One of the reloader's numbers."""
        text = get(f"http://127.0.0.1:{self.metrics_port}/metrics")
        return next(float(line.split()[1]) for line in text.splitlines() if line.startswith(name))

    def loaded(self, version: int) -> Callable[[], bool]:
        """Whether Prometheus has this version."""
        return lambda: self.labels() == {"replica": "main-0", "version": str(version)}


@pytest.fixture
def pod(started: Started, tmp_path: Path) -> Pod:
    """A pod whose Prometheus runs with version 1."""
    made = Pod(started, tmp_path)
    made.put(GOOD.format(1))
    made.init()
    made.start_prometheus()
    return made


def memory(process: subprocess.Popen[bytes]) -> int:
    """The most resident memory that a process ever had, in KiB."""
    found = re.search(r"VmHWM:\s+(\d+)", Path(f"/proc/{process.pid}/status").read_text())
    assert found
    return int(found[1])


def test_a_change_of_the_volume_is_loaded(pod: Pod) -> None:
    """The link that kubelet renames is noticed, long before the regular look of three minutes."""
    assert pod.loaded(1)()
    pod.start_reloader()
    until("the first reload", lambda: pod.metric("reloader_last_reload_successful ") == 1)
    for version in (2, 3):
        pod.put(GOOD.format(version))
        until(f"version {version}", pod.loaded(version))
    until("it is counted", lambda: pod.metric("reloader_reloads_total") == 3)
    assert pod.metric("reloader_reloads_failed_total") == 0
    assert pod.metric("reloader_last_reload_success_timestamp_seconds") > 1e9
    assert get(f"http://127.0.0.1:{pod.metrics_port}/healthz") == "ok\n"


def test_a_refused_configuration_is_told_tried_again_and_replaced(pod: Pod) -> None:
    """Prometheus keeps what it has, and so does the file that it would start with."""
    pod.start_reloader()
    until("the first reload", lambda: pod.metric("reloader_last_reload_successful ") == 1)
    good = pod.output.read_text()
    pod.put(BAD)
    until("several tries", lambda: pod.metric("reloader_reloads_failed_total") > 2)
    assert pod.metric("reloader_last_reload_successful ") == 0
    failures = "reloader_config_apply_operations_failed_total"
    until("they are counted", lambda: pod.metric(failures) > 2)
    assert pod.loaded(1)()
    until("the good file is back", lambda: pod.output.read_text() == good)
    pod.put(GOOD.format(2))
    until("version 2", pod.loaded(2))
    until("it is told", lambda: pod.metric("reloader_last_reload_successful ") == 1)


def test_rules_are_watched_too(pod: Pod, tmp_path: Path) -> None:
    """A changed file in a watched directory asks for a reload; the same contents do not."""
    rules = tmp_path / "rules"
    swap(rules, "1", **{"a.yaml": "groups: []\n"})
    pod.start_reloader(f"--watched-dir={rules}")
    until("the first reload", lambda: pod.metric("reloader_reloads_total") == 1)
    looks = pod.metric("reloader_config_apply_operations_total")
    swap(rules, "2", **{"a.yaml": "groups: []\n"})
    until("a look", lambda: pod.metric("reloader_config_apply_operations_total") > looks)
    assert pod.metric("reloader_reloads_total") == 1
    swap(rules, "3", **{"a.yaml": "groups: [] # changed\n"})
    until("the reload", lambda: pod.metric("reloader_reloads_total") == 2)


def test_a_signal_reloads_as_well(started: Started, tmp_path: Path) -> None:
    """Found by the name of its executable; whether it worked is asked of Prometheus itself."""
    name = f"prom-{os.getpid()}"  # other tests have a Prometheus as well
    executable = tmp_path / name
    shutil.copy(binaries("prometheus")["prometheus"], executable)
    pod = Pod(started, tmp_path)
    pod.put(GOOD.format(1))
    pod.init()
    pod.start_prometheus(str(executable))
    pod.start_reloader("--reload-method=signal", f"--process-executable-name={name}")
    pod.put(GOOD.format(2))
    until("version 2", pod.loaded(2))
    until("it is told", lambda: pod.metric("reloader_last_reload_successful ") == 1)
    pod.put(BAD)
    until("the refusal", lambda: pod.metric("reloader_last_reload_successful ") == 0)
    assert pod.loaded(2)()
    until("the good file is back", lambda: "version: '2'" in pod.output.read_text())


def test_an_init_container_writes_and_ends(started: Started, tmp_path: Path) -> None:
    """Several configurations at once; nothing is asked for, for nothing runs yet."""
    words = ["-watch-interval", "0", "--listen-address=127.0.0.1:0"]
    for number in range(2):
        data = gzip.compress(GOOD.format(number).encode())
        (tmp_path / f"{number}.gz").write_bytes(data)
        words += [f"--config-file={tmp_path}/{number}.gz"]
        words += [f"-config-envsubst-file={tmp_path}/{number}.yaml"]
    assert started.reloader(*words).wait(DEADLINE) == 0
    for number in range(2):
        text = (tmp_path / f"{number}.yaml").read_text()
        assert text == GOOD.format(number).replace("$(POD_NAME)", "main-0")


@pytest.mark.parametrize("shard", [None, "a\nb"])
def test_an_init_container_that_cannot_write_fails(
    shard: str | None, started: Started, tmp_path: Path
) -> None:
    """Kubernetes tries it again; there is no output that a Prometheus could start with."""
    (tmp_path / "in").write_text("global:\n  external_labels:\n    shard: $(SHARD)\n")
    files = [f"--config-file={tmp_path}/in", f"--config-envsubst-file={tmp_path}/out"]
    environment = {"SHARD": shard} if shard else {}
    assert started.reloader("--watch-interval=0", *files, **environment).wait(DEADLINE) == 1
    assert not (tmp_path / "out").exists()


def test_a_term_signal_ends_it(pod: Pod) -> None:
    """As when a pod is deleted."""
    process = pod.start_reloader()
    until("it runs", lambda: pod.metric("reloader_reloads_total"))
    process.send_signal(signal.SIGTERM)
    assert process.wait(DEADLINE) == 0


LARGE = "".join(
    f"- job_name: serviceMonitor/shop/cart-{number}/0\n"
    "  kubernetes_sd_configs:\n  - role: endpoints\n  relabel_configs:\n"
    + "  - source_labels:\n    - __meta_a\n    target_label: b\n"
    * 20
    + "  - source_labels:\n    - __tmp_hash\n    - __tmp_disable_sharding\n"
    "    regex: $(SHARD);|.+;.+\n    action: keep\n"
    for number in range(9000)
)


@pytest.mark.parametrize("tls", [False, True], ids=["http", "https"])
def test_it_takes_at_most_20_mib(tls: bool, started: Started, tmp_path: Path) -> None:
    """Whatever the size of the configuration, and with TLS on both sides too."""
    (tmp_path / "in.gz").write_bytes(gzip.compress(f"scrape_configs:\n{LARGE}".encode(), 1))
    port, scheme = held_port(), "https" if tls else "http"
    words = [f"--config-file={tmp_path}/in.gz", f"--config-envsubst-file={tmp_path}/out"]
    words += [f"--listen-address=127.0.0.1:{port}", f"--reload-url={scheme}://127.0.0.1:{port}/"]
    if tls:
        words.append(f"--web-config-file={web_config(tmp_path)}")
    # An image has its modules compiled; so has this process, the second time.
    compiled = {"PYTHONPYCACHEPREFIX": str(tmp_path), "PYTHONDONTWRITEBYTECODE": ""}
    assert started.reloader(*words, "--watch-interval=0", SHARD="0", **compiled).wait(DEADLINE) == 0
    process = started.reloader(*words, SHARD="0", **compiled)
    page = f"{scheme}://127.0.0.1:{port}/metrics"
    # It asks itself for a reload, and refuses: both sides of a connection are in one process.
    until("several tries", lambda: re.search(r"reloads_failed_total ([3-9]|\d\d)", get(page)))
    clients = [threading.Thread(target=get, args=(page,)) for _ in range(10)]
    for client in clients:
        client.start()
    for client in clients:
        client.join()
    assert (tmp_path / "out").stat().st_size > 10 << 20
    assert memory(process) <= LIMIT


def test_it_takes_at_most_20_mib_with_a_portion(started: Started, tmp_path: Path) -> None:
    """A thousand files, and one that is larger than all the memory it may have."""
    files = {f"targets/pod-monitor-{number}.json": b"[]" for number in range(500)}
    files |= {f"jobs/pod-monitor-{number}.yaml": b"scrape_configs: []\n" for number in range(500)}
    files["targets/large.json"] = b"[" + b" " * (50 << 20) + b"]"
    (tmp_path / "token").write_text("a.b.c")
    port = held_port()
    words = [f"--listen-address=127.0.0.1:{port}", f"--portion-dir={tmp_path}/portion"]
    words += [f"--portion-token={tmp_path}/token", f"--reload-url=http://127.0.0.1:{port}/"]
    words += [f"--watched-dir={tmp_path}"]
    compiled = {"PYTHONPYCACHEPREFIX": str(tmp_path), "PYTHONDONTWRITEBYTECODE": ""}
    with PortionServer(tmp_path / "server") as server:
        server.give(files)
        words += [f"--portion-url={server.url}", f"--portion-ca={server.ca}"]
        once = started.reloader(*words, "--watch-interval=0", NODE_NAME=NODE, **compiled)
        assert once.wait(DEADLINE) == 0
        process = started.reloader(*words, NODE_NAME=NODE, **compiled)
        page = f"http://127.0.0.1:{port}/metrics"
        until("a stream", lambda: "portion_connected 1" in get(page))
        server.give({path: text + b"\n" for path, text in files.items()})
        made = tmp_path / "portion" / "targets" / "large.json"
        until("the change", lambda: made.stat().st_size > (50 << 20) + 2)
        until("several tries", lambda: re.search(r"reloads_failed_total ([3-9]|\d\d)", get(page)))
        assert memory(process) <= LIMIT


def web_config(folder: Path) -> Path:
    """A web configuration with a certificate, its files named as relative to it."""
    credentials.create(folder / "tls", ["127.0.0.1"])
    file = folder / "web.yaml"
    names = "  cert_file: tls/server.crt\n  key_file: tls/server.key\n"
    file.write_text(f"tls_server_config:\n{names}")
    return file


def test_users_and_headers_of_the_web_configuration_hold(started: Started, tmp_path: Path) -> None:
    """No password, no numbers; a changed file counts at once, and a broken one does not."""
    file, port = web_config(tmp_path), held_port()
    hashed = "$2b$04$abcdefghijklmnopqrstuu2r9OfJnfCsdneAXAGHnS4UpFFP8WIrW"  # of `secret`
    headers = "http_server_config:\n  headers:\n    X-Frame-Options: deny\n"
    tls = file.read_text()
    file.write_text(f"{tls}{headers}basic_auth_users:\n  alice: {hashed}\n")
    started.reloader(f"--listen-address=127.0.0.1:{port}", f"--web-config-file={file}")
    page = f"https://127.0.0.1:{port}/metrics"

    def refusal() -> tuple[int, str]:
        try:
            get(page)
        except urllib.error.HTTPError as error:
            return error.code, error.headers["X-Frame-Options"]
        return 0, ""

    assert until("it answers", refusal) == (401, "deny")
    file.write_text("tls_server_config: nonsense\n")
    assert refusal() == (401, "deny")
    file.write_text(tls)
    assert "reloader_reloads_total" in get(page)
