"""What the webhook answers, and how it treats what it should not get."""

import asyncio
import base64
import io
import json
import logging
import sys
import threading
from collections.abc import AsyncIterator, Iterator
from contextlib import asynccontextmanager
from typing import Any

import aiohttp
import pytest

from stoker.api.crd import GROUP
from stoker.api.kinds import version_of
from stoker.cli.deep_json import allow_deep_json
from stoker.cli.flags import help_text, parsed
from stoker.cli.webhook_flags import FLAGS, GROUPS, USAGE
from stoker.errors import FieldError
from stoker.logs import configure
from stoker.settings import WebSettings
from stoker.validate.warnings import warnings
from stoker.view import doubts
from stoker.web.reviews import Reviewer, ReviewError, rules_reader
from stoker.web.server import Offer, WebServer
from stoker.web.webhook import ApiServerWebhook
from stoker.web.webhook_metrics import WebhookMetrics
from tests.builders import alert, resource

RULES = "/admission-prometheusrules/validate"
MUTATE = "/admission-prometheusrules/mutate"
CONFIGS = "/admission-alertmanagerconfigs/validate"
REVIEWER = Reviewer(rules_reader("legacy"))


def admission(given: dict[str, Any] | None, **request: Any) -> dict[str, Any]:
    """A review of an object."""
    kind = (given or {}).get("kind", "")
    about = {"uid": "1", "operation": "CREATE", "namespace": "shop", "name": "it", "object": given}
    about |= {"kind": {"kind": kind}, "resource": {"resource": f"{kind.lower()}s"}}
    return {
        "apiVersion": "admission.k8s.io/v1",
        "kind": "AdmissionReview",
        "request": about | request,
    }


def rule(expr: str = "up", **members: Any) -> dict[str, Any]:
    """A PrometheusRule with one alert."""
    return resource("PrometheusRule", "it", alert("g", expr, **{"alert": "A"} | members))


def monitor(kind: str, version: str, **spec: Any) -> dict[str, Any]:
    """A monitor of some kind."""
    return resource(kind, "it", spec, version=version, namespace="shop")


def response(path: str, review: dict[str, Any], reviewer: Reviewer = REVIEWER) -> dict[str, Any]:
    """What is answered at a path."""
    answered: dict[str, Any] = reviewer.answer(path, review).body["response"]
    return answered


def test_a_refusal_says_where_and_why() -> None:
    """Users see the message alone, so the path is in there; programs read the causes."""
    given = rule("sum(", labels={"ok": "x"}, **{"for": "soon"})
    found = response(RULES, admission(given))
    assert not found["allowed"]
    status = found["status"]
    assert (status["code"], status["reason"]) == (422, "Invalid")
    assert status["message"].startswith("PrometheusRule is not valid: spec.groups[0].rules[0].expr")
    assert [cause["field"] for cause in status["details"]["causes"]] == [
        "spec.groups[0].rules[0].expr",
        "spec.groups[0].rules[0].for",
    ]


@pytest.mark.parametrize(
    ("kind", "plural", "spec", "said"),
    [
        ("PrometheusAgent", "prometheusagents", {}, "spec.remoteWrite"),
        ("PrometheusAgent", "prometheusagents", {"version": "new"}, "make nothing of it: spec.ver"),
        ("Prometheus", "prometheuses", {"enableFeatures": ["no-such"]}, "no-such"),
        ("Alertmanager", "alertmanagers", {"enableFeatures": ["no-such"]}, "no-such"),
        ("ThanosRuler", "thanosrulers", {"version": "new"}, "make nothing of it: spec.version"),
        ("Prometheus", "prometheuses", {"replicas": "two"}, "cannot read it: spec.replicas"),
        ("Prometheus", "prometheuses", {}, ""),
    ],
)
def test_whoever_writes_a_workload_is_warned(
    kind: str, plural: str, spec: dict[str, Any], said: str
) -> None:
    """Of what the operator would say of it; a workload is never refused here."""
    version = "v1alpha1" if kind == "PrometheusAgent" else "v1"
    path = f"/admission-{plural}/validate"
    found = response(path, admission(monitor(kind, version) | {"spec": spec}))
    assert found["allowed"]
    assert bool(found.get("warnings")) is bool(said)
    assert said in " ".join(found.get("warnings", []))


def test_a_fault_of_our_own_refuses_no_workload(monkeypatch: pytest.MonkeyPatch) -> None:
    """It is told as one."""

    def fails(_: object) -> list[str]:
        raise RuntimeError("hunter2")

    monkeypatch.setattr(doubts, "doubts", fails)
    given = monitor("Prometheus", "v1")
    found = response("/admission-prometheuses/validate", admission(given))
    assert found["allowed"]
    assert "defect" in found["warnings"][0]
    assert "hunter2" not in found["warnings"][0]


def test_an_object_wrong_in_a_hundred_places_is_refused_briefly() -> None:
    """A message that nobody reads to its end helps nobody."""
    given = rule()
    given["spec"]["groups"][0]["rules"] = [{"alert": "A", "expr": "sum("}] * 100
    status = response(RULES, admission(given))["status"]
    assert "and 92 more" in status["message"]
    assert len(status["message"]) < 2000


@pytest.mark.parametrize(("scheme", "allowed"), [("legacy", False), ("utf8", True)])
def test_the_scheme_decides_which_names_are_allowed(scheme: str, allowed: bool) -> None:
    """Legacy by default, as Prometheus before 3.0."""
    reviewer = Reviewer(rules_reader(scheme))
    found = response(RULES, admission(rule(labels={"größe": "1"})), reviewer)
    assert found["allowed"] is allowed


def test_parts_of_promql_can_be_turned_on() -> None:
    """What is behind a feature flag of Prometheus is refused unless it is named."""
    review = admission(rule("sort_by_label(up, 'a')"))
    assert not response(RULES, review)["allowed"]
    reviewer = Reviewer(rules_reader("utf8", ["experimental-functions"]))
    assert response(RULES, review, reviewer)["allowed"]


@pytest.mark.parametrize(
    "request_",
    [
        {"operation": "DELETE"},
        {"subResource": "status"},
        {"object": rule("sum(") | {"metadata": {"deletionTimestamp": "2026-01-01T00:00:00Z"}}},
        {"object": None},
    ],
)
def test_nothing_is_judged_where_that_would_only_be_in_the_way(request_: dict[str, Any]) -> None:
    """A bad object can still be deleted, freed of finalizers, and told how bad it is."""
    assert response(RULES, admission(rule("sum("), **request_))["allowed"]


def test_numbers_and_booleans_become_texts() -> None:
    """As their author wrote them; what is no plain value is left for the validation to refuse."""
    given = rule(
        labels={"a/b~c": 1_000_000, "no": False, "text": "1", "none": None},
        annotations={"half": 0.5, "list": [1]},
    )
    found = response(MUTATE, admission(given))
    patch = {step["path"]: step["value"] for step in json.loads(base64.b64decode(found["patch"]))}
    assert patch == {
        "/metadata/annotations": {"prometheus-operator-validated": "true"},
        "/spec/groups/0/rules/0/labels/a~1b~0c": "1000000",
        "/spec/groups/0/rules/0/labels/no": "false",
        "/spec/groups/0/rules/0/annotations/half": "0.5",
    }
    assert found["patchType"] == "JSONPatch"


@pytest.mark.parametrize("spec", [None, 1, {"groups": 1}, {"groups": [None, {"rules": {}}]}])
def test_a_rule_of_any_shape_can_be_mutated(spec: Any) -> None:
    """What is no rule is refused afterwards, by schema and validation."""
    assert response(MUTATE, admission(rule() | {"spec": spec}))["allowed"]


@pytest.mark.parametrize(
    ("kind", "version", "bad", "path"),
    [
        (
            "ServiceMonitor",
            "v1",
            {"selector": {}, "endpoints": [{"interval": "1s", "scrapeTimeout": "1m"}]},
            "spec.endpoints[0].scrapeTimeout",
        ),
        (
            "PodMonitor",
            "v1",
            {"selector": {}, "podMetricsEndpoints": [{"relabelings": [{"action": "hashmod"}]}]},
            "spec.podMetricsEndpoints[0].relabelings[0]",
        ),
        ("Probe", "v1", {"prober": {"url": "bad url"}}, "spec.prober.url"),
        (
            "ScrapeConfig",
            "v1alpha1",
            {"staticConfigs": [{"targets": ["a"]}], "scrapeInterval": 5},
            "spec.scrapeInterval",
        ),
    ],
)
def test_monitors_are_held_to_the_checks_of_the_operator(
    kind: str, version: str, bad: dict[str, Any], path: str
) -> None:
    """The path of the webhook is named after the kind."""
    found = response(
        f"/admission-{kind.lower()}s/validate", admission(monitor(kind, version, **bad))
    )
    assert path in found["status"]["message"]


def test_a_secret_that_is_not_there_is_no_reason_to_refuse() -> None:
    """It may come later, and is not the webhook's to read; so are classes of some Prometheus."""
    endpoint = {"authorization": {"credentials": {"name": "later", "key": "token"}}}
    spec = {"selector": {}, "endpoints": [endpoint], "scrapeClass": "elsewhere"}
    given = monitor("ServiceMonitor", "v1", **spec)
    assert response("/admission-servicemonitors/validate", admission(given))["allowed"]


def config(version: str, **spec: Any) -> dict[str, Any]:
    """An AlertmanagerConfig with a receiver."""
    base = {"receivers": [{"name": "a"}], "route": {"receiver": "a"}}
    return monitor("AlertmanagerConfig", version, **base | spec)


@pytest.mark.parametrize(
    ("version", "spec", "path"),
    [
        ("v1alpha1", {"route": {"receiver": "b"}}, "spec.route.receiver"),
        ("v1beta1", {"route": {"receiver": "b"}}, "spec.route.receiver"),
        ("v1beta1", {"receivers": 1}, "spec.receivers"),
        (
            "v1alpha1",
            {"muteTimeIntervals": [{"name": "x", "timeIntervals": [{"months": ["13"]}]}]},
            "spec.muteTimeIntervals[0].timeIntervals[0].months[0]",
        ),
        (
            "v1beta1",
            {"timeIntervals": [{"name": "x", "timeIntervals": [{"years": ["soon"]}]}]},
            "spec.timeIntervals[0].timeIntervals[0].years[0]",
        ),
        (
            "v1beta1",
            {"route": {"receiver": "a", "routes": [{"matchers": [{"name": "x", "regex": True}]}]}},
            "spec.route.routes[0].matchers[0].regex",
        ),
    ],
)
def test_alertmanagerconfigs_are_judged_in_their_own_version(
    version: str, spec: dict[str, Any], path: str
) -> None:
    """The path is that of the version which the user wrote."""
    found = response(CONFIGS, admission(config(version, **spec)))
    assert [cause["field"] for cause in found["status"]["details"]["causes"]] == [path]


def test_deprecated_and_useless_fields_are_warned_about() -> None:
    """Wherever they are, nested routes included; what is empty is not set."""
    matchers = [{"name": "x", "value": "y", "regex": True}]
    given = config(
        "v1alpha1",
        route={"receiver": "a", "continue": False, "routes": [{"matchers": matchers}]},
        receivers=[
            {
                "name": "a",
                "webhookConfigs": [
                    {
                        "url": "http://a",
                        "urlSecret": {"name": "b", "key": "c"},
                        "httpConfig": {"proxyURL": "http://p", "proxyUrl": "http://q"},
                    }
                ],
            }
        ],
    )
    version = version_of(given["apiVersion"], given["kind"])
    assert version
    hook = "spec.receivers[0].webhookConfigs[0]"
    assert set(warnings(version, given)) == {
        "spec.route.continue: is ignored: the first route always continues",
        "spec.route.routes[0].matchers[0].regex: deprecated: use `matchType: =~`",
        f"{hook}.url: is ignored: `urlSecret` is set",
        f"{hook}.httpConfig.proxyURL: deprecated: use `proxyUrl`",
        f"{hook}.httpConfig.proxyUrl: is ignored: `proxyURL` is set",
    }
    found = response(CONFIGS, admission(given))
    assert found["allowed"]
    assert len(found["warnings"]) == 5


def conversion(*objects: Any, desired: str = f"{GROUP}/v1beta1") -> dict[str, Any]:
    """A request to convert objects."""
    request = {"uid": "1", "desiredAPIVersion": desired, "objects": list(objects)}
    return {
        "apiVersion": "apiextensions.k8s.io/v1",
        "kind": "ConversionReview",
        "request": request,
    }


def test_objects_are_converted_in_their_order() -> None:
    """The answer names the request, as the API server demands."""
    found = response("/convert", conversion(config("v1alpha1"), config("v1beta1")))
    assert found["uid"] == "1"
    assert found["result"] == {"status": "Success"}
    assert [one["apiVersion"] for one in found["convertedObjects"]] == [f"{GROUP}/v1beta1"] * 2


@pytest.mark.parametrize("objects", [[{"kind": "Pod", "apiVersion": "v1"}], [1]])
def test_what_cannot_be_converted_is_told(objects: list[Any]) -> None:
    """With a failure that says why, not with a half."""
    found = response("/convert", conversion(*objects))
    assert found["result"]["status"] == "Failure"
    assert found["convertedObjects"] == []


@pytest.mark.parametrize(
    ("path", "review"),
    [
        (RULES, None),
        (RULES, []),
        (RULES, {"kind": "AdmissionReview"}),
        (RULES, {"kind": "AdmissionReview", "apiVersion": "admission.k8s.io/v7"}),
        (RULES, {"kind": "AdmissionReview", "apiVersion": "admission.k8s.io/v1", "request": {}}),
        (RULES, conversion()),
        (RULES, admission({"kind": "Pod", "apiVersion": "v1"})),
        (CONFIGS, admission(config("v9"))),
        ("/convert", conversion() | {"request": {"uid": "1"}}),
    ],
)
def test_what_is_no_review_is_an_error(path: str, review: Any) -> None:
    """The API server then does what its failure policy says."""
    with pytest.raises(ReviewError):
        REVIEWER.answer(path, review)


# --- Over HTTP ------------------------------------------------------------------------------------


@pytest.fixture
def log() -> Iterator[io.StringIO]:
    """Everything that is logged."""
    stream = io.StringIO()
    configure("debug", "logfmt", stream)
    yield stream
    logging.getLogger().handlers.clear()


class Site:
    """A webhook that listens."""

    def __init__(self, session: aiohttp.ClientSession, server: WebServer) -> None:
        self._session = session
        self._url = f"http://127.0.0.1:{server.port}"

    async def post(self, path: str, body: Any, kind: str = "application/json") -> tuple[int, str]:
        """The status and the text of an answer."""
        data = body if isinstance(body, bytes) else json.dumps(body).encode()
        headers = {"Content-Type": kind}
        async with self._session.post(self._url + path, data=data, headers=headers) as answer:
            return answer.status, await answer.text()

    async def get(self, path: str) -> str:
        """A page."""
        async with self._session.get(self._url + path) as answer:
            return await answer.text()


@asynccontextmanager
async def serving(largest: int = 1 << 20) -> AsyncIterator[Site]:
    """A webhook on a free port."""
    metrics = WebhookMetrics("1.0", REVIEWER.paths)
    settings = WebSettings(host="127.0.0.1", port=0)
    served = Offer(ApiServerWebhook(REVIEWER, metrics).routes(), largest)
    server = WebServer(settings, metrics.registry.text, lambda: "", served=served)
    await server.start()
    try:
        async with aiohttp.ClientSession() as session:
            yield Site(session, server)
    finally:
        await server.stop()


SECRET = "hunter2-in-a-label"  # noqa: S105 (a word to look for)


def test_nothing_of_a_body_is_logged(log: io.StringIO) -> None:
    """Neither of what is refused nor of what is broken, at any level (defect 22)."""

    async def scenario() -> None:
        async with serving() as site:
            given = admission(rule(f'sum({{a="{SECRET}"', annotations={"a": SECRET}))
            assert (await site.post(RULES, given))[0] == 200
            assert (await site.post(RULES, SECRET))[0] == 400
            assert (await site.post(RULES, f"{SECRET}{{".encode()))[0] == 400
            assert (await site.post("/convert", conversion({"kind": SECRET})))[0] == 200

    asyncio.run(scenario())
    assert "refused" in log.getvalue()
    assert "name=it" in log.getvalue()
    assert "spec.groups[0].rules[0].expr" in log.getvalue()
    assert SECRET not in log.getvalue()


def test_bodies_have_a_limit_and_must_be_json(log: io.StringIO) -> None:
    """Too large is 413, another type is 415, no JSON or a bottomless one is 400 (defect 22)."""

    async def scenario() -> None:
        async with serving(largest=10_000) as site:
            assert (await site.post(RULES, b" " * 10_001))[0] == 413
            assert (await site.post(RULES, admission(rule()), "text/plain"))[0] == 415
            assert (await site.post(RULES, b"[" * 9_000))[0] == 400
            assert (await site.post(RULES, b"\xff"))[0] == 400
            assert (await site.post("/admission-pods/validate", {}))[0] == 404

    asyncio.run(scenario())


def test_a_huge_rule_does_not_hold_up_the_others(log: io.StringIO) -> None:
    """It is judged aside; meanwhile small ones and probes are answered."""

    async def scenario() -> list[str]:
        order: list[str] = []
        huge = rule()
        expr = " + ".join(["sum(rate(http_requests_total[5m])) by (job)"] * 40)
        huge["spec"]["groups"][0]["rules"] = [
            {"alert": "A", "expr": f"{expr} > {number}"} for number in range(200)
        ]

        async def post(name: str, given: dict[str, Any]) -> None:
            status, text = await site.post(RULES, admission(given))
            assert status == 200
            assert json.loads(text)["response"]["allowed"]
            order.append(name)

        async with serving(largest=1 << 24) as site:
            slow = asyncio.create_task(post("huge", huge))
            while "huge" not in order and len(order) < 3:
                await post("small", rule())
            await slow
        return order

    assert asyncio.run(scenario())[0] == "small"


@pytest.fixture
def deep_json() -> Iterator[None]:
    """What the process of the webhook allows itself."""
    limit, stack = sys.getrecursionlimit(), threading.stack_size()
    allow_deep_json()
    yield
    sys.setrecursionlimit(limit)
    threading.stack_size(stack)


@pytest.mark.parametrize("levels", [3, 4_000])
def test_routes_however_deep_do_not_break_the_list_that_they_are_in(
    levels: int, log: io.StringIO, deep_json: None
) -> None:
    """One tenant's bottomless object would else hide the objects of all from readers of v1beta1."""
    marker = json.dumps("HERE")
    deep = '{"routes":[' * levels + "{}" + "]}" * levels
    given = conversion(config("v1alpha1"), config("v1alpha1", route="HERE"))
    body = json.dumps(given).replace(marker, deep).encode()

    async def scenario() -> tuple[int, str]:
        async with serving() as site:
            return await site.post("/convert", body)

    status, text = asyncio.run(scenario())
    assert status == 200
    assert deep in text
    assert '"status":"Success"' in text


def test_what_happens_is_counted(log: io.StringIO) -> None:
    """Under the names that the peer had, and requests by path and status."""

    async def scenario() -> str:
        async with serving() as site:
            for given in (rule(), rule("sum("), rule()):
                await site.post(RULES, admission(given))
            await site.post(CONFIGS, b"{")
            return await site.get("/metrics")

    lines = asyncio.run(scenario()).splitlines()
    prefix = "prometheus_operator_"
    assert f"{prefix}rule_validation_triggered_total 3" in lines
    assert f"{prefix}rule_validation_errors_total 1" in lines
    assert f"{prefix}alertmanager_config_validation_errors_total 0" in lines
    own = f"{prefix}admission_webhook_"
    assert f'{own}requests_total{{path="{RULES}",code="200"}} 3' in lines
    assert f'{own}requests_total{{path="{CONFIGS}",code="400"}} 1' in lines
    assert f'{own}refused_total{{path="{RULES}"}} 1' in lines


# --- The command line -----------------------------------------------------------------------------


def test_the_flags_are_those_of_the_peer() -> None:
    """With its defaults; what only the operator has is not there."""
    given = parsed([], FLAGS)
    assert given["web.listen-address"] == ("", 8443)
    assert given["web.enable-tls"] is True
    assert given["web.tls-min-version"] == "VersionTLS13"
    assert given["name-validation-scheme"] == "legacy"
    given = parsed(["-name-validation-scheme", "utf8", "--web.enable-tls=false"], FLAGS)
    assert (given["name-validation-scheme"], given["web.enable-tls"]) == ("utf8", False)
    for words in (["--namespaces=a"], ["--name-validation-scheme=all"], ["--promql-options=all"]):
        with pytest.raises(FieldError):
            parsed(words, FLAGS)
    shown = help_text(USAGE, GROUPS)
    assert all(f"--{name}" in shown for name in FLAGS)
