"""The image that `make image` wrote, run: `make image-test`.

Its layers are unpacked as an engine does it. Commands run in a mount namespace of their own, where
this file system is all there is, cannot be written to, and belongs to somebody else.
"""

from __future__ import annotations

import gzip
import hashlib
import io
import json
import os
import re
import subprocess
import sys
import tarfile
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from stoker import __version__
from tests.builders import prometheus, service_monitor
from tests.live.operating import Running, World
from tests.live.test_operator_faults import configuration
from tools import credentials
from tools.api import kubeconfig
from tools.cluster import Cluster
from tools.ports import held_port
from tools.waiting import until

ROOT = Path(__file__).parents[2]
DIST = os.environ.get("STOKER_IMAGE", "")
pytestmark = pytest.mark.skipif(not DIST, reason="an image is made by `make image-test`")

USER = 65534
MEMORY_OF_RELOADER = 20
# What a person could work with, who got in.
TOOLS = ("sh", "bash", "dash", "busybox", "apt", "dpkg", "perl", "pip", "curl", "openssl", "su")
ENTER = """\
mount --bind "$ROOT" "$ROOT"
mount --bind "$WORK" "$ROOT/tmp"
mount --rbind /proc "$ROOT/proc"
mount --rbind /dev "$ROOT/dev"
mount -o remount,ro,bind "$ROOT"
exec setpriv --no-new-privs chroot --userspec={user}:{user} "$ROOT" "$@"
"""


class Image:
    """The image's file system and settings, and how a command of it is run."""

    def __init__(self, archive: Path, root: Path, work: Path) -> None:
        self.root, self.work, self.archive = root, work, archive
        self.size = archive.stat().st_size
        files = _opened(archive.read_bytes())
        [described] = json.loads(files["index.json"])["manifests"]
        manifest = json.loads(_blob(files, described))
        self.config: dict[str, Any] = json.loads(_blob(files, manifest["config"]))
        told = self.config["rootfs"]["diff_ids"]
        for layer, unpacked in zip(manifest["layers"], told, strict=True):
            content = gzip.decompress(_blob(files, layer))
            assert f"sha256:{hashlib.sha256(content).hexdigest()}" == unpacked
            with tarfile.open(fileobj=io.BytesIO(content)) as opened:
                opened.extractall(root, filter="fully_trusted")  # noqa: S202  (our own)
        work.chmod(0o777)

    def program(self, *command: str) -> tuple[str, ...]:
        """A command of the image's as one that can be run here."""
        settings = [f"ROOT={self.root}", f"WORK={self.work}"]
        script = ENTER.format(user=USER)
        return ("env", *settings, "unshare", "--mount", "sh", "-ec", script, "enter", *command)

    @property
    def environment(self) -> dict[str, str]:
        """The variables of a container, but for the path: that of this machine leads inside."""
        told = dict(word.split("=", 1) for word in self.config["config"]["Env"])
        return {name: value for name, value in told.items() if name != "PATH"}

    def said(self, *command: str) -> str:
        """What a command prints."""
        answer = subprocess.run(
            self.program(*command),
            env=os.environ | self.environment,
            capture_output=True,
            text=True,
            check=False,
        )
        assert answer.returncode == 0, answer.stderr
        return answer.stdout

    @property
    def stoker(self) -> str:
        """The entry point."""
        [entry] = self.config["config"]["Entrypoint"]
        return str(entry)


def _opened(content: bytes) -> dict[str, bytes]:
    with tarfile.open(fileobj=io.BytesIO(content)) as archive:
        members = ((each.name, archive.extractfile(each)) for each in archive)
        return {name: member.read() for name, member in members if member}


def _blob(files: dict[str, bytes], described: dict[str, Any]) -> bytes:
    content = files[f"blobs/sha256/{described['digest'].removeprefix('sha256:')}"]
    assert f"sha256:{hashlib.sha256(content).hexdigest()}" == described["digest"]
    return content


@pytest.fixture(scope="module")
def image(tmp_path_factory: pytest.TempPathFactory) -> Image:
    """The image, unpacked."""
    if os.getuid() != 0:
        pytest.skip("only root can enter the image's file system")
    [archive] = Path(DIST).glob(f"stoker-image-{__version__}-*.tar")
    folder = tmp_path_factory.mktemp("image")
    # The user of the image must be able to come in.
    for each in (folder, *folder.parents[:2]):
        each.chmod(0o755)
    (folder / "root").mkdir()
    (folder / "work").mkdir()
    return Image(archive, folder / "root", folder / "work")


@pytest.fixture(scope="module")
def cluster() -> Iterator[Cluster]:
    """A control plane with our definitions."""
    from tools.crds import cluster_with_crds

    with cluster_with_crds(nodes=1) as started:
        yield started


def test_it_is_nobody_and_nothing_else(image: Image) -> None:
    """Not root, no shell, no package manager, nothing that gives rights to who runs it."""
    assert image.config["config"]["User"] == f"{USER}:{USER}"
    names = {path.name for path in image.root.rglob("*") if path.parts[-2] in ("bin", "sbin")}
    assert not names & set(TOOLS)
    assert "python3.13" in names
    odd = [path for path in image.root.rglob("*") if path.lstat().st_mode & 0o6000]
    assert odd == []
    anybody = [
        path
        for path in image.root.rglob("*")
        if not path.is_symlink() and path.stat().st_mode & 0o002
    ]
    assert anybody == [image.root / "tmp"]
    unpacked = sum(path.lstat().st_size for path in image.root.rglob("*"))
    print(f"\nthe image: {image.size / 1e6:.1f} MB packed, {unpacked / 1e6:.1f} MB unpacked")


def test_it_is_the_same_each_time(image: Image, tmp_path: Path) -> None:
    """In another folder, for somebody with another umask, in another time zone."""
    settings = os.environ | {"TZ": "Asia/Tokyo", "PYTHONHASHSEED": "1"}
    command = [sys.executable, "-m", "tools.image", "-o", str(tmp_path)]
    subprocess.run(command, cwd=ROOT, env=settings, umask=0o077, check=True)
    [again] = tmp_path.glob("*.tar")
    assert again.read_bytes() == image.archive.read_bytes()


MODULES = """\
import importlib, os, sys
folder = next(path for path in sys.path if path.endswith("lib-dynload"))
names = {each.split(".")[0] for each in os.listdir(folder)}
for name in sorted(names):
    importlib.import_module(name)
import ssl
assert len(ssl.create_default_context().get_ca_certs()) > 100
import zoneinfo; zoneinfo.ZoneInfo("Europe/Berlin")
try:
    open("/opt/stoker/x", "w")
except OSError as error:
    print(len(names), os.getuid(), error.errno)
"""


def test_no_library_is_missing(image: Image) -> None:
    """Every compiled module of Python's loads; authorities and time zones are there."""
    count, user, error = image.said("/usr/bin/python3.13", "-c", MODULES).split()
    assert int(count) > 20
    assert (int(user), int(error)) == (USER, 30)


def test_every_command_starts(image: Image) -> None:
    """Everything that they import is in the image."""
    assert image.said(image.stoker, "--version") == f"stoker {__version__}\n"
    commands = re.findall(r"^    (\w+) ", image.said(image.stoker, "--help"), re.MULTILINE)
    assert {"operator", "webhook", "lint", "explain"} <= set(commands)
    for command in commands:
        assert image.said(image.stoker, command, "--help")


def test_everything_is_compiled(image: Image) -> None:
    """Nothing can be written when it runs, so what is not compiled is compiled at each start."""
    sources = [
        path
        for path in (image.root / "opt/stoker/lib").rglob("*.py")
        if not (path.parent / "__pycache__" / f"{path.stem}.cpython-313.pyc").exists()
    ]
    assert sources == []


def test_the_operator_works(image: Image, cluster: Cluster) -> None:
    """It reconciles a Prometheus and its monitor, from a file system that it cannot write to."""
    (image.work / "ca.crt").write_bytes(cluster.ca_file.read_bytes())
    text = kubeconfig(cluster.url, cluster.token, Path("/tmp/ca.crt"))  # noqa: S108
    (image.work / "kubeconfig").write_text(text)
    cluster.kubectl("create", "namespace", "image")
    world = World(cluster, "image")
    began = time.monotonic()
    with Running.start(
        cluster,
        kubeconfig=Path("/tmp/kubeconfig"),  # noqa: S108
        program=image.program(image.stoker),
    ) as operator:
        print(f"\nthe operator: ready after {time.monotonic() - began:.1f} s", end="")
        world.put(prometheus("main"), service_monitor("shop"))
        world.settled("prometheus", "main")
        job = f"serviceMonitor/{world.namespace}/shop"
        world.until("the job", lambda: job in configuration(world))
        status = _status(operator.process.pid)
        assert status["Uid"].split() == [str(USER)] * 4
        assert int(status["CapEff"], 16) == 0
        print(f", {int(status['VmRSS'].split()[0]) / 1024:.0f} MiB")
        assert operator.stop() == 0


def test_the_webhook_answers(image: Image) -> None:
    """A broken rule is refused, over TLS."""
    made = credentials.create(image.work / "tls", ["127.0.0.1"])
    for path in (made.server_certificate, made.server_key):
        path.chmod(0o644)
    port = held_port()
    flags = [f"--web.listen-address=127.0.0.1:{port}"]
    flags += [
        f"--web.{name}-file=/tmp/tls/{path.name}"
        for name, path in (("cert", made.server_certificate), ("key", made.server_key))
    ]
    (image.work / "tls").chmod(0o755)
    process = subprocess.Popen(image.program(image.stoker, "webhook", *flags))
    try:
        answer = until("an answer", lambda: _reviewed(port, made.ca_file))
        assert answer["response"]["allowed"] is False
        assert "expr" in json.dumps(answer)
    finally:
        process.terminate()
        assert process.wait(30) == 0


def _reviewed(port: int, authority: Path) -> dict[str, Any]:
    import ssl
    import urllib.request

    rule = {
        "apiVersion": "monitoring.coreos.com/v1",
        "kind": "PrometheusRule",
        "metadata": {"name": "a", "namespace": "b"},
        "spec": {"groups": [{"name": "g", "rules": [{"record": "r", "expr": "1 +"}]}]},
    }
    review = {
        "apiVersion": "admission.k8s.io/v1",
        "kind": "AdmissionReview",
        "request": {
            "uid": "1",
            "operation": "CREATE",
            "resource": {
                "group": "monitoring.coreos.com",
                "version": "v1",
                "resource": "prometheusrules",
            },
            "object": rule,
        },
    }
    request = urllib.request.Request(
        f"https://127.0.0.1:{port}/admission-prometheusrules/validate",
        json.dumps(review).encode(),
        {"Content-Type": "application/json"},
    )
    context = ssl.create_default_context(cafile=str(authority))
    with urllib.request.urlopen(request, timeout=10, context=context) as answer:
        found: dict[str, Any] = json.load(answer)
        return found


def test_the_reloader_is_small(image: Image) -> None:
    """It writes a configuration with its variables filled in, in at most 20 MiB."""
    (image.work / "in.yaml").write_text(
        "global:\n  external_labels:\n    prometheus_replica: $(POD_NAME)\n"
    )
    words = ["--config-file=/tmp/in.yaml", "--config-envsubst-file=/tmp/out.yaml"]
    words += [f"--listen-address=127.0.0.1:{held_port()}", "--reload-url=http://127.0.0.1:9/"]
    reloader = "/bin/prometheus-config-reloader"
    environment = os.environ | image.environment | {"POD_NAME": "main-0"}
    process = subprocess.Popen(image.program(reloader, *words), env=environment)
    try:
        until("what it writes", (image.work / "out.yaml").exists)
        assert "prometheus_replica: main-0" in (image.work / "out.yaml").read_text()
        status = _status(process.pid)
        used = sum(map(int, Path(f"/proc/{process.pid}/stat").read_text().split()[13:15]))
        mib = int(status["VmRSS"].split()[0]) / 1024
        print(f"\nthe reloader: {mib:.1f} MiB, {used / os.sysconf('SC_CLK_TCK'):.2f} s of CPU")
        assert mib <= MEMORY_OF_RELOADER
    finally:
        process.terminate()
        assert process.wait(30) == 0


def _status(pid: int) -> dict[str, str]:
    lines = Path(f"/proc/{pid}/status").read_text().splitlines()
    return {name: value.strip() for name, _, value in (line.partition(":") for line in lines)}
