"""Every room that has something to say about kinds has a row for each of them."""

from collections.abc import Collection

import pytest

from stoker.api import kinds as declared
from stoker.cluster import kinds as watched
from stoker.consolidate import configs
from stoker.explain import doubts, targets
from stoker.generate import prometheus
from stoker.operator import traces
from stoker.plan import kinds as planned
from stoker.roles import RESOURCES, WORKLOADS, kinds_that
from stoker.select.choice import MONITOR_KINDS, SELECTED_KINDS
from stoker.settings import NamespaceSettings, SelectorSettings
from stoker.status import targets as counted
from stoker.validate import verdicts
from stoker.validate.budget import BOUNDED

MONITORS = kinds_that(monitor=True)


def names(models: Collection[type]) -> set[str]:
    """The kinds of types."""
    return {each.__name__ for each in models}


@pytest.mark.parametrize(
    ("table", "wanted"),
    [
        pytest.param({each.name for each in declared.WORKLOADS}, WORKLOADS, id="api"),
        pytest.param({each.name for each in declared.CONFIGURATION}, RESOURCES, id="api, too"),
        pytest.param({each.name for each in SELECTED_KINDS}, RESOURCES, id="select"),
        pytest.param({each.name for each in MONITOR_KINDS}, MONITORS, id="select, monitors"),
        pytest.param(BOUNDED, RESOURCES, id="budgets"),
        pytest.param(names(verdicts._CHECKS), MONITORS, id="validate"),
        pytest.param(names(prometheus._MAKERS), MONITORS, id="generate"),
        pytest.param(names(counted._JOBS), MONITORS, id="status"),
        pytest.param(names(targets._SEARCHES), MONITORS, id="explain"),
        pytest.param(names(configs._KINDS), kinds_that(consolidated=True), id="consolidate"),
        pytest.param(names(planned._KINDS), WORKLOADS, id="plan"),
        pytest.param(names(doubts._EMPTY), WORKLOADS, id="doubts"),
        pytest.param(watched.WORKLOADS, WORKLOADS, id="cluster"),
        pytest.param(watched.RESOURCES, RESOURCES, id="cluster, too"),
        pytest.param({*traces._TRACES, traces._RULE}, RESOURCES, id="operator"),
    ],
)
def test_a_room_has_a_row_for_each_kind(table: Collection[str], wanted: Collection[str]) -> None:
    """No more, and no fewer."""
    assert set(table) == set(wanted)


def test_flags_are_called_as_the_rows_say() -> None:
    """The settings have the members that they name."""
    for role in WORKLOADS.values():
        assert hasattr(SelectorSettings(), role.flags)
        assert hasattr(NamespaceSettings(), role.flags)
    for resource in RESOURCES.values():
        assert not resource.flags or hasattr(NamespaceSettings(), resource.flags)
        assert not resource.named_by or resource.named_by in WORKLOADS
