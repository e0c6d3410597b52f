"""What the running operator knows of its own writes and of what its workloads published."""

import asyncio
import re
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

from stoker.api.monitors import ServiceMonitor
from stoker.api.prometheus import Prometheus
from stoker.kube.errors import NotFound
from stoker.operator.agenda import FirstTurns
from stoker.operator.published import Ownership, PublishedVerdicts
from stoker.operator.replica import sweep
from stoker.plan import KeptScraper
from stoker.ref import Ref, ref_of
from stoker.select.choice import Choice
from stoker.select.labels import EVERYTHING
from stoker.select.members import Members
from stoker.settings import Capabilities
from stoker.status.bindings import (
    BoundWorkload,
    binding,
    dated_binding,
    is_known,
    is_told,
    is_unknown,
    unknown_binding,
)
from stoker.status.conditions import Because
from stoker.status.workload import Remark
from stoker.validate.findings import INVALID_CONFIGURATION, Reason
from tests.builders import endpoints, typed
from tests.unit.test_status import NOON, verdict
from tests.unit.virtual_time import run

MAIN = Ref("Prometheus", "shop", "main")
PAGE = Path(__file__).parents[2] / "docs" / "status.md"


def monitor(name: str, port: str = "web", **endpoint: Any) -> ServiceMonitor:
    """A ServiceMonitor of one endpoint."""
    return typed(ServiceMonitor, name, endpoints({"port": port} | endpoint))


class NoValues:
    """Secrets and ConfigMaps, of which there are none."""

    def value(self, source: Any) -> Any:
        """Nobody asks."""
        raise AssertionError(source)


def published() -> tuple[PublishedVerdicts, KeptScraper]:
    """A workload with a good monitor and a bad one, not published yet."""
    scraper = typed(Prometheus, "main", {})
    kept = KeptScraper(scraper, Capabilities(), NoValues())
    bad = monitor("bad", relabelings=[{"action": "replace", "regex": "(", "targetLabel": "a"}])
    kept.put_all({ref_of(each): each for each in (monitor("good"), bad)}, NoValues())
    # Only what was published is asked for here.
    unused: Any = None
    return PublishedVerdicts(unused, unused, unused, unused), kept


def test_nothing_is_known_of_a_workload_before_it_has_published() -> None:
    """Whether a resource applies is neither yes nor no then, so no binding is removed too early."""
    verdicts, kept = published()
    good, other = Ref("ServiceMonitor", "shop", "good"), Ref("Probe", "shop", "good")
    assert verdicts.applies(good, MAIN) is None
    verdicts.publish(MAIN, kept, kept.take_news())
    assert verdicts.applies(good, MAIN) is True
    assert verdicts.applies(other, MAIN) is False
    assert verdicts.forget(MAIN) == {good, Ref("ServiceMonitor", "shop", "bad")}
    assert verdicts.applies(good, MAIN) is None


def test_the_cause_of_a_delay_is_news_for_those_that_it_was_not_told() -> None:
    """For all of them when it is another cause; else for what came or went, in its time."""
    monitors = [Ref("ServiceMonitor", "shop", name) for name in ("a", "b", "c")]
    members = Members()
    wanted = {"ServiceMonitor": Choice(EVERYTHING, None, "shop")}
    members.put_workload(MAIN, wanted)
    for key in monitors[:2]:
        members.put_resource(key, {})
    unused: Any = None
    verdicts = PublishedVerdicts(unused, members, unused, unused)
    assert verdicts.delayed(MAIN) is None
    paused, failed = (Remark(word, "") for word in (Because.PAUSED, Because.RECONCILIATION_FAILED))
    assert verdicts.delay(MAIN, paused) == set(monitors[:2])
    assert verdicts.delay(MAIN, paused) == set()
    members.put_resource(monitors[0], None)
    members.put_resource(monitors[2], {})
    assert verdicts.delay(MAIN, paused) == {monitors[0], monitors[2]}
    members.put_resource(monitors[2], None)
    assert verdicts.delay(MAIN, failed) == set(monitors[1:]), "also one that it lost meanwhile"
    assert verdicts.delayed(MAIN) == failed
    assert verdicts.resume(MAIN) == {monitors[1]}
    assert verdicts.resume(MAIN) == set()
    assert verdicts.delayed(MAIN) is None


@pytest.mark.parametrize(("seconds", "delayed"), [(5.0, []), (60.0, [MAIN])])
def test_who_waits_for_its_turn_after_a_start_says_so(seconds: float, delayed: list[Ref]) -> None:
    """Not at once: most are reconciled within seconds, and each resource would be written twice."""

    async def main() -> list[Ref]:
        first, told = FirstTurns(), list[Ref]()
        first.begin([MAIN])

        async def reconciled() -> None:
            await asyncio.sleep(seconds)
            first.had(MAIN)

        looked = SimpleNamespace(look_at_all=lambda: None)
        parts: Any = SimpleNamespace(
            turns=SimpleNamespace(first=first),
            outlets=SimpleNamespace(bindings=looked, consolidation=looked),
            announcements=SimpleNamespace(without_turn=told.append),
        )
        async with asyncio.TaskGroup() as tasks:
            tasks.create_task(reconciled())
            await sweep(parts)
        return told

    assert run(main()) == delayed


def test_what_is_known_of_a_resource_is_not_forgotten() -> None:
    """True and False are known, whoever said so and of whatever generation; Unknown is not."""
    main, other = (BoundWorkload("prometheuses", "shop", name) for name in ("main", "other"))
    for judged in (verdict(), verdict("too old")):
        stored = [dated_binding(None, binding(main, judged, 1), NOON)]
        assert is_known(stored, main)
        assert not is_known(stored, other)
    unknown = dated_binding(None, unknown_binding(main, Because.PAUSED, "paused" * 999), NOON)
    assert is_unknown(unknown)
    assert not is_known([unknown], main)
    assert not is_known(None, main)
    (condition,) = unknown["conditions"]
    assert (condition["status"], condition["reason"]) == ("Unknown", "Paused")
    assert "observedGeneration" not in condition
    assert len(condition["message"]) == 1024, "thousands may say it"


class Elsewhere:
    """Caches of an operator for some labels, and the API server behind: its workloads by name."""

    def __init__(self, *names: str) -> None:
        self.names = set(names)
        self.asked = 0
        ready = asyncio.Event()
        ready.set()
        store, selected = SimpleNamespace(ready=ready), SimpleNamespace(label_selector="a=b")
        self.workloads = {"Prometheus": SimpleNamespace(store=store, scope=selected)}

    def workload(self, _key: Ref) -> None:
        """None has the labels."""

    def workload_scope(self, _kind: str) -> Any:
        """All namespaces."""
        return SimpleNamespace(covers=lambda _namespace: True)

    async def get(self, _resource: object, _namespace: str, name: str, **_: Any) -> None:
        """A workload, whatever its labels."""
        self.asked += 1
        if name not in self.names:
            raise NotFound("get", name, "not found")


def test_a_workload_that_is_not_ours_may_come_and_go_without_our_being_told() -> None:
    """One that was gone and is back is another's; we would remove its bindings for ever."""
    unused: Any = None

    async def main() -> list[Ownership]:
        cluster: Any = Elsewhere()
        verdicts = PublishedVerdicts(cluster, unused, unused, cluster)
        found = [await verdicts.ownership(MAIN)]
        cluster.names.add("main")
        found += [await verdicts.ownership(MAIN) for _ in range(100)]
        assert cluster.asked == 2, "of one that is there we do not ask each time"
        cluster.names.clear()
        await asyncio.sleep(60)
        return [*found, await verdicts.ownership(MAIN)]

    assert run(main()) == [Ownership.GONE, *[Ownership.ANOTHERS] * 100, Ownership.GONE]


def test_names_of_workloads_that_are_not_ours_are_not_remembered_for_ever() -> None:
    """Whoever may write bindings chooses them, and how many."""
    unused: Any = None

    async def main() -> int:
        names = [f"p-{number}" for number in range(500)]
        cluster: Any = Elsewhere(*names)
        verdicts = PublishedVerdicts(cluster, unused, unused, cluster)
        for name in names:
            await verdicts.ownership(Ref("Prometheus", "shop", name))
            await asyncio.sleep(1)
        return len(verdicts._anothers)

    assert run(main()) <= 60


def test_resources_are_counted_by_what_changed() -> None:
    """Each is counted once, where it is now, however often it is judged."""
    verdicts, kept = published()
    verdicts.publish(MAIN, kept, kept.take_news())
    assert verdicts.counts(MAIN) == {"ServiceMonitor": (1, 1)}
    fixed = monitor("bad")
    kept.put_all({ref_of(fixed): fixed}, NoValues())
    assert verdicts.counts(MAIN) == {"ServiceMonitor": (1, 1)}, "not published yet"
    verdicts.publish(MAIN, kept, kept.take_news())
    assert verdicts.counts(MAIN) == {"ServiceMonitor": (2, 0)}
    kept.remove(ref_of(fixed), NoValues())
    verdicts.publish(MAIN, kept, kept.take_news())
    assert verdicts.counts(MAIN) == {"ServiceMonitor": (1, 0)}


def test_a_rejection_that_the_resource_tells_already_is_known() -> None:
    """The same words by the same workload; so no event is said twice over a restart."""
    main, other = (BoundWorkload("prometheuses", "shop", name) for name in ("main", "other"))
    rejected = verdict("too old")
    stored = [dated_binding(None, binding(main, rejected, 1), NOON)]
    assert is_told(stored, main, rejected.message)
    assert not is_told(stored, main, "another reason")
    assert not is_told(stored, other, rejected.message)
    accepted = [dated_binding(None, binding(main, verdict(), 1), NOON)]
    assert not is_told(accepted, main, accepted[0]["conditions"][0]["message"])


def test_the_page_on_status_explains_every_word() -> None:
    """Reasons of conditions, and the words for mistakes: all that there are, and no others."""
    rows = [line for line in PAGE.read_text().splitlines() if line.startswith("| ")]
    told = {word for row in rows for word in re.findall(r"\| `([A-Z]\w+)` (?=\|)", row)}
    words = {*Because, *Reason, INVALID_CONFIGURATION}
    conditions = {"Available", "Reconciled", "True", "False", "Degraded", "Unknown"}
    assert told - conditions == {str(word) for word in words}
