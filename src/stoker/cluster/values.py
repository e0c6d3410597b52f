"""The contents of the Secrets and ConfigMaps that somebody refers to, read when they are needed.

Of all Secrets and ConfigMaps only the metadata is watched. Judging a resource asks for values
without waiting; what was not read yet is noted and read afterwards, and whoever asked looks again:

    view = values.view()
    kept.put(key, monitor, view)             # asks the view
    kept.touched(await values.load(view), view)     # reads what was missing, and looks again

A read that fails or takes long concerns those alone who refer to the object. Nobody else waits for
it: it goes on beside (`late`), again and again where it fails, and who refers to the object is told
when it has ended. Meanwhile the value that was read last counts, and where there is none, that the
object cannot be read.
"""

import asyncio
import math
import re
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping
from functools import partial
from typing import Final

from msgspec import Struct
from msgspec.structs import asdict, replace

from stoker.cluster.content import ABSENT, RESOURCES, Content, content_of, problem_of
from stoker.cluster.turns import Lanes
from stoker.kube.backoff import GRANT_SECONDS, Backoff
from stoker.kube.client import Client
from stoker.kube.errors import Forbidden, NotFound, Unavailable, asked_wait
from stoker.kube.hedging import sooner_of_two
from stoker.kube.versions import is_older
from stoker.logs import logger
from stoker.ref import Ref
from stoker.select.assets import Missing, Source

# Who lacks a permission for one Secret may lack it for thousands; others have work to do too.
_ASKED_AGAIN: Final = 100
# One that changes while it is read is read once more, and after that when its turn comes again.
_READS: Final = 2
# After so many failures in a row a read is not waited for: another soon after the first may do.
_FAILURES: Final = 2
# So many slow reads of a namespace may be an accident.
_FEW: Final = 4
# One that nobody answers for so long at the start is sent once more beside the first.
_ANSWERED_SECONDS: Final = 0.2
# How often it is looked whether reads that are waited for still go well.
_LOOK_SECONDS: Final = 0.1
_AGAIN: Final = Backoff(first=0.25, longest=60.0)
# Nobody tells of a server that is back; what it says of this one object (500) it may say for long.
_SOON: Final = Backoff(first=0.25, longest=GRANT_SECONDS)
_INTERNAL: Final = 500
_NO_ANSWER_YET: Final = "the API server has not answered yet"
# What Kubernetes takes as the name of a Secret or ConfigMap.
_NAME: Final = re.compile(r"[a-z0-9](?:[a-z0-9.-]{0,251}[a-z0-9])?")


class Patience(Struct, frozen=True):
    """For how many seconds a read is waited for.

    At the start for longer, as long as it neither is slow nor fails: what is in use must not be
    left out because there is much to read. One that fails while others are answered is not waited
    for, nor are many that are slow; where few are, the machine may be busy, and where nobody is
    answered, the server may be about to get better.
    """

    steady: float = 0.5
    start: float = 30.0
    start_badly: float = 0.5
    start_few: float = 2.5
    start_unanswered: float = 5.0

    def seconds(self, *, start: bool, well: bool, alone: bool, few: bool = False) -> float:
        """How long that is, at the start or later, for one that goes well, or badly and alone.

        `few`: it is slow as few others are, and does not fail.
        """
        if not start:
            return self.steady if well else 0.0
        if well:
            return self.start
        if not alone:
            return self.start_unanswered
        return self.start_few if few else self.start_badly


class Values:
    """What was read of Secrets and ConfigMaps, for as long as somebody refers to it.

    `is_absent` tells whether an object is known not to exist; it need not be read then. `exists`
    tells whether it is known to exist; at the start only those are waited for. Without `patience`
    every read is waited for, and one that fails is an error.
    """

    def __init__(
        self,
        client: Client,
        is_absent: Callable[[Ref], bool],
        patience: Patience | None = None,
        exists: Callable[[Ref], bool] = lambda _: True,
    ) -> None:
        self._exists = exists
        self._client = client
        self._is_absent = is_absent
        self._patience = patience
        self._lanes = Lanes()
        self._log = logger("values")
        self._contents: dict[Ref, Content] = {}
        # What is being read, and the versions that were told of it meanwhile.
        self._reads: dict[Ref, asyncio.Task[None]] = {}
        self._told: dict[Ref, str] = {}
        # When each of these began.
        self._begun: dict[Ref, float] = {}
        # What is not waited for any longer, and why it could not be read so far.
        self._late: set[Ref] = set()
        self._problems: dict[Ref, str] = {}
        self._failures: Counter[Ref] = Counter()
        # What failed after others had been answered.
        self._failed_alone: set[Ref] = set()
        self._is_wanted: Callable[[Ref], bool] = lambda _: True
        self._arrived: Callable[[Ref], None] = lambda _: None

    @property
    def entries(self) -> int:
        """How many were read."""
        return len(self._contents)

    def listen(self, is_wanted: Callable[[Ref], bool], arrived: Callable[[Ref], None]) -> None:
        """Tell this of reads that were late; those that nobody wants by then end."""
        self._is_wanted, self._arrived = is_wanted, arrived

    def view(self) -> "ValueView":
        """Assets that note what they do not know yet."""
        return ValueView(self)

    def find(self, key: Ref) -> Content | None:
        """What is known of an object; None if it must be read."""
        known = self._contents.get(key)
        if known is None and (not is_name(key.name) or self._is_absent(key)):
            return ABSENT
        if known is None and key in self._late:
            return Content(problem=self._problems.get(key, _NO_ANSWER_YET))
        return known

    def is_settled(self, key: Ref) -> bool:
        """Whether there is nothing to read of an object, or nothing to wait for."""
        if key in self._late:
            return True
        known = self.find(key)
        return known is not None and not known.stale

    def changed(self, key: Ref, version: str) -> None:
        """An object has this version now ("" for none): what was read of another is old."""
        known = self._contents.get(key)
        if not version:
            self._forget(key)
        elif known is not None and known.version != version:
            if known.data is None:
                del self._contents[key]
            else:
                self._contents[key] = replace(known, stale=True)
        if key in self._reads:
            self._told[key] = version

    def is_refused(self, key: Ref) -> bool:
        """Whether we were not allowed to read an object."""
        known = self._contents.get(key)
        return known is not None and known.refused is not None

    def outdated(self) -> Iterator[tuple[Ref, str]]:
        """What cannot be read now, so that what was read before still counts, and why."""
        for key in self._late & self._contents.keys():
            yield key, self._problems.get(key, _NO_ANSWER_YET)

    def ask_again(self, keys: Iterable[Ref]) -> None:
        """Forget that we may not read some of these, those first that were refused long ago."""
        before = asyncio.get_running_loop().time() - GRANT_SECONDS
        since = {key: self._contents[key].refused or 0.0 for key in keys if self.is_refused(key)}
        due = [key for key in sorted(since, key=since.__getitem__) if since[key] <= before]
        for key in due[:_ASKED_AGAIN]:
            del self._contents[key]

    def begin(self, view: "ValueView", *, start: bool = False) -> None:
        """Begin to read what a view does not know, before somebody waits for it."""
        # What fails here could be told to nobody.
        if self._patience is not None:
            self._begin(view, start=start)

    def arrived(self, view: "ValueView") -> set[Ref]:
        """What a view was asked for and has been read since that was begun."""
        found = {key for key in view.unread & view.begun if key not in self._reads}
        view.unread -= found
        view.read |= found
        return found

    async def load(self, view: "ValueView", *, start: bool = False) -> set[Ref]:
        """Read what a view was asked for and did not know; what was read, or is late."""
        self._begin(view, start=start)
        wanted, view.unread = view.unread, set()
        view.read |= wanted
        reads = {key: self._reads[key] for key in wanted if key in self._reads}
        if self._patience is None:
            await self._all_of(reads)
        else:
            await self._wait_for(reads, self._patience, start=start)
        self._late |= {key for key, read in reads.items() if not read.done()}
        return wanted

    def keep_only(self, is_referenced: Callable[[Ref], bool]) -> None:
        """Forget what nobody refers to any longer."""
        for key in [key for key in (*self._contents, *self._late) if not is_referenced(key)]:
            self._forget(key)

    # --- Reading ----------------------------------------------------------------------------------

    def _begin(self, view: "ValueView", *, start: bool) -> None:
        # A thread may be asking for more at this very moment.
        for key in tuple(view.unread):
            if key not in view.begun:
                view.begun.add(key)
                self._begin_one(key, start=start)

    def _begin_one(self, key: Ref, *, start: bool) -> None:
        """Read an object, unless that is under way."""
        read = self._reads.get(key)
        if read is None or read.done():
            read = asyncio.create_task(self._read_until_known(key, start=start), name="read")
            self._reads[key] = read
            self._begun[key] = asyncio.get_running_loop().time()
            read.add_done_callback(lambda done: self._ended(key, done))

    async def _all_of(self, reads: "Mapping[Ref, asyncio.Task[None]]") -> None:
        """Wait for all, and raise the first failure."""
        try:
            for outcome in await asyncio.gather(*reads.values(), return_exceptions=True):
                if isinstance(outcome, BaseException):
                    raise outcome
        finally:
            for key in reads:
                self._stop(key)

    async def _wait_for(
        self,
        reads: "Mapping[Ref, asyncio.Task[None]]",
        patience: Patience,
        *,
        start: bool,
    ) -> None:
        """Wait for each a moment from its beginning, at the start longer if it goes well."""
        loop = asyncio.get_running_loop()
        while pending := {key for key, read in reads.items() if not read.done()}:
            until = max(self._waited_until(key, patience, start=start) for key in pending)
            left = until - loop.time()
            if left <= 0:
                return
            await asyncio.wait({reads[key] for key in pending}, timeout=min(left, _LOOK_SECONDS))

    def _waited_until(self, key: Ref, patience: Patience, *, start: bool) -> float:
        """Until when a read is waited for, as it goes now."""
        exists, begun = self._exists(key), self._begun.get(key)
        if begun is None:
            # It was stopped meanwhile.
            return 0.0
        well = self._is_well(key) and (exists or not start)
        seconds = patience.seconds(
            start=start,
            well=well,
            alone=not exists or self._is_alone(key),
            few=exists and self._is_one_of_few(key),
        )
        return begun + max(seconds, _LOOK_SECONDS)

    def _is_alone(self, key: Ref) -> bool:
        """Whether others are answered while this one is slow or fails."""
        if self._failures.get(key, 0) < _FAILURES:
            return self._lanes.answered >= self._begun[key]
        return key in self._failed_alone

    def _is_well(self, key: Ref) -> bool:
        """Whether a read should succeed soon: it did not fail before, nor waits for slow ones."""
        return self._failures.get(key, 0) < _FAILURES and not self._lanes.slow(self._lane(key))

    def _is_one_of_few(self, key: Ref) -> bool:
        """Whether a read is slow, as few in its lane are, and does not fail."""
        return self._failures.get(key, 0) < _FAILURES and self._lanes.slow(self._lane(key)) <= _FEW

    def _lane(self, key: Ref) -> str:
        """Where a read waits for its turn: what may not exist, behind nothing that does."""
        return key.namespace if self._exists(key) else f"{key.namespace}/unknown"

    def _ended(self, key: Ref, read: "asyncio.Task[None]") -> None:
        """A read is over: who did not wait for it is told."""
        if self._reads.get(key) is not read:
            return
        was_late = key in self._late
        self._stop(key)
        if was_late and not read.cancelled() and key in self._contents:
            self._arrived(key)

    def _stop(self, key: Ref) -> None:
        read = self._reads.pop(key, None)
        if read is not None:
            read.cancel()
        self._late.discard(key)
        self._told.pop(key, None)
        self._begun.pop(key, None)
        self._failures.pop(key, None)
        self._failed_alone.discard(key)
        if self._problems.pop(key, None) and key in self._contents:
            self._log.info("can be read again", **asdict(key))

    def _forget(self, key: Ref) -> None:
        self._contents.pop(key, None)
        self._stop(key)

    async def _read_until_known(self, key: Ref, *, start: bool) -> None:
        """Read an object, and again as long as that fails and somebody wants it."""
        # All that is in use is read at the start, once, and nothing is written before.
        at_once = start and self._exists(key)
        while True:
            try:
                limited = not at_once or key in self._problems
                async with self._lanes.turn(self._lane(key), limited=limited):
                    self._contents[key] = await self._read_latest(key, start=start)
                return
            except Exception as error:
                if self._patience is None:
                    raise
                self._note(key, problem_of(error))
                away = isinstance(error, Unavailable) and error.status != _INTERNAL
                wait = (_SOON if away else _AGAIN).delay(self._failures[key])
                wait = max(wait, asked_wait(error))
            await asyncio.sleep(wait)
            if key in self._late and not self._is_wanted(key):
                return

    def _note(self, key: Ref, problem: str) -> None:
        if self._problems.get(key) != problem:
            self._log.warn("cannot be read, trying again", **asdict(key), err=problem)
        self._problems[key] = problem
        self._failures[key] += 1
        if self._lanes.answered >= self._begun.get(key, math.inf):
            self._failed_alone.add(key)

    async def _read_latest(self, key: Ref, *, start: bool) -> Content:
        """Read an object; stale if it changed again and again meanwhile."""
        # A connection may have been lost on the way, and nobody says so; what is in use must not
        # be left out for that.
        patience = _ANSWERED_SECONDS if start else None
        for _ in range(_READS):
            self._told.pop(key, None)
            content = await sooner_of_two(partial(self._read, key), patience)
            told = self._told.get(key)
            if told is None or content.version == told or is_older(told, content.version):
                return content
        return replace(content, stale=True)

    async def _read(self, key: Ref) -> Content:
        kind, namespace, name = key
        try:
            # They have a limit of their own, or many of one tenant's would hold up what is written.
            found = await self._client.get(RESOURCES[kind], namespace, name, exempt=True)
            return content_of(kind, found)
        except NotFound:
            return ABSENT
        except Forbidden as error:
            return Content(problem=str(error), refused=asyncio.get_running_loop().time())


def is_name(name: str) -> bool:
    """Whether Kubernetes could have a Secret or ConfigMap of this name; no other is asked for."""
    return _NAME.fullmatch(name) is not None


class ValueView:
    """The values as they are now; `unread` are those that must be read first.

    `asked` are the objects that somebody looked for, each noted before the look: a change that is
    told after that was perhaps not seen. `begun` are those of which a read was begun, and `read`
    those that were read: a view reads nothing twice, or one that changes all the time would hold up
    all others.
    """

    def __init__(self, values: Values) -> None:
        self._values = values
        self.asked: set[Ref] = set()
        self.unread: set[Ref] = set()
        self.begun: set[Ref] = set()
        self.read: set[Ref] = set()

    def value(self, source: Source) -> str | Missing:
        """The text behind a key, or why there is none (yet)."""
        content = self._content(source.ref)
        if content is None:
            return Missing(source, object_exists=False)
        if content.data is None:
            return Missing(source, object_exists=False, problem=content.problem)
        found = content.data.get(source.key)
        # What is no text can be of no use in a configuration.
        return found if isinstance(found, str) else Missing(source, object_exists=True)

    def all_of(self, ref: Ref) -> Mapping[str, str | bytes]:
        """What an object holds by its keys; nothing (yet) if there is none."""
        content = self._content(ref)
        return (content and content.data) or {}

    def ask(self, key: Ref) -> None:
        """Note that somebody looks for an object; it is read if that is not done yet."""
        self.asked.add(key)
        if key not in self.read and not self._values.is_settled(key):
            self.unread.add(key)

    def _content(self, key: Ref) -> Content | None:
        self.ask(key)
        return self._values.find(key)
