"""Parts of AlertmanagerConfigs."""

from typing import Any

import pytest

from stoker.api.amconfig.intervals import DayOfMonthRange
from stoker.api.amconfig.paging import OpsgenieResponder
from stoker.api.amconfig.v1beta1 import HttpConfig
from stoker.api.decode import convert
from stoker.validate.alerting import day_of_month_range, http_client, opsgenie_responder


@pytest.mark.parametrize(
    ("start", "end", "paths"),
    [
        (1, 31, []),
        (1, -1, []),
        (-7, -1, []),
        (10, -22, []),
        (10, -23, ["days.end"]),
        (5, 4, ["days.end"]),
        (-1, -2, ["days.end"]),
        (-3, 2, ["days.end"]),
        (0, 32, ["days.start", "days.end"]),
        (None, 1, ["days.start"]),
    ],
)
def test_days_must_be_in_order_in_some_month(start: int | None, end: int, paths: list[str]) -> None:
    """Negative days count from the end of the month; the longest month counts."""
    days = DayOfMonthRange(start=start, end=end)
    assert [one.path for one in day_of_month_range(days, "days")] == paths


@pytest.mark.parametrize(
    ("client", "paths"),
    [
        ({}, []),
        ({"basicAuth": {}}, []),
        ({"basicAuth": {}, "authorization": {}}, ["http"]),
        ({"proxyUrl": "http://proxy:3128"}, []),
        ({"proxyUrl": "://proxy"}, ["http.proxyUrl"]),
        ({"proxyURL": "://proxy"}, ["http.proxyURL"]),
    ],
)
def test_an_http_client_has_one_login_and_a_real_proxy(
    client: dict[str, Any], paths: list[str]
) -> None:
    """Alertmanager would refuse anything else."""
    assert [one.path for one in http_client(convert(HttpConfig, client), "http")] == paths


@pytest.mark.parametrize(
    ("responder", "paths"),
    [
        ({"type": "team", "name": "shop"}, []),
        ({"type": "{{ .GroupLabels.team }}", "id": "x"}, []),
        ({"type": "{{ .GroupLabels.team", "id": "x"}, ["who.type"]),
        ({"type": "boss", "username": "ann"}, ["who.type"]),
        ({"type": "user"}, ["who"]),
    ],
)
def test_a_responder_is_somebody_of_a_known_type(
    responder: dict[str, str], paths: list[str]
) -> None:
    """The type may be left to a template."""
    found = opsgenie_responder(convert(OpsgenieResponder, responder), "who")
    assert [one.path for one in found] == paths
