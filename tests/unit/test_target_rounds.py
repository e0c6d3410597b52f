"""Asking for targets: how much in a round, in which order, and what becomes of who does not answer.

A real Prometheus is asked in `tests/live/test_targets.py`; here is what takes many of them.
"""

import asyncio
import json
from collections.abc import Awaitable, Callable, Iterable
from types import SimpleNamespace
from typing import Any

import pytest
from aiohttp import web

from stoker.api.monitors import ServiceMonitor
from stoker.api.prometheus import Prometheus, PrometheusAgent
from stoker.kube.client import Client
from stoker.operator.scraper_api import NotAnsweredError, ScraperApi, TooMuchError
from stoker.operator.targets import Observed, TargetRounds
from stoker.plan import outline_of
from stoker.ref import Ref
from stoker.settings import Capabilities, ObjectSettings, OperatorSettings, TargetSettings
from tests.builders import endpoints, pod_of, typed
from tests.unit.test_status import NOON

Object = dict[str, Any]
AVAILABLE = [{"type": "Available", "status": "True", "lastTransitionTime": "2026-01-31T12:00:00Z"}]


def server(name: str, **spec: Any) -> Prometheus:
    """A Prometheus that is available."""
    return typed(Prometheus, name, spec, status={"conditions": AVAILABLE})


def agents(name: str) -> PrometheusAgent:
    """A PrometheusAgent on every node that is available."""
    status = {"conditions": AVAILABLE}
    return typed(PrometheusAgent, name, {"mode": "DaemonSet"}, status=status)


def pod(kind: str, owner: str, address: str, ready: str = "True") -> Object:
    """A pod as the API server has it."""
    ip = {"podIP": address}
    return pod_of(kind, owner, f"{owner}-{address}", ready=ready == "True", status=ip)


class Stage:
    """Workloads with their pods and monitors, and who answers when they are asked."""

    def __init__(
        self, *workloads: Any, pods: Iterable[Object], requests: int, monitors: int = 3
    ) -> None:
        self.workloads = {_key(each): each for each in workloads}
        self.pods = list(pods)
        self.asked: list[str] = []
        self.down: set[str] = set()
        self.huge = ""
        self.odd = ""
        self.looked: list[Ref] = []
        self.keys = [Ref("ServiceMonitor", "shop", f"m{n}") for n in range(monitors)]
        self.observed = Observed(wanted=True)
        self.rounds = TargetRounds(
            self._tools(requests), self._published(), self.observed, self.looked.extend
        )

    async def targets(self, url: str, job: str) -> bytes:
        """Answer for all Prometheuses: one healthy target each."""
        address = url.split("/")[2].rpartition(":")[0]
        self.asked.append(f"{address} {job.split('/')[2]}")
        if address == self.odd:
            raise KeyError("odd")
        if address in self.down:
            raise NotAnsweredError("no answer")
        if job.split("/")[2] == self.huge:
            raise TooMuchError("too much")
        target = {"scrapePool": job, "health": "up"}
        return json.dumps({"data": {"activeTargets": [target]}}).encode()

    ask = Client.ask

    async def request(self, _: str, path: str, query: dict[str, str]) -> bytes:
        """List the pods, two in a page, as an API server does."""
        assert path == "/api/v1/namespaces/shop/pods"
        begin = int(query.get("continue", 0))
        end = begin + 2
        more = {"continue": str(end)} if end < len(self.pods) else {}
        return json.dumps({"metadata": more, "items": self.pods[begin:end]}).encode()

    def round(self) -> list[str]:
        """Ask once; who was asked for what."""
        self.asked = []
        api: Any = self
        asyncio.run(self.rounds.one_round(api))
        return self.asked

    def counted(self, workload: str, monitor: int) -> tuple[int, int] | None:
        """The targets that are known."""
        kind = "PrometheusAgent" if workload == "nodes" else "Prometheus"
        key = Ref(kind, "shop", workload)
        found = self.observed.of(key, self.keys[monitor], None)
        return None if found is None else (found.discovered, found.healthy)

    def _tools(self, requests: int) -> Any:
        def store(kind: type) -> Any:
            return SimpleNamespace(
                store=[each for each in self.workloads.values() if type(each) is kind]
            )

        return SimpleNamespace(
            settings=OperatorSettings(
                targets=TargetSettings(interval_seconds=1, requests=requests)
            ),
            capabilities=Capabilities(),
            status_client=self,
            stand_ins=None,
            now=lambda: NOON,
            outline=lambda workload: outline_of(workload, Capabilities(), ObjectSettings()),
            caches=SimpleNamespace(
                workloads={
                    "Prometheus": store(Prometheus),
                    "PrometheusAgent": store(PrometheusAgent),
                },
                workload=self.workloads.get,
                resource=_monitor,
            ),
        )

    def _published(self) -> Any:
        return SimpleNamespace(accepted=lambda _: list(self.keys))


def _key(workload: Any) -> Ref:
    return Ref(type(workload).__name__, "shop", workload.metadata.name)


def _monitor(key: Ref) -> ServiceMonitor:
    return typed(ServiceMonitor, key.name, endpoints({}), key.namespace)


def test_a_round_has_so_many_requests_and_the_next_goes_on_after_them() -> None:
    """All have their turn, each workload in each round; none is asked twice before the others."""
    one, two = pod("StatefulSet", "prometheus-a", "1"), pod("StatefulSet", "prometheus-b", "2")
    stage = Stage(server("a"), server("b"), pods=[one, two], requests=4)
    assert sorted(stage.round()) == ["1 m0", "1 m1", "2 m0", "2 m1"]
    assert stage.counted("a", 2) is None
    assert sorted(stage.round()) == ["1 m0", "1 m2", "2 m0", "2 m2"]
    assert stage.counted("a", 2) == (1, 1)


def test_no_resource_is_asked_about_twice_in_a_round() -> None:
    """Requests that are left over are not used up."""
    stage = Stage(server("a"), pods=[pod("StatefulSet", "prometheus-a", "1")], requests=100)
    assert stage.round() == ["1 m0", "1 m1", "1 m2"]


def test_shards_add_up_by_one_ready_pod_of_each() -> None:
    """Replicas have the same targets, so one is asked; pods of others are not."""
    pods = [
        pod("StatefulSet", "prometheus-a", "1", ready="False"),
        pod("StatefulSet", "prometheus-a", "2"),
        pod("StatefulSet", "prometheus-a-shard-1", "3"),
        pod("StatefulSet", "prometheus-a-shard-1", "4"),
        pod("StatefulSet", "prometheus-b", "5"),
    ]
    stage = Stage(server("a", shards=2), pods=pods, requests=100, monitors=1)
    assert sorted(stage.round()) == ["2 m0", "3 m0"]
    assert stage.counted("a", 0) == (2, 2)


def test_agents_on_many_nodes_are_asked_over_several_rounds() -> None:
    """What was added up so far is kept, and is told when it is whole."""
    pods = [pod("DaemonSet", "prom-agent-nodes", str(number)) for number in range(5)]
    stage = Stage(agents("nodes"), pods=pods, requests=2, monitors=1)
    for expected in (None, None, (5, 5)):
        assert len(stage.round()) == 2
        assert stage.counted("nodes", 0) == expected


def test_who_does_not_answer_is_asked_once_in_a_round_and_lost_after_three() -> None:
    """Nobody waits for it again and again; what was known goes, and comes back with an answer."""
    one, two = pod("StatefulSet", "prometheus-a", "1"), pod("StatefulSet", "prometheus-b", "2")
    stage = Stage(server("a"), server("b"), pods=[one, two], requests=100)
    stage.round()
    stage.down = {"1"}
    for known in ((1, 1), (1, 1), None):
        asked = stage.round()
        assert len([each for each in asked if each.startswith("1 ")]) == 1
        assert len(asked) == 4
        assert stage.counted("a", 1) == known
    assert stage.looked[-6:].count(stage.keys[1]) >= 1
    stage.down = set()
    stage.round()
    assert stage.counted("a", 1) == (1, 1)


def test_a_fault_in_the_questions_to_one_stops_no_other(caplog: pytest.LogCaptureFixture) -> None:
    """It is told with its place, and that one counts as not answering."""
    one, two = pod("StatefulSet", "prometheus-a", "1"), pod("StatefulSet", "prometheus-b", "2")
    stage = Stage(server("a"), server("b"), pods=[one, two], requests=100)
    stage.odd = "1"
    assert sorted(stage.round()) == ["1 m0", "2 m0", "2 m1", "2 m2"]
    assert [each.levelname for each in caplog.records] == ["ERROR"]
    assert stage.counted("b", 2) == (1, 1)


def test_a_job_with_too_many_targets_stops_nobody() -> None:
    """It is not counted, and all others are."""
    stage = Stage(server("a"), pods=[pod("StatefulSet", "prometheus-a", "1")], requests=100)
    stage.huge = "m1"
    assert len(stage.round()) == 3
    assert [stage.counted("a", each) for each in range(3)] == [(1, 1), None, (1, 1)]


@pytest.mark.parametrize(
    "spec",
    [
        {"version": "v2.41.0"},
        {"version": "newest"},
        {"listenLocal": True},
        {"web": {"tlsConfig": {"clientAuthType": "RequireAnyClientCert"}}},
    ],
)
def test_who_cannot_be_asked_is_not(spec: Object) -> None:
    """Who does not know the question, listens in its pod alone, or wants a certificate of ours."""
    pods = [pod("StatefulSet", f"prometheus-{name}", name) for name in ("a", "b")]
    stage = Stage(server("a", **spec), server("b"), pods=pods, requests=100)
    assert {each.split()[0] for each in stage.round()} == {"b"}, "the others are"
    assert set(stage.looked) == set(stage.keys), "what an earlier one found is taken back"
    assert all(stage.looked.count(each) == 2 for each in stage.keys)
    stage.looked.clear()
    stage.round()
    assert all(stage.looked.count(each) == 1 for each in stage.keys)


# --- The requests themselves ----------------------------------------------------------------------


def asked(handler: Callable[[web.Request], Awaitable[web.StreamResponse]]) -> bytes:
    """What a server is understood to say."""

    async def ask() -> bytes:
        application = web.Application()
        application.router.add_get("/api/v1/targets", handler)
        runner = web.AppRunner(application)
        await runner.setup()
        site = web.TCPSite(runner, "127.0.0.1", 0)
        await site.start()
        port = runner.addresses[0][1]
        try:
            async with ScraperApi() as api:
                return await api.targets(f"http://127.0.0.1:{port}/api/v1/targets", "a/b c/0")
        finally:
            await runner.cleanup()

    return asyncio.run(ask())


def test_a_server_is_asked_for_one_job_without_anything_of_ours() -> None:
    """The question, and no credential."""
    seen: list[web.Request] = []

    async def handler(request: web.Request) -> web.Response:
        seen.append(request)
        return web.Response(body=b"{}")

    assert asked(handler) == b"{}"
    assert dict(seen[0].query) == {"state": "active", "scrapePool": "a/b c/0"}
    assert not {"Authorization", "Cookie"} & set(seen[0].headers)


def test_an_answer_without_end_is_cut() -> None:
    """No more than a few MiB are read, whatever the server announces or not."""

    async def handler(request: web.Request) -> web.StreamResponse:
        response = web.StreamResponse()
        await response.prepare(request)
        while True:
            await response.write(b"x" * 65536)

    with pytest.raises(TooMuchError, match="more than 4 MiB"):
        asked(handler)


def test_a_redirection_is_not_followed() -> None:
    """A pod cannot send us to where we should not go."""

    async def handler(_: web.Request) -> web.Response:
        raise web.HTTPFound("http://127.0.0.1:1/")

    with pytest.raises(NotAnsweredError, match="status 302"):
        asked(handler)
