"""What is noted for later, and who reads what: written by some, read by others."""

from __future__ import annotations

import asyncio
import inspect
from collections.abc import Callable
from typing import Any

import pytest

from stoker.kube.queue import KeyedQueue
from stoker.operator.agenda import Agenda, FirstTurns, TurnCause
from stoker.operator.assembly import Parts
from stoker.operator.changes import Changes
from stoker.operator.listeners import Listeners
from stoker.operator.register import Register
from stoker.operator.tools import Tools
from stoker.operator.triggers import Triggers
from stoker.ref import Ref
from stoker.web.operator_metrics import OperatorMetrics
from tests.unit.virtual_time import run

MAIN = Ref("Prometheus", "shop", "main")
MONITOR = Ref("ServiceMonitor", "shop", "web")
SECRET = Ref("Secret", "shop", "token")


def line(queue: KeyedQueue[Ref]) -> list[Ref]:
    """Who waits now."""
    return list(queue._line)


def with_agenda(script: Callable[[Agenda], Any]) -> tuple[Any, OperatorMetrics]:
    """What a script makes of an agenda for Prometheuses, and what was counted."""
    metrics = OperatorMetrics()

    async def main() -> Any:
        return script(Agenda({"Prometheus": metrics.controller("prometheus")}))

    return run(main()), metrics


def test_notes_gather_until_they_are_taken() -> None:
    """However many there are, there is one turn; and what is given back waits for the next."""

    def script(agenda: Agenda) -> None:
        first = Changes(resources={MONITOR})
        agenda.note(MAIN, first, TurnCause("ServiceMonitor", "add"))
        agenda.note(MAIN, Changes(values={SECRET}))
        assert first == Changes(resources={MONITOR}), "a note is nobody's but the agenda's"
        assert line(agenda.workloads["Prometheus"]) == [MAIN]
        taken = agenda.take(MAIN)
        assert taken == Changes(resources={MONITOR}, values={SECRET})
        assert agenda.noted(MAIN) is None
        agenda.give_back(MAIN, taken)
        agenda.note(MAIN, Changes(own=True))
        assert agenda.take(MAIN) == Changes(own=True, resources={MONITOR}, values={SECRET})

    _, metrics = with_agenda(script)
    counted = 'controller="prometheus",triggered_by="ServiceMonitor",action="add"} 1'
    assert counted in metrics.registry.text()


def test_who_waits_for_pods_has_a_turn_when_a_status_changes() -> None:
    """Others only have their status looked at."""

    def script(agenda: Agenda) -> None:
        agenda.look(MAIN)
        assert line(agenda.statuses) == [MAIN]
        assert line(agenda.workloads["Prometheus"]) == []
        agenda.await_pods(MAIN, awaits=True)
        agenda.look(MAIN)
        assert line(agenda.workloads["Prometheus"]) == [MAIN]

    with_agenda(script)


def test_who_is_gone_waits_for_nothing() -> None:
    """Neither for pods nor with what was noted; a namesake begins with nothing."""

    def script(agenda: Agenda) -> None:
        agenda.await_pods(MAIN, awaits=True)
        agenda.give_back(MAIN, Changes(own=True))
        agenda.forget(MAIN)
        agenda.look(MAIN)
        assert line(agenda.workloads["Prometheus"]) == []
        assert agenda.noted(MAIN) is None

    with_agenda(script)


def test_first_turns_are_over_when_all_had_theirs() -> None:
    """Also when there was nobody, and anew each time that we begin to lead."""

    async def main() -> list[frozenset[Ref]]:
        first, other = FirstTurns(), Ref("Prometheus", "shop", "other")
        left = []
        first.begin([])
        left.append(await first.left_after(10))
        first.begin([MAIN, other])
        first.had(MAIN)
        left.append(await first.left_after(10))
        first.had(other)
        begun = asyncio.get_running_loop().time()
        left.append(await first.left_after(10))
        assert asyncio.get_running_loop().time() == begun
        return [*left, frozenset([other])]

    nobody, waited, done, other = run(main())
    assert (nobody, waited, done) == (frozenset(), other, frozenset())


class Known:
    """Reads these."""

    def __init__(self, *keys: Ref) -> None:
        self.keys = set(keys)

    def refers_to(self, key: Ref) -> bool:
        """Whether it is one of them."""
        return key in self.keys


def test_a_workload_reads_what_is_kept_of_it_refers_to() -> None:
    """In either mode of an agent, as it is when somebody asks, and no longer than it is kept."""
    register, new, old = Register(), Known(), Known(SECRET)
    register.enter(MAIN, new)
    register.enter(MAIN, old)
    assert register.readers(SECRET) == {MAIN}
    register.strike(MAIN, old)
    assert not register.is_read(SECRET)
    new.keys.add(SECRET)
    assert register.readers(SECRET) == {MAIN}
    register.strike(MAIN, new)
    assert not register.is_read(SECRET)


def _is_ours(found: Any) -> bool:
    return getattr(found, "__module__", "").startswith("stoker.operator.")


PARTS = {each for each in inspect.get_annotations(Parts, eval_str=True).values() if _is_ours(each)}
# The tools have a clock.
TOLD = sorted({*PARTS, Triggers, Listeners} - {Tools}, key=str)


@pytest.mark.parametrize("part", TOLD)
def test_no_part_is_handed_a_function_of_another(part: type[Any]) -> None:
    """What calls back cannot be read alone: parts get parts that come later, and nothing else."""
    given = inspect.signature(part).parameters.values()
    assert not [each.name for each in given if "Callable" in str(each.annotation)]
