"""With an enforced namespace label, rules see and make series of their own namespace only."""

from __future__ import annotations

import http.client
import json
import math
import random
from collections import Counter
from collections.abc import Iterator
from pathlib import Path
from typing import Any
from urllib.parse import urlencode

import pytest

from stoker.generate.rules import Enforcement, rule_file
from stoker.promql import Node, enforce_label, to_text
from stoker.promql.functions import FUNCTIONS
from stoker.promql.nodes import Aggregation, Call, walk
from stoker.promql.syntax import AGGREGATORS
from stoker.validate.rules import RuleReader, thanos_reader
from stoker.version import parse_version
from tests.live.enforcing import Series, Server, running
from tests.live.forging import forgeries
from tests.live.peeking import (
    EVERYTHING,
    LABEL,
    NOBODY,
    NOW,
    TENANT,
    VICTIM,
    Honest,
    Peeking,
    expressions,
    openmetrics,
)
from tests.live.test_promql_promtool import promtool
from tests.unit.promql_expressions import FEATURES
from tools.waiting import until

SEED, COUNT = 20261116, 1500
HONEST = 500
AGAIN = 30


class Questions:
    """A Prometheus that is asked many questions over one connection."""

    def __init__(self, server: Server) -> None:
        self._connection = http.client.HTTPConnection("127.0.0.1", server.port, timeout=60)

    def close(self) -> None:
        """Hang up."""
        self._connection.close()

    def answer(self, expression: str) -> Any:
        """What it returns, in an order that says nothing; None for an error."""
        body = urlencode({"query": expression, "time": NOW})
        kind = {"Content-Type": "application/x-www-form-urlencoded"}
        self._connection.request("POST", "/api/v1/query", body, kind)
        told = json.load(self._connection.getresponse())
        if told["status"] != "success":
            return None
        return sorted(
            (sorted(each["metric"].items()), each["value"][1]) for each in told["data"]["result"]
        )


def alike(one: Any, other: Any) -> bool:
    """Whether two answers say the same; sums may be made in another order."""
    if one is None or other is None:
        return one is other
    return [each[0] for each in one] == [each[0] for each in other] and all(
        left[1] == right[1] or math.isclose(float(left[1]), float(right[1]), rel_tol=1e-9)
        for left, right in zip(one, other, strict=True)
    )


def again(one: Questions, text: str) -> Iterator[Any]:
    """The answers to a question that has several: which of equals is on top is chance."""
    return (one.answer(text) for _ in range(AGAIN))


@pytest.fixture(scope="module")
def asked(tmp_path_factory: pytest.TempPathFactory) -> Iterator[tuple[Questions, Questions]]:
    """Two Prometheus: one has the data of all, one has the tenant's alone."""
    with_all, alone = (
        _filled(tmp_path_factory.mktemp(name), tenants)
        for name, tenants in (("all", (TENANT, VICTIM, NOBODY)), ("alone", (TENANT,)))
    )
    with _started(with_all) as one, _started(alone) as other:
        both = Questions(one), Questions(other)
        yield both
        for each in both:
            each.close()


def _filled(folder: Path, tenants: tuple[str, ...]) -> Path:
    file = folder / "data.txt"
    file.write_text(openmetrics(tenants))
    done = promtool("tsdb", "create-blocks-from", "openmetrics", str(file), str(folder / "data"))
    assert done.returncode == 0, done.stderr.decode()
    return folder


def _started(folder: Path) -> Any:
    return running(
        {"global": {}},
        folder,
        f"--storage.tsdb.path={folder / 'data'}",
        "--storage.tsdb.retention.time=90y",
        f"--enable-feature={','.join(FEATURES)}",
    )


def used(nodes: list[Node]) -> Counter[str]:
    """How often each function and aggregation is there."""
    found: Counter[str] = Counter()
    for node in nodes:
        for one in walk(node):
            if isinstance(one, Call):
                found[one.function.name] += 1
            elif isinstance(one, Aggregation):
                found[one.aggregator.name] += 1
    return found


def test_an_enforced_expression_sees_nothing_of_others(asked: tuple[Questions, Questions]) -> None:
    """Whatever it is made of, it returns the same whether or not the others exist."""
    with_all, alone = asked
    nodes = expressions(Peeking(random.Random(SEED)), COUNT)
    different, empty, failed, told = [], 0, 0, 0
    for node in nodes:
        text = to_text(enforce_label(node, LABEL, TENANT))
        one, other = with_all.answer(text), alone.answer(text)
        failed += one is None
        empty += one == []
        if not alike(one, other) and not any(alike(one, each) for each in again(alone, text)):
            different.append((to_text(node), text, one, other))
        told += not alike(with_all.answer(to_text(node)), alone.answer(to_text(node)))
    print(f"{COUNT} expressions: {empty} empty, {failed} errors, {told} that would have told")
    assert different == []
    assert not {*FUNCTIONS, *AGGREGATORS} - used(nodes).keys() - {"holt_winters"}
    # Where nothing is returned, or nothing would have been told, nothing is proved.
    assert empty + failed < COUNT / 2
    assert told > COUNT / 4


def test_info_returns_what_it_did_to_who_is_alone(asked: tuple[Questions, Questions]) -> None:
    """Of labels that are named, and for series without any info; but for the label itself."""
    _, alone = asked
    different, full = [], 0
    for node in expressions(Honest(random.Random(SEED)), HONEST):
        text, enforced = to_text(node), to_text(enforce_label(node, LABEL, TENANT))
        one, other = (bare(alone.answer(each)) for each in (text, enforced))
        full += bool(one)
        if not alike(one, other) and not any(
            alike(other, bare(each)) for each in again(alone, text)
        ):
            different.append((text, enforced, one, other))
    assert different == []
    assert full > HONEST / 3


def bare(answer: Any) -> Any:
    """An answer without the enforced label."""
    if answer is None:
        return None
    return sorted(
        ([pair for pair in metric if pair[0] != LABEL], value) for metric, value in answer
    )


# --- What rules make ------------------------------------------------------------------------------

READERS = {
    "prometheus": RuleReader(version=parse_version("3.15.0"), promql=EVERYTHING),
    "thanos": thanos_reader(parse_version("0.40.0"), FEATURES),
}


MARKS = {
    rule.labels["rule"]
    for group in forgeries("x").spec.groups or ()
    for rule in group.rules or ()
    if rule.labels
}


def forged(folder: Path, enforcement: Enforcement) -> tuple[list[Series], list[Series]]:
    """The series and the alerts that a Prometheus makes of forgeries, as either reader has them."""
    for name, reader in READERS.items():
        file = rule_file(forgeries(name), reader, enforcement)
        assert file.text, file.findings
        (folder / f"{name}.yaml").write_text(file.text)
    config = {"global": {"evaluation_interval": "1s"}, "rule_files": [f"{folder}/*.yaml"]}
    with running(config, folder / "run", f"--enable-feature={','.join(FEATURES)}") as server:
        until("every rule to have made something", lambda: _evaluated(server))
        return server.series(), [each["labels"] for each in server.ask("alerts")["alerts"]]


def _evaluated(server: Server) -> bool:
    rules = [each for group in server.ask("rules")["groups"] for each in group["rules"]]
    problems = {each["lastError"] for each in rules if each["health"] == "err"}
    assert not problems, problems
    # Series of alerts come with the second evaluation.
    return {each.get("rule") for each in server.series()} >= MARKS


def test_what_rules_make_carries_their_own_namespace(tmp_path: Path) -> None:
    """Series, alerts and the series of alerts, whatever expressions and labels say."""
    series, alerts = forged(tmp_path, Enforcement(LABEL))
    assert [each for each in (*series, *alerts) if each.get(LABEL) != TENANT] == []
    assert {"ALERTS", "ALERTS_FOR_STATE", "up", "a.b"} <= {each["__name__"] for each in series}
    assert len(alerts) > 100


def test_rules_that_are_not_held_make_series_of_others(tmp_path: Path) -> None:
    """So the test above can fail."""
    series, alerts = forged(tmp_path, Enforcement())
    theirs = Counter(each["__name__"] for each in series if each.get(LABEL) == VICTIM)
    assert all(theirs[name] for name in ("ALERTS", "ALERTS_FOR_STATE", "up", "a.b")), theirs
    assert sum(each.get(LABEL) == VICTIM for each in alerts) > 50
