"""What the log says of rejected resources: a line when a workload rejects one, and when that ends.

Each is said once for as long as it stays true, also where leadership is lost and comes back. Of a
workload only so many lines are written in a minute, then one that says how many more there were:
whoever writes a thousand bad monitors, or one that is good and bad in turn, does not fill the log.
Nor does that silence others: the first lines of each namespace are written all the same.
"""

from collections.abc import Callable, Mapping, Set
from functools import partial
from typing import Final

from msgspec import Struct

from stoker.logs import Logger
from stoker.ref import Ref
from stoker.status.conditions import bounded
from stoker.validate.verdicts import Verdict

REJECTED: Final = "a resource is rejected"
USED_AGAIN: Final = "a resource is used again"
MORE: Final = "more resources are rejected, or used again: stoker status lists what is rejected"

_MOST_LINES: Final = 100
_OF_EACH_NAMESPACE: Final = 10
_MOST_OF_ALL: Final = 1000
_MINUTE: Final = 60.0


class _Said(Struct, frozen=True, gc=False):
    """What was said of a resource: of which of its name, and a hash of the words."""

    uid: str
    words: int


class _Minute(Struct):
    """What was said of a workload since a moment, and what was not, for there was too much."""

    lines: int = 0
    rejected: int = 0
    used_again: int = 0
    is_summed_up: bool = False
    of_namespaces: dict[str, int] = {}

    def takes(self, namespace: str) -> bool:
        """Whether one more line may be written about what is in a namespace; then it is counted."""
        own = self.of_namespaces.get(namespace, 0)
        few = own < _OF_EACH_NAMESPACE and self.lines < _MOST_OF_ALL
        if self.lines >= _MOST_LINES and not few:
            return False
        self.lines += 1
        self.of_namespaces[namespace] = own + 1
        return True


class Rejections:
    """Says in the log what workloads reject, and use again.

    `later` calls something after so many seconds. What is kept is about rejected resources alone,
    and about workloads of which something was said in the last minute.
    """

    def __init__(self, log: Logger, later: Callable[[float, Callable[[], None]], object]) -> None:
        self._log = log
        self._later = later
        self._said: dict[Ref, dict[Ref, _Said]] = {}
        self._minutes: dict[Ref, _Minute] = {}

    def take(self, workload: Ref, verdicts: Mapping[Ref, Verdict | None]) -> None:
        """A workload judged resources, or (None) has them no longer."""
        said = self._said.setdefault(workload, {})
        news = [each for each, verdict in verdicts.items() if _is_news(said, each, verdict)]
        for each in sorted(news):
            self._say(workload, each, verdicts[each])
        if not said:
            del self._said[workload]
        minute = self._minutes.get(workload)
        if minute is not None and not minute.is_summed_up:
            self._sum_up(workload, minute)

    def hush(self, workload: Ref) -> None:
        """Say nothing more of what was left out: another may lead now."""
        self._minutes.pop(workload, None)

    def forget(self, workload: Ref) -> None:
        """A workload is gone, or another's now."""
        self.hush(workload)
        self._said.pop(workload, None)

    def keep(self, selected: Callable[[Ref], Set[Ref]]) -> None:
        """Forget all but what workloads select: for who leads again, and missed what left."""
        for workload, said in list(self._said.items()):
            still = selected(workload)
            left = {each: one for each, one in said.items() if each in still}
            if left:
                self._said[workload] = left
            else:
                del self._said[workload]

    # --- Lines ------------------------------------------------------------------------------------

    def _say(self, workload: Ref, resource: Ref, verdict: Verdict | None) -> None:
        """Say what is news, and remember it."""
        said = self._said[workload]
        before = said.pop(resource, None)
        if verdict is None:
            return
        if not verdict.accepted:
            said[resource] = _said_of(verdict)
        elif before is None or before.uid != _uid(verdict):
            # What was rejected was another of that name.
            return
        minute = self._minute(workload)
        if minute.takes(resource.namespace):
            self._write(workload, resource, verdict)
        elif verdict.accepted:
            minute.used_again += 1
        else:
            minute.rejected += 1

    def _write(self, workload: Ref, resource: Ref, verdict: Verdict) -> None:
        where = {"resource": resource, "workload": workload}
        if verdict.accepted:
            self._log.info(USED_AGAIN, **where)
        else:
            message = bounded(verdict.message)
            self._log.warn(REJECTED, **where, reason=verdict.reason, message=message)

    def _minute(self, workload: Ref) -> _Minute:
        minute = self._minutes.get(workload)
        if minute is None:
            minute = self._minutes[workload] = _Minute()
            self._later(_MINUTE, partial(self._end, workload, minute))
        return minute

    def _end(self, workload: Ref, minute: _Minute) -> None:
        """The minute is over, unless it was given up before."""
        if self._minutes.get(workload) is minute:
            del self._minutes[workload]
            self._sum_up(workload, minute)

    def _sum_up(self, workload: Ref, minute: _Minute) -> None:
        """Say how many there were of which nothing was said."""
        if minute.rejected or minute.used_again:
            counts = {"rejected": minute.rejected, "used_again": minute.used_again}
            self._log.warn(MORE, workload=workload, **counts)
            minute.rejected = minute.used_again = 0
            minute.is_summed_up = True


def _is_news(said: Mapping[Ref, _Said], resource: Ref, verdict: Verdict | None) -> bool:
    """Whether there is something to say or to forget."""
    before = said.get(resource)
    if verdict is None or verdict.accepted:
        return before is not None
    return before != _said_of(verdict)


def _said_of(verdict: Verdict) -> _Said:
    return _Said(_uid(verdict), hash(verdict.message))


def _uid(verdict: Verdict) -> str:
    return verdict.resource.metadata.uid or ""
