"""Alerts about the operator: promtool says when each fires, and real trouble makes real ones.

What promtool is given are series of a moment that has lasted for a day; the trouble is made with
running operators, which a real Prometheus scrapes with the installed rules, only quicker.
"""

from __future__ import annotations

import json
import os
import re
import signal
import subprocess
import time
from collections.abc import Callable, Mapping
from concurrent.futures import ThreadPoolExecutor
from contextlib import ExitStack
from functools import partial
from http import HTTPStatus
from pathlib import Path
from threading import Event
from typing import Any, NamedTuple, Self
from urllib.error import HTTPError
from urllib.request import Request, urlopen

import pytest
import yaml
from aiohttp import web

from tests.builders import prometheus, resource, service_monitor
from tests.live import listening
from tests.live.faults import Fault, Gateway, Wire, failing, status
from tests.live.operating import PROGRAM, Running, World
from tests.unit.test_webhook import RULES, admission
from tests.unit.test_webhook import rule as alerting_rule
from tools.build import binaries
from tools.ports import held_port
from tools.waiting import DEADLINE, until

Object = dict[str, Any]

ROOT = Path(__file__).parents[2]
SPEC = yaml.safe_load((ROOT / "deploy/base/prometheusrule.yaml").read_text())["spec"]
ALERTS = {rule["alert"] for group in SPEC["groups"] for rule in group["rules"] if "alert" in rule}

JSON = "application/json"
MERGED = "application/merge-patch+json"
ALONE = "--leader-election=false"
P = "prometheus_operator_"
POD = 'namespace="stoker", job="stoker-operator", pod="a", instance="a"'
OTHER = POD.replace('"a"', '"b"')
Q = f'{POD}, controller="prometheus"'


def steady(series: str, value: float) -> dict[str, str]:
    """A series that has one value for two days."""
    return {series: f"{value}x2880"}


def rising(series: str, step: float) -> dict[str, str]:
    """A counter that grows by so much a minute for two days."""
    return {series: f"0+{step}x2880"}


def part(failed: str, of: str, labels: str, share: float) -> dict[str, str]:
    """Two counters, one of which is a part of the other."""
    return rising(f"{P}{failed}{{{labels}}}", 100 * share) | rising(f"{P}{of}{{{labels}}}", 100)


def requests(share: float) -> dict[str, str]:
    """Requests to the API server, some of them without an answer."""
    name = f"{P}kubernetes_client_http_requests_total"
    return rising(f'{name}{{{POD}, status_code="0"}}', 100 * share) | rising(
        f'{name}{{{POD}, status_code="200"}}', 100 * (1 - share)
    )


def waiting(slow: float) -> dict[str, str]:
    """A queue in which a part of the keys waits for up to a minute."""
    name = f'{P}workqueue_latency_seconds_bucket{{{Q}, name="prometheus", le='
    return {
        **rising(f'{name}"1"}}', 100 * (1 - slow)),
        **rising(f'{name}"60"}}', 100),
        **rising(f'{name}"+Inf"}}', 100),
    }


def held_back(waiting: float) -> dict[str, str]:
    """So many requests at a time wait for their turn."""
    name = f"{P}kubernetes_client_rate_limiter_duration_seconds_sum"
    return rising(f'{name}{{{POD}, endpoint="x"}}', 60 * waiting)


def memory(later: float, entries: float) -> dict[str, str]:
    """What the process held a day ago and holds now, and what it knew and knows."""
    return {
        f"{P}allocated_blocks{{{POD}}}": f"1000x1440 {later}x1440",
        f'{P}cache_entries{{{POD}, cache="pods"}}': f"100x1440 {entries}x1440",
    }


def ready(first: int, second: int) -> dict[str, str]:
    """Two replicas that are at work or not."""
    return steady(f"{P}ready{{{Q}}}", first) | steady(
        f'{P}ready{{{OTHER}, controller="prometheus"}}', second
    )


def condition(kind: str, status: str) -> dict[str, str]:
    """A workload with a condition; labels of the workload win over those of the scrape."""
    who = 'job="stoker-operator", pod="a", namespace="shop", name="main", controller="prometheus"'
    told = f'condition="{kind}", status="{status}"'
    return steady(f"{P}prometheus_status_condition{{{who}, {told}}}", 1)


WEB = 'namespace="stoker", job="stoker-webhook", path="/x"'


def reviews(share: float) -> dict[str, str]:
    """Requests to the webhook, some of which fail."""
    name = f"{P}admission_webhook_requests_total"
    return rising(f'{name}{{{WEB}, code="500"}}', 100 * share) | rising(
        f'{name}{{{WEB}, code="200"}}', 100 * (1 - share)
    )


class Case(NamedTuple):
    """Series with which an alert fires, and such with which it stays quiet."""

    fires: Mapping[str, str]
    quiet: Mapping[str, str]


# They compare with the day before.
SLOW = ("StokerMemoryGrowth",)
HERE = steady(f"{P}build_info{{{POD}}}", 1)
CASES = {
    "StokerAbsent": Case({}, HERE),
    "PrometheusOperatorNotReady": Case(ready(0, 0), ready(0, 1)),
    "StokerSeveralLead": Case(ready(1, 1), ready(1, 0)),
    "StokerBlind": Case(
        steady(f"{P}watch_silence_seconds{{{Q}}}", 90),
        steady(f"{P}watch_silence_seconds{{{Q}}}", 27),
    ),
    "PrometheusOperatorListErrors": Case(
        part("list_operations_failed_total", "list_operations_total", Q, 0.5),
        part("list_operations_failed_total", "list_operations_total", Q, 0.1),
    ),
    "PrometheusOperatorWatchErrors": Case(
        part("watch_operations_failed_total", "watch_operations_total", Q, 0.5),
        part("watch_operations_failed_total", "watch_operations_total", Q, 0.1),
    ),
    "StokerApiErrors": Case(requests(0.2), requests(0.05)),
    "PrometheusOperatorReconcileErrors": Case(
        part("reconcile_errors_total", "reconcile_operations_total", Q, 0.2),
        part("reconcile_errors_total", "reconcile_operations_total", Q, 0.05),
    ),
    "PrometheusOperatorSyncFailed": Case(
        steady(f'{P}syncs{{{Q}, status="failed"}}', 2),
        steady(f'{P}syncs{{{Q}, status="failed"}}', 0) | steady(f'{P}syncs{{{Q}, status="ok"}}', 5),
    ),
    "PrometheusOperatorStatusUpdateErrors": Case(
        part("status_update_errors_total", "status_update_operations_total", Q, 0.2),
        part("status_update_errors_total", "status_update_operations_total", Q, 0.05),
    ),
    "PrometheusOperatorNodeLookupErrors": Case(
        rising(f"{P}node_address_lookup_errors_total{{{POD}}}", 12),
        rising(f"{P}node_address_lookup_errors_total{{{POD}}}", 3),
    ),
    "StokerQueueStuck": Case(
        steady(f'{P}workqueue_longest_running_processor_seconds{{{Q}, name="x"}}', 400),
        steady(f'{P}workqueue_longest_running_processor_seconds{{{Q}, name="x"}}', 30),
    ),
    "StokerQueueSlow": Case(waiting(0.5), waiting(0)),
    "StokerHeldBack": Case(held_back(2), held_back(0.5)),
    "StokerBusy": Case(
        rising(f"{P}reconcile_operations_total{{{Q}}}", 600),
        rising(f"{P}reconcile_operations_total{{{Q}}}", 60),
    ),
    "StokerSetsReplaced": Case(
        rising(f"{P}reconcile_sts_delete_create_total{{{Q}}}", 0.2),
        rising(f"{P}reconcile_sts_delete_create_total{{{Q}}}", 0.01),
    ),
    "StokerTaskFaults": Case(
        rising(f'{P}task_faults_total{{{POD}, task="lease"}}', 0.2),
        steady(f'{P}task_faults_total{{{POD}, task="lease"}}', 3),
    ),
    "StokerMemoryGrowth": Case(memory(2000, 100), memory(2000, 200)),
    "PrometheusOperatorRejectedResources": Case(
        steady(f'{P}managed_resources{{{Q}, resource="Probe", state="rejected"}}', 1),
        steady(f'{P}managed_resources{{{Q}, resource="Probe", state="rejected"}}', 0)
        | steady(f'{P}managed_resources{{{Q}, resource="Probe", state="selected"}}', 9),
    ),
    "StokerWorkloadNotReconciled": Case(
        condition("Reconciled", "False"), condition("Reconciled", "True")
    ),
    "StokerWorkloadNotAvailable": Case(
        condition("Available", "Degraded"), condition("Available", "True")
    ),
    "StokerWebhookErrors": Case(reviews(0.1), reviews(0.01)),
    "StokerWebhookOverloaded": Case(
        rising(f'{P}admission_webhook_turned_away_total{{{WEB}, cause="deadline"}}', 12),
        steady(f'{P}admission_webhook_turned_away_total{{{WEB}, cause="deadline"}}', 12),
    ),
}


def test_every_alert_has_a_case() -> None:
    """A new alert is not forgotten here."""
    assert set(CASES) == ALERTS


def trial(name: str, series: Mapping[str, str], *, expected: bool) -> Object:
    """What promtool is to see: that an alert fires, or does not, with these series."""
    # Whatever the labels are: only whether there is one is asked for.
    asked = f'count(ALERTS{{alertname="{name}", alertstate="firing"}}) > bool 0 or vector(0)'
    return {
        "name": f"{name} with {'trouble' if expected else 'what is usual'}",
        "interval": "1m",
        "input_series": [{"series": key, "values": text} for key, text in series.items()],
        "promql_expr_test": [
            {
                "expr": asked,
                "eval_time": "46h" if name in SLOW else "90m",
                "exp_samples": [{"labels": "{}", "value": int(expected)}],
            }
        ],
    }


def test_each_alert_fires_when_it_should(tmp_path: Path) -> None:
    """With the trouble it is for, and not with what is usual."""
    (tmp_path / "rules.yaml").write_text(json.dumps(SPEC))
    trials = [
        trial(name, series, expected=expected)
        for name, case in CASES.items()
        for series, expected in ((case.fires, True), (case.quiet, False))
    ]
    file = tmp_path / "test.yaml"
    file.write_text(
        json.dumps({"rule_files": ["rules.yaml"], "evaluation_interval": "1m", "tests": trials})
    )
    command = [str(binaries("promtool")["promtool"]), "test", "rules", str(file)]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stdout + done.stderr


class Watcher:
    """A Prometheus that scrapes operators each second, and has the installed rules, made quick."""

    def __init__(self, folder: Path) -> None:
        self._targets = folder / "targets.json"
        self.scrape()
        config = {
            "global": {"scrape_interval": "1s", "evaluation_interval": "1s"},
            "rule_files": [str(folder / "rules.yaml")],
            "scrape_configs": [
                {
                    "job_name": "stoker-operator",
                    "honor_labels": True,
                    "file_sd_configs": [{"files": [str(self._targets)], "refresh_interval": "1s"}],
                }
            ],
        }
        (folder / "prometheus.yml").write_text(json.dumps(config))
        (folder / "rules.yaml").write_text(quickened(json.dumps(SPEC)))
        self._port = held_port()
        self._log = folder / "prometheus.log"
        command = [
            str(binaries("prometheus")["prometheus"]),
            f"--config.file={folder / 'prometheus.yml'}",
            f"--storage.tsdb.path={folder / 'data'}",
            f"--web.listen-address=127.0.0.1:{self._port}",
        ]
        with self._log.open("w") as output:
            self._process = subprocess.Popen(command, stderr=output)

    def scrape(self, **operators: Running) -> None:
        """Scrape these operators and no others."""
        self.scrape_ports(**{name: operator.port for name, operator in operators.items()})

    def scrape_ports(self, **ports: int) -> None:
        """Scrape what serves here."""
        groups = [
            {
                "targets": [f"127.0.0.1:{port}"],
                "labels": {"namespace": "stoker", "pod": name},
            }
            for name, port in ports.items()
        ]
        scratch = self._targets.with_suffix(".new")
        scratch.write_text(json.dumps(groups))
        scratch.rename(self._targets)

    def firing(self) -> set[str]:
        """The alerts that fire now."""
        assert self._process.poll() is None, self._log.read_text()[-2000:]
        found = self._answer("alerts").get("alerts", ())
        return {each["labels"]["alertname"] for each in found if each["state"] == "firing"}

    def _answer(self, what: str) -> dict[str, Any]:
        """What Prometheus says; nothing while it does not answer."""
        try:
            with urlopen(f"http://127.0.0.1:{self._port}/api/v1/{what}", timeout=10) as answer:
                return dict(json.load(answer)["data"])
        except OSError:
            return {}

    def until_scraped(self, *names: str) -> None:
        """Wait until these were scraped: what they counted before is no increase to Prometheus."""

        def scraped() -> bool:
            found = self._answer("query?query=up%3D%3D1").get("result", ())
            return set(names) <= {each["metric"].get("pod") for each in found}

        until(f"{', '.join(names)} to be scraped", scraped)

    def until_firing(self, *names: str) -> None:
        """Wait until all of these fire at once."""
        until(f"{', '.join(names)} to fire", lambda: set(names) <= self.firing())

    def until_quiet(self, *names: str) -> None:
        """Wait until none of these fires."""
        until(f"{', '.join(names)} to end", lambda: not set(names) & self.firing())

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self._process.terminate()
        self._process.wait(DEADLINE)


# Spans of time in the installed rules, and what stands for them here.
QUICKER = {
    "allocated_blocks[1h]": "allocated_blocks[5s]",
    "offset 1d": "offset 20s",
    "[1h]": "[5m]",
    "processor_seconds) > 300": "processor_seconds) > 5",
    'consolidation\\"} > 30': 'consolidation\\"} > 0.5',
}


def quickened(rules: str) -> str:
    """Rules that look at seconds instead of minutes, and wait for nothing."""
    rules = re.sub(r'"for": "\w+"', '"for": "0s"', rules)
    rules = re.sub(r"\[(\d+)m\]", r"[\1s]", rules)
    for installed, here in QUICKER.items():
        assert installed in rules, installed
        rules = rules.replace(installed, here)
    return rules


def _at_least(counted: Callable[[], float], number: int) -> bool:
    return counted() >= number


def limited(world: World, *verbs: str) -> Path:
    """A kubeconfig by which somebody may do this and nothing else, with everything there is."""
    user = f"limited-{world.namespace}"
    document = json.loads(world.cluster.kubeconfig.read_text())
    document["users"][0]["user"] |= {"as": user, "as-groups": ["system:authenticated"]}
    path = world.cluster.directory / f"kubeconfig-{user}"
    path.write_text(json.dumps(document))
    rules = [{"apiGroups": ["*"], "resources": ["*"], "verbs": list(verbs)}]
    subject = {"kind": "User", "name": user, "apiGroup": "rbac.authorization.k8s.io"}
    role = {"kind": "ClusterRole", "name": user, "apiGroup": "rbac.authorization.k8s.io"}
    of = "/apis/rbac.authorization.k8s.io/v1"
    request = world.cluster.api.request
    request("POST", f"{of}/clusterroles", {"metadata": {"name": user}, "rules": rules})
    binding = {"metadata": {"name": user}, "roleRef": role, "subjects": [subject]}
    request("POST", f"{of}/clusterrolebindings", binding)
    return path


def test_trouble_with_resources_and_workloads_is_told(world: World, tmp_path: Path) -> None:
    """One alert for each: and each ends with its cause."""
    world.put(prometheus("main"), service_monitor("cart"))
    flags = (f"--namespaces={world.namespace}", ALONE)
    with Watcher(tmp_path) as watcher, Running.start(world.cluster, *flags) as operator:
        watcher.scrape(a=operator)
        world.settled("prometheus", "main")
        watcher.until_scraped("a")
        watcher.until_quiet(*ALERTS)
        world.put(service_monitor("cart", scrapeTimeout="2m", interval="1m"))
        world.put(prometheus("nowhere", nodeSelector={"there": "is-none"}))
        world.put(prometheus("broken", version="none"))
        watcher.until_firing(
            "PrometheusOperatorRejectedResources",
            "PrometheusOperatorReconcileErrors",
            "PrometheusOperatorSyncFailed",
            "StokerWorkloadNotReconciled",
            "StokerWorkloadNotAvailable",
        )
        world.put(service_monitor("cart"))
        for name in ("nowhere", "broken"):
            world.delete("prometheus", name)
        watcher.until_quiet(*ALERTS)
        replaced = partial(operator.metric, "prometheus_operator_reconcile_sts_delete_create_total")
        for count, policy in enumerate(("OrderedReady", "Parallel") * 2, start=1):
            world.patch("prometheus", "main", {"spec": {"podManagementPolicy": policy}})
            until(f"{count} replacements", partial(_at_least, replaced, count))
        watcher.until_firing("StokerSetsReplaced")
        world.put(*(rules(name, 2) for name in LARGE))
        until("the rules", lambda: operator.metric(KNOWN, cache=RULES_KIND) == len(LARGE))
        watcher.until_quiet("StokerMemoryGrowth")
        # As many as before, but of another size: too large to be used, and kept all the same.
        world.put(*(rules(name, 30_000) for name in LARGE))
        watcher.until_firing("StokerMemoryGrowth")


RULES_KIND = "prometheusrules.monitoring.coreos.com"
KNOWN = "prometheus_operator_cache_entries"
LARGE = ("first", "second", "third")


def rules(name: str, count: int) -> Object:
    """A PrometheusRule with so many rules."""
    every = [{"record": f"r{number}", "expr": f"{number}"} for number in range(count)]
    return resource("PrometheusRule", name, {"groups": [{"name": "g", "rules": every}]})


def test_trouble_with_replicas_is_told(world: World, tmp_path: Path) -> None:
    """None at all, several that lead, and none that leads."""
    world.put(prometheus("main"))
    flags = f"--namespaces={world.namespace}"
    with Watcher(tmp_path) as watcher, ExitStack() as stack:
        watcher.until_firing("StokerAbsent")
        leader = stack.enter_context(Running.start(world.cluster, flags))
        standby = stack.enter_context(Running.start(world.cluster, flags))
        watcher.scrape(a=leader, b=standby)
        watcher.until_quiet(*ALERTS)
        third = stack.enter_context(Running.start(world.cluster, flags, ALONE))
        watcher.scrape(a=leader, b=standby, c=third)
        watcher.until_firing("StokerSeveralLead")
        leader.kill()
        third.kill()
        watcher.scrape(b=standby)
        watcher.until_firing("PrometheusOperatorNotReady")
        watcher.until_quiet("PrometheusOperatorNotReady", "StokerSeveralLead")


@pytest.mark.parametrize("verbs", [("get",), ("get", "list")], ids="-".join)
def test_missing_rights_are_told(world: World, tmp_path: Path, verbs: tuple[str, ...]) -> None:
    """Lists are streamed, so a role that lacks `watch` alone shows as lists that fail."""
    config = limited(world, *verbs)
    flags = f"--namespaces={world.namespace}"
    with (
        Watcher(tmp_path) as watcher,
        Running.start(world.cluster, flags, kubeconfig=config, ready=False) as operator,
    ):
        watcher.scrape(a=operator)
        watcher.until_firing("PrometheusOperatorListErrors", "PrometheusOperatorNotReady")


def test_missing_rights_to_write_are_told(world: World, tmp_path: Path) -> None:
    """Who may see everything and write nothing reconciles nothing, and reports nothing.

    The certificate for agents on nodes cannot be kept either: that is a task beside the queues.
    """
    world.put(prometheus("main"), service_monitor("cart"))
    config = limited(world, "get", "list", "watch")
    flags = (f"--namespaces={world.namespace}", ALONE, *listening.FLAGS)
    with (
        Watcher(tmp_path) as watcher,
        Running.start(world.cluster, *flags, kubeconfig=config, ready=False) as operator,
    ):
        watcher.scrape(a=operator)
        watcher.until_firing("PrometheusOperatorReconcileErrors", "PrometheusOperatorSyncFailed")
        watcher.until_firing("PrometheusOperatorStatusUpdateErrors")
        watcher.until_firing("StokerTaskFaults")


def test_nodes_without_an_address_are_told(world: World, tmp_path: Path) -> None:
    """As with a cloud whose controller has not looked at them yet."""
    node = f"{world.namespace}-lost"
    world.cluster.add_node(node, {"lost": world.namespace})
    flags = (
        f"--kubelet-service={world.namespace}/kubelet",
        f"--kubelet-selector=lost={world.namespace}",
        "--kubelet-sync-period=1s",
    )
    own = (f"--namespaces={world.namespace}", ALONE)
    try:
        with Watcher(tmp_path) as watcher, Running.start(world.cluster, *own, *flags) as operator:
            watcher.scrape(a=operator)
            world.until("the kubelets", lambda: world.get("endpoints", "kubelet"))
            watcher.until_scraped("a")
            watcher.until_quiet(*ALERTS)
            reported = {"status": {"addresses": None}}
            path = f"/api/v1/nodes/{node}/status"
            world.cluster.api.request("PATCH", path, reported, content_type=MERGED)
            watcher.until_firing("PrometheusOperatorNodeLookupErrors")
    finally:
        world.cluster.remove_node(node)


def test_trouble_with_the_api_server_is_told(world: World, tmp_path: Path) -> None:
    """Requests that it fails, watches among them; a watch that says nothing; slow and vain writes.

    One worker has all workloads, so that the others wait for one that is slow.
    """
    world.put(prometheus("main"), service_monitor("cart"))
    flags = (f"--namespaces={world.namespace}", ALONE, "--workers=1")
    with (
        Watcher(tmp_path) as watcher,
        Gateway(world.cluster) as gateway,
        Wire(world.cluster, gateway.url) as wire,
        Running.start(world.cluster, *flags, kubeconfig=wire.kubeconfig) as operator,
    ):
        watcher.scrape(a=operator)
        world.settled("prometheus", "main")
        watcher.until_quiet(*ALERTS)
        gateway.fault = failing(1.0)
        wire.cut()
        watcher.until_firing("StokerApiErrors")
        watcher.until_firing("PrometheusOperatorWatchErrors")
        gateway.fault = lambda _request: None
        watcher.until_quiet(*ALERTS)
        gateway.held = frozenset({"servicemonitors"})
        watcher.until_firing("StokerBlind")
        gateway.held = frozenset()
        watcher.until_quiet("StokerBlind")
        gateway.fault = slow_to_take("secrets", seconds=7.0)
        world.put(prometheus("second"), prometheus("third"))
        watcher.until_firing("StokerQueueStuck")
        watcher.until_firing("StokerQueueSlow")
        gateway.fault = changed_since("servicemonitors")
        world.put(*(service_monitor(f"cart-{number}") for number in range(100)))
        watcher.until_quiet("StokerQueueStuck", "StokerQueueSlow")
        watcher.until_firing("StokerHeldBack")
        gateway.fault = lambda _request: None
        watcher.until_quiet("StokerHeldBack")


def slow_to_take(plural: str, seconds: float) -> Fault:
    """Hold writes of this kind back for so long."""

    def fault(request: web.Request) -> float | None:
        return seconds if request.method != "GET" and f"/{plural}" in request.path else None

    return fault


def changed_since(plural: str) -> Fault:
    """Refuse each status of this kind, as where somebody else changes it all the time."""

    def fault(request: web.Request) -> web.Response | None:
        ours = request.method == "PATCH" and f"/{plural}/" in request.path
        return status(409, "Conflict") if ours and request.path.endswith("/status") else None

    return fault


def test_changes_without_end_are_told(world: World, tmp_path: Path) -> None:
    """Somebody who changes a workload again and again keeps the operator busy."""
    world.put(prometheus("main"))
    flags = (f"--namespaces={world.namespace}", ALONE)
    with Watcher(tmp_path) as watcher, Running.start(world.cluster, *flags) as operator:
        watcher.scrape(a=operator)
        world.settled("prometheus", "main")
        watcher.until_quiet(*ALERTS)

        def busy() -> bool:
            for number in range(10):
                world.put(prometheus("main", retention=f"{time.monotonic_ns() % 10**6}{number}h"))
            return "StokerBusy" in watcher.firing()

        until("StokerBusy to fire", busy)
        watcher.until_quiet("StokerBusy")


def test_a_webhook_that_does_not_answer_is_told(tmp_path: Path) -> None:
    """What it takes too long for it fails, and says so."""
    review = json.dumps(admission(alerting_rule(annotations={"a": "x" * 40_000}))).encode()
    port = held_port()
    flags = [f"--web.listen-address=127.0.0.1:{port}", "--web.enable-tls=false"]
    log = tmp_path / "webhook.log"
    with log.open("w") as output:
        webhook = subprocess.Popen([*PROGRAM, "webhook", *flags], stdout=output, stderr=output)

    def answered() -> int:
        asked = Request(f"http://127.0.0.1:{port}{RULES}", review, {"Content-Type": JSON})
        try:
            with urlopen(asked, timeout=60) as answer:
                return int(answer.status)
        except HTTPError as error:
            return error.code

    try:
        with Watcher(tmp_path) as watcher:
            until("the webhook to answer", lambda: answered() == HTTPStatus.OK)
            watcher.scrape_ports(a=port)
            codes, done = set[int](), Event()

            def ask_on() -> None:
                while not done.is_set():
                    codes.add(answered())

            def stuck() -> bool:
                # One that is given up has a successor.
                for worker in children(webhook.pid):
                    os.kill(worker, signal.SIGSTOP)
                return {"StokerWebhookErrors", "StokerWebhookOverloaded"} <= watcher.firing()

            with ThreadPoolExecutor(8) as several:
                asked = [several.submit(ask_on) for _ in range(8)]
                try:
                    until("both alerts to fire", stuck)
                finally:
                    done.set()
                    for worker in children(webhook.pid):
                        os.kill(worker, signal.SIGCONT)
            assert [each.result() for each in asked] == [None] * 8
            assert HTTPStatus.SERVICE_UNAVAILABLE in codes
            until("the webhook to answer", lambda: answered() == HTTPStatus.OK)
            watcher.until_quiet("StokerWebhookErrors", "StokerWebhookOverloaded")
    finally:
        webhook.kill()
        webhook.wait()


def children(pid: int) -> list[int]:
    """The processes that a process has started."""
    text = Path(f"/proc/{pid}/task/{pid}/children").read_text()
    return [int(each) for each in text.split()]
