"""Each right of the operator, taken away: what does not happen then, and what it says of it.

One operator looks after many namespaces, as `--namespaces` has it. In each of them its role is
that of `deploy/cluster` with all components, less one right, or the same for several resources.
First an operator with all rights makes what is there before; then the one that misses something is
started, and somebody does what needs that right. It must say which one, nothing of what was there
may be lost, and with all rights the rest happens, too.
"""

from __future__ import annotations

from collections.abc import Iterable
from pathlib import Path

from tests.live.operating import Object, World
from tests.live.right_cases import CASES, CONSOLIDATION_CASES, basic, has_job
from tests.live.rights import Roles, allow, kubeconfig_of
from tests.live.trials import USER, Case, Server, Trial, holds

EVICT = "--repair-policy-for-statefulsets=evict"
CONSOLIDATE = "--consolidate-monitors"
# What belongs to the whole cluster.
WHOLE = frozenset({"namespaces", "nodes", "storageclasses"})


def is_intact(case: Case, world: World) -> bool:
    """Whether what was configured before still is."""
    if basic not in case.before:
        return True
    return all(holds(has_job(each), world) for each in ("shop", "private"))


class Attempt:
    """An operator that misses rights, and the one that has them all."""

    def __init__(self, server: Server, cases: Iterable[Case], *flags: str) -> None:
        self._server = server
        self.trial = Trial(server, cases, *flags)

    def missing(self, rules: list[Object], folder: Path, *flags: str) -> set[str]:
        """See what comes of missing each right; in which cases something was lost."""
        self.trial.furnish()
        self.trial.limit(rules)
        cluster = self._server.cluster
        mark = cluster.audit.mark()
        config = kubeconfig_of(cluster, self._server.url, USER, folder)
        with self.trial.start(config, *flags, looks=self.trial.workloads) as operator:
            self.trial.act()
            self.trial.until_told(operator)
            self.trial.check_that_nothing_came_of_it()
            done = cluster.audit.since(mark, "stoker")
            worlds = self.trial.worlds.items()
            lost = {case.name for case, world in worlds if not is_intact(case, world)}
        assert "\n".join(self.trial.problems) == ""
        assert [str(each) for each in done if each.verb == "delete" and each.status < 300] == []
        return lost

    def mended(self, *flags: str) -> None:
        """With all rights, what was asked for happens."""
        with self.trial.start(self._server.kubeconfig, *flags):
            self.trial.until_mended()


def test_a_right_that_is_missing_is_named_and_costs_nothing_else(
    strict_server: Server, installed: Roles, tmp_path: Path
) -> None:
    """What needs it does not happen, the operator says what it cannot do, and nothing is lost."""
    rules = installed["ClusterRole", "stoker-operator"]
    whole = [each for each in rules if set(each["resources"]) & WHOLE]
    allow(strict_server.cluster, USER, whole)
    attempt = Attempt(strict_server, CASES)
    lost = attempt.missing([each for each in rules if each not in whole], tmp_path, EVICT)
    assert lost == set()
    attempt.mended(EVICT)


def test_so_it_is_where_monitors_are_kept_as_scrape_configs(
    strict_server: Server, installed: Roles, tmp_path: Path
) -> None:
    """Until a ScrapeConfig can be written, the monitor's own jobs are used."""
    rules = installed["ClusterRole", "stoker-operator"]
    attempt = Attempt(strict_server, CONSOLIDATION_CASES, CONSOLIDATE)
    assert attempt.missing(rules, tmp_path) == set()
    attempt.mended()
