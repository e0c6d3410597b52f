"""Which changes a workload takes up now, and which wait: nobody has all of its time.

A workload takes up changes one pass after the other, and who comes during a pass waits for its end.
So that one namespace does not keep a workload busy for all others:

- Each namespace has an allowance of a workload's time. Who has used it up, by many changes or by
  dear ones, gets a turn now and then, with all its changes at once.
  What the API server takes to write is no tenant's doing: of a pass that waits for it, little
  counts.
- A dear resource has a pass of its own, after those that are not: no one waits for it to be judged
  who came with it. Of several, that of the namespace comes first which has used the least. So it
  is with many changes of one namespace: those who have few do not wait for them.
"""

from collections import Counter
from collections.abc import Callable, Iterator
from collections.abc import Set as AbstractSet
from typing import Final, NamedTuple

from msgspec import Struct

from stoker.operator.changes import Changes
from stoker.ref import Ref

ALLOWANCE: Final = 1.0
"""The seconds that a namespace may use at once."""

RATE: Final = 0.25
"""Which part of a workload's time a namespace may use for ever."""

# Nobody waits for longer than this, or a few times what its last turn took.
_LONGEST_WAIT: Final = 1.0
_TIMES_ITS_TURN: Final = 3.0
# So many seconds of a pass count at most that are not spent on judging what changed.
_BESIDE_JUDGING: Final = 0.5
# Dear ones wait for others, but not for ever.
_DEAR_EVERY: Final = 1.0
_FEW: Final = 8


class _Account(Struct):
    """What a namespace may still use, when that was reckoned, and when it may have a turn."""

    left: float = ALLOWANCE
    at: float = 0.0
    turn: float = 0.0


class Divided(NamedTuple):
    """What is to be done now, what later, and after how many seconds that is."""

    now: Changes
    later: Changes
    wait: float

    @property
    def only_later(self) -> bool:
        """Whether there is nothing to do now."""
        return not self.now and bool(self.later)


class Shares:
    """The accounts of one workload. `is_dear` tells what takes long to judge."""

    def __init__(self, is_dear: Callable[[Ref], bool], clock: Callable[[], float]) -> None:
        self._is_dear = is_dear
        self._clock = clock
        self._accounts: dict[str, _Account] = {}
        self._last_dear = 0.0

    def divide(self, changes: Changes) -> Divided:
        """What of all changes is to be taken up now."""
        now = self._clock()
        waits = {each: self._wait(each.namespace, now) for each in _each(changes)}
        ready = [each for each, wait in waits.items() if not wait]
        dear = [each for each in ready if self._is_dear(each)]
        chosen, many = _few(set(ready) - set(dear))
        busy = bool(chosen) or changes.own or changes.members or changes.drifted
        if (dear or many) and (not busy or now - self._last_dear >= _DEAR_EVERY):
            self._last_dear = now
            chosen |= many or {min(dear, key=lambda each: (-self._left(each.namespace, now), each))}
        later = _only(changes, waits.keys() - chosen)
        taken = _only(changes, chosen)
        taken.own, taken.members, taken.drifted = changes.own, changes.members, changes.drifted
        left = [waits[each] for each in _each(later)]
        return Divided(taken, later, min(left, default=0.0))

    def charge(self, changes: Changes, judging: float, whole: float) -> None:
        """Write down how long it took to judge changes, and the whole pass that took them up."""
        now, seconds = self._clock(), judging + min(whole - judging, _BESIDE_JUDGING)
        spaces = {each.namespace for each in _each(changes)}
        for namespace in spaces:
            part = seconds / len(spaces)
            left = self._left(namespace, now) - part
            wait = min(-left / RATE, max(_LONGEST_WAIT, _TIMES_ITS_TURN * part)) if left < 0 else 0
            self._accounts[namespace] = _Account(left, now, now + wait)
        self._tidy(now)

    def _wait(self, namespace: str, now: float) -> float:
        account = self._accounts.get(namespace)
        return max(0.0, account.turn - now) if account else 0.0

    def _left(self, namespace: str, now: float) -> float:
        account = self._accounts.get(namespace)
        if account is None:
            return ALLOWANCE
        # Who had a turn in debt starts over from there: the wait was what it paid.
        return min(ALLOWANCE, max(account.left, -ALLOWANCE) + (now - account.at) * RATE)

    def _tidy(self, now: float) -> None:
        for namespace in [each for each in self._accounts if self._left(each, now) >= ALLOWANCE]:
            del self._accounts[namespace]


def _each(changes: Changes) -> Iterator[Ref]:
    """All noted objects; no kind is both a resource and a value."""
    yield from changes.resources
    yield from changes.values


def _few(items: set[Ref]) -> tuple[set[Ref], set[Ref]]:
    """The changes of namespaces with few of them, and all others."""
    counts = Counter(each.namespace for each in items)
    many = {each for each in items if counts[each.namespace] > _FEW}
    return items - many, many


def _only(changes: Changes, chosen: AbstractSet[Ref]) -> Changes:
    """Those of the noted objects that are chosen."""
    return Changes(
        resources=changes.resources & chosen,
        values=changes.values & chosen,
    )
