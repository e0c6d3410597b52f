"""The hostile corpus against the real programs: render, promtool, amtool and the webhook itself."""

import json
import subprocess
import sys
from collections.abc import Iterator
from http.client import HTTPConnection
from pathlib import Path
from typing import Any

import pytest
import yaml

from tests import amtool, promtool
from tests.hostile import PAYLOADS
from tests.hostile.__main__ import tried
from tests.hostile.corpus import corpus
from tests.hostile.folder import fill, refused, render, rule_refusals
from tests.hostile.generate import folder
from tests.hostile.payload import LeftOut, Payload, Refused
from tests.hostile.reviews import REVIEWS, Review
from tests.hostile.trial import is_within
from tests.hostile.world import NEIGHBOUR, neighbours, secrets, vault, workloads
from tools.ports import held_port
from tools.waiting import DEADLINE, until

SEED, COUNT = 20261116, 300
Found = dict[str, str]


@pytest.fixture(scope="module")
def quiet(tmp_path_factory: pytest.TempPathFactory) -> Found:
    """Make what there is without an attacker."""
    place = tmp_path_factory.mktemp("quiet")
    fill(place / "in", [*workloads(), *neighbours(), *secrets({NEIGHBOUR: vault()})])
    render(place / "in", place / "out")
    return made(place / "out")


def made(out: Path) -> Found:
    """Read the files for the programs, by their paths."""
    readable = out / "readable"
    files = sorted(readable.rglob("*.yaml"))
    return {str(each.relative_to(readable)): each.read_text(encoding="utf-8") for each in files}


def missing(before: Found, after: Found) -> list[str]:
    """Name the files in which something of the neighbour is not as it was."""
    return [name for name, text in before.items() if not is_within(text, after.get(name, ""))]


def test_nothing_of_the_corpus_stops_anybody(tmp_path: Path, quiet: Found) -> None:
    """What is used of it is taken by Prometheus and Alertmanager, with all of the neighbour's."""
    counts, found = tried(corpus(), tmp_path)
    assert not found, "\n\n".join(map(str, found[:5]))
    assert missing(quiet, made(tmp_path / "out")) == []
    assert counts["used"] > 1000
    assert counts["rejected"] > 1000


def test_nothing_made_from_a_seed_stops_anybody(tmp_path: Path, quiet: Found) -> None:
    """The same for objects that nobody thought of."""
    counts, found = tried(folder(SEED, COUNT), tmp_path)
    print(dict(counts))
    assert not found, "\n\n".join(map(str, found[:5]))
    assert missing(quiet, made(tmp_path / "out")) == []
    # Where everything is rejected, nothing is proved.
    assert counts["used"] > COUNT


def test_a_file_that_is_refused_would_be_noticed(tmp_path: Path) -> None:
    """So the tests above show something, of each of the three kinds of file."""
    render_of_neighbours(tmp_path)
    readable = tmp_path / "out" / "readable"
    broken = {
        "prometheus-monitoring-main/prometheus.yaml": "scrape_configs: [{job_name: ''}]",
        "prometheus-monitoring-main/rules/x/y.yaml": "groups: [{name: a, rules: [{expr: up}]}]",
        "alertmanager-monitoring-main/alertmanager.yaml": "route: {receiver: nobody}",
    }
    assert refused(tmp_path / "out") == {}
    for name, text in broken.items():
        (readable / name).parent.mkdir(parents=True, exist_ok=True)
        (readable / name).write_text(text)
    assert refused(tmp_path / "out").keys() == broken.keys()


def render_of_neighbours(place: Path) -> None:
    """Make what there is for the neighbour alone."""
    fill(place / "in", [*workloads(), *neighbours(), *secrets({NEIGHBOUR: vault()})])
    render(place / "in", place / "out")


# --- The corpus says what the programs say --------------------------------------------------------


def of_the_newest(kind: str, place: str = "") -> list[Payload]:
    """Choose payloads about texts that the programs at hand can be asked about."""
    return [
        each
        for each in PAYLOADS
        if each.kind == kind
        and each.workload == "main"
        and each.attack in ("templates", "regexes", "promql")
        and place in each.place
        and not isinstance(each.outcome, Refused)
    ]


def disagreements(payloads: list[Payload], answers: list[str]) -> list[str]:
    """Name the payloads of which the program says something else than the corpus."""
    return [
        f"{each.id}: {answer or 'taken'}"
        for each, answer in zip(payloads, answers, strict=True)
        if bool(answer) != isinstance(each.outcome, LeftOut)
        # Whether a text is too long is for us to say.
        and not (isinstance(each.outcome, LeftOut) and len(each.outcome.reasons) > 1)
    ]


def test_prometheus_agrees_with_the_corpus_about_rules() -> None:
    """Templates, expressions and regular expressions: it refuses what must be left out."""
    payloads = of_the_newest("PrometheusRule")
    answers = rule_refusals([yaml.safe_dump(without_nulls(each.spec)) for each in payloads])
    assert disagreements(payloads, answers) == []
    assert len(payloads) > 300


def without_nulls(value: Any) -> Any:
    """Leave out members that are null, as the API server does."""
    if isinstance(value, dict):
        return {name: without_nulls(each) for name, each in value.items() if each is not None}
    return [without_nulls(each) for each in value] if isinstance(value, list) else value


def test_prometheus_agrees_with_the_corpus_about_relabelings() -> None:
    """Regular expressions in relabelings, which another parser reads than those in PromQL."""
    payloads = of_the_newest("ServiceMonitor", ".relabelings[0].regex")
    texts = [json.dumps(relabeling(each), ensure_ascii=False) for each in payloads]
    assert disagreements(payloads, promtool.refusals(texts)) == []
    assert len(payloads) > 100


def relabeling(payload: Payload) -> Any:
    """Put the expression of a payload into a configuration without anything else."""
    regex = payload.spec["endpoints"][0]["relabelings"][0]["regex"]
    step = {"action": "keep", "source_labels": ["a"], "regex": regex}
    return {"scrape_configs": [{"job_name": "a", "relabel_configs": [step]}]}


def test_alertmanager_agrees_with_the_corpus_about_urls() -> None:
    """Templates in URLs, which it reads when it loads its file."""
    payloads = of_the_newest("AlertmanagerConfig", "webhookConfigs[0].url")
    payloads = [each for each in payloads if not each.vault]
    texts = [json.dumps(hook(each)) for each in payloads]
    assert disagreements(payloads, amtool.refusals(texts)) == []
    assert len(payloads) > 20


def hook(payload: Payload) -> Any:
    """Put the URL of a payload into a configuration without anything else."""
    url = payload.spec["receivers"][0]["webhookConfigs"][0]["url"]
    return {
        "route": {"receiver": "a"},
        "receivers": [{"name": "a", "webhook_configs": [{"url": url}]}],
    }


# --- The webhook ----------------------------------------------------------------------------------


class Webhook:
    """The real command, which anybody may call."""

    def __init__(self, folder: Path) -> None:
        self.port = held_port()
        self._log = folder / "log"
        flags = [
            f"--web.listen-address=127.0.0.1:{self.port}",
            "--web.enable-tls=false",
            "--name-validation-scheme=utf8",
        ]
        with self._log.open("wb") as output:
            self.process = subprocess.Popen(
                [sys.executable, "-m", "stoker", "webhook", *flags], stdout=output, stderr=output
            )
        until("the webhook to listen", lambda: self.get("/healthz") == 200)

    def get(self, path: str) -> int:
        """Ask for a page; the status of the answer."""
        assert self.process.poll() is None, self.log()
        return self._asked("GET", path)[0]

    def post(self, review: Review) -> tuple[int, bytes]:
        """Send a review; the status and the body of the answer."""
        return self._asked("POST", review.at, review.body)

    def _asked(self, method: str, path: str, body: bytes | None = None) -> tuple[int, bytes]:
        connection = HTTPConnection("127.0.0.1", self.port, timeout=DEADLINE)
        try:
            connection.request(method, path, body, {"Content-Type": "application/json"})
            answer = connection.getresponse()
            return answer.status, answer.read()
        finally:
            connection.close()

    def log(self) -> str:
        """Everything that it has logged."""
        return self._log.read_text(errors="replace")


@pytest.fixture
def webhook(tmp_path: Path) -> Iterator[Webhook]:
    """Run a webhook."""
    running = Webhook(tmp_path)
    yield running
    running.process.terminate()
    running.process.wait(DEADLINE)


def test_the_webhook_answers_every_body_and_goes_on(webhook: Webhook) -> None:
    """What is no review is 400 and never 500, what is one is answered; and it is still there."""
    wrong = [f"{each.about}: {found}" for each in REVIEWS for found in wrongs(webhook, each)]
    assert not wrong, "\n".join(wrong)
    assert webhook.get("/healthz") == 200
    assert "Traceback" not in webhook.log()


def wrongs(webhook: Webhook, review: Review) -> Iterator[str]:
    """Say what is not as the review says."""
    status, answer = webhook.post(review)
    if status != review.status:
        yield f"status {status}, not {review.status}: {answer[:200]!r}"
    elif status == 200:
        # Some answers are nested deeper than a reader of ours would go.
        words = (b'"allowed":true', b'"result":{"status":"Success"}')
        if any(word in answer for word in words) != review.allowed:
            yield f"answered {answer[:300]!r}"
