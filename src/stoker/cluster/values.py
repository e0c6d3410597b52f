"""The contents of the Secrets and ConfigMaps that somebody refers to, read when they are needed.

Of all Secrets and ConfigMaps only the metadata is watched. Judging a resource asks for values
without waiting; what was not read yet is noted and read afterwards, and whoever asked looks again:

    view = values.view()
    kept.put(key, monitor, view)             # asks the view
    kept.touched(await values.load(view), view)     # reads what was missing, and looks again

A read that fails or takes long concerns those alone who refer to the object. Nobody else waits for
it: it goes on beside (`late`), again and again where it fails, and who refers to the object hears
when it has ended. Meanwhile the value that was read last counts, and where there is none, that the
object cannot be read.

At a start nothing was read before, and what is left out is lost to those who have it. There a read
is waited for until it is slow, or fails, by itself (`pace`); if the server is in trouble for long,
`load` fails, and everything stays as it is.
"""

import asyncio
import re
from collections import Counter
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping
from contextlib import suppress
from functools import partial
from typing import Final

from msgspec.structs import asdict, replace

from stoker.cluster.content import ABSENT, RESOURCES, Content, content_of, problem_of
from stoker.cluster.pace import Pace
from stoker.cluster.questions import Questions
from stoker.cluster.turns import Lanes
from stoker.kube.backoff import GRANT_SECONDS, Backoff
from stoker.kube.client import METADATA_ONLY, Client
from stoker.kube.errors import Forbidden, NotFound, Unavailable, asked_wait, passes_untold
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
# One that is needed later, or might not exist, is waited for from its beginning so long.
_STEADY_SECONDS: Final = 0.5
# So long all that exists is waited for at a start; then somebody should hear of it.
_START_SECONDS: Final = 60.0
# One that stays without an answer for so long at the start is sent once more beside the first.
_ANSWERED_SECONDS: Final = 0.2
# How often it is looked whether reads that are waited for still go well.
_LOOK_SECONDS: Final = 0.1
_AGAIN: Final = Backoff(first=0.25, longest=60.0)
# No event says that a server is back; what it says of this one object (500) it may say for long.
_SOON: Final = Backoff(first=0.25, longest=GRANT_SECONDS)
_INTERNAL: Final = 500
_NO_ANSWER_YET: Final = "the API server has not answered yet"
# What Kubernetes takes as the name of a Secret or ConfigMap.
_NAME: Final = re.compile(r"[a-z0-9](?:[a-z0-9.-]{0,251}[a-z0-9])?")


class Values:
    """What was read of Secrets and ConfigMaps, for as long as somebody refers to it.

    `is_absent` tells whether an object is known not to exist; it need not be read then. `exists`
    tells whether it is known to exist; at a start only those are waited for. `own` names a Secret
    of ours, which is asked for meanwhile to see whether the server answers us; it may be another
    each time. Without it every read is waited for, and one that fails is an error.
    """

    def __init__(
        self,
        client: Client,
        is_absent: Callable[[Ref], bool],
        own: Callable[[], Ref] | None = None,
        exists: Callable[[Ref], bool] = lambda _: True,
    ) -> None:
        self._exists = exists
        self._client = client
        self._is_absent = is_absent
        self._own = own
        self._pace = Pace()
        self._questions = Questions(self._ask_own, self._pace, self._is_back)
        # Set for a moment when the server answers again.
        self._answers = asyncio.Event()
        self._lanes = Lanes()
        self._log = logger("values")
        self._contents: dict[Ref, Content] = {}
        # What is being read, and the versions that we heard of meanwhile.
        self._reads: dict[Ref, asyncio.Task[None]] = {}
        self._told: dict[Ref, str] = {}
        # When each of these began, and those that a start cannot do without.
        self._begun: dict[Ref, float] = {}
        self._needed: set[Ref] = set()
        # What is not waited for any longer, and why it could not be read so far.
        self._late: set[Ref] = set()
        self._problems: dict[Ref, str] = {}
        self._failures: Counter[Ref] = Counter()
        self._is_wanted: Callable[[Ref], bool] = lambda _: True
        self._arrived: Callable[[Ref], None] = lambda _: None

    @property
    def entries(self) -> int:
        """How many were read."""
        return len(self._contents)

    @property
    def late(self) -> int:
        """How many are being read that nobody waits for any longer."""
        return len(self._late)

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
        """Forget that we cannot read some of these, those first that were refused long ago."""
        before = asyncio.get_running_loop().time() - GRANT_SECONDS
        since = {key: self._contents[key].refused or 0.0 for key in keys if self.is_refused(key)}
        due = [key for key in sorted(since, key=since.__getitem__) if since[key] <= before]
        for key in due[:_ASKED_AGAIN]:
            del self._contents[key]

    def begin(self, view: "ValueView", *, start: bool = False) -> None:
        """Begin to read what a view does not know, before somebody waits for it."""
        # There is no one to report a failure to.
        if self._own is not None:
            self._begin(view, start=start)

    def arrived(self, view: "ValueView") -> set[Ref]:
        """What a view was asked for and has been read since that was begun."""
        found = {key for key in view.unread & view.begun if key not in self._reads}
        view.unread -= found
        view.read |= found
        return found

    async def load(self, view: "ValueView", *, start: bool = False) -> set[Ref]:
        """Read what a view was asked for and did not know; what was read, or is late.

        `Unavailable` at a start, where the server has not answered anybody for long.
        """
        self._begin(view, start=start)
        wanted, view.unread = view.unread, set()
        view.read |= wanted
        reads = {key: self._reads[key] for key in wanted if key in self._reads}
        if self._own is None:
            await self._all_of(reads)
        else:
            try:
                await self._wait_for(reads, start=start)
            except asyncio.CancelledError:
                self._needed -= wanted
                raise
        late = {key for key, read in reads.items() if not read.done()}
        self._late |= late
        if start:
            self._needed -= late
        return wanted

    def keep_only(self, is_referenced: Callable[[Ref], bool]) -> None:
        """Forget what nobody refers to any longer."""
        known = {*self._contents, *self._late, *self._needed}
        for key in [key for key in known if not is_referenced(key)]:
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
        is_begun = read is not None and not read.done()
        if start and self._own is not None and self._exists(key):
            self._need(key, is_begun=is_begun)
        if not is_begun:
            read = asyncio.create_task(self._read_until_known(key, start=start), name="read")
            self._reads[key] = read
            self._begun[key] = asyncio.get_running_loop().time()
            read.add_done_callback(lambda done: self._ended(key, done))

    def _need(self, key: Ref, *, is_begun: bool) -> None:
        """A start cannot do without this: it is seen whether others are answered before it."""
        if key not in self._needed:
            self._needed.add(key)
            self._pace.begun(key, self._lane(key))
            if is_begun:
                self._pace.sent(key)
        self._questions.go_on(lambda: bool(self._needed))

    async def _ask_own(self) -> None:
        """Have the server answer something that is ours, whatever it says.

        Reads go over new connections, too, which are what a busy server takes longest for.
        """
        if self._own is not None:
            kind, *place = self._own()
            with suppress(NotFound, Forbidden):
                await self._client.get(
                    RESOURCES[kind], *place, accept=METADATA_ONLY, exempt=True, fresh=True
                )

    async def _all_of(self, reads: "Mapping[Ref, asyncio.Task[None]]") -> None:
        """Wait for all, and raise the first failure."""
        try:
            for outcome in await asyncio.gather(*reads.values(), return_exceptions=True):
                if isinstance(outcome, BaseException):
                    raise outcome
        finally:
            for key in reads:
                self._stop(key)

    async def _wait_for(self, reads: "Mapping[Ref, asyncio.Task[None]]", *, start: bool) -> None:
        """Wait for each a moment from its beginning, at a start while it may be in good order."""
        loop = asyncio.get_running_loop()
        give_up = loop.time() + _START_SECONDS
        while waits := self._waits(reads, start=start):
            if loop.time() >= give_up:
                raise _unanswered(waits)
            timeout = min(*waits.values(), _LOOK_SECONDS)
            await asyncio.wait({reads[key] for key in waits}, timeout=timeout)

    def _waits(self, reads: "Mapping[Ref, asyncio.Task[None]]", *, start: bool) -> dict[Ref, float]:
        """What is waited for, as it goes now, and for how many seconds before the next look."""
        pending = {key for key, read in reads.items() if not read.done()}
        needed = pending & self._needed if start else set[Ref]()
        waits = dict.fromkeys(needed - self._pace.left_behind(needed), _LOOK_SECONDS)
        now = asyncio.get_running_loop().time()
        for key in pending - needed:
            patience = _STEADY_SECONDS if start or self._is_well(key) else _LOOK_SECONDS
            left = self._begun.get(key, -_STEADY_SECONDS) + patience - now
            if left > 0:
                waits[key] = left
        return waits

    def _is_well(self, key: Ref) -> bool:
        """Whether a read should succeed soon: it did not fail before, nor waits for slow ones."""
        return self._failures.get(key, 0) < _FAILURES and not self._lanes.slow(self._lane(key))

    def _lane(self, key: Ref) -> str:
        """Where a read waits for its turn: what might not exist, behind nothing that does."""
        return key.namespace if self._exists(key) else f"{key.namespace}/unknown"

    def _ended(self, key: Ref, read: "asyncio.Task[None]") -> None:
        """A read is over: whoever did not wait for it hears of it."""
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
        self._needed.discard(key)
        self._pace.ended(key, well=key in self._contents)
        self._told.pop(key, None)
        self._begun.pop(key, None)
        self._failures.pop(key, None)
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
                    self._pace.sent(key)
                    self._contents[key] = await self._read_latest(key, start=start)
                return
            except Exception as error:
                if self._own is None:
                    raise
                self._note(key, problem_of(error))
                wait = (_SOON if _is_brief(error) else _AGAIN).delay(self._failures[key])
                asked = asked_wait(error)
            await self._pause(key, asked, wait - asked)
            if key in self._late and not self._is_wanted(key):
                return

    async def _pause(self, key: Ref, asked: float, more: float) -> None:
        """Wait before the next try as long as the server asked for, and then until it is back."""
        await asyncio.sleep(asked)
        if key not in self._needed:
            await asyncio.sleep(max(0.0, more))
            return
        with suppress(TimeoutError):
            async with asyncio.timeout(max(0.0, more)):
                await self._answers.wait()

    def _is_back(self) -> None:
        """The server answers again: what a start cannot do without is asked for at once."""
        self._answers.set()
        self._answers.clear()

    def _note(self, key: Ref, problem: str) -> None:
        if self._problems.get(key) != problem:
            self._log.warn("cannot be read, trying again", **asdict(key), err=problem)
        self._problems[key] = problem
        self._failures[key] += 1
        self._pace.failed(key)

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


def _is_brief(error: Exception) -> bool:
    """Whether an answer is one of the moment; a failure of the server with this one is not."""
    internal = isinstance(error, Unavailable) and error.status == _INTERNAL
    return passes_untold(error) and not internal


def _unanswered(keys: Collection[Ref]) -> Unavailable:
    """Nothing of this was answered, nor much else."""
    first, others = min(keys), len(keys) - 1
    said = "no answer yet" + (f", nor about {others} others that are needed" if others else "")
    return Unavailable("get", RESOURCES[first.kind].path(first.namespace, first.name), said)


def is_name(name: str) -> bool:
    """Whether Kubernetes could have a Secret or ConfigMap of this name; no other is asked for."""
    return _NAME.fullmatch(name) is not None


class ValueView:
    """The values as they are now; `unread` are those that must be read first.

    `asked` are the objects that somebody looked for, each noted before the look: a change that is
    reported after that was perhaps not seen. `begun` are those of which a read was begun, and
    `read` those that were read: a view reads nothing twice, or one that changes all the time would
    hold up all others.
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
