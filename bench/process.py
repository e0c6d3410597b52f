"""An operator that is measured: its process, what it uses, and what it writes."""

import os
import subprocess
import sys
import tempfile
import time
from collections import Counter
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

from tools.cluster import Cluster
from tools.waiting import until

# Of a processor: what an API server uses that nobody asks for anything.
_HARDLY = 0.1
OURS = [sys.executable, "-m", "stoker", "operator"]


def compile_ours() -> None:
    """Leave compiled bytecode behind, which an operator that is installed has."""
    modules = "import stoker.cli.operator_settings, stoker.operator.replica, stoker.web.server"
    subprocess.run([sys.executable, "-c", modules], env=_compiling(), check=True)


def _compiling() -> dict[str, str]:
    return {k: v for k, v in os.environ.items() if k != "PYTHONDONTWRITEBYTECODE"}


@contextmanager
def running_operator(
    command: list[str],
    cluster: Cluster,
    *,
    status: bool,
    killed: bool = False,
    kubeconfig: Path | None = None,
) -> Iterator[int]:
    """An operator on a cluster, for the length of a block: its process id.

    That it ends before the block does is no error if it is to be `killed`. A `kubeconfig` may lead
    it to the cluster by another way.
    """
    gates = [] if status else ["--feature-gates=StatusForConfigurationResources=false"]
    flags = ["--web.listen-address=127.0.0.1:0", "--log-level=warn", *gates]
    environment = _compiling() | {"KUBECONFIG": str(kubeconfig or cluster.kubeconfig)}
    with tempfile.TemporaryFile() as log:
        process = subprocess.Popen([*command, *flags], env=environment, stdout=log, stderr=log)
        try:
            yield process.pid
            if process.poll() is not None and not killed:
                log.seek(0)
                raise RuntimeError(f"the operator ended: {log.read().decode()[-2000:]}")
        finally:
            process.terminate()
            process.wait()


def await_quiet(cluster: Cluster) -> None:
    """Wait until nothing was written for three seconds: bindings follow the configuration."""
    last = [cluster.audit.mark(), time.monotonic()]

    def quiet() -> bool:
        mark = cluster.audit.mark()
        if mark != last[0] and counted_writes(cluster, int(last[0])):
            last[:] = [mark, time.monotonic()]
        return time.monotonic() - last[1] > 3

    until("the operator to be done", quiet, seconds=1200)


def await_idle(cluster: Cluster) -> None:
    """Wait until the API server has done with what it was given: two seconds of hardly any work."""
    pid = api_server(cluster)
    last = [cpu_seconds(pid), time.monotonic()]

    def idle() -> bool:
        used, now = cpu_seconds(pid), time.monotonic()
        if used - last[0] > _HARDLY * 2:
            last[:] = [used, now]
        return now - last[1] > 2

    until("the API server to be idle", idle, seconds=600)


def api_server(cluster: Cluster) -> int:
    """The process of the API server."""
    for found in Path("/proc").glob("[0-9]*/cmdline"):
        with suppress(OSError):
            words = found.read_text().split("\0")
            if words[0].endswith("kube-apiserver") and str(cluster.directory) in " ".join(words):
                return int(found.parent.name)
    raise RuntimeError("there is no API server")


def counted_writes(cluster: Cluster, mark: int) -> Counter[str]:
    """The writes of the operator since a mark, by resource, less its Lease."""
    own = ("stoker", "PrometheusOperator", "prometheus-operator", "operator")
    return Counter(
        f"{one.verb} {one.resource}{'/' + one.subresource if one.subresource else ''}"
        for one in cluster.audit.since(mark)
        if one.agent.startswith(own) and one.resource != "leases"
    )


def cpu_seconds(pid: int) -> float:
    """The processor time that a process has used."""
    fields = Path(f"/proc/{pid}/stat").read_text().rsplit(") ", 1)[1].split()
    return (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")


def memory_of(pid: int) -> dict[str, float]:
    """The memory that a process has, and the most it ever had, in MiB."""
    lines = Path(f"/proc/{pid}/status").read_text().splitlines()
    sizes = {name: value for name, _, value in (line.partition(":") for line in lines)}
    return {
        key: int(sizes[name].split()[0]) / 1024
        for key, name in (("rss", "VmRSS"), ("peak", "VmHWM"))
    }
