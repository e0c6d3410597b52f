"""Whether a read is slow by itself, or the server is slow to everybody: found out without a clock.

What is in use must not be left out of a configuration because a machine is busy. So a start waits
for its reads, and meanwhile asks for something of its own, again and again, one question after the
other. A read that many later questions overtake is slow by itself. A server that is slow to
everybody is slow to these questions too, and then nothing is overtaken, however much time passes.

Most of a namespace's reads may be in trouble while nobody else's is: a few questions show that.
"""

from collections import Counter
from collections.abc import Iterable
from typing import Final

from msgspec import Struct

from stoker.ref import Ref

# So many later questions may be answered before a read that is in use.
_PATIENCE: Final = 25
# And before one of a namespace whose reads are in trouble, they alone.
_SHORT_PATIENCE: Final = 4
# A read is in trouble that so many have overtaken, or that failed so often.
_SLOW: Final = 3
_FAILURES: Final = 2
# So many reads in trouble may be an accident.
_FEW: Final = 4


class _Read(Struct):
    """A read under way, and the number of the first question that counts against it."""

    lane: str
    mark: int
    sent: bool = False
    failures: int = 0


class Pace:
    """How reads get on beside questions of our own.

    Hears of each question (`asked`, then `answered` or `unanswered`) and of each read (`begun`,
    `sent`, `failed`, `ended`), by the lane in which it waits for its turn.
    """

    def __init__(self) -> None:
        self._reads: dict[Ref, _Read] = {}
        self._answered = 0
        self._is_asking = False
        # The number of the last question that was itself not answered promptly.
        self._doubted = -1
        # When a lane last got on, as the number of a question, and how many reads got on in it.
        self._progress: dict[str, int] = {}
        self._prompt: Counter[str] = Counter()

    def asked(self) -> None:
        """A question of ours leaves."""
        self._is_asking = True

    def answered(self, *, promptly: bool) -> None:
        """It was answered; a slow answer casts doubt on those who seem slow."""
        self._is_asking = False
        if not promptly:
            self._doubted = self._answered
        self._answered += 1

    def unanswered(self) -> None:
        """It failed: that is the server's trouble, and nobody was overtaken."""
        self._is_asking = False
        self._doubted = self._answered

    def begun(self, key: Ref, lane: str) -> None:
        """A read waits for its turn."""
        self._reads[key] = _Read(lane, self._next)

    def sent(self, key: Ref) -> None:
        """A read has its turn; again and again, if it fails."""
        read = self._reads.get(key)
        if read is not None and not read.sent:
            # Where its lane does not get on, it need not wait for its trouble to show once more.
            read.mark = max(self._mark(read), self._next - _SLOW + 1)
            read.sent = True

    def failed(self, key: Ref) -> None:
        """A read failed, and is to be tried again."""
        if key in self._reads:
            self._reads[key].failures += 1

    def ended(self, key: Ref, *, well: bool) -> None:
        """A read has its answer, or is of no interest any longer."""
        read = self._reads.pop(key, None)
        if read is not None and well and not self._is_in_trouble(read):
            self._prompt[read.lane] += 1
            self._progress[read.lane] = self._next

    def left_behind(self, keys: Iterable[Ref]) -> set[Ref]:
        """Which of these reads are slow, or fail, by themselves."""
        trouble = Counter(each.lane for each in self._reads.values() if self._is_in_trouble(each))
        found = {key: read for key in keys if (read := self._reads.get(key)) is not None}
        return {
            key
            for key, read in found.items()
            if self._overtaken(read) >= self._patience(read, trouble)
        }

    @property
    def _next(self) -> int:
        """The number of the next question that is asked."""
        return self._answered + self._is_asking

    def _patience(self, read: _Read, trouble: Counter[str]) -> int:
        """How many later questions may be answered before a read."""
        here = trouble[read.lane]
        alone = here > max(_FEW, self._prompt[read.lane]) and here == trouble.total()
        return _SHORT_PATIENCE if alone and self._doubted < read.mark else _PATIENCE

    def _is_in_trouble(self, read: _Read) -> bool:
        return read.failures >= _FAILURES or self._overtaken(read) >= _SLOW

    def _overtaken(self, read: _Read) -> int:
        """How many questions were asked after a read, and answered before it."""
        return max(0, self._answered - self._mark(read))

    def _mark(self, read: _Read) -> int:
        """The number of the first question that counts against a read.

        One that waits for its turn is where its lane is: nobody is slow for having much to do. But
        if its lane does not get on, neither does it.
        """
        return read.mark if read.sent else max(read.mark, self._progress.get(read.lane, 0))
