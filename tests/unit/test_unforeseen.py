"""What nobody foresaw in one resource concerns that resource alone."""

from typing import Any
from unittest.mock import patch

import pytest

from stoker.api.convert import typed
from stoker.plan import Kept, kept_of
from stoker.ref import ref_of
from stoker.select.assets import AssetsAtHand, Source
from stoker.settings import Capabilities
from stoker.validate.findings import Reason
from tests.hostile.world import CANARY, contents, manifest, neighbours, workload

# One function on the way of each kind of resource, which fails for the attacker.
FAILING = {
    "ServiceMonitor": "stoker.generate.fragments.judge",
    "PrometheusRule": "stoker.generate.rulebook.rule_file",
    "AlertmanagerConfig": "stoker.generate.alertmanager.kept.verdict_on",
}
ASSETS = AssetsAtHand(contents({}))
READ = Source("Secret", "mallory", "vault", "token")


def failing(original: Any) -> Any:
    """Fail where an object of the attacker is concerned, after a Secret was read."""

    def wrapped(*arguments: Any, **more: Any) -> Any:
        for each in arguments:
            if getattr(getattr(each, "metadata", None), "namespace", "") == "mallory":
                secret = ASSETS.value(READ)
                for one in arguments:
                    getattr(one, "value", ASSETS.value)(READ)
                raise AttributeError(f"no words for {secret}")
        return original(*arguments, **more)

    return wrapped


def of_kind(kind: str) -> tuple[Kept, dict[Any, Any]]:
    """A workload, and the neighbour's object of a kind and the same of the attacker."""
    given_to: Any = typed(
        workload("Alertmanager" if kind.startswith("Alert") else "Prometheus", "main")
    )
    (given,) = (each for each in neighbours() if each["kind"] == kind)
    theirs = manifest(kind, "mallory", "shop", given["spec"])
    objects: list[Any] = [typed(given), typed(theirs)]
    return kept_of(given_to, Capabilities(), ASSETS, None), {ref_of(each): each for each in objects}


@pytest.mark.parametrize("kind", FAILING)
def test_a_resource_that_we_fail_on_is_left_out_and_the_others_are_not(kind: str) -> None:
    """It is told where, and not in words that may hold a Secret; the neighbour has what it had."""
    kept, resources = of_kind(kind)
    alice, mallory = resources
    module, _, name = FAILING[kind].rpartition(".")
    original = getattr(__import__(module, fromlist=[name]), name)
    with patch(FAILING[kind], failing(original)):
        kept.put_all(resources, ASSETS)
    kept.contents(ASSETS)
    assert kept.verdicts[alice].accepted
    (finding,) = kept.verdicts[mallory].findings
    assert finding.reason is Reason.UNFORESEEN
    assert "AttributeError at " in finding.message
    assert CANARY not in finding.message


def test_a_resource_that_we_fail_on_is_looked_at_again_when_its_secret_changes() -> None:
    """What it had read until then is remembered."""
    kept, resources = of_kind("ServiceMonitor")
    _, mallory = resources
    original = __import__("stoker.generate.fragments", fromlist=["judge"]).judge
    with patch(FAILING["ServiceMonitor"], failing(original)):
        kept.put_all(resources, ASSETS)
    assert READ in kept.verdicts[mallory].reads
