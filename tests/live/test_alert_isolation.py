"""Tenants cannot receive, mute, inhibit or break each other's alerts: a real Alertmanager shows it.

Hundreds of AlertmanagerConfigs that mean harm (`tests.live.isolation`) stand beside good ones of
`alice` and `bob` in one configuration. A real Alertmanager loads it, gets real alerts, and calls a
server of the test, which writes down who was told what. Each attempt has a path of its own there,
so that whoever hears too much is known by name.
"""

import json
import subprocess
import threading
import urllib.request
from collections import Counter, defaultdict
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from itertools import product
from pathlib import Path
from typing import Any, Final

import pytest

from stoker.api.alertmanager import Alertmanager
from stoker.api.amconfig import v1alpha1
from stoker.api.decode import convert
from stoker.generate.alertmanager.kept import KIND, KeptAlerting
from stoker.ref import Ref, ref_of
from stoker.select.assets import Missing, Source
from stoker.settings import DEFAULT_ALERTMANAGER_VERSION
from stoker.validate.findings import Reason
from tests.amtool import refusals
from tests.live.isolation import GROUPS, SECRETS, SINK, Attempt, Json, hook, key
from tools.build import binaries
from tools.catalogue import BINARIES
from tools.ports import held_port
from tools.waiting import until

LEAST_ATTEMPTS: Final = 150
ISOLATING: Final = ("OnNamespace", "OnNamespaceExceptForAlertmanagerNamespace")
ATTEMPTS: Final = {
    f"t{number:04}": attempt
    for number, attempt in enumerate(each for group in GROUPS.values() for each in group)
}
BASE: Final = f"""
route:
  receiver: base
  group_wait: 1ms
  group_interval: 3s
  group_by: [alertname, namespace]
receivers:
- name: base
  webhook_configs: [{{url: '{SINK}/base'}}]
time_intervals:
- name: base-hours
  time_intervals: [{{times: [{{start_time: '00:00', end_time: '24:00'}}]}}]
"""
LOUD: Final = (
    {"alertname": "Down", "severity": "critical", "pod": "a"},
    {"alertname": "Slow", "severity": "warning"},
    {"alertname": "Odd", "a": 'x",namespace=~".*', "b": "\\", "nothing": "y"},
)
# Who inhibits and who tells are two parts of Alertmanager, and an alert that comes together with
# the one that inhibits it may be told. So `Quiet` comes when `Early` is said to be inhibited.
EARLY: Final = {"alertname": "Early", "severity": "info"}
QUIET: Final = {"alertname": "Quiet", "severity": "info"}
ALERTS: Final = (*LOUD, EARLY, QUIET)
TENANTS: Final = ("alice", "bob")
# Alertmanager crashes if a server of Telegram's leaves out the chat (docs/security.md).
ANSWER: Final = b'{"ok": true, "result": {"message_id": 1, "chat": {"id": 1}}}'


# --- What everybody writes ------------------------------------------------------------------------


def good(tenant: str) -> Json:
    """A spec as it should be: who is told, what is not said twice, and when it is quiet."""
    chat = {
        "apiURL": f"{SINK}/{tenant}/chat",
        "botToken": key("alice-token" if tenant == "alice" else "token"),
        "chatID": 1,
        "message": '{{ template "__subject" . }}',
    }
    return {
        "receivers": [hook(tenant) | {"name": "phone", "telegramConfigs": [chat]}],
        "route": {"receiver": "phone", "groupWait": "1ms", "groupBy": ["alertname"]},
        "inhibitRules": [
            {
                "sourceMatch": [{"name": "alertname", "value": "Slow", "matchType": "="}],
                "targetMatch": [{"name": "severity", "value": "info", "matchType": "="}],
            }
        ],
        "muteTimeIntervals": [{"name": "nights", "timeIntervals": [{"years": ["1970"]}]}],
    }


class Values:
    """Who tries has many Secrets; alice has one that others would like to read."""

    def __init__(self, sink: str) -> None:
        self._sink = sink

    def value(self, source: Source) -> str | Missing:
        """Tell the text behind a key."""
        known = {"alice": {"alice-token": "t0ken"}, "monitoring": {"alertmanager-main": BASE}}
        text = known.get(source.namespace, SECRETS).get(source.name)
        if text is None or source.key not in ("key", "alertmanager.yaml"):
            return Missing(source, object_exists=text is not None)
        return text.replace(SINK, self._sink)


def config_of(
    namespace: str, name: str, spec: Json, sink: str = SINK
) -> v1alpha1.AlertmanagerConfig:
    """An AlertmanagerConfig, with the paths of its calls filled in."""
    text = json.dumps(spec).replace(SINK, sink).replace("HERE", f"{namespace}/{name}")
    value = {"metadata": {"namespace": namespace, "name": name}, "spec": json.loads(text)}
    return convert(v1alpha1.AlertmanagerConfig, value)


def place(identity: str) -> tuple[str, str]:
    """Namespace and name of an attempt."""
    attempt = ATTEMPTS[identity]
    return attempt.namespace, attempt.name or identity


def alerting(
    strategy: str = "OnNamespace", sink: str = SINK, version: str = "", *, deny_files: bool = True
) -> KeptAlerting:
    """The configuration with good AlertmanagerConfigs only, as the operator keeps it."""
    spec = {
        "alertmanagerConfigSelector": {},
        "alertmanagerConfigMatcherStrategy": {"type": strategy},
        "version": version or DEFAULT_ALERTMANAGER_VERSION,
    }
    value = {"metadata": {"name": "main", "namespace": "monitoring"}, "spec": spec}
    values = Values(sink)
    made = KeptAlerting(convert(Alertmanager, value), values, deny_files=deny_files)
    for tenant in TENANTS:
        made.put(
            Ref(KIND, tenant, "config"), config_of(tenant, "config", good(tenant), sink), values
        )
    return made


def put(made: KeptAlerting, identities: Mapping[str, Attempt], sink: str = SINK) -> None:
    """Add attempts."""
    configs = {}
    for identity, attempt in identities.items():
        namespace, name = place(identity)
        config = config_of(namespace, name, attempt.spec, sink)
        configs[ref_of(config)] = config
    made.put_all(configs, Values(sink))


# --- Judged on their own --------------------------------------------------------------------------


def test_there_are_attempts_enough_and_none_twice() -> None:
    """The corpus is as large as it claims."""
    assert len(ATTEMPTS) >= LEAST_ATTEMPTS
    assert max(Counter(str(each.spec) for each in ATTEMPTS.values()).values()) < 20
    assert len({place(identity) for identity in ATTEMPTS}) == len(ATTEMPTS)


def test_each_attempt_is_taken_or_refused_at_its_place() -> None:
    """A broken one gets a verdict with the path; the verdicts of the others do not change."""
    made = alerting()
    put(made, ATTEMPTS)
    wrong = {}
    for identity, attempt in ATTEMPTS.items():
        verdict = made.verdicts[Ref(KIND, *place(identity))]
        paths = [finding.path for finding in verdict.findings]
        expected = [path for path in paths if attempt.refused and path.startswith(attempt.refused)]
        if bool(expected) != bool(attempt.refused) or (paths and not expected):
            wrong[attempt.about] = [str(finding) for finding in verdict.findings] or "taken"
    assert wrong == {}
    assert all(made.verdicts[Ref(KIND, tenant, "config")].accepted for tenant in TENANTS)


@pytest.mark.parametrize("version", ["v0.34.0", "v0.21.0"])
def test_no_attempt_makes_alertmanager_refuse_the_file(version: str) -> None:
    """Each alone beside the good ones, so that the one that breaks the file would be known."""
    texts = {}
    for identity, attempt in ATTEMPTS.items():
        made = alerting(version=version)
        put(made, {identity: attempt})
        texts[attempt.about] = made.text().replace(SINK, "http://sink")
    answers = dict(zip(texts, refusals(list(texts.values())), strict=True))
    assert {about: answer for about, answer in answers.items() if answer} == {}


# --- A real Alertmanager --------------------------------------------------------------------------


class _Server(ThreadingHTTPServer):
    # All are told at once, and who finds no room in the queue comes back a second later or more.
    request_queue_size = 1024


class Sink:
    """A server that writes down which path was told of which alerts."""

    def __init__(self) -> None:
        heard = self.heard = defaultdict[str, set[str]](set)
        bodies = self.bodies = defaultdict[str, list[str]](list)

        class Handler(BaseHTTPRequestHandler):
            def do_POST(self) -> None:
                body = self.rfile.read(int(self.headers.get("Content-Length") or 0)).decode()
                bodies[self.path].append(body)
                heard[self.path] |= _namespaces(body)
                self.send_response(200)
                self.end_headers()
                self.wfile.write(ANSWER)

            do_GET = do_POST  # noqa: N815 (the name is the library's)

            def log_message(self, *_: Any) -> None:
                """Say nothing."""

        self._server = _Server(("127.0.0.1", 0), Handler)
        self.url = f"http://127.0.0.1:{self._server.server_port}"

    def __enter__(self) -> "Sink":
        threading.Thread(target=self._server.serve_forever, daemon=True).start()
        return self

    def __exit__(self, *_: object) -> None:
        self._server.shutdown()
        self._server.server_close()


def _namespaces(body: str) -> set[str]:
    """The alerts that a call is about, as `namespace/alertname`."""
    try:
        told = json.loads(body)
    except ValueError:
        return set()
    alerts = told.get("alerts", ()) if isinstance(told, dict) else ()
    return {_name(one) for one in alerts}


def _name(alert: Json) -> str:
    return f"{alert['labels'].get('namespace')}/{alert['labels']['alertname']}"


class Running:
    """An Alertmanager with its file."""

    def __init__(self, folder: Path, text: str) -> None:
        self.file = folder / "alertmanager.yaml"
        self.file.write_text(text, newline="")
        self.url = f"http://127.0.0.1:{held_port()}"
        command = [
            str(binaries("alertmanager")["alertmanager"]),
            f"--config.file={self.file}",
            f"--storage.path={folder / 'data'}",
            f"--web.listen-address={self.url.removeprefix('http://')}",
            "--cluster.listen-address=",
        ]
        self.log = folder / "log"
        with self.log.open("wb") as log:
            self.process = subprocess.Popen(command, stdout=log, stderr=log)

    def call(self, path: str, body: Any = None) -> Any:
        """The answer of its API; an error if it is none of success."""
        data = None if body is None else json.dumps(body).encode()
        headers = {"Content-Type": "application/json"}
        request = urllib.request.Request(self.url + path, data, headers)
        with urllib.request.urlopen(request, timeout=30) as answer:
            text = answer.read()
        return json.loads(text) if text[:1] in (b"[", b"{") else text

    @property
    def ready(self) -> bool:
        """Whether it answers."""
        assert self.process.poll() is None, self.log.read_text()[-2000:]
        try:
            return bool(self.call("/-/ready"))
        except OSError:
            return False


@contextmanager
def running(folder: Path, text: str) -> Iterator[Running]:
    """An Alertmanager that is there and ends."""
    found = Running(folder, text)
    try:
        until("Alertmanager is ready", lambda: found.ready)
        yield found
    finally:
        found.process.terminate()
        found.process.wait()


def _alerts() -> list[Json]:
    """The same alerts of everybody, of nobody, and one that would inhibit."""
    others = {"monitoring", *(each.namespace for each in ATTEMPTS.values())}
    of_others = (ALERTS[0], {"alertname": "Source", "x": "z"})
    pairs = (*product(ALERTS, TENANTS), *product(of_others, sorted(others)))
    made = [{"labels": labels | {"namespace": namespace}} for labels, namespace in pairs]
    return [*made, {"labels": {"alertname": "Nobodys"}}]


def _quiet_and_others() -> tuple[list[Json], list[Json]]:
    """The alerts that nobody must be told of, and the others, which come before them.

    Last of these are the ones that inhibit `Early`: when they do, all others are known.
    """
    quiet = [alert for alert in _alerts() if alert["labels"]["alertname"] == QUIET["alertname"]]
    others = [alert for alert in _alerts() if alert not in quiet]
    return quiet, sorted(others, key=lambda alert: alert["labels"]["alertname"] == "Slow")


def _inhibiting(alertmanager: Running) -> bool:
    """Whether the early alerts of all tenants are inhibited."""
    early = [
        bool(alert["status"]["inhibitedBy"])
        for alert in alertmanager.call("/api/v2/alerts")
        if alert["labels"]["alertname"] == EARLY["alertname"]
    ]
    return len(early) == len(TENANTS) and all(early)


def _loud(group: Json) -> bool:
    """Whether anybody must be told of a group: not all of it is muted or inhibited."""
    return any(alert["status"]["state"] == "active" for alert in group["alerts"])


def _members(groups: list[Json]) -> int:
    return sum(len(group["alerts"]) for group in groups)


def _told(group: Json, sink: Sink) -> bool:
    """Whether the receiver of a group heard of all in it that is not muted or inhibited."""
    active = [alert for alert in group["alerts"] if alert["status"]["state"] == "active"]
    if not {_name(alert) for alert in active} <= sink.heard[_path(group)]:
        return False
    tenant, resource, _ = f"{group['receiver']['name']}//".split("/", 2)
    if tenant not in TENANTS or resource != "config":
        return True
    chatted = " ".join(_subjects(sink.bodies, tenant))
    return all(alert["labels"]["alertname"] in chatted for alert in active)


def _path(group: Json) -> str:
    """Where calls about a group go."""
    if group["receiver"]["name"] == "base":
        return "/base"
    namespace, resource, _ = group["receiver"]["name"].split("/", 2)
    return f"/{namespace}" if namespace in TENANTS else f"/{namespace}/{resource}"


def _subjects(bodies: Mapping[str, list[str]], tenant: str) -> list[str]:
    """What a tenant was told by Telegram."""
    said = bodies.get(f"/{tenant}/chat/bott0ken/sendMessage", ())
    return [subject for subject in said if EARLY["alertname"] not in subject]


class Seen:
    """What happened with attempts in one configuration, under one strategy."""

    def __init__(
        self, folder: Path, strategy: str, attempts: Mapping[str, Attempt] = ATTEMPTS
    ) -> None:
        with Sink() as sink:
            made = alerting(strategy, sink.url, BINARIES["alertmanager"].version)
            with running(folder, made.text()) as alertmanager:
                put(made, attempts, sink.url)
                alertmanager.file.write_text(made.text(), newline="")
                alertmanager.call("/-/reload", {})
                quiet, others = _quiet_and_others()
                alertmanager.call("/api/v2/alerts", others)
                until("the inhibiting alerts are known", lambda: _inhibiting(alertmanager))
                alertmanager.call("/api/v2/alerts", quiet)
                self._watch(alertmanager, sink)
        self.accepted = {
            identity for identity in attempts if made.verdicts[Ref(KIND, *place(identity))].accepted
        }

    def _watch(self, alertmanager: Running, sink: Sink) -> None:
        """Wait until everybody who is to be told was told, and look."""
        self.groups: list[Json] = []

        def all_told() -> bool:
            before, self.groups = self.groups, alertmanager.call("/api/v2/alerts/groups")
            sorted_in = {alert["fingerprint"] for group in self.groups for alert in group["alerts"]}
            if len(sorted_in) < len(_alerts()) or _members(before) != _members(self.groups):
                return False
            return all(_told(group, sink) for group in self.groups if _loud(group))

        until("everybody was told", all_told)
        self.alerts = alertmanager.call("/api/v2/alerts")
        self.heard = dict(sink.heard)
        self.bodies = dict(sink.bodies)
        assert alertmanager.ready


@pytest.fixture(scope="module", params=ISOLATING)
def seen(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Seen:
    """All attempts at once, under each strategy that isolates."""
    return Seen(tmp_path_factory.mktemp("isolated"), request.param)


def test_alerts_of_a_tenant_reach_the_tenant(seen: Seen) -> None:
    """Alice and bob are told of all their alerts but the one that they inhibit themselves.

    The words are those of Alertmanager's own templates, whatever others call theirs. What is
    nobody's goes where the owner of the Alertmanager wants it.
    """
    for tenant in TENANTS:
        told = {f"{tenant}/{labels['alertname']}" for labels in LOUD}
        assert seen.heard[f"/{tenant}"] - {f"{tenant}/{EARLY['alertname']}"} == told
        subjects = _subjects(seen.bodies, tenant)
        assert len(subjects) == len(told)
        assert all("[FIRING:1]" in subject for subject in subjects)
    assert "None/Nobodys" in seen.heard["/base"]


def test_nobody_hears_of_alerts_of_others(seen: Seen) -> None:
    """Neither by a call nor in what Alertmanager says about its groups."""
    wrong = {
        path: alerts
        for path, alerts in seen.heard.items()
        if any(one.partition("/")[0] != path.split("/")[1] for one in alerts) and path != "/base"
    }
    assert wrong == {}
    for group in seen.groups:
        receiver = group["receiver"]["name"].partition("/")[0]
        namespaces = {alert["labels"].get("namespace") for alert in group["alerts"]}
        assert receiver == "base" or namespaces == {receiver}


def test_nobody_silences_alerts_of_others(seen: Seen) -> None:
    """What inhibits an alert is one of the same namespace, and nothing mutes who is not meant."""
    names = {alert["fingerprint"]: alert["labels"] for alert in seen.alerts}
    for alert in seen.alerts:
        namespace = alert["labels"].get("namespace")
        sources = {names[one].get("namespace") for one in alert["status"]["inhibitedBy"]}
        assert sources <= {namespace}
    for tenant in TENANTS:
        groups = [one for one in seen.groups if one["receiver"]["name"] == f"{tenant}/config/phone"]
        assert len(groups) == len(ALERTS)
        for alert in (alert for group in groups for alert in group["alerts"]):
            by = {names[one]["alertname"] for one in alert["status"]["inhibitedBy"]}
            assert by == ({"Slow"} if alert["labels"].get("severity") == "info" else set())
            assert not alert["status"]["mutedBy"]


def test_who_tries_still_hears_of_their_own(seen: Seen) -> None:
    """The tests above mean something: most of what is accepted works for its own namespace."""
    hearing = {path for path, alerts in seen.heard.items() if alerts}
    heard = {identity for identity in ATTEMPTS if f"/{'/'.join(place(identity))}" in hearing}
    assert len(heard) > LEAST_ATTEMPTS
    assert heard <= seen.accepted


def test_without_a_strategy_the_same_attempts_succeed(tmp_path: Path) -> None:
    """`None` is documented as not isolating: alerts of alice go everywhere."""
    some = {key: one for key, one in ATTEMPTS.items() if one in GROUPS["matchers"][::4]}
    seen = Seen(tmp_path, "None", some)
    taking = {path for path, alerts in seen.heard.items() if "alice/Down" in alerts}
    assert len(taking - {"/alice", "/base"}) > len(some) / 2


def test_without_a_strategy_alerts_of_others_are_inhibited(tmp_path: Path) -> None:
    """The same for inhibition."""
    some = {key: one for key, one in ATTEMPTS.items() if one in GROUPS["inhibition"][::9]}
    seen = Seen(tmp_path, "None", some)
    down = [one for one in seen.alerts if _name(one) == "alice/Down"]
    assert all(one["status"]["inhibitedBy"] for one in down)


def test_files_are_read_unless_they_are_denied() -> None:
    """The default is the peer's: whoever wants it otherwise says so."""
    files = {key: one for key, one in ATTEMPTS.items() if one.refused.endswith("File")}
    for deny in (False, True):
        made = alerting(deny_files=deny)
        put(made, files)
        for identity in files:
            reasons = [each.reason for each in made.verdicts[Ref(KIND, *place(identity))].findings]
            assert reasons == ([Reason.FILE_ACCESS_FORBIDDEN] if deny else [])
