"""What is said of a right that is missing."""

import logging

import pytest

from stoker.kube.errors import Forbidden, Unavailable
from stoker.logs import logger
from stoker.operator.refusals import Refusals, rights_named

SECRETS = "/api/v1/namespaces/shop/secrets/a"


def forbidden(path: str = SECRETS, message: str = "no") -> Forbidden:
    """An answer of an API server that says no."""
    return Forbidden("patch", path, message, status=403, reason="Forbidden")


def levels(caplog: pytest.LogCaptureFixture) -> list[int]:
    """How loudly it was said."""
    return [each.levelno for each in caplog.records]


def test_a_right_that_is_missing_is_said_now_and_then(
    caplog: pytest.LogCaptureFixture, monkeypatch: pytest.MonkeyPatch
) -> None:
    """For each verb, resource and namespace once in a while; what else goes wrong is a detail."""
    caplog.set_level(logging.DEBUG)
    told, clock = Refusals(logger("test")), [1000.0]
    monkeypatch.setattr("stoker.operator.refusals.time.monotonic", lambda: clock[0])
    elsewhere = forbidden(SECRETS.replace("shop", "office"))
    for error in (forbidden(), forbidden(), elsewhere, Unavailable("patch", SECRETS, "gone")):
        told.tell("cannot", error)
    warn, debug = logging.WARNING, logging.DEBUG
    assert levels(caplog) == [warn, debug, warn, debug]
    clock[0] += 3600
    told.tell("cannot", forbidden())
    assert levels(caplog)[-1] == warn


OWNED = {
    "metadata": {
        "ownerReferences": [{"apiVersion": "monitoring.coreos.com/v1", "kind": "Prometheus"}]
    }
}


@pytest.mark.parametrize(
    ("said", "expected"),
    [
        (
            "cannot set blockOwnerDeletion if an ownerReference refers to a resource you can't set"
            " finalizers on: , <nil>",
            ": it cannot update prometheuses.monitoring.coreos.com/finalizers",
        ),
        (
            "cannot set an ownerRef on a resource you can't delete: , <nil>",
            ": it cannot delete secrets",
        ),
        ('User "a" cannot patch resource "secrets"', 'cannot patch resource "secrets"'),
    ],
)
def test_what_an_admission_plugin_asks_for_is_named_as_a_right(said: str, expected: str) -> None:
    """It says no more than that owners are the trouble; a role wants a verb and a resource."""
    with pytest.raises(Forbidden) as raised, rights_named(OWNED):
        raise forbidden(message=said)
    assert str(raised.value).endswith(expected)
    assert "<nil>" not in str(raised.value)
