"""Replays what the peer's reloader was recorded to do."""

from stoker.reloader.expand import ORDINAL, variables
from tests.conformance.cases import Case
from tests.conformance.compare import differences
from tests.conformance.replay import Context, Outcome, outcome_of, replays


@replays("misc-reloader-ordinal")
def ordinal_of_a_pod(case: Case, context: Context) -> Outcome:
    """The variable that is made of a pod's name."""
    made = variables({"POD_NAME": case.given["podName"]}, "POD_NAME")
    return outcome_of(differences(case.expect, {"envVar": ORDINAL, "value": made[ORDINAL]}))
