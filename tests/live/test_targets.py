"""Targets in the status of resources, counted by asking Prometheus and agents that really run."""

from __future__ import annotations

import base64
import os
import signal
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest

from tests.builders import prometheus, resource
from tests.live.operating import World
from tests.live.scraping import allow_discovery, exporter, node_agent, target
from tests.live.test_webhook import Authority
from tools.host import ROOT
from tools.podrunner import PodRunner

Object = dict[str, Any]
MAIN, NODES = "prometheuses/main", "prometheusagents/nodes"
GUARDED = "prometheuses/guarded"
# A few rounds of the operator, which asks each second.
ROUNDS = 4.0
NOBODY_LISTENS = 8099


@contextmanager
def operating(world: World, log: Path, *flags: str) -> Iterator[None]:
    """An operator where pods have addresses: inside the cluster's network."""
    own = (f"--namespaces={world.namespace}", "--web.listen-address=127.0.0.1:0")
    command = [sys.executable, "-m", "stoker", "operator", *own, *flags]
    with log.open("wb") as output:
        process = world.cluster.spawn(command, cwd=ROOT, stdout=output, stderr=output)
    try:
        yield
    except BaseException:
        print(log.read_text()[-4000:])
        raise
    finally:
        process.terminate()
        assert process.wait() in (0, -signal.SIGTERM)


def monitor(name: str, port: str) -> Object:
    """A PodMonitor of the pods with `app: target`."""
    endpoint = {"port": port, "interval": "1s"}
    selector = {"matchLabels": {"app": "target"}}
    return resource("PodMonitor", name, {"selector": selector, "podMetricsEndpoints": [endpoint]})


def pods_with_a_closed_port() -> list[Object]:
    """Two pods on two nodes, which answer at one of their ports."""
    made = [target(f"t-{number}", f"node-{number}", {"app": "target"}) for number in range(2)]
    for each in made:
        closed = {"name": "closed", "containerPort": NOBODY_LISTENS}
        each["spec"]["containers"][0]["ports"].append(closed)
    return made


def bindings(world: World, name: str) -> dict[str, Object]:
    """The bindings of a PodMonitor by `resource/name` of their workloads."""
    found = (world.get("podmonitors", name) or {}).get("status", {}).get("bindings", [])
    return {f"{each['resource']}/{each['name']}": each for each in found}


def counted(world: World, name: str, workload: str) -> tuple[int, int, list[str]]:
    """How many targets a binding counts, how many of them as healthy, and its errors."""
    found = bindings(world, name)[workload]["targets"]
    errors = [f"{each['count']} {each['message']}" for each in found.get("errors", ())]
    return found["discovered"], found["healthy"], errors


def test_bindings_count_targets_until_nobody_asks_for_it(world: World, tmp_path: Path) -> None:
    """Counts and errors of a server and of agents on nodes, written when they change.

    `stoker explain` tells them; without the flag they go.
    """
    if not world.cluster.namespaces:
        pytest.skip("this machine does not let us make network namespaces")
    allow_discovery(world.cluster, world.namespace)
    world.put(monitor("good", "web"), monitor("bad", "closed"), *pods_with_a_closed_port())
    world.put(prometheus("main"), node_agent("nodes"))
    refused = ["2 dial tcp …: connect: connection refused"]
    with exporter(world.cluster), PodRunner(world.cluster, world.namespace):
        with operating(world, tmp_path / "first.log", "--target-status-interval=1s"):
            for workload in (MAIN, NODES):

                def all_counted(workload: str = workload) -> bool:
                    good, bad = (counted(world, name, workload) for name in ("good", "bad"))
                    return good == (2, 2, []) and bad == (2, 0, refused)

                world.until(f"the targets of {workload}", all_counted)
            mark = world.cluster.audit.mark()
            before = bindings(world, "good")
            time.sleep(ROUNDS)
            assert bindings(world, "good") == before
            written = world.cluster.audit.since(mark, "stoker")
            assert not [each for each in written if each.resource == "podmonitors"]
            assert "2 of 2 targets healthy since 2" in explained(world, "good")
            assert refused[0].replace("2 ", "2 with: ", 1) in explained(world, "bad")
        with operating(world, tmp_path / "second.log"):
            world.until("no targets", lambda: not told(world, "good") and not told(world, "bad"))


def test_servers_with_tls_are_asked_and_those_that_want_a_certificate_are_not(
    world: World, tmp_path: Path
) -> None:
    """A certificate for another address is no hindrance; one of our own would be needed elsewhere.

    There the binding has no numbers and the log says why, once; all else is as without it.
    """
    if not world.cluster.namespaces:
        pytest.skip("this machine does not let us make network namespaces")
    allow_discovery(world.cluster, world.namespace)
    pair = certificates(tmp_path)
    world.put(pair, monitor("good", "web"), target("t-0", "node-0", {"app": "target"}))
    knows = {"clientAuthType": "RequireAndVerifyClientCert", "client_ca": {"secret": key("ca.crt")}}
    world.put(prometheus("main", web=tls()), prometheus("guarded", web=tls(**knows)))
    log = tmp_path / "operator.log"
    with (
        exporter(world.cluster),
        PodRunner(world.cluster, world.namespace) as pods,
        operating(world, log, "--target-status-interval=1s"),
    ):
        world.until("its target", lambda: counted(world, "good", MAIN) == (1, 1, []))
        world.settled("prometheuses", "guarded")
        world.until("the server", lambda: "TLS is enabled" in server_log(world, pods, "guarded"))
        world.until("the reason", lambda: not_known(log, "guarded"))
        world.until("both bindings", lambda: GUARDED in bindings(world, "good"))
        time.sleep(ROUNDS)
        assert told(world, "good") == [MAIN]
        assert world.bindings("podmonitors", "good")[GUARDED]["status"] == "True"
        [reason] = not_known(log, "guarded")
        assert "spec.web.tlsConfig.clientAuthType" in reason
        refused = server_log(world, pods, "guarded").split("TLS handshake error from ")[1:]
        assert [each for each in refused if not each.startswith("127.0.0.1:")] == []
        with pytest.raises(ConnectionError, match="HTTPS"):
            pods.page(pods.address(pod_of(world, "main")), 9090, "/api/v1/targets")


def pod_of(world: World, name: str) -> Object:
    """The only pod of a Prometheus."""
    return world.get("pods", f"prometheus-{name}-0") or {}


def server_log(world: World, pods: PodRunner, name: str) -> str:
    """What a Prometheus has logged."""
    return pods.logs(pod_of(world, name), "prometheus")


def certificates(folder: Path) -> Object:
    """A Secret with an authority, and with a certificate of it that no pod's address is in."""
    authority = Authority()
    authority.issue(folder)
    files = {name: (folder / name).read_bytes() for name in ("tls.crt", "tls.key")}
    data = {name: base64.b64encode(content).decode() for name, content in files.items()}
    data["ca.crt"] = authority.bundle()
    return {"apiVersion": "v1", "kind": "Secret", "metadata": {"name": "pair"}, "data": data}


def key(name: str) -> Object:
    """A key of that Secret."""
    return {"name": "pair", "key": name}


def tls(**more: Any) -> Object:
    """A web server that speaks nothing but TLS."""
    served = {"cert": {"secret": key("tls.crt")}, "keySecret": key("tls.key")}
    return {"tlsConfig": served | more}


def not_known(log: Path, name: str) -> list[str]:
    """Why an operator does not know the targets of a workload, each time that it said so."""
    lines = (line for line in log.read_text().splitlines() if f" name={name} " in line)
    return [line for line in lines if "targets are not known" in line]


def told(world: World, name: str) -> list[str]:
    """The workloads of which a resource counts targets."""
    found = bindings(world, name)
    return [workload for workload, each in found.items() if "targets" in each]


def explained(world: World, name: str) -> str:
    """What `stoker explain` says of a PodMonitor."""
    command = [sys.executable, "-m", "stoker", "explain", "podmonitor", f"{world.namespace}/{name}"]
    environment = os.environ | {"KUBECONFIG": str(world.cluster.kubeconfig)}
    done = subprocess.run(command, env=environment, capture_output=True, text=True, check=False)
    return done.stdout + done.stderr
