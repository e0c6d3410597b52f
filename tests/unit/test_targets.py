"""Targets in bindings: what is read of Prometheus' answer, and when a binding has news of it."""

import json
from pathlib import Path
from typing import Any

import msgspec
import pytest
from msgspec.structs import replace

from stoker.api.common import Binding, ConfigResourceStatus, TargetCounts, TargetError
from stoker.api.decode import convert
from stoker.api.monitors import PodMonitor, Probe, ServiceMonitor
from stoker.api.rules import PrometheusRule
from stoker.api.scrapeconfig.v1alpha1 import ScrapeConfig
from stoker.cli.explain_text import printed
from stoker.cli.operator_settings import operator_settings
from stoker.errors import FieldError
from stoker.explain.answer import Explanation
from stoker.operator.targets import Observed
from stoker.ref import Ref
from stoker.status.bindings import (
    BoundWorkload,
    binding,
    dated_binding,
    is_news,
    told_targets,
)
from stoker.status.targets import NOTHING, cleaned, job_names, scraped, target_counts
from tests.builders import typed
from tests.unit.test_explain import deployment, monitor, prometheus, service, told, viewed
from tests.unit.test_status import NOON, verdict

MAIN = BoundWorkload("prometheuses", "shop", "main")
JOB = "serviceMonitor/shop/cart/0"
REFUSED = 'Get "http://10.1.2.{}:8080/metrics": dial tcp 10.1.2.{}:8080: connect: refused'


def answer(*targets: dict[str, Any]) -> bytes:
    """What `/api/v1/targets` answers."""
    return json.dumps({"status": "success", "data": {"activeTargets": targets}}).encode()


def target(health: str, error: str = "", pool: str = JOB) -> dict[str, Any]:
    """An active target, with members that nobody reads."""
    return {"scrapePool": pool, "health": health, "lastError": error, "labels": {"job": "cart"}}


def test_targets_are_counted_and_errors_grouped_without_addresses() -> None:
    """One error of many targets is one; targets of other jobs, from a server too old, are not."""
    found = scraped(
        answer(
            target("up"),
            target("unknown"),
            *(target("down", REFUSED.format(n, n)) for n in range(5)),
            target("down", "server returned HTTP status 404 Not Found"),
            target("up", pool="serviceMonitor/shop/other/0"),
        ),
        JOB,
    )
    counts = target_counts(found.plus(NOTHING), "2026-01-31T12:00:00Z")
    assert (counts.discovered, counts.healthy) == (8, 1)
    assert counts.errors == (
        TargetError(message="dial tcp …: connect: refused", count=5),
        TargetError(message="server returned HTTP status 404 Not Found", count=1),
    )


def test_shards_add_up_and_only_the_most_frequent_errors_are_told() -> None:
    """Three errors at most, by how many targets have them, then by their texts."""
    one = scraped(answer(*(target("down", text) for text in ("b", "b", "c", "d"))), JOB)
    other = scraped(answer(target("up"), *(target("down", text) for text in ("a", "c", "c"))), JOB)
    counts = target_counts(one.plus(other), "")
    assert (counts.discovered, counts.healthy) == (8, 1)
    assert [(each.message, each.count) for each in counts.errors or ()] == [
        ("c", 3),
        ("b", 2),
        ("a", 1),
    ]


@pytest.mark.parametrize("body", [b"", b"[]", b"<html>", b'{"status":"error"}', b'{"data":{}}'])
def test_an_answer_that_is_none_is_not_counted_as_nothing(body: bytes) -> None:
    """Whoever answers in the place of Prometheus does not make zero targets of a monitor."""
    with pytest.raises(ValueError, match="not a list of targets"):
        scraped(body, JOB)


@pytest.mark.parametrize(
    ("message", "told"),
    [
        ('Get "http://u:p4ss@shop:80/m?key=s3cret": EOF', "EOF"),
        ("cannot ask http://u:p4ss@shop:80/m?key=s3cret now", "cannot ask http://shop:80/m now"),
        ("proxy u:p4ss@proxy refused", "proxy proxy refused"),
        ("path /m?key=s3cret", "path /m"),
        ("dial tcp [fd00::1%eth0]:80: timeout", "dial tcp …: timeout"),
        ("read 10.0.0.1:1->10.0.0.2:2: reset", "read …: reset"),
        ("header Bearer abcdef.s3cret is wrong", "header Bearer … is wrong"),
        ("api_key=s3cret, token: p4ss", "api_key=…, token: …"),
        ("two\nlines\x1b[31m", "two lines[31m"),
        ("x" * 300, "x" * 199 + "…"),
        ("a " * 499 + "u:p4ss@" * 20, "a " * 99 + "a…"),
    ],
)
def test_errors_are_short_lines_without_credentials(message: str, told: str) -> None:
    """What a server or a tenant's exporter wrote is passed on only as far as it may be."""
    assert cleaned(message) == told
    assert "p4ss" not in told
    assert "s3cret" not in told


def test_a_hostile_error_is_cleaned_in_no_time() -> None:
    """No pattern looks at a text again and again: thousands of them are cleaned at once."""
    for text in ("a:" * 5000, "//" * 5000, '"\\' * 5000, "password" * 1000, "1.1.1." * 2000):
        for _ in range(20):
            assert len(cleaned(text)) <= 200


@pytest.mark.parametrize(
    ("model", "spec", "jobs"),
    [
        (ServiceMonitor, {"endpoints": [{}, {}]}, ["serviceMonitor/a/b/0", "serviceMonitor/a/b/1"]),
        (PodMonitor, {"podMetricsEndpoints": [{}]}, ["podMonitor/a/b/0"]),
        (Probe, {}, ["probe/a/b"]),
        (ScrapeConfig, {}, ["scrapeConfig/a/b"]),
        (PrometheusRule, {}, []),
    ],
)
def test_a_resource_is_asked_about_by_its_jobs(
    model: type[Any], spec: dict[str, Any], jobs: list[str]
) -> None:
    """One for each endpoint, one for a Probe or ScrapeConfig, none for rules."""
    resource = typed(model, "b", spec, "a")
    assert list(job_names(resource)) == jobs


def test_the_time_alone_is_no_news() -> None:
    """A binding keeps the time at which its numbers became what they are."""
    first = target_counts(scraped(answer(target("up", "slow")), JOB), "2026-01-31T12:00:00Z")
    later = target_counts(scraped(answer(target("up", "slow")), JOB), "2026-01-31T13:00:00Z")
    other = target_counts(scraped(answer(target("down")), JOB), "2026-01-31T13:00:00Z")
    made = dated_binding(None, binding(MAIN, verdict(), 1, (), first), NOON)
    # As a cache has it, with tuples.
    stored = msgspec.to_builtins([convert(Binding, made)])
    same = dated_binding(stored, binding(MAIN, verdict(), 1, (), later), NOON)
    assert not is_news(stored, same)
    assert same["targets"]["observedAt"] == "2026-01-31T12:00:00Z"
    changed = dated_binding(stored, binding(MAIN, verdict(), 1, (), other), NOON)
    assert is_news(stored, changed)
    assert changed["targets"] == {
        "discovered": 1,
        "healthy": 0,
        "observedAt": "2026-01-31T13:00:00Z",
    }
    assert told_targets([changed], MAIN) == other


def test_a_binding_loses_its_targets_when_they_are_not_known() -> None:
    """Not asked for, or rejected: nothing is said of targets, and that is news."""
    counts = target_counts(scraped(answer(target("up")), JOB), "2026-01-31T12:00:00Z")
    stored = [dated_binding(None, binding(MAIN, verdict(), 1, (), counts), NOON)]
    assert is_news(stored, dated_binding(stored, binding(MAIN, verdict(), 1), NOON))
    rejected = binding(MAIN, verdict("spec: wrong"), 1, (), counts)
    assert rejected.targets is None


def test_what_was_told_before_counts_until_it_is_asked() -> None:
    """A restart removes nothing; a workload that cannot be asked, and the flag, do."""
    workload, resource = Ref("Prometheus", "a", "b"), Ref("Probe", "a", "c")
    told, news = TargetCounts(discovered=1), TargetCounts(discovered=2)
    observed = Observed(wanted=True)
    assert observed.of(workload, resource, told) == told
    observed.note(workload, resource, news)
    assert observed.of(workload, resource, told) == news
    observed.keep(workload, [])
    assert observed.of(workload, resource, told) == told
    assert observed.lose(workload)
    assert not observed.lose(workload)
    assert observed.of(workload, resource, told) is None
    observed.note(workload, resource, news)
    assert observed.of(workload, resource, told) == news
    assert Observed(wanted=False).of(workload, resource, told) is None


def test_targets_are_asked_for_when_the_flag_says_how_often() -> None:
    """Never by default; without bindings there is no place for them."""
    assert (
        operator_settings([]).targets == operator_settings(["--target-status-interval=0"]).targets
    )
    asked = operator_settings(["--target-status-interval=1m", "--target-status-requests=7"]).targets
    assert (asked.interval_seconds, asked.requests) == (60, 7)
    gate = "--feature-gates=StatusForConfigurationResources=false"
    with pytest.raises(FieldError, match="needs the feature gate"):
        operator_settings(["--target-status-interval=1m", gate])


def test_explain_tells_what_the_operator_counted(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """In the first line where targets cannot be scraped; with the workload in any case."""
    counts = {"discovered": 3, "healthy": 1, "observedAt": "2026-01-31T12:00:00Z"}
    errors = [{"message": "EOF", "count": 2}]
    made = {"resource": "prometheuses", "name": "main", "namespace": "monitoring"}
    view = viewed(tmp_path, service(), deployment(), prometheus(), monitor())

    def explained(**more: Any) -> Explanation:
        status = convert(ConfigResourceStatus, {"bindings": [{**made, "targets": counts | more}]})
        return told(replace(view, resources=(replace(view.resources[0], status=status),)))

    failing = explained(errors=errors)
    assert failing.headline == "Prometheus monitoring/main cannot scrape 2 of 3 targets: EOF"
    printed(failing, form="text", with_job=False)
    text = capsys.readouterr().out
    assert "1 of 3 targets healthy since 2026-01-31T12:00:00Z" in text
    assert "2 with: EOF" in text
    # The others were not asked yet.
    assert explained().headline.startswith("scraped by Prometheus monitoring/main")
