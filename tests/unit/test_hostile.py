"""The hostile corpus without a cluster: every payload beside a neighbour, every review."""

import sys
import threading
from collections import Counter
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any

import msgspec
import pytest

from stoker.api.admit import admit
from stoker.api.kinds import version_of
from stoker.web.reviews import Answer, Reviewer, ReviewError, rules_reader
from tests.hostile import CLASSES, PAYLOADS
from tests.hostile.payload import KINDS, LeftOut, Payload, Refused
from tests.hostile.reviews import REVIEWS, Review, admission, conversion
from tests.hostile.trial import problems
from tests.hostile.world import CANARY

SHOWN = 20
REVIEWER = Reviewer(rules_reader("utf8"))
WITH_FEATURES = Reviewer(rules_reader("utf8", ["experimental-functions"]))
# The workloads whose settings change nothing that the webhook looks at.
AT_THE_DOOR = ("main", "enforced", "denying")


def test_there_are_payloads_of_every_kind_and_class() -> None:
    """At least five hundred, and each class and kind has its share."""
    assert len(PAYLOADS) + len(REVIEWS) > 500
    kinds = Counter(each.kind for each in PAYLOADS)
    assert all(kinds[kind] > 50 for kind in KINDS), kinds
    classes = Counter(each.attack for each in PAYLOADS)
    assert all(classes[name] > 10 for name in CLASSES), classes


@pytest.mark.parametrize("attack", CLASSES)
def test_what_must_happen_happens_and_the_neighbour_keeps_all(attack: str) -> None:
    """The verdict, its path, and a configuration in which nobody else has changed."""
    chosen = [each for each in PAYLOADS if each.attack == attack]
    wrong = [f"{each.id}: {found}" for each in chosen for found in problems(each)]
    assert not wrong, f"{len(wrong)} of {len(chosen)}:\n" + "\n".join(wrong[:SHOWN])


@pytest.mark.parametrize("attack", CLASSES)
def test_the_webhook_says_the_same_as_the_operator(attack: str) -> None:
    """What is left out is refused at the door, where that can be seen there, and nothing else."""
    chosen = [each for each in PAYLOADS if each.attack == attack and each.workload in AT_THE_DOOR]
    wrong = [f"{each.id}: {found}" for each in chosen for found in at_the_door(each)]
    assert not wrong, f"{len(wrong)} of {len(chosen)}:\n" + "\n".join(wrong[:SHOWN])


def at_the_door(payload: Payload) -> Iterator[str]:
    """What the webhook says that it should not, or does not say."""
    given = payload.manifest()
    version = version_of(given["apiVersion"], given["kind"])
    assert version
    if not isinstance(payload.outcome, Refused):
        # The API server prunes and fills in before it asks.
        given = admit(version, given).stored
    reviewer = WITH_FEATURES if payload.workload == "enforced" else REVIEWER
    answer = reviewer.answer(f"/admission-{payload.kind.lower()}s/validate", admission(given))
    if CANARY in str(answer.body):
        yield "a Secret is told"
    if isinstance(payload.outcome, Refused):
        return
    wanted = isinstance(payload.outcome, LeftOut) and payload.outcome.webhook
    if answer.allowed == wanted:
        yield f"{'allowed' if answer.allowed else f'refused: {answer.body}'[:300]}"
    elif wanted and not any(each.startswith(payload.path) for each in answer.findings):
        yield f"refused at {answer.findings[:3]}, not {payload.path}"


def test_every_body_of_a_review_is_answered() -> None:
    """Whatever is sent: 400 for what is no review, and the right answer for what is one."""
    answered = zip(REVIEWS, aside(lambda: [wrongs(each) for each in REVIEWS]), strict=True)
    wrong = [f"{each.about}: {found}" for each, several in answered for found in several]
    assert not wrong, "\n".join(wrong)


@pytest.mark.parametrize("value", [None, 5, ["x"], {"a": "b"}, "x" * 1_000_000, "\n\x00"])
def test_what_is_told_of_a_review_is_a_short_text(value: Any) -> None:
    """It is logged, and anybody may send a review."""
    named = dict.fromkeys(("namespace", "name", "operation"), value)
    given = admission({"apiVersion": "monitoring.coreos.com/v1", "kind": "PrometheusRule"}, **named)
    answers = [REVIEWER.answer("/admission-prometheusrules/validate", given)]
    if isinstance(value, str):
        answers.append(REVIEWER.answer("/convert", conversion([], value)))
    for answer in answers:
        assert all(isinstance(each, str | int) for each in answer.subject.values())
        assert all(len(str(each)) <= 253 for each in answer.subject.values())


def wrongs(review: Review) -> list[str]:
    """What is not as the review says."""
    try:
        answer = REVIEWER.answer(review.at, msgspec.json.decode(review.body))
        msgspec.json.encode(answer.body)
    except (ReviewError, msgspec.DecodeError, UnicodeDecodeError, RecursionError) as error:
        return [] if review.status == 400 else [repr(error)[:200]]
    if review.status != 200:
        return [f"is answered: {str(answer.body)[:200]}"]
    return list(_different(answer, review))


def _different(answer: Answer, review: Review) -> Iterator[str]:
    if answer.allowed != review.allowed:
        yield f"allowed is {answer.allowed}"
    if review.path and not any(each.startswith(review.path) for each in answer.findings):
        yield f"found wrong at {answer.findings[:3]}, not {review.path}"


def aside(asked: Callable[[], list[list[str]]]) -> list[list[str]]:
    """The answer of a thread with the stack and the levels that those of the webhook have."""
    found: list[Any] = []
    with deep_stack():
        thread = threading.Thread(target=lambda: found.append(asked()))
        thread.start()
        thread.join()
    assert found, "it raised something"
    return list(found[0])


@contextmanager
def deep_stack() -> Iterator[None]:
    """What `stoker webhook` sets for its process, and only for as long as it is needed."""
    levels, size = sys.getrecursionlimit(), threading.stack_size(64 * 1024 * 1024)
    sys.setrecursionlimit(25_000)
    try:
        yield
    finally:
        sys.setrecursionlimit(levels)
        threading.stack_size(size)
